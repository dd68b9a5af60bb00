import numpy as np
import pandas as pd
import pytest

from dplearn import StatisticalQueryLogisticRegression
from dplearn.domains import Categories, Grid, Schema

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
    assert list(first.get_feature_names_out()) == [
        *(f"town == '{name}'" for name in "abcd"),
        "age",
        "z",
    ]
    assert first.coef_.shape == first.coef_std_.shape == ((1 if k == 2 else k), 6)


@pytest.mark.nightly
def test_intervals_hold_the_coefficients_of_a_fit_with_next_to_no_noise_about_as_often_as_they_say():
    X, y = table(2)
    for n_steps in (1, 24):
        exact = fit(X, y, epsilon=1e4, n_steps=n_steps, random_state=0).coef_
        held = []
        for seed in range(8):
            low, high = np.moveaxis(
                fit(X, y, epsilon=1.0, n_steps=n_steps, random_state=seed).coef_interval(0.1), -1, 0
            )
            assert (low < high).all()
            held.append((low <= exact) & (exact <= high))
        assert 0.7 < np.mean(held) <= 1


def test_names_that_are_not_the_columns_are_refused():
    X, y = table(2)
    model = fit(X[:500], y[:500], epsilon=100.0)
    assert list(model.get_feature_names_out(["town", "age", "z"])) == list(model.get_feature_names_out())
    with pytest.raises(ValueError, match="input_features must equal feature_names_in_"):
        model.get_feature_names_out(["a", "b", "c"])
    with pytest.raises(ValueError, match="beta must be"):
        model.coef_interval(0)
    plain = StatisticalQueryLogisticRegression(epsilon=100.0, classes=[0, 1]).fit(
        X[["age", "z"]].to_numpy(), y
    )
    assert list(plain.get_feature_names_out()) == ["x0", "x1"]
    with pytest.raises(ValueError, match="input_features must be 2 names, got 1"):
        plain.get_feature_names_out(["a"])


@pytest.mark.parametrize("columns", [["signal", "noise"], ["noise", "signal"], ["noise", "other", "signal"]])
def test_names_go_with_effects_whatever_the_order_of_the_frame(columns):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({name: rng.uniform(0, 10, 2000) for name in columns})
    schema = Schema({"signal": Grid(0, 10, 1001), "noise": Grid(0, 10, 1001)}, labels=[0, 1])
    model = StatisticalQueryLogisticRegression(epsilon=9, domain=schema, random_state=0)
    model.fit(frame, (frame["signal"] > 5).astype(int))
    assert list(model.get_feature_names_out()) == ["signal", "noise"]
    assert list(model.get_feature_names_out(columns)) == ["signal", "noise"]
    assert model.coef_[0, 0] > 10 * abs(model.coef_[0, 1])
    with pytest.raises(ValueError, match="input_features must equal feature_names_in_"):
        model.get_feature_names_out(["signal", "noise", "x"])
