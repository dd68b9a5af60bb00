"""Private release of quantiles, without bounds on the values, and plans with error bounds."""

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from math import ceil
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number, shown
from dplearn.chance.dice import Dice
from dplearn.core.float_errors import ignores_float_errors
from dplearn.core.ranks import Ranks, SortedCodes, UnsortedCodes, finest_fraction, halving
from dplearn.domains import Floats, Grid, IntegerRange, NumberDomain
from dplearn.domains.number_cells import as_numbers
from dplearn.fit.execute import Facts
from dplearn.mechanisms.quantile_windows import codes_in_windows
from dplearn.mechanisms.rank_selection import codes_at_fractions, examined_reach
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.guarantees import epsilon_of
from dplearn.privacy.plan import ResultTable, hidden
from dplearn.records.part_ranks import parted_ranks
from dplearn.records.rows import Columns
from dplearn.records.table import Table
from dplearn.releases.few_records import quantile_warnings
from dplearn.releases.quantile_errors import (
    quantile_errors,
    quantile_range_sample_size,
    quantile_sample_size,
    windows_for,
)
from dplearn.releases.reading import as_number_domain, read_column
from dplearn.releases.release import N_IS_PUBLIC, ColumnRelease, Released, ReleasePlan

__all__ = [
    "Quantiles",
    "QuantilesPlan",
    "check_fractions",
    "median",
    "median_plan",
    "quantiles",
    "quantiles_plan",
    "rank_windows",
    "release_quantiles",
]

#: Types of columns, and the domains for which such numbers form an interval on which codes are increasing.
_INTERVALS = {"f": (Floats, Grid), "i": (Floats, Grid, IntegerRange), "u": (Floats, Grid, IntegerRange)}
_RARE = Fraction(1, 1 << 20)  # probability of a further pass over parts, because of greater errors
_SLACK = 4  # ranks, for those that are rounded


@dataclass(frozen=True)
class QuantilesPlan(ReleasePlan):
    """The plan of `quantiles` and `median`; as text, a summary of its error bounds.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the release.
    n_samples : int
        Number of records, n.
    q : tuple of float
        The quantiles.
    domain : NumberDomain
        The possible values.
    alpha, beta : float
        Target error and probability of failure, as given; 0.05 each in the plan of a release.
    errors : tuple of int
        Rank errors: with probability at least 1 - beta, for all quantiles together, at most q n + error of
        the data are less than the released value, and at least q n - error are at most the released value.
    error : int
        The greatest of these.
    n_inside : int or None
        Number of records from which on all values lie between the least and the greatest of the data with
        probability at least 1 - beta. With fewer records a released value may be any value of the domain, and
        so very large: half of all floats exceed 1 in magnitude, up to 1.8e308. None if 0 or 1 is among q:
        then no number of records is enough.
    n_needed : int
        Number of records from which on no error exceeds alpha n.
    """

    _computed: ClassVar[tuple[str, ...]] = ("errors", "n_inside", "n_needed")

    q: tuple[float, ...]
    domain: NumberDomain
    alpha: float = 0.05
    beta: float = 0.05
    fractions: Any = hidden()

    @property
    def errors(self) -> tuple[int, ...]:
        """Bound on the rank error of each quantile."""
        return _errors(self.fractions, self.domain.size, self.n_samples, self.guarantee.epsilon, self.beta)

    @property
    def error(self) -> int:
        """The greatest rank error."""
        return max(self.errors)

    @property
    def n_inside(self) -> int | None:
        """Number of records from which on all values lie within the data, or None."""
        return _n_inside(self.fractions, self.domain.size, self.guarantee.epsilon, self.beta)

    @property
    def n_needed(self) -> int:
        """Number of records from which on no error exceeds alpha n."""
        return _n_needed(self.fractions, self.domain.size, self.guarantee.epsilon, self.alpha, self.beta)

    @property
    def method(self) -> str:
        """The method: "windows" for many quantiles that are far apart, else "halving"; see `windows_for`."""
        size, epsilon = self.domain.size, self.guarantee.epsilon
        terms = windows_for(self.fractions, size, self.n_samples, epsilon=epsilon)
        return "halving" if terms is None else "windows"

    @property
    def inside(self) -> bool:
        """Whether all values lie within the data with probability at least 1 - beta."""
        return self.n_inside is not None and self.n_samples >= self.n_inside

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings if a released value may be any value of the domain."""
        size, epsilon = self.domain.size, self.guarantee.epsilon
        return quantile_warnings(self.n_samples, self.fractions, size, epsilon=epsilon)

    def __str__(self) -> str:
        several = len(self.q) > 1
        lines = [
            f"{len(self.q)} quantile{'s' * several} of {self.n_samples} records,"
            f" epsilon {float(self.guarantee.epsilon):g}.",
            f"With probability {1 - self.beta:g} {'each' if several else 'its'} error is at most"
            f" {self.error} ranks.",
            f"An error of at most {self.alpha:g} of the records needs {self.n_needed} records.",
        ]
        if self.n_inside is None:
            lines.append(
                "A released quantile 0 or 1 may lie outside the data, anywhere in the domain: use inner"
                " quantiles instead."
            )
        elif not self.inside:
            lines.append(
                f"{self.n_samples} records are fewer than {self.n_inside}: the released value{'s' * several}"
                " may lie outside the data, anywhere in the domain."
            )
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class Quantiles(Released, ResultTable):
    """The result of `quantiles` and `median`.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Released. The quantiles: numbers of the domain, in nondecreasing order.
    plan : QuantilesPlan
        Public. The plan of the release.
    guarantee : ApproxDP
        Public. The guarantee of the release.
    """

    values: NDArray[Any]
    plan: QuantilesPlan

    @property
    def q(self) -> tuple[float, ...]:
        """Public. The k fractions, from 0 to 1."""
        return self.plan.q

    @property
    def value(self) -> Any:
        """Released. The value of a single quantile."""
        if len(self.values) != 1:
            raise ValueError(f"value needs a single quantile, got {len(self.values)}: use values instead")
        return self.values.tolist()[0]

    def _shown(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        return ("quantile", "value"), list(zip(self.q, self.values.tolist(), strict=True))

    def __float__(self) -> float:
        """Return the value of a single quantile as a float."""
        return float(self.value)


def quantiles(
    values: Any,
    q: Any,
    *,
    epsilon: Any = 1.0,
    domain: Any = "float64",
    groups: Any = None,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> Quantiles:
    """Release quantiles of private numbers.

    Parameters
    ----------
    values : array-like of shape (n,), or parts of one
        Private. Numbers of the domain. Parts: a Dask series, or a function that returns series or arrays.
    q : float or sequence of float of length k
        Public. Fractions from 0 to 1, strictly increasing; 0.25 is the lower quartile.
    epsilon : float, default=1.0
        Privacy budget of all quantiles together; at least 1e-9. A float stands for its shortest decimal: 0.1
        is 1/10.
    domain : "float64" or NumberDomain, default="float64"
        Public. The possible values; "float64": all finite floats, for which no bounds are needed.
    groups : array-like of shape (n,), or parts like those of `values`, optional
        Private. The group of each value, such as the person that it belongs to: texts or integers. The
        guarantee then protects all values of a group together. One value of each group takes part, which is
        chosen by public chance, and the set of groups is public.
    ledger : PrivacyLedger, optional
        The ledger that the release is charged to, before any draw.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the release reproducible, for tests only;
        the guarantee states this.

    Returns
    -------
    Quantiles
        The values, the plan and the guarantee.

    Raises
    ------
    DomainError
        If a value is outside the domain; nothing is spent.
    TypeError, ValueError
        If a parameter is not as described.
    BudgetExceededError
        If the guarantee does not fit the ledger's remaining budget; nothing is spent.

    Warns
    -----
    UserWarning
        If there are so few records that a released value may be any value of the domain; the number of
        records is public.

    Notes
    -----
    **Privacy.** (epsilon, 0) for one replaced record; the proofs are in `codes_at_fractions` and, for many
    quantiles that are far apart, `codes_in_windows`.

    **Assumes.** The entries of `guarantee.assumes`: the number of records is public, and all values lie in
    the domain.

    **Accuracy.** `quantiles_plan` returns bounds on the rank errors, without data.

    **Source.** Smith (2011) for one quantile; Kaplan, Schnapp and Stemmer (2022) for several, corrected for
    ties and for replaced records; for many that are far apart after Imola and others (2025), with a proof of
    our own.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> from dplearn.releases import quantiles
    >>> wages = [1200.0 + i for i in range(5000)]
    >>> found = quantiles(wages, [0.25, 0.5, 0.75], epsilon=1, random_state=0)
    >>> [round(value / 50) for value in found.values], found.plan.error
    ([49, 74, 99], 346)
    """
    return _Quantiles("quantiles", q, epsilon, domain, random_state).run_on(values, None, ledger, groups)


def quantiles_plan(
    n_samples: int,
    q: Any,
    *,
    epsilon: Any = 1.0,
    domain: Any = "float64",
    alpha: Any = 0.05,
    beta: Any = 0.05,
) -> QuantilesPlan:
    """Return the plan of `quantiles`, with bounds on the rank errors, without data.

    Parameters
    ----------
    n_samples : int
        Number of records, at least 1.
    q : float or sequence of float of length k
        Public. Fractions from 0 to 1, strictly increasing; 0.25 is the lower quartile.
    epsilon : float, default=1.0
        Privacy budget of all quantiles together; at least 1e-9. A float stands for its shortest decimal: 0.1
        is 1/10.
    domain : "float64" or NumberDomain, default="float64"
        Public. The possible values; "float64": all finite floats, for which no bounds are needed.
    alpha : float, default=0.05
        Target error for `n_needed`, as a fraction of the records, in (0, 1).
    beta : float, default=0.05
        Allowed probability of failure, in (0, 1).

    Returns
    -------
    QuantilesPlan

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    See Also
    --------
    dplearn.theory.quantile_errors : The bound and its proof.

    Examples
    --------
    >>> from dplearn.releases import quantiles_plan
    >>> plan = quantiles_plan(10_000, [0.25, 0.5, 0.75], epsilon=1)
    >>> plan.errors, plan.n_inside, plan.n_needed
    ((351, 234, 351), 1353, 6920)
    """
    return _Quantiles("quantiles", q, epsilon, domain).plan(Facts(n_samples), alpha=alpha, beta=beta)


def median(
    values: Any,
    *,
    epsilon: Any = 1.0,
    domain: Any = "float64",
    groups: Any = None,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> Quantiles:
    """Release the median of private numbers; `median(...).value` is the number.

    Parameters
    ----------
    values : array-like of shape (n,), or parts of one
        Private. Numbers of the domain. Parts: a Dask series, or a function that returns series or arrays.
    epsilon : float, default=1.0
        Privacy budget of the release; at least 1e-9. A float stands for its shortest decimal: 0.1 is 1/10.
    domain : "float64" or NumberDomain, default="float64"
        Public. The possible values; "float64": all finite floats, for which no bounds are needed.
    groups : array-like of shape (n,), or parts like those of `values`, optional
        Private. The group of each value, such as the person that it belongs to: texts or integers. The
        guarantee then protects all values of a group together. One value of each group takes part, which is
        chosen by public chance, and the set of groups is public.
    ledger : PrivacyLedger, optional
        The ledger that the release is charged to, before any draw.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the release reproducible, for tests only;
        the guarantee states this.

    Returns
    -------
    Quantiles
        The result for the single quantile 0.5.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> from dplearn.releases import median
    >>> wages = [1200.0 + i for i in range(5000)]
    >>> round(median(wages, epsilon=1, random_state=0).value, -2)
    3700.0
    """
    return _Quantiles("median", 0.5, epsilon, domain, random_state).run_on(values, None, ledger, groups)


def median_plan(
    n_samples: int,
    *,
    epsilon: Any = 1.0,
    domain: Any = "float64",
    alpha: Any = 0.05,
    beta: Any = 0.05,
) -> QuantilesPlan:
    """Return the plan of `median`, with a bound on the rank error, without data.

    Parameters
    ----------
    n_samples : int
        Number of records, at least 1.
    epsilon : float, default=1.0
        Privacy budget of the release; at least 1e-9. A float stands for its shortest decimal: 0.1 is 1/10.
    domain : "float64" or NumberDomain, default="float64"
        Public. The possible values; "float64": all finite floats, for which no bounds are needed.
    alpha : float, default=0.05
        Target error for `n_needed`, as a fraction of the records, in (0, 1).
    beta : float, default=0.05
        Allowed probability of failure, in (0, 1).

    Returns
    -------
    QuantilesPlan

    Examples
    --------
    >>> from dplearn.releases import median_plan
    >>> print(median_plan(100))
    1 quantile of 100 records, epsilon 1.
    With probability 0.95 its error is at most 95 ranks.
    An error of at most 0.05 of the records needs 1900 records.
    100 records are fewer than 191: the released value may lie outside the data, anywhere in the domain.
    """
    return _Quantiles("median", 0.5, epsilon, domain).plan(Facts(n_samples), alpha=alpha, beta=beta)


class _Quantiles(ColumnRelease[Quantiles]):
    """The recipe of `quantiles` and `median`; `name` is the function's name in the ledger."""

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

    def read(self, X: Any, y: Any) -> tuple[Facts, Ranks]:  # noqa: ARG002 - there is none
        ranks = _ranks(X, self.domain, self.fractions)
        return Facts(len(ranks)), ranks

    def read_part(self, X: Any, y: Any) -> tuple[Facts, Columns]:  # noqa: ARG002
        codes = self.domain.encode(read_column(X))
        return Facts(len(codes)), Columns([codes])

    def plan(self, facts: Facts, *, alpha: Any = 0.05, beta: Any = 0.05) -> QuantilesPlan:
        return QuantilesPlan(
            self.guarantee,
            check_count("n_samples", facts.n_samples, low=1),
            tuple(map(float, self.fractions)),
            self.domain,
            float(check_number("alpha", alpha, above=0, below=1)),
            float(check_number("beta", beta, above=0, below=1)),
            fractions=self.fractions,
        )

    def run(self, table: Table, plan: QuantilesPlan, dice: Dice) -> Quantiles:
        size = plan.domain.size
        ranks: Ranks | None = table.at_once(lambda ranks: ranks)
        if ranks is None:
            window = rank_windows(plan.fractions, size, plan.n_samples, privacy=plan.guarantee)
            [ranks] = parted_ranks(table, [size], [window])
        values = release_quantiles(ranks, plan.domain, plan.fractions, privacy=plan.guarantee, dice=dice)
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
    """Return strictly increasing numbers from 0 to 1 as Fractions; errors name the parameter `name`."""
    fractions: list[Fraction] = []
    # If the caller swaps the arguments, `q` holds private data, which no error message may show.
    with suppress(TypeError, ValueError) if len(q) > 1 else nullcontext():
        fractions = [check_number(name, each, low=0, high=1) for each in q]
    if not fractions or any(low >= high for low, high in pairwise(fractions)):
        raise ValueError(
            f"{name} must be a number from 0 to 1, or several in strictly increasing order, got {shown(q)}"
        )
    return fractions


@lru_cache(maxsize=64)
def rank_windows(
    fractions: tuple[Fraction, ...], size: int, n: int, *, privacy: ApproxDP
) -> tuple[tuple[int, int], ...]:
    """Return the ranks that a release asks for with high probability, one window a quantile.

    Parameters
    ----------
    fractions : tuple of Fraction of length k
        The quantiles.
    size : int
        Number of codes in the domain.
    n : int
        Number of records.
    privacy : ApproxDP
        Its `epsilon` is that of all quantiles together.

    Returns
    -------
    tuple of pair of int of length k
        The first of these ranks, and the last plus 1; they may lie outside 0..n.
    """
    epsilon = epsilon_of(privacy)
    errors = quantile_errors(fractions, size, n, epsilon=epsilon, beta=_RARE).tolist()
    terms = windows_for(fractions, size, n, epsilon=epsilon)
    if terms is not None:
        reached = zip(terms.targets, errors, strict=True)  # an error includes the reach of a window
        return tuple((target - error, target + error) for target, error in reached)
    k, levels = len(fractions), halving(fractions, finest=finest_fraction(n))
    part = ApproxDP(epsilon / len(levels))
    codes = size << (n - 1).bit_length() if k > 1 else size
    moved = dict(enumerate(errors)) | {-1: 0, k: 0}
    windows = {}
    for step in (step for level in levels for step in level):
        # A step looks `reach` beyond its target, which errors of the two known quantiles move.
        low, high = moved[step.low], moved[step.high]
        inherited = ceil((1 - step.fraction) * low + step.fraction * high)
        reach = inherited + examined_reach(step.fraction, codes, privacy=part, alone=step.alone)
        target = int(fractions[step.place] * n)
        windows[step.place] = target - reach - _SLACK, target + reach + _SLACK
    return tuple(windows[place] for place in range(k))


def _ranks(values: Any, domain: NumberDomain, fractions: Sequence[Fraction]) -> Ranks:
    """Return the ranks of private numbers, after a check that all lie in the domain."""
    column = read_column(values)
    if len(fractions) > 1:
        return SortedCodes(domain.encode(column))
    if type(domain) not in _INTERVALS.get(column.dtype.kind, ()) or domain.accepts_missing:
        return UnsortedCodes(domain.encode(column))
    ranks = UnsortedCodes(column, domain.encode)
    ranks.check(lambda block: _check(block, domain), min(int(fractions[0] * len(column)), len(column) - 1))
    return ranks


def _check(numbers: NDArray[Any], domain: NumberDomain) -> None:
    """Raise DomainError if a number is outside the domain, which is an interval of such numbers."""
    if isinstance(domain, Floats):
        as_numbers(numbers, domain)  # raises if a number is not finite
    else:
        domain.encode(np.array([numbers.min(), numbers.max()]))  # both are NaN if any is


@ignores_float_errors
def release_quantiles(
    ranks: Ranks, domain: NumberDomain, fractions: Sequence[Fraction], *, privacy: ApproxDP, dice: Dice
) -> NDArray[Any]:
    """Return private quantiles as numbers of a domain; see `codes_at_fractions` and `codes_in_windows`.

    Parameters
    ----------
    ranks : Ranks
        Private. The codes of the data.
    domain : NumberDomain
        Public.
    fractions : sequence of Fraction of length k
        Strictly increasing, from 0 to 1.
    privacy : ApproxDP
        Its `epsilon` is spent whole.
    dice : Dice
        Source of chance.

    Returns
    -------
    ndarray of shape (k,)
        In nondecreasing order.
    """
    size, epsilon = domain.size, epsilon_of(privacy)
    terms = windows_for(tuple(fractions), size, len(ranks), epsilon=epsilon)
    codes = None if terms is None else codes_in_windows(ranks, size, terms, privacy=privacy, dice=dice)
    if codes is None:  # also, very rarely, because of great noise in the windows' ranks, whatever the data
        codes = codes_at_fractions(ranks, size, fractions, privacy=privacy, dice=dice)
    # Without an explicit dtype, numpy would convert a mix of small and large integers to floats.
    exact = np.array(codes, dtype=object if domain.size > 1 << 64 else np.uint64)
    return domain.decode(exact)
