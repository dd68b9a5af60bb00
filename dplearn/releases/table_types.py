"""The public types of a table's columns: read before the charge, and what values are given back in.

A type is held by its name in its library, so that it can be written; no cell of the private table is read.
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

from dplearn.domains import Categories, Dates, Domain, IntegerRange
from dplearn.domains.cells import is_frame, object_array
from dplearn.releases.table_columns import TableColumn

#: The kinds of tables.
KINDS = ("pandas", "polars", "array")
_ORDERED, _ENUM = "ordered category", "Enum"  # the beginnings of types that declare categories
_OF_ARROW = "[pyarrow]"
_NO_ALIAS = ("string_view", "binary_view", "null")  # types of Arrow that it knows by no text
_NA = {"nan": np.nan, "None": None}  # what stands for gaps in texts of numpy
_OF_GAPS = ("Null", "null[pyarrow]")  # types of columns that hold nothing else
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
    def of(cls, table: Any, dtype: Any, *, named: bool) -> "TableTypes":
        """Return the types of a private table; no cell is read."""
        if not is_frame(table):
            return cls("array", () if dtype is None else (str(dtype),) * table.shape[1])  # None: of lists
        kind = "pandas" if hasattr(table, "iloc") else "polars"
        names = tuple(table.columns.tolist() if kind == "pandas" else table.columns)
        labels = () if named or not all(type(name) in (str, int) for name in names) else names
        types = list(table.dtypes)
        declared = {place: listed for place, each in enumerate(types) if (listed := _declared(each))}
        shown = tuple(_ENUM if str(each).startswith(f"{_ENUM}(") else _name_of(each) for each in types)
        return cls(kind, shown, labels, declared)

    def name(self, place: int) -> str:
        """Return the name of the type of a column, or nothing if it is not known."""
        return self.types[place] if self.types else ""

    def dtype(self, place: int, listed: Sequence[Any] = ()) -> Any:
        """Return the type of a column, in which categories are listed; None if it is not known."""
        name = self.name(place)
        if self.kind == "array":
            if (missing := name.removeprefix("StringDType(na_object=").removesuffix(")")) in _NA:
                return np.dtypes.StringDType(na_object=_NA[missing])
            name = "T" if name.startswith("StringDType") else name
            return np.dtype(name) if name else None
        if name in _OF_GAPS and listed:
            return None
        with suppress(TypeError, ValueError, AttributeError, SyntaxError):
            if self.kind == "polars":
                library = import_module(self.kind)
                return library.Enum(listed) if name == _ENUM else _of_polars(library, name)
            return _of_pandas(name, listed) if name else None
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
        if record["kind"] not in KINDS:
            raise ValueError(f"kind must be one of {', '.join(KINDS)}, got {record['kind']!r}")
        return cls(record["kind"], tuple(record.get("types", ())), tuple(record.get("labels", ())))


def as_table(columns: Sequence[TableColumn], values: Sequence[NDArray[Any]], types: TableTypes) -> Any:
    """Return the values of columns as a table, whose types depend on the columns and on `types` alone."""
    given = zip(columns, values, strict=True)
    plain = [_in_numpy(column, each, types, place) for place, (column, each) in enumerate(given)]
    if types.kind == "array":
        objects = any(each.dtype == object for each, _ in plain)
        table = np.stack([object_array(each.tolist()) if objects else each for each, _ in plain], axis=1)
        every = [value for place, each in enumerate(columns) for value in _known(each, types, place)]
        return _in_type(table, types.dtype(0), every)
    library, make = import_module(types.kind), _polars_series if types.kind == "polars" else _pandas_series
    frame = library.DataFrame(
        {
            column.name: make(library, column, types.dtype(place, _known(column, types, place)), *each)
            for place, (column, each) in enumerate(zip(columns, plain, strict=True))
        }
    )
    return frame.set_axis(list(types.labels), axis=1) if types.labels else frame


def _in_numpy(
    column: TableColumn, values: NDArray[Any], types: TableTypes, place: int
) -> tuple[NDArray[Any], NDArray[np.bool_] | None]:
    """Return values in a type of numpy, and their gaps where these are not NaN or None."""
    plain, dtype, domain = types.plain(place), types.dtype(place), column.domain
    if isinstance(domain, Categories):
        listed = _known(column, types, place)
        if plain == np.dtype(bool) and not column.gaps.any() and all(type(each) is bool for each in listed):
            return values.astype(bool), None
        known = dict(zip(listed, listed, strict=True))  # of categories that are not declared, a gap
        return object_array([known.get(each) for each in values.tolist()]), None
    if isinstance(domain, Dates) and plain is None:  # learners read dates as numbers
        times = domain.times(values)
        if "ns" in str(dtype):  # its years are few
            first, last = np.array(["1677-09-22", "2262-04-11"], dtype=times.dtype)
            times = np.where(np.isnat(times), times, times.clip(first, last))
        fine = "datetime64[ns]" if times.dtype == "datetime64[ns]" else "datetime64[us]"
        return times.astype(dtype if isinstance(dtype, np.dtype) else fine), None
    gaps = np.asarray(values != values)
    unheld = column.gap and types.gapless(place)
    numbers = _rounded(np.where(gaps, 0, values), np.dtype(float) if unheld else plain, dtype)
    if numbers.dtype.kind in "fO":
        numbers[gaps] = np.nan
    wide = column.ranged and domain.size >> 63 and numbers.dtype.kind in "iu"
    if wide and isinstance(domain, IntegerRange):  # the last numbers have one code
        numbers[numbers == domain.high] = np.iinfo(numbers.dtype).max
    return numbers, gaps if column.gap and numbers.dtype.kind in "iub" else None


def _rounded(numbers: NDArray[Any], plain: Any, dtype: Any) -> NDArray[Any]:
    """Return numbers in a type of numpy, rounded and clipped to it, or clipped to decimals."""
    decimal: Any = getattr(dtype, "pyarrow_dtype", dtype)
    if getattr(decimal, "precision", None):
        limit = 10.0 ** (decimal.precision - decimal.scale) - 1
        return numbers.astype(np.float64).clip(-limit, limit)
    if plain is None:
        return numbers
    if plain.kind == "b":
        return np.asarray(np.rint(numbers.astype(np.float64)) != 0)
    if plain.kind == "f":
        limit = np.finfo(plain).max
        return numbers.astype(np.float64).clip(-limit, limit).astype(plain)
    info = np.iinfo(plain)
    if numbers.dtype.kind == "f":  # the greatest floats within the ends
        numbers = np.rint(numbers).clip(info.min, np.nextafter(float(info.max) + 1, 0))
    return numbers.clip(info.min, info.max).astype(plain)


def _known(column: TableColumn, types: TableTypes, place: int) -> list[Any]:
    """Return the categories that records may have, only the declared ones if the type declares them."""
    if not isinstance(column.domain, Categories):
        return []
    declares = types.name(place).startswith(_ORDERED) or types.name(place) in (_ENUM, *_OF_GAPS)
    every = column.domain.values if declares else column.decoded(np.arange(column.size)).tolist()
    return list(dict.fromkeys(value for value in every if value is not None))


def _in_type(table: NDArray[Any], dtype: Any, every: Sequence[Any]) -> NDArray[Any]:
    """Return an array in the type that the table's had, of texts in a width for all that there may be."""
    kind, na = getattr(dtype, "kind", ""), getattr(dtype, "na_object", "other")
    if kind in tuple("UST") and all(isinstance(each, bytes if kind == "S" else str) for each in every):
        gone = b"other" if kind == "S" else na  # an array without gaps has them by noise alone
        filled = [gone if cell is None else cell for cell in table.ravel().tolist()]
        texts = np.array([*filled, gone, *every], dtype=dtype if kind == "T" else kind)
        return texts[: table.size].reshape(table.shape)
    return table.astype(dtype) if kind and table.dtype == dtype.newbyteorder("=") else table


def _pandas_series(pandas: Any, column: TableColumn, dtype: Any, values: Any, gaps: Any) -> Any:
    """Return a series of pandas of the type of a column, as far as this holds the values."""
    series, listed = pandas.Series(values, dtype=values.dtype), getattr(column.domain, "values", ())
    if isinstance(dtype, pandas.CategoricalDtype):
        places = {value: place for place, value in enumerate(dtype.categories.tolist())}
        codes = [places.get(each, -1) for each in values.tolist()]
        return pandas.Series(pandas.Categorical.from_codes(codes, dtype=dtype))
    if dtype is None and {type(each) for each in listed if each is not None} == {str}:
        dtype = pandas.Series(["text"]).dtype
    if getattr(dtype, "tz", None) is not None:
        series = series.dt.tz_localize("UTC")
    unheld = isinstance(dtype, np.dtype) and dtype.kind in "biuSU" and column.gaps.any()
    if dtype is not None and str(dtype) != "object" and not unheld:
        with suppress(TypeError, ValueError, OverflowError, NotImplementedError):  # other values are declared
            objects = series.dtype == object  # Arrow makes some types of new values alone
            series = pandas.Series(values.tolist(), dtype=dtype) if objects else series.astype(dtype)
    return series if gaps is None else series.mask(gaps)


def _polars_series(polars: Any, column: TableColumn, dtype: Any, values: Any, gaps: Any) -> Any:
    """Return a series of polars of the type of a column, as far as this holds the values."""
    name, errors = column.name, (TypeError, ValueError, OverflowError, polars.exceptions.PolarsError)
    if isinstance(column.domain, Categories):
        own = polars.Object
        with suppress(*errors):
            own = polars.Series(column.decoded(np.arange(column.size)).tolist()).dtype
        with suppress(*errors):
            return polars.Series(name, values.tolist(), dtype=own if dtype is None else dtype)
        return polars.Series(name, values.tolist(), dtype=own)
    series = polars.Series(name, values, nan_to_null=True)
    series = series if dtype is None else series.cast(dtype)
    return series if gaps is None else series.set(polars.Series(gaps), None)


def _declared(dtype: Any) -> list[Any]:
    """Return the categories of a type that declares them: an ordered one of pandas, an Enum of polars. Those
    of other categorical types may have been found in the table.
    """
    declares = getattr(dtype, "ordered", False) is True or str(dtype).startswith("Enum(")
    return list(dtype.categories) if declares and hasattr(dtype, "categories") else []


def _name_of(dtype: Any) -> str:
    """Return the name of a type, of categories with that of these."""
    if str(dtype) != "category":
        return str(dtype)
    return f"{_ORDERED if dtype.ordered else dtype} of {dtype.categories.dtype}"


def _of_pandas(name: str, listed: Sequence[Any]) -> Any:
    pandas = import_module("pandas")
    kind, _, of = name.partition(" of ")
    if kind in (_ORDERED, "category"):
        index = pandas.Index(listed)
        with suppress(TypeError, ValueError):  # other values are declared
            index = pandas.Index(listed, dtype=_of_pandas(of, ()))
        return pandas.CategoricalDtype(index, ordered=kind == _ORDERED)
    if name.endswith(_OF_ARROW):
        return pandas.ArrowDtype(_of_arrow(name.removesuffix(_OF_ARROW)))
    return pandas.api.types.pandas_dtype(name)


def _of_polars(polars: Any, name: str) -> Any:
    """Return a type of polars by its name, such as Int64 or Datetime(time_unit='us', time_zone='UTC')."""
    read = ast.parse(name, mode="eval").body
    if not isinstance(read, ast.Call):
        return getattr(polars, name)
    given = {str(each.arg): ast.literal_eval(each.value) for each in read.keywords}
    return getattr(polars, ast.unparse(read.func))(**given)


def _of_arrow(name: str) -> Any:
    arrow = import_module("pyarrow")
    if zoned := re.fullmatch(r"timestamp\[(\w+), tz=(.+)\]", name):
        return arrow.timestamp(*zoned.groups())
    if decimal := re.fullmatch(r"(decimal\d+)\((\d+), (-?\d+)\)", name):
        return getattr(arrow, decimal[1])(int(decimal[2]), int(decimal[3]))
    if listed := re.fullmatch(r"dictionary<values=(.+), indices=(\w+), ordered=(\d)>", name):
        return arrow.dictionary(_of_arrow(listed[2]), _of_arrow(listed[1]), listed[3] == "1")
    if sized := re.fullmatch(r"fixed_size_binary\[(\d+)\]", name):
        return arrow.binary(int(sized[1]))
    return getattr(arrow, name)() if name in _NO_ALIAS else arrow.type_for_alias(name)
