"""Protection of releases from caches such as `joblib.Memory`, whose repetitions reveal equal tables.

`joblib.Memory` identifies a repeated call by the pickles of its arguments. A cached fit has the noise of the
first and is not charged, which reveals that two tables are equal. So two pickles of an object that makes
releases always differ.
"""

import inspect
import os
from typing import Any

#: Name of the entry of a pickled state that differs between pickles.
MARK = "_unrepeatable"
_CACHE, _PACKAGE = "joblib.memory", "dplearn"


class Unrepeatable:
    """An object whose pickles all differ."""

    def __init__(self, written: bytes = b""):
        """Discard the random bytes of the pickle."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Unrepeatable, (os.urandom(16),)


class UnrepeatablePickles:
    """Base of all objects that make releases: their pickles differ by random bytes that nothing reads."""

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, with a mark that differs between pickles."""
        state: dict[str, Any] | None = super().__getstate__()  # type: ignore[assignment]
        return (state or {}) | {MARK: Unrepeatable()}

    def __dask_tokenize__(self) -> str:
        """Return a name that differs each time, so that no task of Dask is taken for an earlier one."""
        return os.urandom(16).hex()

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Set the state from a pickle, without its mark."""
        kept = without_mark(state)
        inherited = getattr(super(), "__setstate__", self.__dict__.update)
        inherited(kept)


def without_mark(state: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in state.items() if name != MARK}


def refuse_cache(name: str) -> None:
    """Raise TypeError if `joblib.Memory` called a function of this package directly."""
    # The arguments of a function such as `quantiles` belong to the caller, so a cache would recognise a
    # repeated call. A call from within a cached function of the caller cannot be detected.
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    if frame is not None and frame.f_globals.get("__name__") == _CACHE:
        raise TypeError(
            f"{name} must not be cached by joblib.Memory: a release that is repeated on an equal table shows"
            " that the tables are equal; call it directly and store its result"
        )
