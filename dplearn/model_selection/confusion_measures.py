"""Metrics of a confusion matrix: recall, precision and F1, their averages, and balanced accuracy.

>>> balanced_accuracy(("a", "b")).statistic
ConfusionCounts(labels=('a', 'b'))
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.core.confidence_bounds import success_bounds
from dplearn.model_selection.measures import Interval, Measure, NoisyTable, share_bounds
from dplearn.model_selection.statistics import ConfusionCounts

__all__ = ["RATIOS", "balanced_accuracy", "macro", "one_label", "weighted"]


@dataclass(frozen=True)
class _Parts:
    """For each label: hits, the other records of the ratio, and how many cells the latter are summed from."""

    hits: NDArray[np.int64]
    others: NDArray[np.int64]
    cells: int


def _recalled(counts: NDArray[np.int64]) -> _Parts:
    hits = np.diagonal(counts)
    return _Parts(hits, counts.sum(axis=1) - hits, len(counts) - 1)


def _precise(counts: NDArray[np.int64]) -> _Parts:
    return _recalled(counts.T)


def _either(counts: NDArray[np.int64]) -> _Parts:
    both = _recalled(counts), _precise(counts)
    return _Parts(both[0].hits, both[0].others + both[1].others, 2 * (len(counts) - 1))


def _same(share: float) -> float:
    return share


def _f1_of_jaccard(share: float) -> float:
    return 2 * share / (1 + share)


#: F1 is 2 j / (1 + j), where j is the share of hits among records that have the label, or are given it.
RATIOS: dict[str, tuple[Callable[[NDArray[np.int64]], _Parts], Callable[[float], float]]] = {
    "recall": (_recalled, _same),
    "precision": (_precise, _same),
    "f1": (_either, _f1_of_jaccard),
}


def _ratio_ends(
    ratio: str, table: NoisyTable, places: Sequence[int], beta: Fraction, population: bool
) -> list[Interval]:
    """Return bounds on a ratio for each of some labels, all right with probability 1 - beta."""
    find, change = RATIOS[ratio]
    counts, share = find(_matrix(table)), beta / (2 if population else 1) / len(places)
    found = []
    for place in places:
        hits = table.count_ends(counts.hits[place], 1, share / 4)
        others = table.count_ends(counts.others[place], counts.cells, share / 4)
        low, high = share_bounds(hits, others, table.n, share / 2 if population else None)
        found.append((change(low), change(high)))
    return found


def _ratio_values(ratio: str, table: NoisyTable) -> list[float]:
    """Return the ratio for each label; negative counts are 0, and 0 / 0 is 0, as with zero_division=0."""
    find, change = RATIOS[ratio]
    counts = find(_matrix(table))
    hits, others = np.maximum(counts.hits, 0).tolist(), np.maximum(counts.others, 0).tolist()
    return [change(a / (a + b)) if a else 0.0 for a, b in zip(hits, others, strict=True)]


def _matrix(table: NoisyTable) -> NDArray[np.int64]:
    return table.counts.reshape(table.statistic.shape)


def one_label(ratio: str, labels: tuple[Any, ...], place: int) -> Measure:
    """Return the measure of a ratio for one label."""
    return Measure(
        ConfusionCounts(labels),
        lambda table: _ratio_values(ratio, table)[place],
        lambda table, beta, population: _ratio_ends(ratio, table, [place], beta, population)[0],
    )


def macro(ratio: str, labels: tuple[Any, ...]) -> Measure:
    """Return the measure of the mean of a ratio over all labels."""

    def bounds(table: NoisyTable, beta: Fraction, population: bool) -> Interval:
        ends = np.array(_ratio_ends(ratio, table, range(len(labels)), beta, population))
        low, high = ends.mean(axis=0)
        return float(low), float(high)

    return Measure(ConfusionCounts(labels), lambda table: float(np.mean(_ratio_values(ratio, table))), bounds)


def weighted(ratio: str, labels: tuple[Any, ...]) -> Measure:
    """Return the measure of the mean of a ratio over all labels, weighted by their numbers of records."""

    def value(table: NoisyTable) -> float:
        weights = np.maximum(_matrix(table).sum(axis=1), 0)
        return float(np.average(_ratio_values(ratio, table), weights=weights)) if weights.sum() else 0.0

    def bounds(table: NoisyTable, beta: Fraction, population: bool) -> Interval:
        k, n = len(labels), table.n
        ends = _ratio_ends(ratio, table, range(k), beta / 2, population)
        share = beta / (8 if population else 4) / k
        weights = []
        for count in _matrix(table).sum(axis=1):
            low, high = table.count_ends(count, k, share)
            if population:
                weights.append((success_bounds(low, n, share)[0], success_bounds(high, n, share)[1]))
            else:
                weights.append((low / n, high / n))
        return (
            _least_average(weights, [each[0] for each in ends]),
            -_least_average(weights, [-each[1] for each in ends]),
        )

    return Measure(ConfusionCounts(labels), value, bounds)


def _least_average(weights: Sequence[Interval], values: Sequence[float]) -> float:
    """Return the least average of the values over weights within ends that add up to 1."""
    left = 1 - sum(low for low, _ in weights)
    total = sum(low * value for (low, _), value in zip(weights, values, strict=True))
    for place in np.argsort(values):  # what is left goes to the least values first
        given = min(left, weights[place][1] - weights[place][0])
        total, left = total + given * values[place], left - given
    # Ends that admit no weights, which has probability beta at most, give weights with another sum.
    return float(min(1.0, max(-1.0, total)))


def balanced_accuracy(labels: tuple[Any, ...]) -> Measure:
    """Return the measure of the mean recall of the labels that occur; of rare ones, the noise hides it."""

    def value(table: NoisyTable) -> float:
        counted = np.maximum(_matrix(table), 0).sum(axis=1)
        found = [each for each, count in zip(_ratio_values("recall", table), counted, strict=True) if count]
        return float(np.mean(found)) if found else math.nan

    def bounds(table: NoisyTable, beta: Fraction, population: bool) -> Interval:
        ends = _ratio_ends("recall", table, range(len(labels)), beta, population)
        counts, share = _recalled(_matrix(table)), beta / (2 if population else 1) / len(labels)
        sure = [
            table.count_ends(hits, 1, share / 4)[0] + table.count_ends(others, counts.cells, share / 4)[0] > 0
            for hits, others in zip(counts.hits, counts.others, strict=True)
        ]
        low = _least_mean(
            [each[0] for each, is_sure in zip(ends, sure, strict=True) if is_sure], sure.count(False)
        )
        high = -_least_mean(
            [-each[1] for each, is_sure in zip(ends, sure, strict=True) if is_sure], sure.count(False), -1.0
        )
        return low, high

    return Measure(ConfusionCounts(labels), value, bounds)


def _least_mean(sure: Sequence[float], n_others: int, least: float = 0.0) -> float:
    """Return the least mean of values and of any number of others, which are `least` at the least."""
    return (sum(sure) + n_others * least) / (len(sure) + n_others)
