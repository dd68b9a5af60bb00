"""A private interior point of integer data by the exponential mechanism, for a domain of any size."""

from collections.abc import Sequence

import numpy as np

from dplearn.chance.dice import Dice
from dplearn.core.intervals import EqualCosts, piece_arrays
from dplearn.mechanisms.exponential import select_exponential
from dplearn.privacy import ApproxDP

__all__ = ["interior_point_code"]


def interior_point_code(codes: Sequence[int], size: int, *, privacy: ApproxDP, dice: Dice) -> int:
    """Return an interior point: a code between the least and the greatest of the data, with high probability.

    Parameters
    ----------
    codes : sequence of int of length n
        Private. From 0 to size - 1, in any order.
    size : int
        Number of codes in the domain; an integer of any size.
    privacy : ApproxDP
        Its `epsilon` is spent whole; its `delta` is not used.
    dice : Dice
        Source of chance.

    Returns
    -------
    int
        Code c with probability proportional to ratio ** -quality, where quality is the lesser of the number
        of data >= c and the number of data <= c, and ratio is just above exp(-epsilon / 2).

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record. Proof: both numbers, and so the lesser of them, move by
    at most 1, so the quality has sensitivity 1, and the exponential mechanism gives `privacy`.

    **Assumes.** All values lie in the domain, which is public; the number of records is public.

    **Accuracy.** The code lies between the least and the greatest of the data, both included, unless its
    quality is 0, which has probability at most size * exp(-epsilon * floor(n / 2) / 2): at most beta
    if n is at least (4 / epsilon) ln(size / beta) + 1.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Section 3: the mechanism of McSherry and Talwar
    (2007), here with the codes between two neighbouring data drawn as one piece.

    Examples
    --------
    Seeded dice make this example repeatable; private data need `dplearn.chance.SystemDice`.

    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import interior_point_code
    >>> from dplearn.privacy import ApproxDP
    >>> data = [500] * 120 + [900] * 180
    >>> 500 <= interior_point_code(data, 2**64, privacy=ApproxDP(1), dice=SeededDice(0)) <= 900
    True
    """
    starts, lengths, below, upto = piece_arrays(sorted(codes), size)
    alike = EqualCosts(starts, lengths, -np.minimum(len(codes) - below, upto))
    group, place = select_exponential(alike.costs, alike.sizes, privacy=privacy, dice=dice)
    return alike.code(group, place)
