"""What a metric is: a statistic, and functions of its noisy table: a value and an interval.

>>> share_bounds((8, 10), (4, 4), 100, None)
(0.6666666666666666, 0.7142857142857143)
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.core.confidence_bounds import success_bounds
from dplearn.model_selection.statistics import Statistic
from dplearn.model_selection.table_noise import TableNoise

__all__ = ["Interval", "Measure", "NoisyTable", "noisy_table", "share_bounds"]

Interval = tuple[float, float]


@dataclass(frozen=True)
class NoisyTable:
    """A released table, and what its noise was.

    Attributes
    ----------
    counts : ndarray of int64
        Released. Noisy counts or sums; a count may be negative.
    n : int
        Public. Number of records that were counted.
    noise : TableNoise
        Public.
    statistic : Statistic
        Public.
    """

    counts: NDArray[np.int64]
    n: int
    noise: TableNoise
    statistic: Statistic

    @property
    def room(self) -> int:
        """The distance of the ends of a noisy cell from any true value, if there are several cells."""
        return self.n * (self.statistic.high - self.statistic.low)

    def reach(self, cells: int, beta: Any) -> int:
        """Return the distance that the error of a sum of cells exceeds, upwards, with probability <= beta."""
        return self.noise.reach(cells, beta, n_cells=self.counts.size, room=self.room)

    def weighted_reach(self, weights: NDArray[np.float64], beta: float) -> NDArray[np.float64]:
        """Return distances that weighted sums of the noise of cells exceed with probability <= beta each.

        Parameters
        ----------
        weights : ndarray of float64 of shape (k, cells)
            Magnitudes; the true weights are at most so great.
        beta : float
            In (0, 1).
        """
        return self.noise.weighted_reach(weights, beta, n_cells=self.counts.size, room=self.room)

    def count_ends(self, noisy: Any, cells: int, beta: Any) -> tuple[int, int]:
        """Return ends of a true count, each wrong with probability at most beta, given a sum of cells."""
        reach, noisy = self.reach(cells, beta), int(noisy)
        return min(self.n, max(0, noisy - reach)), max(0, min(self.n, noisy + reach))


def noisy_table(
    counts: NDArray[np.int64], n: int, statistic: Statistic, noise: TableNoise, dice: Dice
) -> NoisyTable:
    """Release a table.

    Its cells have public ends. Those of a single cell are the ends of its true value. Several cells are added
    up, and must not be biased: their ends are farther away.

    Parameters
    ----------
    counts : ndarray of int64
        Private. The table.
    n : int
        Number of records that are counted.
    statistic : Statistic
        What the table holds.
    noise : TableNoise
        Its noise.
    dice : Dice
        Source of chance.
    """
    room = n * (statistic.high - statistic.low) if statistic.n_cells > 1 else 0
    low, high = n * statistic.low - room, n * statistic.high + room
    return NoisyTable(noise.added(counts, low=low, high=high, dice=dice), n, noise, statistic)


@dataclass(frozen=True)
class Measure:
    """A metric of known labels: its statistic and its functions of the noisy table.

    Attributes
    ----------
    statistic : Statistic
        What is counted.
    value : callable
        From a `NoisyTable` to a float; NaN if it is not defined.
    bounds : callable
        From a `NoisyTable`, beta and "of the population" to an interval that contains the metric with
        probability at least 1 - beta: on the records over the noise, or on the population over both.
    """

    statistic: Statistic
    value: Callable[[NoisyTable], float]
    bounds: Callable[[NoisyTable, Fraction, bool], Interval]


def share_bounds(
    hits: tuple[int, int], others: tuple[int, int], n: int, error: Fraction | None
) -> tuple[float, float]:
    """Return bounds on hits / (hits + others), given ends of both.

    Parameters
    ----------
    hits, others : pair of int
        Ends.
    n : int
        Number of records.
    error : Fraction or None
        None: of the records, where 0 / 0 is 0. Else of the population: each end is wrong with probability
        at most `error`, given the number of records that the share is one of.
    """
    worst, best = (hits[0], min(others[1], n - hits[0])), (hits[1], min(others[0], n - hits[1]))
    if error is None:
        return worst[0] / sum(worst) if worst[0] else 0.0, best[0] / sum(best) if best[0] else 0.0
    low = success_bounds(worst[0], sum(worst), error)[0] if sum(worst) else 0.0
    return low, success_bounds(best[0], sum(best), error)[1] if sum(best) else 1.0
