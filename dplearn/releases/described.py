"""What `describe` returns: the statistics of columns with intervals, made of noisy numbers of records in
cells.
"""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from dplearn._writing import brief
from dplearn.domains import Categories, Dates, NumberDomain, Product
from dplearn.kernels import ignores_float_errors
from dplearn.privacy.plan import ResultTable, cell_text
from dplearn.releases.cell_statistics import CLEAR, CellCounts, Line, ends, whole_number
from dplearn.releases.learned_schema import without_values
from dplearn.releases.release import Released, covers_sampling, normal_tail
from dplearn.releases.table_columns import TableColumn, columns_of_one_value

_MISSING, _OTHER = "missing", "other"
_NOISY = "too noisy"
_NARROW, _OFF = 1e-290, 1e-9  # of rounded intervals: the least width, and what floats are off
_MOST_WIDE = 6  # groups that have columns of their own where a result is shown


class Statistic(NamedTuple):
    """A released number, and its interval."""

    group: tuple[Any, ...]  # a value of each column of `by`
    column: str
    value: Any  # a category; None for the statistics of numbers
    statistic: str
    estimate: float  # NaN if it is too noisy
    low: float
    high: float
    note: str  # "too noisy", where the interval is all that is possible, "at most"; or of which values it is


@dataclass(frozen=True, eq=False)
class Described(Released, ResultTable):
    """The result of `describe`.

    Attributes
    ----------
    groups : tuple of tuple
        Public or, with learned categories, released. The groups: a value of each column of `by`.
    plan : ReleasePlan
        Public, or released with a learned domain. The plan, as `describe_plan` describes it.
    guarantee : ApproxDP
        Public. The guarantee of the release.
    schema : Product or None
        Released. The learned domain of each column; None if it was declared.
    """

    groups: tuple[tuple[Any, ...], ...]
    plan: Any
    measured: tuple[tuple[CellCounts, ...], ...] = field(repr=False)  # of each column, of each group
    schema: Product | None = field(default=None, repr=False)
    unlearned: tuple[str, ...] = field(default=(), repr=False)
    #: Of groups, each with the standard deviation of its noise.
    sizes: tuple[tuple[float, float], ...] = field(default=(), repr=False)

    @ignores_float_errors
    def statistics(self, *, of: str = "population", beta: Any = 0.05) -> list[Statistic]:
        """Return the statistics with their intervals; costs no privacy.

        Parameters
        ----------
        of : {"population", "table"}, default="population"
            What an interval is of. "population": the distribution that the records are independent draws
            from, or, with groups, persons with their rows; it covers sampling and noise. "table": these
            records; it covers the noise alone. Intervals of counts are always of these records. Means and
            standard deviations are of the values that the note names: of a learned range without those
            beyond it, in the population, too; of a domain that clips, of moved ones. The interval of a
            quantile is open, with an infinite end, where the quantile may lie beyond a learned range.
        beta : float, default=0.05
            Allowed probability of failure of each interval, in (0, 1).

        Returns
        -------
        list of Statistic
            Named tuples (group, column, value, statistic, estimate, low, high, note). The estimate is NaN,
            and the note "too noisy", where the interval is all that is possible, or "at most" a number, where
            a deviation may be 0. Missing and unlisted categories are left out where their number may be 0.
            With `by` and "count", the first are "n", the number of records of each group, with an empty
            column.
        """
        population, z = covers_sampling(of), normal_tail(beta, laplace=self.plan.noise == "laplace")
        sizes = self.sizes if "count" in self.plan.statistics else ()
        return [
            Statistic(group, "", None, "n", *whole_number(size, z * off), "")
            for group, (size, off) in zip(self.groups, sizes, strict=False)
        ] + [
            Statistic(group, cells.column.name, value, name, *line, _note(cells.column, value, name, line))
            for place, group in enumerate(self.groups)
            for cells in (column[place] for column in self.measured)
            for value, name, line in self._lines(cells, z, population)
        ]

    def _lines(self, cells: CellCounts, z: float, population: bool) -> Iterator[tuple[Any, str, Line]]:
        if "count" in self.plan.statistics:
            yield None, "count", cells.count(z)
        if not isinstance(cells.column.domain, NumberDomain):
            yield from _of_categories(cells, z, population)
            return
        for name in self.plan.statistics:
            if name == "mean":
                yield None, name, cells.mean(z, population=population)
            elif name == "std":
                yield None, name, cells.std(z, population=population)
            elif name != "count":
                yield None, name, cells.quantile(float(fraction_of(name)), z, population=population)

    def to_frame(self, *, wide: bool = False, of: str = "population", beta: Any = 0.05) -> Any:
        """Return the statistics as a data frame of pandas, a row of each.

        Parameters
        ----------
        wide : bool, default=False
            Whether to return texts for a paper's table instead, a column of each group.
        of, beta
            As for `statistics`.

        Returns
        -------
        DataFrame
            With a column of each column of `by`, and "column", "value", "statistic", "estimate", "low",
            "high" and "note". If wide: with "column", "statistic", the groups and "note".
        """
        found = self.statistics(of=of, beta=beta)
        long = (*self.plan.by, *Statistic._fields[1:]), [(*each.group, *each[1:]) for each in found]
        names, rows = self._wide(found) if wide else long
        return import_module("pandas").DataFrame(rows, columns=names)

    def estimates(self) -> Any:
        """Return the estimates of numbers as `DataFrame.describe`, or `groupby(by).describe()`, would.

        The entry "notes" of its `attrs` says of which values the means and deviations of a column are.
        """
        numbers = [each.name for each in self._columns if isinstance(each.domain, NumberDomain)]
        frame = self.to_frame()
        frame = frame[frame["value"].isna() & frame["column"].isin(numbers)]
        noted = frame[
            frame["statistic"].isin(["mean", "std"]) & frame["estimate"].notna() & (frame["note"] != "")
        ]
        keys = ["statistic"] if not self.plan.by else list(self.plan.by)
        wide = ["column"] if not self.plan.by else ["column", "statistic"]
        found = frame.pivot_table("estimate", keys, wide, sort=False, dropna=False, observed=True)
        found = found.rename_axis(index=None, columns=None) if not self.plan.by else found
        found.attrs["notes"] = dict(zip(noted["column"], noted["note"], strict=True))
        return found

    @property
    def _columns(self) -> list[TableColumn]:
        return [column[0].column for column in self.measured if column]

    @property
    def _ranged(self) -> list[TableColumn]:
        """The columns whose means and deviations are of the values in a learned range."""
        return [each for each in self._columns if each.ranged and {"mean", "std"} & {*self.plan.statistics}]

    def to_json(self, *, of: str = "population", beta: Any = 0.05) -> str:
        """Return the statistics and the guarantee as a JSON text; NaN and infinite ends are null.

        Parameters
        ----------
        of, beta
            As for `statistics`.
        """
        rows = [each._asdict() for each in self.statistics(of=of, beta=beta)]
        for row in rows:
            row |= {name: None for name in ("estimate", "low", "high") if not math.isfinite(row[name])}
        record = {"format": "dplearn.Described", "version": 1, "by": list(self.plan.by), "of": of}
        record |= {"beta": float(beta), "guarantee": json.loads(self.plan.guarantee.to_json())}
        return json.dumps(record | {"statistics": rows}, default=str)

    def _caption(self) -> str:
        within = " within learned ranges" if self._ranged else ""
        rows = next((column[0].rows for column in self.measured if column), 1)
        of_groups = f", with {'one row' if rows == 1 else f'up to {rows} rows'} of each"
        whose = of_groups if self.guarantee.protects == "groups" else ""
        return (
            f"{super()._caption()}{whose}; 95 % intervals of the population{within}, of counts of the table"
        )

    def _wide(self, found: list[Statistic]) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """Return the table of some statistics with a column of each group."""
        lines: dict[tuple[str, str], dict[tuple[Any, ...], Statistic]] = {}
        for each in found:
            lines.setdefault((each.column, _name(each)), {})[each.group] = each
        rows = [
            (*row, *(self._cell(of_group.get(group)) for group in self.groups), _range_of(of_group))
            for row, of_group in lines.items()
        ]
        groups = [", ".join(map(str, group)) or "all" for group in self.groups]
        return ("column", "statistic", *groups, "note"), rows

    def _cell(self, line: Statistic | None) -> str:
        """Return an estimate and its interval; nothing for a category that is left out in a group."""
        if line is None or math.isnan(line.estimate):
            return "" if line is None else line.note
        estimate, interval = self._told(line)
        return f"{cell_text(estimate)} ({cell_text(interval)})"

    def _told(self, line: Statistic) -> tuple[Any, Any]:
        """Return an estimate and its interval, those of numbers of steps since 1970 as dates or days."""
        domain = {each.name: each.domain for each in self._columns}.get(line.column)
        numbers = line[4:7]
        if not isinstance(domain, Dates) or line.statistic == "count":
            return _rounded(*numbers)
        if line.statistic == "std":
            step = np.diff(domain.times([0, 1]))[0] / np.timedelta64(1, "D")
            days, interval = _rounded(*(each * float(step) for each in numbers))
            return days, f"{cell_text(interval)} days"
        estimate, *between = _texts(domain, numbers)
        return math.nan if math.isnan(line.estimate) else estimate, " to ".join(between)

    def _shown(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        if self.plan.by and len(self.groups) <= _MOST_WIDE:
            return self._wide(self.statistics())
        rows = [
            (*each.group, each.column, _name(each), *self._told(each), each.note)
            for each in self.statistics()
        ]
        return (*self.plan.by, "column", "statistic", "estimate", "interval", "note"), rows

    @property
    def warnings(self) -> tuple[str, ...]:
        """Released. Warnings of columns of which no or one value was learned, and of intervals of all that is
        possible.
        """
        found = without_values(self.schema, self.unlearned)
        if one := columns_of_one_value(self._ranged, [~each.unused for each in self._ranged]):
            found += (
                f"the learned range of each of the columns {brief(one)} is one value: all others are left out"
                " of mean and std; declare bounds in domain=Schema(...)",
            )
        noisy = dict.fromkeys(each.column for each in self.statistics() if each.note == _NOISY)
        if noisy and not self.plan.warnings:  # which say so before
            found += (
                f"some statistics of {brief(list(noisy))} are too noisy to be estimated: their intervals are"
                " all that is possible; form fewer groups, leave columns out, or spend more epsilon",
            )
        return found


def _range_of(of_group: dict[tuple[Any, ...], Statistic]) -> str:
    """Return the note of a statistic but for groups of which it is too noisy, which their cells say."""
    return next((each.note for each in of_group.values() if not math.isnan(each.estimate)), "")


def _rounded(value: float, low: float, high: float) -> tuple[float, tuple[float, float]]:
    """Return an estimate and its interval with two digits of its width, the interval rounded outward."""
    width = high - low
    if math.isinf(width):
        width = sum(each for each in (value - low, high - value) if 0 < each < math.inf)
    if not width:
        return value, (low, high)
    digits = max(0, 1 - math.floor(math.log10(max(width, _NARROW))))
    scaled = low * 10**digits + _OFF, high * 10**digits - _OFF
    ends = [
        each if math.isinf(each) else to_whole(each)
        for to_whole, each in zip((math.floor, math.ceil), scaled, strict=True)
    ]
    # Without the sign of 0.
    return round(value, digits) + 0.0, (ends[0] / 10**digits + 0.0, ends[1] / 10**digits + 0.0)


def _texts(domain: Any, numbers: Any) -> list[str]:
    """Return numbers as texts, those of dates to the minute."""
    if isinstance(domain, Dates):
        known = [each for each in numbers if math.isfinite(each)]
        texts = dict(zip(known, domain.texts(np.rint(known)), strict=True))
        return [texts.get(each, f"{each:g}")[:16] for each in numbers]
    return [f"{each:.6g}" for each in numbers]


def _note(column: TableColumn, value: Any, name: str, line: Line) -> str:
    """Return a remark about a statistic: a function of released numbers."""
    if name == "count" and value is None:
        return "not missing" if column.gap or None in getattr(column.domain, "values", ()) else ""
    if math.isnan(line.estimate):
        may_be_0 = name == "std" and not isinstance(column.domain, Dates)
        low, high = _used_range(column) if may_be_0 else (0.0, 0.0)
        return f"at most {line.high:.2g}" if line.high < (high - low) / 2 else _NOISY
    if name in ("mean", "std") and getattr(column.domain, "outside", "refuse") != "refuse":
        low, high = _used_range(column)
        kept = "without values beyond" if column.ranged else "of numbers moved to"
        return f"{kept} {' to '.join(_texts(column.domain, [low, high]))}"
    return ""


def _used_range(column: TableColumn) -> tuple[float, float]:
    """Return the least and the greatest number of the cells that are not left out."""
    used = ~(column.gaps | column.unused)
    low, high = (each[used] for each in ends(column))
    return float(low.min()), float(high.max())


def _name(line: Statistic) -> str:
    return line.statistic if line.value is None else f"{line.statistic} of {line.value}"


def _of_categories(cells: CellCounts, z: float, population: bool) -> Iterator[tuple[Any, str, Line]]:
    """Yield the lines of a column of categories: the number and the share of each."""
    for place, value in enumerate(labels(cells.column)):
        if value not in (_MISSING, _OTHER) or cells.cell_count(place, CLEAR).low > 0:
            yield value, "count", cells.cell_count(place, z)
            if value != _MISSING:
                yield value, "share", cells.share(place, z, population=population)


def labels(column: TableColumn) -> list[Any]:
    """Return a value that names each cell of a column: the value, or a text for several."""
    if isinstance(column.domain, Categories):
        named = [_MISSING if value is None else value for value in column.domain.values]
        return named + [_OTHER] * column.domain.other
    texts = column.described()
    if not isinstance(column.domain, NumberDomain):
        return list(range(column.size))
    values = column.domain.decode(column.starts).tolist()
    return [
        text if " to " in text or text == _MISSING else value
        for text, value in zip(texts, values, strict=True)
    ]


def fraction_of(name: str) -> Fraction:
    """Return the fraction of a quantile such as "25%"."""
    return Fraction(name.removesuffix("%")) / 100
