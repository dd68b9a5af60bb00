"""The counterexamples of docs/errata.md to Feldman and Xiao (2014)."""

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from scipy.stats import binom, laplace

from dplearn.theory import deterministic_representation, littlestone_dimension, mistake_tree, one_way_error
from tests.theory.test_littlestone import halfplanes, parities, thresholds


def entropy(p):
    return -p * math.log2(p) - (1 - p) * math.log2(1 - p)


@pytest.mark.parametrize("concepts", [np.eye(4, dtype=int), thresholds(5), parities(3)])
def test_at_its_own_parameters_theorem_1_bounds_nothing(concepts):
    """Theorem 7 at (1/4, 1/4) bounds by protocols of error 1/2, and one message has that."""
    assert one_way_error(concepts, 1).upper == Fraction(1, 2)
    # Its proof has error 1 - (3/4)**2, where Corollary 11 leaves a hundredth of the dimension.
    assert 1 - entropy(1 - 0.75**2) == pytest.approx(0.0113, abs=5e-5)
    assert entropy(0.5) == 1


def outcomes(r, others, t):
    """The chances that t samples show no positive point, the heavy one only, and two points or more.

    The other positive points are so many that none is drawn twice; a light one alone is not counted.
    """
    none = (1 - r) ** t
    heavy = (1 - others) ** t - none
    light = t * others * (1 - r) ** (t - 1)  # exactly one, a different one each time
    return none, heavy, 1 - none - heavy - light


def bad_sizes(r, others, alpha, confidence):
    first = math.ceil(math.log2(math.log(3 / 2) / alpha))
    last = math.floor(math.log2(math.log(3 / 2) / alpha) + 6 / confidence)
    sizes = range(first, last + 1)
    return sizes, [k for k in sizes if max(outcomes(r, others, 2**k)) < 2 / 3]


def test_claim_17_has_up_to_5_bad_sizes_of_12():
    r, alpha, confidence = 2.0**-10, 0.05, 0.5
    sizes, bad = bad_sizes(r, 0.134 * r, alpha, confidence)
    assert len(sizes) == 12
    assert bad == [9, 10, 11, 12, 13]
    assert Fraction(len(bad), len(sizes)) > Fraction(confidence) / 2
    # A positive share above alpha, so that the hypothesis 0 is not accurate, still leaves 4.
    most = max(
        len(bad_sizes(r, share * r, alpha, confidence)[1])
        for r in np.linspace(0.051, 0.2, 20)
        for share in np.linspace(0.02, 0.5, 25)
    )
    assert most == 4
    lengths = [math.log2(3 * math.log(6)), math.log2(6 * 2 * math.log(6))]
    assert [round(length, 2) for length in lengths] == [2.43, 4.43]
    assert sum(math.ceil(length) for length in lengths) == 8


def test_lemma_16_needs_the_confidence_where_it_has_the_privacy_parameter():
    epsilon, delta, confidence = 0.49, 0.4, 1e-6
    parts = math.ceil(max(12 / epsilon * math.log(1 / (delta * confidence)) + 13, 72 * math.log(4 / delta)))
    # A part returns the hypothesis with probability 2/3; fewer than 7/12 may do so with confidence/4 only.
    few = binom.cdf(math.ceil(parts * 7 / 12) - 1, parts, 2 / 3)
    assert parts == 374
    assert few > 100 * confidence / 4
    enough = math.ceil(72 * math.log(4 / confidence))
    assert binom.cdf(math.ceil(enough * 7 / 12) - 1, enough, 2 / 3) < confidence / 4


def test_lemma_16_halves_a_tail_and_has_no_whole_numbers():
    for d in (0.1, 0.01):  # P[Lap(1/a) < -z/a] = exp(-z)/2
        assert laplace.cdf(-math.log(1 / d)) == pytest.approx(d / 2)
        assert laplace.cdf(-math.log(2 / d)) == pytest.approx(d / 4)
    assert math.log2(math.log(3 / 2) / 0.05) % 1 > 0.01  # the first k of the range
    assert math.exp(-1) < 1 - -1  # so 1 - x <= e^x fails at x = -1
    assert all(math.exp(-x) >= 1 - x for x in np.linspace(-3, 3, 61))


def test_newman_needs_smaller_errors():
    # PRDim at (a, b) bounds protocols of error 1 - (1 - a)(1 - b); a coin is better than 5/9.
    assert 1 - Fraction(2, 3) ** 2 == Fraction(5, 9) > Fraction(1, 2)
    # DRDim_(1/3) needs private coins at 1/6, so public ones at 1/18, so PRDim at (1/36, 1/36).
    assert 1 - Fraction(35, 36) ** 2 < Fraction(1, 18) < 1 - Fraction(34, 36) ** 2


def test_newman_costs_the_logarithm_of_the_vc_dimension():
    for n in (2**10, 2**20):  # all functions on n points: VC = n, and log log of their number is log n
        assert math.log2(n) > 1.4 * (math.log2(math.log2(n)) + math.log2(math.log2(n)))


@pytest.mark.parametrize("size", [4, 5, pytest.param(6, marks=pytest.mark.nightly)])
def test_deterministic_representations_are_the_larger_ones(size):
    """One set is a distribution over sets, so PRDim <= DRDim needs no theorem."""
    points = np.eye(size, dtype=int)
    assert one_way_error(points, 3).upper <= Fraction(1, 4)  # three messages for any number of points
    assert len(deterministic_representation(points, Fraction(1, 4))) == size


def vc_dimension(table):
    found = 0
    while any(
        len(np.unique(table[:, list(places)], axis=0)) == 2 ** (found + 1)
        for places in combinations(range(table.shape[1]), found + 1)
    ):
        found += 1
    return found


def test_boxes_shatter_twice_as_many_points_as_columns():
    sides = [[a <= x <= b for x in range(3)] for a in range(3) for b in range(a, 3)]
    boxes = [[p and q for p in one for q in other] for one in sides for other in sides]
    assert vc_dimension(np.array(boxes, dtype=int)) == 4  # and not 3


def test_halfplanes_have_a_greater_littlestone_dimension_than_stated():
    stated = [b * 2 * (2 - 1) // 2 for b in (1, 2, 3)]
    exact = [littlestone_dimension(halfplanes(2**b)).lower for b in (1, 2, 3)]
    assert (stated, exact) == ([1, 2, 3], [3, 7, 11])


def test_dimensions_are_no_numbers_of_bits():
    """Theorems 7 and 8 compare the logarithm of a number of hypotheses with a whole number of bits."""
    points, error = np.eye(3, dtype=int), Fraction(1, 5)
    assert len(deterministic_representation(points, error)) == 3  # DRDim is log2(3) = 1.585
    assert (
        one_way_error(points, 2).lower > error
    )  # one bit is not enough, so R is 2 or more, with public coins too
    assert math.log2(3) < 2


def test_public_coins_are_worth_more_than_private_coins():
    """Theorem 2.1 is about public coins, and Corollary 11, which proves it, about private ones.

    With private coins, two messages and three points, Bob's chance of the label 1 at a point is linear in
    Alice's chance of the second message. For the middle one of Alice's three chances it lies between the
    others, but should be 1 where both others should be 0: so some error is at least 1/2.
    """
    points, generator = np.eye(3, dtype=int), np.random.default_rng(0)
    for _ in range(1000):
        second = generator.random(3)
        answers = generator.random((2, 3))
        ones = np.outer(1 - second, answers[0]) + np.outer(second, answers[1])
        assert abs(points - ones).max() >= 0.5
    assert one_way_error(points, 2).upper == Fraction(2, 9)


def test_a_mistake_tree_fails_the_definition_as_it_is_printed():
    """ "Otherwise" makes every leaf that is not right of a node label it 0, also those not below it."""
    tree = mistake_tree(parities(2))
    tree.check()
    below_left = tree.points[1]  # a node of level 2: the leaves 2 and 3 are not below it
    labels = [concept(below_left) for concept in tree.concepts]
    assert labels[:2] == [0, 1]
    assert 1 in labels[2:]
    assert not literal_tree_exists(np.array(parities(2)), 2)


def literal_tree_exists(table, depth):
    """Whether some complete tree of two levels meets the definition as it is printed."""
    assert depth == 2
    for root, left, right in product(range(table.shape[1]), repeat=3):
        for leaves in product(range(len(table)), repeat=4):
            rows = table[list(leaves)]
            wanted = [(root, (0, 0, 1, 1)), (left, (0, 1, 0, 0)), (right, (0, 0, 0, 1))]
            if all(tuple(rows[:, x]) == labels for x, labels in wanted):
                return True
    return False


def test_lemma_10_asks_at_prefixes_of_length_0_to_d_less_1():
    tree = mistake_tree(parities(3))
    prefixes = [prefix for length in range(tree.depth) for prefix in product((0, 1), repeat=length)]
    assert len(prefixes) == len(tree.points) == 7  # lengths 1 to d would be 14, without the root
    assert sum(2**length for length in range(1, tree.depth + 1)) == 14
