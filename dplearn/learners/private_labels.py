"""Any classifier, trained on randomised labels: features are public, labels are private.

There is one release, by one of the methods of `label_methods`: reports, clusters or sums. Each record gets a
label from what is released. All else, such as a search, early stopping or cross-validation within the fit, is
made of these labels and of public features, and costs nothing. Where labels are reports, their probabilities
are turned into those of true labels.
"""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import Tags, get_tags

from dplearn._documented import documented_by
from dplearn._validation import AUTO, check_choice, check_count, check_given
from dplearn.chance.dice import Dice
from dplearn.domains.cells import is_frame
from dplearn.domains.column_kinds import kinds_of
from dplearn.estimator import PrivateClassifier, PrivateEstimator
from dplearn.estimator.base import available_where
from dplearn.estimator.base_models import dry_run
from dplearn.estimator.on_released import TrainedOnReleased, check_not_private, offers, trained
from dplearn.estimator.public_data import PUBLIC_FEATURES
from dplearn.estimator.recipe import FitFacts, FitRecipe
from dplearn.learners.label_methods import Clusters, Reports, Sums
from dplearn.learners.votes.standard import coded, scaled, standard_estimator
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import StatedPlan
from dplearn.releases.release import few_records
from dplearn.table import LabelledRows, Table
from dplearn.table.features import read_rows
from dplearn.table.targets import (
    check_known_labels,
    check_several_labels,
    labels_assumed,
    read_labels,
)

_LEAF = 20  # effective records of the default boosting's leaves
_STRATIFIED = 10  # reports of each label, from which on boosting may stop early by some of them
_TRIED = 500  # rows by which an estimator is tried before the charge
_MOST_NEEDED = 10**10  # records that a warning calls enough


@documented_by()
@dataclass(eq=False, repr=False)
class PrivateLabelsClassifier(TrainedOnReleased, MetaEstimatorMixin, PrivateClassifier):
    """Any classifier, where features are public and labels are private: it is trained on randomised labels.

    Drop-in: any number of predictions costs no privacy. The guarantee is for one label, and does not hide the
    features of a record, or that it is in the table; `AdditiveClassifier` protects whole records.

    Parameters
    ----------
    estimator : classifier, optional
        Any classifier or pipeline of scikit-learn, also a search such as GridSearchCV: what happens within
        its fit costs nothing more. It is cloned, and need not be private. Logistic regression, alone, at the
        end of a pipeline or in a search, maximises the likelihood of reports, and is then one of labels (not
        with an L1 penalty, class weights or liblinear). None: gradient boosting
        (`HistGradientBoostingClassifier`) that stops early, with large leaves at small epsilons, and with
        codes of columns that are no numbers; of a sparse matrix, logistic regression. With at most 10,000
        records, of clusters, and of reports of three or more labels, a forest of extremely randomised trees.
        Of "sums", the additive model that they determine.
    epsilon
        ... It is that of each label.
    delta : float, default=1e-6
        In [0, 1). Only the method "sums" spends it, and "auto" does not choose that method with delta 0; the
        guarantee of all others has delta 0.
    method : {"auto", "reports", "clusters", "sums"}, default="auto"
        What is released. "reports": each label, by randomised response, which needs no trusted curator.
        "clusters": noisy numbers of the labels in clusters of the features. "sums": for each label, the noisy
        sum of rows of features, which determines an additive model; the most accurate where effects of
        columns add up. "auto": reports, unless they tell as much as fewer than 480 true labels, or 120 for
        each label, and have more noise: with many labels, few records or a small epsilon. Then clusters. In
        place of both, sums of two labels of a data frame with columns of categories, if no estimator is given
        and no column is of durations, periods or intervals: from 3,000 records on, unless reports tell as
        much as 10,000 true labels; in place of clusters from 1,000 on, if at least half of the columns are of
        categories. `plan` tells the method.
    classes : sequence, optional
        All labels that can occur, known without looking at the data. None: the labels that occur in `y`; the
        guarantee then assumes that the set of labels is public.

    Attributes
    ----------
    estimator_ : classifier or None
        Released. The fitted classifier, of reports: its own predictions and probabilities are not corrected.
        None if it could not be fitted. Of sums an `AdditiveClassifier`, with `shapes_` to display.
    estimator_error_ : str or None
        Released. Why it could not be fitted, in which case a fit warns, and keeps the reports.
    reports_ : ndarray of shape (n_samples,)
        Released. The randomised label of each record, in the order of the rows: any other classifier may be
        trained on them, at no further cost.
    truth_ : float or None
        Public. The probability with which a report is the true label; None for labels of other methods.
    counts_ : ndarray of int64 of shape (n_clusters, n_classes), or None
        Released. The noisy number of each label in each cluster; None for other methods.
    classes_
    guarantee_
        ... It is for labels, and assumes that all features are public.
    feature_importances_, n_features_in_, feature_names_in_

    Notes
    -----
    **Privacy.** (epsilon, 0)-differential privacy for one replaced label, and (epsilon, delta) for "sums".
    Proof for "reports": each label is reported by `randomized_response`, by itself, with epsilon. It holds
    even if every report is published: no curator needs to be trusted. For "clusters": the clusters are
    functions of public features. A replaced label moves the numbers of two labels in its record's cluster by
    1 each, and no other; all numbers are released by `laplace_counts` with the sensitivity 2. For "sums": the
    rows are integer vectors, functions of public features, of bounded norm. A replaced label takes a row from
    the sum of one label and adds it to that of another; of two labels only one sum is released. Gaussian
    noise is calibrated to that distance. In all, the classifier is a function of what is released and of
    public features.

    **Accuracy.** With K labels, of which each other one is reported with probability r, noise is as if there
    were n (1 - K r)^2 records: `plan(n).n_effective`. Where a record has label k with probability p, its
    report is k with probability r + (1 - K r) p, so probabilities of reports, less r, are proportional to
    those of labels; and the most probable report is that of the most probable label. The number of a label in
    a cluster has noise of a standard deviation of about 2.8 / epsilon, whatever the number of labels.
    Clusters have about 10 / epsilon records, at least 3, and at most 1,000 are made, so that details of large
    tables are lost, and labels that depend on few of many independent columns: `method="reports"` then learns
    more. Sums learn the effects of single columns, and interactions of two where noise does not hide them: of
    at most 24 columns, of 10 from some 9,000 records at epsilon 1 on. `estimator_.interactions_` has them.

    **Source.** Warner (1965); Kairouz, Bonawitz and Ramage (2016); for learning with them, Ghazi, Golowich,
    Kumar, Manurangsi and Zhang (2021), and for corrected probabilities and the likelihood of reports (the
    forward loss), Patrini and others (2017). The methods of clusters and of sums are ours.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from dplearn import PrivateLabelsClassifier
    >>> X, y = make_classification(6000, class_sep=2, random_state=0)
    >>> model = PrivateLabelsClassifier(epsilon=1.0, random_state=0).fit(X[:5000], y[:5000])
    >>> model.score(X[5000:], y[5000:]) > 0.9
    True
    >>> forest = RandomForestClassifier(min_samples_leaf=50, random_state=0)
    >>> forest = forest.fit(X[:5000], model.reports_)  # at no further cost
    >>> forest.score(X[5000:], y[5000:]) > 0.9
    True
    """

    estimator: Any = None
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float = 1e-6
    method: str = AUTO
    classes: Sequence[Any] | None = None
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    classes_: NDArray[Any] = field(init=False)

    keeps_types = reads_parts = True
    _kept = "the randomised labels", "reports_"
    _n_clusters: ClassVar[int | None] = None  # None: by the plan; audits use other numbers
    default_trees: ClassVar[int] = 300  # of the default forest
    protects = "labels"  # the unit of protection; whole records are not protected

    @property
    def spends_delta(self) -> bool:
        """Whether the method is "sums", or may be."""
        return self.method == Sums.name or (self.method == AUTO and self.estimator is None)

    def plan(
        self, n_samples: int, *, n_labels: int | None = None, n_columns: int = 0, n_categorical: int = 0
    ) -> StatedPlan:
        """Return the plan of a fit, without data.

        Parameters
        ----------
        n_samples : int
            Number of records, at least 1.
        n_labels : int, optional
            Number of labels, at least 2; required without `classes`.
        n_columns, n_categorical : int, default=0
            Numbers of columns, and of those that hold categories, by which "auto" chooses sums.

        Returns
        -------
        StatedPlan
            With the guarantee, n_samples, n_labels and method. For reports: truth (the probability that a
            report is the true label) and n_effective (the number of records whose true labels would tell as
            much). For clusters: n_clusters and deviation (the standard deviation of the noise in the number
            of a label in a cluster, at most). For sums: deviation (the standard deviation of the noise in a
            sum of labels over rows of the greatest norm).
        """
        fit = self._recipe(self.random_state is not None)
        labels = n_labels if fit.classes is None else len(fit.classes)
        labels = check_given("n_labels", labels, source="classes", low=2)
        n = check_count("n_samples", n_samples, low=1)
        columns = check_count("n_columns", n_columns, low=0)
        mixed = check_count("n_categorical", n_categorical, low=0, high=columns)
        return fit.planned(LabelsFacts(n, columns, n_labels=labels, n_categorical=mixed))

    def _recipe(self, reproducible: bool) -> "LabelsFit":
        if self.estimator is not None:
            check_not_private(self.estimator, is_classifier, "classifier", "the reports")
        cost = self._cost(reproducible, protects="labels")
        sparse = get_tags(self).input_tags.sparse
        return LabelsFit(
            self,
            cost,
            estimator=self.estimator,
            method=check_choice("method", self.method, (AUTO, Reports.name, Clusters.name, Sums.name)),
            n_clusters=self._n_clusters,
            n_trees=self.default_trees,
            sparse_rows=sparse,
        )

    def _publish(self, outcome: tuple[Any, ...], plan: StatedPlan) -> None:
        self.estimator_, self.estimator_error_, self.reports_, self.counts_ = outcome
        self.classes_ = plan.public.classes
        self.truth_ = plan.states.get("truth")

    def _rows(self, X: Any) -> Any:
        if isinstance(self.estimator_, PrivateEstimator):  # the model of sums, which reads rows itself
            return X
        return read_rows(self, X, reset=False, sparse=get_tags(self).input_tags.sparse)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels; costs no privacy."""
        model = self._trained()
        return np.asarray(model.predict(self._rows(X)))

    @available_where(offers("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each label, corrected for the noise in the reports; costs no privacy."""
        model = self._trained()
        given = np.asarray(model.predict_proba(self._rows(X)), dtype=np.float64)
        reported = np.zeros((len(given), len(self.classes_)))
        reported[:, np.searchsorted(self.classes_, model.classes_)] = given
        if self.truth_ is None:
            return reported
        other = (1 - self.truth_) / (len(self.classes_) - 1)
        labels = np.clip(reported - other, 0.0, None)
        total = labels.sum(axis=1, keepdims=True)
        even = np.full_like(labels, 1 / len(self.classes_))
        return np.asarray(np.divide(labels, total, out=even, where=total > 0))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.input_tags.sparse = self.method != Sums.name
        if self.estimator is not None:
            tags.input_tags = get_tags(self.estimator).input_tags
        return tags


@dataclass(frozen=True)
class LabelsFacts(FitFacts):
    """The public facts of a table, with the method of a fit."""

    n_categorical: int = 0  # columns of a data frame that hold categories
    way: Any = None


class LabelsFit(FitRecipe):
    """The fit of `PrivateLabelsClassifier`."""

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        stream = self.stream()
        X = read_rows(reader, X, reset=True, sparse=self.sparse_rows)
        classes, codes = read_labels(y, X.shape[0], self.classes)
        check_several_labels(classes)
        mixed = _n_categorical(X)
        facts = LabelsFacts.of_rows(X, reader, classes=classes, stream=stream, n_categorical=mixed)
        return facts, LabelledRows(X, codes.astype(np.int64))

    def plan(self, facts: LabelsFacts) -> StatedPlan:
        n, k = facts.n_samples, facts.n_labels
        reports, clusters = Reports(n, k, self.cost), Clusters(n, k, self.cost, self.n_clusters)
        sums = Sums(n, k, self.cost)
        summed = self.estimator is None and sums.suit(facts.n_features, facts.n_categorical, reports)
        best = sums if summed else clusters if reports.lose else reports
        ways: dict[str, Any] = {each.name: each for each in (reports, clusters, sums)}
        way = ways.get(self.method, best)
        if way is sums and not self.cost.delta:
            raise ValueError(f"delta must be above 0 for method={Sums.name!r}, got 0")
        cost = self.cost if way is sums else replace(self.cost, delta=Fraction(0))
        warned = few_records(
            n,
            f"of {k} labels with epsilon {float(self.cost.epsilon):.3g}, {way.tells}",
            "spend more epsilon",
            enough=math.ceil(way.enough) if way.enough <= _MOST_NEEDED else None,
        )
        return StatedPlan(
            replace(cost, assumes=(labels_assumed(self.classes), PUBLIC_FEATURES)),
            title="PrivateLabelsPlan",
            states={"n_samples": n, "n_labels": k, "method": way.name} | way.states,
            warns=(warned,) if way.few else (),
            public=replace(facts, way=way),
        )

    def try_out(self, plan: StatedPlan, table: Table) -> StatedPlan:
        facts, rows = plan.public, _whole(table).X  # features are public
        given, classes = self.estimator, facts.classes
        if given is None:  # which takes any number of labels
            given = _standard(rows, np.ones(2, dtype=np.int64), facts, 1)
            classes = classes[:2]
        attempt = partial(dry_run, given, rows, classes, facts.stream)
        trains = self.estimator is not None or plan.method != Sums.name
        if trains:
            check_known_labels(facts.classes)
        if failure := trains and attempt(most=_TRIED) and attempt(most=len(table)):  # some need more rows
            raise ValueError(
                f"estimator must be able to learn from {len(table)} rows with random labels, but fails:"
                f" {failure}"
            )
        return replace(plan, public=replace(facts, way=facts.way.prepared(rows, facts.stream.seeds(1)[0])))

    def cost_of(self, X: Any, y: Any) -> ApproxDP:  # noqa: ARG002 - labels do not tell it
        arrays = isinstance(X, np.ndarray) or hasattr(X, "tocsr")
        if self.method == AUTO and (arrays or (is_frame(X) and not _n_categorical(X))):
            return replace(self.cost, delta=Fraction(0))  # sums are chosen for columns of categories alone
        return self.cost

    def summarized(self, table: Table, plan: StatedPlan) -> Any:  # noqa: ARG002
        return _whole(table)

    def run(self, summary: Any, plan: StatedPlan, dice: Dice) -> tuple[Any, ...]:
        facts, rows = plan.public, summary
        found = facts.way.released(rows.y, plan, dice)
        # From here on all is a function of what was released and of public features.
        reports = facts.classes[found.codes]
        given, reported = self.estimator, np.bincount(found.codes, minlength=facts.n_labels)
        if given is None and found.model is not None:
            return found.model, None, reports, found.counts
        if np.count_nonzero(reported) == 1:  # which many classifiers refuse
            given = DummyClassifier()
        elif given is None:
            given = _standard(rows.X, reported, facts, self.n_trees)
        return (
            *trained(facts.way.learner(given), rows.X, reports, facts.stream.seeds(1)[0]),
            reports,
            found.counts,
        )

    def late_warnings(self, learner: Any, plan: Any) -> tuple[str, ...]:  # noqa: ARG002
        return () if learner.estimator_error_ is None else (learner._failure(),)


def _n_categorical(X: Any) -> int:
    """Return the number of columns of a frame that are no numbers."""
    if is_frame(X):
        with suppress(TypeError):  # durations, periods and intervals, which sums do not read
            return len(kinds_of(X).of_categories)
    return 0


def _whole(table: Table) -> Any:
    """Return all rows, in memory."""
    rows = table.at_once(lambda rows: rows)
    return table.take(np.arange(len(table))) if rows is None else rows


def _standard(X: Any, reported: NDArray[np.int64], facts: LabelsFacts, trees: int) -> Any:
    """Return the default classifier for tables like X; `reported` are the released numbers of reports."""
    n, way = facts.n_samples, facts.way
    sparse = not is_frame(X) and hasattr(X, "tocsr")
    if way.leaf and not (sparse and way.name == Reports.name):
        return make_pipeline(scaled(X), ExtraTreesClassifier(trees, min_samples_leaf=way.leaf))
    if sparse:
        return standard_estimator(X, C=1).set_params(logisticregression__max_iter=2000)
    leaf = int(min(_LEAF * n / max(way.n_effective, 1.0), max(_LEAF, n // 10)))
    boosting = HistGradientBoostingClassifier(
        learning_rate=0.05,
        max_iter=300 if reported.min() >= _STRATIFIED else 100,
        max_leaf_nodes=8,
        min_samples_leaf=leaf,
        early_stopping=bool(reported.min() >= _STRATIFIED),
    )
    return coded(X, boosting)
