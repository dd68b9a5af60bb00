"""Soft labels: private aggregation of the predicted probabilities of teachers on disjoint shards.

>>> n_bins_of(0.25, shard_size=20), n_bins_of("auto", shard_size=200)
(4, 4)
>>> probabilities_of(np.array([[0.75], [np.nan], [1.5]]), 2, None).tolist()
[[0.25, 0.75], [0.5, 0.5], [0.0, 1.0]]
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from math import ceil, isnan, isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_number
from dplearn._writing import brief
from dplearn.chance import PublicStream
from dplearn.ensembles.aggregators import SOFT_AGGREGATIONS, SoftBallot
from dplearn.ensembles.asking import NO_VOTE, Scores
from dplearn.ensembles.base_estimators import standard_scorer
from dplearn.ensembles.ensemble import SoftEnsemble
from dplearn.ensembles.sizes import MANY_QUERIES
from dplearn.estimator.recipe import FitRecipe, Public
from dplearn.kernels.soft_votes import FIXED_POINT_ONE
from dplearn.learners.ensembles import AggregationPlan
from dplearn.learners.online import OnlineEnsembleClassifier
from dplearn.privacy import PrivacyLedger
from dplearn.privacy.plan import ALPHA

# The standard deviation of the scores of teachers on independent shards of n' records is of order 1 /
# sqrt(n'), as in Theorem 5.14. With the proved constant for the standard teacher, nearly every shard has two
# bins only (docs/theory/soft_label_stability.md). This constant is from synthetic data: most scores vary by
# at most 3 / sqrt(n').
_SPREAD = 3
# Tolerance for widths such as the float of 1/3, which is below 1/3 but must give three bins.
_ROUNDED = Fraction(1, 1000)


@dataclass(frozen=True, kw_only=True)
class SoftLabelPlan(AggregationPlan):
    """The plan of a fit of `SoftLabelAggregateClassifier`, a function of public values.

    Besides the fields of `AggregationPlan`. `least_decided` counts scores: with two labels a row has one
    score, with more it has one for each label.

    Attributes
    ----------
    bin_width : float
        The width of the bins of scores, unless a query has its own.
    error : float
        With "mean": with probability at least .95, every released score differs by at most this from the mean
        of the teachers' scores. With "sparse_vector": an answered score differs by at most this from the
        score of every teacher in the released bin.
    """

    bin_width: float
    error: float

    @property
    def n_needed(self) -> int | None:
        """As of `AggregationPlan`; with "mean", a number of records for which `error` is at most 0.05."""
        return super().n_needed

    def _suffices(self) -> bool:
        return self.error <= ALPHA if self.aggregation == "mean" else super()._suffices()


def tried_scorer(estimator: Any, X: Any, y: NDArray[Any]) -> Any:
    """Return an estimator fitted to public rows; raise if its probabilities are malformed."""
    fitted = estimator.fit(X, y)
    classes = np.unique(y)
    answers = Scores(classes).answers(fitted, X) if len(classes) > 1 else np.zeros(1)
    if (answers == NO_VOTE).any():
        raise ValueError("predict_proba must return a probability for each label, with sum 1")
    return fitted


@dataclass(eq=False, repr=False)
class SoftLabelAggregateClassifier(OnlineEnsembleClassifier):
    """Train teachers on disjoint shards, and answer queries by private aggregation of their probabilities.

    `fit` spends the whole privacy budget, for up to `max_queries` rows; each `predict_proba` and each
    `predict` consumes one query a row. For a model without a limit on predictions, train a student on the
    scores (`SoftLabelTransferClassifier`).

    With two labels, the score of a row is the probability of the second label. With more, each label has a
    score, its probability against the rest; all scores share the one budget, and the released scores of a row
    are normalised to sum 1.

    Parameters
    ----------
    estimator : classifier, optional
        Any scikit-learn classifier or pipeline with `predict_proba`; it is cloned. None: a logistic
        regression by stochastic gradient descent, after imputation, scaling, and one-hot encoding of a data
        frame's non-numeric columns.
    n_teachers : int or "auto", default="auto"
        Number of shards, at least 1, each with one teacher. "auto": a function of the numbers of records,
        labels and queries and of the budget.
    epsilon : float, default=1.0
        Privacy budget of one fit, for all answers together; positive. A float stands for its shortest
        decimal: 0.1 is 1/10.
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
    classes : sequence, optional
        All labels that can occur, known without looking at the data. None: the labels that occur in `y`; the
        guarantee then assumes that the set of labels is public.
    neighbors : {"replace_one", "add_remove"}, default="replace_one"
        The tables between which the guarantee holds. "add_remove": one has one record more, and the number of
        records is private; each record draws its shard in secret. With n_teachers="auto" a tenth of the
        budget estimates the number of records, and all else is planned by the estimate; with a given number
        of teachers, nothing is estimated. For tables in memory and no groups.
    n_jobs : int, optional
        Number of worker processes that train teachers, as in joblib; with one worker, the teachers are
        trained one after the other, or in batches.
    verbose : bool, default=False
        Whether to show the number of trained teachers as training proceeds; the times shown are not
        protected.
    ledger : PrivacyLedger, optional
        The ledger that each fit is charged to, fits of clones, searches and worker processes included.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the fit reproducible, for tests only; the
        guarantee states this.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Public. The labels, sorted; declared, or assumed to be public.
    guarantee_ : ApproxDP
        Public. The guarantee of all answers together, with its assumptions.
    n_teachers_ : int
        Public. The number of shards; for neighbors="add_remove" and n_teachers="auto" a function of the
        released number of records.
    bin_width_ : float
        Public. The width of the bins for queries without a width of their own; for neighbors="add_remove" it
        may be a function of the released number of records.
    max_abstentions_ : int or None
        Public. The number of abstentions after which it stops; None if it never stops. For
        neighbors="add_remove" it may be a function of the released number of records.
    noisy_count_ : int
        Released. The estimated number of records; only for neighbors="add_remove" and n_teachers="auto".
    public_seed_ : int
        Public. Determines the records of each shard, unless these are drawn in secret, the teachers' seeds,
        and the labels returned for abstentions.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.
    remaining_queries_ : int
        Released. The number of further rows that can be queried in one call; with "sparse_vector" it depends
        on the abstentions so far.
    remaining_abstentions_ : int or None
        Released. The number of further abstentions after which it stops; None if it never stops.

    See Also
    --------
    SubsampleAggregateClassifier : Labels instead of probabilities.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record, of all answers together.
    Shards are assigned by position, so that one record changes one teacher, and one score in each histogram
    or one term of each sum. Bins are public. Teachers are held in a one-time state (`OneTimeState`): copies
    of the estimator share it, and a pickle contains no teachers. For one added or removed record: as for
    `SubsampleAggregateClassifier`, with scores instead of votes.

    **Assumes.** The entries of `guarantee_.assumes`.

    **Accuracy.** The error is at most `plan(n).error` with probability at least .95. With "sparse_vector"
    this holds for answered scores; a score is answered if the number of teachers in one bin, or in one
    shifted bin, exceeds half of the teachers by `plan(n).least_lead` / 2.

    **Source.** Bassily, Thakkar and Thakurta (2018), Algorithms 6 to 8. There the threshold is too low for
    the noise, and the distance has sensitivity 2 (see docs/errata.md); here both are as for
    `SubsampleAggregateClassifier`, with two unstable tests for an abstention. The noisy means are ours.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> from sklearn.datasets import make_classification
    >>> from dplearn import SoftLabelAggregateClassifier
    >>> X, y = make_classification(2100, random_state=0)
    >>> model = SoftLabelAggregateClassifier(
    ...     epsilon=5.0, classes=[0, 1], max_queries=100, random_state=1
    ... ).fit(X[:2000], y[:2000])
    >>> model.predict_proba(X[2000:2003]).round(1).tolist()
    [[0.3, 0.7], [0.0, 1.0], [0.3, 0.7]]
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
    verbose: bool = False
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    _aggregations, _ballots = SOFT_AGGREGATIONS, SoftBallot
    _kind = SoftEnsemble

    def plan(self, n_samples: int, *, n_labels: int | None = None) -> SoftLabelPlan:
        """Return the plan of a fit: its guarantee, its noise and its sizes. No data is read.

        Parameters
        ----------
        n_samples : int
            Number of records; for neighbors="add_remove" a guess.
        n_labels : int, optional
            Number of labels; required unless `classes` determines it.
        """
        plan: SoftLabelPlan = self._planned(n_samples, n_labels, MANY_QUERIES)
        return plan

    def _sized(self, params: FitRecipe, public: Public) -> SoftLabelPlan:
        plan = super()._sized(params, public)
        width = 1 / n_bins_of(params.bin_width, plan.shard_size)
        if plan.max_abstentions:  # scores are rounded down to fixed point before they fall into bins
            return SoftLabelPlan(**vars(plan), bin_width=width, error=width / 2 + 1 / FIXED_POINT_ONE)
        # The grid of a mean has a step of at most noise_scale / 4, or consists of all fixed-point scores.
        rounded = max(plan.noise_scale / 8, plan.n_teachers / (2 * FIXED_POINT_ONE))
        error = (plan.least_lead + rounded) / plan.n_teachers
        return SoftLabelPlan(**vars(plan), bin_width=width, error=error)

    def predict_proba(self, X: Any, bin_width: Any = None) -> NDArray[np.float64]:
        """Answer queries with private probabilities; each row consumes one query.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_queries, n_features)
            Public rows.
        bin_width : float or array-like of shape (n_queries,), optional
            Public. The width of the bins of each query. None: `bin_width_`.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            In the order of `classes_`; each row sums to 1.

        Raises
        ------
        QueriesExhaustedError
            If there are more rows than remaining queries; no noise is drawn then. Also if the last allowed
            abstention occurs before the last row; `released` then holds the answers up to it.
        """
        scores, public, _, asked = self._scores(X, bin_width)
        likely = probabilities_of(scores, len(public["classes_"]), self.abstain_score)
        self._check_complete(likely, asked)
        return likely

    def predict(self, X: Any, bin_width: Any = None) -> NDArray[Any]:
        """Answer queries with the most probable label; each row consumes one query.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_queries, n_features)
            Public rows.
        bin_width : float or array-like of shape (n_queries,), optional
            Public. As for `predict_proba`.

        Returns
        -------
        ndarray of shape (n_queries,)
            Entries of `classes_`; for a row with abstentions on all scores, a label from the public stream.

        Raises
        ------
        QueriesExhaustedError
            As for `predict_proba`.
        """
        scores, public, first, asked = self._scores(X, bin_width)
        classes = public["classes_"]
        # Unclipped scores: scores below 0, or above 1, become equal once they are clipped to probabilities.
        known = np.where(np.isnan(scores), 1 / len(classes), scores)
        leading = known[:, 0] > 0.5 if len(classes) == 2 else known.argmax(axis=1)
        drawn = PublicStream(public["public_seed_"], "declined", first).labels(len(classes), len(scores))
        codes = np.where(np.isnan(scores).all(axis=1), drawn, leading)
        labels: NDArray[Any] = classes[codes]
        self._check_complete(labels, asked)
        return labels

    def _scores(self, X: Any, bin_width: Any) -> tuple[NDArray[np.float64], dict[str, Any], int, int]:
        check_abstain_score(self.abstain_score)
        self._check_teachers()
        widths = self.bin_width_ if bin_width is None else bin_width
        return self._answered(X, lambda n_rows: bins_of_rows(widths, n_rows))

    def _more_params(self) -> dict[str, Any]:
        check_abstain_score(self.abstain_score)
        n_bins_of(self.bin_width, 1)
        check_scorer(self.estimator)
        return {"bin_width": self.bin_width}

    def _published(self, plan: AggregationPlan) -> dict[str, Any]:
        assert isinstance(plan, SoftLabelPlan)
        return super()._published(plan) | {"bin_width_": plan.bin_width}

    _tried = staticmethod(tried_scorer)

    def _standard(self, X: Any) -> Any:
        return standard_scorer(X)

    def _context(self) -> tuple[object, ...]:
        known = str(self.epsilon), str(self.delta), self.aggregation, self.max_queries, self.max_abstentions
        return *known, *self._relation()


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
    return _n_bins(bin_width)


def _n_bins(bin_width: Any) -> int:
    width = check_number("bin_width", bin_width, low=Fraction(2, FIXED_POINT_ONE), high=Fraction(1, 2))
    number = ceil(1 / width - _ROUNDED)
    if not 2 <= number <= FIXED_POINT_ONE // 2:  # a custom number type can pass the check above
        raise ValueError(
            f"bin_width must be a number from 1/{FIXED_POINT_ONE // 2} to 1/2, got {bin_width!r}"
        )
    return number


def bins_of_rows(widths: Any, n_rows: int) -> NDArray[np.int64]:
    """Return the number of bins for each row."""
    given = np.asarray(widths)
    if given.ndim and given.shape != (n_rows,):
        raise ValueError(
            f"bin_width must be a number, or one for each of {n_rows} rows, got shape {given.shape}"
        )
    known: dict[Any, int] = {}
    for width in given.flat:  # numpy scalars: each is read by the shortest decimal of its type
        if isinstance(width, str):
            raise TypeError(f"bin_width must be a number, or one for each row, got {width!r}")
        if width not in known:
            known[width] = _n_bins(width)
    numbers = np.array([known[width] for width in given.flat], dtype=np.int64)
    return np.broadcast_to(numbers.reshape(given.shape), (n_rows,)).copy()


def check_abstain_score(score: Any) -> None:
    """Raise if the score is not None, nan or a number from 0 to 1."""
    if isinstance(score, str):
        raise TypeError(f"abstain_score must be None, nan or a number from 0 to 1, got {score!r}")
    if score is not None and not (isinstance(score, (float, np.floating)) and isnan(score)):
        check_number("abstain_score", score, low=0, high=1)
