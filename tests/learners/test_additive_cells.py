"""Tests of lookups for several columns at once: the same sums as column by column."""

import numpy as np
import pytest

from dplearn.learners.additive_cells import ColumnBundles, grouped


def test_adjacent_columns_are_grouped_while_their_codes_are_few():
    assert grouped([66, 66, 66]).bundles == ((66, 66), (66,))
    assert grouped([3, 4, 5, 6, 512, 2]).bundles == ((3, 4, 5, 6), (512, 2))
    assert grouped([1 << 15, 1, 256, 256]).bundles == ((1 << 15,), (1, 256), (256,))
    assert max(grouped([2] * 40).sizes) <= 1 << 13
    assert grouped([1, 1]).bundles == ((1, 1),)
    assert len(grouped([])) == 0


@pytest.mark.parametrize("shape", [(), (3,)])
def test_sums_of_bundles_are_sums_of_columns(shape):
    rng = np.random.default_rng(0)
    sizes = [90, 91, 7, 1, 13, 300, 2]
    bundles = grouped(sizes)
    assert len(bundles) < len(sizes)
    cells = np.stack([rng.integers(0, size, 500) for size in sizes], axis=1).astype(np.int16)
    tables = [rng.integers(-99, 99, (size, *shape)) for size in sizes]
    codes = bundles.codes(cells)
    found = sum(table[each] for table, each in zip(bundles.added(tables), codes, strict=True))
    assert (found == sum(table[column] for table, column in zip(tables, cells.T, strict=True))).all()
    counts = [np.bincount(each, minlength=size) for each, size in zip(codes, bundles.sizes, strict=True)]
    for split, column, size in zip(bundles.split(counts), cells.T, sizes, strict=True):
        assert split.tolist() == np.bincount(column, minlength=size).tolist()


def test_codes_of_the_most_cells_do_not_overflow():
    bundles = ColumnBundles(((90, 91), (8192,)))
    [pairs, alone] = bundles.codes(np.array([[89, 90, 8191]], dtype=np.int16))
    assert pairs.tolist() == [90 * 91 - 1]
    assert alone.tolist() == [8191]
