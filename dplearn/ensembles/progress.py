"""A progress bar for the training of teachers."""

import sys
from collections.abc import Callable
from time import monotonic

__all__ = ["Progress"]

_WIDTH = 30


class Progress:
    """A progress bar of one line on standard error, updated after each teacher.

    The elapsed time depends on private records and is not covered by the guarantee: show the bar only to
    people who may see the data.
    """

    def __init__(self, count: int, *, shown: bool, tell: Callable[[], None]):
        self._count, self._shown, self._tell, self._done, self._start = count, shown, tell, 0, monotonic()

    def __call__(self) -> None:
        """Count one more finished teacher."""
        self._done += 1
        self._tell()
        if not self._shown:
            return
        filled = _WIDTH * self._done // self._count
        bar = "#" * filled + "." * (_WIDTH - filled)
        line = f"\r[{bar}] {self._done}/{self._count} teachers, {monotonic() - self._start:.1f} s"
        sys.stderr.write(line + ("\n" if self._done == self._count else ""))
        sys.stderr.flush()
