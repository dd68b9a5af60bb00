"""The comparison of a learned rule with the constant labels, for learners of labels without exceptions.

Such a learner may release a rule below the most frequent label where its rules do not decide the labels. A
tenth of epsilon selects among the released rule and the two constant labels.

Privacy: the rule is released, so that a replaced record changes the errors of each of these three candidates
by at most 1; the margin by which the rule leads is public. So the selection costs its epsilon, and the two
costs add up.

Accuracy: let the margin be the excess of a selection among three at beta / 10. Then with probability at least
1 - beta / 10 the selected candidate's errors, less the margin for the rule, are within the margin of the
least. So a constant label is selected only if it makes at most as many errors as the rule, and a selected
rule makes at most twice the margin more than the most frequent label.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.mechanisms.selection import permute_and_flip, selection_excess
from dplearn.privacy import ApproxDP

_SHARE = Fraction(1, 10)  # of epsilon and of beta
_MOST = 1 << 62


@dataclass(frozen=True)
class Comparison:
    """A comparison that a plan states; see the module."""

    epsilon: Fraction
    margin: int  # the errors by which the rule leads

    @property
    def excess(self) -> int:
        """The errors by which the outcome exceeds the most frequent label, probably at most."""
        return 2 * self.margin

    def constant(self, predicted: NDArray[Any], y: NDArray[Any], dice: Dice) -> int | None:
        """Return the label code of the constant rule that takes the place of a released rule, or None."""
        ones = int(np.count_nonzero(y))
        wrong = int(np.count_nonzero(predicted != y))
        errors = np.array([wrong - self.margin, ones, len(y) - ones])
        chosen = permute_and_flip(-errors, privacy=ApproxDP(self.epsilon), dice=dice)
        return chosen - 1 if chosen else None


def compared(epsilon: Fraction, beta: Fraction | float) -> tuple[Comparison, Fraction, Fraction]:
    """Return the comparison of a fit, and what is left of epsilon and of beta for the rule."""
    part, failure = _SHARE * epsilon, _SHARE * Fraction(beta)
    comparison = Comparison(part, floor(min(selection_excess(3, part, failure), float(_MOST))))
    return comparison, epsilon - part, Fraction(beta) - failure
