"""Knowledge transfer of probabilities: a student trained on public rows with privately released scores."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor

from dplearn.ensembles.aggregators import SOFT_AGGREGATIONS, SoftBallot
from dplearn.ensembles.asking import Scores
from dplearn.ensembles.base_estimators import standard_scorer
from dplearn.ensembles.public_data import PublicData  # noqa: F401 - the doctest's
from dplearn.ensembles.student import SoftStudent, standard_soft_student, teach_scores
from dplearn.ensembles.teachers import train_and_ask
from dplearn.kernels.soft_votes import SoftVotes, soft_tally
from dplearn.learners.ensembles import AggregationPlan, check_classifier
from dplearn.learners.knowledge_transfer import KnowledgeTransferClassifier
from dplearn.learners.soft_labels import check_scorer, n_bins_of, tried_scorer

__all__ = ["SoftLabelTransferClassifier"]


@dataclass(eq=False, repr=False, kw_only=True)
class SoftLabelTransferClassifier(KnowledgeTransferClassifier):
    """Train teachers on private shards, and a student on public rows with their aggregated probabilities.

    The student is a function of released scores and public rows only. It may be published and saved, and its
    predictions cost no privacy. For labels without probabilities, `KnowledgeTransferClassifier` is as
    accurate.

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
    protects : {"examples", "labels"}, default="examples"
        The unit of protection. "examples": one whole record, and `fit` requires public rows. "labels": one
        label; all features are public, and the queries are rows of `X`.
    n_teachers : int or "auto", default="auto"
        Number of shards, at least 1, each with one teacher. "auto": a function of the number of records and
        of the budget.
    epsilon : float, default=1.0
        Privacy budget of one fit; positive. A float stands for its shortest decimal: 0.1 is 1/10.
    delta : float, default=1e-6
        Probability with which the guarantee may fail, in (0, 1); choose it far below 1 / n_samples.
    aggregation : {"mean", "sparse_vector"}, default="mean"
        As for `SoftLabelAggregateClassifier`.
    bin_width : float or "auto", default="auto"
        Width of the bins of "sparse_vector", from 1/2048 to 1/2; reduced to the next reciprocal of an
        integer. "auto": a function of the size of a shard.
    max_queries : int or "auto", default="auto"
        Number of public rows that are queried, at least 1, drawn at random from the public stream. "auto": a
        function of the number of teachers and of the budget.
    max_abstentions : int or "auto", default="auto"
        With "sparse_vector", the number of abstentions in scores, at least 1, after which it stops.
    classes : sequence, optional
        All labels that can occur, known without looking at the data. None: the labels that occur in `y`; the
        guarantee then assumes that the set of labels is public.
    neighbors : {"replace_one", "add_remove"}, default="replace_one"
        The tables between which the guarantee holds. "add_remove": one has one record more, and the number of
        records is private; each record draws its shard in secret. With n_teachers="auto" a tenth of the
        budget estimates the number of records, and all else is planned by the estimate; with a given number
        of teachers, nothing is estimated. For tables in memory and no groups,
        with protects="examples".
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
    student_ : SoftStudent
        Released. The fitted student.
    classes_ : ndarray of shape (n_classes,)
        Public. The labels, sorted; declared, or assumed to be public.
    guarantee_ : ApproxDP
        Public. The guarantee of the fit, for examples or for labels only, with its assumptions.
    n_teachers_ : int
        Public. The number of shards; for neighbors="add_remove" and n_teachers="auto" a function of the
        released number of records.
    n_asked_ : int
        Public. The number of rows that were to be queried; for neighbors="add_remove" it may be a function of
        the released number of records.
    n_answered_ : int
        Released. The number of these rows that were answered with all their scores.
    noisy_count_ : int
        Released. The estimated number of records; only for neighbors="add_remove" and n_teachers="auto".
    public_seed_ : int
        Public. Determines the records of each shard, unless these are drawn in secret, the seeds of the
        teachers and of the student, and the rows that are queried.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.

    See Also
    --------
    SoftLabelAggregateClassifier : Private scores without a student.
    KnowledgeTransferClassifier : A student trained on labels.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record, or for one replaced label
    where `protects` is "labels". One record is in one shard and changes one score in each histogram, or one
    term of each sum. For one added or removed record: as for `SubsampleAggregateClassifier`, with scores
    instead of votes.

    **Assumes.** The entries of `guarantee_.assumes`.

    **Accuracy.** No bound for a general student. The bound on the error of its training scores is that of
    `SoftLabelAggregateClassifier`.

    **Source.** Bassily, Thakkar and Thakurta (2018), Algorithms 5 to 8, combined.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

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

    _aggregations, _ballots = SOFT_AGGREGATIONS, SoftBallot

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the student's probabilities; costs no privacy.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; each row sums to 1.
        """
        return self._probabilities(X)

    def _more_params(self) -> dict[str, Any]:
        n_bins_of(self.bin_width, 1)
        check_scorer(self.estimator)
        return super()._more_params() | {"bin_width": self.bin_width}

    def _standard(self, X: Any) -> Any:
        return standard_scorer(X)

    def _standard_student(self, queries: Any) -> Any:
        return standard_soft_student(queries)

    def _check_student(self) -> Any:
        student = self.student
        if isinstance(student, type) or not hasattr(student, "__sklearn_tags__") or not is_regressor(student):
            check_classifier("student", student)
        return self.student

    def _votes(self, lessons: dict[str, Any], plan: AggregationPlan) -> SoftVotes:
        queries, asked = plan.public.queries, Scores(plan.public.classes)
        n_bins = n_bins_of(plan.params.bin_width, plan.shard_size or 1)  # unknown for a private number
        fixed_scores = train_and_ask(**lessons, queries=queries, asked=asked)
        return soft_tally(fixed_scores, np.full(queries.shape[0], n_bins), asked.width)

    def _taught(self, student: Any, queries: Any, answers: Any, classes: NDArray[Any]) -> SoftStudent:
        return teach_scores(student, queries, answers, classes)

    _tried = staticmethod(tried_scorer)

    def _student_tried(self, classes: NDArray[Any], student: Any, X: Any, y: NDArray[Any]) -> SoftStudent:
        likely = np.where(y[:, None] == classes, 0.9, 0.1)
        return teach_scores(student, X, likely[:, -Scores(classes).width :], classes)

    def _n_answered(self, answers: Any) -> int:
        return int((~np.isnan(answers).any(axis=1)).sum())
