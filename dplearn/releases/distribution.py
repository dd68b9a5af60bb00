"""A released distribution: asked as scipy's are, as often as one likes; nothing private is left in it.

>>> from dplearn.releases.cdf import cdf
>>> from dplearn.domains import IntegerRange
>>> ages = [20] * 3000 + [40] * 5000 + [41] * 2000
>>> found = cdf(ages, epsilon=1, domain=IntegerRange(0, 120), random_state=0)
>>> found.cdf([19, 40]).round(2).tolist(), found.ppf([0.25, 0.5, 0.9]).tolist()
([0.0, 0.8], [20, 40, 41])
>>> low, high = found.band(beta=0.05).at(40)
>>> print(f"{low:.2f} to {high:.2f}")
0.78 to 0.82
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
from dplearn.releases.stages import Released, ReleasePlan
from dplearn.releases.tree_errors import TreePlan, dkw_bound

__all__ = ["CDFPlan", "CDFRelease", "ConfidenceBand", "distribution_of", "distribution_of_points"]

_BELOW_WIDE = np.nextafter(2.0**64, 0)
_FINE = 53  # bits of a uniform number


@dataclass(frozen=True)
class CDFPlan(ReleasePlan):
    """What `cdf` runs on.

    Attributes
    ----------
    guarantee : ApproxDP
        What it guarantees.
    n_samples : int
        Number of records.
    method : {"tree", "blocks"}
        As asked for.
    domain : NumberDomain
        The values that are told apart.
    mechanism_plan : TreePlan or BlockPlan
        How records are counted: noise, sizes and thresholds.
    alpha, beta : float
        As asked for; .05 each in the plan of a release.
    error : float
        With probability at least 1 - beta, the released function is nowhere further than this from that of
        the records; at most 1.
    n_needed : int or None
        From how many records on the error is at most alpha; None: no number is enough, because "blocks" may
        fail with a probability of 1/1000, however many records there are.
    """

    _computed: ClassVar[tuple[str, ...]] = ("error", "n_needed")

    method: str
    domain: NumberDomain
    mechanism_plan: TreePlan | BlockPlan
    alpha: float = 0.05
    beta: float = 0.05
    most: Any = hidden()  # what may be spent

    @property
    def error(self) -> float:
        """A share of the records."""
        return self.mechanism_plan.error(self.n_samples, self.beta)

    @property
    def n_needed(self) -> int | None:
        """Number of records, or None."""
        if isinstance(self.mechanism_plan, TreePlan):
            return self.mechanism_plan.sample_size(self.alpha, self.beta)
        return block_sample_size(self.domain.size, self.most, self.alpha, self.beta)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warn of counts so noisy that nothing is guaranteed of a median; too few for blocks are refused."""
        plan = self.mechanism_plan
        return count_warnings(self.n_samples, plan) if isinstance(plan, TreePlan) else ()


@dataclass(frozen=True, eq=False, repr=False)
class CDFRelease(Released):
    """A cumulative distribution function over a domain of numbers, released from private records.

    Between two neighbouring knots all codes have the same probability.

    Attributes
    ----------
    knots : ndarray of uint64 or object of shape (k,)
        Released. Rising codes, from 0 to the size of the domain.
    cumulative : ndarray of float64 of shape (k,)
        Released. The share of records with codes below each knot: from 0 to 1, never falling.
    least, most : ndarray of float64 of shape (k,)
        Released. Bounds on that share but for noise; the same number where it was counted.
    levels : ndarray of int64 of shape (k,)
        Released. What noise the bounds have, as the plan counts it: at which depth of the tree each knot was
        cut; 0 where the share is known.
    plan : CDFPlan
        Public. What the release ran on.
    guarantee : ApproxDP
        Public. What the release guarantees, and spent.
    """

    knots: NDArray[Any]
    cumulative: NDArray[np.float64]
    least: NDArray[np.float64]
    most: NDArray[np.float64]
    levels: NDArray[np.int64]
    plan: CDFPlan

    @property
    def domain(self) -> NumberDomain:
        """Public. The values that are told apart."""
        return self.plan.domain

    @property
    def n_samples(self) -> int:
        """Public. How many records it is of."""
        return self.plan.n_samples

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({self.domain!r}, n_samples={self.n_samples}, knots={self.knots.size},"
            f" guarantee={self.guarantee!r})"
        )

    def cdf(self, x: Any) -> Any:
        """Return the share of records that are at most x.

        Parameters
        ----------
        x : number or array-like of numbers
            Any numbers, infinities and NaN included; of a `LargeIntegerRange`, integers.

        Returns
        -------
        float64 or ndarray of float64
            NaN where x is.
        """
        ranks, missing = self._ranks(x)
        return _shaped(np.where(missing, np.nan, self._share(ranks)), x)

    def sf(self, x: Any) -> Any:
        """Return the share of records that are greater than x: 1 - cdf(x)."""
        return 1.0 - self.cdf(x)

    def ppf(self, q: Any) -> Any:
        """Return the least value of the domain with at least a share q of the records at or below it.

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
        part = np.clip((flat - self.cumulative[piece]) / np.where(mass > 0, mass, 1), 0, 1)
        lengths = self.knots[piece + 1] - self.knots[piece]
        values = self.domain.decode(self.knots[piece] + _steps(part, lengths)).reshape(shares.shape)
        return values if shares.ndim else values[()]

    def median(self) -> Any:
        """Return ppf(1 / 2)."""
        return self.ppf(0.5)

    def interval(self, confidence: float) -> tuple[Any, Any]:
        """Return the ends of an interval that holds a share `confidence`, as much below it as above.

        Parameters
        ----------
        confidence : float
            From 0 to 1.
        """
        share = float(check_number("confidence", confidence, low=0, high=1))
        return self.ppf((1 - share) / 2), self.ppf((1 + share) / 2)

    def support(self) -> tuple[Any, Any]:
        """Return the ends of the domain, which are public."""
        ends = self.domain.decode(np.array([0, self.domain.size - 1], dtype=self.knots.dtype))
        return ends[0], ends[1]

    def rvs(self, size: Any = None, random_state: Any = None) -> Any:
        """Return synthetic records: draws from this distribution, which spend no privacy.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of what is returned; None for one value.
        random_state : None, int, numpy.random.RandomState or numpy.random.Generator
            An integer always gives the same.
        """
        shape = () if size is None else (size,) if np.ndim(size) == 0 else tuple(size)
        count = int(np.prod([check_count("size", extent) for extent in shape], dtype=object))
        drawn = PublicStream.of(random_state, "rvs").labels(1 << _FINE, count)
        values = self.ppf((drawn + 0.5) / (1 << _FINE)).reshape(shape)
        return values if shape else values[()]

    def band(self, *, beta: float = 0.05, of: str = "population") -> "ConfidenceBand":
        """Return a band that holds the whole cumulative distribution function.

        Parameters
        ----------
        beta : float, default=0.05
            Above 0 and below 1: the probability that it does not.
        of : {"population", "sample"}, default="population"
            Whether the function is that of the records, or of the population of which they are independent
            draws; half of beta is then for how the records were drawn.

        Returns
        -------
        ConfidenceBand
        """
        check_choice("of", of, ("population", "sample"))
        beta = float(check_number("beta", beta, above=0, below=1))
        drawn = of == "population"
        radius = self.plan.mechanism_plan.radius(self.levels, beta / 2 if drawn else beta) / self.n_samples
        margin = dkw_bound(self.n_samples, beta / 2) if drawn else 0.0
        # What the function has reached at a knot it does not fall below later.
        lower = np.maximum.accumulate(np.maximum(self.least - radius, 0))
        upper = np.minimum.accumulate(np.minimum(self.most + radius, 1)[::-1])[::-1]
        upper = np.maximum(upper, lower)
        return ConfidenceBand(self, np.maximum(lower - margin, 0), np.minimum(upper + margin, 1))

    def plot(self, ax: Any = None, *, beta: float | None = 0.05) -> Any:
        """Draw the cumulative distribution function, and its band for the population.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure otherwise.
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
                raise ImportError("plot needs matplotlib: pip install '.[plot]'") from None
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
        """Return how many codes of the domain stand for values <= x, and where x is NaN."""
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
        )  # rounded up, or moved up to the first
        ranks = codes.astype(self.knots.dtype)
        ranks = ranks + (~above).astype(self.knots.dtype)
        ranks = np.where(end < 0, self.knots[0], np.where(end > 0, self.knots[-1], ranks))
        return ranks.reshape(array.shape), missing.reshape(array.shape)

    def _share(self, ranks: NDArray[Any]) -> NDArray[np.float64]:
        """Return the share of records with codes below each rank."""
        piece = np.maximum(np.searchsorted(self.knots, ranks, "left"), 1) - 1
        into, length = ranks - self.knots[piece], self.knots[piece + 1] - self.knots[piece]
        if self.knots.dtype != object:
            into, length = into.astype(np.float64), length.astype(np.float64)
        part = np.asarray(into / length, dtype=np.float64)
        low = self.cumulative[piece]
        high = self.cumulative[piece + 1]
        shares: NDArray[np.float64] = np.minimum(low + (high - low) * part, high)  # whatever is rounded
        return shares


@dataclass(frozen=True, eq=False, repr=False)
class ConfidenceBand:
    """Bounds on a cumulative distribution function that hold everywhere at once.

    Attributes
    ----------
    distribution : CDFRelease
        Released. What it is a band about.
    lower, upper : ndarray of float64 of shape (k,)
        Released. The bounds at the knots of the distribution, never falling.
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
    """Return the distribution that a tree of noisy counts says the records have.

    Parameters
    ----------
    levels : list of Level
        From `tree_counts`.
    plan : CDFPlan
        By which they were counted.

    Notes
    -----
    The estimates at the knots are made monotone by least squares, which no greatest error is enlarged by:
    each becomes a maximum of minima of means of runs of estimates, and so lies between what comes of all
    being as much too low, and too high, as any.
    """
    n = plan.n_samples
    leaves = prefix_counts(levels)
    knots = np.append(leaves.starts, np.array([plan.domain.size], dtype=leaves.starts.dtype))
    estimates = np.append(leaves.below, n) / n
    rising = np.clip(isotonic_regression(estimates).x, 0, 1)
    rising[0], rising[-1] = 0, 1
    return CDFRelease(knots, rising, estimates, estimates, np.append(leaves.levels, 0), plan)


def distribution_of_points(points: list[int], plan: CDFPlan) -> CDFRelease:
    """Return the distribution of records that have a point in each of their blocks.

    Parameters
    ----------
    points : list of int
        From `block_points`.
    plan : CDFPlan
        By which blocks were cut.

    Notes
    -----
    A point that no other equals has the middle rank of its block, and no probability of its own. One that
    several share has all their records: from half-way to the point before up to half-way to the next.
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
    # The points below a knot have `least` records at most them, and `most` are below the next point.
    bounds = np.append(0, least)[behind], np.append(most, n)[behind]
    shares, low, high = (np.concatenate([[0], part[1:-1] / n, [1]]) for part in (ranks, *bounds))
    levels = np.ones(knots.size, dtype=np.int64)
    levels[[0, -1]] = 0
    return CDFRelease(knots, shares, low, high, levels, plan)


def _steps(part: NDArray[np.float64], lengths: NDArray[Any]) -> NDArray[Any]:
    """Return the place, in a piece of so many codes, of the code at which a share `part` of it is reached."""
    if lengths.dtype == object:
        exact = (part * (1 << _FINE)).astype(np.int64).tolist()
        steps = np.empty(part.size, dtype=object)
        steps[:] = [
            max(0, -(-share * length >> _FINE) - 1) for share, length in zip(exact, lengths, strict=True)
        ]
        return steps
    floats = np.clip(np.ceil(part * lengths.astype(np.float64)) - 1, 0, _BELOW_WIDE)
    found: NDArray[Any] = np.minimum(floats.astype(np.uint64), lengths - np.uint64(1))
    return found


def _shaped(values: NDArray[np.float64], x: Any) -> Any:
    return values if np.ndim(x) else values[()]
