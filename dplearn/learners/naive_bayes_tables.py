"""Naive Bayes from shares: what is asked of an oracle, and what is made of noisy answers.

The algorithm is a plain function of any oracle. Here one that knows the population:

>>> import numpy as np
>>> from dplearn.domains import Bits
>>> from dplearn.learners.bins import binned
>>> from dplearn.queries import population
>>> records = Examples(np.array([[0], [0], [0], [1]]), np.array([0, 1, 1, 1]))
>>> task = NaiveBayesTask(1000, 2, (binned(Bits(), 2),), (0.0,), 0.0, smoothing=1.0)
>>> tables = learn_naive_bayes(population(records), task)
>>> np.exp(tables.log_prior).round(2).tolist(), np.exp(tables.log_ratios[0]).round(2).tolist()
([0.25, 0.75], [[1.33, 0.02], [0.89, 1.33]])
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from dplearn.learners.bins import Bins
from dplearn.queries import Examples, Oracle, ShareQuery

__all__ = ["NaiveBayesTables", "NaiveBayesTask", "asks_classes", "learn_naive_bayes"]

_CAUTION = 4  # deviations of the noise added to each count: the best on made-up tables, wine and iris

Floats64 = NDArray[np.float64]


@dataclass(frozen=True)
class NaiveBayesTask:
    """What is public about one fit.

    Attributes
    ----------
    n_samples, n_classes : int
        How many records and classes there are.
    bins : tuple of Bins
        Of each column.
    deviations : tuple of float
        Of the noise in each column's shares.
    class_deviation : float
        Of the noise in the classes' shares, where these are asked for.
    smoothing : float
        How many records are added to each count, beside those that the noise calls for; positive.
    """

    n_samples: int
    n_classes: int
    bins: tuple[Bins, ...]
    deviations: tuple[float, ...]
    class_deviation: float
    smoothing: float


@dataclass(frozen=True)
class NaiveBayesTables:
    """What is learned.

    Attributes
    ----------
    log_prior : ndarray of float64 of shape (k,)
        The logarithm of each class's share.
    log_ratios : tuple of ndarray of float64 of shape (k, bins)
        For each column the logarithm of how many times as common a bin is in a class as among all.
    """

    log_prior: Floats64
    log_ratios: tuple[Floats64, ...]

    def log_joint(self, places: Sequence[NDArray[np.int32]]) -> Floats64:
        """Return the logarithm of each class's probability with each record, but for a term of the record.

        Parameters
        ----------
        places : sequence of ndarray of int32 of shape (n,)
            Each column's bins; their number stands for a value that tells nothing.

        Returns
        -------
        ndarray of float64 of shape (n, k)
        """
        total = np.repeat(self.log_prior[None, :], len(places[0]), axis=0)
        for ratios, column in zip(self.log_ratios, places, strict=True):
            total += np.pad(ratios, ((0, 0), (0, 1))).T[column]
        return total


def asks_classes(bins: Sequence[Bins]) -> bool:
    """Return whether classes should be asked for by themselves.

    The columns tell of them too: the variance of a class's share is that of one answer over the sum of
    1 / size. Where a query of their own would have half of that, it is asked.
    """
    return sum(1 / each.size for each in bins) < 1 / 2


def learn_naive_bayes(oracle: Oracle, task: NaiveBayesTask) -> NaiveBayesTables:
    """Ask for the joint shares of class and bin of each column, in one round, and return tables.

    Parameters
    ----------
    oracle : Oracle
        Of `Examples`: X of shape (n, d) holds bins, y class codes. All that is left of its budget is taken.
    task : NaiveBayesTask
        What is public.

    Returns
    -------
    NaiveBayesTables
    """
    k, sizes, deviations = task.n_classes, [each.size for each in task.bins], list(task.deviations)
    queries = [_joint(column, size, k) for column, size in enumerate(sizes)]
    if asks_classes(task.bins):
        queries.append(ShareQuery(_label, categories=max(2, k)))
        sizes, deviations = [*sizes, 1], [*deviations, task.class_deviation]
    answers = oracle.ask(queries)
    shares = [answer.means[: k * size].reshape(k, size) for answer, size in zip(answers, sizes, strict=True)]
    classes, deviation = _class_shares(shares, deviations)
    pseudo = task.smoothing / task.n_samples
    prior = classes + pseudo + deviation
    ratios = [
        _log_ratios(share, classes, pseudo + _CAUTION * noise)
        for share, noise in zip(shares[: len(task.bins)], task.deviations, strict=True)
    ]
    return NaiveBayesTables(np.log(prior / prior.sum()), tuple(ratios))


def _joint(column: int, size: int, n_classes: int) -> ShareQuery:
    return ShareQuery(partial(_class_and_bin, column, size), categories=max(2, n_classes * size))


def _class_and_bin(column: int, size: int, records: Examples) -> NDArray[np.int64]:
    return np.asarray(_label(records) * size + records.X[:, column], dtype=np.int64)


def _label(records: Examples) -> NDArray[np.int64]:
    return np.asarray(records.y, dtype=np.int64)


def _class_shares(shares: Sequence[Floats64], deviations: Sequence[float]) -> tuple[Floats64, float]:
    """Return the classes' shares that all answers agree on best, and how far off each still is.

    Each column's shares of a class sum to one more estimate of it, whose variance is the number of bins times
    that of a share; the sum that weighs them by the inverse has the least.
    """
    off = np.array([noise * s.shape[1] ** 0.5 for s, noise in zip(shares, deviations, strict=True)])
    precise = (off.min() / off) ** 2 if off.min() else (off == 0).astype(np.float64)
    weights = precise / precise.sum()
    found = np.einsum("j,jk->k", weights, np.array([share.sum(axis=1) for share in shares]))
    return _nearest_shares(found), float(np.linalg.norm(weights * off))


def _log_ratios(shares: Floats64, classes: Floats64, pseudo: float) -> Floats64:
    """Return logarithms of how much more common bins are in a class; noise alone makes them small.

    Pseudo-records, more than the noise's standard deviation, are added to what is found and to what would be
    expected if the column told nothing: where records are fewer than that, the ratio is near 1.
    """
    size = shares.shape[1]
    agreed = shares + (classes - shares.sum(axis=1))[:, None] / size  # sums to what all columns agree on
    expected = np.outer(classes, _nearest_shares(agreed.sum(axis=0)))
    return np.asarray(np.log((agreed.clip(0) + pseudo) / (expected + pseudo)), dtype=np.float64)


def _nearest_shares(values: Floats64) -> Floats64:
    """Return the nonnegative numbers of sum 1 that are nearest to the values."""
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(falling) + 1)
    last = np.flatnonzero(falling > excess)[-1]
    return np.asarray((values - excess[last]).clip(0), dtype=np.float64)
