"""A class of corners counts, orders and describes exactly its members, from 2 cuts to 2**64 a column."""

from collections import Counter
from itertools import pairwise, product
from math import prod

import numpy as np
import pytest

from dplearn.concepts import Corners
from dplearn.domains import Floats, IntegerRange, Product

WIDE = IntegerRange(-(2**63) + 1, 2**63 - 1)  # 2**64 - 1 integers, the most a domain holds


def records(rng, concepts, n):
    columns = [rng.integers(0, size, size=n).astype(np.uint8) for size in concepts.sizes]
    return columns, rng.integers(0, 2, size=n)


def errors_of(member, columns, y):
    return int((member.predict(columns) != y).sum())


def groups_by_cells(concepts, columns, y):
    """Count members in Python integers, one cell after the other."""
    counts = Counter()
    edges = [
        [-1, *sorted(set(column.tolist())), size]
        for column, size in zip(columns, concepts.sizes, strict=True)
    ]
    for above, inner in product(concepts.directions, concepts.labels_inside):
        for cell in product(*map(pairwise, edges)):
            member = concepts.member(above, inner, [start for start, _ in cell])
            counts[errors_of(member, columns, y)] += prod(end - start for start, end in cell)
    return sorted((errors, number) for errors, number in counts.items() if number)


@pytest.mark.parametrize(
    ("domain", "n_columns"),
    [
        *product([WIDE, Floats(missing=True), IntegerRange(0, 2**40)], [1, 2]),
        *((IntegerRange(0, 2**k), columns) for k, columns in ((31, 3), (20, 4))),
    ],
    ids=repr,
)
def test_members_of_large_classes_make_the_errors_that_are_counted(domain, n_columns):
    rng = np.random.default_rng(2)
    concepts = Corners(Product([domain] * n_columns))
    ends = [0, 1, domain.size - 2, domain.size - 1]
    for n in (1, 2, 7 if n_columns < 4 else 4):
        codes = np.append(rng.integers(0, domain.size, size=n, dtype=np.uint64), np.array(ends, np.uint64))
        columns = [rng.permutation(codes)[:n] for _ in range(n_columns)]
        y = rng.integers(0, 2, size=n)
        profile = concepts.error_profile(columns, y)
        groups = list(zip(*profile.groups(), strict=True))
        assert groups == groups_by_cells(concepts, columns, y)
        assert sum(int(number) for _, number in groups) == concepts.size
        for errors, number in groups:
            places = {0, number // 3, number // 2, number - 1}
            found = [profile.member(errors, index) for index in places]
            assert len(set(found)) == len(places)
            assert {errors_of(member, columns, y) for member in found} == {errors}
            assert all(-1 <= code < domain.size for member in found for code in member.codes)


def test_nets_over_a_wide_range_are_counted_too(monkeypatch):
    rng = np.random.default_rng(3)
    concepts = Corners(Product([IntegerRange(0, 9)] * 2))
    columns, y = records(rng, concepts, 300)
    expected = concepts.error_profile(columns, y).groups()
    monkeypatch.setattr("dplearn.concepts.corners.DENSE", 4)
    monkeypatch.setattr("dplearn.concepts.corners.BLOCK", 7)
    assert concepts.error_profile(columns, y).groups() == expected
