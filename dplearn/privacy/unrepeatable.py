"""Keep releases out of caches: a release that a cache repeats tells that two tables are equal.

`joblib.Memory` recognises a repeated call by the pickles of its arguments. If a fit on an equal table is
taken from its cache, the second release has the noise of the first and is not charged, so it shows that the
two tables are equal. No object that releases something is therefore pickled alike twice.
"""

import inspect
import os
from typing import Any

__all__ = ["MARK", "Unrepeatable", "UnrepeatablePickles", "refuse_cache", "without_mark"]

#: Name of the entry of a pickled state that differs from pickle to pickle.
MARK = "_unrepeatable"
_CACHE, _PACKAGE = "joblib.memory", "dplearn"


class Unrepeatable:
    """An object that is never pickled alike twice."""

    def __init__(self, written: bytes = b""):
        """Forget what was written."""

    def __reduce__(self) -> tuple[Any, ...]:
        return Unrepeatable, (os.urandom(16),)


class UnrepeatablePickles:
    """Base of all objects that release something.

    Each pickle has random bytes in it, which unpickling drops: equality, copies and parameters are as if they
    were not there.
    """

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, and a mark that no cache knows again."""
        state: dict[str, Any] | None = super().__getstate__()  # type: ignore[assignment]
        return (state or {}) | {MARK: Unrepeatable()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over a pickled state."""
        kept = without_mark(state)
        inherited = getattr(super(), "__setstate__", self.__dict__.update)
        inherited(kept)


def without_mark(state: dict[str, Any]) -> dict[str, Any]:
    """Return a pickled state without its mark.

    Parameters
    ----------
    state : dict
        Is not changed.
    """
    return {name: value for name, value in state.items() if name != MARK}


def refuse_cache(name: str) -> None:
    """Refuse to release anything if a cache of joblib called into this package directly.

    The arguments of a function such as `quantiles` are the caller's own, so that the cache would know them
    again. A function of the caller's that is cached, and calls into this package, cannot be told from others.

    Parameters
    ----------
    name : str
        Of the release, for the message.

    Raises
    ------
    TypeError
        If the first caller outside this package is `joblib.Memory`.
    """
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        frame = frame.f_back
    if frame is not None and frame.f_globals.get("__name__") == _CACHE:
        raise TypeError(
            f"{name} must not be cached by joblib.Memory: a release that is repeated on an equal table shows"
            " that the tables are equal; call it directly and keep what it returns"
        )
