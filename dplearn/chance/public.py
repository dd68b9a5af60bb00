"""The public stream of chance: which shard a record falls in, a base learner's seed.

Public choices never touch the noise. Their seed may be published: a guarantee holds for every value of it.

>>> stream = PublicStream(7, "example")
>>> sorted(stream.permutation(5).tolist())
[0, 1, 2, 3, 4]
>>> PublicStream(7, "example").seeds(2) == PublicStream(7, "example").seeds(2)
True
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.chance.seeded import SeededDice, dice_for

__all__ = ["PublicStream", "public_seed"]

_PUBLIC = "public"  # sets these streams apart from all noise that is drawn under the same seed
_SEED_BITS = 256
_MOST = 1 << 40  # of what is permuted: 24 bits of each 64-bit word are then left to chance


class PublicStream:
    """Choices that anyone may know, a function of a public seed and of what they are for.

    Parameters
    ----------
    seed : int or bytes
        Public. Any integer, or any bytes.
    *context : object
        What the choices are for: streams of different contexts have nothing in common.

    Attributes
    ----------
    seed : int or bytes
        What it was made from.
    """

    def __init__(self, seed: int | bytes, *context: object):
        self.seed = seed
        # Bytes are told from the integer that they spell by the context, and from longer bytes by the 1.
        number = int.from_bytes(b"\1" + seed, "big") if isinstance(seed, bytes) else seed
        self._dice = SeededDice(number, _PUBLIC, type(seed) is bytes, *context)

    @classmethod
    def of(cls, random_state: Any, *context: object) -> Self:
        """Return a stream of its own for a `random_state`; see `public_seed`."""
        return cls(public_seed(random_state, *context), *context)

    def permutation(self, n: int) -> NDArray[np.int64]:
        """Return 0..n-1 in a random order, the same on every machine.

        Random words whose low bits hold the places are sorted: places whose random bits agree stay in order,
        which no guarantee minds.

        Parameters
        ----------
        n : int
            At most 2**40.

        Returns
        -------
        ndarray of int64 of shape (n,)
        """
        n = check_count("n", n, high=_MOST)
        low = np.uint64((1 << max(n - 1, 0).bit_length()) - 1)
        words = np.frombuffer(self._dice._bytes(8 * n), dtype="<u8") & ~low
        words |= np.arange(n, dtype=np.uint64)
        words.sort()
        return (words & low).astype(np.int64)

    def seeds(self, k: int) -> list[int]:
        """Return k integers below 2**31, for the `random_state` of base learners."""
        seeds: list[int] = self.labels(1 << 31, k).tolist()
        return seeds

    def labels(self, n_labels: int, size: int) -> NDArray[np.int64]:
        """Return `size` uniform draws from 0..n_labels-1."""
        drawn: NDArray[np.int64] = self._dice.below(n_labels, size=size)
        return drawn


def public_seed(random_state: Any, *context: object) -> int:
    """Return a seed for public choices, of 256 bits.

    Parameters
    ----------
    random_state : None, int, numpy.random.RandomState or numpy.random.Generator
        None means fresh entropy of the operating system. An integer always gives the same seed. A generator
        is asked for bytes, so that what it gives next, to the noise, has nothing to do with this seed.
    *context : object
        What the choices are for.

    Raises
    ------
    TypeError
        If `random_state` is none of these.
    """
    return int(dice_for(random_state, _PUBLIC, *context).below(1 << _SEED_BITS))
