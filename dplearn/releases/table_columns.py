"""The columns of a synthetic table: their cells, and the tables that are made of cells, with public types.

The cell of a value is a function of the value and its declared domain; so are the values of a cell. The types
(dtypes) of the private table are public, and where the schema is learned, records have them too.

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

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance import PublicStream
from dplearn.domains import Categories, Domain, Floats, Grid, IntegerRange, Product
from dplearn.domains.base import NumberDomain
from dplearn.domains.cells import column_type, is_frame, object_array
from dplearn.kernels.intervals import CodePlaces
from dplearn.table.table import Columns

#: The most cells of a column of numbers; a cell is held in 16 bits.
MOST_BINS = 1 << 14
_WIDE = 256.0  # a range from 0 or above is wide if its end is this many times its start, or more
_TINY = 2.0**-64
_FEW = 16  # cells with records of a column without a range, as far as plans know
_EXPONENTS = range(-8, 18)  # the powers of two that are first values of cells of unbounded floats
#: Kinds of cells: left out if their counts may be noise; perhaps one with the cell before; not drawn from.
FAR, SPLIT, UNUSED = 1, 2, 4
POINTS = (1 << 20) + 1  # of learned ranges: synthetic numbers are not seen to lie on a grid
#: The kinds of tables.
KINDS = ("pandas", "polars", "array")
WHOLE = re.compile(r"u?int(8|16|32|64)", re.IGNORECASE)  # Int64 of pandas and of polars too
_GAPLESS = re.compile(r"bool|u?int(8|16|32|64)")
_REAL = re.compile(r"float(16|32|64)", re.IGNORECASE)
_TEXT_OR_NONE = {str, type(None)}
_TEXTS = ("str", "string", "category")  # of pandas
_BELOW = (1 << 63) - 1024  # the greatest float64 of an int64
_DECLARED = "declared categories"  # the name of an ordered type of pandas, and of an Enum
_OF_POLARS = ("String", "Boolean", "Categorical")


@dataclass(frozen=True, eq=False)
class TableColumn:
    """The cells of one column."""

    name: str
    domain: Domain
    starts: NDArray[np.uint64]  # the first code of each cell, ascending; categories have a cell each
    kinds: NDArray[np.int8] | None = None  # sums of `FAR`, `SPLIT` and `UNUSED` of each cell; None: all 0
    ranged: bool = False  # the cells are those of a learned range, and of all numbers beyond it

    @classmethod
    def released(
        cls, name: str, domain: Domain, starts: Sequence[int], unused: Sequence[int], ranged: bool
    ) -> "TableColumn":
        """Return a released column."""
        kinds = np.zeros(len(starts), dtype=np.int8)
        kinds[list(unused)] = UNUSED
        return cls(name, domain, np.array(starts, dtype=np.uint64), kinds, ranged)

    @property
    def size(self) -> int:
        """The number of cells."""
        return len(self.starts)

    @property
    def gap(self) -> int:
        """The number of cells before the numbers: 1 if cell 0 is that of missing numbers, else 0."""
        return int(self.domain.ordered and self.domain.accepts_missing)

    @cached_property
    def _listed(self) -> list[Any]:
        """The value of each cell of categories; of those that are not listed a gap, or "other" if missing
        ones have a cell of their own and all others are texts.
        """
        assert isinstance(self.domain, Categories)
        texts = None in self.domain.values and {type(value) for value in self.domain.values} <= _TEXT_OR_NONE
        return [*self.domain.values, *["other" if texts else None] * self.domain.other]

    @property
    def gaps(self) -> NDArray[np.bool_]:
        """Whether the values of each cell are gaps: missing numbers, or categories that are None."""
        if isinstance(self.domain, Categories):
            return np.array([value is None for value in self._listed])
        return np.arange(self.size) < self.gap

    @property
    def marks(self) -> NDArray[np.int8]:
        """The kind of each cell."""
        return np.zeros(self.size, dtype=np.int8) if self.kinds is None else self.kinds

    def near(self, cells: NDArray[np.bool_]) -> "TableColumn":
        """Return the column in which these cells are no far ones."""
        return replace(self, kinds=np.where(cells, self.marks & ~FAR, self.marks).astype(np.int8))

    @property
    def unused(self) -> NDArray[np.bool_]:
        """Whether no number is drawn from each cell."""
        return self.marks & UNUSED > 0

    @property
    def n_used(self) -> int:
        """The number of cells that are drawn from, whatever the counts; of a wide declared range, of all."""
        found = int((self.marks == 0).sum())
        if found > self.gap:
            return found
        return self.gap + _FEW if self.ranged else self.size

    @property
    def used_domain(self) -> Domain:
        """The domain; of a learned range that of the cells that numbers are drawn from."""
        if not self.ranged:
            return self.domain
        assert isinstance(self.domain, (Floats, IntegerRange))
        used = np.flatnonzero(~self.unused[self.gap :]) + self.gap
        ends = np.append(self.starts, np.uint64(self.domain.size))
        codes = np.array([ends[used[0]], ends[used[-1] + 1] - np.uint64(1)])
        low, high = np.asarray(self.domain.decode(codes)).tolist()
        outside, missing = "accept" if self.gap else "clip", bool(self.gap)
        if isinstance(self.domain, IntegerRange):
            return IntegerRange(int(low), int(high), outside, missing=missing)
        if high > low:
            return Grid(low, high, POINTS, outside, missing=missing)
        return Grid(low, max(np.nextafter(low, np.inf), low + _TINY), 2, outside, missing=missing)

    @property
    def firsts(self) -> NDArray[np.float64]:
        """The first number of each cell."""
        assert isinstance(self.domain, NumberDomain)
        return np.asarray(self.domain.decode(self.starts), dtype=np.float64)

    @property
    def rest(self) -> NDArray[np.bool_]:
        """Whether each cell is of gaps, or of categories that are not listed."""
        listed = len(self.domain.values) if isinstance(self.domain, Categories) else self.size
        return self.gaps | (np.arange(self.size) >= listed)

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
            return np.asarray(object_array(self._listed)[cells])
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
        """Return the value of each code, of the types of `values`; None for codes of no category."""
        if isinstance(self.domain, Categories):
            return np.asarray(object_array([*self._listed, None])[codes])
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
    """Return the names of the columns that have one value or none in synthetic records, the rest apart."""
    given = zip(columns, shares, strict=True)
    return [column.name for column, share in given if _is_one_value(column, (share > 0) & ~column.rest)]


def _is_one_value(column: TableColumn, drawn: NDArray[np.bool_]) -> bool:
    """Return True if the cells that are drawn have no value, or equal ones, or numbers nearly equal."""
    values = column.values(np.repeat(np.flatnonzero(drawn), 9), PublicStream(0, "values"))
    if values.dtype == object or not drawn.any():
        return int(drawn.sum()) <= 1
    # Learned ends have 20 significant bits; those of a column of which most numbers are 0 may be near 0.
    near_zero = 1e-6 if getattr(column.domain, "low", 1) <= 0 else 0.0
    return bool(np.ptp(values) <= max(1e-5 * np.abs(values).max(), near_zero))


def table_column(name: str, domain: Domain, n_bins: int) -> TableColumn:
    """Return the cells of a column: of numbers a value each, or `n_bins` of equal width; in a wide range from
    0 they grow by a factor of sqrt(2), and floats have those between powers of two. Missing numbers have the
    first, hashed values one of each bucket.
    """
    if not isinstance(domain, NumberDomain):
        return TableColumn(name, domain, np.arange(domain.size, dtype=np.uint64))
    if domain.size >> 64:
        raise ValueError(f"column {name!r} must have fewer than 2**64 values, got {domain!r}")
    gap = int(domain.accepts_missing)
    numbers = domain.size - gap
    if numbers <= n_bins:
        return TableColumn(name, domain, np.arange(domain.size, dtype=np.uint64))
    if isinstance(domain, Floats):
        powers = 2.0 ** np.array(_EXPONENTS)
        codes = domain.nearest(np.concatenate([-powers[::-1], [0.0], powers]))
        return TableColumn(name, domain, with_firsts(codes, gap))
    low, high = (float(each) for each in domain.decode(np.array([gap, domain.size - 1], dtype=np.uint64)))
    if low < 0 or high < _WIDE * max(low, 1.0):
        return TableColumn(name, domain, with_firsts(gap + np.array(even_starts(numbers, n_bins)), gap))
    least = float(domain.decode(np.array([gap + (low == 0)], dtype=np.uint64))[0])
    ends = np.ceil(high * 2.0 ** -(np.arange(max(n_bins - 2.0, 2 * np.log2(high / least))) / 2))
    whole = with_firsts(domain.nearest(np.append(ends[::2], least)), gap)
    return far_column(name, domain, (whole, domain.nearest(ends[1::2])))


def with_firsts(codes: NDArray[Any], gap: int) -> NDArray[np.uint64]:
    """Return first codes of cells, in order, with those of missing numbers and of the least one."""
    return np.unique(np.append(np.asarray(codes).astype(np.uint64), np.arange(gap + 1, dtype=np.uint64)))


def far_column(
    name: str,
    domain: NumberDomain,
    codes: tuple[NDArray[Any], NDArray[Any]],
    near: Sequence[Any] = (),
    *,
    ranged: bool = False,
) -> TableColumn:
    """Return the column of first codes of cells, and of cuts where a cell may be two; all cells are far, but
    for those from the first to before the second code in `near`.
    """
    starts, cuts = (each.astype(np.uint64) for each in codes)
    both = np.union1d(starts, cuts)
    first, end = near or (domain.size, 0)
    kinds = np.where(np.isin(both, starts), 0, SPLIT) | np.where((both < first) | (both >= end), FAR, 0)
    kinds[: int(domain.accepts_missing)] = 0
    return TableColumn(name, domain, both, kinds.astype(np.int8), ranged)


def even_starts(size: int, n_bins: int) -> list[int]:
    """Return the first codes of cells of equal width, or of one code each if there are fewer."""
    n_bins = min(size, n_bins)
    return [size * place // n_bins for place in range(n_bins)]


@dataclass(frozen=True)
class TableTypes:
    """What is public about the types of a table."""

    kind: str = "pandas"  # one of `KINDS`
    types: tuple[str, ...] = ()  # of the columns, by name; (): records have the types of the schema
    labels: tuple[Any, ...] = ()  # names of columns that are no distinct texts; (): those of the schema
    # Of a type with declared categories, by the place of its column: these, in their order.
    declared: Mapping[int, Sequence[Any]] = field(default_factory=dict)

    @classmethod
    def of(cls, table: Any, dtype: Any, kind: str, *, named: bool) -> "TableTypes":
        """Return the types of a private table; no cell is read."""
        d = table.shape[1]
        if not is_frame(table):
            return cls(kind, (str(dtype),) * d)
        names = tuple(table.columns.tolist() if hasattr(table, "iloc") else table.columns)
        labels = () if named or not all(type(name) in (str, int) for name in names) else names
        types = [column_type(table, place) for place in range(d)]
        declared = {place: listed for place, each in enumerate(types) if (listed := _declared(each))}
        shown = tuple(_DECLARED if place in declared else str(each) for place, each in enumerate(types))
        return cls(kind, shown, labels, declared)

    def domain_of(self, place: int, learned: Domain) -> Domain:
        """Return the learned domain of a column, or that of the categories that its type declares."""
        # The types of other parts of a table may have other categories.
        return Categories([*self.declared[place], None], other=True) if place in self.declared else learned

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
    """Return numbers in a type of numpy, rounded and clipped to it; floats, if some are missing."""
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
    if not WHOLE.fullmatch(name):
        return values
    info = np.iinfo(name.lower())
    values = np.rint(values).clip(max(info.min, -_BELOW), min(info.max, _BELOW))
    return values.astype(name.lower()) if not column.gap else values


def _pandas_series(pandas: Any, column: TableColumn, values: NDArray[Any], name: str) -> Any:
    """Return a series of pandas of a given type, which pandas would else infer from the values."""
    if not isinstance(column.domain, Categories):
        series = pandas.Series(values, dtype=values.dtype)
        nullable = name[:1] in "IUF" and (WHOLE.fullmatch(name) or _REAL.fullmatch(name))
        return series.astype(name) if nullable else series
    if name == _DECLARED:
        listed, known = _among_declared(column, values)
        return pandas.Series(known, dtype=pandas.CategoricalDtype(listed, ordered=True))
    listed = list(dict.fromkeys(value for value in column._listed if value is not None))
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
        return series.cast(getattr(polars, name)) if WHOLE.fullmatch(name) else series
    if name == _DECLARED:
        listed, known = _among_declared(column, values)
        return polars.Series(column.name, known, dtype=polars.Enum(listed))
    name = name.partition("(")[0]  # of older versions: "Categorical(ordering='physical')"
    if name in _OF_POLARS and (name != "Boolean" or _of_bools(column)):
        text = polars.Boolean if name == "Boolean" else polars.String
        return polars.Series(column.name, values.tolist(), dtype=text).cast(getattr(polars, name))
    kinds = {type(value) for value in getattr(column.domain, "values", ()) if value is not None}
    types = {str: polars.String, int: polars.Int64, float: polars.Float64, bool: polars.Boolean}
    dtype = types.get(kinds.pop(), polars.Object) if len(kinds) == 1 else polars.Object
    return polars.Series(column.name, values.tolist(), dtype=dtype)


def _declared(dtype: Any) -> list[Any]:
    """Return the categories of a type that declares them: an ordered one of pandas, an Enum of polars.

    Those of other categorical types may have been found in the table.
    """
    declares = getattr(dtype, "ordered", False) is True or str(dtype).startswith("Enum(")
    return list(dtype.categories) if declares else []


def _among_declared(column: TableColumn, values: NDArray[Any]) -> tuple[list[Any], list[Any]]:
    """Return the declared categories, and the values with gaps for others."""
    assert isinstance(column.domain, Categories)
    listed = [value for value in column.domain.values if value is not None]
    return listed, [value if value in listed else None for value in values.tolist()]


def _of_bools(column: TableColumn) -> bool:
    return all(value is None or type(value) is bool for value in getattr(column.domain, "values", ()))


def cells_in(columns: Sequence[TableColumn], rows: Columns) -> NDArray[np.int16]:
    """Return the cells of encoded records, of shape (n, d) and column by column in memory."""
    cells = np.empty((len(rows), len(columns)), dtype=np.int16, order="F")
    for place, (column, codes) in enumerate(zip(columns, rows.columns, strict=True)):
        cells[:, place] = column.of(codes)
    return cells
