"""Local randomisers: the report of a record in place of its value, with exact probabilities, so that privacy
can be checked and reports can be simulated by queries (`dplearn.theory.simulation`).
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn.chance.dice import Dice, one_moved_into
from dplearn.kernels import IgnoresFloatErrors, decay_rate, decay_ratio, laplace_tail, near_integers
from dplearn.kernels.hadamard import hadamard_coordinate, hadamard_inverse, hadamard_size
from dplearn.mechanisms.noisy_counts import laplace_counts
from dplearn.mechanisms.randomized_response import randomized_response, truth_probability
from dplearn.privacy import ApproxDP
from dplearn.queries.answer import TailBound, sampling_bound

_RARE = 100  # under random signs at most 1 / _RARE of the transformed coordinates exceed the least bound
FAR = (1 << 62) - 1  # the difference of two such numbers fits 64 bits
_SCALES = 28  # distance from the range to the ends of reports, in scales of Laplace noise: e**-28 < 10**-12


class LocalRandomizer(IgnoresFloatErrors, ABC):
    """A randomised function from a record's value to its report; records report independently.

    Attributes
    ----------
    epsilon : Fraction
        For every two values and each report, one probability is at most exp(epsilon) times the other. May be
        given as any number; a float stands for its shortest decimal.
    """

    row_methods = frozenset({"draw"})
    epsilon: Fraction

    @abstractmethod
    def draw(self, values: NDArray[np.int64], dice: Dice) -> NDArray[np.int64]:
        """Return each record's report, shape (n,).

        Parameters
        ----------
        values : ndarray of int64 of shape (n,) or (n, k)
            Private. A query's `inputs(records)`.
        dice : Dice
            Source of chance, such as `dplearn.chance.SystemDice()`.
        """

    @abstractmethod
    def probability(self, value: Any, report: int) -> Fraction:
        """Return the exact probability of a report, given a record's value."""

    def likelihood_ratio(self, value: Any, other: Any, report: int) -> Fraction:
        """Return the probability of a report given a value, divided by that given another value."""
        return self.probability(value, report) / self.probability(other, report)

    @abstractmethod
    def estimate(self, reports: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return an estimate of the mean value, of shape (k,), with a bias of at most `bias`."""

    @property
    @abstractmethod
    def reach(self) -> float:
        """The width of the range of one record's estimates of a number."""

    @property
    def bias(self) -> float:
        """A bound on the bias of the estimate of each number, for all values."""
        return 0.0

    @property
    def variance(self) -> float:
        """A bound on the variance of one record's estimate of each number."""
        return self.reach**2 / 4

    def bounds(self, count: int) -> tuple[TailBound, TailBound]:
        """Return the error bounds of the estimate from `count` records, from noise and from sampling.

        Reports are independent and bounded, and each is an estimate with a bias of at most `bias`. So
        Hoeffding's inequality bounds noise and sampling together, as the first bound; the second is 0.
        """
        return replace(sampling_bound(self.reach, count, self._size), bias=self.bias), TailBound()

    @property
    def _size(self) -> int:
        return 1


@dataclass(frozen=True)
class BitRandomizer(LocalRandomizer):
    """Randomiser of a number within low..high: random rounding to low or high, then randomised response.

    Notes
    -----
    **Privacy.** epsilon, for the one record. Proof: either bit is reported with probability p or 1 - p, and p
    / (1 - p) <= exp(epsilon).

    **Source.** Duchi, Jordan and Wainwright (2013), one coordinate; here all probabilities are rational.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.queries import BitRandomizer
    >>> randomizer = BitRandomizer(0, 10, Fraction(1))
    >>> reports = randomizer.draw(np.full(10_000, 7), SeededDice(0))
    >>> round(float(randomizer.estimate(reports)[0]), 1)
    7.1
    >>> float(randomizer.probability(7, 1)) > 0.5 > float(randomizer.probability(3, 1))
    True
    """

    low: int
    high: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        _check_range(self)
        _check_epsilon(self)

    @cached_property
    def _truth(self) -> Fraction:
        return truth_probability(2, self.epsilon)

    def draw(self, values: NDArray[np.int64], dice: Dice) -> NDArray[np.int64]:
        values = values.clip(self.low, self.high)
        # P[bit = 1] = (value - low) / (high - low), so low + (high - low) bit has the value as its mean.
        bits = dice.below(self.high - self.low, size=len(values)) < values - self.low
        reports: NDArray[np.int64] = randomized_response(
            bits.astype(np.int64), 2, privacy=ApproxDP(self.epsilon), dice=dice
        )
        return reports

    def probability(self, value: Any, report: int) -> Fraction:
        share = Fraction(one_moved_into(int(value), self.low, self.high) - self.low, self.high - self.low)
        one = share * self._truth + (1 - share) * (1 - self._truth)
        return one if report == 1 else 1 - one if report == 0 else Fraction(0)

    def estimate(self, reports: NDArray[np.int64]) -> NDArray[np.float64]:
        ones = (float(np.mean(reports)) - float(1 - self._truth)) / float(2 * self._truth - 1)
        return np.array([self.low + (self.high - self.low) * ones])

    @property
    def reach(self) -> float:
        """The width of the range, divided by 2 p - 1, the factor by which randomised response shrinks it."""
        return (self.high - self.low) / float(2 * self._truth - 1)


@dataclass(frozen=True)
class LaplaceRandomizer(LocalRandomizer):
    """Randomiser of a number within low..high: its sum with discrete Laplace noise, clamped to public ends.

    The ends are 28 scales of the noise beyond the range, as far as 64 bits allow: -2**62 < report < 2**62.

    Notes
    -----
    **Privacy.** epsilon, for the one record. Proof: two values differ by at most high - low, and
    ratio ** (low - high) <= exp(epsilon), which bounds the quotient of the probabilities of each sum of value
    and noise. The ends are the same for all values, so clamping the sum is post-processing. (Clamping the
    *noise* would not be private: the report value + end would have a large probability for one value and
    probability 0 for another.)

    **Accuracy.** Let Z be the noise, L..H the ends and a the distance from the range to the nearer end. For a
    value v clamping lowers the expectation by E max(0, v + Z - H) and raises it by E max(0, L - v - Z). Each
    is at most ratio ** (a + 1) / (1 - ratio ** 2), which is `bias`. It is below 10**-12 scales of the noise,
    unless 64 bits limit the ends.

    **Source.** Kasiviswanathan et al. (2011), Section 5.1.1; here the noise is discrete.
    """

    low: int
    high: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        _check_range(self)
        _check_epsilon(self)

    @cached_property
    def _ratio(self) -> Fraction:
        return decay_ratio(self.epsilon / (self.high - self.low))

    @cached_property
    def _ends(self) -> tuple[int, int]:
        """The least and the greatest report: public, and the same for all values."""
        # One scale of the noise, 1 / ln(1 / ratio), is at most 1 / (1 - ratio).
        margin = math.ceil(_SCALES / (1 - self._ratio))
        return max(self.low - margin, -FAR), min(self.high + margin, FAR)

    def draw(self, values: NDArray[np.int64], dice: Dice) -> NDArray[np.int64]:
        low, high = self._ends
        reports: NDArray[np.int64] = laplace_counts(
            values.clip(self.low, self.high),
            privacy=ApproxDP(self.epsilon),
            dice=dice,
            sensitivity=self.high - self.low,  # of one value: each belongs to a different record
            low=low,
            high=high,
        )
        return reports

    def probability(self, value: Any, report: int) -> Fraction:
        low, high = self._ends
        away = report - one_moved_into(int(value), self.low, self.high)
        if not low <= report <= high:
            return Fraction(0)
        if report in (low, high):
            return laplace_tail(self._ratio, away if report == high else -away)
        return (1 - self._ratio) / (1 + self._ratio) * self._ratio ** abs(away)

    def likelihood_ratio(self, value: Any, other: Any, report: int) -> Fraction:
        """Return ratio to the power of the difference of two distances.

        This avoids the powers of the single distances, which may have too many digits. At an end, which is
        beyond both values, both tails are ratio**distance / (1 + ratio), with the same quotient.
        """
        one, two = (abs(report - one_moved_into(int(each), self.low, self.high)) for each in (value, other))
        return self._ratio ** (one - two)

    def estimate(self, reports: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.array([float(np.mean(reports))])

    @property
    def reach(self) -> float:
        """The distance between the ends."""
        low, high = self._ends
        return float(high - low)

    @property
    def bias(self) -> float:
        """A bound on the expected excess of the sum of value and noise beyond one end."""
        low, high = self._ends
        nearer = min(self.low - low, high - self.high)
        # Computed from the logarithm: the exact power may have more digits than memory holds.
        power = math.exp(-(nearer + 1) * decay_rate(self._ratio))
        return float(min(Fraction(power) / (1 - self._ratio**2), Fraction(high - low)))

    @property
    def variance(self) -> float:
        """The variance of the noise plus the greatest variance of a number; clamping does not increase it."""
        noise = 2 * self._ratio / (1 - self._ratio) ** 2
        return float(min(noise + Fraction((self.high - self.low) ** 2, 4), Fraction(self.reach) ** 2 / 4))

    def bounds(self, count: int) -> tuple[TailBound, TailBound]:
        """Return the error bounds of the mean of `count` reports, from noise and from sampling.

        With s = 1 / ln(1 / ratio) and 0 <= t <= 1 / (2 s), the noise Z of one report satisfies E exp(t Z) = 1
        / (1 - (sinh(t / 2) / sinh(1 / (2 s)))**2) <= 1 / (1 - t**2 s**2) <= exp(5/4 t**2 s**2). So the sum of
        m independent noises exceeds x with probability at most exp(5/4 m t**2 s**2 - t x), at most exp(-L)
        for x = sqrt(5 m L) s if t = sqrt(4 L / (5 m)) / s <= 1 / (2 s); else, with t = 1 / (2 s), for x = 2 s
        L + 5/8 s m < 4 s L. Clamping v + Z to the lower end increases exp(t (W - v)) by at most t max(0, L -
        v - Z), its expectation by at most t b, with b the `bias`, which adds b to the bound on a mean;
        likewise for the lower tail.
        """
        scale = 1 / decay_rate(self._ratio)
        noise = TailBound(linear=4 * scale / count, root=math.sqrt(5 / count) * scale, bias=self.bias)
        return noise, sampling_bound(self.high - self.low, count)


@dataclass(frozen=True)
class CategoryRandomizer(LocalRandomizer):
    """Randomiser of one of `size` categories: randomised response.

    Notes
    -----
    **Privacy.** epsilon, for the one record: see `randomized_response`.

    **Source.** Warner (1965); Kairouz, Bonawitz and Ramage (2016).
    """

    size: int
    epsilon: Fraction

    def __post_init__(self) -> None:
        check_count("size", self.size, low=2)
        _check_epsilon(self)

    @cached_property
    def _truth(self) -> Fraction:
        return truth_probability(self.size, self.epsilon)

    def draw(self, values: NDArray[np.int64], dice: Dice) -> NDArray[np.int64]:
        reports: NDArray[np.int64] = randomized_response(
            values.clip(0, self.size - 1), self.size, privacy=ApproxDP(self.epsilon), dice=dice
        )
        return reports

    def probability(self, value: Any, report: int) -> Fraction:
        if not 0 <= report < self.size:
            return Fraction(0)
        true = report == one_moved_into(int(value), 0, self.size - 1)
        return self._truth if true else (1 - self._truth) / (self.size - 1)

    def estimate(self, reports: NDArray[np.int64]) -> NDArray[np.float64]:
        return estimated_frequencies(reports, self.size, epsilon=self.epsilon)

    @property
    def _size(self) -> int:
        return self.size

    @property
    def reach(self) -> float:
        """1, divided by the factor by which randomised response shrinks differences of shares."""
        truth = self._truth
        return 1 / float(truth - (1 - truth) / (self.size - 1))


@dataclass(frozen=True)
class VectorRandomizer(LocalRandomizer):
    """Randomiser of a vector of bounded norm: one bit for a random coordinate of its Hadamard transform.

    A Walsh-Hadamard transform with public signs first spreads the vector's length evenly: for nearly all
    vectors, the coordinates are at most b in magnitude, far below sqrt(size) * norm, and are clipped to b.

    Parameters
    ----------
    size : int
        The number of coordinates of a vector.
    norm : int
        The greatest Euclidean norm of a vector.
    epsilon : Fraction
        As for `LocalRandomizer`.
    n_reports : int, default=1
        Public. The number of reports that are averaged. The noise is proportional to b, and b grows with the
        number of reports, so that both the noise and `bias` decrease.

    Notes
    -----
    **Privacy.** epsilon, for the one record. Proof: the choice of the coordinate does not depend on the
    vector, and its bit is the report of a `BitRandomizer`.

    **Accuracy.** The signs are fixed and public, so vectors may be chosen for them: `bias` is a bound for all
    vectors. Proof: each of the T transformed coordinates t_j is at most c = sqrt(size) * norm in magnitude,
    and their squares sum to at most T norm**2. The bias of each number's estimate is a signed mean of the
    clipped excesses, max(0, abs(t_j) - b). Each excess is at most t_j**2 (h - b) / h**2, with h the lesser of
    2 b and c, since (u - b) / u**2 rises up to u = 2 b and falls from there. So the mean is at most norm**2
    (h - b) / h**2 <= norm**2 / (4 b), and it is 0 if b is c.

    **Source.** Duchi, Jordan and Wainwright (2013) for one coordinate; Bassily and Smith (2015) for the
    transform.
    """

    size: int
    norm: int
    epsilon: Fraction
    n_reports: int = 1

    def __post_init__(self) -> None:
        hadamard_size(check_count("size", self.size, low=1))  # refuses sizes beyond memory
        check_count("norm", self.norm, low=1, high=1 << 30)
        check_count("n_reports", self.n_reports, low=1)
        _check_epsilon(self)

    @cached_property
    def _n_coordinates(self) -> int:
        return hadamard_size(self.size)

    @cached_property
    def _bit(self) -> BitRandomizer:
        # Under random signs the probability that a transformed coordinate exceeds norm * sqrt(2 ln(2 t)) in
        # magnitude is at most 1 / t.
        usual = math.sqrt(2 * math.log(2 * _RARE))
        # For norm 1 and the bound f the noise is at most 2 f / tanh(epsilon / 2) * sqrt(L / (2 n)), and the
        # bias at most 1 / (4 f). With L = ln(2 k / beta) = 8 their sum is least at twice the f of the next
        # line. That f halves the noise for all vectors, and its sum is a quarter greater than the least.
        wider = math.sqrt(math.tanh(min(self.epsilon, Fraction(700)) / 2) * math.sqrt(self.n_reports)) / 8
        bound = math.ceil(self.norm * min(max(usual, wider), math.sqrt(self.size)))
        return BitRandomizer(-bound, bound, self.epsilon)

    def draw(self, values: NDArray[np.int64], dice: Dice) -> NDArray[np.int64]:
        picked = dice.below(self._n_coordinates, size=len(values))
        coordinates = hadamard_coordinate(values, picked).clip(self._bit.low, self._bit.high)
        return np.asarray(2 * picked + self._bit.draw(coordinates, dice), dtype=np.int64)

    def probability(self, value: Any, report: int) -> Fraction:
        picked, bit = divmod(report, 2)
        if not 0 <= picked < self._n_coordinates:
            return Fraction(0)
        row = np.asarray(value, dtype=np.int64)[None, :]
        coordinate = hadamard_coordinate(row, np.array([picked])).clip(self._bit.low, self._bit.high)
        return self._bit.probability(int(coordinate[0]), bit) / self._n_coordinates

    def estimate(self, reports: NDArray[np.int64]) -> NDArray[np.float64]:
        signed = (2 * (reports & 1) - 1) * self._bit.reach / 2
        sums = np.bincount(reports >> 1, weights=signed, minlength=self._n_coordinates)
        return hadamard_inverse(sums * (self._n_coordinates / len(reports)), self.size)

    @property
    def reach(self) -> float:
        """The width of the range of one record's estimates of a coordinate, the same for all coordinates."""
        return self._bit.reach

    @property
    def bias(self) -> float:
        """A bound on the bias from clipped coordinates of each number's estimate, for all vectors."""
        bound, most = self._bit.high, self.norm * math.sqrt(self.size)
        worst = min(2 * bound, most)
        return self.norm**2 * max(0.0, worst - bound) / worst**2

    @property
    def _size(self) -> int:
        return self.size


def _check_range(randomizer: BitRandomizer | LaplaceRandomizer) -> None:
    low = check_count("low", randomizer.low, low=-FAR, high=FAR)
    check_count("high", randomizer.high, low=low + 1, high=FAR)


def _check_epsilon(randomizer: LocalRandomizer) -> None:
    """Validate epsilon, and replace it with an exact fraction."""
    object.__setattr__(randomizer, "epsilon", check_number("epsilon", randomizer.epsilon, above=0))


def estimated_frequencies(reports: Any, n_values: int, *, epsilon: Any) -> NDArray[np.float64]:
    """Return unbiased estimates of the frequencies of values before randomised response, at no privacy cost.

    Parameters
    ----------
    reports : array-like of int of shape (n,)
        The output of `randomized_response`.
    n_values : int
        As for `randomized_response`.
    epsilon : number
        As for `randomized_response`.

    Returns
    -------
    ndarray of float64 of shape (n_values,)
        Sums to 1; some may be below 0 or above 1, as unbiased estimates must.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import randomized_response
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.theory import estimated_frequencies
    >>> truth = np.repeat([0, 1, 2], [600, 300, 100])
    >>> reports = randomized_response(truth, 3, privacy=ApproxDP(2), dice=SeededDice(0))
    >>> estimated_frequencies(reports, 3, epsilon=2).round(2).tolist()
    [0.62, 0.3, 0.08]
    >>> estimated_frequencies([0, 0, 0, 1], 2, epsilon=3).round(3).tolist()
    [0.776, 0.224]
    """
    n_values = check_count("n_values", n_values, low=2, high=1 << 31)
    p = truth_probability(n_values, epsilon)
    q = (1 - p) / (n_values - 1)
    codes = near_integers("reports", reports, -1, n_values)
    if not codes.size or codes.min() < 0 or codes.max() >= n_values:
        raise ValueError(
            f"reports must hold at least one number, all from 0 to n_values - 1 = {n_values - 1}"
        )
    counts = np.bincount(codes, minlength=n_values)
    return np.asarray((counts / counts.sum() - float(q)) / float(p - q), dtype=np.float64)
