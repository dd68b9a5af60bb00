"""Measured stabilities are right, and do not depend on shuffling on average."""

from math import sqrt

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier

from dplearn.theory import (
    decaying_steps,
    example_order,
    largest_step,
    logistic_constants,
    logistic_score_stability,
    logistic_sgd,
    measure_stability,
    sgd_stability,
)


def drawn(n, seed=0):
    """Rows on the unit sphere and labels that depend on their first coordinate."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, (rng.random(n) < 1 / (1 + np.exp(-4 * X[:, 0]))).astype(int)


def sigmoid_scores(weights):
    return lambda queries: 1 / (1 + np.exp(-queries @ weights))


def plain_sgd(steps, order, alpha):
    def learner(X, y, seed):
        return sigmoid_scores(
            logistic_sgd(X, y, example_order(len(X), len(steps), order, seed), steps, alpha=alpha)
        )

    return learner


X, Y = drawn(4000)
QUERIES = np.vstack([np.eye(3), -np.eye(3)])


# measure_stability


def test_the_change_of_a_mean_is_measured_as_it_is():
    table, labels = np.zeros((3000, 1)), np.arange(3000) % 3 == 0

    def share(X, y, seed):
        return lambda queries: np.full(len(queries), y.mean())

    found = measure_stability(share, table, labels, table[:2], n_records=20, n_pairs=3000, seed=3)
    differ = 2 * (1 / 3) * (2 / 3)  # how often the new label is another
    assert abs(found.mean - differ / 20).max() < 5 * found.mean_error.max()
    assert abs(found.mean_square - differ / 400).max() < 5 * found.mean_square_error.max()
    assert found.root_mean_square == sqrt(found.mean_square.max())
    assert found.mean_error == pytest.approx([sqrt(differ * (1 - differ) / 3000) / 20] * 2, rel=0.05)


def test_the_same_seed_gives_the_same_pairs_and_both_of_a_pair_the_same_chance():
    seeds = []

    def learner(X, y, seed):
        seeds.append(seed)
        return lambda queries: np.array([X.sum()])

    found = [measure_stability(learner, X, Y, None, n_records=5, n_pairs=4, seed=8) for _ in range(2)]
    assert found[0].mean == found[1].mean
    assert seeds[:8] == seeds[8:]
    assert seeds[::2] == seeds[1::2]
    assert len(set(seeds)) == 4


def test_every_place_is_replaced_about_equally_often():
    counts = np.zeros(5)
    kept = []

    def learner(X, y, seed):
        kept.append(X[:, 0])
        return lambda queries: np.zeros(1)

    measure_stability(learner, np.arange(400.0)[:, None], np.zeros(400), None, n_records=5, n_pairs=2000)
    for first, other in zip(kept[::2], kept[1::2], strict=True):
        (place,) = np.flatnonzero(first != other)
        counts[place] += 1
    assert abs(counts - 400).max() < 5 * sqrt(2000 * 0.2 * 0.8)


@pytest.mark.parametrize(("name", "value"), [("n_records", 4000), ("n_records", 0), ("n_pairs", 1)])
def test_numbers_that_cannot_be_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name} must be"):
        measure_stability(plain_sgd([1.0], "in_turn", 0), X, Y, QUERIES, **{"n_records": 3, name: value})


# Orders and the learner


def test_orders_are_as_documented():
    assert example_order(3, 7, "in_turn", 0).tolist() == [0, 1, 2, 0, 1, 2, 0]
    shuffled = example_order(50, 120, "permutation", 1).reshape(-1)
    assert sorted(shuffled[:50]) == sorted(shuffled[50:100]) == list(range(50))
    assert len(set(shuffled[100:])) == 20
    assert shuffled[:50].tolist() != shuffled[50:100].tolist()
    counts = np.bincount(example_order(4, 40_000, "sampling", 2), minlength=4)
    assert abs(counts - 10_000).max() < 5 * sqrt(40_000 * 3 / 16)


@pytest.mark.parametrize("passes", [1, 3])
def test_the_learner_is_scikit_learns_without_its_shuffling_and_intercept(passes):
    alpha, rows, labels = 0.3, X[:200], Y[:200]
    options = {"loss": "log_loss", "alpha": alpha, "fit_intercept": False, "shuffle": False, "tol": None}
    first = alpha**-0.25  # the step that its schedule begins with
    start = 1 / (first * alpha)
    optimal = 1 / (alpha * (start + np.arange(200 * passes)))
    order = example_order(200, 200 * passes, "in_turn", 0)
    for rule, steps in (("optimal", optimal), ("constant", np.full(200 * passes, 0.5))):
        theirs = SGDClassifier(**options, learning_rate=rule, eta0=0.5, max_iter=passes)
        ours = logistic_sgd(rows, labels, order, steps, alpha=alpha)
        assert theirs.fit(rows, labels).coef_[0] == pytest.approx(ours, rel=1e-9)


# The bounds, for learners as they are called


@pytest.mark.first_by_day
@pytest.mark.parametrize("order", ["permutation", "sampling", "in_turn"])
def test_measured_scores_change_less_than_the_bound(order):
    constants, n = logistic_constants(1, 0.5), 80
    steps = decaying_steps(constants, n)
    bound = logistic_score_stability(sgd_stability(constants, steps, n, order=order), 1)
    found = measure_stability(plain_sgd(steps, order, 0.5), X, Y, QUERIES, n_records=n, n_pairs=150, seed=1)
    assert (found.mean + 5 * found.mean_error < bound.mean).all()
    assert (found.mean_square + 5 * found.mean_square_error < bound.root_mean_square**2).all()
    assert bound.root_mean_square < 12 * found.root_mean_square


@pytest.mark.nightly
def test_scikit_learns_classifier_with_its_intercept_keeps_the_bound():
    constants, n = logistic_constants(1, 0.1, intercept=True), 60
    bound = sgd_stability(constants, np.full(2 * n, 0.5), n)

    def learner(X, y, seed):
        model = SGDClassifier(
            loss="log_loss",
            alpha=0.1,
            learning_rate="constant",
            eta0=0.5,
            max_iter=2,
            tol=None,
            random_state=seed,
        )
        return lambda queries: model.fit(X, y).predict_proba(queries)[:, 1]

    found = measure_stability(learner, X, Y, QUERIES, n_records=n, n_pairs=100, seed=2)
    scores = logistic_score_stability(bound, sqrt(2))
    assert (found.mean_square + 5 * found.mean_square_error < scores.root_mean_square**2).all()


@pytest.mark.nightly
def test_a_learner_with_too_large_steps_measurably_violates_the_bound():
    constants, n = logistic_constants(1, 0.5), 80
    steps = decaying_steps(constants, n)
    bound = logistic_score_stability(sgd_stability(constants, steps, n, order="permutation"), 1)
    huge = plain_sgd(np.full(n, 2.4 * largest_step(constants)), "permutation", 0.5)
    found = measure_stability(huge, X, Y, QUERIES, n_records=n, n_pairs=600, seed=1)
    assert (found.mean - 5 * found.mean_error > bound.mean).all()
    assert (found.mean_square - 5 * found.mean_square_error > bound.root_mean_square**2).all()


# Theorem 2: on average no shuffling is needed


def one_pass(X, y, steps):
    return logistic_sgd(X, y, np.arange(X.shape[-2]), steps, alpha=0.1)


def mean_squares(arranged, *, n=20, runs=40_000, seed=4):
    """Measured mean square of the change of weights in one pass, as the rows stand and shuffled before.

    Steps fall so fast that most depends on the first examples; `arranged` may put rows in an order.
    """
    rng, steps = np.random.default_rng(seed), 4 / np.arange(1, n + 1)
    table, labels = drawn(runs * (n + 1), seed)
    table, labels = arranged(table.reshape(runs, n + 1, 3), labels.reshape(runs, n + 1))
    places = np.tile(np.arange(n), (runs, 1))
    replaced = places.copy()
    replaced[np.arange(runs), rng.integers(n, size=runs)] = n
    found = []
    for shuffled in (places, rng.permuted(places, axis=1)):
        pair = []
        for chosen in (places, replaced):
            where = np.take_along_axis(chosen, shuffled, 1)
            rows, of = np.take_along_axis(table, where[..., None], 1), np.take_along_axis(labels, where, 1)
            pair.append(one_pass(rows, of, steps))
        found.append(np.sum((pair[0] - pair[1]) ** 2, axis=1))
    means, errors = np.mean(found, axis=1), np.std(found, axis=1) / sqrt(runs)
    return means, sqrt(errors @ errors)


@pytest.mark.nightly
def test_independent_examples_need_no_shuffling():
    (plain, shuffled), error = mean_squares(lambda rows, labels: (rows, labels))
    assert abs(plain - shuffled) < 4 * error
    assert error < 0.03 * plain


@pytest.mark.nightly
def test_examples_that_stand_in_an_order_do():
    def faded(rows, labels):
        # The first rows are long, the rest are short; so is the one that takes another's place.
        length = np.where(np.arange(rows.shape[1]) < 2, 1.0, 0.1)
        return rows * length[:, None], labels

    (plain, shuffled), error = mean_squares(faded)
    assert plain - shuffled > 20 * error
