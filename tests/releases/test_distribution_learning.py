"""The linear program finds the distribution nearest to the answers, as near as the records' own or nearer."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dplearn.releases import learned_distribution


def of_records(generator, n_values, n=500):
    return np.bincount(generator.integers(0, n_values, n) ** 2 // n_values, minlength=n_values) / n


@pytest.mark.parametrize("alpha", [0.0, 0.01, 0.2])
@pytest.mark.parametrize("kind", ["thresholds", "random"])
def test_the_answers_are_within_alpha_and_the_truth_within_twice_that(alpha, kind):
    generator = np.random.default_rng(0)
    truth = of_records(generator, 40)
    queries = np.tri(40) if kind == "thresholds" else (generator.random((25, 40)) < 0.3).astype(float)
    answers = queries @ truth + generator.uniform(-alpha, alpha, len(queries))
    learned = learned_distribution(queries, answers)
    assert learned.weights.min() >= 0
    assert learned.weights.sum() == pytest.approx(1)
    assert learned.discrepancy <= alpha + 1e-9
    assert np.abs(queries @ (learned.weights - truth)).max() <= 2 * alpha + 1e-9


def test_no_other_distribution_is_nearer():
    generator = np.random.default_rng(1)
    queries, answers = np.tri(6), np.append(generator.random(5), 1.0)
    least = learned_distribution(queries, answers).discrepancy
    others = generator.dirichlet(np.full(6, 0.5), 2000) @ queries.T
    assert np.abs(others - answers).max(axis=1).min() >= least > 0.1


def test_sparse_queries_give_the_same():
    answers = [0.2, 0.1, 0.9]
    dense, sparse = (learned_distribution(queries, answers) for queries in (np.tri(3), csr_matrix(np.tri(3))))
    assert dense.weights.tolist() == sparse.weights.tolist()


@pytest.mark.parametrize(
    ("queries", "answers", "said"),
    [
        ([[0, 1]], [0.5, 0.5], "answers must have shape"),
        ([[0, 2]], [0.5], "queries lie between 0 and 1"),
        ([[0, np.nan]], [0.5], "must be finite"),
        ([[0, 1]], [np.inf], "must be finite"),
        (np.empty((1, 0)), [0.5], "answers must have shape"),
    ],
)
def test_bad_input_is_named(queries, answers, said):
    with pytest.raises(ValueError, match=said):
        learned_distribution(queries, answers)
