"""Global state is seeded for each teacher, passes nothing on to the next, and is restored afterwards."""

import logging
import random
import sys
import threading
import warnings

import numpy as np
import pytest
import scipy.special
import sklearn
from joblib import Parallel, delayed, parallel_config

from dplearn.ensembles.isolation import isolated, turn


def shared():
    name, keys, *rest = np.random.get_state()
    return name, keys.tolist(), rest, random.getstate(), sys.stdout, sys.stderr


def draw():
    return np.random.randint(1 << 30), np.random.normal(), random.random()


def test_shared_state_is_restored_afterwards():
    np.random.normal()  # of two numbers that numpy makes at once, the second is kept
    before = shared()
    with isolated(), turn(1):
        draw()
        sys.stdout = None
    assert shared() == before


def test_an_error_leaves_nothing_behind_either():
    before = shared()
    with pytest.raises(KeyError), isolated(), turn(1):
        raise KeyError(draw())
    assert shared() == before


def test_draws_are_a_function_of_the_seed():
    with isolated():
        drawn = []
        for seed in (1, 2, 1, 2**40 + 1):
            with turn(seed):
                drawn.append(draw())
                np.random.normal(size=seed % 2)
    assert drawn[0] == drawn[2] != drawn[1]


def test_a_global_generator_of_another_kind_is_seeded_and_restored_too():
    mersenne, other = np.random.get_bit_generator(), np.random.PCG64(3)
    np.random.set_bit_generator(other)
    try:
        before = np.random.get_state(legacy=False)
        drawn = []
        for _ in range(2):
            with isolated(), turn(1):
                drawn.append(draw())
        assert np.random.get_bit_generator() is other
        assert np.random.get_state(legacy=False) == before
    finally:
        np.random.set_bit_generator(mersenne)
    assert drawn[0] == drawn[1]


def test_nothing_printed_is_seen(capsys):
    with isolated(), turn(1):
        print("\ud800 private")
        print("private", file=sys.stderr)
    print("public")
    assert capsys.readouterr() == ("public\n", "")


def test_a_stream_that_one_teacher_closes_is_open_to_the_next():
    with isolated():
        for seed in range(2):
            with turn(seed):
                print("private")
                sys.stdout.close()


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_parallel_work_within_is_done_in_turn(backend):
    with parallel_config(backend=backend, n_jobs=2), isolated(), turn(1):
        threads = Parallel(n_jobs=2)(delayed(threading.get_ident)() for _ in range(3))
    assert threads == [threading.get_ident()] * 3


def test_two_threads_are_never_isolated_at_once():
    drawn, begun = [], threading.Event()

    def other():
        begun.set()
        with isolated(), turn(2):
            drawn.append("other")

    before = shared()
    with isolated(), turn(1):
        thread = threading.Thread(target=other)
        thread.start()
        begun.wait()
        thread.join(0.05)
        drawn.append("first")
    thread.join()
    assert drawn == ["first", "other"]
    assert shared() == before


def test_a_teachers_changes_to_warnings_errors_settings_and_logs_end_with_its_turn():
    before = np.geterr(), sklearn.get_config(), warnings.filters[:], logging.root.handlers[:]
    handler, special = np.geterrcall(), scipy.special.geterr()
    with isolated():
        with turn(1):
            np.seterr(all="raise")
            np.seterrcall(lambda *_: None)
            scipy.special.seterr(all="raise")
            sklearn.set_config(assume_finite=True)
            warnings.simplefilter("error")
            logging.warning("a shard says so")
        assert (np.geterr(), sklearn.get_config(), warnings.filters) == before[:3]
        assert (np.geterrcall(), scipy.special.geterr()) == (handler, special)
    assert logging.root.handlers == before[3]


def test_a_turn_begins_with_the_default_handling_of_float_errors_for_every_setting_of_the_caller():
    def chosen():
        return np.geterr(), np.geterrcall(), scipy.special.geterr()["overflow"]

    with isolated(), turn(1):
        default = chosen()
    with np.errstate(all="call", call=print), scipy.special.errstate(all="raise"), isolated(), turn(1):
        assert chosen() == default


def test_shared_state_is_restored_when_the_outermost_context_ends():
    before = shared()
    with isolated():
        with isolated(), turn(1):
            first = draw()
        with turn(1):
            again = draw()
    assert first == again
    assert shared() == before
    with isolated():  # and is kept again
        np.random.seed(5)
    assert shared() == before


def test_a_handler_of_one_teacher_is_not_there_for_the_next():
    with isolated():
        with turn(1):
            before = logging.root.handlers[:]
            logging.root.addHandler(logging.NullHandler())
        with turn(2):
            assert logging.root.handlers == before
