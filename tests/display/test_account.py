"""The total cost of several fits is checked against the ledgers before the first fit."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from dplearn import (
    BudgetExceededError,
    ExponentialMechanismClassifier,
    LedgerError,
    PrivacyLedger,
    SecretSampleClassifier,
    SubsampleAggregateClassifier,
)
from dplearn.display.epsilon import require_all
from dplearn.preprocessing import PrivateQuantileTransformer

X, Y = np.zeros((100, 2)), np.zeros(100, dtype=int)


def learner(**parameters):
    return ExponentialMechanismClassifier(**parameters)


def chain(scaler, model):
    return make_pipeline(
        PrivateQuantileTransformer(epsilon=0.5, ledger=scaler), learner(epsilon=1, ledger=model)
    )


def ensemble(ledger):
    return SubsampleAggregateClassifier(LogisticRegression(), epsilon=1, delta=1e-6, ledger=ledger)


def sampled(ledger):
    return SecretSampleClassifier(learner(epsilon=1), sample_size=20, ledger=ledger)


@pytest.mark.parametrize(
    ("made", "least"),
    [
        (lambda ledger: [learner(epsilon=e, ledger=ledger) for e in (0.1, 0.2, 0.3)], ("0.6", 0)),
        (lambda ledger: [chain(ledger, ledger)] * 2, (3, 0)),
        (lambda ledger: [chain(ledger, None)] * 2, (1, 0)),
        (lambda ledger: [ensemble(ledger)] * 3, (3, "3e-6")),
        (lambda ledger: [learner(epsilon=5)] * 3, ("1e-9", 0)),
    ],
    ids=["learners", "pipelines", "transformers", "ensembles", "no ledger"],
)
def test_a_budget_that_equals_the_sum_of_all_costs_is_enough_and_less_is_not(made, least):
    epsilon, delta = least
    ledger = PrivacyLedger(epsilon, delta)
    require_all(made(ledger), X, Y)
    assert not ledger.history()
    if ledger.budget.epsilon > 0.1:
        with pytest.raises(BudgetExceededError):
            require_all(made(PrivacyLedger(float(ledger.budget.epsilon) - 0.01, delta)), X, Y)


def test_a_cost_that_depends_on_the_number_of_records_is_known():
    ledger = PrivacyLedger(10)
    sampled(ledger).fit(X, np.arange(100) % 2)
    cost = ledger.spent().epsilon
    require_all([sampled(PrivacyLedger(2 * cost))] * 2, X, Y)
    with pytest.raises(BudgetExceededError):
        require_all([sampled(PrivacyLedger(2 * cost))] * 3, X, Y)


def test_a_ledger_of_rho_adds_squares():
    models = [learner(epsilon=1, ledger=PrivacyLedger.of_rho(1))] * 2
    require_all(models, X, Y)
    with pytest.raises(BudgetExceededError, match=r"asked rho 1\.5"):
        require_all(models + models[:1], X, Y)


def test_two_ledgers_of_one_file_are_one_ledger(tmp_path):
    models = [learner(epsilon=1, ledger=PrivacyLedger(2, path=tmp_path / "account")) for _ in range(3)]
    require_all(models[:2], X, Y)
    with pytest.raises(BudgetExceededError):
        require_all(models, X, Y)


def test_the_ledger_refuses_a_seed_before_any_fit():
    with pytest.raises(LedgerError, match="random_state"):
        require_all([learner(random_state=0, ledger=PrivacyLedger(9))], X, Y)
