"""A part of a table: what may be one, the types that all parts share, and the digest that each pass repeats.

>>> import pandas as pd
>>> part = pd.DataFrame({"age": [31, 42], "ill": ["no", "yes"]})
>>> rows, labels = pair_of(part, "ill")
>>> list(rows.columns), labels.tolist()
(['age'], ['no', 'yes'])
>>> table_of("a.csv")
Traceback (most recent call last):
    ...
TypeError: X must have parts that are data frames, arrays, record batches, or pairs of these with y, got \
str; pyarrow.dataset.dataset(paths) reads one or several Parquet files
>>> PartTypes.of(np.zeros((5, 2))).check_same(PartTypes.of(np.ones((9, 2))))
>>> first = np.arange(6.0), np.array(["no", None, "yes"] * 2, dtype=object)
>>> digest_of(first) == digest_of(tuple(column.copy() for column in first))
True
>>> digest_of(first) == digest_of((first[0] + (np.arange(6) == 4), first[1]))
False
"""

import hashlib
import pickle
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from os import PathLike
from typing import Any
from zlib import crc32

import numpy as np
from scipy.sparse import issparse

from dplearn._validation import shown
from dplearn.domains.cells import frame_column, is_frame


def of_dask(X: Any) -> bool:
    """Return whether X is a collection of Dask."""
    return hasattr(type(X), "__dask_graph__")


def _named(*names: str) -> Callable[[Any], bool]:
    return lambda given: type(given).__name__ in names


def _has(method: str) -> Callable[[Any], bool]:
    return lambda given: hasattr(type(given), method)  # some objects seem to have all


_FILES = "pyarrow.dataset.dataset(paths) reads one or several Parquet files"

#: Which objects, and how to pass them; the first that holds counts.
_ADVICE: tuple[tuple[Callable[[Any], bool], str], ...] = (
    (_named("LazyFrame"), "lambda: frame.collect_batches(maintain_order=True) reads a lazy frame of polars"),
    (_has("to_arrow_reader"), "lambda: relation.to_arrow_reader(100_000) reads a relation of DuckDB"),
    (_named("Bag"), "bag.to_dataframe() makes a frame of Dask"),
    (
        _named("Delayed", "DelayedLeaf", "DelayedAttr"),
        "dask.dataframe.from_delayed([...]) makes a frame of Dask",
    ),
    (of_dask, "dask.dataframe.concat([...]) makes one frame of several of Dask"),
    (is_frame, "a single part is given in a list: lambda: [part]"),
    (lambda given: isinstance(given, (str, PathLike)), _FILES),
    (_named("ParquetDataset", "ParquetFile"), _FILES),
    (_has("to_batches"), "pyarrow.dataset.dataset([first, second]) joins data sets of Arrow"),
    (_has("to_pandas"), "its method to_pandas() makes a table"),
    (
        lambda given: isinstance(given, Mapping),
        "pandas.DataFrame(...) makes a table of a dict of columns or of a list of dicts",
    ),
    (callable, "call the function: lambda: function()"),
    (lambda given: given is None, "the function must return the parts, or yield them"),
    (_has("shape"), "a single part is given in a list: lambda: [part]"),
)
_OTHERWISE = (
    "pass a function that reads one part after another, such as lambda: (read(path) for path in paths)"
)


def advice_on(given: Any) -> str:
    """Return how an object that is no table, or no part of one, can be passed; only its type is looked at."""
    return next((advice for fits, advice in _ADVICE if fits(given)), _OTHERWISE)


Name = str | Sequence[str]  # of the column of labels, or of several such columns

_NO_PART = (
    "X must have parts that are data frames, arrays, record batches, or pairs of these with y, got {}; {}"
)
_NO_COLUMN = "parts of a column must be series or arrays, got {}; a single part is given as lambda: [part]"
_NO_Y = "y must be the name of a column of X in every part, or a list of different names, got {}; {}"
_UNNAMED = "the columns of {} have no names: give each part as a pair (rows, labels), and no y"
_SHOWN = 20  # columns in a message


def is_part(part: Any) -> bool:
    """Return whether an element of a list is a part, and not a row."""
    pair = isinstance(part, tuple) and len(part) == 2 and _is_table(part[0])
    return pair or _is_table(part) or is_arrow(part)


def is_arrow(table: Any) -> bool:
    """Return whether an object is a table, a record batch or a column of Arrow in memory."""
    return type(table).__module__.partition(".")[0] == "pyarrow" and hasattr(table, "to_pandas")


def table_of(part: Any) -> Any:
    """Return a table that learners read; one of Arrow as a data frame with the types of Arrow."""
    if _is_table(part):
        return part
    if is_arrow(part):
        return _of_arrow(part)
    raise TypeError(_NO_PART.format(type(part).__name__, advice_on(part)))


def column_of(part: Any) -> Any:
    """Return a column that releases read; one of Arrow as a series with the type of Arrow."""
    if getattr(part, "shape", ()):  # a list might be a row
        return part
    if is_arrow(part):
        return _of_arrow(part)
    raise TypeError(_NO_COLUMN.format(type(part).__name__))


def is_name(y: Any) -> bool:
    """Return whether y is the name of a column, or a list of several names."""
    listed = isinstance(y, (list, tuple)) and len(y) > 0
    return isinstance(y, str) or (listed and all(isinstance(each, str) for each in y))


def pair_of(part: Any, name: Name | None) -> tuple[Any, Any]:
    """Return the rows and the labels of a part: a pair of both, or a table with named columns of labels."""
    if isinstance(part, tuple) and len(part) == 2:
        if name is not None:
            raise TypeError(f"y must be None where each part is a pair of X and y, got {shown(name)}")
        return table_of(part[0]), part[1]
    table = table_of(part)
    return (table, None) if name is None else without(table, name)


def without(table: Any, name: Name) -> tuple[Any, Any]:
    """Return the other columns of a data frame, and the named one, or the frame of the named ones."""
    names = [name] if isinstance(name, str) else list(name)
    columns = list(table.columns) if is_frame(table) else []
    if not set(names) <= set(columns) or len(set(names)) < len(names):
        # A list may be one of private labels, and is not shown.
        given = shown(name) if isinstance(name, str) else f"{type(name).__name__} of length {len(names)}"
        if not is_frame(table):
            raise ValueError(_NO_Y.format(given, _UNNAMED.format(type(table).__name__)))
        more = f" and {len(columns) - _SHOWN} more" if len(columns) > _SHOWN else ""
        listed = ", ".join(map(shown, columns[:_SHOWN]))
        raise ValueError(_NO_Y.format(given, f"the columns are {listed}{more}"))
    others = table[[each for each in columns if each not in names]]
    return others, table[name] if isinstance(name, str) else table[names]


def _is_table(part: Any) -> bool:
    return is_frame(part) or issparse(part) or (isinstance(part, np.ndarray) and part.ndim == 2)


def _of_arrow(part: Any) -> Any:
    # Metadata of pandas would make an index of some columns.
    return part.to_pandas(types_mapper=import_module("pandas").ArrowDtype, ignore_metadata=True)


@dataclass(frozen=True)
class PartTypes:
    """What a part shows without its values.

    The shape is that of one record: (d,) in a table of d columns, () in a single column.
    """

    library: str
    shape: tuple[int, ...]
    names: tuple[Any, ...] | None
    types: tuple[Any, ...]

    @classmethod
    def of(cls, part: Any) -> "PartTypes":
        """Return the types of a data frame, an array, a series or a list."""
        shape = tuple(getattr(part, "shape", (0,))[1:])
        library = type(part).__module__.partition(".")[0]
        if is_frame(part):
            return cls(library, shape, tuple(part.columns), tuple(part.dtypes))
        return cls(library, shape, None, (getattr(part, "dtype", type(part).__name__),))

    def check_same(self, other: "PartTypes", name: str = "X", *, categories: bool = False) -> None:
        """Refuse another part with other columns, or other types of columns; no value is read.

        `categories` are those of categorical columns: whether they must be the same too.
        """
        if self.library != other.library:
            raise TypeError(
                f"{name} must have parts of one library, got parts of {self.library} and of {other.library}"
            )
        if (self.shape, self.names) != (other.shape, other.names):
            raise ValueError(f"{name} must have the same columns in each part, but {self._unlike(other)}")
        for place, (mine, theirs) in enumerate(zip(self.types, other.types, strict=True)):
            column = "" if self.names is None else f" of column {self.names[place]!r}"
            if categories and str(mine) == str(theirs) and mine != theirs:
                raise TypeError(
                    f"{name} must have the same categories in each part, but those{column} differ; make each"
                    " part's by the same pandas.CategoricalDtype([...]), or read the column as text"
                )
            if str(mine) != str(theirs):
                raise TypeError(
                    f"{name} must have the same types in each part, but the type{column} is"
                    f" {_without_values(mine)} in one and {_without_values(theirs)} in another; declare types"
                    " where parts are read, such as read_csv(..., dtype=...)"
                )

    def _unlike(self, other: "PartTypes") -> str:
        """Return how the columns of another part differ."""
        if self.names is None or other.names is None:
            return f"a record has the shape {self.shape} in one and {other.shape} in another"
        apart = [
            each for each in (*self.names, *other.names) if (each in self.names) != (each in other.names)
        ]
        if apart:
            return f"{apart[0]!r} is not in all of them"
        return "their order differs; select them by name where parts are read, such as part[names]"


def _without_values(kind: Any) -> str:
    """Return the text of a type; an Enum's without its values."""
    text = str(kind)
    return text.partition("(")[0] if text.startswith("Enum(") else text


_NARROW = {"g": "d", "G": "D"}  # long types have padding, whose bits are arbitrary


def digest_of(records: Any) -> bytes:
    """Return a digest of records, equal for equal records in every process, unless a cell is a set."""
    pickled = BytesIO()
    pickler = _Pickler(pickled, 5)
    pickler.fast = True  # without a memo, which depends on whether equal cells are one object
    with suppress(Exception):  # records with a cell that cannot be pickled are not told apart
        pickler.dump(records)
    return hashlib.blake2b(pickled.getvalue(), digest_size=16).digest()


class _Pickler(pickle.Pickler):
    """Pickles tables as lists of their columns, in any layout, and arrays of numbers as their CRC-32."""

    def reducer_override(self, part: Any) -> Any:
        if is_frame(part):
            return list, tuple(frame_column(part, place) for place in range(part.shape[1]))
        if issparse(part):
            rows: Any = part.tocsr()  # type: ignore[attr-defined]
            return list, (rows.indptr, rows.indices, rows.data)
        if type(part) is not np.ndarray or part.dtype.hasobject:
            return NotImplemented
        plain = part.astype(_NARROW.get(part.dtype.char, part.dtype), copy=False)
        data: Any = np.ascontiguousarray(plain).reshape(-1).view(np.uint8)
        return list, (part.dtype.str, part.shape, crc32(data))
