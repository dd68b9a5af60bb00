"""A guarantee in words says no more than the guarantee."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplearn import ApproxDP, ZeroConcentratedDP
from dplearn.display.guarantee_text import (
    figures,
    greatest_belief,
    greatest_factor,
    in_groups,
    in_words,
    warnings_of,
)

MASSES = st.lists(st.integers(0, 50), min_size=2, max_size=6).filter(any)


def said(guarantee):
    return " ".join(block.as_text() for block in [*warnings_of(guarantee), *in_words(guarantee)])


def believed(approx, prior):
    text = greatest_belief(approx, prior)
    return 1.0 if text == "no limit" else float(text.removesuffix(" %")) / 100


@given(st.data(), st.sampled_from([Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]))
def test_no_belief_grows_beyond_what_is_said_except_with_twice_delta(data, prior):
    size = len(first := data.draw(MASSES))
    second = data.draw(st.lists(st.integers(1, 50), min_size=size, max_size=size))
    true, other = np.array(first) / sum(first), np.array(second) / sum(second)
    epsilon = data.draw(st.sampled_from([0.1, 1, 3]))
    delta = np.maximum(true - math.exp(epsilon) * other, 0).sum()
    delta = 0 if delta < 1e-12 else min(Fraction(float(delta)) + Fraction(1, 10**9), Fraction(999, 1000))
    after = float(prior) * true / (float(prior) * true + float(1 - prior) * other)
    beyond = after > believed(ApproxDP(epsilon, delta), prior) + 1e-12
    assert true[beyond].sum() <= 2 * float(delta) + 1e-12


def test_randomised_response_attains_what_is_said():
    # It says the truth with odds exp(1): a belief of 1/2 becomes exp(1) / (1 + exp(1)) = 0.73106.
    assert greatest_belief(ApproxDP(1), Fraction(1, 2)) == "73.2 %"
    assert greatest_belief(ApproxDP(0), Fraction(1, 10)) == "10 %"


@given(st.integers(0, 1900))
def test_factors_are_rounded_up(hundredths):
    text = greatest_factor(ApproxDP(Fraction(hundredths, 100))).rpartition("= ")[2].replace(",", "")
    exact = math.exp(hundredths / 100)
    assert exact * (1 - 1e-12) <= float(text) <= exact * 1.01


def test_labels_records_and_their_presence_are_told_apart():
    assert "the label of any one record" in said(ApproxDP(1, protects="labels"))
    assert "all that one row of the table says" in said(ApproxDP(1))
    assert "whether any one record is in the table" in said(ApproxDP(1, neighbors="add_remove"))


def test_a_delta_is_explained_and_none_is_not_mentioned():
    assert "one in 500,000" in said(ApproxDP(1, 1e-6))
    assert "delta" not in said(ApproxDP(1))


def test_a_seed_and_a_large_epsilon_are_warned_of():
    assert [each.head for each in warnings_of(ApproxDP(10))] == []
    assert "Not for release." in said(ApproxDP(1, reproducible=True))
    assert "worth very little" in said(ApproxDP(11))
    assert "no limit" in said(ApproxDP(10**9))


def test_a_concentrated_guarantee_is_put_as_the_epsilon_that_it_implies():
    rho = ZeroConcentratedDP("0.005")
    assert "epsilon = 0.429941" in said(rho).replace("\n", " ")
    assert figures(rho).numbers[0] == ("rho", "0.005")


@pytest.mark.parametrize("guarantee", [ApproxDP(1), ApproxDP(2, 1e-3), ZeroConcentratedDP(0.1)])
def test_a_person_with_several_records_is_promised_what_the_guarantee_says(guarantee):
    table = in_groups(guarantee)[1]
    for count, *cells in table.rows:
        try:
            first = f"{float(getattr(guarantee.for_group(int(count)), guarantee._numbers[0])):g}"
        except ValueError:
            first = "no limit"
        assert cells[0] == first
    beliefs = [1e3 if row[-1] == "no limit" else float(row[-1].removesuffix(" %")) for row in table.rows]
    assert beliefs == sorted(beliefs)
