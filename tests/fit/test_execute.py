"""The conductor: in which order a recipe is carried out, and what is done once."""

import warnings
from dataclasses import dataclass

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.fit import Facts, Recipe, begin
from dplearn.fit.execute import execute
from dplearn.privacy import ApproxDP, BudgetExceededError, PrivacyLedger


@dataclass(frozen=True)
class SumPlan:
    guarantee: ApproxDP
    n_samples: object
    warnings: tuple = ()


class Sum(Recipe):
    """The exact sum of the first column: a recipe that tells what is done with it."""

    def __init__(self, ledger=None, warns=()):
        self.name, self.cost, self.random_state = "sum", ApproxDP(1), 0
        self.ledger, self.seen, self.warns = ledger, [], warns

    def saw(self, what):
        paid = self.ledger is not None and bool(self.ledger.history())
        self.seen.append(f"{what}, paid" if paid else what)

    def read(self, X, y):
        self.saw("read")
        return Facts(len(X)), np.asarray(X)[:, 0]

    def plan(self, facts):
        self.saw("plan")
        return SumPlan(self.cost, facts.n_samples, self.warns)

    def summarized(self, table, plan):
        self.saw("summarise")
        return super().summarized(table, plan)

    def run(self, table, plan, dice):
        self.saw("run")
        [total] = table.sums(lambda rows: [int(rows.sum())])
        return total, plan


X = np.array([[1], [2], [4], [8]])


def test_a_table_is_read_planned_and_charged_before_it_is_summed():
    ledger = PrivacyLedger(1, allow_reproducible=True)
    recipe = Sum(ledger)
    assert execute(recipe, X, ledger=ledger, dice=SeededDice(0)).released[0] == 15
    assert recipe.seen == ["read", "plan", "summarise, paid", "run, paid"]
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


class Interrupted(Sum):
    """A sum that an interrupt stops, with a text of its own, when it comes to a place."""

    def __init__(self, ledger, place):
        super().__init__(ledger)
        self.place = place

    def saw(self, what):
        super().saw(what)
        if what.partition(",")[0] == self.place:
            raise KeyboardInterrupt("cell 123456")


@pytest.mark.parametrize(("place", "spent"), [("read", 0), ("plan", 0), ("summarise", 1), ("run", 1)])
def test_an_interrupt_before_the_charge_spends_nothing_and_a_later_one_says_what_is_spent(place, spent):
    ledger = PrivacyLedger(1, allow_reproducible=True)
    with pytest.raises(KeyboardInterrupt) as caught:
        execute(Interrupted(ledger, place), X, ledger=ledger, dice=SeededDice(0))
    assert len(ledger.history()) == spent
    text = str(caught.value)
    assert text.startswith("sum was interrupted after its charge: it has spent epsilon 1" * spent)
    assert ("123456" in text) == (not spent)
