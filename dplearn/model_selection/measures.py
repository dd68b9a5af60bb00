"""What a metric is: a statistic, and functions of its noisy table: a value and an interval.

First metrics of a confusion matrix, then those of sums over records, then areas and curves of binned scores.

>>> share_bounds((8, 10), (4, 4), 100, None)
(0.6666666666666666, 0.7142857142857143)
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.kernels.confidence_bounds import mean_bounds, success_bounds
from dplearn.kernels.simplex import nearest_shares
from dplearn.model_selection.statistics import (
    BinnedScores,
    ConfusionCounts,
    ErrorCount,
    LossSum,
    Statistic,
    TargetSums,
)
from dplearn.model_selection.table_noise import TableNoise
from dplearn.table.targets import TargetRange

Interval = tuple[float, float]
Floats64 = NDArray[np.float64]
_GRID = 256  # cells of possible areas


@dataclass(frozen=True)
class NoisyTable:
    """A released table, and what its noise was."""

    counts: NDArray[np.int64]  # released; a count may be negative
    n: int  # the number of records that were counted
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
        """Return distances that weighted sums of the noise of cells exceed with probability <= beta each."""
        return self.noise.weighted_reach(weights, beta, n_cells=self.counts.size, room=self.room)

    def count_ends(self, noisy: Any, cells: int, beta: Any) -> tuple[int, int]:
        """Return ends of a true count, each wrong with probability at most beta, given a sum of cells."""
        return within(noisy, self.reach(cells, beta), self.n)


def within(noisy: Any, reach: int, n: int) -> tuple[int, int]:
    """Return the ends of a count from 0 to n that is not farther than `reach` from a noisy one."""
    noisy = int(noisy)
    return min(n, max(0, noisy - reach)), max(0, min(n, noisy + reach))


def noisy_table(
    counts: NDArray[np.int64], n: int, statistic: Statistic, noise: TableNoise, dice: Dice
) -> NoisyTable:
    """Release a table.

    Its cells have public ends. Those of a single cell are the ends of its true value. Several cells are added
    up, and must not be biased: their ends are farther away.
    """
    room = n * (statistic.high - statistic.low) if statistic.n_cells > 1 else 0
    low, high = n * statistic.low - room, n * statistic.high + room
    return NoisyTable(noise.added(counts, low=low, high=high, dice=dice), n, noise, statistic)


@dataclass(frozen=True)
class Measure:
    """A metric of known labels: its statistic and its functions of the noisy table."""

    statistic: Statistic
    value: Callable[[NoisyTable], float]  # NaN if it is not defined
    # From a table, beta and "of the population": an interval that contains the metric with probability
    # 1 - beta, on the records over the noise, or on the population over both.
    bounds: Callable[[NoisyTable, Fraction, bool], Interval]


def share_bounds(
    hits: tuple[int, int], others: tuple[int, int], n: int, error: Fraction | None
) -> tuple[float, float]:
    """Return bounds on hits / (hits + others), given ends of both.

    Of the records if `error` is None, where 0 / 0 is 0; else of the population: each end is wrong with
    probability at most `error`, given the number of records that the share is one of.
    """
    worst, best = (hits[0], min(others[1], n - hits[0])), (hits[1], min(others[0], n - hits[1]))
    if error is None:
        return worst[0] / sum(worst) if worst[0] else 0.0, best[0] / sum(best) if best[0] else 0.0
    low = success_bounds(worst[0], sum(worst), error)[0] if sum(worst) else 0.0
    return low, success_bounds(best[0], sum(best), error)[1] if sum(best) else 1.0


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
    """Return the counts in the shape of their table."""
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


def accuracy() -> Measure:
    """Return the measure of the share of correct predictions."""
    return Measure(ErrorCount(), _accuracy, _accuracy_bounds)


def _accuracy(table: NoisyTable) -> float:
    return 1 - int(table.counts[0]) / table.n


def _accuracy_bounds(table: NoisyTable, beta: Fraction, population: bool) -> Interval:
    n = table.n
    low, high = table.count_ends(table.counts[0], 1, beta / (4 if population else 2))
    if not population:
        return 1 - high / n, 1 - low / n
    return success_bounds(n - high, n, beta / 4)[0], success_bounds(n - low, n, beta / 4)[1]


def log_loss(labels: tuple[Any, ...], least: float) -> Measure:
    """Return the measure of minus the log loss, where probabilities are at least `least`."""
    return _minus_a_mean(LossSum(labels, least), -math.log(least))


def absolute_error(target: TargetRange) -> Measure:
    """Return the measure of minus the mean absolute error."""
    return _minus_a_mean(TargetSums(target.low, target.high, "absolute"), target.high - target.low)


def squared_error(target: TargetRange) -> Measure:
    """Return the measure of minus the mean squared error."""
    return _minus_a_mean(TargetSums(target.low, target.high, "squared"), (target.high - target.low) ** 2)


def root_squared_error(target: TargetRange) -> Measure:
    """Return the measure of minus the root of the mean squared error."""
    squared = squared_error(target)

    def bounds(table: NoisyTable, beta: Fraction, population: bool) -> Interval:
        low, high = squared.bounds(table, beta, population)
        return -math.sqrt(-low), -math.sqrt(-high)

    return replace(squared, value=lambda table: -math.sqrt(-squared.value(table)), bounds=bounds)


def _minus_a_mean(statistic: Statistic, most: float) -> Measure:
    """Return the measure of minus the mean of numbers from 0 to `most`."""
    return Measure(statistic, partial(_minus_mean, most), partial(_minus_mean_bounds, most))


def _minus_mean(most: float, table: NoisyTable) -> float:
    return 0.0 - most * _share(int(table.counts[0]), table)


def _share(steps: float, table: NoisyTable) -> float:
    return steps / (table.n * table.statistic.high)


def _minus_mean_bounds(most: float, table: NoisyTable, beta: Fraction, population: bool) -> Interval:
    reach, noisy = table.reach(1, beta / (4 if population else 2)), int(table.counts[0])
    extra = 0.5 * table.n  # each record's number is rounded by half a step at most
    low = min(1.0, max(0.0, _share(noisy - reach - extra, table)))
    high = max(0.0, min(1.0, _share(noisy + reach + extra, table)))
    if population:
        error = float(beta / 4)
        low, high = mean_bounds(low, table.n, error)[0], mean_bounds(high, table.n, error)[1]
    return 0.0 - most * high, 0.0 - most * low


def r2(target: TargetRange) -> Measure:
    """Return the measure of R^2."""
    return Measure(TargetSums(target.low, target.high, "r2"), _r2_value, _r2_bounds)


def _r2_value(table: NoisyTable) -> float:
    error, code, square = (int(each) / (table.n * table.statistic.high) for each in table.counts)
    spread = square - code**2
    return 1 - max(error, 0.0) / spread if spread > 0 else math.nan


def _r2_bounds(table: NoisyTable, beta: Fraction, population: bool) -> Interval:
    """Bound 1 - E[e^2] / (E[u^2] - E[u]^2) by bounds on these means; u lies in [-1/2, 1/2]."""
    share, n = (beta / 6 if population else beta / 3), table.n
    steps = n * table.statistic.high

    def ends(cell: int, down: float, up: float, low: float, high: float) -> Interval:
        # The rounding of a record's number moves it by `down` steps at most, and by `up` steps upwards.
        reach, noisy = table.reach(1, share / 2), int(table.counts[cell])
        least = max(low, min(high, (noisy - reach - down * n) / steps))
        most = min(high, max(low, (noisy + reach + up * n) / steps))
        if population:
            width, error = high - low, float(beta / 12)
            least = low + width * mean_bounds((least - low) / width, n, error)[0]
            most = low + width * mean_bounds((most - low) / width, n, error)[1]
        return least, most

    error_low, error_high = ends(0, 0.5, 0.5, 0.0, 1.0)
    mean = ends(1, 0.5, 0.5, -0.5, 0.5)
    # floor(c^2 / s) is up to a step less than c^2 / s, and c, rounded by half a step, moves u^2 by half a
    # step and a little.
    square = ends(2, 0.75, 1.75, 0.0, 0.25)
    nearest = 0.0 if mean[0] <= 0 <= mean[1] else min(abs(mean[0]), abs(mean[1]))
    farthest = max(abs(mean[0]), abs(mean[1]))
    spread_low, spread_high = square[0] - farthest**2, square[1] - nearest**2
    low = 1 - error_high / spread_low if spread_low > 0 else -math.inf
    high = 1 - error_low / spread_high if spread_high > 0 else 1.0
    return low, high


@dataclass(frozen=True)
class Band:
    """Bounds on the points of a curve, all right together; index k is "predicted positive from bin k on".

    Index 0 is 1, the last 0.
    """

    fpr: tuple[Floats64, Floats64]
    tpr: tuple[Floats64, Floats64]
    negatives: tuple[int, int]
    positives: tuple[int, int]


def binned_counts(table: NoisyTable, which: int = 0) -> Floats64:
    """Return the counts by "positive or not" and by bin nearest to the noisy ones, >= 0, of the same sums."""
    rows = []
    for each in _matrix(table)[which]:
        total = max(float(each.sum()), 0.0)
        rows.append(total * nearest_shares(each / total) if total else np.zeros(len(each)))
    return np.array(rows)


def curve_band(table: NoisyTable, beta: Fraction, *, population: bool, which: int = 0) -> Band:
    """Return bounds on all points of the curve of binned scores, right together with probability 1 - beta.

    Of the population, over noise and records; else of the records, over the noise.

    Notes
    -----
    Records from a bin on, and records before it, are partial sums of cells. By Levy's inequality all of a
    row's sums in one direction exceed a reach r with probability at most 2 P[all cells' noise > r], and so
    downwards: eight such events.
    """
    counts = _matrix(table)[which]
    n_bins = counts.shape[1]
    share = beta / (2 if population else 1)
    reach = table.reach(n_bins, share / 16)
    error = share / (4 * max(1, n_bins - 1)) if population else None
    rates, totals = [], []
    for row in counts:
        after = np.concatenate([np.cumsum(row[::-1])[::-1], [0]])
        before = np.concatenate([[0], np.cumsum(row)])
        low, high = np.zeros(n_bins + 1), np.ones(n_bins + 1)
        for k in range(1, n_bins):
            low[k], high[k] = share_bounds(
                within(after[k], reach, table.n), within(before[k], reach, table.n), table.n, error
            )
        low[0], high[-1] = 1.0, 0.0
        # True rates fall from bin to bin.
        rates.append((np.maximum.accumulate(low[::-1])[::-1], np.minimum.accumulate(high)))
        totals.append(within(after[0], reach, table.n))
    return Band(rates[0], rates[1], totals[0], totals[1])


def roc_auc(
    labels: tuple[Any, ...], places: tuple[int, ...], edges: tuple[float, ...], method: str
) -> Measure:
    """Return the measure of the mean area under the curves of some labels, each against all others."""
    k = len(places)

    def bounds(table: NoisyTable, beta: Fraction, population: bool) -> Interval:
        ends = np.array([_area_bounds(table, beta / k, population, which) for which in range(k)])
        low, high = ends.mean(axis=0)
        return float(low), float(high)

    return Measure(
        BinnedScores(labels, places, edges, method),
        lambda table: float(np.mean([_area(table, which) for which in range(k)])),
        bounds,
    )


def _area(table: NoisyTable, which: int) -> float:
    """Return the area under the curve, ties in a bin counted half; NaN without noisy records of a kind."""
    negative, positive = _matrix(table)[which].astype(np.float64)
    n_negative, n_positive = negative.sum(), positive.sum()
    if min(n_negative, n_positive) <= 0:
        return math.nan
    area = positive @ (np.cumsum(negative) - negative / 2) / (n_negative * n_positive)
    return float(min(1.0, max(0.0, area)))


def _area_bounds(table: NoisyTable, beta: Fraction, population: bool, which: int) -> Interval:
    """Return bounds on the area under the curve of the scores themselves, whatever their order in a bin.

    The area is between those where all ties in a bin count 0, and where they count 1.

    Notes
    -----
    Let p and q be the true counts of positives and negatives in the bins, k[b, c] what a pair of records in
    bins b and c counts, z and w the noise, and A the area p'kq / (PQ). So M(A) = p'(k - A)q is 0, and for the
    noisy counts it is z'(k - A)q + w'(k - A)'(p + z). Given z, the second term is a sum of independent noise
    with known weights. In the first, the weights are (k - A)q, and those for noisy counts differ from them
    by (k - A)w: by at most the greatest sum of w over consecutive bins from the first or the last one, which
    Levy's inequality bounds. An area for which M is farther from 0 than the bounds on both terms is excluded.
    """
    counts = _matrix(table)[which].astype(np.float64)
    n_bins, share = counts.shape[1], float(beta / 2 if population else beta)
    reach = table.reach(n_bins, share / 16)
    fewest = min(counts.sum(axis=1)) - reach
    if fewest < 1:
        return 0.0, 1.0
    order = np.arange(n_bins)
    ends = []
    for pairs, place in ((order[:, None] > order, 0), (order[:, None] >= order, 1)):
        ends.append(_possible_areas(table, counts, pairs.astype(np.float64), reach, share)[place])
    low, high = ends
    if population:  # Hoeffding (1963), section 5: U-statistics of two samples
        margin = math.sqrt(math.log(2 / share) / (2 * math.floor(min(fewest, table.n))))
        low, high = low - margin, high + margin
    return max(0.0, low), min(1.0, high)


def _possible_areas(
    table: NoisyTable, counts: Floats64, pairs: Floats64, reach: int, share: float
) -> Interval:
    """Return the least and the greatest area that the noisy counts do not exclude.

    The weights are linear in the area, so that on a cell of a grid of areas they are between those at its
    ends.
    """
    negative, positive = counts
    areas = np.linspace(0, 1, _GRID + 1)
    of_positives = np.abs((pairs @ negative)[None, :] - areas[:, None] * negative.sum()) + reach
    of_negatives = np.abs((positive @ pairs)[None, :] - areas[:, None] * positive.sum())
    middle = positive @ pairs @ negative - areas * positive.sum() * negative.sum()
    nearest = np.minimum(np.abs(middle[1:]), np.abs(middle[:-1]))
    nearest[middle[1:] * middle[:-1] <= 0] = 0
    allowed = table.weighted_reach(np.maximum(of_positives[1:], of_positives[:-1]), share / 16)
    allowed += table.weighted_reach(np.maximum(of_negatives[1:], of_negatives[:-1]), share / 16)
    kept = np.flatnonzero(nearest <= allowed)
    if not len(kept):  # which has probability beta at most
        return 0.0, 1.0
    return float(areas[kept[0]]), float(areas[kept[-1] + 1])
