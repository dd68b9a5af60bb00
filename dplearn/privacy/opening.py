"""The account that a release is charged to: asked before anything is read, charged before any draw."""

import os
from collections.abc import Callable
from typing import Any

from dplearn._validation import shown
from dplearn.privacy.guarantees import Guarantee
from dplearn.privacy.ledger import PrivacyLedger
from dplearn.privacy.unrepeatable import refuse_cache

__all__ = ["open_account"]


def open_account(ledger: PrivacyLedger | None, price: Guarantee, *, name: str) -> Callable[[Guarantee], None]:
    """Refuse a release that the ledger would refuse, and return what charges one to that ledger.

    Parameters
    ----------
    ledger : PrivacyLedger or None
        None: nobody keeps account.
    price : Guarantee
        What the release will promise, so far as its parameters tell.
    name : str
        What is released, for the ledger's history: the name of an estimator or of a function.

    Returns
    -------
    callable
        Charges a guarantee: from there on the privacy is spent, whatever becomes of the release.

    Raises
    ------
    TypeError
        If `ledger` is something else, or a cache of joblib is the caller.
    BudgetExceededError
        If the ledger's budget does not hold it; nothing is spent.
    """
    refuse_cache(name)
    if not isinstance(ledger, PrivacyLedger | None):
        raise TypeError(f"ledger must be None or a PrivacyLedger, got {shown(ledger)}{_advice(ledger)}")
    if ledger is None:
        return lambda _: None
    ledger.require(price)

    def charge(guarantee: Guarantee) -> None:
        ledger.charge(guarantee, estimator=name)

    return charge


def _advice(ledger: Any) -> str:
    """Return how the ledger in a file is had, where a path was given."""
    if not isinstance(ledger, (str, os.PathLike)):
        return ""
    return ": PrivacyLedger.open(path) opens the one in a file, PrivacyLedger(epsilon, path=path) makes one"
