"""Knowledge transfer: a student trained on public rows with the private answers of an ensemble."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_array, check_is_fitted

from dplearn._validation import check_choice
from dplearn.chance.dice import Dice
from dplearn.domains.cells import is_frame
from dplearn.ensembles.aggregators import Aggregator, Ballot
from dplearn.ensembles.asking import Labels
from dplearn.ensembles.base_estimators import Seeded, check_own_code, quiet, standard_estimator
from dplearn.ensembles.dry_run import MANY_ROWS, dry_run
from dplearn.ensembles.isolation import alone, reraised
from dplearn.ensembles.public_data import (
    PUBLIC_FEATURES,
    PUBLIC_ROWS,
    PublicData,  # noqa: F401 - the doctest's
    public_rows,
)
from dplearn.ensembles.sizes import transfer_ballot
from dplearn.ensembles.student import fit_weighted, teach
from dplearn.ensembles.teachers import train_and_ask
from dplearn.estimator.base import refuse_parameters
from dplearn.estimator.recipe import FitRecipe
from dplearn.kernels.float_errors import ignores_float_errors
from dplearn.kernels.votes import tally
from dplearn.learners.ensembles import (
    AggregationPlan,
    EnsembleClassifier,
    EnsembleFit,
    EnsembleTable,
    check_classifier,
    notes_on_gaps,
    notes_on_noise,
)
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.table.features import read_rows
from dplearn.table.rows import check_values, count_of, plain, rows_of, sliceable
from dplearn.table.table import Table

__all__ = ["KnowledgeTransferClassifier"]

_MADE_UP = f"{MANY_ROWS} public rows with random labels"
#: The assumption about public features, by the unit of protection.
_PUBLIC_PART = {"examples": PUBLIC_ROWS, "labels": PUBLIC_FEATURES}


def _knows_probabilities(model: "KnowledgeTransferClassifier") -> bool:
    student = model.estimator if model.student is None else model.student
    return hasattr(getattr(model, "student_", student), "predict_proba") or student is None


@dataclass(eq=False, repr=False)
class KnowledgeTransferClassifier(EnsembleClassifier):
    """Train teachers on private shards, and a student on public rows with their aggregated votes.

    The student is a function of released answers and public rows only. It may be published and saved, and its
    predictions cost no privacy.

    Parameters
    ----------
    estimator : classifier, optional
        The teachers: any scikit-learn classifier or pipeline; it is cloned. None: a logistic regression after
        imputation, scaling, and one-hot encoding of a data frame's non-numeric columns.
    student : classifier, optional
        Any classifier or pipeline; it is cloned. None: a logistic regression as for `estimator`, with
        stronger regularisation. If its `fit` accepts `sample_weight`, the answers are weighted by their
        leads.
    protects : {"examples", "labels"}, default="examples"
        The unit of protection. "examples": one whole record, and `fit` requires public rows. "labels": one
        label; all features are public, and the queries are rows of `X`.
    n_teachers : int or "auto", default="auto"
        Number of shards, at least 1, each with one teacher. "auto": a function of the number of records and
        of the budget.
    epsilon : float, default=1.0
        Privacy budget of one fit; positive. A float stands for its shortest decimal: 0.1 is 1/10.
    delta : float, default=1e-6
        Probability with which the guarantee may fail, in [0, 1); choose it far below 1 / n_samples. Only
        "lnmax" works without, and spends none.
    aggregation : {"gnmax", "sparse_vector", "confident_gnmax", "lnmax"}, default="gnmax"
        As for `SubsampleAggregateClassifier`. With noisy maxima, the weight of an answer in the student's fit
        depends on its lead.
    max_queries : int or "auto", default="auto"
        Number of public rows that are queried, at least 1, drawn at random from the public stream. "auto": a
        function of the number of teachers and of the budget, since a greater number means more noise in each
        answer.
    max_abstentions : int or "auto", default="auto"
        With "sparse_vector", the number of abstentions, at least 1, after which it stops.
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
    student_ : classifier
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
        Released. The number of these rows that were answered.
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
    SubsampleAggregateClassifier : Private answers without a student.
    SyntheticDataClassifier : A classifier trained on synthetic records, with their labels.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record, or for one replaced label
    where `protects` is "labels". One record is in one shard and changes one vote on each query. For one
    added or removed record: as for `SubsampleAggregateClassifier`.

    **Assumes.** The entries of `guarantee_.assumes`.

    **Accuracy.** No bound for a general student. `dplearn.theory` has sample sizes for classes of finite
    Vapnik-Chervonenkis dimension.

    **Source.** Bassily, Thakkar and Thakurta (2018), Algorithm 5; Papernot and others (2017, 2018). There, if
    only labels are protected, half of the records serve as the public rows. Here all records train teachers
    and all are candidates for queries, since each label is used by one teacher only.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

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
    protects: str = "examples"
    n_teachers: int | str = "auto"
    epsilon: float = 1.0
    delta: float = 1e-6
    aggregation: str = "gnmax"
    max_queries: int | str = "auto"
    max_abstentions: int | str = "auto"
    classes: Sequence[Any] | None = None
    neighbors: str = "replace_one"
    n_jobs: int | None = None
    verbose: bool = False
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    def fit(self, X: Any, y: Any, X_public: Any = None, *, groups: Any = None, **fit_parameters: Any) -> Self:
        """Train teachers, label public rows by private aggregation of their votes, and train the student.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Private rows.
        y : array-like of shape (n_samples,)
            Private labels.
        X_public : PublicData, optional
            Public rows without labels; required if examples are protected, else an error.
        groups : array-like of shape (n_samples,), optional
            Private. The group of each row, such as the person that it belongs to: texts or integers. The
            guarantee then protects all rows of a group together, and the set of groups is public.
        **fit_parameters : None
            Not supported: a `sample_weight` other than None raises an error.

        Returns
        -------
        self : object

        Raises
        ------
        TypeError
            If there are weights, or `X_public` has a wrong type or value; no budget is spent.
        BudgetExceededError
            If the remaining budget of the ledger is less than the cost of the fit; no budget is spent.
            `except Exception` does not catch this error.
        """
        refuse_parameters(type(self).__name__, fit_parameters)
        return self._fit_privately(X, y, X_public=X_public, groups=groups)

    def _recipe(self, reproducible: bool) -> "TransferFit":
        return TransferFit.like(super()._recipe(reproducible))

    def _more_params(self) -> dict[str, Any]:
        return {"student": self._check_student()}

    @property
    def needs_public_rows(self) -> bool:
        """Whether a fit takes public rows and cannot do without."""
        return self.protects == "examples"

    def _most(self, reproducible: bool) -> ApproxDP:
        protects = check_choice("protects", self.protects, tuple(_PUBLIC_PART))
        return replace(super()._most(reproducible), protects=protects)

    def _asked_rows(self, rows: Any, asked: NDArray[np.int64]) -> Any:
        """Return the queried rows of a public table, or of private examples whose rows are public."""
        if isinstance(rows, Table):
            rows, asked = rows.take(asked).X, np.arange(len(asked))
        self._check_gaps(rows)
        return rows_of(sliceable(rows), asked)

    def _counted(self, plan: AggregationPlan, n: int, dice: Dice) -> AggregationPlan:
        found = super()._counted(plan, n, dice)
        if found is plan:
            return plan
        queries = rows_of(sliceable(plan.public.queries), np.arange(found.max_queries))
        return replace(found, public=replace(found.public, queries=queries))

    def _publish(self, outcome: Any, plan: AggregationPlan) -> None:
        # In one update, so that a student is never combined with the guarantee of another fit.
        if isinstance(outcome, _Counted):
            plan, outcome = outcome
        public = plan.public
        seeded = Seeded(public.student).clone(public.apart("student's seed").seeds(1)[0])
        teach_it = partial(self._taught, seeded, public.queries, outcome, public.classes)
        student = alone(teach_it, reraised) if plan.guarantee.protects == "labels" else teach_it()
        self.__dict__.update(
            student_=student,
            classes_=public.classes,
            guarantee_=plan.guarantee,
            n_teachers_=plan.n_teachers,
            n_asked_=public.queries.shape[0],
            n_answered_=self._n_answered(outcome),
            public_seed_=public.stream.seed,
            **self._counted_attributes(plan),
        )

    def _votes(self, lessons: dict[str, Any], plan: AggregationPlan) -> Any:
        """Return the vote counts of temporary teachers on the queries."""
        classes = plan.public.classes
        votes = train_and_ask(**lessons, queries=plan.public.queries, asked=Labels(classes))
        return tally(votes, len(classes))

    def _taught(self, student: Any, queries: Any, answers: Any, classes: NDArray[Any]) -> Any:
        """Return the fitted student."""
        return teach(student, queries, answers, classes)

    def _n_answered(self, answers: Any) -> int:
        return int((answers.codes >= 0).sum())

    def _standard_student(self, queries: Any) -> Any:
        return standard_estimator(queries, C=0.1)

    def plan(self, n_samples: int, *, n_labels: int | None = None, n_rows: int = 10_000) -> AggregationPlan:
        """Return the plan of a fit: its guarantee, its noise and its sizes. No data is read.

        Parameters
        ----------
        n_samples : int
            Number of records; for neighbors="add_remove" a guess.
        n_labels : int, optional
            Number of labels; required unless `classes` determines it.
        n_rows : int, default=10000
            Number of public rows.
        """
        plan: AggregationPlan = self._planned(n_samples, n_labels, n_rows)
        return plan

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels; costs no privacy.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Any rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Entries of `classes_`.
        """
        check_is_fitted(self)
        rows = self._rows(X)
        predicted: NDArray[Any] = self.student_.predict(rows)
        return predicted

    @available_if(_knows_probabilities)  # type: ignore[untyped-decorator]  # scikit-learn has no types
    @ignores_float_errors
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the student's probabilities; costs no privacy.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Any rows.

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

    def _assumed(self, params: FitRecipe) -> tuple[str, ...]:
        return (_PUBLIC_PART[params.cost.protects],)

    def _noise_notes(self, ballot: Ballot, aggregator: Aggregator) -> tuple[str, ...]:
        """Return a warning if even all answers of a unanimous ensemble together are noise-dominated.

        The sum of m leads of k votes is m k, and its noise has standard deviation sqrt(2 m) noise_scale. An
        ensemble that is not unanimous needs several times as many votes.
        """
        if ballot.max_abstentions is None:
            dominates = 2 * aggregator.noise_scale > ballot.n_teachers * ballot.max_queries**0.5
        else:
            dominates = aggregator.least_lead > ballot.n_teachers
        return notes_on_noise(ballot, dominates, "so that the student learns next to nothing")

    def _sizes(self, params: FitRecipe, public: EnsembleTable) -> Ballot:
        return transfer_ballot(
            self._aggregations[params.aggregation],
            params.cost,
            n_samples=public.n_samples,
            n_labels=public.n_labels,
            n_rows=public.n_rows,
            n_teachers=params.n_teachers,
            max_queries=params.max_queries,
            max_abstentions=params.max_abstentions,
            make=self._ballots,
        )

    def _dry_run_notes(self, public: EnsembleTable, *, protects: str) -> tuple[str, ...]:
        """Raise if a dry run on public rows with random labels fails; return warnings of missing values."""
        for name, learned, how in (
            ("student", public.student, {"fit": partial(self._student_tried, public.classes)}),
            ("estimator", public.estimator, {"fit": self._tried}),
        ):
            if failure := dry_run(learned, public.queries, public.classes, public.apart(name), **how):
                raise ValueError(f"{name} must be able to learn from {_MADE_UP}, but fails: {failure}")
        # Private rows may have missing values even if the public rows have none.
        return () if protects == "labels" else notes_on_gaps(public, public.queries, self._tried)

    def _student_tried(self, classes: NDArray[Any], student: Any, X: Any, y: NDArray[Any]) -> Any:  # noqa: ARG002
        """Return a student fitted to labels with weights, as it is fitted to answers."""
        return fit_weighted(student, X, y, np.linspace(0.5, 1.5, len(y)))

    def _check_gaps(self, public: Any) -> None:
        """Raise if public rows have missing values and the student does not accept them."""
        if not get_tags(self).input_tags.allow_nan and not is_frame(public) and public.dtype.kind == "f":
            check_array(public, accept_sparse=True, dtype=None)

    def _check_student(self) -> Any:
        check_classifier("student", self.student)
        return self.student

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.student is not None:
            tags.input_tags.allow_nan &= get_tags(self.student).input_tags.allow_nan
            tags.input_tags.sparse &= get_tags(self.student).input_tags.sparse
        return tags

    def _context(self) -> tuple[object, ...]:
        known = str(self.epsilon), str(self.delta), self.aggregation, self.protects, self.max_queries
        return *known, *self._relation()


class TransferFit(EnsembleFit):
    """The fit of `KnowledgeTransferClassifier`."""

    def known(self, facts: Any, table: Table) -> Any:
        public, shell = facts, self.shell
        assert isinstance(public, EnsembleTable)
        wrapped = _public_part(self.cost.protects, self.public.get("X_public"))
        rows: Any = table
        if wrapped is not None:
            reader = self.given(columns=facts.columns).reader()
            rows = read_rows(reader, wrapped, reset=False, sparse=self.sparse)
        public = replace(public, n_rows=count_of(rows))
        most = shell._ballot(self, public).max_queries
        if shell._estimates(self):  # the release keeps the first of them
            most = self.max_queries or public.n_rows
        assert public.stream is not None
        asked = public.stream.permutation(public.n_rows)[:most]
        queries = plain(check_values(shell._asked_rows(rows, asked)))
        student = shell._standard_student(queries) if self.student is None else self.student
        if self.cost.protects == "labels":  # the rows of the student are those of the records
            check_own_code("student", student)
            student = quiet(student)
        public = replace(public, queries=queries, student=student)
        notes = shell._dry_run_notes(public, protects=self.cost.protects)
        return replace(public, notes=notes)

    def run(self, summary: Any, plan: AggregationPlan, dice: Dice) -> Any:
        # One changed record, or label, changes one vote on each query.
        shell = self.shell
        found, lessons = shell._drawn_lessons(summary, plan, dice)
        votes = shell._watched(found, lambda more: shell._votes(lessons | more, found))
        answers = shell._aggregator(found.params, found.ballot).attach(dice).answer(votes)
        return answers if found is plan else _Counted(found, answers)


class _Counted(NamedTuple):
    """The released outcome of a transfer that estimates the number of records."""

    plan: AggregationPlan  # for the estimate
    answers: Any


def _public_part(protects: str, X_public: Any) -> Any:
    """Return the public rows, or None if the rows of X are the public rows."""
    if protects == "labels":
        return None
    if X_public is None:
        raise ValueError(
            "X_public must be PublicData(rows) where protects='examples'; without public rows, use"
            " SyntheticDataClassifier(estimator), or the weaker guarantee protects='labels', where all"
            " features are public"
        )
    return public_rows(X_public)
