"""The noise of answers, from public numbers: a plan and an oracle use the same object.

Discrete Gaussian noise of variance v costs at most as much as continuous noise of variance v - 4 (see
`dplearn.privacy.gaussian_dp.sums_sigma2`). Sums of small noise are therefore multiplied by a public power of
two before noise is added. Sums of noise wider than the sampler permits are divided by one and rounded, which
moves each by less than 1, added to their distance.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_choice, check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.kernels.distributions import laplace_quantile
from dplearn.kernels.exact import decay_rate, decay_ratio
from dplearn.mechanisms.noisy_counts import gaussian_sums, laplace_counts
from dplearn.mechanisms.randomized_response import truth_probability
from dplearn.privacy import ApproxDP, GaussianSums
from dplearn.privacy.gaussian_dp import MOST_NUMBERS, SLACK, sums_sigma2
from dplearn.privacy.guarantees import NEIGHBORS, epsilon_of
from dplearn.privacy.shares import gaussian_budget
from dplearn.privacy.unknown_count import ADDED, MOST_RECORDS, moved_counts
from dplearn.queries.answer import Answer, TailBound, sampling_bound
from dplearn.queries.query import MeanQuery, StatisticalQuery
from dplearn.queries.randomizers import LocalRandomizer

_WIDEST = 1 << 56  # the variance parameter of the sampler is below this
_FAR = 1 << 62  # and a multiplied sum below this
_FINE = SLACK << 10  # from this variance on, the additional one is below a thousandth


@dataclass(frozen=True)
class SumNoise:
    """The noise of the sums in an answer."""

    bits: int  # sums are multiplied by 2**bits, and rounded if that is negative
    squared_l2: int  # a bound on the squared distance of these multiples between neighbours
    sigma2: Fraction  # the variance parameter of the noise on these multiples

    @classmethod
    @lru_cache(maxsize=64)  # each query asks three times
    def of(cls, squared_l2: int, budget: Fraction, most: int, size: int = 1) -> "SumNoise":
        """Return the noise of `size` sums of magnitudes up to `most`, with a budget of mu^2 / 2.

        Rounding to multiples of q = 2**-bits moves the difference of two multiples by less than 1 in each of
        the sums, so that their distance is at most sqrt(squared_l2) / q + sqrt(size).
        """
        bits = 0
        while squared_l2 << 2 * bits < 2 * budget * _FINE and most << (bits + 1) < _FAR:
            bits += 1
        if can_be_drawn(squared_l2, budget):
            squared = squared_l2 << 2 * bits
            return cls(bits, squared, sums_sigma2(squared, budget))
        reach, more = _root_above(squared_l2), _root_above(size)
        coarser = range(1, reach.bit_length())
        bits = next((b for b in coarser if can_be_drawn((-(-reach >> b) + more) ** 2, budget)), 0)
        squared = (-(-reach >> bits) + more) ** 2 if bits else squared_l2
        return cls(-bits, squared, sums_sigma2(squared, budget))

    def of_sums(self, sums: Any) -> NDArray[np.int64]:
        """Return the multiples of sums, or of bounds on them."""
        if self.bits >= 0:
            return np.asarray(sums) << self.bits
        half = 1 << (-self.bits - 1)
        return (np.asarray(sums) + half) >> -self.bits

    @property
    def deviation(self) -> float:
        return math.sqrt(min(self.sigma2, Fraction(1 << 1000))) / 2.0**self.bits


@dataclass(frozen=True)
class LaplaceNoise:
    """Discrete Laplace noise in sums of whole steps."""

    epsilon: Fraction  # the cost of all sums together
    l1: int  # the greatest distance of the sums between neighbours, in steps
    unit: float = 1  # the value of a step

    @property
    def ratio(self) -> Fraction:
        """The factor by which the probability of noise falls with each step."""
        return decay_ratio(self.epsilon / self.l1)

    @property
    def deviation(self) -> float:
        ratio = self.ratio
        return self.unit * math.sqrt(2 * float(ratio)) / float(1 - ratio)  # exact where it is nearly 1

    def tail(self, beta: Fraction) -> float:
        """Return the least number of steps, times their value, that a sum exceeds with at most `beta`."""
        return self.unit * (laplace_quantile(self.ratio, beta / 2) - 1)

    def bound(self, size: int) -> TailBound:
        """Return the bound on the noise of several sums, in steps."""
        return TailBound(linear=1 / decay_rate(self.ratio), size=size)

    def noisy(self, sums: Any, dice: Dice, *, low: int, high: int) -> NDArray[np.int64]:
        """Return sums with noise, in steps, and within public ends."""
        privacy = ApproxDP(self.epsilon)
        found = laplace_counts(sums, privacy=privacy, dice=dice, sensitivity=self.l1, low=low, high=high)
        return np.asarray(found)


def can_be_drawn(squared_l2: int, budget: Fraction) -> bool:
    """Return whether the sampler supports the noise of sums at this distance with a budget of mu^2 / 2."""
    return sums_sigma2(squared_l2, budget) < _WIDEST


def _root_above(number: int) -> int:
    """Return the root of a positive integer, rounded up."""
    return math.isqrt(number - 1) + 1


Bounds = tuple[TailBound, TailBound]  # error bounds of an answer: from noise and from sampling
_FAR_DEVIATION = 1 << 500  # above every useful standard deviation, and within the range of floats
_RARE = Fraction(1, 1 << 40)
_NUMBER = MeanQuery(None, low=0, high=1)  # type: ignore[arg-type] # of records; its total is counted
_TOO_MUCH = (
    "queries must have bounds so narrow, or a share so large, that Gaussian noise has sigma2 below 2**56;"
    " noise='laplace' has no such limit"
)


@dataclass(frozen=True)
class CentralNoise:
    """What a budget buys: noise in the totals of all records; an answer uses a `share` of the budget."""

    budget: Fraction  # of all queries together: mu^2 / 2 if the noise is Gaussian, else epsilon
    gaussian: bool
    n: Any  # of records; where it is private, a guess or an estimate, None before the estimate
    each: int = 1  # the rows of a record that take part
    n_differs: bool = False  # whether a neighbour has one record more or less
    most_records: int = MOST_RECORDS  # where n is private, totals are clipped to those of so many
    count_budget: Fraction = Fraction(0)  # of an estimate of n, in units of `budget`; 0: it is not estimated

    @classmethod
    def of(
        cls, kind: str, privacy: ApproxDP, n: int, *, count_share: Fraction = Fraction(0), **more: Any
    ) -> "CentralNoise":
        """Return the noise that a cost, but for its part `count_share`, buys: of the kind "laplace" or
        "gaussian".
        """
        gaussian = kind == "gaussian"
        budget = gaussian_budget(privacy) if gaussian else epsilon_of(privacy)
        noise = cls(budget, gaussian, n, n_differs=privacy.neighbors == ADDED, **more)
        if not (noise.n_differs and count_share):
            return noise
        left = 1 - count_share
        return replace(noise, budget=budget * left, n=None, count_budget=count_share / left)

    # A replaced group replaces `each` rows, so the totals of the rows differ by at most `each` times as much.

    def l1(self, query: StatisticalQuery) -> int:
        """Return the greatest distance of the totals between neighbours, in the L1 norm."""
        return query.added_l1 if self.n_differs else query.l1 * self.each

    def squared_l2(self, query: StatisticalQuery) -> int:
        """Return the greatest squared Euclidean distance of the totals between neighbours."""
        return query.added_squared_l2 if self.n_differs else query.squared_l2 * self.each**2

    def ends(self, query: StatisticalQuery) -> tuple[int, int]:
        """Return public ends of a total, which none is beyond."""
        if self.n_differs:
            return -self.most(query), self.most(query)
        return self.n * self.each * query.low, self.n * self.each * query.high

    def most(self, query: StatisticalQuery) -> int:
        n = self.most_records if self.n_differs else self.n * self.each
        return int(n * max(abs(query.low), abs(query.high)))

    def check(self, asked: Sequence[StatisticalQuery], share: Fraction, numbers: int) -> None:
        """Refuse queries that cannot be answered with this share each, after so many numbers."""
        if any(self.most(query) >= _FAR for query in asked):
            n = self.most_records if self.n_differs else self.n
            raise ValueError(f"queries must have bounds below 2**62 / n for {n} records")
        if self.gaussian and numbers + sum(query.size for query in asked) > MOST_NUMBERS:
            raise ValueError(f"queries must have at most {MOST_NUMBERS} numbers in all")
        if not all(self._can_be_drawn(query, share) for query in asked):
            raise ValueError(_TOO_MUCH)

    def deviation(self, query: StatisticalQuery, share: Fraction) -> float:
        """Return the standard deviation of the noise in each mean, in units of the query's numbers."""
        return self._of_totals(query, share) * float(query.unit) / int(self.n)

    def bounds(self, query: StatisticalQuery, share: Fraction) -> Bounds:
        """Return the error bounds of the answer, from noise and from sampling."""
        noise, unit = self._bound(query, share), float(query.unit)
        if not self.n_differs:
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
        """Return the answer, made of private totals."""
        unit, n = float(query.unit), self.n * self.each
        sums, bits = self._added_to(private, query, share, dice)
        means = sums * unit / (n * 2.0**bits)
        if not self.count_budget:  # the ends of totals keep means within the bounds
            return Answer(means, self.n, *bounds)
        means = means.clip(float(query.low * query.unit), float(query.high * query.unit))
        return Answer(means, self.n, *bounds, self._bound(query, share).times(unit / n))

    def with_noisy_count(self, n: int, dice: Dice) -> "CentralNoise":
        """Return the noise where a private number of records, `n`, has been estimated from its share."""
        if not self._can_be_drawn(_NUMBER, self.count_budget):
            raise ValueError(_TOO_MUCH)
        [noisy], bits = self._added_to(np.array([n], dtype=np.int64), _NUMBER, self.count_budget, dice)
        return replace(self, n=min(max(round(float(noisy) / 2.0**bits), 1), self.most_records))

    def _sums(self, query: StatisticalQuery, share: Fraction) -> SumNoise:
        return SumNoise.of(self.squared_l2(query), share * self.budget, self.most(query), query.size)

    def _can_be_drawn(self, query: StatisticalQuery, share: Fraction) -> bool:
        return not self.gaussian or self._sums(query, share).sigma2 < _WIDEST

    def _of_totals(self, query: StatisticalQuery, share: Fraction) -> float:
        """Return the standard deviation of the noise in each total, in steps."""
        if self.gaussian:
            return self._sums(query, share).deviation
        return math.sqrt(min(2 * (self.l1(query) / (self.budget * share)) ** 2, Fraction(_FAR_DEVIATION)))

    def _bound(self, query: StatisticalQuery, share: Fraction) -> TailBound:
        if self.gaussian:
            return TailBound(root=math.sqrt(2) * self._of_totals(query, share), size=query.size)
        return LaplaceNoise(share * self.budget, self.l1(query)).bound(query.size)

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
            noisy = LaplaceNoise(spent, self.l1(query)).noisy(totals, dice, low=low, high=high)
        return np.asarray(noisy, dtype=np.float64), bits


@dataclass(frozen=True)
class LocalNoise:
    """The noise of reports, of which each record makes one; a part of the budget is a part of these."""

    epsilon: Fraction  # the cost of a report
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
        """Return the answer, made of the rows of the records that report."""
        count = self.count(share)
        randomizer = self.randomizer(query, count)
        reports = randomizer.draw(query.inputs(private), dice)
        return Answer(randomizer.estimate(reports) * float(query.unit), count, *bounds)


Noise = CentralNoise | LocalNoise


def checked_bounds(
    noise: Noise, asked: Sequence[StatisticalQuery], share: Fraction, numbers: int
) -> list[Bounds]:
    """Return the error bounds of answers with this share each, after so many numbers; refuse others."""
    noise.check(asked, share, numbers)
    return [noise.bounds(query, share) for query in asked]


def answers_of(
    noise: Noise,
    asked: Sequence[StatisticalQuery],
    share: Fraction,
    bounds: Sequence[Bounds],
    private: Iterable[Any],
    dice: Dice,
) -> list[Answer]:
    """Return the answers to queries, each made of what is private of its own."""
    return [
        noise.answer(query, share, known, value, dice)
        for query, known, value in zip(asked, bounds, private, strict=True)
    ]


def noise_of(kind: str, privacy: ApproxDP, n: int, **more: Any) -> Noise:
    """Return the noise of a cost, of the kind "laplace", "gaussian" or "local"; for added records, n is any
    number, by which the noise of totals is divided. `more` is as for `CentralNoise.of`.
    """
    if kind == "local":
        return LocalNoise(epsilon_of(privacy), n)
    return CentralNoise.of(kind, privacy, n, **more)


AnyPlan = TypeVar("AnyPlan")


def norm_order(noise: str) -> int:
    """Return the order of the norm that noise is scaled to: 1 for Laplace noise, 2 for Gaussian noise."""
    return 1 if noise == "laplace" else 2


def greatest_noise(noise: str, deviation: float, size: int, beta: Fraction) -> float:
    """Return a bound on all of `size` numbers of noise, which holds with probability 1 - beta."""
    log = math.log(2 * size / beta)
    # Laplace noise of scale s has standard deviation s sqrt(2).
    return deviation * (log / math.sqrt(2) if noise == "laplace" else math.sqrt(2 * log))


def first_drawn(
    plans: Iterable[AnyPlan], can_be_drawn: Callable[[AnyPlan], bool], epsilon: Fraction
) -> AnyPlan:
    """Return the first of some plans, on ever coarser grids, whose noise can be drawn."""
    for plan in plans:
        if can_be_drawn(plan):
            return plan
    raise ValueError(f"epsilon must be large enough for noise to be drawn, got {float(epsilon):g}")


#: The kinds of noise: central Laplace or Gaussian noise, and local randomised response.
SHARE_NOISES = ("laplace", "gaussian", "local")


@dataclass(frozen=True)
class ShareNoise:
    """The noise of released shares."""

    deviation: float  # of the noise in the share of a category without records
    bound: TailBound  # on all shares of one query; sampling is included in that of local noise


def share_noise(
    categories: int,
    *,
    n_queries: int,
    n: int,
    epsilon: Any,
    delta: Any = 0,
    noise: str = "laplace",
    neighbors: str = "replace_one",
) -> ShareNoise:
    """Return the noise in one of several share queries, which use equal parts of a budget.

    A replaced record moves two counts by 1 each: "laplace" has a scale just above 2 n_queries / epsilon, and
    "gaussian" the variance n_queries / budget, where the budget is `gaussian_budget`, and a little more. An
    added record moves one count by 1: half of that scale, half of that variance; n may be a guess there.
    "local" is randomised response, whose estimates are in a range of width 1 / (p - q), with p the
    probability of the true category and q that of each other one.
    """
    categories = check_count("categories", categories, low=2)
    n_queries, n = check_count("n_queries", n_queries, low=1), check_count("n", n, low=1)
    epsilon = check_number("epsilon", epsilon, above=0)
    unknown = check_choice("neighbors", neighbors, NEIGHBORS) == ADDED
    moved = moved_counts(neighbors)
    if check_choice("noise", noise, SHARE_NOISES) == "laplace":
        found = LaplaceNoise(epsilon / n_queries, moved)
        return ShareNoise(found.deviation / n, found.bound(categories).times(1 / n))
    if noise == "gaussian":
        budget = gaussian_budget(ApproxDP(epsilon, delta)) / n_queries
        deviation = SumNoise.of(moved, budget, MOST_RECORDS if unknown else n).deviation / n
        return ShareNoise(deviation, TailBound(root=math.sqrt(2) * deviation, size=categories))
    if n < n_queries:
        raise ValueError(f"n must leave a record for each of {n_queries} queries, got {n}")
    truth = truth_probability(categories, epsilon)
    other = (1 - truth) / (categories - 1)
    reach, count = 1 / float(truth - other), n // n_queries
    deviation = math.sqrt(float(other * (1 - other)) / count) * reach
    return ShareNoise(deviation, sampling_bound(reach, count, categories))


def central_noise(n_queries: int, *, epsilon: Any, delta: Any, neighbors: str = "replace_one") -> str:
    """Return "laplace" or "gaussian", the noise with the smaller variance; only the latter spends delta."""
    kinds = ["laplace"] if not check_number("delta", delta, low=0, below=1) else ["laplace", "gaussian"]

    def deviation(kind: str) -> float:
        how = {"epsilon": epsilon, "delta": delta, "noise": kind, "neighbors": neighbors}
        return share_noise(2, n_queries=n_queries, n=1, **how).deviation

    return min(kinds, key=deviation)


#: The trust models: a trusted curator holds all records, or each record is randomised locally.
QUERY_MODELS = ("central", "local")
