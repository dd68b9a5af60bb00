"""Fits within a fit: a private learner that is fitted on some of the records that another was given.

The one outside charges for both. What the one inside would refuse of the records it must refuse of all of
them, before anything is drawn or spent: which rows it is given may be secret.
"""

from collections.abc import Callable
from contextlib import suppress
from copy import copy
from typing import Any, NoReturn, cast

from sklearn.base import clone

from dplearn.chance.dice import Dice
from dplearn.privacy import Guarantee

__all__ = ["UNSEEN", "OpenAccount", "check_parameters", "fit_within", "price_of_fit", "read_all"]

#: Takes the price of a fit, before anything is read, and returns what is called with its guarantee.
OpenAccount = Callable[[Any], Callable[[Any], None]]


class _AllReadError(Exception):
    """Raised in place of a charge: all records have been read."""


class _PriceToldError(Exception):
    """Raised in place of reading: what the fit would be charged is known."""


class _UnseenError(Exception):
    """Raised to whoever looks at what is not there."""


class _Unseen:
    """Stands where data would; whoever looks is told that there are none."""

    @property
    def shape(self) -> NoReturn:
        """How large the data are: whatever depends on it is not known."""
        raise _UnseenError


#: Stands in place of X where there are no data.
UNSEEN = _Unseen()


def price_of_fit(model: Any, X: Any, y: Any) -> Guarantee | None:
    """Return what a fit would be charged, as the fit itself tells before it reads, or None if it does not.

    Parameters
    ----------
    model : PrivateEstimator
        Is not changed.
    X, y : object
        What would be fitted, or whatever refuses to be looked at: no value is read.
    """
    with suppress(Exception):  # what is wrong is for the fit to refuse
        price = _told_price(model, X, y)
        return price if isinstance(price, Guarantee) else None
    return None


def check_parameters(model: Any) -> None:
    """Refuse what a fit would refuse before it reads anything: its parameters.

    Parameters
    ----------
    model : PrivateEstimator
        Is not changed.

    Raises
    ------
    TypeError, ValueError
        Whatever the fit raises.
    """
    with suppress(_UnseenError):
        _told_price(model, UNSEEN, None)


def _told_price(model: Any, X: Any, y: Any) -> Any:
    """Return what a fit opens its account with; whatever it raises before is raised."""
    prices: list[Any] = []

    def opened(price: Any) -> Callable[[Any], None]:
        prices.append(price)
        raise _PriceToldError

    seeded, nothing_to_throw = model.random_state is not None, cast(Dice, None)
    twin = copy(model)
    twin.random_state = 0 if seeded else None  # a generator of the user's would be drawn from
    with suppress(_PriceToldError):
        fit_within(twin, X, y, nothing_to_throw, reproducible=seeded, open_account=opened)
    return prices[0] if prices else None


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
