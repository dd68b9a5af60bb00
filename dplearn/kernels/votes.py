"""Votes of teachers, for labels or with scores: the winner of each query, and its distance to instability.

A score in [0, 1] is rounded down to a multiple of 1 / `FIXED_POINT_ONE`. With b bins it is in one
of 2 b half bins. Half bins 2 j and 2 j + 1 form bin j, and 2 j + 1 and 2 j + 2 form shifted bin j, so a score
between the first and the last half bin is in the middle half of a bin or of a shifted bin. These two belong
to no shifted bin: they have the last shifted label, b - 1, an abstention.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.kernels.rows import blocks

_BINS = 1 << 18  # of one histogram, and votes in it
_CHECKED = 1 << 16  # number of labels that are checked together


@dataclass(frozen=True, eq=False, repr=False)  # a traceback may show it
class Votes:
    """The result of the votes for each query. Private."""

    counts: NDArray[np.int64]  # (n_queries, n_labels)
    winner: NDArray[np.int64]  # the first label with the most votes
    distance: NDArray[np.int64]  # to instability, see `plurality`

    def __len__(self) -> int:
        return len(self.winner)


def plurality(counts: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first label with the most votes of each query, and its distance to instability.

    The distance is one less than the least number of changed votes after which another label wins; one vote
    moves it by at most 1. At a gap g it is ceil(g / 2) - 1 for a label before the winner, which wins a tie,
    and that of g + 1 for a label after it; ceil(g / 2) - 1 = floor((g - 1) / 2).
    """
    counts = np.asarray(counts, dtype=np.int64)
    winner = counts.argmax(axis=-1)[..., None]
    gaps = np.take_along_axis(counts, winner, axis=-1) - counts
    gaps += np.arange(counts.shape[-1]) > winner
    np.put_along_axis(gaps, winner, np.iinfo(np.int64).max, axis=-1)
    return winner[..., 0], (gaps.min(axis=-1) - 1) // 2


def tally(labels: Any, n_labels: int) -> Votes:
    """Count the teachers' votes for each query: labels of shape (n_teachers, n_queries), -1 for no vote."""
    n_labels = check_count("n_labels", n_labels, low=2)
    array = _checked(labels, n_labels)
    counts = np.empty((array.shape[1], n_labels), dtype=np.int64)
    for block in blocks(len(counts), max(1, _BINS // n_labels)):
        counts[block] = _counts(array[:, block], n_labels)
    return Votes(counts, *plurality(counts))


def _checked(labels: Any, n_labels: int) -> NDArray[Any]:
    """Return `labels` as an array if they are valid votes; the errors do not show them."""
    array = np.asarray(labels)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError("labels must be an array of integers")
    if array.ndim != 2:
        raise ValueError("labels must have a row for each teacher and a column for each query")
    # Rows that fit the cache are read once for both ends.
    parts = [array[rows] for rows in blocks(len(array), max(1, _CHECKED // max(1, array.shape[1])))]
    if any(part.size and (part.min() < -1 or part.max() >= n_labels) for part in parts):
        raise ValueError(f"labels must be from -1 to n_labels - 1 = {n_labels - 1}")
    return array


def _counts(labels: NDArray[Any], n_labels: int) -> NDArray[np.int64]:
    """Count votes by a histogram with a bin for each label of each query."""
    n_teachers, n_queries = labels.shape
    firsts = 1 + (n_labels + 1) * np.arange(n_queries)  # the bin before a query's first is for no votes
    counts = np.zeros((n_labels + 1) * n_queries, dtype=np.int64)
    for part in blocks(n_teachers, max(1, _BINS // max(1, n_queries))):
        bins = labels[part].astype(np.intp) + firsts
        counts += np.bincount(bins.ravel(), minlength=counts.size)
    return counts.reshape(n_queries, n_labels + 1)[:, 1:]


_DIGITS = 12
#: The fixed-point representation of 1: the number of steps between 0 and 1.
FIXED_POINT_ONE = 1 << _DIGITS


def scores_per_row(n_labels: int) -> int:
    """Return the number of scores of a row: one for each label, but only the second's for two labels."""
    return 1 if n_labels == 2 else n_labels


def fixed_point(scores: NDArray[Any]) -> NDArray[np.int16]:
    """Return scores, clipped to [0, 1], in units of 1 / `FIXED_POINT_ONE`, below it; -1 for NaN."""
    scores = np.asarray(scores, dtype=np.float64)
    known = ~np.isnan(scores)
    whole = np.floor(np.where(known, scores, 0.0).clip(0, 1) * FIXED_POINT_ONE).clip(max=FIXED_POINT_ONE - 1)
    return np.where(known, whole, -1).astype(np.int16)


def half_bins(fixed_scores: NDArray[Any], n_bins: int) -> NDArray[np.int64]:
    """Return the half bin of each fixed-point score, from 0 to 2 n_bins - 1; -1 is kept."""
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


def midpoints(winner: NDArray[Any], n_bins: int) -> NDArray[np.float64]:
    """Return the midpoints of bins."""
    return (2 * winner + 1) / (2 * n_bins)


def shifted_midpoints(winner: NDArray[Any], n_bins: int) -> NDArray[np.float64]:
    """Return the midpoints of shifted bins, NaN for the label n_bins - 1."""
    return np.where(winner == n_bins - 1, np.nan, (winner + 1) / n_bins)


ENTRIES = 1 << 21  # scores, or counts of bins, eight bytes each, at a time


@dataclass(frozen=True, eq=False, repr=False)  # a traceback may show it
class Lead:
    """The first bin of each query with the most scores, and its distance to instability. Private."""

    winner: NDArray[np.int64]
    distance: NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class SoftVotes:
    """Teachers' scores for queries, with the winning bins and shifted bins."""

    fixed_scores: NDArray[Any]  # Private. (n_teachers, n_queries); -1 if a teacher has none
    n_bins: int  # Public
    width: int  # Public. Queries that belong to one row
    plain: Lead
    shifted: Lead  # label n_bins - 1 stands for the first and the last half bin

    def __len__(self) -> int:
        return self.fixed_scores.shape[1] // self.width


def soft_tally(fixed_scores: NDArray[Any], n_bins: int, width: int = 1) -> SoftVotes:
    """Count the scores, as from `fixed_point`, in each bin and shifted bin, with `width` scores a row."""
    leads = np.zeros((4, fixed_scores.shape[1]), dtype=np.int64)
    for block in blocks(fixed_scores.shape[1], max(1, ENTRIES // max(len(fixed_scores), n_bins))):
        half = half_bins(fixed_scores[:, block], n_bins)
        plain, shifted = tally(bins(half), n_bins), tally(shifted_bins(half, n_bins), n_bins)
        leads[:, block] = plain.winner, plain.distance, shifted.winner, shifted.distance
    return SoftVotes(fixed_scores, n_bins, width, Lead(leads[0], leads[1]), Lead(leads[2], leads[3]))
