"""Checks return exact values, and each error names the parameter, the constraint and the value."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn._validation import as_fraction, check_choice, check_count, check_number, is_positive, shown

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)
numbers = st.fractions(min_value=-100, max_value=100, max_denominator=1000)

NO_NUMBERS = [None, True, np.True_, [1], 1j, b"1", np.array([1, 2]), np.array([])]


# as_fraction: more of it in kernels/test_exact.py


@pytest.mark.parametrize("scalar", [np.longdouble(0.5), np.float16(0.5), np.array(0.5)], ids=repr)
def test_numpy_scalars_are_numbers(scalar):
    assert as_fraction(scalar) == Fraction(1, 2)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_a_value_other_than_a_number_is_a_type_error(value):
    with pytest.raises(TypeError, match="expected a number"):
        as_fraction(value)


# check_number


@repeatable
@given(numbers, numbers, numbers)
def test_bounds_are_inclusive_or_exclusive_as_documented(value, a, b):
    least, most = min(a, b), max(a, b)
    cases = {
        "low": (least, value >= least),
        "high": (most, value <= most),
        "above": (least, value > least),
        "below": (most, value < most),
    }
    for name, (bound, inside) in cases.items():
        if inside:
            assert check_number("x", value, **{name: bound}) == value
        else:
            with pytest.raises(ValueError, match="x must be a finite number"):
                check_number("x", value, **{name: bound})


@pytest.mark.parametrize("bound", [0.1, 0.3, 0.7])
@pytest.mark.parametrize(
    ("side", "allowed"), [("low", True), ("high", True), ("above", False), ("below", False)]
)
def test_a_bound_written_as_a_float_is_its_shortest_decimal_as_the_value_is(bound, side, allowed):
    if allowed:
        assert check_number("x", bound, **{side: bound}) == Fraction(str(bound))
    else:
        with pytest.raises(ValueError, match="x must be"):
            check_number("x", bound, **{side: bound})


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (0.1, Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (Decimal("0.25"), Fraction(1, 4)),
        (7, 7),
        (np.int8(7), 7),
        (np.float32(0.1), Fraction(1, 10)),
    ],
    ids=repr,
)
def test_a_number_is_returned_exactly(value, exact):
    number = check_number("x", value, low=0)
    assert isinstance(number, Fraction)
    assert number == exact


@pytest.mark.parametrize(
    ("value", "bounds", "message"),
    [
        (-1, {"low": 0}, "rate must be a finite number at least 0, got -1"),
        (2.5, {"high": 2}, "rate must be a finite number at most 2, got 2.5"),
        (0, {"above": 0}, "rate must be a finite number above 0, got 0"),
        ("1", {"above": 0, "below": 1}, "rate must be a finite number above 0 and below 1, got '1'"),
        (
            9,
            {"low": Fraction(1, 2), "high": 8},
            "rate must be a finite number at least 0.5 and at most 8, got 9",
        ),
        (Fraction(51, 2), {"high": Fraction(25)}, "rate must be a finite number at most 25, got 25.5"),
        (Fraction(1, 30), {"low": Fraction(1, 3)}, "rate must be a finite number at least 1/3, got 1/30"),
        (
            Fraction(10**400),
            {"high": 1},
            f"rate must be a finite number at most 1, got {Fraction(10**400)!r}",
        ),
        (
            "1e-12",
            {"low": Fraction(1, 10**9)},
            "rate must be a finite number at least 1e-09, got '1e-12'",
        ),
        (float("nan"), {}, "rate must be a finite number, got nan"),
        (float("inf"), {"low": 0}, "rate must be a finite number at least 0, got inf"),
        ("many", {"low": 0}, "rate must be a finite number at least 0, got 'many'"),
    ],
    ids=str,
)
def test_a_number_out_of_bounds_is_refused_with_name_constraint_and_value(value, bounds, message):
    with pytest.raises(ValueError, match="must be") as refusal:
        check_number("rate", value, **bounds)
    assert str(refusal.value) == message


def written(value):
    """Return the text of a value in a message: for possible data, the type and the size."""
    if np.shape(value):
        return f"{type(value).__name__} of {'shape' if hasattr(value, 'shape') else 'length'} {_size(value)}"
    return repr(value)


def _size(value):
    return value.shape if hasattr(value, "shape") else len(value)


@pytest.mark.parametrize("value", NO_NUMBERS, ids=repr)
def test_a_parameter_that_is_no_number_is_a_type_error_with_name_constraint_and_value(value):
    with pytest.raises(TypeError, match="rate must be") as refusal:
        check_number("rate", value, above=0)
    assert str(refusal.value) == f"rate must be a finite number above 0, got {written(value)}"


def test_a_fraction_over_zero_is_refused_by_name():
    with pytest.raises(ValueError, match="rate must be a finite number, got '1/0'"):
        check_number("rate", "1/0")


# Python refuses to write integers of more than 4300 digits.


def test_a_number_too_long_to_be_written_is_accepted():
    assert check_number("rate", 10**5000, above=0) == 10**5000


@pytest.mark.parametrize("value", [-(10**5000), Fraction(-(10**5000), 3)], ids=["int", "Fraction"])
def test_a_number_too_long_to_be_written_is_refused_by_name_and_constraint(value):
    with pytest.raises(ValueError, match=r"^rate must be a finite number at least 0, got a number of type"):
        check_number("rate", value, low=0)


def test_a_count_too_long_to_be_written_is_accepted_or_refused_by_name_and_constraint():
    assert check_count("k", 10**5000) == 10**5000
    with pytest.raises(
        ValueError, match=r"^k must be an integer from 0 to 5, got a number of type int with too"
    ):
        check_count("k", 10**5000, high=5)
    with pytest.raises(TypeError, match=r"^k must be an integer at least 0, got a number of type Fraction"):
        check_count("k", Fraction(10**5000))


# check_count


@pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)], ids=repr)
def test_an_integer_is_returned_as_a_python_integer(value):
    assert type(check_count("k", value, low=3, high=3)) is int
    assert check_count("k", value, low=3, high=3) == 3


@pytest.mark.parametrize("value", [3.0, "3", True, np.True_, None, Fraction(3), np.float64(3)], ids=repr)
def test_a_value_other_than_an_integer_is_a_type_error(value):
    with pytest.raises(TypeError, match="k must be") as refusal:
        check_count("k", value, low=1)
    assert str(refusal.value) == f"k must be an integer at least 1, got {value!r}"


@pytest.mark.parametrize(
    ("value", "bounds", "message"),
    [
        (-1, {}, "k must be an integer at least 0, got -1"),
        (0, {"low": 1}, "k must be an integer at least 1, got 0"),
        (6, {"low": 1, "high": 5}, "k must be an integer from 1 to 5, got 6"),
        (-(10**30), {"high": 5}, f"k must be an integer from 0 to 5, got -{10**30}"),
    ],
    ids=str,
)
def test_an_integer_out_of_bounds_is_refused_with_name_constraint_and_value(value, bounds, message):
    with pytest.raises(ValueError, match="k must be") as refusal:
        check_count("k", value, **bounds)
    assert str(refusal.value) == message


def test_a_count_has_no_upper_end_unless_one_is_given():
    assert check_count("k", 10**400) == 10**400


# check_choice


def test_a_choice_is_returned():
    assert check_choice("side", "left", ("left", "right")) == "left"


@pytest.mark.parametrize("value", ["Left", "", None, 0, ["left"]], ids=repr)
def test_an_invalid_choice_is_refused_with_name_choices_and_value(value):
    with pytest.raises(ValueError, match="side must be") as refusal:
        check_choice("side", value, ("left", "right"))
    assert str(refusal.value) == f"side must be one of 'left', 'right', got {written(value)}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (pd.DataFrame({"wage": [4711.0, 4712.0]}), "DataFrame of shape (2, 1)"),
        (pd.Series([4711.0]), "Series of shape (1,)"),
        (np.array([4711.0, 1.0]), "ndarray of shape (2,)"),
        ([4711.0], "list of length 1"),
        ({4711.0: 1}, "dict of length 1"),
        (np.float64(0.5), "np.float64(0.5)"),
        ("4711", "'4711'"),
    ],
)
def test_of_a_table_that_is_given_for_a_number_no_cell_is_shown(value, text):
    assert shown(value) == text
    with pytest.raises(TypeError) as refusal:
        check_count("n_samples", value)
    assert str(refusal.value) == f"n_samples must be an integer at least 0, got {text}"


@pytest.mark.parametrize(
    ("value", "found"), [(0.5, True), ("1/3", True), (0, False), (-1, False), ("many", False), (None, False)]
)
def test_whether_a_parameter_is_positive_is_known_before_it_is_checked(value, found):
    assert is_positive(value) is found
