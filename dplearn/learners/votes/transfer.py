"""Knowledge transfer: a student trained on public rows with the private answers or scores of an ensemble."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_array, check_is_fitted

from dplearn._documented import documented_by
from dplearn.chance.dice import Dice
from dplearn.domains.cells import is_frame
from dplearn.estimator.base import ROUTED_PUBLIC, available_where, refuse_parameters
from dplearn.estimator.base_models import MANY_ROWS, Seeded, dry_run
from dplearn.estimator.importances import HasImportances
from dplearn.estimator.public_data import public_rows
from dplearn.fit import PUBLIC_ROWS
from dplearn.learners.votes.aggregators import Aggregator, Ballot, transfer_ballot
from dplearn.learners.votes.asked import Scores
from dplearn.learners.votes.dry_runs import notes_on_gaps
from dplearn.learners.votes.online import check_scorer, n_bins_of
from dplearn.learners.votes.recipe import (
    AggregationPlan,
    EnsembleClassifier,
    VotesFacts,
    VotesFit,
    check_classifier,
    notes_on_noise,
)
from dplearn.learners.votes.standard import is_mixed
from dplearn.learners.votes.teachers import train_and_ask
from dplearn.privacy import PrivacyLedger
from dplearn.table import Table, count_of, plain, rows_of
from dplearn.table.features import read_rows
from dplearn.table.rows import check_values

_MADE_UP = f"{MANY_ROWS} public rows with random labels"


class TransferFit(VotesFit):
    """The fit of a student: queries are public rows, and teachers are dropped once they have voted."""

    _assumed = PUBLIC_ROWS

    def known(self, facts: Any, table: Table) -> Any:  # noqa: ARG002 - the public rows tell all
        reader = self.given(columns=facts.columns).reader()
        rows = read_rows(reader, _public_part(self.fit_arguments), reset=False, sparse=self.accepts.sparse)
        public = replace(facts, n_rows=count_of(rows))
        most = self._ballot(public).max_queries
        if self._estimates:  # the release keeps the first of them
            most = self.max_queries or public.n_rows
        chosen = public.stream.permutation(public.n_rows)[:most]
        if not self.accepts.allow_nan and not is_frame(rows) and rows.dtype.kind == "f":
            check_array(rows, accept_sparse=True, dtype=None)  # the student does not accept missing values
        queries = plain(check_values(rows_of(rows, chosen)))
        student = self.asked.standard_student(queries) if self.student is None else self.student
        notes = self._dry_run_notes(public, queries, student)
        return replace(public, queries=queries, student=student, notes=notes)

    def _dry_run_notes(self, facts: VotesFacts, queries: Any, student: Any) -> tuple[str, ...]:
        """Raise if a dry run on public rows with random labels fails; return warnings of missing values."""
        asked = self.asked(facts.classes)
        for name, learned, fit in (
            ("student", student, asked.student_tried),
            ("estimator", facts.estimator, asked.tried),
        ):
            if failure := dry_run(learned, queries, facts.classes, facts.apart(name), fit):
                raise ValueError(f"{name} must be able to learn from {_MADE_UP}, but fails: {failure}")
        # Private rows may have missing values even if the public rows have none.
        return notes_on_gaps(facts, queries, asked.tried)

    def _sizes(self, facts: VotesFacts) -> Ballot:
        return transfer_ballot(**self._open_sizes(facts), n_rows=facts.n_rows)

    def _noise_notes(self, ballot: Ballot, aggregator: Aggregator) -> tuple[str, ...]:
        """Return a warning if even all answers of a unanimous ensemble are noise-dominated: m k is the sum of
        m leads of k votes, and sqrt(2 m) noise_scale the deviation of its noise.
        """
        if ballot.max_abstentions is None:
            dominates = 2 * aggregator.noise_scale > ballot.n_teachers * ballot.max_queries**0.5
        else:
            dominates = aggregator.least_lead > ballot.n_teachers
        return notes_on_noise(ballot, dominates, "so that the student learns next to nothing")

    def run(self, summary: Any, plan: AggregationPlan, dice: Dice) -> dict[str, Any]:
        # One changed record changes one vote on each query.
        plan, cut = self.into_shards(summary, plan, dice)
        public, asked = plan.public, self.asked(plan.public.classes)
        queries = rows_of(public.queries, np.arange(plan.max_queries)) if self._estimates else public.queries
        given = self._trained(train_and_ask, cut, plan, queries=queries, asked=asked)
        n_bins = n_bins_of(self.bin_width, plan.shard_size or 1)  # unknown for a private number
        votes = asked.counted(given, n_bins)
        answers = self._aggregator(plan.ballot).attach(dice).answer(votes)
        # From here on all is a function of released answers and public rows.
        student = Seeded(public.student).clone(public.apart("student's seed").seeds(1)[0])
        return self._published(plan) | {
            "student_": asked.taught(student, queries, answers),
            "n_asked_": queries.shape[0],
            "n_answered_": asked.n_answered(answers),
        }


def _knows_probabilities(model: "KnowledgeTransferClassifier") -> bool:
    student = model.estimator if model.student is None else model.student
    return hasattr(getattr(model, "student_", student), "predict_proba") or student is None


@documented_by(EnsembleClassifier)
@dataclass(eq=False, repr=False)
class KnowledgeTransferClassifier(HasImportances, EnsembleClassifier):
    """Train teachers on private shards, and a student on public rows with their aggregated votes.

    Drop-in, for a `fit` with public rows: any number of predictions costs no privacy. The student is a
    function of released answers and public rows only. It may be published and saved.

    Parameters
    ----------
    estimator : classifier, optional
        The teachers: any scikit-learn classifier or pipeline; it is cloned. None: a logistic regression as
        that of `SubsampleAggregateClassifier`.
    student : classifier, optional
        Any classifier or pipeline; it is cloned. None: a logistic regression after imputation, scaling
        and one-hot encoding. If its `fit` accepts `sample_weight`, the answers are weighted by their
        leads.
    n_teachers : int or "auto", default="auto"
        Number of shards, at least 1, each with one teacher. "auto": a function of the number of records and
        of the budget.
    delta
        ... Only "lnmax" works without, and spends none.
    aggregation : {"gnmax", "sparse_vector", "confident_gnmax", "lnmax"}, default="gnmax"
        As for `SubsampleAggregateClassifier`. With noisy maxima, the weight of an answer in the student's fit
        depends on its lead.
    max_queries : int or "auto", default="auto"
        Number of public rows that are queried, at least 1, drawn at random from the public stream. "auto": a
        function of the number of teachers and of the budget, since a greater number means more noise in each
        answer.
    max_abstentions : int or "auto", default="auto"
        With "sparse_vector", the number of abstentions, at least 1, after which it stops.

    Attributes
    ----------
    student_ : classifier
        Released. The fitted student.
    classes_
    guarantee_
    n_asked_ : int
        Public. The number of rows that were to be queried; for neighbors="add_remove" it may be a function of
        the released number of records.
    n_answered_ : int
        Released. The number of these rows that were answered.
    public_seed_ : int
        Public. Determines the records of each shard, unless these are drawn in secret, the seeds of the
        teachers and of the student, and the rows that are queried.
    feature_importances_, n_features_in_, feature_names_in_

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record. One record is in one shard and
    changes one vote on each query. For one added or removed record: as for `SubsampleAggregateClassifier`.

    **Accuracy.** No bound for a general student. `dplearn.theory` has sample sizes for classes of finite
    Vapnik-Chervonenkis dimension.

    **Source.** Bassily, Thakkar and Thakurta (2018), Algorithm 5; Papernot and others (2017, 2018). Where
    features are public, half of the records serve as the public rows there; `PrivateLabelsClassifier` is for
    such tables, and more accurate.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from dplearn import KnowledgeTransferClassifier, PublicData
    >>> X, y = make_classification(3000, random_state=0)
    >>> model = KnowledgeTransferClassifier(epsilon=3.0, classes=[0, 1], random_state=0).fit(
    ...     X[:2000], y[:2000], X_public=PublicData(X[2000:2500])
    ... )
    >>> model.score(X[2500:], y[2500:]) > 0.8
    True
    """

    estimator: Any = None
    student: Any = None
    _: KW_ONLY
    n_teachers: int | str = "auto"
    epsilon: float = 1.0
    delta: float = 1e-6
    aggregation: str = "gnmax"
    max_queries: int | str = "auto"
    max_abstentions: int | str = "auto"
    classes: Sequence[Any] | None = None
    neighbors: str = "replace_one"
    n_jobs: int | None = None
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    _fit_class = TransferFit
    __metadata_request__fit = ROUTED_PUBLIC

    def fit(
        self, X: Any, y: Any = None, X_public: Any = None, *, groups: Any = None, **fit_parameters: Any
    ) -> Self:
        """Train teachers, label public rows by private aggregation of their votes, and train the student.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Private rows.
        y : array-like of shape (n_samples,)
            Private labels.
        X_public : PublicData, optional
            Public rows without labels; required.

        Raises
        ------
        TypeError
            If there are weights, or `X_public` has a wrong type or value; no budget is spent.
        BudgetExceededError
            If the cost exceeds the ledger's remaining budget; nothing is spent. It is no `Exception`.
        """
        refuse_parameters(self, fit_parameters)
        return self._fit_privately(X, y, X_public=X_public, groups=groups)

    def _more_params(self) -> dict[str, Any]:
        check_classifier("student", self.student)
        return {"student": self.student, "bin_width": "auto"}

    @property
    def needs_public_rows(self) -> bool:
        """Whether a fit takes public rows, `X_public`, and cannot do without."""
        return True

    def _ranks_columns(self, X: Any) -> bool:
        """Whether a fit to a table may have importances; of the default student, only that of numbers has."""
        numbers = not is_mixed(X) if is_frame(X) else getattr(getattr(X, "dtype", None), "kind", "") in "iufb"
        return self.student is not None or numbers

    def plan(self, n_samples: int, *, n_labels: int | None = None, n_rows: int = 10_000) -> AggregationPlan:
        """Return the plan of a fit: its guarantee, its noise and its sizes. No data is read.

        Parameters
        ----------
        n_rows : int, default=10000
            Number of public rows.
        """
        return self._planned(n_samples, n_labels, n_rows)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels; costs no privacy."""
        check_is_fitted(self)
        rows = self._rows(X)
        return self.student_.predict(rows)

    @available_where(_knows_probabilities)
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the student's probabilities; costs no privacy.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; 0 for labels that occur in no answer.
        """
        return self._probabilities(X)

    def _probabilities(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        known = self.student_.predict_proba(self._rows(X))
        probabilities = np.zeros((len(known), len(self.classes_)))
        probabilities[:, np.searchsorted(self.classes_, self.student_.classes_)] = known
        return probabilities

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.student is not None:
            tags.input_tags.allow_nan &= get_tags(self.student).input_tags.allow_nan
            tags.input_tags.sparse &= get_tags(self.student).input_tags.sparse
        return tags

    def _of_the_stream(self) -> tuple[object, ...]:
        return "examples", self.max_queries  # with both, a `random_state` means what it always did


@documented_by(KnowledgeTransferClassifier)
@dataclass(eq=False, repr=False, kw_only=True)
class SoftLabelTransferClassifier(KnowledgeTransferClassifier):
    """Train teachers on private shards, and a student on public rows with their aggregated probabilities.

    Drop-in, for a `fit` with public rows: any number of predictions costs no privacy. The student is a
    function of released scores and public rows only. It may be published and saved. For labels without
    probabilities, `KnowledgeTransferClassifier` is as accurate; `SoftLabelAggregateClassifier` has scores
    without a student.

    Parameters
    ----------
    estimator : classifier, optional
        The teachers: any scikit-learn classifier or pipeline with `predict_proba`; it is cloned. None: a
        logistic regression by stochastic gradient descent, as for `SoftLabelAggregateClassifier`.
    student : regressor or classifier, optional
        Any regressor, classifier, or pipeline of one; it is cloned. A regressor is fitted to the scores. A
        classifier whose `fit` accepts `sample_weight` is fitted to each row with every label, weighted by its
        score; any other classifier is fitted to the most probable labels. None: a logistic curve fitted to
        the scores.
    bin_width : float or "auto", default="auto"
        As for `SoftLabelAggregateClassifier`.
    delta : float, default=1e-6
        Probability with which the guarantee may fail, in (0, 1); choose it far below 1 / n_samples.
    aggregation : {"mean", "sparse_vector"}, default="mean"
        As for `SoftLabelAggregateClassifier`.
    max_queries : int or "auto", default="auto"
        Number of public rows that are queried, at least 1, drawn at random from the public stream. "auto": a
        function of the number of teachers and of the budget.
    max_abstentions : int or "auto", default="auto"
        With "sparse_vector", the number of abstentions in scores, at least 1, after which it stops.

    Attributes
    ----------
    student_ : SoftStudent
        Released. The fitted student.
    n_answered_ : int
        Released. The number of these rows that were answered with all their scores.

    Notes
    -----
    **Privacy.** As for `KnowledgeTransferClassifier`, with scores instead of votes: one record changes one
    score in each histogram, or one term of each sum.

    **Accuracy.** No bound for a general student. The bound on the error of its training scores is that of
    `SoftLabelAggregateClassifier`.

    **Source.** Bassily, Thakkar and Thakurta (2018), Algorithms 5 to 8, combined.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from dplearn import PublicData, SoftLabelTransferClassifier
    >>> X, y = make_classification(3000, random_state=0)
    >>> model = SoftLabelTransferClassifier(epsilon=3.0, classes=[0, 1], random_state=0).fit(
    ...     X[:2000], y[:2000], X_public=PublicData(X[2000:2500])
    ... )
    >>> model.score(X[2500:], y[2500:]) > 0.8
    True
    """

    aggregation: str = "mean"
    bin_width: float | str = "auto"

    _asked = Scores

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the student's probabilities; costs no privacy."""
        return self._probabilities(X)

    def _more_params(self) -> dict[str, Any]:
        n_bins_of(self.bin_width, 1)
        check_scorer(self.estimator)
        student = self.student
        if isinstance(student, type) or not hasattr(student, "__sklearn_tags__") or not is_regressor(student):
            check_classifier("student", student)
        return {"student": student, "bin_width": self.bin_width}


def _public_part(public: Mapping[str, Any]) -> Any:
    """Return the public rows."""
    if public.get("X_public") is None:
        raise ValueError(
            "X_public must be PublicData(rows), got None; without public rows, use"
            " SyntheticDataClassifier(estimator), or PrivateLabelsClassifier(estimator), where all features"
            " are public"
        )
    return public_rows(public["X_public"])
