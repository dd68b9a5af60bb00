"""Releases that answer all counting queries of a class: small databases, multiplicative weights."""

import math
from ast import literal_eval
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pandas as pd
import pytest

from dplearn.audit import exact_distribution
from dplearn.audit.cases import CASES
from dplearn.domains import Categories, DomainError, IntegerRange
from dplearn.privacy import PrivacyLedger
from dplearn.releases import (
    multiplicative_weights,
    multiplicative_weights_plan,
    small_database,
    small_database_plan,
)
from dplearn.theory import small_database_sizes

TOWNS = Categories(["north", "south", None])
KINDS = ("points", "thresholds", "parities", "all_queries")


def query_table(name, size):
    """The queries of a class, of shape (n_queries, size)."""
    values = np.arange(size)
    if name == "parities":
        return np.array([[(mask & value).bit_count() % 2 for value in range(size)] for mask in values[1:]])
    every = np.array(list(product((0, 1), repeat=size))) if name == "all_queries" else None
    return {"points": np.eye(size, dtype=int), "thresholds": np.tri(size, dtype=int)}.get(name, every)


def error_of_the_best(size, n_queries, m):
    """By Hoeffding's inequality for rows drawn at random, or of all numbers of rows rounded."""
    return min(math.sqrt(math.log(2 * n_queries) / (2 * m)), size / (4 * m))


@pytest.mark.parametrize("name", KINDS)
def test_with_a_large_epsilon_it_is_the_best_database_of_all(name):
    queries, rng = query_table(name, 4), np.random.default_rng(0)
    for m in (1, 2, 3):
        values = rng.choice(4, 50, p=rng.dirichlet(np.ones(4)))
        true = queries @ np.bincount(values, minlength=4) / 50
        found = small_database(values, queries, IntegerRange(0, 3), n_rows=m, epsilon=1e6)
        every = [queries[:, list(rows)].mean(axis=1) for rows in combinations_with_replacement(range(4), m)]
        least = min(np.abs(answers - true).max() for answers in every)
        assert np.abs(found.answers - true).max() == pytest.approx(least)
        assert least <= error_of_the_best(4, len(queries), m) + 1e-12
        assert found.plan.n_databases == len(every)
        assert found.shares.sum() == pytest.approx(1)


def test_values_of_any_kind_are_counted_with_their_gaps():
    found = small_database(["north", None, None, "north"], np.eye(3), TOWNS, n_rows=2, epsilon=1e6)
    assert found.shares.tolist() == [0.5, 0, 0.5]


@pytest.mark.parametrize("name", ["small_database_of_points", "small_database_of_thresholds"])
def test_the_error_of_the_plan_is_exceeded_with_probability_at_most_beta(name):
    case, release = CASES[name], CASES[name].fit.make()
    asked = {"n_rows": release.sizes[0]}
    for rows in ((0,) * case.n, (*range(3), *(2,) * (case.n - 3))):
        found = exact_distribution(lambda dice, rows=rows: case.fit(rows, dice)[0])
        true = release.queries @ np.bincount(rows, minlength=release.of.size) / case.n
        for beta in (0.5, 0.9):
            plan = small_database_plan(case.n, release.queries, release.of, beta=beta, **asked)
            wrong = sum(
                mass
                for seen, mass in found.masses.items()
                if np.abs(release.queries[:, literal_eval(seen)].mean(axis=1) - true).max() > plan.error
            )
            assert Fraction(wrong, found.total) <= beta


def test_its_size_is_the_least_over_all_numbers_of_rows():
    size, queries, asked = 16, 24, {"epsilon": 1.0, "alpha": 0.1, "beta": 0.05}
    found = small_database_sizes(size, queries, **asked)

    def needed(m):
        slack = 0.1 - error_of_the_best(size, queries, m)
        databases = math.lgamma(size + m) - math.lgamma(m + 1) - math.lgamma(size)
        return math.inf if slack <= 0 else 2 * (databases + math.log(1 / 0.05)) / slack

    assert math.isclose(needed(found.n_rows), found.n_samples, rel_tol=1e-3)
    assert min(needed(m) for m in range(1, 5_000)) > found.n_samples - 1.001
    plan = small_database_plan(found.n_samples, np.eye(4), IntegerRange(0, 3), alpha=0.1)
    assert plan.n_needed == small_database_sizes(4, 4, **asked).n_samples  # within the possible rows


@pytest.mark.parametrize("plan_of", [small_database_plan, multiplicative_weights_plan])
def test_at_the_size_of_the_plan_the_error_is_at_most_alpha(plan_of):
    queries, domain = query_table("thresholds", 8), IntegerRange(0, 7)
    more = {"n_rows": 20} if plan_of is small_database_plan else {"n_rounds": 2000}
    n = plan_of(100, queries, domain, alpha=0.15, **more).n_needed
    assert plan_of(n, queries, domain, **more).error <= 0.15 < plan_of(n - 1, queries, domain, **more).error
    assert plan_of(100, queries, domain, alpha=0.01, **more).n_needed is None


def test_a_domain_of_one_value_and_more_queries_than_fit_in_a_block():
    assert small_database([5] * 5, [[1]], IntegerRange(5, 5)).shares.tolist() == [1]
    many = np.random.default_rng(0).integers(0, 2, (2000, 8))
    assert small_database([0] * 1000, many, IntegerRange(0, 7), n_rows=6, epsilon=1e4).shares[0] == 1


def test_what_cannot_be_drawn_or_says_nothing_is_told_before_the_charge():
    ledger = PrivacyLedger(epsilon=1, delta=1e-6)
    with pytest.raises(ValueError, match="epsilon must be greater for 1 rounds of Gaussian noise"):
        multiplicative_weights([0, 1], [[1, 0]], IntegerRange(0, 1), epsilon=1e-9, delta=1e-12, ledger=ledger)
    assert ledger.spent().epsilon == 0
    with pytest.warns(UserWarning, match="the noise of a count is"):
        multiplicative_weights([0] * 20, [[1, 0]], IntegerRange(0, 1))
    with pytest.warns(UserWarning, match="answers may be wrong by"):
        small_database([20] * 5, np.tri(74), IntegerRange(17, 90))
    with pytest.raises(DomainError, match="public_values: "):
        multiplicative_weights([0, 1], [[1, 0]], IntegerRange(0, 1), public_values=[7])
    with pytest.raises(ValueError, match="categories of the domain as columns, in their order"):
        multiplicative_weights([None], pd.DataFrame([[1, 0, 0]], columns=["south", "north", None]), TOWNS)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_error_of_multiplicative_weights_is_below_its_bound_and_falls_with_the_records(delta):
    queries, domain, rng = query_table("thresholds", 64), IntegerRange(0, 63), np.random.default_rng(0)
    errors = []
    for n in (200, 20_000):
        values = np.minimum(63, rng.exponential(6, n)).astype(int)
        true = queries @ np.bincount(values, minlength=64) / n
        plan = multiplicative_weights_plan(n, queries, domain, delta=delta)
        found = [multiplicative_weights(values, queries, domain, delta=delta) for _ in range(5)]
        errors.append(max(np.abs(each.answers - true).max() for each in found))
        assert errors[-1] <= plan.error
        assert found[0].plan == plan
    assert errors[1] < min(0.05, errors[0] / 2)


def test_a_public_start_helps_where_it_is_alike_and_is_corrected_where_it_is_not():
    queries, domain, rng = query_table("thresholds", 128), IntegerRange(0, 127), np.random.default_rng(0)
    public, values = (np.minimum(127, rng.exponential(12, n)).astype(int) for n in (2000, 500))

    def error(values, public, epsilon):
        true = queries @ np.bincount(values, minlength=128) / len(values)
        found = [
            multiplicative_weights(values, queries, domain, epsilon=epsilon, public_values=public)
            for _ in range(5)
        ]
        return np.mean([np.abs(each.answers - true).max() for each in found])

    assert error(values, public, 0.2) < 0.8 * error(values, None, 0.2)
    assert error(127 - values, public, 0.2) > 0.1  # shifted
    assert error(127 - np.repeat(values, 100), public, 1) < 0.05
    assert (
        "the values in public_values are public"
        in multiplicative_weights(values, queries, domain, public_values=public).guarantee.assumes
    )
