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
        price is not known beforehand it is left out.
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
        ledger, price = part.ledger, cost_of_fit(part, X, y)
        if price is not None:  # copies of a ledger in a file are one account
            accounts.setdefault(ledger.path or id(ledger), (ledger, []))[1].append(price)
    for ledger, prices in accounts.values():
        for each in dict.fromkeys(prices):
            ledger.require(each)
        ledger.require(_total(ledger, prices))


def _charged(model: Any) -> list[Any]:
    """Return the model and its parts, so far as they have a ledger."""
    parts = [model, *model.get_params().values()]
    return [
        part
        for part in parts
        if isinstance(part, PrivateEstimator) and isinstance(part.ledger, PrivacyLedger)
    ]


def _total(ledger: PrivacyLedger, prices: list[Guarantee]) -> Guarantee:
    """Return the sum of all prices, added as by the ledger."""
    rule = PrivacyFilter(ledger.budget, allow_reproducible=True)  # `require_all` has checked each price
    costs = [amounts(rule.cost(price)) for price in prices]
    return with_amounts(
        ledger.budget, {name: sum((cost[name] for cost in costs), Fraction(0)) for name in costs[0]}
    )
