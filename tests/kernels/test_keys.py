"""Counts of keys of mixed types, in an order that depends on the set of keys alone.

The public hash: exactly pairwise independent, and the same everywhere.
"""

from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest

from dplearn.domains.keys import KeyCounts, counted_keys
from dplearn.kernels.points import KeyHash, multiply_shift

KEYS = ["b", b"a", "a", 3, "a", None, (1, ("x", None)), 3, np.int64(3), np.str_("a")]


def test_the_order_of_the_keys_changes_no_count_and_no_order():
    counts = counted_keys(KEYS)
    assert counted_keys(KEYS[::-1]) == counts
    assert dict(counts) == {"a": 3, b"a": 1, "b": 1, 3: 3, None: 1, (1, ("x", None)): 1}


def test_keys_are_published_in_built_in_types():
    assert {type(key) for key, _ in counted_keys(KEYS)} == {str, bytes, int, tuple, type(None)}


@pytest.mark.parametrize("key", [1.5, True, object(), {1}])
def test_keys_of_other_types_are_refused_without_being_shown(key):
    with pytest.raises(TypeError, match="keys must be None, str, bytes, int, or tuples of these") as error:
        counted_keys([key])
    assert repr(key) not in str(error.value)


def test_counts_of_parts_add_up_to_those_of_all_keys():
    keys = ["b", "a", 7, "a", None, (1, "x"), b"a", (1, "x"), np.int64(7)]
    for cut in range(len(keys) + 1):
        total = KeyCounts.of(keys[:cut]) + KeyCounts.of(keys[cut:])
        assert counted_keys(total) == counted_keys(keys)
        assert len(total) == len(keys)


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
