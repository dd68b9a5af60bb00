"""Which rows of groups take part, and the sums over them."""

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix

from dplearn.chance import SeededDice
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle, HistogramQuery, MeanQuery, VectorQuery
from dplearn.table.groups import SHIFTS, grouping_of, selected
from dplearn.table.table import InMemory, Table


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


@pytest.mark.parametrize(
    "groups",
    [
        [3, 1, 3],
        np.array([3, 1, 3]),
        np.array([3, 1, 3], dtype=object),
        np.array([3.0, 1.0, 3.0]),
        ["x", "a", "x"],
        np.array(["x", "a", "x"]),
        pd.Series(["x", "a", "x"], index=[5, 5, 5]),
        pd.Series(["x", "a", "x"], dtype="category"),
        pd.DataFrame({"id": [3, 1, 3]}),
        pl.Series(["x", "a", "x"]),
    ],
    ids=lambda groups: f"{type(groups).__module__}.{type(groups).__name__}",
)
def test_ids_of_many_kinds_name_the_same_groups(groups):
    found = grouping_of(groups, 3, most=1, shifts=lambda n: [0] * n)
    assert found.members.tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("groups", "error", "match"),
    [
        ([1, None, 2], ValueError, "one is missing"),
        (np.array([1.0, np.nan, 2.0]), ValueError, "one is missing"),
        (["a", 1, "b"], TypeError, "all texts or all integers"),
        ([1.5, 2, 3], TypeError, "all texts or all integers"),
        (pd.date_range("2026-01-01", periods=3), (TypeError, ValueError), "dates|texts|times"),
        ([1, 2], ValueError, "equal numbers of rows, got 3 and 2"),
        (np.ones((3, 2)), ValueError, r"1d array.* got shape \(3, 2\)"),
        (pd.DataFrame({"a": [1, 2, 3], "b": 1}), ValueError, "must have one column"),
    ],
)
def test_ids_that_are_none_are_refused(groups, error, match):
    with pytest.raises(error, match=match):
        grouping_of(groups, 3, most=1, shifts=lambda n: [0] * n)


def test_one_row_of_each_group_is_taken_from_any_table():
    found = grouping_of(["b", "a", "b"], 3, most=1, shifts=lambda n: [0] * n)
    X, places = np.array([[1, 2], [3, 4], [5, 6]]), found.slots[:, 0]
    for table in (X, X.tolist(), pd.DataFrame(X), pl.DataFrame(X), csr_matrix(X)):
        rows, labels = selected(table, places), selected(["u", "v", "w"], places)
        dense = rows.toarray() if hasattr(rows, "toarray") else np.asarray(rows)
        assert dense.tolist() == [[3, 4], [1, 2]]
        assert labels == ["v", "u"]


VALUES = np.array([0, 1, 2, 3, 4, 5])
IDS = ["a", "a", "a", "b", "c", "c"]


QUERIES = {
    "mean": MeanQuery(lambda rows: rows, low=0, high=5),
    "histogram": HistogramQuery(lambda rows: rows % 3, categories=3),
    "vector": VectorQuery(lambda rows: np.stack([rows, 5 - rows], axis=1), size=2, norm=8),
}


@pytest.mark.parametrize("privacy", [ApproxDP(1), ApproxDP(1, "1e-6")], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("name", QUERIES)
def test_an_answer_about_groups_is_as_noisy_as_one_about_as_many_rows(name, privacy):
    query, m = QUERIES[name], 400
    ids = np.arange(2000) % m
    rows = np.arange(2000) % 6
    grouped = Table(InMemory(rows)).grouped(grouping(ids.tolist(), 5))
    plain = rows[:m]
    variances = [
        CentralOracle(records, privacy=privacy, dice=SeededDice(0)).ask(query)[0].noise_variance
        for records in (grouped, plain)
    ]
    assert variances[0] == pytest.approx(variances[1], rel=0.02)
    exact = CentralOracle(grouped, privacy=ApproxDP(10**6), dice=SeededDice(0)).ask(query)[0].means
    wanted = np.asarray(query.total(rows[grouped.grouping.slots.ravel()])) / (5 * m)
    assert exact == pytest.approx(wanted, abs=1e-3)
