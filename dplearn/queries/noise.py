"""The noise of answers, from public numbers: a plan and an oracle use the same object.

>>> from dplearn.privacy import ApproxDP
>>> from dplearn.queries.query import MeanQuery
>>> heads = MeanQuery(len, low=0, high=1)
>>> round(noise_of("laplace", ApproxDP(1), 1000).deviation(heads, Fraction(1, 2)), 5)  # half of the budget
0.00283
>>> round(noise_of("local", ApproxDP(1), 1000).deviation(heads, Fraction(1, 2)), 3)
0.048
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.core.exact import decay_rate, decay_ratio
from dplearn.mechanisms.noisy_counts import gaussian_sums, laplace_counts
from dplearn.privacy import ApproxDP, GaussianSums
from dplearn.privacy.gaussian_dp import MOST_NUMBERS
from dplearn.privacy.guarantees import epsilon_of
from dplearn.privacy.shares import gaussian_budget
from dplearn.privacy.unknown_count import ADDED, MOST_RECORDS
from dplearn.queries.bounds import TailBound, sampling_bound
from dplearn.queries.gaussian_noise import SumNoise, can_be_drawn
from dplearn.queries.oracle import Answer
from dplearn.queries.query import MeanQuery, StatisticalQuery
from dplearn.queries.randomizers import LocalRandomizer

__all__ = ["Bounds", "CentralNoise", "LocalNoise", "Noise", "noise_of"]

Bounds = tuple[TailBound, TailBound]  # error bounds of an answer: from noise and from sampling

_FAR = 1 << 62
_FAR_DEVIATION = 1 << 500  # above every useful standard deviation, and within the range of floats
_RARE = Fraction(1, 1 << 40)
_NUMBER = MeanQuery(None, low=0, high=1)  # type: ignore[arg-type] # of records; its total is counted
_TOO_MUCH = (
    "queries must have bounds so narrow, or a share so large, that Gaussian noise has sigma2 below 2**56;"
    " noise='laplace' has no such limit"
)


class Noise(ABC):
    """What a budget buys: the noise of an answer to a query, for a part of the budget."""

    @abstractmethod
    def check(self, asked: Sequence[StatisticalQuery], share: Fraction, numbers: int) -> None:
        """Refuse queries that cannot be answered with this share each, after so many numbers."""

    @abstractmethod
    def deviation(self, query: StatisticalQuery, share: Fraction) -> float:
        """Return the standard deviation of the noise in each mean, in units of the query's numbers."""

    @abstractmethod
    def bounds(self, query: StatisticalQuery, share: Fraction) -> Bounds:
        """Return the error bounds of the answer, from noise and from sampling."""

    @abstractmethod
    def answer(
        self, query: StatisticalQuery, share: Fraction, bounds: Bounds, private: Any, dice: Dice
    ) -> Answer:
        """Return the answer, made of private totals, or of the rows of the records that report."""


@dataclass(frozen=True)
class CentralNoise(Noise):
    """Noise in the totals of all records.

    Attributes
    ----------
    budget : Fraction
        Of all queries together: mu^2 / 2 if the noise is Gaussian, else epsilon.
    gaussian : bool
        Whether the noise is Gaussian.
    n : int or None
        The number of records. Where it is private, a guess or an estimate; None before the estimate.
    each : int
        The rows of a record that take share.
    added : bool
        Whether a neighbour has one record more or less.
    most_records : int
        Where the number of records is private, totals are clipped to those of so many.
    count_budget : Fraction
        The share, in units of `budget`, for an estimate of the number of records; 0: it is not estimated.
    """

    budget: Fraction
    gaussian: bool
    n: Any
    each: int = 1
    added: bool = False
    most_records: int = MOST_RECORDS
    count_budget: Fraction = Fraction(0)

    @classmethod
    def of(
        cls, kind: str, privacy: ApproxDP, n: int, *, count_share: Fraction = Fraction(0), **more: Any
    ) -> "CentralNoise":
        """Return the noise that a cost buys, of the kind "laplace" or "gaussian".

        `count_share` is the part of the cost that estimates a private number of records.
        """
        gaussian = kind == "gaussian"
        budget = gaussian_budget(privacy) if gaussian else epsilon_of(privacy)
        noise = cls(budget, gaussian, n, added=privacy.neighbors == ADDED, **more)
        if not (noise.added and count_share):
            return noise
        left = 1 - count_share
        return replace(noise, budget=budget * left, n=None, count_budget=count_share / left)

    # A replaced group replaces `each` rows, so the totals of the rows differ by at most `each` times as much.

    def l1(self, query: StatisticalQuery) -> int:
        """Return the greatest distance of the totals between neighbours, in the L1 norm."""
        return query.added_l1 if self.added else query.l1 * self.each

    def squared_l2(self, query: StatisticalQuery) -> int:
        """Return the greatest squared Euclidean distance of the totals between neighbours."""
        return query.added_squared_l2 if self.added else query.squared_l2 * self.each**2

    def ends(self, query: StatisticalQuery) -> tuple[int, int]:
        """Return public ends of a total, which none is beyond."""
        if self.added:
            return -self.most(query), self.most(query)
        return self.n * self.each * query.low, self.n * self.each * query.high

    def most(self, query: StatisticalQuery) -> int:
        """Return the greatest magnitude of a total."""
        n = self.most_records if self.added else self.n * self.each
        return int(n * max(abs(query.low), abs(query.high)))

    def check(self, asked: Sequence[StatisticalQuery], share: Fraction, numbers: int) -> None:
        if any(self.most(query) >= _FAR for query in asked):
            n = self.most_records if self.added else self.n
            raise ValueError(f"queries must have bounds below 2**62 / n for {n} records")
        if self.gaussian and numbers + sum(query.size for query in asked) > MOST_NUMBERS:
            raise ValueError(f"queries must have at most {MOST_NUMBERS} numbers in all")
        if not all(self._can_be_drawn(query, share) for query in asked):
            raise ValueError(_TOO_MUCH)

    def deviation(self, query: StatisticalQuery, share: Fraction) -> float:
        return self._of_totals(query, share) * float(query.unit) / int(self.n)

    def bounds(self, query: StatisticalQuery, share: Fraction) -> Bounds:
        noise, unit = self._bound(query, share), float(query.unit)
        if not self.added:
            sampling = sampling_bound(query.high - query.low, self.n, query.size)
            return noise.times(unit / (self.n * self.each)), sampling.times(unit)
        if not self.count_budget:
            return noise.times(unit), TailBound()
        # With sums S, n and their noisy values T, m: T/m - S/n = (T - S)/m + (S/n) (n - m)/m, and |S/n| is at
        # most the greatest number. A union bound over all noisy values holds for both terms together.
        count = self._bound(_NUMBER, self.count_budget)
        reach = max(abs(query.low), abs(query.high))
        noise = TailBound(
            noise.linear + reach * count.linear, noise.root + reach * count.root, size=query.size + 1
        )
        least = max(1, self.n - math.ceil(count.at(_RARE)))
        sampling = sampling_bound(query.high - query.low, least, query.size)
        return noise.times(unit / self.n), sampling.times(unit)

    def answer(
        self, query: StatisticalQuery, share: Fraction, bounds: Bounds, private: Any, dice: Dice
    ) -> Answer:
        unit, n = float(query.unit), self.n * self.each
        sums, bits = self._added_to(private, query, share, dice)
        means = sums * unit / (n * 2.0**bits)
        if not self.count_budget:  # the ends of totals keep means within the bounds
            return Answer(means, self.n, *bounds)
        means = means.clip(float(query.low * query.unit), float(query.high * query.unit))
        return Answer(means, self.n, *bounds, self._bound(query, share).times(unit / n))

    def counted(self, n: int, dice: Dice) -> "CentralNoise":
        """Return the noise where a private number of records, `n`, has been estimated from its share."""
        if not self._can_be_drawn(_NUMBER, self.count_budget):
            raise ValueError(_TOO_MUCH)
        [noisy], bits = self._added_to(np.array([n], dtype=np.int64), _NUMBER, self.count_budget, dice)
        return replace(self, n=min(max(round(float(noisy) / 2.0**bits), 1), self.most_records))

    def _sums(self, query: StatisticalQuery, share: Fraction) -> SumNoise:
        """Return the Gaussian noise of the totals."""
        return SumNoise.of(self.squared_l2(query), share * self.budget, self.most(query), query.size)

    def _can_be_drawn(self, query: StatisticalQuery, share: Fraction) -> bool:
        """Return whether the sampler supports the noise."""
        return not self.gaussian or can_be_drawn(self._sums(query, share).squared_l2, share * self.budget)

    def _of_totals(self, query: StatisticalQuery, share: Fraction) -> float:
        """Return the standard deviation of the noise in each total, in steps."""
        if self.gaussian:
            return self._sums(query, share).deviation
        return math.sqrt(min(2 * (self.l1(query) / (self.budget * share)) ** 2, Fraction(_FAR_DEVIATION)))

    def _bound(self, query: StatisticalQuery, share: Fraction) -> TailBound:
        """Return the bound on the noise in the totals, in steps."""
        if self.gaussian:
            return TailBound(root=math.sqrt(2) * self._of_totals(query, share), size=query.size)
        ratio = decay_ratio(share * self.budget / self.l1(query))
        return TailBound(linear=1 / decay_rate(ratio), size=query.size)

    def _added_to(
        self, totals: Any, query: StatisticalQuery, share: Fraction, dice: Dice
    ) -> tuple[NDArray[np.float64], int]:
        """Return noisy multiples of totals, in steps, and the binary logarithm of the multiplier."""
        (low, high), spent, bits = self.ends(query), share * self.budget, 0
        if self.gaussian:
            noise = self._sums(query, share)
            bits = noise.bits
            noisy = gaussian_sums(
                noise.of_sums(totals),
                privacy=GaussianSums(spent),
                dice=dice,
                squared_sensitivity=noise.squared_l2,
                low=int(noise.of_sums(low)),
                high=int(noise.of_sums(high)),
            )
        else:
            noisy = laplace_counts(
                totals, privacy=ApproxDP(spent), dice=dice, sensitivity=self.l1(query), low=low, high=high
            )
        return np.asarray(noisy, dtype=np.float64), bits


@dataclass(frozen=True)
class LocalNoise(Noise):
    """The noise of randomised reports, of which each record makes one.

    Attributes
    ----------
    epsilon : Fraction
        The cost of a report.
    n : int
        The number of records; a part of the budget is a part of these.
    kind : {"bit", "laplace"}
        The randomiser of a number.
    """

    epsilon: Fraction
    n: int
    kind: str = "bit"

    def count(self, share: Fraction) -> int:
        """Return the number of records that answer one query."""
        return math.floor(share * self.n)

    def randomizer(self, query: StatisticalQuery, n_reports: int = 1) -> LocalRandomizer:
        """Return the randomiser of a record that answers this query, as one of `n_reports` records."""
        return query.randomizer(self.epsilon, self.kind, n_reports)

    def check(self, asked: Sequence[StatisticalQuery], share: Fraction, numbers: int) -> None:  # noqa: ARG002
        if self.count(share) < 1:
            raise ValueError(
                f"queries must leave each at least one of {self.n} records, got {len(asked)} queries for"
                f" {float(share * len(asked)):g} of the records"
            )

    def deviation(self, query: StatisticalQuery, share: Fraction) -> float:
        """Return the standard deviation of each mean, with that of sampling."""
        count = max(self.count(share), 1)
        return math.sqrt(self.randomizer(query, count).variance / count) * float(query.unit)

    def bounds(self, query: StatisticalQuery, share: Fraction) -> Bounds:
        count = max(self.count(share), 1)
        noise, sampling = self.randomizer(query, count).bounds(count)
        return noise.times(float(query.unit)), sampling.times(float(query.unit))

    def answer(
        self, query: StatisticalQuery, share: Fraction, bounds: Bounds, private: Any, dice: Dice
    ) -> Answer:
        count = self.count(share)
        randomizer = self.randomizer(query, count)
        reports = randomizer.draw(query.inputs(private), dice)
        return Answer(randomizer.estimate(reports) * float(query.unit), count, *bounds)


def noise_of(kind: str, privacy: ApproxDP, n: int, **more: Any) -> Noise:
    """Return the noise of a cost, of the kind "laplace", "gaussian" or "local".

    Parameters
    ----------
    kind : {"laplace", "gaussian", "local"}
        The source of noise.
    privacy : ApproxDP
        The cost of all answers together, for replaced or for added records.
    n : int
        The number of records; for added ones, any number, by which the noise of totals is divided.
    **more : object
        As for `CentralNoise.of`.
    """
    if kind == "local":
        return LocalNoise(epsilon_of(privacy), n)
    return CentralNoise.of(kind, privacy, n, **more)
