"""Quantiles of private numbers, without bounds to guess.

>>> wages = [1200.0 + i for i in range(5000)]
>>> found = quantiles(wages, [0.25, 0.5, 0.75], epsilon=1, random_state=0)
>>> np.round(found.values / 50).tolist()
[49.0, 74.0, 99.0]
>>> round(median(wages, epsilon=1, random_state=0).value, -2)
3700.0
"""

import warnings
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_number, shown
from dplearn.chance import dice_for
from dplearn.chance.dice import Dice
from dplearn.core.float_errors import ignores_float_errors
from dplearn.core.ranks import Ranks, SortedCodes, UnsortedCodes
from dplearn.domains import Floats, Grid, IntegerRange, NumberDomain
from dplearn.domains.number_cells import as_numbers
from dplearn.mechanisms.halving import codes_at_fractions
from dplearn.privacy import ApproxDP, PrivacyLedger, open_account
from dplearn.releases.few_records import quantile_warnings
from dplearn.releases.reading import as_number_domain, read_column

__all__ = ["Quantiles", "check_fractions", "median", "quantiles", "release_quantiles"]

#: Of which domains numbers of a type fill an interval, where codes rise with them.
_INTERVALS = {"f": (Floats, Grid), "i": (Floats, Grid, IntegerRange), "u": (Floats, Grid, IntegerRange)}


@dataclass(frozen=True, eq=False)
class Quantiles:
    """What was released of quantiles.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Released. Numbers of the domain, rising; neighbours may be equal.
    q : tuple of float of length k
        Public. Which quantiles they are.
    guarantee : ApproxDP
        Public. What the release spends.
    """

    values: NDArray[Any]
    q: tuple[float, ...]
    guarantee: ApproxDP

    @property
    def value(self) -> Any:
        """The value, where there is only one."""
        if len(self.values) != 1:
            raise ValueError(f"value is for a single quantile, got {len(self.values)}: take values")
        return self.values.tolist()[0]

    def __float__(self) -> float:
        """Return the value as a float, where there is only one."""
        return float(self.value)


def quantiles(
    values: Any,
    q: Any,
    *,
    epsilon: Any = 1.0,
    domain: Any = "float64",
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> Quantiles:
    """Release quantiles of private numbers.

    Parameters
    ----------
    values : array-like of shape (n,)
        Private. Numbers of the domain.
    q : float or sequence of float of length k
        Public. From 0 to 1, strictly rising; 0.25 is the lower quartile.
    epsilon : float, default=1.0
        Positive, at least 1e-9; what all of them spend together.
    domain : "float64" or NumberDomain, default="float64"
        Public. "float64": all finite floats, so that no bounds need be guessed.
    ledger : PrivacyLedger, optional
        Is charged before any draw.
    random_state : None, int or numpy random generator, optional
        None: the operating system's entropy. Anything else repeats itself, and the guarantee says so.

    Returns
    -------
    Quantiles

    Raises
    ------
    DomainError
        If a value is outside the domain; nothing is spent.
    TypeError, ValueError
        If a parameter is not as described.
    BudgetExceededError
        If the ledger's budget does not hold it; nothing is spent.

    Notes
    -----
    **Privacy.** (epsilon, 0) for one replaced record; proof in `codes_at_fractions`.

    **Assumes.** What `guarantee.assumes` lists: the number of records is public, and all of them lie in the
    domain.

    **Accuracy.** `dplearn.theory.quantile_errors` says by how many ranks they may miss, without any data.

    **Source.** Smith (2011) for one quantile; Kaplan, Schnapp and Stemmer (2022) for several, mended for
    ties and for replaced records.
    """
    return _quantiles("quantiles", values, q, epsilon, domain, ledger, random_state)


def median(
    values: Any,
    *,
    epsilon: Any = 1.0,
    domain: Any = "float64",
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> Quantiles:
    """Release the median of private numbers; its number is `median(...).value`.

    Parameters
    ----------
    values, epsilon, domain, ledger, random_state
        As for `quantiles`.

    Returns
    -------
    Quantiles
        With a single one, 0.5.
    """
    return _quantiles("median", values, 0.5, epsilon, domain, ledger, random_state)


def _quantiles(
    name: str,
    values: Any,
    q: Any,
    epsilon: Any,
    domain: Any,
    ledger: PrivacyLedger | None,
    random_state: Any,
) -> Quantiles:
    """Release quantiles under the name that the ledger is to show."""
    numbers, fractions = as_number_domain(domain), check_fractions("q", np.atleast_1d(q).tolist())
    assumes = ("the number of records is public", numbers.assumption)
    guarantee = ApproxDP(
        check_number("epsilon", epsilon, low=Fraction(1, 10**9)),
        assumes=assumes,
        reproducible=random_state is not None,
    )
    charge = open_account(ledger, guarantee, name=name)
    dice = dice_for(random_state, name, repr(numbers), repr(fractions), str(guarantee.epsilon))
    ranks = _read(values, numbers, fractions)
    for text in quantile_warnings(len(ranks), fractions, numbers.size, epsilon=guarantee.epsilon):
        warnings.warn(text, stacklevel=4)
    charge(guarantee)
    released = release_quantiles(ranks, numbers, fractions, privacy=guarantee, dice=dice)
    return Quantiles(released, tuple(map(float, fractions)), guarantee)


def check_fractions(name: str, q: Sequence[Any]) -> list[Fraction]:
    """Return strictly rising numbers from 0 to 1, exactly; `name` is the parameter, for the message."""
    fractions: list[Fraction] = []
    # Whoever swaps the arguments gives the data here, of which no error shows any.
    with suppress(TypeError, ValueError) if len(q) > 1 else nullcontext():
        fractions = [check_number(name, each, low=0, high=1) for each in q]
    if not fractions or any(low >= high for low, high in pairwise(fractions)):
        raise ValueError(
            f"{name} must be a number from 0 to 1, or several, each greater than that before, got {shown(q)}"
        )
    return fractions


@ignores_float_errors
def _read(values: Any, domain: NumberDomain, fractions: Sequence[Fraction]) -> Ranks:
    """Return private numbers by their rank, once all are known to lie in the domain."""
    column = read_column(values)
    if len(fractions) > 1:
        return SortedCodes(domain.encode(column))
    if type(domain) not in _INTERVALS.get(column.dtype.kind, ()) or domain.accepts_missing:
        return UnsortedCodes(domain.encode(column))
    ranks = UnsortedCodes(column, domain.encode)
    ranks.check(lambda block: _check(block, domain), min(int(fractions[0] * len(column)), len(column) - 1))
    return ranks


def _check(numbers: NDArray[Any], domain: NumberDomain) -> None:
    """Refuse what is outside the domain, an interval of such numbers."""
    if isinstance(domain, Floats):
        as_numbers(numbers, domain)  # refuses what is not finite
    else:
        domain.encode(np.array([numbers.min(), numbers.max()]))  # both are NaN if any is


@ignores_float_errors
def release_quantiles(
    ranks: Ranks, domain: NumberDomain, fractions: Sequence[Fraction], *, privacy: ApproxDP, dice: Dice
) -> NDArray[Any]:
    """Return numbers of a domain at fractions of private codes; see `codes_at_fractions`.

    Parameters
    ----------
    ranks : Ranks
        Private. The data's codes.
    domain : NumberDomain
        Public.
    fractions : sequence of Fraction of length k
        Strictly rising, from 0 to 1.
    privacy : ApproxDP
        Its `epsilon` is spent whole.
    dice : Dice
        Source of chance.

    Returns
    -------
    ndarray of shape (k,)
        Rising.
    """
    codes = codes_at_fractions(ranks, domain.size, fractions, privacy=privacy, dice=dice)
    # Left to choose a type for small and large integers, numpy would take floats.
    exact = np.array(codes, dtype=object if domain.size > 1 << 64 else np.uint64)
    return domain.decode(exact)
