"""Shares that sum to 1: the nearest to given numbers, and those whose images under a matrix are nearest."""

import math

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 200


def nearest_shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Euclidean projection of values onto the probability simplex of the last axis."""
    # Without change of the projection: 0 > -1, also after rounding.
    values = values - values.max(axis=-1, keepdims=True)
    falling = -np.sort(-values, axis=-1)
    excess = (np.cumsum(falling, axis=-1) - 1) / np.arange(1, values.shape[-1] + 1)
    # Those above their excess come first.
    last = (falling > excess).sum(axis=-1, keepdims=True) - 1
    return np.asarray((values - np.take_along_axis(excess, last, axis=-1)).clip(0), dtype=np.float64)


def fitted_shares(
    rows: NDArray[np.float64], image: NDArray[np.float64], rounds: int = _ROUNDS
) -> NDArray[np.float64]:
    """Return shares for which `shares @ rows` is near `image`, by accelerated projected gradient descent."""
    gram, aim = rows @ rows.T, image @ rows.T
    step = 1 / np.linalg.eigvalsh(gram)[-1]
    found = ahead = np.full(aim.shape, 1 / len(rows))
    pace = 1.0
    for _ in range(rounds):
        moved = nearest_shares(ahead - step * (ahead @ gram - aim))
        later = (1 + math.sqrt(1 + 4 * pace**2)) / 2
        ahead = moved + (pace - 1) / later * (moved - found)
        found, pace = moved, later
    return np.asarray(found)
