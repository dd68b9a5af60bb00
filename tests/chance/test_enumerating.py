"""An enumeration covers each path once, with the probability from the exact distributions."""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.chance import enumerate_paths
from dplearn.kernels import (
    gaussian_probabilities,
    geometric_probabilities,
    laplace_probabilities,
    laplace_tail,
    permute_and_flip_probabilities,
    power_probabilities,
)

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=50)
ratios = st.fractions(min_value=Fraction(1, 10), max_value=Fraction(9, 10), max_denominator=20)
HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def distribution(function, **options) -> dict:
    total = Counter()
    for result, p in enumerate_paths(function, **options):
        total[result] += p
    return dict(total)


@repeatable
@given(st.lists(st.integers(1, 5), max_size=4))
def test_a_walk_takes_every_path_once_in_order(widths):
    paths = list(enumerate_paths(lambda dice: tuple(dice.below(n) for n in widths)))
    assert [path for path, _ in paths] == list(np.ndindex(*widths))
    assert sum(p for _, p in paths) == 1


@repeatable
@given(ratios, st.integers(-6, 6), st.integers(0, 8), st.integers(-40, 40))
def test_noise_has_its_exact_law(ratio, low, length, gap):
    places = range(low, low + length + 1)
    for primitive, formula in (
        ("discrete_laplace", laplace_probabilities),
        ("geometric", geometric_probabilities),
    ):
        expected = zip(places, formula(ratio, low, low + length), strict=True)
        found = distribution(lambda dice, name=primitive: getattr(dice, name)(ratio, low, low + length))
        assert found == {k: p for k, p in expected if p}
    p = laplace_tail(ratio, gap)
    assert distribution(lambda dice: dice.discrete_laplace(ratio, gap - 1, gap)) == {gap - 1: 1 - p, gap: p}
    both = distribution(
        lambda dice: tuple(dice.discrete_laplace(ratio, np.array([0, 5]), np.array([1, 5]), size=2).tolist())
    )
    assert both == {(0, 5): 1 - laplace_tail(ratio, 1), (1, 5): laplace_tail(ratio, 1)}


@pytest.mark.parametrize("bits", [1, 12])
@pytest.mark.parametrize("end", [-30, 0, 1])
def test_beyond_an_open_end_less_than_the_stated_part_is_left_out(end, bits):
    for low, high in ((None, end), (end, None), (None, None)):
        found = distribution(
            lambda dice, low=low, high=high: dice.discrete_laplace(HALF, low, high), tail_bits=bits
        )
        assert 1 - Fraction(2, 2**bits) <= sum(found.values()) < 1
        # Each enumerated value has its own probability: none is added at an open end.
        for k, p in found.items():
            above = laplace_tail(HALF, k) if k != low else 1
            assert p == above - (laplace_tail(HALF, k + 1) if k != high else 0)
    found = distribution(lambda dice: dice.geometric(HALF), tail_bits=bits)
    assert found == {k: HALF ** (k + 1) for k in range(bits)}


@repeatable
@given(
    ratios,
    st.lists(st.tuples(st.integers(-9, 9), st.integers(0, 4)), min_size=1, max_size=4).filter(
        lambda groups: any(m for _, m in groups)
    ),
)
def test_selections_have_their_exact_laws(ratio, groups):
    exponents, multiplicities = zip(*groups, strict=True)
    for primitive, formula in (
        ("power_weighted", power_probabilities),
        ("permute_and_flip", permute_and_flip_probabilities),
    ):
        expected = {i: p for i, p in enumerate(formula(ratio, exponents, multiplicities)) if p}
        found = distribution(
            lambda dice, name=primitive: getattr(dice, name)(ratio, exponents, multiplicities)
        )
        assert found == expected


@pytest.mark.parametrize("bits", [10, 25])
def test_a_gaussian_walk_misses_exactly_what_is_left_out(bits):
    sigma2 = Fraction(7, 3)
    support, masses, left_out = gaussian_probabilities(sigma2, bits)
    found = distribution(lambda dice: dice.discrete_gaussian(sigma2), tail_bits=bits)
    assert found == dict(zip(support, masses, strict=True))
    assert sum(found.values()) == 1 - left_out < 1


@pytest.mark.parametrize(
    ("draw", "paths"),
    [
        (lambda dice: dice.below(3, size=2), 9),
        (lambda dice: dice.bernoulli(THIRD, size=3), 8),
        (lambda dice: dice.discrete_laplace(HALF, -1, 1, size=2), 9),
        (lambda dice: dice.below(3, size=0), 1),
    ],
)
def test_many_draws_are_an_array_of_independent_ones(draw, paths):
    found = list(enumerate_paths(draw))
    assert len({tuple(result.tolist()) for result, _ in found}) == len(found) == paths
    assert all(result.dtype == np.int64 for result, _ in found)
    assert sum(p for _, p in found) == 1
