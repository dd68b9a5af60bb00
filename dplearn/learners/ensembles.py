"""What the classifiers share that learn through an ensemble of teachers: parameters, plan and promise."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.utils import Tags, get_tags

from dplearn._validation import check_choice, check_count, check_count_or_auto, check_number
from dplearn.aggregation.aggregators import AGGREGATIONS, Aggregator, Ballot
from dplearn.aggregation.progress import Progress
from dplearn.aggregation.rehearsal import MANY_ROWS, rehearse, with_gaps
from dplearn.aggregation.shards import shards
from dplearn.aggregation.standard import standard_estimator
from dplearn.aggregation.teachers import check_teachable
from dplearn.chance import PublicStream
from dplearn.domains.cells import is_frame
from dplearn.estimator import PrivateClassifier
from dplearn.estimator.callbacks import TellsProgress
from dplearn.estimator.intake import (
    COLUMNS,
    ROWS,
    check_classes,
    check_told,
    labels_assumed,
    read_labels,
    read_rows,
)
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import Plan

__all__ = [
    "AggregationPlan",
    "EnsembleClassifier",
    "Records",
    "Terms",
    "check_classifier",
    "promise",
    "warn_of_gaps",
    "warn_of_noise",
]

Outcome = TypeVar("Outcome")

_CATEGORIES = COLUMNS + ", the categories of categorical columns among them"


@dataclass(frozen=True)
class AggregationPlan(Plan):
    """What a fit of an ensemble would give, from public quantities alone.

    Attributes
    ----------
    guarantee : ApproxDP
        What it would promise, for all answers together.
    aggregation : str
        How votes become answers.
    n_samples, n_teachers, shard_size : int
        Records, teachers, and how many records each teacher has at least.
    max_queries : int
        How many rows can be asked about.
    max_unstable : int or None
        How many of them can be declined, where declining is what costs.
    noise_scale : float
        Standard deviation, in votes, of the noise that an answer has to stand out of.
    least_lead : int
        By how many votes a label must lead so that `max_queries` such rows are all answered with it, with
        probability at least .95. Where declined queries are what costs and it exceeds `n_teachers`, hardly
        any row is answered; noisy maxima answer all the same, some rows wrongly.
    """

    guarantee: ApproxDP
    aggregation: str
    n_samples: int
    n_teachers: int
    shard_size: int
    max_queries: int
    max_unstable: int | None
    noise_scale: float
    least_lead: int


@dataclass(frozen=True)
class Terms:
    """All parameters of one fit, read and checked before the data."""

    price: ApproxDP
    estimator: Any
    aggregation: str
    classes: Sequence[Any] | None
    n_teachers: int | None
    max_queries: int | None
    max_unstable: int | None
    n_jobs: Any
    verbose: bool
    stream: PublicStream
    bin_width: Any = None

    def apart(self, context: str) -> PublicStream:
        """Return another public stream, so that what is drawn from it moves no shard."""
        return PublicStream(self.stream.seed, context)


@dataclass(frozen=True, repr=False)  # a traceback may show it
class Records:
    """What teachers are trained on, as it was read: private rows and labels, in the order they came."""

    estimator: Any
    X: Any
    y: NDArray[Any]
    classes: NDArray[Any]

    def lessons(self, terms: Terms, n_teachers: int) -> dict[str, Any]:
        """Return the arguments that teachers are trained with; how records are cut is public."""
        return {
            "estimator": self.estimator,
            "X": self.X,
            "y": self.y,
            "shards": shards(len(self.y), n_teachers, terms.stream),
            "seeds": terms.stream.seeds(n_teachers),
            "n_jobs": terms.n_jobs,
        }


class EnsembleClassifier(TellsProgress, PrivateClassifier):
    """Base of classifiers that learn through teachers.

    A subclass has the parameters `estimator`, `n_teachers`, `epsilon`, `delta`, `aggregation`, `max_queries`,
    `max_unstable`, `classes`, `n_jobs`, `verbose`, `ledger` and `random_state`.
    """

    #: How votes, or scores, become answers, by name.
    _aggregations: ClassVar[dict[str, type[Aggregator]]] = AGGREGATIONS
    #: What an aggregator is told of the ensemble.
    _ballots: ClassVar[type[Ballot]] = Ballot

    def _aggregator(self, terms: Terms, ballot: Ballot) -> Aggregator:
        return self._aggregations[terms.aggregation](ballot)

    def _settle(self, terms: Terms, n_samples: int, n_labels: int, n_rows: int) -> Ballot:
        """Return the sizes of the ensemble; `n_rows` is how many there are to be asked about."""
        raise NotImplementedError

    def _ballot(self, terms: Terms, n_samples: int, n_labels: int, n_rows: int) -> Ballot:
        """Return the sizes of an ensemble that has no more teachers than there are records."""
        ballot = self._settle(terms, n_samples, n_labels, n_rows)
        if ballot.n_teachers > n_samples:
            raise ValueError(
                f"n_teachers must be at most the number of records, {n_samples}, got {ballot.n_teachers}"
            )
        return ballot

    def _plan(self, n_samples: int, n_labels: int | None, n_rows: int) -> AggregationPlan:
        n_samples = check_count("n_samples", n_samples, low=1)
        terms = self._terms(self.random_state is not None)
        labels = n_labels if terms.classes is None else len(check_classes(terms.classes))
        labels = check_told("n_labels", labels, source="classes", low=2)
        ballot = self._ballot(terms, n_samples, labels, check_count("n_rows", n_rows, low=1))
        aggregator = self._aggregator(terms, ballot)
        return AggregationPlan(
            guarantee=terms.price,
            aggregation=terms.aggregation,
            n_samples=n_samples,
            n_teachers=ballot.n_teachers,
            shard_size=n_samples // ballot.n_teachers,
            max_queries=ballot.max_queries,
            max_unstable=ballot.max_unstable,
            noise_scale=aggregator.noise_scale,
            least_lead=aggregator.least_lead,
        )

    def _terms(self, reproducible: bool) -> Terms:
        """Read and check all parameters."""
        if self.classes is not None:
            check_classes(self.classes)
        check_classifier("estimator", self.estimator)
        return Terms(
            price=self._price(reproducible),
            estimator=self.estimator,
            aggregation=check_choice("aggregation", self.aggregation, tuple(self._aggregations)),
            classes=self.classes,
            n_teachers=check_count_or_auto("n_teachers", self.n_teachers),
            max_queries=check_count_or_auto("max_queries", self.max_queries),
            max_unstable=check_count_or_auto("max_unstable", self.max_unstable),
            n_jobs=self.n_jobs,
            verbose=bool(self.verbose),
            stream=PublicStream.of(self.random_state, type(self).__name__),
        )

    def _price(self, reproducible: bool) -> ApproxDP:
        epsilon = check_number("epsilon", self.epsilon, above=0)
        return ApproxDP(epsilon, self.delta, reproducible=reproducible)

    @staticmethod
    def _tried(estimator: Any, X: Any, y: NDArray[Any]) -> Any:
        """Return an estimator fitted to public rows, or raise what would keep its teachers silent."""
        return estimator.fit(X, y)

    def _standard(self, X: Any) -> Any:
        """Return the teacher that is taken where `estimator` is None."""
        return standard_estimator(X, C=10)

    def _watched(
        self, terms: Terms, lessons: dict[str, Any], train: Callable[[dict[str, Any]], Outcome]
    ) -> Outcome:
        """Return what comes of training, which is given how to tell that one more teacher is done."""
        count = len(lessons["shards"])
        outcome: Outcome = self._telling(
            lambda tell: train({"progress": Progress(count, shown=terms.verbose, tell=tell)}),
            task="teacher",
            count=count,
        )
        return outcome

    def _rows(self, X: Any, *, reset: bool = False) -> Any:
        return read_rows(self, X, reset=reset, sparse=get_tags(self).input_tags.sparse)

    def _read(self, terms: Terms, X: Any, y: Any) -> Records:
        """Read what is private; nothing but its number and types settles anything."""
        X = self._rows(X, reset=True)
        classes, codes = read_labels(y, X.shape[0], terms.classes)
        if len(classes) < 2:
            raise ValueError(
                f"classes must hold at least 2 labels, got {len(classes)} class; classes=[...] declares all"
                " that can occur"
            )
        estimator = self._standard(X) if terms.estimator is None else terms.estimator
        check_teachable(estimator)
        return Records(estimator, X, classes[codes], classes)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        base = None if self.estimator is None else get_tags(self.estimator).input_tags
        # Whatever a teacher cannot learn from, its shard abstains: no value is refused.
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.input_tags.sparse = base is None or base.sparse
        return tags


def promise(terms: Terms, *more: str) -> ApproxDP:
    """Return the guarantee of a fit: its price, and all that it assumes."""
    independent = "a teacher's training and answers depend on nothing but its own shard and public chance"
    assumes = (_CATEGORIES, ROWS, labels_assumed(terms.classes), independent, *more)
    return replace(terms.price, assumes=assumes)


def check_classifier(name: str, estimator: Any) -> None:
    """Refuse what is neither None nor an unfitted classifier."""
    methods = ("fit", "predict", "get_params")
    complete = not isinstance(estimator, type) and all(hasattr(estimator, method) for method in methods)
    if estimator is not None and (not complete or is_regressor(estimator)):
        raise TypeError(f"{name} must be None or a classifier, got {estimator!r}")


def warn_of_gaps(
    terms: Terms, records: Records, rows: Any, tried: Callable[..., Any], stacklevel: int
) -> None:
    """Warn if an estimator that learns from public rows of a frame fails where floats among them are missing.

    Any column of floats may have gaps, and whether it has nobody is told. Of a plain array there is no
    warning: most hold none, and most estimators for them take none.
    """
    gaps = with_gaps(rows.head(MANY_ROWS)) if is_frame(rows) else None
    if gaps is None:
        return
    failure = rehearse(records.estimator, gaps, records.classes, terms.apart("rehearsal"), tried)
    if failure:
        warnings.warn(
            f"estimator fails where values are missing ({failure.splitlines()[0]}): where a shard misses one,"
            " that teacher casts no vote. Put an imputer in it, such as SimpleImputer, also where nothing is"
            " missing now; estimator=None has one",
            stacklevel=stacklevel + 1,
        )


def warn_of_noise(ballot: Ballot, hopeless: bool, what: str) -> None:
    """Warn if so few teachers can hardly stand out of the noise."""
    if hopeless:
        warnings.warn(
            f"n_teachers is {ballot.n_teachers}: too few for the noise that epsilon and max_queries="
            f"{ballot.max_queries} take, {what}. More records, fewer queries or a larger epsilon help;"
            " plan(n_samples) tells how much, without any data",
            stacklevel=5,
        )
