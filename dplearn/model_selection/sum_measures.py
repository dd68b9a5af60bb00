"""Metrics of one count or a few sums: accuracy, log loss, mean errors of regressors, and R^2.

>>> accuracy().statistic
ErrorCount()
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

from dplearn.core.confidence_bounds import mean_bounds, success_bounds
from dplearn.model_selection.measures import Interval, Measure, NoisyTable
from dplearn.model_selection.statistics import ErrorCount, LossSum, Statistic, TargetSums
from dplearn.records.targets import TargetRange

__all__ = ["absolute_error", "accuracy", "log_loss", "r2", "root_squared_error", "squared_error"]


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
    low, high = _mean_ends(table, 0, beta / 2 if population else beta, rounded=0.5)
    if population:
        error = float(beta / 4)
        low, high = mean_bounds(low, table.n, error)[0], mean_bounds(high, table.n, error)[1]
    return 0.0 - most * high, 0.0 - most * low


def _mean_ends(table: NoisyTable, cell: int, beta: Fraction, *, rounded: float) -> Interval:
    """Return ends of the mean in a cell, as a share of the greatest, both right with probability 1 - beta.

    Each record's number was rounded by at most `rounded` steps.
    """
    reach, noisy = table.reach(1, beta / 2), int(table.counts[cell])
    extra = rounded * table.n
    low, high = _share(noisy - reach - extra, table), _share(noisy + reach + extra, table)
    return min(1.0, max(0.0, low)), max(0.0, min(1.0, high))


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
