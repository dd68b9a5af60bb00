"""Counts, sums and means of categories: declared or learned, in memory or in parts."""

import numpy as np
import pandas as pd
import pytest

from dplearn.domains import DomainError
from dplearn.privacy import BudgetExceededError, PrivacyLedger
from dplearn.releases import grouped, grouped_plan

RNG = np.random.default_rng(0)
KEYS = np.array(["north", "south", "east"])[RNG.choice(3, 6000, p=[0.6, 0.39, 0.01])]
VALUES = RNG.normal(30, 5, 6000) + 10 * (KEYS == "south")
TRUTH = pd.Series(VALUES).groupby(KEYS).mean()


@pytest.mark.parametrize(("categories", "delta"), [(["north", "south", "east", "west"], 0), (None, 1e-6)])
def test_counts_sums_and_means_are_near_those_of_the_records(categories, delta):
    found = grouped(KEYS, VALUES, bounds=(0, 100), categories=categories, delta=delta, random_state=0)
    for town in ("north", "south"):
        assert found.counts[town] == pytest.approx((town == KEYS).sum(), abs=60)
        assert found.means[town] == pytest.approx(TRUTH[town], abs=1)
        assert found.sums[town] == pytest.approx(VALUES[town == KEYS].sum(), abs=5000)
    assert list(found.means) == list(found.sums) == list(found.counts)
    assert found.guarantee.delta == pytest.approx(delta)
    assert ("west" in found.counts) == (categories is not None)


def test_intervals_hold_the_means():
    held = [
        low <= TRUTH[town] <= high
        for seed in range(40)
        for town, (low, high) in grouped(
            KEYS, VALUES, bounds=(0, 100), categories=["north", "east"], random_state=seed
        )
        .mean_intervals(0.1)
        .items()
    ]
    assert np.mean(held) >= 0.9


def test_values_are_clipped_and_records_of_other_categories_are_left_out():
    found = grouped(
        ["a"] * 500 + ["b"] * 500, [9.0] * 1000, bounds=(0, 1), categories=["a"], epsilon=100, random_state=0
    )
    assert found.counts == {"a": 500}
    assert found.means["a"] == pytest.approx(1, abs=1e-2)


def test_parts_give_what_the_columns_give():
    whole = grouped(KEYS, VALUES, bounds=(0, 100), delta=1e-6, random_state=3)
    parted = grouped(
        lambda: iter([KEYS[:10], KEYS[10:]]),
        lambda: iter([VALUES[:10], VALUES[10:]]),
        bounds=(0, 100),
        delta=1e-6,
        random_state=3,
    )
    assert (whole.counts, whole.sums) == (parted.counts, parted.sums)
    with pytest.raises(TypeError, match="must both be functions"):
        grouped(lambda: iter([KEYS]), VALUES, bounds=(0, 100), delta=1e-6)


def test_a_dask_frame_gives_what_the_columns_give():
    frame = pytest.importorskip("dask.dataframe").from_pandas(
        pd.DataFrame({"town": KEYS, "wage": VALUES}), npartitions=2
    )
    parted = grouped(frame["town"], frame["wage"], bounds=(0, 100), categories=["north"], random_state=3)
    whole = grouped(KEYS, VALUES, bounds=(0, 100), categories=["north"], random_state=3)
    assert parted.sums == whole.sums


def test_without_values_there_are_counts_of_the_whole_budget():
    found = grouped(KEYS, categories=["north"], random_state=0)
    assert found.sums is None
    assert (
        found.plan.count_error * 2 <= grouped_plan(6000, bounds=(0, 1), categories=["north"]).count_error + 2
    )
    with pytest.raises(ValueError, match="there are no means"):
        found.mean_intervals()


def test_no_category_of_few_records_is_released():
    found = grouped(["a"] * 5, [1.0] * 5, bounds=(0, 2), delta=1e-9, epsilon=5, random_state=0)
    assert found.counts == found.means == {}


def test_keys_of_different_types_are_different_categories():
    keys = ["a"] * 300 + [b"a"] * 200 + [1] * 100 + [None] * 50 + [("a", 1)] * 25
    categories = ["a", b"a", 1, None, ("a", 1)]
    assert list(grouped(keys, categories=categories, epsilon=200, random_state=0).counts.values()) == [
        300,
        200,
        100,
        50,
        25,
    ]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"values": VALUES}, "bounds must be given with values"),
        ({"values": VALUES, "bounds": (1, 1)}, "end of bounds must be"),
        ({"values": VALUES, "bounds": 3}, "bounds must be a pair"),
        ({"bounds": (0, 1)}, "bounds must be None without values"),
        ({"delta": 0}, "delta must be above 0, such as 1e-6"),
        ({"categories": []}, "categories must be at least one key"),
        ({"categories": ["a", "a"]}, "categories must be distinct, got some key twice; .* go to groups="),
        ({"categories": "north"}, "categories must be a sequence"),
        ({"values": VALUES[:5], "bounds": (0, 1)}, "equal lengths, got 6000 and 5"),
        ({"epsilon": 0}, "epsilon must"),
    ],
)
def test_bad_parameters_are_refused_by_name(given, message):
    ledger = PrivacyLedger(9, 0.5)
    with pytest.raises((TypeError, ValueError), match=message):
        grouped(KEYS, **{"delta": 1e-6, "ledger": ledger, **given})
    assert not ledger.history()


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


def test_a_key_that_is_not_whole_is_refused_and_one_of_another_type_is_another_category():
    with pytest.raises(DomainError, match="a key is a number that is not whole"):
        grouped([1.5, 1], categories=["1"])
    assert grouped([1] * 500, categories=["1", 1], epsilon=200, random_state=0).counts == {"1": 0, 1: 500}


def test_the_ledger_is_charged_before_any_draw():
    ledger = PrivacyLedger(0.5)
    with pytest.raises(BudgetExceededError):
        grouped(["not", "read"], categories=["a"], ledger=ledger)
