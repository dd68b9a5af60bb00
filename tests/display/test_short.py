"""What results, guarantees, plans, ledgers and learners show of themselves fits on one screen."""

import re

import numpy as np
import pandas as pd
import pytest

import dplearn
from dplearn import PrivacyLedger, releases
from dplearn.domains import Categories, Grid, IntegerRange, Schema
from tests.display.test_card import FITTED, fitted
from tests.laws.releases import RELEASES

MOST_LINES, MOST_CHARACTERS, MOST_ROWS = 12, 1500, 26
rng = np.random.default_rng(0)
N = 500
NUMBERS = rng.random(N)
KEYS = np.array([f"k{each:03}" for each in rng.integers(0, 200, N)], dtype=object)
WIDE = Schema({f"a{each}": IntegerRange(0, 9) for each in range(40)})
CATEGORIES = [f"k{each:03}" for each in range(200)]


def rows_of(html):
    """The rows of a notebook's display, without those that scikit-learn's diagram folds."""
    return len(re.findall(r"<tr|<li|<p[ >]", re.sub(r"<details.*?</details>", "", html, flags=re.DOTALL)))


def assert_short(thing):
    assert len(repr(thing).splitlines()) <= MOST_LINES
    assert len(repr(thing)) <= MOST_CHARACTERS
    if type(thing).__repr__ is not type(thing).__str__ and not isinstance(thing, Schema):
        assert len(str(thing).splitlines()) <= MOST_ROWS
    if hasattr(thing, "_repr_html_"):
        html = thing._repr_html_()
        assert rows_of(re.sub(r"<style.*?</style>", "", html, flags=re.DOTALL)) <= MOST_ROWS


@pytest.mark.filterwarnings("ignore:Of a category")
@pytest.mark.parametrize("name", RELEASES)
def test_releases_and_their_plans_are_short(name):
    found = RELEASES[name].make()
    assert_short(found)
    for part in ("plan", "plan_", "guarantee", "guarantee_"):
        if hasattr(found, part) and not callable(getattr(found, part)):
            assert_short(getattr(found, part))


@pytest.mark.parametrize("name", FITTED)
def test_learners_and_their_guarantees_are_short(name):
    X = np.random.default_rng(0).random((400, 2))
    model = fitted(name, X, (X[:, 0] > 0.5).astype(int))
    assert_short(model)
    assert_short(getattr(model, "guarantee_", None))  # an encoder learns nothing


MANY = {
    "describe": lambda: releases.describe(
        pd.DataFrame(np.zeros((N, 40), int), columns=WIDE.names), domain=WIDE
    ),
    "grouped": lambda: releases.grouped(KEYS, NUMBERS, categories=CATEGORIES, bounds=(0, 1)),
    "quantiles": lambda: releases.quantiles(NUMBERS, np.linspace(0.01, 0.99, 99), domain=Grid(0, 1)),
    "stable_counts": lambda: releases.stable_counts(KEYS, epsilon=90, delta=0.1),
    "plan of a synthetic table": lambda: releases.SyntheticTable(domain=WIDE, epsilon=1).plan(N),
    "plan of a learned schema": lambda: dplearn.AdditiveClassifier(classes=[0, 1]).plan(N, n_features=40),
    "schema": lambda: WIDE,
    "categories": lambda: Categories(CATEGORIES),
}


@pytest.mark.filterwarnings("ignore:some statistics", "ignore:.*noise")
@pytest.mark.parametrize("name", MANY)
def test_what_has_many_columns_groups_or_values_is_short(name):
    assert_short(MANY[name]())


def test_a_ledger_shows_its_last_releases_and_the_number_of_the_others():
    ledger = PrivacyLedger(100)
    for _ in range(40):
        releases.mean(NUMBERS, (0, 1), ledger=ledger)
    assert_short(ledger)
    lines = str(ledger).splitlines()
    assert [line.split()[0] for line in lines[2:-2]] == ["...", *map(str, range(29, 41))]
    assert "... 28 earlier releases" in lines[2]
    assert lines[-1].split() == ["remaining", "60", "0"]
    assert len(ledger.history()) == 40


def test_a_repr_shortens_long_values_alone():
    found = releases.quantiles(NUMBERS, [0.5, 0.9], domain=Grid(0, 1, 11), epsilon=1e4)
    assert repr(found).startswith("Quantiles(values=array([0.5, 0.9]), plan=QuantilesPlan(")
    many = MANY["quantiles"]()
    assert "ndarray of shape (99,)" in repr(many)
    assert len(many.values) == 99
