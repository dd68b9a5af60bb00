"""Bins partition all outcomes, and the events chosen are the ones that a distribution would choose."""

from itertools import product
from math import e

import numpy as np
import pytest

from dplearn.audit.sampling import _LEAST, Intervals, Names, _neighbourhoods, choose_events
from dplearn.privacy import ApproxDP

MANY = 10**6


def test_names_come_integers_first_and_what_was_not_seen_has_a_bin_of_its_own():
    bins = Names(["b", 7, ("bool", 1), -3, "b"])
    assert bins.size == 5
    assert bins.place([-3, 7, "b", ("bool", 1), 8, "c"]).tolist() == [0, 1, 2, 3, 4, 4]
    assert bins.event([True, False, False, True, False]) == (-3, ("bool", 1))


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint64, np.float64])
def test_intervals_hold_every_value_once(dtype):
    bins = Intervals(np.array([3, 5, 5, 9], dtype=dtype))
    values = np.array([0, 3, 4, 5, 8, 9, 100], dtype=dtype)
    assert bins.place(values).tolist() == [0, 0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("mask", list(product([False, True], repeat=3)))
def test_an_event_of_intervals_holds_what_its_bins_hold(mask):
    bins = Intervals(np.array([3.0, 5.0, 9.0]))
    event = bins.event(np.array(mask))
    for value in (-np.inf, 2.9, 3.0, 4.9, 5.0, 8.9, 9.0, np.inf):
        inside = any((a is None or a <= value) and (b is None or value < b) for a, b in event)
        assert inside == mask[bins.place(np.array([value]))[0]]


def test_neighbouring_intervals_are_named_as_one():
    bins = Intervals(np.arange(6))
    assert bins.event(np.array([1, 1, 0, 1, 1, 1], dtype=bool)) == ((None, 2), (3, None))


def test_neighbourhoods_hold_enough_outcomes_and_frequent_bins_stand_alone():
    rare = [1] * 40
    groups = _neighbourhoods(np.array([*rare, _LEAST, 5 * _LEAST, *rare]))
    sizes = np.bincount(groups)
    assert (np.diff(groups) >= 0).all()
    assert sizes[groups[40]] == sizes[groups[41]] == 1
    assert max(sizes) <= _LEAST
    assert len(sizes) <= 2 + 2 * len(rare) // _LEAST + 2  # one more for each stretch of rare ones


def test_with_clear_counts_the_best_event_is_found_for_either_aim_and_side():
    """Against all subsets of five outcomes: the greatest P - e Q, and nearly the greatest P / Q."""
    rows, neighbour = np.array([40, 30, 20, 9, 1]), np.array([10, 20, 30, 25, 15])
    counts = MANY * np.array([rows, neighbour])
    masks = [np.array(mask) for mask in product([False, True], repeat=5) if any(mask)]
    for side, (p, q) in enumerate([(rows, neighbour), (neighbour, rows)]):
        found = [mask for s, mask in choose_events(counts, counts, 100 * MANY, ApproxDP(1)) if s == side]
        excess = max(p[mask].sum() - e * q[mask].sum() for mask in masks)
        ratio = max(p[mask].sum() / q[mask].sum() for mask in masks)
        assert max(p[mask].sum() - e * q[mask].sum() for mask in found) == excess
        assert max(p[mask].sum() / q[mask].sum() for mask in found) > 0.95 * ratio


def test_delta_is_taken_off_before_ratios_are_compared():
    """A failure has the greatest ratio; what delta allows of it leaves the second outcome's."""
    counts = MANY * np.array([[1, 73, 26], [0, 30, 70]])
    for delta, second_counts in ((0, False), ("0.02", True)):
        events = choose_events(counts, counts, 100 * MANY, ApproxDP(1, delta))
        assert any(mask[1] for side, mask in events if side == 0) == second_counts


def test_the_size_is_chosen_by_the_second_counts():
    first = MANY * np.array([[5, 4, 1], [1, 4, 5]])
    second = MANY * np.array([[5, 4, 1], [4, 1, 5]])
    masks = [mask.tolist() for side, mask in choose_events(first, second, MANY, ApproxDP(0)) if side == 0]
    assert masks
    assert all(mask == [True, True, False] for mask in masks)


def test_an_enormous_epsilon_is_no_overflow():
    counts = np.array([[5, 1], [1, 5]])
    assert choose_events(counts, counts, 100, ApproxDP(10**6))
