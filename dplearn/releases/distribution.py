"""Released distribution functions with the methods of scipy's distributions, and their confidence bands.

All methods are post-processing of released values and cost no privacy.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from dplearn._validation import check_choice, check_count, check_number
from dplearn.chance import PublicStream
from dplearn.core.intervals import Level, prefix_counts, sorted_codes
from dplearn.domains import NumberDomain
from dplearn.privacy.plan import hidden
from dplearn.releases.block_errors import BlockPlan, block_sample_size
from dplearn.releases.few_records import count_warnings
from dplearn.releases.release import Released, ReleasePlan
from dplearn.releases.tree_errors import TreePlan, dkw_bound

__all__ = ["CDFPlan", "CDFRelease", "ConfidenceBand", "distribution_of", "distribution_of_points"]

_BELOW_WIDE = np.nextafter(2.0**64, 0)
_FINE = 53  # bits of a uniform number


@dataclass(frozen=True)
class CDFPlan(ReleasePlan):
    """The plan of `cdf`.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the release.
    n_samples : int
        Number of records.
    method : {"tree", "blocks"}
        The method.
    domain : NumberDomain
        The possible values.
    mechanism_plan : TreePlan or BlockPlan
        The plan of the mechanism: noise, sizes and thresholds.
    alpha, beta : float
        Target error and probability of failure, as given; 0.05 each in the plan of a release.
    error : float
        With probability at least 1 - beta, the greatest difference between the released function and that of
        the records is at most this; at most 1.
    n_needed : int or None
        Number of records from which on the error is at most alpha. None if no number is enough: "blocks" may
        fail with probability 1/1000 for every number of records.
    """

    _computed: ClassVar[tuple[str, ...]] = ("error", "n_needed")

    method: str
    domain: NumberDomain
    mechanism_plan: TreePlan | BlockPlan
    alpha: float = 0.05
    beta: float = 0.05
    most: Any = hidden()  # the budget

    @property
    def error(self) -> float:
        """Bound on the greatest error, as a fraction of the records."""
        return self.mechanism_plan.error(self.n_samples, self.beta)

    @property
    def n_needed(self) -> int | None:
        """Number of records from which on the error is at most alpha, or None."""
        if isinstance(self.mechanism_plan, TreePlan):
            return self.mechanism_plan.sample_size(self.alpha, self.beta)
        return block_sample_size(self.domain.size, self.most, self.alpha, self.beta)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings if the error bound gives no guarantee for the median ("tree" only)."""
        plan = self.mechanism_plan
        return count_warnings(self.n_samples, plan) if isinstance(plan, TreePlan) else ()


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
    plan : CDFPlan
        Public. The plan of the release.
    guarantee : ApproxDP
        Public. The guarantee of the release.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> from dplearn.domains import IntegerRange
    >>> from dplearn.releases.cdf import cdf
    >>> ages = [20] * 3000 + [40] * 5000 + [41] * 2000
    >>> found = cdf(ages, epsilon=1, domain=IntegerRange(0, 120), random_state=0)
    >>> found.cdf([19, 40]).round(2).tolist(), found.ppf([0.25, 0.5, 0.9]).tolist()
    ([0.0, 0.8], [20, 40, 41])
    >>> low, high = found.band(beta=0.05).at(40)
    >>> print(f"{low:.2f} to {high:.2f}")
    0.78 to 0.82
    """

    knots: NDArray[Any]
    cumulative: NDArray[np.float64]
    least: NDArray[np.float64]
    most: NDArray[np.float64]
    levels: NDArray[np.int64]
    plan: CDFPlan

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
        values = self.domain.decode(self.knots[piece] + _steps(share, lengths)).reshape(shares.shape)
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
        of : {"population", "sample"}, default="population"
            "sample": the function of the records. "population": that of the population from which the
            records are independent draws; half of beta is then used for the sampling error.

        Returns
        -------
        ConfidenceBand
        """
        check_choice("of", of, ("population", "sample"))
        beta = float(check_number("beta", beta, above=0, below=1))
        drawn = of == "population"
        radius = self.plan.mechanism_plan.radius(self.levels, beta / 2 if drawn else beta) / self.n_samples
        margin = dkw_bound(self.n_samples, beta / 2) if drawn else 0.0
        # The function is nondecreasing, so every bound holds beyond its knot too.
        lower = np.maximum.accumulate(np.maximum(self.least - radius, 0))
        upper = np.minimum.accumulate(np.minimum(self.most + radius, 1)[::-1])[::-1]
        upper = np.maximum(upper, lower)
        return ConfidenceBand(self, np.maximum(lower - margin, 0), np.minimum(upper + margin, 1))

    def plot(self, ax: Any = None, *, beta: float | None = 0.05) -> Any:
        """Plot the cumulative distribution function and its confidence band for the population.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on; a new figure by default.
        beta : float or None, default=0.05
            As for `band`; None for no band.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        if ax is None:
            try:
                from matplotlib import pyplot
            except ImportError:
                raise ImportError("plot needs matplotlib: pip install matplotlib") from None
            ax = pyplot.subplots()[1]
        shares = np.linspace(0.001, 0.999, 512)
        x = np.unique(self.ppf(shares))
        ax.step(x, self.cdf(x), where="post", label="released")
        if beta is not None:
            low, high = self.band(beta=beta).at(x)
            ax.fill_between(x, low, high, step="post", alpha=0.25, label=f"population, {1 - beta:g}")
        ax.set_xlabel("x")
        ax.set_ylabel("share at or below x")
        ax.legend()
        return ax

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
        above = np.asarray(
            self.domain.decode(codes) > flat, dtype=bool
        )  # x was rounded up, or is below the domain
        ranks = codes.astype(self.knots.dtype)
        ranks = ranks + (~above).astype(self.knots.dtype)
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


def distribution_of(levels: list[Level], plan: CDFPlan) -> CDFRelease:
    """Return the distribution function estimated from a tree of noisy counts.

    Parameters
    ----------
    levels : list of Level
        From `tree_counts`.
    plan : CDFPlan
        The plan of the counts.

    Returns
    -------
    CDFRelease

    Notes
    -----
    Isotonic regression (least squares) makes the estimates at the knots monotone. It does not increase the
    greatest error: each result is a maximum of minima of means of consecutive estimates. This expression is
    monotone in the estimates and adds a constant if the same constant is added to all of them. So if all
    estimates have errors between -e and e, the results lie between those of the exact values minus e and plus
    e, and the exact values are already monotone.
    """
    n = plan.n_samples
    leaves = prefix_counts(levels)
    knots = np.append(leaves.starts, np.array([plan.domain.size], dtype=leaves.starts.dtype))
    estimates = np.append(leaves.below, n) / n
    rising = np.clip(isotonic_regression(estimates).x, 0, 1)
    rising[0], rising[-1] = 0, 1
    return CDFRelease(knots, rising, estimates, estimates, np.append(leaves.levels, 0), plan)


def distribution_of_points(points: list[int], plan: CDFPlan) -> CDFRelease:
    """Return the distribution function estimated from the points of blocks of the sorted records.

    Parameters
    ----------
    points : list of int
        From `block_points`.
    plan : CDFPlan
        The plan of the blocks.

    Returns
    -------
    CDFRelease

    Notes
    -----
    A point that equals no other point is a knot at the middle rank of its block, without probability mass. A
    code that is the point of several blocks has probability mass: its ranks extend from halfway to the middle
    rank of the block before to halfway to that of the block after.
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
    found: NDArray[Any] = np.minimum(floats.astype(np.uint64), lengths - np.uint64(1))
    return found


def _shaped(values: NDArray[np.float64], x: Any) -> Any:
    return values if np.ndim(x) else values[()]
