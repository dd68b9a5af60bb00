"""Sample sizes are the least that the bound allows, and at them the real learner succeeds."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta as beta_law

from dplearn.chance import SystemDice
from dplearn.concepts import FiniteClass
from dplearn.mechanisms import select_exponential
from dplearn.privacy import ApproxDP
from dplearn.theory.generic import generic_failure_bound, generic_sample_size

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=200)

sizes = st.integers(1, 50) | st.integers(0, 500).map(lambda k: 2**k) | st.just(10**400)
epsilons = st.fractions(Fraction(1, 1000), 20, max_denominator=1000).filter(bool)
rates = st.fractions(Fraction(1, 200), Fraction(99, 100), max_denominator=200).filter(bool)


def exact_bound(class_size, n, epsilon, alpha):
    """The bound in the proof of Theorem 3.4, to 50 digits."""
    with localcontext(prec=50, Emax=10**9, Emin=-(10**9)):
        sampling = Decimal(-2 * n) * decimal(alpha) ** 2 / 9
        privacy = Decimal(-n) * decimal(epsilon) * decimal(alpha) / 6
        return class_size * (2 * sampling.exp() + privacy.exp())


def decimal(x):
    return Decimal(Fraction(x).numerator) / Fraction(x).denominator


# generic_sample_size


@repeatable
@given(sizes, epsilons, rates, rates)
def test_the_proofs_size_is_the_least_at_which_its_bound_is_at_most_beta(class_size, epsilon, alpha, beta):
    n = generic_sample_size(class_size, epsilon=epsilon, alpha=alpha, beta=beta)
    assert type(n) is int
    assert exact_bound(class_size, n, epsilon, alpha) <= decimal(beta)
    assert n == 1 or exact_bound(class_size, n - 1, epsilon, alpha) > decimal(beta)


@repeatable
@given(sizes, epsilons, rates, rates)
def test_the_papers_size_is_its_closed_form_rounded_up(class_size, epsilon, alpha, beta):
    n = generic_sample_size(class_size, epsilon=epsilon, alpha=alpha, beta=beta, bound="paper")
    with localcontext(prec=50):
        logarithms = Decimal(class_size).ln() - decimal(beta).ln()
        rate = max(1 / (decimal(epsilon) * decimal(alpha)), 1 / decimal(alpha) ** 2)
        assert type(n) is int
        assert n - 1 < 6 * logarithms * rate <= n


def test_two_concepts_need_more_examples_than_the_paper_says():
    example = {"epsilon": 0.5, "alpha": 0.5, "beta": 0.25}
    assert generic_sample_size(2, bound="paper", **example) == 50
    assert generic_sample_size(2, **example) == 65
    assert generic_sample_size(2, bound="proof", **example) == 65
    assert exact_bound(2, 50, 0.5, 0.5) > Decimal("0.25")


@pytest.mark.parametrize(
    ("class_size", "proof", "paper"),
    [(2**500, 157619, 209742), (2**64, 21623, 28415), (1, 1660, 1798)],
    ids=["2**500", "2**64", "1"],
)
def test_classes_of_any_size_have_a_size(class_size, proof, paper):
    parameters = {"epsilon": 1, "alpha": 0.1, "beta": 0.05}
    assert generic_sample_size(class_size, **parameters) == proof
    assert generic_sample_size(class_size, bound="paper", **parameters) == paper
    assert exact_bound(class_size, proof, 1, Fraction(1, 10)) <= Decimal("0.05")


@pytest.mark.parametrize(
    ("easier", "harder"),
    [
        ({"class_size": 10}, {"class_size": 11}),
        ({"epsilon": 0.2}, {"epsilon": 0.1}),
        ({"alpha": 0.2}, {"alpha": 0.1}),
        ({"beta": 0.2}, {"beta": 0.1}),
    ],
    ids=str,
)
@pytest.mark.parametrize("bound", ["proof", "paper"])
def test_harder_tasks_need_more_examples(easier, harder, bound):
    base = {"class_size": 10, "epsilon": 0.1, "alpha": 0.2, "beta": 0.2, "bound": bound}
    assert generic_sample_size(**base | easier) < generic_sample_size(**base | harder)


@pytest.mark.parametrize("bound", ["proof", "paper"])
def test_numbers_may_be_written_as_decimals_text_or_fractions(bound):
    sizes = {
        generic_sample_size(7, epsilon=epsilon, alpha=alpha, beta=beta, bound=bound)
        for epsilon, alpha, beta in [
            (0.5, 0.25, 0.1),
            ("0.5", "1/4", "0.1"),
            (Fraction(1, 2), Decimal("0.25"), np.float32(0.1)),
        ]
    }
    assert len(sizes) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"class_size": 0}, "class_size must be an integer at least 1, got 0"),
        ({"class_size": 2.0}, r"class_size must be an integer at least 1, got 2\.0"),
        ({"epsilon": 0}, "epsilon must be a finite number above 0, got 0"),
        ({"epsilon": float("inf")}, "epsilon must be a finite number above 0, got inf"),
        ({"alpha": 0}, "alpha must be a finite number above 0 and below 1, got 0"),
        ({"alpha": 1}, "alpha must be a finite number above 0 and below 1, got 1"),
        ({"alpha": None}, "alpha must be a finite number above 0 and below 1, got None"),
        ({"beta": 0}, "beta must be a finite number above 0 and below 1, got 0"),
        ({"beta": 1.5}, r"beta must be a finite number above 0 and below 1, got 1\.5"),
        ({"bound": "theorem"}, "bound must be one of 'proof', 'paper', got 'theorem'"),
    ],
    ids=str,
)
def test_refusals_name_parameter_constraint_and_value(change, message):
    parameters = {"class_size": 2, "epsilon": 1, "alpha": 0.5, "beta": 0.5}
    with pytest.raises((TypeError, ValueError), match=message):
        generic_sample_size(**parameters | change)


@pytest.mark.parametrize("bound", ["proof", "paper"])
@pytest.mark.parametrize("name", ["epsilon", "alpha", "beta"])
def test_a_number_too_small_for_floats_is_answered_or_refused_by_name(name, bound):
    # Was (dplearn/theory/generic.py, generic_sample_size): alpha**2 underflows to 0 and divides, or n grows
    # until it overflows a float; 1e-400 itself becomes 0.
    parameters = {"epsilon": 1, "alpha": 0.5, "beta": 0.5} | {name: "1e-400"}
    outcome = answer(bound=bound, **parameters)
    if isinstance(outcome, int):
        assert outcome > (1000 if name == "beta" else 10**399)
    else:
        assert f"{name} must" in outcome


def answer(**parameters):
    try:
        return generic_sample_size(2, **parameters)
    except ValueError as refusal:
        return str(refusal)


# generic_failure_bound


@repeatable
@given(sizes, st.integers(0, 20000), epsilons, rates)
def test_the_failure_bound_is_that_of_the_proof(class_size, n, epsilon, alpha):
    bound = generic_failure_bound(class_size, n, epsilon=epsilon, alpha=alpha)
    exact = exact_bound(class_size, n, epsilon, alpha)
    if exact > Decimal("1e304"):
        assert bound == math.inf or exact < Decimal("1.8e308")
    else:
        assert abs(Decimal(bound) - exact) <= exact * Decimal("1e-9") + Decimal("1e-320")


def test_without_examples_the_bound_is_three_for_each_concept():
    assert generic_failure_bound(5, 0, epsilon=1, alpha=0.1) == pytest.approx(15)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"class_size": 0}, "class_size must be an integer at least 1"),
        ({"n_samples": -1}, "n_samples must be an integer at least 0, got -1"),
        ({"n_samples": 1.5}, "n_samples must be an integer at least 0, got 1.5"),
        ({"epsilon": 0}, "epsilon must be a finite number above 0, got 0"),
        ({"alpha": 1}, "alpha must be a finite number above 0 and below 1, got 1"),
    ],
    ids=str,
)
def test_the_failure_bound_refuses_by_name(change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        generic_failure_bound(**{"class_size": 2, "n_samples": 9, "epsilon": 1, "alpha": 0.5} | change)


# The real learner at these sizes

UNSURE = 1e-6  # how often a Clopper-Pearson bound may be wrong

THRESHOLDS = [[int(place < cut) for place in range(8)] for cut in range(9)]
CUBE = [[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)]
THREE_LABELS = [[a, b] for a in range(3) for b in range(3)]

# A class; for each place how often it occurs with each label, out of a sum; epsilon, alpha, beta; a size at
# which the learner must be seen to fail.
TASKS = {
    "two concepts": ([[0], [1]], [[1, 9]], 0.5, 0.5, 0.25, 1),
    "thresholds without noise": (THRESHOLDS, [[0, 1]] * 4 + [[1, 0]] * 4, 1, 0.2, 0.1, 2),
    "thresholds, private": (THRESHOLDS, [[1, 9]] * 4 + [[9, 1]] * 4, 0.05, 0.2, 0.2, 5),
    "functions of three places": (CUBE, [[4, 0], [0, 5], [1, 3]], 2, 0.15, 0.2, 2),
    "none of them fits": (
        THRESHOLDS,
        [[3, 1], [0, 8], [4, 0], [1, 5], [2, 2], [6, 1], [1, 0], [1, 1]],
        1,
        0.1,
        0.3,
        3,
    ),
    "three labels": (THREE_LABELS, [[1, 0, 7], [1, 5, 2]], 1, 0.25, 0.1, 2),
}


def failures(task, n, repetitions):
    """How often the learner's concept is worse than the best by more than alpha."""
    table, weights, epsilon, alpha, _, _ = task
    law = np.array(weights, dtype=float) / np.sum(weights)
    concepts = FiniteClass(table, law.shape[1])
    true_error = [1 - law[np.arange(len(row)), row].sum() for row in table]
    allowed = min(true_error) + alpha + 1e-9
    privacy, dice, failed = ApproxDP(epsilon), SystemDice(), 0
    cells = np.array([(place, label) for place in range(len(law)) for label in range(law.shape[1])])
    for counts in np.random.default_rng(0).multinomial(n, law.ravel(), size=repetitions):
        places, labels = np.repeat(cells, counts, axis=0).T
        profile = concepts.error_profile(concepts.domain.encode(places[:, np.newaxis]), labels)
        errors, multiplicities = profile.groups()
        group, index = select_exponential(errors, multiplicities, privacy=privacy, dice=dice)
        failed += true_error[profile.member(errors[group], index).position] > allowed
    return failed


@pytest.mark.parametrize("name", TASKS)
def test_at_the_proofs_size_the_learner_fails_no_more_often_than_beta(name):
    table, _, epsilon, alpha, beta, _ = TASKS[name]
    n = generic_sample_size(len(table), epsilon=epsilon, alpha=alpha, beta=beta, bound="proof")
    repetitions = 400
    failed = failures(TASKS[name], n, repetitions)
    assert beta_law.ppf(1 - UNSURE, failed + 1, repetitions - failed) <= beta


@pytest.mark.parametrize("name", TASKS)
def test_at_a_much_smaller_size_the_learner_is_seen_to_fail_more_often_than_beta(name):
    beta, n = TASKS[name][4:]
    repetitions = 1500
    failed = failures(TASKS[name], n, repetitions)
    assert beta_law.ppf(UNSURE, failed, repetitions - failed + 1) > beta
