"""The conductor: in which order a recipe is carried out, and what is done once."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pytest

from dplearn.chance import SeededDice
from dplearn.fit.execute import Facts, Recipe, begin, execute
from dplearn.fit.relation import GROUPS, N_IS_PUBLIC, PARTS, PARTS_OF_GROUPS
from dplearn.privacy import ApproxDP, BudgetExceededError, PrivacyLedger
from dplearn.privacy.unknown_count import AT_LEAST_ONE


@dataclass(frozen=True)
class SumPlan:
    guarantee: ApproxDP
    n_samples: object
    warnings: tuple = ()


class Sum(Recipe):
    """The exact sum of the first column: a recipe that tells what is done with it."""

    def __init__(self, cost=None, warns=(), **settings):
        self.name, self.cost, self.random_state = "sum", cost or ApproxDP(1, assumes=(N_IS_PUBLIC,)), 0
        self.seen, self.warns = [], warns
        vars(self).update(settings)

    def read(self, X, y):
        self.seen.append("read")
        return Facts(len(X)), np.asarray(X)[:, 0]

    def plan(self, facts):
        self.seen.append("plan")
        return SumPlan(self.cost, facts.n_samples, self.warns)

    def summarized(self, table, plan):
        self.seen.append("summarise")
        return super().summarized(table, plan)

    def run(self, table, plan, dice):
        self.seen.append("run")
        [total] = table.sums(lambda rows: [int(rows.sum())])
        return total, plan


X = np.array([[1], [2], [4], [8]])
FRAME = pd.DataFrame({"x": X[:, 0], "person": ["a", "b", "a", "a"]})


def test_a_table_is_read_planned_and_charged_before_it_is_summed():
    recipe, ledger = Sum(), PrivacyLedger(1, allow_reproducible=True)
    assert execute(recipe, X, ledger=ledger, dice=SeededDice(0)).released[0] == 15
    assert recipe.seen == ["read", "plan", "summarise", "run"]
    with pytest.raises(BudgetExceededError):
        execute(poor := Sum(), X, ledger=ledger, dice=SeededDice(0))
    assert poor.seen == []  # no value is read
    assert len(ledger.history()) == 1


def test_a_warning_that_is_an_error_costs_nothing():
    recipe, ledger = Sum(warns=("n_samples is 4: too few",)), PrivacyLedger(1)
    with warnings.catch_warnings(action="error"), pytest.raises(UserWarning, match="too few"):
        execute(recipe, X, ledger=ledger, dice=SeededDice(0))
    assert ledger.history() == []
    assert recipe.seen == ["read", "plan"]


def test_a_table_is_summarised_once_for_all_paths():
    recipe = Sum()
    ready = begin(recipe, X)
    assert [ready.run(SeededDice(seed))[0] for seed in range(3)] == [15] * 3
    assert recipe.seen == ["read", "plan", "summarise", "run", "run", "run"]


def in_parts(frame):
    return [frame[:1], frame[1:1], frame[1:]]


@pytest.mark.parametrize(
    ("settings", "table", "groups", "total", "n", "assumes"),
    [
        ({}, X, None, 15, 4, (N_IS_PUBLIC,)),
        ({}, in_parts(FRAME[["x"]]), None, 15, 4, (N_IS_PUBLIC, PARTS)),
        # Two rows of each person: b's row 2 twice, and two of 1, 4 and 8, the positions from a public start.
        ({"group_rows": 2}, X, FRAME.person, None, 2, None),
        ({"group_rows": 2}, in_parts(FRAME), "person", None, 2, None),
        ({}, X, FRAME.person, None, 2, ("the number of groups is public", GROUPS)),
        ({}, in_parts(FRAME), "person", None, 2, ("the number of groups is public", GROUPS, PARTS_OF_GROUPS)),
        ({"cost": ApproxDP(1, 0, "add_remove", assumes=(N_IS_PUBLIC,))}, X, None, 15, None, (AT_LEAST_ONE,)),
    ],
)
def test_memory_parts_and_groups_have_one_way(settings, table, groups, total, n, assumes):
    found, plan = execute(Sum(**settings), table, groups=groups, dice=SeededDice(0)).released
    assert plan.n_samples == n
    assert assumes is None or plan.guarantee.assumes == assumes
    assert plan.guarantee.protects == ("examples" if groups is None else "groups")
    if total is None:  # the same rows in memory and in parts
        total = execute(Sum(**settings), X, groups=FRAME.person, dice=SeededDice(0)).released[0]
        assert 3 <= total <= 10 + 24
    assert found == total


def test_labels_and_groups_are_not_protected_together():
    cost = replace(ApproxDP(1), protects="labels")
    with pytest.raises(ValueError, match="groups must be None where protects='labels'"):
        execute(Sum(cost), X, groups=FRAME.person, dice=SeededDice(0))
