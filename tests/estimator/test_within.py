"""Fits within a fit: nothing is drawn while records are read, and the account is the one outside's."""

import numpy as np
import pytest

from dplearn.chance import SeededDice
from dplearn.domains import DomainError, IntegerRange
from dplearn.estimator.within import fit_within, read_all
from dplearn.learners.generic import ExponentialMechanismClassifier
from dplearn.privacy import ApproxDP

X, Y = np.arange(20)[:, None] % 10, np.arange(20) % 2


class NoDice:
    """Dice that must not be thrown."""


def learner():
    return ExponentialMechanismClassifier(domain=IntegerRange(0, 9), classes=[0, 1])


def account(seen):
    def open_account(price):
        seen.append(("price", price.epsilon))
        return lambda guarantee: seen.append(("guarantee", guarantee.epsilon))

    return open_account


def test_records_are_read_as_far_as_the_charge_and_nothing_is_drawn():
    seen, inner = [], learner()
    read_all(inner, X, Y, NoDice(), reproducible=False, open_account=account(seen))
    assert seen == [("price", 1), ("guarantee", 1)]
    assert not hasattr(inner, "concept_")


def test_what_the_learner_refuses_is_refused():
    with pytest.raises(DomainError, match="outside the declared domain"):
        read_all(learner(), X + 5, Y, NoDice(), reproducible=False, open_account=account([]))


def test_a_fit_within_asks_the_account_it_is_given_and_then_has_its_own_again():
    seen, inner = [], learner()
    fit_within(inner, X, Y, SeededDice(0), reproducible=True, open_account=account(seen))
    assert [name for name, _ in seen] == ["price", "guarantee"]
    assert inner.guarantee_ == ApproxDP(1, assumes=inner.guarantee_.assumes, reproducible=True)
    assert "_open_account" not in vars(inner)


def test_the_account_is_put_back_when_a_fit_fails():
    inner = learner()
    with pytest.raises(DomainError):
        fit_within(inner, X + 5, Y, SeededDice(0), reproducible=True, open_account=account([]))
    assert "_open_account" not in vars(inner)
