"""A bar of text that says how many teachers are done."""

import sys
from collections.abc import Callable
from time import monotonic

__all__ = ["Progress"]

_WIDTH = 30


class Progress:
    """One line on standard error, drawn over as teachers are done.

    Seconds depend on the records that were trained on and no guarantee covers them: the bar is for whoever
    may see the data.

    Parameters
    ----------
    count : int
        Number of teachers.
    shown : bool
        Whether anything is written.
    tell : callable
        Called without arguments for each teacher that is done.
    """

    def __init__(self, count: int, *, shown: bool, tell: Callable[[], None]):
        self._count, self._shown, self._tell, self._done, self._start = count, shown, tell, 0, monotonic()

    def __call__(self) -> None:
        """Count one more."""
        self._done += 1
        self._tell()
        if not self._shown:
            return
        filled = _WIDTH * self._done // self._count
        bar = "#" * filled + "." * (_WIDTH - filled)
        line = f"\r[{bar}] {self._done}/{self._count} teachers, {monotonic() - self._start:.1f} s"
        sys.stderr.write(line + ("\n" if self._done == self._count else ""))
        sys.stderr.flush()
