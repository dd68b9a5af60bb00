"""Pluralities and their distance to instability, against brute force over all votes.

Counts of labels, by slices of bits and in bins, against a count of one query after another.
"""

import tracemalloc
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from dplearn.kernels import votes as module
from dplearn.kernels.votes import binned_counts, blocks, plurality, sliced_counts, tally

LABELS = 3
repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=100)


def counts_of(n):
    """All counts that n voters can produce, each voting for a label or for none."""
    return {
        tuple(Counter(votes)[label] for label in range(LABELS))
        for votes in product(range(-1, LABELS), repeat=n)
    }


def moved(counts, withdrawn=True):
    """All counts after one vote was moved, and where allowed cast or withdrawn."""
    takes = [(i, -1) for i in range(LABELS) if counts[i]]
    gives = [(j, 1) for j in range(LABELS)]
    steps = [(take, give) for take in takes for give in gives]
    if withdrawn:
        steps += [(take,) for take in takes] + [(give,) for give in gives]
    return {tuple(c + sum(by for i, by in step if i == k) for k, c in enumerate(counts)) for step in steps}


def winner(counts):
    return max(range(LABELS), key=lambda label: (counts[label], -label))


def steps_to_another_winner(counts, withdrawn):
    """The least number of changed votes after which another label wins, by breadth first search."""
    seen, layer, steps = {counts}, {counts}, 0
    while all(winner(c) == winner(counts) for c in layer):
        layer = {other for c in layer for other in moved(c, withdrawn)} - seen
        seen |= layer
        steps += 1
    return steps


ALL = sorted({counts for n in range(7) for counts in counts_of(n)})


@pytest.mark.parametrize("n", range(7))
def test_the_winner_is_the_first_label_with_the_most_votes(n):
    for counts in counts_of(n):
        assert plurality(np.array(counts))[0] == winner(counts)


def test_the_distance_is_one_less_than_the_least_number_of_changed_votes():
    for counts in ALL:
        assert plurality(np.array(counts))[1] == steps_to_another_winner(counts, withdrawn=True) - 1


def test_moving_votes_is_as_quick_as_casting_and_withdrawing_too_once_there_is_a_vote():
    for counts in ALL:
        if any(counts):
            assert plurality(np.array(counts))[1] == steps_to_another_winner(counts, withdrawn=False) - 1


def test_the_distance_is_0_wherever_a_neighbour_has_another_winner_and_moves_by_at_most_1():
    changes = 0
    for counts in ALL:
        here, distance = plurality(np.array(counts))
        for other in moved(counts):
            there, far = plurality(np.array(other))
            assert abs(distance - far) <= 1
            if here != there:
                changes += 1
                assert distance == far == 0
    assert changes > 100


def test_the_gap_less_one_would_move_by_two_and_be_positive_where_the_winner_changes():
    # The distance of the paper, max(0, gap - 1): one moved vote changes the gap by 2.
    def of_the_paper(counts):
        top, second = sorted(counts, reverse=True)[:2]
        return max(0, top - second - 1)

    assert of_the_paper((2, 0, 0)) == 1
    assert (1, 1, 0) in moved((2, 0, 0))
    assert of_the_paper((5, 1, 0)) - of_the_paper((4, 2, 0)) == 2
    assert plurality(np.array((5, 1, 0)))[1] - plurality(np.array((4, 2, 0)))[1] == 1


def test_many_votes_are_decided_at_once():
    table = np.array(ALL).reshape(-1, 1, LABELS)
    winners, distances = plurality(table)
    assert winners.shape == distances.shape == (len(ALL), 1)
    assert winners.dtype == distances.dtype == np.int64
    singly = [plurality(np.array(counts)) for counts in ALL]
    assert winners[:, 0].tolist() == [int(w) for w, _ in singly]
    assert distances[:, 0].tolist() == [int(d) for _, d in singly]


@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "i8", "u8", ">i4"])
def test_every_dtype_is_counted_without_wrapping(dtype):
    winners, distances = plurality(np.array([[0, 100, 99], [100, 0, 0]], dtype=dtype))
    assert winners.tolist() == [1, 0]
    assert distances.tolist() == [0, 50]


def test_huge_counts_and_many_labels_do_not_overflow():
    counts = np.zeros(100_000, dtype=np.int64)
    counts[-1] = 2**62
    assert [int(x) for x in plurality(counts)] == [99_999, 2**61 - 1]


def test_the_counts_are_left_alone():
    counts = np.array([[4, 1, 0], [0, 0, 2]])
    before = counts.copy()
    plurality(counts)
    assert (counts == before).all()


# tally


def counted(labels, n_labels):
    """The counts by their definition."""
    return [[column.count(label) for label in range(n_labels)] for column in labels.T.tolist()]


def agrees(votes, labels, n_labels):
    """Whether a tally is what its definition and `plurality` say, and of the types it guarantees."""
    counts = np.array(counted(labels, n_labels), dtype=np.int64).reshape(-1, n_labels)
    expected = counts, *plurality(counts)
    found = votes.counts, votes.winner, votes.distance
    return all(
        f.dtype == np.int64 and f.shape == e.shape and (f == e).all()
        for f, e in zip(found, expected, strict=True)
    )


def votes_of(shape, n_labels, dtype=np.int64, seed=0):
    """Public votes, some of them not cast, with as many close races as clear ones."""
    generator = np.random.default_rng(seed)
    favourite = generator.integers(0, n_labels, shape[1])
    free = generator.integers(-1, n_labels, shape)
    return np.where(generator.random(shape) < generator.random(shape[1]), favourite, free).astype(dtype)


def changed(column, n_labels):
    """All votes after one teacher's vote was moved, cast or withdrawn."""
    return {
        (*column[:i], label, *column[i + 1 :]) for i in range(len(column)) for label in range(-1, n_labels)
    }


def changes_to_another_winner(column, n_labels):
    """The least number of teachers who must change for another winner: all of them always can."""

    def first(votes):
        return min(range(n_labels), key=lambda label: (-votes.count(label), label))

    return min(
        sum(a != b for a, b in zip(votes, column, strict=True))
        for votes in product(range(-1, n_labels), repeat=len(column))
        if first(votes) != first(column)
    )


@pytest.mark.parametrize(("n_teachers", "n_labels"), [(1, 2), (4, 2), (1, 4), (3, 3), (4, 3), (5, 2)])
def test_the_distance_is_one_less_than_the_least_number_of_teachers_who_must_change_for_another_winner(
    n_teachers, n_labels
):
    columns = list(product(range(-1, n_labels), repeat=n_teachers))
    votes = tally(np.array(columns).T, n_labels)
    for column, distance in zip(columns, votes.distance.tolist(), strict=True):
        assert distance == changes_to_another_winner(column, n_labels) - 1


@pytest.mark.parametrize(("n_teachers", "n_labels"), [(4, 2), (3, 3), (5, 2)])
def test_a_changed_vote_moves_the_distance_by_at_most_1_and_the_winner_only_where_it_is_0(
    n_teachers, n_labels
):
    columns = list(product(range(-1, n_labels), repeat=n_teachers))
    votes = tally(np.array(columns).T, n_labels)
    found = dict(zip(columns, zip(votes.winner, votes.distance, strict=True), strict=True))
    moves = 0
    for column, (winner_here, distance) in found.items():
        for other in changed(column, n_labels):
            winner_there, far = found[other]
            assert abs(distance - far) <= 1
            if winner_here != winner_there:
                moves += 1
                assert distance == far == 0
    assert moves > 50


@pytest.mark.parametrize("n_labels", [2, 3, 10, 15, 16, 17, 127, 128, 1000])
@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (1, 1), (1, 7), (255, 3), (256, 3), (600, 40)])
def test_counts_winner_and_distance_are_those_of_their_definitions(n_labels, shape):
    labels = votes_of(shape, n_labels)
    assert agrees(tally(labels, n_labels), labels, n_labels)


@pytest.mark.parametrize("n_labels", [2, 15, 16, 120])
@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2", ">i4", "u4", "i8", "u8"])
def test_votes_of_every_integer_type_are_counted(n_labels, dtype):
    labels = votes_of((40, 30), n_labels)
    labels = np.abs(labels) if "u" in dtype else labels
    assert agrees(tally(labels.astype(dtype), n_labels), labels, n_labels)


@pytest.mark.parametrize("n_labels", [2, 130])
def test_how_votes_lie_in_memory_changes_nothing_and_they_are_left_alone(n_labels):
    labels = votes_of((50, 70), n_labels)
    before = labels.copy()
    assert agrees(tally(np.asfortranarray(labels), n_labels), labels, n_labels)
    assert agrees(tally(labels[::-2, 1::3], n_labels), labels[::-2, 1::3], n_labels)
    assert agrees(tally(labels.tolist(), n_labels), labels, n_labels)
    assert (labels == before).all()


@pytest.mark.parametrize("n_labels", [2, 16, 127, 128])
@pytest.mark.parametrize("n_teachers", [126, 127, 128, 254, 255, 256, 510, 511, 40_000])
def test_no_count_wraps_where_all_teachers_agree(n_labels, n_teachers):
    # A byte holds 255, and two bytes 65,535.
    votes = tally(np.full((n_teachers, 2), n_labels - 1, dtype=np.int8), n_labels)
    assert votes.counts[:, :-1].max() == 0
    assert votes.counts[:, -1].tolist() == [n_teachers] * 2
    assert votes.winner.tolist() == [n_labels - 1] * 2
    assert votes.distance.tolist() == [(n_teachers + 1) // 2 - 1] * 2


@pytest.mark.parametrize("n_labels", [3, 50, 130])
@pytest.mark.parametrize("constants", [(1, 1), (8, 300), (1000, 1000)], ids=repr)
def test_the_sizes_of_blocks_change_nothing(monkeypatch, n_labels, constants):
    for name, value in zip(("_QUERIES", "_BINS"), constants, strict=True):
        monkeypatch.setattr(module, name, value)
    for n_queries in (1, 3, 7, 8, 9, 33):
        labels = votes_of((9, n_queries), n_labels, seed=n_queries)
        assert agrees(tally(labels, n_labels), labels, n_labels)


@pytest.mark.parametrize("n_queries", [(1 << 14) - 1, 1 << 14, (1 << 14) + 1])
def test_queries_at_the_end_of_a_block_are_counted_once(n_queries):
    labels = votes_of((35, n_queries), 3, dtype=np.int8)
    assert agrees(tally(labels, 3), labels, 3)


@repeatable
@given(st.data())
def test_any_votes_are_counted_as_their_definition_says(data):
    n_labels = data.draw(st.one_of(st.integers(2, 5), st.integers(14, 18), st.integers(120, 130)))
    shape = data.draw(st.tuples(st.integers(0, 8), st.integers(0, 8)))
    labels = data.draw(arrays(np.int16, shape, elements=st.integers(-1, n_labels - 1)))
    assert agrees(tally(labels, n_labels), labels, n_labels)


@pytest.mark.parametrize(
    ("n_labels", "shape"), [(2, (500, 40_000)), (10, (10_000, 2000)), (100, (20_000, 1000))]
)
def test_memory_beside_the_result_does_not_grow_with_the_votes(n_labels, shape):
    labels = np.zeros(shape, dtype=np.int8)
    assert labels.nbytes >= 20_000_000
    tracemalloc.start()
    votes = tally(labels, n_labels)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    returned = votes.counts.nbytes + votes.winner.nbytes + votes.distance.nbytes
    assert peak - returned < 16_000_000


@pytest.mark.parametrize("n_labels", [2, 60])
@pytest.mark.parametrize("wrong", [-2, 60, 2**40, -(2**40)])
def test_a_vote_for_no_label_is_refused_in_words_that_do_not_show_it(n_labels, wrong):
    labels = np.zeros((3, 4), dtype=np.int64)
    labels[1, 2] = wrong
    with pytest.raises(ValueError, match=rf"^labels must be from -1 to n_labels - 1 = {n_labels - 1}$"):
        tally(labels, n_labels)


@pytest.mark.parametrize("labels", [[[0.0, 1.0]], [[True, False]], [["0"]], [[None]]], ids=repr)
def test_votes_that_are_not_integers_are_refused(labels):
    with pytest.raises(TypeError, match=r"^labels must be an array of integers$"):
        tally(labels, 2)


@pytest.mark.parametrize("labels", [[0, 1], [[[0]]], 1, []], ids=repr)
def test_votes_without_teachers_and_queries_are_refused(labels):
    with pytest.raises(ValueError, match=r"^labels must have a row for each teacher"):
        tally(labels, 2)


@pytest.mark.parametrize("n_labels", [1, 0, -1])
def test_there_are_at_least_two_labels(n_labels):
    with pytest.raises(ValueError, match="n_labels must be an integer at least 2"):
        tally(np.zeros((1, 1), dtype=int), n_labels)


WAYS = [sliced_counts, binned_counts]
NUMBERS_OF_LABELS = [*range(1, 18), 31, 32, 63, 64, 127, 128, 254, 255]


def labels_of(shape, n_labels):
    return np.random.default_rng(0).integers(-1, n_labels, shape)


def counted_by(votes, n_labels):
    return [[row.count(label) for row in votes.T.tolist()] for label in range(n_labels)]


@pytest.mark.parametrize("count", WAYS)
@pytest.mark.parametrize("shape", [(1, 1), (7, 9), (8, 8), (9, 7), (300, 5), (0, 3), (3, 0)])
def test_counts_are_those_of_their_definition(count, shape):
    for n_labels in NUMBERS_OF_LABELS:
        votes = labels_of(shape, n_labels)
        counts = count(votes, n_labels)
        assert counts.shape == (n_labels, shape[1])
        assert counts.tolist() == counted_by(votes, n_labels), n_labels


@pytest.mark.parametrize("count", WAYS)
@pytest.mark.parametrize("n_labels", [2, 15, 16, 255])
def test_every_vote_of_every_teacher_is_seen(count, n_labels):
    # One vote at a time: whichever bit of whichever byte it comes to, it is counted_by once, for its label.
    for teacher in range(17):
        for label in {0, 1, n_labels // 2, n_labels - 1}:
            votes = np.full((17, 3), -1)
            votes[teacher, 1] = label
            expected = np.zeros((n_labels, 3), dtype=int)
            expected[label, 1] = 1
            assert (count(votes, n_labels) == expected).all()


@pytest.mark.parametrize("most", [1, 60, 1000])
def test_how_much_is_counted_at_a_time_changes_nothing(monkeypatch, most):
    monkeypatch.setattr(module, "_SLICES", most)
    monkeypatch.setattr(module, "_BINS", most)
    for n_queries in (1, 7, 8, 9, 33):
        votes = labels_of((300, n_queries), 6)
        for count in WAYS:
            assert count(votes, 6).tolist() == counted_by(votes, 6)


@pytest.mark.parametrize("n_teachers", [126, 127, 128, 255, 256, 32_767, 32_768])
def test_slices_hold_as_many_votes_as_there_are_teachers_or_none(n_teachers):
    counts = sliced_counts(np.ones((n_teachers, 1), dtype=np.int8), 2)
    assert counts.tolist() == [[0], [n_teachers]]
    assert np.iinfo(counts.dtype).min <= -n_teachers - 1


@pytest.mark.parametrize("count", WAYS)
def test_votes_are_left_alone(count):
    votes = labels_of((20, 20), 5).astype(np.int8)
    before = votes.copy()
    count(votes, 5)
    assert (votes == before).all()


@pytest.mark.parametrize(("length", "step"), [(0, 3), (1, 3), (3, 3), (4, 3), (9, 1)])
def test_blocks_cover_everything_once(length, step):
    found = [list(range(length))[block] for block in blocks(length, step)]
    assert [i for part in found for i in part] == list(range(length))
    assert all(0 < len(part) <= step for part in found)
