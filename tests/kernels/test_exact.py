"""Enclosures enclose, comparisons are exact, ratios are on the safe side and tight."""

import math
import sys
from decimal import Decimal
from fractions import Fraction
from math import ceil, floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn._validation import as_fraction
from dplearn.kernels.exact import (
    at_most_exp,
    decay_ratio,
    exp_bounds,
    fixed_decay,
    fixed_power,
    float_above,
    log_bounds,
    short_above,
)

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)
exponents = st.fractions(min_value=-60, max_value=60, max_denominator=10**9).filter(bool)

BITS = 1500  # of the reference: exp(-700) is about 2**-1010, so 490 of them are left there


def exp_by_series(x: Fraction) -> tuple[Fraction, Fraction]:
    """Enclose exp(x) without the decimal module: Taylor's series at x / 2**k, squared k times."""
    halvings = ceil(abs(x)).bit_length() + 1
    y = x / 2**halvings
    low = high = term = 1 << BITS
    for n in range(1, 200):
        # |y| <= 1/2, so what is rounded here and left out after 200 terms is below 400 units in all.
        term = floor(term * y / n)
        low, high = low + term, high + term
    low, high = low - 400, high + 400
    for _ in range(halvings):
        low, high = low * low >> BITS, (high * high >> BITS) + 1
    return Fraction(low, 1 << BITS), Fraction(high, 1 << BITS)


# exp_bounds


@repeatable
@given(exponents, st.integers(5, 80))
def test_exp_bounds_enclose_the_series(x, digits):
    low, high = exp_bounds(x, digits)
    series_low, series_high = exp_by_series(x)
    assert low < series_low <= series_high < high
    assert high - low < Fraction(10) ** (3 - digits) * series_low
    for far in (Fraction(1, 10**30), Fraction(-1, 10**12), Fraction(-700), Fraction(700)):
        low, high = exp_bounds(far)
        series_low, series_high = exp_by_series(far)
        assert low < series_low <= series_high < high


def test_at_0_and_1_bounds_are_exact_and_what_has_none_is_refused():
    assert exp_bounds(Fraction(0)) == (1, 1)
    assert log_bounds(Fraction(1)) == (0, 0)
    assert at_most_exp(Fraction(1), Fraction(0))
    assert not at_most_exp(Fraction(10**40 + 1, 10**40), Fraction(0))
    assert decay_ratio(Fraction(701)) == decay_ratio(Fraction(10**6)) == decay_ratio(Fraction(700))
    for function, wrong, words in (
        (log_bounds, Fraction(0), "positive"),
        (log_bounds, Fraction(-1, 3), "positive"),
        (decay_ratio, Fraction(0), "positive rate"),
        (decay_ratio, Fraction(-1, 2), "positive rate"),
        (short_above, Fraction(-1, 3), "short_above needs a nonnegative number"),
        (short_above, Fraction(-1, 10**50), "short_above needs a nonnegative number"),
    ):
        with pytest.raises(ValueError, match=words):
            function(wrong)


# fixed_decay and fixed_power


@repeatable
@given(exponents.map(abs), st.integers(0, 400))
def test_fixed_point_bounds_enclose_the_series_and_are_at_most_two_apart(rate, bits):
    low, high = fixed_decay(rate, bits)
    series_low, series_high = (bound * (1 << bits) for bound in exp_by_series(-rate))
    assert 0 <= low <= series_low
    assert series_high <= high <= 1 << bits
    assert high - low <= 2


def test_fixed_point_bounds_hold_for_rates_of_any_size():
    assert fixed_decay(Fraction(0), 64) == (1 << 64, 1 << 64)
    assert fixed_decay(Fraction(10**40), 64) == (0, 1)
    # 1 - 10**-40 rounds to one at this precision.
    assert fixed_decay(Fraction(1, 10**40), 64) == ((1 << 64) - 1, 1 << 64)
    assert fixed_decay(Fraction(1, 1 << 100), 100)[1] == 1 << 100
    assert fixed_decay(Fraction(1, 1 << 100), 128)[1] <= (1 << 128) - (1 << 28) + 1


@repeatable
@given(
    st.fractions(min_value=0, max_value=1, max_denominator=10**9),
    st.integers(0, 300),
    st.integers(1, 120),
    st.integers(0, 9),
)
def test_fixed_powers_are_too_low_by_no_more_than_they_say(b, exponent, bits, error):
    base = max(0, floor(b * (1 << bits)) - error)
    lost = b**exponent * (1 << bits) - fixed_power(base, exponent, bits)
    # The base is too low by less than error + 1 units.
    assert 0 <= lost <= max(0, exponent * (error + 2) - 1)


def test_half_of_what_fixed_powers_may_be_too_low_by_is_not_enough():
    losses = []
    for bits in range(64, 96):
        b = 1 - Fraction(7, 10**9)
        power = fixed_power(floor(b * (1 << bits)), 255, bits)
        losses.append((b**255 * (1 << bits) - power) / (2 * 255 - 1))
    assert Fraction(1, 2) < max(losses) <= 1


# log_bounds


@repeatable
@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**12).filter(lambda z: z != 1))
def test_log_bounds_enclose(z):
    low, high = log_bounds(z)
    assert exp_by_series(low)[1] < z < exp_by_series(high)[0]  # exp is increasing
    assert high - low < Fraction(1, 10**35) * max(abs(low), abs(high), 1)


@pytest.mark.parametrize("z", ["Fraction(10**50 + 1, 10**50)", "Fraction(10**50 - 1, 10**50)"])
def test_log_bounds_of_a_number_very_near_one_end(z, program):
    # Was (dplearn/kernels/exact.py, log_bounds): z rounds to 1 at 40 digits, ln(1) is 0, and the next number
    # below (or above) 0 is 1E-1999999999999999997, whose Fraction takes for ever. More digits are needed
    # near 1.
    ended = program(
        "from fractions import Fraction\n"
        "from dplearn.kernels.exact import log_bounds\n"
        f"z = {z}\n"
        "low, high = log_bounds(z)\n"
        "assert low < z - 1 and (z - 1) / z < high",  # 1 - 1/z < ln(z) < z - 1
        seconds=4,
    )
    assert ended.returncode == 0, ended.stderr


# at_most_exp


@pytest.mark.parametrize(
    "x", [Fraction(1), Fraction(-1), Fraction(1, 3), Fraction(-700), Fraction(1, 10**20)]
)
@pytest.mark.parametrize("distance", [10, 35, 60, 100])
def test_at_most_exp_decides_rationals_that_agree_with_exp_in_many_digits(x, distance):
    low, high = exp_by_series(x)
    # Within 10**-distance of exp(x), relatively; the series is known far more finely than that.
    assert at_most_exp(low * (1 - Fraction(1, 10**distance)), x)
    assert not at_most_exp(high * (1 + Fraction(1, 10**distance)), x)


@repeatable
@given(exponents, st.fractions(min_value=-10, max_value=10**6))
def test_at_most_exp_agrees_with_the_series(x, z):
    low, high = exp_by_series(x)
    assert not low < z < high
    assert at_most_exp(z, x) == (z <= low)


# decay_ratio

RATES = [Fraction(10) ** k for k in range(-12, 7)] + [Fraction(699), Fraction(700), Fraction(1, 3)]


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_decay_ratio_is_never_below_exp_and_tight_in_itself_and_in_its_distance_from_one(rate):
    ratio = decay_ratio(rate)
    low, high = exp_by_series(-min(rate, Fraction(700)))
    assert high <= ratio < 1
    assert ratio <= low * (1 + Fraction(1, 2**31))
    assert 1 - ratio >= (1 - low) * (1 - Fraction(1, 2**31))


@repeatable
@given(st.fractions(min_value=Fraction(1, 10**12), max_value=10**6))
def test_decay_ratio_errs_only_towards_more_noise(rate):
    ratio = decay_ratio(rate)
    assert exp_by_series(-min(rate, Fraction(700)))[1] <= ratio < 1
    assert ratio.denominator & (ratio.denominator - 1) == 0


# as_fraction


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (0.1, Fraction(1, 10)),
        (1e-300, Fraction(1, 10**300)),
        (-2.5, Fraction(-5, 2)),
        (3, Fraction(3)),
        (Fraction(2, 3), Fraction(2, 3)),
        ("0.1", Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (Decimal("0.10"), Fraction(1, 10)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (np.float16(0.1), Fraction(1, 10)),
        (np.int64(-7), Fraction(-7)),
        (np.uint8(255), Fraction(255)),
    ],
)
def test_a_number_is_the_decimal_it_is_written_as(value, exact):
    assert as_fraction(value) == exact


@pytest.mark.parametrize(
    "value",
    [
        *(True, np.True_, None, 1 + 0j, np.complex128(1), b"1", [1]),
        *(
            math.nan,
            math.inf,
            -math.inf,
            np.float64("nan"),
            np.float32("inf"),
            Decimal("NaN"),
            Decimal("sNaN"),
        ),
        *(Decimal("-Infinity"), "nan", "inf", "one", "", "1/0"),
    ],
    ids=repr,
)
def test_what_is_no_finite_number_has_no_fraction(value):
    error = ValueError if isinstance(value, (str, float, np.floating, Decimal)) else TypeError
    with pytest.raises(error, match=r"finite|Invalid literal|expected a number"):
        as_fraction(value)


@pytest.mark.parametrize(
    "x", [Fraction(1, 3), Fraction(1, 10), Fraction(-1, 3), Fraction(10**30 + 1), Fraction(1, 10**400)]
)
def test_the_float_above_is_the_least_that_is_not_below(x):
    above = float_above(x)
    assert above >= x > Fraction(math.nextafter(above, -math.inf))
    assert float_above(Fraction(10**400)) == math.inf
    assert float_above(Fraction(-(10**400))) == -sys.float_info.max


@pytest.mark.parametrize(
    "x", [Fraction(1, 3), Fraction(10**30, 7919), Fraction(1, 3 * 10**50), Fraction("1e-41")]
)
def test_long_numbers_become_short_ones_just_above(x):
    above = short_above(x)
    assert x < above <= x * (1 + Fraction(1, 2**99))
    assert above.numerator.bit_length() <= 102
    assert above.denominator.bit_count() == 1
    for short in (Fraction(0), Fraction(7), Fraction(1, 10), Fraction("1e-40"), Fraction(3, 2**60)):
        assert short_above(short) == short


def test_logarithms_of_numbers_of_more_digits_than_python_writes():
    low, high = log_bounds(Fraction(10**5000), 20)
    ten = log_bounds(Fraction(10), 40)
    assert low <= 5000 * ten[0] <= 5000 * ten[1] <= high
    assert high - low < Fraction(1, 10**14)
