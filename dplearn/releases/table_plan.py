"""What is public of a synthetic table: the cells of its columns, its types, and the plan of its tables.

The cell of a value is a function of the value and its declared domain; so are the values of a cell. The types
(dtypes) of the private table are public, and where the schema is learned, records have them too. The plan
says which tables are measured, with what noise, from public values alone.

>>> from dplearn.domains import Grid, IntegerRange
>>> age = table_column("age", IntegerRange(18, 81), n_bins=16)
>>> age.size, age.of(np.array([0, 1, 63])).tolist(), age.described()[:2]
(16, [0, 0, 15], ('18 to 21', '22 to 25'))
>>> table_column("town", Categories(["north", "south"], other=True), n_bins=16).described()
('north', 'south', 'missing or other')
>>> column = TableColumn("age", Grid(0, 200, 401), np.array([0], dtype=np.uint64))
>>> as_table([column], [np.array([18.5, 300.0])], TableTypes("pandas", ("uint8",)))["age"].tolist()
[18, 255]
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from importlib import import_module
from math import comb, isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance import PublicStream
from dplearn.chance.dice import Dice
from dplearn.domains import Categories, Domain, Floats, Product
from dplearn.domains.base import NumberDomain
from dplearn.domains.cells import column_type, is_frame, object_array
from dplearn.kernels.code_counts import CodePlaces
from dplearn.kernels.exact import decay_ratio
from dplearn.mechanisms.noisy_counts import gaussian_counts, laplace_counts
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.privacy.plan import ALPHA, hidden, noted
from dplearn.privacy.shares import CONCENTRATED, concentrated_budget
from dplearn.releases.release import ReleasePlan

#: The most cells of a column of numbers; a cell is held in 16 bits.
MOST_BINS = 1 << 14
_WIDE = 256.0  # a range from 0 or above is wide if its end is this many times its start, or more
_GROWTH = 2.0**0.5  # of the cells of a wide range, from the greatest down
_EXPONENTS = range(-8, 18)  # the powers of two that are first values of cells of unbounded floats
#: The kinds of tables.
KINDS = ("pandas", "polars", "array")
_WHOLE = re.compile(r"u?int(8|16|32|64)", re.IGNORECASE)  # Int64 of pandas and of polars too
_GAPLESS = re.compile(r"bool|u?int(8|16|32|64)")
_REAL = re.compile(r"float(16|32|64)", re.IGNORECASE)
_TEXTS = ("str", "string", "category")  # of pandas
_BELOW = (1 << 63) - 1024  # the greatest float64 of an int64
_OF_POLARS = ("String", "Boolean", "Categorical")
#: The ends of epsilon: beyond them noise cannot be drawn, or there is none.
LEAST_EPSILON, GREATEST_EPSILON = Fraction(1, 10**9), 10**9
# Shares of the budget, in hundredths: base tables, selections, tables of the network. Chosen on other tables
# than those of the benchmark.
_BASE, _SELECTIONS, _NETWORK = 42, 6, 52
_BITS = 100  # of the square root of a budget
_MOST_TABLES = 10_660  # that all rounds together count: those of 40 columns and two parents
_MOST_COLUMNS = 400
_MOST_IN_COLUMN = (1 << 15) - 1  # a cell is held in 16 bits
_WIDEST = 1 << 55  # variance of Gaussian noise


@dataclass(frozen=True, eq=False)
class TableColumn:
    """The cells of one column."""

    name: str
    domain: Domain
    starts: NDArray[np.uint64]  # the first code of each cell, ascending; categories have a cell each

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.starts)

    @property
    def gap(self) -> int:
        """The number of cells before the numbers: 1 if cell 0 is that of missing numbers, else 0."""
        return int(self.domain.ordered and self.domain.accepts_missing)

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """Whether the values of each cell are gaps: missing numbers, or categories that are not listed."""
        if isinstance(self.domain, Categories):
            return np.array([value is None for value in self.domain.values] + [True] * self.domain.other)
        return np.arange(self.size) < self.gap

    def of(self, codes: NDArray[Any]) -> NDArray[np.int16]:
        """Return the cell of each value."""
        if self.size == self.domain.size:
            return codes.astype(np.int16)
        return np.asarray(self._places(codes))

    @cached_property
    def _places(self) -> CodePlaces:
        return CodePlaces(self.starts, self.domain.size)

    def values(self, cells: NDArray[Any], stream: PublicStream) -> NDArray[Any]:
        """Return a value of each cell: a category, or a number drawn uniformly from the cell."""
        if isinstance(self.domain, Categories):
            listed = object_array([*self.domain.values, *[None] * self.domain.other])
            return np.asarray(listed[cells])
        if not isinstance(self.domain, NumberDomain):  # bits, or the numbers of buckets
            return cells.astype(np.int64)
        ends = np.append(self.starts[1:], np.uint64(self.domain.size))
        if isinstance(self.domain, Floats):
            codes = self._uniform_floats(self.domain, cells, stream)
            codes = np.clip(codes, self.starts[cells], ends[cells] - np.uint64(1))
            return np.asarray(self.domain.decode(codes))
        low, widths = self.starts[cells], (ends - self.starts)[cells]
        drawn = np.minimum((stream.uniform(len(cells)) * widths).astype(np.uint64), widths - np.uint64(1))
        return np.asarray(self.domain.decode(low + drawn))

    def _uniform_floats(self, domain: Floats, cells: NDArray[Any], stream: PublicStream) -> NDArray[Any]:
        """Return codes of floats that are uniform between the ends of cells; endless cells have one end."""
        first = np.asarray(domain.decode(self.starts), dtype=np.float64)
        low, high = first.copy(), np.append(first[1:], first[-1])
        if self.size > self.gap + 1:
            low[self.gap] = high[self.gap]
        if self.gap:
            low[0] = high[0] = 0.0  # moved to the code of missing numbers by the caller
        drawn = low[cells] + stream.uniform(len(cells)) * (high - low)[cells]
        return np.asarray(domain.nearest(drawn).astype(np.uint64))

    def decoded(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the value of each code, of the types of `values`; None for unknown categories."""
        if isinstance(self.domain, Categories):
            known = object_array([*self.domain.values, *[None] * (1 + self.domain.other)])
            return np.asarray(known[codes])
        if isinstance(self.domain, NumberDomain):
            return np.asarray(self.domain.decode(codes))
        return codes.astype(np.int64)

    def described(self) -> tuple[str, ...]:
        """Return a description of each cell."""
        if isinstance(self.domain, Categories):
            rest = "missing or other" if None not in self.domain.values else "other"
            named = ["missing" if value is None else str(value) for value in self.domain.values]
            return (*named, *[rest] * self.domain.other)
        if not isinstance(self.domain, NumberDomain):
            return tuple(map(str, range(self.size)))
        whole = np.append(self.starts[1:], np.uint64(self.domain.size)) - np.uint64(1)
        firsts, lasts = (self.domain.decode(codes)[self.gap :] for codes in (self.starts, whole))
        spans = [
            f"{first:.6g}" if first == last else f"{first:.6g} to {last:.6g}"
            for first, last in zip(firsts, lasts, strict=True)
        ]
        return (*["missing"] * self.gap, *spans)


def table_columns(domain: Product, n_bins: int) -> tuple[TableColumn, ...]:
    """Return the cells of each column of a table."""
    return tuple(
        table_column(name, each, n_bins) for name, each in zip(domain.names, domain.domains, strict=True)
    )


def columns_of_one_value(columns: Sequence[TableColumn], shares: Sequence[NDArray[Any]]) -> list[str]:
    """Return the names of the columns that have one value or none in synthetic records, gaps apart."""
    given = zip(columns, shares, strict=True)
    return [column.name for column, share in given if _is_one_value(column, (share > 0) & ~column.gaps)]


def _is_one_value(column: TableColumn, drawn: NDArray[np.bool_]) -> bool:
    """Return True if the cells that are drawn have no value, or equal ones, or numbers nearly equal."""
    values = column.values(np.repeat(np.flatnonzero(drawn), 9), PublicStream(0, "values"))
    if values.dtype == object or not drawn.any():
        return int(drawn.sum()) <= 1
    # Learned ends have 20 significant bits; those of a column of which most numbers are 0 may be near 0.
    near_zero = 1e-6 if getattr(column.domain, "low", 1) <= 0 else 0.0
    return bool(np.ptp(values) <= max(1e-5 * np.abs(values).max(), near_zero))


def table_column(name: str, domain: Domain, n_bins: int) -> TableColumn:
    """Return the cells of a column, at most `n_bins` of numbers between ends besides that of missing ones.

    Categories and bits have a cell each, and so have at most `n_bins` numbers. More have cells of equal
    width, or, in a wide range, 0 has a cell, and the others grow by a factor of sqrt(2) up to the end. Floats
    have cells between powers of two. Missing numbers have the first cell. Hashed values have a cell for each
    bucket, whose number takes their place.
    """
    if not isinstance(domain, NumberDomain):
        return TableColumn(name, domain, np.arange(domain.size, dtype=np.uint64))
    if domain.size >> 64:
        raise ValueError(f"column {name!r} must have fewer than 2**64 values, got {domain!r}")
    gap = int(domain.accepts_missing)
    numbers = domain.size - gap
    if numbers <= n_bins:
        return TableColumn(name, domain, np.arange(domain.size, dtype=np.uint64))
    starts = [*range(gap), *(gap + first for first in _first_numbers(domain, gap, numbers, n_bins))]
    return TableColumn(name, domain, np.unique(np.array(starts, dtype=np.uint64)))


def _first_numbers(domain: NumberDomain, gap: int, numbers: int, n_bins: int) -> list[int]:
    """Return the first code of each cell of numbers, less `gap`."""
    if isinstance(domain, Floats):
        powers = 2.0 ** np.array(_EXPONENTS)
        codes = domain.nearest(np.concatenate([-powers[::-1], [0.0], powers]))
        return [0, *(int(code) - gap for code in codes)]
    low, high = (float(each) for each in domain.decode(np.array([gap, domain.size - 1], dtype=np.uint64)))
    if low < 0 or high < _WIDE * max(low, 1.0):
        return [numbers * place // n_bins for place in range(n_bins)]
    after_zero = [1] * (low == 0)
    ends = high * _GROWTH ** -np.arange(n_bins - 1.0 - len(after_zero), 0.0, -1.0)
    return [0, *after_zero, *(int(code) - gap for code in domain.nearest(np.ceil(ends[ends > low])))]


@dataclass(frozen=True)
class TableTypes:
    """What is public about the types of a table."""

    kind: str = "pandas"  # one of `KINDS`
    types: tuple[str, ...] = ()  # of the columns, by name; (): records have the types of the schema
    labels: tuple[Any, ...] = ()  # names of columns that are no distinct texts; (): those of the schema

    @classmethod
    def of(cls, table: Any, dtype: Any, kind: str, *, named: bool) -> "TableTypes":
        """Return the types of a private table; no cell is read."""
        d = table.shape[1]
        if not is_frame(table):
            return cls(kind, (str(dtype),) * d)
        names = tuple(table.columns.tolist() if hasattr(table, "iloc") else table.columns)
        labels = () if named or not all(type(name) in (str, int) for name in names) else names
        return cls(kind, tuple(str(column_type(table, place)) for place in range(d)), labels)

    def gapless(self, place: int) -> bool:
        """Whether a column cannot have missing values, by its type."""
        return bool(self.types and self.kind != "polars" and _GAPLESS.fullmatch(self.types[place]))

    def to_dict(self) -> dict[str, Any]:
        """Return the types for JSON; types and labels only where there are any."""
        listed = {"types": list(self.types), "labels": list(self.labels)}
        return {"kind": self.kind} | {name: value for name, value in listed.items() if value}

    @classmethod
    def from_dict(cls, record: dict[str, Any]) -> "TableTypes":
        """Return the types of `to_dict`."""
        if record["kind"] not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {record['kind']!r}")
        return cls(record["kind"], tuple(record.get("types", ())), tuple(record.get("labels", ())))


def values_of(
    columns: Sequence[TableColumn], cells: NDArray[Any], stream: PublicStream
) -> list[NDArray[Any]]:
    """Return the values of synthetic records, column by column."""
    return [column.values(cells[:, place], stream) for place, column in enumerate(columns)]


def as_table(columns: Sequence[TableColumn], values: Sequence[NDArray[Any]], types: TableTypes) -> Any:
    """Return the values of columns as a table, whose types depend on the columns and on `types` alone."""
    names = types.types or ("",) * len(columns)
    values = [_typed(column, each, name) for column, each, name in zip(columns, values, names, strict=True)]
    if types.kind == "array":
        if any(each.dtype == object for each in values):
            values = [object_array(each.tolist()) for each in values]
        return np.stack(values, axis=1)
    if types.kind == "polars":
        polars = import_module("polars")
        return polars.DataFrame(
            [
                _polars_series(polars, column, each, name)
                for column, each, name in zip(columns, values, names, strict=True)
            ]
        )
    pandas = import_module("pandas")
    series = [
        _pandas_series(pandas, column, each, name)
        for column, each, name in zip(columns, values, names, strict=True)
    ]
    frame = pandas.DataFrame({column.name: each for column, each in zip(columns, series, strict=True)})
    return frame.set_axis(list(types.labels), axis=1) if types.labels else frame


def _typed(column: TableColumn, values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return numbers in a type of numpy, rounded and clipped to it; other values as they are.

    Numbers with missing values stay floats, and are whole where the type is of integers.
    """
    if isinstance(column.domain, Categories):
        listed = column.domain.values
        whole = name == "bool" and not column.domain.other and all(type(value) is bool for value in listed)
        return values.astype(bool) if whole else values
    if values.dtype == object:
        return values
    if _REAL.fullmatch(name):
        limit = np.finfo(name.lower()).max
        return values.astype(np.float64).clip(-limit, limit).astype(name.lower())
    if name == "bool":
        return np.asarray(np.rint(values) != 0)
    if not _WHOLE.fullmatch(name):
        return values
    info = np.iinfo(name.lower())
    values = np.rint(values).clip(max(info.min, -_BELOW), min(info.max, _BELOW))
    return values.astype(name.lower()) if not column.gap else values


def _pandas_series(pandas: Any, column: TableColumn, values: NDArray[Any], name: str) -> Any:
    """Return a series of pandas, in a nullable type or one of texts if `name` is that of one.

    The type is given, also of objects: pandas would infer it from the values.
    """
    if not isinstance(column.domain, Categories):
        series = pandas.Series(values, dtype=values.dtype)
        nullable = name[:1] in "IUF" and (_WHOLE.fullmatch(name) or _REAL.fullmatch(name))
        return series.astype(name) if nullable else series
    listed = [value for value in column.domain.values if value is not None]
    if name == "category":
        return pandas.Series(values, dtype=pandas.CategoricalDtype(listed))
    if name in _TEXTS or (name == "boolean" and _of_bools(column)):
        return pandas.Series(values, dtype=object).astype(name)
    texts = values.dtype == object and not name and all(type(value) is str for value in listed)
    return pandas.Series(values, dtype=_type_of_texts(pandas) if texts else values.dtype)


def _type_of_texts(pandas: Any) -> Any:
    """Return the type that pandas itself takes for texts."""
    return pandas.Series(["text"]).dtype


def _polars_series(polars: Any, column: TableColumn, values: NDArray[Any], name: str) -> Any:
    """Return a series of polars; categories of several types are objects."""
    if values.dtype != object:
        series = polars.Series(column.name, values, nan_to_null=values.dtype.kind == "f")
        return series.cast(getattr(polars, name)) if _WHOLE.fullmatch(name) else series
    name = name.partition("(")[0]  # of older versions: "Categorical(ordering='physical')"
    if name in _OF_POLARS and (name != "Boolean" or _of_bools(column)):
        text = polars.Boolean if name == "Boolean" else polars.String
        return polars.Series(column.name, values.tolist(), dtype=text).cast(getattr(polars, name))
    kinds = {type(value) for value in getattr(column.domain, "values", ()) if value is not None}
    types = {str: polars.String, int: polars.Int64, float: polars.Float64, bool: polars.Boolean}
    dtype = types.get(kinds.pop(), polars.Object) if len(kinds) == 1 else polars.Object
    return polars.Series(column.name, values.tolist(), dtype=dtype)


def _of_bools(column: TableColumn) -> bool:
    return all(value is None or type(value) is bool for value in getattr(column.domain, "values", ()))


@dataclass(frozen=True)
class TableNoise:
    """The noise of one table of counts.

    A replaced record moves one count down and another up. A table of two cells is one count, since the number
    of records is public, and moves by 1; a larger one moves by 2, and its square by 2.
    """

    epsilon: Fraction | None = None  # the cost with Laplace noise
    rho: Fraction | None = None  # the cost with Gaussian noise; one of both is None
    reach: int | None = None  # Laplace: counts of n are clipped to -reach..n + reach; None: to -n..2 n

    @classmethod
    def gaussian(cls, rho: Any) -> "TableNoise":
        """Return Gaussian noise of a given cost."""
        return cls(rho=Fraction(rho))

    @classmethod
    def laplace(cls, epsilon: Any, reach: int | None = None) -> "TableNoise":
        """Return Laplace noise of a given cost."""
        return cls(epsilon=Fraction(epsilon), reach=reach)

    def noisy(self, counts: NDArray[np.int64], n: int, dice: Dice) -> NDArray[np.int64]:
        """Return the counts of all cells with noise."""
        if len(counts) == 1:
            return np.array([n])
        moved = _moved(len(counts))
        asked = counts[:1] if len(counts) == 2 else counts
        if self.rho is not None:
            privacy = ZeroConcentratedDP(self.rho)
            found = gaussian_counts(asked, privacy=privacy, dice=dice, squared_sensitivity=moved)
        else:
            reach = n if self.reach is None else self.reach
            found = laplace_counts(
                asked,
                privacy=ApproxDP(self.epsilon),
                dice=dice,
                sensitivity=moved,
                low=-reach,
                high=n + reach,
            )
        return np.append(found, n - found) if len(counts) == 2 else np.asarray(found)

    def deviation(self, size: int) -> float:
        """Return the standard deviation of the noise of a cell of a table of `size` cells."""
        if size == 1:
            return 0.0
        if self.rho is not None:
            return math.sqrt(_moved(size) / (2 * self.rho))
        ratio = self._ratio(size)
        return math.sqrt(2 * ratio) / (1 - ratio)

    def expected_error(self, size: int) -> float:
        """Return the mean of half of the sum of the noise's magnitudes, over all cells of a table."""
        if size == 1:
            return 0.0
        mean = self.deviation(size) * math.sqrt(2 / math.pi)
        if self.rho is None:
            ratio = self._ratio(size)
            mean = 2 * ratio / (1 - ratio**2)
        return mean if size == 2 else size * mean / 2

    def _ratio(self, size: int) -> float:
        assert self.epsilon is not None
        return float(decay_ratio(self.epsilon / _moved(size)))


def _moved(size: int) -> int:
    """Return the sum of the magnitudes, and of the squares, by which a record moves the asked counts."""
    return 1 if size == 2 else 2


@dataclass(frozen=True)
class TableLayout:
    """What is public about a synthetic table before its release."""

    columns: tuple[TableColumn, ...]
    target: int | None  # the column that all others depend on
    degree: int  # the most columns that one depends on, the target included
    max_cells: int  # of a table
    most_error: float = 0.5  # a network's table is no candidate if this share of the records is expected

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of cells of each column."""
        return tuple(column.size for column in self.columns)

    @property
    def base(self) -> tuple[tuple[int, ...], ...]:
        """The columns of each base table: one column, or the target and one column."""
        places = range(len(self.columns))
        if self.target is None:
            return tuple((place,) for place in places)
        return tuple((self.target, place) for place in places if place != self.target)

    @property
    def first(self) -> tuple[int, ...]:
        """The columns that are placed without a selection: the target, if any, and the first other."""
        return self.base[0]

    @property
    def rounds(self) -> int:
        """The number of selections."""
        return len(self.columns) - len(self.first) if self.others else 0

    @property
    def others(self) -> int:
        """The most columns, besides the target, that one column depends on."""
        return self.degree - (self.target is not None)

    def size_of(self, places: Sequence[int]) -> int:
        """Return the number of cells of the table of some columns."""
        return math.prod(self.columns[place].size for place in places)

    def name_of(self, places: Sequence[int]) -> str:
        """Return the name of a table: the names of its columns."""
        return " x ".join(self.columns[place].name for place in places)


@dataclass(frozen=True)
class TableBudget:
    """The cost of each step of a release."""

    base: TableNoise  # of each base table
    selection: Fraction  # epsilon of each; 0 if there are none
    network: TableNoise  # of each table of the network

    @classmethod
    def of(cls, privacy: ApproxDP, n_base: int, rounds: int, reach: int | None = None) -> "TableBudget":
        """Return the division of a budget among so many base tables and rounds.

        Without delta, the epsilons of all steps add up to that of `privacy`. With delta, their rhos add up to
        at most its `concentrated_budget`; that of a selection is epsilon^2 / 8.
        """
        shares = [Fraction(each, 100) for each in (_BASE, _SELECTIONS, _NETWORK)]
        whole = concentrated_budget(privacy) if privacy.delta else privacy.epsilon
        base, selections, network = (share * whole for share in (shares if rounds else (1, 0, 0)))
        each = max(rounds, 1)
        if not privacy.delta:
            return cls(
                TableNoise.laplace(base / n_base, reach),
                selections / each,
                TableNoise.laplace(network / each, reach),
            )
        return cls(
            TableNoise.gaussian(base / n_base),
            _root(8 * selections / each),
            TableNoise.gaussian(network / each),
        )


@dataclass(frozen=True)
class SyntheticTablePlan(ReleasePlan):
    """The plan of a `SyntheticTable`.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the release.
    n_samples : int
        Number of records.
    noise : str
        "gaussian", or "laplace" without delta.
    rounds : int
        The number of selections, after each of which one table of the network is measured.
    degree : int
        The most columns that one column depends on, the target included: as given, or lowered.
    selection_epsilon : float
        The epsilon of each selection.
    base_deviation, network_deviation : float
        The standard deviations of the noise of a cell of a base table, and of a table of the network, with
        more than two cells.
    expected_tv : mapping of str to float
        For each base table, a bound on the expected total variation distance between its noisy shares and
        the true ones, by noise alone: at most 1. Of a table of the network of k cells it is `network_tv(k)`.
    n_needed : int
        The number of records from which on all these are at most .05.
    """

    noise: str
    rounds: int
    degree: int
    selection_epsilon: float
    base_deviation: float = field(metadata=noted("of a cell's noise"))
    network_deviation: float = field(metadata=noted("of a cell's noise"))
    expected_tv: Mapping[str, float]
    n_needed: int = field(metadata=noted("for base tables within .05"))
    layout: Any = hidden()
    budget: Any = hidden()

    _accounting = CONCENTRATED

    def network_tv(self, n_cells: int) -> float:
        """Return a bound on the expected total variation of the noise of a network's table.

        Parameters
        ----------
        n_cells : int
            The number of cells, at least 1.
        """
        return min(1.0, self.network_error(n_cells))

    def network_error(self, n_cells: int) -> float:
        """Return the expected error of a network's table, as a share of the records; it may be above 1.

        It is infinite if no table of a network is measured.

        Parameters
        ----------
        n_cells : int
            The number of cells, at least 1.
        """
        budget: TableBudget = self.budget
        if not self.rounds:
            return math.inf
        return budget.network.expected_error(n_cells) / self.n_samples

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning if the noise of some base table is greater than its mean count."""
        layout: TableLayout = self.layout
        budget: TableBudget = self.budget
        noisy = [
            layout.name_of(places)
            for places in layout.base
            if budget.base.deviation(size := layout.size_of(places)) * size > self.n_samples
        ]
        if not noisy:
            return ()
        more = f" and of {len(noisy) - 1} more tables" if len(noisy) > 1 else ""
        return (
            f"n_samples is {self.n_samples}: the noise of a count of {noisy[0]}{more} is greater than the"
            " mean count; declare fewer categories, take fewer bins, or spend more epsilon",
        )


def synthetic_table_plan(
    guarantee: ApproxDP,
    n_samples: int,
    layout: TableLayout,
    *,
    reach: int | None = None,
    budget: TableBudget | None = None,
) -> SyntheticTablePlan:
    """Return the plan of a synthetic table."""
    budget = budget or TableBudget.of(guarantee, len(layout.base), layout.rounds, reach)
    if any(noise.rho and 1 / noise.rho >= _WIDEST for noise in (budget.base, budget.network)):
        raise ValueError(
            f"epsilon must be greater for so many tables: with {float(guarantee.epsilon):g} their noise is"
            " too wide to be drawn"
        )
    errors = {
        layout.name_of(places): budget.base.expected_error(layout.size_of(places)) for places in layout.base
    }
    return SyntheticTablePlan(
        guarantee,
        n_samples,
        "gaussian" if guarantee.delta else "laplace",
        layout.rounds,
        layout.degree,
        float(budget.selection),
        budget.base.deviation(3),
        budget.network.deviation(3) if layout.rounds else 0.0,
        {name: min(1.0, error / n_samples) for name, error in errors.items()},
        max(1, math.ceil(max(errors.values()) / ALPHA)),
        layout=layout,
        budget=budget,
    )


def checked_layout(
    columns: Sequence[TableColumn], target: int | None, degree: int, max_cells: int
) -> TableLayout:
    """Return the layout of a table if it can be released, with a lower degree if it has very many tables."""
    if not 2 <= len(columns) <= _MOST_COLUMNS:
        raise ValueError(f"the table must have 2 to {_MOST_COLUMNS} columns, got {len(columns)}")
    layout = TableLayout(tuple(columns), target, min(degree, len(columns)), max_cells)
    for column in columns:
        if column.size > _MOST_IN_COLUMN:
            raise ValueError(
                f"column {column.name!r} must have at most {_MOST_IN_COLUMN} categories or bins, got"
                f" {column.size}"
            )
    for places in layout.base:
        if layout.size_of(places) > max_cells:
            raise ValueError(
                f"the table of {layout.name_of(places)} must have at most max_cells={max_cells} cells, got"
                f" {layout.size_of(places)}: declare fewer categories, or take fewer bins"
            )
    while layout.others > 1 and _n_tables(layout) > _MOST_TABLES:
        layout = replace(layout, degree=layout.degree - 1)
    return layout


def _n_tables(layout: TableLayout) -> int:
    """Return a bound on the number of tables of a column and the columns that it may depend on.

    Each is counted once, in the first round in which it is a candidate, and its last column is the only one
    that is not in the network: so any columns have at most one table.
    """
    d = len(layout.base)
    return sum(comb(d, size + 1) for size in range(1, layout.others + 1))


def _root(square: Fraction) -> Fraction:
    """Return the square root of a rational number, rounded down."""
    return Fraction(isqrt(int(square * (1 << 2 * _BITS))), 1 << _BITS)
