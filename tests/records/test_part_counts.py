import numpy as np
import pytest

from dplearn.core.intervals import SortedRecords, children_of, whole
from dplearn.records.part_counts import PartedTreeRecords, gathered_codes
from dplearn.records.part_sources import in_parts
from dplearn.records.passes import InTurn


def cut(codes, cuts):
    parts = np.split(codes, cuts)
    given = in_parts(InTurn(lambda: [(part, None) for part in parts]))
    _, records = given.read(lambda X, y: (len(X), X))
    return records


@pytest.mark.parametrize("size", [1000, 2**64, 2**90])
def test_nodes_of_a_tree_are_counted_as_in_memory(size):
    step = size // 1000
    dtype = object if size > 2**64 else np.uint64
    codes = np.array(
        [step * each for each in np.random.default_rng(0).integers(0, 1000, 500).tolist()], dtype
    )
    parted, right = PartedTreeRecords(cut(codes, [1, 1, 300]), size), SortedRecords(codes, size)
    assert len(parted) == len(right) == 500
    level = whole(size, 500)
    for _ in range(2):
        level = children_of(level, np.arange(len(level.starts)), 16)
        counts = parted.counted(level)
        assert np.array_equal(counts, right.counted(level))
        assert counts.sum() == 500


def test_gathered_codes_are_those_of_all_parts_in_order():
    codes = np.array([5, 2**64 - 1, 5, 0], dtype=np.uint64)
    found = gathered_codes(cut(codes, [3]))
    assert found.dtype == np.uint64
    assert found.tolist() == sorted(codes.tolist())
