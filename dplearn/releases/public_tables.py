"""What public rows say about a synthetic table: where its noisy tables start, and which columns go together.

All is a function of public rows and of released numbers. A noisy table is moved towards its start as of James
and Stein: by as much as its noise, of known variance, may be all of the distance. So a wrong start is left
where the table shows it, and kept where the noise would hide it.

>>> import numpy as np
>>> [towards(np.array([40.0, 60.0]), np.array([50.0, 50.0]), noise).tolist() for noise in (1e6, 20.0)]
[[50.0, 50.0], [41.0, 59.0]]
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.releases.table_columns import counts_of

Floats64 = NDArray[np.float64]
_TINY = 1e-9


def towards(counts: NDArray[Any], start: Floats64, variance: Any, axis: int | None = None) -> Floats64:
    """Return counts, moved towards others; `variance` is that of the noise of all cells along the axis, or
    some multiple of it.
    """
    moved = counts - start
    squares = (moved**2).sum(axis=axis, keepdims=True)
    return np.asarray(start + np.maximum(0.0, 1 - variance / np.maximum(squares, _TINY)) * moved)


def along(counts: Floats64, start: Floats64, other: Floats64, variance: float) -> Floats64:
    """Return the point between a start and another one that is nearest to counts; `other`, for much noise.

    Only the noise in that direction matters. The share of the way is the mean given the counts, with prior
    normal(1, 1).
    """
    way = other - start
    share = (variance + ((counts - start) * way).sum()) / max(variance + (way**2).sum(), _TINY)
    return np.asarray(start + min(max(share, 0.0), 1.0) * way)


def dependent(known: NDArray[np.int64], alone: Floats64) -> Floats64:
    """Return the distribution of the last axis of public counts given the others, each row moved towards
    `alone`, that without this dependence, by its sampling error.
    """
    totals = known.sum(axis=-1, keepdims=True)
    expected = totals * alone
    variance = totals - (expected * alone).sum(axis=-1, keepdims=True)
    found = np.maximum(towards(known, expected, variance, axis=-1), 0.0)
    sums = found.sum(axis=-1, keepdims=True)
    return np.asarray(np.where(sums > 0, found / np.maximum(sums, _TINY), alone))


@dataclass(frozen=True, eq=False)
class PublicRows:
    """The cells of public rows, and what has been counted of them."""

    cells: NDArray[np.int16]
    sizes: tuple[int, ...]
    _gains: dict[tuple[int, ...], float] = field(default_factory=dict)

    def counts(self, places: tuple[int, ...]) -> NDArray[np.int64]:
        """Return the number of rows in each cell of the table of some columns."""
        shape = [self.sizes[place] for place in places]
        return counts_of(places, shape, self.cells).reshape(shape)

    def best(
        self, tables: Iterable[tuple[int, ...]], alone: int, noise: Callable[[int], float]
    ) -> tuple[int, ...] | None:
        """Return the table whose last column depends most on others than the first `alone` ones, by more than
        the sampling error and the noise of so many cells, as shares; None if there is no such table.
        """
        gains = {
            places: self._gain(places, alone) - noise(math.prod(self.sizes[place] for place in places))
            for places in tables
        }
        found = max(gains, key=gains.__getitem__, default=())
        return found if found and gains[found] > 0 else None

    def _gain(self, places: tuple[int, ...], alone: int) -> float:
        if places not in self._gains:
            counts = self.counts(places)
            own = counts.sum(axis=tuple(range(alone, len(places) - 1)))
            given = own / np.maximum(own.sum(axis=-1, keepdims=True), 1)
            parents = counts.sum(axis=-1, keepdims=True)
            expected = parents * given.reshape(*given.shape[:-1], *[1] * (len(places) - 1 - alone), -1)
            error = np.sqrt(2 / math.pi * expected).sum()
            self._gains[places] = float(np.abs(counts - expected).sum() - error) / 2 / len(self.cells)
        return self._gains[places]
