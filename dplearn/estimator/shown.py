"""The line that stands under an estimator's diagram in a notebook: what it promises, or will cost.

>>> from dplearn import ThresholdClassifier
>>> promise_html(ThresholdClassifier(epsilon=0.5))
'<div class="dplearn-promise">Not fitted. A fit will spend epsilon 0.5, delta 0.</div>'
"""

from collections.abc import Callable
from contextlib import suppress
from copy import copy
from html import escape
from typing import Any, NoReturn, cast

from dplearn.chance.dice import Dice
from dplearn.estimator.within import fit_within
from dplearn.privacy import Guarantee
from dplearn.privacy.terms import in_words

__all__ = ["promise_html"]


class _PriceError(Exception):
    """Raised in place of reading data: what the fit would charge is known."""


class _Unseen:
    """Stands where data would; whoever looks is told that there are none."""

    @property
    def shape(self) -> NoReturn:
        """How large the data are: whatever depends on it is not known."""
        raise _PriceError


def promise_html(estimator: Any) -> str:
    """Return the guarantee of a fitted private estimator, or the price of a fit, as HTML.

    Parameters
    ----------
    estimator : PrivateEstimator
        Is not changed.

    Returns
    -------
    str
        Of an unfitted one, "Not fitted." alone where the parameters do not tell the price.
    """
    return f'<div class="dplearn-promise">{_promise(estimator)}</div>'


def _promise(estimator: Any) -> str:
    guarantee = getattr(estimator, "guarantee_", None)
    if isinstance(guarantee, Guarantee):
        return guarantee._repr_html_()
    price = _price(estimator)
    return "Not fitted." if price is None else f"Not fitted. A fit will spend {escape(in_words(price))}."


def _price(estimator: Any) -> Guarantee | None:
    """Return what a fit would be charged, as the fit itself tells before it looks at data."""
    prices: list[Any] = []

    def opened(price: Any) -> Callable[[Any], None]:
        prices.append(price)
        raise _PriceError

    seeded, nothing_to_throw = estimator.random_state is not None, cast(Dice, None)
    twin = copy(estimator)
    twin.random_state = 0 if seeded else None  # a generator of the user's would be drawn from
    with suppress(Exception):  # a wrong parameter is for the fit to refuse
        fit_within(twin, _Unseen(), None, nothing_to_throw, reproducible=seeded, open_account=opened)
    return prices[0] if prices and isinstance(prices[0], Guarantee) else None
