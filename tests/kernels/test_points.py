"""Leads and errors of point functions: what one replaced record can do to them, over all small data sets."""

from itertools import product

import numpy as np
import pytest

from dplearn.kernels.points import best_entries, bucket_errors, distance_of_lead, leading_key

RECORDS = list(product((b"a", b"b", b"c"), (0, 1)))


def lead(rows):
    keys, labels = zip(*rows, strict=True)
    return leading_key(keys, labels)


def replaced(rows):
    return [(*rows[:i], record, *rows[i + 1 :]) for i in range(len(rows)) for record in RECORDS]


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_distance_is_0_where_a_neighbour_has_another_leader_and_moves_by_1(n):
    for rows in product(RECORDS, repeat=n):
        leader, distance = lead(rows)
        for other, further in map(lead, replaced(rows)):
            assert abs(distance - further) <= 1
            assert other == leader or distance == further == 0


def test_the_leader_is_the_key_with_the_greatest_net_count():
    assert lead([(b"a", 1)] * 9 + [(b"a", 0)] * 6 + [(b"b", 1)] * 2) == ((b"a",), 0)
    assert lead([(b"a", 1)] * 9 + [(b"a", 0)] * 9 + [(b"b", 1)] * 5) == ((b"b",), 2)
    assert lead([(b"a", 1), (b"a", 0)]) == (None, 0)
    assert lead([(b"a", 1), (b"b", 1)]) == (None, 0)
    assert lead([(b"a", 0)] * 5) == (None, 0)


def test_distances_grow_with_every_second_record_of_lead():
    assert [distance_of_lead(each) for each in range(8)] == [0, 0, 0, 1, 1, 2, 2, 3]


def test_errors_on_buckets_are_those_of_the_definition():
    rng = np.random.default_rng(0)
    for _ in range(50):
        buckets, labels = rng.integers(0, 5, 12), rng.integers(0, 2, 12)
        wanted = [int(((buckets == h) != labels).sum()) for h in range(5)] + [int(labels.sum())]
        assert bucket_errors(buckets, labels, 5).tolist() == wanted


def test_a_replaced_record_moves_no_number_of_errors_by_more_than_1():
    rng = np.random.default_rng(1)
    for _ in range(200):
        buckets, labels = rng.integers(0, 3, 6), rng.integers(0, 2, 6)
        others, marks = buckets.copy(), labels.copy()
        others[0], marks[0] = rng.integers(0, 3), rng.integers(0, 2)
        moved = bucket_errors(buckets, labels, 3) - bucket_errors(others, marks, 3)
        assert np.abs(moved).max() <= 1


def test_an_output_takes_the_greatest_count_that_has_its_label_and_of_equal_ones_the_first():
    labels = np.array([[1, 0, 0, 1], [1, 1, 0, 0], [0, 1, 0, 1]], dtype=np.uint8)
    assert best_entries(np.array([5, 9, 9]), labels) == [1, 1, None, 2]
    assert best_entries(np.array([], dtype=np.int64), labels[:0]) == [None] * 4
