"""Private release of an interior point: a number between the least and the greatest of private numbers."""

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dplearn._validation import AUTO, check_choice, check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.domains import NumberDomain
from dplearn.domains.base import Codes
from dplearn.fit.execute import Facts
from dplearn.mechanisms.interior_point import interior_point_code
from dplearn.mechanisms.rec_prefix import recursive_interior_point
from dplearn.privacy import ApproxDP
from dplearn.privacy.ledger import PrivacyLedger
from dplearn.privacy.plan import hidden
from dplearn.records.part_ranks import gathered_codes
from dplearn.records.table import Table
from dplearn.releases.interior_point_sizes import (
    interior_point_method,
    interior_point_sample_size,
    recursive_sizes,
)
from dplearn.releases.reading import as_number_domain, read_codes
from dplearn.releases.release import N_IS_PUBLIC, ColumnRelease, Released, ReleasePlan

__all__ = ["InteriorPoint", "InteriorPointPlan", "interior_point", "interior_point_plan"]

_METHODS = (AUTO, "exponential", "recursive")


@dataclass(frozen=True)
class InteriorPointPlan(ReleasePlan):
    """The plan of `interior_point`.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the release.
    n_samples : int
        Number of records.
    method : {"exponential", "recursive"}
        The method; for "auto", the one that it chose.
    domain : NumberDomain
        The possible values.
    n_needed : int
        Number of records from which on the released value is an interior point with probability at least
        1 - beta.
    beta : float
        Probability of failure.
    """

    method: str
    domain: NumberDomain
    n_needed: int
    beta: float
    sizes: Any = hidden()  # RecursiveSizes for "recursive", else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning if there are fewer records than `n_needed`."""
        if self.n_samples >= self.n_needed:
            return ()
        return (
            f"{self.n_samples} records are fewer than the {self.n_needed} that the {self.method} method needs"
            f" to find an interior point with probability {1 - self.beta:g}",
        )


@dataclass(frozen=True)
class InteriorPoint(Released):
    """The result of `interior_point`.

    Attributes
    ----------
    value : number or None
        Released. A number of the domain; None (abstention) if "recursive" found no prefix that enough records
        share.
    plan : InteriorPointPlan
        Public. The plan of the release.
    guarantee : ApproxDP
        Public. The guarantee of the release.
    """

    value: Any
    plan: InteriorPointPlan


def interior_point(
    values: Any,
    *,
    domain: Any = "float64",
    method: str = AUTO,
    epsilon: Any = 1.0,
    delta: Any = 0.0,
    beta: Any = 0.05,
    constants: str = "tight",
    groups: Any = None,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> InteriorPoint:
    """Release a number between the least and the greatest of private numbers, both included.

    Parameters
    ----------
    values : array-like of shape (n,), or parts of one
        Private. Numbers of the domain. Parts: a Dask series, or a function that returns series or arrays.
    domain : "float64" or NumberDomain, default="float64"
        Public. "float64": all finite floats.
    method : {"auto", "exponential", "recursive"}, default="auto"
        "exponential": the number of records needed grows with the logarithm of the domain's size.
        "recursive": it hardly grows with the domain's size; needs a positive delta. "auto": the method that
        needs fewer records.
    epsilon : float, default=1.0
        Privacy budget of the release; at least 1e-9. A float stands for its shortest decimal: 0.1 is 1/10.
    delta : float, default=0.0
        Probability with which the guarantee may fail, in [0, 1); choose it far below 1 / n_samples. Spent by
        "recursive" only, which needs it.
    beta : float, default=0.05
        Probability of failure, in (0, 1), for the plan's `n_needed` and the sizes of "recursive".
    constants : {"tight", "paper"}, default="tight"
        The constants for `n_needed` and the sizes of "recursive"; see `interior_point_sample_size`.
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
    InteriorPoint
        The number, its plan and its guarantee.

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
        If there are fewer records than the plan's `n_needed`; the number of records is public.

    Notes
    -----
    **Privacy.** (epsilon, 0) for one replaced record with "exponential", (epsilon, delta) with "recursive".

    **Assumes.** The number of records and the domain are public.

    **Accuracy.** With `plan.n_needed` records or more, the value is an interior point with probability at
    least 1 - beta.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Section 3; see `interior_point_code` and
    `recursive_interior_point`.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> from dplearn.releases import interior_point
    >>> values = [20.5] * 100 + [31.0] * 150
    >>> point = interior_point(values, epsilon=1, random_state=0)
    >>> 20.5 <= point.value <= 31.0, point.plan.method
    (True, 'exponential')
    """
    return _InteriorPoint(domain, method, epsilon, delta, beta, constants, random_state).run_on(
        values, None, ledger, groups
    )


def interior_point_plan(
    n_samples: int,
    *,
    domain: Any = "float64",
    method: str = AUTO,
    epsilon: Any = 1.0,
    delta: Any = 0.0,
    beta: Any = 0.05,
    constants: str = "tight",
) -> InteriorPointPlan:
    """Return the plan of `interior_point`, without data.

    Parameters
    ----------
    n_samples : int
        Number of records, at least 1.
    domain : "float64" or NumberDomain, default="float64"
        Public. "float64": all finite floats.
    method : {"auto", "exponential", "recursive"}, default="auto"
        "exponential": the number of records needed grows with the logarithm of the domain's size.
        "recursive": it hardly grows with the domain's size; needs a positive delta. "auto": the method that
        needs fewer records.
    epsilon : float, default=1.0
        Privacy budget of the release; at least 1e-9. A float stands for its shortest decimal: 0.1 is 1/10.
    delta : float, default=0.0
        Probability with which the guarantee may fail, in [0, 1); choose it far below 1 / n_samples. Spent by
        "recursive" only, which needs it.
    beta : float, default=0.05
        Probability of failure, in (0, 1), for the plan's `n_needed` and the sizes of "recursive".
    constants : {"tight", "paper"}, default="tight"
        The constants for `n_needed` and the sizes of "recursive"; see `interior_point_sample_size`.

    Returns
    -------
    InteriorPointPlan

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    Examples
    --------
    >>> from dplearn.releases import interior_point_plan
    >>> interior_point_plan(250, epsilon=1).n_needed
    187
    """
    return _InteriorPoint(domain, method, epsilon, delta, beta, constants).plan(Facts(n_samples))


class _InteriorPoint(ColumnRelease[InteriorPoint]):
    """The recipe of `interior_point`; the method that "auto" chooses depends on public numbers only."""

    def __init__(
        self,
        domain: Any,
        method: str,
        epsilon: Any,
        delta: Any,
        beta: Any,
        constants: str,
        random_state: Any = None,
    ):
        self.domain = as_number_domain(domain)
        self.beta = float(check_number("beta", beta, above=0, below=1))
        self._asked = {"epsilon": epsilon, "delta": delta, "beta": beta, "constants": constants}
        if check_choice("method", method, _METHODS) == AUTO:
            method = interior_point_method(self.domain.size, **self._asked)
        self.method = method
        if method == "recursive":
            check_number("delta with method='recursive'", delta, above=0, below=1)
        spent = delta if method == "recursive" else Fraction(0)
        self.n_needed = interior_point_sample_size(method, domain_size=self.domain.size, **self._asked)
        cost = ApproxDP(epsilon, spent, reproducible=random_state is not None)
        context = repr(self.domain), method, repr(cost), repr(beta), constants
        guarantee = replace(cost, assumes=(N_IS_PUBLIC, self.domain.assumption))
        super().__init__("interior_point", guarantee, context, random_state)

    def read(self, X: Any, y: Any) -> tuple[Facts, Codes]:  # noqa: ARG002 - there is none
        codes = read_codes(X, self.domain)
        return Facts(len(codes)), codes

    def plan(self, facts: Facts) -> InteriorPointPlan:
        recursive = self.method == "recursive"
        return InteriorPointPlan(
            self.guarantee,
            check_count("n_samples", facts.n_samples, low=1),
            self.method,
            self.domain,
            self.n_needed,
            self.beta,
            sizes=recursive_sizes(self.domain.size, **self._asked) if recursive else None,
        )

    def run(self, table: Table, plan: InteriorPointPlan, dice: Dice) -> InteriorPoint:
        size, privacy = plan.domain.size, plan.guarantee
        codes: list[int] = gathered_codes(table).tolist()
        if plan.sizes is None:
            code: int | None = interior_point_code(codes, size, privacy=privacy, dice=dice)
        else:
            code = recursive_interior_point(codes, size, sizes=plan.sizes, privacy=privacy, dice=dice)
        return InteriorPoint(None if code is None else plan.domain.decode([code]).tolist()[0], plan)
