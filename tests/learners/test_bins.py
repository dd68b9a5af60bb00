"""Bins: functions of single values, of public sizes, with descriptions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dplearn.domains import Bits, Categories, Floats, Grid, Hashed, IntegerRange, LargeIntegerRange
from dplearn.learners.bins import binned

COARSE_OR_MISSING = Floats(significand_bits=0, smallest=1, largest=1, missing=True)


@pytest.mark.parametrize(
    ("domain", "n_bins", "size"),
    [
        (IntegerRange(1, 16), 32, 16),
        (IntegerRange(-(2**63), 2**63 - 2), 4, 4),
        (LargeIntegerRange(0, 2**200), 5, 5),
        (Bits(), 32, 2),
        (Categories(["a", "b", None], other=True), 2, 4),
        (Hashed(2**20), 2, 4096),
        (IntegerRange(0, 99, missing=True), 8, 9),
        (IntegerRange(0, 2**20, missing=True), 4096, 4082),
        (IntegerRange(-(2**63) + 2, 2**63 - 1, missing=True), 4, 5),
        (Grid(0, 1, missing=True), 16, 17),
        (Floats(), 4, 51),
        (Floats(missing=True), 32, 196),
        (Floats(significand_bits=0, smallest=1, largest=2), 32, 5),
        (Floats(smallest=2.0**20), 4, 3),
    ],
    ids=repr,
)
def test_the_number_of_bins_is_public_and_each_can_be_reached(domain, n_bins, size):
    bins = binned(domain, n_bins)
    assert bins.size == size
    ends = bins.of(np.array([0, domain.size - 1], dtype=object if domain.size >= 2**64 else np.uint64))
    last = (domain.size - 1) % size if not bins.width else size - 1
    assert ends.tolist() == [0, last]
    assert ends.dtype == np.int32


@given(st.integers(2, 60), st.integers(1, 500))
def test_bins_of_a_range_are_as_wide_as_each_other_but_the_last(n_bins, size):
    bins = binned(IntegerRange(0, size - 1), n_bins)
    found = bins.of(np.arange(size))
    counts = np.bincount(found)
    assert (np.diff(found) >= 0).all()
    assert len(counts) == bins.size <= n_bins
    assert (counts[:-1] == counts[0]).all()
    assert 0 < counts[-1] <= counts[0]


@pytest.mark.parametrize(
    "domain", [IntegerRange(0, 39), IntegerRange(0, 254), Grid(0, 39, 7), Grid(0, 9, 255)], ids=repr
)
@pytest.mark.parametrize("n_bins", [2, 4, 7])
def test_numbers_share_bins_as_they_do_without_missing_ones(domain, n_bins):
    gapped = type(domain)(**domain.parameters | {"missing": True})
    numbers = domain.decode(np.arange(domain.size))
    whole = binned(domain, n_bins).of(domain.encode(numbers))
    bins = binned(gapped, n_bins)
    assert bins.of(gapped.encode(numbers)).tolist() == (whole + 1).tolist()
    assert bins.of(gapped.encode([None])).tolist() == [0]


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=20), st.sampled_from([4, 16, 32]))
def test_floats_keep_their_order_and_fine_or_coarse_domains_agree(values, n_bins):
    values = np.sort(np.array(values))
    found = {
        bits: binned(domain, n_bins).of(domain.encode(values))
        for bits in (52, 10)
        for domain in [Floats(significand_bits=bits)]
    }
    assert (np.diff(found[52]) >= 0).all()
    assert (found[52] == found[10]).all()


@pytest.mark.parametrize("most", [4, 5, 16, 64])
@pytest.mark.parametrize("n_bins", [2, 16, 32])
@pytest.mark.parametrize("domain", [Floats(), Floats(missing=True), Hashed(2**10)], ids=repr)
def test_no_column_has_more_bins_than_the_most_there_may_be(domain, n_bins, most):
    assert 2 <= binned(domain, n_bins, most).size <= most


def test_a_value_outside_the_categories_has_no_bin():
    few, shared = binned(Categories(list("abc")), 2), binned(Hashed(100), 2, most=7)
    assert few.of(Categories(list("abc")).nearest(["c", "z"])).tolist() == [2, 3]
    assert shared.of(np.array([99, 100])).tolist() == [1, 7]


@pytest.mark.parametrize(
    ("domain", "allowed", "words"),
    [
        (IntegerRange(0, 39), [0, 1, 1, 0], "x > 9 and x <= 29"),
        (Grid(0, 4, 5), [1, 1, 0], "x < 4"),
        (IntegerRange(0, 39, missing=True), [1, 1, 0, 0, 0], "(x is missing or x <= 9)"),
        (IntegerRange(0, 39, missing=True), [0, 0, 1, 1, 0], "x > 9 and x <= 29 and x is not missing"),
        (COARSE_OR_MISSING, [0, 1, 1, 1], "x is not missing"),
        (COARSE_OR_MISSING, [1, 0, 0, 1], "(x is missing or x >= 1)"),
        (Bits(None), [1, 0], "not x"),
        (Categories(["a", "b", None, 3]), [1, 1, 0, 0], "(x == 'a' or x == 'b')"),
        (Categories(["a", "b", None, 3]), [1, 1, 0, 1], "x is not missing"),
        (Categories(["a", "b", "c"]), [0, 1, 1], "x != 'a'"),
        (Hashed(4), [1, 1, 1, 0], "not (x hashes to bucket 3 of 4)"),
    ],
    ids=repr,
)
def test_a_condition_in_words(domain, allowed, words):
    assert binned(domain, 4).describe("x", [bool(each) for each in allowed]) == words
