"""Secret samples and disjoint parts: their formulas against exact distributions of real computations.

Secrecy of the sample: the guarantee against exact distributions of answers that a drawn sample gives.
"""

from fractions import Fraction
from itertools import pairwise
from math import comb

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dplearn.audit import enumerate_privacy, exact_distribution, least_exp_epsilon
from dplearn.kernels.exact import exp_bounds, log_bounds
from dplearn.mechanisms import randomized_response
from dplearn.privacy import (
    ApproxDP,
    Approximate,
    Gaussian,
    Parallel,
    PureDP,
    SampledWithReplacement,
    ZeroConcentrated,
    ZeroConcentratedDP,
)
from dplearn.privacy.derived import published_subsampled, subsampled

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=40)

Z = 2  # exp(epsilon): laws are then rational
LN2 = log_bounds(Fraction(Z))[1]
ORDERS = np.array([1.5, 2.0, 50.0])


def randomiser(p, delta):
    """A release of the number j of ones that is (ln 2, delta) private: its laws for j = 0, 1, 2, ..."""

    def distribution(j):
        failed = delta * (Z**j - 1)
        said = p * Z**j
        return [1 - said - failed, said, failed]

    return distribution


def sampled(rows, m, distribution):
    """Draw m of the rows with replacement, and release."""

    def run(dice):
        ones = sum(rows[dice.below(len(rows))] for _ in range(m))
        quiet, said, _ = distribution(ones)
        if not dice.bernoulli(1 - quiet):
            return "quiet"
        return "said" if dice.bernoulli(said / (1 - quiet)) else "failed"

    return exact_distribution(run)


def excess(distribution, other, z):
    return sum(
        max(Fraction(0), distribution.probability(seen) - z * other.probability(seen))
        for seen in distribution.masses
    )


def growth(m, n):
    return (1 + Fraction(Z - 1, n)) ** m


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 3), (2, 3), (2, 5), (3, 6)])
def test_a_secret_sample_without_delta_attains_its_formula(m, n):
    distribution = randomiser(Fraction(1, 64), Fraction(0))
    mine, theirs = sampled([1] + [0] * (n - 1), m, distribution), sampled([0] * n, m, distribution)
    assert least_exp_epsilon(mine, theirs) == (growth(m, n), ("said",))
    event = SampledWithReplacement(PureDP(LN2), m, n)
    low, high = exp_bounds(event.pure)
    assert growth(m, n) <= high
    assert low <= growth(m, n) * (1 + Fraction(1, 10**28))
    assert event.failure == 0


@pytest.mark.parametrize(("m", "n"), [(1, 3), (2, 3), (2, 5), (3, 6)])
def test_a_secret_sample_with_delta_attains_its_formula_too(m, n):
    delta = Fraction(1, 1000)
    distribution = randomiser(Fraction(1, 64), delta)
    mine, theirs = sampled([1] + [0] * (n - 1), m, distribution), sampled([0] * n, m, distribution)
    event = SampledWithReplacement(Approximate(LN2, delta), m, n)
    exact = delta * (growth(m, n) - 1) / (Z - 1)
    assert excess(mine, theirs, growth(m, n)) == exact
    assert exact <= event.failure * (1 + Fraction(1, 10**28))
    assert event.failure <= exact * (1 + Fraction(1, 10**28))


@repeatable
@given(st.fractions("0.001", 1, max_denominator=1000), st.integers(1, 50), st.integers(100, 200))
def test_the_formulas_numbers_are_rounded_to_the_safe_side(epsilon, m, n):
    growth, factor = SampledWithReplacement(PureDP(epsilon), m, n)._growth
    low, high = exp_bounds(epsilon, digits=100)
    assert growth <= low - 1 < growth * (1 + Fraction(1, 10**50))
    assert (1 + (high - 1) / n) ** m <= factor <= (1 + (low - 1) / n) ** m * (1 + Fraction(1, 10**50))


simplex = st.lists(st.integers(0, 12), min_size=3, max_size=3).filter(any)
distributions = simplex.map(lambda weights: [Fraction(w, sum(weights)) for w in weights])


@repeatable
@given(st.lists(distributions, min_size=3, max_size=3))
def test_the_formula_holds_for_arbitrary_releases_of_a_sample_of_two_of_four(table):
    def over(p, q):
        return sum(max(Fraction(0), a - Z * b) for a, b in zip(p, q, strict=True))

    steps = list(pairwise(table))
    delta = max(over(p, q) for p, q in steps + [(q, p) for p, q in steps])
    assume(delta < 1)
    bound = growth(2, 4)
    guaranteed = SampledWithReplacement(Approximate(LN2, delta), 2, 4).failure

    def mixed(ones):
        weights = [comb(2, j) * Fraction(ones, 4) ** j * Fraction(4 - ones, 4) ** (2 - j) for j in range(3)]
        return [sum(w * row[o] for w, row in zip(weights, table, strict=True)) for o in range(3)]

    for ones in range(4):
        for p, q in ((mixed(ones), mixed(ones + 1)), (mixed(ones + 1), mixed(ones))):
            assert sum(max(Fraction(0), a - bound * b) for a, b in zip(p, q, strict=True)) <= guaranteed


def test_the_papers_constants_are_four_times_as_great():
    event = SampledWithReplacement(Approximate(1, 1e-6), m=100, n=1000)
    assert float(event.pure) < 6 * 100 / 1000 / 3
    assert float(event.failure) < float(np.exp(0.6) * 0.4) * 1e-6 / 4


def test_no_epsilon_means_that_only_the_failure_is_thinned():
    event = SampledWithReplacement(Approximate(0, "1e-6"), m=3, n=100)
    assert (event.pure, event.failure) == (0, Fraction(3, 10**8))


@pytest.mark.parametrize(("m", "n"), [(2, 1), (3, 2), (100, 60)])
def test_samples_that_are_too_large_for_the_theorem_are_refused(m, n):
    with pytest.raises(ValueError, match=rf"m must be so small that .*, got m={m}, n={n}"):
        SampledWithReplacement(PureDP(1), m, n)


@pytest.mark.parametrize("epsilon", ["1e-9", "0.1", "1"])
@pytest.mark.parametrize("m", [1, 2, 1000])
def test_half_as_many_draws_as_records_are_never_refused_up_to_epsilon_1(epsilon, m):
    assert SampledWithReplacement(PureDP(epsilon), m, 2 * m).pure <= Fraction(epsilon)


@pytest.mark.parametrize("epsilon", ["1e-1000", "1e-100", "1e-59", "1e-30", "1e-9"])
@pytest.mark.parametrize("m", [1, 2, 5])
def test_a_tiny_epsilon_costs_what_none_costs_and_never_less(epsilon, m):
    event = SampledWithReplacement(Approximate(epsilon, "1/2"), m, 10)
    share = Fraction(m, 10)
    assert share / 2 <= event.failure <= share / 2 * (1 + Fraction(1, 10**7))
    assert share * Fraction(epsilon) * (1 - Fraction(1, 10**8)) <= event.pure
    assert event.pure <= Fraction(epsilon) * (1 + Fraction(1, 2**99))
    if m == 1:
        assert event.failure == Fraction(1, 20)


@pytest.mark.parametrize("epsilon", [1001, 10**7, 10**30])
@pytest.mark.parametrize("n", [1, 10, 10**4000], ids=["1", "10", "1e4000"])
def test_a_great_epsilon_is_not_helped_by_one_draw_and_is_refused_for_more(epsilon, n):
    event = SampledWithReplacement(Approximate(epsilon, "1/2"), 1, n)
    assert event.pure == epsilon
    assert Fraction(1, 2 * n) <= event.failure <= Fraction(1, 2 * n) * (1 + Fraction(1, 2**99))
    with pytest.raises(ValueError, match="event must have an epsilon of at most 1000 unless m is 1"):
        SampledWithReplacement(PureDP(epsilon), 2, n)


def test_numbers_of_draws_and_records_beyond_all_floats_have_a_cost():
    assert SampledWithReplacement(PureDP(1), 10, 10**500).pure < Fraction(1, 10**498)
    with pytest.raises(ValueError, match="m must be so small that"):
        SampledWithReplacement(PureDP(1), 10**400, 10**200)


def test_a_sample_needs_an_epsilon():
    with pytest.raises(ValueError, match="event must be one whose epsilon is known, got Gaussian"):
        SampledWithReplacement(Gaussian(1), 1, 10)


# Parallel

PARTS = [Approximate(0.1, "1e-9"), PureDP(0.5), PureDP(0.2), Approximate(0, "1e-6")]


def test_by_position_the_worst_part_counts_in_each_curve():
    event = Parallel(PARTS)
    assert (event.failure, event.pure, event.rho) == (Fraction(1, 10**6), Fraction(1, 2), Fraction(1, 8))
    assert event.renyi(ORDERS).tolist() == PureDP(0.5).renyi(ORDERS).tolist()
    assert event == Parallel([*reversed(PARTS), PARTS[0]])


def test_by_value_the_two_worst_parts_add():
    event = Parallel(PARTS, by="value")
    assert (event.failure, event.pure) == (Fraction(1001, 10**9), Fraction(7, 10))
    curve = PureDP(0.5).renyi(ORDERS) + PureDP(0.2).renyi(ORDERS)
    assert (curve <= event.renyi(ORDERS)).all()
    assert event.renyi(ORDERS) == pytest.approx(curve, rel=1e-12)
    assert Parallel([PureDP(1)] * 5, by="value").pure == 2
    assert Parallel([PureDP(1)], by="value").pure == 1


def test_one_part_without_a_bound_leaves_none():
    for by in ("position", "value"):
        event = Parallel([ZeroConcentrated(1), PureDP(1)], by=by)
        assert event.pure is None
        assert event.rho == {"position": 1, "value": Fraction(3, 2)}[by]
    assert Parallel([]).pure == 0
    assert Parallel([]).renyi(ORDERS).tolist() == [0, 0, 0]


def histogram(parts, p):
    """Each part says its number of ones through randomised response on its parity."""

    def run(dice):
        return tuple(dice.bernoulli(p) ^ (sum(part) % 2) for part in parts)

    return exact_distribution(run)


def test_a_record_that_changes_part_costs_two_and_one_that_stays_costs_one():
    z, p = Fraction(3), Fraction(3, 4)
    epsilon = log_bounds(z)[1]
    stays = least_exp_epsilon(histogram([[1], [0]], p), histogram([[0], [0]], p))[0]
    moves = least_exp_epsilon(histogram([[1], []], p), histogram([[], [1]], p))[0]
    assert (stays, moves) == (z, z**2)
    assert stays <= exp_bounds(Parallel([PureDP(epsilon)] * 2).pure)[1]
    assert moves <= exp_bounds(Parallel([PureDP(epsilon)] * 2, by="value").pure)[1]


def test_how_records_fall_into_parts_must_be_said():
    with pytest.raises(ValueError, match="by must be one of 'position', 'value', got 'chance'"):
        Parallel([PureDP(1)], by="chance")


def answers(m, privacy):
    """m rows drawn in secret answer for themselves; only how often each answer was given is shown."""

    def fit(rows, dice):
        drawn = np.array(rows)[np.asarray(dice.below(len(rows), size=m))]
        return np.bincount(randomized_response(drawn, 2, privacy=privacy, dice=dice), minlength=2).tolist()

    return fit


@pytest.mark.parametrize(("m", "n"), [(1, 1), (1, 3), (2, 3), (2, 4), (2, 5)])
@pytest.mark.parametrize("epsilon", ["0.1", 1])
def test_the_exact_epsilon_of_a_drawn_sample_attains_the_guarantee(m, n, epsilon):
    inner = ApproxDP(epsilon)
    guaranteed = subsampled(inner, m=m, n=n)
    report = enumerate_privacy(answers(m, inner), [0, 1], n, ordered=False)
    assert report.keeps(guaranteed)
    assert report.tightness(guaranteed) > 1 - 1e-9
    assert report.epsilon > 0


@pytest.mark.parametrize("delta", [0, "0.01"])
def test_a_looser_guarantee_inside_is_kept_with_its_delta(delta):
    guaranteed = subsampled(ApproxDP(1, delta), m=2, n=4)
    report = enumerate_privacy(answers(2, ApproxDP(1)), [0, 1], 4, ordered=False, delta=guaranteed.delta)
    assert report.keeps(guaranteed)


@pytest.mark.parametrize(("m", "n"), [(1, 2), (10, 90), (100, 10**6), (500, 1000)])
@pytest.mark.parametrize("epsilon", ["0.001", "0.1", 1])
def test_the_published_guarantee_is_looser(m, n, epsilon):
    inner = ApproxDP(epsilon, "1e-6")
    ours, theirs = subsampled(inner, m=m, n=n), published_subsampled(inner, m=m, n=n)
    assert 3 * ours.epsilon < theirs.epsilon
    assert 3 * ours.delta < theirs.delta
    assert ours.implies(theirs)


def test_the_formula_is_that_of_the_page():
    m, n, epsilon, delta = 7, 40, Fraction(1, 2), Fraction(1, 1000)
    e = (sum(exp_bounds(epsilon)) / 2) - 1
    growth = (1 + e / n) ** m
    found = subsampled(ApproxDP(epsilon, delta), m=m, n=n)
    assert abs(sum(exp_bounds(found.epsilon)) / 2 - growth) < Fraction(1, 10**25)
    assert abs(found.delta - delta * (growth - 1) / e) < Fraction(1, 10**25)


def test_other_fields_are_kept_and_the_draw_is_an_assumption():
    inner = ApproxDP(1, assumes=("labels are among the declared classes",), reproducible=True)
    found = subsampled(inner, m=5, n=50)
    assert found.reproducible
    assert found.assumes[0] == inner.assumes[0]
    assert any("5 rows" in words and "50 records" in words for words in found.assumes)


@pytest.mark.parametrize(
    "guarantee",
    [ApproxDP(1, neighbors="add_remove"), ApproxDP(1, protects="labels"), ZeroConcentratedDP(1), 1.0],
)
def test_other_guarantees_are_refused(guarantee):
    with pytest.raises((TypeError, ValueError), match=r"guarantee|neighbors|protects"):
        subsampled(guarantee, m=1, n=10)


def test_what_the_formula_does_not_cover_is_refused():
    with pytest.raises(ValueError, match="m must be so small"):
        subsampled(ApproxDP(1), m=10, n=5)
    with pytest.raises(ValueError, match="n must be"):
        published_subsampled(ApproxDP("0.1"), m=10, n=19)
    with pytest.raises(ValueError, match="epsilon must be"):
        published_subsampled(ApproxDP("1.1"), m=1, n=19)
