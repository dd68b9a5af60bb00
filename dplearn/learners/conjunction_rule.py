"""A conjunction over declared columns, and how statistical queries find it.

The algorithm is a plain function of any oracle. Here one that knows the population:

>>> import numpy as np
>>> from dplearn.domains import Bits
>>> from dplearn.learners.bins import binned
>>> from dplearn.queries import population
>>> records = Examples(np.array([[0, 0], [0, 1], [1, 0], [1, 1]]), np.array([0, 0, 1, 0]))
>>> bits = binned(Bits(None), 2)
>>> learned = learn_conjunction(population(records), (bits, bits), positive=1, alpha=0.1, beta=0.05)
>>> learned.describe(["raining", "roof"], ["dry", "wet"])
"'wet' if raining and not roof, else 'dry'"
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.concepts.base import Labels
from dplearn.learners.bins import Bins
from dplearn.queries import Examples, Oracle, ShareQuery
from dplearn.theory.conjunction_queries import conjunction_bar

__all__ = ["BinConjunction", "learn_conjunction"]


@dataclass(frozen=True)
class BinConjunction:
    """One label where each column's value is in an allowed bin, else the other.

    Attributes
    ----------
    bins : tuple of Bins
        Of each column.
    allowed : tuple of tuple of bool
        For each column, which of its bins are.
    positive : int
        The label code where all are.
    """

    bins: tuple[Bins, ...]
    allowed: tuple[tuple[bool, ...], ...]
    positive: int

    def predict(self, columns: Sequence[NDArray[Any]]) -> Labels:
        """Return the label code of each record; what has no bin is in none that is allowed.

        Parameters
        ----------
        columns : list of ndarray of shape (n,)
            Codes of each column's domain.
        """
        satisfied = np.ones(len(columns[0]), dtype=bool)
        for bins, allowed, codes in zip(self.bins, self.allowed, columns, strict=True):
            if not all(allowed):
                satisfied &= np.array([*allowed, False])[bins.of(codes)]
        return np.where(satisfied, self.positive, 1 - self.positive).astype(np.intp)

    def describe(self, features: Sequence[str], labels: Sequence[Any]) -> str:
        """Return the rule in words."""
        yes, no = labels[self.positive], labels[1 - self.positive]
        if not all(map(any, self.allowed)):
            return f"always {no!r}"
        words = [
            bins.describe(name, allowed)
            for name, bins, allowed in zip(features, self.bins, self.allowed, strict=True)
            if not all(allowed)
        ]
        return f"{yes!r} if {' and '.join(words)}, else {no!r}" if words else f"always {yes!r}"


def learn_conjunction(
    oracle: Oracle, bins: Sequence[Bins], *, positive: int, alpha: float, beta: float
) -> BinConjunction:
    """Ask for the shares of positive records by each column's bin, in one round, and keep what holds of them.

    Parameters
    ----------
    oracle : Oracle
        Of `Examples`: X of shape (n, d) holds bins, y label codes. All that is left of its budget is taken.
    bins : sequence of Bins
        Of each column.
    positive : int
        The label code of records that satisfy the conjunction.
    alpha, beta : float
        Error that is wanted, and probability of failure.

    Returns
    -------
    BinConjunction
    """
    sizes = [each.size for each in bins]
    queries = [
        ShareQuery(partial(_bin_if_positive, column, size, positive), categories=size + 1)
        for column, size in enumerate(sizes)
    ]
    allowed = []
    for each, answer in zip(bins, oracle.ask(queries), strict=True):
        bar = conjunction_bar(sizes, answer.noise, alpha=alpha, beta=beta)
        allowed.append(_filled(answer.means[: each.size] > bar, each))
    return BinConjunction(tuple(bins), tuple(allowed), positive)


def _bin_if_positive(column: int, size: int, positive: int, records: Examples) -> NDArray[np.int64]:
    """Return each positive record's bin, and `size` for the others."""
    return np.where(records.y == positive, records.X[:, column], size).astype(np.int64)


def _filled(above: NDArray[np.bool_], bins: Bins) -> tuple[bool, ...]:
    """Return which bins are allowed: of those in an order, all between two that are."""
    places = np.flatnonzero(above[bins.first :]) + bins.first
    if bins.ordered and len(places):
        above[places[0] : places[-1] + 1] = True
    return tuple(above.tolist())
