"""Secrecy of the sample: the guarantee against exact distributions of answers that a drawn sample gives."""

from fractions import Fraction

import numpy as np
import pytest

from dplearn.audit import enumerate_privacy
from dplearn.core.exact import exp_bounds
from dplearn.mechanisms import randomized_response
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.privacy.derived import published_subsampled, subsampled


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
