"""The recipe of ensembles: shards of a private table, their teachers, and what is released of their votes.

`EnsembleClassifier` checks the parameters, and makes a `VotesFit`, which plans the sizes by public numbers. A
shard's teacher is a function of the shard alone, so one record changes one vote on each query. Subclasses
keep the teachers, for later queries (`online`), or teach a student (`transfer`).

Where the number of records is public, shards are cut at random by a public stream. They depend on no feature
and no label: with stratified shards one replaced record could move another record to a different shard, and
two teachers would change. Where the number is private, each record draws its shard in secret, and if the
number of teachers is not given, a share of the budget estimates it.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import isqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.utils import Tags, get_tags

from dplearn._validation import check_choice, check_count, check_count_or_auto, check_given
from dplearn._writing import brief
from dplearn.chance import PublicStream
from dplearn.chance.dice import Dice
from dplearn.estimator import PrivateClassifier
from dplearn.estimator.base import TellsProgress
from dplearn.estimator.base_models import check_own_code
from dplearn.estimator.recipe import FitFacts, FitRecipe
from dplearn.fit.relation import COLUMNS_AND_CATEGORIES, ROWS, noisy_count, plan_with_count, shares_with_count
from dplearn.learners.votes.aggregators import PREFERRED, Aggregator, Ballot
from dplearn.learners.votes.asked import Asked, Labels
from dplearn.learners.votes.teachers import check_copies
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import ALPHA, SizedPlan, hidden, records_needed
from dplearn.privacy.unknown_count import ADDED
from dplearn.table import LabelledRows, as_table, count_of, rows_of
from dplearn.table.features import read_rows
from dplearn.table.groups import rows_of_shards
from dplearn.table.rows import check_values
from dplearn.table.targets import check_several_labels, labels_assumed, read_labels

_PURE = "lnmax"  # the only aggregation that spends no delta
_INDEPENDENT = "a teacher's training and answers depend only on its own shard and public randomness"


@dataclass(frozen=True)
class AggregationPlan(SizedPlan):
    """The plan of a fit of an ensemble, a function of public values.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of all answers together.
    aggregation : str
        The aggregation of votes, as for the estimator.
    n_samples, n_teachers, shard_size : int
        The numbers of records, of teachers, and of records in the smallest shard; for
        neighbors="add_remove" the latter is the mean over all shards, rounded down.
    max_queries : int
        The number of rows that can be queried.
    max_abstentions : int or None
        The number of abstentions after which it stops; None if abstentions do not count.
    noise_scale : float
        The standard deviation, in votes, of the noise that decides an answer.
    least_lead : int
        The least lead, in votes, for which `max_queries` rows with such a lead are all answered with the
        leading label, with probability at least .95. If it exceeds `n_teachers`, "sparse_vector" abstains
        from nearly all rows, and noisy maxima answer some rows wrongly.
    least_decided : int
        With "sparse_vector", the number of the `max_queries` rows on which a label must lead by `least_lead`
        so that all rows are processed, with probability at least .95; with fewer such rows it may stop before
        the last row. 0 for the other aggregations, which never stop. Of `SoftLabelAggregateClassifier`, it
        counts scores: with two labels a row has one score, with more it has one for each label.
    bin_width : float or None
        Of `SoftLabelAggregateClassifier`: the width of the bins of scores.
    error : float or None
        Of `SoftLabelAggregateClassifier`. With "mean": with probability at least .95, every released score
        differs by at most this from the mean of the teachers' scores. With "sparse_vector": an answered score
        differs by at most this from the score of every teacher in the released bin.
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
    bin_width: float | None = field(default=None, repr=False, kw_only=True)
    error: float | None = field(default=None, repr=False, kw_only=True)
    ballot: Any = hidden()
    noise_notes: Any = hidden()
    public: Any = hidden()
    seeds: Any = hidden()
    shards: Any = hidden()
    count: Any = hidden()  # the guarantee of the estimate

    @property
    def _computed(self) -> tuple[str, ...]:  # type: ignore[override]  # printed after the fields, if there are any
        return () if self.error is None else ("bin_width", "error")

    @property
    def n_needed(self) -> int | None:
        """A number of records for which rows on which five of six teachers agree are answered, or, with
        "mean", `error` is at most 0.05. None if 10**10 do not suffice, for example because the number of
        teachers is given.
        """
        return records_needed(self.replan, type(self)._suffices)

    def _suffices(self) -> bool:
        if self.error is not None and self.aggregation == "mean":
            return self.error <= ALPHA
        return 3 * self.least_lead <= 2 * self.n_teachers

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of an estimator that fails the dry run, and of noise that dominates the votes."""
        return self.public.notes if self.for_count else (*self.public.notes, *self.noise_notes)


@dataclass(frozen=True)
class VotesFacts(FitFacts):
    """The public values of a table of private records for teachers."""

    estimator: Any = None  # unfitted; cloned for each teacher
    n_rows: int = 0  # that can be chosen as queries
    queries: Any = None  # the public rows that a knowledge transfer queries
    student: Any = None  # unfitted
    like: Any = None  # no rows, with the types of the columns of the private rows
    listed: bool = False  # whether the rows were given as lists, which have no types
    notes: tuple[str, ...] = ()  # of the dry run, a function of column types and public rows

    def apart(self, context: str) -> PublicStream:
        """Return a public stream for another purpose, whose draws leave the shards unchanged."""
        assert self.stream is not None  # always set in a fit
        return PublicStream(self.stream.seed, context)


class EnsembleClassifier(TellsProgress, PrivateClassifier):
    """Base class of classifiers that train teachers on disjoint shards.

    Parameters
    ----------
    classes : sequence, optional
        All labels that can occur, known without looking at the data. None: the labels that occur in `y`; the
        guarantee then assumes that the set of labels is public.
    neighbors
        ... Each record then draws its shard in secret. With n_teachers="auto" a tenth of the budget estimates
        the number of records, and all else is planned by the estimate; with a given number of teachers,
        nothing is estimated. For tables in memory and no groups.

    Attributes
    ----------
    n_teachers_ : int
        Public. The number of shards; for neighbors="add_remove" and n_teachers="auto" a function of the
        released number of records.
    noisy_count_
        ... Absent where `n_teachers` is given.
    """

    reads_parts = True
    keeps_types = True
    #: What teachers are asked, labels or scores.
    _asked: ClassVar[type[Asked]] = Labels
    _fit_class: ClassVar[type["VotesFit"]]
    _most_records = 1 << 24  # of an estimate, for neighbors="add_remove": teachers must not be without number

    def _planned(self, n_samples: int, n_labels: int | None, n_rows: int) -> AggregationPlan:
        n_samples = check_count("n_samples", n_samples, low=1)
        fit = self._recipe(self.random_state is not None)
        labels = n_labels if fit.classes is None else len(fit.classes)
        labels = check_given("n_labels", labels, source="classes", low=2)
        public = VotesFacts(n_samples, 0, labels, n_rows=check_count("n_rows", n_rows, low=1))
        return fit.replannable(public)

    def _recipe(self, reproducible: bool) -> "VotesFit":
        check_classifier("estimator", self.estimator)
        if self.estimator is not None:
            check_own_code("estimator", self.estimator)
        cost = self._cost(reproducible, neighbors=self.neighbors)
        known = tuple(self._asked.aggregations)
        aggregation = check_choice("aggregation", self.aggregation, known)
        if not cost.delta and aggregation != _PURE:
            of = "" if _PURE in known else " of the ensembles of labels"
            raise ValueError(
                f"delta must be above 0 with aggregation={aggregation!r}, got 0: aggregation={_PURE!r}{of}"
                " has Laplace noise, and takes 0"
            )
        return self._fit_class(
            self,
            cost,
            shell=self._shell(),
            asked=self._asked,
            estimator=self.estimator,
            aggregation=aggregation,
            n_teachers=check_count_or_auto("n_teachers", self.n_teachers),
            max_queries=check_count_or_auto("max_queries", self.max_queries),
            max_abstentions=check_count_or_auto("max_abstentions", self.max_abstentions),
            n_jobs=self.n_jobs,
            group_rows=1,  # a shard has all rows of its groups
            **self._more_params(),
            accepts=get_tags(self).input_tags,
        )

    def _shell(self) -> Self:
        """Return the unfitted classifier without its ledger, which has a lock and a history."""
        shell: Any = object.__new__(type(self))
        kept = (name for name in vars(self) if not name.endswith("_") and name != "_one_time_state")
        vars(shell).update({name: vars(self)[name] for name in kept})
        shell.ledger = None
        return shell

    @abstractmethod
    def _more_params(self) -> dict[str, Any]:
        """Check and return the further parameters of a subclass."""

    def _context(self) -> tuple[object, ...]:
        known = str(self.epsilon), str(self.delta), self.aggregation, *self._of_the_stream()
        return (*known, self.neighbors) if self.neighbors == ADDED else known

    def _of_the_stream(self) -> tuple[object, ...]:
        """Return further parameters from which the stream of a seeded fit is derived."""
        return self.max_queries, self.max_abstentions

    def _rows(self, X: Any) -> Any:
        return read_rows(self, X, reset=False, sparse=get_tags(self).input_tags.sparse)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        base = None if self.estimator is None else get_tags(self.estimator).input_tags
        # If a teacher's fit fails, it predicts its shard's label shares; so every value is accepted.
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.input_tags.sparse = base is None or base.sparse
        return tags


class VotesFit(FitRecipe):
    """The fit of an ensemble, up to the training of its teachers."""

    _assumed: Any  # of the queried rows

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        """Read the rows without encoding; only their number and types influence the plan."""
        stream, listed = self.stream(), not hasattr(X, "shape")
        X = read_rows(reader, X, reset=True, sparse=self.accepts.sparse)
        classes, codes = read_labels(y, X.shape[0], self.classes)
        check_several_labels(classes)
        if self.estimator is None:
            estimator = self.asked.standard_teacher(X)
            check_own_code("estimator", estimator)
        else:
            check_copies(estimator := self.estimator)
        public = VotesFacts.of_rows(
            X,
            reader,
            classes=classes,
            stream=stream,
            estimator=estimator,
            like=check_values(rows_of(X, np.arange(0))),  # by types, as queries would be refused
            listed=listed,
        )
        return public, LabelledRows(X, classes[codes])

    def plan(self, facts: FitFacts) -> AggregationPlan:
        if not self.uncounted:
            return self._sized(facts)
        if self._estimates:
            concentrated = self.asked.aggregations[self.aggregation].concentrated
            count, rest = shares_with_count(self.cost, concentrated=concentrated)

            def plan_of(cost: ApproxDP, counted: FitFacts) -> AggregationPlan:
                return self.given(cost=cost)._sized(counted)

            found: AggregationPlan = plan_with_count(plan_of, self.cost, facts, rest)
            return replace(found, count=count)
        n: Any = facts.n_samples  # a guess; None in a fit
        plan = self._sized(replace(facts, n_samples=1))  # nothing depends on the number
        size: Any = None if n is None else n // plan.n_teachers
        return replace(plan, public=facts, n_samples=n, shard_size=size)

    @property
    def _estimates(self) -> bool:
        """Whether a fit estimates the number of records, and is planned by the estimate."""
        return self.uncounted and self.n_teachers is None

    def _sized(self, public: Any) -> AggregationPlan:
        """Return the plan for a number of records, which is a guess or an estimate if it is private."""
        ballot = self._ballot(public)
        aggregator = self._aggregator(ballot)
        k, stream = ballot.n_teachers, public.stream
        if self.uncounted:
            stream = None  # shards are drawn in the release
        assumes = COLUMNS_AND_CATEGORIES, ROWS, labels_assumed(self.classes), _INDEPENDENT, self._assumed
        return AggregationPlan(
            guarantee=replace(self.cost, assumes=assumes),
            aggregation=self.aggregation,
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
            public=public,
            shards=None if stream is None else shards(public.n_samples, k, stream),
            seeds=None if stream is None else stream.seeds(k),
        )

    def _ballot(self, facts: VotesFacts) -> Ballot:
        """Return the sizes of the ensemble, by default for one record; raise if it has more teachers than
        records.
        """
        if self.uncounted:
            return self._sizes(replace(facts, n_samples=facts.n_samples or 1))
        ballot = self._sizes(facts)
        if ballot.n_teachers > facts.n_samples:
            raise ValueError(
                f"n_teachers must be at most the number of records, {facts.n_samples}, got"
                f" {ballot.n_teachers}"
            )
        return ballot

    @abstractmethod
    def _sizes(self, facts: VotesFacts) -> Ballot:
        """Return the sizes of the ensemble."""

    def _open_sizes(self, facts: VotesFacts) -> dict[str, Any]:
        """Return the arguments by which open sizes are chosen."""
        return {
            "kind": self.asked.aggregations[self.aggregation],
            "privacy": self.cost,
            "n_samples": facts.n_samples,
            "n_labels": facts.n_labels,
            "n_teachers": self.n_teachers,
            "max_queries": self.max_queries,
            "max_abstentions": self.max_abstentions,
        }

    def _aggregator(self, ballot: Ballot) -> Aggregator:
        return self.asked.aggregations[self.aggregation](ballot)

    @abstractmethod
    def _noise_notes(self, ballot: Ballot, aggregator: Aggregator) -> tuple[str, ...]:
        """Return a warning if noise dominates the votes."""

    def into_shards(
        self, rows: Any, plan: AggregationPlan, dice: Dice
    ) -> tuple[AggregationPlan, dict[str, Any]]:
        """Return the plan, of an estimated number of records perhaps, and the table, its shards and seeds."""
        table = as_table(rows)
        cut: dict[str, Any] = {"shards": plan.shards, "seeds": plan.seeds}
        if table.grouping is not None:  # all rows of a group are in one shard
            own: Any = plan.shards  # a shard has at least as many rows as groups, and its length is private
            cut |= {"shards": rows_of_shards(table.grouping, own), "base": max(map(len, own))}
        elif self.uncounted:
            n = count_of(rows)
            plan = self._counted(plan, n, dice)
            k = plan.n_teachers  # seeds and places are functions of public and of released values
            cut = {"shards": drawn_shards(n, k, dice), "seeds": plan.public.apart("teachers").seeds(k)}
            cut["base"] = _place_length(plan.shard_size)
        whole = table.ungrouped()
        in_memory = whole.at_once(lambda examples: {"X": examples.X, "y": examples.y})
        return plan, (in_memory or {"X": whole, "y": None}) | cut

    def _counted(self, plan: AggregationPlan, n: int, dice: Dice) -> AggregationPlan:
        """Return the plan for an estimate of the number of records; with given teachers, of any number."""
        if plan.for_count is None:
            return plan
        found: AggregationPlan = plan.for_count(
            noisy_count(n, plan.count, dice, most_records=self.most_records)
        )
        return replace(found, guarantee=plan.guarantee)

    def _trained(
        self, train: Callable[..., Any], cut: dict[str, Any], plan: AggregationPlan, **how: Any
    ) -> Any:
        """Return what `train` makes of the shards, with progress shown."""
        how |= {"estimator": plan.public.estimator, "n_jobs": self.n_jobs}
        return self.shell._telling(
            lambda progress: train(**cut, **how, progress=progress),
            task="teacher",
            count=plan.n_teachers,
        )

    def _published(self, plan: AggregationPlan) -> dict[str, Any]:
        """Return the attributes of a fit that all ensembles have."""
        return {
            "classes_": plan.public.classes,
            "guarantee_": plan.guarantee,
            "n_teachers_": plan.n_teachers,
            "public_seed_": plan.public.stream.seed,
            **({"noisy_count_": plan.n_samples} if self._estimates else {}),
        }

    def publish(self, learner: Any, facts: Any, outcome: Any, plan: AggregationPlan) -> None:  # noqa: ARG002
        # In one update, so that a student, or teachers, are never combined with the guarantee of another fit.
        vars(learner).update((facts.columns or {}) | outcome)

    def late_warnings(self, learner: Any, plan: AggregationPlan) -> tuple[str, ...]:
        if plan.for_count is None:
            return ()
        start = f"the noisy number of records is {learner.noisy_count_}: "
        return tuple(start + note for note in plan.for_count(learner.noisy_count_).noise_notes)


def shards(n: int, k: int, stream: PublicStream) -> list[NDArray[np.int64]]:
    """Return the row numbers of each of k shards, whose sizes differ by at most 1, by a public stream."""
    return np.array_split(stream.permutation(n), check_count("k", k, low=1))


def drawn_shards(n: int, k: int, dice: Dice) -> list[NDArray[np.int64]]:
    """Return the row numbers of each of k shards of a private number of rows, in the order of the table.

    Notes
    -----
    **Privacy.** Fix the draws of the records that two tables share, where one of them has one record more.
    For each value of these draws, and of that of the further record, the shards of the two tables are equal,
    except for the one in which the further record is missing. So one teacher differs: it is a function of the
    rows of its own shard, in order, and of its number. All that follows is private for one changed teacher,
    for every value of the draws, so it is private for their mixture, too: their distribution is the same.

    **Assumes.** The draws stay secret: with a published seed the records behind the further one would take
    the draws of those before them, and every shard would change.
    """
    own = np.asarray(dice.below(check_count("k", k, low=1), size=n), dtype=np.int64)
    order = np.argsort(own, kind="stable")
    return np.split(order, np.cumsum(np.bincount(own, minlength=k))[:-1])


def _place_length(shard_size: int | None) -> int:
    """Return a length that nearly all shards, drawn with a mean of `shard_size` rows, do not exceed."""
    mean = PREFERRED if shard_size is None else shard_size
    return mean + 4 * isqrt(mean) + 2


def check_classifier(name: str, estimator: Any) -> None:
    """Raise if the estimator is neither None nor an unfitted classifier."""
    methods = ("fit", "predict", "get_params")
    complete = not isinstance(estimator, type) and all(hasattr(estimator, method) for method in methods)
    if estimator is not None and (not complete or is_regressor(estimator)):
        raise TypeError(f"{name} must be None or a classifier, got {brief(estimator)}")


def notes_on_noise(ballot: Ballot, dominates: bool, consequence: str) -> tuple[str, ...]:
    """Return a warning if noise dominates the votes."""
    if not dominates:
        return ()
    return (
        f"n_teachers is {ballot.n_teachers}: too few for the noise that epsilon and max_queries="
        f"{ballot.max_queries} require, {consequence}. Use more records, fewer queries or a larger epsilon;"
        " plan(n_samples) reports `least_lead` without data",
    )
