"""A progress bar for passes over tables in parts, shown in a context.

>>> list(counted(["a", "b"]))  # outside of a context nothing is shown
['a', 'b']
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from contextvars import ContextVar, Token
from importlib import import_module
from typing import Any, Self, TextIO, TypeVar

__all__ = ["PassProgress", "counted"]

Part = TypeVar("Part")


class PassProgress:
    """A context in which fits and releases on tables in parts show a progress bar.

    The bar shows the number of the current pass over the table, and the number of parts that this pass has
    read. It is drawn by tqdm if that is installed, else it is a line of text. For a Dask collection it shows
    passes only. Dask itself shows the parts of a pass (`dask.diagnostics.ProgressBar`, or the dashboard of a
    cluster).

    Parameters
    ----------
    file : file, optional
        Where the bar is written; standard error by default.

    Notes
    -----
    The number of parts is public. The number of passes is a function of public numbers and of released
    values, except that quantiles and learned schemas may need a few passes more or less, depending on how
    many records are near a wanted rank. Such a number of passes, and the times that tqdm shows, depend on
    private records, and the guarantee does not cover them: show the bar only to people who may see the data.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from dplearn.releases import median
    >>> months = [np.arange(400.0), np.arange(600.0)]
    >>> with PassProgress(file=io.StringIO()):  # PassProgress() writes to standard error
    ...     found = median(lambda: months, epsilon=1)
    """

    def __init__(self, file: TextIO | None = None):
        self._file, self._passes = file, 0
        self._tokens: list[Token[PassProgress | None]] = []

    def __enter__(self) -> Self:
        self._tokens.append(_SHOWN.set(self))
        return self

    def __exit__(self, *error: object) -> None:
        _SHOWN.reset(self._tokens.pop())

    def over(self, parts: Iterable[Part], n_parts: int | None) -> Iterator[Part]:
        """Yield the parts of one pass, and show how many of them have been read."""
        self._passes += 1
        bar: Any = None
        # A file that cannot be written must not end a fit that has been charged.
        with suppress(Exception):
            bar = _bar_of()(desc=f"pass {self._passes}", total=n_parts, unit=" parts", file=self._file)
        try:
            for part in parts:
                yield part
                with suppress(Exception):
                    bar.update()
        finally:
            with suppress(Exception):
                bar.close()


_SHOWN: ContextVar[PassProgress | None] = ContextVar("shown", default=None)


def counted(parts: Iterable[Part], n_parts: int | None = None) -> Iterator[Part]:
    """Yield the parts of one pass; within a `PassProgress`, they are counted on its bar.

    Parameters
    ----------
    parts : iterable
        The parts, or the results of tasks on them.
    n_parts : int, optional
        Their number, if it is known.
    """
    shown = _SHOWN.get()
    return iter(parts) if shown is None else shown.over(parts, n_parts)


def _bar_of() -> Callable[..., Any]:
    """Return the class of bars: that of tqdm, if it is installed."""
    try:
        bar: Callable[..., Any] = import_module("tqdm.auto").tqdm
    except ImportError:
        return _Line
    return bar


class _Line:
    """A bar as a line of text, with the methods of tqdm's that are used."""

    def __init__(self, desc: str, total: int | None, unit: str, file: TextIO | None):
        self._begin, self._end, self._n = f"\r{desc}: ", unit if total is None else f"/{total}{unit}", 0
        self._file = sys.stderr if file is None else file
        self._write()

    def update(self) -> None:
        """Count one part."""
        self._n += 1
        self._write()

    def close(self) -> None:
        """End the line."""
        self._file.write("\n")
        self._file.flush()

    def _write(self) -> None:
        self._file.write(f"{self._begin}{self._n}{self._end}")
        self._file.flush()
