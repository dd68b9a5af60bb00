"""Base classes of plans (one number a line) and of results (a table), which format them as text and HTML.

A plan is a frozen dataclass of public numbers and the guarantee, computed without data.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields
from html import escape
from itertools import islice
from typing import Any, ClassVar

from dplearn._writing import Brief, aligned, are_in_full, brief, called, cut
from dplearn.kernels import float_above
from dplearn.privacy.attack_risk import AttackRisk, attack_risk
from dplearn.privacy.events import BoundedRange, Event, event_of
from dplearn.privacy.guarantees import Guarantee, in_words
from dplearn.privacy.shares import GAUSSIAN, Accounting

_NOTE = "note"
_ADVANTAGE = "of an attacker on one record, at most: see `risk`"
_MOST_RECORDS = 10**10
_ENTRIES = 8  # of a mapping in the text of a plan
#: The error for which `n_needed` is stated by plans that take no `alpha`.
ALPHA = 0.05


def noted(note: str) -> dict[str, str]:
    """Return the metadata of a plan's field that is printed with a short note in parentheses after it."""
    return {_NOTE: note}


def hidden(default: Any = None) -> Any:
    """Return a field of a plan that only a fit uses; it is neither printed nor compared."""
    return field(default=default, repr=False, compare=False, kw_only=True)


def records_needed(plan_for: Callable[[int], Any] | None, suffices: Callable[[Any], bool]) -> int | None:
    """Return a number of records for which a plan suffices, at most 1 % more than the least, or None."""
    # A ValueError of `plan_for` means too few records; it is None in the plan of a running fit. If some
    # number of records `suffices`, so do all greater ones.
    if plan_for is None:
        return None

    def holds(n: int) -> bool:
        try:
            return suffices(plan_for(n))
        except ValueError:
            return False

    high = 1
    while not holds(high):
        high *= 2
        if high > _MOST_RECORDS:
            return None
    low = high // 2
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


class Plan(Brief):
    """Base of the frozen dataclasses of the guarantee and the parameters of a fit or a release."""

    #: Names of properties that are printed after the fields. Numbers that take long to compute, and that the
    #: release itself does not need, are such properties.
    _computed: ClassVar[tuple[str, ...]] = ()
    #: The name of a number that falls with epsilon and with records, and bounds an error; None: there is no
    #: such number, or the plan takes an `alpha`, for which it states `n_needed`.
    error_name: ClassVar[str | None] = None
    #: The accounting by which all noise of a release with `noise` "gaussian" spends the whole budget of the
    #: guarantee: GAUSSIAN where it is that of `dplearn.privacy.gaussian_dp.sums_sigma2`. None: there is none.
    _accounting: ClassVar[Accounting | None] = None

    guarantee: Any

    @property
    def risk(self) -> AttackRisk:
        """What the guarantee means for one person: bounds on an attacker's success; see `attack_risk`."""
        return attack_risk(self.guarantee, self.known_event)

    @property
    def known_event(self) -> Event | None:
        """The privacy event of the release, if more is known of it than the guarantee states."""
        if self._accounting is GAUSSIAN and self.is_concentrated:
            return GAUSSIAN.event(GAUSSIAN.budget(self.guarantee))
        return None

    @property
    def is_concentrated(self) -> bool:
        """Whether `event` is accounting.event(accounting.budget(guarantee))."""
        return self._accounting is not None and getattr(self, "noise", None) == "gaussian"

    @property
    def event(self) -> Event:
        """The privacy event of the release, for composition."""
        if self._accounting is not None and self.is_concentrated:
            return self._accounting.event(self._accounting.budget(self.guarantee))
        return self.known_event or event_of(self.guarantee)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of a fit with this plan, which depend on public values only; issued before the charge."""
        return ()

    def __str__(self) -> str:
        return "\n".join([self._title, *(f"  {line}" for line in aligned(list(_rows(self))))])

    def _repr_html_(self) -> str:
        cells = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in _rows(self))
        return f"<table><caption>{escape(self._title)}</caption>{cells}</table>"

    @property
    def _title(self) -> str:
        return type(self).__name__

    def _shown(self) -> Iterator[tuple[str, str | None]]:
        """Yield the name of each number that is printed, and its note."""
        plan: Any = self  # a dataclass
        yield from ((each.name, each.metadata.get(_NOTE)) for each in fields(plan) if each.repr)
        yield from ((name, None) for name in self._computed)


@dataclass(frozen=True)
class SizedPlan(Plan):
    """Base of the plans of learners that state a number of records for an accuracy."""

    _: KW_ONLY
    replan: Any = hidden()  # from a number of records to the plan of a fit on them; set by `plan`
    for_count: Any = hidden()  # from an estimate of their private number; see `plan_with_count`

    _computed = ("n_needed",)

    @property
    def n_needed(self) -> int | None:
        """A number of records for which `tolerance` is at most 0.05; None if 10**10 do not suffice."""
        return records_needed(self.replan, lambda plan: plan.tolerance <= ALPHA)


def _values(*, compare: bool = False) -> Any:
    return field(default_factory=dict, repr=False, compare=compare)


@dataclass(frozen=True, repr=False)
class StatedPlan(Plan):
    """A plan whose numbers, warnings and title are data: it states them as attributes, which the method that
    returns it describes.
    """

    guarantee: Any
    _: KW_ONLY
    title: str | None = hidden()  # the first line of its text; None: the name of the class
    states: Mapping[str, Any] = _values(compare=True)  # printed, and compared
    later: Mapping[str, Any] = _values()  # printed after these; functions are called when asked for
    #: Printed last: what no learner with the guarantee can do with less, as functions of the guarantee.
    least: Mapping[str, Callable[[Any], Any]] = _values()
    keeps: Mapping[str, Any] = _values()  # neither printed nor compared; functions as in `later`
    notes: Mapping[str, str] = _values()  # printed after the numbers of these names
    warns: tuple[str, ...] = hidden(())
    public: Any = hidden()  # of a fit: the public values of the table
    ranged: bool = hidden(False)  # whether the release is of bounded range

    def __post_init__(self) -> None:
        told = {**self.keeps, **self.later, **self.states}
        vars(self).update({name: value for name, value in told.items() if not callable(value)})

    def __getattr__(self, name: str) -> Any:
        known = vars(self)  # empty for copies, at first
        for values in ("later", "keeps"):
            if name in known.get(values, ()):
                return known[values][name]()  # not kept: a published plan is the same before and after
        if name in known.get("least", ()):
            return known["least"][name](self.guarantee)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *self.states, *self.later, *self.least, *self.keeps})

    @property
    def known_event(self) -> Event | None:
        return BoundedRange(self.guarantee.epsilon) if self.ranged else super().known_event

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings, which depend on public values only; issued before the charge."""
        return self.warns

    @property
    def _title(self) -> str:
        return self.title or super()._title

    def _shown(self) -> Iterator[tuple[str, str | None]]:
        yield from super()._shown()
        yield from ((name, self.notes.get(name)) for name in (*self.states, *self.later, *self.least))

    def __repr__(self) -> str:
        told = {each.name: getattr(self, each.name) for each in fields(self) if each.repr}
        told.update(self.states)
        return called(self._title, told)


def _rows(plan: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each number; the names of nested plans' numbers have a prefix."""
    for name, note in plan._shown():
        for row, value in _row(prefix + name, getattr(plan, name)):
            yield row, f"{value}  ({note})" if note else value
        if name == "guarantee" and not prefix:
            yield "advantage", f"{float_above(plan.risk.advantage):.6g}  ({_ADVANTAGE})"


def _row(name: str, value: Any) -> Iterator[tuple[str, str]]:
    match value:
        case Guarantee():
            yield name, in_words(value)
        case Plan():
            yield from _rows(value, f"{name}.")
        case Mapping():
            for key, part in islice(value.items(), _ENTRIES):
                yield from _row(f"{name}[{key!r}]", part)
            if (more := len(value) - _ENTRIES) > 0:
                yield name, f"... and {more:,} more"
        case float():
            yield name, f"{value:.6g}"
        case tuple():
            yield name, brief(value)
        case _:
            yield name, str(value)


_MOST = 20  # rows that are shown
_NEIGHBORS = {"replace_one": "replaced", "add_remove": "added or removed"}
_UNITS = {"examples": "one record", "labels": "one label", "groups": "all records of one group"}


class ResultTable(Brief, ABC):
    """Base of results that `print`, and a notebook, show as a table of released and public values."""

    guarantee: Any

    @abstractmethod
    def _shown(self) -> tuple[Sequence[str], Iterable[Sequence[Any]]]:
        """Return the names of the columns, and the rows; only released and public values."""

    def _caption(self) -> str:
        kept: Guarantee = self.guarantee
        who = f"{_UNITS[kept.protects]} {_NEIGHBORS[kept.neighbors]}"
        return f"{type(self).__name__}: {in_words(kept)}, {who}"

    def _table(self) -> tuple[list[str], list[list[str]], int]:
        """Return the names of the columns, the texts of the first rows, and the number of the others."""
        names, found = self._shown()
        others = {cell_text(value) for row in found for value in row if not isinstance(value, str)}
        quoted = any(value in others for row in found for value in row if isinstance(value, str))
        rows = [
            [repr(value) if quoted and isinstance(value, str) else cell_text(value) for value in row]
            for row in found
        ]
        most = len(rows) if are_in_full() else _MOST
        return list(names), rows[:most], max(0, len(rows) - most)

    def _others(self, more: int) -> str:
        return f"... and {more:,} more" + (": to_frame() has all" if hasattr(self, "to_frame") else "")

    def __str__(self) -> str:
        names, rows, more = self._table()
        lines = aligned([names, *rows]) + ([self._others(more)] if more else [])
        return "\n".join([self._caption(), *(f"  {line}".rstrip() for line in lines)])

    def _repr_html_(self) -> str:
        names, rows, more = self._table()
        head = "".join(f"<th>{escape(name)}</th>" for name in names)
        body = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows)
        rest = f"<p>{self._others(more)}</p>" if more else ""
        return f"<p>{escape(self._caption())}</p><table><tr>{head}</tr>{body}</table>{rest}"


def cell_text(value: Any) -> str:
    """Return the text of a cell, with six digits of a float, and control characters as escapes."""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, tuple) and len(value) == 2 and all(isinstance(end, float) for end in value):
        return f"{value[0]:.6g} to {value[1]:.6g}"
    return cut("".join(each if each.isprintable() else repr(each)[1:-1] for each in str(value)), 60)
