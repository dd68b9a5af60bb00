"""A kept result is that of its object, as long as the object exists, in every thread, and in no pickle."""

import gc
import pickle
import weakref
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dplearn.kernels.kept_results import KeptResults
from dplearn.table.groups import grouping_of
from dplearn.table.table import InMemory, Table


class Numbers(list):
    """A list that weak references can refer to."""


def doubled(numbers):
    return [2 * number for number in numbers]


def test_the_function_runs_once_for_the_same_object():
    calls = []
    kept = KeptResults(lambda numbers: calls.append(numbers) or doubled(numbers))
    first, equal = Numbers([1, 2]), Numbers([1, 2])
    for _ in range(2):
        assert kept(first) is kept(first)
        assert kept(equal) == [2, 4]
    assert list(map(id, calls)) == [id(first), id(equal)]


def test_a_result_is_dropped_with_its_object():
    kept = KeptResults(doubled)
    for number in range(100):
        assert kept(Numbers([number])) == [2 * number]
    gc.collect()
    assert kept._kept == {}


def test_rows_of_groups_are_the_same_objects_in_each_sum():
    calls = []
    kept = KeptResults(lambda rows: calls.append(1) or rows.sum())
    ids = np.repeat([0, 1, 2], [1, 2, 5])
    records = Table(InMemory(np.arange(8))).grouped(grouping_of(ids, 8, most=3, shifts=lambda n: [0] * n))
    sums = [records.sums(lambda rows: [kept(rows)]) for _ in range(3)]
    assert sums[0] == sums[1] == sums[2]
    assert len(calls) == 3  # rows that occur once, twice and three times


def test_threads_get_the_results_of_their_own_objects():
    kept, many = KeptResults(doubled), [Numbers([number] * 50) for number in range(200)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(kept, many * 5)) == [doubled(each) for each in many] * 5


def test_a_pickle_has_no_result():
    kept, numbers = KeptResults(doubled), Numbers([12345])
    kept(numbers)
    assert b"12345" not in pickle.dumps(kept)
    assert b"24690" not in pickle.dumps(kept, protocol=0)
    assert pickle.loads(pickle.dumps(kept))(Numbers([3])) == [6]


def test_results_are_gone_with_the_function_without_a_garbage_collection():
    rows, argument = KeptResults(lambda _: np.zeros(3)), Numbers()
    result = weakref.ref(rows(argument))
    gc.disable()
    try:
        del rows
        assert result() is None
    finally:
        gc.enable()
