"""Regressors learn the range of their target: from one share of the budget with the domain, or alone."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dplearn import AdditiveRegressor, LinearRegressor, PrivacyLedger, SyntheticDataRegressor
from dplearn.domains import Grid, Learn
from dplearn.model_selection import PrivateSearchCV, private_score

RNG = np.random.default_rng(0)
N = 6000
X = pd.DataFrame({"age": RNG.uniform(20, 90, N), "town": RNG.choice(["north", "south"], N)})
Y = 1000 + 30 * X["age"] + 400 * (X["town"] == "north") + RNG.normal(0, 60, N)
DECLARED = Grid(20, 90)
SETTINGS = {
    "additive": (AdditiveRegressor(epsilon=3, interactions=False), "learn"),
    "additive of declared numbers": (AdditiveRegressor(epsilon=3, interactions=False, domain=DECLARED), None),
    "linear": (LinearRegressor(epsilon=3, domain="learn"), "learn"),
    "linear of declared numbers": (LinearRegressor(epsilon=3, domain=DECLARED), None),
    "pure linear of declared numbers": (LinearRegressor(epsilon=3, delta=0, domain=DECLARED), None),
    "synthetic": (SyntheticDataRegressor(epsilon=6), "learn"),
}
every_setting = pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.nightly) if name == "synthetic" else name for name in SETTINGS],
)
ONE_EACH = (
    "linear",
    pytest.param("additive of declared numbers", marks=pytest.mark.nightly),
    pytest.param("synthetic", marks=pytest.mark.nightly),
)


def model_and_table(name, **given):
    model, learns = SETTINGS[name]
    return clone(model).set_params(**given), X if learns else X[["age"]]


@every_setting
def test_a_fit_without_a_range_predicts_nearly_as_well_as_with_one(name):
    model, table = model_and_table(name)
    assert model.target_range == "learn"
    ledger = PrivacyLedger(model.epsilon, 1e-6)
    fitted = model.set_params(ledger=ledger).fit(table, Y)
    low, high = fitted.target_range_
    assert 1000 < low < 2000 < 3500 < high < 5000
    known = clone(model).set_params(ledger=None, target_range=(1000, 4500), clip_target=True).fit(table, Y)
    assert fitted.score(table, Y) > known.score(table, Y) - 0.1
    assert hasattr(fitted, "schema_") == (SETTINGS[name][1] == "learn")
    [charged] = ledger.history()
    assert charged.guarantee == fitted.guarantee_
    assert fitted.guarantee_.epsilon == model.epsilon
    assert "targets are numbers" in fitted.guarantee_.assumes
    assert not any("range from" in text or "numbers from 0.0" in text for text in fitted.guarantee_.assumes)
    plan = clone(model).plan(N, n_features=table.shape[1])
    assert (plan.guarantee.epsilon, plan.guarantee.delta) == (
        fitted.guarantee_.epsilon,
        fitted.guarantee_.delta,
    )


@pytest.mark.parametrize("name", ONE_EACH)
def test_parts_learn_the_same_range_and_groups_one_row_each(name):
    model, table = model_and_table(name, random_state=3)
    whole = clone(model).fit(table, Y)
    parted = clone(model).fit([table[:2500], table[2500:]], [Y[:2500], Y[2500:]])
    assert parted.target_range_ == whole.target_range_
    assert np.allclose(parted.predict(table[:20]), whole.predict(table[:20]))
    grouped = clone(model).set_params(epsilon=20).fit(table, Y, groups=np.arange(N) // 2)
    assert grouped.guarantee_.protects == "groups"
    assert 1000 < grouped.target_range_[0] < grouped.target_range_[1] < 6000


def test_the_domain_and_the_range_have_one_share():
    for share in ("1/10", "1/3"):
        both = LinearRegressor(domain=Learn(share=share)).plan(N, n_features=2)
        alone = LinearRegressor(domain=Learn(share=share), target_range=(0, 1)).plan(N, n_features=3)
        assert both.rest == alone.rest
        assert both.schema.guarantee == alone.schema.guarantee  # a range of three columns
        assert both.schema.n_needed == alone.schema.n_needed
        assert len(both.schema.columns) == 3
    declared = LinearRegressor(domain=DECLARED).plan(N, n_features=1)
    assert len(declared.schema.columns) == 1
    assert declared.rest == LinearRegressor(domain="learn", target_range=(0, 1)).plan(N, n_features=1).rest


def test_no_target_changes_an_error_or_a_warning():
    for y in (np.zeros(N), np.full(N, 1e300), np.where(np.arange(N) % 2, -1e-300, 7)):
        with warnings.catch_warnings():
            # These are functions of what is released.
            warnings.filterwarnings(
                "ignore", "n_samples is .*: the released spread|the learned target_range is"
            )
            fitted = LinearRegressor(domain=DECLARED).fit(X[["age"]], y)
        LinearRegressor(domain=DECLARED, target_range=fitted.target_range_).plan(N, n_features=1)
    for y in (np.full(N, np.nan), np.full(N, "a")):
        with pytest.raises(ValueError, match=r"Input y contains NaN|y must hold numbers"):
            LinearRegressor(domain=DECLARED).fit(X[["age"]], y)


def test_a_range_that_clips_many_targets_or_is_that_of_one_value_has_a_warning():
    wide = "up to .* of the targets at either end may lie beyond the learned target_range"
    assert re.search(wide, " ".join(AdditiveRegressor().plan(6_000, n_features=6).warnings))
    assert not re.search(wide, " ".join(AdditiveRegressor().plan(200_000, n_features=6).warnings))
    mostly_zero = np.where(np.arange(N) % 20 == 0, 100.0, 0.0)
    with pytest.warns(UserWarning, match=r"the learned target_range is \(.*most targets are equal"):
        LinearRegressor(epsilon=3, domain=DECLARED).fit(X[["age"]], mostly_zero)


def test_scores_take_the_learned_range_and_searches_a_declared_one():
    fitted = LinearRegressor(epsilon=3, domain=DECLARED).fit(X[["age"]], Y)
    assert private_score(fitted, X[["age"]], Y, scoring="r2", epsilon=3).value > 0.5
    with pytest.raises(ValueError, match="target_range must be a pair"):
        PrivateSearchCV(LinearRegressor(), {"domain": [DECLARED]}, epsilon=3).fit(X[["age"]], Y)
