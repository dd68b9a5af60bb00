"""Deliberate mistakes with groups of rows: each breaks the claim where the original keeps it."""

import sys
from dataclasses import replace

import numpy as np
import pytest

from dplearn.audit.cases.groups import CASES as GROUP_CASES
from dplearn.fit import execute
from dplearn.learners.votes import recipe
from dplearn.privacy import ApproxDP
from dplearn.queries.noise import CentralNoise
from dplearn.table.groups import SHIFTS, grouping_of, grouping_of_codes
from dplearn.table.table import InMemory, Table
from tests.laws.conftest import OnePair

grouped = sys.modules["dplearn.releases.grouped"]  # the package has a function of this name
CASES = {case.name: case for case in GROUP_CASES}
SHORT, LONG = ((2, "b"),), ((0, "b"), (2, "a"), (2, "a"))
PAIRS = ((((0, 0),),), (((1, 1),),)), ((SHORT, LONG, LONG), (SHORT, SHORT, LONG))


def noise_for_one_row(monkeypatch):
    monkeypatch.setattr(CentralNoise, "l1", lambda _, query: query.l1)


def noise_for_one_row_less(monkeypatch):
    monkeypatch.setattr(CentralNoise, "l1", lambda self, query: query.l1 * self.each - 1)


def a_group_in_several_shards(monkeypatch):
    def spread(grouping, shards):
        places = np.arange(len(grouping.members))
        return [places[each :: len(shards)] for each in range(len(shards))]

    monkeypatch.setattr(recipe, "rows_of_shards", spread)


def rows_chosen_within_each_part(monkeypatch):
    """A group whose rows lie in two parts then takes part with twice as many rows."""

    def times(members, most):
        own, codes = np.unique(members, return_inverse=True)
        found = grouping_of_codes(codes, len(own), most=most, shifts=lambda n: [0] * n)
        return np.bincount(found.slots.ravel(), minlength=len(members))

    def chosen(self, grouping):
        parts = np.split(grouping.members, np.cumsum(self.blocks.lengths)[:-1])
        weights = np.concatenate([times(members, grouping.each) for members in parts])
        return replace(self, blocks=replace(self.blocks, weights=weights), grouping=grouping)

    monkeypatch.setattr(Table, "grouped", chosen)


def all_values_released(monkeypatch):
    def read_groups(recipe, X, y, groups):
        facts, rows = recipe.read(X, y)
        return facts, Table(InMemory(rows)), facts.n_samples

    monkeypatch.setattr(execute, "_read_groups", read_groups)


def values_chosen_by_the_length_of_the_table(monkeypatch):
    """Then another number of values of one group changes the values of others."""

    def chosen(groups, n, *, most, shifts):
        return grouping_of(groups, n, most=most, shifts=lambda k: [n % 2 * SHIFTS // 2] * k)

    monkeypatch.setattr(execute, "grouping_of", chosen)


def noise_of_a_release_for_one_row(monkeypatch):
    monkeypatch.setattr(grouped, "moved_counts", lambda _: 1)  # of two rows: half of it


def categories_learned_as_of_one_row(monkeypatch):
    monkeypatch.setattr(
        grouped._Grouped, "_learning", lambda self, epsilon: ApproxDP(epsilon, self.cost.delta)
    )


def a_failure_as_of_one_row(monkeypatch):
    right = grouped._Grouped._learning

    def learning(self, epsilon):
        return replace(right(self, epsilon), delta=self.cost.delta)

    monkeypatch.setattr(grouped._Grouped, "_learning", learning)


def counts_up_to_the_number_of_rows(monkeypatch):
    """Which is private."""

    def read_groups(recipe, X, y, groups):
        facts, table, _ = right(recipe, X, y, groups)
        recipe.group_rows = 1
        return facts, table, len(table)

    right = execute._read_groups
    monkeypatch.setattr(execute, "_read_groups", read_groups)


#: Of the first group only the number of values changes.
VALUES = (((0,), (0, 2), (0, 2)), ((0, 2), (0, 2), (0, 2)))
KEYED = (((("a", -1.0), ("a", -1.0)),), ((("b", 1.0), ("b", 1.0), ("c", 1.0)),))
MUTANTS = [
    (noise_for_one_row, "naive_bayes_of_groups", PAIRS[0]),
    (noise_for_one_row_less, "naive_bayes_of_groups", PAIRS[0]),
    (a_group_in_several_shards, "transfer_of_groups", PAIRS[1]),
    (all_values_released, "counts_of_groups", (((0,), (0,), (0,)), ((2, 2, 0), (0,), (0,)))),
    (all_values_released, "median_of_groups", (((0,), (0,), (2,)), ((2, 2, 0), (0,), (2,)))),
    (values_chosen_by_the_length_of_the_table, "counts_of_groups", VALUES),
    (noise_of_a_release_for_one_row, "sums_of_groups_by_category", KEYED),
    (counts_up_to_the_number_of_rows, "sums_of_groups_by_category", (KEYED[0], (KEYED[0][0][:1],))),
    (categories_learned_as_of_one_row, "learned_categories_of_groups", (("aa", "a"), ("b", "a"))),
    (a_failure_as_of_one_row, "learned_categories_of_groups", (("a", "a"), ("bbc", "a"))),
    (rows_chosen_within_each_part, "sums_of_groups_in_parts", (((-1,), (-1,)), ((2, 2, 2), (-1,)))),
    (noise_for_one_row_less, "sums_of_groups_in_parts", (((-1,), (-1,)), ((2, 2, 2), (-1,)))),
]


@pytest.mark.parametrize(
    ("mutant", "name", "pair"), MUTANTS, ids=lambda given: getattr(given, "__name__", "")
)
def test_each_mistake_breaks_a_claim_that_the_original_keeps(mutant, name, pair, monkeypatch):
    assert OnePair.of(CASES[name], pair).is_kept()
    mutant(monkeypatch)
    assert not OnePair.of(CASES[name], pair).is_kept()
