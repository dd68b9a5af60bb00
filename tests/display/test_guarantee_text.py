"""The words and numbers about a guarantee state no more than it guarantees."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplearn import ApproxDP, ZeroConcentratedDP
from dplearn.display.described import (
    beliefs,
    figures,
    greatest_belief,
    greatest_factor,
    in_groups,
    in_words,
    warnings_of,
)

MASSES = st.lists(st.integers(0, 50), min_size=2, max_size=6).filter(any)


def said(guarantee):
    alerts = [text for alert in warnings_of(guarantee) for text in alert]
    table = beliefs(guarantee)
    return " ".join(
        [*alerts, *in_words(guarantee), table.caption, *(cell for row in table.rows for cell in row)]
    )


def believed(approx, prior):
    text = greatest_belief(approx, prior)
    return 1.0 if text == "no limit" else float(text.removesuffix(" %")) / 100


@given(st.data(), st.sampled_from([Fraction(1, 100), Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]))
def test_no_belief_exceeds_the_stated_bound_except_with_probability_two_delta(data, prior):
    size = len(first := data.draw(MASSES))
    second = data.draw(st.lists(st.integers(1, 50), min_size=size, max_size=size))
    true, other = np.array(first) / sum(first), np.array(second) / sum(second)
    epsilon = data.draw(st.sampled_from([0.1, 1, 3]))
    delta = np.maximum(true - math.exp(epsilon) * other, 0).sum()
    delta = 0 if delta < 1e-12 else min(Fraction(float(delta)) + Fraction(1, 10**9), Fraction(999, 1000))
    after = float(prior) * true / (float(prior) * true + float(1 - prior) * other)
    beyond = after > believed(ApproxDP(epsilon, delta), prior) + 1e-12
    assert true[beyond].sum() <= 2 * float(delta) + 1e-12


def test_randomised_response_attains_the_stated_bound():
    # It tells the truth with odds exp(1): a belief of 1/2 becomes exp(1) / (1 + exp(1)) = 0.73106.
    assert greatest_belief(ApproxDP(1), Fraction(1, 2)) == "73.2 %"
    assert greatest_belief(ApproxDP(0), Fraction(1, 10)) == "10 %"


@given(st.integers(0, 1900))
def test_factors_are_rounded_up(hundredths):
    text = greatest_factor(ApproxDP(Fraction(hundredths, 100))).rpartition("= ")[2].replace(",", "")
    exact = math.exp(hundredths / 100)
    assert exact * (1 - 1e-12) <= float(text) <= exact * 1.01


def test_the_protected_values_are_labels_records_or_their_presence():
    assert "the label of any one record" in said(ApproxDP(1, protects="labels"))
    assert "all values in any one record" in said(ApproxDP(1))
    assert "the presence of any one record in the table" in said(ApproxDP(1, neighbors="add_remove"))


def test_delta_is_explained_only_if_there_is_one():
    assert "one in 500,000" in said(ApproxDP(1, 1e-6))
    assert "delta" not in said(ApproxDP(1))


def test_there_are_warnings_of_a_seed_and_of_a_large_epsilon():
    assert warnings_of(ApproxDP(10)) == []
    assert "Not for release." in said(ApproxDP(1, reproducible=True))
    assert "worth very little" in said(ApproxDP(11))
    assert "no limit" in said(ApproxDP(10**9))


def test_a_concentrated_guarantee_is_explained_by_the_epsilon_that_it_implies():
    rho = ZeroConcentratedDP("0.005")
    assert "epsilon = 0.429941" in said(rho).replace("\n", " ")
    assert figures(rho)[0] == ("rho", "0.005")


@pytest.mark.parametrize("guarantee", [ApproxDP(1), ApproxDP(2, 1e-3), ZeroConcentratedDP(0.1)])
def test_the_table_of_groups_states_the_guarantee_for_groups(guarantee):
    table = in_groups(guarantee)
    for count, *cells in table.rows:
        try:
            first = f"{float(getattr(guarantee.for_group(int(count)), guarantee._numbers[0])):g}"
        except ValueError:
            first = "no limit"
        assert cells[0] == first
    beliefs = [1e3 if row[-1] == "no limit" else float(row[-1].removesuffix(" %")) for row in table.rows]
    assert beliefs == sorted(beliefs)
