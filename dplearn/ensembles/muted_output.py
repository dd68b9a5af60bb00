"""Suppress all warnings while private code runs, since they depend on its shard.

>>> import warnings
>>> with muted_output():
...     warnings.warn("suppressed")
"""

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

__all__ = ["muted_output"]

# `warnings.catch_warnings` saves and restores state that all threads share. If each thread entered its own,
# the last thread to exit could restore the filters of another thread's context, and warnings would stay
# suppressed for ever. So the first thread enters one shared context, and the last thread exits it.
_lock = threading.RLock()
_inside: set[object] = set()
_caught: Any = None


@contextmanager
def muted_output() -> Iterator[None]:
    """Suppress warnings while any thread is inside this context.

    An interrupt may come at any time; the context restores the filters nevertheless.
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
        except BaseException:  # an interrupt; leaving twice is harmless
            _leave(visit)
            raise


def _begin() -> None:
    global _caught
    if _caught is None:
        # Warnings are recorded and dropped: so filters that would show them have no effect.
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
    # `catch_warnings` saves everything before it changes anything: if it cannot exit, it has changed nothing.
    with suppress(RuntimeError, AttributeError):
        _caught.__exit__(None, None, None)
