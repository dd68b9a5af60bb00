"""Primality: by trial division, of known primes, and of composites made to pass."""

import pytest

from dplearn.concepts import lines
from dplearn.concepts.lines import is_prime


def test_small_integers_are_prime_as_trial_division_finds():
    for n in range(-2, 3000):
        assert is_prime(n) == (n > 1 and all(n % k for k in range(2, int(n**0.5) + 1))), n


@pytest.mark.parametrize(
    "p", [2**31 - 1, 2**61 - 1, 2**64 - 59, 2**127 - 1, 2**255 - 19, 2**521 - 1, 2**1279 - 1]
)
def test_known_primes(p):
    assert is_prime(p)


@pytest.mark.parametrize(
    "n",
    [
        2**32 + 1,
        2**67 - 1,
        2**523 - 1,
        341550071728321,  # passes the bases 2..17
        3317044064679887385961981,  # passes all 13 bases
        (2**61 - 1) * (2**89 - 1),
        (2**127 - 1) ** 2,
        8911 * (2**521 - 1),
    ],
)
def test_composites(n):
    assert not is_prime(n)


def test_the_bases_of_a_large_number_are_its_own_and_within_it():
    n = 2**255 - 19
    bases = lines._hashed_bases(n)
    assert bases == lines._hashed_bases(n) != lines._hashed_bases(n + 2)
    assert len(set(bases)) == 20
    assert all(2 <= base < n - 1 for base in bases)
