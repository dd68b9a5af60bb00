"""The recursion over version spaces is exact, or says that it is not."""

from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.concepts.finite import VersionSpaces


def dimension(table):
    """The definition, over sets of rows."""

    @cache
    def of(rows):
        found = 0
        for column in np.array(sorted(rows)).T if len(rows) > 1 else ():
            parts = [
                frozenset(row for row, bit in zip(sorted(rows), column, strict=True) if bit == b)
                for b in (0, 1)
            ]
            if all(parts):
                found = max(found, 1 + min(map(of, parts)))
        return found

    return of(frozenset(map(tuple, table)))


def rows_of(numbers, width):
    return [[number >> i & 1 for i in range(width)] for number in sorted(numbers)]


@settings(deadline=None, derandomize=True, database=None, max_examples=60)
@given(st.sets(st.integers(0, 31), min_size=1, max_size=20))
def test_the_dimension_is_that_of_the_definition(numbers):
    table = rows_of(numbers, 5)
    spaces = VersionSpaces(table)
    least, most = spaces.bounds()
    assert least == most == dimension(table)


@pytest.mark.parametrize("most", [1, 2, 5, 20])
def test_a_full_memo_leaves_bounds_and_a_tree_of_the_lower_one(most):
    generator = np.random.default_rng(0)
    table = np.unique(generator.integers(0, 2, (200, 12)), axis=0)
    exact, same = VersionSpaces(table).bounds()
    spaces = VersionSpaces(table, most=most)
    least, greatest = spaces.bounds()
    assert exact == same
    assert least <= exact <= greatest == len(table).bit_length() - 1
    points, concepts = spaces.tree(least)
    assert (len(points), len(concepts)) == (2**least - 1, 2**least)
    assert most > 2 or least < greatest


def test_a_memo_of_one_space_proves_less():
    table = rows_of(range(64), 6)
    assert VersionSpaces(table, most=1).bounds() == (2, 6)
    assert VersionSpaces(table).bounds() == (6, 6)


def test_no_tree_is_deeper_than_the_dimension():
    with pytest.raises(ValueError, match="no mistake tree of depth 2"):
        VersionSpaces(np.eye(4, dtype=int)).tree(2)
