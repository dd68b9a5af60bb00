"""Tables in memory, in parts and of groups: sums, selected rows, and what is checked when a part is read."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.domains import DomainError
from dplearn.records.part_sources import in_parts
from dplearn.records.passes import InTurn, PartsChangedError
from dplearn.records.rows import Examples
from dplearn.records.table import as_table

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)
TABLE = np.arange(24).reshape(12, 2)
LABELS = np.arange(12) % 3


def cut(lengths):
    ends = np.cumsum([0, *lengths])
    return [(TABLE[a:b], LABELS[a:b]) for a, b in pairwise(ends)]


def parted(lengths, encode=Examples, later=None):
    """The table of parts of some lengths, and in later passes perhaps of others."""
    given = [lengths]
    _, table = in_parts(InTurn(lambda: cut(given[0]))).read(lambda X, y: (len(X), encode(X, y)))
    given[0] = lengths if later is None else later
    return table


@st.composite
def divisions(draw):
    cuts = sorted(draw(st.lists(st.integers(0, 12), max_size=5)))
    return np.diff([0, *cuts, 12]).tolist()


@repeatable
@given(divisions())
def test_sums_are_those_of_the_table_for_any_division(lengths):
    def sums(records):
        return [records.X.T @ records.X, records.y.sum()]

    for mine, whole in zip(parted(lengths).sums(sums), sums(Examples(TABLE, LABELS)), strict=True):
        assert np.array_equal(mine, whole)


@repeatable
@given(divisions(), st.lists(st.integers(0, 11), min_size=1, max_size=9))
def test_selected_records_are_those_of_the_table_in_the_order_asked_for(lengths, places):
    records = parted(lengths)
    found = records.take(np.array(places))
    assert (len(records), len(found)) == (12, len(places))
    assert np.array_equal(found.X, TABLE[places])
    assert np.array_equal(found.y, LABELS[places])


def test_a_function_of_records_is_applied_to_each_part_in_each_pass():
    sizes = []
    records = parted([5, 0, 7]).map(lambda part: sizes.append(len(part)) or Examples(part.X + 1, part.y))
    for _ in range(2):
        assert records.sums(lambda part: [part.X.sum()]) == [TABLE.sum() + 24]
    assert sizes == [5, 7, 5, 7]


def test_they_are_records_for_every_oracle():
    records = parted([5, 7])
    assert as_table(records) is records


@pytest.mark.parametrize("lengths", [[5, 6], [5, 7, 1], [4, 8], [12]])
def test_parts_of_other_lengths_than_at_first_are_refused(lengths):
    records = parted([5, 7], later=lengths)
    with pytest.raises(PartsChangedError, match="number or their lengths have changed"):
        records.sums(lambda part: [part.y.sum()])
    with pytest.raises(PartsChangedError, match="number or their lengths have changed"):
        records.take(np.array([0]))


def test_a_part_that_had_no_rows_is_not_encoded_and_must_have_none():
    def encode(X, y):
        assert len(X)
        return Examples(X, y)

    records = parted([5, 0, 7], encode)
    assert records.sums(lambda part: [len(part)]) == [12]
    with pytest.raises(PartsChangedError):
        parted([5, 0, 7], encode, later=[5, 1, 6]).sums(lambda part: [len(part)])


def test_what_encoding_refuses_is_refused_in_each_pass():
    passes = []

    def encode(X, y):
        if len(passes) > 1:
            raise DomainError("X is outside its domain")
        return Examples(X, y)

    records = parted([5, 7], encode)
    for _ in range(2):
        records.sums(lambda part: [len(part)])
        passes.append(None)
    with pytest.raises(DomainError, match="outside its domain"):
        records.sums(lambda part: [len(part)])
