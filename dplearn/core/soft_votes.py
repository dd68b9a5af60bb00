"""Soft votes: the winning bin of teachers' fixed-point scores, and its distance to instability.

>>> from dplearn.core.score_bins import fixed_point
>>> scores = np.array([[0.2, 0.45], [0.3, 0.48], [0.1, 0.52], [0.2, 0.55]])  # four teachers, two queries
>>> votes = soft_tally(fixed_point(scores), np.array([2, 2]))
>>> votes.plain.winner.tolist(), votes.plain.distance.tolist()
([0, 0], [2, 0])
>>> votes.shifted.winner.tolist(), votes.shifted.distance.tolist()  # 1 stands for both ends
([1, 0], [0, 2])
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.core.label_counts import blocks
from dplearn.core.score_bins import bins, half_bins, shifted_bins
from dplearn.core.votes import tally

__all__ = ["Lead", "SoftVotes", "soft_tally"]

_ENTRIES = 1 << 21  # scores, or counts of bins, eight bytes each, at a time


@dataclass(frozen=True, eq=False, repr=False)  # a traceback may show it
class Lead:
    """The winning bin of each query, and its distance to instability. Private.

    Attributes
    ----------
    winner : ndarray of int64 of shape (n_queries,)
        The first bin with the most scores.
    distance : ndarray of int64 of shape (n_queries,)
        The distance to instability, as defined in `core.votes.plurality`.
    """

    winner: NDArray[np.int64]
    distance: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class SoftVotes:
    """Teachers' scores for queries, with the winning bins and shifted bins.

    Attributes
    ----------
    fixed_scores : ndarray of int of shape (n_teachers, n_queries)
        Private. The fixed-point scores, -1 if a teacher has none.
    n_bins : ndarray of int64 of shape (n_queries,)
        Public. The number of bins of each query.
    width : int
        Public. The number of consecutive queries that belong to one row.
    plain, shifted : Lead
        The leads among bins, and among shifted bins, where the last label, n_bins - 1, stands for the first
        and the last half bin.
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

    Parameters
    ----------
    fixed_scores : ndarray of int of shape (n_teachers, n_rows * width)
        Private. As returned by `score_bins.fixed_point`.
    n_bins : ndarray of int64 of shape (n_rows,)
        Public. Each from 2 to `score_bins.FIXED_POINT_ONE` // 2.
    width : int
        Public. The number of scores of each row.

    Returns
    -------
    SoftVotes
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
