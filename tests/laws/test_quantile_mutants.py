"""Deliberate mistakes in quantiles: each breaks the claim or changes the distribution."""

from dataclasses import replace
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

from dplearn.audit import exact_distribution, least_exp_epsilon
from dplearn.audit.cases import quantiles as quantile_cases
from dplearn.audit.cases.quantiles import CASES as QUANTILE_CASES
from dplearn.audit.cases.quantiles import level_case, quantiles_case
from dplearn.audit.enumeration import distribution_on
from dplearn.kernels import ranks as ranked
from dplearn.kernels.exact import at_most_exp, decay_ratio
from dplearn.kernels.ranks import Cell, SortedCodes
from dplearn.mechanisms import rank_selection
from dplearn.mechanisms.rank_selection import code_near_rank
from dplearn.mechanisms.sparse_vector import Questions
from dplearn.preprocessing import quantile_columns
from dplearn.privacy import ApproxDP
from tests.laws.conftest import OnePair

# The package exports a function by the module's name.
first_reaching = import_module("dplearn.mechanisms.sparse_vector")
QUARTER, HALF = Fraction(1, 4), Fraction(1, 2)


def distribution(case, rows):
    return distribution_on(case.fit, rows)


def worst(case, pair):
    """exp of the exact epsilon between two datasets; None if no epsilon will do."""
    one, other = (distribution(case, rows) for rows in pair)
    found = [least_exp_epsilon(*distributions)[0] for distributions in ((one, other), (other, one))]
    return None if None in found else max(found)


def keeps(case, pair):
    found = worst(case, pair)
    return found is not None and at_most_exp(found, case.claim.epsilon)


# --- Costs that move by more than they are selected for. ---


def moving(width, in_first, in_second):
    """Two datasets that differ by one record, which goes from the second cell's start to the first's."""
    both = tuple(in_first + in_second)
    return (*both, width), (*both, 0)


#: Where one record more makes near codes cheaper by b - a and the many codes beyond dearer by as much, and
#: the reverse where it is missing: the worst that a level can meet.
FEW_BELOW = moving(30, [0] + [2] * 2 + [29] * 5, [30] + [58] * 7)
HALF_BELOW = moving(30, [0] + [2] * 4 + [29] * 3, [30] * 3 + [58] * 5)


def level(fraction):
    return level_case("level", fraction, width=30, n=17, epsilon=1)


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("fraction", "pair"),
    [(QUARTER, FEW_BELOW), pytest.param(HALF, HALF_BELOW, marks=pytest.mark.nightly)],
    ids=str,
)
def test_a_level_costs_nearly_all_that_it_is_given(fraction, pair):
    assert keeps(level(fraction), pair)
    assert worst(level(fraction), pair) > np.exp(0.93)


@pytest.mark.nightly
def test_quarters_at_the_price_of_medians_break_the_claim(monkeypatch):
    monkeypatch.setattr(rank_selection, "rank_sensitivity", lambda fraction, alone: fraction.denominator)
    assert keeps(level(HALF), HALF_BELOW)
    assert not keeps(level(QUARTER), FEW_BELOW)
    assert np.exp(1.35) < worst(level(QUARTER), FEW_BELOW) < np.exp(1.5)  # 2 max(f, 1 - f) is the limit


def test_one_change_where_two_are_due_breaks_the_claim(monkeypatch):
    right = ranked.rank_sensitivity
    monkeypatch.setattr(rank_selection, "rank_sensitivity", lambda *task: max(1, right(*task) // 2))
    assert not keeps(level(HALF), HALF_BELOW)
    assert not keeps(level(QUARTER), FEW_BELOW)
    assert not keeps(*pair_of("median"))
    assert not keeps(*pair_of("lower_quartile"))


#: The worst of the case's universe.
PAIRS = {
    "median": ((0, 2, 2, 2, 3), (0, 0, 2, 2, 2)),
    "lower_quartile": ((2, 2, 2, 2, 3), (0, 2, 2, 2, 2)),
    "two_quantiles": ((0, 1, 3), (1, 3, 3)),
    "quartiles": ((0, 1), (1, 3)),
}


def pair_of(name):
    [case] = [case for case in QUANTILE_CASES if case.name == name]
    return case, PAIRS[name]


@pytest.mark.parametrize("name", PAIRS)
def test_the_pairs_keep_the_claim_unmutated(name):
    assert keeps(*pair_of(name))


# --- Ends that are private. ---


def test_ends_of_the_domain_taken_from_the_data_tell_them(monkeypatch):
    def between_extremes(ranks, first, last, start, stop):
        data = ranks.window(0, len(ranks))
        return Cell(ranks, first, last, data[0], data[-1] + 1)

    case, pair = pair_of("median")
    assert case.replay() == []
    monkeypatch.setattr(rank_selection, "Cell", between_extremes)
    assert worst(case, pair) is None
    assert case.replay()


def test_ends_of_cells_taken_from_the_data_tell_them(monkeypatch):
    def from_data(ranks, first, last, start, stop):
        data = ranks.window(first, last)
        return Cell(ranks, first, last, *((data[0], data[-1] + 1) if data else (start, stop)))

    monkeypatch.setattr(rank_selection, "Cell", from_data)
    for name in ("two_quantiles", "quartiles"):
        assert worst(*pair_of(name)) is None


def test_a_record_that_counts_twice_changes_the_output_distribution(monkeypatch):
    class Twice(Cell):
        def window(self, start, stop):
            data = super().window(start, stop)
            return [data[0], *data[:-1]] if data else data

    [case] = [case for case in QUANTILE_CASES if case.name == "level_of_lower_quartiles"]
    assert case.replay() == []
    rows = tuple(case.universe[i % len(case.universe)] for i in range(case.n))
    right = distribution(case, rows).key()
    monkeypatch.setattr(quantile_cases, "Cell", Twice)
    assert distribution(case, rows).key() != right


def test_cells_that_share_the_datum_between_them_have_another_law(monkeypatch):
    class Shared(ranked.ApartCodes):
        def count(self, code):
            below, upto = super().count(code)
            return below, max(below, upto - 1)

    case, (rows, _) = pair_of("quartiles")
    right = distribution(case, rows).key()
    monkeypatch.setattr(rank_selection, "ApartCodes", Shared)
    assert distribution(case, rows).key() != right


# --- Budgets, ties and the fast route. ---


def test_levels_that_each_spend_everything_cost_twice(monkeypatch):
    case, pair = pair_of("quartiles")
    right = worst(case, pair)
    monkeypatch.setattr(rank_selection, "ApproxDP", lambda epsilon: ApproxDP(2 * epsilon))
    assert float(worst(case, pair)) > float(right) ** 1.8
    assert not keeps(replace(case, claim=ApproxDP(case.claim.epsilon * 9 / 10)), pair)


def test_ties_spread_anew_for_each_number_of_them_move_more_than_one(monkeypatch):
    def evenly(i, count, bits):
        return (i << bits) // count

    def apart(codes):
        return set(ranked.ApartCodes(SortedCodes(np.array(codes)), 3).window(0, len(codes)))

    one, other = [0] * 3 + [1], [0] * 4
    assert len(apart(one) - apart(other)) == 1
    monkeypatch.setattr(ranked, "_nth_place", evenly)
    assert len(apart(one) - apart(other)) > 1


def test_the_fast_route_with_nothing_drawn_anew_has_another_law(monkeypatch):
    cell = Cell(SortedCodes(np.array([0, 1, 4, 5, 5])), 0, 5, 0, 6)
    select = rank_selection.select_exponential

    def run(dice):
        return code_near_rank(cell, HALF, privacy=ApproxDP(1), dice=dice)

    right = exact_distribution(run).key()
    monkeypatch.setattr(rank_selection, "_far", lambda ratio, size: 1)
    assert exact_distribution(run).key() == right

    def inside_only(costs, lengths, **how):
        kept = len(costs) - (lengths[-1] == 6)  # the piece that stands for all codes outside
        return select(costs[:kept], lengths[:kept], **how)

    monkeypatch.setattr(rank_selection, "select_exponential", inside_only)
    assert exact_distribution(run).key() != right


def test_a_case_of_quantiles_has_as_many_as_were_asked_for():
    case = quantiles_case("ends", [Fraction(0), Fraction(1)], values=2, n=2, epsilon=1)
    assert {seen[1][0] for seen in distribution(case, (0, 1)).masses} == {"[0, 0]", "[0, 1]", "[1, 1]"}


# --- The search for the first count that reaches a threshold. ---

#: The worst of the case's universe: counts 1, 2, 3 against 2, 2, 3.
REACHING_PAIR = ((0, 1, 2), (0, 0, 2))


def reaching():
    [case] = [case for case in QUANTILE_CASES if case.name == "first_reaching"]
    return case


def exceeds_by(pair=REACHING_PAIR):
    """Return whether the search exceeds its claim on a pair."""
    return not OnePair.of(reaching(), pair).run().keeps(reaching().claim)


def test_the_search_keeps_its_claim_unmutated():
    assert not exceeds_by()


@pytest.mark.parametrize(
    "ratios",
    [
        lambda epsilon: (decay_ratio(epsilon * Fraction(2, 3)), decay_ratio(epsilon * Fraction(2, 5))),
        lambda epsilon: (decay_ratio(epsilon * Fraction(3, 4)), decay_ratio(epsilon * Fraction(1, 3))),
        lambda epsilon: (decay_ratio(epsilon), decay_ratio(epsilon)),
    ],
    ids=["less noise on counts", "less noise on the threshold", "epsilon twice"],
)
def test_less_noise_in_the_search_breaks_the_claim(monkeypatch, ratios):
    monkeypatch.setattr(first_reaching, "reaching_ratios", ratios)
    assert exceeds_by()


def test_a_search_in_counts_that_move_both_ways_breaks_the_claim():
    """The numbers of records at each candidate, in place of those up to it."""

    def fit(rows, dice):
        at_0, at_1 = ([*rows].count(value) for value in range(2))
        found = first_reaching.first_reaching([at_0, at_1, 0], 1, privacy=ApproxDP(3), dice=dice)
        return str(found), found

    case = replace(reaching(), fit=fit, universe=range(2), n=1)
    assert not OnePair.of(case, ((0,), (1,))).run().keeps(case.claim)


def test_a_threshold_without_noise_breaks_the_claim(monkeypatch):
    monkeypatch.setattr(Questions, "noisy_threshold", lambda self: self.threshold)
    assert exceeds_by(((0, 1, 2), (0, 1, 3))) or exceeds_by(((2, 2, 2), (0, 2, 2))) or exceeds_by()


def test_ends_that_each_spend_everything_break_the_claim(monkeypatch):
    [case] = [case for case in QUANTILE_CASES if case.name == "searching_min_max_clipper"]
    monkeypatch.setattr(quantile_columns, "epsilon_of", lambda privacy: 2 * privacy.epsilon)
    assert not OnePair.of(case, ((-2.0,), (1.0,))).run().keeps(case.claim)
