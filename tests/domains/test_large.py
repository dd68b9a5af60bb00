"""Ranges of integers of any size: codes are the numbers' places, and texts stay short."""

import numpy as np
import pytest

from dplearn.domains import DomainError, LargeIntegerRange

HUGE = LargeIntegerRange(-5, 2**65_536 - 6)


def test_codes_are_places_and_can_be_read_back():
    values = np.array([-5, 0, 2**65_000, 2**65_536 - 6], dtype=object)
    codes = HUGE.encode(values)
    assert codes.tolist() == [0, 5, 2**65_000 + 5, HUGE.size - 1]
    assert HUGE.decode(codes).tolist() == values.tolist()
    assert HUGE.nearest([2**70_000, -(2**70_000)]).tolist() == [HUGE.size - 1, 0]


@pytest.mark.parametrize(
    "value", [-6, 2**65_536, 1.0, True, "3", None, np.nan], ids=lambda v: type(v).__name__
)
def test_what_is_no_integer_of_the_range_is_refused_without_being_shown(value):
    with pytest.raises(
        DomainError, match=r"outside the declared domain LargeIntegerRange\(-5, 2\*\*65536 - 6\)"
    ):
        HUGE.encode(np.array([0, value], dtype=object))


def test_numpys_integers_are_integers():
    assert LargeIntegerRange(0, 2**80).encode(np.array([1, 7], dtype=np.int8)).tolist() == [1, 7]


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0, 9, "LargeIntegerRange(0, 9)"),
        (-(2**90), 2**90 + 3, "LargeIntegerRange(-(2**90), 2**90 + 3)"),
        (1, 3**60, f"LargeIntegerRange(1, {hex(3**60)})"),
    ],
)
def test_large_ends_are_written_by_powers_of_two(low, high, text):
    assert repr(LargeIntegerRange(low, high)) == text
    assert eval(text) == LargeIntegerRange(low, high)


@pytest.mark.parametrize(("low", "high"), [(1, 0), (0, 2**65_536)], ids=["empty", "larger"])
def test_empty_and_larger_ranges_are_refused(low, high):
    with pytest.raises(ValueError, match="high must be at least low"):
        LargeIntegerRange(low, high)


@pytest.mark.parametrize("end", [0.0, True, "1"])
def test_ends_must_be_integers(end):
    with pytest.raises(TypeError, match="low must be an integer"):
        LargeIntegerRange(end, 5)
