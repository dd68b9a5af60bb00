"""Advice on objects that have to be read, computed or joined before they are tables in parts.

>>> from pathlib import Path
>>> advice_on(Path("table.parquet"))
'pyarrow.dataset.dataset(paths) reads one or several Parquet files'
>>> advice_on(7)
'pass a function that reads one part after another, such as lambda: (read(path) for path in paths)'
"""

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

from dplearn.domains.cells import is_frame

__all__ = ["advice_on", "of_dask"]


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
    """Return how an object that is no table, or no part of one, can be passed as a table in parts.

    Parameters
    ----------
    given : object
        Private. Only its type and its methods are looked at.
    """
    return next((advice for fits, advice in _ADVICE if fits(given)), _OTHERWISE)
