"""Tests of lookups for several columns at once: the same sums as column by column."""

import numpy as np
import pytest

from dplearn.learners.additive_cells import CellGroups, grouped


def test_adjacent_columns_are_grouped_while_their_codes_are_few():
    assert grouped([66, 66, 66]).groups == ((66, 66), (66,))
    assert grouped([3, 4, 5, 6, 512, 2]).groups == ((3, 4, 5, 6), (512, 2))
    assert grouped([1 << 15, 1, 256, 256]).groups == ((1 << 15,), (1, 256), (256,))
    assert max(grouped([2] * 40).sizes) <= 1 << 13
    assert grouped([1, 1]).groups == ((1, 1),)
    assert len(grouped([])) == 0


@pytest.mark.parametrize("shape", [(), (3,)])
def test_sums_of_groups_are_sums_of_columns(shape):
    rng = np.random.default_rng(0)
    sizes = [90, 91, 7, 1, 13, 300, 2]
    groups = grouped(sizes)
    assert len(groups) < len(sizes)
    cells = np.stack([rng.integers(0, size, 500) for size in sizes], axis=1).astype(np.int16)
    tables = [rng.integers(-99, 99, (size, *shape)) for size in sizes]
    codes = groups.codes(cells)
    found = sum(table[each] for table, each in zip(groups.added(tables), codes, strict=True))
    assert (found == sum(table[column] for table, column in zip(tables, cells.T, strict=True))).all()
    counts = [np.bincount(each, minlength=size) for each, size in zip(codes, groups.sizes, strict=True)]
    for split, column, size in zip(groups.split(counts), cells.T, sizes, strict=True):
        assert split.tolist() == np.bincount(column, minlength=size).tolist()


def test_codes_of_the_most_cells_do_not_overflow():
    groups = CellGroups(((90, 91), (8192,)))
    [pairs, alone] = groups.codes(np.array([[89, 90, 8191]], dtype=np.int16))
    assert pairs.tolist() == [90 * 91 - 1]
    assert alone.tolist() == [8191]
