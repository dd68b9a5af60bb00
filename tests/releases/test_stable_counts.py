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
from dplearn.privacy import PrivacyLedger
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
    assert counted([("a", 1)] * 40 + [("a", 2.0)] * 50) == {("a", 2): 50, ("a", 1): 40}  # pairs


@pytest.mark.parametrize(
    ("keys", "error", "words"),
    [
        ("secret", TypeError, "a series, an array or a list"),
        ({"secret": 1}, TypeError, "a series, an array or a list"),
        (pd.DataFrame({"secret": [1]}), TypeError, r"list\(zip\(df.sex, df.race\)\) counts pairs"),
        ([], ValueError, "at least 1"),
        (np.zeros((2, 2), int), ValueError, "shape"),
        *(
            (keys, TypeError, r"keys must be text, bytes or whole numbers, got dtype .*: turn them into text")
            for keys in (
                np.array(["20200-01-01"], dtype="M8[D]"),
                pd.Series(pd.to_datetime(["2020-01-01", None])),
                pl.Series([2**62]).cast(pl.Datetime("us")),
                pl.Series([2**62]).cast(pl.Duration("ms")),
                pl.Series([1]).cast(pl.Time),
            )
        ),
        (["secret", {}], DomainError, "another type"),
        ([0.125], DomainError, "not whole"),
        ([("a", 0.125)], DomainError, "not whole"),
    ],
)
def test_what_cannot_be_counted_is_refused_unseen_and_unpaid(keys, error, words):
    ledger = PrivacyLedger(1, 1e-6)
    with pytest.raises(error, match=words) as refused:
        stable_counts(keys, epsilon=1.0, delta=1e-6, ledger=ledger)
    assert not any(secret in str(refused.value) for secret in ("secret", "0.125", "2020"))
    assert ledger.history() == []


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


@pytest.mark.nightly
def test_a_key_of_as_many_records_as_needed_is_named_as_often_as_planned():
    plan = stable_counts_plan(200, epsilon=1.0, delta=1e-3, beta=0.2)
    keys = ["a"] * plan.n_needed + ["b"] * 200
    named = sum(
        "a" in stable_counts(keys, epsilon=1.0, delta=1e-3, random_state=i).counts for i in range(400)
    )
    assert 0.8 - 0.06 <= named / 400 <= 0.95
