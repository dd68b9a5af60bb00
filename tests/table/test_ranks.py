"""Ranks found by counting passes are those of the sorted codes, in a bounded number of passes."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.domains import Grid
from dplearn.kernels import SortedCodes
from dplearn.kernels.intervals import SortedRecords, children_of, whole
from dplearn.preprocessing import PrivateQuantileTransformer
from dplearn.table import Columns, InTurn, in_parts, parted_ranks
from dplearn.table import ranks as module
from dplearn.table.ranks import PartedTreeRecords, gathered_codes

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)


def cut(columns, cuts=(3, 7)):
    """Records in parts, and a list that has an entry for each part that is read later."""
    n, reads = len(columns[0]), []
    ends = [0, *(cut for cut in cuts if cut < n), n]

    def parts():
        for start, stop in pairwise(ends):
            reads.append(start)
            yield [column[start:stop] for column in columns], None

    _, records = in_parts(InTurn(parts)).read(lambda X, y: (len(X[0]), Columns(X)))
    reads.clear()
    return records, reads


@repeatable
@given(
    st.sampled_from([1, 2, 300, 1 << 16, (1 << 16) + 1, 1 << 20, 1 << 33, 1 << 64, 1 << 90]).flatmap(
        lambda size: st.tuples(
            st.just(size), st.lists(st.integers(0, size - 1), min_size=1, max_size=30), st.data()
        )
    ),
    st.sampled_from([0, 2, 1 << 17]),
)
def test_windows_and_counts_are_those_of_the_sorted_codes(given_codes, few):
    size, codes, data = given_codes
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "FEW", few)
        right = SortedCodes(np.array(codes, dtype=object if size > 1 << 64 else np.uint64))
        start = data.draw(st.integers(0, len(codes) - 1))
        stop = data.draw(st.integers(start + 1, len(codes)))
        records, _ = cut([np.array(codes, dtype=object if size > 1 << 64 else np.uint64)])
        [ranks] = parted_ranks(records, [size], [[(start, stop)]])
        assert len(ranks) == len(codes)
        assert ranks.at(range(start, stop)) == right.at(range(start, stop))
        assert ranks.at(range(len(codes))) == right.at(range(len(codes)))
        [later] = parted_ranks(records, [size])  # windows that nobody announced are read when they are asked
        assert later.at(range(start, stop)) == right.at(range(start, stop))
        for code in {*codes, 0, size - 1, size // 2}:
            assert ranks.count(code) == right.count(code)
        several, [unread] = [0, size // 2, size - 1], parted_ranks(records, [size])
        assert np.array_equal(unread.count(several), right.count(several))


def test_many_columns_are_found_in_five_passes_and_what_is_near_is_kept(monkeypatch):
    monkeypatch.setattr(module, "FEW", 4)
    monkeypatch.setattr(module, "FEWEST", 4)
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 2**64, 500, dtype=np.uint64) for _ in range(7)]
    columns[3][:400] = 2**63  # ties
    records, reads = cut(columns, cuts=(100, 350))
    windows = [[(200, 230)]] * 7
    ranks = parted_ranks(records, [1 << 64] * 7, windows)
    assert len(reads) <= 5 * 3
    before = len(reads)
    for column, each in zip(columns, ranks, strict=True):
        right = SortedCodes(column)
        for start, stop in ((200, 230), (205, 206), (229, 230)):
            window = each.at(range(start, stop))
            assert window == right.at(range(start, stop))
            assert each.count(window[0]) == right.count(window[0])
    assert len(reads) == before
    # Codes below the least and above the greatest need no pass.
    records, reads = cut([np.arange(2**40, 2**40 + 50, dtype=np.uint64)])
    [ranks] = parted_ranks(records, [1 << 64], [[(0, 5), (45, 50)]])
    before = len(reads)
    assert (ranks.count(0), ranks.count(2**64 - 1)) == ((0, 0), (50, 50))
    assert len(reads) == before


def test_one_pass_counts_each_code_of_small_domains(monkeypatch):
    monkeypatch.setattr(module, "FEW", 4)
    monkeypatch.setattr(module, "FEWEST", 4)
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 1 << 16, 500, dtype=np.uint64) for _ in range(4)]
    records, reads = cut(columns, cuts=(100, 350))
    ranks = parted_ranks(records, [1 << 16] * 4, [[(200, 230), (10, 40)]] * 4)
    assert len(reads) == 3
    for column, each in zip(columns, ranks, strict=True):
        right = SortedCodes(column)
        assert each.at(range(500)) == right.at(range(500))
        assert each.count(65535) == right.count(65535)
    assert len(reads) == 3


@pytest.mark.parametrize(
    ("domain", "passes"), [(Grid(0, 1, 1024), 1 + 1), (Grid(0, 1, 1 << 30), 1 + 3)], ids=["small", "large"]
)
def test_a_transformer_reads_many_columns_as_often_as_one(domain, passes):
    for d in (1, 4):
        X, reads = np.random.default_rng(0).random((1000, d)), []

        def parts(X=X, reads=reads):
            reads.append(len(X))
            return [X[:300], X[300:]]

        PrivateQuantileTransformer(domain=domain, epsilon=d, random_state=0).fit(parts)
        assert len(reads) <= passes


def cut_codes(codes, cuts):
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
    parted, right = PartedTreeRecords(cut_codes(codes, [1, 1, 300]), size), SortedRecords(codes, size)
    assert len(parted) == len(right) == 500
    gathered = gathered_codes(cut_codes(codes, [3]))
    assert (gathered.dtype, gathered.tolist()) == (codes.dtype, sorted(codes.tolist()))
    level = whole(size, 500)
    for _ in range(2):
        level = children_of(level, np.arange(len(level.starts)), 16)
        counts = parted.counted(level)
        assert np.array_equal(counts, right.counted(level))
        assert counts.sum() == 500
