"""Tables in memory, in parts and of groups: sums, selected rows, and what is checked when a part is read."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_matrix, csr_matrix

from dplearn.queries import Records
from dplearn.table import (
    Columns,
    InMemory,
    InTurn,
    LabelledRows,
    PartsChangedError,
    Table,
    as_table,
    count_of,
    grouping_of,
    in_parts,
    plain,
    rows_of,
    taken,
)
from dplearn.table import table as module
from dplearn.table.groups import SHIFTS, selected
from dplearn.table.rows import check_values, own_cells
from dplearn.table.table import Grouping, as_records

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
@given(divisions(), st.lists(st.integers(0, 11), min_size=1, max_size=9))
def test_selected_records_are_those_of_the_table_in_the_order_asked_for(lengths, places):
    records = parted(lengths)
    found = records.take(np.array(places))
    assert (len(records), len(found)) == (12, len(places))
    assert np.array_equal(found.X, TABLE[places])
    assert np.array_equal(found.y, LABELS[places])
    assert as_table(records) is records  # for every oracle
    more = records.map(lambda part: LabelledRows(part.X + 1, part.y))
    for _ in range(2):  # in each pass
        assert more.sums(lambda part: [part.X.sum()]) == [TABLE.sum() + 24]


@pytest.mark.parametrize(("most", "reads"), [(1 << 27, 2), (12 * 24 - 1, 4)])
def test_rows_are_kept_if_they_fit_and_share_no_memory_with_parts(most, reads, monkeypatch):
    monkeypatch.setattr(module, "MOST_KEPT", most)
    passes, buffer = [], np.empty((6, 2), dtype=np.int64)

    def parts():
        passes.append(1)
        for start in (0, 6):
            buffer[:] = TABLE[start : start + 6]
            yield buffer, LABELS[start : start + 6]
        buffer[:] = -1

    _, table = in_parts(InTurn(parts)).read(lambda X, y: (len(X), LabelledRows(X, y)))
    kept = table.kept()
    assert [kept.sums(lambda rows: [rows.X.sum()]) for _ in range(3)] == [[TABLE.sum()]] * 3
    assert len(passes) == reads
    assert np.array_equal(kept.take(np.arange(12)).X, TABLE)
    grouped = table.grouped(groups(2)).kept()
    assert grouped.sums(lambda rows: [rows.X.sum()]) == table.grouped(groups(2)).sums(
        lambda rows: [rows.X.sum()]
    )


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
@given(divisions(), st.integers(1, 7))
def test_sums_of_rows_and_of_groups_in_parts_are_those_in_memory_and_of_rows_as_often_as_they_take_part(
    lengths, most
):
    found, whole = groups(most), Table(InMemory(LabelledRows(TABLE, LABELS)))
    same_to_the_last_bit(parted(lengths).sums(huge_sums), whole.sums(huge_sums))
    same_to_the_last_bit(whole.sums(huge_sums), huge_sums(LabelledRows(TABLE, LABELS)))
    held = whole.grouped(found).sums(huge_sums)
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


#: Rows of the parts of 3, 2, 0 and 7 rows: only those of the first and the last part are chosen.
FEW = Grouping(np.array([[0], [2], [11]]), np.zeros(12, dtype=np.int64))


def test_empty_parts_and_parts_from_which_no_row_takes_part_do_not_count():
    seen = []
    records = parted([3, 2, 0, 7]).grouped(FEW)
    [total] = records.sums(lambda rows: seen.append(len(rows)) or [rows.X.sum()])
    assert total == TABLE[[0, 2, 11]].sum()
    assert seen == [2, 1]
    with pytest.raises(PartsChangedError):  # a part without rows has some later
        parted([3, 2, 0, 6], later=[3, 2, 1, 6]).sums(lambda rows: [rows.X.sum()])
    nobody = Grouping(np.empty((0, 1), np.int64), np.empty(0, np.int64))  # as in parts without weight
    for table in (parted([5, 7]), Table(InMemory(LabelledRows(TABLE, LABELS)))):
        assert table.grouped(nobody).sums(lambda rows: [rows.X.sum()]) == []


@pytest.mark.parametrize(
    "later",
    [[3, 2, 0], [3, 2], [3], [3, 2, 0, 7, 1], [3, 9], [3, 0, 2, 7], [3, 2, 0, 7, 0], [4, 1, 0, 7], [12]],
)
@pytest.mark.parametrize(
    "weighed",
    [None, FEW, Grouping(np.array([[0], [2]]), np.zeros(12, np.int64))],
    ids=["all", "few", "first"],
)
def test_parts_of_other_numbers_or_lengths_are_noticed_whichever_rows_take_part(later, weighed):
    table = parted([3, 2, 0, 7], later=later)
    table = table if weighed is None else table.grouped(weighed)
    with pytest.raises(PartsChangedError, match="number or their lengths have changed"):
        table.sums(lambda rows: [rows.X.sum()])
    with pytest.raises(PartsChangedError):
        table.ungrouped().take(np.array([0]))


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


PLACES = np.array([2, 0])


class Halves(Records):
    """Returns half of the requested records."""

    def __len__(self):
        return 4

    def __getitem__(self, places):
        return np.zeros(len(places) // 2)


class Frame(pd.DataFrame):
    """Of a library that builds on pandas."""


@pytest.mark.parametrize("table", [np.array, csr_matrix, coo_matrix, pd.DataFrame, Frame, pl.DataFrame])
def test_examples_are_parts_of_rows_and_labels_together(table):
    for y in (np.array([7, 8, 9]), pd.Series([7, 8, 9], index=[2, 2, 0]), pl.Series([7, 8, 9])):
        part = LabelledRows(table(np.arange(6).reshape(3, 2)), y)[PLACES]
        assert len(part) == 2
        assert list(part.y) == [9, 7]
        rows = part.X.toarray() if hasattr(part.X, "toarray") else np.asarray(part.X)
        assert rows.tolist() == [[4, 5], [0, 1]]


def test_arrays_and_sparse_matrices_are_counted_by_rows():
    assert [count_of(each) for each in (np.zeros((3, 2)), csr_matrix((4, 2)), Halves())] == [3, 4, 4]
    assert taken(csr_matrix(np.arange(6).reshape(3, 2)), PLACES).toarray().tolist() == [[4, 5], [0, 1]]
    with pytest.raises(TypeError, match="one record for each requested row"):
        taken(as_records("records", Halves()), PLACES)
    with pytest.raises(ValueError, match="X and y must have equal numbers of records"):
        LabelledRows(np.zeros((2, 1)), np.zeros(3))


def test_categories_are_a_copys_own_and_must_be_values():
    frame = pd.DataFrame({"text": pd.Categorical(["u", "v", "u"]), "number": pd.Categorical([10, 20, 10])})
    frame["time"] = pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01", "2020-01-01"]))
    copy = own_cells(rows_of(frame, np.array([0, 1])))
    assert copy.dtypes.tolist() == frame.dtypes.tolist()
    assert copy.astype(str).to_numpy().tolist() == frame.iloc[:2].astype(str).to_numpy().tolist()
    for name in frame:
        copy[name].cat.categories.name = "marked"
        assert frame[name].cat.categories.name is None
    check_values(frame)
    frame["odd"] = pd.Categorical([object(), None, None])
    with pytest.raises(TypeError, match="X must hold numbers, texts and missing values, got object"):
        check_values(frame)
    frame.attrs["n"] = 3  # is said of the whole table, and left out
    assert (rows_of(frame, np.array([0])).attrs, frame.attrs) == ({}, {"n": 3})
    mixed = np.array([[1.5, "a"], [np.nan, "b"]], dtype=object)
    assert plain(mixed).tolist()[0] == [1.5, "a"]  # cells of two types are not converted
    assert (plain(mixed[:, :1]).dtype, plain(mixed[:, 1:]).dtype.kind) == (np.float64, "U")


def shifts(n):
    return np.random.default_rng(n).integers(0, SHIFTS, n)


def grouping(groups, most=3):
    return grouping_of(groups, len(groups), most=most, shifts=shifts)


def test_each_row_of_a_small_group_takes_part_equally_often():
    groups = ["b", "a", "b", "c", "b", "a"]
    for most in range(1, 12):
        found = grouping(groups, most)
        assert found.slots.shape == (3, most)
        assert (found.n_groups, found.each) == (3, most)
        for number, own in enumerate(({1, 5}, {0, 2, 4}, {3})):
            counts = Counter(found.slots[number].tolist())
            assert set(counts) <= own
            if most >= len(own):
                assert set(counts) == own
                assert max(counts.values()) - min(counts.values()) <= 1


def test_distinct_rows_of_a_large_group_take_part():
    found = grouping([7] * 1000 + [8], 10)
    assert len(set(found.slots[0].tolist())) == 10
    assert set(found.slots[1].tolist()) == {1000}
    starts = {
        grouping_of([7] * 1000, 1000, most=1, shifts=lambda n, s=s: [s]).slots[0, 0] for s in (0, SHIFTS - 1)
    }
    assert starts == {0, 999}


def test_the_rows_of_a_group_depend_on_no_other_group():
    groups = np.array(["a", "b", "b", "c", "c", "c"])
    more = np.array(["a", "a", "b", "a", "b", "c", "a", "c", "c"])
    places = np.flatnonzero(more != "a")
    for most in (1, 2, 5):
        before, after = grouping(groups, most).slots[1:], grouping(more, most).slots[1:]
        assert (places[before - 1] == after).all()


def test_ids_of_many_kinds_name_the_same_groups():
    numbers, texts = [3, 1, 3], ["x", "a", "x"]
    arrays = [
        numbers,
        np.array(numbers),
        np.array(numbers, dtype=object),
        np.array(numbers, dtype=float),
        texts,
    ]
    series = [pd.Series(texts, index=[5, 5, 5]), pd.Series(texts, dtype="category"), pl.Series(texts)]
    for groups in (*arrays, np.array(texts), *series, pd.DataFrame({"id": numbers})):
        found = grouping_of(groups, 3, most=1, shifts=lambda n: [0] * n)
        assert found.members.tolist() == [1, 0, 1]
    for wrong in (pd.date_range("2026-01-01", periods=3), pd.DataFrame({"a": [1, 2, 3], "b": 1})):
        with pytest.raises((TypeError, ValueError), match=r"dates|texts|times|must have one column"):
            grouping_of(wrong, 3, most=1, shifts=lambda n: [0] * n)


def test_one_row_of_each_group_is_taken_from_any_table():
    found = grouping_of(["b", "a", "b"], 3, most=1, shifts=lambda n: [0] * n)
    X, places = np.array([[1, 2], [3, 4], [5, 6]]), found.slots[:, 0]
    for table in (X, X.tolist(), pd.DataFrame(X), pl.DataFrame(X), csr_matrix(X)):
        rows, labels = selected(table, places), selected(["u", "v", "w"], places)
        dense = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
        assert dense.tolist() == [[3, 4], [1, 2]]
        assert labels == ["v", "u"]
