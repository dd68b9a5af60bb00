"""Gaussian differential privacy: the exact epsilon and delta of sums with Gaussian noise.

A release is mu-Gaussian-DP if on any two neighbours its outputs are a function, possibly with chance of its
own, of a normal number of variance 1 whose mean is 0 on the one and mu on the other. Its delta at epsilon is
then at most

    delta_mu(epsilon) = P[Z > a] - exp(epsilon) P[Z > a + mu],   a = epsilon / mu - mu / 2.

Adaptive releases compose: mu^2 adds. Discrete Gaussian noise on integers is Gaussian-DP, too, but for a small
additional variance and a tiny probability of failure: see `sums_sigma2` and docs/theory/noisy_counts.md.
"""

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from scipy.special import log_ndtr

from dplearn.kernels import exp_bounds, root_above
from dplearn.kernels.exact import decay_bounds
from dplearn.kernels.search import between
from dplearn.privacy.conversion import concentrated_epsilon, log_float, rounded_up

#: The variance of discrete Gaussian noise that pays for its being discrete (docs/theory/noisy_counts.md).
SLACK = 4
#: The most integers with such noise in one release; with SLACK, they fail with probability below FAILURE.
MOST_NUMBERS = 1 << 32
FAILURE = Fraction(1, 1 << 79)
#: The greatest epsilon for which delta is computed.
LARGEST_EPSILON = 64

_SPARE = 64  # bits of delta
_STEPS = 30
_PRECISION = 2.0**-30
_BELOW = 1 - Fraction(1, 1 << 32)


def sums_sigma2(squared_l2: int, budget: Fraction) -> Fraction:
    """Return the variance parameter of discrete Gaussian noise on integers with a budget of mu^2 / 2.

    **Privacy.** Releases of at most MOST_NUMBERS integers, for neighbours at a squared Euclidean distance of
    at most `squared_l2`, are mu-Gaussian-DP together, except with probability FAILURE, where mu^2 / 2 is the
    sum of the budgets, also adaptive ones; and zero-concentrated with that sum as rho, without a failure.

    **Source.** Gaussian-DP is by Dong, Roth and Su (2022); the proof in docs/theory/noisy_counts.md is ours.
    """
    return Fraction(squared_l2) / (2 * budget) + SLACK


def mu2_of_gaussian(squared_l2: Fraction, sigma2: Fraction) -> Fraction | None:
    """Return mu^2 of discrete Gaussian noise with a variance parameter, or None if that is at most SLACK."""
    return squared_l2 / (sigma2 - SLACK) if sigma2 > SLACK else None


def mu2_of_pure(epsilon: Fraction) -> Fraction:
    """Return an upper bound on mu^2 of an epsilon private release, pi epsilon^2 / 2."""
    # A release of bounded range epsilon has a quarter of it (docs/theory/noisy_counts.md).
    return epsilon**2 * pi_bounds(64)[1] / 2


def without_failure(delta: Fraction, failure: Fraction = FAILURE) -> Fraction:
    """Return the delta that remains for Gaussian-DP after a probability of failure; not positive if none."""
    return (delta - failure) / (1 - failure) if failure < 1 else Fraction(0)


def delta_of_mu(mu: Fraction, epsilon: Fraction, bits: int) -> Fraction:
    """Return an upper bound on the delta of Gaussian-DP, too great by less than 2**-bits."""
    return _delta_and_tail(mu, epsilon, bits)[0]


def _delta_and_tail(mu: Fraction, epsilon: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Return an upper bound on the delta, and a lower bound on exp(epsilon) P[Z > a + mu]."""
    place = bits + 2 + math.ceil(epsilon)  # a and a + mu are rounded: shorter numbers are faster
    a = Fraction(math.floor((epsilon / mu - mu / 2) * (1 << place)), 1 << place)
    b = Fraction(math.ceil((epsilon / mu + mu / 2) * (1 << place)), 1 << place)
    more = math.ceil(epsilon * Fraction(3, 2)) + 2  # exp(epsilon) < 2**(more - 2)
    far = exp_bounds(epsilon, 20 + (bits + more) // 3)[0] * tail_bounds(b, bits + more)[0]
    return tail_bounds(a, bits + 2)[1] - far, far


def _bits_for(delta: Fraction) -> int:
    return _SPARE + math.ceil(-log_float(delta) / math.log(2))


def greatest_mu(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the greatest mu, to one part in 2**29, whose epsilon at `delta` is still at most `epsilon`."""
    bits, log = _bits_for(delta), -log_float(delta)
    fits = between(
        lambda mu: delta_of_mu(Fraction(mu), epsilon, bits) <= delta,
        0,
        math.inf,
        1 / math.sqrt(float_sigma2(float(epsilon), -log)),
    )
    # The mu of zero-concentrated privacy with rho + 2 sqrt(rho ln(1 / delta)) = epsilon.
    low = math.sqrt(2) * float(epsilon) / (math.sqrt(log + float(epsilon)) + math.sqrt(log))
    while not fits(low):
        low /= 2
    high = 1.25 * low
    while fits(high):
        low, high = high, 1.25 * high
    while high - low > _PRECISION * low:
        middle = (low + high) / 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return Fraction(low) * _BELOW


def float_sigma2(epsilon: float, log_delta: float) -> float:
    """Return the variance with which a normal number on integers 1 apart has a guarantee, in floats."""

    def log_excess(sigma2: float) -> float:
        ratio = 1 / math.sqrt(sigma2)
        above, below = log_ndtr([ratio / 2 - epsilon / ratio, -ratio / 2 - epsilon / ratio])
        share = -math.expm1(min(0.0, epsilon + below - above))
        return float(above) + math.log(max(share, 1e-300)) - log_delta

    return root_of_falling(log_excess, 1.0)


def root_of_falling(falling: Callable[[float], float], guess: float) -> float:
    """Return the zero of a decreasing function of a positive number."""
    from scipy.optimize import brentq  # its import takes long

    low, high = guess / 1.1, guess * 1.1
    while falling(low) <= 0:
        low /= 2
    while falling(high) > 0:
        high *= 2
    return float(brentq(falling, low, high, xtol=1e-300, rtol=1e-14))


@lru_cache(maxsize=1024)
def least_epsilon_of_mu2(
    mu2: Fraction, delta: Fraction, below: Fraction | float = math.inf
) -> Fraction | float:
    """Return the least epsilon of Gaussian-DP at a delta, rounded up to 12 digits; infinity if above `below`.

    ln delta_mu is concave in epsilon, a convolution of the log-concave tail of the normal privacy loss and
    exp(-u), u > 0. So its tangents are above it, and Newton's steps from the epsilon of rho = mu^2 / 2, which
    suffices, lead to smaller ones that suffice.
    """
    if not mu2:
        return Fraction(0)
    known = concentrated_epsilon(mu2 / 2, delta)
    epsilon = Fraction(min(known, below, LARGEST_EPSILON))
    least: Fraction | float = known if known == epsilon else math.inf
    mu, bits = root_above(mu2), _bits_for(delta)
    for _ in range(_STEPS):
        reached, far = _delta_and_tail(mu, epsilon, bits)
        if reached > delta:
            break
        least = epsilon
        epsilon = max(Fraction(0), epsilon - _step(reached, far, delta)) if far else epsilon
        if least - epsilon <= least / 10**13:
            break
    return least if least == math.inf else rounded_up(Fraction(least))


def _step(reached: Fraction, far: Fraction, delta: Fraction) -> Fraction:
    """Return Newton's step for ln delta, whose derivative is -far / reached, slightly shortened."""
    step = math.log1p(float(delta / reached - 1)) * float(reached / far)
    return Fraction(step * (1 - 2.0**-30))


_GUARD = 20  # additional bits: the error of pi is below 2**20 units for up to 10,000 bits


@lru_cache(maxsize=16)
def pi_bounds(bits: int) -> tuple[Fraction, Fraction]:
    """Return rationals around pi = 16 arctan(1/5) - 4 arctan(1/239), 2**-bits apart, for <= 10,000 bits."""
    unit = 1 << (bits + _GUARD)
    (low5, high5), (low239, high239) = _arctan(5, unit), _arctan(239, unit)
    return Fraction(16 * low5 - 4 * high239, unit), Fraction(16 * high5 - 4 * low239, unit)


def _arctan(n: int, unit: int) -> tuple[int, int]:
    """Return integers below and above unit * arctan(1 / n)."""
    power, total, terms = unit // n, 0, 0
    while power:
        total += (-1) ** terms * (power // (2 * terms + 1))
        power //= n * n
        terms += 1
    # Each term is rounded down by less than 2; the terms left out add up to less than 1.
    return total - 2 * terms - 1, total + 2 * terms + 1


def tail_bounds(x: Fraction, bits: int) -> tuple[Fraction, Fraction]:
    """Return rationals around P[Z > x] for a standard normal Z, 2**-bits apart for 40 to 2,000 bits."""
    # For x > 0, 1/2 - P[Z > x] is the sum of the terms phi(x) x^(2k+1) / (1 3 5 ... (2k+1)), all positive:
    # both sides are 0 at 0, and have the derivative phi(x). Lower bounds on terms are rounded down, upper
    # ones up.
    if x < 0:
        mirrored = tail_bounds(-x, bits)
        return 1 - mirrored[1], 1 - mirrored[0]
    square = x * x
    if square >= 2 * bits:  # P[Z > x] <= exp(-x^2 / 2) / 2 < 2**-bits
        return Fraction(0), Fraction(1, 1 << bits)
    # The sum magnifies the relative error of the density, which is about exp(-x^2 / 2).
    fine = bits + _GUARD + math.ceil(Fraction(3, 4) * square)
    unit = 1 << fine
    least, most = _density(x, fine)
    floor = square.numerator * unit // square.denominator  # of unit * square
    low = least * x.numerator // x.denominator
    high = -(-most * x.numerator // x.denominator)
    below, above, odd = low, high, 1
    while high > 2 or odd < 2 * square:
        odd += 2
        low = (low * floor >> fine) // odd
        high = (high * (floor + 1) >> fine) // odd + 1
        below, above = below + low, above + high
    # Each further term is at most half of the one before, so they add up to at most the last one.
    above += high
    return Fraction(unit - 2 * above, 2 * unit), Fraction(unit - 2 * below, 2 * unit)


def _density(x: Fraction, bits: int) -> tuple[int, int]:
    """Return integers below and above 2**bits * exp(-x^2 / 2) / sqrt(2 pi)."""
    low, high = decay_bounds(x * x, 20 + bits // 3, 2 * bits)
    least, most = pi_bounds(bits)
    unit = 1 << (2 * bits)
    return (
        math.isqrt(math.floor(unit * low / (2 * most))),
        math.isqrt(math.floor(unit * high / (2 * least))) + 1,
    )
