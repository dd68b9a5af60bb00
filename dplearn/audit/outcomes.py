"""What a run lets the world see, as a hashable value: everything that a pickle of it would hold, and more.

>>> import numpy as np
>>> freeze({"a": [True, 2.5]})
('dict', (('a', ('list', (('bool', 1), ('float', '0000000000000440')))),))
"""

import importlib
import struct
import warnings
from collections.abc import Callable, Iterable
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any

import numpy as np

from dplearn.estimator import PrivateEstimator
from dplearn.privacy import OneTimeState
from dplearn.privacy.unrepeatable import without_mark

__all__ = ["freeze", "kept_by"]

_OF_ANY_CLASS = ("__dict__", "__weakref__", "__module__", "__qualname__")
_PLAIN = (type(None), int, str, bytes)
_IMMUTABLE = (np.generic, np.dtype, Fraction, Decimal, complex, range, date, time, timedelta)
_CALLABLE = (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType)

#: How to get at the content of a built-in type, whatever a subclass of it says of itself.
_CONTENT: dict[type, Callable[[Any], Any]] = {
    dict: lambda value: list(dict.items(value)),
    list: lambda value: list(list.__iter__(value)),
    tuple: lambda value: list(tuple.__iter__(value)),
    set: lambda value: list(set.__iter__(value)),
    frozenset: lambda value: list(frozenset.__iter__(value)),
    str: str.__str__,
    bytes: lambda value: bytes.join(b"", [value]),
    int: int.__int__,
    float: float.__float__,
}


def freeze(value: Any) -> Any:
    """Return a hashable stand-in for `value`, equal for two values only if nothing tells them apart.

    Types, dtypes, memory layouts, orders of dictionaries, attributes with a leading underscore, what a
    function closes over, what an array is a view of, and which mutable objects are one and the same all
    count: whoever gets the object can look at them. Objects are taken apart as pickle would do it, and by
    their attributes besides. Not counted: whether two equal immutable values are one object, and the line
    that an exception was raised at.

    Parameters
    ----------
    value : object
        Functions and classes that can be imported stand for their names.
    """
    return _Freezer().freeze(value)


class _Freezer:
    """Freezes one value; an object met again stands for the place where it was met first."""

    def __init__(self) -> None:
        self._met: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no object's place in memory is taken by another meanwhile

    def freeze(self, value: Any) -> Any:
        kind = type(value)
        if kind in _PLAIN:
            return value
        if kind is bool:  # True == 1 as a key, so a bool carries its type
            return "bool", int(value)
        if kind is float:
            return "float", struct.pack("<d", value).hex()
        if kind in (tuple, frozenset):
            return kind.__name__, self._all(value)
        if isinstance(value, _CALLABLE) and (name := _name(value)) is not None:
            return "name", name
        if isinstance(value, _IMMUTABLE):
            return self._object(value)
        if id(value) in self._met:
            return "met before", self._met[id(value)]
        self._met[id(value)] = len(self._met)
        self._kept.append(value)
        return self._mutable(kind, value)

    def _all(self, values: Iterable[Any]) -> tuple[Any, ...]:
        return tuple(map(self.freeze, values))

    def _mutable(self, kind: type, value: Any) -> Any:
        if kind in (list, set):
            return kind.__name__, self._all(value)
        if kind is dict:
            return "dict", tuple((self.freeze(k), self.freeze(v)) for k, v in value.items())
        if kind is np.ndarray:
            return self._array(value)
        if kind is OneTimeState:  # it shows nothing: what is answered from it is published by the answers
            return "holder", value.closed
        if isinstance(value, BaseException):
            linked = (value.__context__, value.__cause__, value.__suppress_context__)
            return "exception", self._object(value), self._all(linked), self._all(kept_by(value).items())
        if isinstance(value, CodeType):
            held = (value.co_code, value.co_consts, value.co_names, value.co_varnames, value.co_freevars)
            return "code", self._all(held)
        return self._callable(value) if isinstance(value, _CALLABLE) else self._object(value)

    def _array(self, array: np.ndarray) -> Any:
        flags = array.flags
        layout = (flags.c_contiguous, flags.f_contiguous, flags.writeable, array.strides)
        items = array.ravel().tolist()
        frozen = tuple(items) if array.dtype.kind in "iub" else self._all(items)
        raw = array.tobytes() if array.dtype.kind == "V" and not array.dtype.hasobject else b""
        dtype = repr(array.dtype.descr), repr(array.dtype.metadata)
        where = array.ctypes.data - array.base.ctypes.data if isinstance(array.base, np.ndarray) else 0
        return "ndarray", dtype, array.shape, layout, where, frozen, raw, self.freeze(array.base)

    def _callable(self, value: Any) -> Any:
        """Return all that a function, a class or a method holds that cannot be imported."""
        if isinstance(value, MethodType):
            return "method", self._all((value.__func__, value.__self__))
        called = _called(value)
        if isinstance(value, BuiltinFunctionType):
            return "method", called, self.freeze(value.__self__)
        if isinstance(value, type):
            own = {k: v for k, v in vars(value).items() if k not in _OF_ANY_CLASS}
            return "class", called, self._all(value.__bases__), self.freeze(own)
        cells = tuple(cell.cell_contents for cell in value.__closure__ or ())
        held = (value.__code__, cells, value.__defaults__, value.__kwdefaults__)
        return "function", called, self._all((*held, value.__dict__, value.__doc__, value.__annotations__))

    def _object(self, value: Any) -> Any:
        reduced = _reduced(value)
        if isinstance(reduced, tuple) and isinstance(state := (*reduced, None, None)[2], dict):
            reduced = (*reduced[:2], without_mark(state), *reduced[3:])  # random bytes tell nothing
        if isinstance(reduced, str):
            parts: Any = reduced
        else:
            parts = self._all(list(part) if hasattr(part, "__next__") else part for part in reduced)
        content = [take(value) for kind, take in _CONTENT.items() if isinstance(value, kind)]
        slots = [name for base in type(value).__mro__ for name in _slots(base) if hasattr(value, name)]
        hidden = {name: getattr(value, name) for name in slots} | getattr(value, "__dict__", {})
        # What pickle leaves out is still there to be looked at.
        state = None if _is_state(reduced, hidden) else hidden
        return "object", self._all((type(value), content, state)), parts


def _reduced(value: Any) -> Any:
    """Return what pickle would make of an object; that it would leave private state behind is no outcome."""
    if not isinstance(value, PrivateEstimator):
        return value.__reduce_ex__(4)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "a pickle of")
        return value.__reduce_ex__(4)


def kept_by(error: BaseException) -> dict[str, Any]:
    """Return what an exception keeps in attributes that are no part of its dictionary, such as `obj`."""
    kinds = (GetSetDescriptorType, MemberDescriptorType)
    names = [
        name
        for base in type(error).__mro__
        for name, held in vars(base).items()
        if isinstance(held, kinds) and not name.startswith("__")
    ]
    return {name: getattr(error, name, None) for name in names if name != "args"}


def _name(value: Any) -> str | None:
    """Return the name that a function, a class or a module can be imported by, if it can."""
    if isinstance(value, MethodType):
        return None
    of_object = isinstance(value, BuiltinFunctionType) and not isinstance(
        value.__self__, (ModuleType, type(None))
    )
    importable = isinstance(value, (BuiltinFunctionType, ModuleType)) and not of_object
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", value.__name__)
    return _called(value) if importable or _imported(module, name) is value else None


def _called(value: Any) -> str:
    return f"{getattr(value, '__module__', None)}.{getattr(value, '__qualname__', value.__name__)}"


def _imported(module: Any, name: str) -> Any:
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, TypeError, ValueError):
        return None
    return found


def _slots(base: type) -> tuple[str, ...]:
    """Return the names that a class's slots are kept under: longer ones for two leading underscores."""
    slots = base.__dict__.get("__slots__", ())
    named = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(
        f"_{base.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
        for name in named
    )


def _is_state(reduced: Any, hidden: dict[str, Any]) -> bool:
    """Return True if pickle's state is the attributes themselves, so that they are frozen already."""
    state = reduced[2] if isinstance(reduced, tuple) and len(reduced) > 2 else None
    return (
        isinstance(state, dict)
        and state.keys() == hidden.keys()
        and all(state[name] is hidden[name] for name in hidden)
    )
