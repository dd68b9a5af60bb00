"""Dimensions of known classes and their trees; the recursion over version spaces is exact, or says that it is
not; of explicit trees every leaf is checked."""

from functools import cache
from itertools import product
from math import gcd

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.concepts import (
    Conjunctions,
    Corners,
    DecisionStumps,
    FiniteClass,
    Parities,
    Thresholds,
    VersionSpaces,
)
from dplearn.domains import IntegerRange, Product
from dplearn.theory import (
    LittlestoneDimension,
    ball_mistake_tree,
    box_mistake_tree,
    halfspace_mistake_tree,
    littlestone_dimension,
    mistake_tree,
)


def thresholds(size):
    return [[int(x >= cut) for x in range(size)] for cut in range(size)]


def parities(d):
    return [[bin(a & x).count("1") % 2 for x in range(2**d)] for a in range(2**d)]


def lines(p):
    points = list(product(range(p), repeat=2))
    return [[int((a * x + b - y) % p == 0) for x, y in points] for a, b in points]


def intervals(size):
    return [[int(a <= x <= b) for x in range(size)] for a in range(size) for b in range(a, size)]


def cut(points, weights):
    """The halfspaces with these weights, as rows of labels."""
    values = points @ weights
    return {tuple((values >= v).astype(int)) for v in [*values, values.max() + 1]}


def halfplanes(size):
    """All halfplanes on a grid: the order of the products changes only across these directions."""
    points = np.array(list(product(range(size), repeat=2)))
    steps = [s for s in product(range(1 - size, size), repeat=2) if gcd(*s) == 1]
    turned = sorted(((-y, x) for x, y in steps), key=lambda v: np.arctan2(v[1], v[0]))
    between = [np.add(a, b) for a, b in zip(turned, turned[1:] + turned[:1], strict=True)]
    return sorted(set().union(*(cut(points, w) for w in [*map(np.array, turned), *between])))


KNOWN = {
    "thresholds": (thresholds, (2, 4, 8, 16, 32), (1, 2, 3, 4, 5)),
    "points": (lambda n: np.eye(n, dtype=int), (2, 3, 30), (1, 1, 1)),
    "parities": (parities, (1, 2, 3, 4), (1, 2, 3, 4)),
    "lines": (lines, (2, 3, 5, 7, 11), (2, 2, 2, 2, 2)),
    "intervals": (intervals, (2, 3, 4, 5, 6, 7, 8, 16, 32, 64), (1, 2, 3, 3, 4, 4, 4, 6, 8, 10)),
    "halfplanes": (halfplanes, (2, 3, 4, 6), (3, 5, 7, 9)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_classes_have_these_dimensions_and_trees_as_deep(name):
    concepts, sizes, wanted = KNOWN[name]
    found = [littlestone_dimension(concepts(size)) for size in sizes]
    assert found == [LittlestoneDimension(each, each) for each in wanted]
    assert all(each.exact for each in found)
    for size, depth in zip(sizes[:4], wanted[:4], strict=True):
        tree = mistake_tree(concepts(size))
        tree.check()
        assert tree.depth == depth


CLASSES = [
    *(
        DecisionStumps(Product([IntegerRange(0, size - 1) for size in sizes]))
        for sizes in ((1,), (2,), (5,), (8,), (2, 2), (2, 2, 2, 2), (4, 4), (5, 3), (5, 5, 5, 5))
    ),
    Thresholds(Product([IntegerRange(0, 6), IntegerRange(0, 1)])),
    *(Conjunctions(d, k, binarize=None) for d, k in ((1, 1), (3, 1), (4, 2), (4, 4), (5, 1), (8, 1))),
    *(Parities(d, binarize=None, fit_intercept=both) for d in (1, 4) for both in (False, True)),
    FiniteClass(intervals(8)),
    *(
        Corners(Product([IntegerRange(0, size - 1) for size in sizes]), **more)
        for sizes in ((2,), (5,), (2, 2), (3, 2), (3, 3))
        for more in ({}, {"directions": ["<="] * len(sizes), "inside": 1})
    ),
]


@pytest.mark.parametrize("concepts", CLASSES, ids=repr)
def test_closed_forms_are_at_most_the_dimension(concepts):
    exact = littlestone_dimension(concepts)
    assert exact.exact
    slack = 2 if isinstance(concepts, Corners) else 1
    assert exact.lower - slack <= concepts.littlestone_lower_bound <= exact.lower
    mistake_tree(concepts).check()


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
    assert most > 2 or least < greatest


@pytest.mark.parametrize(
    ("bits", "d"), [(1, 1), (5, 1), (10, 1), (3, 2), (2, 3), (1, 4), (3, 3), (1, 5), (2, 5)]
)
def test_halfspaces_balls_and_boxes_have_trees_of_the_stated_depth(bits, d):
    round_depth, depth_of_boxes = bits * (d * (d - 1) // 2 + 1), 2 * d * (bits - 1)
    grown = {
        halfspace_mistake_tree: round_depth,
        ball_mistake_tree: round_depth,
        box_mistake_tree: depth_of_boxes,
    }
    for grow, depth in grown.items():
        if depth <= 16:
            tree = grow(bits, d)
            tree.check()
            assert tree.depth == depth
            assert all(0 <= x < 2**bits for point in tree.points for x in point)
    assert all(0 <= x < 4 for box in box_mistake_tree(2, d).concepts for x in (*box.low, *box.high))
