"""Validation of public parameters; each error states the parameter, the constraint and the value."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields, is_dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from inspect import signature
from numbers import Integral
from operator import ge, gt, le, lt
from typing import Any, Self

import numpy as np

from dplearn._writing import brief, did_you_mean

AUTO = "auto"  # in place of a number that is computed from public values
_ELSEWHERE = {
    "by": "grouped(keys, values), quantiles(values, q, by=...) and describe(frame, by=...) release statistics"
    " of categories"
}


_signature = lru_cache(maxsize=256)(signature)


class Named:
    """Base of classes whose constructor names what it does not take."""

    def __new__(cls, *args: Any, **given: Any) -> Self:
        if args or given:
            check_names(cls, args, given)
        return super().__new__(cls)


def check_names(thing: Any, args: Sequence[Any], given: Mapping[str, Any]) -> None:
    """Refuse what a function or class does not take, such as `eps=1` or a positional epsilon, with a name."""
    known_as, parameters = thing.__name__, list(_signature(thing).parameters.values())
    names = [each.name for each in parameters]
    if any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in parameters):
        return
    if unknown := next((name for name in given if name not in names), None):
        listed = _ELSEWHERE.get(unknown, f"its parameters are {', '.join(names)}")
        raise TypeError(
            f"{known_as} has no parameter {unknown!r}{did_you_mean(unknown, names) or f'; {listed}'}"
        )
    if (most := sum(each.kind is not each.KEYWORD_ONLY for each in parameters)) < len(args):
        budget = "epsilon" in names[most:] and isinstance(args[most], (int, float))
        first = " but the first" * (most > 0) + f" {most}" * (most > 1)
        raise TypeError(
            f"{known_as} takes its parameters{first} by name: write"
            f" {'epsilon' if budget else names[most]}={shown(args[most])}"
        )


def check_constructed(estimator: Any) -> None:
    """Refuse an instance with a parameter that is not set: the default, such as no ledger, would count."""
    for each in fields(estimator) if is_dataclass(estimator) else ():
        if each.init and each.name not in vars(estimator):
            raise AttributeError(
                f"{type(estimator).__name__} has no {each.name!r}: a subclass must call super().__init__"
            )


def as_fraction(value: object) -> Fraction:
    """Return a finite number as an exact fraction; a float stands for its shortest decimal: 0.1 is 1/10."""
    if type(value) is Fraction:
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float, str, Decimal, Fraction)):
        kind = getattr(getattr(value, "dtype", None), "kind", "")
        if kind not in ("i", "u", "f") or getattr(value, "size", 0) != 1:
            raise TypeError(f"expected a number, got {type(value).__name__}")
        value = str(value)  # the shortest decimal of a float32 in its own precision: float32(0.1) gives 0.1
    if isinstance(value, float):
        if not math.isfinite(value):
            raise ValueError(f"expected a finite number, got {value!r}")
        return Fraction(repr(float(value)))
    try:
        return Fraction(value)
    except (OverflowError, ValueError, ZeroDivisionError) as error:
        raise ValueError(f"expected a finite number, got {value!r}") from error


def check_number(
    name: str,
    value: Any,
    *,
    low: float | Fraction | None = None,
    high: float | Fraction | None = None,
    above: float | Fraction | None = None,
    below: float | Fraction | None = None,
) -> Fraction:
    """Return `value` as an exact fraction if it is a finite number within the bounds, else raise.

    `low` and `high` are inclusive, `above` and `below` are exclusive.
    """
    given = (("at least", low, ge), ("at most", high, le), ("above", above, gt), ("below", below, lt))
    bounds = [(words, bound, holds) for words, bound, holds in given if bound is not None]

    def rule() -> str:
        wanted = " and ".join(f"{words} {_written(bound)}" for words, bound, _ in bounds)
        return f"{name} must be a finite number {wanted}".rstrip()

    try:
        number = as_fraction(value)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{rule()}, got {shown(value)}") from None
    if not all(holds(number, _exact(bound)) for _, bound, holds in bounds):
        raise ValueError(f"{rule()}, got {_written(value)}")
    return number


def check_pair(
    name: str, value: Any, *, low: float | None = None, high: float | None = None
) -> tuple[Fraction, Fraction]:
    """Return the ends of a public range, of which the first is below the second, within bounds of both."""
    if isinstance(value, str) or not isinstance(value, (Sequence, np.ndarray)) or len(value) != 2:
        raise ValueError(f"{name} must be a pair (low, high), got {brief(value)}")
    first = check_number(f"low end of {name}", value[0], low=low, high=high)
    return first, check_number(f"high end of {name}", value[1], above=first, high=high)


def is_positive(value: Any) -> bool:
    """Return whether a parameter that has not been checked is a number above 0."""
    try:
        return as_fraction(value) > 0
    except (TypeError, ValueError):
        return False


def _exact(bound: float | Fraction) -> int | Fraction:
    return bound if type(bound) is int else as_fraction(bound)


def check_count(name: str, value: Any, *, low: int = 0, high: int | float = math.inf) -> int:
    """Return `value` as a Python integer if it is an integer within low..high."""
    wanted = f"at least {low}" if high == math.inf else f"from {low} to {_as_power(high)}"
    rule = f"{name} must be {low}" if low == high else f"{name} must be an integer {wanted}"
    if type(value) is not int and (isinstance(value, bool) or not isinstance(value, Integral)):
        raise TypeError(f"{rule}, got {shown(value)}")
    count = int(value)
    if not low <= count <= high:
        raise ValueError(f"{rule}, got {shown(value)}")
    return count


def _as_power(high: int | float) -> str:
    """Return the text of a greatest count; a long power of ten as such."""
    text = str(high)
    return f"10**{len(text) - 1}" if len(text) > 16 and text.strip("0") == "1" else text


def check_goal(alpha: Any, beta: Any) -> tuple[Fraction, Fraction]:
    """Return an error and a probability of failure, both in (0, 1)."""
    return check_number("alpha", alpha, above=0, below=1), check_number("beta", beta, above=0, below=1)


def check_given(name: str, value: Any, *, source: str, low: int = 1) -> int:
    """Return a size that a plan needs; raise an error if it is neither given nor determined by `source`."""
    if value is None:
        raise ValueError(f"{name} must be given, since {source} does not determine it")
    return check_count(name, value, low=low)


def check_count_or_auto(name: str, value: Any, *, low: int = 1) -> int | None:
    """Return None for "auto", else `value` as a Python integer if it is an integer of at least `low`."""
    if not isinstance(value, str):
        return check_count(name, value, low=low)
    if value != AUTO:
        raise ValueError(f"{name} must be {AUTO!r} or an integer at least {low}, got {shown(value)}")
    return None


def check_bool(name: str, value: Any) -> bool:
    """Return `value` as a Python bool if it is True or False, of Python or numpy."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False, got {shown(value)}")
    return bool(value)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {shown(value)}")
    return value


def _written(value: object) -> str:
    """Return the text of a number: for a fraction, its decimal if that is short and exact."""
    if isinstance(value, (int, Fraction)) and not -(10**300) <= value <= 10**300:
        return "a number above 1e300" if value > 0 else "a number below -1e300"
    if not isinstance(value, Fraction):
        return shown(value)
    short = f"{float(value):g}"
    return short if Fraction(short) == value else str(value)


def shown(value: object) -> str:
    """Return the repr of `value`; for a table or a collection only its type and size, as it may be private.

    Python raises an error for the repr of an integer with thousands of digits.
    """
    if shape := getattr(value, "shape", ()):
        return f"{type(value).__name__} of shape {shape}"
    if isinstance(value, Collection) and not isinstance(value, (str, bytes)):
        return f"{type(value).__name__} of length {len(value)}"
    try:
        return repr(value)
    except ValueError:
        return f"a number of type {type(value).__name__} with too many digits to show"
