"""Fits within a fit: a private learner that is fitted on some of the records that another was given.

The one outside charges for both. What the one inside would refuse of the records it must refuse of all of
them, before anything is drawn or spent: which rows it is given may be secret.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from sklearn.base import clone

from dplearn.chance.dice import Dice
from dplearn.privacy import Guarantee

__all__ = ["OpenAccount", "fit_within", "read_all"]

#: Takes the price of a fit, before anything is read, and returns what is called with its guarantee.
OpenAccount = Callable[[Any], Callable[[Any], None]]


class _AllReadError(Exception):
    """Raised in place of a charge: all records have been read."""


def read_all(
    inner: Any, rows: Any, y: Any, dice: Dice, *, reproducible: bool, open_account: OpenAccount
) -> None:
    """Let a copy of a learner read all records as far as its charge, at which it stops.

    Parameters
    ----------
    inner : PrivateEstimator
        Is not changed.
    rows, y : table of shape (n, d), and array-like of shape (n,) or None
        Private.
    dice : Dice
        Are not thrown.
    reproducible : bool
        Whether they could be thrown again.
    open_account : callable
        As for `fit_within`. What it returns is called with the guarantee before the copy stops.

    Raises
    ------
    DomainError, TypeError, ValueError
        Whatever the learner refuses.
    """

    def opened(price: Any) -> Callable[[Any], None]:
        charge = open_account(price)

        def stop(guarantee: Guarantee) -> None:
            charge(guarantee)
            raise _AllReadError

        return stop

    with suppress(_AllReadError):
        fit_within(clone(inner), rows, y, dice, reproducible=reproducible, open_account=opened)


def fit_within(
    inner: Any, rows: Any, y: Any, dice: Dice, *, reproducible: bool, open_account: OpenAccount
) -> None:
    """Fit a learner with these dice; `open_account` stands in place of its ledger.

    Parameters
    ----------
    inner : PrivateEstimator
        Is fitted.
    rows, y : table of shape (m, d), and array-like of shape (m,) or None
        Private.
    dice : Dice
        Source of chance.
    reproducible : bool
        Whether they can be thrown again.
    open_account : callable
        Called with the price of the fit before anything is read; what it returns, with the guarantee.
    """
    vars(inner)["_open_account"] = open_account
    try:
        inner._fit(rows, y, dice, reproducible=reproducible)
    finally:
        del vars(inner)["_open_account"]
