"""Ensembles that answer queries from their teachers until the budget is spent, with labels or probabilities.

`fit` trains the teachers, and draws nothing: they are held in a one-time state, an `Ensemble`, with the
aggregator that counts the remaining queries. `predict` and `predict_proba` ask them, and release answers.
"""

import os
import pickle
import warnings
from collections.abc import Sequence
from copy import copy, deepcopy
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import partial
from math import ceil, isnan, isqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dplearn._documented import documented_by
from dplearn._validation import check_number
from dplearn._writing import brief
from dplearn.chance import PublicStream, dice_for
from dplearn.chance.dice import Dice
from dplearn.estimator.base_models import check_own_code
from dplearn.estimator.isolation import attempt, isolated, isolated_turn, muted_output
from dplearn.kernels import FIXED_POINT_ONE
from dplearn.learners.votes.aggregators import (
    MANY_QUERIES,
    Aggregator,
    Ballot,
    QueriesExhaustedError,
    planned_ballot,
)
from dplearn.learners.votes.asked import Asked, Scores
from dplearn.learners.votes.dry_runs import notes_on_made_up_rows
from dplearn.learners.votes.recipe import (
    AggregationPlan,
    EnsembleClassifier,
    VotesFacts,
    VotesFit,
    notes_on_noise,
)
from dplearn.learners.votes.standard import CellColumns, apart
from dplearn.learners.votes.teachers import answers_of, train_teachers
from dplearn.learners.votes.worker_pool import unpickled
from dplearn.privacy import OneTimeState, PrivacyLedger
from dplearn.table import LabelledRows, Table, rows_of
from dplearn.table.rows import check_values

# The standard deviation of the scores of teachers on independent shards of n' records is of order 1 /
# sqrt(n'), as in Theorem 5.14. With the proved constant for the standard teacher, nearly every shard has two
# bins only (docs/theory/soft_label_stability.md). This constant is from synthetic data: most scores vary by
# at most 3 / sqrt(n').
_SPREAD = 3
# Tolerance for widths such as the float of 1/3, which is below 1/3 but must give three bins.
_ROUNDED = Fraction(1, 1000)
_QUERIES = "the queried rows depend on the records only through released answers"
_FEW_ANSWERS = 50  # of a fit that determines their number
_WITHOUT_LIMIT = (
    "for predictions without limit, also in searches and cross-validation, take KnowledgeTransferClassifier,"
    " whose student learns from answers on public rows, or SyntheticDataClassifier"
)


@dataclass(repr=False)  # a traceback could show the repr
class Ensemble:
    """The private state of a fitted ensemble, which is held only in a one-time state."""

    teachers: list[Any]  # one for each shard, or None
    aggregator: Aggregator  # holds the dice, and counts the remaining queries
    asked: Asked
    published: dict[str, Any]  # the fitted attributes of the estimator
    columns: CellColumns | None  # how rows are read, before the teachers
    n_bins: int = 0  # of scores
    n_asked: int = 0  # queries answered so far

    def answer(self, queries: Any) -> Any:
        """Release answers to queries, which must not change; too large a batch is refused before any draw."""
        left, number = self.aggregator.remaining_queries, queries.shape[0]
        if number > left:
            raise QueriesExhaustedError(
                f"X must hold at most the {left} queries that are left, got {number}; nothing was spent. A"
                f" greater max_queries allows more, with more noise; {_WITHOUT_LIMIT}"
            )
        if not number:
            return self.asked.no_answers
        votes = self._votes(queries)
        self.n_asked += len(votes)
        return self.aggregator.answer(votes)

    def _votes(self, queries: Any) -> Any:
        return self.asked.counted(answers_of(self.teachers, queries, self.asked, self.columns), self.n_bins)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the dice; a teacher that cannot be pickled casts no vote, without an
        error.
        """
        aggregator = copy(self.aggregator)
        with muted_output(), isolated():
            teachers = [attempt(partial(_packed, each), lambda _: b"") for each in self.teachers]
        return vars(self) | {"aggregator": aggregator.attach(None), "teachers": teachers}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Empty bytes stand for a teacher that could not be pickled.
        with muted_output(), isolated():
            teachers = [attempt(partial(unpickled, each), lambda _: None) for each in state["teachers"]]
        self.__dict__.update(state, teachers=teachers)


def _packed(teacher: Any) -> bytes:
    with isolated_turn():
        return pickle.dumps(teacher)


class OnlineFit(VotesFit):
    """The fit of an ensemble that keeps its teachers."""

    _assumed = _QUERIES
    _ensemble: ClassVar[type[Ensemble]] = Ensemble

    def known(self, facts: Any, table: Table) -> Any:  # noqa: ARG002
        known = replace(facts, n_rows=MANY_QUERIES)
        self._ballot(known)  # raises on incompatible parameters, before any dry run
        return replace(known, notes=notes_on_made_up_rows(known, self.asked.tried))

    def _sizes(self, facts: VotesFacts) -> Ballot:
        return planned_ballot(**self._open_sizes(facts))

    def _noise_notes(self, ballot: Ballot, aggregator: Aggregator) -> tuple[str, ...]:
        """Return warnings of few answers, and if noise dominates even the votes of a unanimous ensemble."""
        few = self.max_queries is None and ballot.max_queries < _FEW_ANSWERS
        notes = (
            f"max_queries='auto' is {ballot.max_queries} with {ballot.n_teachers} teachers: a fit spends its"
            " whole budget, and predicts so many rows in all. Use more records, or a learner of unlimited"
            " predictions, such as AdditiveClassifier or StatisticalQueryNaiveBayes; plan(n_samples) reports"
            " `max_queries` without data",
        ) * few
        if ballot.max_abstentions is None:
            consequence = "so that answers are nearly random"
            return notes + notes_on_noise(ballot, aggregator.noise_scale > ballot.n_teachers, consequence)
        consequence = "so that nearly all answers are abstentions"
        return notes + notes_on_noise(ballot, aggregator.least_lead > ballot.n_teachers, consequence)

    def _sized(self, public: Any) -> AggregationPlan:
        plan = super()._sized(public)
        if self.asked is not Scores:
            return plan
        width = 1 / n_bins_of(self.bin_width, plan.shard_size)
        if plan.max_abstentions:  # scores are rounded down to fixed point before they fall into bins
            return replace(plan, bin_width=width, error=width / 2 + 1 / FIXED_POINT_ONE)
        # The grid of a mean has a step of at most noise_scale / 4, or consists of all fixed-point scores.
        rounded = max(plan.noise_scale / 8, plan.n_teachers / (2 * FIXED_POINT_ONE))
        return replace(plan, bin_width=width, error=(plan.least_lead + rounded) / plan.n_teachers)

    def run(self, summary: LabelledRows, plan: AggregationPlan, dice: Dice) -> dict[str, Any]:
        # One changed record changes one teacher. Answers are released later, by `predict`.
        plan, cut = self.into_shards(summary, plan, dice)
        teachers = self._trained(train_teachers, cut, plan, classes=plan.public.classes)
        published, n_bins = self._published(plan) | {"max_abstentions_": plan.max_abstentions}, 0
        if plan.bin_width is not None:
            published["bin_width_"], n_bins = plan.bin_width, round(1 / plan.bin_width)
        kept = published | (plan.public.columns or {})
        aggregator, asked = self._aggregator(plan.ballot).attach(dice), self.asked(plan.public.classes)
        columns, _ = apart(plan.public.estimator)
        state = OneTimeState(self._ensemble(teachers, aggregator, asked, kept, columns, n_bins))
        return published | {"_one_time_state": state}


class OnlineEnsembleClassifier(EnsembleClassifier):
    """Base class of classifiers that hold teachers in a one-time state, for a limited number of queries."""

    _fit_class = OnlineFit

    def _ranks_columns(self, X: Any) -> bool:  # noqa: ARG002
        """Return False: what answers questions releases nothing about columns."""
        return False

    def export_teachers(self, path: str | os.PathLike[str]) -> None:
        """Move the teachers and their remaining queries to a new file; this object then has no teachers.

        Parameters
        ----------
        path : str or path-like
            A path where no file exists. The file contains private data, and can be loaded once.
        """
        self._check_teachers()
        with isolated():
            self._one_time_state.export(path)

    def load_teachers(self, path: str | os.PathLike[str]) -> Self:
        """Load the teachers from a file that `export_teachers` wrote; this consumes the file.

        All fitted attributes, the guarantee included, are set to those of the exporting estimator.

        Parameters
        ----------
        path : str or path-like
            The file. It is a pickle: load it only from a trusted source.

        Raises
        ------
        ValueError
            If the file does not contain teachers of this class; the file is not consumed.
        """
        state: OneTimeState[Ensemble] = OneTimeState.load(path)
        with state.use() as ensemble:
            found = isinstance(ensemble, Ensemble) and type(ensemble.asked) is self._asked
            if found:
                ensemble.aggregator.attach(dice_for(None))
                published = dict(ensemble.published)
        if not found:
            state.export(path)
            raise ValueError(f"{os.fspath(path)}: not the teachers of a {type(self).__name__}")
        self._delete_fitted_attributes()
        self.__dict__.update(published, _one_time_state=state)
        return self

    @property
    def remaining_queries_(self) -> int:
        """Number of further rows that can be queried in one call."""
        return self._left("remaining_queries", 0)

    @property
    def remaining_abstentions_(self) -> int | None:
        """Number of further abstentions after which the ensemble stops; None if it never stops."""
        return self._left("remaining_abstentions", None)

    def _left(self, what: str, without: Any) -> Any:
        check_is_fitted(self)
        try:
            with self._one_time_state.use() as ensemble:
                return getattr(ensemble.aggregator, what)
        except (AttributeError, RuntimeError):  # no teachers in this object
            return without

    def _check_teachers(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "_one_time_state"):
            raise RuntimeError(
                "this copy has no teachers: they are not pickled; use export_teachers and load_teachers"
            )

    def _answered(self, X: Any) -> tuple[Any, dict[str, Any], int, int]:
        """Return released answers, public attributes, and the numbers of earlier and of new queries."""
        self._check_teachers()
        read = self._rows(X)
        standard = self._asked.standard_teacher
        check_own_code("estimator", standard(read) if self.estimator is None else self.estimator)
        # A copy: an object that grew between the count and the answer would get answers beyond the budget.
        queries = check_values(rows_of(read, np.arange(read.shape[0])))
        # The order of the locks is fixed: a teacher in training may query another ensemble.
        with isolated(), self._one_time_state.use() as ensemble:
            first = ensemble.n_asked
            answers = ensemble.answer(queries)
            return answers, ensemble.published, first, ensemble.n_asked - first

    def _check_complete(self, released: NDArray[Any], asked: int) -> None:
        if len(released) < asked:
            raise QueriesExhaustedError(
                f"max_abstentions={self.max_abstentions_} is used up at row {len(released)} of this batch;"
                " this model answers no further queries. The answers are in .released of this error."
                " At least plan(n).least_decided must be decided; the default aggregation never stops;"
                f" {_WITHOUT_LIMIT}",
                released,
            )

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the teachers; warn if there are teachers."""
        state: dict[str, Any] = super().__getstate__()
        if "_one_time_state" in state and not state["_one_time_state"].closed:
            warnings.warn(
                f"a pickle of {type(self).__name__} contains no teachers, since they are private, and cannot"
                " predict when it is loaded: export_teachers(path) moves them to a file, and"
                " load_teachers(path) loads them; a pickle of a model that predicts without teachers, such as"
                " KnowledgeTransferClassifier, is complete",
                stacklevel=2,
            )
        return {name: value for name, value in state.items() if name != "_one_time_state"}

    def __copy__(self) -> Self:
        return self._twin(dict(vars(self)))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self._twin({name: deepcopy(value, memo) for name, value in vars(self).items()})

    def _twin(self, attributes: dict[str, Any]) -> Self:
        """Return a copy that shares the one-time state."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(attributes)
        return twin

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # predict draws noise
        return tags


@documented_by(EnsembleClassifier)
@dataclass(eq=False, repr=False)
class SubsampleAggregateClassifier(OnlineEnsembleClassifier):
    """Train teachers on disjoint shards, and answer queries by private aggregation of their votes.

    Answers questions, and is no drop-in: `fit` spends the whole privacy budget, for up to `max_queries`
    answers; each `predict` consumes one query a row. For a model without a limit on predictions, train a
    student on the answers (`KnowledgeTransferClassifier`); for probabilities, take
    `SoftLabelAggregateClassifier`.

    Parameters
    ----------
    estimator : classifier, optional
        Any scikit-learn classifier or pipeline; it is cloned. It must contain all preprocessing that is
        fitted to data. None: a logistic regression on numbers, imputed and scaled, and on 16 columns of 0 and
        1 for the texts of a column, by their hash.
    n_teachers : int or "auto", default="auto"
        Number of shards, at least 1, each with one teacher. "auto": a function of the numbers of records,
        labels and queries and of the budget.
    epsilon
        ... All answers together share it.
    delta
        ... Only "lnmax" works without, and spends none.
    aggregation : {"gnmax", "sparse_vector", "confident_gnmax", "lnmax"}, default="gnmax"
        "gnmax" and "lnmax" answer every query with the maximum of noisy vote counts, with Gaussian or Laplace
        noise. "confident_gnmax" first compares the greatest count with a noisy threshold, and abstains below
        it. "sparse_vector" answers with the plurality if it is stable under a change of few votes, and else
        abstains. Its answers cost nearly nothing and its abstentions cost privacy; it stops after
        `max_abstentions` of them, and therefore before `max_queries` unless nearly all rows are decided.
    max_queries : int or "auto", default="auto"
        Number of rows that can be queried, at least 1; with "confident_gnmax" the least number. "auto": 1,000
        with "sparse_vector"; else the most, up to 1,000, for which with probability at least .95 all rows on
        which five of six teachers (with "confident_gnmax": all teachers) agree are answered with their label.
        A greater number means more noise in each answer.
    max_abstentions : int or "auto", default="auto"
        With "sparse_vector", the number of abstentions, at least 1, after which it stops
        (`plan(n).least_decided` rows must be decided so that it does not). "auto": the most for which five of
        six teachers suffice for an answer, or `max_queries` if there are too few teachers for that.
    abstain_label : object, optional
        The label returned for an abstention. None: a random label, drawn from the public stream.

    Attributes
    ----------
    classes_
    guarantee_
        ... It is of all answers together.
    max_abstentions_ : int or None
        Public. The number of abstentions after which it stops; None if it never stops. For
        neighbors="add_remove" it may be a function of the released number of records.
    public_seed_ : int
        Public. Determines the records of each shard, unless these are drawn in secret, the teachers' seeds,
        and the labels returned for abstentions.
    n_features_in_, feature_names_in_
    remaining_queries_ : int
        Released. The number of further rows that can be queried in one call; with "sparse_vector" and
        "confident_gnmax" it depends on the abstentions so far.
    remaining_abstentions_ : int or None
        Released. The number of further abstentions after which it stops; None if it never stops.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record, of all answers together.
    Shards are assigned by position, so that one record changes one teacher and one vote on each query.
    Teachers are held in a one-time state (`OneTimeState`): copies of the estimator share it, and a pickle
    contains no teachers.
    For one added or removed record: each record draws its shard by itself, uniformly and in secret. For any
    fixed draws of the other records one shard changes, and its teacher's vote on each query from any label to
    any other, as by a replaced record: the noise is the same, and not half of it. An estimate of the number
    of records is a release before the others; its price and theirs compose to (epsilon, delta): rho adds up
    with Gaussian noise, epsilon otherwise.

    **Accuracy.** With probability at least .95, `max_queries` rows on which a label leads by at least
    `plan(n).least_lead` votes are all answered with that label. "sparse_vector" processes all `max_queries`
    rows, with probability at least .95, if `plan(n).least_decided` of them are such rows; the other
    aggregations always do.

    **Source.** Bassily, Thakkar and Thakurta (2018), Algorithms 3 and 4; Papernot and others (2017, 2018) for
    noisy maxima.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from dplearn import SubsampleAggregateClassifier
    >>> X, y = make_classification(5100, random_state=0)
    >>> model = SubsampleAggregateClassifier(
    ...     DecisionTreeClassifier(max_depth=3), epsilon=3.0, classes=[0, 1], random_state=0
    ... ).fit(X[:5000], y[:5000])
    >>> model.predict(X[5000:5005]).tolist()
    [0, 1, 1, 1, 0]
    >>> model.remaining_queries_
    151
    """

    estimator: Any = None
    _: KW_ONLY
    n_teachers: int | str = "auto"
    epsilon: float = 1.0
    delta: float = 1e-6
    aggregation: str = "gnmax"
    max_queries: int | str = "auto"
    max_abstentions: int | str = "auto"
    abstain_label: Any = None
    classes: Sequence[Any] | None = None
    neighbors: str = "replace_one"
    n_jobs: int | None = None
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    def plan(self, n_samples: int, *, n_labels: int | None = None) -> AggregationPlan:
        """Return the plan of a fit: its guarantee, its noise and its sizes. No data is read."""
        return self._planned(n_samples, n_labels, MANY_QUERIES)

    def predict(self, X: Any) -> NDArray[Any]:
        """Answer queries privately; each row consumes one query.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_queries, n_features)
            Public rows.

        Returns
        -------
        ndarray of shape (n_queries,)
            Entries of `classes_`, and `abstain_label` if it is given.

        Raises
        ------
        QueriesExhaustedError
            If there are more rows than remaining queries; no noise is drawn then. Also if the last allowed
            abstention occurs before the last row; `released` then holds the answers up to it.
        """
        answers, public, first, asked = self._answered(X)
        labels = self._labels(public, answers.codes, first)
        self._check_complete(labels, asked)
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Answer public queries privately, with probability 1 for the label; each row consumes one query.

        Returns
        -------
        ndarray of float64 of shape (n_queries, n_classes)
            Equal probabilities for an abstention.
        """
        answers, public, _, asked = self._answered(X)
        certain = np.eye(len(public["classes_"]))[answers.codes]
        certain[answers.codes < 0] = 1 / certain.shape[1]
        self._check_complete(certain, asked)
        return np.asarray(certain, dtype=np.float64)

    def _more_params(self) -> dict[str, Any]:
        if np.ndim(self.abstain_label):
            raise ValueError(f"abstain_label must be a single label, got {self.abstain_label!r}")
        return {}

    def _labels(self, public: dict[str, Any], codes: NDArray[np.int64], first: int) -> NDArray[Any]:
        """Return the labels of answers; `first` is the number of earlier queries."""
        abstained, classes = codes < 0, public["classes_"]
        if self.abstain_label is None:
            stream = PublicStream(public["public_seed_"], "declined", first)
            drawn = stream.labels(len(classes), codes.size)
            return classes[np.where(abstained, drawn, codes)]
        labels = classes[codes].astype(_common_type(classes, self.abstain_label))
        labels[abstained] = self.abstain_label
        return labels


def _common_type(classes: NDArray[Any], label: Any) -> np.dtype[Any]:
    """Return a dtype for all labels and one more: a numpy dtype if all are texts or all are numbers."""
    more = np.asarray(label)
    kinds = {"text" if part.dtype.kind == "U" else part.dtype.kind in "iuf" for part in (classes, more)}
    return np.result_type(classes, more) if kinds in ({"text"}, {True}) else np.dtype(object)


@documented_by(SubsampleAggregateClassifier)
@dataclass(eq=False, repr=False)
class SoftLabelAggregateClassifier(OnlineEnsembleClassifier):
    """Train teachers on disjoint shards, and answer queries by private aggregation of their probabilities.

    Answers questions, and is no drop-in: `fit` spends the whole privacy budget, for up to `max_queries` rows;
    each `predict_proba` and each `predict` consumes one query a row. For a model without a limit on
    predictions, train a student on the scores (`SoftLabelTransferClassifier`).

    With two labels, the score of a row is the probability of the second label. With more, each label has a
    score, its probability against the rest; all scores share the one budget, and the released scores of a row
    are normalised to sum 1.

    Parameters
    ----------
    estimator : classifier, optional
        Any scikit-learn classifier or pipeline with `predict_proba`; it is cloned. None: a logistic
        regression by stochastic gradient descent, on numbers and texts as `SubsampleAggregateClassifier`.
    delta : float, default=1e-6
        Probability with which the guarantee may fail, in (0, 1); choose it far below 1 / n_samples.
    aggregation : {"mean", "sparse_vector"}, default="mean"
        "mean" answers every query with the noisy mean of all scores. "sparse_vector" answers with the
        midpoint of the fullest bin of scores if it is stable under a change of few scores, and else abstains.
        Its answers cost nearly nothing and its abstentions cost privacy; it stops after `max_abstentions` of
        them. It is better for very many rows on which nearly all teachers have the same score.
    bin_width : float or "auto", default="auto"
        Width of the bins of "sparse_vector", from 1/2048 to 1/2; reduced to the next reciprocal of an
        integer. "auto": a function of the size of a shard; 1/2 if that is not known, for
        neighbors="add_remove" with a given number of teachers.
    max_queries : int or "auto", default="auto"
        Number of rows that can be queried, at least 1. "auto": 1,000 with "sparse_vector"; with "mean" the
        most, up to 1,000, for which with probability at least .95 all released scores differ by at most about
        1/4 (exactly: `plan(n).error`) from the mean of the teachers' scores. A greater number means more
        noise in each answer.
    max_abstentions : int or "auto", default="auto"
        With "sparse_vector", the number of abstentions in scores, at least 1, after which it stops
        (`plan(n).least_decided` scores must be decided so that it does not). A score that is answered only
        with shifted bins costs half as much as an abstention. "auto": the most for which five of six teachers
        suffice for an answer, or all scores if there are too few teachers for that.
    abstain_score : float, optional
        The score returned for an abstention: a number from 0 to 1, or nan. None: 1 / n_classes.

    Attributes
    ----------
    classes_
    bin_width_ : float
        Public. The width of the bins; for neighbors="add_remove" it may be a function of the released number
        of records.
    n_features_in_, feature_names_in_
    remaining_queries_ : int
        Released. The number of further rows that can be queried in one call; with "sparse_vector" it depends
        on the abstentions so far.

    Notes
    -----
    **Privacy.** As for `SubsampleAggregateClassifier`, with scores instead of votes: one record changes one
    teacher, and one score in each histogram or one term of each sum. Bins are public.

    **Accuracy.** The error is at most `plan(n).error` with probability at least .95. With "sparse_vector"
    this holds for answered scores; a score is answered if the number of teachers in one bin, or in one
    shifted bin, exceeds half of the teachers by `plan(n).least_lead` / 2.

    **Source.** Bassily, Thakkar and Thakurta (2018), Algorithms 6 to 8. There the threshold is too low for
    the noise, and the distance has sensitivity 2 (see docs/errata.md); here both are as for
    `SubsampleAggregateClassifier`, with two unstable tests for an abstention. The noisy means are ours.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from dplearn import SoftLabelAggregateClassifier
    >>> X, y = make_classification(2100, random_state=0)
    >>> model = SoftLabelAggregateClassifier(
    ...     epsilon=5.0, classes=[0, 1], max_queries=100, random_state=1
    ... ).fit(X[:2000], y[:2000])
    >>> model.predict_proba(X[2000:2003]).round(1).tolist()
    [[0.2, 0.8], [0.0, 1.0], [0.2, 0.8]]
    >>> model.remaining_queries_
    97
    """

    estimator: Any = None
    _: KW_ONLY
    n_teachers: int | str = "auto"
    epsilon: float = 1.0
    delta: float = 1e-6
    aggregation: str = "mean"
    bin_width: float | str = "auto"
    max_queries: int | str = "auto"
    max_abstentions: int | str = "auto"
    abstain_score: float | None = None
    classes: Sequence[Any] | None = None
    neighbors: str = "replace_one"
    n_jobs: int | None = None
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    _asked = Scores

    def plan(self, n_samples: int, *, n_labels: int | None = None) -> AggregationPlan:
        return self._planned(n_samples, n_labels, MANY_QUERIES)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Answer queries with private probabilities; each row consumes one query.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_queries, n_features)
            Public rows.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            In the order of `classes_`; each row sums to 1.

        Raises
        ------
        QueriesExhaustedError
            As in `SubsampleAggregateClassifier.predict`.
        """
        check_abstain_score(self.abstain_score)
        scores, public, _, asked = self._answered(X)
        likely = probabilities_of(scores, len(public["classes_"]), self.abstain_score)
        self._check_complete(likely, asked)
        return likely

    def predict(self, X: Any) -> NDArray[Any]:
        """Answer public queries with the most probable label; each row consumes one query.

        Returns
        -------
        ndarray of shape (n_queries,)
            Entries of `classes_`; for a row with abstentions on all scores, a label from the public stream.
        """
        check_abstain_score(self.abstain_score)
        scores, public, first, asked = self._answered(X)
        classes = public["classes_"]
        # Unclipped scores: scores below 0, or above 1, become equal once they are clipped to probabilities.
        known = np.where(np.isnan(scores), 1 / len(classes), scores)
        leading = known[:, 0] > 0.5 if len(classes) == 2 else known.argmax(axis=1)
        drawn = PublicStream(public["public_seed_"], "declined", first).labels(len(classes), len(scores))
        codes = np.where(np.isnan(scores).all(axis=1), drawn, leading)
        labels: NDArray[Any] = classes[codes]
        self._check_complete(labels, asked)
        return labels

    def _more_params(self) -> dict[str, Any]:
        check_abstain_score(self.abstain_score)
        n_bins_of(self.bin_width, 1)
        check_scorer(self.estimator)
        return {"bin_width": self.bin_width}


def check_scorer(estimator: Any) -> None:
    """Raise if an estimator has no `predict_proba`."""
    if estimator is not None and not hasattr(estimator, "predict_proba"):
        raise TypeError(f"estimator must be None or a classifier with predict_proba, got {brief(estimator)}")


def probabilities_of(
    scores: NDArray[np.float64], n_labels: int, abstain_score: float | None
) -> NDArray[np.float64]:
    """Return released scores as probabilities of all labels, which is post-processing."""
    missing = 1 / n_labels if abstain_score is None else float(abstain_score)
    known = np.where(np.isnan(scores), missing, scores).clip(0, 1)
    if n_labels == 2:
        return np.hstack([1 - known, known])
    total = known.sum(axis=1, keepdims=True)
    return np.where(total == 0, 1 / n_labels, known / np.where(total == 0, 1, total))


def n_bins_of(bin_width: Any, shard_size: int) -> int:
    """Return the number of bins of a given width, or with "auto" for a shard size."""
    if isinstance(bin_width, str):
        if bin_width != "auto":
            raise ValueError(
                f"bin_width must be 'auto' or a number from 1/{FIXED_POINT_ONE // 2} to 1/2,"
                f" got {bin_width!r}"
            )
        return min(max(2, isqrt(shard_size) // _SPREAD), FIXED_POINT_ONE // 2)
    width = check_number("bin_width", bin_width, low=Fraction(2, FIXED_POINT_ONE), high=Fraction(1, 2))
    return ceil(1 / width - _ROUNDED)


def check_abstain_score(score: Any) -> None:
    """Raise if the score is not None, nan or a number from 0 to 1."""
    if isinstance(score, str):
        raise TypeError(f"abstain_score must be None, nan or a number from 0 to 1, got {score!r}")
    if score is not None and not (isinstance(score, (float, np.floating)) and isnan(score)):
        check_number("abstain_score", score, low=0, high=1)
