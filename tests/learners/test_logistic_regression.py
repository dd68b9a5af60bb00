import pickle

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
from dplearn.domains import Bits, Categories, DomainError, Floats, IntegerRange, Schema
from dplearn.estimator import fit_recipe
from dplearn.learners.logistic_regression import StatisticalQueryLogisticRegression
from dplearn.queries.factories import oracle_for

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


@pytest.mark.parametrize("model", ["central", "local"])
def test_the_guarantee_is_the_cost(model):
    guarantee = learner(trust_model=model, n_steps=1).fit(np.tile(X, (9, 1)), np.tile(Y, 9)).guarantee_
    assert guarantee.delta == (0 if model == "local" else pytest.approx(1e-6))
    assert "in every column, values are finite numbers" in guarantee.assumes


def test_many_local_reports_classify():
    rng = np.random.default_rng(0)
    table = rng.normal(size=(60_000, 3))
    labels = table[:, 0] + table[:, 1] + 0.3 * rng.normal(size=60_000) > 0
    model = learner(trust_model="local", epsilon=2.0).fit(table, labels)
    assert (model.noise_, model.n_steps_) == ("local", 24)
    assert model.score(table, labels) > 0.85


def test_the_plan_matches_the_fit():
    for settings in ({}, {"delta": 0.0}, {"trust_model": "local", "epsilon": 1.0}):
        model, times = learner(**settings), 1 + 40 * ("trust_model" in settings)
        plan = model.plan(times * len(X), n_features=4, n_labels=3)
        model.fit(np.tile(X, (times, 1)), np.tile(Y, times))
        assert (plan.n_steps, plan.noise) == (model.n_steps_, model.noise_)
        assert plan.guarantee.epsilon == model.guarantee_.epsilon
        assert plan.guarantee.delta == model.guarantee_.delta
        assert 0 < plan.deviation < plan.tolerance
    assert learner(domain=[Categories(["a", "b"])] * 2, classes=[0, 1]).plan(100).n_steps >= 1


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("n_steps", [1, 4])
@pytest.mark.parametrize("settings", [{}, {"delta": 0.0}, {"trust_model": "local"}])
def test_the_plan_has_the_number_of_queries_of_a_fit(monkeypatch, settings, n_steps, labels):
    oracles = []

    def watched(*known, **more):
        oracles.append(oracle_for(*known, **more))
        return oracles[-1]

    monkeypatch.setattr(fit_recipe, "oracle_for", watched)
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
        ({"trust_model": "remote"}, "trust_model must be one of"),
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
