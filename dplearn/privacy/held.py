"""Search for all objects reachable from an object, such as private estimators in nested attributes."""

import gc
import sys
import weakref
from collections.abc import Iterator
from contextlib import suppress
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any

import numpy as np

_SHARED = (type, ModuleType, FrameType, CodeType)  # objects without a single owner are not traversed
#: Packages whose functions use no global variables set by a user.
_LIBRARIES = sys.stdlib_module_names | {"dplearn", "joblib", "numpy", "pandas", "polars", "scipy", "sklearn"}


def held_by(value: Any) -> Iterator[Any]:
    """Yield an object and all objects reachable from it as by the garbage collector, not through classes."""
    # Also members of object arrays, referents of weak references, parameters of estimators, and the global
    # variables used by functions of the user; never through modules.
    seen: dict[int, Any] = {}
    left = [value]
    while left:
        each = _itself(left.pop())
        if id(each) not in seen and not isinstance(each, _SHARED):
            seen[id(each)] = each  # a reference: the id of a deleted object could be reused
            yield each
            left += _within(each)


def _itself(each: Any) -> Any:
    """Return the referent of a weak proxy, or None if it was deleted; any other object is returned itself."""
    if type(each) not in weakref.ProxyTypes:
        return each
    with suppress(ReferenceError):
        return each.__dir__.__self__  # a proxy gives no other access to its referent
    return None


def _within(each: Any) -> list[Any]:
    if isinstance(each, FunctionType):
        return [part for part in gc.get_referents(each) if part is not each.__globals__] + _globals_of(each)
    found: list[Any] = gc.get_referents(each)
    if (
        isinstance(each, np.ndarray) and each.dtype.hasobject
    ):  # the garbage collector does not traverse arrays
        found += each.ravel().tolist()
    if isinstance(each, weakref.ref):
        found.append(each())
    if hasattr(type(each), "get_params"):  # parameters need not be attributes
        found += each.get_params(deep=False).values()
    return found


def _globals_of(function: FunctionType) -> list[Any]:
    """Return the values of the global variables used by a function and its nested functions."""
    if (function.__module__ or "").partition(".")[0] in _LIBRARIES:
        return []
    codes = [function.__code__]
    for code in codes:
        codes += [each for each in code.co_consts if isinstance(each, CodeType)]
    named = {name for code in codes for name in code.co_names}
    return [function.__globals__[name] for name in named if name in function.__globals__]
