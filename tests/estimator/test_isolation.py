"""Global state is seeded for each teacher, passes nothing on to the next, and is restored afterwards."""

import logging
import random
import sys
import threading
import warnings
from contextlib import suppress

import numpy as np
import pytest
import scipy.special
import sklearn
from joblib import Parallel, delayed, parallel_config

from dplearn.estimator import isolated, muted_output, reraised, turn
from dplearn.estimator import isolation as module
from dplearn.privacy import LedgerError


def shared():
    name, keys, *rest = np.random.get_state()
    return name, keys.tolist(), rest, random.getstate(), sys.stdout, sys.stderr


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_shared_state_is_restored_afterwards(error, capsys):
    np.random.normal()  # of two numbers that numpy makes at once, the second is kept
    before = shared()
    with suppress(ValueError, KeyboardInterrupt), isolated():
        for seed in range(2):
            with turn(seed):
                draw()
                print("\ud800 private")
                sys.stdout.close()  # which is open to the next
                if error is not None and seed:
                    raise error
    assert shared() == before
    print("public")
    assert capsys.readouterr() == ("public\n", "")


def draw():
    return np.random.randint(1 << 30), np.random.normal(), random.random()


def test_draws_are_a_function_of_the_seed():
    drawn = []
    with isolated():
        for seed in (1, 2, 1, 2**40 + 1):
            with turn(seed):
                drawn.append(draw())
                np.random.normal(size=seed % 2)
    mersenne, other = np.random.get_bit_generator(), np.random.PCG64(3)
    np.random.set_bit_generator(other)  # of another kind
    try:
        before = np.random.get_state(legacy=False)
        with isolated(), turn(1):
            drawn.append(draw())
        assert np.random.get_bit_generator() is other
        assert np.random.get_state(legacy=False) == before
    finally:
        np.random.set_bit_generator(mersenne)
    assert drawn[0] == drawn[2] == drawn[4] != drawn[1]


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


def chosen():
    return np.geterr(), np.geterrcall(), scipy.special.geterr(), sklearn.get_config(), warnings.filters[:]


def test_a_turn_begins_with_defaults_and_its_changes_to_warnings_errors_settings_and_logs_end_with_it():
    before, handlers = chosen(), logging.root.handlers[:]
    with isolated():
        with turn(1):
            default = chosen()
            np.seterr(all="raise")
            np.seterrcall(lambda *_: None)
            scipy.special.seterr(all="raise")
            sklearn.set_config(assume_finite=True)
            warnings.simplefilter("error")
            logging.warning("a shard says so")
            logging.root.addHandler(logging.NullHandler())
        assert (chosen(), logging.root.handlers) == (before, handlers)  # for the next teacher
    assert logging.root.handlers == handlers
    with np.errstate(all="call", call=print), scipy.special.errstate(all="raise"), isolated(), turn(1):
        assert chosen() == default


class Kept(logging.Handler):
    def __init__(self):
        super().__init__()
        self.messages = []

    def emit(self, record):
        self.messages.append(record.getMessage())


@pytest.mark.parametrize("name", [None, "a", "a.b", "made.in.a.turn"])
def test_no_record_of_any_logger_is_seen_whatever_a_model_does_to_it(name, monkeypatch):
    own, theirs = Kept(), Kept()
    for each in (logging.root, logging.getLogger("a")):
        monkeypatch.setattr(each, "handlers", [own])
        monkeypatch.setattr(each, "filters", [lambda record: filtered.append(record) or True])
    filtered = []

    def state():
        named = logging.getLogger("a")
        return logging.root.manager.disable, named.level, named.propagate, named.handlers[:]

    before = state()
    with isolated():
        for _ in range(2):
            with turn(1):
                logger = logging.getLogger(name)
                logging.disable(logging.NOTSET)
                logger.setLevel(1)
                logger.addHandler(theirs)
                logger.propagate = not logger.propagate
                logger.critical("private")
                logger.handle(logger.makeRecord("a", 1, "file", 1, "private", (), None))
    assert own.messages == theirs.messages == filtered == []
    assert state() == before
    logging.getLogger("a").error("public")
    assert "public" in own.messages
    assert filtered


def test_an_exception_of_a_private_learner_is_its_own_and_an_exit_says_nothing():
    for kind in (ValueError, LedgerError):
        with pytest.raises(kind, match="constant"):
            reraised(kind("constant"))
    with pytest.raises(SystemExit) as raised:
        reraised(SystemExit("private"))
    assert (raised.value.code, raised.value.__context__) == (1, None)
    with pytest.raises(RuntimeError, match="hidden"):
        reraised(GeneratorExit("private"))


def state():
    return list(warnings.filters), warnings.showwarning, warnings._showwarnmsg_impl


def test_the_last_thread_to_leave_restores_the_filters_that_the_first_found():
    before, inside, left = state(), threading.Event(), threading.Event()

    def overlap():
        with muted_output():
            inside.set()
            left.wait()

    with muted_output():
        other = threading.Thread(target=overlap)
        other.start()
        inside.wait()
    warnings.warn("unheard: the other is still inside", stacklevel=1)
    left.set()
    other.join()
    assert state() == before


def interrupted(action, number):
    """Return True if an interrupt came at that call; calls are where Python looks for one."""
    left = number

    def count(frame, event, arg):
        nonlocal left
        left -= event in ("call", "c_call", "c_return")
        if left == 0:
            sys.setprofile(None)
            raise KeyboardInterrupt

    sys.setprofile(count)
    try:
        action()
        left = 0  # no further interrupt
    except KeyboardInterrupt:
        return True
    sys.setprofile(None)
    return False


def test_an_interrupt_at_any_time_ends_the_muted_output(monkeypatch):
    # A profiler can raise before `with` calls the `__exit__` of the lock, unlike an interrupt. This thread
    # then holds the lock for ever, and other threads wait. So the test uses a lock of its own.
    monkeypatch.setattr(module, "warnings_lock", threading.RLock())

    def visit():
        with muted_output():
            pass

    before, number = state(), 1
    while interrupted(visit, number):
        assert state() == before, number
        number += 1
    assert number > 10
