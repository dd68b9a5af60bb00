"""Lines modulo a prime: errors, leaders and inverses by brute force, distances over neighbours, primality."""

from collections import Counter
from itertools import combinations_with_replacement, product
from math import comb

import numpy as np
import pytest

from dplearn import ExponentialMechanismClassifier
from dplearn.concepts import Line, Lines
from dplearn.concepts.lines import (
    counted,
    hashed_bases,
    inverses,
    is_prime,
    leading_line,
    leading_point,
    residues,
)


@pytest.mark.parametrize("p", [2**31 - 1, 2**61 - 1, 2**127 - 1])
def test_large_primes_have_the_counts_that_incidences_give(p):
    lines = Lines(p)
    X, y = [[1, 8], [2, 13], [3, 18], [3, 1], [p - 1, 5]], np.array([1, 1, 1, 0, 0])
    profile = lines.error_profile(lines.domain.encode(np.array(X, dtype=object)), y)
    errors, members = profile.groups()
    assert sum(members) == lines.size == p**2
    assert (errors[0], members[0]) == (0, 1)
    assert profile.member(0, 0) == Line(5, 3, p)
    for error, count in zip(errors, members, strict=True):
        for index in {0, count // 2, count - 1}:
            member = profile.member(error, index)
            columns = lines.domain.encode(np.array(X, dtype=object))
            assert (member.predict(columns) != y).sum() == error


def test_the_exponential_mechanism_finds_the_line_with_noisy_labels():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 101, 1000)
    z = np.where(rng.random(1000) < 0.5, (7 * x + 2) % 101, rng.integers(0, 101, 1000))
    y = (z == (7 * x + 2) % 101) ^ (rng.random(1000) < 0.1)
    learner = ExponentialMechanismClassifier(Lines(101), classes=[False, True], random_state=0)
    assert learner.fit(np.column_stack([x, z]), y).concept_.concept == Line(7, 2, 101)


LARGE = 2**61 - 1


@pytest.mark.parametrize("p", [2, 7, 2**31 - 1, LARGE, 2**521 - 1])
def test_inverses_multiply_to_one(p):
    for n in (0, 1, 2, 3, 8, 37):
        values = residues([(7**i + i) % (p - 1) + 1 for i in range(n)], p)
        found = inverses(values, p)
        assert found.dtype == values.dtype
        assert (values * found % p).tolist() == [1] * n


def by_brute_force(points, p):
    """The qualities of all lines, without a look at pairs of points."""
    qualities = {}
    for line in product(range(p), repeat=2):
        on_it = [count for (x, y), count in points.items() if (line[0] * x + line[1] - y) % p == 0]
        qualities[line] = sum(on_it) - max(on_it, default=0)
    (best, most), (_, second) = sorted(qualities.items(), key=lambda each: -each[1])[:2]
    lead = most - second
    return (best, max(0, (lead - 1) // 2)) if lead > 0 else (None, 0)


@pytest.mark.parametrize("p", [2, 3, 5, 7])
def test_the_leading_line_is_that_of_brute_force(p):
    rng = np.random.default_rng(p)
    for _ in range(150):
        n = int(rng.integers(0, 15))
        points = counted(*rng.integers(0, p, (2, n)).tolist())
        if rng.random() < 0.5:  # most of them on one line
            x = rng.integers(0, p, 12)
            points.update(counted(x.tolist(), ((x + 1) % p).tolist()))
        assert leading_line(points, p) == by_brute_force(points, p)


@pytest.mark.parametrize("p", [2**31 - 1, LARGE, 2**521 - 1])
def test_leaders_are_alike_in_both_kinds_of_numbers_and_in_any_order(p):
    on = [(x, (5 * x + 3) % p) for x in (1, 2, 3, 4, p - 1)] * 2
    off = [(x, 9 * x * x % p) for x in range(5, 9)]
    assert leading_line(Counter(on), p) == ((5, 3), 3)  # quality 8, others 0
    assert leading_line(Counter(on + off), p) == ((5, 3), 3) == leading_line(Counter(off + on[::-1]), p)


def test_the_leading_point_is_the_most_frequent_one():
    assert leading_point(counted([], [])) == (None, 0)
    assert leading_point(counted([1, 2], [1, 2])) == (None, 0)
    assert leading_point(counted([1, 1, 2], [1, 1, 2])) == ((1, 1), 0)
    assert leading_point(counted([1] * 6 + [2], [1] * 6 + [2])) == ((1, 1), 2)


def laws_of_distance(p, most):
    """The numbers of neighbouring tables of at most so many records, and of violations of the two laws."""
    universe = [*product(range(p), repeat=2), None]  # None: a record with the first label
    pairs = violations = 0
    for n in range(1, most + 1):
        found = {}
        for rows in combinations_with_replacement(range(len(universe)), n):
            points = Counter(universe[row] for row in rows if universe[row] is not None)
            found[rows] = leading_line(points, p), leading_point(points)
        for rows, mine in found.items():
            for place, other in product(range(n), range(len(universe))):
                if other <= rows[place] or (place and rows[place] == rows[place - 1]):
                    continue  # each pair once
                theirs = found[tuple(sorted((*rows[:place], other, *rows[place + 1 :])))]
                pairs += 1
                for (answer, distance), (another, its) in zip(mine, theirs, strict=True):
                    moved = abs(distance - its) > 1
                    changed = answer != another and (distance or its)
                    violations += bool(moved or changed)
    return pairs, violations


@pytest.mark.parametrize(("p", "most"), [(2, 7), (3, 4), pytest.param(3, 7, marks=pytest.mark.nightly)])
def test_distances_are_0_where_an_answer_may_change_and_move_by_1(p, most):
    pairs, violations = laws_of_distance(p, most)
    assert violations == 0
    # All but one record, and two records of the universe: 360,360 pairs of up to 7 records modulo 3.
    assert pairs == comb(p * p + 1, 2) * comb(most + p * p, most - 1)


def test_primes_are_told_from_composites():
    for n in range(-2, 3000):
        assert is_prime(n) == (n > 1 and all(n % k for k in range(2, int(n**0.5) + 1))), n
    for p in (2**31 - 1, 2**64 - 59, 2**127 - 1, 2**255 - 19, 2**521 - 1, 2**1279 - 1):
        assert is_prime(p)
    for n in (2**32 + 1, 2**67 - 1, 2**523 - 1, (2**127 - 1) ** 2, 8911 * (2**521 - 1)):
        assert not is_prime(n)
    assert not is_prime(341550071728321)  # passes the bases 2..17
    assert not is_prime(3317044064679887385961981)  # passes all 13 bases


def test_the_bases_of_a_large_number_are_its_own_and_within_it():
    n = 2**255 - 19
    bases = hashed_bases(n)
    assert bases == hashed_bases(n) != hashed_bases(n + 2)
    assert len(set(bases)) == 20
    assert all(2 <= base < n - 1 for base in bases)
