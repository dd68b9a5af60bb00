"""The base class of privacy guarantees, and functions that read, replace and format their numbers."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from html import escape
from typing import Any, ClassVar, Self

from dplearn._validation import check_bool, check_choice
from dplearn._writing import brief

NEIGHBORS = ("replace_one", "add_remove")
#: The message for added records of which only the labels are protected.
ADDED_LABELS = (
    "protects='labels' is defined for neighbors='replace_one' only, got neighbors='add_remove': a label is"
    " replaced, and is not added or removed without its example"
)
#: What a guarantee can protect; each implies protection of those after it.
PROTECTS = ("groups", "examples", "labels")
_JSON_VERSION = 1
#: The scope of a guarantee, and the note of one whose noise has a seed.
_SCOPE = "The cost of this {} alone, if no earlier step learned from its rows."
_SEEDED = "not private, the noise can be drawn again from its seed"


@dataclass(frozen=True, repr=False, init=False)
class Guarantee(ABC):
    """Base class of privacy guarantees: neighbours, protected part, assumptions, display and storage.

    A subclass lists the names of its numbers in `_numbers`, and computes these numbers for data sets at
    distance k in the neighbour relation.
    """

    neighbors: str
    protects: str
    assumes: tuple[str, ...]
    reproducible: bool

    # Rounding of displayed numbers without a short decimal: a cost is rounded up.
    _rounding: ClassVar[str] = ROUND_CEILING
    # "fit" or "release" in the guarantee of one, whose first line states this scope.
    _cost_of: ClassVar[str] = ""
    _numbers: ClassVar[tuple[str, ...]]
    # Set once, by the module that defines the kinds: a subclass must not change how stored records are read.
    _kinds: ClassVar[Mapping[str, type["Guarantee"]]]

    def _set_fields(
        self,
        numbers: dict[str, Fraction],
        neighbors: str,
        protects: str,
        assumes: Iterable[str],
        reproducible: bool,
    ) -> None:
        """Check all fields and set them."""
        entries = () if isinstance(assumes, str) else tuple(assumes)
        if isinstance(assumes, str) or not all(isinstance(entry, str) for entry in entries):
            raise TypeError(f"assumes must be a collection of strings, got {brief(assumes)}")
        if (neighbors, protects) == ("add_remove", "labels"):
            raise ValueError(ADDED_LABELS)
        values = numbers | {
            "neighbors": check_choice("neighbors", neighbors, NEIGHBORS),
            "protects": check_choice("protects", protects, PROTECTS),
            "assumes": tuple(dict.fromkeys(entries)),
            "reproducible": check_bool("reproducible", reproducible),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def implies(self, other: "Guarantee") -> bool:
        """Return True if this guarantee is known to imply `other`.

        The test is sound but not complete: False means that none of the following rules applies. Smaller
        numbers imply larger ones. Protection of groups implies protection of examples, and that of examples
        implies protection of labels. A guarantee for
        add_remove implies one for replace_one at distance 2 (one record removed, one added: twice the
        epsilon, four times the rho). Fewer assumptions imply more. Noise that cannot be reproduced implies
        noise that can. `ApproxDP.to_zcdp` and `ZeroConcentratedDP.to_approx` convert between the two kinds;
        at most one conversion is applied.

        Parameters
        ----------
        other : Guarantee
            The guarantee to derive, of either kind.
        """
        steps = 1 if self.neighbors == other.neighbors else 2
        return (
            (steps == 1 or (self.neighbors, other.neighbors) == ("add_remove", "replace_one"))
            and PROTECTS.index(self.protects) <= PROTECTS.index(other.protects)
            and set(self.assumes) <= set(other.assumes)
            and self.reproducible <= other.reproducible
            and self._implies_after(steps, other)
        )

    @abstractmethod
    def _implies_after(self, steps: int, other: "Guarantee") -> bool:
        """Return True if the numbers at distance `steps` imply the numbers of `other`."""

    def _follows_from_approx(self, epsilon: Fraction, delta: Fraction) -> bool:  # noqa: ARG002 (no rule)
        return False

    def _follows_from_zcdp(self, rho: Fraction) -> bool:  # noqa: ARG002 (no rule)
        return False

    @abstractmethod
    def for_group(self, k: int) -> Self:
        """Return the guarantee for a person who owns `k` of the records."""

    @abstractmethod
    def sentence(self) -> str:
        """Return the guarantee as an English sentence."""

    @property
    def _unit(self) -> str:
        """The word for what neighbouring data sets differ in."""
        return "group" if self.protects == "groups" else "record"

    def _change(self) -> str:
        """Return the change between two neighbouring data sets in words, with a capital."""
        part = {
            "groups": "all records of any one group",
            "examples": "any one record",
            "labels": "the label of any one record",
        }[self.protects]
        verb = {"replace_one": "Replacing", "add_remove": "Adding or removing"}[self.neighbors]
        return f"{verb} {part}"

    def to_json(self) -> str:
        """Return the guarantee as a JSON text with exact numbers, to be stored with a release."""
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
        """Return the guarantee from a text of `to_json`; `Guarantee.from_json` reads every kind.

        Parameters
        ----------
        text : str
            JSON.

        Raises
        ------
        ValueError
            If `text` is not such a record, or its format version is not supported.
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
        """Return an equal guarantee that displays its numbers rounded down, for a remaining budget."""
        left = replace(self)
        object.__setattr__(left, "_rounding", ROUND_FLOOR)
        return left

    def of_one(self, what: str) -> Self:
        """Return an equal guarantee whose first displayed line says that it is the cost of one release alone.

        Parameters
        ----------
        what : {"fit", "release"}
            The word for what it is the cost of.
        """
        marked = replace(self)
        object.__setattr__(marked, "_cost_of", what)
        return marked

    def __repr__(self) -> str:
        parts = [f"{name}={decimal(getattr(self, name), self._rounding)}" for name in self._numbers]
        parts += [f"{name}={getattr(self, name)!r}" for name in ("neighbors", "protects")]
        if self._cost_of:
            lines = [_SCOPE.format(self._cost_of), *([f"reproducible: {_SEEDED}"] * self.reproducible)]
            lines.append(f"{type(self).__name__}({', '.join(parts)})")
            return "\n".join([*lines, f"assumed public: {len(self.assumes)} statements, in .assumes"])
        parts.append(f"assumes={self.assumes!r}")
        if self.reproducible:
            parts.append("reproducible=True")
        return f"{type(self).__name__}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        rows = [("reproducible", _SEEDED)] * self.reproducible
        rows += [(name, decimal(getattr(self, name), self._rounding)) for name in self._numbers]
        rows += [
            ("neighbours", self.neighbors.replace("_", " ")),
            ("protects", self.protects),
            ("assumed public", "; ".join(self.assumes) or "nothing"),
        ]
        cells = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows)
        scope = f"{_SCOPE.format(self._cost_of)} " if self._cost_of else ""
        return f"<table><caption>{escape(scope + self.sentence())}</caption>{cells}</table>"

    def __reduce__(self) -> tuple[Any, ...]:
        numbers = tuple(getattr(self, name) for name in self._numbers)
        return type(self), (*numbers, self.neighbors, self.protects, self.assumes, self.reproducible)


def decimal(x: Fraction, rounding: str = ROUND_CEILING) -> str:
    """Return x as a decimal text: exact if 15 digits suffice, else 6 digits, rounded up by default."""
    short = f"{float(x):.15g}" if x < 10**300 else "0"
    if Fraction(short) == x:
        return short
    return f"{Context(prec=6, rounding=rounding).divide(Decimal(x.numerator), Decimal(x.denominator)):g}"


def amounts(guarantee: Guarantee) -> dict[str, Fraction]:
    """Return the numbers of a guarantee as a dict from names to Fractions."""
    return {name: getattr(guarantee, name) for name in guarantee._numbers}


def with_amounts(guarantee: Guarantee, numbers: Mapping[str, Any]) -> Guarantee:
    """Return a copy of a guarantee with other numbers, each an exact number or its text."""
    return replace(guarantee, **numbers)


def decimals(guarantee: Guarantee, rounding: str = ROUND_CEILING) -> dict[str, str]:
    """Return the numbers of a guarantee as a dict from names to decimal texts."""
    return {name: decimal(x, rounding) for name, x in amounts(guarantee).items()}


def in_words(guarantee: Guarantee, rounding: str = ROUND_CEILING) -> str:
    """Return the numbers of a guarantee as one line of text."""
    return ", ".join(f"{name} {number}" for name, number in decimals(guarantee, rounding).items())
