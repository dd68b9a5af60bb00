"""Tables in memory, in parts and of groups: sums, selected rows, and what is checked when a part is read."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.domains import DomainError
from dplearn.table.groups import grouping_of
from dplearn.table.passes import InTurn, PartsChangedError
from dplearn.table.sources import in_parts
from dplearn.table.table import Columns, Grouping, InMemory, LabelledRows, Table, as_table

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)
TABLE = np.arange(24).reshape(12, 2)
LABELS = np.arange(12) % 3


def cut(lengths):
    ends = np.cumsum([0, *lengths])
    return [(TABLE[a:b], LABELS[a:b]) for a, b in pairwise(ends)]


def parted(lengths, encode=LabelledRows, later=None):
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

    for mine, whole in zip(parted(lengths).sums(sums), sums(LabelledRows(TABLE, LABELS)), strict=True):
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
    records = parted([5, 0, 7]).map(lambda part: sizes.append(len(part)) or LabelledRows(part.X + 1, part.y))
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
        return LabelledRows(X, y)

    records = parted([5, 0, 7], encode)
    assert records.sums(lambda part: [len(part)]) == [12]
    with pytest.raises(PartsChangedError):
        parted([5, 0, 7], encode, later=[5, 1, 6]).sums(lambda part: [len(part)])


def test_what_encoding_refuses_is_refused_in_each_pass():
    passes = []

    def encode(X, y):
        if len(passes) > 1:
            raise DomainError("X is outside its domain")
        return LabelledRows(X, y)

    records = parted([5, 7], encode)
    for _ in range(2):
        records.sums(lambda part: [len(part)])
        passes.append(None)
    with pytest.raises(DomainError, match="outside its domain"):
        records.sums(lambda part: [len(part)])


IDS = np.array(["c", "a", "b", "a", "a", "d", "b", "c", "a", "d", "d", "a"])


def groups(most):
    return grouping_of(IDS, 12, most=most, shifts=lambda n: np.arange(n) * 999)


def same_to_the_last_bit(mine, whole):
    assert len(mine) == len(whole)
    for one, other in zip(mine, whole, strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        assert np.array_equal(one, other)


HUGE = np.array([2**56, -(2**56), 2**53 + 1, 3, -7, 2**55, 1, -(2**53) - 1, 2**57, 5, -(2**55), 11])


def huge_sums(rows):
    """Sums that floats would round, of 64 bits and of any size."""
    codes = HUGE[rows.X[:, 0] // 2]
    return [codes.sum(), np.bincount(rows.y, minlength=3), codes.astype(object).sum() * 2**70]


@repeatable
@given(divisions())
def test_sums_of_integers_are_those_in_memory_to_the_last_bit(lengths):
    held = Table(InMemory(LabelledRows(TABLE, LABELS)))
    same_to_the_last_bit(parted(lengths).sums(huge_sums), held.sums(huge_sums))


@repeatable
@given(divisions(), st.integers(1, 7))
def test_sums_of_groups_in_parts_are_those_in_memory_and_of_rows_as_often_as_they_take_part(lengths, most):
    found = groups(most)
    held = Table(InMemory(LabelledRows(TABLE, LABELS))).grouped(found).sums(huge_sums)
    same_to_the_last_bit(parted(lengths).grouped(found).sums(huge_sums), held)
    rows = found.slots.ravel()
    same_to_the_last_bit(held, huge_sums(LabelledRows(TABLE[rows], LABELS[rows])))


@repeatable
@given(divisions(), st.integers(1, 7))
def test_groups_count_as_records_wherever_their_rows_are(lengths, most):
    for table in (parted(lengths), Table(InMemory(LabelledRows(TABLE, LABELS)))):
        grouped = table.grouped(groups(most))
        assert (len(grouped), grouped.each, grouped.in_parts) == (4, most, table.in_parts)
        assert (len(grouped.ungrouped()), grouped.ungrouped().each) == (12, 1)
        assert grouped.ungrouped().sums(lambda rows: [len(rows)]) == [12]
        assert grouped.at_once(len) is None
        assert table.at_once(len) == (None if table.in_parts else 12)


def test_a_group_of_one_row_that_takes_part_is_that_row_chosen_before():
    """Sums, and rows by the numbers of their groups, with the row of each group chosen after or before."""
    found = groups(1)
    chosen = found.slots[:, 0]
    before = Table(InMemory(LabelledRows(TABLE[chosen], LABELS[chosen])))
    for table in (parted([5, 0, 7]), Table(InMemory(LabelledRows(TABLE, LABELS)))):
        after = table.grouped(found)
        assert len(after) == len(before)
        same_to_the_last_bit(after.sums(huge_sums), before.sums(huge_sums))
        numbered = table.ungrouped().take(chosen[np.array([2, 0, 3])])
        wanted = before.take(np.array([2, 0, 3]))
        assert np.array_equal(numbered.X, wanted.X)
        assert np.array_equal(numbered.y, wanted.y)


#: Rows of the parts of 3, 2, 0 and 7 rows: only those of the first and the last part are chosen.
FEW = Grouping(np.array([[0], [2], [11]]), np.zeros(12, dtype=np.int64))


def test_empty_parts_and_parts_from_which_no_row_takes_part_do_not_count():
    seen = []
    records = parted([3, 2, 0, 7]).grouped(FEW)
    [total] = records.sums(lambda rows: seen.append(len(rows)) or [rows.X.sum()])
    assert total == TABLE[[0, 2, 11]].sum()
    assert seen == [2, 1]


@pytest.mark.parametrize("later", [[3, 2, 0], [3, 2], [3, 2, 0, 7, 1], [3, 9], [3, 0, 2, 7], [3, 2, 0, 7, 0]])
@pytest.mark.parametrize("grouped", [False, True], ids=["rows", "groups"])
def test_another_number_of_parts_is_noticed_though_parts_are_empty_or_without_weight(later, grouped):
    table = parted([3, 2, 0, 7], later=later)
    table = table.grouped(FEW) if grouped else table
    with pytest.raises(PartsChangedError):
        table.sums(lambda rows: [rows.X.sum()])
    with pytest.raises(PartsChangedError):
        table.ungrouped().take(np.array([0]))


@pytest.mark.parametrize("later", [[3, 2], [3, 2, 0], [3]])
def test_a_missing_last_part_is_noticed_though_none_of_its_rows_would_be_summed(later):
    """Of the parts of 3, 2, 0 and 7 rows the last two, or three, are missing."""
    table = parted([3, 2, 0, 7], later=later).grouped(Grouping(np.array([[0], [2]]), np.zeros(12, np.int64)))
    with pytest.raises(PartsChangedError):
        table.sums(lambda rows: [rows.X.sum()])


def test_sums_of_no_rows_that_take_part_are_none():
    """As in parts of which all are without weight."""
    nobody = Grouping(np.empty((0, 1), np.int64), np.empty(0, np.int64))
    for table in (parted([5, 7]), Table(InMemory(LabelledRows(TABLE, LABELS)))):
        assert table.grouped(nobody).sums(lambda rows: [rows.X.sum()]) == []


@pytest.mark.parametrize(
    "labels", [LABELS, np.array(["no", "yes", "no"] * 4), LABELS.astype(object)], ids=str
)
def test_labels_joined_from_parts_stay_an_array(labels):
    parts = [(TABLE[a:b], labels[a:b]) for a, b in ((0, 5), (5, 5), (5, 12))]
    given = in_parts(InTurn(lambda: iter(parts)))
    _, examples = given.read(lambda X, y: (len(X), LabelledRows(X, y)))
    _, columns = given.read(lambda X, y: (len(X), Columns([X[:, 0], y])))
    places = np.array([11, 0, 6, 6])
    for found in (examples.take(places).y, columns.take(places).columns[1]):
        assert type(found) is np.ndarray
        assert found.dtype == labels.dtype
        assert found.tolist() == labels[places].tolist()
    framed = given.read(lambda X, y: (len(X), LabelledRows(pd.DataFrame(X), y)))[1].take(places)
    assert type(framed.y) is np.ndarray
    assert framed.X.to_numpy().tolist() == TABLE[places].tolist()


def test_rows_of_a_chosen_order_are_numbered_by_their_records():
    order = np.array([4, 0, 11])
    held = Table(InMemory(LabelledRows(TABLE, LABELS)), order=order)
    parts = Table(parted([5, 0, 7]).blocks, order=order)
    for table in (held, parts):
        assert table.take(np.array([2, 1])).X.tolist() == TABLE[[11, 0]].tolist()


def test_a_table_shows_no_row():
    secret = np.array([123456789])
    table = Table(InMemory(secret), facts=3)
    for shown in (
        repr(table),
        repr(table.blocks),
        repr(table.map(lambda rows: rows + 1)),
        repr(table.grouped(FEW)),
    ):
        assert "123456789" not in shown
