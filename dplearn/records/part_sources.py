"""Recognise tables in parts: Dask collections, lists of tables, data sets of Arrow, and functions.

>>> import pandas as pd
>>> first, second = {"age": [31, 42], "ill": ["no", "yes"]}, {"age": [57], "ill": ["no"]}
>>> months = [pd.DataFrame(first), pd.DataFrame(second)]
>>> table = table_in_parts(months, "ill")
>>> list(table.values(lambda given: (list(given.X.columns), given.y.tolist())))
[(['age'], ['no', 'yes']), (['age'], ['no'])]
>>> table_in_parts(months[0], months[0]["ill"]) is None  # a table in memory
True
>>> table_in_parts(iter(months), "ill")
Traceback (most recent call last):
    ...
TypeError: X must be parts that can be read again, got an iterator, which is read once; pass a function that \
returns a new one each time, such as lambda: pandas.read_csv(path, chunksize=100_000, dtype=...)
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from inspect import signature
from os import PathLike
from typing import Any

from dplearn.domains.cells import LAZY, is_frame
from dplearn.records.part import advice_on, column_of, is_arrow, is_name, is_part, of_dask, pair_of, table_of
from dplearn.records.passes import DaskParts, InTurn, Parts, is_dask, partitions, reading
from dplearn.records.rows import check_index
from dplearn.records.table import InParts, Table

_ONCE = (
    "{} must be parts that can be read again, got an iterator, which is read once; pass a function that"
    " returns a new one each time, such as lambda: {}"
)
_CHUNKS = "pandas.read_csv(path, chunksize=100_000, dtype=...)"
_ONE_COLUMN = "{} must be one column, got a table in parts: give a column of it, such as {}"
_LISTED = (
    "{} must be one column, got a list of series; a list is one column in memory, so pass the parts of a"
    " column by a function: lambda: [first, second]"
)
_READERS = f"pyarrow.dataset.dataset(path), or lambda: {_CHUNKS}"
_PATH = f"X must be a table, got a path; read the file, or pass its parts: {_READERS}"
_UNREAD = "X must be a table in memory, a list of tables or another table in parts, got {}; {}"
_Y_OF_PARTS = (
    "y must be the name of a column of X, a list of names, or a list with the labels of each part of X, got"
    " {}; {}"
)
_PAIRS = "or give X alone, and each part of it as a pair (rows, labels)"
_Y_IN_MEMORY = (
    "y must hold one label or number for each row of X, got the text {!r}; the name of a column is for tables"
    " in parts: here give X without that column, X.drop(columns=...), and the column as y"
)
_Y_ALONE_OF_DASK = (
    "y must be in memory where X is, got a collection of Dask; pass y.compute(), or both X and y of Dask"
)
_IN_PARTS = (
    "X must be a table in memory, got one in parts ({}); call the method for each part, such as"
    " [model.predict(part) for part in parts], or for a Dask frame frame.map_partitions(model.predict)"
)
_END = object()


def in_parts(parts: Parts) -> Table:
    """Return the table of some parts, whose rows are `Given`."""
    return Table(InParts(parts))


def table_in_parts(X: Any, y: Any) -> Table | None:
    """Return a table in parts, of rows as they are given, or None if it is in memory. No value is read.

    X is a `Table`, a Dask collection, a list of tables or of pairs of these with labels, an object that can
    be iterated over again and again, such as a data set of Arrow, or a function that returns an iterable of
    such parts. y is the name of the column of labels, or a list of names; labels in parts like those of X; or
    None. What can be read only once, and labels in other parts or with another index, are refused.
    """
    if isinstance(X, Table):
        return X
    if is_dask(X, "X"):
        return in_parts(DaskParts.of(X, y))
    if of_dask(y):
        raise TypeError(_Y_ALONE_OF_DASK)
    # A list beside a table of Arrow in memory holds the labels of its rows.
    named = y is None or isinstance(y, str) or (is_name(y) and not is_arrow(X))
    make = None if is_arrow(X) and not named else _maker_of_tables(X)
    if make is None:
        if isinstance(y, str):
            raise TypeError(_refused(X, y))
        check_index("y", y, X)
        return None
    if named:
        return in_parts(InTurn(lambda: (pair_of(part, y) for part in make())))
    if (problem := _unlike(X, y)) is not None:
        raise TypeError(_Y_OF_PARTS.format(*problem))
    for part, labels in zip(make(), y, strict=True):
        check_index("y", labels, part)
    pairs = InTurn(lambda: ((table_of(part), labels) for part, labels in zip(make(), y, strict=True)))
    return in_parts(pairs)


def _unlike(X: Any, y: Any) -> tuple[str, str] | None:
    """Return what y is, and advice, unless it holds the labels of each part of the list X."""
    kind = type(y).__name__
    if isinstance(y, int):
        return kind, "columns whose names are numbers are renamed by part.rename(columns=str)"
    if not _is_listed(X):
        return kind, f"for {type(X).__name__} give the name of a column, {_PAIRS}"
    if not isinstance(y, (list, tuple)):
        return kind, f"cut it like X: [first_y, second_y], {_PAIRS}"
    return (f"{len(y)} parts", f"X has {len(X)} parts; cut y like X") if len(y) != len(X) else None


def table_in_memory(X: Any) -> Any:
    """Return a table in memory, one of Arrow as a data frame; refuse a table in parts."""
    if is_arrow(X):
        return table_of(X)
    lazy = of_dask(X) and is_frame(X)  # numpy computes an array of Dask
    if isinstance(X, Table) or lazy or (not of_dask(X) and _maker_of_tables(X) is not None):
        raise TypeError(_IN_PARTS.format(_list_of(X) if _is_listed(X) else type(X).__name__))
    return X


def column_in_parts(values: Any, name: str = "values") -> Table | None:
    """Return one column in parts, or None if the column is in memory. No value is read.

    A list is a column in memory, never a list of parts: a list of arrays may be a list of rows. Tables, and
    what can be read only once, are refused.
    """
    if isinstance(values, Table):
        return values
    if is_dask(values, name):
        if values.ndim != 1:
            raise ValueError(_ONE_COLUMN.format(name, 'ddf["age"], or array[:, 0]'))
        return in_parts(DaskParts([(each, None) for each in partitions(values)]))
    if isinstance(values, Iterator):
        raise TypeError(_ONCE.format(name, f'(part["age"] for part in {_CHUNKS})'))
    if hasattr(values, "to_batches"):
        raise ValueError(_ONE_COLUMN.format(name, 'lambda: (part["age"] for part in data.to_batches())'))
    if _is_listed(values):
        if len(values) and _is_series(_first(values)):
            raise TypeError(_LISTED.format(name))
        return None
    make = _maker(values, name)
    if make is None:
        return None
    return in_parts(InTurn(lambda: ((column_of(part), None) for part in make())))


def _refused(X: Any, name: str) -> str:
    """Return why the name of a column is no y beside X, which is not in parts."""
    if _is_listed(X) and not hasattr(X, "to_pandas"):
        return _UNREAD.format(_list_of(X), advice_on(_first(X)) if len(X) else "give at least one table")
    if is_frame(X) or hasattr(X, "shape"):
        return _Y_IN_MEMORY.format(name)
    return _UNREAD.format(type(X).__name__, advice_on(X))


def _maker_of_tables(X: Any) -> Callable[[], Iterator[Any]] | None:
    """Return a function that returns the parts of a table, or None if the table is in memory."""
    _refuse_unread(X)
    return _maker(X, "X")


def _maker(X: Any, name: str) -> Callable[[], Iterator[Any]] | None:
    """Return a function that returns the parts of the parameter `name`, or None if it is in memory."""
    if hasattr(X, "to_batches"):  # a data set or a table of Arrow
        return lambda: parts_read(X.to_batches)
    if hasattr(X, "iter_batches"):  # a file of Parquet
        return lambda: parts_read(X.iter_batches)
    if _is_listed(X):
        return (lambda: parts_read(lambda: X)) if len(X) and is_part(_first(X)) else None
    if hasattr(X, "shape") or hasattr(X, "__array__") or isinstance(X, (Collection, type)):
        return None
    if callable(X):
        _check_no_arguments(X, name)
        return _Calls(X, name)
    return (lambda: parts_read(lambda: X)) if hasattr(X, "__iter__") else None


def _check_no_arguments(function: Callable[..., Any], name: str) -> None:
    """Refuse a function that cannot be called without arguments."""
    try:
        given = signature(function).parameters.values()
    except (TypeError, ValueError):  # some functions that are not written in Python do not tell
        return
    needed = [
        each.name
        for each in given
        if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
    ]
    if needed:
        raise TypeError(
            f"{name} must be a function without arguments, got one that needs {', '.join(needed)}; give their"
            " values within a function: lambda: function(...)"
        )


def _refuse_unread(X: Any) -> None:
    """Refuse what is read or computed before it is a table, or can be read only once."""
    if isinstance(X, (str, PathLike)):
        raise TypeError(_PATH)
    if type(X).__name__ == "LazyFrame":
        raise TypeError(LAZY)
    of_columns = isinstance(X, Mapping) and not hasattr(X, "shape")  # some sparse matrices are mappings
    if of_columns or hasattr(type(X), "to_arrow_reader"):
        raise TypeError(_UNREAD.format(type(X).__name__, advice_on(X)))
    if isinstance(X, Iterator):
        raise TypeError(_ONCE.format("X", _CHUNKS))
    if _is_listed(X) and len(X) and _is_reader(_first(X)):
        raise TypeError(_UNREAD.format(_list_of(X), advice_on(_first(X))))


def parts_read(make: Callable[[], Iterable[Any]]) -> Iterator[Any]:
    """Yield the parts of one pass, which code of others makes; its errors are raised without their texts."""
    parts = reading(lambda: iter(make()))
    while (part := reading(lambda: next(parts, _END))) is not _END:
        yield part


def _first(X: Any) -> Any:
    return reading(lambda: X[0])


def _is_listed(X: Any) -> bool:
    """Return whether X is a list or a similar sequence, of rows or of parts."""
    sequence = hasattr(X, "__len__") and hasattr(X, "__getitem__") and not isinstance(X, (str, Mapping))
    return sequence and not (is_frame(X) or hasattr(X, "shape") or hasattr(X, "to_batches"))


def _is_reader(part: Any) -> bool:
    """Return whether an element of a list has to be read or computed before it is a table."""
    unread = isinstance(part, PathLike) or type(part).__name__ == "LazyFrame"
    return unread or of_dask(part) or (hasattr(part, "to_batches") and not is_arrow(part))


def _is_series(part: Any) -> bool:
    """Return whether an element of a list is a series of pandas or polars, or a column of Arrow."""
    return len(getattr(part, "shape", ())) == 1 and hasattr(part, "to_list")


def _list_of(X: Any) -> str:
    """Return what a list holds, for messages: the type of its elements."""
    return f"a list of {type(_first(X)).__name__}" if len(X) else "an empty list"


class _Calls:
    """The parts that a function returns, which must be new ones at each call.

    After the first pass the function is called for the second one. So an iterator that it returns again and
    again, and that is read once, is refused before anything is charged.
    """

    def __init__(self, function: Callable[[], Any], name: str):
        self._function, self._name = function, name
        self._next: Iterator[Any] | None = None
        self._called = False

    def __call__(self) -> Iterator[Any]:
        """Yield the parts of the next pass."""
        parts, self._next = self._next or self._call(), None
        first, self._called = not self._called, True
        yield from parts_read(lambda: parts)
        if first:
            self._next = self._call()
            if self._next is parts:
                raise TypeError(
                    f"{self._name} must be a function that returns new parts at each call, got one that"
                    " returned the same iterator twice; make it within the function, such as lambda:"
                    f" {_CHUNKS}"
                )

    def _call(self) -> Any:
        parts: Any = reading(self._function)
        if hasattr(parts, "to_batches"):
            parts = reading(parts.to_batches)
        if hasattr(parts, "shape") or not hasattr(parts, "__iter__") or isinstance(parts, (str, Mapping)):
            raise TypeError(
                f"{self._name} must be a function that returns an iterable of parts, got one that returns"
                f" {type(parts).__name__}; {advice_on(parts)}"
            )
        return reading(lambda: iter(parts))
