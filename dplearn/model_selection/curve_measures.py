"""Metrics and curves of binned scores: the area under the ROC curve, and bounds on whole curves.

>>> roc_auc((0, 1), (1,), (0.5,), "predict_proba").statistic.shape
(1, 2, 2)
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.core.simplex import nearest_shares
from dplearn.model_selection.measures import Interval, Measure, NoisyTable, share_bounds
from dplearn.model_selection.statistics import BinnedScores

__all__ = ["Band", "binned_counts", "curve_band", "roc_auc"]

Floats64 = NDArray[np.float64]
_GRID = 256  # cells of possible areas


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


def roc_auc(
    labels: tuple[Any, ...], places: tuple[int, ...], edges: tuple[float, ...], method: str
) -> Measure:
    """Return the measure of the mean area under the curves of some labels, each against all others.

    Parameters
    ----------
    labels, places, edges, method
        As for `BinnedScores`.
    """
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
    negative, positive = table.counts.reshape(table.statistic.shape)[which].astype(np.float64)
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
    counts = table.counts.reshape(table.statistic.shape)[which].astype(np.float64)
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
