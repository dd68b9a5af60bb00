"""Refuse models whose methods have been replaced, by autologging for example, before they see private rows.

The code of a method that came with its class is trusted; code that was put in its place later may log, count
or send what it sees. Python does not record which is which, so the rule goes by packages. Each function that
a method consists of (a decorator's, and the function that it wraps, down to the innermost) must be code of
the package in which the class that holds the method is defined, of scikit-learn or dplearn, of Python's
`functools` or `contextlib`, or of a package that the class's own module imports, as it does for a decorator.
Any other counts as a replacement. This holds for all classes from which a model and the models inside it
inherit, for classes of models that their code names, and for methods that are set on one object alone. A
replacement by code of the class's own package is not noticed, and neither is one by compiled code.

>>> from textwrap import shorten
>>> from sklearn.linear_model import LinearRegression
>>> model = LinearRegression()
>>> check_own_code("estimator", model)
>>> model.predict = shorten
>>> check_own_code("estimator", model)
Traceback (most recent call last):
    ...
ValueError: estimator must run the code of its own classes on private rows, but LinearRegression.predict has \
been replaced by code of textwrap; undo this, such as by mlflow.sklearn.autolog(disable=True), or start a \
new process without it
"""

import re
import sys
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

from dplearn.privacy.held import held_by

__all__ = ["check_own_code"]

_METHOD = re.compile("_*(fit|partial_fit|predict|decision_function|score|transform|inverse_transform)")
#: What functions, methods, properties, partial objects and scikit-learn's descriptors hold.
_INNER = ("__wrapped__", "__func__", "fget", "func", "fn")
_DEEPEST = 50  # some objects, such as mocks, hold others without end
_EVERYWHERE = {"builtins", "contextlib", "dplearn", "functools", "sklearn"}


def check_own_code(name: str, estimator: Any) -> None:
    """Raise an error if a method of a model, or of one inside it, is not the one of its class.

    Parameters
    ----------
    name : str
        The name of the parameter, for the message.
    estimator : object
        A model, fitted or not. Objects without a method `fit`, `predict` or `transform` pass.

    Raises
    ------
    ValueError
        If code of another package has replaced a method; depends on classes only, and runs none of them.
    """
    left: list[Any] = []
    for held in held_by(estimator):
        kind = type(held)
        left.append(kind)
        if _is_model(kind):
            own = vars(held) if hasattr(held, "__dict__") else {}
            _check(name, kind, {each: own[each] for each in own if callable(getattr(kind, each, None))})
    seen: set[type] = set()
    while left:
        kind = left.pop()
        if not _is_model(kind) or kind in seen:
            continue
        for base in [each for each in kind.__mro__ if each not in seen]:
            seen.add(base)
            if base.__module__ != "abc":  # a class made by a call of `type`, which names no module
                _check(name, base, vars(base))
            left += _named_by(base)


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and any(hasattr(kind, each) for each in ("fit", "predict", "transform"))


def _check(name: str, kind: type, attributes: Any) -> None:
    """Raise an error if one of some attributes is a method that consists of foreign code."""
    for method, value in attributes.items():
        if not _METHOD.match(method) or isinstance(value, type):
            continue
        for layer in _layers(value):
            home = _home(layer)
            if home not in _EVERYWHERE | {_package(kind.__module__)} and home not in _imported(kind):
                raise ValueError(
                    f"{name} must run the code of its own classes on private rows, but"
                    f" {kind.__name__}.{method} has been replaced by code of {home}; undo this, such as by"
                    " mlflow.sklearn.autolog(disable=True), or start a new process without it"
                )


def _layers(value: Any) -> Iterator[Any]:
    """Yield an attribute of a class, what it wraps, and what a context manager as a decorator holds."""
    if type(value) is FunctionType and not vars(value) and _home(value) != "contextlib":  # holds nothing
        yield value
        return
    left, seen = [value], list[Any]()
    while left and len(seen) < _DEEPEST:
        layer = left.pop()
        if any(layer is each for each in seen):
            continue
        seen.append(layer)
        yield layer
        if callable(layer) or hasattr(layer, "__get__"):
            left += [getattr(layer, each) for each in _INNER if getattr(layer, each, None) is not None]
        if type(layer) is FunctionType and _home(layer) == "contextlib":
            left += [cell.cell_contents for cell in layer.__closure__ or ()]


def _home(layer: Any) -> str:
    """Return the package of the code of a function; of another object, that of its class."""
    of_function = type(layer) is FunctionType or type(layer).__name__ == "cython_function_or_method"
    module = layer.__globals__.get("__name__") if of_function else type(layer).__module__
    return _package(module)


def _package(module: Any) -> str:
    return str(module).partition(".")[0]


def _imported(kind: type) -> set[str]:
    """Return the packages that the module of a class imports, or of which it imports functions or classes.

    Other values do not count, and neither do functions of other names: autologging may have put them there.
    """
    module = vars(sys.modules.get(kind.__module__, ModuleType("")))
    return {
        _package(each.__name__ if isinstance(each, ModuleType) else each.__module__)
        for name, each in list(module.items())
        if isinstance(each, ModuleType) or (isinstance(each, (FunctionType, type)) and each.__name__ == name)
    }


def _named_by(kind: type) -> list[Any]:
    """Return the values of the global names in the code of a class."""
    functions = [
        layer
        for value in list(vars(kind).values())
        for layer in _layers(value)
        if type(layer) is FunctionType
    ]
    return [each.__globals__.get(name) for each in functions for name in each.__code__.co_names]
