"""Lines modulo a prime: errors of all of them by brute force, in any size of numbers."""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from dplearn import ExponentialMechanismClassifier
from dplearn.concepts import Line, LinePoint, Lines
from dplearn.concepts.lines import check_prime, written
from dplearn.domains import DomainError


@pytest.mark.parametrize("p", [2, 3, 5, 7, 11])
def test_groups_and_members_are_those_of_brute_force(p):
    rng, lines = np.random.default_rng(p), Lines(p)
    for _ in range(60):
        n = int(rng.integers(1, 14))
        X, y = rng.integers(0, p, (n, 2)), rng.integers(0, 2, n)
        profile = lines.error_profile(lines.domain.encode(X), y)
        columns = lines.domain.encode(X)
        true = {
            (a, b): int((Line(a, b, p).predict(columns) != y).sum()) for a, b in product(range(p), repeat=2)
        }
        counts = Counter(true.values())
        assert profile.groups() == (sorted(counts), [counts[errors] for errors in sorted(counts)])
        for errors, count in counts.items():
            members = [profile.member(errors, index) for index in range(count)]
            found = {(each.slope, each.intercept) for each in members}
            assert found == {line for line, its in true.items() if its == errors}


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


def test_members_with_the_same_errors_differ():
    lines = Lines(10**9 + 7)
    profile = lines.error_profile(lines.domain.encode(np.array([[1, 1], [5, 9]])), np.array([1, 0]))
    for errors, count in zip(*profile.groups(), strict=True):
        places = {index for index in (0, 1, 2, count // 3, count - 2, count - 1) if 0 <= index < count}
        assert len({profile.member(errors, index) for index in places}) == len(places)


def test_no_records_leave_all_lines_without_an_error():
    lines = Lines(3)
    profile = lines.error_profile([np.zeros(0, np.uint8)] * 2, np.zeros(0, np.intp))
    assert profile.groups() == ([0], [9])
    assert len({profile.member(0, index) for index in range(9)}) == 9


def test_the_exponential_mechanism_finds_the_line_with_noisy_labels():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 101, 1000)
    z = np.where(rng.random(1000) < 0.5, (7 * x + 2) % 101, rng.integers(0, 101, 1000))
    y = (z == (7 * x + 2) % 101) ^ (rng.random(1000) < 0.1)
    learner = ExponentialMechanismClassifier(Lines(101), classes=[False, True], random_state=0)
    assert learner.fit(np.column_stack([x, z]), y).concept_.concept == Line(7, 2, 101)


@pytest.mark.parametrize(
    ("p", "error", "words"),
    [
        (91, ValueError, "p must be a prime, got 91"),
        (1, ValueError, "at least 2"),
        (2.0, TypeError, "an integer"),
        (True, TypeError, "an integer"),
        (2**8192 + 1, ValueError, "at most 8192 bits, got 8193 bits"),
    ],
)
def test_what_is_no_prime_is_refused(p, error, words):
    with pytest.raises(error, match=words):
        Lines(p)


def test_values_outside_the_plane_are_refused_unseen():
    for p in (101, 2**127 - 1):
        for cell in (-1, p, 10**30 + p, "7", None, 1.5):
            with pytest.raises(DomainError) as refused:
                Lines(p).domain.encode(np.array([[1, cell]], dtype=object))
            assert "1.5" not in str(refused.value)
            assert "1000000" not in str(refused.value)


def test_rules_in_words():
    labels = ["off", "on"]
    assert Line(1, 0, 7).describe(["x", "y"], labels) == "'on' if y = x + 0 modulo 7, else 'off'"
    assert LinePoint(3, 4).describe(["x", "y"], labels) == "'on' if x = 3 and y = 4, else 'off'"
    assert LinePoint().describe(["x", "y"], labels) == "always 'off'"
    assert repr(Line(2, 3, 7)) == "Line(1 if y = 2 x + 3 modulo 7, else 0)"
    assert repr(LinePoint(2, 3)) == "LinePoint(1 if x = 2 and y = 3, else 0)"
    assert repr(Lines(2**521 - 1)) == "Lines(2**521 - 1)"
    assert written(10**30) == "0xc9f2c9cd... (100 bits)"
    assert len(Line(3**800, 5**800, 2**4423 - 1).describe(["x", "y"], labels)) < 100
    assert check_prime("p", np.int64(7)) == 7
