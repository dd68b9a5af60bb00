"""What a run lets the world see, as a hashable value: everything that a pickle of it would hold, and more.

>>> import numpy as np
>>> freeze({"a": [True, 2.5]})
('dict', (('a', ('list', (('bool', 1), ('float', '0000000000000440')))),))
"""

import importlib
import struct
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from dplearn.privacy import PrivateHolder

__all__ = ["freeze"]

_OF_ANY_CLASS = ("__dict__", "__weakref__", "__module__", "__qualname__")
_PLAIN = (type(None), int, str, bytes)


def freeze(value: Any) -> Any:  # noqa: C901 - a case for each kind of value
    """Return a hashable stand-in for `value`, equal for two values only if nothing tells them apart.

    Types, dtypes, memory layouts, orders of dictionaries, attributes with a leading underscore, what a
    function closes over and what an array is a view of all count: whoever gets the object can look at them.
    Objects are taken apart as pickle would do it, and by their attributes besides.

    Parameters
    ----------
    value : object
        Functions and classes that can be imported stand for their names.
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is bool:  # True == 1 as a key, so a bool carries its type
        return "bool", int(value)
    if kind is float:
        return "float", struct.pack("<d", value).hex()
    if kind in (list, tuple):
        return kind.__name__, tuple(map(freeze, value))
    if kind is dict:
        return "dict", tuple((freeze(k), freeze(v)) for k, v in value.items())
    if kind in (set, frozenset):
        return kind.__name__, tuple(map(freeze, value))
    if kind is np.ndarray:
        return _freeze_array(value)
    if kind is PrivateHolder:  # which shows nothing: what is answered from it is published by the answers
        return "holder", value.closed
    if isinstance(value, BaseException):
        linked = (value.__context__, value.__cause__)
        return "exception", _freeze_object(value), tuple(map(freeze, linked))
    if isinstance(value, CodeType):
        held = (value.co_code, value.co_consts, value.co_names, value.co_varnames, value.co_freevars)
        return "code", freeze(held)
    if isinstance(value, (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType)):
        return _freeze_callable(value)
    return _freeze_object(value)


def _freeze_array(array: np.ndarray) -> Any:
    flags = array.flags
    layout = (flags.c_contiguous, flags.f_contiguous, flags.writeable, array.strides)
    plain = array.dtype.kind in "iub"
    items = tuple(array.ravel().tolist()) if plain else tuple(map(freeze, array.ravel().tolist()))
    dtype = repr(array.dtype.descr), repr(array.dtype.metadata)
    return "ndarray", dtype, array.shape, layout, items, freeze(array.base)


def _freeze_callable(value: Any) -> Any:
    """Return the name of what can be imported by it; else all that a function holds."""
    if isinstance(value, MethodType):
        return "method", freeze(value.__func__), freeze(value.__self__)
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", value.__name__)
    if isinstance(value, BuiltinFunctionType) and not isinstance(value.__self__, (ModuleType, type(None))):
        return "method", f"{module}.{name}", freeze(value.__self__)
    if isinstance(value, (BuiltinFunctionType, ModuleType)) or _imported(module, name) is value:
        return "name", f"{module}.{name}"
    if isinstance(value, type):
        own = {k: v for k, v in vars(value).items() if k not in _OF_ANY_CLASS}
        return "class", f"{module}.{name}", tuple(map(freeze, value.__bases__)), freeze(own)
    cells = tuple(cell.cell_contents for cell in value.__closure__ or () if cell.cell_contents is not value)
    held = [cells, value.__defaults__, value.__kwdefaults__, value.__dict__, value.__doc__]
    return "function", f"{module}.{name}", freeze(value.__code__), freeze(held)


def _imported(module: Any, name: str) -> Any:
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, TypeError, ValueError):
        return None
    return found


def _freeze_object(value: Any) -> Any:
    reduced = value.__reduce_ex__(4)
    if isinstance(reduced, str):
        parts: Any = reduced
    else:
        parts = tuple(freeze(list(part) if hasattr(part, "__next__") else part) for part in reduced)
    slots = [name for base in type(value).__mro__ for name in _slots(base) if hasattr(value, name)]
    hidden = {name: getattr(value, name) for name in slots} | getattr(value, "__dict__", {})
    # What pickle leaves out is still there to be looked at.
    state = freeze(hidden) if not _is_state(reduced, hidden) else None
    return "object", freeze(type(value)), parts, state


def _slots(base: type) -> tuple[str, ...]:
    slots = base.__dict__.get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(slots)


def _is_state(reduced: Any, hidden: dict[str, Any]) -> bool:
    """Return True if pickle's state is the attributes themselves, so that they are frozen already."""
    state = reduced[2] if isinstance(reduced, tuple) and len(reduced) > 2 else None
    return (
        isinstance(state, dict)
        and state.keys() == hidden.keys()
        and all(state[name] is hidden[name] for name in hidden)
    )
