"""Secret samples, against exact distributions of answers that a drawn sample gives, and disjoint parts."""

from fractions import Fraction

import numpy as np
import pytest

from dplearn.audit import enumerate_privacy
from dplearn.mechanisms import randomized_response
from dplearn.privacy import (
    ApproxDP,
    Approximate,
    Parallel,
    PureDP,
    SampledWithReplacement,
    ZeroConcentrated,
    published_subsampled,
    subsampled,
)

ORDERS = np.array([1.5, 2.0, 50.0])


@pytest.mark.parametrize("epsilon", ["0", "1e-1000", "1e-59", "1e-30", "1e-9", "0.1", "1"])
def test_a_tiny_epsilon_costs_what_none_costs_and_half_as_many_draws_as_records_are_never_refused(epsilon):
    for m in (1, 2, 5):
        half, event = (SampledWithReplacement(Approximate(epsilon, "1/2"), m, n) for n in (2 * m, 10))
        assert half.pure <= Fraction(epsilon) * (1 + Fraction(1, 2**99))
        share = Fraction(m, 10)
        assert share / 2 <= event.failure
        assert share * Fraction(epsilon) * (1 - Fraction(1, 10**8)) <= event.pure
        if Fraction(epsilon) <= Fraction("1e-9"):
            assert event.failure <= share / 2 * (1 + Fraction(1, 10**7))
            assert event.pure <= Fraction(epsilon) * (1 + Fraction(1, 2**99))
        assert SampledWithReplacement(PureDP(epsilon), m, 10**500).pure <= 2 * m * Fraction(1, 10**500)
        if m == 1 or epsilon == "0":
            assert event.failure == share / 2


@pytest.mark.parametrize("epsilon", [1001, 10**7, 10**30])
@pytest.mark.parametrize("n", [1, 10, 10**4000], ids=["1", "10", "1e4000"])
def test_a_great_epsilon_is_not_helped_by_one_draw_and_is_refused_for_more(epsilon, n):
    event = SampledWithReplacement(Approximate(epsilon, "1/2"), 1, n)
    assert event.pure == epsilon
    assert Fraction(1, 2 * n) <= event.failure <= Fraction(1, 2 * n) * (1 + Fraction(1, 2**99))
    with pytest.raises(ValueError, match="event must have an epsilon of at most 1000 unless m is 1"):
        SampledWithReplacement(PureDP(epsilon), 2, n)


# Parallel

PARTS = [Approximate(0.1, "1e-9"), PureDP(0.5), PureDP(0.2), Approximate(0, "1e-6")]


def test_by_position_the_worst_part_counts_in_each_curve_and_by_value_the_two_worst_add():
    event, added = Parallel(PARTS), Parallel(PARTS, by="value")
    assert (event.failure, event.pure, event.rho) == (Fraction(1, 10**6), Fraction(1, 2), Fraction(1, 8))
    assert event.renyi(ORDERS).tolist() == PureDP(0.5).renyi(ORDERS).tolist()
    assert event == Parallel([*reversed(PARTS), PARTS[0]])
    assert (added.failure, added.pure) == (Fraction(1001, 10**9), Fraction(7, 10))
    curve = PureDP(0.5).renyi(ORDERS) + PureDP(0.2).renyi(ORDERS)
    assert (curve <= added.renyi(ORDERS)).all()
    assert added.renyi(ORDERS) == pytest.approx(curve, rel=1e-12)
    assert [Parallel([PureDP(1)] * k, by="value").pure for k in (0, 1, 5)] == [0, 1, 2]
    for by, rho in (("position", 1), ("value", Fraction(3, 2))):  # one part without a bound leaves none
        mixed = Parallel([ZeroConcentrated(1), PureDP(1)], by=by)
        assert (mixed.pure, mixed.rho) == (None, rho)
    assert Parallel([]).renyi(ORDERS).tolist() == [0, 0, 0]


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


@pytest.mark.parametrize(("m", "n"), [(1, 2), (10, 90), (100, 10**6), (500, 1000)])
@pytest.mark.parametrize("epsilon", ["0.001", "0.1", 1])
def test_the_published_guarantee_is_looser(m, n, epsilon):
    inner = ApproxDP(epsilon, "1e-6")
    ours, theirs = subsampled(inner, m=m, n=n), published_subsampled(inner, m=m, n=n)
    assert 3 * ours.epsilon < theirs.epsilon
    assert 3 * ours.delta < theirs.delta
    assert ours.implies(theirs)
