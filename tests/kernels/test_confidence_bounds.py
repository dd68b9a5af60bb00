"""Bounds from counts lie outside the exact ones, by next to nothing.

Bounds on means: as Hoeffding's theorem has them, and valid for coins, whose tails are known exactly.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from math import comb, factorial

import pytest
from scipy.special import betainc
from scipy.stats import binom

from dplearn.kernels.confidence_bounds import mean_bounds, success_bounds

BERNOULLI = (
    Fraction(1, 6),
    Fraction(-1, 30),
    Fraction(1, 42),
    Fraction(-1, 30),
    Fraction(5, 66),
    Fraction(-691, 2730),
)


def exact_tail(hits: int, n: int, p: Fraction) -> Fraction:
    """Return P[Binomial(n, p) >= hits]."""
    return sum(comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(hits, n + 1))


def log_factorial(n: int) -> Decimal:
    """Return ln(n!), by Stirling's series to 30 digits where n is large."""
    if n < 1000:
        return Decimal(factorial(n)).ln()
    x, pi = Decimal(n), Decimal("3.14159265358979323846264338327950288419716939937510582")
    series = sum(
        Decimal(b.numerator) / (b.denominator * 2 * k * (2 * k - 1)) / x ** (2 * k - 1)
        for k, b in enumerate(BERNOULLI, 1)
    )
    return x * x.ln() - x + (2 * pi * x).ln() / 2 + series


def summed_tail(hits: int, n: int, p: float) -> float:
    """Return P[Binomial(n, p) >= hits], summed term by term with 60 digits; for hits above the mean."""
    with localcontext() as context:
        context.prec = 60
        q = Decimal(p)
        logs = log_factorial(n) - log_factorial(hits) - log_factorial(n - hits)
        term = (logs + hits * q.ln() + (n - hits) * (1 - q).ln()).exp()
        total, k = Decimal(0), hits
        while k <= n and term >= total * Decimal(10) ** -25:
            total += term
            term *= q / (1 - q) * (n - k) / (k + 1)
            k += 1
        return float(total)


@pytest.mark.parametrize("error", ["0.25", "0.01", "1e-6", "1e-30"])
@pytest.mark.parametrize("n", [1, 2, 7, 20, pytest.param(60, marks=pytest.mark.nightly)])
def test_the_bounds_keep_the_error_exactly(n, error):
    for hits in range(n + 1):
        low, high = success_bounds(hits, n, error)
        assert 0 <= low < high <= 1
        assert hits == 0 or exact_tail(hits, n, Fraction(low)) <= Fraction(error)
        assert hits == n or exact_tail(n - hits, n, 1 - Fraction(high)) <= Fraction(error)


@pytest.mark.parametrize("hits", range(1, 8))
def test_the_bounds_are_not_further_out_than_a_part_in_a_hundred_thousand(hits):
    low, high = success_bounds(hits, 9, "0.001")
    nearly = Fraction(10**5 + 1, 10**5)
    assert exact_tail(hits, 9, Fraction(low) * nearly) > Fraction(1, 1000)
    assert exact_tail(9 - hits, 9, (1 - Fraction(high)) * nearly) > Fraction(1, 1000)


@pytest.mark.parametrize(
    "n", [1000, 8_000_000, *[pytest.param(n, marks=pytest.mark.nightly) for n in (800_000, 10**9)]]
)
@pytest.mark.parametrize("share", [Fraction(1, 10**4), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10)])
@pytest.mark.parametrize("error", [1.25e-7, 0.01, 1e-30])
def test_many_trials_keep_the_error_and_betainc_errs_by_less_than_a_part_in_ten_million(n, share, error):
    hits = max(1, int(n * share))
    low, high = success_bounds(hits, n, error)
    tail = summed_tail(hits, n, low)
    assert (1 - 1e-5) * error < tail < error
    assert betainc(hits, n - hits + 1, low) == pytest.approx(tail, rel=1e-7, abs=0)
    assert summed_tail(n - hits, n, 1 - high) < error


def test_a_root_that_does_not_check_gives_no_bound(monkeypatch):
    monkeypatch.setattr("dplearn.kernels.confidence_bounds.betaincinv", lambda *_: 0.5)
    assert success_bounds(3, 10, "0.01") == (0, 1)
    assert (success_bounds(0, 50, "0.01")[0], success_bounds(50, 50, "0.01")[1]) == (0, 1)  # needs none


@pytest.mark.parametrize(
    ("hits", "n", "error"), [(-1, 10, 0.1), (11, 10, 0.1), (0, 0, 0.1), (1, 10, 0), (1, 10, 0.6)]
)
def test_what_is_out_of_range_is_refused(hits, n, error):
    with pytest.raises(ValueError, match="must be"):
        success_bounds(hits, n, error)


@pytest.mark.parametrize(("hits", "n"), [(0, 5), (3, 10), (10, 10), (20, 1000), (999, 1000)])
@pytest.mark.parametrize("error", [0.2, 1e-3, 1e-9])
def test_a_mean_beyond_a_bound_is_as_rare_as_it_says(hits, n, error):
    low, high = mean_bounds(hits / n, n, error)
    assert 0 <= low <= hits / n <= high <= 1
    assert binom.sf(hits - 1, n, low) <= error or low == 0
    assert binom.cdf(hits, n, high) <= error or high == 1


def test_bounds_on_small_means_are_nearer_than_hoeffdings_simple_ones():
    low, high = mean_bounds(0.01, 10_000, 0.025)
    simple = math.sqrt(math.log(40) / 20_000)
    assert high - 0.01 < simple / 3
    assert 0.01 - low < simple / 3
    assert mean_bounds(-1, 10, 0.1)[0] == 0
    assert mean_bounds(2, 10, 0.1)[1] == 1
