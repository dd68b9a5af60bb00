"""Codes of numbers depend on the number alone, keep its order, and mean what the words say.

Ranges of integers of any size: codes are the numbers' places, and texts stay short.
"""

import copy
import math
import pickle
import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.domains import DomainError, Floats, Grid, IntegerRange, LargeIntegerRange, Schema

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=80)

INT64 = (-(2**63), 2**63 - 1)
LARGEST = sys.float_info.max
TINY = 5e-324  # the smallest subnormal


def holds(words, value):
    """Whether the words of a test are true of a value, read as a person would."""
    if math.isnan(value):
        return words.endswith("missing)") or words == "is missing"
    words = words.removesuffix(" (or missing)")
    if words in ("is any number", "is missing"):
        return words == "is any number"
    sign, text = words.split()
    bound = int(text) if text.lstrip("-").isdigit() else float(text)
    return value < bound if sign == "<" else value <= bound


def check_codes(domain, values):
    """Check what every ordered domain guarantees of an array of its values; return their codes."""
    codes = domain.encode(values)
    assert codes.dtype.kind == "u"
    assert codes.shape == values.shape
    flat, numbers = codes.ravel().tolist(), values.ravel().tolist()
    assert all(0 <= code < domain.size for code in flat)
    one_by_one = [domain.encode(values.ravel()[i : i + 1]).item() for i in range(values.size)]
    assert flat == one_by_one
    ordered = [code for number, code in sorted(zip(numbers, flat, strict=True)) if not math.isnan(number)]
    assert ordered == sorted(ordered)
    assert domain.nearest(values).tolist() == codes.tolist()
    return codes


# IntegerRange

ends = st.integers(*INT64) | st.integers(-20, 20) | st.sampled_from([*INT64, INT64[0] + 1, INT64[1] - 1])


@st.composite
def ranges_with_values(draw, end=ends):
    low, high = sorted((draw(end), draw(end)))
    low = max(low, high - 2**64 + 2)
    inside = st.integers(low, high) | st.sampled_from([low, high])
    return IntegerRange(low, high), draw(st.lists(inside, min_size=1, max_size=8))


@repeatable
@given(ranges_with_values())
def test_the_code_of_an_integer_is_its_distance_from_the_low_end(case):
    domain, values = case
    codes = check_codes(domain, np.array(values, dtype=np.int64))
    assert codes.tolist() == [value - domain.low for value in values]
    if domain.low >= 0:
        assert domain.encode(np.array(values, dtype=np.uint64)).tolist() == codes.tolist()


@repeatable
@given(ranges_with_values(st.integers(-(2**53) + 1, 2**53 - 1) | st.integers(-9, 9)))
def test_whole_floats_are_integers(case):
    domain, values = case
    codes = check_codes(domain, np.array(values, dtype=np.float64))
    assert codes.tolist() == [value - domain.low for value in values]


@pytest.mark.parametrize(
    ("low", "high", "value"),
    [
        (0, 2**53 + 1, 2**53),
        (0, 2**62 + 1, 2**62),
        (-(2**53) - 1, 0, -(2**53)),
        (-(2**63), 0, -(2**63)),
        (0, 2**63 - 1, 2**63 - 1024),
        (-(2**63) + 1, 2**63 - 1, 2**53),
    ],
)
def test_large_whole_floats_within_the_range_have_the_codes_of_their_integers(low, high, value):
    domain = IntegerRange(low, high)
    assert domain.encode(np.array([float(value)])).tolist() == [value - low]


@pytest.mark.parametrize(
    ("low", "high", "value"),
    [
        (2**53 + 1, 2**53 + 10, 2.0**53),
        (-(2**63) + 1, 2**63 - 1, -(2.0**63)),
        (0, 2**63 - 1, 2.0**63),
        (-10 - 2**53, -1 - 2**53, -(2.0**53)),
        (2**24 + 1, 2**24 + 10, np.float32(2**24)),
    ],
)
def test_floats_just_outside_the_range_are_refused_and_clipped(low, high, value):
    # An end rounded to the array's type lets 2**53 pass for 2**53 + 1, and value - low wrap round.
    values = np.array([value])
    end = 0 if float(value) < low else high - low
    assert IntegerRange(low, high, outside="clip").encode(values).tolist() == [end]
    assert IntegerRange(low, high).nearest(values).tolist() == [end]
    with pytest.raises(DomainError, match="outside"):
        IntegerRange(low, high).encode(values)


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**62 + 1], ids=str)
def test_integers_in_an_array_of_objects_are_exact(value):
    domain = IntegerRange(value - 5, value + 5)
    assert domain.encode(np.array([value], dtype=object)).tolist() == [5]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int8, np.uint8, bool, object])
def test_ends_that_the_type_of_a_column_cannot_hold_are_no_hindrance(dtype):
    assert IntegerRange(-(10**12), 10**12).encode(np.array([1, 0], dtype=dtype)).tolist() == [
        10**12 + 1,
        10**12,
    ]


def test_the_ends_of_64_bits_have_codes():
    domain = IntegerRange(INT64[0] + 1, INT64[1])
    assert domain.size == 2**64 - 1
    assert domain.encode(np.array([INT64[0] + 1, 0, INT64[1]])).tolist() == [0, 2**63 - 1, 2**64 - 2]
    assert IntegerRange(INT64[0], -1).encode(np.array(INT64[:1])).tolist() == [0]


@pytest.mark.parametrize(
    "values",
    [
        np.array([4]),
        np.array([-1]),
        np.array([2**64 - 1], dtype=np.uint64),
        np.array([2**63], dtype=np.uint64),
        np.array([INT64[0]]),
        np.array([0.5]),
        np.array([1e300]),
        np.array([np.nan]),
        np.array([np.inf]),
        np.array([-np.inf], dtype=np.float32),
        np.array([None, 1]),
        np.array([pd.NA, 1]),
        np.array([10**30]),
        np.array(["1"]),
        np.array(["one"], dtype=object),
        np.array([1 + 0j]),
        np.array(["2020-01-01"], dtype="datetime64[D]"),
        np.array([[1], [1, 2]], dtype=object),
    ],
    ids=repr,
)
def test_what_is_no_integer_of_the_range_is_refused(values):
    with pytest.raises(DomainError, match=r"outside the declared domain IntegerRange\(low=0, high=3"):
        IntegerRange(0, 3).encode(values)


def test_a_finite_number_beyond_all_floats_counts_as_the_largest():
    codes = Floats().encode(np.array([10**400, -(10**400), sys.float_info.max], dtype=object))
    assert codes.tolist() == [Floats().size - 1, 0, Floats().size - 1]


@pytest.mark.parametrize("domain", [IntegerRange(0, 3), Grid(0, 1)], ids=repr)
def test_an_integer_too_large_for_a_float_is_refused_as_any_other_value(domain):
    with pytest.raises(DomainError, match="outside"):
        domain.encode(np.array([10**400, 1], dtype=object))


@pytest.mark.parametrize("dtype", [str, object])
def test_text_is_no_number_whatever_the_type_of_the_array(dtype):
    with pytest.raises(DomainError, match="outside"):
        Floats().encode(np.array(["1"], dtype=dtype))


@repeatable
@given(
    st.integers(-50, 50),
    st.integers(0, 30),
    st.lists(st.floats(-1e300, 1e300) | st.integers(-99, 99), min_size=1),
)
def test_clipping_moves_numbers_down_to_an_integer_and_into_the_range(low, width, values):
    domain = IntegerRange(low, low + width, outside="clip")
    codes = check_codes(domain, np.array(values, dtype=np.float64))
    assert codes.tolist() == [min(max(math.floor(value), low), low + width) - low for value in values]
    assert (
        IntegerRange(low, low + width).nearest(np.array(values, dtype=np.float64)).tolist() == codes.tolist()
    )


@pytest.mark.parametrize("values", [[2**64 - 1, 2**63, 7, 2], [0, 1]], ids=str)
def test_clipping_holds_for_unsigned_64_bits(values):
    domain = IntegerRange(1, 5, outside="clip")
    expected = [min(max(value, 1), 5) - 1 for value in values]
    assert domain.encode(np.array(values, dtype=np.uint64)).tolist() == expected


def test_the_words_for_integers_are_exact():
    domain = IntegerRange(-2, 2)
    values = np.arange(-2, 3)
    for code in range(domain.size):
        assert [holds(domain.describe_test(code), v) for v in values] == (
            domain.encode(values) <= code
        ).tolist()


@pytest.mark.parametrize("value", [0, 0.5, 1, 3, 99, -7.5])
def test_the_words_for_clipped_numbers_are_exact(value):
    domain = IntegerRange(0, 3, outside="clip")
    code_of_value = domain.encode(np.array([value])).item()
    for code in range(domain.size):
        assert holds(domain.describe_test(code), value) == (code_of_value <= code)


# Grid


@st.composite
def grids_with_values(draw, outside="refuse"):
    low = draw(st.floats(-1e6, 1e6))
    high = draw(st.floats(min_value=low + 1e-3, max_value=2e6))
    inside = st.floats(low, high) | st.sampled_from([low, high])
    grid = Grid(low, high, draw(st.integers(2, 300)), outside)
    return grid, np.array(draw(st.lists(inside, min_size=1, max_size=8)))


@repeatable
@given(grids_with_values())
def test_a_grid_keeps_the_order_of_numbers_and_judges_each_by_itself(case):
    grid, values = case
    codes = check_codes(grid, values)
    step = (Fraction(grid.high) - Fraction(grid.low)) / (grid.size - 1)
    for value, code in zip(values.tolist(), codes.tolist(), strict=True):
        reached = (Fraction(value) - Fraction(grid.low)) / step
        assert code - Fraction(1, 10**6) <= reached < code + 1 + Fraction(1, 10**6)


@repeatable
@given(st.integers(-9, 9), st.integers(2, 70), st.integers(-3, 3), st.data())
def test_the_code_is_the_last_point_reached(low, size, exponent, data):
    step = Fraction(2) ** exponent  # floats are exact here
    grid = Grid(low, low + (size - 1) * step, size)
    eighths = data.draw(st.lists(st.integers(0, 8 * (size - 1)), min_size=1))
    values = np.array([float(low + step * e / 8) for e in eighths])
    assert check_codes(grid, values).tolist() == [e // 8 for e in eighths]


@pytest.mark.parametrize(
    ("low", "high", "size"), [(0, 10, 11), (0, 1, 256), (-3, 7, 4), (0, 49, 2), (0, 41, 42)]
)
def test_every_point_of_a_grid_has_its_code(low, high, size):
    # 49 * (1 / 49) is a little below 1.
    grid = Grid(low, high, size)
    ends = grid.encode(np.array([low, high], dtype=np.float64))
    assert ends.tolist() == [0, size - 1]
    between = np.linspace(low, high, 20 * size)
    assert set(grid.encode(between).tolist()) == set(range(size))


@pytest.mark.parametrize(
    ("grid", "values"),
    [
        (Grid(0, 0.3, size=10001), np.array([0.3], dtype=np.float16)),
        (Grid(0, 0.1, size=2**28), np.array([0.1], dtype=np.float32)),
        (Grid(-0.3, 0.3, size=10001), np.array([-0.3], dtype=np.float16)),
    ],
    ids=repr,
)
def test_codes_of_narrow_floats_are_below_the_size(grid, values):
    # In float16 0.3 is 0.30005, and at most 0.3.
    try:
        codes = grid.encode(values)
    except DomainError:
        return  # 0.30005 is above 0.3: to refuse it is right too
    assert codes.item() < grid.size


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.uint64, bool, object])
def test_bounds_that_the_type_of_a_column_cannot_hold_are_no_hindrance(dtype):
    assert Grid(-1e6, 1e6, size=3).encode(np.array([1, 0], dtype=dtype)).tolist() == [1, 1]


@pytest.mark.parametrize(
    "values",
    [
        [1.5],
        [-0.001],
        [np.nextafter(1, 2)],
        [np.nan],
        [np.inf],
        [-np.inf],
        [0.5, 2],
        [None],
        ["x"],
        [-(10**30)],
    ],
    ids=repr,
)
def test_a_grid_refuses_what_is_outside(values):
    with pytest.raises(DomainError, match=r"outside the declared domain Grid\(low=0.0, high=1.0"):
        Grid(0, 1).encode(np.array(values))


@pytest.mark.parametrize("domain", [IntegerRange(0, 3, outside="clip"), Grid(0, 1, outside="clip")], ids=repr)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, None, "x", pd.NA], ids=repr)
@pytest.mark.parametrize("others", [[], [0.5]], ids=str)
def test_clipping_needs_finite_numbers(domain, value, others):
    values = np.array([*others, value])
    for method in (domain.encode, domain.nearest):
        with pytest.raises(DomainError, match="outside the declared domain"):
            method(values)


@repeatable
@given(grids_with_values("clip"), st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=8))
def test_a_clipping_grid_moves_numbers_to_the_nearest_bound(case, values):
    grid, _ = case
    codes = check_codes(grid, np.array(values))
    assert codes.tolist() == grid.encode(np.clip(values, grid.low, grid.high)).tolist()
    refusing = Grid(grid.low, grid.high, grid.size)
    assert refusing.nearest(np.array(values)).tolist() == codes.tolist()


@pytest.mark.parametrize(
    ("low", "high", "value"),
    [(0, 1, 1e300), (0, 1, LARGEST), (0, 1, -LARGEST), (-1e308, 0, LARGEST), (0, 1e308, -LARGEST)],
)
def test_a_clipping_grid_is_silent_about_large_numbers(low, high, value):
    grid = Grid(low, high, outside="clip")
    assert grid.encode(np.array([value])).item() == (0 if value < low else 255)


def test_a_refusal_by_a_grid_is_not_preceded_by_a_warning():
    with pytest.raises(DomainError, match="outside"):
        Grid(0, 1).encode(np.array([LARGEST]))


@pytest.mark.parametrize("outside", ["refuse", "clip"])
@pytest.mark.parametrize(
    ("low", "high", "size"), [(0, 10, 11), (0, 1, 256), (-1, 2, 4), (0, 1e6, 300), (3, 4, 3)]
)
def test_the_words_for_a_grid_are_exact(low, high, size, outside):
    grid = Grid(low, high, size, outside)
    words = [grid.describe_test(code) for code in range(size)]
    assert words[-1] == "is any number"
    for code, said in enumerate(words[:-1]):
        bound = float(said.removeprefix("< "))
        for value in (math.nextafter(bound, low), bound, math.nextafter(bound, high), low, high):
            assert holds(said, value) == (grid.encode(np.array([value])).item() <= code)


# Floats


def rounded(value, domain):
    """The rounding of a value that `Floats` documents, in exact arithmetic."""

    def towards_zero(magnitude):
        exponent = max(math.frexp(magnitude)[1] - 1, -1022)  # subnormal numbers share one exponent
        unit = Fraction(2) ** (exponent - domain.significand_bits)
        return Fraction(magnitude) // unit * unit

    magnitude = towards_zero(abs(value))
    if magnitude < towards_zero(domain.smallest):
        return Fraction(0)
    return min(magnitude, towards_zero(domain.largest)) * (1 if value > 0 else -1)


finite = st.floats(allow_nan=False, allow_infinity=False)
magnitudes = finite.map(abs).filter(bool) | st.floats(TINY, 1e-307) | st.floats(1e-3, 1e3)


@st.composite
def floats_domains(draw):
    smallest, largest = TINY, LARGEST
    if draw(st.booleans()):
        smallest, largest = sorted((draw(magnitudes), draw(magnitudes)))
    bits = draw(st.integers(0, 52) | st.sampled_from([0, 52]))
    return Floats(significand_bits=bits, smallest=smallest, largest=largest, missing=draw(st.booleans()))


some_floats = st.lists(
    finite
    | st.floats(-1e-307, 1e-307)
    | st.floats(-99, 99)
    | st.sampled_from([0.0, -0.0, LARGEST, -LARGEST, TINY]),
    min_size=1,
    max_size=10,
)


@repeatable
@given(floats_domains(), some_floats)
def test_floats_are_told_apart_exactly_if_their_roundings_differ(domain, values):
    codes = check_codes(domain, np.array(values)).tolist()
    exact = [rounded(value, domain) for value in values]
    for a, code_a in zip(exact, codes, strict=True):
        for b, code_b in zip(exact, codes, strict=True):
            assert (code_a < code_b, code_a == code_b) == (a < b, a == b)


@repeatable
@given(floats_domains(), some_floats)
def test_codes_of_floats_are_symmetric_and_reach_both_ends(domain, values):
    zero = domain.encode(np.array([0.0])).item()
    codes, mirrored = domain.encode(np.array(values)), domain.encode(-np.array(values))
    assert [zero - c for c in codes.tolist()] == [c - zero for c in mirrored.tolist()]
    assert domain.encode(np.array([-LARGEST, LARGEST])).tolist() == [domain.missing, domain.size - 1]


@repeatable
@given(floats_domains(), st.data())
def test_the_words_for_floats_are_exact(domain, data):
    code = data.draw(st.integers(0, domain.size - 1))
    words = domain.describe_test(code)
    bound = words.removesuffix(" (or missing)").removeprefix("<").removeprefix("=")
    values = [0.0, -0.0, TINY, -TINY, LARGEST, -LARGEST]
    if not words.startswith("is"):
        bound = float(bound)
        values += [bound, -bound, math.nextafter(bound, -math.inf), math.nextafter(bound, math.inf)]
    values = [v for v in values if math.isfinite(v)] + [np.nan] * domain.missing
    codes = domain.encode(np.array(values)).tolist()
    assert [holds(words, value) for value in values] == [c <= code for c in codes]


@pytest.mark.parametrize("missing", [False, True])
def test_all_codes_of_a_small_domain_of_floats_are_reached(missing):
    domain = Floats(significand_bits=2, smallest=1, largest=4, missing=missing)
    positive = [1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4]
    values = [np.nan] * missing + [-x for x in reversed(positive)] + [0] + positive
    assert domain.encode(np.array(values)).tolist() == list(range(domain.size))


@pytest.mark.parametrize(
    ("domain", "size"),
    [
        (Floats(), 2 * (0x7FEFFFFFFFFFFFFF) + 1),
        (Floats(missing=True), 2 * (0x7FEFFFFFFFFFFFFF) + 2),
        (Floats(significand_bits=0), 2 * 2046 + 1),  # the subnormals count as 0
        (Floats(significand_bits=0, smallest=1, largest=1), 3),
        (Floats(significand_bits=1, smallest=1, largest=1), 3),
        (Floats(smallest=TINY, largest=TINY), 3),
    ],
    ids=repr,
)
def test_the_size_of_a_domain_of_floats(domain, size):
    assert domain.size == size
    assert domain.encode(np.array([-LARGEST, LARGEST])).tolist() == [domain.missing, size - 1]


def test_minus_zero_is_zero():
    for domain in (
        Floats(),
        Floats(significand_bits=0),
        Floats(significand_bits=5, smallest=1, missing=True),
    ):
        assert len(set(domain.encode(np.array([0.0, -0.0])).tolist())) == 1


def test_a_missing_value_lies_below_all_numbers():
    domain = Floats(missing=True)
    nans = np.array([0x7FF8000000000000, 0xFFF8000000000000, 0x7FFFFFFFFFFFFFFF], dtype=np.uint64)
    assert domain.encode(nans.view(np.float64)).tolist() == [0, 0, 0]
    assert domain.encode(np.array([None, pd.NA, np.nan, pd.NaT], dtype=object)).tolist() == [0, 0, 0, 0]
    assert domain.encode(np.array([-LARGEST])).tolist() == [1]
    assert domain.describe_test(0) == "is missing"


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("value", [np.inf, -np.inf], ids=str)
@pytest.mark.parametrize("others", [[], [1.0, -1.0]], ids=str)
def test_infinities_are_refused(value, missing, others):
    values = np.array([*others, value] + [np.nan] * missing)
    with pytest.raises(DomainError, match="outside"):
        Floats(missing=missing).encode(values)


@pytest.mark.parametrize("value", [np.nan, -np.nan, None, pd.NA], ids=repr)
def test_missing_values_are_refused_unless_declared(value):
    with pytest.raises(DomainError, match="outside"):
        Floats().encode(np.array([1, value, 2], dtype=object))


@repeatable
@given(st.lists(st.floats(width=16, allow_nan=False, allow_infinity=False), min_size=1))
def test_narrow_floats_and_integers_have_the_codes_of_their_values(values):
    domain = Floats()
    codes = domain.encode(np.array(values)).tolist()
    for dtype in (np.float16, np.float32, object):
        assert domain.encode(np.array(values, dtype=dtype)).tolist() == codes
    whole = np.floor(values)
    assert domain.encode(whole.astype(np.int32)).tolist() == domain.encode(whole).tolist()


# Missing values between bounds

GAPPED = [
    IntegerRange(-3, 200, missing=True),
    IntegerRange(5, 5, missing=True),
    IntegerRange(0, 254, missing=True),
    IntegerRange(0, 9, outside="clip", missing=True),
    IntegerRange(INT64[0] + 2, INT64[1], missing=True),
    IntegerRange(2**53, 2**53 + 9, missing=True),
    Grid(0, 10, size=11, missing=True),
    Grid(-0.1, 0.7, size=255, missing=True),
    Grid(-1.5, 2, outside="clip", missing=True),
    Grid(1e-300, 1e300, size=1 << 32, missing=True),
]
MISSING = [None, np.nan, pd.NA, pd.NaT, np.float32("nan"), float("-nan"), Decimal("NaN")]


@pytest.mark.parametrize("domain", GAPPED, ids=repr)
def test_a_missing_value_is_one_more_value_below_all_numbers(domain):
    whole = type(domain)(**domain.parameters | {"missing": False})
    assert domain.accepts_missing > whole.accepts_missing
    assert domain.size == whole.size + 1
    values = np.array([whole.size - 1 - (whole.size - 1) * i // 50 for i in range(51)], dtype=np.uint64)
    numbers = whole.decode(values)
    assert domain.encode(numbers).tolist() == [code + 1 for code in whole.encode(numbers).tolist()]
    cells = np.empty(len(MISSING) + len(numbers), dtype=object)
    cells[: len(MISSING)], cells[len(MISSING) :] = MISSING, numbers.tolist()
    expected = [0] * len(MISSING) + domain.encode(numbers).tolist()
    for code in (domain.encode, domain.nearest):
        assert code(cells).tolist() == code(cells.tolist()).tolist() == expected
        assert code(np.array([np.nan, np.nan], dtype=np.float32)).tolist() == [0, 0]
        assert code(np.array(np.nan)).tolist() == 0
    back = domain.decode(np.array([0, 1, domain.size - 1], dtype=np.uint64)).tolist()
    assert math.isnan(back[0])
    assert back[1:] == whole.decode(np.array([0, whole.size - 1], dtype=np.uint64)).tolist()


@pytest.mark.parametrize("domain", GAPPED, ids=repr)
def test_a_column_with_gaps_is_read_alike_from_every_holder(domain):
    low = int(max(domain.low, 0) if domain.low < 1e18 else domain.low)
    low = min(max(low, math.ceil(domain.low)), math.floor(domain.high))
    expected = domain.encode([low, None]).tolist()
    assert expected[0] > expected[1] == 0
    for column in (
        pd.Series([low, None], dtype="Int64"),
        pd.Series(pd.array([low, pd.NA], dtype="Int64")),
        pd.Series([low, None], dtype=object),
        pl.Series([low, None], dtype=pl.Int64),
    ):
        assert domain.encode(column).tolist() == expected
        frame = column.to_frame("a")
        assert Schema({"a": domain}).encode(frame)[0].tolist() == expected
    if low < 2**53:
        assert domain.encode(pd.Series([low, None])).tolist() == expected  # of floats, because of the gap
        assert domain.encode(np.array([low, np.nan], dtype=np.float32)).tolist()[1] == 0


@pytest.mark.parametrize("domain", GAPPED, ids=repr)
def test_what_a_domain_with_gaps_refuses(domain):
    for cell in (
        np.inf,
        -np.inf,
        "1",
        b"1",
        1j,
        Decimal("sNaN"),
        *([1e301, -1e301] * (domain.outside != "clip")),
    ):
        with pytest.raises(DomainError, match="outside the declared domain") as refusal:
            domain.encode([None, cell])
        assert "missing," not in str(refusal.value)
    with pytest.raises(DomainError, match="outside"):
        domain.encode(np.array([np.nan, np.inf]))
    assert domain.nearest([None, 1e308, -1e308]).tolist() == [0, domain.size - 1, 1]


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        (IntegerRange(1, 3, missing=True), ["<= 1", "<= 2", "<= 3"]),
        (IntegerRange(1, 3, "clip", missing=True), ["< 2", "< 3", "is any number"]),
        (Grid(0, 2, 3, missing=True), ["< 1", "< 2", "is any number"]),
    ],
    ids=repr,
)
def test_words_where_values_may_be_missing(domain, words):
    found = [domain.describe_test(code) for code in range(domain.size)]
    assert found == ["is missing", *(f"{each} (or missing)" for each in words)]


def test_a_grid_has_as_many_points_with_gaps_as_without():
    grid = Grid(0, 10, 101, missing=True)
    assert (grid.points, grid.size) == (101, 102)
    assert grid.decode([1, 2, 101]).tolist() == [0.0, 0.1, 10.0]
    assert repr(grid) == "Grid(low=0.0, high=10.0, size=101, outside='refuse', missing=True)"
    assert repr(Grid(0, 1)) == "Grid(low=0.0, high=1.0, size=256, outside='refuse')"


def test_integers_come_back_as_floats_where_these_hold_them_all():
    assert IntegerRange(0, 2**53, missing=True).decode([0, 1]).dtype == np.float64
    large = IntegerRange(0, 2**53 + 1, missing=True).decode([0, 2**53 + 2])
    assert large.dtype == object
    assert large.tolist()[1] == 2**53 + 1


# What holds for all three

EXAMPLES = [
    IntegerRange(-3, 4),
    IntegerRange(0, 9, outside="clip"),
    Grid(0, 10, size=11),
    Grid(-1.5, 2, outside="clip"),
    Floats(),
    Floats(significand_bits=3, smallest=0.5, largest=8, missing=True),
    IntegerRange(-3, 4, missing=True),
    IntegerRange(0, 9, outside="clip", missing=True),
    Grid(0, 10, size=11, missing=True),
    Grid(-1.5, 2, outside="clip", missing=True),
]


@pytest.mark.parametrize("domain", EXAMPLES, ids=repr)
def test_shapes_are_kept(domain):
    values = np.array([[0, 1, 2], [2, 1, 0]])
    codes = domain.encode(values)
    assert codes.shape == (2, 3)
    assert codes.ravel().tolist() == domain.encode(values.ravel()).tolist()
    assert domain.encode(values[:0]).shape == (0, 3)
    assert domain.encode(np.array(1.0)).shape == ()


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "f4", ">i4", "i8", "O"])
@pytest.mark.parametrize("domain", EXAMPLES, ids=repr)
def test_values_are_read_in_place_and_left_alone(domain, dtype):
    values = np.array([[0, 1, 2], [2, 1, 0]], dtype=dtype)
    codes = domain.encode(values)
    before = values.copy()
    values.flags.writeable = False
    assert domain.encode(values[:, ::2]).tolist() == codes[:, ::2].tolist()
    assert domain.encode(values.T).tolist() == codes.T.tolist()
    assert values.tolist() == before.tolist()
    assert codes.tolist() == domain.encode(np.array([[0, 1, 2], [2, 1, 0]])).tolist()


@pytest.mark.parametrize("domain", EXAMPLES, ids=repr)
def test_the_codes_type_is_as_narrow_as_holds_the_size(domain):
    assert domain.encode(np.array([1])).dtype == np.min_scalar_type(domain.size)


@pytest.mark.parametrize("domain", EXAMPLES, ids=repr)
def test_equal_domains_are_equal_after_copy_pickle_and_repr(domain):
    for other in (copy.deepcopy(domain), pickle.loads(pickle.dumps(domain)), eval(repr(domain))):
        assert other == domain
        assert hash(other) == hash(domain)
    assert sum(domain == other for other in EXAMPLES) == 1


@pytest.mark.parametrize("domain", EXAMPLES, ids=repr)
def test_refusals_hold_no_value(domain):
    seen = set()
    for values in (["31.41592"], ["secret"], [np.inf, 31.41592], [{"secret": 31.41592}]):
        with pytest.raises(DomainError) as refusal:
            domain.encode(np.array(values))
        given = str(refusal.value)
        assert given.startswith("a value lies outside the declared domain")
        assert domain.assumption in given
        seen.add(given)
    assert len(seen) == 1  # nor which kind of value it was
    assert ("fill in a constant" in given) == (not domain.accepts_missing)


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        (IntegerRange(1, 9), "values are integers from 1 to 9"),
        (
            IntegerRange(1, 9, "clip"),
            "values are numbers; they are rounded down and clipped to integers from 1 to 9",
        ),
        (Grid(0, 1), "values are numbers from 0 to 1"),
        (
            Grid(0, 1, 5, "clip"),
            "values are numbers; they are clipped and rounded down to 5 points from 0 to 1",
        ),
        (Floats(), "values are finite numbers"),
        (Floats(missing=True), "values are finite numbers or missing"),
        (IntegerRange(1, 9, missing=True), "values are integers from 1 to 9 or missing"),
        (
            IntegerRange(1, 9, "clip", missing=True),
            "values are numbers or missing; they are rounded down and clipped to integers from 1 to 9",
        ),
        (Grid(0, 1, missing=True), "values are numbers from 0 to 1 or missing"),
        (
            Grid(0, 1, 5, "clip", missing=True),
            "values are numbers or missing; they are clipped and rounded down to 5 points from 0 to 1",
        ),
    ],
    ids=repr,
)
def test_assumptions_in_words(domain, words):
    assert domain.assumption == words


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        (IntegerRange, {"low": 0.0, "high": 1}, "low must be an integer .*, got 0.0"),
        (IntegerRange, {"low": 2, "high": 1}, "high must be an integer from 2 .*, got 1"),
        (IntegerRange, {"low": 0, "high": 2**63}, f"high must be .*, got {2**63}"),
        (IntegerRange, {"low": INT64[0], "high": INT64[1]}, r"fewer than 2\*\*64 values"),
        (IntegerRange, {"low": INT64[0] + 1, "high": INT64[1], "missing": True}, r"fewer than 2\*\*64"),
        (IntegerRange, {"low": 0, "high": 1, "missing": 1}, "missing must be True or False, got 1"),
        (Grid, {"low": 0, "high": 1, "missing": None}, "missing must be True or False, got None"),
        (IntegerRange, {"low": 0, "high": 1, "outside": "wrap"}, "outside must be one of .*, got 'wrap'"),
        (Grid, {"low": 1, "high": 1}, "high must be a finite number above 1, got 1"),
        (Grid, {"low": np.nan, "high": 1}, "low must be a finite number, got nan"),
        (Grid, {"low": -LARGEST, "high": LARGEST}, "high - low must be finite"),
        (Grid, {"low": 0, "high": 1, "size": 1}, "size must be an integer from 2 .*, got 1"),
        (Grid, {"low": 0, "high": 1, "size": 2**32 + 1}, "size must be an integer from 2 to"),
        (Grid, {"low": 0, "high": 1, "outside": None}, "outside must be one of .*, got None"),
        (Floats, {"significand_bits": 53}, "significand_bits must be an integer from 0 to 52, got 53"),
        (Floats, {"smallest": 0}, "smallest must be a finite number above 0, got 0"),
        (Floats, {"smallest": 2, "largest": 1}, "largest must be a finite number at least 2, got 1"),
        (Floats, {"largest": np.inf}, "largest must be a finite number at least .*, got inf"),
        (Floats, {"missing": 1}, "missing must be True or False, got 1"),
    ],
    ids=str,
)
def test_refusals_name_parameter_constraint_and_value(kind, parameters, message):
    with pytest.raises((TypeError, ValueError), match=message):
        kind(**parameters)


@pytest.mark.parametrize(
    ("kind", "parameters", "name"),
    [
        (Grid, {"low": 0, "high": 10**400}, "high"),
        (Grid, {"low": -(10**400), "high": 0}, "low"),
        (Floats, {"largest": 10**400}, "largest"),
    ],
    ids=["Grid-high", "Grid-low", "Floats-largest"],
)
def test_a_bound_too_large_for_a_float_is_refused_by_name(kind, parameters, name):
    with pytest.raises(ValueError, match=f"{name} must be"):
        kind(**parameters)


def test_a_bound_may_be_written_as_text():
    assert Grid("1/4", "0.5") == Grid(0.25, 0.5)
    assert Floats(smallest="1/4", largest="0.5") == Floats(smallest=0.25, largest=0.5)


# decode


@pytest.mark.parametrize(
    "domain",
    [
        IntegerRange(*INT64[:1], INT64[1] - 1),
        IntegerRange(-3, 200),
        Grid(0, 10, size=11),
        Grid(-0.1, 0.7, size=1000),
        Grid(1e-300, 1e300, size=1 << 32),
        Floats(),
        Floats(missing=True),
        Floats(significand_bits=3, smallest=1e-3, largest=77),
        *GAPPED,
    ],
    ids=repr,
)
def test_the_number_of_a_code_has_that_code(domain):
    generator = np.random.default_rng(0)
    drawn = [int(generator.integers(domain.size, dtype=np.uint64)) for _ in range(300)]
    codes = np.array([*drawn, 0, domain.size - 1], dtype=np.uint64)
    codes = np.sort(codes)
    numbers = domain.decode(codes)
    assert (domain.encode(numbers) == codes).all()
    assert numbers.shape == codes.shape
    np.testing.assert_array_equal(domain.decode(int(codes[5])), numbers[5])


@given(st.floats(allow_nan=False, allow_infinity=False))
@repeatable
def test_every_float_is_read_back(value):
    assert Floats().decode(Floats().encode(np.array([value])))[0] == value


# decimals, which count as integers whatever precision the caller has set


@pytest.mark.parametrize("value", ["1E27", "1E28", "1E30", "1E400", "-1E30", "1E999999", "-7"])
def test_large_decimals_are_moved_to_the_ends_of_a_range_that_clips(value):
    domain = IntegerRange(0, 9, outside="clip")
    number = Decimal(value)
    assert domain.encode(np.array([number, 3], dtype=object)).tolist() == [9 * (number > 0), 3]
    with pytest.raises(DomainError):
        IntegerRange(0, 9).encode(np.array([number, 3], dtype=object))


@pytest.mark.parametrize(
    "value", [Decimal("NaN"), Decimal("sNaN"), Decimal("Infinity"), -math.inf, b"12", "12"]
)
@pytest.mark.parametrize(
    "domain",
    [IntegerRange(0, 99), IntegerRange(0, 99, outside="clip"), Grid(0, 1, outside="clip"), Floats()],
    ids=repr,
)
def test_what_is_no_finite_number_is_refused_by_every_domain(domain, value):
    with pytest.raises(DomainError):
        domain.encode(np.array([0, value], dtype=object))


@pytest.mark.parametrize(
    "value", [10**400, Decimal("1E400"), np.longdouble("1e4000")], ids=lambda v: type(v).__name__
)
@pytest.mark.parametrize(
    "domain", [IntegerRange(0, 99, outside="clip"), Grid(0, 1, outside="clip"), Floats()], ids=repr
)
def test_finite_numbers_beyond_all_floats_are_the_largest(domain, value):
    assert domain.encode(np.array([value], dtype=object)).tolist() == [domain.size - 1]


ODD = np.array(
    [
        0.5,
        None,
        "text",
        float("inf"),
        float("-inf"),
        float("nan"),
        10**400,
        -(10**400),
        b"x",
        (1, 2),
        True,
        {},
    ],
    dtype=object,
)


@pytest.mark.parametrize(
    ("domain", "ends"),
    [
        (IntegerRange(0, 5, "accept", missing=True), (1, 6)),
        (Grid(0, 5, 6, "accept", missing=True), (1, 6)),
        (Floats(significand_bits=0, smallest=1, largest=2, missing=True, outside="accept"), (1, 5)),
    ],
    ids=lambda domain: type(domain).__name__,
)
def test_a_domain_that_accepts_all_cells_refuses_none(domain, ends):
    low, high = ends
    codes = domain.encode(ODD).tolist()
    assert codes == domain.nearest(ODD).tolist()
    missing = [place for place, code in enumerate(codes) if code == 0]
    assert missing == [1, 2, 5, 8, 9, 11]
    assert [codes[place] for place in (3, 4, 6, 7)] == [high, low, high, low]
    for cells in (np.array(["a"]), np.array([b"a"]), np.array([1j]), np.array(["2020"], dtype="M8[D]")):
        assert domain.encode(cells).tolist() == [0]
    assert domain.encode(np.array([np.inf, np.nan, -np.inf])).tolist() == [high, 0, low]
    assert domain.encode(np.array([True])).tolist() == domain.encode(np.array([1])).tolist()
    assert not domain.numeric
    assert domain.accepts_missing
    assert domain.assumption == "values are of any kind"
    assert eval(repr(domain)) == domain
    assert (
        type(domain)(
            **{"size" if name == "points" else name: value for name, value in domain.parameters.items()}
        )
        == domain
    )


def test_accepting_all_cells_needs_a_code_for_missing_ones():
    for make in (
        lambda: IntegerRange(0, 1, "accept"),
        lambda: Grid(0, 1, 2, "accept"),
        lambda: Floats(outside="accept"),
    ):
        with pytest.raises(ValueError, match="outside='accept' needs missing=True"):
            make()
    with pytest.raises(ValueError, match="outside must be"):
        Floats(outside="clip")


@pytest.mark.parametrize("make", [lambda m: IntegerRange(0, 1, missing=m), lambda m: Grid(0, 1, missing=m)])
def test_a_bool_of_numpy_is_kept_as_one_of_python(make):
    domain = make(np.True_)
    assert domain == make(True)
    assert domain.missing is domain.accepts_missing is True
    assert repr(domain) == repr(make(True))


HUGE = LargeIntegerRange(-5, 2**65_536 - 6)


def test_codes_are_places_and_can_be_read_back():
    values = np.array([-5, 0, 2**65_000, 2**65_536 - 6], dtype=object)
    codes = HUGE.encode(values)
    assert codes.tolist() == [0, 5, 2**65_000 + 5, HUGE.size - 1]
    assert HUGE.decode(codes).tolist() == values.tolist()
    assert HUGE.nearest([2**70_000, -(2**70_000)]).tolist() == [HUGE.size - 1, 0]


@pytest.mark.parametrize(
    "value", [-6, 2**65_536, 1.0, True, "3", None, np.nan], ids=lambda v: type(v).__name__
)
def test_what_is_no_integer_of_the_range_is_refused_without_being_shown(value):
    with pytest.raises(
        DomainError, match=r"outside the declared domain LargeIntegerRange\(-5, 2\*\*65536 - 6\)"
    ):
        HUGE.encode(np.array([0, value], dtype=object))


def test_numpys_integers_are_integers():
    assert LargeIntegerRange(0, 2**80).encode(np.array([1, 7], dtype=np.int8)).tolist() == [1, 7]


@pytest.mark.parametrize(
    ("low", "high", "text"),
    [
        (0, 9, "LargeIntegerRange(0, 9)"),
        (-(2**90), 2**90 + 3, "LargeIntegerRange(-(2**90), 2**90 + 3)"),
        (1, 3**60, f"LargeIntegerRange(1, {hex(3**60)})"),
    ],
)
def test_large_ends_are_written_by_powers_of_two(low, high, text):
    assert repr(LargeIntegerRange(low, high)) == text
    assert eval(text) == LargeIntegerRange(low, high)


@pytest.mark.parametrize(("low", "high"), [(1, 0), (0, 2**65_536)], ids=["empty", "larger"])
def test_empty_and_larger_ranges_are_refused(low, high):
    with pytest.raises(ValueError, match="high must be at least low"):
        LargeIntegerRange(low, high)


@pytest.mark.parametrize("end", [0.0, True, "1"])
def test_ends_must_be_integers(end):
    with pytest.raises(TypeError, match="low must be an integer"):
        LargeIntegerRange(end, 5)
