"""Learners of sums in a box: ranges of columns without bounds, parts, and what all of them refuse."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from dplearn import StatisticalQueryLogisticRegression
from dplearn.domains import Categories, DomainError, Grid, IntegerRange, Product, Schema
from dplearn.preprocessing import PrivateKMeans, PrivatePCA, PrivateStandardScaler
from dplearn.preprocessing.boxed_columns import Box, shortened
from dplearn.privacy import BudgetExceededError, PrivacyLedger, pipeline_guarantee

RNG = np.random.default_rng(0)
X = RNG.normal([50, 3], [10, 1], (6000, 2))
DOMAIN = [Grid(0, 100, outside="clip"), Grid(-2, 8, outside="clip")]
ALL = (PrivateStandardScaler(domain=DOMAIN), PrivatePCA(domain=DOMAIN), PrivateKMeans(2, domain=DOMAIN))
learners = pytest.mark.parametrize("learner", ALL, ids=lambda each: type(each).__name__)


def released(fitted):
    return {name: np.asarray(value) for name, value in vars(fitted).items() if name.endswith("_")}


@learners
def test_the_ledger_holds_the_guarantee_and_a_second_fit_is_refused(learner):
    ledger = PrivacyLedger(1.5, 1e-5)
    fitted = clone(learner).set_params(ledger=ledger).fit(X)
    assert fitted.guarantee_.epsilon == 1
    assert len(ledger.history()) == 1
    with pytest.raises(BudgetExceededError):
        fitted.fit("not read")


@learners
@pytest.mark.parametrize("domain", [DOMAIN, "float64"], ids=["bounds", "float64"])
def test_parts_give_what_the_table_gives(learner, domain):
    whole, parted = (clone(learner).set_params(domain=domain, random_state=1, epsilon=9) for _ in range(2))
    whole.fit(X)
    parted.fit(lambda: iter([X[:1], X[1:4000], X[4000:]]))
    for (name, one), other in zip(released(whole).items(), released(parted).values(), strict=True):
        if name not in ("calls_", "guarantee_"):
            np.testing.assert_array_equal(one, other, err_msg=name)


@learners
def test_a_plan_is_the_guarantee_of_the_fit_and_halves_with_twice_the_records(learner):
    plan = learner.plan(6000)
    assert plan.guarantee.epsilon == 1
    assert learner.plan(12000).deviation == pytest.approx(plan.deviation / 2, rel=0.01)
    assert clone(learner).fit(X).guarantee_.delta == plan.guarantee.delta
    assert "n_needed" in str(plan)


@learners
def test_values_outside_and_domains_of_other_kinds_are_refused(learner):
    with pytest.raises(DomainError):
        clone(learner).set_params(domain=Grid(0, 1)).fit(X)
    for domain in (Categories([1, 2]), Grid(0, 9, missing=True), "float32", None):
        with pytest.raises((ValueError, TypeError), match="domain must"):
            clone(learner).set_params(domain=domain).fit(X)
    with pytest.raises(DomainError):
        clone(learner).set_params(domain="float64").fit([[np.nan, 1.0], [1.0, 1.0]])
    for name, value in (("epsilon", 0), ("epsilon", None), ("delta", 1), ("delta", -0.1)):
        with pytest.raises((ValueError, TypeError), match=name):
            clone(learner).set_params(**{name: value}).fit(X)


@learners
def test_one_record_constant_columns_and_floating_point_errors_that_raise(learner):
    with np.errstate(all="raise"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rows in ([[1.7e308, -1.7e308]], np.ones((50, 2)), np.zeros((9, 2))):
            for domain in ("float64", Grid(-1, 1, outside="clip"), IntegerRange(3, 3, outside="clip")):
                fitted = clone(learner).set_params(domain=domain).fit(rows)
                for values in released(fitted).values():
                    if values.dtype.kind == "f":
                        assert np.isfinite(values).all()
                assert np.isfinite(fitted.transform([[1.7e308, -1.7e308], [0.0, 0.0]])).all()


@learners
def test_a_schema_names_the_columns_that_are_read(learner):
    frame = pd.DataFrame({"name": ["x"] * len(X), "age": X[:, 0], "wage": X[:, 1]})
    schema = Schema(dict(zip(("age", "wage"), DOMAIN, strict=True)))
    fitted = clone(learner).set_params(domain=schema, random_state=0).fit(frame)
    plain = clone(learner).set_params(domain=Product(DOMAIN), random_state=0).fit(X)
    assert fitted.transform(frame).shape == plain.transform(X).shape


def test_released_ranges_hold_most_records_and_their_cost_is_part_of_the_whole():
    far = X * [1e6, 1e-3] + [1e9, 0]
    fitted = PrivateStandardScaler(epsilon=2, random_state=0).fit(far)
    np.testing.assert_allclose(fitted.scale_, far.std(axis=0), rtol=0.15)
    np.testing.assert_allclose(fitted.mean_, far.mean(axis=0), atol=0.2 * far.std(axis=0).max())
    plan = fitted.plan(6000)
    assert len(plan.unbounded) * plan.ranges.epsilon + plan.rest.epsilon == plan.guarantee.epsilon == 2


def test_few_records_without_bounds_warn_before_the_charge():
    with pytest.warns(UserWarning, match="n_samples is 20: "):
        PrivateStandardScaler().fit(X[:20])


def test_a_scaler_stands_before_a_learner():
    y = (X[:, 0] > 50).astype(int)
    pipeline = make_pipeline(
        PrivateStandardScaler(domain=DOMAIN, epsilon=0.5, random_state=0),
        StatisticalQueryLogisticRegression(epsilon=1.0, classes=[0, 1], random_state=0),
    ).fit(X, y)
    assert pipeline.score(X, y) > 0.9
    assert pipeline_guarantee(pipeline).epsilon == 1.5


def test_far_rows_are_shortened_and_keep_their_direction():
    rows = np.array([[300.0, 400.0], [3.0, -4.0], [7.0, 8.0]])
    for order in (1, 2):
        short = shortened(rows.copy(), 10, order)
        assert ((np.abs(short) ** order).sum(axis=1) <= 10**order).all()
        assert short[1].tolist() == [3, -4]
    assert shortened(rows.copy(), 10, 2)[0].tolist() == [6, 8]


def test_a_box_has_the_ends_of_the_domains():
    box = Box.of(Product([IntegerRange(-3, 9), Grid(0, 1, 5)]))
    assert (box.low.tolist(), box.high.tolist()) == ([-3, 0], [9, 1])
