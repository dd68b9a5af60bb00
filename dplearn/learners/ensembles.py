"""What the classifiers share that learn through an ensemble of teachers: parameters, plan and guarantee."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.utils import Tags, get_tags

from dplearn._validation import check_choice, check_count, check_count_or_auto, check_number
from dplearn._writing import brief
from dplearn.chance import PublicStream
from dplearn.domains.cells import is_frame
from dplearn.ensembles.aggregators import AGGREGATIONS, Aggregator, Ballot
from dplearn.ensembles.dry_run import MANY_ROWS, dry_run, with_gaps
from dplearn.ensembles.progress import Progress
from dplearn.ensembles.shards import shards
from dplearn.ensembles.standard import standard_estimator
from dplearn.ensembles.teachers import check_teachable
from dplearn.estimator import PrivateClassifier
from dplearn.estimator.callbacks import TellsProgress
from dplearn.estimator.stages import Params, Public, Table
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import Plan, hidden
from dplearn.records.reading import (
    COLUMNS,
    ROWS,
    check_classes,
    check_given,
    labels_assumed,
    read_labels,
    read_rows,
)
from dplearn.records.rows import Examples

__all__ = [
    "AggregationPlan",
    "EnsembleClassifier",
    "EnsembleTable",
    "check_classifier",
    "notes_on_gaps",
    "notes_on_noise",
]

Outcome = TypeVar("Outcome")

_CATEGORIES = COLUMNS + ", the categories of categorical columns among them"


@dataclass(frozen=True)
class AggregationPlan(Plan):
    """What a fit of an ensemble would give, from public quantities alone.

    Attributes
    ----------
    guarantee : ApproxDP
        What it would guarantee, for all answers together.
    aggregation : str
        How votes become answers.
    n_samples, n_teachers, shard_size : int
        Records, teachers, and how many records each teacher has at least.
    max_queries : int
        How many rows can be asked about.
    max_abstentions : int or None
        How many of them can be declined, where declining is what costs.
    noise_scale : float
        Standard deviation, in votes, of the noise that an answer has to stand out of.
    least_lead : int
        By how many votes a label must lead so that `max_queries` such rows are all answered with it, with
        probability at least .95. Where declined queries are what costs and it exceeds `n_teachers`, hardly
        any row is answered; noisy maxima answer all the same, some rows wrongly.
    least_decided : int
        With "sparse_vector", how many of the `max_queries` rows must have a label that leads by `least_lead`
        so that all of them are asked about, with probability at least .95: with more undecided rows it may
        stop before the last. 0 for the other aggregations, which never stop.
    """

    guarantee: ApproxDP
    aggregation: str
    n_samples: int
    n_teachers: int
    shard_size: int
    max_queries: int
    max_abstentions: int | None
    noise_scale: float
    least_lead: int
    least_decided: int
    ballot: Any = hidden()
    noise_notes: Any = hidden()
    params: Any = hidden()
    public: Any = hidden()
    seeds: Any = hidden()
    shards: Any = hidden()

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warn of estimators that fail on made-up rows, and of noise that dominates the votes."""
        return (*self.public.notes, *self.noise_notes)


@dataclass(frozen=True)
class EnsembleTable(Public):
    """The public values of a table that teachers learn from.

    Attributes
    ----------
    estimator : classifier or None
        Unfitted; teachers are clones of it. None in a plan.
    n_rows : int
        How many rows there are to be asked about.
    queries : table of shape (n_queries, n_features) or None
        The public rows that a transfer asks about.
    student : classifier or None
        Unfitted; learns from the answers of a transfer.
    notes : tuple of str
        What a fit warns of, from columns' types and public rows alone.
    """

    estimator: Any = None
    n_rows: int = 0
    queries: Any = None
    student: Any = None
    notes: tuple[str, ...] = ()

    def apart(self, context: str) -> PublicStream:
        """Return another public stream, so that what is drawn from it moves no shard."""
        assert self.stream is not None  # in a fit there is one
        return PublicStream(self.stream.seed, context)


class EnsembleClassifier(TellsProgress, PrivateClassifier):
    """Base of classifiers that learn through teachers.

    A subclass has the parameters `estimator`, `n_teachers`, `epsilon`, `delta`, `aggregation`, `max_queries`,
    `max_abstentions`, `classes`, `n_jobs`, `verbose`, `ledger` and `random_state`.
    """

    #: How votes, or scores, become answers, by name.
    _aggregations: ClassVar[dict[str, type[Aggregator]]] = AGGREGATIONS
    #: What an aggregator is told of the ensemble.
    _ballots: ClassVar[type[Ballot]] = Ballot

    def _aggregator(self, params: Params, ballot: Ballot) -> Aggregator:
        return self._aggregations[params.aggregation](ballot)

    def _sizes(self, params: Params, public: EnsembleTable) -> Ballot:
        """Return the sizes of the ensemble."""
        raise NotImplementedError

    def _ballot(self, params: Params, public: EnsembleTable) -> Ballot:
        """Return the sizes of an ensemble that has no more teachers than there are records."""
        ballot = self._sizes(params, public)
        if ballot.n_teachers > public.n_samples:
            raise ValueError(
                f"n_teachers must be at most the number of records, {public.n_samples}, got"
                f" {ballot.n_teachers}"
            )
        return ballot

    def _planned(self, n_samples: int, n_labels: int | None, n_rows: int) -> Any:
        """Return the plan of a fit on a table of so many records, from public numbers alone."""
        n_samples = check_count("n_samples", n_samples, low=1)
        params = self._params(self.random_state is not None)
        labels = n_labels if params.classes is None else len(check_classes(params.classes))
        labels = check_given("n_labels", labels, source="classes", low=2)
        n_rows = check_count("n_rows", n_rows, low=1)
        return self._plan(params, EnsembleTable(n_samples, n_labels=labels, n_rows=n_rows))

    def _params(self, reproducible: bool) -> Params:
        if self.classes is not None:
            check_classes(self.classes)
        check_classifier("estimator", self.estimator)
        return Params(
            self._most(reproducible),
            estimator=self.estimator,
            aggregation=check_choice("aggregation", self.aggregation, tuple(self._aggregations)),
            classes=self.classes,
            n_teachers=check_count_or_auto("n_teachers", self.n_teachers),
            max_queries=check_count_or_auto("max_queries", self.max_queries),
            max_abstentions=check_count_or_auto("max_abstentions", self.max_abstentions),
            n_jobs=self.n_jobs,
            verbose=bool(self.verbose),
            random_state=self.random_state,
            **self._more_params(),
        )

    def _more_params(self) -> dict[str, Any]:
        """Check and return the parameters that a subclass has besides."""
        return {}

    def _most(self, reproducible: bool) -> ApproxDP:
        """Return the most that a fit may spend, which is what it spends."""
        epsilon = check_number("epsilon", self.epsilon, above=0)
        return ApproxDP(epsilon, self.delta, reproducible=reproducible)

    def _read(self, X: Any, y: Any, params: Params) -> Table:
        """Read rows as they are; nothing but their number and types settles anything."""
        stream = self._public_stream(params)
        X = self._rows(X, reset=True)
        classes, codes = read_labels(y, X.shape[0], params.classes)
        if len(classes) < 2:
            raise ValueError(
                f"classes must hold at least 2 labels, got {len(classes)} class; classes=[...] declares all"
                " that can occur"
            )
        estimator = self._standard(X) if params.estimator is None else params.estimator
        check_teachable(estimator)
        names = getattr(self, "feature_names_in_", None)
        public = EnsembleTable(
            X.shape[0], X.shape[1], names=names, classes=classes, stream=stream, estimator=estimator
        )
        return Table(public, Examples(X, classes[codes]))

    def _plan(self, params: Params, public: Public) -> AggregationPlan:
        assert isinstance(public, EnsembleTable)
        ballot = self._ballot(params, public)
        aggregator = self._aggregator(params, ballot)
        k, stream = ballot.n_teachers, public.stream
        independent = "a teacher's training and answers depend on nothing but its own shard and public chance"
        assumes = (_CATEGORIES, ROWS, labels_assumed(params.classes), independent, self._assumed(params))
        return AggregationPlan(
            guarantee=replace(params.cost, assumes=assumes),
            aggregation=params.aggregation,
            n_samples=public.n_samples,
            n_teachers=k,
            shard_size=public.n_samples // k,
            max_queries=ballot.max_queries,
            max_abstentions=ballot.max_abstentions,
            noise_scale=aggregator.noise_scale,
            least_lead=aggregator.least_lead,
            least_decided=aggregator.least_decided,
            ballot=ballot,
            noise_notes=self._noise_notes(ballot, aggregator),
            params=params,
            public=public,
            shards=None if stream is None else shards(public.n_samples, k, stream),
            seeds=None if stream is None else stream.seeds(k),
        )

    def _assumed(self, params: Params) -> str:
        """Return what a guarantee assumes of the rows that are asked about."""
        raise NotImplementedError

    def _noise_notes(self, ballot: Ballot, aggregator: Aggregator) -> tuple[str, ...]:
        """Return a warning if noise dominates the votes."""
        raise NotImplementedError

    def _lessons(self, rows: Examples, plan: AggregationPlan) -> dict[str, Any]:
        """Return the arguments that teachers are trained with; how records are cut is public."""
        return {
            "estimator": plan.public.estimator,
            "X": rows.X,
            "y": rows.y,
            "shards": plan.shards,
            "seeds": plan.seeds,
            "n_jobs": plan.params.n_jobs,
        }

    @staticmethod
    def _tried(estimator: Any, X: Any, y: NDArray[Any]) -> Any:
        """Return an estimator fitted to public rows, or raise what would keep teachers from learning."""
        return estimator.fit(X, y)

    def _standard(self, X: Any) -> Any:
        """Return the teacher that is taken where `estimator` is None."""
        return standard_estimator(X, C=10)

    def _watched(self, plan: AggregationPlan, train: Callable[[dict[str, Any]], Outcome]) -> Outcome:
        """Return what comes of training, which is given how to tell that one more teacher is done."""
        count = plan.n_teachers
        outcome: Outcome = self._telling(
            lambda tell: train({"progress": Progress(count, shown=plan.params.verbose, tell=tell)}),
            task="teacher",
            count=count,
        )
        return outcome

    def _rows(self, X: Any, *, reset: bool = False) -> Any:
        return read_rows(self, X, reset=reset, sparse=get_tags(self).input_tags.sparse)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        base = None if self.estimator is None else get_tags(self.estimator).input_tags
        # Where a teacher cannot learn, its shard's label shares stand in: no value is refused.
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.input_tags.sparse = base is None or base.sparse
        return tags


def check_classifier(name: str, estimator: Any) -> None:
    """Refuse what is neither None nor an unfitted classifier."""
    methods = ("fit", "predict", "get_params")
    complete = not isinstance(estimator, type) and all(hasattr(estimator, method) for method in methods)
    if estimator is not None and (not complete or is_regressor(estimator)):
        raise TypeError(f"{name} must be None or a classifier, got {brief(estimator)}")


def notes_on_gaps(public: EnsembleTable, rows: Any, tried: Callable[..., Any]) -> tuple[str, ...]:
    """Return a warning if an estimator learns from public rows of a frame, but not with floats missing.

    Any column of floats may have gaps, and whether it has nobody is told. Of a plain array there is no
    warning: most hold none, and most estimators for them take none.
    """
    gaps = with_gaps(rows.head(MANY_ROWS)) if is_frame(rows) else None
    failure = ""
    if gaps is not None:
        failure = dry_run(public.estimator, gaps, public.classes, public.apart("rehearsal"), tried)
    if not failure:
        return ()
    return (
        f"estimator fails where values are missing ({failure.splitlines()[0]}): where a shard misses one,"
        " that teacher only knows its shard's most frequent label. Put an imputer in it, such as"
        " SimpleImputer, also where nothing is missing now; estimator=None has one",
    )


def notes_on_noise(ballot: Ballot, dominates: bool, consequence: str) -> tuple[str, ...]:
    """Return a warning if noise dominates the votes of so few teachers."""
    if not dominates:
        return ()
    return (
        f"n_teachers is {ballot.n_teachers}: too few for the noise that epsilon and max_queries="
        f"{ballot.max_queries} take, {consequence}. More records, fewer queries or a larger epsilon help;"
        " plan(n_samples) tells how much, without any data",
    )
