"""The fit of an estimator as a recipe: its stages, for a table in memory, in parts, or of groups of rows.

The stages of an estimator are methods, which set attributes of it. A part of a table is read by an unfitted
twin, perhaps in a worker of a cluster.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier, is_regressor

from dplearn.chance.dice import Dice
from dplearn.estimator.private_count import counted_plan
from dplearn.estimator.stages import Params, Public, Read
from dplearn.fit.execute import Recipe
from dplearn.fit.relation import Relation
from dplearn.privacy import ApproxDP
from dplearn.privacy.unknown_count import ADDED
from dplearn.records.outputs import n_outputs_of, read_outputs
from dplearn.records.reading import check_classes, read_labels
from dplearn.records.rows import count_of
from dplearn.records.table import Given, Table

__all__ = ["StagedFit"]

_EXACT = 2.0**53  # floats represent all integers up to there


class StagedFit(Recipe):
    """The fit of an estimator by its stages.

    Parameters
    ----------
    learner : PrivateEstimator
        Its fitted attributes are set.
    params : Params
        From the learner's `_params`.
    cost : ApproxDP or None
        The most that the fit costs; None if unknown.
    public : mapping
        Further arguments of the fit, for the learner's `_prepared`.
    """

    def __init__(self, learner: Any, params: Params, cost: ApproxDP | None, public: Mapping[str, Any]):
        self.name, self.cost, self.random_state = type(learner).__name__, cost, learner.random_state
        self.params, self.learner, self.public = params, learner, public
        self.keeps_types = learner.keeps_types
        # A learner of sums alone has several rows of each group.
        self.group_rows = getattr(params, "group_rows", None)
        self.repeated = self.group_rows is not None

    def of(self, learner: Any, **params: Any) -> "StagedFit":
        """Return the fit of another estimator of the class, with some parameters changed."""
        return type(self)(learner, self.params.given(**params), self.cost, self.public)

    def read(self, X: Any, y: Any) -> tuple[Public, Any]:
        found = self.learner._read(X, y, self.params)
        return found.public, found.rows

    def parts_of(self, X: Any, y: Any) -> Table | None:
        parts = super().parts_of(X, y)
        if parts is not None and not self.learner.reads_parts:
            raise TypeError(
                f"X must be a table in memory for {self.name}, got one in parts; the guide on"
                " tables of any size lists the learners of tables in parts"
            )
        return parts

    def from_parts(self, table: Table) -> tuple[Public, Table]:
        learner, labels = self.learner, {}
        if is_classifier(learner) and self.params.classes is None:
            labels = {"classes": _found_labels(learner, table)}
        # Reading a part uses up nothing of a random generator.
        reader = _PartReader(self.of(_without_ledger(learner), **labels, random_state=0))
        found, rows = table.read(reader, categories=self.keeps_types)
        known = [each for each in found if each is not None]
        _check_equal_outputs(part.n_outputs for part in known)
        for name, value in known[0].attributes.items():
            setattr(learner, name, value)
        stream = learner._public_stream(self.params) if known[0].drew else None
        return replace(known[0].public, n_samples=len(rows), stream=stream), rows

    def prepared(self, facts: Any, table: Table) -> Any:
        found = Read(facts, _rows_of(table))
        return self.learner._prepared(found, self.params, **self.public).public

    def plan(self, facts: Public, **more: Any) -> Any:
        params, learner = self.params, self.learner
        if params.cost.neighbors != ADDED:
            return learner._plan(params, facts, **more)
        if not learner.counts_records:
            return Relation(uncounted=True).planned(learner._plan(params, facts, **more))

        def plan_of(cost: ApproxDP, facts: Public) -> Any:
            return learner._plan(params.given(cost=cost), facts, **more)

        return counted_plan(plan_of, params.cost, facts)

    def try_out(self, plan: Any, table: Table) -> None:
        self.learner._try_out(plan, table, self.params)

    def summarized(self, table: Table, plan: Any) -> Any:
        """Return the learner's summary: of rows in memory that count once each, else a table of it."""
        if getattr(plan, "for_count", None):  # rows are summarised when their number has been estimated
            return _rows_of(table)
        reader = _without_ledger(self.learner) if table.in_parts else self.learner
        return _rows_of(table.map(_Summarizer(reader, table.facts, plan)))

    def run(self, table: Any, plan: Any, dice: Dice) -> Any:
        self.publish(self.released(table, plan, dice), plan)
        return plan

    def released(self, summary: Any, plan: Any, dice: Dice) -> Any:
        """Make all secret draws, and return the outcome."""
        return self.learner._release(summary, plan, dice)

    def publish(self, outcome: Any, plan: Any) -> None:
        """Set the fitted attributes."""
        self.learner._publish(outcome, plan)
        vars(self.learner).pop("schema_", None)  # of an earlier fit

    def told(self, plan: Any) -> tuple[str, ...]:
        """Return warnings about what was published."""
        found: tuple[str, ...] = self.learner._released_warnings(plan)
        return found


def _rows_of(table: Table) -> Any:
    """Return the rows of a table in memory, each of which counts once; else the table."""
    rows = table.at_once(lambda rows: rows)
    return table if rows is None else rows


@dataclass(frozen=True, repr=False)
class _Found:
    """The public values that a part shows.

    Attributes
    ----------
    public : Public
        As the learner found them, without a stream.
    drew : bool
        Whether the learner makes public choices in a fit.
    n_outputs : int
        The number of labels of a record.
    attributes : dict
        The fitted attributes that reading sets.
    """

    public: Public
    drew: bool
    n_outputs: int
    attributes: dict[str, Any]


@dataclass(frozen=True, repr=False)
class _PartReader:
    """The reading of one part, without draws."""

    fit: StagedFit

    def __call__(self, X: Any, y: Any) -> tuple[_Found, Any]:
        _check_given(self.fit.learner, y)
        reader = _unfitted(self.fit.learner)
        public, rows = self.fit.of(reader).read(X, y)
        attributes = {name: value for name, value in vars(reader).items() if name.endswith("_in_")}
        shown = _Found(replace(public, stream=None), public.stream is not None, n_outputs_of(y), attributes)
        return shown, rows


@dataclass(frozen=True, repr=False)
class _Summarizer:
    """The summary of encoded rows, all or those of one part."""

    learner: Any
    public: Public
    plan: Any

    def __call__(self, rows: Any) -> Any:
        public = (
            self.public if self.public.n_samples is None else replace(self.public, n_samples=count_of(rows))
        )
        return self.learner._summarize(Read(public, rows), self.plan)


def _without_ledger(learner: Any) -> Any:
    """Return an unfitted twin of a learner, without its ledger, which holds a lock and a history."""
    twin = _unfitted(learner)
    twin.ledger = None
    return twin


def _unfitted(learner: Any) -> Any:
    """Return a twin with the same parameters and settings, but without fitted attributes."""
    twin = object.__new__(type(learner))
    vars(twin).update({name: value for name, value in vars(learner).items() if not name.endswith("_")})
    return twin


def _check_given(learner: Any, y: Any) -> None:
    """Refuse parts without labels or targets where the learner requires them."""
    if y is None and (is_classifier(learner) or is_regressor(learner)):
        raise ValueError(
            "requires y to be passed, but the target y is None; for a table in parts give the name of a"
            " column of X, labels in the same parts, or a pair (X, y) as each part"
        )


def _found_labels(learner: Any, table: Table) -> Any:
    """Return the labels that occur in the parts, sorted, or those of each output; their sets are public."""

    def labels(given: Given) -> Any:
        y, n = given.y, count_of(given.X)
        _check_given(learner, y)
        if not n:
            return None
        return read_outputs(y, n, None).classes if learner.reads_outputs else [read_labels(y, n, None)[0]]

    found = [part for part in table.values(labels) if part is not None]
    _check_equal_outputs(map(len, found))
    sets = [_united(parts) for parts in zip(*found, strict=True)]
    return sets if len(sets) > 1 else sets[0] if sets else []


def _united(parts: Sequence[NDArray[Any]]) -> list[Any]:
    """Return the labels of all parts, sorted."""
    kinds = {part.dtype.kind for part in parts}
    if len({"f" if kind in "iuf" else kind for kind in kinds}) > 1:
        raise ValueError("y must hold labels of one type in all parts; classes=[...] declares them")
    common = np.concatenate(parts)
    if common.dtype.kind == "f" and kinds & {"i", "u"} and (abs(common) > _EXACT).any():
        raise ValueError(
            "y must hold integers of one type in all parts, since floats do not represent some of them;"
            " declare the type where parts are read, such as read_csv(..., dtype=...)"
        )
    plain = all(isinstance(label, (str, int, float)) for label in common.tolist())
    if not plain:
        raise ValueError(
            "y must hold texts, integers, booleans or floats if X is in parts; convert other labels, such as"
            " decimals, where parts are read"
        )
    labels: list[Any] = check_classes(np.unique(common).tolist()).tolist()
    return labels


def _check_equal_outputs(numbers: Iterable[int]) -> None:
    """Refuse parts whose records have different numbers of labels."""
    different = sorted(set(numbers))
    if len(different) > 1:
        raise ValueError(f"y must have the same number of outputs in all parts, got {different}")
