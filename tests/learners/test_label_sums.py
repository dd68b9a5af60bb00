"""Additive models by sums of private labels: bounds of the sums, what is learned, and tables of all types."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.special import expit

from dplearn import AdditiveClassifier, BudgetExceededError, PrivacyLedger, PrivateLabelsClassifier
from dplearn.learners.additive import PublicRows
from dplearn.queries import LabelledRows

RNG = np.random.default_rng(0)
N = 4000
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, N).astype(float),
        "town": pd.Series(RNG.choice(["north", "south", "east"], N, p=[0.5, 0.3, 0.2]), dtype=object),
        "kind": pd.Categorical(RNG.choice(["a", "b"], N)),
        "cost": np.exp(RNG.normal(3, 2, N)),
    }
)
CHANCE = expit((TABLE["town"] == "north") * 2.0 + np.abs(TABLE["age"] - 54) / 12 - 3 + (TABLE["kind"] == "a"))
Y = np.where(RNG.random(N) < CHANCE, "ill", "well")
TABLE.loc[::17, ["age", "town"]] = None


@pytest.mark.parametrize("deviation", [np.inf, 0])
def test_the_bounds_of_sums_are_the_greatest_distances_of_one_changed_label(deviation):
    """Changing the label of each record in turn moves the sums by its public row, and by no more."""
    rows, n = PublicRows.of(TABLE[:60], deviation), 60
    assert bool(rows.products.pairs) == (deviation == 0)
    longest = np.linalg.norm(rows.rows.of_records(LabelledRows(rows.cells, np.zeros(n, int))), axis=1)
    assert (longest > rows.rows.reach).any()  # such rows are shortened
    for k in (2, 3):
        query, y = rows.query(k), RNG.integers(0, k, n)
        before = query.total(LabelledRows(rows.cells, y))
        np.testing.assert_array_equal(before, query.values(LabelledRows(rows.cells, y)).sum(axis=0))
        moves = []
        for place in range(n):
            other = y.copy()
            other[place] = (y[place] + 1) % k
            moves.append(query.total(LabelledRows(rows.cells, other)) - before)
        assert max((move**2).sum() for move in moves) == query.squared_l2
        assert max(abs(move).sum() for move in moves) == query.l1


@pytest.mark.parametrize(
    "made",
    [
        lambda X: X,
        pl.from_pandas,
        lambda X: X.convert_dtypes(dtype_backend="pyarrow"),
        lambda X: X.to_numpy(object).tolist(),
    ],
)
def test_effects_that_add_up_are_learned_from_texts_categories_gaps_and_numbers(made):
    model = PrivateLabelsClassifier(epsilon=1, method="sums", random_state=0)
    model.fit(made(TABLE[:3000]), Y[:3000])
    likely = model.predict_proba(made(TABLE[3000:]))[:, 0]
    assert ((likely - CHANCE[3000:]) ** 2).mean() < 0.01
    importances = model.estimator_.feature_importances_
    assert importances[3] < importances[:2].min() / 3
    assert model.score(made(TABLE[3000:]), Y[3000:]) > np.maximum(CHANCE, 1 - CHANCE)[3000:].mean() - 0.03


@pytest.mark.parametrize("rule", ["north and a", "product of numbers"])
def test_interactions_of_two_columns_are_learned_where_noise_is_small(rule):
    n = 3 * N
    X = pd.DataFrame({"x": RNG.normal(size=n), "z": RNG.normal(size=n)})
    X = pd.concat([pd.concat([TABLE[["town", "kind"]]] * 3, ignore_index=True), X], axis=1)
    both = (X["town"] == "north") ^ (X["kind"] == "a") if rule == "north and a" else X["x"] * X["z"] > 0
    y = np.where(RNG.random(n) < np.where(both, 0.95, 0.05), "ill", "well")
    model = PrivateLabelsClassifier(epsilon=1, random_state=0).fit(X[N:], y[N:])
    whole = AdditiveClassifier(domain="learn", epsilon=1, random_state=0).fit(X[N:], y[N:])
    assert model.score(X[:N], y[:N]) > max(0.9, whole.score(X[:N], y[:N]) - 0.01)
    joint = model.estimator_.interactions_
    pair = np.unravel_index(joint.strengths.argmax(), joint.strengths.shape)
    assert sorted(pair) == ([0, 1] if rule == "north and a" else [2, 3])
    places = RNG.integers(0, np.array(joint.features.sizes) + 1, size=(50, 4)).astype(
        np.int16
    )  # some unknown
    np.testing.assert_allclose(joint.margins(places), joint.features.of(places) @ joint.weights, atol=1e-9)
    wide = PrivateLabelsClassifier(epsilon=0.01, method="sums", classes=["ill", "well"]).fit(X, y)
    assert wide.estimator_.interactions_ is None


def test_labels_are_drawn_with_the_released_probabilities():
    model = PrivateLabelsClassifier(epsilon=50, method="sums", random_state=0).fit(TABLE, Y)
    likely = model.predict_proba(TABLE)[:, 0]
    for here in (likely < 0.3, likely > 0.8):
        assert (model.reports_[here] == "ill").mean() == pytest.approx(likely[here].mean(), abs=0.03)


def test_several_labels_arrays_and_a_new_category_are_taken():
    y = np.array(["low", "mid", "high"])[np.digitize(TABLE["cost"], [8, 50])]
    model = PrivateLabelsClassifier(epsilon=2, method="sums", random_state=0).fit(TABLE, y)
    assert model.score(TABLE, y) > 0.85
    assert model.predict(TABLE[:1].assign(town="west", age=np.nan)).shape == (1,)
    numbers = TABLE[["cost"]].to_numpy()
    model = PrivateLabelsClassifier(epsilon=2, method="sums", random_state=0).fit(numbers, y)
    assert model.score(numbers, y) > 0.9


def test_auto_takes_sums_where_reports_tell_little_and_columns_are_categories():
    model = PrivateLabelsClassifier(epsilon=0.1, classes=["ill", "well"], random_state=0)
    plan = model.plan(N, n_columns=4, n_categorical=2)
    assert model.fit(TABLE, Y).guarantee_.delta == plan.guarantee.delta > 0
    assert model.plan(N).method == model.plan(2999, n_columns=5, n_categorical=2).method == "clusters"
    model.set_params(epsilon=1.0)
    assert model.plan(N, n_columns=4, n_categorical=1).method == "sums"
    for n, d in ((2999, 2), (10**5, 2), (N, 0)):
        assert model.plan(n, n_columns=4, n_categorical=d).method == "reports"
    pure = model.set_params(epsilon=0.1, delta=0.0)
    assert pure.plan(N, n_columns=4, n_categorical=2).method == "clusters"


def test_one_row_constant_columns_and_few_records_have_a_model():
    ledger = PrivacyLedger(1, 1e-6, protects="labels")
    model = PrivateLabelsClassifier(method="sums", classes=["ill", "well"], ledger=ledger)
    with pytest.warns(UserWarning, match="sums of 2 labels have noise of"):
        model.fit(TABLE[:1].assign(cost=1.0, more=None), Y[:1])
    assert model.predict_proba(TABLE[:9].assign(more=None)).shape == (9, 2)
    assert [each.guarantee.delta for each in ledger.history()] == [model.guarantee_.delta]


@pytest.mark.parametrize(
    "ends",
    [(0.0, 0.0), (1.0, 1 + 2e-16), (-1.7e308, 1.7e308), (np.inf, -np.inf), (5e-324, 0.0), (1.7e308, 1.7e308)],
)
def test_ranges_of_any_width_have_cells(ends):
    X = np.c_[np.resize(ends, 300), RNG.normal(size=300)]
    model = PrivateLabelsClassifier(epsilon=5, method="sums", random_state=0).fit(X, X[:, 1] > 0)
    assert model.score(X, X[:, 1] > 0) > 0.9


def test_one_far_number_leaves_all_others_their_cells():
    X = RNG.normal(size=(2000, 1))
    y = X[:, 0] > 0
    X[0] = 1e12
    model = PrivateLabelsClassifier(epsilon=2, method="sums", random_state=0).fit(X, y)
    assert model.score(X, y) > 0.95
    assert np.isfinite(model.estimator_.shapes_[0].effects).all()


def test_tables_of_numbers_need_no_delta_in_the_ledger_and_texts_are_refused_later():
    ledger = PrivacyLedger(2, protects="labels", allow_reproducible=True)
    X = RNG.normal(size=(300, 2))
    for table in (X, pd.DataFrame(X)):
        PrivateLabelsClassifier(ledger=ledger, random_state=0).fit(table, X[:, 0] > 0)
    assert [each.guarantee.delta for each in ledger.history()] == [0, 0]
    with pytest.raises(BudgetExceededError, match="delta"):
        PrivateLabelsClassifier(ledger=ledger).fit(pd.DataFrame(X).astype(str), X[:, 0] > 0)
    model = PrivateLabelsClassifier(method="sums", random_state=0).fit(X, X[:, 0] > 0)
    with pytest.raises(TypeError, match="text"):
        model.predict(X.astype(str))
