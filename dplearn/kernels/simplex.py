"""Shares that sum to 1: the nearest to given numbers, and those whose images under a matrix are nearest."""

import math

import numpy as np
from numpy.typing import NDArray

_ROUNDS = 200


def nearest_shares(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the Euclidean projection of values onto the probability simplex of the last axis."""
    values = values - np.maximum.reduce(values, axis=-1, keepdims=True)  # without change of the projection
    sums = np.add.accumulate(np.sort(values, axis=-1)[..., ::-1], axis=-1)
    # The excess of the numbers that remain positive over a sum of 1, spread over these, is the greatest one.
    excess = (sums - 1) / np.arange(1, values.shape[-1] + 1)
    return np.asarray(np.maximum(values - np.maximum.reduce(excess, axis=-1, keepdims=True), 0.0))


def fitted_shares(
    rows: NDArray[np.float64], image: NDArray[np.float64], rounds: int = _ROUNDS
) -> NDArray[np.float64]:
    """Return shares for which `shares @ rows` is near `image`, by accelerated projected gradient descent."""
    step = 1 / np.linalg.eigvalsh(rows.T @ rows)[-1]
    found = ahead = np.full((*image.shape[:-1], len(rows)), 1 / len(rows))
    pace = 1.0
    for _ in range(rounds):
        moved = nearest_shares(ahead - step * ((ahead @ rows - image) @ rows.T))
        later = (1 + math.sqrt(1 + 4 * pace**2)) / 2
        ahead = moved + (pace - 1) / later * (moved - found)
        found, pace = moved, later
    return np.asarray(found)
