"""Noisy tables of counts, and tables that are consistent with others: nonnegative, with given margins.

>>> import numpy as np
>>> from dplearn.chance import SeededDice
>>> noise = TableNoise.gaussian(rho=0.5)
>>> noise.noisy(np.array([5, 0, 3]), n=8, dice=SeededDice(0)).tolist()
[2, 2, 2]
>>> round(noise.expected_error(3), 6)  # half of the sum of three magnitudes
1.692569
>>> raked(np.array([[0.5, 0.1], [0.2, 0.2]]), [((0,), np.array([0.5, 0.5]))]).sum(axis=1).tolist()
[0.5, 0.5]
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.core.exact import decay_ratio
from dplearn.core.simplex import nearest_shares
from dplearn.mechanisms.noisy_counts import gaussian_counts, laplace_counts
from dplearn.privacy import ApproxDP, ZeroConcentratedDP

__all__ = ["TableNoise", "counts_of", "projected", "raked"]

_RAKINGS = 20
_TINY = 1e-300

Floats64 = NDArray[np.float64]


@dataclass(frozen=True)
class TableNoise:
    """The noise of one table of counts.

    A replaced record moves one count down and another up. A table of two cells is one count, since the number
    of records is public, and moves by 1; a larger one moves by 2, and its square by 2.

    Attributes
    ----------
    epsilon : Fraction or None
        Public. The cost of the table with Laplace noise.
    rho : Fraction or None
        Public. The cost of the table with Gaussian noise; one of both is None.
    reach : int or None
        Public. Laplace: noisy counts of n records are clipped to -reach..n + reach. None: to -n..2 n.
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    reach: int | None = None

    @classmethod
    def gaussian(cls, rho: Any) -> "TableNoise":
        """Return Gaussian noise of a given cost."""
        return cls(rho=Fraction(rho))

    @classmethod
    def laplace(cls, epsilon: Any, reach: int | None = None) -> "TableNoise":
        """Return Laplace noise of a given cost."""
        return cls(epsilon=Fraction(epsilon), reach=reach)

    def noisy(self, counts: NDArray[np.int64], n: int, dice: Dice) -> NDArray[np.int64]:
        """Return the counts of all cells with noise.

        Parameters
        ----------
        counts : ndarray of int64 of shape (k,)
            Private. The number of records in each cell.
        n : int
            Public. The number of records.
        dice : Dice
            Source of chance.

        Returns
        -------
        ndarray of int64 of shape (k,)
            Released. With two cells, their sum is n.
        """
        if len(counts) == 1:
            return np.array([n])
        moved = _moved(len(counts))
        asked = counts[:1] if len(counts) == 2 else counts
        if self.rho is not None:
            privacy = ZeroConcentratedDP(self.rho)
            found = gaussian_counts(asked, privacy=privacy, dice=dice, squared_sensitivity=moved)
        else:
            reach = n if self.reach is None else self.reach
            found = laplace_counts(
                asked,
                privacy=ApproxDP(self.epsilon),
                dice=dice,
                sensitivity=moved,
                low=-reach,
                high=n + reach,
            )
        return np.append(found, n - found) if len(counts) == 2 else np.asarray(found)

    def deviation(self, size: int) -> float:
        """Return the standard deviation of the noise of a cell of a table of `size` cells."""
        if size == 1:
            return 0.0
        if self.rho is not None:
            return math.sqrt(_moved(size) / (2 * self.rho))
        ratio = self._ratio(size)
        return math.sqrt(2 * ratio) / (1 - ratio)

    def expected_error(self, size: int) -> float:
        """Return the mean of half of the sum of the noise's magnitudes, over all cells of a table.

        Parameters
        ----------
        size : int
            The number of cells.

        Returns
        -------
        float
            In records; an upper bound where noisy counts are clipped.
        """
        if size == 1:
            return 0.0
        mean = self.deviation(size) * math.sqrt(2 / math.pi)
        if self.rho is None:
            ratio = self._ratio(size)
            mean = 2 * ratio / (1 - ratio**2)
        return mean if size == 2 else size * mean / 2

    def _ratio(self, size: int) -> float:
        assert self.epsilon is not None
        return float(decay_ratio(self.epsilon / _moved(size)))


def counts_of(places: Sequence[int], sizes: Sequence[int], cells: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of records in each cell of the table of some columns.

    Parameters
    ----------
    places : sequence of int
        Public. The columns.
    sizes : sequence of int
        Public. The number of cells of each of these.
    cells : ndarray of int of shape (n, d)
        Private. The cell of each column of each record.

    Returns
    -------
    ndarray of int64 of shape (product of sizes,)
        Private. The last column varies fastest.
    """
    index = cells[:, places[0]].astype(np.int64)
    for place, size in zip(places[1:], sizes[1:], strict=True):
        index *= size
        index += cells[:, place]
    return np.bincount(index, minlength=math.prod(sizes))


def projected(counts: NDArray[Any], n: int) -> Floats64:
    """Return the shares nearest to noisy counts of n records: nonnegative, with sum 1.

    Parameters
    ----------
    counts : ndarray of shape (...)
        Released.
    n : int
        Public. The number of records.
    """
    return nearest_shares(counts.astype(np.float64).ravel() / n).reshape(counts.shape)


def raked(
    table: Floats64, margins: Iterable[tuple[tuple[int, ...], Floats64]], rounds: int = _RAKINGS
) -> Floats64:
    """Return a table near a given one whose margins are near given ones.

    Parameters
    ----------
    table : ndarray of float64
        Released. Nonnegative.
    margins : iterable of (tuple of int, ndarray)
        Released. The axes that a margin keeps, ascending, and the shares of that margin.
    rounds : int, default=20
        The number of times that the table is scaled to each margin; the last one holds exactly where the
        table is not 0.
    """
    scalings = [_scaling(table.ndim, axes, margin) for axes, margin in margins]
    for _ in range(rounds):
        for scale in scalings:
            table = scale(table)
    return table


def _scaling(n_axes: int, axes: tuple[int, ...], margin: Floats64) -> Callable[[Floats64], Floats64]:
    others = tuple(axis for axis in range(n_axes) if axis not in axes)
    shape = tuple(margin.shape[axes.index(axis)] if axis in axes else 1 for axis in range(n_axes))

    def scaled(table: Floats64) -> Floats64:
        return np.asarray(table * (margin.reshape(shape) / (table.sum(axis=others, keepdims=True) + _TINY)))

    return scaled


def _moved(size: int) -> int:
    """Return the sum of the magnitudes, and of the squares, by which a record moves the asked counts."""
    return 1 if size == 2 else 2
