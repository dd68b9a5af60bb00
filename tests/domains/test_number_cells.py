"""Cells become numbers, or are refused in words that show none of them."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from dplearn.domains import DomainError, Floats
from dplearn.domains.cells import as_numbers

FLOATS = Floats()


@pytest.mark.parametrize(
    "cells",
    [
        [1, 2.5],
        np.array([1, 2.5], dtype=object),
        [Fraction(1), Decimal("2.5")],
        np.array([1, 2.5], np.float32),
    ],
)
def test_numbers_of_all_kinds_are_read(cells):
    assert as_numbers(cells, FLOATS).astype(np.float64).tolist() == [1, 2.5]


def test_what_no_float_holds_becomes_the_greatest_one():
    cells = np.array([10**400, -(10**400), 1], dtype=object)
    largest = np.finfo(np.float64).max
    assert as_numbers(cells, FLOATS).tolist() == [largest, -largest, 1]


def test_bits_are_small_integers():
    assert as_numbers(np.array([True, False]), FLOATS).tolist() == [1, 0]


@pytest.mark.parametrize(
    "cells", [["7q7", 1], [None, 1], [float("nan"), 1], [float("inf"), 1], [1j, 1], [b"7q7", 1], [["7q7"], 1]]
)
def test_anything_else_is_refused_and_no_error_quotes_a_cell(cells):
    array = np.empty(2, dtype=object)
    array[:] = cells
    with pytest.raises(DomainError) as caught:
        as_numbers(array, FLOATS)
    assert "7q7" not in str(caught.value)
    assert caught.value.__context__ is None


def test_gaps_are_kept_where_they_are_admitted():
    cells = np.array([None, float("nan"), 3], dtype=object)
    assert np.isnan(as_numbers(cells, FLOATS, missing=True)).tolist() == [True, True, False]
    with pytest.raises(DomainError):
        as_numbers(np.array([np.inf, 1]), FLOATS, missing=True)
