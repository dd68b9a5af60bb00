"""Blocks of shards: which block trains a shard depends on its own length alone, and all shapes are public."""

import numpy as np

from dplearn.ensembles import batched_teachers
from dplearn.ensembles.padded_shards import blocks_of


def test_a_shard_is_trained_where_its_own_length_says():
    lengths, d = [1, 2, 20, 21, 40, 41, 80, 81, 160, 161, 10_000, 0], 10
    blocks, others = blocks_of(lengths, 20, d)
    place = {member: block.length for block in blocks for member in block.members}
    assert place == {1: 20, 2: 20, 3: 40, 4: 40, 5: 80, 6: 80, 7: 160, 8: 160}
    assert others == [0, 9, 10, 11]
    for changed in range(len(lengths)):
        other = [*lengths[:changed], 33, *lengths[changed + 1 :]]
        found = {member: block.length for block in blocks_of(other, 20, d)[0] for member in block.members}
        assert {**found, changed: None} == {**place, changed: None}


def test_the_places_of_a_block_depend_on_no_length(monkeypatch):
    monkeypatch.setattr(batched_teachers, "_CELLS", 800)
    rng = np.random.default_rng(0)
    shapes = {}
    for _ in range(20):
        for block in blocks_of(rng.integers(0, 100, 30).tolist(), 10, 2)[0]:
            shapes.setdefault(block.length, set()).add((block.slots.start, block.slots.stop))
            assert block.places == [member - block.slots.start for member in block.members]
    assert shapes.keys() == {10, 20, 40, 80}
    assert shapes[10] == {(0, 30)}
    assert shapes[80] == {(start, start + 5) for start in range(0, 30, 5)}


def test_places_are_too_long_for_many_columns():
    assert blocks_of([5] * 8, 10, 10**6) == ([], list(range(8)))


def test_a_place_is_filled_up_with_its_first_row():
    block = blocks_of([2, 3, 9], 4, 1)[0][0]
    rows = [np.arange(n)[:, None] + 10 * n for n in (2, 3, 9)]
    cells, labels, own = block.filled(rows, [np.array(["a", "bc", "d"] * 3)[:n] for n in (2, 3, 9)])
    assert cells[:, :, 0].tolist() == [[20, 21, 20, 20], [30, 31, 32, 30], [0, 0, 0, 0]]
    assert labels[:2].tolist() == [["a", "bc", "a", "a"], ["a", "bc", "d", "a"]]
    assert own.tolist() == [[1, 1, 0, 0], [1, 1, 1, 0], [0, 0, 0, 0]]
