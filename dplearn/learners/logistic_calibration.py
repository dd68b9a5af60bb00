"""Calibration of scores: the probability of a label given a score, fitted to noisy histograms.

After few or noisy gradient steps, the margins rank records well, but their scale and offset are not
calibrated, and the offset decides how often a rare label is predicted. Both are fitted to a noisy histogram
of score and label.

>>> counts = np.array([[[40.0, 10.0], [10.0, 40.0]]])  # scores below and above 0; labels 0 and 1
>>> found = calibrate(counts[0], np.array([-1.0, 0.0, 1.0]), slope=1.0, noise=0.0)
>>> round(found.slope, 2), round(abs(found.offset), 2)  # at scores of -1/2 and 1/2 the odds are 1/4 and 4
(2.77, 0.0)
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

__all__ = ["Calibration", "calibrate"]

_SEEN = 1.5  # the least count of a bin that is used, in standard deviations of the noise
_FAINT = 0.01  # the least slope, as a share of its standard deviation
_STEEPEST = 500.0  # the greatest slope, for scores from -1 to 1: no probability underflows
_RAREST = 0.002  # the least share of a label
_TINY = 1e-12
_ROUNDS, _FARTHEST, _CLOSE = 100, 2.0, 1e-9  # Newton's method: iterations, longest step, tolerance


@dataclass(frozen=True)
class Calibration:
    """The logit of a label's probability: slope * score + offset.

    Attributes
    ----------
    slope : float
        Released. The slope, positive.
    offset : float
        Released.
    deviation : float
        Released. The standard deviation of `slope` due to the noise in the counts.
    curvature : float
        Released. The mean of 4 p (1 - p) over records, where p is the probability of the label.
    """

    slope: float
    offset: float
    deviation: float
    curvature: float


def calibrate(
    counts: NDArray[np.float64],
    edges: NDArray[np.float64],
    *,
    slope: float,
    noise: float,
    weights: NDArray[np.float64] | None = None,
) -> Calibration:
    """Return the slope and the offset that maximise the posterior given noisy counts.

    Parameters
    ----------
    counts : ndarray of float64 of shape (bins, 2)
        Released. The counts of records in each bin without and with the label, in any unit.
    edges : ndarray of float64 of shape (bins + 1,)
        The edges of the bins, ascending.
    slope : float
        The prior mean and the prior standard deviation of the slope; positive.
    noise : float
        The standard deviation of the noise in each count, in the unit of the counts.
    weights : ndarray of float64 of shape (2,), optional
        Public or released. The weights of records without and with the label, at most 1; the counts must then
        be nonnegative. None: both 1.

    Notes
    -----
    **Accuracy.** Platt scaling on the bin midpoints, with Gaussian priors whose weight vanishes with the
    noise: one on the slope around `slope`, one on the offset around the logit of the label's share.

    **Source.** Platt (1999); the use of a histogram in place of records is ours.
    """
    middles = (edges[1:] + edges[:-1]) / 2
    if weights is None:
        records = counts.sum(axis=1)
        records = np.where(records > _SEEN * noise, records, 0.0)
        with_label = np.where(records > 0, counts[:, 1], 0.0).clip(0.0, records)
    else:  # all bins: those with few records of a frequent label may have most of a rare one
        counts = counts * weights
        records, with_label = counts.sum(axis=1), counts[:, 1]
    total = max(float(counts.sum()), _TINY)
    prior = float(logit(np.clip(counts[:, 1].sum() / total, _RAREST, 1 - _RAREST)))
    if not records.any():
        return Calibration(min(slope, _STEEPEST), prior, slope, 1.0)
    gradient_variance = noise**2 * float(((records > 0) * middles**2).sum())  # of that by slope
    ridge = gradient_variance / slope**2 + _TINY * total
    ridge_of_offset = noise**2 * len(middles) / total + _TINY * total
    spread = math.sqrt(float((records * middles**2).sum()) / max(float(records.sum()), _TINY))

    prior_slope, offset = slope, prior
    for _ in range(_ROUNDS):
        likely = expit(slope * middles + offset)
        left, weight = with_label - records * likely, records * likely * (1 - likely) + _TINY
        gradient = float((left * middles).sum()) - ridge * (slope - prior_slope)
        gradient_of_offset = float(left.sum()) - ridge_of_offset * (offset - prior)
        cross, curvature_of_offset = float((weight * middles).sum()), float(weight.sum()) + ridge_of_offset
        curvature_of_slope = float((weight * middles**2).sum()) + ridge - cross**2 / curvature_of_offset
        move = (gradient - cross / curvature_of_offset * gradient_of_offset) / curvature_of_slope
        move_of_offset = (gradient_of_offset - cross * move) / curvature_of_offset
        far = max(abs(move) * spread, abs(move_of_offset), _TINY)
        part = min(1.0, _FARTHEST / far)
        slope, offset = slope + part * move, offset + part * move_of_offset
        if far < _CLOSE:
            break
    deviation = math.sqrt(gradient_variance) / curvature_of_slope
    if slope < _FAINT * deviation:  # noise-dominated: only the ranking by scores is kept
        slope, offset = _FAINT * deviation, prior
    slope = min(slope, _STEEPEST)
    likely = expit(slope * middles + offset)
    curvature = 4 * float((records * likely * (1 - likely)).sum()) / max(float(records.sum()), _TINY)
    return Calibration(slope, offset, deviation, curvature)
