"""A number that lies between the least and the greatest of private numbers.

>>> values = [20.5] * 100 + [31.0] * 150
>>> point = interior_point(values, epsilon=1, random_state=0)
>>> 20.5 <= point.value <= 31.0, point.method, point.n_needed
(True, 'exponential', 187)
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dplearn._validation import AUTO, check_choice, check_number
from dplearn.chance import dice_for
from dplearn.chance.dice import Dice
from dplearn.core.float_errors import ignores_float_errors
from dplearn.mechanisms.interior_point import interior_point_code
from dplearn.mechanisms.rec_prefix import RecursiveSizes, recursive_interior_point
from dplearn.privacy import ApproxDP, open_account
from dplearn.privacy.ledger import PrivacyLedger
from dplearn.releases.interior_point_sizes import (
    interior_point_method,
    interior_point_sample_size,
    recursive_sizes,
)
from dplearn.releases.reading import as_number_domain, read_codes

__all__ = ["InteriorPoint", "interior_point"]

_METHODS = (AUTO, "exponential", "recursive")


@dataclass(frozen=True)
class InteriorPoint:
    """What was released of an interior point.

    Attributes
    ----------
    value : number or None
        Released. A number of the domain; None where "recursive" found no prefix that enough records share.
    method : {"exponential", "recursive"}
        Public.
    guarantee : ApproxDP
        Public. What the release spends.
    n_needed : int
        Public. From how many records on `value` is an interior point with probability at least 1 - beta.
    """

    value: Any
    method: str
    guarantee: ApproxDP
    n_needed: int


@dataclass(frozen=True)
class _Plan:
    """What is fixed before any value is read; `sizes` for "recursive" only."""

    method: str
    cost: ApproxDP
    n_needed: int
    sizes: RecursiveSizes | None


def interior_point(
    values: Any,
    *,
    domain: Any = "float64",
    method: str = AUTO,
    epsilon: Any = 1.0,
    delta: Any = 0.0,
    beta: Any = 0.05,
    constants: str = "tight",
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> InteriorPoint:
    """Release a number between the least and the greatest of private numbers, both included.

    Parameters
    ----------
    values : array-like of shape (n,)
        Private. Numbers of the domain.
    domain : "float64" or NumberDomain, default="float64"
        Public. "float64": all finite floats.
    method : {"auto", "exponential", "recursive"}, default="auto"
        "exponential" needs records in proportion to the logarithm of the domain's size, "recursive" hardly
        more for a huge domain than for a small one, and a positive delta. "auto" takes what needs fewer.
    epsilon : float, default=1.0
        Positive, at least 1e-9.
    delta : float, default=0.0
        Spent by "recursive" only.
    beta : float, default=0.05
        Probability of failure that `n_needed` and the sizes of "recursive" are for, in (0, 1).
    constants : {"tight", "paper"}, default="tight"
        The sizes of "recursive", and what `n_needed` is computed with.
    ledger : PrivacyLedger, optional
        Is charged before any draw.
    random_state : None, int or numpy random generator, optional
        None: the operating system's entropy. Anything else repeats itself, and the guarantee says so.

    Returns
    -------
    InteriorPoint

    Raises
    ------
    DomainError
        If a value is outside the domain; nothing is spent.
    TypeError, ValueError
        If a parameter is not as described.
    BudgetExceededError
        If the ledger's budget does not hold it; nothing is spent.

    Warns
    -----
    UserWarning
        If there are fewer than `n_needed` records, whose number is public.

    Notes
    -----
    **Privacy.** (epsilon, 0) for one replaced record with "exponential", (epsilon, delta) with "recursive".

    **Assumes.** The number of records and the domain are public.

    **Accuracy.** From `n_needed` records on the value is an interior point with probability 1 - beta or more.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Section 3; see `interior_point_code` and
    `recursive_interior_point`.
    """
    numbers = as_number_domain(domain)
    plan = _plan(numbers.size, method, epsilon, delta, beta, constants, random_state is not None)
    assumes = ("the number of records is public", numbers.assumption)
    guarantee = replace(plan.cost, assumes=assumes)
    charge = open_account(ledger, guarantee, name="interior_point")
    dice = dice_for(
        random_state, "interior_point", repr(numbers), plan.method, repr(plan.cost), repr(beta), constants
    )
    codes = read_codes(values, numbers).tolist()
    if len(codes) < plan.n_needed:
        warnings.warn(
            f"{len(codes)} records are fewer than the {plan.n_needed} from which on the {plan.method} method"
            f" finds an interior point with probability {float(1 - check_number('beta', beta)):g}",
            stacklevel=2,
        )
    charge(guarantee)
    code = _release(codes, numbers.size, plan, dice)
    value = None if code is None else numbers.decode([code]).tolist()[0]
    return InteriorPoint(value, plan.method, guarantee, plan.n_needed)


def _plan(
    size: int, method: str, epsilon: Any, delta: Any, beta: Any, constants: str, reproducible: bool
) -> _Plan:
    """Return the method, what it spends, and its sizes: from public numbers alone."""
    public = {"epsilon": epsilon, "delta": delta, "beta": beta, "constants": constants}
    if check_choice("method", method, _METHODS) == AUTO:
        method = interior_point_method(size, **public)
    if method == "recursive":
        check_number("delta with method='recursive'", delta, above=0, below=1)
    needed = interior_point_sample_size(method, domain_size=size, **public)
    recursive = method == "recursive"
    cost = ApproxDP(epsilon, delta if recursive else Fraction(0), reproducible=reproducible)
    return _Plan(method, cost, needed, recursive_sizes(size, **public) if recursive else None)


@ignores_float_errors
def _release(codes: Sequence[int], size: int, plan: _Plan, dice: Dice) -> int | None:
    """Return the released code, or None."""
    if plan.sizes is None:
        return interior_point_code(codes, size, privacy=plan.cost, dice=dice)
    return recursive_interior_point(codes, size, sizes=plan.sizes, privacy=plan.cost, dice=dice)
