"""Private release of a cumulative distribution function, with the methods of scipy's distributions, from
noisy counts of a tree of intervals, or points of blocks of the sorted records. The rest is post-processing.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._documented import documented_by
from dplearn._validation import check_choice, check_count, check_goal, check_number
from dplearn.chance import Dice, PublicStream
from dplearn.domains import Floats, NumberDomain
from dplearn.fit import N_IS_PUBLIC, Facts
from dplearn.kernels import Level
from dplearn.kernels.intervals import prefix_counts, sorted_codes
from dplearn.mechanisms.block_points import block_points
from dplearn.mechanisms.noisy_counts import tree_counts
from dplearn.privacy import PrivacyLedger
from dplearn.releases.cdf_errors import (
    BlockPlan,
    TreePlan,
    block_guarantee,
    block_plan,
    dkw_bound,
    tree_plan,
)
from dplearn.releases.release import (
    ALL_GROUPS,
    WRITTEN_OUT,
    ColumnRelease,
    Released,
    ReleasePlan,
    as_number_domain,
    checked_cost,
    covers_sampling,
    few_records_warnings,
    written,
)
from dplearn.table import Table
from dplearn.table.ranks import PartedTreeRecords, gathered_codes

_BELOW_WIDE = np.nextafter(2.0**64, 0)
_FINE = 53  # bits of a uniform number
_BETA = 0.05  # probability of failure of the error bound that a warning is about
_TAIL = 0.01  # the least fraction of records beyond the last known quantile that a warning is about


@dataclass(frozen=True, eq=False, repr=False)
class CDFRelease(Released):
    """A cumulative distribution function over a domain of numbers, released from private records.

    Between two neighbouring knots all codes have equal probability.

    Attributes
    ----------
    knots : ndarray of uint64 or object of shape (k,)
        Released. Codes in ascending order, from 0 to the size of the domain.
    cumulative : ndarray of float64 of shape (k,)
        Released. Estimated fraction of records with codes below each knot: nondecreasing, from 0 to 1.
    least, most : ndarray of float64 of shape (k,)
        Released. Lower and upper estimates of that fraction, before the margin for noise; equal for "tree".
    levels : ndarray of int64 of shape (k,)
        Released. Determines the margin for noise, by `radius` of the mechanism's plan: for "tree" the depth
        at which the knot was created, for "blocks" 1; 0 for knots whose fraction is known.
    plan : ReleasePlan
        Public. The plan of the release, as `cdf_plan` describes it.
    guarantee : ApproxDP
        Public. The guarantee of the release.

    Examples
    --------
    >>> from dplearn.domains import IntegerRange
    >>> from dplearn.releases.cdf import cdf
    >>> ages = [20] * 3000 + [40] * 5000 + [41] * 2000
    >>> found = cdf(ages, epsilon=1, domain=IntegerRange(0, 120), random_state=0)
    >>> found.cdf([19, 40]).round(2).tolist(), found.ppf([0.25, 0.5, 0.9]).tolist()
    ([0.0, 0.8], [20, 40, 41])
    """

    knots: NDArray[Any]
    cumulative: NDArray[np.float64]
    least: NDArray[np.float64]
    most: NDArray[np.float64]
    levels: NDArray[np.int64]
    plan: ReleasePlan

    @property
    def domain(self) -> NumberDomain:
        """Public. The possible values."""
        return self.plan.domain

    @property
    def n_samples(self) -> int:
        """Public. Number of records."""
        return self.plan.n_samples

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.domain!r}, n_samples={self.n_samples}, knots={self.knots.size},"
            f" guarantee={self.plan.guarantee!r})"
        )

    def cdf(self, x: Any) -> Any:
        """Return the estimated fraction of records that are at most x.

        Parameters
        ----------
        x : number or array-like of numbers
            Any numbers, infinities and NaN included; of a `LargeIntegerRange`, integers.

        Returns
        -------
        float64 or ndarray of float64
            NaN where x is NaN.
        """
        ranks, missing = self._ranks(x)
        return _shaped(np.where(missing, np.nan, self._share(ranks)), x)

    def sf(self, x: Any) -> Any:
        """Return the estimated fraction of records that are greater than x: 1 - cdf(x)."""
        return 1.0 - self.cdf(x)

    def ppf(self, q: Any) -> Any:
        """Return the quantile function: the least value x of the domain with cdf(x) >= q.

        In a domain of floats, the quantiles beyond the last knots that are known to lie among the records,
        each with probability .95, are these knots. So are the records of `rvs`.

        Parameters
        ----------
        q : float or array-like of float
            From 0 to 1.

        Returns
        -------
        A value of the domain, or an array of them
        """
        shares = np.asarray(q, dtype=np.float64)
        if not ((shares >= 0) & (shares <= 1)).all():
            raise ValueError("q must be numbers from 0 to 1")
        flat = shares.ravel()
        piece = np.minimum(np.searchsorted(self.cumulative[1:], flat, "left"), self.knots.size - 2)
        mass = self.cumulative[piece + 1] - self.cumulative[piece]
        share = np.clip((flat - self.cumulative[piece]) / np.where(mass > 0, mass, 1), 0, 1)
        lengths = self.knots[piece + 1] - self.knots[piece]
        codes = self.knots[piece] + _steps(share, lengths)
        if isinstance(self.domain, Floats):
            codes = np.clip(codes, *self._among_records())
        values = self.domain.decode(codes).reshape(shares.shape)
        return values if shares.ndim else values[()]

    def median(self) -> Any:
        """Return the median, ppf(0.5)."""
        return self.ppf(0.5)

    def interval(self, confidence: float) -> tuple[Any, Any]:
        """Return the central interval that contains a fraction `confidence` of the distribution.

        Parameters
        ----------
        confidence : float
            From 0 to 1.

        Returns
        -------
        low, high : values of the domain
            Equal fractions of the distribution lie below and above the interval.
        """
        share = float(check_number("confidence", confidence, low=0, high=1))
        return self.ppf((1 - share) / 2), self.ppf((1 + share) / 2)

    def support(self) -> tuple[Any, Any]:
        """Return the ends of the domain, which are public."""
        ends = self.domain.decode(np.array([0, self.domain.size - 1], dtype=self.knots.dtype))
        return ends[0], ends[1]

    def rvs(self, size: Any = None, random_state: Any = None) -> Any:
        """Draw synthetic records from this distribution; costs no privacy.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the result; None for one value.
        random_state : None, int, numpy.random.RandomState or numpy.random.Generator
            Seed or generator. Equal integers give equal records.

        Returns
        -------
        A value of the domain, or an array of them
        """
        shape = () if size is None else (size,) if np.ndim(size) == 0 else tuple(size)
        count = int(np.prod([check_count("size", extent) for extent in shape], dtype=object))
        drawn = PublicStream.of(random_state, "rvs").labels(1 << _FINE, count)
        values = self.ppf((drawn + 0.5) / (1 << _FINE)).reshape(shape)
        return values if shape else values[()]

    def band(self, *, beta: float = 0.05, of: str = "population") -> "ConfidenceBand":
        """Return a confidence band for the whole cumulative distribution function.

        Parameters
        ----------
        beta : float, default=0.05
            Above 0 and below 1: the probability that the function leaves the band.
        of : {"population", "table"}, default="population"
            "table": the function of the records. "population": that of the population from which the
            records are independent draws; half of beta is then used for the sampling error.

        Returns
        -------
        ConfidenceBand
        """
        drawn = covers_sampling(of)
        beta = float(check_number("beta", beta, above=0, below=1))
        radius = self.plan.mechanism_plan.radius(self.levels, beta / 2 if drawn else beta) / self.n_samples
        margin = dkw_bound(self.n_samples, beta / 2) if drawn else 0.0
        # The function is nondecreasing, so every bound holds beyond its knot too.
        lower = np.maximum.accumulate(np.maximum(self.least - radius, 0))
        upper = np.minimum.accumulate(np.minimum(self.most + radius, 1)[::-1])[::-1]
        upper = np.maximum(upper, lower)
        return ConfidenceBand(self, np.maximum(lower - margin, 0), np.minimum(upper + margin, 1))

    def _among_records(self) -> tuple[Any, Any]:
        """Return the ends of the codes that likely lie between the least and the greatest record."""
        noise = self.plan.mechanism_plan.radius_of_one(self.levels) / self.n_samples
        some_below = np.minimum(self.least, self.cumulative) > noise
        some_above = np.maximum(self.most, self.cumulative) < 1 - noise
        # A record is less than the first such knot; a record is at least the last one.
        first, last = self.knots[some_below][0] - self.knots.dtype.type(1), self.knots[some_above][-1]
        return min(first, last), max(first, last)  # if all records may lie between neighbouring knots

    def _ranks(self, x: Any) -> tuple[NDArray[Any], NDArray[np.bool_]]:
        """Return the number of codes of the domain whose values are <= x, and a mask of NaN in x."""
        array = np.asarray(x)
        flat = array.ravel()
        missing, end = np.zeros(flat.size, dtype=bool), np.zeros(flat.size, dtype=np.int8)
        if flat.dtype.kind == "f":
            missing = np.isnan(flat)
            end = np.sign(np.where(np.isinf(flat), flat, 0)).astype(np.int8)
            flat = np.where(np.isfinite(flat), flat, 0)
        codes = self.domain.nearest(flat)
        # Above, x was rounded up, or is below the domain.
        above = np.asarray(self.domain.decode(codes) > flat, dtype=bool)
        ranks = codes.astype(self.knots.dtype) + (~above).astype(self.knots.dtype)
        ranks = np.where(end < 0, self.knots[0], np.where(end > 0, self.knots[-1], ranks))
        return ranks.reshape(array.shape), missing.reshape(array.shape)

    def _share(self, ranks: NDArray[Any]) -> NDArray[np.float64]:
        """Return the estimated fraction of records with codes below each rank."""
        piece = np.maximum(np.searchsorted(self.knots, ranks, "left"), 1) - 1
        into, length = ranks - self.knots[piece], self.knots[piece + 1] - self.knots[piece]
        if self.knots.dtype != object:
            into, length = into.astype(np.float64), length.astype(np.float64)
        share = np.asarray(into / length, dtype=np.float64)
        low = self.cumulative[piece]
        high = self.cumulative[piece + 1]
        shares: NDArray[np.float64] = np.minimum(low + (high - low) * share, high)  # despite rounding
        return shares


@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceBand:
    """A confidence band: bounds on a cumulative distribution function that hold at all points together.

    Attributes
    ----------
    distribution : CDFRelease
        Released. The estimate that the band belongs to.
    lower, upper : ndarray of float64 of shape (k,)
        Released. Bounds at the knots of the distribution, nondecreasing.
    """

    distribution: CDFRelease
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    def at(self, x: Any) -> tuple[Any, Any]:
        """Return the lower and the upper bound at x.

        Parameters
        ----------
        x : number or array-like of numbers
            As for `CDFRelease.cdf`.

        Returns
        -------
        lower, upper : float64 or ndarray of float64
        """
        ranks, missing = self.distribution._ranks(x)
        knots = self.distribution.knots
        low = self.lower[np.searchsorted(knots, ranks, "right") - 1]
        high = self.upper[np.searchsorted(knots, ranks, "left")]
        return tuple(_shaped(np.where(missing, np.nan, end), x) for end in (low, high))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(knots={self.lower.size})"


def distribution_of(levels: list[Level], plan: ReleasePlan) -> CDFRelease:
    """Return the distribution function estimated from a tree of noisy counts.

    **Accuracy.** Isotonic regression does not increase the greatest error e: each result is a maximum of
    minima of means, monotone in the estimates, and so lies between the results for exact values minus and
    plus e, which are monotone already.
    """
    n = plan.n_samples
    leaves = prefix_counts(levels)
    knots = np.append(leaves.starts, np.array([plan.domain.size], dtype=leaves.starts.dtype))
    estimates = np.append(leaves.below, n) / n
    from scipy.optimize import isotonic_regression  # its import takes long

    rising = np.clip(isotonic_regression(estimates).x, 0, 1)
    rising[0], rising[-1] = 0, 1
    return CDFRelease(knots, rising, estimates, estimates, np.append(leaves.levels, 0), plan)


def distribution_of_points(points: list[int], plan: ReleasePlan) -> CDFRelease:
    """Return the distribution function estimated from the points of blocks of the sorted records. A single
    point is a knot at its block's middle rank, and one of several blocks has the mass halfway to its
    neighbours' ranks.
    """
    n, size, blocks = plan.n_samples, plan.domain.size, plan.mechanism_plan
    assert isinstance(blocks, BlockPlan)
    ordered = sorted_codes(points, size)
    codes, counts = np.unique(ordered, return_counts=True)
    knots = np.unique(np.concatenate([codes, codes + 1, np.array([0, size], dtype=codes.dtype)]))
    behind = np.searchsorted(ordered, knots, "left")
    least, most = blocks.ranks(n)
    middles = (least + most) / 2
    halfway = np.concatenate([[0], (middles[1:] + middles[:-1]) / 2, [n]])
    ranks, alone = halfway[behind], codes[counts == 1]
    starts, stops = np.isin(knots, alone), np.isin(knots, alone + 1)
    ranks[starts] += (middles - halfway[:-1])[behind[starts]]
    ranks[stops] += (middles - halfway[1:])[behind[stops] - 1]
    # At least `least` records are at most the last point below a knot; at most `most` precede the next point.
    bounds = np.append(0, least)[behind], np.append(most, n)[behind]
    shares, low, high = (np.concatenate([[0], share[1:-1] / n, [1]]) for share in (ranks, *bounds))
    levels = np.ones(knots.size, dtype=np.int64)
    levels[[0, -1]] = 0
    return CDFRelease(knots, shares, low, high, levels, plan)


def _steps(share: NDArray[np.float64], lengths: NDArray[Any]) -> NDArray[Any]:
    """Return the index, in a piece of `lengths` equally probable codes, of its quantile `share`."""
    if lengths.dtype == object:
        exact = (share * (1 << _FINE)).astype(np.int64).tolist()
        steps = np.empty(share.size, dtype=object)
        steps[:] = [
            max(0, -(-share * length >> _FINE) - 1) for share, length in zip(exact, lengths, strict=True)
        ]
        return steps
    floats = np.clip(np.ceil(share * lengths.astype(np.float64)) - 1, 0, _BELOW_WIDE)
    return np.minimum(floats.astype(np.uint64), lengths - np.uint64(1))


def _shaped(values: NDArray[np.float64], x: Any) -> Any:
    return values if np.ndim(x) else values[()]


@documented_by(ColumnRelease)
def cdf(
    values: Any,
    *,
    epsilon: Any = 1.0,
    delta: Any = 0.0,
    method: str = "tree",
    domain: str | NumberDomain = "float64",
    groups: Any = None,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> CDFRelease:
    """Release the cumulative distribution function of private numbers.

    Parameters
    ----------
    delta : float, default=0.0
        Probability with which the guarantee may fail, in [0, 1). A positive delta is spent only if it reduces
        the error: on Gaussian noise ("tree"), or on points in domains of many hundred bits ("blocks").
        Otherwise the guarantee has delta 0.
    method : {"tree", "blocks"}, default="tree"
        "tree": noisy counts of nested intervals, finer where there are many records. "blocks": an interior
        point of each of many blocks of the sorted records, of noisy lengths; it needs some thousands of
        records, and its error hardly grows with the size of the domain.
    domain : "float64" or NumberDomain, default="float64"
        Public. The possible values; "float64": all finite floats. Smaller domains need less noise.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described, `values` has another shape, or there are too few records for
        "blocks"; nothing is spent.

    Warns
    -----
    UserWarning
        If the error bound of "tree" is 1/2 or more, or, in a domain of floats, if more than a hundredth of
        the records at each end are lost in the noise.

    Notes
    -----
    **Privacy.** (epsilon, delta), for one replaced record: the guarantee of `tree_counts` or `block_points`;
    all further steps are post-processing.

    **Assumes.** All values lie in the domain; the number of records is public.

    **Accuracy.** With probability at least 1 - beta, the greatest difference between the distribution
    function of the records and the released one is at most `cdf_plan(n, beta=beta).error`. `CDFRelease.band`
    gives a finer bound, from released values.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Section 4; "blocks" is a corrected version of their
    Theorem 4.6. Dwork, Naor, Pitassi and Rothblum (2010) for "tree".

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.releases import cdf
    >>> incomes = np.random.default_rng(0).lognormal(10, 0.5, 100_000)
    >>> found = cdf(incomes, epsilon=1, random_state=0)  # bounds are not needed
    >>> found.ppf([0.1, 0.5, 0.9]).round(-2).tolist()
    [11700.0, 22000.0, 41900.0]
    """
    return CDF(epsilon, delta, method, domain, random_state).run_on(values, None, ledger, groups)


@documented_by(cdf, ColumnRelease)
def cdf_plan(
    n_samples: int,
    *,
    epsilon: Any = 1.0,
    delta: Any = 0.0,
    method: str = "tree",
    domain: str | NumberDomain = "float64",
    alpha: Any = 0.05,
    beta: Any = 0.05,
) -> ReleasePlan:
    """Return the plan of `cdf`, with its error bound, without data.

    Returns
    -------
    ReleasePlan
        With the guarantee, n_samples, method, domain, alpha and beta; `mechanism_plan`, a TreePlan or a
        BlockPlan; `error`, at most 1: with probability at least 1 - beta, the greatest difference between the
        released function and that of the records; and `n_needed`, the number of records from which on that is
        at most alpha, or None: "blocks" may fail with probability 1/1000 for every number.

    Examples
    --------
    >>> from dplearn.releases import cdf_plan
    >>> plan = cdf_plan(100_000, epsilon=1)
    >>> round(plan.error, 3), plan.n_needed
    (0.05, 100716)
    """
    return CDF(epsilon, delta, method, domain).plan(Facts(n_samples), alpha=alpha, beta=beta)


class CDF(ColumnRelease[CDFRelease]):
    """The recipe of `cdf`."""

    def __init__(self, epsilon: Any, delta: Any, method: str, domain: Any, random_state: Any = None):
        self.method = check_choice("method", method, ("tree", "blocks"))
        self.most = checked_cost(epsilon, delta)
        self.domain = as_number_domain(domain)
        if self.domain.accepts_missing:
            raise ValueError(f"domain must not accept missing values, got {self.domain!r}")
        tree, size = self.method == "tree", self.domain.size
        kept = tree_plan(size, self.most).guarantee if tree else block_guarantee(size, self.most)
        cost = replace(kept, assumes=(N_IS_PUBLIC, self.domain.assumption))
        super().__init__("cdf", cost, (method, repr(self.domain), repr(kept)), random_state)

    def plan(self, facts: Facts, *, alpha: Any = 0.05, beta: Any = 0.05) -> ReleasePlan:
        n, size, tree = self.count(facts), self.domain.size, self.method == "tree"
        mechanism = tree_plan(size, self.most) if tree else block_plan(size, self.most, n)
        alpha, beta = map(float, check_goal(alpha, beta))
        return self.stated(
            n,
            method=self.method,
            domain=self.domain,
            mechanism_plan=mechanism,
            alpha=alpha,
            beta=beta,
            later={
                "error": partial(mechanism.error, n, beta),
                "n_needed": partial(mechanism.sample_size, alpha, beta),
            },
            warns=_warnings(mechanism, n, self.domain),
        )

    def run(self, table: Table, plan: ReleasePlan, dice: Dice) -> CDFRelease:
        mechanism = plan.mechanism_plan
        if isinstance(mechanism, BlockPlan):
            points = block_points(gathered_codes(table), mechanism, privacy=mechanism.guarantee, dice=dice)
            return distribution_of_points(points, plan)
        levels = tree_counts(
            PartedTreeRecords(table, mechanism.size) if table.in_parts else gathered_codes(table),
            mechanism.size,
            fan_out=mechanism.fan_out,
            threshold=mechanism.threshold,
            privacy=mechanism.privacy,
            dice=dice,
        )
        return distribution_of(levels, plan)


def _warnings(plan: TreePlan | BlockPlan, n: int, domain: NumberDomain) -> tuple[str, ...]:
    """Return a warning if the error bound gives no guarantee for the median, or else about the tails in a
    domain of floats. The median is within the records' range with probability .95 from `TreePlan.n_inside`
    records on, and the bound falls below one half only at several times that number.
    """
    given, half = f"with epsilon {float(plan.guarantee.epsilon):.3g}", 0.5
    if isinstance(plan, TreePlan) and (error := plan.error(n, _BETA)) >= half:
        problem = (
            f"{given}, counts among {written(plan.size)} values may be off by {100 * error:.0f} % of the"
            " records, so that there is no guarantee for the median"
        )
        coarser = "use a coarser domain of floats, Floats(significand_bits=...)"
        return few_records_warnings(
            n,
            error,
            least=half,
            problem=problem,
            size=plan.size,
            remedy=coarser if plan.size >= WRITTEN_OUT else "",
            enough=plan.sample_size(half, _BETA),
            subset=ALL_GROUPS,
        )
    if not isinstance(domain, Floats):
        return ()
    tail = min(0.5, plan.unknown_tail(n))
    problem = (
        f"{given}, quantiles below {tail:.2g} and above"
        f" {1 - tail:.2g} may be lost in the noise, and ppf and rvs return the last values that likely lie"
        " among the records instead"
    )
    return few_records_warnings(n, tail, least=_TAIL, problem=problem, subset=ALL_GROUPS)
