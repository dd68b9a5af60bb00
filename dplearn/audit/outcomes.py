"""Freezing of published objects into hashable values that include everything a caller can read from them."""

import importlib
import struct
import sys
import warnings
from collections.abc import Callable, Iterable
from datetime import date, time, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
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

_OF_ANY_CLASS = ("__dict__", "__weakref__", "__module__", "__qualname__")
_PLAIN = frozenset({type(None), int, str, bytes})
_IMMUTABLE = (np.generic, np.dtype, Fraction, Decimal, complex, range, date, time, timedelta)
_CALLABLE = (type, FunctionType, BuiltinFunctionType, MethodType, ModuleType)
_CACHED = type(lru_cache(len))  # a function with a cache; plans keep some

#: Functions that read the content of a built-in type, even if a subclass overrides its methods.
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
    """Return a hashable value, equal for two objects only if a program cannot distinguish them.

    It includes types, memory layouts, orders of dictionaries, private attributes, closures, base arrays of
    views, and the identity of mutable objects, which a caller can read; not the identity of equal immutable
    values, and the line numbers of exceptions. Objects are reduced as by pickle, and by their attributes.

    Parameters
    ----------
    value : object
        Importable functions and classes are represented by their names.

    Returns
    -------
    object
        Hashable.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.audit import freeze
    >>> freeze({"a": [True, 2.5]})
    ('dict', (('a', ('list', (('bool', 1), ('float', '0000000000000440')))),))
    """
    return _Freezer().freeze(value)


@lru_cache(maxsize=4096)
def _is_callable(kind: type) -> bool:
    return issubclass(kind, _CALLABLE)


@lru_cache(maxsize=4096)
def _is_immutable(kind: type) -> bool:
    return issubclass(kind, _IMMUTABLE)


@lru_cache(maxsize=4096)
def _readers(kind: type) -> list[Callable[[Any], Any]]:
    """Return the functions that read the content of a class's built-in bases."""
    return [take for base, take in _CONTENT.items() if issubclass(kind, base)]


@lru_cache(maxsize=4096)
def _fraction(value: Fraction) -> tuple[Any, int]:
    """Return a frozen fraction, and how many mutable objects are met in its reduction."""
    freezer = _Freezer()
    return freezer.reduced(value), freezer.n_met


class _Freezer:
    """Freezes one value; a repeated mutable object is represented by the index of its first occurrence."""

    def __init__(self) -> None:
        self.n_met = 0
        self._met: dict[int, int] = {}
        self._kept: list[Any] = []  # keeps objects alive, so that no id is reused
        self._named: dict[type, Any] = {}

    def freeze(self, value: Any) -> Any:
        kind: Any = type(value)
        if kind in _PLAIN:
            return value
        if kind is bool:  # True == 1 as a key, so a bool carries its type
            return "bool", int(value)
        if kind is float:
            return "float", struct.pack("<d", value).hex()
        if kind in (tuple, frozenset):
            return kind.__name__, self._all(value)
        if kind is type and value in self._named:
            return self._named[value]
        if (_is_callable(kind) or kind is _CACHED) and (name := _name(value)) is not None:
            if kind is type:
                self._named[value] = "name", name
            return "name", name
        if _is_immutable(kind):
            return self._fraction(value) if kind is Fraction else self.reduced(value)
        if id(value) in self._met:
            return "met before", self._met[id(value)]
        self._met[id(value)] = self.n_met
        self.n_met += 1
        self._kept.append(value)
        return self._mutable(kind, value)

    def _fraction(self, value: Fraction) -> Any:
        frozen, n_met = _fraction(value)  # guarantees and plans hold many
        self.n_met += n_met
        return frozen

    def _all(self, values: Iterable[Any]) -> tuple[Any, ...]:
        return tuple([each if type(each) in _PLAIN else self.freeze(each) for each in values])

    def _mutable(self, kind: type, value: Any) -> Any:
        if kind in (list, set):
            return kind.__name__, self._all(value)
        if kind is dict:
            pairs = [k if type(k) in _PLAIN else self.freeze(k) for pair in value.items() for k in pair]
            return "dict", tuple(zip(pairs[::2], pairs[1::2], strict=True))
        if kind is np.ndarray:
            return self._array(value)
        if kind is OneTimeState:  # its content is unreadable; answers from it are published separately
            return "holder", value.closed
        if isinstance(value, BaseException):
            linked = (value.__context__, value.__cause__, value.__suppress_context__)
            return "exception", self.reduced(value), self._all(linked), self._all(kept_by(value).items())
        if isinstance(value, CodeType):
            held = (value.co_code, value.co_consts, value.co_names, value.co_varnames, value.co_freevars)
            return "code", self._all(held)
        return self._callable(value) if _is_callable(kind) else self.reduced(value)

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
        """Return the frozen contents of a function, a class or a method that is not importable."""
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

    def reduced(self, value: Any) -> Any:
        """Return an object as pickle reduces it, with its attributes."""
        kind: Any = type(value)
        slots = [name for name in _all_slots(kind) if hasattr(value, name)]
        # Before the reduction: a partial function has None in it until its dictionary is first asked for.
        hidden = {name: getattr(value, name) for name in slots} | getattr(value, "__dict__", {})
        reduced = _reduced(value)
        if isinstance(reduced, tuple) and isinstance(state := (*reduced, None, None)[2], dict):
            reduced = (*reduced[:2], without_mark(state), *reduced[3:])  # the mark is random bytes
        if isinstance(reduced, str):
            parts: Any = reduced
        else:
            parts = self._all(list(part) if hasattr(part, "__next__") else part for part in reduced)
        content = [take(value) for take in _readers(kind)]
        # Attributes that pickle omits are readable too.
        state = None if _is_state(reduced, hidden) else hidden
        return "object", self._all((kind, content, state)), parts


def _reduced(value: Any) -> Any:
    """Return pickle's reduction of an object, without the warning that private state is omitted."""
    if not isinstance(value, PrivateEstimator):
        return value.__reduce_ex__(4)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "a pickle of")
        return value.__reduce_ex__(4)


def kept_by(error: BaseException) -> dict[str, Any]:
    """Return the attributes of an exception outside its dictionary, such as `obj`."""
    kinds = (GetSetDescriptorType, MemberDescriptorType)
    names = [
        name
        for base in type(error).__mro__
        for name, held in vars(base).items()
        if isinstance(held, kinds) and not name.startswith("__")
    ]
    return {name: getattr(error, name, None) for name in names if name != "args"}


def _name(value: Any) -> str | None:
    """Return the import name of a function, a class or a module, or None if it is not importable."""
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
        found = sys.modules.get(module) or importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, TypeError, ValueError):
        return None
    return found


@lru_cache(maxsize=4096)
def _slots(base: type) -> tuple[str, ...]:
    """Return the attribute names of a class's slots, with private names mangled."""
    slots = base.__dict__.get("__slots__", ())
    named = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(
        f"_{base.__name__.lstrip('_')}{name}" if name.startswith("__") and not name.endswith("__") else name
        for name in named
    )


@lru_cache(maxsize=4096)
def _all_slots(kind: type) -> list[str]:
    return [name for base in kind.__mro__ for name in _slots(base)]


def _is_state(reduced: Any, hidden: dict[str, Any]) -> bool:
    """Return True if pickle's state consists of the attributes, so that they are frozen already."""
    state = reduced[2] if isinstance(reduced, tuple) and len(reduced) > 2 else None
    return (
        isinstance(state, dict)
        and state.keys() == hidden.keys()
        and all(state[name] is hidden[name] for name in hidden)
    )
