"""Soft labels: the probabilities of teachers on disjoint shards, released privately.

>>> from sklearn.datasets import make_classification
>>> X, y = make_classification(8100, random_state=0)
>>> model = SoftLabelAggregateClassifier(
...     epsilon=3.0, classes=[0, 1], max_queries=100, random_state=1
... ).fit(X[:8000], y[:8000])
>>> model.predict_proba(X[8000:8003]).round(1).tolist()
[[0.9, 0.1], [0.7, 0.3], [0.1, 0.9]]
>>> model.remaining_queries_
97
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance import PublicStream
from dplearn.core.score_bins import FIXED_POINT_ONE
from dplearn.ensembles.ensemble import SoftEnsemble
from dplearn.ensembles.sizes import MANY_QUERIES
from dplearn.ensembles.soft_aggregators import SOFT_AGGREGATIONS, SoftBallot
from dplearn.ensembles.standard import standard_scorer
from dplearn.estimator.stages import Params, Public
from dplearn.learners.ensembles import AggregationPlan
from dplearn.learners.online import OnlineEnsembleClassifier
from dplearn.learners.soft_scores import (
    bins_of_rows,
    check_abstain_score,
    check_scorer,
    n_bins_of,
    probabilities_of,
    tried_scorer,
)
from dplearn.privacy import PrivacyLedger

__all__ = ["SoftLabelAggregateClassifier", "SoftLabelPlan"]


@dataclass(frozen=True, kw_only=True)
class SoftLabelPlan(AggregationPlan):
    """What a fit would give, from public quantities alone; `AggregationPlan` with what scores have besides.

    `least_decided` counts scores: a row has one for two labels, and one for each label where there are more.

    Attributes
    ----------
    bin_width : float
        Of the bins that scores fall into, unless a query brings its own.
    error : float
        With "mean": with probability at least .95, all released scores are within this of the mean of the
        teachers' scores. With "sparse_vector": an answered score is within this of those of the teachers who
        decided it.
    """

    bin_width: float
    error: float


class SoftLabelAggregateClassifier(OnlineEnsembleClassifier):
    """Train teachers on disjoint shards, and answer queries with the probabilities that they agree on.

    The whole privacy budget is paid by `fit`, for up to `max_queries` rows; each `predict_proba` and each
    `predict` uses some of them up. Train a student on the scores (`SoftLabelTransferClassifier`) for a model
    that predicts for ever.

    With two labels the score of a row is the probability of the second one. With more, each label has a score
    of its own, against the rest; all of them are answered from the one budget, and what is released is
    made to add up to 1.

    Parameters
    ----------
    estimator : classifier, optional
        Any scikit-learn classifier or pipeline with `predict_proba`; it is cloned. None takes a logistic
        regression by stochastic gradient descent that fills gaps, scales, and one-hot encodes the columns of
        a data frame that hold no numbers.
    n_teachers : int or "auto", default="auto"
        Number of shards. "auto": a function of the numbers of records, labels and queries and of the budget.
    epsilon : float, default=1.0
        Privacy budget of all answers together; positive. A float stands for its shortest decimal.
    delta : float, default=1e-6
        Probability with which the guarantee may fail; positive.
    aggregation : {"mean", "sparse_vector"}, default="mean"
        "mean" answers every query with the mean of all scores, with noise. "sparse_vector" answers with the
        middle of the bin that most scores are in, where few of them could not have changed it; such answers
        are nearly free, a declined score costs, and after `max_abstentions` of these it stops. It is better
        for very many rows on which nearly all teachers have the same score.
    bin_width : float or "auto", default="auto"
        Of the bins of "sparse_vector", from 1/2048 to 1/2; taken down to one over an integer. "auto" settles
        it from the size of a shard.
    max_queries : int or "auto", default="auto"
        How many rows can be asked about. "auto" takes 1,000 with "sparse_vector", and with "mean" as many up
        to 1,000 as the number of teachers affords: all released scores are then within about 1/4 (exactly:
        `plan(n).error`) of the mean of the teachers' scores, with probability at least .95. More rows can be
        asked for, with more noise on each.
    max_abstentions : int or "auto", default="auto"
        With "sparse_vector", how many scores can be declined; then it stops (`plan(n).least_decided` tells
        how many must not be). A score that only shifted bins
        could tell costs half as much. "auto" takes the most that the number of teachers affords, or all
        scores where it affords none.
    abstain_score : float, optional
        What stands for a declined score: a number from 0 to 1, or nan. None takes 1 / n_classes.
    classes : sequence, optional
        All labels that can occur. None: the labels that occur in `y`; the guarantee then assumes that the set
        of labels is public.
    n_jobs : int, optional
        Number of worker processes that train teachers, as in joblib; with one worker, the teachers are
        trained one after the other.
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
        Public. The number of shards.
    bin_width_ : float
        Public. Of the bins of queries that bring no width of their own.
    max_abstentions_ : int or None
        Public. How many scores can be declined.
    public_seed_ : int
        Public. Determines the records of each shard, the teachers' seeds, and the labels returned for
        abstentions.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.
    remaining_queries_ : int
        Released. How many more rows can be asked about at once; with "sparse_vector" it depends on which
        scores were declined.
    remaining_abstentions_ : int or None
        Released. How many more scores can be declined.

    See Also
    --------
    SubsampleAggregateClassifier : Labels instead of probabilities.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record, of all answers together.
    Shards are cut by position, so that one record changes one teacher and one score in each histogram, or
    one term of each sum. Bins are public. Teachers are kept in a `OneTimeState`: copies of the estimator
    share it, and a pickle holds none of them.

    **Assumes.** The entries of `guarantee_.assumes`.

    **Accuracy.** `plan(n).error`, with probability at least .95. With "sparse_vector" it holds of answered
    scores; a score is answered if more than half of the teachers, by `plan(n).least_lead` / 2, are in one bin
    or in one shifted bin.

    **Source.** Bassily, Thakkar and Thakurta (2018), Algorithms 6 to 8. There the threshold is too low for
    the noise, and the distance moves by 2 (see docs/errata.md); here both are as for
    `SubsampleAggregateClassifier`, with two Nones for a declined score. Means are ours.
    """

    _aggregations, _ballots = SOFT_AGGREGATIONS, SoftBallot
    _kind = SoftEnsemble

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_teachers: int | str = "auto",
        epsilon: float = 1.0,
        delta: float = 1e-6,
        aggregation: str = "mean",
        bin_width: float | str = "auto",
        max_queries: int | str = "auto",
        max_abstentions: int | str = "auto",
        abstain_score: float | None = None,
        classes: Sequence[Any] | None = None,
        n_jobs: int | None = None,
        verbose: bool = False,
        ledger: PrivacyLedger | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.n_teachers = n_teachers
        self.epsilon = epsilon
        self.delta = delta
        self.aggregation = aggregation
        self.bin_width = bin_width
        self.max_queries = max_queries
        self.max_abstentions = max_abstentions
        self.abstain_score = abstain_score
        self.classes = classes
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.ledger = ledger
        self.random_state = random_state

    def plan(self, n_samples: int, *, n_labels: int | None = None) -> SoftLabelPlan:
        """Return the plan of a fit: its guarantee, its noise and its sizes. No data is read.

        Parameters
        ----------
        n_samples : int
            Number of records.
        n_labels : int, optional
            Number of labels; required unless `classes` determines it.
        """
        plan: SoftLabelPlan = self._planned(n_samples, n_labels, MANY_QUERIES)
        return plan

    def _plan(self, params: Params, public: Public) -> SoftLabelPlan:
        plan = super()._plan(params, public)
        width = 1 / n_bins_of(params.bin_width, plan.shard_size)
        if plan.max_abstentions:  # scores are rounded down to fixed point before they fall into bins
            return SoftLabelPlan(**vars(plan), bin_width=width, error=width / 2 + 1 / FIXED_POINT_ONE)
        # The grid of a mean has at least four steps in what the noise shifts a mean by, or all fixed-point
        # scores.
        rounded = max(plan.noise_scale / 8, plan.n_teachers / (2 * FIXED_POINT_ONE))
        error = (plan.least_lead + rounded) / plan.n_teachers
        return SoftLabelPlan(**vars(plan), bin_width=width, error=error)

    def predict_proba(self, X: Any, bin_width: Any = None) -> NDArray[np.float64]:
        """Answer queries with probabilities, which uses them up.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_queries, n_features)
            Public rows.
        bin_width : float or array-like of shape (n_queries,), optional
            Public. The width of the bins of each query; None takes `bin_width_`.

        Returns
        -------
        ndarray of shape (n_queries, n_classes)
            In the order of `classes_`; rows add up to 1.

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
        """Answer queries with the most likely label, which uses them up.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_queries, n_features)
            Public rows.
        bin_width : float or array-like of shape (n_queries,), optional
            Public. As for `predict_proba`.

        Returns
        -------
        ndarray of shape (n_queries,)
            Entries of `classes_`; a label from the public stream for a row of which all scores were declined.

        Raises
        ------
        QueriesExhaustedError
            As for `predict_proba`.
        """
        scores, public, first, asked = self._scores(X, bin_width)
        classes = public["classes_"]
        # Of the scores themselves: many that noise moved beyond 0 or 1 are equal as probabilities.
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
        return str(self.epsilon), str(self.delta), self.aggregation, self.max_queries, self.max_abstentions
