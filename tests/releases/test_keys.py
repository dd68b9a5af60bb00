"""Counts, sums and means of keys: declared or found, in memory or in parts."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dplearn.domains import DomainError
from dplearn.kernels import decay_ratio, laplace_tail
from dplearn.privacy import PrivacyLedger
from dplearn.releases import grouped, stable_counts, stable_counts_plan

CODES = ["J45"] * 60 + ["E11"] * 80 + ["E84"]
SURE = {"epsilon": 50.0, "delta": 1e-6, "random_state": 0}


def counted(keys, **parameters):
    return stable_counts(keys, **SURE | parameters).counts


def test_any_holder_of_keys_gives_the_same_counts():
    arrays = [CODES, tuple(CODES), np.array(CODES), np.array(CODES, dtype=object)]
    series = [pd.Series(CODES, dtype=kind) for kind in (object, "string", "category")]
    for keys in (*arrays, *series, pl.Series(CODES), pl.Series(CODES, dtype=pl.Categorical)):
        assert list(counted(keys).items()) == [("E11", 80), ("J45", 60)]


def test_whole_numbers_with_gaps_are_integers_and_none():
    cells = [3] * 50 + [None] * 40
    series = [pd.Series(cells, dtype=kind) for kind in ("Int64", "float64", object)]
    for keys in (cells, *series, np.array(cells, dtype=float), pl.Series(cells)):
        found = counted(keys)
        assert found == {3: 50, None: 40}
        assert {type(key) for key in found} == {int, type(None)}
    assert counted([("a", 1)] * 40 + [("a", 2.0)] * 50) == {("a", 2): 50, ("a", 1): 40}  # pairs


@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-6])
@pytest.mark.parametrize("n_keys", [1, 7])
def test_the_error_is_the_least_bound_on_all_noise(beta, n_keys):
    found = stable_counts(CODES, epsilon=0.5, delta=1e-6, random_state=0)
    t, ratio = found.error(beta, n_keys=n_keys), decay_ratio(Fraction(1, 4))
    assert 2 * n_keys * laplace_tail(ratio, t + 1) <= Fraction(str(beta))
    assert t == 0 or 2 * n_keys * laplace_tail(ratio, t) > Fraction(str(beta))
    # The records that a key needs are the fewest that name it as likely as planned.
    plan = stable_counts_plan(1000, epsilon=0.5, delta=1e-6, beta=beta, n_keys=n_keys)
    short = plan.n_needed - plan.threshold
    assert n_keys * laplace_tail(ratio, short + 1) <= Fraction(str(beta))
    assert short == 0 or n_keys * laplace_tail(ratio, short) > Fraction(str(beta))
    assert (plan.error, plan.threshold) == (t, found.plan.threshold)
    # So few records that none can be named are warned of.
    assert stable_counts_plan(plan.threshold, epsilon=0.5, delta=1e-6).warnings == ()
    few = ["a"] * (plan.threshold - 1)
    assert len(stable_counts_plan(len(few), epsilon=0.5, delta=1e-6).warnings) == 1
    assert stable_counts(few, epsilon=0.5, delta=1e-6).counts == {}


RNG = np.random.default_rng(0)
KEYS = np.array(["north", "south", "east"])[RNG.choice(3, 6000, p=[0.6, 0.39, 0.01])]
VALUES = RNG.normal(30, 5, 6000) + 10 * (KEYS == "south")


def test_columns_of_dask_give_what_the_columns_give():
    keys, values = np.array(["north", "south"] * 3000), np.arange(6000) % 100
    how = {"bounds": (0, 100), "delta": 1e-6, "random_state": 3}
    frame = pytest.importorskip("dask.dataframe").from_pandas(
        pd.DataFrame({"town": keys, "wage": values}), npartitions=2
    )
    assert grouped(frame["town"], frame["wage"], **how).sums == grouped(keys, values, **how).sums


def test_values_are_clipped_others_left_out_and_no_category_of_few_records_is_released():
    keys, values = ["a"] * 500 + ["b"] * 500, [9.0] * 1000
    found = grouped(keys, values, bounds=(0, 1), categories=["a"], epsilon=100, random_state=0)
    assert found.counts == {"a": 500}
    assert found.means["a"] == pytest.approx(1, abs=1e-2)
    found = grouped(["a"] * 5, [1.0] * 5, bounds=(0, 2), delta=1e-9, epsilon=5, random_state=0)
    assert found.counts == found.means == {}


def test_keys_of_different_types_are_different_categories():
    keys = ["a"] * 300 + [b"a"] * 200 + [1] * 100 + [None] * 50 + [("a", 1)] * 25
    found = grouped(keys, categories=["a", b"a", 1, None, ("a", 1), "1"], epsilon=200, random_state=0)
    assert list(found.counts.values()) == [300, 200, 100, 50, 25, 0]


@pytest.mark.parametrize("cell", [np.nan, -np.inf, None, "7531"])
def test_missing_values_are_refused_without_being_shown(cell):
    ledger = PrivacyLedger(1)
    parts = [np.array([each], dtype=object) for each in ("a", "b", 1.0, cell)]
    for keys, given in ((["a", "b"], [1.0, cell]), (lambda: parts[:2], lambda: parts[2:])):
        with pytest.raises(DomainError, match="values holds a missing or infinite number") as caught:
            grouped(keys, given, bounds=(0, 1), categories=["a"], ledger=ledger)
        assert "declared domain" not in str(caught.value)
        assert "7531" not in str(caught.value)
        assert caught.value.__context__ is None
    assert ledger.history() == []


def panel(kind, seed=0, n=3000):
    """Return rows of persons, of whom those with few rows differ from those with many."""
    rng = np.random.default_rng(seed)
    rows = []
    for person in range(n):
        many = rng.random() < 0.6
        value = rng.normal(48 if many else 28, 8)
        years = range(1 if many else 5, 6)
        if kind == "one key a person":
            years = [3 + many] * (5 if many else 1)
        elif kind == "several rows a key":
            years = [1, 1, 1, 5] if many else [5]
        rows += [(person, year, np.clip(value, 18, 90)) for year in years]
    return pd.DataFrame(rows, columns=["person", "year", "age"])


def in_parts(column):
    return lambda: iter([column[:1000], column[1000:5000], column[5000:]])


@pytest.mark.parametrize("kind", ["a row a year", "one key a person", "several rows a key"])
@pytest.mark.parametrize("declared", [True, False])
@pytest.mark.parametrize("parts", [False, True])
def test_counts_and_means_of_groups_are_those_of_the_rows(kind, declared, parts):
    """One row of each person gave people with few rows too much weight, and intervals without the truth."""
    table = panel(kind).sample(frac=1, random_state=0)
    true = table.groupby("year")["age"].agg(["size", "mean", "sum"])
    given = {"categories": range(1, 6)} if declared else {"delta": 1e-6}
    columns = [table["year"], table["age"], table["person"]]
    keys, values, groups = [in_parts(each.to_numpy()) for each in columns] if parts else columns
    given |= {"bounds": (18, 90), "epsilon": 30, "max_rows_per_group": 5, "random_state": 0}
    found = grouped(keys, values, groups=groups, **given)
    assert set(true.index) <= set(found.counts)
    intervals = found.mean_intervals(beta=0.01, of="table")
    for year, (size, mean, total) in true.iterrows():
        assert abs(found.counts[year] - size) < 25
        assert abs(found.means[year] - mean) < 0.4
        assert abs(found.sums[year] - total) < 1500
        assert intervals[year][0] <= mean <= intervals[year][1]
    assert found.plan.n_samples == 3000
    assert found.guarantee.protects == "groups"


def test_of_a_group_with_more_rows_as_many_take_part_as_are_allowed():
    table = panel("a row a year")
    given = {"categories": range(1, 6), "groups": table["person"], "epsilon": 1000, "random_state": 0}
    for most in (1, 2, 4, 7):
        found = grouped(table["year"], max_rows_per_group=most, **given)
        assert sum(found.counts.values()) == table.groupby("person").size().clip(upper=most).sum()


@pytest.mark.parametrize("kind", ["even", "rare", "persons"])
def test_the_means_of_populations_lie_in_their_intervals(kind):
    """Of rare great values the sample's variance would say too little, and of persons that of their rows."""
    missed, missed_by_table, rows = 0, 0, 5 if kind == "persons" else 1
    for seed in range(100):
        rng = np.random.default_rng(seed)
        values = rng.uniform(size=400) if kind == "even" else (rng.random(400) < 0.01).astype(float)
        given = {"bounds": (0, 1), "categories": ["a"], "epsilon": 50, "random_state": seed}
        if kind == "persons":
            values = np.repeat(rng.random(400) < 0.5, rows).astype(float)
            given |= {"groups": np.repeat(np.arange(400), rows), "max_rows_per_group": rows}
        found = grouped(["a"] * len(values), values, **given)
        true = 0.01 if kind == "rare" else 0.5
        (low, high), (least, most) = (found.mean_intervals(of=of)["a"] for of in ("population", "table"))
        missed += not low <= true <= high
        missed_by_table += not least <= true <= most
    assert missed <= 5
    assert missed_by_table > 20


def test_columns_together_have_the_counts_and_each_its_own_means():
    frame = pd.DataFrame({"half": VALUES / 2, "wage": VALUES, "other": np.nan})
    bounds, of = {"wage": (0, 100), "half": (0, 50)}, {"categories": ["north", "nowhere"], "random_state": 0}
    found = grouped(KEYS, frame, bounds=bounds, **of)
    low, high = found.count_intervals(1e-6)["north"]
    assert low <= (KEYS == "north").sum() <= high < low + 200
    for name, column in (("wage", VALUES), ("half", VALUES / 2)):
        assert found.means[name]["north"] == pytest.approx(column[KEYS == "north"].mean(), abs=0.5)
        assert math.isnan(found.means[name]["nowhere"])
        assert found.mean_intervals()[name]["nowhere"] == bounds[name]
    assert "nan" in str(found)
    parts = in_parts(KEYS), in_parts(frame)
    assert str(grouped(*parts, bounds=bounds, **of)).split("\n")[1:] == str(found).split("\n")[1:]
    for wrong, match in (
        ({"wage": (0, 100), "none": (0, 1)}, "no 'none'"),
        ({}, "at least one column"),
        ({"other": (0, 1)}, r"values\['other'\]"),
    ):
        with pytest.raises(ValueError, match=match):
            grouped(KEYS, frame, bounds=wrong, **of)
    with pytest.raises(TypeError, match="must be a data frame"):
        grouped(KEYS, VALUES, bounds=bounds, **of)
