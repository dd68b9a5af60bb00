"""What a private computation promises: frozen, exact values that can be compared, converted and filed.

>>> promise = ApproxDP(0.1, assumes=("the set of labels",))
>>> promise
ApproxDP(epsilon=0.1, delta=0, neighbors='replace_one', protects='examples', assumes=('the set of labels',))
>>> promise.implies(ApproxDP(1, assumes=("the set of labels", "every value is finite")))
True
>>> promise.for_group(10).epsilon
Fraction(1, 1)
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from html import escape
from typing import Any

from dplearn._validation import check_choice, check_count, check_number
from dplearn.core.exact import exp_bounds

__all__ = ["ApproxDP"]

NEIGHBORS = ("replace_one", "add_remove")
PROTECTS = ("examples", "labels")
_JSON_VERSION = 1


@dataclass(frozen=True, repr=False)
class ApproxDP:
    """Approximate differential privacy.

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
    protects : {"examples", "labels"}, default="examples"
        Whether a record is a whole example, or its label while its features are public.
    assumes : iterable of str, default=()
        What is taken as public. Each entry can be checked by the caller without seeing the data.
    reproducible : bool, default=False
        True if the noise can be drawn again from a seed: then the guarantee holds only against those who
        do not know the seed, and the release should not leave the house.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    neighbors: str = "replace_one"
    protects: str = "examples"
    assumes: tuple[str, ...] = field(default=())
    reproducible: bool = False

    def __init__(
        self,
        epsilon: Any,
        delta: Any = 0,
        neighbors: str = "replace_one",
        protects: str = "examples",
        assumes: Iterable[str] = (),
        reproducible: bool = False,
    ):
        entries = () if isinstance(assumes, str) else tuple(assumes)
        if isinstance(assumes, str) or not all(isinstance(entry, str) for entry in entries):
            raise TypeError(f"assumes must be a collection of strings, got {assumes!r}")
        if not isinstance(reproducible, bool):
            raise TypeError(f"reproducible must be True or False, got {reproducible!r}")
        values = {
            "epsilon": check_number("epsilon", epsilon, low=0),
            "delta": check_number("delta", delta, low=0, below=1),
            "neighbors": check_choice("neighbors", neighbors, NEIGHBORS),
            "protects": check_choice("protects", protects, PROTECTS),
            "assumes": tuple(dict.fromkeys(entries)),
            "reproducible": reproducible,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def implies(self, other: "ApproxDP") -> bool:
        """Return True if whatever keeps this promise is known to keep `other` too.

        Sound and not complete: a False means that no rule below applies. Smaller epsilon and delta imply
        larger ones; protection of examples implies protection of labels; add_remove implies replace_one at
        twice the epsilon (removing one record and adding another); fewer assumptions imply more; and noise
        that cannot be drawn again implies noise that can.
        """
        steps = 1 if self.neighbors == other.neighbors else 2
        epsilon, delta = self._after_steps(steps)
        return (
            epsilon <= other.epsilon
            and delta <= other.delta
            and (steps == 1 or (self.neighbors, other.neighbors) == ("add_remove", "replace_one"))
            and (self.protects == other.protects or self.protects == "examples")
            and set(self.assumes) <= set(other.assumes)
            and self.reproducible <= other.reproducible
        )

    def for_group(self, k: int) -> "ApproxDP":
        """Return what a person with `k` of the records is promised.

        k steps from neighbour to neighbour give epsilon k and delta times the sum of exp(i epsilon) over
        i < k, rounded up to 20 digits; a delta of 1 or more promises nothing and is refused.

        Parameters
        ----------
        k : int
            At least 1.
        """
        k = check_count("k", k, low=1)
        epsilon, delta = self._after_steps(k)
        if delta >= 1:
            raise ValueError(f"for a group of {k} records delta would reach 1: nothing is promised")
        return ApproxDP(epsilon, delta, self.neighbors, self.protects, self.assumes, self.reproducible)

    def _after_steps(self, k: int) -> tuple[Fraction, Fraction]:
        """Return epsilon and delta between data sets that are k neighbourly steps apart."""
        if k == 1 or not self.delta:
            return k * self.epsilon, self.delta
        growth = Fraction(0)
        for i in range(k):
            growth += exp_bounds(i * self.epsilon)[1]
            if self.delta * growth >= 1:
                break  # and nothing is promised any more
        return k * self.epsilon, Fraction(_rounded_up(self.delta * growth, digits=20))

    def to_json(self) -> str:
        """Return the guarantee as a JSON text, its numbers exact, for filing with a release."""
        return json.dumps(
            {
                "format": "dplearn.ApproxDP",
                "version": _JSON_VERSION,
                "epsilon": str(self.epsilon),
                "delta": str(self.delta),
                "neighbors": self.neighbors,
                "protects": self.protects,
                "assumes": list(self.assumes),
                "reproducible": self.reproducible,
            },
            indent=2,
        )

    @classmethod
    def from_json(cls, text: str) -> "ApproxDP":
        """Return the guarantee that `to_json` wrote.

        Raises
        ------
        ValueError
            If `text` is not such a record, or of a version this release does not know.
        """
        record = json.loads(text)
        if not isinstance(record, dict) or record.pop("format", None) != "dplearn.ApproxDP":
            raise ValueError("not a dplearn.ApproxDP record")
        version = record.pop("version", None)
        if version != _JSON_VERSION or isinstance(version, bool):
            raise ValueError(f"version must be {_JSON_VERSION}, got {version!r}")
        try:
            return cls(**record)
        except TypeError as error:
            raise ValueError(f"not a dplearn.ApproxDP record: {error}") from None

    def sentence(self) -> str:
        """Return the guarantee in words."""
        who = {"examples": "any one record", "labels": "the label of any one record"}[self.protects]
        how = {"replace_one": "replacing", "add_remove": "adding or removing"}[self.neighbors]
        slack = f", except with probability {_decimal(self.delta)}" if self.delta else ""
        return (
            f"Whatever is published, {how} {who} changes its probability by at most a factor of"
            f" exp({_decimal(self.epsilon)}){slack}."
        )

    def __repr__(self) -> str:
        parts = [f"epsilon={_decimal(self.epsilon)}", f"delta={_decimal(self.delta)}"]
        parts += [f"{name}={getattr(self, name)!r}" for name in ("neighbors", "protects", "assumes")]
        if self.reproducible:
            parts.append("reproducible=True")
        return f"ApproxDP({', '.join(parts)})"

    def _repr_html_(self) -> str:
        rows = [
            ("epsilon", _decimal(self.epsilon)),
            ("delta", _decimal(self.delta)),
            ("neighbours", self.neighbors.replace("_", " ")),
            ("protects", self.protects),
            ("assumed public", "; ".join(self.assumes) or "nothing"),
        ]
        if self.reproducible:
            rows.append(("reproducible", "yes: the noise can be drawn again from its seed"))
        cells = "".join(f"<tr><th>{escape(k)}</th><td>{escape(v)}</td></tr>" for k, v in rows)
        return f"<table><caption>{escape(self.sentence())}</caption>{cells}</table>"

    def __reduce__(self) -> tuple[Any, ...]:
        fields = (self.epsilon, self.delta, self.neighbors, self.protects, self.assumes, self.reproducible)
        return ApproxDP, fields


def _rounded_up(x: Fraction, digits: int) -> Decimal:
    return Context(prec=digits, rounding=ROUND_CEILING).divide(Decimal(x.numerator), Decimal(x.denominator))


def _decimal(x: Fraction) -> str:
    """Return x as a decimal: exact where it has a short one, else rounded up to 6 digits."""
    short = f"{float(x):.15g}" if x < 10**300 else "0"
    return short if Fraction(short) == x else f"{_rounded_up(x, digits=6):g}"
