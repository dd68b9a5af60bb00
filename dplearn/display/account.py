"""Check that the ledgers can pay for all of several fits, before the first fit.

>>> from dplearn import ExponentialMechanismClassifier, PrivacyLedger
>>> ledger = PrivacyLedger(epsilon=3)
>>> models = [ExponentialMechanismClassifier(epsilon=1, ledger=ledger) for _ in range(3)]
>>> require_all(models, [[0], [1]], [0, 1])  # no error: the budget is enough; nothing is charged
>>> float(ledger.spent().epsilon)
0.0
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from dplearn.estimator.base import PrivateEstimator
from dplearn.estimator.public import cost_of_fit
from dplearn.privacy import Guarantee, PrivacyLedger
from dplearn.privacy.base import amounts, with_amounts
from dplearn.privacy.privacy_filter import PrivacyFilter

__all__ = ["require_all"]


def require_all(models: Iterable[Any], X: Any, y: Any) -> None:
    """Raise the error that fitting all of these models would raise in a ledger; nothing is charged.

    Parameters
    ----------
    models : iterable of estimators
        Unfitted. The costs of models with a ledger are added, and those of their parts with a ledger, such
        as steps. A cost that is not known before the fit is omitted.
    X, y : array-like
        The data of the fits. Their sizes are read, and no value.

    Raises
    ------
    BudgetExceededError
        If the budget of a ledger is less than the sum of the costs.
    LedgerError
        If a ledger does not accept one of the costs at all.
    """
    accounts: dict[Any, tuple[PrivacyLedger, list[Guarantee]]] = {}
    for part in (part for model in models for part in _charged(model)):
        ledger, cost = part.ledger, cost_of_fit(part, X, y)
        if cost is not None:  # two objects with the same file are one ledger
            accounts.setdefault(ledger.path or id(ledger), (ledger, []))[1].append(cost)
    for ledger, costs in accounts.values():
        for each in dict.fromkeys(costs):
            ledger.require(each)
        ledger.require(_total(ledger, costs))


def _charged(model: Any) -> list[Any]:
    """Return those among the model and its parts that have a ledger."""
    parts = [model, *model.get_params().values()]
    return [
        part
        for part in parts
        if isinstance(part, PrivateEstimator) and isinstance(part.ledger, PrivacyLedger)
    ]


def _total(ledger: PrivacyLedger, costs: list[Guarantee]) -> Guarantee:
    """Return the sum of all costs by the ledger's rule of composition."""
    rule = PrivacyFilter(ledger.budget, allow_reproducible=True)  # `require_all` has checked each cost
    parts = [amounts(rule.cost(cost)) for cost in costs]
    return with_amounts(
        ledger.budget, {name: sum((part[name] for part in parts), Fraction(0)) for name in parts[0]}
    )
