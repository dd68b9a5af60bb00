"""The comparison of a learned rule with the constant labels, for learners of labels without exceptions.

A learner of rules alone may release one below the most frequent label. A tenth of epsilon selects, by
permute-and-flip, among the released rule and the two constant labels.

Privacy: the rule is released, so a replaced record changes the errors of each candidate by at most 1; the
margin by which the rule leads is public. The two costs add up.

Accuracy: let the margin be the excess of a selection among three at beta / 10. With probability at least 1 -
beta / 10 the selected candidate's errors, less the margin for the rule, are within the margin of the least.
So a constant label is selected only if it makes at most as many errors as the rule, and a selected rule makes
at most twice the margin more than the most frequent label. If the rule makes at most E errors, a constant
label with an error above alpha is selected with probability at most P[Binomial(n, alpha) <= E], for each of
the two.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.stats import binom

from dplearn.chance.dice import Dice
from dplearn.kernels import least
from dplearn.mechanisms.selection import permute_and_flip, shortfall
from dplearn.privacy import ApproxDP

_SHARE = Fraction(1, 10)  # of epsilon, and of beta


@dataclass(frozen=True)
class Comparison:
    """A comparison that a plan states; see the module."""

    epsilon: Fraction
    beta: float  # the probability of a selection further than the margin from the best
    margin: int  # the errors by which the rule leads

    def states(self, n: int) -> dict[str, float]:
        """Return what a plan states: errors beyond the most frequent label are at most two margins."""
        excess = min(2 * self.margin, n) / n
        return {"excess_of_constant": excess, "epsilon_of_comparison": float(self.epsilon)}

    def failure(self, n: int, alpha: float, errors: int = 0) -> float:
        """Return the probability that it selects a constant label with an error above alpha, at most."""
        return self.beta + 2 * float(binom.cdf(errors, n, alpha))

    def n_needed(self, alpha: float, errors: int = 0) -> int:
        """Return the least number of records for which `failure` is at most twice beta."""
        return least(lambda n: self.failure(n, alpha, errors) <= 2 * self.beta, errors + 1)

    def constant(self, wrong: int, ones: int, n: int, dice: Dice, *, each: int = 1) -> int | None:
        """Return the label code of the constant rule that takes the place of a released rule, or None, from
        the rule's errors `wrong` and the `ones` of n rows with label code 1; a record has `each` rows.
        """
        errors = np.array([wrong - each * self.margin, ones, n - ones])
        chosen = permute_and_flip(-errors, privacy=ApproxDP(self.epsilon), dice=dice, sensitivity=each)
        return chosen - 1 if chosen else None


#: What the numbers of `Comparison.states` are.
NOTES = {
    "excess_of_constant": "on these records, of any labels",
    "epsilon_of_comparison": "to compare the rule with constant labels",
}


def compared(epsilon: Fraction, beta: Fraction | float) -> tuple[Comparison, Fraction, Fraction]:
    """Return the comparison of a fit, and what is left of epsilon and of beta for the rule."""
    part, failure = _SHARE * epsilon, _SHARE * Fraction(beta)
    margin = shortfall(3, part, failure)
    return Comparison(part, float(failure), margin), epsilon - part, Fraction(beta) - 2 * failure
