"""Counts for an analyst: any holder of keys, what is refused, the ledger, and the bound on the noise."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dplearn.domains import DomainError
from dplearn.kernels.distributions import laplace_tail
from dplearn.kernels.exact import decay_ratio
from dplearn.privacy import BudgetExceededError, PrivacyLedger
from dplearn.releases.stable_counts import stable_counts, stable_counts_plan

CODES = ["J45"] * 60 + ["E11"] * 80 + ["E84"]
SURE = {"epsilon": 50.0, "delta": 1e-6, "random_state": 0}


def counted(keys, **parameters):
    return stable_counts(keys, **SURE | parameters).counts


@pytest.mark.parametrize(
    "holder",
    [
        list,
        tuple,
        np.array,
        lambda codes: np.array(codes, dtype=object),
        pd.Series,
        lambda codes: pd.Series(codes, dtype="string"),
        lambda codes: pd.Series(codes, dtype="category"),
        pl.Series,
        lambda codes: pl.Series(codes, dtype=pl.Categorical),
    ],
    ids=range(9),
)
def test_any_holder_of_keys_gives_the_same_counts(holder):
    assert list(counted(holder(CODES)).items()) == [("E11", 80), ("J45", 60)]


@pytest.mark.parametrize(
    "holder",
    [
        list,
        lambda cells: pd.Series(cells, dtype="Int64"),
        lambda cells: pd.Series(cells, dtype="float64"),
        lambda cells: np.array(cells, dtype=float),
        lambda cells: pd.Series(cells, dtype=object),
        pl.Series,
    ],
    ids=range(6),
)
def test_whole_numbers_with_gaps_are_integers_and_none(holder):
    found = counted(holder([3] * 50 + [None] * 40))
    assert found == {3: 50, None: 40}
    assert {type(key) for key in found} == {int, type(None)}


def test_pairs_of_values_are_keys():
    assert counted([("a", 1)] * 40 + [("a", 2.0)] * 50) == {("a", 2): 50, ("a", 1): 40}


@pytest.mark.parametrize(
    ("keys", "error", "words"),
    [
        ("secret", TypeError, "a series, an array or a list"),
        ({"secret": 1}, TypeError, "a series, an array or a list"),
        (pd.DataFrame({"secret": [1]}), TypeError, r"list\(zip\(df.sex, df.race\)\) counts pairs"),
        ([], ValueError, "at least 1"),
        (np.zeros((2, 2), int), ValueError, "shape"),
        (np.array(["2020-01-01"], "M8[ns]"), TypeError, "dtype"),
        (["secret", {}], DomainError, "another type"),
        ([0.125], DomainError, "not whole"),
        ([("a", 0.125)], DomainError, "not whole"),
        (pd.Series([pd.Timestamp("2020-01-01")]), TypeError, "dtype"),
    ],
)
def test_what_cannot_be_counted_is_refused_unseen_and_unpaid(keys, error, words):
    ledger = PrivacyLedger(1, 1e-6)
    with pytest.raises(error, match=words) as refused:
        stable_counts(keys, epsilon=1.0, delta=1e-6, ledger=ledger)
    assert not any(secret in str(refused.value) for secret in ("secret", "0.125", "2020"))
    assert ledger.history() == []


@pytest.mark.parametrize(
    ("name", "value"), [("epsilon", 0), ("epsilon", "x"), ("delta", 0), ("delta", 1), ("random_state", "x")]
)
def test_parameters_are_checked_by_name(name, value):
    with pytest.raises((TypeError, ValueError), match=name):
        stable_counts(CODES, **{"epsilon": 1.0, "delta": 1e-6, name: value})


def test_the_ledger_is_asked_before_keys_are_read_and_charged_once():
    ledger = PrivacyLedger("0.5", "1e-6")
    stable_counts(CODES, epsilon=0.5, delta=1e-6, ledger=ledger)
    assert ledger.spent().epsilon == Fraction(1, 2)
    with pytest.raises(BudgetExceededError):
        stable_counts(object(), epsilon=0.5, delta=1e-6, ledger=ledger)


def test_what_is_promised_says_what_it_takes_as_public():
    found = stable_counts(CODES, epsilon=0.1, delta=1e-6)
    assert (found.guarantee.epsilon, found.guarantee.delta) == (Fraction(1, 10), Fraction(1, 10**6))
    assert "the number of records is public" in found.guarantee.assumes
    assert not found.guarantee.reproducible
    assert stable_counts(CODES, **SURE).guarantee.reproducible


def test_the_most_common_come_first_and_equal_counts_are_sorted_by_key():
    found = stable_counts([b for a in "cab" for b in [a] * 50] + ["d"] * 70, **SURE)
    assert found.most_common() == [("d", 70), ("a", 50), ("b", 50), ("c", 50)]
    assert found.most_common(1) == [("d", 70)]
    assert found.most_common(0) == []
    with pytest.raises(ValueError, match="k must be"):
        found.most_common(-1)


@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-6])
@pytest.mark.parametrize("n_keys", [1, 7])
def test_the_error_is_the_least_bound_on_all_noise(beta, n_keys):
    found = stable_counts(CODES, epsilon=0.5, delta=1e-6, random_state=0)
    t, ratio = found.error(beta, n_keys=n_keys), decay_ratio(Fraction(1, 4))
    assert 2 * n_keys * laplace_tail(ratio, t + 1) <= Fraction(str(beta))
    assert t == 0 or 2 * n_keys * laplace_tail(ratio, t) > Fraction(str(beta))


@pytest.mark.nightly
def test_counts_are_within_the_error_as_often_as_it_says():
    data, off = ["a"] * 200, 0
    for seed in range(400):
        found = stable_counts(data + ["b"] * 100, epsilon=1.0, delta=1e-3, random_state=seed)
        off += abs(found.counts["a"] - 200) > found.error(0.2)
    assert off / 400 <= 0.2 + 0.06


def test_it_counts_a_long_column_that_only_a_few_keys_fill():
    keys = np.random.default_rng(0).zipf(1.5, 200_000)
    found, exact = stable_counts(keys, epsilon=1.0, delta=1e-9, random_state=0), Counter(keys.tolist())
    assert len(found.counts) > 100
    assert max(abs(exact[key] - count) for key, count in found.counts.items()) <= found.error(
        1e-6, n_keys=len(exact)
    )


@pytest.mark.parametrize(
    "keys",
    [
        pl.Series([1, 2**31 - 1], dtype=pl.Int32).cast(pl.Date),
        pl.Series([2**62]).cast(pl.Datetime("us")),
        pl.Series([2**62]).cast(pl.Duration("ms")),
        pl.Series([1]).cast(pl.Time),
        np.array(["20200-01-01"], dtype="M8[D]"),
        pd.Series(pd.to_datetime(["2020-01-01", None])),
    ],
    ids=lambda keys: str(keys.dtype),
)
def test_dates_and_times_are_refused_by_their_type(keys):
    with pytest.raises(
        TypeError, match=r"keys must be text, bytes or whole numbers, got dtype .*: turn them into text"
    ):
        stable_counts(keys, delta=0.01)


@pytest.mark.parametrize("beta", [0.5, 0.05, 1e-6])
@pytest.mark.parametrize("n_keys", [1, 7])
def test_the_records_that_a_key_needs_are_the_fewest_that_name_it_as_likely_as_planned(beta, n_keys):
    plan = stable_counts_plan(1000, epsilon=0.5, delta=1e-6, beta=beta, n_keys=n_keys)
    ratio, short = decay_ratio(Fraction(1, 4)), plan.n_needed - plan.threshold
    assert n_keys * laplace_tail(ratio, short + 1) <= Fraction(str(beta))
    assert short == 0 or n_keys * laplace_tail(ratio, short) > Fraction(str(beta))
    found = stable_counts(CODES, epsilon=0.5, delta=1e-6)
    assert plan.error == found.error(beta, n_keys=n_keys)
    assert plan.threshold == found.plan.threshold


@pytest.mark.nightly
def test_a_key_of_as_many_records_as_needed_is_named_as_often_as_planned():
    plan = stable_counts_plan(200, epsilon=1.0, delta=1e-3, beta=0.2)
    keys = ["a"] * plan.n_needed + ["b"] * 200
    named = sum(
        "a" in stable_counts(keys, epsilon=1.0, delta=1e-3, random_state=i).counts for i in range(400)
    )
    assert 0.8 - 0.06 <= named / 400 <= 0.95


def test_so_few_records_that_none_can_be_named_are_warned_of():
    threshold = stable_counts_plan(1000, delta=1e-6).threshold
    assert stable_counts_plan(threshold, delta=1e-6).warnings == ()
    [text] = stable_counts_plan(threshold - 1, delta=1e-6).warnings
    assert text == (
        "n_samples is 27: no key can be released, because released counts are at least 28; spend more"
        " epsilon or delta"
    )
    assert stable_counts(["a"] * (threshold - 1), delta=1e-6).counts == {}


@pytest.mark.parametrize(
    ("name", "value"), [("n_samples", 0), ("beta", 0), ("beta", 1), ("n_keys", 0), ("delta", 0)]
)
def test_parameters_of_a_plan_are_checked_by_name(name, value):
    with pytest.raises(ValueError, match=name):
        stable_counts_plan(**{"n_samples": 10, "delta": 1e-6, name: value})
