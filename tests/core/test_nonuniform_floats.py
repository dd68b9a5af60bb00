"""The nonuniform float grid: its places have the order of the floats and can be decoded."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplearn.core.cuts import NONUNIFORM_SIZE, last_code, nonuniform_codes
from dplearn.domains import Floats

FINITE = st.floats(allow_nan=False, allow_infinity=False)


def place_of(*numbers):
    return nonuniform_codes(Floats().encode(np.array(numbers))).tolist()


@given(FINITE, FINITE)
def test_places_keep_the_order_of_floats(x, y):
    low, high = sorted((x, y))
    first, last = place_of(low, high)
    assert 0 <= first <= last < NONUNIFORM_SIZE


@given(FINITE)
def test_the_last_code_of_a_place_is_the_last_that_has_it(x):
    [place] = place_of(x)
    last = last_code(place)
    assert int(Floats().encode(np.array([x]))[0]) <= last
    codes = np.array([last, min(last + 1, Floats().size - 1)], dtype=np.uint64)
    here, after = nonuniform_codes(codes).tolist()
    assert here == place
    assert after == place + 1 or last == Floats().size - 1


@given(st.integers(0, NONUNIFORM_SIZE - 1))
def test_every_place_is_some_floats(place):
    assert nonuniform_codes(np.array([last_code(place)], dtype=np.uint64)).tolist() == [place]


def test_the_ends_are_the_ends_of_all_floats():
    largest = np.finfo(float).max
    assert place_of(-largest, 0.0, -0.0, largest) == [
        0,
        NONUNIFORM_SIZE // 2,
        NONUNIFORM_SIZE // 2,
        NONUNIFORM_SIZE - 1,
    ]
    assert last_code(-1) == -1
    assert last_code(NONUNIFORM_SIZE - 1) == Floats().size - 1


@pytest.mark.parametrize(("x", "bits"), [(1.0, 52), (0.5, 51), (3e9, 47), (1e-300, 42)])
def test_magnitudes_far_from_one_keep_fewer_bits(x, bits):
    low = 2.0 ** math.floor(math.log2(x))
    first, last = place_of(low, 2 * low)
    assert last - first == 2**bits
