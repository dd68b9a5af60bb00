"""Deliberate mistakes with groups of rows: each breaks the claim where the original keeps it."""

import numpy as np
import pytest

from dplearn.audit.cases.groups import CASES as GROUP_CASES
from dplearn.queries import CentralOracle
from dplearn.records.groups import GroupedRecords
from tests.laws.conftest import OnePair

CASES = {case.name: case for case in GROUP_CASES}
SHORT, LONG = ((2, "b"),), ((0, "b"), (2, "a"), (2, "a"))
PAIRS = ((((0, 0),),), (((1, 1),),)), ((SHORT, LONG, LONG), (SHORT, SHORT, LONG))


def noise_for_one_row(monkeypatch):
    monkeypatch.setattr(CentralOracle, "_l1", lambda _, query: query.l1)


def noise_for_one_row_less(monkeypatch):
    monkeypatch.setattr(CentralOracle, "_l1", lambda self, query: query.l1 * self._each - 1)


def a_group_in_several_shards(monkeypatch):
    def spread(self, shards):
        places = np.arange(len(self.rows))
        return [places[each :: len(shards)] for each in range(len(shards))]

    monkeypatch.setattr(GroupedRecords, "rows_of", spread)


MUTANTS = [
    (noise_for_one_row, "naive_bayes_of_groups", PAIRS[0]),
    (noise_for_one_row_less, "naive_bayes_of_groups", PAIRS[0]),
    (a_group_in_several_shards, "transfer_of_groups", PAIRS[1]),
]


@pytest.mark.parametrize(
    ("mutant", "name", "pair"), MUTANTS, ids=lambda given: getattr(given, "__name__", "")
)
def test_each_mistake_breaks_a_claim_that_the_original_keeps(mutant, name, pair, monkeypatch):
    assert OnePair.of(CASES[name], pair).is_kept()
    mutant(monkeypatch)
    assert not OnePair.of(CASES[name], pair).is_kept()
