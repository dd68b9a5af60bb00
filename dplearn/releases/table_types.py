"""The public types of a table's columns: read before the charge, and what values are given back in.

A type is held by its name in its library, so that it can be written; no cell of the private table is read.

>>> types = TableTypes("pandas", ("uint8", "datetime64[ns, UTC]"))
>>> types.plain(0), types.gapless(0), types.dtype(1)
(dtype('uint8'), True, datetime64[ns, UTC])
>>> from dplearn.domains import Grid
>>> column = TableColumn("age", Grid(0, 200, 401), np.array([0], dtype=np.uint64))
>>> as_table([column], [np.array([18.5, 300.0])], TableTypes("pandas", ("uint8",)))["age"].tolist()
[18, 255]
"""

import ast
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.domains import Categories, Dates, Domain
from dplearn.domains.cells import is_frame, object_array
from dplearn.releases.table_columns import TableColumn

#: The kinds of tables.
KINDS = ("pandas", "polars", "array")
_DECLARED = "declared categories"  # the name of an ordered type of pandas, and of an Enum
_OF_ARROW = "[pyarrow]"
_POLARS_NUMBER = re.compile(r"U?Int(8|16|32|64)|Float(32|64)|Boolean")


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
        types = list(table.dtypes)
        declared = {place: listed for place, each in enumerate(types) if (listed := _declared(each))}
        shown = tuple(_DECLARED if place in declared else str(each) for place, each in enumerate(types))
        return cls(kind, shown, labels, declared)

    def dtype(self, place: int) -> Any:
        """Return the type of a column; None if it is not known, or declares categories."""
        name = self.types[place] if self.types else ""
        if name in ("", "Null", "null[pyarrow]"):  # a type without values
            return None
        with suppress(TypeError, ValueError, AttributeError, SyntaxError):
            if self.kind == "polars":
                return _of_polars(name)
            if name.endswith(_OF_ARROW):
                return import_module("pandas").ArrowDtype(_of_arrow(name.removesuffix(_OF_ARROW)))
            return (
                import_module("pandas").api.types.pandas_dtype(name)
                if self.kind == "pandas"
                else np.dtype(name)
            )
        return None

    def plain(self, place: int) -> Any:
        """Return the type of numpy of the numbers of a column; None if it holds other things."""
        dtype = self.dtype(place)
        if self.kind == "polars" and _POLARS_NUMBER.fullmatch(str(dtype)):
            return np.dtype("bool" if str(dtype) == "Boolean" else str(dtype).lower())
        found = getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype))
        return found if isinstance(found, np.dtype) and found.kind in "biuf" else None

    def gapless(self, place: int) -> bool:
        """Whether a column cannot have missing values, by its type."""
        dtype, plain = self.dtype(place), self.plain(place)
        own = isinstance(dtype, np.dtype) or hasattr(dtype, "subtype")
        return own and plain is not None and plain.kind in "biu"

    def domain_of(self, place: int, learned: Domain) -> Domain:
        """Return the learned domain of a column, or that of the categories that its type declares."""
        # The types of other parts of a table may have other categories.
        return Categories([*self.declared[place], None], other=True) if place in self.declared else learned

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


def as_table(columns: Sequence[TableColumn], values: Sequence[NDArray[Any]], types: TableTypes) -> Any:
    """Return the values of columns as a table, whose types depend on the columns and on `types` alone."""
    plain = [
        _in_numpy(column, each, types, place)
        for place, (column, each) in enumerate(zip(columns, values, strict=True))
    ]
    if types.kind == "array":
        arrays = [_with_nan(each) for each in plain]
        if any(each.dtype == object for each in arrays):
            arrays = [object_array(each.tolist()) for each in arrays]
        return np.stack(arrays, axis=1)
    give_back = _polars_series if types.kind == "polars" else _pandas_series
    series = {
        column.name: give_back(column, each, types, place)
        for place, (column, each) in enumerate(zip(columns, plain, strict=True))
    }
    frame = import_module(types.kind).DataFrame(series)
    return frame.set_axis(list(types.labels), axis=1) if types.labels else frame


def _in_numpy(column: TableColumn, values: NDArray[Any], types: TableTypes, place: int) -> Any:
    """Return numbers in a type of numpy, rounded and clipped to it, and masked where they are missing; dates
    as datetime64, unless the type is of numbers; and other values as they are.
    """
    plain = types.plain(place)
    if isinstance(column.domain, Dates) and plain is None:
        return column.domain.times(values)
    if isinstance(column.domain, Categories):
        whole = plain == np.dtype(bool) and not column.gaps.any() and _of_bools(column)
        return values.astype(bool) if whole else values
    gaps = np.asarray(values != values)
    numbers = np.where(gaps, 0, values)
    if plain is None:
        dtype = types.dtype(place)
        decimal: Any = getattr(dtype, "pyarrow_dtype", dtype)
        found = numbers
        if getattr(decimal, "precision", None):
            limit = 10.0 ** (decimal.precision - decimal.scale) - 1
            found = numbers.astype(np.float64).clip(-limit, limit)
    elif plain.kind == "f":
        limit = np.finfo(plain).max
        found = numbers.astype(np.float64).clip(-limit, limit).astype(plain)
    elif plain.kind == "b":
        found = np.rint(numbers.astype(np.float64)) != 0
    else:
        info = np.iinfo(plain)
        if numbers.dtype.kind == "f":  # the greatest floats within the ends
            numbers = np.rint(numbers).clip(info.min, np.nextafter(float(info.max) + 1, 0))
        found = numbers.clip(info.min, info.max).astype(plain)
    return np.ma.MaskedArray(found, gaps) if column.gap else found


def _with_nan(values: Any) -> NDArray[Any]:
    """Return values in a type of numpy that has gaps where they may be masked."""
    if not isinstance(values, np.ma.MaskedArray):
        return np.asarray(values)
    data = values.data if values.data.dtype.kind in "fO" else values.data.astype(np.float64)
    return np.where(
        np.ma.getmaskarray(values), data.dtype.type(np.nan) if data.dtype.kind == "f" else np.nan, data
    )


def _pandas_series(column: TableColumn, values: Any, types: TableTypes, place: int) -> Any:
    """Return a series of pandas of the type of a column, as far as this holds the values."""
    pandas, dtype, given = import_module("pandas"), types.dtype(place), types.types and types.types[place]
    if given == _DECLARED:
        listed, known = _among_declared(column, values)
        return pandas.Series(known, dtype=pandas.CategoricalDtype(listed, ordered=True))
    if isinstance(column.domain, Categories):
        every = column.decoded(np.arange(column.size)).tolist()
        listed = list(dict.fromkeys(value for value in every if value is not None))
        if given == "category":
            return pandas.Series(values, dtype=pandas.CategoricalDtype(listed))
        texts = not given and all(type(value) is str for value in listed)
        series = pandas.Series(values, dtype=pandas.Series(["text"]).dtype if texts else values.dtype)
        unheld = isinstance(dtype, np.dtype) and dtype.kind in "biuSU" and column.gaps.any()
        return series if dtype is None or unheld else _cast(series, dtype)
    if values.dtype.kind == "M":
        series = pandas.Series(_in_range(values, dtype))
        zoned = getattr(dtype, "tz", None) is not None
        return _cast(series.dt.tz_localize("UTC") if zoned else series, dtype)
    own = dtype is None or isinstance(dtype, np.dtype) or hasattr(dtype, "subtype")
    if own or not column.gap:
        numbers = pandas.Series(_with_nan(values))
        return numbers if column.gap and types.gapless(place) else _cast(numbers, dtype)
    return _cast(pandas.Series(values.data), dtype).mask(np.ma.getmaskarray(values))


def _cast(series: Any, dtype: Any) -> Any:
    """Return a series in a type, or as it is if the type does not hold what the domain declares."""
    with suppress(TypeError, ValueError, OverflowError, NotImplementedError):
        return series if dtype is None or str(dtype) == "object" else series.astype(dtype)
    return series


def _in_range(times: NDArray[Any], dtype: Any) -> NDArray[Any]:
    """Return times moved into the years of a type of nanoseconds, if it is one."""
    if "ns" not in str(dtype):
        return times
    ends = np.array(["1677-09-22", "2262-04-11"], dtype=times.dtype)
    return np.where(np.isnat(times), times, times.clip(*ends))


def _polars_series(column: TableColumn, values: Any, types: TableTypes, place: int) -> Any:
    """Return a series of polars of the type of a column; categories of several types are objects."""
    polars, dtype = import_module("polars"), types.dtype(place)
    if types.types and types.types[place] == _DECLARED:
        listed, known = _among_declared(column, values)
        return polars.Series(column.name, known, dtype=polars.Enum(listed))
    if isinstance(column.domain, Categories):
        kinds = {type(value) for value in column.domain.values if value is not None}
        natural = {
            str: polars.String,
            int: polars.Int64,
            float: polars.Float64,
            bool: polars.Boolean,
            bytes: polars.Binary,
        }
        own = natural.get(kinds.pop(), polars.Object) if len(kinds) == 1 else polars.Object
        with suppress(TypeError, ValueError, OverflowError, polars.exceptions.PolarsError):
            return polars.Series(column.name, values.tolist(), dtype=own if dtype is None else dtype)
        return polars.Series(column.name, values.tolist(), dtype=own)
    if values.dtype.kind == "M":
        series = polars.Series(column.name, _in_range(values, dtype).astype(f"datetime64[{_unit(dtype)}]"))
        return series if dtype is None else series.cast(dtype)
    masked = np.ma.getmaskarray(values)
    series = polars.Series(column.name, np.asarray(values.data if column.gap else values), nan_to_null=True)
    series = series if dtype is None else series.cast(dtype)
    return series.set(polars.Series(masked), None) if column.gap else series


def _unit(dtype: Any) -> str:
    return getattr(dtype, "time_unit", None) or "us"


def _declared(dtype: Any) -> list[Any]:
    """Return the categories of a type that declares them: an ordered one of pandas, an Enum of polars.

    Those of other categorical types may have been found in the table.
    """
    declares = getattr(dtype, "ordered", False) is True or str(dtype).startswith("Enum(")
    return list(dtype.categories) if declares and hasattr(dtype, "categories") else []


def _among_declared(column: TableColumn, values: NDArray[Any]) -> tuple[list[Any], list[Any]]:
    """Return the declared categories, and the values with gaps for others."""
    assert isinstance(column.domain, Categories)
    listed = [value for value in column.domain.values if value is not None]
    return listed, [value if value in listed else None for value in values.tolist()]


def _of_bools(column: TableColumn) -> bool:
    return all(value is None or type(value) is bool for value in getattr(column.domain, "values", ()))


def _of_polars(name: str) -> Any:
    """Return a type of polars by its name, such as Int64 or Datetime(time_unit='us', time_zone='UTC')."""
    polars, read = import_module("polars"), ast.parse(name, mode="eval").body
    if not isinstance(read, ast.Call):
        return getattr(polars, name)
    given = {str(each.arg): ast.literal_eval(each.value) for each in read.keywords}
    return getattr(polars, ast.unparse(read.func))(**given)


def _of_arrow(name: str) -> Any:
    """Return a type of Arrow by its name."""
    arrow = import_module("pyarrow")
    if zoned := re.fullmatch(r"timestamp\[(\w+), tz=(.+)\]", name):
        return arrow.timestamp(*zoned.groups())
    if decimal := re.fullmatch(r"(decimal\d+)\((\d+), (-?\d+)\)", name):
        return getattr(arrow, decimal[1])(int(decimal[2]), int(decimal[3]))
    if listed := re.fullmatch(r"dictionary<values=(.+), indices=(\w+), ordered=(\d)>", name):
        return arrow.dictionary(_of_arrow(listed[2]), _of_arrow(listed[1]), listed[3] == "1")
    return arrow.type_for_alias(name)
