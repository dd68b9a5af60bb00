"""Release the mean or the standard deviation of one column of bounded numbers, or the share of its ones."""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._documented import documented_by
from dplearn._validation import check_number
from dplearn.chance.dice import Dice
from dplearn.domains import DomainError, Grid, IntegerRange
from dplearn.fit import N_IS_PUBLIC, Facts
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import ALPHA
from dplearn.queries.noise import LaplaceNoise
from dplearn.releases.cell_statistics import check_squares
from dplearn.releases.release import (
    ALL_GROUPS,
    ColumnRelease,
    Released,
    ReleasePlan,
    Result,
    checked_bounds,
    covers_sampling,
    few_records,
    normal_tail,
    planned_rows,
    read_codes,
    rows_of_groups,
    unseen_variance,
)
from dplearn.table import Table

_LARGEST = 1e150  # whose square is a float


class _OneNumber(Released):
    """What a released mean and a released standard deviation share."""

    value: float
    interval: Callable[..., tuple[float, float]]
    plan: ReleasePlan

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        low, high = ends = self.interval()
        value = "too noisy" if ends == self.plan.possible else f"{self.value:.6g}"
        moved = ", of numbers moved to {:g} to {:g}".format(*self.plan.bounds) if self.plan.clips else ""
        return f"{type(self).__name__}: {value} (95 % interval {low:.6g} to {high:.6g}){moved}"


@dataclass(frozen=True)
class Mean(_OneNumber):
    """A released mean, or share.

    Attributes
    ----------
    value : float
        Released. The noisy mean, within the bounds; of groups, that of their means.
    variance : float
        Released. An estimate of the variance of the numbers; that of a share is a function of it.
    plan : ReleasePlan
        Public. The plan of the release, as `mean_plan` or `proportion_plan` describes it.
    """

    value: float
    variance: float
    plan: ReleasePlan

    def interval(self, *, of: str = "population", beta: Any = 0.05) -> tuple[float, float]:
        """Return an interval for the mean; costs no privacy.

        Parameters
        ----------
        of : {"population", "table"}, default="population"
            "population": the mean of the distribution that the records are independent draws from; the
            interval covers sampling, by the normal approximation, and noise. "table": the mean of these
            records; it covers the noise alone. Either is of numbers that are moved to the nearest bound.
        beta : float, default=0.05
            Allowed probability of failure, in (0, 1).

        Returns
        -------
        tuple of float
            The ends, within the bounds.
        """
        z, (low, high) = normal_tail(beta, laplace=True), self.plan.bounds
        of_mean, of_squares = self.plan.deviations
        half, reach = high / 2 - low / 2, max(high - self.value, self.value - low)
        rare = unseen_variance(reach, self.plan.n_samples) if of_squares else 0.0
        variance = min(self.variance + z * of_squares + rare, half * half)
        sampling = variance / self.plan.n_samples if covers_sampling(of) else 0.0
        off = z * math.hypot(of_mean, math.sqrt(sampling))
        off = off if off < math.inf else high - low  # of bounds whose squares are no floats
        return max(self.value - off, low), min(self.value + off, high)


@dataclass(frozen=True)
class Std(_OneNumber):
    """A released standard deviation.

    Attributes
    ----------
    value : float
        Released. The noisy standard deviation of the numbers, at most half of the bounds' distance.
    mean : float
        Released. The noisy mean.
    plan : ReleasePlan
        Public. The plan of the release, as `std_plan` describes it.
    """

    value: float
    mean: float
    plan: ReleasePlan

    def interval(self, *, of: str = "population", beta: Any = 0.05) -> tuple[float, float]:
        """Return an interval for the standard deviation; costs no privacy.

        Parameters
        ----------
        of, beta
            As for `Mean.interval`. The variance of squares is bounded by the greatest that numbers within the
            bounds, and with this mean and standard deviation, can have.

        Returns
        -------
        tuple of float
            The ends.
        """
        (low, high), n, variance = self.plan.bounds, self.plan.n_samples, self.value**2
        reach = max(high - self.mean, self.mean - low)
        seen = variance + unseen_variance(reach, n)
        sampling = seen * (reach**2 - variance) / n if covers_sampling(of) else 0.0
        z = normal_tail(beta, laplace=True)
        of_mean, of_squares = self.plan.deviations
        squared = abs(2 * self.mean - low - high) * of_mean + of_mean**2  # the square of the noisy mean
        off = z * math.hypot(squared, of_squares, math.sqrt(max(sampling, 0.0)))
        return math.sqrt(max(variance - off, 0.0)), min(math.sqrt(variance + off), self.plan.possible[1])


@documented_by(ColumnRelease)
def mean(
    values: Any,
    bounds: Any,
    *,
    epsilon: Any = 1.0,
    groups: Any = None,
    max_rows_per_group: int | None = None,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> Mean:
    """Release the mean of private numbers.

    Parameters
    ----------
    values : array-like of shape (n,), or parts of it
        Private. Numbers; those outside the bounds count as the nearest bound. Parts are a Dask series or
        array, or a function without arguments that returns an iterable of series or arrays.
    bounds : pair of float
        Public. The range of the numbers, chosen without the data; narrow bounds have little noise.
    epsilon : float, default=1.0
        Privacy budget of the release; positive. A float stands for its shortest decimal: 0.1 is 1/10.
    groups : array-like of shape (n,), or parts like those of the column, optional
        Private. The group of each value, such as the person that it belongs to: texts or integers. The
        guarantee then protects all values of a group together, and the set of groups is public. A group
        counts as one record, whose number is the mean of its values: the result is one over persons, not over
        rows.
    max_rows_per_group : int, optional
        Public. With groups: the number of values of a group that take part, at most 1000; of a group with
        fewer, each is repeated. None: 10.

    Raises
    ------
    DomainError
        If a value is missing or is no number; the message shows no value, and nothing is spent.

    Notes
    -----
    **Privacy.** (epsilon, 0) for one replaced record, or group. Let x be a number in [-1, 1], the bounds. The
    sums of (x + 1) / 2 and of w (1 - x^2) / 2, in whole steps, have discrete Laplace noise, scaled to the
    most by which a record moves both together. Proof: between numbers whose distance is e the first moves by
    e / 2, and the second by at most w e (2 - e) / 2. Together that is at most 1 for w = 1/2, which a mean
    has, as much as without squares; and (1 + 2 w)^2 / (8 w) for w = 2, which a standard deviation has, at e =
    (1 + 2 w) / (2 w). The second is rounded down, which adds less than a step, to a whole number below the
    next. A replaced group moves the sums by as many times that as rows of it take part; so many times as many
    are added up.

    **Assumes.** The number of records, or of groups, is public.

    **Accuracy.** `Mean.interval`, the `error` of `mean_plan`, and a millionth of the distance by rounding.

    **Source.** Dwork, McSherry, Nissim and Smith (2006).

    Examples
    --------
    >>> from dplearn.releases import mean
    >>> ages = [20 + i % 60 for i in range(6000)]
    >>> round(mean(ages, (0, 120), epsilon=1, random_state=0).value, 1)
    49.5
    """
    rows = rows_of_groups(groups, max_rows_per_group)
    return _Mean[Mean](bounds, epsilon, rows, random_state).run_on(values, None, ledger, groups)


@documented_by(mean, ColumnRelease)
def mean_plan(
    n_samples: int,
    bounds: Any,
    *,
    epsilon: Any = 1.0,
    max_rows_per_group: int | None = None,
    beta: Any = 0.05,
) -> ReleasePlan:
    """Return the plan of `mean`, with a bound on the noise, without data.

    Returns
    -------
    ReleasePlan
        With the guarantee, n_samples and beta; `error`, which the noise exceeds with probability at most
        beta; and `n_needed`, the number of records from which on that is a twentieth of the bounds' distance.

    Examples
    --------
    >>> from dplearn.releases import mean_plan
    >>> round(mean_plan(6000, (0, 120)).error, 3)
    0.06
    """
    return _Mean(bounds, epsilon, planned_rows(max_rows_per_group)).plan(Facts(n_samples), beta=beta)


@documented_by(mean, ColumnRelease)
def proportion(
    values: Any,
    *,
    epsilon: Any = 1.0,
    groups: Any = None,
    max_rows_per_group: int | None = None,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> Mean:
    """Release the share of ones among private booleans, or zeros and ones.

    Parameters
    ----------
    values : array-like of shape (n,), or parts of it
        Private. True or 1, and False or 0. Parts as for `mean`.

    Returns
    -------
    Mean
        Its `interval` is of the share.

    Notes
    -----
    **Privacy.** As for `mean`, whose recipe it is. The variance of zeros and ones follows from their share.

    Examples
    --------
    >>> from dplearn.releases import proportion
    >>> found = proportion([True] * 300 + [False] * 700, epsilon=1, random_state=0)
    >>> round(found.value, 2), tuple(round(end, 2) for end in found.interval())
    (0.3, (0.27, 0.33))
    """
    rows = rows_of_groups(groups, max_rows_per_group)
    return Proportion((0, 1), epsilon, rows, random_state).run_on(values, None, ledger, groups)


@documented_by(mean_plan, mean, ColumnRelease)
def proportion_plan(
    n_samples: int, *, epsilon: Any = 1.0, max_rows_per_group: int | None = None, beta: Any = 0.05
) -> ReleasePlan:
    """Return the plan of `proportion`, with a bound on the noise, without data.

    Examples
    --------
    >>> from dplearn.releases import proportion_plan
    >>> round(proportion_plan(6000).error, 4)
    0.0005
    """
    return Proportion((0, 1), epsilon, planned_rows(max_rows_per_group)).plan(Facts(n_samples), beta=beta)


@documented_by(mean, ColumnRelease)
def std(
    values: Any,
    bounds: Any,
    *,
    epsilon: Any = 1.0,
    groups: Any = None,
    max_rows_per_group: int | None = None,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> Std:
    """Release the standard deviation of private numbers, and their mean.

    Notes
    -----
    **Privacy.** As for `mean`, whose recipe it is.

    **Accuracy.** `Std.interval`, and the `error` of `std_plan`.

    Examples
    --------
    >>> from dplearn.releases import std
    >>> ages = [20 + i % 60 for i in range(6000)]
    >>> round(std(ages, (0, 120), epsilon=1, random_state=0).value, 1)
    17.3
    """
    rows = rows_of_groups(groups, max_rows_per_group)
    return _Std(bounds, epsilon, rows, random_state).run_on(values, None, ledger, groups)


@documented_by(mean_plan, mean, ColumnRelease)
def std_plan(
    n_samples: int,
    bounds: Any,
    *,
    epsilon: Any = 1.0,
    max_rows_per_group: int | None = None,
    beta: Any = 0.05,
) -> ReleasePlan:
    """Return the plan of `std`, with a bound on the noise, without data.

    Returns
    -------
    ReleasePlan
        With the guarantee, n_samples and beta; `error`, which the noise in the variance exceeds with
        probability at most beta; and `n_needed`, the number of records from which on that is a twentieth of
        the greatest variance within the bounds.

    Examples
    --------
    >>> from dplearn.releases import std_plan
    >>> std_plan(6000, (0, 120)).n_needed
    577
    """
    return _Std(bounds, epsilon, planned_rows(max_rows_per_group)).plan(Facts(n_samples), beta=beta)


class _Mean(ColumnRelease[Result]):
    """The recipe of `mean`: noise is added to sums of whole steps, and of their squares; see its proof."""

    domain: Grid | IntegerRange
    group_rows: int
    known_as, warns_of = "mean", "mean"
    reach = 1 << 20  # steps between the bounds; audits use fewer
    weight = Fraction(1, 2)  # of squares; 0: they are not asked for

    def __init__(self, bounds: Any, epsilon: Any, group_rows: int = 1, random_state: Any = None):
        self.bounds, self.group_rows = checked_bounds(bounds), group_rows
        # Half of the distance of the bounds; where its square were no float, less.
        self.half = min(self.bounds[1] / 2 - self.bounds[0] / 2, _LARGEST)
        self.domain = self.domain_of()
        cost = ApproxDP(
            check_number("epsilon", epsilon, above=0), assumes=(N_IS_PUBLIC, self.domain.assumption)
        )
        super().__init__(self.known_as, cost, (repr(self.domain), str(cost.epsilon)), random_state)

    def domain_of(self) -> Any:
        """Return the domain, whose codes are the steps above the lower bound."""
        return Grid(*self.bounds, self.reach + 1, "clip")

    @property
    def possible(self) -> tuple[float, float]:
        """The ends of what is released."""
        return self.bounds

    def noise(self, each: int = 1) -> LaplaceNoise:
        """Return the noise of the sum and of that of squares, of records of so many rows."""
        w, width = self.weight, self.bounds[1] - self.bounds[0]
        moved = (1 + 2 * w) ** 2 / (8 * w) if w > Fraction(1, 2) else 1
        return LaplaceNoise(self.cost.epsilon, math.ceil(moved * self.reach) * each, width / self.reach)

    def of_squares(self, error: float) -> float:
        """Return the error of the variance, of numbers whose mean has an error."""
        return error * self.half / float(self.weight)

    def error(self, noise: LaplaceNoise, beta: Fraction) -> tuple[float, float]:
        """Return a bound on the noise of what is released, times the number of records, and its range."""
        return noise.tail(beta), self.bounds[1] - self.bounds[0]

    def plan(self, facts: Facts, *, beta: Any = 0.05) -> ReleasePlan:
        n, failure = self.count(facts), check_number("beta", beta, above=0, below=1)
        noise = self.noise()
        error, width = self.error(noise, failure)
        needed = max(1, math.ceil(error / (width * float(ALPHA))))
        few = few_records(
            n,
            f"with epsilon {float(self.cost.epsilon):.3g}, the noise of the {self.warns_of} may be"
            f" {error / n:.3g} or more, which is over a twentieth of its range",
            "declare narrower bounds",
            "spend more epsilon",
            enough=needed,
            subset=ALL_GROUPS,
        )
        deviation = noise.deviation / n
        return self.stated(
            n,
            error=error / n,
            n_needed=needed,
            beta=float(failure),
            keeps={
                "deviations": [deviation, self.of_squares(deviation) if self.weight else 0.0],
                "bounds": self.bounds,
                "possible": self.possible,
                "clips": bool(self.weight),
            },
            warns=(few,) if n < needed else (),
        )

    def run(self, table: Table, plan: ReleasePlan, dice: Dice) -> Any:
        (low, high), half, n = self.bounds, self.half, plan.n_samples
        most = n * table.each * self.reach
        totals = table.sums(self._sums)
        noisy = self.noise(table.each).noisy(totals, dice, low=0, high=most)
        total, *squares = (float(each) / most for each in noisy)
        mean = min(low + (high - low) * total, high)  # despite rounding
        if not squares:
            near = (mean * n + low + high) / (n + 2)  # rare ones may be unseen
            return self.result(mean, (high - near) * (near - low), plan)
        place = 2 * total - 1
        found = 1 - 2 * squares[0] / float(self.weight) - place * place
        return self.result(mean, min(max(found, 0.0), 1 - place * place) * half * half, plan)

    def _sums(self, steps: NDArray[Any]) -> list[Any]:
        steps, w = steps.astype(np.int64), self.weight
        if not w:
            return [steps.sum()]
        squares = 2 * w.numerator * (self.reach - steps) * steps // (w.denominator * self.reach)
        return [steps.sum(), squares.sum()]

    def result(self, mean: float, variance: float, plan: ReleasePlan) -> Any:
        """Return the result, made of a noisy mean and variance."""
        return Mean(mean, variance, plan)


class Proportion(_Mean[Mean]):
    """The recipe of `proportion`, whose steps are zeros and ones."""

    known_as, warns_of = "proportion", "share"
    reach, weight = 1, Fraction(0)  # the share tells the variance

    def domain_of(self) -> Any:
        return IntegerRange(0, 1)

    def read(self, X: Any, y: Any) -> tuple[Facts, Any]:  # noqa: ARG002 - there is none
        with suppress(DomainError):
            codes = read_codes(X, self.domain)
            return Facts(len(codes)), codes
        raise DomainError(
            "values must be True or False, or 1 or 0, none missing; of others give a test, such as x == 'yes'"
        )


class _Std(_Mean[Std]):
    """The recipe of `std`."""

    known_as, warns_of = "std", "variance"
    weight = Fraction(2)

    def domain_of(self) -> Any:
        check_squares("bounds", *self.bounds)
        return super().domain_of()

    @property
    def possible(self) -> tuple[float, float]:
        return 0.0, (self.bounds[1] - self.bounds[0]) / 2

    def error(self, noise: LaplaceNoise, beta: Fraction) -> tuple[float, float]:
        tail = noise.tail(beta / 2)
        # The mean is squared: its noise counts up to twice its distance from the middle, half of the bounds'.
        return self.of_squares(tail) + 2 * self.half * tail, self.half * self.half

    def result(self, mean: float, variance: float, plan: ReleasePlan) -> Any:
        return Std(math.sqrt(variance), mean, plan)
