"""What one part of a table may be: a data frame, an array, a record batch of Arrow, or a pair of one with y.

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
"""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

import numpy as np
from scipy.sparse import issparse

from dplearn._validation import shown
from dplearn.domains.cells import is_frame
from dplearn.records.part_advice import advice_on

__all__ = ["Name", "column_of", "is_arrow", "is_name", "is_part", "pair_of", "table_of", "without"]

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
    """Return the rows and the labels of a part.

    Parameters
    ----------
    part : object
        Private. A table, or a pair of a table and its labels.
    name : str, sequence of str, or None
        The column of the table that holds the labels, or the columns.
    """
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
