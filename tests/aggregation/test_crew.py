"""Who works on a parcel changes no result; parcels stay apart, and workers that die are replaced once."""

import os
import threading
import tracemalloc
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier

from dplearn.aggregation import crew
from dplearn.aggregation.asking import Labels
from dplearn.aggregation.crew import carried_out
from dplearn.aggregation.progress import Progress
from dplearn.aggregation.shards import shards
from dplearn.aggregation.teachers import answers_of, train_and_ask, train_teachers
from dplearn.chance import PublicStream

N, K = 120, 12
GENERATOR = np.random.default_rng(0)
X, QUERIES = GENERATOR.normal(size=(N, 3)), GENERATOR.normal(size=(40, 3))
CLASSES = np.array(["no", "yes"])
Y = CLASSES[(X[:, 0] > 0).astype(int)]
HOW = {"shards": shards(N, K, PublicStream(0)), "seeds": PublicStream(1).seeds(K)}
ASK = HOW | {"queries": QUERIES, "asked": Labels(CLASSES)}
TREE = DecisionTreeClassifier()


@pytest.fixture
def _eager(monkeypatch):
    """Processes take no time to start, so that they always seem to pay."""
    monkeypatch.setattr(crew, "_COLD", -1e9)
    monkeypatch.setattr(crew, "_WARM", -1e9)


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


@pytest.mark.parametrize("backend", ["sequential", "threading", "loky", "multiprocessing"])
def test_votes_are_the_same_on_every_backend(backend):
    alone = train_and_ask(TREE, X, Y, **ASK)
    with parallel_config(backend=backend, n_jobs=2):
        assert train_and_ask(TREE, X, Y, **ASK).tolist() == alone.tolist()
        taught = train_teachers(TREE, X, Y, **HOW)
    assert answers_of(taught, QUERIES, Labels(CLASSES)).tolist() == alone.tolist()


@pytest.mark.usefixtures("_eager")
def test_work_that_goes_on_in_processes_ends_in_the_same_votes():
    alone = train_and_ask(TREE, X, Y, **ASK)
    assert train_and_ask(TREE, X, Y, n_jobs=2, **ASK).tolist() == alone.tolist()


def test_a_context_with_processes_is_followed():
    here = os.getpid()
    elsewhere = a_teacher(lambda self, X: "yes" if os.getpid() != here else "no")
    with parallel_config(backend="loky", n_jobs=2):
        assert (train_and_ask(elsewhere, X, Y, **ASK) == 1).all()
    assert (train_and_ask(elsewhere, X, Y, **ASK) == 0).all()


def test_teachers_are_never_trained_in_two_threads_at_once():
    threads = []
    noting = a_teacher(lambda self, X: threads.append(threading.get_ident()))
    with parallel_config(backend="threading", n_jobs=2):
        train_and_ask(noting, X, Y, **ASK)
    assert threads == [threading.get_ident()] * K


def test_batches_in_one_process_wait_for_each_other():
    running, most = [], []

    def work(parcel):
        running.append(parcel)
        most.append(len(running))
        threading.Event().wait(0.001)
        running.remove(parcel)

    batches = [
        threading.Thread(target=crew._batch, args=(work, [crew._packed(i)] * 5, None)) for i in range(4)
    ]
    for batch in batches:
        batch.start()
    for batch in batches:
        batch.join()
    assert most == [1] * 20


def test_every_worker_gives_native_libraries_as_many_threads_as_this_process_does():
    def threads(self, X):
        from threadpoolctl import threadpool_info

        return "yes" if {each["num_threads"] for each in threadpool_info()} <= {1} else "no"

    with parallel_config(backend="loky", n_jobs=2, inner_max_num_threads=1):
        assert (train_and_ask(a_teacher(threads), X, Y, **ASK) == 1).all()


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


def test_a_parcel_that_cannot_travel_is_worked_on_here():
    cells = X.astype(object)
    alone = train_and_ask(TREE, cells, Y, **ASK)
    cells[5, 1] = Stubborn(cells[5, 1])
    with parallel_config(backend="loky", n_jobs=2):
        assert train_and_ask(TREE, cells, Y, **ASK).tolist() == alone.tolist()


def test_a_model_that_cannot_travel_is_trained_here():
    def keep_a_lock(self, X):
        self.lock_ = threading.Lock()
        return "yes" if X[0, 0] > 0 else "no"

    alone = answers_of(train_teachers(a_teacher(keep_a_lock), X, Y, **HOW), QUERIES, Labels(CLASSES))
    with parallel_config(backend="loky", n_jobs=2):
        taught = train_teachers(a_teacher(keep_a_lock), X, Y, **HOW)
    assert answers_of(taught, QUERIES, Labels(CLASSES)).tolist() == alone.tolist()
    assert set(alone.ravel().tolist()) == {0, 1}


@pytest.mark.parametrize("eager", [False, True])
@pytest.mark.parametrize("loses", ["what it learned", "how it was made"])
def test_what_a_pickle_loses_is_lost_wherever_a_teacher_is_trained(monkeypatch, eager, loses):
    class Forgetful(ClassifierMixin, BaseEstimator):
        def __init__(self, word=None):
            self.word = word

        def fit(self, X, y):
            self.said_ = self.word

        def predict(self, X):
            return [self.said_] * len(X)

        def __getstate__(self):
            return vars(self) | ({"word": "no"} if loses == "how it was made" else {"said_": "no"})

    if eager:
        monkeypatch.setattr(crew, "_COLD", -1e9)
        monkeypatch.setattr(crew, "_WARM", -1e9)
    taught = train_teachers(Forgetful("yes"), X, Y, n_jobs=2, **HOW)
    assert (answers_of(taught, QUERIES, Labels(CLASSES)) == 0).all()


class Odd:
    """Something that is another thing after it has travelled."""

    def __reduce__(self):
        return int, (7,)


@pytest.mark.parametrize("eager", [False, True])
def test_a_parcel_worked_on_here_is_what_it_would_be_elsewhere(monkeypatch, eager):
    if eager:
        monkeypatch.setattr(crew, "_COLD", -1e9)
        monkeypatch.setattr(crew, "_WARM", -1e9)
    assert carried_out(lambda parcel: str(parcel), lambda i: Odd(), 5, n_jobs=2) == ["7"] * 5


class Panic(BaseException):
    """Stands for those of compiled libraries, which are no `Exception`."""


class Untransported:
    def __init__(self, when):
        self.when = when

    def __reduce__(self):
        if self.when == "packed":
            raise Panic
        return panic, ()


def panic():
    raise Panic


@pytest.mark.parametrize("when", ["packed", "unpacked"])
@pytest.mark.parametrize("backend", ["sequential", "loky"])
def test_whatever_is_raised_on_the_way_is_not_told(backend, when):
    with parallel_config(backend=backend, n_jobs=2):
        told = carried_out(lambda parcel: parcel.when, lambda i: Untransported(when), 3)
        assert told == [when] * 3
        made = carried_out(lambda parcel: parcel, lambda i: Untransported(when), 3)
    assert [each.when for each in made] == [when] * 3


@pytest.mark.usefixtures("_eager")
def test_an_estimator_that_cannot_travel_stays_here():
    class Rooted:
        def __deepcopy__(self, memo):
            return self

        def __reduce__(self):
            raise TypeError("rooted")

    teacher = a_teacher(lambda self, X: "yes").set_params(where=Rooted())
    assert (train_and_ask(teacher, X, Y, n_jobs=2, **ASK) == 1).all()


def test_no_warning_of_a_worker_leaves(capfd):
    def warn(self, X):
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("private", stacklevel=1)

    with parallel_config(backend="loky", n_jobs=2):
        assert (train_and_ask(a_teacher(warn), X, Y, **ASK) == 1).all()
    assert capfd.readouterr() == ("", "")


def test_what_is_printed_in_a_worker_goes_nowhere():
    def where(self, X):
        import sys

        return "yes" if sys.stdout.name == sys.stderr.name == os.devnull else "no"

    with parallel_config(backend="loky", n_jobs=2):
        assert (train_and_ask(a_teacher(where), X, Y, **ASK) == 1).all()


def test_global_generators_begin_at_the_same_place_in_every_process():
    def draw(self, X):
        import random

        return ["no", "yes"][np.random.randint(2) ^ random.randrange(2)]

    alone = train_and_ask(a_teacher(draw), X, Y, **ASK)
    with parallel_config(backend="loky", n_jobs=2):
        for _ in range(2):
            assert train_and_ask(a_teacher(draw), X, Y, **ASK).tolist() == alone.tolist()
    assert len(np.unique(alone)) == 2


def test_processes_of_a_teacher_serve_no_other_teacher():
    here = os.getpid()

    def spread(self, X):
        from joblib import Parallel, delayed

        return "yes" if Parallel(n_jobs=2)(delayed(os.getpid)() for _ in range(2)) == [here] * 2 else "no"

    assert (train_and_ask(a_teacher(spread), X, Y, **ASK) == 1).all()


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


def test_workers_that_die_again_end_it_in_constant_words():
    here = os.getpid()
    mortal = a_teacher(lambda self, X: os._exit(1) if os.getpid() != here else None)
    with parallel_config(backend="loky", n_jobs=2), pytest.raises(RuntimeError) as raised:
        train_and_ask(mortal, X, Y, **ASK)
    assert str(raised.value) == crew._DIED_AGAIN
    assert raised.value.__context__ is None


def test_only_what_was_lost_is_repeated(monkeypatch):
    rounds = []

    def parallel(n_jobs):
        def run(tasks):
            rounds.append([])
            for place, (function, arguments, _) in enumerate(tasks):
                if len(rounds) == 1 and place == 2:
                    raise BrokenProcessPool
                rounds[-1].append(len(arguments[1]))
                yield function(*arguments)

        return run

    monkeypatch.setattr(crew, "_parallel", parallel)
    monkeypatch.setattr(crew, "_BATCHES_A_WORKER", 2)
    with parallel_config(backend="loky", n_jobs=2):
        assert carried_out(lambda i: i * i, lambda i: i, 10) == [i * i for i in range(10)]
    assert rounds == [[3, 3], [3, 1]]


@pytest.mark.parametrize("stop", [KeyboardInterrupt])
def test_whoever_stops_the_program_stops_workers_too(stop):
    def stop_there(self, X):
        raise stop

    with parallel_config(backend="loky", n_jobs=2), pytest.raises(stop):
        train_and_ask(a_teacher(stop_there), X, Y, **ASK)


def test_a_backend_that_gives_all_at_once_will_do(monkeypatch):
    monkeypatch.setattr("joblib._parallel_backends.LokyBackend.supports_return_generator", False)
    alone = train_and_ask(TREE, X, Y, **ASK)
    with parallel_config(backend="loky", n_jobs=2):
        assert train_and_ask(TREE, X, Y, **ASK).tolist() == alone.tolist()


def a_crew(done, left, seconds):
    it = crew._Crew(len, lambda i: b"parcel", done + left, nullcontext, None, None)
    it.done = dict.fromkeys(range(done), b"outcome")
    it._later = (done - 1) * seconds
    return it


@pytest.mark.parametrize(
    ("warm", "left", "seconds", "pays"),
    [
        (True, 250, 0.005, True),
        (True, 250, 0.00005, False),
        (False, 250, 0.005, False),
        (False, 2500, 0.005, True),
        (True, 1, 0.05, False),
        (True, 0, 100.0, False),
    ],
)
def test_processes_take_over_where_they_are_clearly_faster(monkeypatch, warm, left, seconds, pays):
    monkeypatch.setattr(crew, "_last_spread", crew.monotonic() if warm else -1e9)
    monkeypatch.setattr(crew, "_travel_seconds", lambda thing: 1e-5)
    assert a_crew(2, left, seconds)._pays(2) is pays


def test_no_processes_take_over_where_travelling_takes_longer_than_the_work(monkeypatch):
    monkeypatch.setattr(crew, "_last_spread", crew.monotonic())
    monkeypatch.setattr(crew, "_travel_seconds", lambda thing: 0.01)
    assert not a_crew(2, 250, 0.02)._pays(2)
    assert a_crew(2, 250, 0.2)._pays(2)


def test_a_first_parcel_counts_only_if_it_takes_long():
    for first, pace in [(0.5, 0.0), (30.0, 30.0)]:
        it = a_crew(1, 10, 0.0)
        it._first = first
        assert it._pace == pace


@pytest.mark.parametrize("backend", ["sequential", "loky"])
def test_a_bar_on_standard_error_tells_how_many_are_done(backend, capsys):
    with parallel_config(backend=backend, n_jobs=2):
        train_and_ask(TREE, X, Y, progress=Progress(K, shown=True, tell=list), **ASK)
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.split("\r")[1:]
    assert [line.split()[1] for line in lines] == [f"{i}/{K}" for i in range(1, K + 1)]
    assert lines[-1].startswith(f"[{'#' * 30}] {K}/{K} teachers, ")
    assert err.count("\n") == 1


def test_without_a_bar_nothing_is_written(capsys):
    train_and_ask(TREE, X, Y, **ASK)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("backend", "share"), [("sequential", 0.1), ("loky", 0.6)])
def test_only_some_shards_are_copied_at_a_time(backend, share):
    table = np.ones((32_000, 32))
    lesson = {"shards": shards(32_000, 128, PublicStream(0)), "seeds": [0] * 128}
    labels = np.arange(32_000) % 2
    small = a_teacher(lambda self, X: None)
    with parallel_config(backend=backend, n_jobs=2):
        train_teachers(small, X, Y, **HOW)  # what is imported and started once
        tracemalloc.start()
        train_teachers(small, table, labels, **lesson)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < share * table.nbytes


def test_the_context_for_work_here_is_entered_once_and_not_held_while_processes_work():
    held, entered = [], []

    @contextmanager
    def here():
        entered.append("loop")
        held.append(True)
        yield
        held.pop()

    assert carried_out(lambda i: (i, len(held)), lambda i: i, 3, here=here) == [(0, 1), (1, 1), (2, 1)]
    assert entered == ["loop"]
    with parallel_config(backend="loky", n_jobs=2):
        assert carried_out(abs, lambda i: -i - len(held), 3, here=here) == [0, 1, 2]
    assert entered == ["loop"]


def test_long_work_here_leaves_the_context_now_and_then_for_others(monkeypatch):
    entered = []

    @contextmanager
    def here():
        entered.append(True)
        yield

    monkeypatch.setattr(crew, "_WHILE", 0.0)
    assert carried_out(lambda i: i, lambda i: i, 3, here=here) == [0, 1, 2]
    assert len(entered) >= 3
