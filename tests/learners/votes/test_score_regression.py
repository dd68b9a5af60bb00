"""A logistic curve is fitted to scores as they are, noisy and unclipped."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.special import expit, softmax
from sklearn.linear_model import LogisticRegression

from dplearn.learners.votes.student import ScoreRegression

# Public, like all rows and scores here.
CHANCE = np.random.default_rng(0)
X = CHANCE.normal(size=(2000, 3))
TRUE = expit(X @ [2.0, -1.0, 0.0] + 0.5)
THREE = softmax(X @ [[2.0, 0, -1], [0, 1, 0], [0, 0, 1]], axis=1)


def test_labels_as_scores_give_the_logistic_regression_of_these_labels():
    y = (CHANCE.random(2000) < TRUE).astype(int)
    # Two columns share the height of one, each with half of it: the penalty is half of a single column's.
    other = LogisticRegression(C=0.02, tol=1e-8).fit(X, y)
    curve = ScoreRegression(C=0.01).fit(X, y.astype(float))
    assert np.abs(curve.predict(X) - other.predict_proba(X)[:, 1]).max() < 1e-3


@pytest.mark.parametrize("true", [TRUE, THREE], ids=["two", "three"])
def test_exact_scores_are_learned_to_within_a_hundredth(true):
    assert np.abs(ScoreRegression().fit(X, true).predict(X) - true).max() < 0.01


@pytest.mark.parametrize("true", [TRUE, THREE], ids=["two", "three"])
def test_scores_far_outside_of_0_and_1_do_not_bias_the_curve_but_clipped_they_do(true):
    noisy = true + np.random.default_rng(1).normal(0, 0.8, true.shape)
    extreme = true > 0.9
    bias = (ScoreRegression().fit(X, noisy).predict(X) - true)[extreme].mean()
    control = (ScoreRegression().fit(X, noisy.clip(0, 1)).predict(X) - true)[extreme].mean()
    assert abs(bias) < 0.03
    assert control < -0.1


@pytest.mark.nightly
def test_the_more_noise_the_stronger_the_regularisation():
    noise = np.random.default_rng(2).normal(size=(5, 100))
    few, typical = X[:100], []
    for sd in (0.01, 0.5):
        typical.append(np.median([ScoreRegression().fit(few, TRUE[:100] + sd * each).C_ for each in noise]))
    assert typical[0] > typical[1]


def test_a_shift_of_all_scores_of_a_row_changes_nothing():
    one = ScoreRegression(C=1.0).fit(X, THREE)
    other = ScoreRegression(C=1.0).fit(X, THREE + np.arange(2000)[:, None] / 1000)
    assert np.allclose(one.coef_, other.coef_, atol=1e-9)


@pytest.mark.parametrize("mean", [-0.3, 1.3])
def test_scores_that_no_probability_has_give_certainty(mean):
    probabilities = ScoreRegression().fit(X, np.full(2000, mean)).predict(X)
    assert np.abs(probabilities - round(mean)).max() < 1e-6


def test_sparse_rows_are_learned_as_dense_ones():
    sparse = ScoreRegression().fit(csr_matrix(X), THREE)
    assert np.allclose(sparse.predict(csr_matrix(X)), ScoreRegression().fit(X, THREE).predict(X), atol=1e-6)
