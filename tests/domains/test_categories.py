"""Names are coded one by one, by place in the list, by hash, or as bits; words and refusals are exact."""

import copy
import datetime
import decimal
import pickle
from fractions import Fraction
from hashlib import blake2b

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.domains import Bits, Categories, DomainError, Hashed

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)

MISSING = [None, float("nan"), np.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT", "D")]


def objects(values):
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def check_each_alone(domain, values):
    """Check that codes are within the domain and that no value's code depends on another; return codes."""
    codes = domain.encode(values)
    assert codes.shape == values.shape
    assert codes.dtype == np.min_scalar_type(domain.size)
    assert codes.tolist() == [domain.encode(values[i : i + 1]).item() for i in range(len(values))]
    assert all(0 <= code < domain.size for code in codes.tolist())
    assert domain.nearest(values).tolist() == codes.tolist()
    return codes.tolist()


# Categories

names = st.none() | st.text(max_size=3) | st.integers(-5, 5) | st.sampled_from([0.5, (1, 2), b"x"])


@repeatable
@given(st.lists(names, min_size=1, max_size=6, unique=True), st.booleans(), st.data())
def test_a_categorys_code_is_its_place_in_the_list(listed, other, data):
    domain = Categories(listed, other)
    assert domain.size == len(listed) + other
    allowed = st.sampled_from(listed) | names if other else st.sampled_from(listed)
    values = data.draw(st.lists(allowed, min_size=1))
    expected = [listed.index(v) if v in listed else len(listed) for v in values]
    assert check_each_alone(domain, objects(values)) == expected


@pytest.mark.parametrize("other", [False, True])
def test_all_codes_are_reached_and_described_exactly(other):
    listed = ["north", 7, None]
    domain = Categories(listed, other)
    values = objects([*listed, "moon"] if other else listed)
    assert domain.encode(values).tolist() == list(range(domain.size))
    words = [domain.describe_test(code) for code in range(domain.size)]
    assert words == ["== 'north'", "== 7", "is missing"] + ["is none of the listed categories"] * other


def test_values_that_are_not_listed_are_refused_or_other():
    assert Categories(["a", "b"], other=True).encode(np.array(["c", "a"])).tolist() == [2, 0]
    with pytest.raises(
        DomainError,
        match=r"; other=True accepts values that are not listed, None among .* only missing ones$",
    ):
        Categories(["a", "b"]).encode(np.array(["a", "c"]))
    with pytest.raises(DomainError, match=r"; other=True accepts values that are not listed$"):
        Categories(["a", None]).encode(np.array(["c"]))


def test_the_nearest_of_a_value_that_is_not_listed_is_a_code_of_no_value():
    assert Categories(["a", "b"]).nearest(np.array(["c", "b"])).tolist() == [2, 1]
    many = Categories(range(255))
    assert many.nearest(np.array([999, 254])).tolist() == [255, 254]
    assert Categories(range(256)).nearest(np.array([999])).tolist() == [256]


@pytest.mark.parametrize("value", MISSING, ids=repr)
@pytest.mark.parametrize("listed", [[None, "a"], [np.nan, "a"], [pd.NA, "a"]], ids=str)
def test_none_stands_for_missing_values_of_every_kind(value, listed):
    domain = Categories(listed)
    assert domain.values == (None, "a")
    assert domain.accepts_missing
    assert domain.encode(objects([value, "a"])).tolist() == [0, 1]
    assert Categories(["a"], other=True).encode(objects([value])).tolist() == [1]
    with pytest.raises(DomainError, match="outside"):
        Categories(["a"]).encode(objects([value]))


def test_numbers_are_the_same_category_whatever_their_type():
    domain = Categories([0, 1, 2.5])
    for dtype in (np.int8, np.uint64, np.float32, np.float64, bool, object):
        assert domain.encode(np.array([1, 0], dtype=dtype)).tolist() == [1, 0]


@pytest.mark.parametrize("other", [False, True])
@pytest.mark.parametrize("value", [["secret"], {"secret": 1}, {"secret"}], ids=repr)
def test_a_value_that_cannot_be_hashed_is_one_that_is_not_listed(value, other):
    domain = Categories(["a"], other)
    if other:
        assert domain.encode(objects([value])).tolist() == [1]
    else:
        with pytest.raises(DomainError, match="outside"):
            domain.encode(objects([value]))


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        (([],), ValueError, r"values must be a list of at least one category, got \[\]"),
        (("abc",), ValueError, "values must be a list of at least one category, got 'abc'"),
        ((["a", "a"],), ValueError, r"values must be distinct, got \['a', 'a'\]"),
        (([1, 1.0],), ValueError, "values must be distinct"),
        (([None, np.nan],), ValueError, "values must be distinct"),
        ((["a"], 1), TypeError, "other must be True or False, got 1"),
    ],
    ids=str,
)
def test_categories_refuse_by_parameter_constraint_and_value(parameters, error, message):
    with pytest.raises(error, match=message):
        Categories(*parameters)


def test_categories_say_whether_they_are_numbers():
    assert Categories([0, 1.5, None]).numeric
    assert not Categories([0, "1"]).numeric
    assert not Categories([0, 1]).ordered


# Hashed


@pytest.mark.parametrize(
    ("value", "bucket"),
    [
        ("north", 6),
        ("south", 53),
        ("", 0),
        (None, 0),
        (1, 45),
        ("Zürich", 6),
        ("\ud800", 18),  # half a surrogate pair, as a file name may hold
    ],
)
def test_buckets_are_the_same_on_every_machine(value, bucket):
    assert Hashed().encode(objects([value])).tolist() == [bucket]


@repeatable
@given(st.lists(st.text() | st.integers() | st.floats() | st.none(), min_size=1), st.integers(2, 1000))
def test_a_value_is_hashed_by_its_own_text_without_blanks_around_it(values, buckets):
    domain = Hashed(buckets)
    expected = []
    for value in values:
        text = "" if value is None or value != value else str(value).strip()
        text = str(int(value)) if isinstance(value, float) and value == value // 1 else text
        digest = int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
        expected.append(1 + digest % (buckets - 1) if text else 0)
    assert check_each_alone(domain, objects(values)) == expected


@pytest.mark.parametrize("value", MISSING, ids=repr)
def test_missing_values_share_the_bucket_0_with_the_empty_text_alone(value):
    assert Hashed().encode(objects([value, ""])).tolist() == [0, 0]
    assert Hashed().encode(objects([" ", "\t\n"])).tolist() == [0, 0]
    assert 0 not in Hashed(2).encode(objects([0, ".", "None", "nan", False])).tolist()


def test_every_bucket_is_reached():
    domain = Hashed(16)
    assert set(domain.encode(np.array([""] + [str(i) for i in range(500)])).tolist()) == set(range(16))


def test_any_kind_of_value_has_a_bucket():
    values = [{"a": 1}, ["a"], b"a", datetime.date(2020, 1, 1), decimal.Decimal("1.10"), Fraction(1, 3)]
    assert check_each_alone(Hashed(), objects(values)) == [Hashed().bucket(str(v)) for v in values]


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.float16, np.float32, np.float64, object])
def test_whole_numbers_have_one_bucket_whatever_the_type_of_their_column(dtype):
    domain = Hashed(1 << 20)
    texts = domain.encode(np.array(["3", "0", " 100 "])).tolist()
    assert domain.encode(np.array([3, 0, 100], dtype=dtype)).tolist() == texts
    assert len(set(texts)) == 3


def test_numpy_scalars_among_objects_have_the_bucket_of_their_number():
    whole = [3, 3.0, np.int8(3), np.float64(3), np.float32(3), np.float16(3)]
    assert len(set(Hashed(1 << 20).encode(objects(whole)).tolist())) == 1


def test_hashing_in_words():
    assert Hashed(8).describe_test(0) == "is missing"
    assert Hashed(8).describe_test(3) == "hashes to bucket 3 of 8"


@pytest.mark.parametrize("buckets", [1, 0, -1, 2.0, True, "8", 2**20 + 1], ids=repr)
def test_buckets_must_be_an_integer_in_range(buckets):
    with pytest.raises((TypeError, ValueError), match="buckets must be an integer from 2 to 1048576, got"):
        Hashed(buckets)


# Bits


@repeatable
@given(st.lists(st.floats(-5, 5) | st.integers(-5, 5), min_size=1), st.sampled_from([0.0, 0.5, -2.0, 3.0]))
def test_a_bit_says_whether_a_number_is_above_binarize(values, binarize):
    codes = check_each_alone(Bits(binarize), np.array(values, dtype=np.float64))
    assert codes == [int(value > binarize) for value in values]


def test_without_binarize_values_must_be_bits_already():
    assert Bits(None).encode(np.array([0, 1.0])).tolist() == [0, 1]
    assert Bits(None).encode(np.array([False, True])).tolist() == [0, 1]
    assert Bits(None).encode(np.array([-0.0], dtype=object)).tolist() == [0]
    assert Bits(None).nearest(np.array([0.4, 0.6, -3, 9])).tolist() == [0, 1, 0, 1]
    for value in (2, -1, 0.5):
        with pytest.raises(DomainError, match="outside"):
            Bits(None).encode(np.array([1, value]))


@pytest.mark.parametrize("domain", [Bits(), Bits(None)], ids=repr)
@pytest.mark.parametrize("value", [np.nan, np.inf, None, "yes", pd.NA], ids=repr)
def test_what_is_no_finite_number_is_no_bit(domain, value):
    with pytest.raises(DomainError, match="outside"):
        domain.encode(objects([1, value]))


@pytest.mark.parametrize("binarize", [0.0, 40, 0.25, 0.1234567, 1234567.8, -1e-7], ids=str)
def test_the_words_for_a_bit_are_exact(binarize):
    domain = Bits(binarize)
    sign, text = domain.describe_test(0).split()
    assert sign == "<="
    for value in (binarize, np.nextafter(binarize, np.inf), np.nextafter(binarize, -np.inf), float(text)):
        assert (domain.encode(np.array([value])).item() == 0) == (value <= float(text))
    assert domain.describe_test(1) == "is any number"
    assert Bits(None).describe_test(0) == "== 0"


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.int8, np.uint64, bool, object])
def test_a_cut_that_the_type_of_a_column_cannot_hold_is_no_hindrance(dtype):
    assert Bits(1e6).encode(np.array([1, 0], dtype=dtype)).tolist() == [0, 0]


@pytest.mark.parametrize(
    "binarize", ["0.5", Fraction(1, 2), decimal.Decimal("0.5"), np.float32(0.5)], ids=repr
)
def test_binarize_may_be_written_as_any_number(binarize):
    domain = Bits(binarize)
    assert domain.encode(np.array([0.5, 0.75])).tolist() == [0, 1]
    assert domain.describe_test(0) == "<= 0.5"


@pytest.mark.parametrize("binarize", [np.nan, np.inf, "warm", True, [0]], ids=repr)
def test_binarize_must_be_a_number(binarize):
    with pytest.raises((TypeError, ValueError), match="binarize must be a finite number, got"):
        Bits(binarize)


# What holds for all

EXAMPLES = [
    Categories(["a", "b"]),
    Categories(["b", "a"]),
    Categories([1, None], other=True),
    Hashed(),
    Hashed(8),
    Bits(),
    Bits(None),
    Bits(2),
]


@pytest.mark.parametrize("domain", EXAMPLES, ids=repr)
def test_equal_domains_are_equal_after_use_copy_pickle_and_repr(domain):
    domain.nearest(np.array([1, 0]))
    for other in (copy.deepcopy(domain), pickle.loads(pickle.dumps(domain)), eval(repr(domain))):
        assert other == domain
        assert hash(other) == hash(domain)
        assert other.nearest(np.array([1, 0])).tolist() == domain.nearest(np.array([1, 0])).tolist()
    assert sum(domain == other for other in EXAMPLES) == 1


@pytest.mark.parametrize("domain", [Categories(["a"]), Categories([1]), Bits(), Bits(None)], ids=repr)
def test_refusals_hold_no_value(domain):
    seen = set()
    for values in (["secret"], [31.41592, "secret"], [np.inf, 31.41592, None]):
        with pytest.raises(DomainError) as refusal:
            domain.encode(objects(values))
        seen.add(str(refusal.value))
    [given] = seen
    assert given.startswith(f"a value lies outside the declared domain {domain!r}, where {domain.assumption}")
    assert not any(shown in given for shown in ("secret", "31.4", "inf", "nan"))


@pytest.mark.parametrize("domain", EXAMPLES, ids=repr)
def test_shapes_are_kept(domain):
    values = np.array([[1, 0, 0], [0, 1, 0]])
    codes = domain.nearest(values)
    assert codes.shape == (2, 3)
    assert codes.ravel().tolist() == domain.nearest(values.ravel()).tolist()
    assert domain.nearest(values[:0]).shape == (0, 3)
    assert domain.nearest(np.array(1)).shape == ()


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        (Categories(["a", "b"]), "values are among 2 public categories"),
        (Categories(["a", "b"], other=True), "the list of 2 categories is public"),
        (Hashed(), "values are of any kind"),
        (Bits(), "values are finite numbers"),
        (Bits(None), "values are 0 or 1"),
    ],
    ids=repr,
)
def test_assumptions_in_words(domain, words):
    assert domain.assumption == words
