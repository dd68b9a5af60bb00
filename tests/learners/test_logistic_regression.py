"""Logistic regression: what it learns, plans, refuses and warns of."""

import pickle
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dplearn import BudgetExceededError, PrivacyLedger
from dplearn.chance import SeededDice
from dplearn.domains import Bits, Categories, DomainError, Floats, IntegerRange, Schema
from dplearn.estimator import recipe
from dplearn.estimator.recipe import FitFacts
from dplearn.learners.linear.logistic import (
    MOST_COLUMNS,
    STEPS,
    StatisticalQueryLogisticRegression,
    deviation_of,
    logistic_plan,
)
from dplearn.learners.linear.logistic_queries import Mapped, label_parts, products_query
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle, LabelledRows
from dplearn.queries.oracle import oracle_for

X, Y = load_iris(return_X_y=True)


def learner(**parameters):
    return StatisticalQueryLogisticRegression(
        **{"epsilon": 100.0, "delta": 1e-6, "random_state": 0} | parameters
    )


@pytest.fixture(scope="module")
def fitted():
    return learner().fit(X, Y)


def test_iris_is_classified(fitted):
    assert fitted.score(X, Y) > 0.9
    assert (fitted.n_steps_, fitted.noise_, fitted.coef_.shape) == (24, "gaussian", (3, 4))


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_digits_are_classified_at_a_small_epsilon(delta):
    images, digits = load_digits(return_X_y=True)
    small = learner(epsilon=3.0, delta=delta).fit(images[:1400], digits[:1400])
    assert small.n_steps_ == 1
    assert small.score(images[1400:], digits[1400:]) > 0.6


def test_two_classes_have_one_row_of_weights_whose_sign_predicts():
    table, labels = load_breast_cancer(return_X_y=True)
    table = table / table.max(axis=0)
    model = learner().fit(table, labels)
    assert (model.coef_.shape, model.intercept_.shape) == ((1, 30), (1,))
    assert model.score(table, labels) > 0.93
    assert np.array_equal(model.predict(table), model.decision_function(table) > 0)


def test_margins_are_weights_divided_by_the_rows_length(fitted):
    rows = np.column_stack([X, np.ones(len(X))])
    lengths = np.linalg.norm(rows @ fitted.metric_, axis=1)[:, None]
    margins = fitted.offset_ + (X @ fitted.coef_.T + fitted.intercept_ - fitted.offset_) / lengths
    assert np.allclose(fitted.decision_function(X), margins)
    assert 0.7 < np.median(lengths) < 1.4
    assert np.allclose(fitted.predict_log_proba(X), np.log(fitted.predict_proba(X)))


def test_rows_of_any_length_are_predicted_alike():
    """They differ only in the intercept, which is small relative to a row."""
    wide = np.column_stack([100 * X, np.full(len(X), 100.0)])
    model = learner().fit(wide, Y)
    assert np.mean(model.predict(wide) == model.predict(50 * wide)) > 0.98


def test_sparse_rows_are_the_same_rows(fitted):
    sparse = learner().fit(csr_matrix(X), Y)
    assert np.array_equal(sparse.coef_, fitted.coef_)
    assert np.array_equal(sparse.predict(csr_matrix(X)), fitted.predict(X))
    with pytest.raises(DomainError, match="finite"):
        learner().fit(csr_matrix([[np.nan, 1.0], [0.0, 2.0]]), [0, 1])


def test_a_table_of_anything_is_encoded_by_its_schema():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, 3000),
            "town": rng.choice(["north", "south", None], 3000),
            "debt": np.where(rng.random(3000) < 0.2, np.nan, rng.lognormal(5, 2, 3000)),
            "owner": rng.integers(0, 2, 3000),
        }
    )
    labels = np.where((frame["town"] == "south") ^ (frame["debt"].isna()), "yes", "no")
    schema = Schema(
        {
            "age": IntegerRange(18, 90),
            "town": Categories(["north", "south", None]),
            "debt": Floats(missing=True),
            "owner": Bits(None),
        },
        labels=["no", "yes"],
    )
    model = learner(domain=schema, epsilon=5.0).fit(frame, labels)
    assert model.score(frame, labels) > 0.75
    assert model.design_.names[2:5] == ("town == 'south'", "town is missing", "debt")
    assert model.coef_.shape == (1, 7)
    assert model.predict(frame.assign(town="moon", age=300)).shape == (3000,)
    with pytest.raises(DomainError, match="in column 'age'"):
        learner(domain=schema).fit(frame.assign(age=300), labels)


def test_a_refused_fit_has_no_cost():
    ledger = PrivacyLedger(200.0, 1e-5)
    for table, labels in (([[np.nan]], [0]), ([[1.0], [2.0]], [0, 0]), ([[1.0], [2.0]], [0])):
        with pytest.raises(ValueError, match=r"NaN|class|samples"):
            learner(ledger=ledger, random_state=None).fit(np.array(table), labels)
    assert ledger.spent().epsilon == 0
    learner(ledger=ledger, random_state=None).fit(X, Y)
    learner(ledger=ledger, random_state=None).fit(X, Y)
    with pytest.raises(BudgetExceededError):
        learner(ledger=ledger, random_state=None).fit(X, Y)


def test_the_guarantee_is_the_cost(fitted):
    assert (fitted.guarantee_.epsilon, fitted.guarantee_.delta) == (100, Fraction("1e-6"))
    assert "in every column, values are finite numbers" in fitted.guarantee_.assumes


def test_the_plan_matches_the_fit():
    for settings in ({}, {"delta": 0.0}):
        model = learner(**settings)
        plan = model.plan(len(X), n_features=4, n_labels=3)
        model.fit(X, Y)
        assert (plan.n_steps, plan.noise) == (model.n_steps_, model.noise_)
        assert plan.guarantee.epsilon == model.guarantee_.epsilon
        assert plan.guarantee.delta == model.guarantee_.delta
        assert 0 < plan.deviation < plan.tolerance
    assert learner(domain=[Categories(["a", "b"])] * 2, classes=[0, 1]).plan(100).n_steps >= 1


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("n_steps", [1, 4])
@pytest.mark.parametrize("settings", [{}, {"delta": 0.0}])
def test_the_plan_has_the_number_of_queries_of_a_fit(monkeypatch, settings, n_steps, labels):
    oracles = []

    def watched(*known, **more):
        oracles.append(oracle_for(*known, **more))
        return oracles[-1]

    monkeypatch.setattr(recipe, "oracle_for", watched)
    model, kept = learner(n_steps=n_steps, **settings), np.isin(Y, range(labels))
    model.fit(X[kept], Y[kept])
    plan = model.plan(kept.sum(), n_features=4, n_labels=labels)
    [oracle] = oracles
    assert plan.n_queries == sum(each.n_queries for each in oracle.rounds)
    assert len(oracle.rounds) == plan.n_steps + 2  # the queries of the last round are asked together


@pytest.mark.parametrize(
    ("table", "epsilon", "delta", "warned"),
    [
        ((426, 30, 2), 1.0, 0.0, True),  # breast cancer: as many right as the most common label has
        ((426, 30, 2), 1.0, 1e-6, False),
        ((1347, 64, 10), 1.0, 1e-6, False),  # digits: .8
        ((1347, 64, 10), 0.1, 1e-6, True),
        ((32_561, 107, 2), 0.1, 1e-6, False),  # as large as Adult: .80
        ((32_561, 107, 2), 1.0, 0.0, False),
    ],
)
def test_noise_dominated_fits_are_warned_of_by_public_numbers(table, epsilon, delta, warned):
    n, d, k = table
    plan = learner(epsilon=epsilon, delta=delta).plan(n, n_features=d, n_labels=k)
    assert (plan.noise_to_signal >= 1) == warned


@pytest.mark.parametrize("value", [0.0, 1e300])
def test_the_warning_is_the_same_for_all_records(value):
    few = learner(epsilon=0.01, delta=0.0, classes=[0, 1])
    with pytest.warns(UserWarning, match="n_samples is 50") as caught:
        few.fit(np.full((50, 4), value), np.zeros(50, dtype=int))
    undeclared, message = [str(each.message) for each in caught]
    assert message.startswith(
        "n_samples is 50: noise is larger than the signal of the labels for 4 numeric columns"
    )
    assert "a delta such as 1e-6" in message
    assert undeclared.startswith("domain is None: ")
    assert "domain=" in undeclared
    assert few.plan(50, n_features=4).noise_to_signal > 1


@pytest.mark.parametrize("make", [np.asarray, csr_matrix])
def test_rows_of_any_length_are_predicted_without_a_warning(fitted, make):
    far = fitted.decision_function(make(X * 1e300))
    assert np.isfinite(far).all()
    np.testing.assert_allclose(far, fitted.decision_function(make(X * 1e100)), rtol=1e-9)


def test_a_plan_without_a_shape_is_refused():
    with pytest.raises(ValueError, match="n_features must be given"):
        learner(classes=[0, 1]).plan(100)
    with pytest.raises(ValueError, match="n_labels must be given"):
        learner(domain=[Bits()]).plan(100)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0}, "epsilon must be"),
        ({"delta": 1.0}, "delta"),
        ({"n_steps": 0}, "n_steps must be"),
        ({"n_steps": "many"}, "n_steps must be"),
        ({"classes": [0, "a"]}, "classes must be"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        learner(**parameters).fit(X, Y)
    with pytest.raises(TypeError, match="domain must be"):
        learner(domain="floats").fit(X, Y)


def test_it_goes_with_pipelines_searches_and_pickles():
    search = GridSearchCV(
        make_pipeline(FunctionTransformer(), learner()),
        {"statisticalquerylogisticregression__n_steps": [1, 24]},
        cv=2,
    ).fit(X, Y)
    assert search.best_params_ == {"statisticalquerylogisticregression__n_steps": 24}
    copy = pickle.loads(pickle.dumps(search.best_estimator_))
    assert np.array_equal(copy.predict(X), search.predict(X))


def test_a_seed_repeats_a_fit_and_other_parameters_have_other_noise(fitted):
    assert np.array_equal(clone(fitted).fit(X, Y).coef_, fitted.coef_)
    other = learner(n_steps=23).fit(X, Y)
    assert not np.array_equal(other.metric_, fitted.metric_)


def test_a_fitted_model_contains_no_records(fitted):
    arrays = [value for value in vars(fitted).values() if isinstance(value, np.ndarray)]
    assert max(array.size for array in arrays) == 25


def planned(n, d, k, *, epsilon=1, delta=0, n_steps=None, beta="1/20"):
    settings = {
        "n_steps": n_steps,
        "class_weight": None,
        "finest": 10,
        "levels": 9,
        "most_columns": MOST_COLUMNS,
    }
    return logistic_plan(
        SimpleNamespace(cost=ApproxDP(epsilon, delta), **settings), FitFacts(n, d, k), beta=Fraction(beta)
    )


@pytest.mark.parametrize(
    ("settings", "n", "steps", "second_moments"),
    [
        ({"delta": "1e-6"}, 30_000, STEPS[2], True),
        ({"delta": "1e-6"}, 1_500, 1, True),
        ({"delta": "1e-6"}, 100, 1, False),
        ({}, 100_000, STEPS[1], True),
        ({}, 10_000, 1, False),
        ({"n_steps": 5}, 100, 5, True),
    ],
)
def test_more_steps_are_taken_where_the_noise_allows(settings, n, steps, second_moments):
    plan = planned(n, 64, 5, **settings)
    assert (plan.n_steps, plan.second_moments) == (steps, second_moments)


def test_rows_are_on_the_finest_grid_whose_noise_can_be_drawn():
    fine = planned(10_000, 20, 2, delta="1e-6")
    coarse = planned(10_000, 20, 2, epsilon="0.001", delta="1e-6")
    assert fine.bits == 10 > coarse.bits >= 3
    assert planned(10_000, 20, 2, epsilon="1e-9").bits == 10
    with pytest.raises(ValueError, match="epsilon must be large enough"):
        planned(10_000, 20, 2, epsilon="1e-12", delta="1e-12")


@pytest.mark.parametrize("settings", [{"delta": "1e-6"}, {}])
def test_the_deviation_is_that_of_answers(settings):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(4000, 30)), np.zeros(4000, dtype=int)
    y[::2] = 1
    plan = planned(4000, 30, 2, **settings)
    records = LabelledRows(plan.rows(X), y)
    oracle = CentralOracle(records, privacy=plan.guarantee, dice=SeededDice(0))
    query = products_query(plan, Mapped(plan, np.eye(31)), label_parts(plan))
    share = plan.shares[1]
    exact = query.total(records) / 4000 * float(query.unit)
    off = oracle.ask(query, share)[0].means - exact
    assert 0.7 < np.sqrt((off**2).mean()) / deviation_of(plan, query, share) < 1.4


def test_a_single_class_is_refused():
    with pytest.raises(ValueError, match="at least 2 classes, got 1 class"):
        planned(10, 3, 1)


def test_the_tolerance_holds_as_often_as_it_says():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(500, 3)), rng.integers(3, size=500)
    for settings in ({"delta": "1e-6"}, {}):
        plan = planned(500, 3, 3, beta="1/4", **settings)
        query = products_query(plan, Mapped(plan, np.eye(4)), label_parts(plan))
        records = LabelledRows(plan.rows(X), y)
        exact = query.total(records) / 500 * float(query.unit)
        off = []
        for seed in range(60):
            oracle = CentralOracle(records, privacy=plan.guarantee, dice=SeededDice(seed))
            off.append(np.abs(oracle.ask(query, plan.shares[1])[0].means - exact).max())
        assert (
            sum(np.array(off) > plan.tolerance) <= 24
        )  # 15 are expected at most; 24 is three deviations more
        assert max(off) > plan.tolerance / 3
