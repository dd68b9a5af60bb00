"""Votes: who wins a plurality, and how many votes would have to move before someone else did.

>>> import numpy as np
>>> winner, distance = plurality(np.array([[7, 3, 0], [5, 5, 0]]))
>>> winner.tolist(), distance.tolist()
([0, 0], [2, 0])
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["plurality"]


def plurality(counts: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the winner of each vote and its distance to instability.

    Parameters
    ----------
    counts : ndarray of int of shape (..., n_labels)
        Votes for each label; at least two labels.

    Returns
    -------
    winner : ndarray of int64 of shape (...)
        The first label with the most votes.
    distance : ndarray of int64 of shape (...)
        One less than the least number of votes that must move before another label wins: 0 wherever one
        moved vote may change the winner; one moved, cast or withdrawn vote changes it by at most 1.

    Notes
    -----
    To make label j win, votes are best moved from the winner w to j, each closing their gap g by 2. A label
    before w wins a tie and needs ceil(g / 2) of them; one behind needs ceil((g + 1) / 2).
    """
    counts = np.asarray(counts, dtype=np.int64)
    winner = counts.argmax(axis=-1)[..., None]
    gaps = np.take_along_axis(counts, winner, axis=-1) - counts
    labels = np.arange(counts.shape[-1])
    moves = (gaps + (labels > winner) + 1) // 2
    np.put_along_axis(moves, winner, np.iinfo(np.int64).max, axis=-1)
    return winner[..., 0], moves.min(axis=-1) - 1
