"""One reference in exact arithmetic says the code of any cell in any domain, or that it is refused."""

import copy
import math
import pickle
import sys
from array import array
from decimal import Decimal
from fractions import Fraction
from functools import partial
from hashlib import blake2b

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.domains import (
    Bits,
    Categories,
    Dates,
    DomainError,
    Floats,
    Grid,
    Hashed,
    IntegerRange,
    LargeIntegerRange,
)

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)

MIN64, MAX64 = -(2**63), 2**63 - 1
LARGEST = sys.float_info.max
TINY = 5e-324  # the smallest subnormal
REFUSED = "refused"
POSITIVE = [1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5, 4]
SMALL = {"significand_bits": 2, "smallest": 1, "largest": 4}  # the floats of these magnitudes, and 0

INTEGERS = [
    *(IntegerRange(0, 3, outside, missing=gaps) for outside in ("refuse", "clip") for gaps in (False, True)),
    IntegerRange(-3, 200),
    IntegerRange(1, 5, "clip"),
    IntegerRange(5, 5, missing=True),
    IntegerRange(0, 254, missing=True),
    IntegerRange(MIN64 + 1, MAX64),
    IntegerRange(MIN64 + 2, MAX64, missing=True),
    IntegerRange(MIN64, -1, "clip"),
    IntegerRange(0, MAX64),
    IntegerRange(2**53 + 1, 2**53 + 10),
    IntegerRange(2**53, 2**53 + 9, "clip", missing=True),
    IntegerRange(-10 - 2**53, -1 - 2**53),
    IntegerRange(2**24 + 1, 2**24 + 10),
    IntegerRange(2**62 - 4, 2**62 + 6),
    IntegerRange(-(10**12), 10**12),
    IntegerRange(0, 5, "accept", missing=True),
]
GRIDS = [
    Grid(0, 10, 41),
    Grid(0, 8, 9, "clip"),
    Grid(-1.5, 2, 15, "clip", missing=True),
    Grid(-(2**20), 2**20, 3),
    Grid(0, 1, 257, missing=True),
    Grid(0, 4, 5, "accept", missing=True),
]
NUMBERS = [
    *INTEGERS,
    *GRIDS,
    Floats(**SMALL),
    Floats(**SMALL, missing=True),
    Floats(**SMALL, missing=True, outside="accept"),
    Bits(),
    Bits(2),
    Bits(1e6),
    Bits(None),
    LargeIntegerRange(-5, 2**400),
]
OTHERS = [
    Categories(["a", "b"]),
    Categories(["b", "a", b"5"], other=True),
    Categories([0, 1, 2.5, 2**53 + 1]),
    Categories([None, 7, "5", (1, b"5"), 9], other=True),
    Categories([np.nan, "a"]),
    Categories([pd.NA, True]),
    Hashed(),
    Hashed(8),
]
DOMAINS = [*NUMBERS, *OTHERS]


class Telltale(float):
    """A number that quotes itself when it is asked for its value."""

    def __float__(self):
        raise KeyError("secret 42")

    __str__ = __int__ = is_integer = as_integer_ratio = __float__


MISSING = [
    *(None, math.nan, -math.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "D"), Decimal("NaN"))
]
ODD = [
    *(np.complex64(2 + 3j), np.complex128(2), 2j, bytearray(b"12"), memoryview(b"12"), array("b", b"12")),
    *(np.array(4.0), np.array([4.0]), np.timedelta64(5, "D"), np.datetime64("2020"), pd.Timedelta(5)),
    type("Index", (), {"__index__": lambda self: 3, "__float__": lambda self: 3.0})(),
    *(Telltale(5), "5", "secret", b"5", [5], (1, b"5"), np.void(b"5"), np.ma.masked, {}, Decimal("sNaN")),
]
WHOLE = [0, 1, 2, 3, 5, 7, 9, 10, 100, 200, 254, 2**24 + 1, 10**12, 2**53, 2**53 + 1, 2**53 + 9, 2**62 + 1]
CELLS = [
    *WHOLE,
    *(-number for number in WHOLE),
    *(MIN64, MIN64 + 1, MIN64 + 2, MAX64, 2**63, 2**64 - 1, 10**30, 10**400, -(10**400), True, False),
    *(-0.0, 0.5, 1.5, 2.5, -0.25, -7.5, 99.5, 1e300, -1e300, LARGEST, -LARGEST, TINY, -TINY, math.inf),
    *(-math.inf, math.nextafter(10, 11), math.nextafter(1, 2), float(2**53), float(2**63), 1.3, 3.9, 0.3),
    *(Decimal("2.5"), Decimal(-7), Decimal("1e28"), Decimal("1e999999"), Decimal("-1e999999")),
    *(Decimal("1e-999999"), Decimal("-1e-999999"), Decimal(1) + Decimal("1e-20"), Decimal("Infinity")),
    *(Fraction(5, 2), Fraction(3), Fraction(1, 10**400), -Fraction(1, 10**400), Fraction(10**400, 3)),
    *(Fraction(10**400 - 1, 10**400), Fraction(10**400 + 1, 10**400), np.longdouble("1e4000")),
    *(np.longdouble("inf"), np.nextafter(np.longdouble(1), np.longdouble(2)), np.bool_(1), np.float16(3)),
    *MISSING,
    *ODD,
]
TYPED = [
    *(np.array([0, 1, 2, 3, 5, 100, 200]).astype(kind) for kind in ("i1", "u1", ">i4", ">u2", "?")),
    *(np.array([np.iinfo(kind).min, np.iinfo(kind).max], kind) for kind in ("i1", "u1", "i8", "u8", "i4")),
    np.array([2**53, 2**53 + 1, -(2**53) - 1, 2**62 + 1, MIN64 + 1, 7, 0]),
    np.array([2**63, 2**53 + 1, 2**63 - 1, 7], dtype=np.uint64),
    *(np.array([0, 1, -1, 2, 3.5, 9, np.nan, np.inf, -np.inf], kind) for kind in ("e", "f", ">f8", "g")),
    np.array([2.0**53, -(2.0**53), 2.0**63, -(2.0**63), 2.0**63 - 1024, 2.0**24, 1e300, LARGEST, -0.0]),
    np.array([2**24, 2**24 + 2, -(2**24), 0.3, 2**63], np.float32),
    *(np.array(["2020-01-01"], "M8[D]"), np.array([5], "m8[s]"), np.array([1j, 1])),
    *(np.array(["1", "a"]), np.array([b"1", b"a"])),
]


def is_missing(cell):
    """Whether a cell is missing, whatever stands for it."""
    if isinstance(cell, Decimal):
        return cell.is_qnan()
    return (
        cell is None or cell is pd.NA or cell is pd.NaT or (type(cell) in FLOATS_AND_TIMES and cell != cell)
    )


FLOATS_AND_TIMES = {float, np.float16, np.float32, np.float64, np.longdouble, np.datetime64}
REALS = (bool, int, float, Decimal, Fraction, np.bool_, np.integer, np.floating)


def number(cell):
    """The number that a cell is, exactly, where 10**5000 stands for greater ones; None if it is none."""
    if not isinstance(cell, REALS) or isinstance(cell, (np.timedelta64, Telltale)) or is_missing(cell):
        return None
    if isinstance(cell, (int, np.bool_, np.integer)):
        return Fraction(int(cell))
    if isinstance(cell, Decimal) and (cell.is_snan() or abs(cell.adjusted()) > 10**4):
        size = Fraction(10) ** (5000 if cell.adjusted() > 0 else -5000)
        return None if cell.is_snan() else size if cell > 0 else -size
    if not isinstance(cell, Fraction) and abs(cell) == math.inf:
        return math.inf if cell > 0 else -math.inf
    return Fraction(*cell.as_integer_ratio())


def as_float(exact):
    """The nearest float, the largest where none is near."""
    return Fraction(float(min(max(exact, Fraction(-LARGEST)), Fraction(LARGEST))))


def code_of_category(domain, cell):
    key = None if is_missing(cell) else cell
    key = key.item() if isinstance(key, (np.number, np.bool_)) else key
    try:
        hash(key)
    except Exception:
        return len(domain.values) if domain.other else REFUSED
    for code, value in enumerate(domain.values):
        if value is key or (value is not None and key is not None and equal(value, key)):
            return code
    return len(domain.values) if domain.other else REFUSED


def equal(value, key):
    if isinstance(value, tuple) and isinstance(key, tuple):
        return len(value) == len(key) and all(map(equal, value, key))
    if isinstance(value, tuple) or isinstance(key, tuple):
        return False
    with np.errstate(all="ignore"):
        return isinstance(value, bytes) == isinstance(key, bytes) and bool(value == key)


def bucket_of(domain, cell):
    if isinstance(cell, (Telltale, np.void, np.longdouble, np.timedelta64, np.datetime64)):
        return None  # anything, but the same alone and beside others
    cell = cell.item() if isinstance(cell, np.generic) else cell
    text = "" if is_missing(cell) else str(cell).strip()
    if isinstance(cell, float) and math.isfinite(cell) and cell == math.floor(cell):
        text = str(int(cell))
    digest = int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
    return 1 + digest % (domain.buckets - 1) if text else 0


def expected(domain, cell, moved):
    """The code of a cell by the words of the domain's documentation; `moved` as for new records."""
    if isinstance(domain, Categories):
        code = code_of_category(domain, cell)
        return domain.size if moved and code == REFUSED else code
    if isinstance(domain, Hashed):
        return bucket_of(domain, cell)
    exact = number(cell)
    if isinstance(domain, LargeIntegerRange):
        if not isinstance(cell, (int, np.integer)) or isinstance(cell, (bool, np.timedelta64)):
            return REFUSED
        inside = domain.low <= exact <= domain.high
        return min(max(exact, domain.low), domain.high) - domain.low if inside or moved else REFUSED
    return code_of_number(domain, exact, is_missing(cell), moved)


def code_of_number(domain, exact, missing, moved):
    accepts, gaps = getattr(domain, "outside", "") == "accept", getattr(domain, "missing", False)
    if exact is None:
        return 0 if accepts or (missing and gaps) else REFUSED
    if isinstance(exact, float):
        if not accepts:
            return REFUSED
        exact = Fraction(10) ** 400 * (1 if exact > 0 else -1)
    if isinstance(domain, Bits):
        if domain.binarize is not None:
            return int(as_float(exact) > domain.binarize)
        return int(exact > 0.5) if exact in (0, 1) or moved else REFUSED
    if isinstance(domain, Floats):
        value = as_float(exact)
        rounded = max(point for point in [0, *POSITIVE] if point <= abs(value))
        values = [*(-point for point in reversed(POSITIVE)), 0, *POSITIVE]
        return values.index(rounded if value > 0 else -rounded) + gaps
    free = moved or domain.outside != "refuse"
    if isinstance(domain, Grid):
        exact = as_float(exact)
        inside = domain.low <= exact <= domain.high
        exact = min(max(exact, Fraction(domain.low)), Fraction(domain.high))
        step = (Fraction(domain.high) - Fraction(domain.low)) / (domain.points - 1)
        return as_float(exact - Fraction(domain.low)) // step + gaps if free or inside else REFUSED
    inside = domain.low <= exact <= domain.high and exact.denominator == 1
    return (
        min(max(math.floor(exact), domain.low), domain.high) - domain.low + gaps
        if free or inside
        else REFUSED
    )


def objects(cells):
    """An array of objects with exactly these cells."""
    found = np.empty(len(cells), dtype=object)
    for place, cell in enumerate(cells):
        found[place] = cell
    return found


def code_by(read, values, refusals, place=0):
    """The code of a cell, or REFUSED; the refusal's text is collected, and must hold no other error."""
    try:
        return int(read(values)[place])
    except DomainError as refusal:
        refusals.add(str(refusal) if refusal.__context__ is None else "another error can be followed")
        return REFUSED


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_each_cell_has_the_code_that_exact_arithmetic_gives_or_is_refused_in_words_that_hold_no_cell(domain):
    good = domain.values[0] if isinstance(domain, Categories) else math.ceil(getattr(domain, "low", 0))
    holders = [objects, list] if domain in NUMBERS else [objects]
    for moved, read in ((False, domain.encode), (True, domain.nearest)):
        refusals, codes = set(), {}
        for place, cell in enumerate(CELLS):
            codes[place] = expected(domain, cell, moved)
            found = {code_by(read, hold([cell]), refusals) for hold in holders}
            found.add(code_by(read, objects([good, cell]), refusals, 1))
            assert found == {codes[place]} or (codes[place] is None and len(found) == 1), (moved, cell)
        accepted = [place for place, code in codes.items() if code not in (REFUSED, None)]
        found = read(objects([CELLS[place] for place in accepted]))
        assert found.tolist() == [codes[place] for place in accepted]
        assert found.dtype == np.min_scalar_type(domain.size)
        assert len(refusals) <= 1  # nor does a refusal tell which kind of cell it was
        for text in refusals:
            assert text.startswith(
                f"a value lies outside the declared domain {domain!r}, where {domain.assumption}"
            )
            assert not any(shown in text for shown in ("secret", "nan"))


@pytest.mark.parametrize("kind", [IntegerRange, partial(Grid, size=11), partial(Dates, step="D")])
def test_a_refusal_names_the_ends_first_and_is_short_and_without_json(kind):
    ends = ("2020-01-01", "2020-12-31") if "Dates" in str(kind) else (0, 50)
    domain = kind(*ends)
    advice = str(domain.refuse()).partition(f"where {domain.assumption}")[2]
    assert advice.startswith(": it is beyond the ")
    assert f"{type(domain).__name__}(low, high, missing=True) accepts missing ones" in advice
    assert len(advice.split()) < 40
    assert "JSON" not in advice
    with_gaps = kind(*ends, missing=True)
    assert "missing" not in str(with_gaps.refuse()).partition(f"where {with_gaps.assumption}")[2]


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_codes_of_an_array_are_those_of_its_cells_whatever_its_shape_order_and_type(domain):
    for values in TYPED:
        codes = [expected(domain, each, False) for each in values]
        for place, code in enumerate(codes):
            found = code_by(domain.encode, values[place : place + 1], set())
            assert code in (found, None), values[place : place + 1]
        kept = values[[code not in (REFUSED, None) for code in codes]]
        if len(kept) < len(values):
            assert code_by(domain.encode, values, set()) == REFUSED or None in codes
        if not len(kept):
            continue  # perhaps a type that is refused
        table = np.stack([kept, kept[::-1]])
        table.flags.writeable = False
        found = domain.encode(table)
        assert found.dtype == np.min_scalar_type(domain.size)
        assert found[0].tolist() == [code for code in codes if code not in (REFUSED, None)]
        assert domain.nearest(table.T).tolist() == found.T.tolist()
        assert domain.encode(table[:, ::2]).tolist() == found[:, ::2].tolist()
    assert domain.nearest(np.zeros((0, 3), dtype=object)).shape == (0, 3)
    assert domain.nearest(np.array(1)).shape == ()


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_equal_domains_are_equal_after_use_copy_pickle_and_repr(domain):
    for other in (copy.deepcopy(domain), pickle.loads(pickle.dumps(domain)), eval(repr(domain), NAMES)):
        assert other == domain
        assert hash(other) == hash(domain)
        assert other.nearest([1]).tolist() == domain.nearest([1]).tolist()
        # A format with safe types, such as that of skops, cannot load a dict with a key None.
        assert not any(isinstance(each, dict) for each in other.__getstate__().values())
    assert sum(domain == other for other in DOMAINS) == 1


NAMES = {**vars(sys.modules["dplearn.domains"]), "nan": math.nan}


def holds(words, value):
    """Whether the words of a test are true of a value, read as a person would."""
    if is_missing(value):
        return words.endswith("missing)") or words == "is missing"
    words = words.removesuffix(" (or missing)")
    if words in ("is any number", "is missing"):
        return words == "is any number"
    sign, text = words.split()
    bound = int(text) if text.lstrip("-").isdigit() else float(text)
    return value == bound if sign == "==" else value < bound if sign == "<" else value <= bound


ORDERED = [
    *(each for each in NUMBERS if not isinstance(each, LargeIntegerRange)),
    *(Grid(-1, 2, 4), Grid(0, 1e6, 300), Grid(3, 4, 3, "clip"), Grid(0, 1), Floats(), Floats(missing=True)),
    *(Floats(significand_bits=0), Floats(significand_bits=5, smallest=1, missing=True)),
    *(Bits(0.1234567), Bits(1234567.8), Bits(-1e-7), Bits("0.5"), Bits(Fraction(1, 2)), Bits(40)),
]


@pytest.mark.parametrize("domain", ORDERED, ids=repr)
def test_the_words_for_a_code_are_true_of_exactly_the_values_with_at_most_that_code(domain):
    codes = sorted({*range(0, domain.size, -(-domain.size // 12)), 1, domain.size - 2, domain.size - 1})
    values = [0, 0.5, 1, 3, 99, -7.5, LARGEST, -LARGEST, TINY, -TINY, -0.0, None]
    for code in codes:
        words = domain.describe_test(code)
        text = words.removesuffix(" (or missing)").lstrip("<= ")
        near = []
        if not text.startswith("is"):
            bound = float(text)
            near = [bound, math.nextafter(bound, -math.inf), math.nextafter(bound, math.inf), -bound]
        for value in [*values, *(each for each in near if math.isfinite(each))]:
            try:
                found = domain.encode([value]).item() <= code
            except DomainError:
                continue
            assert holds(words, value) == found, (code, value)


@pytest.mark.parametrize(
    "domain",
    [
        *(IntegerRange(MIN64, MAX64 - 1), Grid(-0.1, 0.7, size=1000), Grid(1e-300, 1e300, size=1 << 32)),
        *(Grid(-0.1, 0.7, size=255, missing=True), Grid(1e-300, 1e300, size=1 << 32, missing=True)),
        *(Floats(), Floats(missing=True), Floats(significand_bits=3, smallest=1e-3, largest=77)),
        LargeIntegerRange(-5, 2**65_536 - 6),
        *(each for each in NUMBERS if hasattr(each, "decode")),
    ],
    ids=repr,
)
def test_the_number_of_a_code_has_that_code_and_that_of_the_missing_is_missing(domain):
    last = domain.size - 1
    codes = sorted({last * place // 97 for place in range(98)})
    codes = objects(codes) if isinstance(domain, LargeIntegerRange) else np.array(codes, dtype=np.uint64)
    numbers = domain.decode(codes)
    assert domain.encode(numbers).tolist() == codes.tolist()
    assert (np.diff(numbers[1:].astype(object)) > 0).all()
    if getattr(domain, "missing", False):
        assert math.isnan(numbers[0])
        whole = type(domain)(**domain.parameters | {"missing": False, "outside": "refuse"})
        assert (whole.size, whole.accepts_missing, domain.accepts_missing) == (last, False, True)
        assert numbers[1:].tolist() == whole.decode(codes[1:] - np.uint64(1)).tolist()
    if not isinstance(domain, LargeIntegerRange):
        np.testing.assert_array_equal(domain.decode(int(codes[-1])), numbers[-1])


@st.composite
def grids_with_values(draw):
    low = draw(st.floats(-1e6, 1e6))
    high = draw(st.floats(min_value=low + 1e-3, max_value=2e6))
    inside = st.floats(low, high) | st.sampled_from([low, high])
    return Grid(low, high, draw(st.integers(2, 300))), np.array(
        draw(st.lists(inside, min_size=1, max_size=8))
    )


@repeatable
@given(grids_with_values(), st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=8))
def test_the_code_in_a_grid_is_the_last_point_reached_but_for_rounding(case, anywhere):
    grid, values = case
    codes = grid.encode(values).tolist()
    step = (Fraction(grid.high) - Fraction(grid.low)) / (grid.points - 1)
    for value, code in zip(values.tolist(), codes, strict=True):
        reached = (Fraction(value) - Fraction(grid.low)) / step
        assert code - Fraction(1, 10**6) <= reached < code + 1 + Fraction(1, 10**6)
    assert [code for _, code in sorted(zip(values.tolist(), codes, strict=True))] == sorted(codes)
    moved = grid.encode(np.clip(anywhere, grid.low, grid.high)).tolist()
    assert grid.nearest(np.array(anywhere)).tolist() == moved
    assert Grid(grid.low, grid.high, grid.points, "clip").encode(np.array(anywhere)).tolist() == moved


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
some_floats = st.lists(
    finite | st.floats(-1e-307, 1e-307) | st.floats(-99, 99) | st.sampled_from([0.0, -0.0, LARGEST, TINY]),
    min_size=1,
    max_size=10,
)


@st.composite
def floats_domains(draw):
    smallest, largest = TINY, LARGEST
    if draw(st.booleans()):
        smallest, largest = sorted((draw(magnitudes), draw(magnitudes)))
    bits = draw(st.integers(0, 52) | st.sampled_from([0, 52]))
    return Floats(significand_bits=bits, smallest=smallest, largest=largest, missing=draw(st.booleans()))


@repeatable
@given(floats_domains(), some_floats)
def test_a_cut_of_floats_is_moved_to_an_integer_that_cuts_integers_alike(domain, values):
    integers = np.rint([*values, *(each + step for each in values for step in (-1, 1)), 0, 1])
    codes, largest = domain.encode(integers.clip(-LARGEST, LARGEST)), domain.decode([domain.size - 1])[0]
    for code in {-1, 0, domain.size - 1, *domain.encode(np.array(values)).tolist()}:
        moved = domain.at_integers(code)
        assert ((codes <= moved) == (codes <= code)).all()
        if domain.missing <= moved < domain.size - 1:
            number = float(domain.describe_test(moved).removesuffix(" (or missing)").lstrip("<= "))
            assert number.is_integer() or abs(number) == largest


@repeatable
@given(floats_domains(), some_floats)
def test_floats_are_told_apart_exactly_if_their_roundings_differ(domain, values):
    codes = domain.encode(np.array(values)).tolist()
    exact = [rounded(value, domain) for value in values]
    for a, code_a in zip(exact, codes, strict=True):
        for b, code_b in zip(exact, codes, strict=True):
            assert (code_a < code_b, code_a == code_b) == (a < b, a == b)
    zero = domain.encode([0.0]).item()
    mirrored = domain.encode(-np.array(values)).tolist()
    assert [zero - code for code in codes] == [code - zero for code in mirrored]
    assert domain.encode(np.array([-LARGEST, LARGEST])).tolist() == [domain.missing, domain.size - 1]
    if domain == Floats():
        assert domain.decode(np.array(codes, dtype=np.uint64)).tolist() == values
