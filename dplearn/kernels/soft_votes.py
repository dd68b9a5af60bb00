"""Soft votes: fixed-point scores, their bins, the winning bin of each query, and its distance to instability.

A score in [0, 1] is rounded down to a multiple of 1 / `FIXED_POINT_ONE`, a fixed-point score. With b bins,
each score is in one of 2 b half bins. Half bins 2 j and 2 j + 1 form bin j, and 2 j + 1 and 2 j + 2 form
shifted bin j, so each score between the first and the last half bin is in the middle half of a bin or of a
shifted bin. The first and the last half bin belong to no shifted bin: they have the last shifted label, b -
1, an abstention.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.kernels.votes import blocks, tally

_DIGITS = 12
#: The fixed-point representation of 1: the number of steps between 0 and 1.
FIXED_POINT_ONE = 1 << _DIGITS


def scores_per_row(n_labels: int) -> int:
    """Return the number of scores of a row: one for each label, but only the second's for two labels."""
    return 1 if n_labels == 2 else n_labels


def fixed_point(scores: NDArray[Any]) -> NDArray[np.int16]:
    """Return fixed-point scores, in units of 1 / `FIXED_POINT_ONE`.

    `scores`: they are clipped to [0, 1]. Result: from 0 to FIXED_POINT_ONE - 1; -1 for NaN.
    """
    scores = np.asarray(scores, dtype=np.float64)
    known = ~np.isnan(scores)
    whole = np.floor(np.where(known, scores, 0.0).clip(0, 1) * FIXED_POINT_ONE).clip(max=FIXED_POINT_ONE - 1)
    return np.where(known, whole, -1).astype(np.int16)


def half_bins(fixed_scores: NDArray[Any], n_bins: int) -> NDArray[np.int64]:
    """Return the half bin of each score, from 0 to 2 n_bins - 1; -1 is kept.

    `fixed_scores`: as returned by `fixed_point`. `n_bins`: from 2 to FIXED_POINT_ONE // 2.
    """
    return (
        fixed_scores.astype(np.int64) * (2 * n_bins)
    ) >> _DIGITS  # -1 * 2 n_bins >= -FIXED_POINT_ONE gives -1


def bins(half: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bin of each half bin, from 0 to n_bins - 1; -1 is kept."""
    return half >> 1


def shifted_bins(half: NDArray[np.int64], n_bins: int) -> NDArray[np.int64]:
    """Return the shifted bin of each half bin, n_bins - 1 for the first and the last; -1 is kept."""
    shifted = ((half + 1) >> 1) - 1
    return np.where(half == 0, n_bins - 1, shifted)


def midpoints(winner: NDArray[Any], n_bins: Any) -> NDArray[np.float64]:
    """Return the midpoints of bins."""
    middle: NDArray[np.float64] = (2 * winner + 1) / (2 * n_bins)
    return middle


def shifted_midpoints(winner: NDArray[Any], n_bins: Any) -> NDArray[np.float64]:
    """Return the midpoints of shifted bins, NaN for the label n_bins - 1."""
    return np.where(winner == n_bins - 1, np.nan, (winner + 1) / n_bins)


_ENTRIES = 1 << 21  # scores, or counts of bins, eight bytes each, at a time


@dataclass(frozen=True, eq=False, repr=False)  # a traceback may show it
class Lead:
    """The winning bin of each query, and its distance to instability. Private.

    `winner` (n_queries,): the first bin with the most scores. `distance` (n_queries,): the distance to
    instability, as defined in `kernels.votes.plurality`.
    """

    winner: NDArray[np.int64]
    distance: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class SoftVotes:
    """Teachers' scores for queries, with the winning bins and shifted bins.

    `fixed_scores` (n_teachers, n_queries): Private. The fixed-point scores, -1 if a teacher has none.
    `n_bins` (n_queries,): Public. The number of bins of each query. `width`: Public. The number of
    consecutive queries that belong to one row. `plain`, `shifted`: the leads among bins, and among shifted
    bins, where the last label, n_bins - 1, stands for the first and the last half bin.
    """

    fixed_scores: NDArray[Any]
    n_bins: NDArray[np.int64]
    width: int
    plain: Lead
    shifted: Lead

    def __len__(self) -> int:
        return self.n_bins.size // self.width


def soft_tally(fixed_scores: NDArray[Any], n_bins: NDArray[np.int64], width: int = 1) -> SoftVotes:
    """Count the scores in each bin and in each shifted bin.

    `fixed_scores` (n_teachers, n_rows * width): Private. As returned by `fixed_point`. `n_bins` (n_rows,):
    Public. Each from 2 to `FIXED_POINT_ONE` // 2. `width`: Public. The number of scores of each row.
    """
    n_bins = np.repeat(n_bins, width)
    leads = np.zeros((4, fixed_scores.shape[1]), dtype=np.int64)
    for number in np.unique(n_bins).tolist():
        places = np.flatnonzero(n_bins == number)
        for block in blocks(places.size, max(1, _ENTRIES // max(len(fixed_scores), number))):
            which = places[block]
            half = half_bins(fixed_scores[:, which], number)
            plain, shifted = tally(bins(half), number), tally(shifted_bins(half, number), number)
            leads[:, which] = plain.winner, plain.distance, shifted.winner, shifted.distance
    return SoftVotes(fixed_scores, n_bins, width, Lead(leads[0], leads[1]), Lead(leads[2], leads[3]))
