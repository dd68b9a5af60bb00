"""In which order several quantiles are found: the middle one, then those on its left and on its right.

>>> for level in halving([Fraction(i, 4) for i in (1, 2, 3)], finest=100):
...     print([(step.place, str(step.fraction), step.sensitivity) for step in level])
[(1, '1/2', 2)]
[(0, '1/2', 2), (2, '1/2', 2)]
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

__all__ = ["Step", "finest_fraction", "halving", "rank_sensitivity"]

_COARSE = 1 << 10


@dataclass(frozen=True)
class Step:
    """One quantile to find, between two that are found already.

    Attributes
    ----------
    place : int
        Which one, among all in rising order.
    low, high : int
        Between which; -1 and the number of all stand for the ends of the domain.
    fraction : Fraction
        What part of the data between these two are wanted below it.
    alone : bool
        Whether it is the only one of its level: a replaced record stays where it is, or leaves, or enters.
    """

    place: int
    low: int
    high: int
    fraction: Fraction
    alone: bool

    @property
    def sensitivity(self) -> int:
        """As `rank_sensitivity` has it."""
        return rank_sensitivity(self.fraction, self.alone)


def rank_sensitivity(fraction: Fraction, alone: bool) -> int:
    """Return by how much a replaced record moves b L - a m, L of m data being less than some code.

    Parameters
    ----------
    fraction : Fraction
        a / b, from 0 to 1.
    alone : bool
        Whether no other data are asked for the same budget. If others are, the record may leave here and
        enter there, or the reverse: the number is twice what one added record changes, and counts both.
    """
    a, b = fraction.numerator, fraction.denominator
    # One added moves b L - a m by -a, or by b - a; one replaced, m being the same, by b, 0 or -b.
    return b if alone else 2 * max(a, b - a)


def halving(wanted: Sequence[Fraction], *, finest: int) -> list[list[Step]]:
    """Return the levels of steps, each of which needs only those before.

    Parameters
    ----------
    wanted : sequence of Fraction of length k
        Strictly rising, from 0 to 1.
    finest : int
        Fractions are rounded to the nearest of a denominator of at most this.

    Returns
    -------
    list of list of Step
        As many levels as k has binary digits.
    """
    ends = [*wanted, Fraction(1), Fraction(0)]  # the last is found at place -1
    levels, gaps = [], [(-1, len(wanted))]
    while gaps:
        level = []
        for low, high in gaps:
            place = (low + high) // 2
            part = (ends[place] - ends[low]) / (ends[high] - ends[low])
            level.append(Step(place, low, high, part.limit_denominator(finest), len(gaps) == 1))
        levels.append(level)
        halves = [gap for step in level for gap in ((step.low, step.place), (step.place, step.high))]
        gaps = [(low, high) for low, high in halves if high - low > 1]
    return levels


def finest_fraction(n: int) -> int:
    """Return the greatest denominator of fractions of n data: rounding to it moves no rank by 1 or more."""
    return max(n, _COARSE)
