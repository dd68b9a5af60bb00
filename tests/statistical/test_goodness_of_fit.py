"""Draws from the operating system's entropy fit their exact distributions, and not slightly wrong ones.

Every test is Pearson's chi-square, once with bins of at least 20 expected draws, which sees any place where
the distribution is off, and once with about 40 bins, which sees what is off by little but everywhere. Twice
the smaller of the two p-values is a p-value; below 1e-6 the distribution is rejected, so a test here raises a
false alarm once in a million runs. Every test also has a control: a distribution that is slightly wrong,
which the same draws must reject. Draws of few sizes, one by one, and of
several digits are in `tests/chance`.
"""

from bisect import bisect_left
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from dplearn.chance import SystemDice
from dplearn.kernels import decay_ratio, laplace_probabilities

FALSE_ALARM = 1e-6
CHUNK = 1_000_000  # draws held in memory at a time


def pool(observed, expected, least: float):
    """Join neighbouring outcomes until each bin expects at least this many draws."""
    sums = np.cumsum(expected).tolist()
    starts, start = [], 0
    while start < len(sums):
        starts.append(start)
        start = bisect_left(sums, (sums[start - 1] if start else 0.0) + least) + 1
    if len(starts) > 1 and sums[-1] - sums[starts[-1] - 1] < least:
        starts.pop()  # what is left over joins the bin before
    return np.add.reduceat(observed, starts), np.add.reduceat(expected, starts)


def fits(observed, distribution) -> bool:
    """Whether these counts of outcomes may be draws from this law: not rejected at 1e-6."""
    distribution = np.array([float(p) for p in distribution])
    expected = distribution / distribution.sum() * observed.sum()
    p_values = []
    for least in (20, max(20, observed.sum() / 40)):
        seen, due = pool(observed, expected, least)
        if seen.size > 1:  # one bin can reject nothing
            p_values.append(chisquare(seen, due * (seen.sum() / due.sum())).pvalue)
    assert p_values, "too few draws to reject any law"
    return 2 * min(p_values) >= FALSE_ALARM


def check(draw, n, right, wrong, first=0):
    """Draw n times, of first, first + 1, ..., in chunks; one law must fit, and the other not."""
    observed = np.zeros(len(right), dtype=np.int64)
    for start in range(0, n, CHUNK):
        drawn = np.asarray(draw(SystemDice(), min(CHUNK, n - start)))
        observed += np.bincount((drawn - first).astype(np.int64), minlength=len(right))
    assert fits(observed, right)
    assert not fits(observed, wrong)


def coin(p, wrong, n):
    return lambda dice, size: dice.bernoulli(p, size=size), n, [1 - p, p], [1 - wrong, wrong]


def below(n):
    """The control is the distribution of a word modulo n, which favours the smaller numbers."""
    word = 1 << 8 if n < 1 << 8 else 1 << 16
    modulo = np.bincount(np.arange(word) % n)
    return lambda dice, size: dice.below(n, size=size), 4_000_000, np.ones(n), modulo


def laplace(scale, wrong, reach, n):
    ratio = decay_ratio(1 / scale)
    laws = [laplace_probabilities(decay_ratio(1 / each), -reach, reach) for each in (scale, wrong)]
    return lambda dice, size: dice.discrete_laplace(ratio, -reach, reach, size=size), n, *laws, -reach


def lower_digits():
    """P[Z mod m = k] is proportional to r**k + r**(m - k); the control has a scale of 1e3 in place of 1e5."""
    ratio, k = decay_ratio(Fraction(1, 10**5)), np.arange(1 << 12)
    laws = [np.exp(-k / scale) + np.exp(-(len(k) - k) / scale) for scale in (10**5, 10**3)]
    far = 10**8
    return lambda dice, size: dice.discrete_laplace(ratio, -far, far, size=size) % len(k), 1_000_000, *laws


def geometric(scale):
    reach = 5 * int(scale) + 12
    ratios = [decay_ratio(each / Fraction(scale)) for each in (1, Fraction(100, 103))]
    powers = [float(ratio) ** np.arange(reach + 1) for ratio in ratios]  # exact fractions would take minutes
    laws = [np.append(each[:-1] * (1 - each[1]), each[-1]) for each in powers]
    return lambda dice, size: dice.geometric(ratios[0], 0, reach, size=size), 400_000, *laws


def gaussian(sigma2):
    """The control's sigma2 is 2 per cent wrong; beyond the reach, at ten sigma or more, lies nothing."""
    reach = int(10 * float(sigma2) ** 0.5) + 10
    k = np.arange(-reach, reach + 1)
    laws = [np.exp(-(k**2) / (2 * float(sigma2) * each)) for each in (1, 1.02)]
    return lambda dice, size: dice.discrete_gaussian(sigma2, size=size), 1_000_000, *laws, -reach


RARE = Fraction(1, 10**5)
DRAWS = {
    "a coin": coin(Fraction(1, 3), Fraction(1, 3) + Fraction(1, 100), 1_000_000),
    "a rare coin": coin(RARE, 4 * RARE, 10_000_000),
    "a nearly certain coin": coin(1 - RARE, 1 - 4 * RARE, 10_000_000),
    **{f"below {n}": below(n) for n in (6, 100, 50_000)},
    "laplace of scale 10": laplace(Fraction(10), Fraction(1005, 100), 160, 10_000_000),
    "laplace of scale 0.3": laplace(Fraction(3, 10), Fraction(306, 1000), 8, 1_000_000),
    "lower digits of laplace of scale 1e5": lower_digits(),
    **{f"geometric of scale {scale}": geometric(scale) for scale in (Fraction(1, 3), 10, 1000)},
    **{
        f"gaussian of variance {sigma2}": gaussian(Fraction(sigma2))
        for sigma2 in ("1/5", 4, 10**4, "300000001/3")
    },
    "one of many groups": (
        lambda dice, size: [
            dice.power_weighted(Fraction(9, 10), [i // 9 for i in range(300)], [1] * 300) for _ in range(size)
        ],
        10_000,
        [0.9 ** (i // 9) for i in range(300)],
        [0.92 ** (i // 9) for i in range(300)],
    ),
    "weights beyond 64 bits": (
        lambda dice, size: [
            dice.power_weighted(Fraction(1, 2), [0, 70, 72], [1, 2**70, 2**72]) for _ in range(size)
        ],
        8_000,
        [1, 1, 1],
        [3, 2, 2],
    ),
}


@pytest.mark.parametrize("name", DRAWS)
def test_draws_fit_their_distribution_and_not_a_slightly_wrong_one(name):
    check(*DRAWS[name])


def test_successive_draws_are_independent():
    """Pairs of neighbouring draws fit the product law; in the control 1 per cent are equal pairs."""
    ratio, reach = decay_ratio(Fraction(1, 2)), 6
    drawn = SystemDice().discrete_laplace(ratio, -reach, reach, size=1_000_000) + reach
    side = 2 * reach + 1
    distribution = np.array([float(p) for p in laplace_probabilities(ratio, -reach, reach)])
    pairs = np.bincount(drawn[::2] * side + drawn[1::2], minlength=side * side)
    assert fits(pairs, np.outer(distribution, distribution).ravel())
    leaning = 0.99 * np.outer(distribution, distribution) + 0.01 * np.diag(distribution)
    assert not fits(pairs, leaning.ravel())
