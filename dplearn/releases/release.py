"""What releases of statistics share: recipes, plans and results; reading of a column; warnings.

A function of private values, such as `quantiles`, and one of their plan, such as `quantiles_plan`, make the
same recipe; see `dplearn.fit.execute`. Errors of reading show no private value. Warnings are functions of
public numbers.
"""

import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from math import log, log2, sqrt
from typing import Any, Generic, TypeVar

from scipy.special import ndtri

from dplearn._validation import check_choice, check_count, check_number, check_pair
from dplearn._writing import Brief, brief
from dplearn.chance import dice_for
from dplearn.domains import Domain, Floats, NumberDomain, Schema
from dplearn.domains.base import Codes, DomainError
from dplearn.domains.cells import (
    as_cells,
    cell_type,
    holds_times,
    is_frame,
    is_row,
    is_text,
    times_as_numbers,
)
from dplearn.domains.product import of_pair
from dplearn.fit import Facts, Recipe, without_count
from dplearn.fit.execute import GREATEST_EPSILON, execute
from dplearn.kernels import float_errors_ignored, ignores_float_errors
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import StatedPlan
from dplearn.table import Table
from dplearn.table.groups import MOST_ROWS, ROWS
from dplearn.table.sources import column_in_parts, column_of, is_arrow

_ALL_FLOATS = Floats()
_BESIDES = "later", "keeps", "notes", "warns"  # the numbers that a plan states
_LARGEST = 1e300
_NUMBERS = "give numbers, such as pd.to_numeric(d), or d == 'yes' for a share; stable_counts counts text"
WRITTEN_OUT = 1 << 20  # smaller numbers of values are written as digits
_FEW = 1001  # values: of so many at most, the example would be no smaller domain
#: What to do about a column of a subset of private size.
ALL_GROUPS = "release all groups at once, by grouped or quantiles(..., by=)"
UNKNOWN_COUNT = "take neighbors='add_remove'"
_SMALLER = f"a smaller domain=, such as Grid(0, 100, {_FEW})"


@dataclass(frozen=True, repr=False)
class ReleasePlan(StatedPlan):
    """The plan of a release, made from public values only; what it states are its attributes.

    A plan of quantiles has `errors`, `n_inside` and so on: the function that returns it describes them.
    """

    guarantee: ApproxDP
    n_samples: Any  # the number of records; None if it is private


class Released(Brief):
    """Base of the results of releases: frozen dataclasses that keep the plan of the release."""

    plan: Any

    @property
    def guarantee(self) -> ApproxDP:
        """Public. The guarantee of the release: that of the plan."""
        found: ApproxDP = self.plan.guarantee
        return found.of_one("release")

    @property
    def warnings(self) -> tuple[str, ...]:
        """Released. Warnings about the result, functions of it alone; the release function emits them."""
        return ()


Result = TypeVar("Result", bound=Released)
_USER = (
    5  # the stack level of warnings: the caller of the release function, which is wrapped, and calls `run_on`
)


class Release(Recipe, Generic[Result]):
    """The recipe of a release."""

    def __init__(self, name: str, cost: ApproxDP, context: tuple[str, ...], random_state: Any):
        check_number("epsilon", cost.epsilon, high=GREATEST_EPSILON)
        self.name, self.context, self.random_state = name, context, random_state
        self.cost = cost if random_state is None else replace(cost, reproducible=True)
        if self.uncounted:
            self.context = (*context, cost.neighbors)
            self.cost = replace(self.cost, assumes=without_count(cost.assumes))

    def run_on(self, X: Any, y: Any, ledger: PrivacyLedger | None, groups: Any = None) -> Result:
        """Carry out the release on private values and return the result."""
        dice = dice_for(self.random_state, self.name, *self.context)
        done = execute(self, X, y, groups=groups, ledger=ledger, dice=dice, stacklevel=_USER)
        with float_errors_ignored():
            texts = done.released.warnings
        for text in texts:
            with suppress(UserWarning):  # as an error it would lose a release that is paid for
                warnings.warn(text, UserWarning, stacklevel=_USER - 1)
        return done.released

    def stated(self, n: Any, **states: Any) -> ReleasePlan:
        """Return the plan of a release of n records that states some numbers; what `StatedPlan` is given
        besides, `_BESIDES`, has the same names here.
        """
        more = {name: states.pop(name) for name in _BESIDES if name in states}
        return ReleasePlan(
            self.cost, n, title=f"{type(self).__name__.removeprefix('_')}Plan", states=states, **more
        )

    def rows_of(self, X: Any) -> Any:
        """Return rows in memory as `read` encodes them."""
        return self.read(X, None)[1]

    def count(self, facts: Facts) -> Any:
        """Return the checked number of records, or None if it may be private."""
        if facts.n_samples is None and self.uncounted:
            return None
        return check_count("n_samples", facts.n_samples, low=1)


class ColumnRelease(Release[Result]):
    """The recipe of a release of one column, by default of numbers of its `domain`.

    Parameters
    ----------
    n_samples : int
        Number of records, at least 1.
    values : array-like of shape (n,), or parts of one
        Private. Numbers of the domain. Parts: a Dask series, or a function that returns series or arrays.
    domain : "float64" or NumberDomain, default="float64"
        Public. The possible values; "float64": all finite floats, for which no bounds are needed.
    epsilon : float, default=1.0
        Privacy budget of the release; at least 1e-9. A float stands for its shortest decimal: 0.1 is 1/10.
    groups : array-like of shape (n,), or parts like those of the column, optional
        Private. The group of each value, such as the person that it belongs to: texts or integers. The
        guarantee then protects all values of a group together. One value of each group takes part, which is
        chosen by public chance, and the set of groups is public.
    neighbors : {"replace_one", "add_remove"}, default="replace_one"
        The tables between which the guarantee holds. "add_remove": one has one record more, the number of
        records is private, and the noise is half as wide.
    ledger : PrivacyLedger, optional
        The ledger that the release is charged to, before any draw.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the release reproducible, for tests only;
        the guarantee states this.
    alpha : float, default=0.05
        Target error for `n_needed`, as a fraction of the records, in (0, 1).
    beta : float, default=0.05
        Allowed probability of failure, in (0, 1).

    Raises
    ------
    DomainError
        If a value is outside the domain; nothing is spent, and the message shows no value.
    TypeError, ValueError
        If a parameter is not as described; nothing is spent.
    BudgetExceededError
        If the guarantee does not fit the ledger's remaining budget; nothing is spent.
    """

    takes = "values"
    named = False
    domain: NumberDomain
    takes_missing = False

    def parts_of(self, X: Any, y: Any) -> Table | None:  # noqa: ARG002 - there is none
        return column_in_parts(X, self.takes)

    def in_memory(self, X: Any, y: Any) -> tuple[Any, Any]:
        X, y = (column_of(each) if is_arrow(each) else each for each in (X, y))
        return X, y

    def read(self, X: Any, y: Any) -> tuple[Facts, Any]:  # noqa: ARG002 - there is none
        codes = read_codes(X, self.domain, takes_missing=self.takes_missing)
        return Facts(len(codes)), codes


def as_number_domain(domain: Any) -> NumberDomain:
    """Return the domain for a parameter `domain`: all finite floats for "float64", else the domain itself."""
    if isinstance(domain, str) and domain == "float64":
        return _ALL_FLOATS
    if not isinstance(domain, NumberDomain):
        got = f"{brief(domain)}{of_pair(domain)}{_advice(domain)}"
        raise TypeError(f"domain must be 'float64' or a domain of numbers, got {got}")
    return domain


def _advice(domain: Any) -> str:
    """Return advice for a value that is not a domain of numbers, to be added to the error message."""
    if isinstance(domain, Schema):
        return f": take that of the column, schema.columns[{domain.names[0]!r}]"
    if isinstance(domain, dict):
        return "; a dict of columns is for Schema(...), whose columns[name] is the domain of one"
    if isinstance(domain, str) and "int" in domain.lower():
        return "; for integers, IntegerRange(low, high) from dplearn.domains"
    if isinstance(domain, Domain):
        return "; stable_counts counts values that are no numbers"
    return ""


def checked_bounds(bounds: Any) -> tuple[float, float]:
    """Return the public bounds of numbers, which must be a pair."""
    low, high = check_pair("bounds", bounds, low=-_LARGEST, high=_LARGEST)
    return float(low), float(high)


def read_column(values: Any) -> Any:
    """Return a list, as objects, an array or series of shape (n,) as an array; values are not read."""
    if is_frame(values):
        name = next(iter(values.columns)) if values.shape[1] else "..."
        raise ValueError(
            f"values must have shape (n,), got a data frame of shape {values.shape}: give one column,"
            f" such as df[{name!r}]"
        )
    _refuse_types(getattr(values, "dtype", None))
    cells = as_cells(values)
    if cells.dtype == object and cells.size and is_row(cells.flat[0]):
        raise ValueError(
            "values must have shape (n,), got rows: give one number of each record (the parts of a column are"
            " passed by a function: lambda: [first, second])"
        )
    if cells.ndim != 1 or not cells.size:
        single = f" of {type(values).__name__}: read the table, and give one column of it"
        advice = {0: single, 2: ": give one column, such as values[:, 0]"}.get(cells.ndim, "")
        raise ValueError(f"values must have shape (n,), n at least 1, got shape {cells.shape}{advice}")
    return cells


def _refuse_types(dtype: Any) -> None:
    """Raise TypeError if the type of a column, which is public, is not numeric: dates, durations, text."""
    if holds_times(dtype):
        raise TypeError(f"values are {times_as_numbers(dtype)}")
    if is_text(cell_type(dtype)):
        raise TypeError(f"values are text: {_NUMBERS}")


@ignores_float_errors
def read_codes(values: Any, domain: NumberDomain, *, takes_missing: bool = True) -> Codes:
    column = read_column(values)
    if takes_missing:
        return domain.encode(column)
    with suppress(DomainError):
        return domain.encode(column)
    raise domain.refuse(takes_missing=False)


def checked_cost(epsilon: Any, delta: Any = 0, *, high: int | None = None, **more: Any) -> ApproxDP:
    """Return the cost of a release whose epsilon is at least 1e-9: with less, noise cannot be drawn."""
    checked = check_number("epsilon", epsilon, low=Fraction(1, 10**9), high=high)
    return ApproxDP(checked, check_number("delta", delta, low=0, below=1), **more)


def rows_of_groups(groups: Any, most: Any, default: int = ROWS) -> int:
    """Return how many rows of a group take part, 1 without groups, where a number of them is refused."""
    if groups is None and most is not None:
        raise ValueError(f"max_rows_per_group must be None without groups, got {brief(most)}")
    if groups is None:
        return 1
    return check_count("max_rows_per_group", default if most is None else most, low=1, high=MOST_ROWS)


def planned_rows(most: Any) -> int:
    """Return how many rows of a group take part in what is planned; without a number there are no groups."""
    return rows_of_groups(most, most)


def covers_sampling(of: str) -> bool:
    """Return whether an interval is of the population that records are drawn from, not of these alone."""
    return check_choice("of", of, ("population", "table")) == "population"


def normal_tail(beta: Any, *, laplace: bool) -> float:
    """Return how many standard deviations noise exceeds with at most `beta`; Laplace tails are wider."""
    failure = float(check_number("beta", beta, above=0, below=1))
    normal = -float(ndtri(failure / 2))
    return max(normal, -log(failure) / sqrt(2)) if laplace else normal


def unseen_variance(reach: float, n: float) -> float:
    """Return what rare values that no record shows may add to a variance: as if 1 of n + 2 had them."""
    return reach * reach / (n + 2)


def few_records(n: int, problem: str, *remedies: str, enough: int | None = None, subset: str = "") -> str:
    """Return the warning that records are few, perhaps a `subset`: what may go wrong, how many are enough,
    and remedies.
    """
    *first, last = remedies
    parts = [
        f"n_samples is {n}: {problem}",
        f"{enough} records are enough" if enough else "",
        ", ".join([*first, f"or {last}"]) if first else last,
        f"if a private column chose the records, their number is private: {subset}" if subset else "",
    ]
    return "; ".join(part for part in parts if part)


def few_records_warnings(
    n: int, error: float, *, least: float, problem: str, size: Any = None, remedy: str = "", **more: Any
) -> tuple[str, ...]:
    """Return a warning if an error bound is `least` or more; `problem` is the consequence and its cause, and
    further arguments are those of `few_records`.
    """
    if error < least:
        return ()
    domain = "fewer values in domain=" if size is not None and size <= _FEW else _SMALLER
    remedies = (f"declare {domain}", "spend more epsilon", *((remedy,) if remedy else ()))
    return (few_records(n, problem, *remedies, **more),)


def written(size: int) -> str:
    """Return a number of values as digits, or as a power of 2 if it is large."""
    return str(size) if size < WRITTEN_OUT else f"2^{log2(size):.0f}"
