"""Draws from the operating system's entropy fit their exact distributions, and not slightly wrong ones.

Every test is Pearson's chi-square, once with bins of at least 20 expected draws, which sees any place where
the distribution is off, and once with about 40 bins, which sees what is off by little but everywhere. Twice
the smaller of the two p-values is a p-value; below 1e-6 the distribution is rejected, so a test here raises a
false alarm once in a million runs. Every test also has a control: a distribution that is slightly wrong,
which the same draws must reject.
"""

from bisect import bisect_left
from fractions import Fraction
from itertools import pairwise
from math import exp

import numpy as np
import pytest
from scipy.stats import chisquare

from dplearn.chance import SystemDice, sampling
from dplearn.kernels.distributions import (
    laplace_probabilities,
    laplace_tail,
    permute_and_flip_probabilities,
    power_probabilities,
)
from dplearn.kernels.exact import decay_ratio

FALSE_ALARM = 1e-6
CHUNK = 1_000_000  # draws held in memory at a time
HALF = Fraction(1, 2)


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


def check(draw, n, right, *wrong, first=0, chunk=CHUNK):
    """Draw n times, of first, first + 1, ..., in chunks; one law must fit, and each of the others not."""
    observed = np.zeros(len(right), dtype=np.int64)
    for start in range(0, n, chunk):
        drawn = np.asarray(draw(min(chunk, n - start)))
        observed += np.bincount((drawn - first).astype(np.int64), minlength=len(right))
    assert fits(observed, right)
    for law in wrong:
        assert not fits(observed, law)
    return observed


def one_by_one(draw):
    return lambda size: [draw() for _ in range(size)]


def of_coin(p):
    return [1 - p, p]


def test_the_test_itself():
    seen, due = pool(np.array([1, 2, 3, 4, 5]), np.array([30.0, 5.0, 10.0, 25.0, 5.0]), 20)
    assert seen.tolist() == [1, 14]
    assert due.tolist() == [30.0, 45.0]
    observed = np.full(100, 1000)
    assert fits(observed, np.full(100, 0.01))
    observed[37] += 500  # 16 standard deviations: alone worth 250, where 99 bins give 99 by chance
    assert not fits(observed, np.full(100, 0.01))


RARE = Fraction(1, 10**5)


@pytest.mark.parametrize(
    ("p", "wrong", "n"),
    [
        (Fraction(1, 3), Fraction(1, 3) + Fraction(1, 100), 1_000_000),
        (RARE, 4 * RARE, 10_000_000),
        (1 - RARE, 1 - 4 * RARE, 10_000_000),
    ],
    ids=str,
)
def test_bernoulli(p, wrong, n):
    check(lambda size: SystemDice().bernoulli(p, size=size), n, of_coin(p), of_coin(wrong))


def test_bernoulli_one_by_one():
    p, wrong = Fraction(2, 7), Fraction(1, 4)
    check(one_by_one(lambda: SystemDice().bernoulli(p)), 10_000, of_coin(p), of_coin(wrong))


@pytest.mark.parametrize("n", [6, 100, 50_000])
def test_below(n):
    """The control is the distribution of a word modulo n, which favours the smaller numbers."""
    word = 1 << 8 if n < 1 << 8 else 1 << 16
    modulo = np.bincount(np.arange(word) % n)
    check(lambda size: SystemDice().below(n, size=size), 4_000_000, np.ones(n), modulo)


def test_below_one_by_one_beyond_64_bits():
    """Of 3 * 2**70 numbers a third lies in each third; the control: 72 bits modulo them."""
    n = 3 << 70
    check(one_by_one(lambda: SystemDice().below(n) >> 70), 4_000, [1, 1, 1], [2, 1, 1])


EXPONENTS, MULTIPLICITIES = [4, 0, 2, 1, 7], [3, 1, 5, 0, 40]


@pytest.mark.nightly
def test_power_weighted():
    ratio = Fraction(4, 5)
    observed = check(
        one_by_one(lambda: SystemDice().power_weighted(ratio, EXPONENTS, MULTIPLICITIES)),
        40_000,
        power_probabilities(ratio, EXPONENTS, MULTIPLICITIES),
        power_probabilities(Fraction(41, 50), EXPONENTS, MULTIPLICITIES),
        power_probabilities(ratio, EXPONENTS, [3, 1, 5, 0, 48]),
    )
    assert observed[3] == 0


def test_power_weighted_with_multiplicities_beyond_64_bits():
    times = [1, 2**70, 2**72]  # times 1, 2**-70 and 2**-72: a third each
    check(
        one_by_one(lambda: SystemDice().power_weighted(HALF, [0, 70, 72], times)), 8_000, [1] * 3, [3, 2, 2]
    )


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("exponents", "multiplicities"), [([0, 1], [1, 1]), ([2, 0, 1, 3], [1, 1, 2, 3]), ([5, 0, 2], [0, 2, 3])]
)
def test_permute_and_flip(exponents, multiplicities):
    """The control is the exponential mechanism, whose law permute-and-flip improves upon."""
    given = HALF, exponents, multiplicities
    laws = permute_and_flip_probabilities(*given), power_probabilities(*given)
    check(one_by_one(lambda: SystemDice().permute_and_flip(*given)), 12_000, *laws)


@pytest.mark.parametrize(
    ("scale", "wrong", "reach", "n"),
    [
        (Fraction(10), Fraction(1005, 100), 160, 10_000_000),
        (Fraction(3, 10), Fraction(306, 1000), 8, 1_000_000),
    ],
    ids=["10", "0.3"],
)
def test_discrete_laplace(scale, wrong, reach, n):
    ratio = decay_ratio(1 / scale)
    laws = [laplace_probabilities(decay_ratio(1 / each), -reach, reach) for each in (scale, wrong)]
    check(lambda size: SystemDice().discrete_laplace(ratio, -reach, reach, size=size), n, *laws, first=-reach)


def block_probabilities(scale: float, block: int, blocks: int) -> list[float]:
    """Return the probabilities of the blocks -blocks..blocks - 1 of this width that Z falls in, ends clamped.

    P[Z >= k] = r**k / (1 + r) for k >= 1, in floats with log(r) = -1 / scale; the rest by symmetry.
    """
    rate, total = 1 / scale, 1 + exp(-1 / scale)
    upper = [exp(-rate * block * j) / total for j in range(1, blocks)]
    beyond = [1 - exp(-rate) / total, *upper, 0.0]  # P[Z >= 0], P[Z >= block], ...
    positive = [more - less for more, less in pairwise(beyond)]
    # Block -j - 1 holds -(j + 1) block .. -j block - 1, so it mirrors j block + 1 .. (j + 1) block.
    ends = [exp(-rate * (block * j + 1)) / total for j in range(blocks)] + [0.0]
    negative = [more - less for more, less in pairwise(ends)]
    return [*reversed(negative), *positive]


def test_block_law_is_the_law_of_blocks():
    distribution = laplace_probabilities(decay_ratio(Fraction(1, 3)), -12, 11)
    blocks = [float(sum(distribution[i : i + 4])) for i in range(0, 24, 4)]
    assert block_probabilities(3, 4, 3) == pytest.approx(blocks, rel=1e-9)


@pytest.mark.parametrize(
    ("scale", "wrong", "block", "n"),
    [(10**5, 1.02 * 10**5, 256, 3_000_000), (10**20, 1.2 * 10**20, 10**18, 20_000)],
    ids=["1e5", "1e20"],
)
def test_discrete_laplace_of_several_digits(scale, wrong, block, n):
    ratio, blocks = decay_ratio(Fraction(1, scale)), 15 * scale // block
    ends = -blocks * block, blocks * block - 1
    laws = [block_probabilities(each, block, blocks) for each in (scale, wrong)]
    draw = lambda size: SystemDice().discrete_laplace(ratio, *ends, size=size) // block  # noqa: E731
    check(draw, n, *laws, first=-blocks)


def test_the_lower_digits_of_a_large_scale():
    """P[Z mod m = k] is proportional to r**k + r**(m - k); the control has a scale of 1e3 in place of 1e5."""
    ratio, k = decay_ratio(Fraction(1, 10**5)), np.arange(1 << 12)
    laws = [np.exp(-k / scale) + np.exp(-(len(k) - k) / scale) for scale in (10**5, 10**3)]
    draw = lambda size: SystemDice().discrete_laplace(ratio, -(10**8), 10**8, size=size) % len(k)  # noqa: E731
    check(draw, 1_000_000, *laws)


@pytest.mark.first_by_day
@pytest.mark.parametrize("gap", [-4, 0, 5])
def test_a_noisy_comparison(gap):
    ratio = decay_ratio(Fraction(1, 10))
    compare = one_by_one(lambda: SystemDice().discrete_laplace(ratio, gap - 1, gap) - gap + 1)
    check(compare, 20_000, *(of_coin(laplace_tail(ratio, each)) for each in (gap, gap + 2)))


@pytest.mark.parametrize("scale", [Fraction(1, 3), 10, 1000])
def test_geometric(scale):
    reach = 5 * int(scale) + 12
    ratios = [decay_ratio(each / Fraction(scale)) for each in (1, Fraction(100, 103))]

    def weights(ratio):  # exact fractions would take minutes
        powers = float(ratio) ** np.arange(reach + 1)
        return np.append(powers[:-1] * (1 - float(ratio)), powers[-1])

    check(lambda size: SystemDice().geometric(ratios[0], 0, reach, size=size), 400_000, *map(weights, ratios))


def gaussian_weights(sigma2: Fraction, reach: int):
    """Return exp(-k**2 / (2 sigma2)) for k = -reach..reach; beyond, at ten sigma or more, lies nothing."""
    k = np.arange(-reach, reach + 1)
    return np.exp(-(k**2) / (2 * float(sigma2)))


@pytest.mark.parametrize(
    "sigma2", [Fraction(1, 5), Fraction(4), Fraction(10**4), Fraction(10**8) + Fraction(1, 3)], ids=str
)
def test_discrete_gaussian(sigma2):
    """The control's sigma2 is 2 per cent wrong."""
    reach = int(10 * float(sigma2) ** 0.5) + 10
    laws = [gaussian_weights(sigma2 * each, reach) for each in (1, Fraction(102, 100))]
    draw = lambda size: SystemDice().discrete_gaussian(sigma2, size=size)  # noqa: E731
    check(draw, 1_000_000, *laws, first=-reach)


def test_a_narrow_gaussian_is_almost_surely_zero():
    """P[Z != 0] is 2.8e-11 at sigma2 = 1/50, so none of 30000 draws differs, but for one run in a million."""
    drawn = SystemDice().discrete_gaussian(Fraction(1, 50), size=30_000)
    assert not drawn.any()
    assert SystemDice().discrete_gaussian(Fraction(2, 25), size=30_000).any()  # P[Z != 0] = 2 exp(-6.25)


def test_a_few_draws_at_a_time():
    """Fewer than 64 draws from a new table take another way than the look-up."""
    ratios = [decay_ratio(each) for each in (Fraction(1, 7), Fraction(10, 77))]
    sampling._geometric_tables.cache_clear()
    sampling._gaussian_table.cache_clear()
    draw = lambda size: SystemDice().discrete_laplace(ratios[0], -100, 100, size=size)  # noqa: E731
    laws = [laplace_probabilities(ratio, -100, 100) for ratio in ratios]
    check(draw, 30_000, *laws, first=-100, chunk=60)
    draw = lambda size: SystemDice().discrete_gaussian(Fraction(900), size=size)  # noqa: E731
    laws = [gaussian_weights(sigma2, 310) for sigma2 in (Fraction(900), Fraction(1080))]
    check(draw, 20_000, *laws, first=-310, chunk=50)


def test_successive_draws_are_independent():
    """Pairs of neighbouring draws fit the product law; in the control 1 per cent are equal pairs."""
    ratio, reach = decay_ratio(HALF), 6
    drawn = SystemDice().discrete_laplace(ratio, -reach, reach, size=1_000_000) + reach
    side = 2 * reach + 1
    distribution = np.array([float(p) for p in laplace_probabilities(ratio, -reach, reach)])
    pairs = np.bincount(drawn[::2] * side + drawn[1::2], minlength=side * side)
    assert fits(pairs, np.outer(distribution, distribution).ravel())
    leaning = 0.99 * np.outer(distribution, distribution) + 0.01 * np.diag(distribution)
    assert not fits(pairs, leaning.ravel())
