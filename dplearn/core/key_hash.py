"""Hash functions from keys to buckets that, drawn at random, make any two keys collide rarely.

>>> multiply_shift(0b1011, multiplier=0b110101, shift=0b1001, width=6, bits=2)
1
>>> KeyHash(multiplier=3**150, shift=5**100, bits=10).bucket(b"a key")
81
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count

__all__ = ["LARGEST_BITS", "WIDTH", "KeyHash", "multiply_shift"]

WIDTH = 256  #: Bits of multiplier and shift.
LARGEST_BITS = 32  #: Of a bucket.
_DIGEST = 28  # bytes: 224 + 32 <= 256


def multiply_shift(x: int, *, multiplier: int, shift: int, width: int, bits: int) -> int:
    """Return the `bits` highest of the `width` lowest bits of multiplier x + shift.

    If multiplier and shift are uniform below 2**width, the values of any two different x below
    2**(width - bits + 1) are independent and uniform, so they collide with probability exactly 2**-bits.

    Parameters
    ----------
    x : int
        From 0 to 2**(width - bits + 1) - 1.
    multiplier, shift : int
        From 0 to 2**width - 1.
    width, bits : int
        bits <= width.

    Notes
    -----
    **Source.** Dietzfelbinger (1996), Theorem 1. Proof: let y - x = 2**s u, with u odd and s <= width - bits.
    The multiplier times u is uniform, so multiplier (y - x) is 2**s times a number that is uniform modulo
    2**(width - s). The number multiplier x + shift is uniform too, and independent of the multiplier. The sum
    of both numbers determines the value of y. Given the second number, the bits of the sum from s on are
    uniform, and the `bits` highest bits are among them.
    """
    return ((multiplier * x + shift) & ((1 << width) - 1)) >> (width - bits)


@dataclass(frozen=True)
class KeyHash:
    """A public function from bytes of any length to 2**bits buckets.

    Parameters
    ----------
    multiplier, shift : int
        From 0 to 2**256 - 1. They must be drawn uniformly, and independently of the keys.
    bits : int
        From 0 to 32.

    Notes
    -----
    Two different keys collide with probability 2**-bits over multiplier and shift, unless their 224-bit
    BLAKE2b digests are equal. No collision of BLAKE2b is known.
    """

    multiplier: int
    shift: int
    bits: int

    def __post_init__(self) -> None:
        check_count("multiplier", self.multiplier, high=(1 << WIDTH) - 1)
        check_count("shift", self.shift, high=(1 << WIDTH) - 1)
        check_count("bits", self.bits, high=LARGEST_BITS)

    def bucket(self, key: bytes) -> int:
        """Return the bucket of a key."""
        digest = int.from_bytes(hashlib.blake2b(key, digest_size=_DIGEST).digest(), "big")
        return multiply_shift(
            digest, multiplier=self.multiplier, shift=self.shift, width=WIDTH, bits=self.bits
        )

    def buckets(self, keys: Iterable[bytes]) -> NDArray[np.int64]:
        """Return the bucket of each key."""
        known: dict[bytes, int] = {}
        return np.array(
            [known[key] if key in known else known.setdefault(key, self.bucket(key)) for key in keys],
            dtype=np.int64,
        )
