"""The public hash: exactly pairwise independent, and the same everywhere."""

from collections import Counter
from itertools import combinations, product

import pytest

from dplearn.core.keys import KeyHash, multiply_shift


@pytest.mark.parametrize(("width", "bits"), [(3, 1), (3, 2), (4, 2), (4, 3), (4, 4)])
def test_any_two_keys_are_hashed_independently_and_uniformly(width, bits):
    numbers = list(product(range(1 << width), repeat=2))
    for x, y in combinations(range(1 << (width - bits + 1)), 2):
        pairs = Counter(
            tuple(multiply_shift(z, multiplier=a, shift=b, width=width, bits=bits) for z in (x, y))
            for a, b in numbers
        )
        assert set(pairs.values()) == {len(numbers) >> (2 * bits)}
        assert len(pairs) == 1 << (2 * bits)


def test_wider_keys_are_not_hashed_independently():
    found = {
        tuple(multiply_shift(z, multiplier=a, shift=b, width=3, bits=2) for z in (0, 4))
        for a, b in product(range(8), repeat=2)
    }
    assert len(found) < 16


def test_buckets_are_within_their_number_and_spread():
    hashed = KeyHash(multiplier=3**160, shift=7**90, bits=6)
    found = hashed.buckets(str(i).encode() for i in range(6400))
    assert (found.min(), found.max()) == (0, 63)
    assert Counter(found.tolist()).most_common(1)[0][1] < 160
    assert found[17] == hashed.bucket(b"17")


def test_one_bucket_holds_every_key():
    assert KeyHash(1, 1, bits=0).bucket(b"a") == 0


@pytest.mark.parametrize("parameters", [(-1, 0, 1), (0, 1 << 256, 1), (0, 0, 33)])
def test_parameters_are_checked(parameters):
    with pytest.raises(ValueError, match="must be an integer"):
        KeyHash(*parameters)
