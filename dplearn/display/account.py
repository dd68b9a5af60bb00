"""What many fits cost together, asked of their ledgers before the first of them.

>>> from dplearn import ExponentialMechanismClassifier, PrivacyLedger
>>> ledger = PrivacyLedger(epsilon=3)
>>> models = [ExponentialMechanismClassifier(epsilon=1, ledger=ledger) for _ in range(3)]
>>> require_all(models, [[0], [1]], [0, 1])  # says nothing, for they fit; nothing is charged
>>> float(ledger.spent().epsilon)
0.0
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from dplearn.estimator.base import PrivateEstimator
from dplearn.estimator.stages import cost_of_fit
from dplearn.privacy import Guarantee, PrivacyLedger
from dplearn.privacy.base import amounts, with_amounts
from dplearn.privacy.privacy_filter import PrivacyFilter

__all__ = ["require_all"]


def require_all(models: Iterable[Any], X: Any, y: Any) -> None:
    """Raise what a ledger would raise if all of these models were to be fitted; nothing is charged.

    Parameters
    ----------
    models : iterable of estimators
        Unfitted. Those with ledgers count, and so do parts of others with ledgers, such as steps. Where a
        cost is not known beforehand it is left out.
    X, y : array-like
        What is to be fitted. Sizes are looked at, and no value.

    Raises
    ------
    BudgetExceededError
        If a ledger does not hold all fits that it is to be charged.
    LedgerError
        If one of them could not be charged to it at all.
    """
    accounts: dict[Any, tuple[PrivacyLedger, list[Guarantee]]] = {}
    for part in (part for model in models for part in _charged(model)):
        ledger, cost = part.ledger, cost_of_fit(part, X, y)
        if cost is not None:  # copies of a ledger in a file are one account
            accounts.setdefault(ledger.path or id(ledger), (ledger, []))[1].append(cost)
    for ledger, costs in accounts.values():
        for each in dict.fromkeys(costs):
            ledger.require(each)
        ledger.require(_total(ledger, costs))


def _charged(model: Any) -> list[Any]:
    """Return the model and its parts, so far as they have a ledger."""
    parts = [model, *model.get_params().values()]
    return [
        part
        for part in parts
        if isinstance(part, PrivateEstimator) and isinstance(part.ledger, PrivacyLedger)
    ]


def _total(ledger: PrivacyLedger, costs: list[Guarantee]) -> Guarantee:
    """Return the sum of all costs, added as by the ledger."""
    rule = PrivacyFilter(ledger.budget, allow_reproducible=True)  # `require_all` has checked each cost
    parts = [amounts(rule.cost(cost)) for cost in costs]
    return with_amounts(
        ledger.budget, {name: sum((part[name] for part in parts), Fraction(0)) for name in parts[0]}
    )
