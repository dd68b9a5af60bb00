"""Public random choices, such as the assignment of records to shards and the seeds of base estimators.

They are independent of the noise: a guarantee holds for each value of their seed, which may be published.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.chance.sources import SeededDice, dice_for

_PUBLIC = "public"  # separates these streams from the noise of the same seed
_SEED_BITS = 256
_MOST = 1 << 40  # longest permutation: at least 24 bits of each 64-bit word remain random


class PublicStream:
    """A stream of public random choices, determined by a public seed and a context.

    Parameters
    ----------
    seed : int or bytes
        Public. Any integer, or any bytes.
    *context : object
        The purpose of the choices: streams of different contexts are independent.

    Attributes
    ----------
    seed : int or bytes
        The given seed.

    Examples
    --------
    >>> from dplearn.chance import PublicStream
    >>> stream = PublicStream(7, "example")
    >>> sorted(stream.permutation(5).tolist())
    [0, 1, 2, 3, 4]
    >>> bool((PublicStream(7, "example").uniform(5) < 1).all())
    True
    """

    def __init__(self, seed: int | bytes, *context: object):
        self.seed = seed
        # Bytes differ from the integer that they encode by the context, and from longer bytes by the leading
        # 1.
        number = int.from_bytes(b"\1" + seed, "big") if isinstance(seed, bytes) else seed
        self._dice = SeededDice(number, _PUBLIC, type(seed) is bytes, *context)

    @classmethod
    def of(cls, random_state: Any, *context: object) -> Self:
        """Return the stream of a `random_state` and a context; see `public_seed`."""
        return cls(public_seed(random_state, *context), *context)

    def __reduce__(self) -> tuple[type, tuple[()]]:
        """Return what a pickle holds: None. Another process makes no public choices of its own."""
        return type(None), ()

    def permutation(self, n: int) -> NDArray[np.int64]:
        """Return a random permutation of 0..n-1, the same on every machine.

        64-bit words that have an index in their low bits and random high bits are sorted, so the permutation
        is not exactly uniform; no guarantee depends on this.

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
        """Return k integers below 2**31, for the `random_state` of base estimators."""
        return self.labels(1 << 31, k).tolist()

    def uniform(self, size: int) -> NDArray[np.float64]:
        """Return `size` uniform draws from [0, 1), multiples of 2**-53."""
        words = np.frombuffer(self._dice._bytes(8 * check_count("size", size)), dtype="<u8")
        return np.asarray((words >> np.uint64(11)) / (1 << 53))

    def labels(self, n_labels: int, size: int) -> NDArray[np.int64]:
        """Return `size` uniform draws from 0..n_labels-1."""
        return self._dice.below(n_labels, size=size)


def public_seed(random_state: Any, *context: object) -> int:
    """Return a 256-bit seed for public choices.

    Parameters
    ----------
    random_state : None, int, numpy.random.RandomState or numpy.random.Generator
        None: fresh entropy of the operating system. An integer: always the same seed. A generator: bytes
        drawn from it, so that the generator's later bytes, for the noise, are independent of this seed.
    *context : object
        The purpose of the choices.

    Examples
    --------
    >>> from dplearn.chance import public_seed
    >>> public_seed(0, "an example") == public_seed(0, "an example")
    True
    """
    return int(dice_for(random_state, _PUBLIC, *context, warns=False).below(1 << _SEED_BITS))
