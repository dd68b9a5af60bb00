"""Votes: the plurality winner of each query, and its distance to instability.

>>> import numpy as np
>>> winner, distance = plurality(np.array([[7, 3, 0], [5, 5, 0]]))
>>> winner.tolist(), distance.tolist()
([0, 0], [2, 0])
>>> votes = tally(np.array([[2, 0], [2, 1], [2, -1], [0, 1]]), 3)  # four teachers, two queries
>>> votes.counts.tolist(), votes.winner.tolist(), votes.distance.tolist()
([[1, 0, 3], [1, 2, 0]], [2, 1], [0, 0])
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.core.label_counts import binned_counts, blocks, sliced_counts

__all__ = ["Votes", "plurality", "tally"]

_SLICED = 127  # greatest number of labels for which bit slices are faster than a histogram
_QUERIES = 1 << 14  # number of queries counted together by bit slices
_BINS = 1 << 18  # number of bins of one histogram


@dataclass(frozen=True, eq=False, repr=False)  # a traceback may show it
class Votes:
    """The result of the votes for each query. Private.

    Attributes
    ----------
    counts : ndarray of int64 of shape (n_queries, n_labels)
        Number of votes for each label.
    winner : ndarray of int64 of shape (n_queries,)
        The first label with the most votes.
    distance : ndarray of int64 of shape (n_queries,)
        The distance to instability, as defined in `plurality`.
    """

    counts: NDArray[np.int64]
    winner: NDArray[np.int64]
    distance: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.winner)


def plurality(counts: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the winner of each query and its distance to instability.

    Parameters
    ----------
    counts : ndarray of int of shape (..., n_labels)
        Number of votes for each label; at least two labels.

    Returns
    -------
    winner : ndarray of int64 of shape (...)
        The first label with the most votes.
    distance : ndarray of int64 of shape (...)
        One less than the least number of changed votes after which another label wins. It is 0 if one changed
        vote may change the winner; one changed, added or removed vote changes it by at most 1.

    Notes
    -----
    The fewest changes that make label j win turn votes for the winner w into votes for j; each reduces their
    gap g by 2. A label before w wins a tie and needs ceil(g / 2) changes; a label after w needs ceil((g + 1)
    / 2), the same as for a gap that is larger by 1. One less than ceil(g / 2) is floor((g - 1) / 2).
    """
    counts = np.asarray(counts, dtype=np.int64)
    winner = counts.argmax(axis=-1)[..., None]
    gaps = np.take_along_axis(counts, winner, axis=-1) - counts
    gaps += np.arange(counts.shape[-1]) > winner
    np.put_along_axis(gaps, winner, np.iinfo(np.int64).max, axis=-1)
    return winner[..., 0], (gaps.min(axis=-1) - 1) // 2


def tally(labels: Any, n_labels: int) -> Votes:
    """Count the teachers' votes for each query.

    Parameters
    ----------
    labels : array-like of int of shape (n_teachers, n_queries)
        Private. From 0 to n_labels - 1, or -1 for no vote.
    n_labels : int
        At least 2; public.

    Returns
    -------
    Votes
        The result for all queries.

    Raises
    ------
    TypeError
        If `labels` is not an array of integers, or `n_labels` is not an integer.
    ValueError
        If `labels` is not two-dimensional or contains another number, or `n_labels` is below 2. The message
        shows no label.

    Notes
    -----
    Besides the result, and an array made of a list, the function needs some megabytes for any number of
    teachers and queries; if n_labels is above 2**18, the memory is proportional to it.
    """
    n_labels = check_count("n_labels", n_labels, low=2)
    array = _checked(labels, n_labels)
    few = n_labels <= _SLICED
    shape = (array.shape[1], n_labels)
    votes = Votes(
        np.empty(shape, dtype=np.int64, order="F" if few else "C"),
        np.empty(shape[0], dtype=np.int64),
        np.empty(shape[0], dtype=np.int64),
    )
    for block in blocks(shape[0], _QUERIES if few else max(1, _BINS // n_labels)):
        counts = (sliced_counts if few else binned_counts)(array[:, block], n_labels)
        votes.counts[block] = counts.T
        votes.winner[block], votes.distance[block] = _leading(counts) if few else plurality(counts.T)
    return votes


def _checked(labels: Any, n_labels: int) -> NDArray[Any]:
    """Return `labels` as an array if they are valid votes; the errors do not show them."""
    array = np.asarray(labels)
    if array.size and array.dtype.kind not in "iu":
        raise TypeError("labels must be an array of integers")
    if array.ndim != 2:
        raise ValueError("labels must have a row for each teacher and a column for each query")
    if array.size and (array.min() < -1 or array.max() >= n_labels):
        raise ValueError(f"labels must be from -1 to n_labels - 1 = {n_labels - 1}")
    return array


def _leading(counts: NDArray[Any]) -> tuple[NDArray[np.uint8], NDArray[Any]]:
    """Return the result of `plurality` for at most 256 labels, faster if each label's counts are contiguous.

    `counts` has a row for each label, of any signed integer dtype. A rival before the winner needs as many
    changed votes as a rival after it with one vote more. So let `rival` be the greatest of the counts of
    labels before the winner and of the counts, minus 1, of labels after it. The winner's gap to it is at
    least 1, and ceil(gap / 2) votes must change.
    """
    top = counts[0]
    winner, rival = np.zeros(top.size, dtype=np.uint8), np.full_like(top, -1)
    for label, votes in enumerate(counts[1:], start=1):
        winner = np.maximum(winner, (votes > top) * np.uint8(label))
        # With more votes than `top` the label becomes the winner: then top <= votes - 1, and all labels
        # before it have at most `top` votes. Otherwise it is after the winner, and votes - 1 < top.
        rival = np.maximum(rival, np.minimum(top, votes - 1))
        top = np.maximum(top, votes)
    return winner, (top - 1 - rival) // 2
