"""Private ends of a column of floats, searched for outwards from 0, and their plan.

A quantile near the end of the data is drawn from the whole domain, and with few records from beyond the data.
This search passes candidates in the order of their magnitude, and stops soon after the last record.

>>> plan = extremes_plan(2000, [Fraction(1, 100), Fraction(99, 100)], epsilon=1, domain=Floats())
>>> plan.error, plan.n_inside
(80, 1300)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.domains import Floats
from dplearn.fit.relation import N_IS_PUBLIC
from dplearn.kernels.distributions import power_at_most
from dplearn.mechanisms.sparse_vector import first_reaching, reaching_ratios
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of
from dplearn.privacy.plan import Plan, hidden
from dplearn.releases.quantiles import QuantilesPlan
from dplearn.releases.release import few_records_warnings

_BITS = 2  # candidates on the way from a power of two to the next: 2**_BITS


@dataclass(frozen=True)
class ExtremesPlan(Plan):
    """The plan of a search for two ends of a column.

    Notes
    -----
    **Accuracy.** With probability at least 1 - beta, for both ends together: at most q[0] n + error records
    are below the lower end, and at most (1 - q[1]) n + error above the upper one. From `n_inside` records on
    each end is with that probability at most the first candidate that has no record beyond it: at most a
    quarter greater in magnitude than the furthest record on its side of 0 (of numbers from 2.3e-308 on).
    """

    _computed: ClassVar[tuple[str, ...]] = ("errors", "n_inside", "n_needed")

    guarantee: ApproxDP
    n_samples: int
    q: tuple[float, ...]  # the shares of the records below the lower end, and up to the upper one
    domain: Floats
    alpha: float
    beta: float
    fractions: Any = hidden()
    larger: Any = hidden()  # the plan of quantiles that replace the search from its `n_inside` records on

    @property
    def errors(self) -> tuple[int, ...]:
        """Bound on the number of records that are clipped beyond those of each end's share."""
        least, _ = _reaches(self.guarantee.epsilon, self.beta, len(candidates(self.domain)))
        return (min(least, self.n_samples),) * 2

    @property
    def error(self) -> int:
        """The greatest of these."""
        return max(self.errors)

    @property
    def n_inside(self) -> int | None:
        """Number of records from which on no end is far beyond the data, or None."""
        _, past = _reaches(self.guarantee.epsilon, self.beta, len(candidates(self.domain)))
        tail = min(_tails(self.fractions))
        # A count of n exceeds the threshold by floor(tail n), which must be at least `past`.
        return ceil(past / tail) if tail else None

    @property
    def n_needed(self) -> int:
        """Number of records from which on no error exceeds alpha n, with the method of so many records."""
        least, _ = _reaches(self.guarantee.epsilon, self.beta, len(candidates(self.domain)))
        needed = ceil(least / Fraction(repr(self.alpha)))
        if self.larger is None or max(needed, self.larger.n_needed) <= self.larger.n_inside:
            return needed
        return int(max(self.larger.n_inside, self.larger.n_needed))


def extremes_plan(
    n_samples: int,
    q: Sequence[Fraction],
    *,
    epsilon: Any,
    domain: Floats,
    alpha: Any = 0.05,
    beta: Any = 0.05,
    larger: QuantilesPlan | None = None,
) -> ExtremesPlan:
    """Return the plan of a search for two ends, without data."""
    guarantee = ApproxDP(epsilon, assumes=(N_IS_PUBLIC, domain.assumption))
    shares = tuple(map(float, q))
    return ExtremesPlan(
        guarantee, n_samples, shares, domain, float(alpha), float(beta), fractions=tuple(q), larger=larger
    )


def has_candidates(domain: Any) -> bool:
    """Return whether the values of a domain have an order of magnitude to search in: floats around 0."""
    return isinstance(domain, Floats) and not domain.accepts_missing


@lru_cache(maxsize=16)
def candidates(domain: Floats) -> NDArray[np.uint64]:
    """Return the codes of the candidates for the upper end, ascending from that of 0 to the greatest."""
    steps = (domain.size - 1) // 2
    stride = 1 << max(0, domain.significand_bits - _BITS)
    upto = np.arange(0, steps, stride, dtype=np.uint64)
    found = np.append(upto, np.uint64(steps)) + np.uint64(steps)
    found.flags.writeable = False
    return found


def counts_within(codes: NDArray[Any], domain: Floats) -> list[NDArray[np.int64]]:
    """Return the numbers of records up to each candidate for the upper end and from each for the lower."""
    ends, codes = candidates(domain), codes.astype(np.uint64, copy=False)
    mirrored = np.uint64(domain.size - 1) - codes
    return [_counts_upto(ends, side) for side in (codes, mirrored)]


def _counts_upto(ends: NDArray[np.uint64], codes: NDArray[np.uint64]) -> NDArray[np.int64]:
    places = np.searchsorted(ends, codes, side="left")  # of the first end that is not less
    return np.cumsum(np.bincount(places, minlength=len(ends)))


def release_extremes(
    counts: Sequence[NDArray[np.int64]], plan: ExtremesPlan, *, privacy: ApproxDP, dice: Dice
) -> NDArray[np.float64]:
    """Return a private lower and upper end of a column.

    Notes
    -----
    A replaced record moves the counts up to some candidates by 1, all in the same direction, and no others:
    so each search is one of `first_reaching`.
    """
    half = ApproxDP(epsilon_of(privacy) / 2)
    ends = candidates(plan.domain)
    upper, lower = (
        int(ends[first_reaching(found, _threshold(tail, plan.n_samples), privacy=half, dice=dice)])
        for found, tail in zip(counts, reversed(_tails(plan.fractions)), strict=True)
    )
    codes = np.array([plan.domain.size - 1 - lower, upper], dtype=np.uint64)
    return plan.domain.decode(codes)


def _tails(q: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """Return the shares of the records beyond the lower and the upper end."""
    return q[0], 1 - q[1]


def _threshold(tail: Fraction, n: int) -> int:
    """Return the number of records that an end should have on its side."""
    return n - int(tail * n)


@lru_cache(maxsize=64)
def _reaches(epsilon: Fraction, beta: float, m: int) -> tuple[int, int]:
    """Return how far a count may fall short of the threshold, and exceed it in vain.

    Each of four events, two an end, has a probability of at most beta / 4: one of m counts has a noise above
    the first number; the threshold has a noise above the second.
    """
    of_threshold, of_count = reaching_ratios(epsilon / 2)
    quarter = Fraction(repr(beta)) / 4
    return power_at_most(of_count, quarter / m) - 1, power_at_most(of_threshold, quarter) - 1


def extremes_warnings(
    n_samples: int, n_inside: int, *, epsilon: Fraction, columns: int = 1
) -> tuple[str, ...]:
    """Return a warning if a search for the ends of the data may end far beyond them."""
    return few_records_warnings(
        n_samples,
        float(n_inside > n_samples),
        enough=1,
        problem=f"with epsilon {float(epsilon):.3g}{' a column' if columns > 1 else ''}, the search for the"
        " ends of the data may miss most records or end far beyond all of them",
        remedy=", or take fewer columns" if columns > 1 else "",
    )
