"""Thresholds in several dimensions: cuts of all columns, and the least number of records."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from dplearn import CornerClassifier, ExponentialMechanismClassifier
from dplearn.domains import Floats, Grid, IntegerRange
from dplearn.privacy import ApproxDP
from dplearn.theory import corner_lower_bound, interior_point_lower_bound


def corner(**parameters):
    return CornerClassifier(**{"classes": [0, 1], "domain": IntegerRange(0, 9), **parameters})


@pytest.mark.parametrize("n_columns", [1, 2, 4])
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_at_the_size_of_the_plan_the_error_is_at_most_alpha_and_no_record_outside_is_inside(n_columns, delta):
    learner = corner(delta=delta, epsilon=5, alpha=0.2, beta=0.1)
    n, rng = learner.plan(1, n_features=n_columns).n_needed, np.random.default_rng(0)
    failed = 0
    for _ in range(30):
        X = rng.integers(0, 10, (n, n_columns))
        y = (X <= 7).all(axis=1).astype(int)
        predicted = learner.fit(X, y).predict(X)
        assert float(learner.guarantee_.delta) in (0, delta)
        failed += (predicted != y).mean() > 0.2 or bool((predicted > y).any())
    assert failed <= 6  # 3 expected at most


def test_a_large_epsilon_cuts_at_a_record_of_the_inner_label():
    X, y = load_iris(return_X_y=True)
    inside = (y < 2).astype(int)
    learner = CornerClassifier(epsilon=1e3, delta=0, domain=Grid(0, 10, 101), classes=[0, 1])
    assert learner.fit(X, inside).score(X, inside) > 0.85
    rule = repr(learner.concept_)
    assert rule.startswith("1 if x0 < ")
    assert rule.endswith(", else 0")
    assert rule.count(" and ") == 3


def test_a_disjunction_is_a_corner_with_both_labels_exchanged():
    X = np.random.default_rng(0).integers(0, 10, (20_000, 3))
    y = np.where((X > 7).any(axis=1), "a", "b")  # a disjunction, of the first label
    assert corner(classes=["a", "b"], epsilon=4).fit(X, y).score(X, y) > 0.95


def test_the_lower_bound_is_that_of_interior_points_times_columns_and_below_what_the_learner_needs():
    asked = {"epsilon": 1, "alpha": 0.05, "beta": 0.05}
    for delta in (0, 1e-6):
        one, ten = (corner_lower_bound(d, 2**32, delta=delta, **asked) for d in (1, 10))
        assert ten - 1 == pytest.approx(10 * (one - 1), rel=0.05)
        two = ApproxDP(1, delta).for_group(2)
        codes = interior_point_lower_bound(2**31, epsilon=2, delta=two.delta, beta=0.05 + 2 * 0.201) - 1
        assert one > 0.2 / 0.05 * (codes // 2 * 2)
        learner = CornerClassifier(domain=IntegerRange(0, 2**32 - 1), delta=delta, alpha=0.05)
        assert 1 < ten < learner.plan(100, n_features=10).n_needed
    assert corner_lower_bound(3, 2**32, epsilon=1, alpha=0.5, beta=0.5) == 1


def test_delta_is_spent_only_where_it_buys_something_and_the_label_inside_may_be_either():
    assert corner().plan(1000, n_features=3).guarantee.delta == 0
    assert corner().plan(1000, n_features=9).guarantee.delta > 0
    X = np.random.default_rng(0).integers(0, 10, (9000, 2))
    low = np.where((X <= 6).all(axis=1), "a", "b")
    for positive, right in (("a", 0.95), ("b", 0)):
        score = corner(classes=["a", "b"], positive=positive, epsilon=4).fit(X, low).score(X, low)
        assert right <= score <= right + 0.1 or (positive == "b" and score < 0.6)


WIDE = IntegerRange(0, 2**40)  # too many values for all corners of three columns


@pytest.mark.parametrize(("domain", "method"), [(Grid(0, 10, 21), "exponential"), (WIDE, "interior_point")])
def test_noisy_labels_are_not_labelled_worse_than_by_the_most_frequent_label(domain, method):
    rng, learner = np.random.default_rng(0), CornerClassifier(epsilon=2, domain=domain, classes=[0, 1])
    X = rng.integers(0, 11, (6000, 3))
    y = (X <= [7, 9, 8]).all(axis=1) ^ (rng.random(6000) < 0.2)
    plan, worst = learner.plan(6000, n_features=3), 1
    for labels, constant in ((y, max(y.mean(), 1 - y.mean())), (rng.random(6000) < 0.1, 0.9)):
        worst = min(worst, learner.fit(X, labels.astype(int)).score(X, labels) - constant)
    assert worst >= -plan.excess_of_constant > -0.06
    assert learner.method_ == plan.method == method
    if method == "exponential":
        assert learner.fit(X, y.astype(int)).score(X, y) > 0.8 - plan.excess_error
    assert plan.n_needed > learner.set_params(domain=Grid(0, 10, 11)).plan(6000, n_features=3).n_needed


def test_all_corners_are_compared_as_far_as_their_errors_can_be_counted():
    def method_for(n, n_columns, **domain):
        return corner(**domain).plan(n, n_features=n_columns).method

    floats = {"domain": Floats()}
    assert method_for(10**6, 6) == method_for(4095, 2, **floats) == method_for(4096, 2, **floats)
    assert {method_for(10**6, 8), method_for(9, 3, **floats)} == {"interior_point"}
    tree = ExponentialMechanismClassifier("corners", domain=IntegerRange(0, 9), classes=[0, 1])
    assert tree.plan(100, n_features=4).class_size == 2 * 2**4 * 11**4
    with pytest.raises(ValueError, match=r"at most 2\*\*24 combinations of cuts between 100 records.*in 64"):
        tree.plan(100, n_features=6)


@pytest.mark.parametrize(("n_columns", "domain"), [(2, Floats()), (3, IntegerRange(0, 255)), (3, Floats())])
def test_the_needed_number_does_not_depend_on_the_number_of_records(n_columns, domain):
    needed = corner(domain=domain).plan(1, n_features=n_columns).n_needed
    for n in (needed, 2 * needed, 4096, 10**6):
        plan = corner(domain=domain).plan(n, n_features=n_columns)
        assert plan.n_needed == needed
        assert plan.n_examples >= needed or plan.method == "interior_point"


@pytest.mark.parametrize("n", [2025, 4095, 4096, 6000])
def test_more_records_than_can_be_counted_are_no_worse(n):
    points, labels = np.array([[0, 0], [3, 0], [0, 3], [255, 255]], dtype=float), np.array([1, 1, 1, 0])
    masses, failures = np.array([0.598, 0.051, 0.051, 0.3]), 0
    for seed in range(10):
        rows = np.random.default_rng(seed).choice(4, n, p=masses)
        model = CornerClassifier(classes=[0, 1], random_state=seed).fit(points[rows], labels[rows])
        failures += masses @ (model.predict(points) != labels) > 0.1
    assert failures <= 1
    assert CornerClassifier(classes=[0, 1]).plan(n, n_features=2).n_needed == 2025
