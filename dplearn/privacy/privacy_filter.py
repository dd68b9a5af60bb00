"""The privacy filter of a ledger: the cost of a release, the sum of costs, and refusal beyond the budget."""

import json
from dataclasses import dataclass
from decimal import ROUND_FLOOR
from fractions import Fraction

from dplearn.privacy.guarantees import (
    PROTECTS,
    ApproxDP,
    Guarantee,
    ZeroConcentratedDP,
    amounts,
    in_words,
    with_amounts,
)
from dplearn.privacy.unknown_count import TAKING_ADDED

_KINDS = (ApproxDP, ZeroConcentratedDP)
_DELTA = 1e-5  # the delta that errors advise: enough for several releases of 1e-6 each
#: What to do about a release that protects less than the ledger.
_PROTECTING = {
    "examples": "pass groups=, the group of each row, to the fit or the release; what a plan costs with"
    " groups is dataclasses.replace(plan.guarantee, protects='groups')",
    "labels": "open PrivacyLedger(..., protects='labels')",
}
_MOST_BITS = 14_000  # about 4200 digits; Python writes integers of at most 4300


@dataclass(frozen=True)
class PrivacyFilter:
    """Adds the costs of adaptively chosen releases and refuses a sum beyond the budget.

    **Privacy.** All accepted releases together have the guarantee `budget`, also if an analyst chooses each
    release after seeing the earlier ones and stops at a refusal.

    **Source.** Rogers, Roth, Ullman and Vadhan (2016) for (epsilon, delta), Feldman and Zrnic (2021) for rho:
    plain sums. A sharper composition theorem is not valid for adaptively chosen costs.
    """

    budget: Guarantee  # its kind decides which numbers add: epsilon and delta, or rho
    allow_reproducible: bool = False  # whether releases with reproducible noise are accepted

    def __post_init__(self) -> None:
        if _is_long(self.budget):
            raise ValueError(f"budget must be of numbers with at most {_MOST_BITS} bits, to be kept exactly")

    @property
    def nothing(self) -> Guarantee:
        """The total cost of no releases: zero, in the budget's kind."""
        return with_amounts(self.budget, dict.fromkeys(amounts(self.budget), Fraction(0)))

    def cost(self, guarantee: Guarantee) -> Guarantee:
        """Return the cost of a release, in the budget's kind and for the budget's neighbours."""
        if type(guarantee) not in _KINDS:  # a subclass could override methods
            names = " or ".join(kind.__name__ for kind in _KINDS)
            raise TypeError(f"guarantee must be an {names}, got {type(guarantee).__name__}")
        if guarantee.reproducible and not self.allow_reproducible:
            raise LedgerError(
                "a fit with random_state set is charged only to a ledger opened with allow_reproducible=True,"
                " for tests: noise that can be drawn again can be subtracted"
            )
        budget = self.budget
        if PROTECTS.index(guarantee.protects) > PROTECTS.index(budget.protects):
            raise LedgerError(
                f"the release protects {guarantee.protects!r}, which implies no guarantee for what the ledger"
                f" protects, {budget.protects!r}: {_PROTECTING[guarantee.protects]}"
            )
        numbers = amounts(_of_kind(self._between_neighbors(guarantee), type(budget)))
        cost = with_amounts(budget, numbers)
        if _is_long(guarantee) or _is_long(cost):
            raise LedgerError("the release's numbers have too many digits to be kept")
        return cost

    def _between_neighbors(self, guarantee: Guarantee) -> Guarantee:
        """Return the guarantee of a release for the budget's neighbours."""
        if guarantee.neighbors == self.budget.neighbors:
            return guarantee
        if (guarantee.neighbors, self.budget.neighbors) != ("add_remove", "replace_one"):
            raise LedgerError(
                f"the release is for neighbors={guarantee.neighbors!r}, which implies no guarantee for the"
                f" ledger's neighbors={self.budget.neighbors!r}; {TAKING_ADDED}"
            )
        try:
            return guarantee.for_group(2)  # replacing a record is removing one and adding another
        except ValueError:
            raise BudgetExceededError(
                f"the release's delta reaches 1 for the ledger's neighbors={self.budget.neighbors!r}"
            ) from None

    def after(self, spent: Guarantee, cost: Guarantee) -> Guarantee:
        """Return the sum of the spent cost and the cost of one more release."""
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
        """Return the remaining budget."""
        before, most = amounts(spent), amounts(self.budget)
        return with_amounts(self.budget, {name: most[name] - before[name] for name in most})

    def describe(self) -> str:
        """Return the budget and the settings in words."""
        seeded = ", fits with random_state allowed" if self.allow_reproducible else ""
        whom = f"neighbors {self.budget.neighbors}, protects {self.budget.protects}"
        return f"{in_words(self.budget)}, {whom}{seeded}"

    def to_json(self) -> str:
        """Return the filter as a JSON text with exact numbers."""
        budget = json.loads(self.budget.to_json())
        return json.dumps({"budget": budget, "allow_reproducible": self.allow_reproducible})

    @classmethod
    def from_json(cls, text: str) -> "PrivacyFilter":
        """Return the filter that `to_json` wrote; another text raises ValueError, TypeError or KeyError."""
        record = json.loads(text)
        return cls(Guarantee.from_json(json.dumps(record["budget"])), record["allow_reproducible"])


def _advice(cost: Guarantee, budget: Guarantee) -> str:
    """Return advice for a release with a delta and a budget without one; else an empty text."""
    if not isinstance(budget, ApproxDP) or budget.delta or not amounts(cost)["delta"]:
        return ""
    return (
        ". The budget has no delta, and none can be added: fit with delta=0, where the learner can do"
        f" without, or open a new PrivacyLedger(epsilon, delta={_DELTA}) and charge to it what this one has"
        " spent"
    )


def _of_kind(guarantee: Guarantee, kind: type[Guarantee]) -> Guarantee:
    if type(guarantee) is kind:
        return guarantee
    if isinstance(guarantee, ApproxDP) and not guarantee.delta:
        return guarantee.to_zcdp()
    if isinstance(guarantee, ZeroConcentratedDP):
        raise LedgerError(
            "the release guarantees rho, and the ledger adds epsilon and delta: open it with"
            " PrivacyLedger.of_rho, or charge what guarantee.to_approx(delta) gives"
        )
    raise LedgerError(
        f"the release has a delta, {in_words(guarantee)}, and the ledger adds rho: fit with delta=0, where"
        " the learner can do without, or open a ledger with epsilon and delta"
    )


def _is_long(guarantee: Guarantee) -> bool:
    """Return True if a number has too many digits for Python to write."""
    parts = [part for x in amounts(guarantee).values() for part in x.as_integer_ratio()]
    return max(part.bit_length() for part in parts) > _MOST_BITS


class LedgerError(BaseException):
    """A ledger refused a charge, or cannot be read or written; nothing was charged, and nothing must be
    released.

    The class derives from BaseException, as scikit-learn's searches replace every Exception of a fit by a
    score of NaN and continue, which would hide an exhausted budget. `QueriesExhaustedError` is one too.
    """


class BudgetExceededError(LedgerError):
    """A release costs more than the remaining budget; nothing was charged.

    The message lists the requested, spent and remaining amounts and the budget. All four are public.
    """
