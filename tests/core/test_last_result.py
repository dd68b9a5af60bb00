"""A kept result is that of the last object, in every thread, and in no pickle."""

import pickle
from concurrent.futures import ThreadPoolExecutor

from dplearn.core.last_result import LastResult


def doubled(numbers):
    return [2 * number for number in numbers]


def test_the_function_runs_once_for_the_same_object():
    calls = []
    kept = LastResult(lambda numbers: calls.append(numbers) or doubled(numbers))
    first, equal = [1, 2], [1, 2]
    assert kept(first) is kept(first)
    assert kept(equal) == [2, 4]
    assert calls == [first, equal]


def test_threads_get_the_results_of_their_own_objects():
    kept, many = LastResult(doubled), [[number] * 50 for number in range(200)]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(kept, many * 5)) == [doubled(each) for each in many] * 5


def test_a_pickle_has_no_result():
    kept = LastResult(doubled)
    kept([12345])
    assert b"12345" not in pickle.dumps(kept)
    assert b"24690" not in pickle.dumps(kept, protocol=0)
    assert pickle.loads(pickle.dumps(kept))([3]) == [6]
