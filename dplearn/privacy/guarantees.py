"""Privacy guarantees as frozen, exact values: approximate and zero-concentrated differential privacy."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction
from html import escape
from types import MappingProxyType
from typing import Any, ClassVar, Self

from dplearn._documented import documented_by
from dplearn._validation import check_bool, check_choice, check_count, check_number
from dplearn._writing import brief
from dplearn.kernels import exp_bounds, log_bounds
from dplearn.privacy.conversion import as_decimal, concentrated_epsilon, rounded_up

NEIGHBORS = ("replace_one", "add_remove")
#: What a guarantee can protect; each implies protection of those after it.
PROTECTS = ("groups", "examples", "labels")
_JSON_VERSION = 1
#: The scope of a guarantee, and the note of one whose noise has a seed.
_SCOPE = "The cost of this {} alone, if no earlier step learned from its {}."
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
        entries = () if isinstance(assumes, str) else tuple(assumes)
        if isinstance(assumes, str) or not all(isinstance(entry, str) for entry in entries):
            raise TypeError(f"assumes must be a collection of strings, got {brief(assumes)}")
        if (neighbors, protects) == ("add_remove", "labels"):
            raise ValueError(
                "protects='labels' is defined for neighbors='replace_one' only, got neighbors='add_remove': a"
                " label is replaced, and is not added or removed without its example"
            )
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

        The test is sound but not complete. Smaller numbers imply larger ones; protection of groups implies
        that of examples, and that of examples that of labels; add_remove implies replace_one at distance 2
        (twice the epsilon, four times the rho); fewer assumptions imply more; noise that cannot be reproduced
        implies noise that can. At most one conversion between both kinds is applied.

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

    @abstractmethod
    def _follows_from_approx(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Return True if these numbers imply those of this guarantee."""

    @abstractmethod
    def _follows_from_zcdp(self, rho: Fraction) -> bool:
        """Return True if this rho implies the numbers of this guarantee."""

    @abstractmethod
    def for_group(self, k: int) -> Self:
        """Return the guarantee for a person who owns `k` of the records."""

    @abstractmethod
    def sentence(self) -> str:
        """Return the guarantee as an English sentence."""

    @property
    def _unit(self) -> str:
        """The word for what neighbouring data sets differ in."""
        return {"groups": "group", "examples": "record", "labels": "label"}[self.protects]

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
        what : {"fit", "search", "release"}
            The word for what it is the cost of.
        """
        marked = replace(self)
        object.__setattr__(marked, "_cost_of", what)
        return marked

    @property
    def _scope(self) -> str:
        return _SCOPE.format(self._cost_of, "labels" if self.protects == "labels" else "rows")

    def __repr__(self) -> str:
        parts = [f"{name}={decimal(getattr(self, name), self._rounding)}" for name in self._numbers]
        parts += [f"{name}={getattr(self, name)!r}" for name in ("neighbors", "protects")]
        if self._cost_of:
            lines = [self._scope, *([f"reproducible: {_SEEDED}"] * self.reproducible)]
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
        scope = f"{self._scope} " if self._cost_of else ""
        return f"<table><caption>{escape(scope + self.sentence())}</caption>{cells}</table>"

    def __reduce__(self) -> tuple[Any, ...]:
        numbers = tuple(getattr(self, name) for name in self._numbers)
        return type(self), (*numbers, self.neighbors, self.protects, self.assumes, self.reproducible)


def decimal(x: Fraction, rounding: str = ROUND_CEILING) -> str:
    """Return x as a decimal text: exact if 15 digits suffice, else 6 digits, rounded up by default."""
    short = f"{float(x):.15g}" if x < 10**300 else "0"
    if Fraction(short) == x:
        return short
    rounded = as_decimal(x, 6, rounding)
    return format(rounded, "g" if rounded >= Decimal("1e-4") else "e")


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


_GROWTH_DIGITS = 30


@dataclass(frozen=True, repr=False, init=False)
class ApproxDP(Guarantee):
    """The guarantee of (epsilon, delta)-differential privacy.

    For every two neighbouring data sets and every set of outcomes E,
    P[outcome in E] <= exp(epsilon) P'[outcome in E] + delta.

    Parameters
    ----------
    epsilon : int, float, str, Decimal or Fraction
        Nonnegative. A float stands for its shortest decimal, so 0.1 is exactly 1/10.
    delta : int, float, str, Decimal or Fraction, default=0
        At least 0 and below 1.
    neighbors : {"replace_one", "add_remove"}, default="replace_one"
        Neighbouring data sets differ by one replaced record (their number n is public), or by one record
        added or removed.
    protects : {"groups", "examples", "labels"}, default="examples"
        Whether a record consists of all rows of one group, such as those of one person; or is a whole
        example; or is its label, while its features are public. Labels are replaced, and not added or
        removed: "labels" goes with "replace_one" only.
    assumes : iterable of str, default=()
        Statements that the guarantee takes as true and public. The caller can check each of them without
        access to the data.
    reproducible : bool, default=False
        True if the noise can be drawn again from a seed. The guarantee then holds only against an observer
        without the seed, and the release should not be published.

    Examples
    --------
    >>> from dplearn.privacy import ApproxDP
    >>> guarantee = ApproxDP(0.1, assumes=("the set of labels",))
    >>> guarantee.epsilon, guarantee.neighbors, guarantee.protects
    (Fraction(1, 10), 'replace_one', 'examples')
    >>> guarantee.implies(ApproxDP(1, assumes=("the set of labels", "every value is finite")))
    True
    >>> guarantee.for_group(10).epsilon, guarantee.to_zcdp().rho
    (Fraction(1, 1), Fraction(1, 200))
    """

    epsilon: Fraction
    delta: Fraction

    _numbers = ("epsilon", "delta")

    def __init__(
        self,
        epsilon: Any,
        delta: Any = 0,
        neighbors: str = "replace_one",
        protects: str = "examples",
        assumes: Iterable[str] = (),
        reproducible: bool = False,
    ):
        numbers = {
            "epsilon": check_number("epsilon", epsilon, low=0),
            "delta": check_number("delta", delta, low=0, below=1),
        }
        self._set_fields(numbers, neighbors, protects, assumes, reproducible)

    def _implies_after(self, steps: int, other: Guarantee) -> bool:
        return other._follows_from_approx(*self._after_steps(steps))

    def _follows_from_approx(self, epsilon: Fraction, delta: Fraction) -> bool:
        return epsilon <= self.epsilon and delta <= self.delta

    def _follows_from_zcdp(self, rho: Fraction) -> bool:
        return not rho or (self.delta > 0 and concentrated_epsilon(rho, self.delta) <= self.epsilon)

    def for_group(self, k: int) -> "ApproxDP":
        """Return the guarantee for a person who owns `k` of the records.

        At distance k the epsilon is k epsilon, and the delta is delta times the sum of exp(i epsilon) over
        i < k, rounded up to 20 digits.

        Parameters
        ----------
        k : int
            At least 1.

        Raises
        ------
        ValueError
            If delta would be 1 or more: this guarantees nothing.
        """
        k = check_count("k", k, low=1)
        epsilon, delta = self._after_steps(k)
        if delta >= 1:
            raise ValueError(f"for a group of {k} records delta would reach 1: nothing is guaranteed")
        return replace(self, epsilon=epsilon, delta=delta)

    def _after_steps(self, k: int) -> tuple[Fraction, Fraction]:
        """Return epsilon and delta between data sets at distance k in the neighbour relation."""
        if k == 1 or not self.delta:
            return k * self.epsilon, self.delta
        # The sum is at least k, and at least its last term: in both cases below, delta reaches 1.
        if self.delta * k >= 1 or (k - 1) * self.epsilon >= -log_bounds(self.delta)[0]:
            return k * self.epsilon, Fraction(1)
        return k * self.epsilon, rounded_up(self.delta * _growth(k, self.epsilon), digits=20)

    def to_zcdp(self) -> "ZeroConcentratedDP":
        """Return the zero-concentrated guarantee that pure differential privacy implies: rho = epsilon^2 / 2.

        Raises
        ------
        ValueError
            If delta is not 0: the Renyi divergences may then be infinite.
        """
        if self.delta:
            raise ValueError(f"delta must be 0 for a zero-concentrated guarantee, got {float(self.delta)!r}")
        return ZeroConcentratedDP(
            self.epsilon**2 / 2, self.neighbors, self.protects, self.assumes, self.reproducible
        )

    def sentence(self) -> str:
        slack = f", up to an additive {decimal(self.delta)}" if self.delta else ""
        return (
            f"{self._change()} changes the probability of any set of published outcomes by at most a factor"
            f" of exp({decimal(self.epsilon)}){slack}."
        )


@documented_by(ApproxDP)
@dataclass(frozen=True, repr=False, init=False)
class ZeroConcentratedDP(Guarantee):
    """The guarantee of rho-zero-concentrated differential privacy.

    For every two neighbouring data sets and every order a > 1, the Renyi divergence of order a between the
    two output distributions is at most rho a.

    Parameters
    ----------
    rho : int, float, str, Decimal or Fraction
        Nonnegative. A float stands for its shortest decimal.

    Examples
    --------
    >>> from dplearn.privacy import ZeroConcentratedDP
    >>> float(ZeroConcentratedDP(0.005).to_approx(delta=1e-6).epsilon)
    0.429941468837
    """

    rho: Fraction

    _numbers = ("rho",)

    def __init__(
        self,
        rho: Any,
        neighbors: str = "replace_one",
        protects: str = "examples",
        assumes: Iterable[str] = (),
        reproducible: bool = False,
    ):
        self._set_fields({"rho": check_number("rho", rho, low=0)}, neighbors, protects, assumes, reproducible)

    def _implies_after(self, steps: int, other: Guarantee) -> bool:
        return other._follows_from_zcdp(steps**2 * self.rho)

    def _follows_from_approx(self, epsilon: Fraction, delta: Fraction) -> bool:
        return not delta and epsilon**2 / 2 <= self.rho

    def _follows_from_zcdp(self, rho: Fraction) -> bool:
        return rho <= self.rho

    def for_group(self, k: int) -> "ZeroConcentratedDP":
        """Return the guarantee for a person who owns `k` of the records: k^2 rho.

        Parameters
        ----------
        k : int
            At least 1.

        Notes
        -----
        **Source.** Bun and Steinke (2016), Proposition 1.9.
        """
        return replace(self, rho=check_count("k", k, low=1) ** 2 * self.rho)

    def to_approx(self, delta: Any) -> ApproxDP:
        """Return the approximate guarantee at `delta`, with the least epsilon, rounded up to 12 digits.

        Parameters
        ----------
        delta : int, float, str, Decimal or Fraction
            Above 0 and below 1; 0 is allowed if rho is 0.

        Notes
        -----
        **Source.** Canonne, Kamath and Steinke (2020), Proposition 12, at its best order; see
        `dplearn.privacy.conversion`.
        """
        bound = check_number("delta", delta, low=0, below=1)
        if self.rho and not bound:
            raise ValueError(f"delta must be above 0 unless rho is 0, got {delta!r}")
        epsilon = concentrated_epsilon(self.rho, bound)
        return ApproxDP(epsilon, bound, self.neighbors, self.protects, self.assumes, self.reproducible)

    def sentence(self) -> str:
        return (
            f"{self._change()} changes the distribution of the published outcome by a Renyi divergence of at"
            f" most {decimal(self.rho)} times the order."
        )


def epsilon_of(privacy: Any) -> Fraction:
    """Return the epsilon of an ApproxDP; raise ValueError unless it is positive."""
    return check_number("epsilon", _checked(privacy, ApproxDP).epsilon, above=0)


def delta_of(privacy: Any) -> Fraction:
    """Return the delta of an ApproxDP; raise ValueError unless it is positive."""
    return check_number("delta", _checked(privacy, ApproxDP).delta, above=0)


def rho_of(privacy: Any) -> Fraction:
    """Return the rho of a ZeroConcentratedDP; raise ValueError unless it is positive."""
    return check_number("rho", _checked(privacy, ZeroConcentratedDP).rho, above=0)


def _checked(privacy: Any, kind: type) -> Any:
    """Return `privacy` if it is an instance of `kind`; else raise TypeError."""
    if not isinstance(privacy, kind):
        raise TypeError(f"privacy must be of type {kind.__name__}, got {privacy!r}")
    return privacy


def _growth(k: int, epsilon: Fraction) -> Fraction:
    """Return an upper bound on the sum of exp(i epsilon) over i < k, correct to more than 20 digits."""
    if not epsilon:
        return Fraction(k)
    digits = 2 * _GROWTH_DIGITS + k.bit_length()
    # (exp(k e) - 1) / (exp(e) - 1) increases with e. A tiny e is increased, by at most 10**-30 in k e, so
    # that exp(e) - 1 keeps its digits.
    raised = max(epsilon, Fraction(1, k * 10**_GROWTH_DIGITS))
    return (exp_bounds(k * raised, digits)[1] - 1) / (exp_bounds(raised, digits)[0] - 1)


Guarantee._kinds = MappingProxyType(
    {"dplearn.ApproxDP": ApproxDP, "dplearn.ZeroConcentratedDP": ZeroConcentratedDP}
)
