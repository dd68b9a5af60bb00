"""Privacy cost of the best of a random number of private runs: about that of two or three runs."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import comb, lcm

from dplearn._validation import check_count
from dplearn.privacy.guarantees import ApproxDP

__all__ = ["RandomStopping"]


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
    min(most, 2 + concentration). Proof: first let delta be 0. Let c be the concentration, p_k the probability
    of k runs, and f(x) the sum of p_k x^k. For an outcome y, let Q(y) be its probability in one run, s the
    probability of a lower rank than that of y, and r that of the same rank. The highest rank of all runs is
    that of y with probability f(s + r) - f(s), and given this, the first run of that rank has outcome y with
    probability Q(y) / r. So y is published with probability Q(y) times the mean of f'(u) over u from s to s +
    r. Let u and u' be points at the same fraction of this interval for two neighbours. They satisfy u <=
    e^epsilon u' and 1 - u >= e^-epsilon (1 - u'), and f' increases, so f'(u) exceeds f'(u') only if u > u'.
    First, f'(u) / f'(u') is then at most (u / u')^(most - 1), since f' has degree most - 1. Second, (1 -
    x)^(1 + c) f'(x) never increases: this is (1 - x) f'' <= (1 + c) f', which holds for each power of x if (k
    + 1) p_{k+1} <= (k + c) p_k, and the p_k satisfy this. So f'(u) / f'(u') is at most ((1 - u') / (1 -
    u))^(1 + c) <= exp((1 + c) epsilon), and Q(y) / Q'(y) is at most exp(epsilon). Now let delta be positive.
    A run is a mixture of an epsilon-private run and, with probability delta, an arbitrary one. All runs are
    epsilon-private with probability f(1 - delta) >= 1 - mean delta; given this, the number of runs has
    weights p_k (1 - delta)^k, which satisfy both bounds too.

    **Assumes.** The rank of an outcome is a function of the outcome: a score computed from private data is
    part of the run's private outcome. The runs are independent. The number of runs and their duration are
    secret.

    **Source.** Liu and Talwar (2019) for geometric numbers of runs; Papernot and Steinke (2022), Theorem 2
    and Corollary 3, for truncated negative binomial numbers, which are unbounded. Here the number is bounded;
    the condition on p_k and its proof are ours.

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
