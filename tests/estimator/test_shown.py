"""The cost that stands under a diagram is that of the parameters: nothing is fitted for it."""

import pytest

from dplearn import ApproxDP, PrivacyLedger
from dplearn.estimator import PrivateClassifier
from dplearn.estimator.fit_recipe import FitRecipe
from dplearn.estimator.shown import guarantee_html


class Learner(PrivateClassifier):
    """Its cost follows from its parameters, or from the shape of a table only."""

    def __init__(self, epsilon=1, shaped=False, ledger=None, random_state=None):
        self.epsilon, self.shaped = epsilon, shaped
        self.ledger, self.random_state = ledger, random_state

    def _recipe(self, reproducible):
        return Recipe(self, ApproxDP(self.epsilon, reproducible=reproducible), shaped=self.shaped)


class Recipe(FitRecipe):
    def cost_of(self, X, y):
        return None if self.shaped and X is None else self.cost

    def encoded(self, X, y, reader):
        raise AssertionError("nobody learns a cost by running a fit")

    plan = run = encoded


def given(learner):
    scope, _, guarantee = guarantee_html(learner).partition('<div class="dplearn-guarantee">')
    assert "dplearn.privacy.pipeline_guarantee(pipeline)" in scope
    return guarantee.removesuffix("</div>")


@pytest.mark.parametrize("epsilon", [1, 0.1, 3])
def test_the_cost_is_the_charge_of_a_fit(epsilon):
    assert given(Learner(epsilon)) == f"Not fitted. A fit will spend epsilon {epsilon}, delta 0."


def test_a_cost_that_depends_on_shapes_is_not_shown():
    assert given(Learner(shaped=True)) == "Not fitted."


def test_to_be_shown_costs_nothing_even_where_the_budget_is_too_small():
    ledger = PrivacyLedger(0.5)
    assert given(Learner(1, ledger=ledger)) == "Not fitted. A fit will spend epsilon 1, delta 0."
    assert len(ledger.history()) == 0


def test_a_guarantee_is_shown_in_its_own_way():
    learner = Learner()
    learner.guarantee_ = ApproxDP(0.25)
    assert given(learner) == learner.guarantee_._repr_html_()
    assert "The cost of this fit alone" in given(learner)
