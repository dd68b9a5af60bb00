"""Searches find what going through all integers finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.kernels.search import first, least, lowest

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=200)


@repeatable
@given(st.integers(-50, 50), st.integers(0, 100), st.integers(0, 100))
def test_the_first_integer_at_which_a_condition_holds_is_found(low, length, place):
    begin = low + min(place, length)
    assert first(lambda n: n >= begin, low, low + length) == begin


@repeatable
@given(st.integers(0, 50), st.integers(0, 10**6))
def test_the_least_integer_from_an_end_on_is_found(low, begin):
    assert least(lambda n: n >= begin, low) == max(low, begin)


@repeatable
@given(st.integers(-50, 50), st.integers(0, 10**5), st.integers(0, 10**5), st.floats(0.1, 10))
def test_the_lowest_point_of_a_valley_is_found(low, length, place, slope):
    bottom = low + min(place, length)
    found = lowest(
        lambda n: np.where(n < bottom, slope * (bottom - n), (n - bottom) / slope), low, low + length
    )
    assert found == bottom


def test_the_first_of_equals_is_taken_and_infinite_costs_are_none():
    assert lowest(lambda n: np.zeros(len(n)), 3, 10) == 3
    assert lowest(lambda n: np.where(n < 99_990, np.inf, n), 0, 10**5) == 99_990


@pytest.mark.parametrize("high", [10**18, 10**20])
def test_ranges_beyond_exact_floats_end(high):
    assert 0 < lowest(lambda n: abs(n - 0.3 * high), 0, high) < high
