"""Let no warning of a teacher out: whether it warns, and of what, depends on its shard.

>>> import warnings
>>> with silence():
...     warnings.warn("nobody hears this")
"""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["silence"]

# Python's means of catching warnings save and restore what all threads share. Were every thread to enter
# them for itself, one that leaves last would restore the silence that it found, and no warning of anybody
# would ever be shown again. So the first enters and the last leaves.
_lock = threading.RLock()
_inside: set[object] = set()
_caught: Any = None


@contextmanager
def silence() -> Iterator[None]:
    """Show no warning while anybody is inside.

    An interrupt may come at any time: whatever was done by then is undone.
    """
    visit = object()
    try:
        with _lock:
            _inside.add(visit)
            _begin()
        yield
    finally:
        try:
            _leave(visit)
        except BaseException:  # an interrupt; to leave twice is to leave once
            _leave(visit)
            raise


def _begin() -> None:
    global _caught
    if _caught is None:
        # Recorded and thrown away: not even code that asks for its warnings to be shown shows them.
        _caught = warnings.catch_warnings(record=True)
        _caught.__enter__()
        warnings.simplefilter("ignore")


def _leave(visit: object) -> None:
    global _caught
    with _lock:
        _inside.discard(visit)
        if not _inside and _caught is not None:
            _end()
            _caught = None


def _end() -> None:
    # It changes nothing before it has saved everything: one that cannot be left has changed nothing.
    with suppress(RuntimeError, AttributeError):
        _caught.__exit__(None, None, None)
