"""Metrics of scikit-learn as functions of a private table: which statistic, what value, what interval.

>>> sorted(METRICS)[:4]
['accuracy', 'balanced_accuracy', 'f1', 'f1_macro']
>>> measure_of(PrivateScorer("f1"), (0, 1)).statistic
ConfusionCounts(labels=(0, 1))
>>> measure_of(PrivateScorer("f1"), ("a", "b", "c"))
Traceback (most recent call last):
    ...
ValueError: scoring='f1' needs two labels, got 3; for more, choose 'f1_macro', 'f1_micro' or 'f1_weighted'
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from dplearn._validation import check_count, check_number, shown
from dplearn._writing import brief
from dplearn.core.binomial import success_bounds
from dplearn.core.bounded_means import mean_bounds
from dplearn.core.simplex import nearest_shares
from dplearn.model_selection.statistics import (
    BinnedScores,
    ConfusionCounts,
    ErrorCount,
    LossSum,
    Statistic,
    TargetSums,
)
from dplearn.model_selection.table_noise import TableNoise
from dplearn.records.targets import TargetRange

__all__ = [
    "METRICS",
    "Band",
    "Measure",
    "NoisyTable",
    "PrivateScorer",
    "binned_counts",
    "curve_band",
    "measure_of",
    "released_ends",
    "share_bounds",
]

Floats64 = NDArray[np.float64]
Interval = tuple[float, float]

_FARTHEST = 7.0  # the log-odds of the outermost of the default bins: about 1/1000
_MOST_BINS = 1000


@dataclass(frozen=True)
class PrivateScorer:
    """A metric and its public parameters, for `scoring=` of `private_score` and `PrivateSearchCV`.

    A name alone stands for `PrivateScorer(name)`. Names and conventions are those of scikit-learn's scorers:
    greater values are better, so that losses and errors are negative.

    Parameters
    ----------
    name : str
        "accuracy", "balanced_accuracy", "roc_auc", "roc_auc_ovr", "neg_log_loss"; "f1", "precision" and
        "recall", also with "_macro", "_micro" or "_weighted"; for regressors "r2",
        "neg_mean_absolute_error", "neg_mean_squared_error", "neg_root_mean_squared_error".
    labels : sequence, optional
        Public. All labels that a record may have or that may be predicted. None: `classes_` of the estimator.
        Not used for "accuracy", which takes any labels.
    pos_label : label, optional
        Public. The positive label of "f1", "precision" and "recall": None is 1 if the labels are 0 and 1, or
        -1 and 1. Of "roc_auc": None is the greater label.
    bins : int or array-like of float, default=20
        Public. For "roc_auc" and "roc_auc_ovr", scores are counted in bins: so many, or those between given
        increasing edges. So many bins of probabilities are equally wide in log-odds from -7 to 7, and of
        decision values equally wide on `score_range`. More bins have more noise.
    score_range : pair of float, optional
        Public. The range on which decision values are binned, for classifiers without `predict_proba`; values
        outside it are in the outermost bins.
    target_range : pair of float, optional
        Public. For regressors: targets and predictions outside it count as its nearest end.
    least_probability : float, default=0.001
        Public. For "neg_log_loss": a lower probability of a record's label counts as this one, so that a loss
        is at most -ln(least_probability). (In scikit-learn it is about 2e-16.)
    """

    name: str
    labels: Any = None
    pos_label: Any = None
    bins: Any = 20
    score_range: Any = None
    target_range: Any = None
    least_probability: Any = 0.001

    @classmethod
    def of(cls, scoring: Any) -> "PrivateScorer":
        """Return the scorer that a parameter `scoring` stands for.

        Parameters
        ----------
        scoring : None, str or PrivateScorer
            None is "accuracy".
        """
        scorer = scoring if isinstance(scoring, cls) else cls("accuracy" if scoring is None else scoring)
        if not isinstance(scorer.name, str) or scorer.name not in METRICS:
            raise ValueError(
                f"scoring must be None, a PrivateScorer or one of {', '.join(METRICS)}, got {shown(scoring)}"
            )
        return scorer

    @property
    def regression(self) -> bool:
        """Whether the metric is one of regressors."""
        return METRICS[self.name].regression

    @property
    def any_labels(self) -> bool:
        """Whether the metric needs no list of labels."""
        return METRICS[self.name].any_labels


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

    def count_ends(self, noisy: Any, cells: int, beta: Any) -> tuple[int, int]:
        """Return ends of a true count, each wrong with probability at most beta, given a sum of cells."""
        reach, noisy = self.reach(cells, beta), int(noisy)
        return min(self.n, max(0, noisy - reach)), max(0, min(self.n, noisy + reach))


def released_ends(statistic: Statistic, n: int) -> tuple[int, int]:
    """Return public ends of the noisy cells of a table of n records.

    Those of a single cell are the ends of its true value. Several cells are added up, and must not be biased:
    their ends are farther away.

    Parameters
    ----------
    statistic : Statistic
        What the table holds.
    n : int
        Number of records that are counted.
    """
    room = n * (statistic.high - statistic.low) if statistic.n_cells > 1 else 0
    return n * statistic.low - room, n * statistic.high + room


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


@dataclass(frozen=True)
class Metric:
    """An entry of the registry: the measure for given labels, and what it needs.

    Attributes
    ----------
    measure : callable
        From a scorer, the labels, and the method that scores come from, to the `Measure`.
    regression : bool
        Whether it is a metric of regressors.
    any_labels : bool
        Whether it needs no list of labels.
    method : str
        The method of estimators that it needs; "scores" is `predict_proba` or, with a public range,
        `decision_function`.
    falls : bool
        Whether the value is minus the only cell of its table, up to a public factor and an added constant: a
        quality whose sensitivity is that of the table.
    """

    measure: Callable[[PrivateScorer, tuple[Any, ...], str], Measure]
    regression: bool = False
    any_labels: bool = False
    method: str = "predict"
    falls: bool = False


def measure_of(scorer: PrivateScorer, labels: tuple[Any, ...], estimator: Any = None) -> Measure:
    """Return the measure of a scorer, after a check of its public parameters.

    Parameters
    ----------
    scorer : PrivateScorer
        From `PrivateScorer.of`.
    labels : tuple
        Public. All labels, sorted; empty for metrics that need none.
    estimator : object, optional
        Public. Whether it has `predict_proba` or `decision_function` decides where scores come from. None:
        it has `predict_proba`.

    Raises
    ------
    TypeError, ValueError
        If the metric does not suit the labels or the estimator, or a parameter is not as described.
    """
    metric = METRICS[scorer.name]
    method = "predict"
    if metric.method == "scores":
        method = _score_method(scorer, estimator)
    elif metric.method != "predict" and estimator is not None and not hasattr(estimator, metric.method):
        raise TypeError(
            f"scoring={scorer.name!r} needs an estimator with a method {metric.method}, got"
            f" {type(estimator).__name__}"
        )
    if not labels and not metric.any_labels and not metric.regression:
        raise ValueError(
            f"scoring={scorer.name!r} needs the public labels: pass PrivateScorer({scorer.name!r},"
            " labels=[...]), because the estimator has no attribute classes_ with one list of labels"
        )
    return metric.measure(scorer, labels, method)


def _score_method(scorer: PrivateScorer, estimator: Any) -> str:
    if estimator is None or hasattr(estimator, "predict_proba"):
        return "predict_proba"
    if scorer.score_range is None or not hasattr(estimator, "decision_function"):
        raise TypeError(
            f"scoring={scorer.name!r} needs an estimator with a method predict_proba, whose range is public,"
            " or decision_function and a public PrivateScorer(..., score_range=(low, high)), got"
            f" {type(estimator).__name__}"
        )
    return "decision_function"


# Metrics of one count or one sum.


def _wrong(scorer: PrivateScorer, labels: tuple[Any, ...], method: str) -> Measure:  # noqa: ARG001
    return Measure(ErrorCount(), _accuracy, _accuracy_bounds)


def _accuracy(table: NoisyTable) -> float:
    return 1 - int(table.counts[0]) / table.n


def _accuracy_bounds(table: NoisyTable, beta: Fraction, population: bool) -> Interval:
    n = table.n
    low, high = table.count_ends(table.counts[0], 1, beta / (4 if population else 2))
    if not population:
        return 1 - high / n, 1 - low / n
    return success_bounds(n - high, n, beta / 4)[0], success_bounds(n - low, n, beta / 4)[1]


def _loss(scorer: PrivateScorer, labels: tuple[Any, ...], method: str) -> Measure:  # noqa: ARG001
    least = float(check_number("least_probability", scorer.least_probability, above=0, below=1))
    statistic, most = LossSum(labels, least), -math.log(least)
    return Measure(statistic, partial(_minus_mean, most), partial(_minus_mean_bounds, most))


def _absolute_error(scorer: PrivateScorer, labels: tuple[Any, ...], method: str) -> Measure:  # noqa: ARG001
    target = _range_of(scorer)
    statistic, most = TargetSums(target.low, target.high, "absolute"), target.high - target.low
    return Measure(statistic, partial(_minus_mean, most), partial(_minus_mean_bounds, most))


def _squared_error(scorer: PrivateScorer, labels: tuple[Any, ...], method: str) -> Measure:  # noqa: ARG001
    target = _range_of(scorer)
    statistic, most = TargetSums(target.low, target.high, "squared"), (target.high - target.low) ** 2
    return Measure(statistic, partial(_minus_mean, most), partial(_minus_mean_bounds, most))


def _root_squared_error(scorer: PrivateScorer, labels: tuple[Any, ...], method: str) -> Measure:
    squared = _squared_error(scorer, labels, method)

    def bounds(table: NoisyTable, beta: Fraction, population: bool) -> Interval:
        low, high = squared.bounds(table, beta, population)
        return -math.sqrt(-low), -math.sqrt(-high)

    return replace(squared, value=lambda table: -math.sqrt(-squared.value(table)), bounds=bounds)


def _range_of(scorer: PrivateScorer) -> TargetRange:
    if scorer.target_range is None:
        raise ValueError(
            f"scoring={scorer.name!r} needs public bounds on the target: pass PrivateScorer({scorer.name!r},"
            " target_range=(low, high))"
        )
    return TargetRange.of(scorer.target_range, clip=True)


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


# R^2: three sums.


def _r2(scorer: PrivateScorer, labels: tuple[Any, ...], method: str) -> Measure:  # noqa: ARG001
    target = _range_of(scorer)
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


# Metrics of a confusion matrix.


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
_RATIOS: dict[str, tuple[Callable[[NDArray[np.int64]], _Parts], Callable[[float], float]]] = {
    "recall": (_recalled, _same),
    "precision": (_precise, _same),
    "f1": (_either, _f1_of_jaccard),
}


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


def _ratio_ends(
    ratio: str, table: NoisyTable, places: Sequence[int], beta: Fraction, population: bool
) -> list[Interval]:
    """Return bounds on a ratio for each of some labels, all right with probability 1 - beta."""
    find, change = _RATIOS[ratio]
    parts, share = find(_matrix(table)), beta / (2 if population else 1) / len(places)
    found = []
    for place in places:
        hits = table.count_ends(parts.hits[place], 1, share / 4)
        others = table.count_ends(parts.others[place], parts.cells, share / 4)
        low, high = share_bounds(hits, others, table.n, share / 2 if population else None)
        found.append((change(low), change(high)))
    return found


def _ratio_values(ratio: str, table: NoisyTable) -> list[float]:
    """Return the ratio for each label; negative counts are 0, and 0 / 0 is 0, as with zero_division=0."""
    find, change = _RATIOS[ratio]
    parts = find(_matrix(table))
    hits, others = np.maximum(parts.hits, 0).tolist(), np.maximum(parts.others, 0).tolist()
    return [change(a / (a + b)) if a else 0.0 for a, b in zip(hits, others, strict=True)]


def _matrix(table: NoisyTable) -> NDArray[np.int64]:
    return table.counts.reshape(table.statistic.shape)


def _binary(ratio: str, scorer: PrivateScorer, labels: tuple[Any, ...], method: str) -> Measure:  # noqa: ARG001
    place = _positive(scorer, labels, others=[f"{ratio}_{each}" for each in ("macro", "micro", "weighted")])
    return Measure(
        ConfusionCounts(labels),
        lambda table: _ratio_values(ratio, table)[place],
        lambda table, beta, population: _ratio_ends(ratio, table, [place], beta, population)[0],
    )


def _macro(ratio: str, scorer: PrivateScorer, labels: tuple[Any, ...], method: str) -> Measure:  # noqa: ARG001
    def bounds(table: NoisyTable, beta: Fraction, population: bool) -> Interval:
        ends = np.array(_ratio_ends(ratio, table, range(len(labels)), beta, population))
        low, high = ends.mean(axis=0)
        return float(low), float(high)

    return Measure(
        ConfusionCounts(labels), lambda table: float(np.mean(_ratio_values(ratio, table))), bounds
    )


def _weighted(ratio: str, scorer: PrivateScorer, labels: tuple[Any, ...], method: str) -> Measure:  # noqa: ARG001
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


def _balanced(scorer: PrivateScorer, labels: tuple[Any, ...], method: str) -> Measure:  # noqa: ARG001
    """Return the measure of the mean recall of the labels that occur; of rare ones, the noise hides it."""

    def value(table: NoisyTable) -> float:
        counted = np.maximum(_matrix(table), 0).sum(axis=1)
        found = [each for each, count in zip(_ratio_values("recall", table), counted, strict=True) if count]
        return float(np.mean(found)) if found else math.nan

    def bounds(table: NoisyTable, beta: Fraction, population: bool) -> Interval:
        ends = _ratio_ends("recall", table, range(len(labels)), beta, population)
        parts, share = _recalled(_matrix(table)), beta / (2 if population else 1) / len(labels)
        sure = [
            table.count_ends(hits, 1, share / 4)[0] + table.count_ends(others, parts.cells, share / 4)[0] > 0
            for hits, others in zip(parts.hits, parts.others, strict=True)
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


def _positive(scorer: PrivateScorer, labels: tuple[Any, ...], *, others: Sequence[str]) -> int:
    """Return the position of the positive label, by scikit-learn's convention."""
    if len(labels) != 2:
        names = ", ".join(map(repr, others[:-1])) + (" or " if others[:-1] else "") + repr(others[-1])
        raise ValueError(
            f"scoring={scorer.name!r} needs two labels, got {len(labels)}; for more, choose {names}"
        )
    if scorer.pos_label is None:
        if set(labels) in ({0, 1}, {-1, 1}):
            return 1
        raise ValueError(
            f"scoring={scorer.name!r} needs PrivateScorer(..., pos_label=), one of {list(labels)}: it is 1 by"
            " default only for the labels 0 and 1, or -1 and 1"
        )
    if scorer.pos_label not in labels:
        raise ValueError(f"pos_label must be None or one of {list(labels)}, got {shown(scorer.pos_label)}")
    return labels.index(scorer.pos_label)


# Metrics of binned scores.


@dataclass(frozen=True)
class Band:
    """Bounds on the points of a curve, all right together; index k is "predicted positive from bin k on".

    Attributes
    ----------
    fpr, tpr : pair of ndarray of float64 of shape (n_bins + 1,)
        Lower and upper ends of the false and true positive rates; index 0 is 1, the last 0.
    negatives, positives : pair of int
        Ends of the numbers of records.
    """

    fpr: tuple[Floats64, Floats64]
    tpr: tuple[Floats64, Floats64]
    negatives: tuple[int, int]
    positives: tuple[int, int]


def binned_counts(table: NoisyTable, which: int = 0) -> Floats64:
    """Return the counts by "positive or not" and by bin, nearest to the noisy ones, >= 0 and with their sums.

    Parameters
    ----------
    table : NoisyTable
        Of `BinnedScores`.
    which : int, default=0
        Which of the binned labels.
    """
    rows = []
    for each in table.counts.reshape(table.statistic.shape)[which]:
        total = max(float(each.sum()), 0.0)
        rows.append(total * nearest_shares(each / total) if total else np.zeros(len(each)))
    return np.array(rows)


def curve_band(table: NoisyTable, beta: Fraction, *, population: bool, which: int = 0) -> Band:
    """Return bounds on all points of the curve of binned scores, right together with probability 1 - beta.

    Parameters
    ----------
    table : NoisyTable
        Of `BinnedScores`.
    beta : Fraction
        Probability of failure.
    population : bool
        Of the population, over noise and records; else of the records, over the noise.
    which : int, default=0
        Which of the binned labels.

    Notes
    -----
    Records from a bin on, and records before it, are partial sums of cells. By Levy's inequality all of a
    row's sums in one direction exceed a reach r with probability at most 2 P[all cells' noise > r], and so
    downwards: eight such events.
    """
    counts = table.counts.reshape(table.statistic.shape)[which]
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
                _within(after[k], reach, table.n), _within(before[k], reach, table.n), table.n, error
            )
        low[0], high[-1] = 1.0, 0.0
        # True rates fall from bin to bin.
        rates.append((np.maximum.accumulate(low[::-1])[::-1], np.minimum.accumulate(high)))
        totals.append(_within(after[0], reach, table.n))
    return Band(rates[0], rates[1], totals[0], totals[1])


def _within(noisy: Any, reach: int, n: int) -> tuple[int, int]:
    noisy = int(noisy)
    return min(n, max(0, noisy - reach)), max(0, min(n, noisy + reach))


def _area(table: NoisyTable, which: int) -> float:
    """Return the area under the curve, ties in a bin counted half; NaN without noisy records of a kind."""
    negative, positive = binned_counts(table, which)
    both = float(negative.sum() * positive.sum())
    if not both:
        return math.nan
    below = np.cumsum(negative) - negative / 2
    return float((positive * below).sum() / both)


def _area_bounds(table: NoisyTable, beta: Fraction, population: bool, which: int) -> Interval:
    """Return bounds on the area under the curve of the scores themselves, whatever their order in a bin."""
    share = beta / 2 if population else beta
    band = curve_band(table, share, population=False, which=which)
    fewest = min(band.negatives[0], band.positives[0])
    if not fewest:
        return 0.0, 1.0
    low = _steps_area(band.fpr[1], band.tpr[0], after=False)
    high = _steps_area(band.fpr[0], band.tpr[1], after=True)
    if population:  # Hoeffding (1963), section 5: U-statistics of two samples
        margin = math.sqrt(math.log(2 / float(share)) / (2 * fewest))
        low, high = low - margin, high + margin
    return max(0.0, low), min(1.0, high)


def _steps_area(x: Floats64, y: Floats64, *, after: bool) -> float:
    """Return the area under steps through points, given in falling order; of a step's ends, one."""
    x, y = x[::-1], y[::-1]
    return float(((y[1:] if after else y[:-1]) * np.diff(x)).sum())


def _edges(scorer: PrivateScorer, method: str) -> tuple[float, ...]:
    """Return the inner edges of the bins."""
    if np.ndim(scorer.bins) == 0 and not isinstance(scorer.bins, str):
        count = check_count("bins", scorer.bins, low=2, high=_MOST_BINS)
        if method == "predict_proba":
            return tuple(expit(np.linspace(-_FARTHEST, _FARTHEST, count - 1)).tolist())
        low, high = _score_range(scorer)
        return tuple(np.linspace(low, high, count + 1)[1:-1].tolist())
    listed = [] if isinstance(scorer.bins, str) or np.ndim(scorer.bins) != 1 else list(scorer.bins)
    edges = tuple(float(check_number("bins", each)) for each in listed)
    if not 0 < len(edges) < _MOST_BINS or any(b <= a for a, b in pairwise(edges)):
        raise ValueError(
            f"bins must be a number from 2 to {_MOST_BINS}, or the increasing inner edges between so many"
            f" bins, got {brief(scorer.bins)}"
        )
    return edges


def _score_range(scorer: PrivateScorer) -> tuple[float, float]:
    pair = scorer.score_range
    if isinstance(pair, str) or np.shape(pair) != (2,):
        raise ValueError(f"score_range must be a pair (low, high), got {shown(pair)}")
    low, high = (float(check_number("score_range", each)) for each in pair)
    if not low < high:
        raise ValueError(f"score_range must be a pair with low < high, got {shown(pair)}")
    return low, high


def _roc_auc(scorer: PrivateScorer, labels: tuple[Any, ...], method: str) -> Measure:
    chosen = replace(scorer, pos_label=labels[-1]) if scorer.pos_label is None else scorer
    place = _positive(chosen, labels, others=["roc_auc_ovr"])
    statistic = BinnedScores(labels, (place,), _edges(scorer, method), method)
    return Measure(
        statistic,
        lambda table: _area(table, 0),
        lambda table, beta, population: _area_bounds(table, beta, population, 0),
    )


def _roc_auc_ovr(scorer: PrivateScorer, labels: tuple[Any, ...], method: str) -> Measure:
    if method != "predict_proba":
        raise TypeError("scoring='roc_auc_ovr' needs an estimator with a method predict_proba")
    k = len(labels)
    statistic = BinnedScores(labels, tuple(range(k)), _edges(scorer, method), method)

    def bounds(table: NoisyTable, beta: Fraction, population: bool) -> Interval:
        ends = np.array([_area_bounds(table, beta / k, population, which) for which in range(k)])
        low, high = ends.mean(axis=0)
        return float(low), float(high)

    return Measure(statistic, lambda table: float(np.mean([_area(table, each) for each in range(k)])), bounds)


_CORRECT = Metric(_wrong, any_labels=True, falls=True)  # the accuracy
METRICS: dict[str, Metric] = {
    "accuracy": _CORRECT,
    "balanced_accuracy": Metric(_balanced),
    **{ratio: Metric(partial(_binary, ratio)) for ratio in _RATIOS},
    **{f"{ratio}_macro": Metric(partial(_macro, ratio)) for ratio in _RATIOS},
    **{f"{ratio}_micro": _CORRECT for ratio in _RATIOS},
    **{f"{ratio}_weighted": Metric(partial(_weighted, ratio)) for ratio in ("precision", "f1")},
    "recall_weighted": _CORRECT,
    "roc_auc": Metric(_roc_auc, method="scores"),
    "roc_auc_ovr": Metric(_roc_auc_ovr, method="scores"),
    "neg_log_loss": Metric(_loss, method="predict_proba", falls=True),
    "r2": Metric(_r2, regression=True),
    "neg_mean_absolute_error": Metric(_absolute_error, regression=True),
    "neg_mean_squared_error": Metric(_squared_error, regression=True),
    "neg_root_mean_squared_error": Metric(_root_squared_error, regression=True),
}
