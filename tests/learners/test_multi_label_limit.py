"""No private rule beats the bounds for several labels, by linear programs over all rules at small sizes."""

import math
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from dplearn import (
    ApproxDP,
    ExponentialMechanismClassifier,
    LineClassifier,
    ParityClassifier,
    PointClassifier,
    PrivateMultiOutputClassifier,
    ThresholdClassifier,
    ZeroConcentratedDP,
)
from dplearn.audit import BonehShawCode, TardosCode
from dplearn.domains import IntegerRange
from dplearn.learners.limits import Task, failure_of, least_failure, least_of_outputs, mean_sinh
from dplearn.theory import (
    least_sample_size,
    multi_label_lower_bound,
    pure_private_lower_bound,
    stable_point_sample_size,
)
from tests.learners.private_rules import best_rule, tables_of

ASKED = {"epsilon": 1.0, "alpha": 0.05, "beta": 0.05}
DELTA = 1e-6


def excess_of(epsilon, delta):
    return delta / math.expm1(epsilon)


# Packing.


def best_packing(k, n, epsilon, delta):
    """The best chance to return the label, in the worst case over all tables of n equal labels."""
    size = 2**k
    payoffs = [[((label,) * n, label, 1.0)] for label in range(size)]
    return best_rule(tables_of(size, n), size, size, payoffs, epsilon, delta)


@pytest.mark.parametrize("delta", [0.0, 0.02])
@pytest.mark.parametrize(("epsilon", "sizes"), [(1.0, range(1, 8)), (0.3, (1, 4, 10)), (2.5, (1, 2, 3))])
def test_one_label_fails_exactly_as_often_as_the_bound_says(epsilon, sizes, delta):
    for n in sizes:
        bound = least_failure(np.array([n]), 0.0, -math.inf, epsilon, excess_of(epsilon, delta))[0]
        assert 1 - best_packing(1, n, epsilon, delta) == pytest.approx(bound, abs=1e-7)


@pytest.mark.parametrize("delta", [0.0, 0.02])
@pytest.mark.parametrize("k", [1, 2])
def test_no_private_rule_has_fewer_records_than_the_function_says(k, delta):
    asked = {"epsilon": 1.2, "delta": delta, "alpha": 0.3, "beta": 0.15}
    records = multi_label_lower_bound(k, task="realizable", **asked)
    assert 2 <= records <= 5
    assert best_packing(k, records - 1, asked["epsilon"], delta) < 1 - asked["beta"]


@pytest.mark.parametrize("delta", [0.0, 0.03])
@pytest.mark.parametrize(("n", "share"), [(1, 0.5), (3, 0.5), (4, 0.3)])
def test_no_private_rule_beats_the_packing_with_records_elsewhere(n, share, delta):
    epsilon, k = 1.0, 2
    payoffs = []
    for label in range(2**k):  # record 0 is elsewhere
        counts = [(m, binom.pmf(m, n, share)) for m in range(n + 1)]
        payoffs.append([((0,) * (n - m) + (1 + label,) * m, label, p) for m, p in counts])
    best = best_rule(tables_of(1 + 2**k, n), 1 + 2**k, 2**k, payoffs, epsilon, delta)
    assert best <= 1 - failure_of(share, math.log(3), -math.inf, epsilon, n, excess_of(epsilon, delta)) + 1e-7


def best_j(k, n, epsilon, delta):
    """The bound with every j tried, as it is written in the Notes of `packing_records`."""
    excess, rivals = excess_of(epsilon, delta), 2.0**k - 1
    found = [0.0]
    for j in range(n + 1):
        a, t = rivals * math.exp(-epsilon * (n - j)), math.exp(epsilon * j)
        found.append((1 + a * (1 + 2 * excess - excess * t) - 1 - rivals * excess) / (1 + a * t))
    return max(found)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 1e-9, 1e-3])
def test_the_best_j_is_found_with_delta(epsilon, delta):
    for k in (1, 5, 40):
        for n in (1, 7, 40):
            found = least_failure(
                np.array([n]), math.log(2**k - 1), -math.inf, epsilon, excess_of(epsilon, delta)
            )
            assert found[0] == pytest.approx(best_j(k, n, epsilon, delta), rel=1e-4, abs=1e-9)
            assert found[0] <= best_j(k, n, epsilon, delta) * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(("d", "n"), [(1, 2), (2, 1), (2, 2), (2, 3)])
@pytest.mark.parametrize("delta", [0.0, 0.03])
def test_no_private_rule_finds_a_parity_of_uniform_records_more_often(d, n, delta):
    epsilon, points = 1.5, range(2**d)
    payoffs = []
    for parity in points:
        labelled = [2 * x + bin(x & parity).count("1") % 2 for x in points]
        payoffs.append([(table, parity, 1 / 2 ** (d * n)) for table in product(labelled, repeat=n)])
    best = best_rule(tables_of(2 ** (d + 1), n), 2 ** (d + 1), 2**d, payoffs, epsilon, delta)
    bound = failure_of(1.0, math.log(2**d - 1), -math.inf, epsilon, n, excess_of(epsilon, delta))
    assert best <= 1 - bound + 1e-7


# Labels that nothing decides.


def correlation_bound(k, n, epsilon, delta):
    """What the proof allows for the mean of sum_j f_j p_j."""
    return n * k * (math.sinh(epsilon / 2) * math.sqrt(2 / (3 * k)) + delta * (1 + math.exp(-epsilon)) / 3)


def best_correlation(k, n, epsilon, delta):
    """The greatest mean of sum_j f_j p_j over all private rules, by symmetry in the order of records."""
    chance = Counter()
    paid = Counter()
    for rows in product(range(2**k), repeat=n):
        table = tuple(sorted(rows))
        ones = [sum(row >> j & 1 for row in rows) for j in range(k)]
        # Each order of s ones among n records is equally likely: (n choose s) of them have 1 / (n + 1).
        likely = math.prod(1 / (n + 1) / math.comb(n, s) for s in ones)
        chance[table] += likely
        for signs in range(2**k):
            means = [(1 if signs >> j & 1 else -1) * (2 * s - n) / (n + 2) for j, s in enumerate(ones)]
            paid[table, signs] += likely * sum(means)
    assert sum(chance.values()) == pytest.approx(1)
    payoff = [(table, signs, value) for (table, signs), value in paid.items()]
    return best_rule(tables_of(2**k, n), 2**k, 2**k, [payoff], epsilon, delta)


@pytest.mark.parametrize(("k", "sizes"), [(1, (1, 2, 5, 12)), (2, (1, 2, 4)), (3, (1, 2))])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("delta", [0.0, 0.02])
def test_no_private_rule_agrees_with_means_more_than_the_proof_allows(k, sizes, epsilon, delta):
    for n in sizes:
        best = best_correlation(k, n, epsilon, delta)
        assert 0 <= best <= correlation_bound(k, n, epsilon, delta) + 1e-9


def best_sign(n, means, epsilon, delta, alpha):
    """The best chance of an accurate sign, in the worst case over some means of which none is below alpha."""
    payoffs = []
    for p in means:
        assert abs(p) > alpha
        right = int(p > 0)
        law = binom.pmf(range(n + 1), n, (1 + p) / 2)
        payoffs.append([((0,) * (n - s) + (1,) * s, right, law[s]) for s in range(n + 1)])
    return best_rule(tables_of(2, n), 2, 2, payoffs, epsilon, delta)


@pytest.mark.parametrize("delta", [0.0, 1e-4])
def test_no_agnostic_rule_has_fewer_records_than_the_function_says(delta):
    asked = {"epsilon": 0.05, "delta": delta, "alpha": 0.05, "beta": 0.1}
    records = multi_label_lower_bound(1, task="agnostic", **asked)
    assert records >= 15
    best = best_sign(records - 1, [-0.4, -0.06, 0.06, 0.4], 0.05, delta, 0.05)
    assert best < 0.9


# Thresholds.


def threshold_mean(k, values, n, share, epsilon, delta):
    """Return the greatest mean over v of Z_v over all private rules, and what the proof allows.

    Record (0, all labels 1) has probability 1 - share; the others are at 1..V. A hypothesis has any label at
    each of 1..V; only its mean there matters, so it is one of 0..V for each output.
    """
    records = [(0, (1,) * k), *product(range(1, values + 1), product((0, 1), repeat=k))]
    code = {record: i for i, record in enumerate(records)}
    means = list(product(range(values + 1), repeat=k))
    paid = Counter()
    places = [(0, 1 - share), *((v, share / values) for v in range(1, values + 1))]
    for types in product(range(values + 1), repeat=k):
        for drawn in product(places, repeat=n):
            chance = math.prod(p for _, p in drawn) / (values + 1) ** k
            table = tuple(sorted(code[x, tuple(int(x <= t) for t in types)] for x, _ in drawn))
            for h, each in enumerate(means):
                ends = sum(
                    ((t == values) - (t == 0)) * (m / values - 0.5) for t, m in zip(types, each, strict=True)
                )
                if ends and chance:
                    paid[table, h] += chance * ends / values
    payoff = [(table, h, value) for (table, h), value in paid.items()]
    best = best_rule(tables_of(len(records), n), len(records), len(means), [payoff], epsilon, delta)
    scale = k / (values + 1)
    sinh = [mean_sinh(x, n=n, chance=share / values) for x in (epsilon / 2, epsilon)]
    allowed = sinh[0] * math.sqrt(2 * (values + 1) / k) + 2 * excess_of(epsilon, delta) * sinh[1]
    return best, scale * allowed


@pytest.mark.parametrize(
    ("k", "values", "n", "share"),
    [(1, 1, 1, 1.0), (1, 1, 3, 0.6), (1, 2, 2, 1.0), (1, 3, 2, 0.7), (2, 1, 2, 1.0), (2, 2, 1, 0.8)],
)
@pytest.mark.parametrize("epsilon", [0.3, 1.5])
@pytest.mark.parametrize("delta", [0.0, 0.03])
def test_no_private_rule_follows_thresholds_more_than_the_proof_allows(k, values, n, share, epsilon, delta):
    best, allowed = threshold_mean(k, values, n, share, epsilon, delta)
    assert 0 < best <= allowed + 1e-9


# The numbers.


@pytest.mark.parametrize("task", ["realizable", "agnostic", "thresholds", "parities"])
@pytest.mark.parametrize("rooted", [False, True])
def test_more_labels_and_a_harder_task_never_need_fewer(task, rooted):
    def bound(k=100, **changed):
        return multi_label_lower_bound(
            k, task=task, size=8, rooted=rooted, **(ASKED | {"delta": DELTA} | changed)
        )

    sizes = [bound(k) for k in (1, 10, 1000, 10**6)]
    assert sizes == sorted(sizes)
    for name, values in (
        ("epsilon", (0.1, 1, 4)),
        ("alpha", (0.01, 0.1, 0.4)),
        ("beta", (0.01, 0.1, 0.4)),
        ("delta", (0, 1e-9, 1e-3)),
    ):
        found = [bound(**{name: value}) for value in values]
        assert found == sorted(found, reverse=True), name


def bound_by_code(length, k, n):
    """The least number of users whose code, with the error that the proof needs, is longer than k labels."""
    # Somebody of n is accused with probability at least (.95 - error) / n, and by privacy at most e error.
    while length(n, 0.95 / (n * math.e + 1)) <= k:
        n += 1
    return n


def test_published_codes_prove_less_and_two_steps_need_nearly_twice_as_many_records_as_one():
    """As the errata say; the bounds of the package, 84, 840, 22 and 101, are among the frozen calls."""
    ks = (10**4, 10**6)
    assert [bound_by_code(TardosCode.length, k, 1) for k in ks] == [5, 34]
    shaw = [bound_by_code(lambda n, e: (n - 1) * BonehShawCode.repetitions(n, e), k, 2) for k in ks]
    assert shaw == [10, 39]
    one, half = (
        stable_point_sample_size(epsilon=epsilon, delta=delta, alpha=0.1, beta=0.05, n_outputs=10)
        for epsilon, delta in ((1, DELTA), (0.5, DELTA / 2))
    )
    assert (one, half) == (450, 836)


# Plans.


def several(estimator, k, *, epsilon=1.0, delta=1e-6, **known):
    model = PrivateMultiOutputClassifier(estimator, epsilon=epsilon, delta=delta)
    return model.plan(5000, n_outputs=k, **known)


def test_plans_of_several_outputs_have_the_bounds_of_their_class():
    public = {"epsilon": 1, "alpha": 0.1, "beta": 0.1}
    stumps = ExponentialMechanismClassifier(domain=IntegerRange(0, 99), classes=[0, 1])
    known = {"n_features": 1, "alpha": 0.1, "beta": 0.1}
    for k, delta in ((5, 0), (500, 1e-6)):
        plan = several(stumps, k, delta=delta, **known)
        assert plan.guarantee.delta == Fraction(str(delta))
        asked = public | {"delta": delta, "rooted": True}
        assert plan.n_least == multi_label_lower_bound(k, task="realizable", **asked)
        assert plan.n_least_agnostic == multi_label_lower_bound(k, task="agnostic", **asked)
        assert least_sample_size(plan) == plan.n_least < k * plan.estimator_plan.n_needed


def test_plans_of_thresholds_points_lines_and_parities_have_the_bounds():
    public = {"epsilon": 1, "delta": 1e-6, "alpha": 0.1, "beta": 0.05}
    cuts = several(ThresholdClassifier(domain=IntegerRange(0, 999), alpha=0.1, beta=0.05), 200, n_features=1)
    assert cuts.n_least == multi_label_lower_bound(200, task="thresholds", rooted=True, size=1000, **public)
    assert cuts.n_least_agnostic is None
    lines = several(LineClassifier(101, alpha=0.1, beta=0.05), 10)
    points = several(PointClassifier(alpha=0.1, beta=0.05, method="stability"), 10)
    found = multi_label_lower_bound(10, task="realizable", rooted=True, **public)
    assert lines.n_least == points.n_least == found
    uniform = ParityClassifier(delta=1e-6, method="stable").plan(1000, n_features=20, n_outputs=3)
    asked = public | {"alpha": uniform.alpha, "beta": uniform.beta}
    assert uniform.n_least == multi_label_lower_bound(3, task="parities", size=uniform.n_unknowns, **asked)
    any_columns = ParityClassifier(method="elimination").plan(1000, n_features=20)
    asked["delta"] = 0
    assert any_columns.n_least == multi_label_lower_bound(1, task="parities", size=20, rooted=True, **asked)
    assert any_columns.n_least >= pure_private_lower_bound(
        20, epsilon=1, alpha=any_columns.alpha, beta=any_columns.beta
    )


@pytest.mark.parametrize("method", ["elimination", "agnostic", "stable"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("d", [1, 4, 12])
def test_no_parity_learner_needs_fewer(method, epsilon, d):
    for delta in {0.0, 1e-6} if method != "stable" else {1e-6, 1e-2}:
        plan = ParityClassifier(epsilon=epsilon, delta=delta, method=method).plan(1000, n_features=d)
        assert plan.n_least <= plan.n_needed


def test_several_points_at_the_price_of_one_need_more_than_the_bound():
    for k in (1, 10, 1000):
        plan = PointClassifier(delta=1e-6).plan(1000, n_outputs=k)
        assert 200 < plan.n_least < plan.n_needed < 460


def test_guarantees_of_other_kinds_have_no_bound():
    task, asked = Task("realizable", rooted=True), {"alpha": 0.1, "beta": 0.1}
    assert least_of_outputs(ApproxDP(1), [task, None, task], **asked) == multi_label_lower_bound(
        2, task="realizable", rooted=True, epsilon=1, **asked
    )
    assert least_of_outputs(ApproxDP(1, protects="labels"), [task], **asked) == 39
    for other in (ApproxDP(1, neighbors="add_remove"), ZeroConcentratedDP(1)):
        assert least_of_outputs(other, [task], **asked) is None
    assert least_of_outputs(ApproxDP(1), [None], **asked) is None
    mixed = [task, Task("thresholds", rooted=False, size=1)]
    assert least_of_outputs(ApproxDP(1), mixed, **asked) == multi_label_lower_bound(
        2, task="realizable", epsilon=1, **asked
    )
