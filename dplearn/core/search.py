"""Searches over integers: where a condition begins to hold, and where a cost is least.

>>> first(lambda n: n * n >= 50, 0, 100)
8
>>> lowest(lambda n: (n - 700.0) ** 2, 0, 10**6)
700
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["first", "lowest"]

_CUTS = 32  # of a range, in each round


def first(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the least integer from low to high at which a condition holds.

    Parameters
    ----------
    holds : callable
        The condition: once it holds, it does so for all greater integers. It is taken to hold at `high`.
    low, high : int
        low <= high.
    """
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def lowest(cost: Callable[[NDArray[np.float64]], NDArray[np.float64]], low: int, high: int) -> int:
    """Return the first integer from low to high at which a cost that falls and then rises is least.

    Parameters
    ----------
    cost : callable
        Takes an array of integers, as floats, and returns what each costs.
    low, high : int
        low <= high.
    """
    while True:
        places = sorted({low + (high - low) * i // _CUTS for i in range(_CUTS + 1)})
        best = int(np.argmin(cost(np.array(places, dtype=np.float64))))
        if high - low <= _CUTS:
            return places[best]
        low, high = places[max(0, best - 1)], places[min(len(places) - 1, best + 1)]
