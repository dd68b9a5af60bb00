"""Checks return exact values, and each error names the parameter, the constraint and the value."""

from decimal import Decimal
from fractions import Fraction
from itertools import product

import numpy as np
import pandas as pd
import pytest

from dplearn._validation import as_fraction, check_choice, check_count, check_number, is_positive, shown

NO_NUMBERS = [None, True, np.True_, [1], 1j, b"1", np.array([1, 2]), np.array([])]
LONG = 10**5000  # Python refuses to write integers of more than 4300 digits
SIDES = {"low": True, "high": True, "above": False, "below": False}  # whether the bound itself is inside


def test_bounds_are_inclusive_or_exclusive_as_documented():
    values = [Fraction(each, 3) for each in range(-2, 3)]
    for value, bound, (side, inclusive) in product(values, values, SIDES.items()):
        beyond = value < bound if side in ("low", "above") else value > bound
        if not beyond and (inclusive or value != bound):
            assert check_number("x", value, **{side: bound}) == value
        else:
            with pytest.raises(ValueError, match="x must be a finite number"):
                check_number("x", value, **{side: bound})
    for side in ("low", "high"):  # a float bound is its shortest decimal, as values are
        assert check_number("x", 0.1, **{side: 0.1}) == Fraction(1, 10)


@pytest.mark.parametrize(
    ("value", "exact"),
    [
        (0.1, Fraction(1, 10)),
        ("1/3", Fraction(1, 3)),
        (Decimal("0.25"), Fraction(1, 4)),
        (7, 7),
        (np.float32(0.1), Fraction(1, 10)),
        (np.longdouble(0.5), Fraction(1, 2)),
        (np.array(0.5), Fraction(1, 2)),
        (LONG, LONG),
    ],
    ids=range(8),
)
def test_a_number_is_returned_exactly(value, exact):
    number = check_number("x", value, low=0)
    assert isinstance(number, Fraction)
    assert number == exact == as_fraction(value)


NUMBER, COUNT = "rate must be a finite number", "k must be an integer"


@pytest.mark.parametrize(
    ("check", "value", "bounds", "message"),
    [
        (check_number, -1, {"low": 0}, f"{NUMBER} at least 0, got -1"),
        (check_number, "1", {"above": 0, "below": 1}, f"{NUMBER} above 0 and below 1, got '1'"),
        (check_number, 9, {"low": Fraction(1, 2), "high": 8}, f"{NUMBER} at least 0.5 and at most 8, got 9"),
        (check_number, Fraction(51, 2), {"high": Fraction(25)}, f"{NUMBER} at most 25, got 25.5"),
        (check_number, Fraction(1, 30), {"low": Fraction(1, 3)}, f"{NUMBER} at least 1/3, got 1/30"),
        (check_number, Fraction(10**400), {"high": 1}, f"{NUMBER} at most 1, got a number above 1e300"),
        (check_number, "1e-12", {"low": Fraction(1, 10**9)}, f"{NUMBER} at least 1e-09, got '1e-12'"),
        (check_number, float("nan"), {}, f"{NUMBER}, got nan"),
        (check_number, float("inf"), {"low": 0}, f"{NUMBER} at least 0, got inf"),
        (check_number, "many", {"low": 0}, f"{NUMBER} at least 0, got 'many'"),
        (check_number, "1/0", {}, f"{NUMBER}, got '1/0'"),
        (check_number, -LONG, {"low": 0}, f"{NUMBER} at least 0, got a number below -1e300"),
        (check_number, Fraction(-LONG, 3), {"low": 0}, f"{NUMBER} at least 0, got a number below -1e300"),
        (check_count, -1, {}, f"{COUNT} at least 0, got -1"),
        (check_count, 6, {"low": 1, "high": 5}, f"{COUNT} from 1 to 5, got 6"),
        (check_count, -(10**30), {"high": 5}, f"{COUNT} from 0 to 5, got -{10**30}"),
        (check_count, LONG, {"high": 5}, f"{COUNT} from 0 to 5, got a number of type int with too"),
    ],
    ids=range(17),
)
def test_a_number_out_of_bounds_is_refused_with_name_constraint_and_value(check, value, bounds, message):
    with pytest.raises(ValueError, match="must be") as refusal:
        check("rate" if check is check_number else "k", value, **bounds)
    assert str(refusal.value).startswith(message) if "of type" in message else str(refusal.value) == message


def test_a_value_of_another_type_is_a_type_error_with_name_constraint_and_value():
    for value in NO_NUMBERS:
        with pytest.raises(TypeError, match="expected a number"):
            as_fraction(value)
        with pytest.raises(TypeError) as refusal:
            check_number("rate", value, above=0)
        assert str(refusal.value) == f"rate must be a finite number above 0, got {shown(value)}"
    for value in (3.0, "3", True, np.True_, None, Fraction(3), np.float64(3)):
        with pytest.raises(TypeError) as refusal:
            check_count("k", value, low=1)
        assert str(refusal.value) == f"k must be an integer at least 1, got {value!r}"
    with pytest.raises(TypeError, match=r"^k must be an integer at least 0, got a number of type Fraction"):
        check_count("k", Fraction(LONG))
    for value in ("Left", "", None, 0, ["left"]):
        with pytest.raises(ValueError, match="side must be") as refusal:
            check_choice("side", value, ("left", "right"))
        assert str(refusal.value) == f"side must be one of 'left', 'right', got {shown(value)}"


def test_what_is_allowed_is_returned():
    for value in (3, np.int64(3), np.uint8(3)):
        assert type(check_count("k", value, low=3, high=3)) is int
        assert check_count("k", value, low=3, high=3) == 3
    assert check_count("k", LONG) == LONG
    assert check_choice("side", "left", ("left", "right")) == "left"
    for value, found in ((0.5, True), ("1/3", True), (0, False), (-1, False), ("many", False), (None, False)):
        assert is_positive(value) is found


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
