"""Base class of classifiers that train teachers on shards: parameters, plan and guarantee."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from math import isqrt
from time import monotonic
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor
from sklearn.utils import Tags, get_tags

from dplearn._validation import check_choice, check_count, check_count_or_auto, check_given, check_number
from dplearn._writing import brief
from dplearn.chance import PublicStream
from dplearn.chance.dice import Dice
from dplearn.domains.cells import is_frame
from dplearn.ensembles.aggregators import AGGREGATIONS, Aggregator, Ballot
from dplearn.ensembles.base_estimators import check_own_code, check_teachable, standard_estimator
from dplearn.ensembles.dry_run import MANY_ROWS, dry_run, with_gaps
from dplearn.ensembles.shards import drawn_shards, shards
from dplearn.ensembles.sizes import PREFERRED
from dplearn.estimator import PrivateClassifier
from dplearn.estimator.base import TellsProgress
from dplearn.estimator.recipe import FitRecipe, Public
from dplearn.fit.relation import COLUMNS_AND_CATEGORIES, ROWS, counted_plan, counted_shares, noisy_count
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import Plan, hidden, records_needed
from dplearn.privacy.unknown_count import ADDED
from dplearn.table.features import read_rows
from dplearn.table.groups import rows_of_shards
from dplearn.table.rows import LabelledRows, count_of, rows_of, sliceable
from dplearn.table.table import Table, as_table
from dplearn.table.targets import check_classes, labels_assumed, read_labels

Outcome = TypeVar("Outcome")

_WIDTH = 30  # of a progress bar


@dataclass(frozen=True)
class AggregationPlan(Plan):
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
        the last row. 0 for the other aggregations, which never stop.
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
    replan: Any = hidden()  # from a number of records to the plan of a fit on them; set by `plan`
    for_count: Any = hidden()  # from an estimated number of records to the plan of a fit; see `counted_plan`
    count: Any = hidden()  # the guarantee of the estimate

    @property
    def n_needed(self) -> int | None:
        """A number of records for which rows on which five of six teachers agree are answered.

        Then `least_lead` is at most two thirds of the teachers. None if 10**10 records do not suffice, for
        example because the number of teachers is given.
        """
        return records_needed(self.replan, type(self)._suffices)

    def _suffices(self) -> bool:
        return 3 * self.least_lead <= 2 * self.n_teachers

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of a fit: an estimator that fails the dry run, and noise that dominates the votes.

        In a fit that estimates the number of records, the noise is known after the estimate.
        """
        return self.public.notes if self.for_count else (*self.public.notes, *self.noise_notes)


@dataclass(frozen=True)
class EnsembleTable(Public):
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

    A subclass has the parameters `estimator`, `n_teachers`, `epsilon`, `delta`, `aggregation`, `max_queries`,
    `max_abstentions`, `classes`, `neighbors`, `n_jobs`, `verbose`, `ledger` and `random_state`.

    For neighbors="add_remove" each record draws its shard in the release (see `drawn_shards`). If the number
    of teachers is given, nothing else depends on the number of records. Otherwise a share of the budget
    estimates it, and the sizes of the ensemble are planned by the estimate, for the remaining budget.
    """

    reads_parts = True
    keeps_types = True
    #: The aggregators of votes, or of scores, by name.
    _aggregations: ClassVar[dict[str, type[Aggregator]]] = AGGREGATIONS
    #: The class of the aggregators' public parameters.
    _ballots: ClassVar[type[Ballot]] = Ballot
    _most_records = 1 << 24  # of an estimate, for neighbors="add_remove": teachers must not be without number

    def _aggregator(self, params: FitRecipe, ballot: Ballot) -> Aggregator:
        return self._aggregations[params.aggregation](ballot)

    def _sizes(self, params: FitRecipe, public: EnsembleTable) -> Ballot:
        """Return the sizes of the ensemble."""
        raise NotImplementedError

    def _ballot(self, params: FitRecipe, public: EnsembleTable) -> Ballot:
        """Return the sizes of the ensemble; raise if there are more teachers than records.

        For neighbors="add_remove" without a number of records, those for one record.
        """
        if params.cost.neighbors == ADDED:
            return self._sizes(params, replace(public, n_samples=public.n_samples or 1))
        ballot = self._sizes(params, public)
        if ballot.n_teachers > public.n_samples:
            raise ValueError(
                f"n_teachers must be at most the number of records, {public.n_samples}, got"
                f" {ballot.n_teachers}"
            )
        return ballot

    def _planned(self, n_samples: int, n_labels: int | None, n_rows: int) -> Any:
        """Return the plan of a fit from public numbers."""
        n_samples = check_count("n_samples", n_samples, low=1)
        fit = self._recipe(self.random_state is not None)
        labels = n_labels if fit.classes is None else len(check_classes(fit.classes))
        labels = check_given("n_labels", labels, source="classes", low=2)
        n_rows = check_count("n_rows", n_rows, low=1)
        public = EnsembleTable(n_samples, 0, labels, n_rows=n_rows)
        return replace(fit.planned(public), replan=partial(fit.planned_for, public))

    def _recipe(self, reproducible: bool) -> "EnsembleFit":
        if self.classes is not None:
            check_classes(self.classes)
        check_classifier("estimator", self.estimator)
        check_own_code("estimator", self.estimator)
        return EnsembleFit(
            self,
            self._most(reproducible),
            shell=self._shell(),
            estimator=self.estimator,
            aggregation=check_choice("aggregation", self.aggregation, tuple(self._aggregations)),
            classes=self.classes,
            n_teachers=check_count_or_auto("n_teachers", self.n_teachers),
            max_queries=check_count_or_auto("max_queries", self.max_queries),
            max_abstentions=check_count_or_auto("max_abstentions", self.max_abstentions),
            n_jobs=self.n_jobs,
            verbose=bool(self.verbose),
            group_rows=1,  # a shard has all rows of its groups
            **self._more_params(),
            sparse=get_tags(self).input_tags.sparse,
        )

    def _shell(self) -> Self:
        """Return the unfitted classifier without its ledger, which has a lock and a history."""
        shell: Any = object.__new__(type(self))
        kept = (name for name in vars(self) if not name.endswith("_") and name != "_one_time_state")
        vars(shell).update({name: vars(self)[name] for name in kept})
        shell.ledger = None
        found: Self = shell
        return found

    def _more_params(self) -> dict[str, Any]:
        """Check and return the further parameters of a subclass."""
        return {}

    def _most(self, reproducible: bool) -> ApproxDP:
        """Return the cost of a fit, which its parameters determine."""
        epsilon = check_number("epsilon", self.epsilon, above=0)
        return ApproxDP(epsilon, self.delta, neighbors=self.neighbors, reproducible=reproducible)

    def _sized(self, params: FitRecipe, public: Public) -> AggregationPlan:
        """Return the plan for a number of records, which is a guess or an estimate if it is private."""
        assert isinstance(public, EnsembleTable)
        ballot = self._ballot(params, public)
        aggregator = self._aggregator(params, ballot)
        k, stream = ballot.n_teachers, public.stream
        if params.cost.neighbors == ADDED:
            stream = None  # shards are drawn in the release
        independent = "a teacher's training and answers depend only on its own shard and public randomness"
        assumes = (
            COLUMNS_AND_CATEGORIES,
            ROWS,
            labels_assumed(params.classes),
            independent,
            *self._assumed(params),
        )
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

    def _assumed(self, params: FitRecipe) -> tuple[str, ...]:
        """Return the assumptions of the guarantee about the queried rows."""
        raise NotImplementedError

    def _noise_notes(self, ballot: Ballot, aggregator: Aggregator) -> tuple[str, ...]:
        """Return a warning if noise dominates the votes."""
        raise NotImplementedError

    def _counted(self, plan: AggregationPlan, n: int, dice: Dice) -> AggregationPlan:
        """Return the plan for an estimate of the private number of records; released.

        If the number of teachers is given, the plan is that of any number of records.
        """
        if plan.for_count is None:
            return plan
        estimate = noisy_count(n, plan.count, dice, most_records=self._most_records)
        found: AggregationPlan = plan.for_count(estimate)
        return replace(found, guarantee=plan.guarantee)

    def _drawn_lessons(
        self, rows: Any, plan: AggregationPlan, dice: Dice
    ) -> tuple[AggregationPlan, dict[str, Any]]:
        """Return the plan, and the arguments of the teachers' training.

        For neighbors="add_remove" the shards are drawn. Seeds of teachers, and the places in which they are
        trained together, are functions of public and of released values.
        """
        if plan.guarantee.neighbors != ADDED:
            return plan, self._lessons(rows, plan)
        n = count_of(rows)
        found = self._counted(plan, n, dice)
        drawn = {
            "shards": drawn_shards(n, found.n_teachers, dice),
            "seeds": found.public.apart("teachers").seeds(found.n_teachers),
            "base": _place_length(found.shard_size),
        }
        return found, self._lessons(rows, found) | drawn

    def _lessons(self, rows: LabelledRows | Table, plan: AggregationPlan) -> dict[str, Any]:
        """Return the arguments of the teachers' training; the assignment of records to shards is public."""
        more: dict[str, Any] = {"shards": plan.shards}
        table = as_table(rows)
        if table.grouping is not None:  # all rows of a group are in one shard
            own: Any = plan.shards  # a shard has at least as many rows as groups, and its length is private
            more = {"shards": rows_of_shards(table.grouping, own), "base": max(map(len, own))}
        rows = table.ungrouped()
        return {
            "estimator": plan.public.estimator,
            **(rows.at_once(lambda examples: {"X": examples.X, "y": examples.y}) or {"X": rows, "y": None}),
            "seeds": plan.seeds,
            "n_jobs": plan.params.n_jobs,
            **more,
        }

    @staticmethod
    def _estimates(params: FitRecipe) -> bool:
        """Return whether a fit estimates the number of records, and is planned by the estimate."""
        return params.cost.neighbors == ADDED and params.n_teachers is None

    def _counted_attributes(self, plan: AggregationPlan) -> dict[str, Any]:
        """Return the estimate of the number of records as an attribute, if the fit made one."""
        return {"noisy_count_": plan.n_samples} if self._estimates(plan.params) else {}

    def _relation(self) -> tuple[str, ...]:
        """Return the neighbours for the context of a seeded fit, unless they are the default."""
        return (self.neighbors,) if self.neighbors == ADDED else ()

    @staticmethod
    def _tried(estimator: Any, X: Any, y: NDArray[Any]) -> Any:
        """Return an estimator fitted to public rows; raise the error that a teacher's fit would raise."""
        return estimator.fit(X, y)

    def _standard(self, X: Any) -> Any:
        """Return the base estimator for `estimator=None`."""
        return standard_estimator(X, C=10)

    def _watched(self, plan: AggregationPlan, train: Callable[[dict[str, Any]], Outcome]) -> Outcome:
        """Return the result of `train`, which is passed a callback for progress."""
        count = plan.n_teachers
        outcome: Outcome = self._telling(
            lambda tell: train({"progress": _Progress(count, shown=plan.params.verbose, tell=tell)}),
            task="teacher",
            count=count,
        )
        return outcome

    def _rows(self, X: Any) -> Any:
        return read_rows(self, X, reset=False, sparse=get_tags(self).input_tags.sparse)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        base = None if self.estimator is None else get_tags(self.estimator).input_tags
        # If a teacher's fit fails, it predicts its shard's label shares; so every value is accepted.
        tags.input_tags.allow_nan = tags.input_tags.string = True
        tags.input_tags.sparse = base is None or base.sparse
        return tags


class EnsembleFit(FitRecipe):
    """The fit of `EnsembleClassifier`; its shell tells what subclasses do differently."""

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        """Read the rows without encoding; only their number and types influence the plan."""
        stream, listed = self.stream(), not hasattr(X, "shape")
        X = read_rows(reader, X, reset=True, sparse=self.sparse)
        classes, codes = read_labels(y, X.shape[0], self.classes)
        _check_two_classes(classes)
        estimator = self.shell._standard(X) if self.estimator is None else self.estimator
        check_teachable(estimator)
        names = getattr(reader, "feature_names_in_", None)
        public = EnsembleTable(
            X.shape[0],
            X.shape[1],
            names=names,
            classes=classes,
            stream=stream,
            estimator=estimator,
            like=rows_of(sliceable(X), np.arange(0)),
            listed=listed,
        )
        return public, LabelledRows(X, classes[codes])

    def plan(self, public: Public) -> AggregationPlan:
        if self.cost.neighbors != ADDED:
            return self._sized(public)
        if self.shell._estimates(self):
            concentrated = self.shell._aggregations[self.aggregation].concentrated
            count, rest = counted_shares(self.cost, concentrated=concentrated)

            def plan_of(cost: ApproxDP, counted: Public) -> AggregationPlan:
                return self.given(cost=cost)._sized(counted)

            found: AggregationPlan = counted_plan(plan_of, self.cost, public, rest)
            return replace(found, count=count)
        n: Any = public.n_samples  # a guess; None in a fit
        plan = self._sized(replace(public, n_samples=1))  # nothing depends on the number
        size: Any = None if n is None else n // plan.n_teachers
        return replace(plan, public=public, n_samples=n, shard_size=size)

    def run(self, summary: Any, plan: AggregationPlan, dice: Dice) -> Any:
        raise NotImplementedError

    def _sized(self, public: Public) -> AggregationPlan:
        found: AggregationPlan = self.shell._sized(self, public)
        return found

    def told(self, learner: Any, plan: AggregationPlan) -> tuple[str, ...]:
        if plan.for_count is None:
            return ()
        start = f"the noisy number of records is {learner.noisy_count_}: "
        return tuple(start + note for note in plan.for_count(learner.noisy_count_).noise_notes)


class _Progress:
    """A progress bar of one line on standard error, updated after each teacher.

    The elapsed time depends on private records and is not covered by the guarantee: show the bar only to
    people who may see the data.
    """

    def __init__(self, count: int, *, shown: bool, tell: Callable[[], None]):
        self._count, self._shown, self._tell, self._done, self._start = count, shown, tell, 0, monotonic()

    def __call__(self) -> None:
        self._done += 1
        self._tell()
        if not self._shown:
            return
        filled = _WIDTH * self._done // self._count
        bar = "#" * filled + "." * (_WIDTH - filled)
        line = f"\r[{bar}] {self._done}/{self._count} teachers, {monotonic() - self._start:.1f} s"
        sys.stderr.write(line + ("\n" if self._done == self._count else ""))
        sys.stderr.flush()


def _place_length(shard_size: int | None) -> int:
    """Return the length to which shards are filled up that were drawn with a mean of `shard_size` rows.

    Nearly all are shorter: the standard deviation of their lengths is at most the root of the mean.
    """
    mean = PREFERRED if shard_size is None else shard_size
    return mean + 4 * isqrt(mean) + 2


def check_classifier(name: str, estimator: Any) -> None:
    """Raise if the estimator is neither None nor an unfitted classifier."""
    methods = ("fit", "predict", "get_params")
    complete = not isinstance(estimator, type) and all(hasattr(estimator, method) for method in methods)
    if estimator is not None and (not complete or is_regressor(estimator)):
        raise TypeError(f"{name} must be None or a classifier, got {brief(estimator)}")


def _check_two_classes(classes: NDArray[Any]) -> None:
    """Raise if there is a single label."""
    if len(classes) < 2:
        raise ValueError(
            f"classes must hold at least 2 labels, got {len(classes)} class; classes=[...] declares all"
            " that can occur"
        )


def notes_on_gaps(public: EnsembleTable, rows: Any, tried: Callable[..., Any]) -> tuple[str, ...]:
    """Return a warning if a dry run on a data frame fails once floats are missing.

    Any column of floats may have missing values, and a warning must not depend on whether it has. There is no
    warning for arrays: most have no missing values, and most estimators for arrays reject them.
    """
    gaps = with_gaps(rows.head(MANY_ROWS)) if is_frame(rows) else None
    failure = ""
    if gaps is not None:
        failure = dry_run(public.estimator, gaps, public.classes, public.apart("rehearsal"), tried)
    if not failure:
        return ()
    return (
        f"estimator fails where values are missing ({failure.splitlines()[0]}): if a shard has missing"
        " values, its teacher predicts the most frequent label of the shard. Add an imputer, such as"
        " SimpleImputer, even if no value is missing now; estimator=None has one",
    )


def notes_on_noise(ballot: Ballot, dominates: bool, consequence: str) -> tuple[str, ...]:
    """Return a warning if noise dominates the votes."""
    if not dominates:
        return ()
    return (
        f"n_teachers is {ballot.n_teachers}: too few for the noise that epsilon and max_queries="
        f"{ballot.max_queries} require, {consequence}. Use more records, fewer queries or a larger epsilon;"
        " plan(n_samples) reports `least_lead` without data",
    )
