"""Candidates lie outwards from 0, and each search keeps the bounds that its plan states."""

from fractions import Fraction

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.domains import Floats
from dplearn.preprocessing.quantile_columns import candidates, counts_within, extremes_plan, release_extremes
from dplearn.privacy import ApproxDP

TAILS = [Fraction(1, 100), Fraction(99, 100)]


def test_candidates_rise_by_a_quarter_from_0_to_the_largest():
    domain = Floats()
    ends = domain.decode(candidates(domain))
    assert (ends[0], ends[-1]) == (0, np.finfo(float).max)
    assert ends[(ends >= 1) & (ends < 4)].tolist() == [1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5]
    assert (ends[5:] / ends[4:-1]).max() == 1.25


@pytest.mark.parametrize(
    "domain", [Floats(significand_bits=0, smallest=1, largest=2), Floats(significand_bits=3, smallest=0.3)]
)
def test_counts_are_of_records_up_to_each_end(domain):
    numbers = np.random.default_rng(0).normal(0, 2, 500).round(1)
    ends = domain.decode(candidates(domain))
    rounded = domain.decode(domain.encode(numbers))
    upto, above = counts_within(domain.encode(numbers), domain)
    assert upto.tolist() == [int((rounded <= end).sum()) for end in ends]
    assert above.tolist() == [int((rounded >= -end).sum()) for end in ends]


@pytest.mark.parametrize("epsilon", [0.3, 2])
def test_ends_clip_no_more_and_lie_no_further_than_the_plan_says(epsilon):
    domain, dice, times = Floats(), SeededDice(0), 60
    numbers = np.sort(np.random.default_rng(1).lognormal(0, 2, 6000))
    plan = extremes_plan(6000, TAILS, epsilon=epsilon, domain=domain)
    counts = counts_within(domain.encode(numbers), domain)
    found = [release_extremes(counts, plan, privacy=ApproxDP(epsilon), dice=dice) for _ in range(times)]
    clipped = [(numbers > high).sum() <= 60 + plan.error for _, high in found]
    assert sum(clipped) >= 0.9 * times
    assert all(low == 0 for low, _ in found)
    assert plan.n_inside <= 6000
    assert sum(high <= 1.25 * numbers[-1] for _, high in found) >= 0.9 * times


def test_the_error_is_of_both_noises():
    plan = extremes_plan(10**6, TAILS, epsilon=1, domain=Floats())
    m = len(candidates(Floats()))
    # The counts' noise falls by exp(-1 / 6) a step, and the threshold's by exp(-1 / 3).
    assert plan.error == int(np.ceil(6 * np.log(4 * m / 0.05))) - 1
    assert plan.n_inside == 100 * (int(np.ceil(3 * np.log(4 / 0.05))) - 1)
    assert extremes_plan(5, TAILS, epsilon=1, domain=Floats()).error == 5
