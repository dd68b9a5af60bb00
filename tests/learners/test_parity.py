"""The parity classifier: what it learns, from what input, and what it refuses."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from dplearn import ParityClassifier

METHODS = {
    "agnostic": {"epsilon": 3.0},
    "elimination": {"epsilon": 3.0},
    "stable": {"epsilon": 3.0, "delta": 1e-6},
}


def parity_data(n=3000, d=12, columns=(1, 4, 7), seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 2, (n, d))
    return X, X[:, list(columns)].sum(axis=1) % 2


def learner(method, **parameters):
    return ParityClassifier(method=method, **METHODS[method] | {"random_state": 0} | parameters)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_each_method_finds_the_parity(method, fit_intercept):
    X, y = parity_data()
    order = np.lexsort((*X.T, y))  # records sorted by their labels are spread over the parts
    X, y = X[order], y[order]
    names = np.array(["b", "a"] if fit_intercept else ["a", "b"])
    fitted = learner(method, fit_intercept=fit_intercept).fit(pd.DataFrame(X).add_prefix("x"), names[y])
    assert np.flatnonzero(fitted.parity_).tolist() == [1, 4, 7]
    assert fitted.intercept_ == fit_intercept
    assert not fitted.abstained_
    assert (fitted.predict(pd.DataFrame(X).add_prefix("x")) == names[y]).all()
    rule = "'b' if (x1 > 0) + (x4 > 0) + (x7 > 0) is {}, else 'a'"
    assert repr(fitted.concept_) == rule.format("even" if fit_intercept else "odd")
    assert fitted.method_ == method
    assert fitted.guarantee_.delta == (Fraction(1, 10**6) if method == "stable" else 0)


# --- None ---


def test_where_the_mechanism_declines_the_first_label_is_predicted():
    X, _ = parity_data(n=400)
    noise = np.random.default_rng(1).integers(0, 2, 400)
    fitted = learner("elimination", classes=["a", "b"]).fit(X, np.array(["a", "b"])[noise])
    assert fitted.abstained_
    assert not fitted.parity_.any()
    assert set(fitted.predict(X)) == {"a"}
    assert repr(fitted.concept_) == "always 'a'"


def test_parts_without_a_single_solution_do_not_vote_and_a_few_that_agree_suffice():
    rng = np.random.default_rng(0)
    X, y = parity_data(n=4000)
    X[rng.random(4000) < 0.5] = 0  # half of the records are all zeros
    y[(X == 0).all(axis=1)] = 0
    fitted = learner("stable", n_parts=200).fit(X, y)
    assert np.flatnonzero(fitted.parity_).tolist() == [1, 4, 7]


def test_agnostic_learns_through_noise_that_elimination_cannot_bear():
    X, y = parity_data(n=6000)
    flipped = y ^ (np.random.default_rng(1).random(6000) < 0.2)
    assert np.flatnonzero(learner("agnostic").fit(X, flipped).parity_).tolist() == [1, 4, 7]
    assert learner("elimination").fit(X, flipped).abstained_


# --- Several labels ---


def test_the_sample_size_does_not_grow_with_the_number_of_labels():
    model = learner("stable")
    needed = {model.plan(100, n_features=30, n_outputs=k).n_needed for k in (2, 30, 1000)}
    assert len(needed) == 1
