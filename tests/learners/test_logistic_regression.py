"""Logistic regression: what it learns, how weights make predictions, class weights, wide tables, plans."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix, random_array
from scipy.special import softmax
from sklearn.datasets import load_digits, load_iris, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, recall_score, roc_auc_score

from dplearn import StatisticalQueryLogisticRegression
from dplearn.chance import SeededDice
from dplearn.domains import Categories, DomainError, Grid, IntegerRange, Schema
from dplearn.estimator import recipe
from dplearn.learners.linear import Mapped, label_parts, products_query
from dplearn.learners.linear.columns import reduction
from dplearn.learners.linear.logistic import deviation_of
from dplearn.queries import CentralOracle, LabelledRows

X, Y = load_iris(return_X_y=True)


def learner(**parameters):
    return StatisticalQueryLogisticRegression(
        **{"epsilon": 100.0, "delta": 1e-6, "random_state": 0} | parameters
    )


@pytest.fixture(scope="module")
def fitted():
    return learner().fit(X, Y)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_digits_are_classified_at_a_small_epsilon(delta):
    images, digits = load_digits(return_X_y=True)
    small = learner(epsilon=3.0, delta=delta).fit(images[:1400], digits[:1400])
    assert small.n_steps_ == 1
    assert small.score(images[1400:], digits[1400:]) > 0.6


def test_margins_are_weights_divided_by_the_rows_length_and_their_softmax_is_probable(fitted):
    rows = np.column_stack([X, np.ones(len(X))])
    lengths = np.linalg.norm(rows @ fitted.metric_, axis=1)[:, None]
    margins = fitted.offset_ + (X @ fitted.coef_.T + fitted.intercept_ - fitted.offset_) / lengths
    assert np.allclose(fitted.decision_function(X), margins)
    assert 0.7 < np.median(lengths) < 1.4
    assert np.allclose(fitted.predict_proba(X), softmax(margins, axis=1))


@pytest.mark.parametrize("labels", [2, 3])
@pytest.mark.parametrize("n_steps", [1, 4])
@pytest.mark.parametrize("settings", [{}, {"delta": 0.0}])
def test_the_plan_has_the_number_of_queries_of_a_fit(monkeypatch, settings, n_steps, labels):
    oracles, right = [], recipe.oracle_for

    def watched(*known, **more):
        oracles.append(right(*known, **more))
        return oracles[-1]

    monkeypatch.setattr(recipe, "oracle_for", watched)
    model, kept = learner(n_steps=n_steps, **settings), np.isin(Y, range(labels))
    model.fit(X[kept], Y[kept])
    plan = model.plan(kept.sum(), n_features=4, n_labels=labels)
    [oracle] = oracles
    assert plan.n_queries == sum(each.n_queries for each in oracle.rounds)
    assert len(oracle.rounds) == plan.n_steps + 2  # the queries of the last round are asked together


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_the_deviation_and_the_tolerance_are_those_of_answers(delta):
    rng = np.random.default_rng(1)
    plan = learner(epsilon=1, delta=delta).plan(500, n_features=3, n_labels=3, beta=0.25)
    query = products_query(plan, Mapped(plan, np.eye(4)), label_parts(plan))
    records = LabelledRows(plan.rows(rng.normal(size=(500, 3))), rng.integers(3, size=500))
    exact, off = query.total(records) / 500 * float(query.unit), []
    for seed in range(60):
        oracle = CentralOracle(records, privacy=plan.guarantee, dice=SeededDice(seed))
        off.append(oracle.ask(query, plan.shares[1])[0].means - exact)
    assert 0.9 < np.sqrt(np.mean(np.square(off))) / deviation_of(plan, query, plan.shares[1]) < 1.1
    greatest = np.abs(off).reshape(60, -1).max(axis=1)
    assert (greatest > plan.tolerance).sum() <= 24  # 15 are expected at most; 24 is three deviations more
    assert greatest.max() > plan.tolerance / 3


# Class weights and rare labels.


@pytest.mark.first_by_day
@pytest.mark.parametrize(("n_steps", "delta"), [(1, 0), ("auto", 1e-6), (24, 1e-6)])
def test_rare_labels_are_ranked_and_no_worse_is_predicted_than_the_majority(n_steps, delta):
    """One digit of ten: a step without the label's frequency predicts it too often."""
    images, digits = load_digits(return_X_y=True)
    images, rare = np.tile(images, (4, 1)), np.tile(digits == 4, 4).astype(int)
    given = {"domain": IntegerRange(0, 16), "classes": [0, 1]}
    for seed in range(2):
        model = learner(epsilon=1, delta=delta, n_steps=n_steps, random_state=seed, **given)
        model.fit(images, rare)
        chances = model.predict_proba(images)[:, 1]
        assert model.score(images, rare) > 1 - rare.mean() - 0.005
        assert roc_auc_score(rare, chances) > 0.85
        assert abs(chances.mean() - rare.mean()) < 0.03


RARE = make_classification(20_000, 6, n_informative=4, weights=[0.98], class_sep=1.5, random_state=0)


def weighted(X, y, **parameters):
    known = {"classes": sorted(set(y.tolist())), "random_state": 0}
    return StatisticalQueryLogisticRegression(**known | parameters).fit(X, y)


def test_balanced_weights_find_a_rare_class_that_a_fit_without_weights_does_not_predict():
    X, y = RARE
    plain, model = weighted(X, y, epsilon=1.0), weighted(X, y, epsilon=1.0, class_weight="balanced")
    assert balanced_accuracy_score(y, model.predict(X)) > balanced_accuracy_score(y, plain.predict(X)) + 0.1
    assert recall_score(y, model.predict(X)) > 0.6
    ranks = [roc_auc_score(y, each.decision_function(X)) for each in (plain, model)]
    assert ranks[1] > ranks[0] - 0.03


def test_probabilities_are_those_of_the_weighted_population():
    X, y = RARE
    model = weighted(X, y, epsilon=10.0, class_weight={0: 1, 1: 20})
    weights = np.where(y == 1, 20, 1)
    chances = model.predict_proba(X)[:, 1]
    assert np.average(chances, weights=weights) == pytest.approx(np.average(y, weights=weights), abs=0.03)


def test_weights_of_several_classes_shift_the_margins_only():
    X, y = load_digits(return_X_y=True)
    known = {"epsilon": 100.0, "domain": IntegerRange(0, 16)}
    model = weighted(X, y, class_weight={3: 50.0}, **known)
    assert (model.predict(X) == 3).sum() > (weighted(X, y, **known).predict(X) == 3).sum()
    assert np.ptp(model.offset_) == pytest.approx(np.log(50))


# Coefficients.

N = 20_000
SCHEMA = Schema({"town": Categories(list("abcd")), "age": Grid(0, 1), "z": Grid(-2, 2)})


def table(k):
    rng = np.random.default_rng(0)
    town, age = rng.integers(4, size=N), rng.uniform(0, 1, N)
    z = rng.normal(size=N) * 0.2 + 0.5 * (town == 2)
    margins = 2 * (age - 0.5) + np.array([-1, 0, 1, 0.3])[town] - z + rng.logistic(size=N)
    y = (margins > 0).astype(int) if k == 2 else np.digitize(margins, [-1, 1])
    return pd.DataFrame({"town": np.array(list("abcd"))[town], "age": age, "z": z.clip(-2, 2)}), y


def fit(X, y, **parameters):
    return StatisticalQueryLogisticRegression(domain=SCHEMA, classes=sorted(set(y)), **parameters).fit(X, y)


@pytest.mark.parametrize(("k", "apart"), [(2, 0.15), (3, 0.25)])
def test_two_fits_have_coefficients_that_compare(k, apart):
    X, y = table(k)
    first, second = (fit(X, y, epsilon=3.0, random_state=seed) for seed in range(2))
    assert np.abs(first.coef_ - second.coef_).max() < apart
    assert np.allclose(first.coef_[:, :4].sum(axis=1), 0)
    assert np.abs(first.intercept_ - second.intercept_).max() < 0.1
    if k == 2:  # in the units of the margin that made the labels, but for the length of rows
        assert np.allclose(first.coef_[0, :4], np.array([-1, 0, 1, 0.3]) - 0.075, atol=0.25)
    names = [f"town == '{name}'" for name in "abcd"]
    assert list(first.get_feature_names_out()) == [*names, "age", "z"]
    assert first.coef_.shape == first.coef_std_.shape == ((1 if k == 2 else k), 6)


@pytest.mark.nightly
def test_intervals_hold_the_coefficients_of_a_fit_with_next_to_no_noise_about_as_often_as_they_say():
    X, y = table(2)
    for n_steps in (1, 24):
        exact = fit(X, y, epsilon=1e4, n_steps=n_steps, random_state=0).coef_
        held = []
        for seed in range(8):
            model = fit(X, y, epsilon=1.0, n_steps=n_steps, random_state=seed)
            low, high = np.moveaxis(model.coef_interval(0.1), -1, 0)
            assert (low < high).all()
            held.append((low <= exact) & (exact <= high))
        assert 0.7 < np.mean(held) <= 1


# Wide tables, of which columns are kept.


@pytest.fixture(scope="module")
def wide():
    """Five columns that many rows have, two of which matter; all others are nearly empty."""
    rng = np.random.default_rng(0)
    rows = random_array((6000, 5000), density=0.0002, rng=rng, format="lil", data_sampler=rng.standard_normal)
    rows[:, [7, 70, 700, 4000, 4999]] = rng.choice([-1.0, 0.0, 1.0], (6000, 5))
    rows = rows.tocsr()
    margin = 3 * (rows[:, [70]] - rows[:, [4000]]).toarray().ravel()
    return rows, (margin + rng.logistic(size=6000) > 0).astype(int)


def test_wide_tables_are_learned_from_their_common_columns(wide):
    X, y = wide
    fitted = learner(epsilon=2, classes=[0, 1]).fit(X[:4000], y[:4000])
    assert set(fitted.columns_) >= {7, 70, 700, 4000, 4999}
    assert fitted.coef_.shape == fitted.coef_std_.shape == (1, 5000)
    assert len(fitted.columns_) < 100
    effects = dict(zip(fitted.columns_.tolist(), fitted.coef_[0, fitted.columns_], strict=True))
    assert 0.5 < effects[70] < 6  # of twelve seeds, from .67 to 1.11
    assert -6 < effects[4000] < -0.5
    assert max(abs(effects[other]) for other in (7, 700, 4999)) < 0.1
    exact = LogisticRegression().fit(X[:4000], y[:4000]).score(X[4000:], y[4000:])
    assert fitted.score(X[4000:], y[4000:]) > exact - 0.04
    margins = fitted.decision_function(X[4000:])
    assert np.array_equal(fitted.decision_function(X[4000:].toarray()), margins)
    reduced = X[4000:] @ reduction(fitted.columns_, 5000, len(fitted.metric_) - 1 - len(fitted.columns_))
    rows = np.column_stack([reduced.toarray(), np.ones(2000)])
    lengths = np.linalg.norm(rows @ fitted.metric_, axis=1)
    products = X[4000:] @ fitted.coef_[0] + fitted.intercept_ - fitted.offset_
    assert np.allclose(fitted.offset_ + products / lengths, margins)


def test_wide_tables_of_any_kind_have_the_same_fit(wide):
    X, y = (part[:800] for part in wide)
    model = learner(epsilon=3, classes=[0, 1])
    expected = model.fit(X, y).coef_
    assert np.array_equal(model.fit(X.toarray(), y).coef_, expected)
    assert np.array_equal(model.fit([X[:300], X[300:]], [y[:300], y[300:]]).coef_, expected)


def test_declared_tables_are_wide_by_their_numbers():
    values = [f"v{place}" for place in range(4200)]
    X = np.array(values, dtype=object)[np.random.default_rng(0).permutation(4000) % 40][:, None]
    y = (X[:, 0] < "v20").astype(int)
    frame = pd.DataFrame(X, columns=["a"])
    fitted = learner(epsilon=1, domain=Schema({"a": Categories(values)}), classes=[0, 1]).fit(frame, y)
    kept = {fitted.get_feature_names_out()[place] for place in fitted.columns_}
    assert {f"a == {value!r}" for value in values[:40]} <= kept
    assert fitted.score(frame, y) > 0.95


@pytest.mark.parametrize("d", [10, 5000])
def test_numbers_that_become_infinite_as_floats_are_refused(d):
    twice = csr_matrix((np.full(2, 1.7e308), np.full(2, 7), np.array([0, 2, 2])), shape=(2, d))
    with pytest.raises(DomainError, match="X must hold finite numbers"):
        StatisticalQueryLogisticRegression(classes=[0, 1]).fit(twice, [0, 1])
