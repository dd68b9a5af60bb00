import numpy as np
import pytest

from dplearn.kernels.rows import float_blocks, row_blocks


@pytest.mark.parametrize("n", [0, 1, 1024, 1025, 30_000])
@pytest.mark.parametrize("width", [0, 1, 20, 100_000])
def test_each_row_is_in_one_block(n, width):
    places = [place for block in row_blocks(n, width) for place in range(block.start, block.stop)]
    assert places == list(range(n))


def test_blocks_hold_few_numbers_unless_rows_are_long():
    assert all(20 * (block.stop - block.start) <= 1 << 16 for block in row_blocks(10_000, 20))
    assert [block.stop - block.start for block in row_blocks(2048, 1 << 18)] == [1024, 1024]


def test_blocks_are_floats_whose_products_are_exact():
    rows = np.full((3000, 2), 1 << 10, dtype=np.int16)
    assert sum(block.T @ block for _, block in float_blocks(rows)).tolist() == [[3000 << 20] * 2] * 2
