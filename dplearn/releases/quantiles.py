"""Quantiles of private numbers, without bounds to guess; and what they would give, before any value is seen.

>>> plan = quantiles_plan(10_000, [0.25, 0.5, 0.75], epsilon=1)
>>> plan.errors, plan.n_inside, plan.n_needed
((351, 234, 351), 1353, 6920)
>>> wages = [1200.0 + i for i in range(5000)]
>>> found = quantiles(wages, [0.25, 0.5, 0.75], epsilon=1, random_state=0)
>>> np.round(found.values / 50).tolist(), found.plan.error
([49.0, 74.0, 99.0], 346)
>>> round(median(wages, epsilon=1, random_state=0).value, -2)
3700.0
>>> print(median_plan(100))
1 quantile of 100 records, epsilon 1.
With probability 0.95 it is off by at most 95 ranks.
An error of at most 0.05 of the records takes 1900 records.
100 records are fewer than 191: what is released may lie outside the data, anywhere in the domain.
"""

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number, shown
from dplearn.chance.dice import Dice
from dplearn.core.float_errors import ignores_float_errors
from dplearn.core.ranks import Ranks, SortedCodes, UnsortedCodes
from dplearn.domains import Floats, Grid, IntegerRange, NumberDomain
from dplearn.domains.number_cells import as_numbers
from dplearn.mechanisms.halving import codes_at_fractions
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import hidden
from dplearn.releases.few_records import quantile_warnings
from dplearn.releases.quantile_errors import (
    quantile_errors,
    quantile_range_sample_size,
    quantile_sample_size,
)
from dplearn.releases.reading import as_number_domain, read_column
from dplearn.releases.stages import N_IS_PUBLIC, Release, Released, ReleasePlan

__all__ = [
    "Quantiles",
    "QuantilesPlan",
    "check_fractions",
    "median",
    "median_plan",
    "quantiles",
    "quantiles_plan",
    "release_quantiles",
]

#: Of which domains numbers of a type fill an interval, where codes rise with them.
_INTERVALS = {"f": (Floats, Grid), "i": (Floats, Grid, IntegerRange), "u": (Floats, Grid, IntegerRange)}


@dataclass(frozen=True)
class QuantilesPlan(ReleasePlan):
    """What `quantiles` and `median` run on; printed, it says in words what they would give.

    Attributes
    ----------
    guarantee : ApproxDP
        What they guarantee.
    n_samples : int
        Number of records.
    q : tuple of float
        Which quantiles.
    domain : NumberDomain
        The values that are told apart.
    alpha, beta : float
        As asked for; .05 each in the plan of a release.
    errors : tuple of int
        With probability at least 1 - beta, for all of them at once, at most q n + error of the data are less
        than the value released, and at least q n - error are not greater.
    error : int
        The greatest of these.
    n_inside : int or None
        From how many records on all values lie between the least and the greatest of the data with
        probability at least 1 - beta; None: 0 or 1 is among q, and they need not, however many there are.
        With fewer a value may be any of the domain: of all floats, half exceed 1 in magnitude, up to 1e308.
    n_needed : int
        From how many records on no error exceeds alpha n.
    """

    _computed: ClassVar[tuple[str, ...]] = ("errors", "n_inside", "n_needed")

    q: tuple[float, ...]
    domain: NumberDomain
    alpha: float = 0.05
    beta: float = 0.05
    fractions: Any = hidden()

    @property
    def errors(self) -> tuple[int, ...]:
        """By how many ranks each may miss."""
        return _errors(self.fractions, self.domain.size, self.n_samples, self.guarantee.epsilon, self.beta)

    @property
    def error(self) -> int:
        """The greatest error."""
        return max(self.errors)

    @property
    def n_inside(self) -> int | None:
        """Number of records, or None."""
        return _n_inside(self.fractions, self.domain.size, self.guarantee.epsilon, self.beta)

    @property
    def n_needed(self) -> int:
        """Number of records."""
        return _n_needed(self.fractions, self.domain.size, self.guarantee.epsilon, self.alpha, self.beta)

    @property
    def inside(self) -> bool:
        """Whether all values lie between the least and the greatest of the data, most likely."""
        return self.n_inside is not None and self.n_samples >= self.n_inside

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warn of values that may be any of the domain."""
        size, epsilon = self.domain.size, self.guarantee.epsilon
        return quantile_warnings(self.n_samples, self.fractions, size, epsilon=epsilon)

    def __str__(self) -> str:
        several = len(self.q) > 1
        lines = [
            f"{len(self.q)} quantile{'s' * several} of {self.n_samples} records,"
            f" epsilon {float(self.guarantee.epsilon):g}.",
            f"With probability {1 - self.beta:g} {'each' if several else 'it'} is off by at most"
            f" {self.error} ranks.",
            f"An error of at most {self.alpha:g} of the records takes {self.n_needed} records.",
        ]
        if self.n_inside is None:
            lines.append(
                "What is released for 0 or 1 may lie outside the data, anywhere in the domain: ask for"
                " quantiles a little further in."
            )
        elif not self.inside:
            lines.append(
                f"{self.n_samples} records are fewer than {self.n_inside}: what is released may lie outside"
                " the data, anywhere in the domain."
            )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Quantiles(Released):
    """What was released of quantiles.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Released. Numbers of the domain, rising; neighbours may be equal.
    plan : QuantilesPlan
        Public. What the release ran on; its `q` are the k quantiles.
    guarantee : ApproxDP
        Public. What the release guarantees, and spent.
    """

    values: NDArray[Any]
    plan: QuantilesPlan

    @property
    def q(self) -> tuple[float, ...]:
        """Public. Which quantiles they are."""
        return self.plan.q

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

    Warns
    -----
    UserWarning
        If the records are so few that a value may be any of the domain; their number is public.

    Notes
    -----
    **Privacy.** (epsilon, 0) for one replaced record; proof in `codes_at_fractions`.

    **Assumes.** What `guarantee.assumes` lists: the number of records is public, and all of them lie in the
    domain.

    **Accuracy.** The errors of `quantiles_plan`, which takes no data: by how many ranks they may miss.

    **Source.** Smith (2011) for one quantile; Kaplan, Schnapp and Stemmer (2022) for several, mended for
    ties and for replaced records.
    """
    return _Quantiles("quantiles", q, epsilon, domain, random_state).run(values, ledger)


def quantiles_plan(
    n_samples: int,
    q: Any,
    *,
    epsilon: Any = 1.0,
    domain: Any = "float64",
    alpha: Any = 0.05,
    beta: Any = 0.05,
) -> QuantilesPlan:
    """Return what a release of quantiles would run on: how far off they may be, without any data.

    Parameters
    ----------
    n_samples : int
        Number of records, at least 1.
    q, epsilon, domain
        As for `quantiles`.
    alpha : float, default=0.05
        Error that is wanted, as a share of the records, in (0, 1).
    beta : float, default=0.05
        Probability of failure, in (0, 1).

    Returns
    -------
    QuantilesPlan

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    See Also
    --------
    dplearn.theory.quantile_errors : The bound, and why it holds.
    """
    return _Quantiles("quantiles", q, epsilon, domain).plan(n_samples, alpha=alpha, beta=beta)


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
    return _Quantiles("median", 0.5, epsilon, domain, random_state).run(values, ledger)


def median_plan(
    n_samples: int,
    *,
    epsilon: Any = 1.0,
    domain: Any = "float64",
    alpha: Any = 0.05,
    beta: Any = 0.05,
) -> QuantilesPlan:
    """Return what a release of a median would run on, without any data.

    Parameters
    ----------
    n_samples, epsilon, domain, alpha, beta
        As for `quantiles_plan`.

    Returns
    -------
    QuantilesPlan
    """
    return _Quantiles("median", 0.5, epsilon, domain).plan(n_samples, alpha=alpha, beta=beta)


class _Quantiles(Release[QuantilesPlan, Quantiles]):
    """Quantiles under the name that the ledger is to show."""

    def __init__(self, name: str, q: Any, epsilon: Any, domain: Any, random_state: Any = None):
        self.domain = as_number_domain(domain)
        self.fractions = tuple(check_fractions("q", np.atleast_1d(q).tolist()))
        guarantee = ApproxDP(
            check_number("epsilon", epsilon, low=Fraction(1, 10**9)),
            assumes=(N_IS_PUBLIC, self.domain.assumption),
            reproducible=random_state is not None,
        )
        context = repr(self.domain), repr(list(self.fractions)), str(guarantee.epsilon)
        super().__init__(name, guarantee, context, random_state)

    def read(self, values: Any) -> Ranks:
        return _ranks(values, self.domain, self.fractions)

    def plan(self, n_samples: int, *, alpha: Any = 0.05, beta: Any = 0.05) -> QuantilesPlan:
        return QuantilesPlan(
            self.guarantee,
            check_count("n_samples", n_samples, low=1),
            tuple(map(float, self.fractions)),
            self.domain,
            float(check_number("alpha", alpha, above=0, below=1)),
            float(check_number("beta", beta, above=0, below=1)),
            fractions=self.fractions,
        )

    def release(self, summary: Ranks, plan: QuantilesPlan, dice: Dice) -> Quantiles:
        values = release_quantiles(summary, plan.domain, plan.fractions, privacy=plan.guarantee, dice=dice)
        return Quantiles(values, plan)


@lru_cache(maxsize=64)
def _errors(
    q: tuple[Fraction, ...], size: int, n_samples: int, epsilon: Fraction, beta: float
) -> tuple[int, ...]:
    return tuple(quantile_errors(q, size, n_samples, epsilon=epsilon, beta=beta).tolist())


@lru_cache(maxsize=64)
def _n_inside(q: tuple[Fraction, ...], size: int, epsilon: Fraction, beta: float) -> int | None:
    return quantile_range_sample_size(q, size, epsilon=epsilon, beta=beta)


@lru_cache(maxsize=64)
def _n_needed(q: tuple[Fraction, ...], size: int, epsilon: Fraction, alpha: float, beta: float) -> int:
    return quantile_sample_size(q, size, epsilon=epsilon, alpha=alpha, beta=beta)


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


def _ranks(values: Any, domain: NumberDomain, fractions: Sequence[Fraction]) -> Ranks:
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
