"""Selection of events for sampling audits: those whose estimated probabilities on neighbours differ most.

Outcomes are divided into bins. Bins are sorted, by the ratio of their counts on the two sides and by value;
the candidate events are the initial segments of these orders. A bound on epsilon holds for every choice of
events, because different samples choose an event and test it.

>>> bins = Names(["a", "b", "a", "c"])
>>> bins.place(["c", "a", "never seen"]).tolist()
[2, 0, 3]
>>> bins.event([True, False, True, False])
('a', 'c')
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import exp
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from dplearn.privacy import ApproxDP

__all__ = ["Bins", "Intervals", "Names", "choose_events"]

Counts = NDArray[np.int64]  # of shape (2, number of bins): on the rows, on the neighbour
Mask = NDArray[np.bool_]  # which bins are in an event
_Pair = tuple[NDArray[np.float64], NDArray[np.float64]]

_LEAST = 16  # least number of outcomes in a group of neighbouring bins
# Added to both counts of a ratio. With 1, bins of many outcomes precede bins of few; with 1/100, a bin
# without outcomes on the other side precedes all others.
_SMOOTHINGS = (1.0, 0.01)
_LARGEST_EPSILON = Fraction(700)  # its exp is still a float
_DEVIATIONS = 5.0  # approximate distance of a bound from a frequency, in standard deviations


class Bins(Protocol):
    """A partition of all outcomes into bins 0, 1, 2, ...."""

    size: int

    def place(self, outcomes: Any) -> NDArray[np.int64]:
        """Return the bin of each outcome."""

    def event(self, mask: Mask) -> tuple[Any, ...]:
        """Return the outcomes in these bins."""


class Names:
    """A bin for each outcome of a sample, sorted integers first, and one bin for all other outcomes."""

    def __init__(self, sample: Sequence[Any]):
        seen = dict.fromkeys(sample)
        integers = sorted(name for name in seen if type(name) is int)
        self._names = [*integers, *(name for name in seen if type(name) is not int)]
        self._bins = {name: i for i, name in enumerate(self._names)}
        self.size = len(self._names) + 1

    def place(self, outcomes: Sequence[Any]) -> NDArray[np.int64]:
        """Return the bin of each outcome."""
        return np.array([self._bins.get(seen, self.size - 1) for seen in outcomes], dtype=np.int64)

    def event(self, mask: Mask) -> tuple[Any, ...]:
        """Return the outcomes in these bins; a text represents the outcomes that are not in the sample."""
        names = [*self._names, "any outcome that the first part has not seen"]
        return tuple(name for name, held in zip(names, mask, strict=True) if held)


class Intervals:
    """Intervals that start at the values of a sample; the first and the last are unbounded."""

    def __init__(self, sample: NDArray[Any]):
        self._starts = np.unique(sample)
        self.size = len(self._starts)

    def place(self, outcomes: NDArray[Any]) -> NDArray[np.int64]:
        """Return the bin of each outcome; outcomes below all of the sample are in the first bin."""
        return np.maximum(np.searchsorted(self._starts, outcomes, side="right") - 1, 0).astype(np.int64)

    def event(self, mask: Mask) -> tuple[Any, ...]:
        """Return the union of these bins as intervals [low, high); None for an unbounded side."""
        ends = [None, *self._starts[1:].tolist(), None]
        edges = np.flatnonzero(np.diff(np.r_[False, mask, False]))
        return tuple((ends[i], ends[j]) for i, j in zip(edges[::2], edges[1::2], strict=True))


def choose_events(first: Counts, second: Counts, n: int, claim: ApproxDP) -> list[tuple[int, Mask]]:
    """Return the events with the greatest estimated lower bounds on epsilon and on delta.

    Parameters
    ----------
    first : ndarray of int of shape (2, bins)
        Counts from which the orders of the bins are computed.
    second : ndarray of int of shape (2, bins)
        Independent counts, from which the length of the initial segment is chosen.
    n : int
        Number of samples that will test the event.
    claim : ApproxDP
        The claimed guarantee.

    Returns
    -------
    list of (int, ndarray of bool)
        At most six different events, each with the side on which it is more probable.
    """
    exp_epsilon, delta = exp(float(min(claim.epsilon, _LARGEST_EPSILON))), float(claim.delta)
    orders = list(_orders(first))
    chosen = {}
    for side in (0, 1):
        found = [_frequencies(second[side], second[1 - side], order) for order in orders]
        bounds = [(_wilson(p, n, -_DEVIATIONS), _wilson(q, n, _DEVIATIONS)) for p, q in found]
        ratios = [(low - delta) / high for low, high in bounds]
        clear = [low - exp_epsilon * high for low, high in bounds]
        # If no bound exceeds the claim, the bounds favour rare events; the greatest difference may be larger.
        slight = [p - exp_epsilon * q for p, q in found]
        for scores in (ratios, clear, slight):
            best = max(range(len(orders)), key=[float(score.max()) for score in scores].__getitem__)
            mask = np.zeros(first.shape[1], dtype=bool)
            mask[orders[best][: int(scores[best].argmax()) + 1]] = True
            chosen[side, mask.tobytes()] = side, mask
    return list(chosen.values())


def _orders(counts: Counts) -> Iterator[NDArray[np.intp]]:
    """Yield orders of the bins: by ratio, by ratio of groups of bins and by value, and their reverses."""
    mine, theirs = counts
    groups = _neighbourhoods(mine + theirs)
    ratios = [(theirs + smoothing) / (mine + smoothing) for smoothing in _SMOOTHINGS]
    ratios.append((np.bincount(groups, theirs) + 1)[groups] / (np.bincount(groups, mine) + 1)[groups])
    for keys in (*ratios, np.arange(len(mine))):
        order = np.argsort(keys, kind="stable")
        yield order
        yield order[::-1]


def _neighbourhoods(counts: NDArray[np.int64]) -> NDArray[np.intp]:
    """Return the group of each bin: a frequent bin is a group, rare neighbours form groups of `_LEAST`."""
    frequent = counts >= _LEAST
    rare = np.cumsum(np.where(frequent, 0, counts)) // _LEAST
    begins = frequent | np.r_[False, frequent[:-1] | (np.diff(rare) > 0)]
    return np.cumsum(begins)


def _frequencies(mine: NDArray[np.int64], theirs: NDArray[np.int64], order: NDArray[np.intp]) -> _Pair:
    """Return the frequencies of the initial segments of an order on one side and on the other.

    On the other side one outcome is added, because an event without outcomes in a sample need not be
    impossible.
    """
    size = int(mine.sum())
    return np.cumsum(mine[order]) / size, np.minimum(np.cumsum(theirs[order]) + 1, size) / size


def _wilson(frequency: NDArray[np.float64], n: int, deviations: float) -> NDArray[np.float64]:
    """Return Wilson's bound on a probability, a fast approximation of the exact bound."""
    square = deviations**2 / n
    spread = np.sqrt(frequency * (1 - frequency) / n + square / (4 * n))
    return (frequency + square / 2 + deviations * spread) / (1 + square)
