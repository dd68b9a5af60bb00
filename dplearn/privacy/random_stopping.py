"""Privacy cost of the best of a random number of private runs: about that of two or three runs."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from math import comb, lcm

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.kernels import log_bounds, root_above
from dplearn.privacy.gaussian_dp import FAILURE, LARGEST_EPSILON, delta_of_mu
from dplearn.privacy.guarantees import ApproxDP, delta_of, epsilon_of
from dplearn.privacy.shares import gaussian_budget


@dataclass(frozen=True)
class RandomStopping:
    """The distribution of a random number of private runs, and the cost of publishing the best run.

    The number of runs is k with probability proportional to C(k + concentration - 1, k), for k from 1 to
    `most`; with concentration 0, proportional to 1 / k. With concentration 1 it is uniform.

    Parameters
    ----------
    most : int
        The largest number of runs, at least 1.
    concentration : int, default=1
        At least 0. Larger values make small numbers of runs less likely, and cost more.

    Notes
    -----
    **Privacy.** If each run is (epsilon, delta)-differentially private, the published outcome, the one of the
    highest rank together with its rank, is (m epsilon, mean delta)-differentially private, where m =
    min(most, 2 + concentration). Let f(x) be the sum of p_k x^k, where p_k is the probability of k runs. An
    outcome y with probability Q(y) in one run is published with probability Q(y) times the mean of f'(u) over
    u from s, the probability of a lower rank than that of y, to s + r, where r is that of the same rank. For
    neighbours f'(u) / f'(u') is at most exp((m - 1) epsilon). The whole proof is in
    docs/theory/composition.md.

    **Assumes.** The rank of an outcome is a function of the outcome. The runs are independent. The number of
    runs and their duration are secret.

    **Source.** Liu and Talwar (2019) for geometric numbers of runs; Papernot and Steinke (2022), Theorem 2
    and Corollary 3, for truncated negative binomial numbers. Here the number is bounded; the condition on p_k
    and its proof are ours.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dplearn.privacy import ApproxDP, RandomStopping
    >>> stopping = RandomStopping(40)  # from 1 to 40 runs, each number as likely as the others
    >>> stopping.mean, stopping.total(ApproxDP("0.1", "1e-8")).epsilon
    (Fraction(41, 2), Fraction(3, 10))
    >>> run = stopping.run_of(ApproxDP(1, "1e-6"))
    >>> run.epsilon, float(run.delta)
    (Fraction(1, 3), 4.878048780487805e-08)
    >>> round(float(stopping.missed(Fraction(1, 10))), 3)  # one of ten candidates, drawn anew for each run
    0.222
    """

    most: int
    concentration: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", check_count("most", self.most, low=1))
        object.__setattr__(self, "concentration", check_count("concentration", self.concentration, low=0))

    @cached_property
    def weights(self) -> list[int]:
        """Numbers proportional to the probabilities of 1, 2, ..., `most` runs."""
        numbers = range(1, self.most + 1)
        if self.concentration:
            return [comb(k + self.concentration - 1, k) for k in numbers]
        common = lcm(*numbers)
        return [common // k for k in numbers]

    @property
    def mean(self) -> Fraction:
        """The mean number of runs."""
        return Fraction(sum(k * weight for k, weight in enumerate(self.weights, 1)), sum(self.weights))

    @property
    def factor(self) -> int:
        """The total epsilon divided by the epsilon of one run."""
        return min(self.most, 2 + self.concentration)

    def total(self, run: ApproxDP) -> ApproxDP:
        """Return the guarantee of the best run, given the guarantee of each run.

        Parameters
        ----------
        run : ApproxDP
            The guarantee of one run, for any kind of neighbours.

        Raises
        ------
        ValueError
            If delta would reach 1.
        """
        return replace(run, epsilon=self.factor * run.epsilon, delta=self.mean * run.delta)

    def run_of(self, total: ApproxDP) -> ApproxDP:
        """Return the cost of each run that makes `total` the cost of the best run."""
        return replace(total, epsilon=total.epsilon / self.factor, delta=total.delta / self.mean)

    def missed(self, share: Fraction) -> Fraction:
        """Return the probability that no run has an outcome of probability `share` in each run."""
        other, whole = (1 - share).as_integer_ratio()
        total, scale = 0, 1  # Horner's rule, in integers
        for weight in reversed(self.weights):
            total, scale = (total + weight * scale) * other, scale * whole
        return Fraction(total, scale * sum(self.weights))


#: The greatest number of runs for which the error of floats is bounded below.
MOST_RUNS = 1024
_CONCENTRATION = 64  # likewise
_MARGIN = 1 + 2.0**-30
_BITS = 200  # of delta
_LEAST_DELTA = Fraction(1, 1 << 64)  # below it, failures are no small part of delta
_STEPS = 16  # of the search for the greatest budget: one part in 2**16
_STEP = 1 / 64
_ENDS = 10.0  # beyond so many deviations the ratio of both slopes is nearly 1
_PRECISION = 2.0**-12


def gaussian_runs_delta(
    stopping: RandomStopping, mu2: Fraction, epsilon: Fraction, fits: int = 1
) -> Fraction:
    """Return an upper bound on the delta of the best of a random number of Gaussian-DP runs.

    `stopping`: at most 1024 runs, of concentration at most 64. `mu2`: of one run, score and outcome together.
    `epsilon`: at most 64. `fits`: releases of Gaussian sums in a run; each fails with probability 2**-79.

    **Privacy.** Let f(x) be the mean of x^k over the number k of runs, m = f'(1) and R the maximum over z of
    f'(Phi(z)) / f'(Phi(z - mu)). The best run is (epsilon, m (eta + delta_mu(epsilon - ln R)))-private, eta
    the failure of a run. Proof: y is published with Q(y) times the mean of f'(u) between s and s + r (see
    `RandomStopping`). For neighbours, these ends are in the convex set u' >= Phi(Phi^-1(u) - mu), so f'(u) <=
    R f'(u') and f'(u) <= m between, and Q(y) f'(u) - e^epsilon Q'(y) f'(u') <= f'(u) (Q(y) - (e^epsilon / R)
    Q'(y)): the positive ones sum to at most m delta_mu(epsilon - ln R). With a = 1 - eta, no run fails with
    probability f(a) >= 1 - m eta, and f'(a u) / f'(a u') <= f'(u) / f'(u'), as x f''(x) / f'(x) increases
    with x. Koskela and others (2024) bound by the profile of a run; this proof, for equal ranks too, is ours.
    """
    least = epsilon - log_bounds(Fraction(_growth(stopping, float(root_above(mu2)))))[1]
    if least < 0:
        return Fraction(1)
    delta = delta_of_mu(root_above(mu2), least, _BITS)
    return min(Fraction(1), stopping.mean * (fits * FAILURE + delta))


def gaussian_run_budget(stopping: RandomStopping, total: ApproxDP, fits: int = 1) -> Fraction:
    """Return the greatest mu^2 / 2 of a run found for which the best run has the guarantee `total`."""
    # A run divides it among `fits` releases of Gaussian sums. It is at least the budget of runs of which only
    # epsilon and delta are known; 0 if a delta below 2**-64 is left for a run.
    return _gaussian_run_budget(stopping, ApproxDP(epsilon_of(total), delta_of(total)), fits)


@lru_cache(maxsize=64)
def _gaussian_run_budget(stopping: RandomStopping, total: ApproxDP, fits: int) -> Fraction:
    run = stopping.run_of(total)
    if run.delta < _LEAST_DELTA * fits:
        return Fraction(0)
    known = gaussian_budget(ApproxDP(run.epsilon, run.delta - (fits - 1) * FAILURE))
    if (
        stopping.most > MOST_RUNS
        or stopping.concentration > _CONCENTRATION
        or total.epsilon > LARGEST_EPSILON
    ):
        return known
    low, high = known, gaussian_budget(total)  # of one run
    for _ in range(_STEPS):
        middle = Fraction(float((low + high) / 2))
        if gaussian_runs_delta(stopping, 2 * middle, total.epsilon, fits) <= total.delta:
            low = middle
        else:
            high = middle
    return low


def _growth(stopping: RandomStopping, mu: float) -> float:
    """Return an upper bound on R, the greatest ratio of slopes f'(Phi(z)) / f'(Phi(z - mu))."""
    # Between z1 and z2 the ratio is at most f'(Phi(z2)) / f'(Phi(z1 - mu)); intervals for which this exceeds
    # the ratio at some point by more than the precision are divided. Rounding: the relative error of Phi(z)
    # is below 2**-43 for -20 <= z < 0, where x f''(x) / f'(x) <= 1 + concentration; for z > 0 both are at
    # most 2**-50 and 1024; f' has at most 2048 roundings of positive terms. Values below Phi(-20) and
    # roundings of mu and z - mu do not matter. The margin of 2**-30 covers all this.
    numbers = np.arange(1, stopping.most + 1)
    whole = sum(stopping.weights)
    slopes = [float(Fraction(int(k) * w, whole)) for k, w in zip(numbers, stopping.weights, strict=True)]

    def slope(*places: NDArray[np.float64]) -> list[NDArray[np.float64]]:
        z = np.concatenate(places)
        x = np.array([math.erfc(-each / math.sqrt(2)) / 2 for each in z.tolist()])
        value = np.zeros(len(x))
        for coefficient in reversed(slopes):
            value = value * x + coefficient
        return np.split(value, np.cumsum([len(each) for each in places])[:-1])

    with np.errstate(under="ignore"):
        low = np.arange(-_ENDS, _ENDS + mu, _STEP)
        high = low + _STEP
        start, end = slope(low[:1], high[-1:] - mu)
        first = start[0] / slopes[0]  # below the first interval
        last = sum(slopes) / end[0]  # beyond the last one
        reached = max(first, last)
        kept = 0.0  # the bound of intervals that are not divided
        while len(low):
            above, at, below = slope(high, low, low - mu)
            bounds = above / below
            reached = max(reached, float((at / below).max()))
            wide = bounds > reached * (1 + _PRECISION)
            kept = max(kept, float(bounds[~wide].max(initial=0)))
            low, high = low[wide], high[wide]
            middle = (low + high) / 2
            low, high = np.concatenate([low, middle]), np.concatenate([middle, high])
    return float(max(first, last, kept)) * _MARGIN
