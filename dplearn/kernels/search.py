"""Searches over integers: the least one that satisfies a monotone condition, and the minimum of a cost."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NEAR = Fraction(1, 1 << 33)  # of a guess
_CUTS = 32  # number of parts into which each round divides the range


def first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the least integer from low to high that satisfies a monotone condition, which `high` does."""
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def least(holds: Callable[[int], bool], low: int) -> int:
    """Return the least integer from low on that satisfies a monotone condition, by doubling."""
    high = start = max(1, low)
    while not holds(high):
        high *= 2
    return first(holds, low if high == start else high // 2 + 1, high)


def between(holds: Callable[[Any], bool], yes: Any, no: Any, guess: float | None) -> Callable[[Any], bool]:
    """Return a monotone condition of a positive number that is computed between numbers with known answers.

    `yes` satisfies it, and `no` does not. Next to a good guess of the boundary it is computed at once: then a
    bisection, whose result the guess does not change, computes it hardly ever.
    """
    known, rising = [yes, no], yes < no

    def answer(x: Any) -> bool:
        if min(known) < x < max(known):
            known[not holds(x)] = x
        return bool(x <= known[0] if rising else x >= known[0])

    if guess is not None:
        near = guess if isinstance(no, float) else Fraction(guess)  # floats are compared faster with floats
        answer(near * (1 - _NEAR))
        answer(near * (1 + _NEAR))
    return answer


def lowest(cost: Callable[[NDArray[np.float64]], NDArray[np.float64]], low: int, high: int) -> int:
    """Return the first integer from low to high with the least cost; costs of floats fall, then rise."""
    while True:
        places = sorted({low + (high - low) * i // _CUTS for i in range(_CUTS + 1)})
        best = int(np.argmin(cost(np.array(places, dtype=np.float64))))
        if high - low <= _CUTS:
            return places[best]
        low, high = places[max(0, best - 1)], places[min(len(places) - 1, best + 1)]
