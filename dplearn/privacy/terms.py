"""The terms of a ledger: what its budget is, what a release costs under it, and whether that still fits.

>>> from dplearn.privacy.guarantees import ApproxDP
>>> terms = Terms(ApproxDP(1))
>>> terms.cost(ApproxDP(0.25, neighbors="add_remove")).epsilon
Fraction(1, 2)
>>> terms.left(terms.after(terms.nothing, ApproxDP(0.25))).epsilon
Fraction(3, 4)
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from html import escape
from typing import Any

from dplearn.privacy.base import decimal
from dplearn.privacy.errors import BudgetExceededError, LedgerError
from dplearn.privacy.guarantees import ApproxDP, Guarantee, ZeroConcentratedDP

__all__ = ["Terms", "amounts", "decimals", "in_words", "promise_as_html", "with_amounts"]

_KINDS = (ApproxDP, ZeroConcentratedDP)
_DELTA = 1e-5  # of a ledger for several releases of 1e-6 each
_MOST_BITS = 14_000  # some 4200 digits; Python writes integers of 4300 at most


@dataclass(frozen=True)
class Terms:
    """What a ledger was opened for.

    Attributes
    ----------
    budget : Guarantee
        What all releases together may cost. Its kind says what adds: epsilon and delta, or rho.
    allow_reproducible : bool
        Whether releases are charged whose noise can be drawn again.

    Notes
    -----
    **Privacy.** Whoever chooses each release after seeing those before it, stopping when one is refused,
    gets no more than `budget` in all.

    **Source.** For (epsilon, delta), Rogers, Roth, Ullman and Vadhan (2016), on privacy filters; for rho,
    Feldman and Zrnic (2021), order by order. Both are filters by plain sums: a sharper composition theorem
    is not valid where the amounts are chosen along the way.
    """

    budget: Guarantee
    allow_reproducible: bool = False

    def __post_init__(self) -> None:
        if _is_long(self.budget):
            raise ValueError(f"budget must be of numbers with at most {_MOST_BITS} bits, to be kept exactly")

    @property
    def nothing(self) -> Guarantee:
        """What no release costs."""
        return with_amounts(self.budget, dict.fromkeys(amounts(self.budget), Fraction(0)))

    def cost(self, guarantee: Guarantee) -> Guarantee:
        """Return what a release costs, in the budget's kind and for the budget's neighbours.

        Raises
        ------
        TypeError
            If `guarantee` is not one of the kinds of guarantee.
        LedgerError
            If no theorem leads from the one to the other, or the noise can be drawn again.
        """
        if type(guarantee) not in _KINDS:  # a subclass could say one thing and mean another
            names = " or ".join(kind.__name__ for kind in _KINDS)
            raise TypeError(f"guarantee must be an {names}, got {type(guarantee).__name__}")
        if guarantee.reproducible and not self.allow_reproducible:
            raise LedgerError(
                "a fit with random_state set is charged only to a ledger opened with allow_reproducible=True,"
                " for tests: noise that can be drawn again can be subtracted"
            )
        budget = self.budget
        if guarantee.protects not in (budget.protects, "examples"):
            raise LedgerError(
                f"the release protects {guarantee.protects!r}, which says nothing of what the ledger accounts"
                f" for, {budget.protects!r}"
            )
        numbers = amounts(_of_kind(self._between_neighbors(guarantee), type(budget)))
        cost = with_amounts(budget, numbers)
        if _is_long(guarantee) or _is_long(cost):
            raise LedgerError("the release's numbers have too many digits to be kept")
        return cost

    def _between_neighbors(self, guarantee: Guarantee) -> Guarantee:
        """Return what the release promises for the budget's neighbours."""
        if guarantee.neighbors == self.budget.neighbors:
            return guarantee
        if (guarantee.neighbors, self.budget.neighbors) != ("add_remove", "replace_one"):
            raise LedgerError(
                f"the release is for neighbors={guarantee.neighbors!r}, which says nothing of the ledger's,"
                f" neighbors={self.budget.neighbors!r}"
            )
        try:
            return guarantee.for_group(2)  # to replace a record is to remove one and to add another
        except ValueError:
            raise BudgetExceededError(
                f"the release's delta reaches 1 for the ledger's neighbors={self.budget.neighbors!r}"
            ) from None

    def after(self, spent: Guarantee, cost: Guarantee) -> Guarantee:
        """Return what is spent once `cost` is added.

        Raises
        ------
        BudgetExceededError
            If any of the numbers would exceed the budget's.
        LedgerError
            If the exact sum could not be written down.
        """
        before, more, most = amounts(spent), amounts(cost), amounts(self.budget)
        total = {name: before[name] + more[name] for name in most}
        if any(total[name] > most[name] for name in most):
            raise BudgetExceededError(
                f"the release does not fit into the budget: asked {in_words(cost)};"
                f" spent {in_words(spent)}; remaining {in_words(self.left(spent), ROUND_FLOOR)};"
                f" budget {in_words(self.budget)}{_advice(cost, self.budget)}"
            )
        after = with_amounts(self.budget, total)
        if _is_long(after):
            raise LedgerError("the exact sum of all releases has too many digits to be kept")
        return after

    def left(self, spent: Guarantee) -> Guarantee:
        """Return what is not yet spent."""
        before, most = amounts(spent), amounts(self.budget)
        return with_amounts(self.budget, {name: most[name] - before[name] for name in most})

    def describe(self) -> str:
        """Return the terms in words."""
        seeded = ", fits with random_state allowed" if self.allow_reproducible else ""
        whom = f"neighbors {self.budget.neighbors}, protects {self.budget.protects}"
        return f"{in_words(self.budget)}, {whom}{seeded}"

    def to_json(self) -> str:
        """Return the terms as a JSON text, their numbers exact."""
        budget = json.loads(self.budget.to_json())
        return json.dumps({"budget": budget, "allow_reproducible": self.allow_reproducible})

    @classmethod
    def from_json(cls, text: str) -> "Terms":
        """Return the terms that `to_json` wrote; anything else raises ValueError, TypeError or KeyError."""
        record = json.loads(text)
        return cls(Guarantee.from_json(json.dumps(record["budget"])), record["allow_reproducible"])


def _advice(cost: Guarantee, budget: Guarantee) -> str:
    """Return what to do about a release with a delta where the budget has none."""
    if not isinstance(budget, ApproxDP) or budget.delta or not amounts(cost)["delta"]:
        return ""
    return (
        f". The budget has no delta: open the ledger with one, PrivacyLedger(epsilon, delta={_DELTA}), or fit"
        " with delta=0, where the learner can do without"
    )


def _of_kind(guarantee: Guarantee, kind: type[Guarantee]) -> Guarantee:
    """Return what `guarantee` is as one of another kind."""
    if type(guarantee) is kind:
        return guarantee
    if isinstance(guarantee, ApproxDP) and not guarantee.delta:
        return guarantee.to_zcdp()
    if isinstance(guarantee, ZeroConcentratedDP):
        raise LedgerError(
            "the release promises rho, and the ledger adds epsilon and delta: open it with"
            " PrivacyLedger.of_rho, or charge what guarantee.to_approx(delta) gives"
        )
    raise LedgerError(
        f"the release has a delta, {in_words(guarantee)}, and the ledger adds rho: fit with delta=0, where"
        " the learner can do without, or open a ledger with epsilon and delta"
    )


def amounts(guarantee: Guarantee) -> dict[str, Fraction]:
    """Return the numbers of a guarantee, by name."""
    return {name: getattr(guarantee, name) for name in guarantee._numbers}


def _is_long(guarantee: Guarantee) -> bool:
    """Return True if a number has more digits than Python writes."""
    parts = [part for x in amounts(guarantee).values() for part in x.as_integer_ratio()]
    return max(part.bit_length() for part in parts) > _MOST_BITS


def with_amounts(guarantee: Guarantee, numbers: Mapping[str, Any]) -> Guarantee:
    """Return a guarantee with other numbers, each an exact one or its text."""
    return replace(guarantee, **numbers)


def decimals(guarantee: Guarantee, rounding: str = ROUND_CEILING) -> dict[str, str]:
    """Return the numbers of a guarantee as decimals, by name."""
    return {name: decimal(x, rounding) for name, x in amounts(guarantee).items()}


def promise_as_html(promised: Guarantee | None, price: Guarantee | None) -> str:
    """Return what was promised, or else what a fit will spend, as far as that is known, as HTML."""
    if promised is not None:
        return promised._repr_html_()
    return "Not fitted." if price is None else f"Not fitted. A fit will spend {escape(in_words(price))}."


def in_words(guarantee: Guarantee, rounding: str = ROUND_CEILING) -> str:
    """Return the numbers of a guarantee in a line of text."""
    return ", ".join(f"{name} {number}" for name, number in decimals(guarantee, rounding).items())
