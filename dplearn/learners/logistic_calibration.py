"""Calibration of scores: how probable a label is given a score, learned from noisy counts.

Steps that are few, or noisy, rank records well long before their margins say how probable a label is. The
scale of the margins is then arbitrary, and so is their offset, which decides whether a rare label is
predicted too often. Both are learned from counts of score and label, which one record changes little.

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

_SEEN = 1.5  # standard deviations of noise that a bin's count must exceed to be used
_FAINT = 0.01  # of the slope's deviation
_STEEPEST = 500.0  # of a slope, over scores from -1 to 1: so that no probability is too small for a float
_RAREST = 0.002  # of a label
_TINY = 1e-12
_ROUNDS, _FARTHEST, _CLOSE = 100, 2.0, 1e-9  # of Newton's method


@dataclass(frozen=True)
class Calibration:
    """The logit of a label's probability: slope * score + offset.

    Attributes
    ----------
    slope : float
        Released. Positive.
    offset : float
        Released.
    deviation : float
        Released. The standard deviation of `slope` that is due to noise in the counts.
    curvature : float
        Released. Mean of 4 p (1 - p) over records, p being the probability of the label.
    """

    slope: float
    offset: float
    deviation: float
    curvature: float


def calibrate(
    counts: NDArray[np.float64], edges: NDArray[np.float64], *, slope: float, noise: float
) -> Calibration:
    """Return the slope and the offset that explain noisy counts best.

    Parameters
    ----------
    counts : ndarray of float64 of shape (bins, 2)
        Released. How many records have a score in each bin and do not, or do, have the label. Any unit.
    edges : ndarray of float64 of shape (bins + 1,)
        Of the bins.
    slope : float
        Prior mean, and prior standard deviation, of the slope; positive.
    noise : float
        Standard deviation of the noise in each count.

    Notes
    -----
    **Accuracy.** Platt scaling on the bin midpoints, with Gaussian priors that vanish as the noise does: on
    the slope around `slope`, on the offset around the logit of the label's share.

    **Source.** Platt (1999); a histogram in place of records is ours.
    """
    middles = (edges[1:] + edges[:-1]) / 2
    records = counts.sum(axis=1)
    records = np.where(records > _SEEN * noise, records, 0.0)
    with_label = np.where(records > 0, counts[:, 1], 0.0).clip(0.0, records)
    total = max(float(counts.sum()), _TINY)
    prior = float(logit(np.clip(counts[:, 1].sum() / total, _RAREST, 1 - _RAREST)))
    if not records.any():
        return Calibration(min(slope, _STEEPEST), prior, slope, 1.0)
    disturbance = noise**2 * float(((records > 0) * middles**2).sum())  # variance of the slope's gradient
    ridge = disturbance / slope**2 + _TINY * total
    ridge_of_offset = noise**2 * len(middles) / total + _TINY * total
    spread = math.sqrt(float((records * middles**2).sum()) / max(float(records.sum()), _TINY))

    prior_slope, offset = slope, prior
    for _ in range(_ROUNDS):
        likely = expit(slope * middles + offset)
        left, weight = with_label - records * likely, records * likely * (1 - likely) + _TINY
        gradient = float((left * middles).sum()) - ridge * (slope - prior_slope)
        gradient_of_offset = float(left.sum()) - ridge_of_offset * (offset - prior)
        cross, bend = float((weight * middles).sum()), float(weight.sum()) + ridge_of_offset
        steep = float((weight * middles**2).sum()) + ridge - cross**2 / bend
        move = (gradient - cross / bend * gradient_of_offset) / steep
        move_of_offset = (gradient_of_offset - cross * move) / bend
        far = max(abs(move) * spread, abs(move_of_offset), _TINY)
        part = min(1.0, _FARTHEST / far)
        slope, offset = slope + part * move, offset + part * move_of_offset
        if far < _CLOSE:
            break
    deviation = math.sqrt(disturbance) / steep
    if slope < _FAINT * deviation:  # noise hides the relation, but for the order of records
        slope, offset = _FAINT * deviation, prior
    slope = min(slope, _STEEPEST)
    likely = expit(slope * middles + offset)
    curvature = 4 * float((records * likely * (1 - likely)).sum()) / max(float(records.sum()), _TINY)
    return Calibration(slope, offset, deviation, curvature)
