"""Bars of progress: only the outermost loop has one, its counts are public, and it changes nothing."""

import io
import os
import sys
import threading
from contextlib import redirect_stderr
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from dplearn import (
    AdditiveClassifier,
    PrivacyLedger,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
    _progress,
)
from dplearn._progress import counted, progress, unseen, watched
from dplearn.domains import DomainError, Grid
from dplearn.estimator import isolated, turn
from dplearn.model_selection import PrivateSearchCV
from dplearn.preprocessing import PrivateKMeans
from dplearn.releases import median

rng = np.random.default_rng(0)
X = rng.random((60, 2))
y = (X[:, 0] > 0.5).astype(int)
CUT = [(X[:10], y[:10]), (X[10:30], y[10:30]), (X[30:], y[30:])]
READING = ("Reading parts", None, 3), ("Reading parts", 3, 3)
PUBLIC = {"domain": Grid(0, 1), "classes": [0, 1], "epsilon": 9, "random_state": 0}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def bars(monkeypatch):
    """Bars that note what is done with them, in the place of those of tqdm, at once."""
    monkeypatch.setattr(_progress, "SECONDS", -1.0)
    # Pytest has its own standard error. That of an isolated model is a file.
    monkeypatch.setattr(_progress, "is_seen", lambda stream: getattr(stream, "name", None) != os.devnull)
    made = []

    class Bar(SimpleNamespace):
        closed = False

        def __init__(self, **given):
            super().__init__(**given, n=given["initial"], told=[])
            made.append(self)

        def update(self, finished):
            self.n += finished
            self.told.append(finished)

        def close(self):
            self.closed = True

    module = ModuleType("tqdm.auto")
    module.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    return made


def shown(bars):
    assert all(bar.closed for bar in bars)
    return [(bar.desc, bar.total, bar.n) for bar in bars]


def test_the_outermost_loop_alone_is_counted_and_inner_steps_let_its_clock_go_on(bars):
    with progress(), progress():
        assert [list(watched("ab", "inner")) for _ in watched(range(2), "outer")] == [["a", "b"]] * 2
        with counted("told") as done:
            done(3)
    list(watched("ab", "of no piece of work"))
    assert shown(bars) == [("outer", 2, 2), ("told", None, 3)]
    assert bars[0].told == [0, 0, 1, 0, 0, 1]


def test_a_loop_is_shown_after_two_seconds_of_work_with_the_steps_that_it_has_done(bars, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(_progress, "SECONDS", 2.0)
    monkeypatch.setattr(_progress, "monotonic", lambda: now[0])
    with progress():
        for _ in watched(range(9), "short"):
            now[0] += 0.2
        for _ in watched(range(5), "long"):
            now[0] += 0.1
        list(watched("abc", "late"))
    assert [(bar.desc, bar.initial, bar.n) for bar in bars] == [("long", 3, 5), ("late", 0, 3)]


SEEN = _progress.is_seen
NOTEBOOK = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})
CLOSED = io.StringIO()
CLOSED.close()


@pytest.mark.parametrize(
    ("stream", "value", "n_bars"),
    [
        (Terminal(), "1", 1),
        (NOTEBOOK(), "", 1),
        (Terminal(), "0", 0),
        (NOTEBOOK(), "0", 0),
        (io.StringIO(), "", 0),
        (CLOSED, "", 0),
        (None, "", 0),
    ],
)
def test_bars_are_for_terminals_and_notebooks_and_can_be_turned_off(stream, value, n_bars, bars, monkeypatch):
    monkeypatch.setattr(_progress, "is_seen", SEEN)
    monkeypatch.setenv("DPLEARN_PROGRESS", value)
    with redirect_stderr(stream), progress():
        assert list(watched("ab", "letters")) == ["a", "b"]
    assert shown(bars) == [("letters", 2, 2)] * n_bars
    assert [bar.file for bar in bars] == [stream] * n_bars


def test_without_tqdm_and_in_other_threads_there_is_no_bar(bars, monkeypatch):
    with progress():
        other = threading.Thread(target=lambda: list(watched("ab", "letters")))
        other.start()
        other.join()
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
        assert list(watched("ab", "letters")) == ["a", "b"]
    assert bars == []


def test_a_loop_that_an_error_leaves_closes_its_bar_and_later_ones_are_shown(bars):
    kept = watched("ab", "left")  # as a traceback keeps a loop
    with progress():
        assert next(kept) == "a"
    with progress():
        list(watched("ab", "later"))
    assert shown(bars) == [("left", 2, 0), ("later", 2, 2)]
    with pytest.raises(DomainError):
        StatisticalQueryNaiveBayes(**PUBLIC).fit([X, X + 5], [y, y])
    assert shown(bars)[-1] == ("Reading parts", None, 1)


def test_nothing_is_drawn_within_an_isolated_model(bars):
    with progress():
        for _ in watched(range(2), "outer"):
            with isolated(), turn(0), progress():
                list(watched("abc", "inner"))
        with isolated(), turn(0):
            list(watched("abc", "inner"))
    assert shown(bars) == [("outer", 2, 2)]
    assert bars[0].told == [1, 1]


class Teacher(DecisionTreeClassifier):
    """A teacher with a private learner and a bar of its own."""

    def fit(self, X, y):
        StatisticalQueryNaiveBayes(**PUBLIC).fit([X, X], [y, y])
        sys.modules["tqdm.auto"].tqdm(desc="of a teacher", total=0, initial=0).close()
        return super().fit(X, y)


def test_fits_show_their_parts_steps_teachers_and_candidates(bars):
    StatisticalQueryNaiveBayes(**PUBLIC).fit(lambda: CUT)
    assert shown(bars) == [*READING]
    bars.clear()
    model = StatisticalQueryLogisticRegression(n_steps=4, **PUBLIC).fit(lambda: CUT)
    assert shown(bars)[0] == READING[0]
    assert shown(bars)[-1] == ("Taking steps", 4, 4)
    bars.clear()
    AdditiveClassifier(**PUBLIC).fit(X, y)
    assert [(total, total) for _, total, _ in shown(bars)] == [(total, n) for _, total, n in shown(bars)]
    assert shown(bars)[-1][0] == "Taking steps"
    bars.clear()
    PrivateKMeans(2, domain=Grid(0, 1), epsilon=1).fit(X)
    assert shown(bars)[0][0] == "Moving centres"
    bars.clear()
    SubsampleAggregateClassifier(Teacher(), n_teachers=5, epsilon=50, max_queries=9).fit(X, y)
    assert [each for each in shown(bars) if each[0] != "of a teacher"] == [("Training teachers", 5, 5)]
    bars.clear()
    search = PrivateSearchCV(model.set_params(random_state=None), {"n_steps": [2, 3]}, method="noisy_scores")
    search.fit(X, y)
    assert shown(bars)[0] == ("Trying candidates", 2, 2)


def test_the_number_of_runs_of_a_search_and_of_passes_of_a_median_is_not_shown(bars):
    learner = StatisticalQueryLogisticRegression(n_steps=2, domain=Grid(0, 1), classes=[0, 1])
    PrivateSearchCV(learner, {"n_steps": [1, 2, 3, 4]}, method="random_stopping", refit=False).fit(X, y)
    assert bars == []
    counts = set()
    for middle in (0.5, 0.50001):
        values = np.r_[np.zeros(200), np.full(300, middle), np.ones(200)]
        median(lambda values=values: [values[:300], values[300:]], domain=Grid(0, 1, 2**32), epsilon=1)
        counts.add(tuple(shown(bars)))
        bars.clear()
    assert len(counts) == 1
    with progress(), unseen(), progress():
        list(watched("ab", "private"))
    assert bars == []


class Full(Terminal):
    """A file that cannot be written."""

    asked = False

    def write(self, text):
        self.asked = True
        raise OSError("No space left on device")


def test_a_file_that_cannot_be_written_ends_no_release(monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(_progress, "SECONDS", -1.0)
    budget = PrivacyLedger(2)
    with redirect_stderr(Full()) as full:
        median(lambda: [np.arange(50.0), np.arange(60.0)], epsilon=1, ledger=budget)
    assert full.asked
    assert len(budget.history()) == 1


def test_tqdm_draws_the_bar_and_clears_it(monkeypatch):
    pytest.importorskip("tqdm")
    monkeypatch.setattr(_progress, "SECONDS", -1.0)
    with redirect_stderr(Terminal()) as terminal, progress():
        for _ in watched(range(3), "counting"):
            pass
    assert "counting:   0%" in terminal.getvalue()
    assert "| 0/3 [" in terminal.getvalue()
    assert terminal.getvalue().endswith("\r")


def test_passes_over_a_dask_collection_are_shown_by_dask(bars):
    dataframe = pytest.importorskip("dask.dataframe")
    from dask.diagnostics import Callback

    class Runs(Callback):
        seen = 0

        def _start(self, dsk):
            self.seen += 1

    frame = dataframe.from_pandas(pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}), npartitions=3)
    with Runs() as runs:
        StatisticalQueryNaiveBayes(**PUBLIC).fit(frame, "y")
    assert (runs.seen, bars) == (2, [])
