"""All that an object holds: a private estimator or a ledger may be deep inside, where no parameter names it.

>>> from functools import partial
>>> ledger = object()
>>> any(each is ledger for each in held_by([partial(max, key={"a": lambda _, kept=ledger: kept})]))
True
"""

import gc
import sys
import weakref
from collections.abc import Iterator
from contextlib import suppress
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = ["held_by"]

_SHARED = (type, ModuleType, FrameType, CodeType)  # belong to no object: what they refer to is not followed
#: Packages whose functions use no global variable that a user has set.
_LIBRARIES = sys.stdlib_module_names | {"dplearn", "joblib", "numpy", "pandas", "polars", "scipy", "sklearn"}


def held_by(value: Any) -> Iterator[Any]:
    """Yield an object and all that it holds, directly or not.

    That is all that Python's garbage collector reaches from it, which includes attributes, slots, members of
    lists and dicts, closures and what `functools` wraps, but not through classes and modules; and besides,
    members of object arrays, referents of weak references, parameters of estimators, and the global variables
    that a function of the user's names.

    Parameters
    ----------
    value : object
        An estimator, or anything that may hold one.
    """
    seen: dict[int, Any] = {}
    left = [value]
    while left:
        each = _itself(left.pop())
        if id(each) not in seen and not isinstance(each, _SHARED):
            seen[id(each)] = each  # which keeps it, for else another could get its place
            yield each
            left += _within(each)


def _itself(each: Any) -> Any:
    """Return the object that a weak proxy stands for, or None if that is gone; anything else as it is."""
    if type(each) not in weakref.ProxyTypes:
        return each
    with suppress(ReferenceError):
        return each.__dir__.__self__  # a proxy has no other way to its object
    return None


def _within(each: Any) -> list[Any]:
    """Return what an object refers to directly."""
    if isinstance(each, FunctionType):
        return [part for part in gc.get_referents(each) if part is not each.__globals__] + _globals_of(each)
    found: list[Any] = gc.get_referents(each)
    if (
        isinstance(each, np.ndarray) and each.dtype.hasobject
    ):  # which the garbage collector does not look into
        found += each.ravel().tolist()
    if isinstance(each, weakref.ref):
        found.append(each())
    if hasattr(type(each), "get_params"):  # parameters may be kept in other places than attributes
        found += each.get_params(deep=False).values()
    return found


def _globals_of(function: FunctionType) -> list[Any]:
    """Return the global variables that a function names, and the functions within it."""
    if (function.__module__ or "").partition(".")[0] in _LIBRARIES:
        return []
    codes = [function.__code__]
    for code in codes:
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    named = {name for code in codes for name in code.co_names}
    return [function.__globals__[name] for name in named if name in function.__globals__]
