"""Bins: functions of single values, of public sizes, with descriptions."""

import numpy as np
import pytest

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
