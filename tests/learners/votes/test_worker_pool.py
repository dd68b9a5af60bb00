"""The process that runs a task changes no result; tasks are isolated, and died workers are replaced once."""

import math
import os
import threading
import tracemalloc
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from dplearn.chance import PublicStream
from dplearn.learners.votes import Labels, answers_of, shards, train_and_ask, train_teachers, worker_pool

N, K = 120, 12
GENERATOR = np.random.default_rng(0)
X, QUERIES = GENERATOR.normal(size=(N, 3)), GENERATOR.normal(size=(40, 3))
CLASSES = np.array(["no", "yes"])
Y = CLASSES[(X[:, 0] > 0).astype(int)]
HOW = {"shards": shards(N, K, PublicStream(0)), "seeds": PublicStream(1).seeds(K)}
ASK = HOW | {"queries": QUERIES, "asked": Labels(CLASSES)}
TREE = DecisionTreeClassifier()


def a_teacher(fit):
    """Return an estimator that travels by value: workers cannot import the modules of tests."""

    class Teacher(ClassifierMixin, BaseEstimator):
        def __init__(self, where=None):
            self.where = where

        def fit(self, X, y):
            self.said_ = fit(self, X) or "yes"

        def predict(self, X):
            return [self.said_] * len(X)

    return Teacher()


@pytest.mark.parametrize(
    "backend", ["sequential", "threading", "loky", pytest.param("multiprocessing", marks=pytest.mark.nightly)]
)
def test_votes_are_the_same_on_every_backend(backend):
    def draw(self, X):
        import random

        return ["no", "yes"][np.random.randint(2) ^ random.randrange(2)]

    for estimator in (TREE, a_teacher(draw)):
        alone = train_and_ask(estimator, X, Y, **ASK)
        with parallel_config(backend=backend, n_jobs=2):
            assert train_and_ask(estimator, X, Y, **ASK).tolist() == alone.tolist()
            taught = train_teachers(estimator, X, Y, **HOW)
        assert answers_of(taught, QUERIES, Labels(CLASSES)).tolist() == alone.tolist()
        assert len(np.unique(alone)) == 2


def test_more_than_one_worker_means_worker_processes():
    here = os.getpid()
    elsewhere = a_teacher(lambda self, X: "yes" if os.getpid() != here else "no")
    assert (train_and_ask(elsewhere, X, Y, n_jobs=2, **ASK) == 1).all()
    for backend in ("loky", None):
        with parallel_config(**({"backend": backend} if backend else {}), n_jobs=2):
            assert (train_and_ask(elsewhere, X, Y, **ASK) == 1).all()
            assert (train_and_ask(elsewhere, X, Y, n_jobs=1, **ASK) == 0).all()
    assert (train_and_ask(elsewhere, X, Y, **ASK) == 0).all()


def test_teachers_are_never_trained_in_two_threads_at_once():
    threads = []
    noting = a_teacher(lambda self, X: threads.append(threading.get_ident()))
    with parallel_config(backend="threading", n_jobs=2):
        train_and_ask(noting, X, Y, **ASK)
    assert threads == [threading.get_ident()] * K


def test_a_worker_has_the_settings_and_native_threads_of_this_process_and_what_it_says_goes_nowhere(capfd):
    def look(self, X):
        import sys
        import warnings

        from sklearn import get_config
        from threadpoolctl import threadpool_info

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("private", stacklevel=1)
        is_mute = sys.stdout.name == sys.stderr.name == os.devnull
        threads = {each["num_threads"] for each in threadpool_info()}
        return "yes" if is_mute and get_config()["assume_finite"] and threads <= {1} else "no"

    settings = config_context(assume_finite=True)
    with settings, parallel_config(backend="loky", n_jobs=2, inner_max_num_threads=1):
        assert (train_and_ask(a_teacher(look), X, Y, **ASK) == 1).all()
    assert capfd.readouterr() == ("", "")


class Stubborn:
    """A number that cannot be sent to another process."""

    def __init__(self, value):
        self.value = value

    def __float__(self):
        return self.value

    def __deepcopy__(self, memo):
        return Stubborn(self.value)

    def __reduce__(self):
        raise TypeError("private")


class Panic(BaseException):
    """Stands for those of compiled libraries, which are no `Exception`."""


def panic(here=None):
    if here != os.getpid():
        raise Panic
    return len


class Untransported:
    """Cannot be packed, or not unpacked."""

    def __init__(self, when):
        self.when = when

    def __reduce__(self):
        if self.when == "packed":
            raise Panic
        return panic, ()


class Local:
    """A function that is another one in this process, and none in others."""

    def __call__(self, task):
        return task + 1

    def __reduce__(self):
        return panic, (os.getpid(),)


class Odd:
    """An object that unpickles as a number."""

    def __reduce__(self):
        return int, (7,)


@pytest.mark.parametrize("backend", ["sequential", "loky"])
def test_what_cannot_travel_runs_here_and_other_tasks_are_what_a_worker_would_get(backend):
    lock, cells = threading.Lock(), X.astype(object)
    alone = train_and_ask(TREE, cells, Y, **ASK)
    cells[5, 1] = Stubborn(cells[5, 1])
    rooted = a_teacher(lambda self, X: "yes").set_params(where=Rooted())
    with parallel_config(backend=backend, n_jobs=2):
        for when in ("packed", "unpacked"):
            assert (
                worker_pool.run_tasks(lambda task: task.when, lambda i, when=when: Untransported(when), 3)
                == [when] * 3
            )
            made = worker_pool.run_tasks(lambda task: task, lambda i, when=when: Untransported(when), 3)
            assert [each.when for each in made] == [when] * 3
        if backend == "loky":
            assert worker_pool.run_tasks(Local(), lambda i: [0] * i, 5) == [0, 1, 2, 3, 4]
            assert worker_pool.run_tasks(lambda task: str(task), lambda i: Odd(), 5) == ["7"] * 5
            assert worker_pool.run_tasks(lambda task: (lock, str(task))[1], lambda i: Odd(), 5) == ["7"] * 5
        assert train_and_ask(TREE, cells, Y, **ASK).tolist() == alone.tolist()
        assert (train_and_ask(rooted, X, Y, **ASK) == 1).all()


class Rooted:
    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        raise TypeError("rooted")


@pytest.mark.parametrize("where", ["a worker process", "this process"])
@pytest.mark.parametrize("loses", ["what it learned", "how it was made"])
def test_changes_by_pickling_do_not_depend_on_the_process(where, loses):
    class Forgetful(ClassifierMixin, BaseEstimator):
        def __init__(self, word=None):
            self.word = word

        def fit(self, X, y):
            self.said_ = self.word

        def predict(self, X):
            return [self.said_] * len(X)

        def __getstate__(self):
            return vars(self) | ({"word": "no"} if loses == "how it was made" else {"said_": "no"})

    cells = X.astype(object)
    if where == "this process":
        for shard in HOW["shards"]:
            cells[shard[0], 0] = Stubborn(cells[shard[0], 0])
    taught = train_teachers(Forgetful("yes"), cells, Y, n_jobs=2, **HOW)
    assert (answers_of(taught, QUERIES, Labels(CLASSES)) == 0).all()


@pytest.mark.nightly
def test_workers_that_die_once_are_replaced(tmp_path):
    def die_once(self, X):
        try:
            Path(self.where).touch(exist_ok=False)
        except FileExistsError:
            return "yes"
        os._exit(1)

    mortal = a_teacher(die_once).set_params(where=str(tmp_path / "died"))
    with parallel_config(backend="loky", n_jobs=2):
        assert (train_and_ask(mortal, X, Y, **ASK) == 1).all()


@pytest.fixture
def pool(monkeypatch):
    """Make two workers' pool run given functions of the numbers of a round and of a batch before it.

    Return the numbers of tasks in the batches of each round.
    """
    rounds = []

    def of(before):
        def run(calls):
            rounds.append([])
            for place, (function, arguments, _) in enumerate(calls):
                before(len(rounds), place)
                rounds[-1].append(len(arguments[1]))
                yield function(*arguments)

        monkeypatch.setattr(worker_pool, "parallel_for", lambda n_jobs: run)
        return rounds

    with parallel_config(backend="loky", n_jobs=2):
        yield of


def failing(error, rounds=9, at=0):
    def before(number, place):
        if number <= rounds and place == at:
            raise error

    return before


def test_a_second_failure_of_the_pool_ends_it_in_constant_words(pool):
    rounds = pool(failing(BrokenProcessPool("private")))
    with pytest.raises(RuntimeError, match="worker processes died while training teachers") as raised:
        train_and_ask(TREE, X, Y, **ASK)
    assert "private" not in str(raised.value)
    assert raised.value.__context__ is None
    assert rounds == [[], []]


def test_an_interrupt_that_a_pool_hands_on_stops_the_program(pool):
    rounds = pool(failing(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        train_and_ask(TREE, X, Y, **ASK)
    assert rounds == [[]]


def test_only_lost_tasks_are_repeated(pool, monkeypatch):
    monkeypatch.setattr(worker_pool, "BATCHES_PER_WORKER", 2)
    rounds = pool(failing(BrokenProcessPool(), rounds=1, at=2))
    assert worker_pool.run_tasks(lambda i: i * i, lambda i: i, 10) == [i * i for i in range(10)]
    assert rounds == [[3, 3], [3, 1]]


def test_batches_depend_on_the_numbers_of_tasks_and_workers_alone(pool):
    rounds = pool(lambda *_: None)
    for slow in (False, True):
        found = worker_pool.run_tasks(lambda i, slow=slow: threading.Event().wait(0.001 * slow), int, 70)
        assert found == [False] * 70
    assert rounds == [[3] * 23 + [1]] * 2
    assert worker_pool.run_tasks(abs, int, 0) == []


@pytest.mark.parametrize(
    ("backend", "share"), [("sequential", 0.1), pytest.param("loky", 0.6, marks=pytest.mark.nightly)]
)
def test_only_some_shards_are_copied_at_a_time(backend, share):
    table = np.ones((32_000, 32))
    plan = {"shards": shards(32_000, 128, PublicStream(0)), "seeds": [0] * 128}
    labels = np.arange(32_000) % 2
    small = a_teacher(lambda self, X: None)
    with parallel_config(backend=backend, n_jobs=2):
        train_teachers(small, X, Y, **HOW)  # imports modules, and starts the workers
        tracemalloc.start()
        train_teachers(small, table, labels, **plan)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < share * table.nbytes


@pytest.mark.parametrize(("seconds", "batches"), [(0.0, 3), (math.inf, 1)])
def test_tasks_here_are_isolated_in_batches_and_progress_is_told_outside(monkeypatch, seconds, batches):
    held, entered, told = [], [], []

    @contextmanager
    def isolated():
        entered.append(True)
        held.append(True)
        yield
        held.pop()

    def progress():
        told.append((len(held), np.random.random()))

    monkeypatch.setattr(worker_pool, "SECONDS_HERE", seconds)
    monkeypatch.setattr(worker_pool, "isolated", isolated)
    how = {"progress": progress}
    assert worker_pool.run_tasks(lambda i: (i, len(held)), lambda i: i, 3, **how) == [(0, 1), (1, 1), (2, 1)]
    assert len(entered) == batches
    with parallel_config(backend="loky", n_jobs=2):
        assert worker_pool.run_tasks(abs, lambda i: -i - len(held), 3, **how) == [0, 1, 2]
    assert [each for each, _ in told] == [0] * 6
    assert len({drawn for _, drawn in told}) == 6  # nor within the isolation of what workers have sent
