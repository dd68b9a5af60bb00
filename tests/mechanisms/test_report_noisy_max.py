"""Report noisy max: its exact distribution and epsilon, and the scale that it needs."""

from fractions import Fraction
from itertools import product
from math import ceil, lcm, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.audit import exact_distribution
from dplearn.audit.distributions import OutputDistribution, least_exp_epsilon
from dplearn.chance import EnumeratingDice, SeededDice, SystemDice
from dplearn.core.exact import at_most_exp, decay_ratio, selection_ratio
from dplearn.mechanisms import permute_and_flip, report_noisy_max
from dplearn.privacy import ApproxDP

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)


def walked(qualities, epsilon, tail_bits, **parameters):
    privacy = ApproxDP(epsilon)
    return exact_distribution(
        lambda dice: report_noisy_max(np.array(qualities), privacy=privacy, dice=dice, **parameters),
        tail_bits,
    )


def formula(qualities, ratio):
    """The literal definition, summed: i wins with v if all before it stay below v, all behind at most at it.

    No noise is negative, so no v below the best quality wins, and P[G_j < t] = 1 - ratio**t. As a function of
    x = ratio**(v - best) the product of these is a polynomial.
    """
    best = max(qualities)
    distribution = {}
    for i, mine in enumerate(qualities):
        polynomial = [Fraction(1)]
        for j, other in enumerate(qualities):
            if j != i:
                c = ratio ** (best - other + (j > i))
                polynomial = [a - c * b for a, b in zip([*polynomial, 0], [0, *polynomial], strict=True)]
        first = ratio ** (best - mine) * (1 - ratio)
        distribution[i] = sum(c * first / (1 - ratio ** (k + 1)) for k, c in enumerate(polynomial))
    return distribution


@pytest.mark.parametrize("qualities", [(3,), (2, 2), (0, 3), (3, 0), (1, 2, 1), (4, 2, 4), (0, 1, 2)])
@pytest.mark.parametrize("epsilon", [2, 5])
def test_the_law_is_that_of_the_first_greatest_of_independent_noisy_qualities(qualities, epsilon):
    distribution = walked(qualities, epsilon, tail_bits=14)
    wanted = formula(qualities, selection_ratio(Fraction(epsilon)))
    assert sum(wanted.values()) == 1
    for i, p in wanted.items():
        assert distribution.probability(i) <= p <= distribution.probability(i) + distribution.left_out


def worst(pairs, ratio):
    distributions = {q: as_law(formula(q, ratio)) for pair in pairs for q in pair}
    return max(least_exp_epsilon(distributions[a], distributions[b])[0] for a, b in pairs)


def as_law(probabilities):
    total = lcm(*(p.denominator for p in probabilities.values()))
    return OutputDistribution({i: int(p * total) for i, p in probabilities.items()}, total)


def neighbours(k, high, sensitivity):
    tables = list(product(range(high), repeat=k))
    return [
        (a, b)
        for a, b in product(tables, repeat=2)
        if np.abs(np.subtract(a, b)).max() <= sensitivity and a != b
    ]


@pytest.mark.parametrize("sensitivity", [1, 2, 3])
@pytest.mark.parametrize("epsilon", ["0.1", "0.5", 3])
def test_no_pair_of_neighbours_exceeds_epsilon_and_two_candidates_attain_it(epsilon, sensitivity):
    epsilon = Fraction(epsilon)
    ratio = selection_ratio(epsilon, sensitivity)
    exact = worst(neighbours(2, 2 * sensitivity + 2, sensitivity), ratio)
    assert at_most_exp(exact, epsilon)
    # From 2 sensitivity behind to level, all but for ties, of which the first candidate wins every one.
    assert not at_most_exp(exact, epsilon * Fraction(999, 1000))


@pytest.mark.parametrize(
    "epsilon", [1, *[pytest.param(each, marks=pytest.mark.nightly) for each in ("0.1", 3)]]
)
def test_no_pair_of_neighbours_with_three_candidates_exceeds_epsilon(epsilon):
    epsilon = Fraction(epsilon)
    assert at_most_exp(worst(neighbours(3, 4, 1), selection_ratio(epsilon)), epsilon)


@pytest.mark.parametrize("epsilon", ["0.5", 2])
def test_noise_of_scale_one_over_epsilon_would_cost_twice_epsilon(epsilon):
    epsilon = Fraction(epsilon)
    exact = worst(neighbours(2, 4, 1), decay_ratio(epsilon))
    assert not at_most_exp(exact, epsilon * Fraction(1999, 1000))


def test_noise_of_scale_one_over_epsilon_is_enough_where_all_counts_move_in_one_direction():
    one_way = [(a, b) for a, b in neighbours(3, 4, 1) if all(x <= y for x, y in zip(a, b, strict=True))]
    pairs = one_way + [(b, a) for a, b in one_way]
    assert at_most_exp(worst(pairs, decay_ratio(Fraction(1))), Fraction(1))


def test_qualities_that_move_by_more_than_the_sensitivity_break_the_claim():
    assert not at_most_exp(
        worst([((0, 4), (2, 2)), ((2, 2), (0, 4))], selection_ratio(Fraction(1))), Fraction(1)
    )


@pytest.mark.parametrize("beta", [Fraction(1, 2), Fraction(1, 10), Fraction(1, 1000)])
def test_the_accuracy_line_holds(beta):
    ratio = selection_ratio(Fraction(1))
    bound = log(3 / beta) / -log(ratio)
    for base in product(range(4), repeat=3):
        qualities = tuple(ceil(bound / 2) * quality for quality in base)
        distribution = formula(qualities, ratio)
        far = [i for i, quality in enumerate(qualities) if max(qualities) - quality > bound]
        assert sum(distribution[i] for i in far) <= beta


def test_as_ties_become_rare_it_becomes_permute_and_flip():
    qualities = (0, 300, 100)
    noisy = formula(qualities, selection_ratio(Fraction(1, 100)))
    flip = exact_distribution(
        lambda dice: permute_and_flip(np.array(qualities), privacy=ApproxDP("0.01"), dice=dice)
    )
    assert all(abs(p - flip.probability(i)) < Fraction(1, 100) for i, p in noisy.items())


# What goes in and what comes out


@pytest.mark.parametrize("dtype", ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", ">u8", ">i2"])
def test_every_integer_dtype_gives_the_same_index(dtype):
    qualities = np.array([3, 9, 7, 9])
    for seed in range(20):
        first, second = (
            report_noisy_max(values, privacy=ApproxDP(1), dice=SeededDice(seed))
            for values in (qualities, qualities.astype(dtype))
        )
        assert first == second
        assert type(second) is int


@pytest.mark.parametrize("epsilon", ["1e-30", "1e-12", 1, 10**9])
@pytest.mark.parametrize(
    "qualities",
    [
        np.array([-(2**63), 2**63 - 1]),
        np.array([0, 2**64 - 1], dtype="u8"),
        np.array([0, 2**64 - 1], dtype=">u8"),
        np.array([2**62, -(2**62)]),
    ],
    ids=str,
)
def test_no_size_of_noise_or_quality_overflows(epsilon, qualities):
    for seed in range(5):
        chosen = report_noisy_max(qualities, privacy=ApproxDP(epsilon), dice=SeededDice(seed))
        assert chosen in (0, 1)
        if epsilon in (1, 10**9):
            assert chosen == int(qualities.argmax())


def test_qualities_that_differ_only_beyond_53_bits_are_told_apart():
    qualities = np.array([2**62 + 1, 2**62 + 20, 2**62])
    assert report_noisy_max(qualities, privacy=ApproxDP(50), dice=SystemDice()) == 1


def test_a_million_candidates_are_compared():
    qualities = np.zeros(10**6, dtype=np.uint8)
    qualities[77_777] = 200
    assert report_noisy_max(qualities, privacy=ApproxDP(1), dice=SystemDice()) == 77_777  # else: exp(-86)


MESSAGE = "qualities must be a nonempty one-dimensional array of integers"


@pytest.mark.parametrize(
    "bad", [[], [0.5], [[1, 2]], ["a"], [None], [True], 3, pytest.param([object()], id="object")], ids=repr
)
def test_qualities_that_are_no_integers_are_refused(bad):
    with pytest.raises(TypeError, match=f"^{MESSAGE}$"):
        report_noisy_max(np.array(bad), privacy=ApproxDP(1), dice=EnumeratingDice())


@repeatable
@given(st.lists(st.floats() | st.text(max_size=5) | st.booleans(), min_size=1, max_size=4))
def test_no_message_depends_on_the_qualities(values):
    with pytest.raises(TypeError) as refusal:
        report_noisy_max(np.array(values), privacy=ApproxDP(1), dice=EnumeratingDice())
    assert str(refusal.value) == MESSAGE


def test_bad_public_parameters_are_named():
    with pytest.raises(ValueError, match=r"^epsilon must be a finite number above 0, got 0$"):
        report_noisy_max(np.array([1]), privacy=ApproxDP(0), dice=EnumeratingDice())
    with pytest.raises(ValueError, match=r"^sensitivity must be an integer at least 1, got 0$"):
        report_noisy_max(np.array([1]), privacy=ApproxDP(1), dice=EnumeratingDice(), sensitivity=0)
