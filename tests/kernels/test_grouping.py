"""Counts and positions agree with numpy's own, for every integer type and range."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dplearn.kernels.grouping import group_counts, nth_equal

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)
TYPES = ["u1", "u2", "u4", "i1", "i2", "i4", "i8"]


def agrees_with_unique(values) -> bool:
    distinct, counts = np.unique(values, return_counts=True)
    found = group_counts(values)
    assert {type(number) for number in [*found[0], *found[1]]} == {int}
    return found == (distinct.tolist(), counts.tolist())


@repeatable
@given(st.sampled_from(TYPES).flatmap(lambda name: arrays(name, st.integers(1, 40))))
def test_counts_are_those_of_unique_over_the_whole_range_of_every_type(values):
    assert agrees_with_unique(values)


@repeatable
@given(
    arrays("i8", st.integers(1, 60), elements=st.integers(-5, 5)),
    st.sampled_from([-(2**63) + 5, 0, 2**63 - 6]),
)
def test_counts_are_those_of_unique_where_values_repeat_anywhere_in_64_bits(values, base):
    assert agrees_with_unique(values + base)


@pytest.mark.parametrize("range_", [2**22 - 1, 2**22, 2**22 + 1, 2**40])
def test_counts_are_those_of_unique_on_both_sides_of_the_widest_dense_range(range_):
    assert agrees_with_unique(np.array([-7, -7 + range_, -7, 3]))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("n", [2**15 - 1, 2**15, 2**15 + 1, 100_000])
def test_counts_are_those_of_unique_over_several_blocks(dtype, n):
    assert agrees_with_unique((np.arange(n) * 7919 % 101 - 20 * (dtype[0] == "i")).astype(dtype))


def test_counts_do_not_change_the_values_and_read_any_layout():
    values = np.arange(20, dtype=np.int64)[::-3] % 4
    before = values.copy()
    assert agrees_with_unique(values)
    assert agrees_with_unique(values.astype(">i4"))
    assert agrees_with_unique(np.repeat([5, 9, 1], 2**15))  # later blocks hold larger and smaller values
    with pytest.raises(IndexError, match="fewer elements"):
        nth_equal(np.array([1, 2], dtype=np.uint8), 300, 0)
    assert (values == before).all()


@pytest.mark.parametrize("values", [[3, 2**64 - 1], [2**64 - 1, 2**64 - 3, 2**64 - 1], [2**63, 2**63 - 1]])
def test_counts_are_those_of_unique_for_unsigned_values_beyond_63_bits(values):
    # Was (dplearn/kernels/grouping.py, group_counts): astype(np.intp) wraps uint64 values of 2**63 and more:
    # then `block -= low` raises OverflowError, or `occurring + low` wraps and says that 2**63 is -2**63.
    assert agrees_with_unique(np.array(values, dtype=np.uint64))


@repeatable
@given(arrays(st.sampled_from(["u1", "i2", "i8"]), st.integers(1, 50), elements=st.integers(0, 4)), st.data())
def test_nth_equal_is_the_nth_position(values, data):
    value = int(data.draw(st.sampled_from(values.tolist())))
    positions = np.flatnonzero(values == value)
    index = data.draw(st.integers(0, positions.size - 1))
    assert nth_equal(values, value, index) == positions[index]
    with pytest.raises(IndexError):
        nth_equal(values, value, positions.size)


@pytest.mark.parametrize("index", [0, 1, 2, 3])
def test_nth_equal_counts_across_blocks(index):
    values = np.zeros(3 * 2**20, dtype=np.uint8)
    positions = [2**20 - 1, 2**20, 2**21 + 5, 3 * 2**20 - 1]
    values[positions] = 7
    assert nth_equal(values, 7, index) == positions[index]
