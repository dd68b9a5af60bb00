"""Subsample-and-aggregate: private answers from any classifier trained on disjoint shards."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance import PublicStream
from dplearn.ensembles.sizes import MANY_QUERIES
from dplearn.learners.ensembles import AggregationPlan
from dplearn.learners.online import OnlineEnsembleClassifier
from dplearn.privacy import PrivacyLedger

__all__ = ["SubsampleAggregateClassifier"]


@dataclass(eq=False, repr=False)
class SubsampleAggregateClassifier(OnlineEnsembleClassifier):
    """Train teachers on disjoint shards, and answer queries by private aggregation of their votes.

    `fit` spends the whole privacy budget, for up to `max_queries` answers; each `predict` consumes one
    query a row. For a model without a limit on predictions, train a student on the answers
    (`KnowledgeTransferClassifier`).

    Parameters
    ----------
    estimator : classifier, optional
        Any scikit-learn classifier or pipeline; it is cloned. It must contain all preprocessing that is
        fitted to data. None: a logistic regression after imputation, scaling, and one-hot encoding of a data
        frame's non-numeric columns.
    n_teachers : int or "auto", default="auto"
        Number of shards, at least 1, each with one teacher. "auto": a function of the numbers of records,
        labels and queries and of the budget.
    epsilon : float, default=1.0
        Privacy budget of one fit, for all answers together; positive. A float stands for its shortest
        decimal: 0.1 is 1/10.
    delta : float, default=1e-6
        Probability with which the guarantee may fail, in [0, 1); choose it far below 1 / n_samples. Only
        "lnmax" works without, and spends none.
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
        Released. The number of further rows that can be queried in one call; with "sparse_vector" and
        "confident_gnmax" it depends on the abstentions so far.
    remaining_abstentions_ : int or None
        Released. The number of further abstentions after which it stops; None if it never stops.

    See Also
    --------
    KnowledgeTransferClassifier : A student trained on the answers, without a limit on predictions.
    SoftLabelAggregateClassifier : Probabilities instead of labels.

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

    **Assumes.** The entries of `guarantee_.assumes`.

    **Accuracy.** With probability at least .95, `max_queries` rows on which a label leads by at least
    `plan(n).least_lead` votes are all answered with that label. "sparse_vector" processes all `max_queries`
    rows, with probability at least .95, if `plan(n).least_decided` of them are such rows; the other
    aggregations always do.

    **Source.** Bassily, Thakkar and Thakurta (2018), Algorithms 3 and 4; Papernot and others (2017, 2018) for
    noisy maxima.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

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
    verbose: bool = False
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    def plan(self, n_samples: int, *, n_labels: int | None = None) -> AggregationPlan:
        """Return the plan of a fit: its guarantee, its noise and its sizes. No data is read.

        Parameters
        ----------
        n_samples : int
            Number of records; for neighbors="add_remove" a guess.
        n_labels : int, optional
            Number of labels; required unless `classes` determines it.
        """
        plan: AggregationPlan = self._planned(n_samples, n_labels, MANY_QUERIES)
        return plan

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

    @property
    def predict_proba(self) -> Any:
        """Absent, since the answers are labels."""
        raise AttributeError(
            f"{type(self).__name__} has no predict_proba, since its answers are labels:"
            " SoftLabelAggregateClassifier answers with probabilities"
        )

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
            labels: NDArray[Any] = classes[np.where(abstained, drawn, codes)]
            return labels
        labels = classes[codes].astype(_common_type(classes, self.abstain_label))
        labels[abstained] = self.abstain_label
        return labels

    def _context(self) -> tuple[object, ...]:
        known = str(self.epsilon), str(self.delta), self.aggregation, self.max_queries, self.max_abstentions
        return *known, *self._relation()


def _common_type(classes: NDArray[Any], label: Any) -> np.dtype[Any]:
    """Return a dtype for all labels and one more: a numpy dtype if all are texts or all are numbers."""
    more = np.asarray(label)
    kinds = {"text" if part.dtype.kind == "U" else part.dtype.kind in "iuf" for part in (classes, more)}
    return np.result_type(classes, more) if kinds in ({"text"}, {True}) else np.dtype(object)
