"""Sub-sample and aggregate: any classifier, trained on disjoint shards, answers queries privately.

>>> from sklearn.datasets import make_classification
>>> from sklearn.tree import DecisionTreeClassifier
>>> X, y = make_classification(5100, random_state=0)
>>> model = SubsampleAggregateClassifier(
...     DecisionTreeClassifier(max_depth=3), epsilon=3.0, classes=[0, 1], random_state=0
... ).fit(X[:5000], y[:5000])
>>> model.predict(X[5000:5005]).tolist()
[0, 1, 1, 1, 0]
>>> model.remaining_queries_
151
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance import PublicStream
from dplearn.ensembles.sizes import MANY_QUERIES
from dplearn.learners.ensembles import AggregationPlan
from dplearn.learners.online import OnlineEnsembleClassifier
from dplearn.privacy import PrivacyLedger

__all__ = ["SubsampleAggregateClassifier"]


class SubsampleAggregateClassifier(OnlineEnsembleClassifier):
    """Train teachers on disjoint shards, and answer queries with what they agree on.

    The whole privacy budget is paid by `fit`, for up to `max_queries` answers; each `predict` uses some of
    them up. Train a student on the answers (`KnowledgeTransferClassifier`) for a model that predicts for
    ever.

    Parameters
    ----------
    estimator : classifier, optional
        Any scikit-learn classifier or pipeline; it is cloned. All preprocessing that learns from data belongs
        into it. None takes a logistic regression that fills gaps, scales, and one-hot encodes the columns of
        a data frame that hold no numbers.
    n_teachers : int or "auto", default="auto"
        Number of shards. "auto" settles it from the numbers of records, labels and queries and the budget.
    epsilon : float, default=1.0
        Privacy budget of all answers together; positive. The decimal that is written is meant.
    delta : float, default=1e-6
        Probability with which the guarantee may fail; positive except for "lnmax".
    aggregation : {"gnmax", "sparse_vector", "confident_gnmax", "lnmax"}, default="gnmax"
        "gnmax" and "lnmax" answer every query with the leader of noisy counts, Gaussian or Laplace.
        "confident_gnmax" asks first whether there is agreement. "sparse_vector" answers with the plurality
        where few votes could not have changed it; such answers are nearly free, a declined query costs, and
        after `max_abstentions` of these it stops, before `max_queries` unless nearly all rows are decided.
    max_queries : int or "auto", default="auto"
        How many rows can be asked about; with "confident_gnmax" at least so many. "auto" takes 1,000 with
        "sparse_vector", and with the others as many up to 1,000 as the number of teachers affords: all rows
        on which five of six teachers agree (with "confident_gnmax": all) are then answered with their label,
        with probability at least .95. More rows can be asked for, with more noise on each answer.
    max_abstentions : int or "auto", default="auto"
        With "sparse_vector", after how many declined queries it stops (`plan(n).least_decided` tells how many
        rows must be decided so that it does not). "auto" takes the most that the number
        of teachers affords, or `max_queries` where it affords none.
    abstain_label : object, optional
        What stands for a declined answer. None draws a label at random from the public stream.
    classes : sequence, optional
        All labels that can occur. None takes those in `y`, and the guarantee then says that it assumes the
        set of labels public.
    n_jobs : int, optional
        Workers that train teachers, as in joblib: one after the other, or processes if more than one.
    verbose : bool, default=False
        Whether to show how many teachers are trained; the times that this shows are not protected.
    ledger : PrivacyLedger, optional
        The budget that each fit is charged to, whoever calls it.
    random_state : None, int or numpy random generator, default=None
        None draws from the operating system. Anything else makes the fit repeatable, for tests only: the
        guarantee then says so.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Public. The labels, sorted: declared, or assumed public.
    guarantee_ : ApproxDP
        Public. What all answers together guarantee, and on what assumptions.
    n_teachers_ : int
        Public. The number of shards.
    max_abstentions_ : int or None
        Public. After how many declined queries it stops.
    public_seed_ : int
        Public. Determines which records make a shard, the teachers' seeds, and the labels of declined
        queries.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.
    remaining_queries_ : int
        Released. How many more rows can be asked about at once; with "sparse_vector" and "confident_gnmax" it
        depends on which queries were declined.
    remaining_abstentions_ : int or None
        Released. How many more queries can be declined.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record, of all answers together.
    Shards are cut by position, so that one record changes one teacher and one vote on each query. Teachers
    are kept in a `OneTimeState`: copies of the estimator share it, and a pickle holds none of them.

    **Assumes.** What `guarantee_.assumes` lists.

    **Accuracy.** With probability at least .95, `max_queries` rows on which a label leads by at least
    `plan(n).least_lead` votes are all answered with that label. "sparse_vector" asks about all `max_queries`
    rows, with probability at least .95, if `plan(n).least_decided` of them are such rows; the others always.

    **Source.** Bassily, Thakkar and Thakurta (2018), Algorithms 3 and 4; Papernot and others (2017, 2018) for
    noisy maxima.
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_teachers: int | str = "auto",
        epsilon: float = 1.0,
        delta: float = 1e-6,
        aggregation: str = "gnmax",
        max_queries: int | str = "auto",
        max_abstentions: int | str = "auto",
        abstain_label: Any = None,
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
        self.max_queries = max_queries
        self.max_abstentions = max_abstentions
        self.abstain_label = abstain_label
        self.classes = classes
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.ledger = ledger
        self.random_state = random_state

    def plan(self, n_samples: int, *, n_labels: int | None = None) -> AggregationPlan:
        """Return what a fit would guarantee and how much noise it would draw, without any data.

        Parameters
        ----------
        n_samples : int
            Number of records.
        n_labels : int, optional
            Number of labels; needed unless `classes` tells.
        """
        plan: AggregationPlan = self._planned(n_samples, n_labels, MANY_QUERIES)
        return plan

    def predict(self, X: Any) -> NDArray[Any]:
        """Answer queries, which uses them up.

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
            If there are more rows than queries left: nothing is drawn. Or if so many queries are declined on
            the way that it stops: then its `released` holds the answers before.
        """
        answers, public, first, asked = self._answered(X)
        labels = self._labels(public, answers.codes, first)
        self._check_complete(labels, asked)
        return labels

    @property
    def predict_proba(self) -> Any:
        """Absent: votes for labels are all that is answered with."""
        raise AttributeError(
            f"{type(self).__name__} has no predict_proba, since its teachers vote for labels:"
            " SoftLabelAggregateClassifier answers with probabilities"
        )

    def _more_params(self) -> dict[str, Any]:
        if np.ndim(self.abstain_label):
            raise ValueError(f"abstain_label must be a single label, got {self.abstain_label!r}")
        return {}

    def _labels(self, public: dict[str, Any], codes: NDArray[np.int64], first: int) -> NDArray[Any]:
        """Return the labels of answers; `first` queries were asked before these."""
        abstained, classes = codes < 0, public["classes_"]
        if self.abstain_label is None:
            stream = PublicStream(public["public_seed_"], "declined", first)
            drawn = stream.labels(len(classes), codes.size)
            labels: NDArray[Any] = classes[np.where(abstained, drawn, codes)]
            return labels
        labels = classes[codes].astype(_common_type(classes, self.abstain_label))
        labels[abstained] = self.abstain_label
        return labels

    def _context(self) -> tuple[object, ...]:
        return str(self.epsilon), str(self.delta), self.aggregation, self.max_queries, self.max_abstentions


def _common_type(classes: NDArray[Any], label: Any) -> np.dtype[Any]:
    """Return a type that holds all labels and one more: numpy's where all are texts or all numbers."""
    more = np.asarray(label)
    kinds = {"text" if part.dtype.kind == "U" else part.dtype.kind in "iuf" for part in (classes, more)}
    return np.result_type(classes, more) if kinds in ({"text"}, {True}) else np.dtype(object)
