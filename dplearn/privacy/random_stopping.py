"""The best of a random number of private runs costs little more than two or three of them, however many.

>>> stopping = RandomStopping(40)  # from 1 to 40 runs, each number as likely as the others
>>> stopping.mean, stopping.total(ApproxDP("0.1", "1e-8")).epsilon
(Fraction(41, 2), Fraction(3, 10))
>>> run = stopping.run_of(ApproxDP(1, "1e-6"))
>>> run.epsilon, float(run.delta)
(Fraction(1, 3), 4.878048780487805e-08)
>>> round(float(stopping.missed(Fraction(1, 10))), 3)  # one of ten candidates, drawn anew for each run
0.222
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import comb, lcm

from dplearn._validation import check_count
from dplearn.privacy.guarantees import ApproxDP

__all__ = ["RandomStopping"]


@dataclass(frozen=True)
class RandomStopping:
    """The distribution of the number of private runs of which the best is published, and its cost.

    k runs are made with probability proportional to C(k + concentration - 1, k), for k from 1 to `most`; with
    concentration 0, to 1 / k. That is uniform where concentration is 1.

    Parameters
    ----------
    most : int
        The largest number of runs, at least 1.
    concentration : int, default=1
        At least 0. Larger ones make few runs less likely, and cost more.

    Notes
    -----
    **Privacy.** If a run is (epsilon, delta)-differentially private, what is published, the outcome that
    ranks highest with its rank, is private at (m epsilon, mean delta), m = min(most, 2 + concentration).
    Proof: let delta be 0 first, p_k be the probability of k runs, f(x) the sum of p_k x^k, and let a run rank
    below y with probability s, and as high as y with r. The highest rank is that of y with probability f(s +
    r) - f(s), and the first run of that rank is y with Q(y) / r: so y is published with probability Q(y)
    times the mean of f'(u) over u from s to s + r. Neighbours' u, at the same part of the way, obey u <=
    e^epsilon u' and 1 - u >= e^-epsilon (1 - u'), and f' rises, so f'(u) exceeds f'(u') only where u > u'. It
    then does so by at most (u / u')^(most - 1), for no power in f' is higher. And (1 - x)^(1 + c) f'(x) never
    rises: that is (1 - x) f'' <= (1 + c) f', and holds power by power if (k + 1) p_{k+1} <= (k + c) p_k,
    which the p_k obey. So f'(u) / f'(u') is at most ((1 - u') / (1 - u))^(1 + c) <= exp((1 + c) epsilon), and
    Q(y) / Q'(y) at most exp(epsilon). Now let delta be positive: a run is a mixture of one that is
    epsilon-private and, with probability delta, of anything. That none of the runs is the latter has
    probability f(1 - delta) >= 1 - mean delta, and given it the numbers of runs have weights p_k (1 -
    delta)^k, which obey both bounds too.

    **Assumes.** What ranks an outcome is part of it: a score that was computed from private data is as
    private as the rest. Runs are independent, with chance of their own. How many there were is secret, and
    how long they took.

    **Source.** Liu and Talwar (2019) for geometric numbers; Papernot and Steinke (2022), Theorem 2 and
    Corollary 3, for truncated negative binomial ones, which have no upper end. Ours have one, and the
    condition on p_k and its proof are ours.
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
        """How many runs are made on average."""
        return Fraction(sum(k * weight for k, weight in enumerate(self.weights, 1)), sum(self.weights))

    @property
    def factor(self) -> int:
        """How many times the epsilon of one run is spent, at most."""
        return min(self.most, 2 + self.concentration)

    def total(self, run: ApproxDP) -> ApproxDP:
        """Return what the best of the runs is guaranteed, from what each is.

        Parameters
        ----------
        run : ApproxDP
            For neighbours by one replaced record, or of any kind that all runs share.

        Raises
        ------
        ValueError
            If delta would reach 1.
        """
        return replace(run, epsilon=self.factor * run.epsilon, delta=self.mean * run.delta)

    def run_of(self, total: ApproxDP) -> ApproxDP:
        """Return what each run may spend so that all of them spend `total`."""
        return replace(total, epsilon=total.epsilon / self.factor, delta=total.delta / self.mean)

    def missed(self, share: Fraction) -> Fraction:
        """Return how likely it is that no run has an outcome whose probability is `share` in each."""
        masses = enumerate(self.weights, 1)
        return sum((weight * (1 - share) ** k for k, weight in masses), Fraction(0)) / sum(self.weights)
