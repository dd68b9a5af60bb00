"""Bars of progress: a loop of a public length that goes on for more than two seconds is counted by tqdm.

`progress` is entered once for a piece of work, such as a fit, and loops within it go through `watched`. Only
the outermost loop at a time is counted. The numbers of its steps must be public; times are what a clock
shows. There is no bar without tqdm, outside a terminal or a notebook, and where the environment variable
DPLEARN_PROGRESS is 0.
"""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib import import_module
from time import monotonic
from typing import Any, TypeVar

SECONDS = 2.0  # of work, before which there is no bar
Item = TypeVar("Item")


class _Work:
    """A piece of work, and the bar of its outermost loop."""

    def __init__(self, *, shown: bool):
        self._stream: Any = sys.stderr if shown and is_seen(sys.stderr) else None
        self._start = monotonic()
        self._bar: Any = None
        self.busy = False  # within a loop

    def begin(self, what: str, total: int | None) -> None:
        self.busy, self._what, self._total, self._done = True, what, total, 0
        self.add(0)

    def add(self, finished: int) -> None:
        """Count finished steps; an isolated model has another standard error, and draws nothing."""
        self._done += finished
        if self._stream is None or sys.stderr is not self._stream:
            return
        with suppress(Exception):  # tqdm may be missing; a full disk must not end a fit that has been charged
            if self._bar is not None:
                self._bar.update(finished)
            elif monotonic() - self._start > SECONDS:
                how = {"desc": self._what, "total": self._total, "initial": self._done, "leave": False}
                self._bar = import_module("tqdm.auto").tqdm(**how, file=self._stream)

    def end(self) -> None:
        bar, self._bar, self.busy = self._bar, None, False
        with suppress(Exception):
            if bar is not None:
                bar.close()


_WORK: ContextVar[_Work | None] = ContextVar("_WORK", default=None)


@contextmanager
def progress() -> Iterator[None]:
    """Show the progress of loops within, unless they are within another piece of work, which shows them."""
    if _WORK.get() is not None:
        yield
        return
    with _within(_Work(shown=True)):
        yield


@contextmanager
def unseen() -> Iterator[None]:
    """Show no progress of loops within: their number, or the number of their steps, is private."""
    with _within(_Work(shown=False)):
        yield


@contextmanager
def _within(work: _Work) -> Iterator[None]:
    token = _WORK.set(work)
    try:
        yield
    finally:
        _WORK.reset(token)
        work.end()  # an error may have left a loop unfinished


@contextmanager
def counted(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Yield a function that is told numbers of finished steps; `total` is that of all, if known."""
    work = _WORK.get()
    if work is None:
        yield lambda _: None
    elif work.busy:
        yield lambda _: work.add(0)  # the time of the outer loop's bar goes on
    else:
        work.begin(what, total)
        try:
            yield work.add
        finally:
            work.end()


def watched(items: Iterable[Item], what: str, total: int | None = None) -> Iterator[Item]:
    """Yield the items of a loop, and count them; `total` is their number if they have no length."""
    with counted(what, len(items) if isinstance(items, Sized) else total) as done:
        for item in items:
            yield item
            done(1)


def is_seen(stream: Any) -> bool:
    """Return whether a stream is that of a terminal or of a notebook, and bars are not turned off."""
    if os.environ.get("DPLEARN_PROGRESS") == "0":
        return False
    with suppress(Exception):  # it may be None, closed, or of any class
        return type(stream).__module__.startswith("ipykernel.") or bool(stream.isatty())
    return False
