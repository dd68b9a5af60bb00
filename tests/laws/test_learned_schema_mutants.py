"""Deliberate mistakes in learned schemas: each breaks the claim, or changes the exact distributions."""

import importlib
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from dplearn.audit import exact_distribution
from dplearn.audit.cases import CASES
from dplearn.audit.cases import learned_schema as cases
from dplearn.core.ranks import SortedCodes
from dplearn.estimator import schema_learning
from tests.laws.test_point_mutants import holds_between

KEYS = importlib.import_module("dplearn.mechanisms.frequent_keys")
SCHEMA = importlib.import_module("dplearn.releases.learned_schema")


def lower_bar(monkeypatch):
    threshold = KEYS.frequent_keys_threshold
    monkeypatch.setattr(KEYS, "frequent_keys_threshold", lambda *d, **of: threshold(*d, **of) - 2)


def a_tenth_of_the_noise(monkeypatch):
    noisy = KEYS.gaussian_counts
    monkeypatch.setattr(
        KEYS,
        "gaussian_counts",
        lambda counts, *, privacy, **how: noisy(
            counts, privacy=replace(privacy, rho=10 * privacy.rho), **how
        ),
    )


def categories_read_off_the_table(monkeypatch):
    monkeypatch.setattr(
        SCHEMA, "frequent_keys", lambda columns, **_: [sorted(set(column), key=str) for column in columns]
    )


def ends_of_the_data(monkeypatch):
    def selected(ranks, size, fraction, privacy, dice):
        return ranks.window(0, len(ranks))[min(int(fraction * len(ranks)), len(ranks) - 1)]

    monkeypatch.setattr(SCHEMA, "_selected", selected)


def missing_cells_are_counted(monkeypatch):
    """The fraction of the records at which an end is selected depends on the number of missing cells."""
    honest = SCHEMA._selected

    def selected(ranks, size, fraction, privacy, dice):
        codes = np.array(ranks.window(0, len(ranks)), dtype=np.uint64)
        present = codes[codes != (size - 1 if fraction < Fraction(1, 2) else 0)]
        return honest(SortedCodes(present) if len(present) else ranks, size, fraction, privacy, dice)

    monkeypatch.setattr(SCHEMA, "_selected", selected)


def number_of_missing_cells_in_the_plan(monkeypatch):
    """Ranges are released only if enough cells are present."""
    honest = SCHEMA._number_domain

    def domain(read, number, kind, plan, dice):
        ranks = read.from_high(number)
        if ranks.count(0)[1]:
            return plan.numbers
        return honest(read, number, kind, plan, dice)

    monkeypatch.setattr(SCHEMA, "_number_domain", domain)


def spends_all_on_each(monkeypatch):
    """The share of the schema is not charged: the selections have ten times its budget."""
    part = SCHEMA._Parts.of.__func__

    def of(cls, cost, *others):
        return part(cls, replace(cost, epsilon=10 * cost.epsilon), *others)

    monkeypatch.setattr(SCHEMA._Parts, "of", classmethod(of))


THREE_ZEROS = ((0,),) * 3
MIXED = (((0, "a"),) * 8, ((1, "b"),) + ((0, "a"),) * 7)
#: From a mistake to the case, and two neighbours of its universe.
MISTAKES = {
    lower_bar: ("frequent_keys", (("a",),) * 3, (("a",), ("a",), ("b",))),
    a_tenth_of_the_noise: ("frequent_keys", (("a",),) * 3, (("a",), ("a",), ("b",))),
    categories_read_off_the_table: ("learned_schema", *MIXED),
    ends_of_the_data: ("learned_range", ((0,), (0,), (1,), (1,)), ((0,), (1,), (1,), (1,))),
    number_of_missing_cells_in_the_plan: ("learned_range", ((0,), *THREE_ZEROS), ((None,), *THREE_ZEROS)),
    spends_all_on_each: ("learned_range", ((0,), *THREE_ZEROS), ((1,), *THREE_ZEROS)),
}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.__name__)
def test_a_mistake_breaks_the_claim(mistake, monkeypatch):
    name, *pair = MISTAKES[mistake]
    assert holds_between(CASES[name], *pair)
    mistake(monkeypatch)
    assert not holds_between(CASES[name], *pair)


def law(case, rows):
    return exact_distribution(lambda dice: case.fit(rows, dice)).key()


def test_ranks_among_the_present_numbers_change_the_distribution(monkeypatch):
    case, rows = CASES["learned_range"], ((0,), (0,), (1,), (None,))
    honest = law(case, rows)
    missing_cells_are_counted(monkeypatch)
    assert law(case, rows) != honest


@pytest.mark.nightly
def test_a_share_that_is_not_charged_changes_the_distribution_of_a_fit(monkeypatch):
    case, rows = CASES["fit_with_learned_schema"], ((0, "no"), (1, "yes"), (0, "no"), (1, "yes"))
    honest, divided = law(case, rows), schema_learning._divided

    def free(params, kinds, public, more):
        stages, _, inner = divided(params, kinds, public, more)
        return stages, params.cost, inner

    monkeypatch.setattr(schema_learning, "_divided", free)
    assert law(replace(case), rows) != honest


@pytest.mark.nightly
def test_a_schema_from_the_table_breaks_the_claim_of_a_fit(monkeypatch):
    case = CASES["fit_with_learned_schema"]
    pair = tuple(((0, "no"),) * zeros + ((1, "yes"),) * (4 - zeros) for zeros in (1, 2))
    assert holds_between(case, *pair)
    ends_of_the_data(monkeypatch)
    assert not holds_between(case, *pair)


def test_the_numbers_of_the_cases_are_few():
    assert cases.SMALL.size == 4
