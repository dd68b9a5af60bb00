"""What all plans have in common: printed, they show one number to a line; in a notebook, a table.

A plan is a frozen dataclass of public numbers, the promise among them, which a `plan` method or function
returns before there are any data. `repr` shows it as Python would write it.

>>> from dataclasses import dataclass
>>> from dplearn.privacy import ApproxDP
>>> @dataclass(frozen=True)
... class CoinPlan(Plan):
...     guarantee: ApproxDP
...     n_needed: int
...     failure: float
>>> print(CoinPlan(ApproxDP(0.5), 1200, 1 / 3))
CoinPlan
  guarantee  epsilon 0.5, delta 0
  n_needed   1200
  failure    0.333333
"""

from collections.abc import Iterator, Mapping
from dataclasses import fields
from html import escape
from typing import Any

from dplearn.privacy.base import Guarantee
from dplearn.privacy.terms import in_words

__all__ = ["Plan"]


class Plan:
    """Base of the frozen dataclasses that say what a fit or a release would promise and need."""

    def __str__(self) -> str:
        rows = list(_rows(self))
        width = max(len(name) for name, _ in rows)
        return "\n".join([type(self).__name__, *(f"  {name:<{width}}  {value}" for name, value in rows)])

    def _repr_html_(self) -> str:
        cells = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in _rows(self))
        return f"<table><caption>{escape(type(self).__name__)}</caption>{cells}</table>"


def _rows(plan: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each number, those of plans within under their own names."""
    for field in fields(plan):
        if field.repr:
            yield from _row(prefix + field.name, getattr(plan, field.name))


def _row(name: str, value: Any) -> Iterator[tuple[str, str]]:
    match value:
        case Guarantee():
            yield name, in_words(value)
        case Plan():
            yield from _rows(value, f"{name}.")
        case Mapping():
            for key, part in value.items():
                yield from _row(f"{name}[{key!r}]", part)
        case float():
            yield name, f"{value:.6g}"
        case _:
            yield name, str(value)
