"""Impossibility proofs as programs: data that defeat a mechanism, made from its own exact distribution.

Bun, Nissim, Stemmer and Vadhan (2015), Sections 6 and 7. `docs/theory/reductions.md` has the proofs.
"""

import math
from fractions import Fraction
from functools import cache
from itertools import count, pairwise, product

import numpy as np
import pytest

from dplearn import PointClassifier
from dplearn.audit import exact_distribution
from dplearn.chance import SystemDice
from dplearn.kernels import at_most_exp
from dplearn.mechanisms import AboveThreshold
from dplearn.privacy import ApproxDP

N, EPSILON, LEVELS, TAIL = 6, Fraction(2), 20, 10


def reached(rows, dice, levels=LEVELS):
    """Return a power of two that is likely to be at least some record: pure, and for integers of any size.

    It asks for the number of records up to 1, 2, 4, ..., until a noisy test says that it is half of all. It
    is private for any number of levels.
    """
    tests = AboveThreshold(len(rows) // 2, privacy=ApproxDP(EPSILON), dice=dice)
    for level in range(levels):
        if tests.ask(sum(row <= 1 << level for row in rows)):
            return 1 << level
    return 1 << levels


@cache
def law(value):
    """The exact distribution of `reached` for N equal records, least probabilities of each answer."""
    found = exact_distribution(lambda dice: reached([value] * N, dice), TAIL)
    return {answer: Fraction(mass, found.total) for answer, mass in found.masses.items()}


def chance(value, low, high=math.inf):
    """The least probability that the answer is in low..high."""
    return sum(p for answer, p in law(value).items() if low <= answer <= high)


def bound(value):
    """F: a number that the answer exceeds with probability at most 1/8 if no record is above `value`.

    Equal records at `value` are the worst: all counts are the least, so that tests go on for longest.
    """
    return next(1 << level for level in count() if chance(value, 0, 1 << level) >= Fraction(7, 8))


def interior_point_from_undominated(undominated, points):
    """Turn a mechanism for undominated points into one for interior points of codes.

    Code i becomes points[i]; the answer is rounded down to a point, and its code returned. One replaced code
    replaces one record. If points[i + 1] exceeds F(points[i]), then answers that are undominated and at most
    F of the greatest record are interior points.
    """

    def interior(codes, dice):
        answer = undominated([points[code] for code in codes], dice)
        return max(code for code, point in enumerate(points) if point <= max(answer, points[0]))

    return interior


@pytest.fixture(scope="module")
def points():
    """0, F(0), F(F(0)), ... (one more each time, so that they rise) until the mechanism fails on one."""
    found = [0]
    while chance(found[-1], found[-1]) >= Fraction(3, 4):
        found.append(bound(found[-1]) + 1)
    return found


def test_the_greatest_answers_are_those_of_equal_records():
    value = 4
    for rows in product((0, 3, value), repeat=3):
        ours = exact_distribution(lambda dice, rows=rows: reached(rows, dice, 5), TAIL)
        worst = exact_distribution(lambda dice: reached([value] * 3, dice, 5), TAIL)
        for level in range(6):
            above = [
                sum(Fraction(mass, each.total) for answer, mass in each.masses.items() if answer > 1 << level)
                for each in (ours, worst)
            ]
            assert above[0] <= above[1] + Fraction(2, 1 << TAIL)


def test_data_made_from_its_own_law_defeat_a_mechanism(points):
    assert len(points) > 3  # it is of use for small numbers
    for value, following in pairwise(points):
        assert chance(value, value) >= Fraction(3, 4)
        assert chance(value, value, following - 1) >= Fraction(5, 8)
    assert chance(points[-1], points[-1]) < Fraction(3, 4)  # N records, and it is below all of them
    assert points[-1] < 1 << LEVELS // 2  # the last level of the enumeration plays no part


def test_the_reduction_gives_interior_points_until_then_and_not_longer(points):
    interior = interior_point_from_undominated(reached, points)
    assert {interior([code] * N, SystemDice()) for code in range(2) for _ in range(20)} <= {
        *range(len(points))
    }

    def found(code):
        law = exact_distribution(lambda dice: interior([code] * N, dice), TAIL)
        return Fraction(law.masses.get(code, 0), law.total)

    chances = [found(code) for code in range(len(points) - 1)]
    assert min(chances) >= Fraction(5, 8)
    # On one table their probabilities add up to at most 1, as the sets are disjoint; here each has its table.
    assert sum(chances) > 1
    assert at_most_exp(sum(chances), N * EPSILON)


def accurate(hypotheses, one, zero, error=Fraction(1, 4)):
    """The hypotheses of an error of at most `error` where `one` and `zero` are equally likely."""
    return {place for place, h in enumerate(hypotheses) if Fraction((not h[one]) + h[zero], 2) <= error}


def distributions_apart(hypotheses, n_keys):
    """Claim 7.4: pairs of a key labelled 1 and one labelled 0, with disjoint sets of accurate hypotheses."""
    pairs, avoided = [], set()
    for one, zero in product(range(n_keys), repeat=2):
        if one != zero and all(hypotheses[place][zero] >= hypotheses[place][one] for place in avoided):
            good = accurate(hypotheses, one, zero)
            if good or not pairs:
                pairs.append((one, zero))
                avoided |= good
    return pairs


@pytest.mark.parametrize("seed", range(5))
def test_claim_7_4_finds_distributions_with_disjoint_sets_of_accurate_hypotheses(seed):
    hypotheses = np.random.default_rng(seed).integers(0, 2, (12, 60))
    pairs = distributions_apart(hypotheses, 60)
    sets = [accurate(hypotheses, *pair) for pair in pairs]
    assert len(pairs) >= 2
    assert sum(map(len, sets)) == len(set().union(*sets))
    # All hypotheses are used up in the end: two keys that each of them labels alike are labelled wrongly.
    wide = np.random.default_rng(seed).integers(0, 2, (12, 1 << 13))
    alike = {}
    for key, column in enumerate(map(bytes, wide.T.astype(np.uint8))):
        alike.setdefault(column, []).append(key)
    one, zero = next(keys[:2] for keys in alike.values() if len(keys) > 1)
    assert accurate(wide, one, zero, Fraction(49, 100)) == set()


def test_two_keys_that_a_hash_puts_together_defeat_it():
    learner = PointClassifier(method="hashing", n_buckets=1024, epsilon=20, classes=[0, 1], random_state=0)
    keys = np.arange(40_000).reshape(-1, 1)
    first = learner.fit(np.zeros((400, 1), dtype=int), np.ones(400, dtype=int))
    other = next(key for key in np.flatnonzero(first.predict(keys)) if key)
    rows = np.repeat([[0], [other]], 500, axis=0)
    labels = np.repeat([1, 0], 500)
    assert learner.fit(rows, labels).score(rows, labels) == 0.5
    apart = learner.fit(np.repeat([[0], [other + 1]], 500, axis=0), labels)
    assert apart.score(np.repeat([[0], [other + 1]], 500, axis=0), labels) == 1


def one_axis(rows, n_axes, learn, sample, rng):
    """Learn one concept by a learner of conjunctions: the rows on a random axis, samples on all others.

    `sample()` draws a table of labelled values, `learn` returns a threshold for each axis. Where a coordinate
    is not in use it is 0, which every threshold labels 1.
    """
    axis = rng.integers(n_axes)
    points = []
    for each in range(n_axes):
        for value, label in rows if each == axis else sample():
            point = [0] * n_axes
            point[each] = value
            points.append((tuple(point), label))
    return learn(points, n_axes)[axis], points


def test_a_learner_of_corners_learns_one_threshold_on_a_random_axis():
    rng, n_axes, n, size, runs = np.random.default_rng(0), 8, 6, 10, 400

    def sample():
        cut = rng.integers(1, size)
        values = rng.integers(0, size, n).tolist()
        return [(value, int(value <= cut)) for value in values]

    def careless(points, n_axes):
        """Right on all axes but the first two, where it is wrong on everything: a quarter of all points."""
        cuts = []
        for axis in range(n_axes):
            on_axis = [(point[axis], label) for point, label in points if point[axis]]
            ones = [value for value, label in on_axis if label]
            cuts.append(max(ones, default=0))
        return [0, 0, *cuts[2:]]

    wrong = 0
    for _ in range(runs):
        rows = sample()
        cut, points = one_axis(rows, n_axes, careless, sample, rng)
        assert len(points) == n_axes * n
        errors = sum((value <= cut) != label for value, label in rows)
        wrong += errors > 0
    # The axis of the rows is uniform given the points: 2 of 8 axes have errors.
    assert wrong / runs <= 0.25 + 3 * math.sqrt(0.25 * 0.75 / runs)
    assert wrong / runs >= 0.1
