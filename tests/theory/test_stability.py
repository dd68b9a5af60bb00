"""Bounds on the change of SGD's weights, attained where possible; measured stabilities are right."""

from itertools import pairwise, permutations, product
from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import SGDClassifier

from dplearn.theory import (
    ORDERS,
    LossConstants,
    SGDStability,
    example_order,
    largest_step,
    logistic_constants,
    logistic_score_stability,
    logistic_sgd,
    measure_stability,
    published_weight_bound,
    sgd_stability,
)

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=200)


def fields(stability):
    return (stability.mean, stability.root_mean_square, stability.any_order, stability.surely)


# The bounds are those of all orders, gone through


def distance(order, replaced, steps, mu, gap):
    """How far apart SGD on mu/2 (w - z)^2 ends if one z is another: each step attains the inequalities."""
    apart = 0.0
    for j, step in zip(order, steps, strict=True):
        apart = (1 - step * mu) * apart + step * gap * (j == replaced)
    return apart


def all_orders(order, n, passes):
    if order == "sampling":
        return list(product(range(n), repeat=passes * n))
    each = [tuple(range(n))] if order == "in_turn" else list(permutations(range(n)))
    if order == "in_turn":
        return [each[0] * passes]
    return [sum(shuffled, ()) for shuffled in product(each, repeat=passes)]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize(("n", "passes"), [(1, 2), (2, 2), (3, 1), (3, 2)])
@pytest.mark.parametrize("mu", [0.0, 0.5, 1.0])
def test_mean_and_mean_square_are_those_of_all_orders_and_places(order, n, passes, mu):
    steps = [1 / (1 + t) for t in range(n * passes)]
    found = sgd_stability(LossConstants(0.5, 1.0, mu), steps, n, order=order)
    # No step is above 1, so the bounds multiply by 1 - step mu.
    table = [[distance(o, j, steps, mu, 1.0) for j in range(n)] for o in all_orders(order, n, passes)]
    moments = np.mean(table), np.sqrt(np.mean(np.square(table)))
    assert moments == pytest.approx((found.mean, found.root_mean_square), rel=1e-12)
    worst = np.sqrt(np.square(table).mean(axis=1).max())
    assert worst <= found.any_order * (1 + 1e-12)
    assert np.max(table) == pytest.approx(found.surely, rel=1e-12)
    if order == "in_turn":
        assert worst == pytest.approx(found.any_order, rel=1e-12)


@repeatable
@given(
    st.sampled_from(ORDERS),
    st.lists(st.floats(0.01, 2), min_size=1, max_size=12),
    st.integers(1, 7),
    st.floats(0, 1),
    st.sampled_from([None, 0.1, 3.0]),
)
def test_each_bound_is_at_most_the_next(order, steps, n, mu, diameter):
    found = fields(sgd_stability(LossConstants(1.0, 1.0, mu), steps, n, order=order, diameter=diameter))
    assert all(a <= b * (1 + 1e-9) for a, b in pairwise(found))
    assert found[-1] <= (diameter or inf)


def gradient(w, x, y, alpha, intercept):
    penalised = w * np.append(np.ones(len(w) - 1), not intercept)
    return alpha * penalised - y * x / (1 + np.exp(y * (x @ w)))


vectors = st.lists(st.floats(-1, 1), min_size=3, max_size=3).map(np.array)
signs = st.sampled_from([-1, 1])


@repeatable
@given(
    vectors,
    vectors,
    vectors,
    vectors,
    signs,
    signs,
    st.sampled_from([0.1, 1, 30]),
    st.sampled_from([0, 0.01, 3]),
    st.floats(0.1, 3),
    st.booleans(),
)
def test_no_step_does_more_than_the_constants_allow(w, v, x, z, y, other, size, alpha, relative, intercept):
    x, z = (each / max(1, np.linalg.norm(each)) * 2 for each in (x, z))  # norms of 2 at most
    if intercept:
        w, v, x, z = (np.append(each, one) for each, one in ((w, 0.3), (v, -0.4), (x, 1), (z, 1)))
    w, v = size * w, size * v
    constants = logistic_constants(2, alpha, intercept=intercept)
    step = relative * largest_step(constants)
    slow, fast = step * constants.strong_convexity, step * constants.smoothness
    growth = max(abs(1 - slow), abs(1 - fast))
    first, second = (each - step * gradient(each, x, y, alpha, intercept) for each in (w, v))
    assert np.linalg.norm(first - second) <= growth * np.linalg.norm(w - v) + 1e-9 * size
    if relative <= 1:
        assert growth == pytest.approx(1 - slow)
    apart = gradient(w, x, y, alpha, intercept) - gradient(w, z, other, alpha, intercept)
    assert np.linalg.norm(apart) <= 2 * constants.lipschitz + 1e-9
    moved = SGDStability(*[np.linalg.norm(w - v)] * 4)
    scores = [1 / (1 + np.exp(-x @ each)) for each in (w, v)]
    norm = sqrt(5) if intercept else 2
    assert abs(scores[0] - scores[1]) <= logistic_score_stability(moved, norm).mean + 1e-12


@pytest.mark.parametrize("order", ORDERS)
def test_the_mean_is_that_of_hardt_recht_and_singer_or_below(order):
    constants, steps = logistic_constants(2), 0.3 / np.sqrt(np.arange(1, 301))
    found = sgd_stability(constants, steps, 100, order=order).mean
    assert found == pytest.approx(2 * 2 / 100 * steps.sum())
    assert found == pytest.approx(published_weight_bound(constants, steps, 100))
    constants = logistic_constants(1, 0.1)
    for steps in (np.full(3000, 0.5), 2 / np.arange(1, 3001) ** 0.5):
        published = published_weight_bound(constants, steps, 100)
        assert published == pytest.approx(2 / (0.1 * 100))
        assert published * 0.99 < sgd_stability(constants, steps, 100, order=order).mean <= published


@pytest.mark.nightly
def test_sgd_that_answers_with_its_last_example_keeps_the_published_bound_and_never_concentrates():
    # (w - z)^2/2 on [-1, 1] with z = -1 or 1: L = 2, smoothness = mu = 1, steps of 1 = 1/smoothness.
    constants, n, rng = LossConstants(2.0, 1.0, 1.0), 400, np.random.default_rng(0)
    z, new = rng.choice([-1.0, 1.0], size=(2, 20_000, n))
    place = rng.integers(n, size=20_000)
    other = z.copy()
    other[np.arange(20_000), place] = new[np.arange(20_000), place]
    first, second = np.zeros(20_000), np.zeros(20_000)
    for t in range(n):
        first, second = first - (first - z[:, t]), second - (second - other[:, t])
    assert set(first) == {-1.0, 1.0}
    change = abs(first - second)
    assert change.mean() < published_weight_bound(constants, [1.0] * n, n) == 4 / n
    assert np.mean(change**2) > 50 * (4 / n) ** 2 / 2  # 2/n, not 16/n^2
    found = sgd_stability(constants, [1.0] * n, n, order="in_turn", diameter=2)
    assert np.mean(change**2) < found.root_mean_square**2 == pytest.approx(4 / n)


def drawn(n, seed=0):
    """Rows on the unit sphere and labels that depend on their first coordinate."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, (rng.random(n) < 1 / (1 + np.exp(-4 * X[:, 0]))).astype(int)


X, Y = drawn(4000)


def test_the_change_of_a_mean_is_measured_as_it_is():
    table, labels = np.zeros((3000, 1)), np.arange(3000) % 3 == 0

    def share(X, y, seed):
        return lambda queries: np.full(len(queries), y.mean())

    found = measure_stability(share, table, labels, table[:2], n_records=20, n_pairs=1000, seed=3)
    differ = 2 * (1 / 3) * (2 / 3)  # how often the new label is another
    assert abs(found.mean - differ / 20).max() < 5 * found.mean_error.max()
    assert abs(found.mean_square - differ / 400).max() < 5 * found.mean_square_error.max()
    assert found.root_mean_square == sqrt(found.mean_square.max())
    assert found.mean_error == pytest.approx([sqrt(differ * (1 - differ) / 1000) / 20] * 2, rel=0.05)


def test_a_seed_gives_the_same_pairs_both_of_a_pair_have_one_chance_and_places_are_replaced_alike():
    seeds, kept = [], []

    def learner(X, y, seed):
        seeds.append(seed)
        kept.append(X[:, 0])
        return lambda queries: np.array([X.sum()])

    found = [measure_stability(learner, X, Y, None, n_records=5, n_pairs=4, seed=8) for _ in range(2)]
    assert found[0].mean == found[1].mean
    assert seeds[:8] == seeds[8:]
    assert seeds[::2] == seeds[1::2]
    assert len(set(seeds)) == 4
    kept.clear()
    measure_stability(learner, np.arange(400.0)[:, None], np.zeros(400), None, n_records=5, n_pairs=2000)
    places = [int(np.flatnonzero(a != b)[0]) for a, b in zip(kept[::2], kept[1::2], strict=True)]
    assert all((a != b).sum() == 1 for a, b in zip(kept[::2], kept[1::2], strict=True))
    assert abs(np.bincount(places, minlength=5) - 400).max() < 5 * sqrt(2000 * 0.2 * 0.8)


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
