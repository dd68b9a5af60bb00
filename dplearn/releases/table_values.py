"""Synthetic records as tables: values of cells, in the types of the schema or of the private table.

The types (dtypes) of the private table are public, and where the schema is learned, records have them too.

>>> import numpy as np
>>> from dplearn.domains import Grid
>>> column = TableColumn("age", Grid(0, 200, 401), np.array([0], dtype=np.uint64))
>>> types = TableTypes("pandas", ("uint8",))
>>> as_table([column], [np.array([18.5, 300.0])], types)["age"].tolist()
[18, 255]
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance import PublicStream
from dplearn.domains import Categories
from dplearn.domains.cells import column_type, is_frame, object_array
from dplearn.releases.table_columns import TableColumn

__all__ = ["KINDS", "TableTypes", "as_table", "values_of"]

#: The kinds of tables.
KINDS = ("pandas", "polars", "array")
_WHOLE = re.compile(r"u?int(8|16|32|64)", re.IGNORECASE)  # Int64 of pandas and of polars too
_GAPLESS = re.compile(r"bool|u?int(8|16|32|64)")
_REAL = re.compile(r"float(16|32|64)", re.IGNORECASE)
_TEXTS = ("str", "string", "category")  # of pandas
_BELOW = (1 << 63) - 1024  # the greatest float64 of an int64
_OF_POLARS = ("String", "Boolean", "Categorical")


@dataclass(frozen=True)
class TableTypes:
    """What is public about the types of a table.

    Attributes
    ----------
    kind : str
        Public. "pandas", "polars" or "array".
    types : tuple of str
        Public. The names of the types of the columns; of an array, of each column alike. (): records have the
        types of the schema.
    labels : tuple
        Public. The names of the columns where they are no distinct texts, such as numbers. (): the names of
        the schema.
    """

    kind: str = "pandas"
    types: tuple[str, ...] = ()
    labels: tuple[Any, ...] = ()

    @classmethod
    def of(cls, table: Any, dtype: Any, kind: str, *, named: bool) -> "TableTypes":
        """Return the types of a private table; no cell is read.

        Parameters
        ----------
        table : ndarray or data frame of shape (n, d)
            Private.
        dtype : dtype or None
            Public. The type of an array as it was given; None: it has none, as a list.
        kind : str
            Public. The kind of the table.
        named : bool
            Public. Whether the names of the columns are those of its schema.
        """
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
    """Return the values of synthetic records, column by column.

    Parameters
    ----------
    columns : sequence of TableColumn
        Public.
    cells : ndarray of int of shape (m, d)
        Released. Cells of synthetic records.
    stream : PublicStream
        Public chance.
    """
    return [column.values(cells[:, place], stream) for place, column in enumerate(columns)]


def as_table(columns: Sequence[TableColumn], values: Sequence[NDArray[Any]], types: TableTypes) -> Any:
    """Return the values of columns as a table, whose types depend on the columns and on `types` alone.

    Parameters
    ----------
    columns : sequence of TableColumn
        Public.
    values : sequence of ndarray of shape (m,)
        Released. The values of each column.
    types : TableTypes
        Public. An array without types is of objects unless all columns are of numbers.
    """
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
