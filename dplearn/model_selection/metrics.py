"""Metrics of scikit-learn as functions of a private table: which statistic, what value, what interval.

`PrivateScorer` names a metric and its public parameters; a `Measure` is that metric for known labels.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from dplearn._validation import check_count, check_number, check_pair, shown
from dplearn._writing import brief
from dplearn.kernels import nearest_shares, success_bounds
from dplearn.kernels.confidence_bounds import mean_bounds
from dplearn.model_selection.tables import (
    BinnedScores,
    ConfusionCounts,
    Counts,
    ErrorCount,
    Floats64,
    LossSum,
    NoisyTable,
    Statistic,
    TargetSums,
    within,
)
from dplearn.table.targets import TargetRange

Interval = tuple[float, float]
_GRID = 256  # cells of possible areas
FARTHEST = 7.0  # the log-odds of the outermost of the default bins and thresholds: about 1/1000
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
        Not used for "accuracy", nor for "recall_weighted" and the "_micro" averages, which are equal to it: a
        record whose label is missing, or is not one that can be predicted, counts as an error there.
    pos_label : label, optional
        Public. The positive label of "f1", "precision" and "recall": None is 1 if the labels are 0 and 1, or
        -1 and 1. Of "roc_auc": None is the greater label.
    bins : int or array-like of float, default=30
        Public. For "roc_auc" and "roc_auc_ovr", scores are counted in bins: so many, or those between given
        increasing edges. So many bins of probabilities are equally wide in log-odds from -7 to 7, and of
        decision values equally wide on `score_range`. More bins have more noise.
    score_range : pair of float, optional
        Public. The range on which decision values are binned, for classifiers without `predict_proba`; values
        outside it are in the outermost bins.
    target_range : pair of float, optional
        Public. For regressors: targets and predictions outside it count as its nearest end. None: the
        `target_range` of the estimator, or of the candidates of a search.
    least_probability : float, default=0.001
        Public. For "neg_log_loss": a lower probability of a record's label counts as this one, so that a loss
        is at most -ln(least_probability). (In scikit-learn it is about 2e-16.)

    Examples
    --------
    >>> from dplearn.model_selection import PrivateScorer
    >>> recall = PrivateScorer("recall", pos_label="ill", labels=["ill", "well"])
    """

    name: str
    labels: Any = None
    pos_label: Any = None
    bins: Any = 30
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
    """Return bounds on hits / (hits + others), given ends of both: of records if `error` is None, where 0 / 0
    is 0, or of the population, where each end is wrong with probability at most `error`.
    """
    worst, best = (hits[0], min(others[1], n - hits[0])), (hits[1], min(others[0], n - hits[1]))
    if error is None:
        return worst[0] / sum(worst) if worst[0] else 0.0, best[0] / sum(best) if best[0] else 0.0
    low = success_bounds(worst[0], sum(worst), error)[0] if sum(worst) else 0.0
    return low, success_bounds(best[0], sum(best), error)[1] if sum(best) else 1.0


class _Parts(NamedTuple):
    """For each label: hits, the other records of the ratio, and how many cells the latter are summed from."""

    hits: Counts
    others: Counts
    cells: int


def _recalled(counts: Counts) -> _Parts:
    hits = np.diagonal(counts)
    return _Parts(hits, counts.sum(axis=1) - hits, len(counts) - 1)


def _precise(counts: Counts) -> _Parts:
    return _recalled(counts.T)


def _either(counts: Counts) -> _Parts:
    both = _recalled(counts), _precise(counts)
    return _Parts(both[0].hits, both[0].others + both[1].others, 2 * (len(counts) - 1))


#: The parts of a ratio hits / (hits + others), and a function of it. F1 is 2 j / (1 + j), where j is the
#: share of hits among records that have the label, or are given it.
RATIOS: dict[str, tuple[Callable[[Counts], _Parts], Callable[[float], float]]] = {
    "recall": (_recalled, lambda share: share),
    "precision": (_precise, lambda share: share),
    "f1": (_either, lambda share: 2 * share / (1 + share)),
}


def _ratio_ends(
    ratio: str, table: NoisyTable, places: Sequence[int], beta: Fraction, population: bool
) -> list[Interval]:
    """Return bounds on a ratio for each of some labels, all right with probability 1 - beta."""
    find, change = RATIOS[ratio]
    counts, share = find(table.matrix), beta / (2 if population else 1) / len(places)
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
    counts = find(table.matrix)
    hits, others = np.maximum(counts.hits, 0).tolist(), np.maximum(counts.others, 0).tolist()
    return [change(a / (a + b)) if a else 0.0 for a, b in zip(hits, others, strict=True)]


def _of_one_label(ratio: str, asked: "Asked") -> Measure:
    place = _positive(asked, others=[f"{ratio}_{average}" for average in ("macro", "micro", "weighted")])
    return Measure(
        ConfusionCounts(asked.labels),
        lambda table: _ratio_values(ratio, table)[place],
        lambda table, beta, population: _ratio_ends(ratio, table, [place], beta, population)[0],
    )


def macro(ratio: str, labels: tuple[Any, ...]) -> Measure:

    def bounds(table: NoisyTable, beta: Fraction, population: bool) -> Interval:
        return _mean_ends(_ratio_ends(ratio, table, range(len(labels)), beta, population))

    return Measure(ConfusionCounts(labels), lambda table: float(np.mean(_ratio_values(ratio, table))), bounds)


def _mean_ends(ends: Sequence[Interval]) -> Interval:
    low, high = np.mean(ends, axis=0).tolist()
    return low, high


def weighted(ratio: str, labels: tuple[Any, ...]) -> Measure:
    """Return the measure of the mean of a ratio over all labels, weighted by their numbers of records."""

    def value(table: NoisyTable) -> float:
        weights = np.maximum(table.matrix.sum(axis=1), 0)
        return float(np.average(_ratio_values(ratio, table), weights=weights)) if weights.sum() else 0.0

    def bounds(table: NoisyTable, beta: Fraction, population: bool) -> Interval:
        k, n = len(labels), table.n
        ends = _ratio_ends(ratio, table, range(k), beta / 2, population)
        share = beta / (8 if population else 4) / k
        weights = []
        for count in table.matrix.sum(axis=1):
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
        counted = np.maximum(table.matrix, 0).sum(axis=1)
        found = [each for each, count in zip(_ratio_values("recall", table), counted, strict=True) if count]
        return float(np.mean(found)) if found else math.nan

    def bounds(table: NoisyTable, beta: Fraction, population: bool) -> Interval:
        ends = _ratio_ends("recall", table, range(len(labels)), beta, population)
        counts, share = _recalled(table.matrix), beta / (2 if population else 1) / len(labels)
        sure = [
            table.count_ends(hits, 1, share / 4)[0] + table.count_ends(others, counts.cells, share / 4)[0] > 0
            for hits, others in zip(counts.hits, counts.others, strict=True)
        ]
        of_sure = [each for each, is_sure in zip(ends, sure, strict=True) if is_sure]
        # Of the other labels any number may occur, with recalls from 0 to 1.
        most = sum(high for _, high in of_sure) + sure.count(False)
        return sum(low for low, _ in of_sure) / len(sure), most / len(sure)

    return Measure(ConfusionCounts(labels), value, bounds)


def _accuracy(table: NoisyTable) -> float:
    return 1 - int(table.counts[0]) / table.n


def _accuracy_bounds(table: NoisyTable, beta: Fraction, population: bool) -> Interval:
    n = table.n
    low, high = table.count_ends(table.counts[0], 1, beta / (4 if population else 2))
    if not population:
        return 1 - high / n, 1 - low / n
    return success_bounds(n - high, n, beta / 4)[0], success_bounds(n - low, n, beta / 4)[1]


def minus_a_mean(statistic: Statistic, most: float, *, root: bool = False) -> Measure:
    """Return the measure of minus the mean of numbers from 0 to `most`, or of minus its root."""

    def negated(share: float) -> float:
        return -math.sqrt(most * share) if root else 0.0 - most * share

    def value(table: NoisyTable) -> float:
        return negated(int(table.counts[0]) / (table.n * table.statistic.high))

    def bounds(table: NoisyTable, beta: Fraction, population: bool) -> Interval:
        reach, noisy = table.reach(1, beta / (4 if population else 2)), int(table.counts[0])
        extra = 0.5 * table.n  # each record's number is rounded by half a step at most
        steps = table.n * table.statistic.high
        low = min(1.0, max(0.0, (noisy - reach - extra) / steps))
        high = max(0.0, min(1.0, (noisy + reach + extra) / steps))
        if population:
            error = float(beta / 4)
            low, high = mean_bounds(low, table.n, error)[0], mean_bounds(high, table.n, error)[1]
        return negated(high), negated(low)

    return Measure(statistic, value, bounds)


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
    """Bounds on a curve's points, all right together; index k: "predicted positive from bin k on"."""

    fpr: tuple[Floats64, Floats64]
    tpr: tuple[Floats64, Floats64]


def binned_counts(table: NoisyTable) -> Floats64:
    """Return the counts by "positive or not" and by bin nearest to the noisy ones, >= 0, of the same sums."""
    rows = []
    for each in table.matrix[0]:
        total = max(float(each.sum()), 0.0)
        rows.append(total * nearest_shares(each / total) if total else np.zeros(len(each)))
    return np.array(rows)


def curve_band(table: NoisyTable, beta: Fraction) -> Band:
    """Return bounds on all points of the curve of binned scores of the population, right together with
    probability 1 - beta over noise and records.

    **Accuracy.** Records from a bin on, and before it, are partial sums of cells. By Levy's inequality all of
    a row's sums exceed r in one direction with probability at most 2 P[all cells' noise > r]: eight such
    events.
    """
    counts = table.matrix[0]
    n_bins = counts.shape[1]
    reach, error = table.reach(n_bins, beta / 32), beta / (8 * max(1, n_bins - 1))
    rates = []
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
    return Band(rates[0], rates[1])


def areas(labels: tuple[Any, ...], places: tuple[int, ...], edges: tuple[float, ...], method: str) -> Measure:
    """Return the measure of the mean area under the curves of some labels, each against all others."""
    k = len(places)

    def bounds(table: NoisyTable, beta: Fraction, population: bool) -> Interval:
        return _mean_ends([_area_bounds(table, beta / k, population, which) for which in range(k)])

    return Measure(
        BinnedScores(labels, places, edges, method),
        lambda table: float(np.mean([_area(table, which) for which in range(k)])),
        bounds,
    )


def _area(table: NoisyTable, which: int) -> float:
    """Return the area under the curve, ties in a bin counted half; NaN without noisy records of a kind."""
    negative, positive = table.matrix[which].astype(np.float64)
    n_negative, n_positive = negative.sum(), positive.sum()
    if min(n_negative, n_positive) <= 0:
        return math.nan
    area = positive @ (np.cumsum(negative) - negative / 2) / (n_negative * n_positive)
    return float(min(1.0, max(0.0, area)))


def _area_bounds(table: NoisyTable, beta: Fraction, population: bool, which: int) -> Interval:
    """Return bounds on the area under the curve of the scores themselves, whatever their order in a bin.

    **Accuracy.** With true counts p and q, pair counts k, noise z and w, and the area A = p'kq / (PQ), M(A) =
    p'(k - A)q is 0, and for noisy counts z'(k - A)q + w'(k - A)'(p + z). Given z, the second term sums
    independent noise; weights (k - A)q differ from noisy ones by (k - A)w, at most the greatest sum of w over
    bins from an end, by Levy's inequality. An area with M beyond these is excluded.
    """
    counts = table.matrix[which].astype(np.float64)
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
    """Return the least and the greatest area that noisy counts do not exclude. Weights are linear in the
    area, and so on a cell of a grid between those at its ends.
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


class Asked(NamedTuple):
    """What a measure is made of."""

    scorer: PrivateScorer
    labels: tuple[Any, ...]
    method: str  # of the estimator, from which scores come


@dataclass(frozen=True)
class Metric:
    """An entry of the registry: the measure for given labels, and what it needs."""

    measure: Callable[[Asked], Measure]
    regression: bool = False
    any_labels: bool = False  # needs no list of labels
    method: str = "predict"  # "scores": `predict_proba` or, with a public range, `decision_function`
    # The value falls with the first cell of its table, and the other cells do not depend on predictions: of
    # two estimators the one with the smaller first cell is the better.
    falls: bool = False


def measure_of(scorer: PrivateScorer, labels: tuple[Any, ...], estimator: Any = None) -> Measure:
    """Return the measure of a scorer, after checks; scores are probabilities if the estimator has them."""
    metric = METRICS[scorer.name]
    method = "predict"
    if metric.method == "scores":
        method = _score_method(scorer, estimator)
    elif metric.method != "predict" and estimator is not None and not hasattr(estimator, metric.method):
        raise TypeError(
            f"scoring={scorer.name!r} needs an estimator with a method {metric.method}, got"
            f" {type(estimator).__name__}"
        )
    if not labels and not metric.any_labels:
        raise ValueError(
            f"scoring={scorer.name!r} needs the public labels: pass PrivateScorer({scorer.name!r},"
            " labels=[...]), because the estimator has no attribute classes_ with one list of labels"
        )
    return metric.measure(Asked(scorer, labels, method))


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


def _log_loss(asked: Asked) -> Measure:
    least = float(check_number("least_probability", asked.scorer.least_probability, above=0, below=1))
    return minus_a_mean(LossSum(asked.labels, least), -math.log(least))


def _of_targets(kind: str, asked: Asked) -> Measure:
    scorer = asked.scorer
    if scorer.target_range is None:
        raise ValueError(
            f"scoring={scorer.name!r} needs public bounds on the target: pass PrivateScorer({scorer.name!r},"
            " target_range=(low, high))"
        )
    target = TargetRange.of(scorer.target_range, clip=True)
    width = target.high - target.low
    if kind == "r2":
        return Measure(TargetSums(target.low, target.high, "r2"), _r2_value, _r2_bounds)
    sums = TargetSums(target.low, target.high, "absolute" if kind == "absolute" else "squared")
    return minus_a_mean(sums, width if kind == "absolute" else width**2, root=kind == "root")


def _of_all_labels(make: Callable[[tuple[Any, ...]], Measure]) -> Metric:
    return Metric(lambda asked: make(asked.labels))


def _positive(asked: Asked, *, others: Sequence[str]) -> int:
    """Return the position of the positive label, by scikit-learn's convention."""
    scorer, labels = asked.scorer, asked.labels
    if len(labels) != 2:
        names = ", ".join(map(repr, others[:-1])) + (" or " if others[:-1] else "") + repr(others[-1])
        raise ValueError(
            f"scoring={scorer.name!r} needs two labels, got {len(labels)}; for more, choose {names}"
        )
    return place_of_positive(scorer.name, scorer.pos_label, labels, needed="PrivateScorer(..., pos_label=)")


def place_of_positive(scoring: str, pos_label: Any, labels: Sequence[Any], *, needed: str) -> int:
    """Return the place of the positive label of two: the second one by default, where that is 1."""
    if pos_label is None:
        if set(labels) in ({0, 1}, {-1, 1}):
            return 1
        raise ValueError(
            f"scoring={scoring!r} needs {needed}, one of {list(labels)}: it is 1 by default only for the"
            " labels 0 and 1, or -1 and 1"
        )
    if pos_label not in labels:
        raise ValueError(f"pos_label must be None or one of {list(labels)}, got {shown(pos_label)}")
    return labels.index(pos_label)


def _roc_auc(asked: Asked) -> Measure:
    labels, scorer = asked.labels, asked.scorer
    chosen = replace(scorer, pos_label=labels[-1]) if scorer.pos_label is None else scorer
    place = _positive(asked._replace(scorer=chosen), others=["roc_auc_ovr"])
    return areas(labels, (place,), _edges(asked), asked.method)


def _roc_auc_ovr(asked: Asked) -> Measure:
    if asked.method != "predict_proba":
        raise TypeError("scoring='roc_auc_ovr' needs an estimator with a method predict_proba")
    return areas(asked.labels, tuple(range(len(asked.labels))), _edges(asked), asked.method)


def _edges(asked: Asked) -> tuple[float, ...]:
    scorer, given = asked.scorer, asked.scorer.bins
    if np.ndim(given) == 0 and not isinstance(given, str):
        count = check_count("bins", given, low=2, high=_MOST_BINS)
        if asked.method == "predict_proba":
            return tuple(expit(np.linspace(-FARTHEST, FARTHEST, count - 1)).tolist())
        low, high = map(float, check_pair("score_range", scorer.score_range))
        return tuple(np.linspace(low, high, count + 1)[1:-1].tolist())
    listed = [] if isinstance(given, str) or np.ndim(given) != 1 else list(given)
    edges = tuple(float(check_number("bins", each)) for each in listed)
    if not 0 < len(edges) < _MOST_BINS or any(b <= a for a, b in pairwise(edges)):
        raise ValueError(
            f"bins must be a number from 2 to {_MOST_BINS}, or the increasing inner edges between so many"
            f" bins, got {brief(given)}"
        )
    return edges


_CORRECT = Metric(lambda _: Measure(ErrorCount(), _accuracy, _accuracy_bounds), any_labels=True, falls=True)
_ERRORS = {
    "r2": "r2",
    "neg_mean_absolute_error": "absolute",
    "neg_mean_squared_error": "squared",
    "neg_root_mean_squared_error": "root",
}
#: All metrics by name.
METRICS: dict[str, Metric] = {
    "accuracy": _CORRECT,
    "balanced_accuracy": _of_all_labels(balanced_accuracy),
    **{ratio: Metric(partial(_of_one_label, ratio)) for ratio in RATIOS},
    **{f"{ratio}_macro": _of_all_labels(partial(macro, ratio)) for ratio in RATIOS},
    **{f"{ratio}_micro": _CORRECT for ratio in RATIOS},
    **{f"{ratio}_weighted": _of_all_labels(partial(weighted, ratio)) for ratio in ("precision", "f1")},
    "recall_weighted": _CORRECT,
    "roc_auc": Metric(_roc_auc, method="scores"),
    "roc_auc_ovr": Metric(_roc_auc_ovr, method="scores"),
    "neg_log_loss": Metric(_log_loss, method="predict_proba", falls=True),
    **{
        name: Metric(partial(_of_targets, kind), regression=True, any_labels=True, falls=True)
        for name, kind in _ERRORS.items()
    },
}
