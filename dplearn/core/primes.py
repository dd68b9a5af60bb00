"""Primality of integers of any size.

>>> [n for n in range(30) if is_prime(n)]
[2, 3, 5, 7, 11, 13, 17, 19, 23, 29]
>>> is_prime(2**521 - 1), is_prime((2**61 - 1) * (2**89 - 1))
(True, False)
"""

from functools import lru_cache
from hashlib import shake_256

__all__ = ["is_prime"]

_BASES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
_PROVED = 3_317_044_064_679_887_385_961_981  # below it, a number that passes all of `_BASES` is prime
_ROUNDS = 20


@lru_cache(maxsize=64)
def is_prime(n: int) -> bool:
    """Return whether an integer is prime.

    Parameters
    ----------
    n : int
        Any integer.

    Returns
    -------
    bool
        Correct for n below 3 * 10**24 and for n = 2**k - 1, by the test of Lucas and Lehmer. Otherwise a
        composite number is called prime with probability at most 4**-20 over its 20 bases, which are taken
        from a hash of n.

    Notes
    -----
    **Source.** Rabin (1980) for the error of a random base; Sorenson and Webster (2015) for the 13 bases.
    """
    if n < 2 or any(n % small == 0 for small in _BASES):
        return n in _BASES
    if n & (n + 1) == 0:
        return _is_mersenne_prime(n)
    rest = n - 1
    twos = (rest & -rest).bit_length() - 1
    bases = _BASES if n < _PROVED else (2, *_hashed_bases(n))
    return all(_passes(n, base, rest >> twos, twos) for base in bases)


def _passes(n: int, base: int, odd: int, twos: int) -> bool:
    """Return whether an odd n = odd * 2**twos + 1 passes the test of Miller and Rabin."""
    power = pow(base, odd, n)
    if power in (1, n - 1):
        return True
    for _ in range(twos - 1):
        power = power * power % n
        if power == n - 1:
            return True
    return False


def _hashed_bases(n: int) -> list[int]:
    size = (n.bit_length() + 7) // 8
    stream = shake_256(n.to_bytes(size, "big")).digest(_ROUNDS * (size + 8))
    words = (stream[i : i + size + 8] for i in range(0, len(stream), size + 8))
    return [2 + int.from_bytes(word, "big") % (n - 3) for word in words]


def _is_mersenne_prime(n: int) -> bool:
    k = n.bit_length()
    if not is_prime(k):
        return False
    s = 4
    for _ in range(k - 2):
        s = s * s - 2
        for _ in range(2):  # 2**k is 1 modulo n; afterwards s is at most 2**k
            s = (s & n) + (s >> k)
    return s % n == 0
