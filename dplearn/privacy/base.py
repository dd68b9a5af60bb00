"""The base class of guarantees, and functions that read, replace and show their numbers."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from html import escape
from typing import Any, ClassVar, Self

from dplearn._validation import check_choice
from dplearn._writing import brief

__all__ = ["Guarantee", "amounts", "decimal", "decimals", "guarantee_as_html", "in_words", "with_amounts"]

NEIGHBORS = ("replace_one", "add_remove")
PROTECTS = ("examples", "labels")
_JSON_VERSION = 1


@dataclass(frozen=True, repr=False, init=False)
class Guarantee(ABC):
    """Base of the kinds of guarantee: neighbours, protected part, assumptions, display and storage.

    A subclass names its numbers in `_numbers`, and computes them for data sets k neighbourly steps apart.
    """

    neighbors: str
    protects: str
    assumes: tuple[str, ...]
    reproducible: bool

    # How numbers are shown that have no short decimal: what is spent is rounded up.
    _rounding: ClassVar[str] = ROUND_CEILING
    _numbers: ClassVar[tuple[str, ...]]
    # Fixed where the kinds are defined: a subclass must not change what a record on file is read as.
    _kinds: ClassVar[Mapping[str, type["Guarantee"]]]

    def _set_fields(
        self,
        numbers: dict[str, Fraction],
        neighbors: str,
        protects: str,
        assumes: Iterable[str],
        reproducible: bool,
    ) -> None:
        """Check and set all fields, once."""
        entries = () if isinstance(assumes, str) else tuple(assumes)
        if isinstance(assumes, str) or not all(isinstance(entry, str) for entry in entries):
            raise TypeError(f"assumes must be a collection of strings, got {brief(assumes)}")
        if not isinstance(reproducible, bool):
            raise TypeError(f"reproducible must be True or False, got {reproducible!r}")
        if (neighbors, protects) == ("add_remove", "labels"):
            raise ValueError(
                "protects='labels' is defined for neighbors='replace_one' only, got neighbors='add_remove': a"
                " label is replaced, and is not added or removed without its example"
            )
        values = numbers | {
            "neighbors": check_choice("neighbors", neighbors, NEIGHBORS),
            "protects": check_choice("protects", protects, PROTECTS),
            "assumes": tuple(dict.fromkeys(entries)),
            "reproducible": reproducible,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def implies(self, other: "Guarantee") -> bool:
        """Return True if whatever keeps this guarantee is known to keep `other` too.

        Sound and not complete: a False means that no rule below applies. Smaller numbers imply larger
        ones; protection of examples implies protection of labels; add_remove implies replace_one two steps
        on (removing one record and adding another: twice the epsilon, four times the rho); fewer assumptions
        imply more; and noise that cannot be drawn again implies noise that can. From one kind to the other
        lead `ApproxDP.to_zcdp` and `ZeroConcentratedDP.to_approx`; through both at once nothing is followed.
        """
        steps = 1 if self.neighbors == other.neighbors else 2
        return (
            (steps == 1 or (self.neighbors, other.neighbors) == ("add_remove", "replace_one"))
            and (self.protects == other.protects or self.protects == "examples")
            and set(self.assumes) <= set(other.assumes)
            and self.reproducible <= other.reproducible
            and self._implies_after(steps, other)
        )

    @abstractmethod
    def _implies_after(self, steps: int, other: "Guarantee") -> bool:
        """Return True if what holds between data sets so many steps apart is enough for `other`'s numbers."""

    def _follows_from_approx(self, epsilon: Fraction, delta: Fraction) -> bool:  # noqa: ARG002 (no rule)
        return False

    def _follows_from_zcdp(self, rho: Fraction) -> bool:  # noqa: ARG002 (no rule)
        return False

    @abstractmethod
    def for_group(self, k: int) -> Self:
        """Return what a person with `k` of the records is guaranteed."""

    @abstractmethod
    def sentence(self) -> str:
        """Return the guarantee in words."""

    def _whose(self) -> str:
        """Return who is protected against which change."""
        who = {"examples": "any one record", "labels": "the label of any one record"}[self.protects]
        how = {"replace_one": "replacing", "add_remove": "adding or removing"}[self.neighbors]
        return f"{how} {who}"

    def to_json(self) -> str:
        """Return the guarantee as a JSON text, its numbers exact, for filing with a release."""
        record = {"format": f"dplearn.{type(self).__name__}", "version": _JSON_VERSION}
        rest = {
            "neighbors": self.neighbors,
            "protects": self.protects,
            "assumes": list(self.assumes),
            "reproducible": self.reproducible,
        }
        return json.dumps(
            record | {name: str(getattr(self, name)) for name in self._numbers} | rest, indent=2
        )

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the guarantee that `to_json` wrote; `Guarantee.from_json` reads every kind.

        Raises
        ------
        ValueError
            If `text` is not such a record, or of a version this release does not know.
        """
        record = json.loads(text)
        kind = cls._kinds.get(str(record.pop("format", None))) if isinstance(record, dict) else None
        if kind is None or not issubclass(kind, cls):
            raise ValueError(f"not a dplearn.{cls.__name__} record")
        version = record.pop("version", None)
        if version != _JSON_VERSION or isinstance(version, bool):
            raise ValueError(f"version must be {_JSON_VERSION}, got {version!r}")
        try:
            return kind(**record)
        except TypeError as error:
            raise ValueError(f"not a dplearn.{kind.__name__} record: {error}") from None

    def left_over(self) -> Self:
        """Return an equal guarantee for what is not yet spent: it shows its numbers rounded down."""
        left = replace(self)
        object.__setattr__(left, "_rounding", ROUND_FLOOR)
        return left

    def __repr__(self) -> str:
        parts = [f"{name}={decimal(getattr(self, name), self._rounding)}" for name in self._numbers]
        parts += [f"{name}={getattr(self, name)!r}" for name in ("neighbors", "protects", "assumes")]
        if self.reproducible:
            parts.append("reproducible=True")
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        rows = [(name, decimal(getattr(self, name), self._rounding)) for name in self._numbers]
        rows += [
            ("neighbours", self.neighbors.replace("_", " ")),
            ("protects", self.protects),
            ("assumed public", "; ".join(self.assumes) or "nothing"),
        ]
        if self.reproducible:
            rows.append(("reproducible", "yes: the noise can be drawn again from its seed"))
        cells = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows)
        return f"<table><caption>{escape(self.sentence())}</caption>{cells}</table>"

    def __reduce__(self) -> tuple[Any, ...]:
        numbers = tuple(getattr(self, name) for name in self._numbers)
        return type(self), (*numbers, self.neighbors, self.protects, self.assumes, self.reproducible)


def decimal(x: Fraction, rounding: str = ROUND_CEILING) -> str:
    """Return x as a decimal: exact if short, else rounded to 6 digits, upwards by default."""
    short = f"{float(x):.15g}" if x < 10**300 else "0"
    if Fraction(short) == x:
        return short
    return f"{Context(prec=6, rounding=rounding).divide(Decimal(x.numerator), Decimal(x.denominator)):g}"


def amounts(guarantee: Guarantee) -> dict[str, Fraction]:
    """Return the numbers of a guarantee by name."""
    return {name: getattr(guarantee, name) for name in guarantee._numbers}


def with_amounts(guarantee: Guarantee, numbers: Mapping[str, Any]) -> Guarantee:
    """Return a guarantee with other numbers, each exact or a text of an exact number."""
    return replace(guarantee, **numbers)


def decimals(guarantee: Guarantee, rounding: str = ROUND_CEILING) -> dict[str, str]:
    """Return the numbers of a guarantee as decimals by name."""
    return {name: decimal(x, rounding) for name, x in amounts(guarantee).items()}


def in_words(guarantee: Guarantee, rounding: str = ROUND_CEILING) -> str:
    """Return the numbers of a guarantee in one line of text."""
    return ", ".join(f"{name} {number}" for name, number in decimals(guarantee, rounding).items())


def guarantee_as_html(guaranteed: Guarantee | None, cost: Guarantee | None) -> str:
    """Return the guarantee of a fit as HTML; before the fit, its cost if known."""
    if guaranteed is not None:
        return guaranteed._repr_html_()
    return "Not fitted." if cost is None else f"Not fitted. A fit will spend {escape(in_words(cost))}."
