"""Classifiers of randomised labels: probabilities, estimators and tables of any kind, refusals, mistakes."""

from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.special import expit
from sklearn import config_context
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from dplearn import (
    ConjunctionClassifier,
    PrivacyLedger,
    PrivateLabelsClassifier,
    PrivateMultiOutputClassifier,
)
from dplearn.chance import SeededDice
from dplearn.display import privacy_card
from dplearn.learners import label_methods
from dplearn.privacy import LedgerError

RNG = np.random.default_rng(0)
N = 4000
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, N).astype(float),
        "town": pd.Series(RNG.choice(["north", "south", "east"], N), dtype=object),
        "kind": pd.Categorical(RNG.choice(["a", "b"], N)),
        "rooms": pd.array(RNG.integers(1, 6, N), dtype="Int64"),
    }
)
CHANCE = np.where((TABLE["town"] == "north") ^ (TABLE["kind"] == "a"), 0.9, 0.1)
Y = np.where(RNG.random(N) < CHANCE, "ill", "well")
TABLE.loc[::17, ["age", "town", "rooms"]] = None
CELLS = TABLE.astype(object)


def searched(model):
    return GridSearchCV(model, {"C": [0.01, 1]}, scoring="neg_log_loss", cv=3)


@pytest.fixture(autouse=True)
def fewer_trees(monkeypatch):
    """The default forest has 300 trees; a tenth of them is nearly as accurate."""
    monkeypatch.setattr(PrivateLabelsClassifier, "default_trees", 30)


@pytest.mark.parametrize("X", [TABLE, TABLE.convert_dtypes(dtype_backend="pyarrow"), CELLS.to_numpy()])
def test_the_default_for_reports_learns_from_texts_gaps_and_categories(X):
    model = PrivateLabelsClassifier(epsilon=1, method="reports", random_state=0).fit(X[:3000], Y[:3000])
    assert model.score(X[3000:], Y[3000:]) > 0.8
    shares = model.predict_proba(X[3000:])[:, 0]
    np.testing.assert_allclose(shares.mean(), CHANCE[3000:].mean(), atol=0.06)
    off = (shares - CHANCE[3000:]) ** 2
    assert off.mean() < 0.03


def test_probabilities_of_reports_become_those_of_labels():
    """A model that knows the reports' probabilities r + (1 - K r) p tells p."""
    X, y = np.repeat(np.eye(3), 3000, axis=0), np.repeat([4, 5, 7], 3000)
    y[::5] = 7
    model = PrivateLabelsClassifier(GaussianNB(), epsilon=1.5, random_state=0).fit(X, y)
    truth = np.exp(1.5) / (np.exp(1.5) + 2)
    np.testing.assert_allclose(model.truth_, truth, rtol=1e-6)
    np.testing.assert_allclose((model.reports_ == y).mean(), truth, atol=0.02)
    model.estimator_.predict_proba = lambda rows: np.tile(
        [(1 - truth) / 2, 0.3, 0.7 - (1 - truth) / 2], (len(rows), 1)
    )
    p = (0.3 - (1 - truth) / 2) / (truth - (1 - truth) / 2)
    np.testing.assert_allclose(model.predict_proba(X[:2]), [[0, p, 1 - p]] * 2, atol=1e-9)


def test_labels_that_were_never_reported_have_probability_0():
    model = PrivateLabelsClassifier(GaussianNB(), epsilon=20, classes=[0, 1, 2], random_state=0)
    model.fit(RNG.normal(size=(40, 2)), np.arange(40) % 2)
    assert model.predict_proba(RNG.normal(size=(3, 2))).shape == (3, 3)
    assert not model.predict_proba(RNG.normal(size=(3, 2)))[:, 2].any()


def test_a_search_within_the_fit_costs_nothing_and_one_around_it_each_fit():
    X, y = load_breast_cancer(return_X_y=True)
    ledger = PrivacyLedger(5, protects="labels")
    grid = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [5, 25, 75]})
    model = PrivateLabelsClassifier(grid, epsilon=2, ledger=ledger).fit(X[:400], y[:400])
    assert [each.guarantee.epsilon for each in ledger.history()] == [2]
    assert model.guarantee_.protects == "labels"
    cross_val_score(PrivateLabelsClassifier(GaussianNB(), epsilon=1, ledger=ledger), X, y, cv=2)
    assert ledger.remaining().epsilon == 1


def test_a_ledger_of_labels_adds_what_protects_records_and_its_card_tells_them_apart():
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    mine = PrivateLabelsClassifier(DummyClassifier(), epsilon=1, classes=[0, 1])
    records = ConjunctionClassifier(epsilon="0.5", classes=[0, 1])
    ledger, of_records = PrivacyLedger(2, protects="labels"), PrivacyLedger(9)
    with pytest.raises(LedgerError, match=r"'examples': open PrivacyLedger.*protects='labels'"):
        mine.set_params(ledger=of_records).fit(X, y)
    assert not of_records.history()
    for each in (mine, records):
        each.set_params(ledger=ledger).fit(X, y)
    spent = ledger.spent()
    assert (spent.epsilon, spent.protects) == (1.5, "labels")
    assert spent.for_group(2).epsilon == 3
    card = str(privacy_card(ledger))
    assert "Protected: the label of any one record; the other values" in card
    assert "epsilon 1, delta 0, one label replaced, labels" in card
    assert "epsilon 0.5, delta 0, one record replaced, whole records" in card


def test_an_estimator_without_probabilities_and_sparse_rows_work():
    X, y = load_digits(return_X_y=True)
    of_margins = PrivateLabelsClassifier(LinearSVC(), epsilon=4, random_state=0).fit(X, y)
    assert of_margins.score(X, y) > 0.5
    assert not hasattr(of_margins, "predict_proba")
    sparse = PrivateLabelsClassifier(epsilon=4, random_state=0).fit(csr_array(X), y)
    assert sparse.score(csr_array(X), y) > 0.6


@pytest.mark.parametrize("within", [lambda each: each, partial(make_pipeline, StandardScaler()), searched])
def test_logistic_regression_learns_the_weights_for_labels(within):
    """Those for reports would be at most .7 at this epsilon."""
    X, chance = RNG.normal(size=(N, 2)), RNG.random(N)
    y = chance < expit(2 * X[:, 0] - X[:, 1] + 0.5)
    model = PrivateLabelsClassifier(within(LogisticRegression()), epsilon=1, random_state=0).fit(X, y)
    learned = model.predict_proba(X)[:, 1]
    assert np.mean((learned - expit(2 * X[:, 0] - X[:, 1] + 0.5)) ** 2) < 0.002
    of_reports = model.estimator_.predict_proba(X)  # which calibrations and losses on reports are for
    assert 1 - model.truth_ <= of_reports.min() < of_reports.max() <= model.truth_
    shares = model.truth_ * learned + (1 - model.truth_) * (1 - learned)
    np.testing.assert_allclose(of_reports[:, 1], shares)


def test_logistic_regression_with_another_penalty_learns_the_reports():
    X = RNG.normal(size=(300, 2))
    given = LogisticRegression(solver="liblinear")
    model = PrivateLabelsClassifier(given, epsilon=1, random_state=0).fit(X, X[:, 0] > 0)
    assert model.estimator_.coef_.tolist() == given.fit(X, model.reports_).coef_.tolist()


@pytest.mark.parametrize(("method", "n"), [("reports", 500), ("clusters", 10_500)])  # forest, boosting
def test_a_model_is_a_function_of_what_is_released(monkeypatch, method, n):
    """Labels that are reported alike have the same model, however many of each there are."""
    fixed = {
        "randomized_response": lambda codes, *_, **__: np.arange(len(codes)) % 2,
        "laplace_counts": lambda counts, **_: np.arange(len(counts)),
    }
    for name, report in fixed.items():
        monkeypatch.setattr(label_methods, name, report)
    X = RNG.normal(size=(n, 2))
    found = [
        PrivateLabelsClassifier(method=method, classes=[0, 1], random_state=0).fit(X, np.arange(n) < few)
        for few in (1, n // 2)
    ]
    assert found[0].predict_proba(X[:99]).tolist() == found[1].predict_proba(X[:99]).tolist()


def test_a_model_that_cannot_learn_is_refused_before_the_charge():
    ledger, error = (
        PrivacyLedger(1, 1e-6, protects="labels"),
        "estimator must be able to learn from 4000 rows",
    )
    with pytest.raises(ValueError, match=error):
        PrivateLabelsClassifier(LogisticRegression(C=-1), ledger=ledger).fit(TABLE[["age"]].fillna(0), Y)
    assert not ledger.history()


def test_an_estimator_that_needs_many_rows_is_tried_on_all():
    model = PrivateLabelsClassifier(KNeighborsClassifier(600), random_state=0)
    assert model.fit(TABLE[["age"]].fillna(0), Y).estimator_error_ is None


def test_an_estimator_that_fails_after_the_charge_leaves_the_reports():
    class Moody(GaussianNB):
        def fit(self, X, y):
            if len(y) > 1000:
                raise ValueError("too many")
            return super().fit(X, y)

    model = PrivateLabelsClassifier(Moody(), random_state=0)
    with pytest.warns(UserWarning, match="could not be fitted to the randomised labels, which are kept"):
        model.fit(TABLE[["age"]].fillna(0), Y)
    assert len(model.reports_) == N
    with pytest.raises(ValueError, match="fit another one to reports_, at no further cost"):
        model.predict(TABLE[["age"]])


def test_an_interrupt_of_the_training_leaves_the_reports_and_stops_the_program():
    class Slow(GaussianNB):
        def fit(self, X, y):
            if len(y) > 1000:
                raise KeyboardInterrupt
            return super().fit(X, y)

    ledger = PrivacyLedger(1, protects="labels")
    model = PrivateLabelsClassifier(Slow(), ledger=ledger)
    with pytest.raises(KeyboardInterrupt, match="labels, which are kept: KeyboardInterrupt; fit another one"):
        model.fit(TABLE[["age"]].fillna(0), Y)
    assert len(ledger.history()) == 1
    assert model.guarantee_.epsilon == 1
    assert GaussianNB().fit(TABLE[["age"]].fillna(0), model.reports_).classes_.tolist() == ["ill", "well"]
    with pytest.raises(ValueError, match="fit another one to reports_, at no further cost"):
        model.predict(TABLE[["age"]])
    several = PrivateMultiOutputClassifier(PrivateLabelsClassifier(Slow(), classes=["ill", "well"]))
    with pytest.raises(KeyboardInterrupt, match="MultiOutputClassifier was interrupted after its charge"):
        several.fit(TABLE[["age"]].fillna(0), np.stack([Y, Y], axis=1))
    assert not hasattr(several, "guarantee_")


@pytest.mark.parametrize("present", [0, 1, 3])
def test_numbers_that_are_missing_in_nearly_all_rows_are_taken_by_the_default(present):
    X = np.full((200, 2), np.nan)
    X[:present] = RNG.normal(size=(present, 2))
    for table in (X, X.astype(object), pd.DataFrame(X, columns=["a", "b"])):
        for seed in range(2):
            model = PrivateLabelsClassifier(epsilon=4, random_state=seed).fit(table, np.arange(200) % 2)
            assert model.estimator_error_ is None


def test_numbers_as_categories_are_the_same_where_none_is_missing():
    X = pd.DataFrame({"a": pd.Categorical(np.arange(N) % 4)})
    X.iloc[::50] = None
    model = PrivateLabelsClassifier(epsilon=4, random_state=0).fit(X, np.arange(N) % 4 < 2)
    assert model.score(X.dropna(), X.dropna()["a"].astype(int) < 2) == 1


def test_one_row_and_a_tiny_epsilon_are_learned_from():
    model = PrivateLabelsClassifier(epsilon=1e-300, classes=["a", "b"], random_state=0).fit([[1.0]], ["b"])
    assert model.predict_proba([[1.0]]).shape == (1, 2)
    assert "records are enough" not in model.plan(9).warnings[0]


@pytest.mark.parametrize("method", ["auto", "reports", "clusters"])
def test_an_epsilon_below_all_floats_has_a_plan(method):
    plan = PrivateLabelsClassifier(epsilon="1e-400", method=method, classes=["a", "b"]).plan(99)
    assert plan.guarantee.epsilon == Fraction("1e-400")


@pytest.mark.parametrize("method", ["reports", "clusters"])
def test_few_records_are_told_before_the_charge(method):
    model = PrivateLabelsClassifier(epsilon=0.1, method=method, classes=["a", "b"])
    [text] = model.plan(100).warnings
    enough = int(text.split("records are enough")[0].split()[-1])
    assert not model.plan(enough).warnings
    assert model.plan(enough - 1).warnings


def test_plans_tell_the_method_and_its_noise():
    plan = PrivateLabelsClassifier(epsilon=0.1, method="reports", classes=["a", "b"]).plan(1000)
    assert plan.n_effective == pytest.approx(1000 * np.tanh(0.05) ** 2)
    plan = PrivateLabelsClassifier(epsilon=0.5).plan(3000, n_labels=10)
    assert (plan.method, plan.n_clusters) == ("clusters", 150)
    noise = SeededDice(0).discrete_laplace(Fraction(np.exp(-0.5 / 2)), None, None, size=20_000)
    assert np.std(noise) == pytest.approx(plan.deviation, rel=0.03)
    many = PrivateLabelsClassifier(epsilon=0.5).plan(10**6, n_labels=10)
    assert (many.method, PrivateLabelsClassifier(epsilon=9).plan(99, n_labels=2).method) == ("reports",) * 2
    two = [PrivateLabelsClassifier(epsilon=0.5).plan(n, n_labels=2).method for n in (8001, 8002)]
    assert two == ["clusters", "reports"]


@pytest.mark.parametrize(
    "X", [TABLE, CELLS.to_numpy(), csr_array(pd.get_dummies(TABLE[["town", "kind"]], dtype=float))]
)
def test_clusters_are_made_of_columns_of_all_types(X):
    model = PrivateLabelsClassifier(epsilon=1, method="clusters", random_state=0).fit(X[:3000], Y[:3000])
    assert model.score(X[3000:], Y[3000:]) > 0.75
    assert model.truth_ is None
    assert abs(model.predict_proba(X[3000:])[:, 0].mean() - CHANCE[3000:].mean()) < 0.06


def test_clusters_bear_long_tails_and_infinities():
    X = RNG.normal(size=(3000, 4))
    y = X[:, 0] > 0
    for table in (np.exp(3 * X), np.where((np.arange(3000) % 300 == 0)[:, None], 1e6 * X, X)):
        table[:, 2], table[:3, 1] = 1e308, (np.inf, 1e308, -1e308)
        model = PrivateLabelsClassifier(epsilon=0.5, method="clusters", random_state=0)
        assert model.fit(table[:2000], y[:2000]).score(table[2000:], y[2000:]) > 0.93
        assert model.predict([[1e308, 0, 1, 0], [-1e308, 0, 1, 0]]).tolist() == [True, False]


def test_clusters_do_not_depend_on_how_scikit_learn_stores_output():
    for output in ("pandas", "polars"):
        with config_context(transform_output=output):
            model = PrivateLabelsClassifier(epsilon=2, method="clusters", random_state=0)
            assert model.fit(TABLE[:1500], Y[:1500]).score(TABLE[3000:], Y[3000:]) > 0.75


def test_sparse_rows_are_predicted_like_dense_ones():
    X, y = load_wine(return_X_y=True)
    model = PrivateLabelsClassifier(epsilon=2, method="clusters", random_state=0).fit(X, y)
    assert model.predict(csr_array(X)).tolist() == model.predict(X).tolist()


def test_many_labels_have_larger_clusters_and_a_forest():
    y = RNG.integers(0, 64, 12_000)
    X = np.c_[y % 4, y // 4 % 4, y // 16] + RNG.normal(scale=0.1, size=(12_000, 3))
    model = PrivateLabelsClassifier(epsilon=1, random_state=0).fit(X[:11_000], y[:11_000])
    assert model.score(X[11_000:], y[11_000:]) > 0.9
    assert model.plan(11_000, n_labels=64).n_clusters < model.plan(11_000, n_labels=11).n_clusters


def test_labels_of_a_cluster_have_its_released_shares():
    X, y = np.repeat([[0.0], [9.0]], 500, axis=0), np.arange(1000) % 4
    model = PrivateLabelsClassifier(GaussianNB(), epsilon=50, method="clusters", random_state=0).fit(X, y)
    found = [np.bincount(model.reports_[here], minlength=4) for here in (slice(500), slice(500, None))]
    assert model.counts_.sum() == 1000
    np.testing.assert_allclose(found, 125, atol=2)


def test_one_reported_label_is_predicted_whatever_the_estimator():
    model = PrivateLabelsClassifier(LogisticRegression(), epsilon=50, classes=[0, 1], random_state=0)
    model.fit(RNG.normal(size=(40, 2)), np.zeros(40, dtype=int))
    assert model.predict_proba(RNG.normal(size=(2, 2))).tolist() == [[1, 0]] * 2
