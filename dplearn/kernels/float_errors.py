"""Decorators that ignore floating-point errors while private rows are read or summed.

`np.seterr` and `scipy.special.seterr` are settings of the whole program, with which one record of a tiny or
huge number could raise an error, show a warning or call a function. What reads private rows therefore ignores
all floating-point errors, and restores the caller's settings.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from types import FunctionType
from typing import Any, ClassVar, ParamSpec, TypeVar

import numpy as np
from scipy import special

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


@contextmanager
def float_errors_ignored() -> Iterator[None]:
    """Ignore the floating-point errors of numpy and of scipy.special, and restore the caller's settings."""
    with np.errstate(all="ignore"), scipy_errors_ignored():
        yield


@contextmanager
def scipy_errors_ignored() -> Iterator[None]:
    """Ignore the errors of scipy.special, in a hundredth of the time that `special.errstate` takes."""
    before: Any = special.geterr()
    quiet = {name: "ignore" for name in before if name != "memory"}  # that memory is lacking shows no value
    try:
        if not quiet.items() <= before.items():
            special.seterr(**quiet)  # type: ignore[arg-type]  # stub: "ignored"
        yield
    finally:
        if special.geterr() != before:
            special.seterr(**before)


def ignores_float_errors(function: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return a function, no generator, that runs with floating-point errors ignored; it adds a frame."""

    @wraps(function)
    def quiet(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with float_errors_ignored():
            return function(*args, **kwargs)

    return quiet


class IgnoresFloatErrors:
    """Base of classes whose methods on rows, `row_methods`, ignore float errors, in all subclasses."""

    # A method behind a descriptor must be decorated explicitly, as `estimator.base.available_where` does.

    row_methods: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name in cls.row_methods & vars(cls).keys():
            if isinstance(method := vars(cls)[name], FunctionType):
                setattr(cls, name, ignores_float_errors(method))
