"""Calibration of scores: how probable a label is given a score, learned from one noisy histogram.

Steps that are few, or noisy, rank records well long before their margins say how probable a label is: the
scale of the margins is then arbitrary, and so is their offset, which decides whether a rare label is predicted
too often. Both are learned from counts of score and label, which one record changes little.

>>> counts = np.array([[[40.0, 10.0], [10.0, 40.0]]])  # scores below and above 0; labels 0 and 1
>>> found = calibrate(counts, np.array([-1.0, 0.0, 1.0]), noise=0.0)
>>> round(found.slope, 2), found.offsets.round(2).tolist()  # at scores of -1/2 and 1/2 the odds are 1/4 and 4
(2.77, [0.0])
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

__all__ = ["Calibration", "calibrate"]

_SPREAD = 1.5  # prior standard deviation of logits that scores explain
_SEEN = 1.5  # standard deviations of noise that a bin's count must exceed to be used
_RAREST = 0.002  # of a label
_TINY = 1e-12
_ROUNDS, _FARTHEST, _CLOSE = 100, 2.0, 1e-9  # of Newton's method


@dataclass(frozen=True)
class Calibration:
    """The logit of each label's probability: slope * score + offset.

    Attributes
    ----------
    slope : float
        Released. At least 0, and 0 where noise hides any relation.
    offsets : ndarray of float64 of shape (k,)
        Released.
    deviation : float
        The standard deviation of `slope` that is due to noise in the counts.
    curvature : float
        Mean of 4 p (1 - p) over records, p the probability of a label: 1 where scores say nothing.
    """

    slope: float
    offsets: NDArray[np.float64]
    deviation: float
    curvature: float


def calibrate(counts: NDArray[np.float64], edges: NDArray[np.float64], *, noise: float) -> Calibration:
    """Return the slope, common to all labels, and the offsets that explain noisy counts best.

    Parameters
    ----------
    counts : ndarray of float64 of shape (k, bins, 2)
        Released. For each label, how many records have a score in each bin and do not, or do, have the label.
        Any unit.
    edges : ndarray of float64 of shape (bins + 1,)
        Of the bins.
    noise : float
        Standard deviation of the noise in each count.

    Notes
    -----
    **Accuracy.** Platt's logistic regression on the bins' middles, with two priors that vanish as the noise
    does. Offsets: logits of the labels' shares. Slope: 0, such that logits vary by 1.5. So scores that noise
    hides are ignored, and the more common label is predicted.

    **Source.** Platt (1999); a histogram in place of records is ours.
    """
    middles = (edges[1:] + edges[:-1]) / 2
    records = counts.sum(axis=2)
    records = np.where(records > _SEEN * noise, records, 0.0)
    with_label = np.where(records > 0, counts[:, :, 1], 0.0).clip(0.0, records)
    total = max(float(counts.sum(axis=(1, 2)).mean()), _TINY)
    prior = logit((counts[:, :, 1].sum(axis=1) / total).clip(_RAREST, 1 - _RAREST))
    variance = float((records * middles**2).sum()) / max(float(records.sum()), _TINY)
    disturbance = noise**2 * float(((records > 0) * middles**2).sum())  # variance of the slope's gradient
    ridge = disturbance * variance / _SPREAD**2 + _TINY * total
    ridges = noise**2 * len(middles) / total + _TINY * total

    slope, offsets = 0.0, prior
    for _ in range(_ROUNDS):
        likely = expit(slope * middles + offsets[:, None])
        left, weight = with_label - records * likely, records * likely * (1 - likely) + _TINY
        gradient = float((left * middles).sum()) - ridge * slope
        gradients = left.sum(axis=1) - ridges * (offsets - prior)
        cross, bend = (weight * middles).sum(axis=1), weight.sum(axis=1) + ridges
        steep = float((weight * middles**2).sum()) + ridge - float((cross**2 / bend).sum())
        move = (gradient - float((cross / bend * gradients).sum())) / steep
        moves = (gradients - cross * move) / bend
        far = max(abs(move) * math.sqrt(variance), float(np.abs(moves).max()), _TINY)
        part = min(1.0, _FARTHEST / far)
        slope, offsets = slope + part * move, offsets + part * moves
        if far < _CLOSE:
            break
    if slope <= 0:
        slope, offsets = 0.0, prior
    likely = expit(slope * middles + offsets[:, None])
    curvature = 4 * float((records * likely * (1 - likely)).sum()) / max(float(records.sum()), _TINY)
    return Calibration(slope, offsets, math.sqrt(disturbance) / steep, curvature)
