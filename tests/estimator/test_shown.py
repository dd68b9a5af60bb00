"""What stands under a diagram is asked of the fit itself, which gets no data for it."""

import pytest

from dplearn import ApproxDP, PrivacyLedger
from dplearn.estimator import PrivateClassifier
from dplearn.estimator.shown import promise_html


class Learner(PrivateClassifier):
    """Charges epsilon, or looks at the data before it does."""

    def __init__(self, epsilon=1, looks=False, ledger=None, random_state=None):
        self.epsilon, self.looks = epsilon, looks
        self.ledger, self.random_state = ledger, random_state

    def _fit(self, X, y, dice, *, reproducible=False):
        if self.looks:
            _ = X.shape
        self._open_account(ApproxDP(self.epsilon, reproducible=reproducible))
        raise AssertionError("a fit that asks for a price must go no further")


def told(learner):
    scope, _, promise = promise_html(learner).partition('<div class="dplearn-promise">')
    assert scope.startswith('<div class="dplearn-scope">This covers the fit of this estimator alone. ')
    assert "dplearn.privacy.pipeline_guarantee(pipeline)" in scope
    return promise.removesuffix("</div>")


@pytest.mark.parametrize("epsilon", [1, 0.1, 3])
def test_the_price_is_what_the_fit_would_charge(epsilon):
    assert told(Learner(epsilon)) == f"Not fitted. A fit will spend epsilon {epsilon}, delta 0."


def test_a_fit_that_looks_at_data_first_tells_no_price():
    assert told(Learner(looks=True)) == "Not fitted."


def test_to_be_shown_costs_nothing_even_where_the_budget_is_too_small():
    ledger = PrivacyLedger(0.5)
    assert told(Learner(1, ledger=ledger)) == "Not fitted. A fit will spend epsilon 1, delta 0."
    assert len(ledger.history()) == 0


def test_a_guarantee_is_shown_in_its_own_way():
    learner = Learner()
    learner.guarantee_ = ApproxDP(0.25)
    assert told(learner) == learner.guarantee_._repr_html_()
