"""Points of several labels with exceptions, learned among the keys that a stable histogram publishes."""

import math
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from dplearn import PointClassifier
from dplearn.audit import Mutant, distribution_on, how_caught, least_exp_epsilon
from dplearn.audit.cases import CASES
from dplearn.audit.cases import point as point_cases
from dplearn.chance import SeededDice
from dplearn.learners.rules import point, point_sizes
from dplearn.mechanisms import select_exponential
from dplearn.privacy import ApproxDP
from dplearn.theory import sanitized_point_failure, sanitized_point_sample_size

BUDGET = {"epsilon": 1, "delta": 1e-6}


def learner(**parameters):
    return PointClassifier(**{"delta": 1e-6, "classes": [0, 1], "random_state": 0} | parameters)


def noisy_points(k, n, seed, share=0.2):
    """Nine keys of probability .105, each the point of some outputs, among rare ones; labels are flipped."""
    rng = np.random.default_rng(seed)
    keys = rng.choice(10, n, p=[0.105] * 9 + [0.055])
    X = np.where(keys < 9, keys, rng.integers(100, 10**6, n))[:, None]
    points = np.arange(k) % 9
    return X, ((points == X) ^ (rng.random((n, k)) < share)).astype(int), points.tolist()


def test_auto_takes_it_for_several_outputs_where_it_is_proved_to_be_as_accurate_as_stability():
    needed = sanitized_point_sample_size(**BUDGET, alpha=0.1, beta=0.05, n_outputs=3)
    plans = [learner().plan(n, n_outputs=3) for n in (needed - 1, needed)]
    assert [plan.method for plan in plans] == ["stability", "sanitizer"]
    assert all(plan.failure <= 0.05 and plan.n_needed == 415 for plan in plans)
    assert learner().plan(10**6).method == "stability"
    assert learner(n_keys=2).plan(10**6).method == "hashing"
    X, Y, points = noisy_points(3, needed, 0)
    fitted = learner().fit(X, Y)
    assert (fitted.method_, fitted.point_) == ("sanitizer", points)


@pytest.mark.parametrize(
    ("epsilon", "delta", "alpha", "n"), [(1, 1e-3, 0.3, 25), (120, 0.01, 0.15, 4), (10, 1e-9, 0.2, 30)]
)
def test_the_probability_that_a_key_is_not_published_is_the_exact_sum(epsilon, delta, alpha, n):
    threshold, ratio = point_sizes.histogram_threshold(Fraction(epsilon), Fraction(str(delta)))
    share, ratio, wanted = Fraction(str(alpha)), Fraction(ratio), 0
    for count in range(n + 1):
        silent = 1 - ratio ** (threshold - count) / (1 + ratio) if 0 < count < threshold else 1
        silent = ratio ** (count - threshold + 1) / (1 + ratio) if count >= threshold else silent
        wanted += math.comb(n, count) * share**count * (1 - share) ** (n - count) * silent
    found = point_sizes.unreleased(n, Fraction(epsilon), Fraction(str(delta)), alpha)
    assert found == pytest.approx(float(wanted), rel=1e-9)


@pytest.mark.parametrize("epsilon", [1e-9, 0.1, 1, 210, 1e6])
@pytest.mark.parametrize("n_keys", [1, 55, 100])
@pytest.mark.parametrize("n_outputs", [1, 32])
def test_plans_of_any_allowed_size_have_a_failure_that_is_a_probability(epsilon, n_keys, n_outputs):
    plan = learner(method="sanitizer", epsilon=epsilon, n_keys=n_keys).plan(1000, n_outputs=n_outputs)
    assert 0 <= plan.failure <= 1
    assert plan.n_needed > 0


def test_several_keys_are_named():
    X = [["a"]] * 300 + [[7]] * 300 + [[f"other {i}"] for i in range(300)]
    fitted = learner(method="sanitizer", n_keys=3).fit(X, [1] * 600 + [0] * 300)
    assert set(fitted.point_) == {"a", 7}
    assert fitted.predict([["a"], [7.0], ["7"], ["other 1"]]).tolist() == [1, 1, 0, 0]
    assert repr(fitted.concept_) in ("1 if x0 in {'a', 7}, else 0", "1 if x0 in {7, 'a'}, else 0")
    one = learner(method="sanitizer", n_keys=3).fit(X[:300] + X[600:], [1] * 300 + [0] * 300)
    assert repr(one.concept_) == "1 if x0 == 'a', else 0"
    two = learner(method="sanitizer", n_keys=2, classes=[[0, 1], ["-", "+"]])
    labels = [[1, "-"]] * 300 + [[1, "+"]] * 300 + [[0, "-"]] * 300
    assert two.fit(X, np.array(labels, dtype=object)).predict([["a"], [7]]).tolist() == [[1, "-"], [1, "+"]]


def test_without_published_keys_it_predicts_the_first_label():
    fitted = learner(method="sanitizer").fit([["a"], ["b"]], [1, 0])
    assert fitted.abstained_
    assert repr(fitted.concept_) == "0 always"


def test_the_selected_set_is_that_of_the_exponential_mechanism_over_all_sets_of_keys():
    nets, ones, epsilon = np.array([5, 3, -2, 0]), 9, Fraction(1, 2)
    sets = point.sets_of(nets, 2, 20, epsilon)
    assert type(sets).__name__ == "BucketSets"
    every = [each for size in range(3) for each in combinations(range(4), size)]
    weights = np.array([np.exp(-0.25 * (ones - sum(nets[list(each)]))) for each in every])
    wanted = dict(zip(every, weights / weights.sum(), strict=True))
    dice, found = SeededDice(0), dict.fromkeys(every, 0)
    for _ in range(4000):
        found[
            point.chosen_set(
                sets, ones, lambda *groups: select_exponential(*groups, privacy=ApproxDP(epsilon), dice=dice)
            )
        ] += 1
    off = [(found[each] / 4000 - wanted[each]) / np.sqrt(wanted[each] / 4000) for each in every]
    assert np.abs(off).max() < 5


@pytest.mark.parametrize(("n_outputs", "n_keys"), [(1, 1), (3, 1), (1, 2)])
def test_the_bound_on_the_failure_holds_for_distributions_that_are_hard_for_it(n_outputs, n_keys):
    sizes = {"epsilon": 3, "delta": 1e-3, "alpha": 0.2, "n_outputs": n_outputs, "n_keys": n_keys}
    needed = sanitized_point_sample_size(**sizes, beta=0.2)
    assert sanitized_point_failure(needed - 1, **sizes) > 0.2
    rng, failures, runs = np.random.default_rng(1), 0, 25
    for seed in range(runs):
        masses = [0.11] * n_keys + [0.1] * 6  # one key too many, or one that is missing, exceeds alpha
        keys = rng.choice(len(masses) + 1, needed, p=[*masses, 1 - sum(masses)])
        Y = np.repeat((keys < n_keys)[:, None], n_outputs, axis=1).astype(int)
        fitted = learner(method="sanitizer", epsilon=3, delta=1e-3, n_keys=n_keys, random_state=seed)
        fitted.fit(keys[:, None], Y if n_outputs > 1 else Y[:, 0])
        points = fitted.point_ if n_outputs > 1 else [fitted.point_]
        chosen = [set() if p is None else set(p) if n_keys > 1 else {p} for p in points]
        wrong = [sum(([*masses, 0])[key] for key in each ^ set(range(n_keys))) for each in chosen]
        failures += max(wrong) > 0.2
    assert failures <= 0.2 * runs  # in fact none or one; with a tenth of the records nearly all fail


def whole_budget_for_each_output(privacy, n_outputs):
    half = ApproxDP(privacy.epsilon / 2, privacy.delta / 2)
    return half, ApproxDP(half.epsilon)


def the_whole_budget_twice(privacy, n_outputs):
    return privacy, ApproxDP(privacy.epsilon / n_outputs)


def candidates_are_all_keys(keys, *, privacy, dice):
    return {key: 1 for key, _ in keys}


#: Neighbours whose labels in five outputs change the majority at a key; a sixth label keeps the key counted.
ONES, ZEROS = ("a", 1, 1, 1, 1, 1, 1), ("a", 0, 0, 0, 0, 0, 1)
MAJORITY = point_cases.point_case(
    "majority",
    point_cases.point_model(method="sanitizer", epsilon=6.0, delta=Fraction(1, 5)),
    ApproxDP(6, Fraction(1, 5)),
    keys=("a",),
    n=3,
    n_outputs=6,
    rules=None,
)


def exact_epsilon():
    both = [
        distribution_on(MAJORITY.fit, rows, 0) for rows in ((ONES,) * 2 + (ZEROS,), (ONES,) + (ZEROS,) * 2)
    ]
    return math.log(least_exp_epsilon(*both, Fraction(1, 5))[0])


def test_the_whole_budget_for_each_output_breaks_the_claim(monkeypatch):
    assert 1 < exact_epsilon() <= 6
    monkeypatch.setattr(point, "sanitized_shares", whole_budget_for_each_output)
    assert exact_epsilon() > 6


@pytest.mark.parametrize(
    ("name", "where", "mistake"),
    [
        ("point_sanitizer", "sanitized_shares", the_whole_budget_twice),
        ("point_sanitizer_of_sets", "stable_histogram", candidates_are_all_keys),
    ],
)
def test_mistakes_are_caught(monkeypatch, name, where, mistake):
    case = CASES[name]
    assert case.digest() == case.frozen()["digest"]
    monkeypatch.setattr(point, where, mistake)
    assert how_caught(Mutant(mistake.__name__, case, case.fit))
