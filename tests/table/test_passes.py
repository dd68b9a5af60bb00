"""Passes: errors of tasks are results, and all parts have the same types."""

import io
import pickle
import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dplearn import PrivacyLedger, StatisticalQueryNaiveBayes
from dplearn.display import PassProgress
from dplearn.domains import DomainError, Grid
from dplearn.releases import median
from dplearn.table.passes import PartTypes, Task


def test_an_error_of_a_task_is_a_result_without_the_variables_of_its_frames():
    def function(X, y):
        try:
            raise KeyError(str(X))
        except KeyError as error:
            outside = DomainError("X is outside its domain")
            outside.add_note(str(X))
            raise outside from error

    error = Task(function)("a secret", None).error
    assert (type(error), error.args) == (DomainError, ("X is outside its domain",))
    assert error.__traceback__ is error.__cause__ is error.__context__ is None
    assert b"secret" not in pickle.dumps(error)
    with np.errstate(all="raise"):  # of the thread that runs it
        assert Task(lambda X, y: np.float64(1.0) / X)(np.float64(0.0), None).value == np.inf


X = np.random.default_rng(0).random((60, 2))
y = (X[:, 0] > 0.5).astype(int)
CUT = [(X[:10], y[:10]), (X[10:30], y[10:30]), (X[30:], y[30:])]


def naive_bayes():
    return StatisticalQueryNaiveBayes(domain=Grid(0, 1), classes=[0, 1], epsilon=9, random_state=0)


@pytest.fixture
def no_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)


@pytest.fixture
def bars(monkeypatch):
    """Bars that note what is done with them, in the place of those of tqdm."""
    made = []

    class Bar(SimpleNamespace):
        n, closed = 0, False

        def __init__(self, **given):
            super().__init__(**given)
            made.append(self)

        def update(self):
            self.n += 1

        def close(self):
            self.closed = True

    module = ModuleType("tqdm.auto")
    module.tqdm = Bar
    monkeypatch.setitem(sys.modules, "tqdm.auto", module)
    return made


def test_a_line_of_text_counts_passes_and_parts(no_tqdm, capsys):
    file = io.StringIO()
    with PassProgress(file):
        naive_bayes().fit(lambda: CUT, None)
        median(lambda: [X[:30, 0], X[30:, 0]], domain=Grid(0, 1))
    lines = [line.split("\r")[-1] for line in file.getvalue().split("\n")]
    assert lines == ["pass 1: 3 parts", "pass 2: 3/3 parts", "pass 3: 2 parts", "pass 4: 2/2 parts", ""]
    assert "\rpass 2: 1/3 parts\r" in file.getvalue()
    with PassProgress():
        naive_bayes().fit(lambda: CUT, None)
    out, err = capsys.readouterr()
    assert (out, err[-19:]) == ("", "\rpass 2: 3/3 parts\n")


def test_contexts_may_be_nested_and_used_again_and_a_refused_part_closes_the_bar(bars):
    naive_bayes().fit(lambda: CUT, None)
    with PassProgress():
        naive_bayes().fit(X, y)  # a table in memory has no passes
    assert bars == []
    outer, inner = PassProgress(), PassProgress()
    with outer:
        with inner:
            median(lambda: [X[:, 0]], domain=Grid(0, 1))
        median(lambda: [X[:, 0]], domain=Grid(0, 1))
    with outer:
        median(lambda: [X[:, 0]], domain=Grid(0, 1))
    assert [bar.desc for bar in bars] == ["pass 1", "pass 2", "pass 1", "pass 2", "pass 3", "pass 4"]
    assert [(bar.total, bar.unit, bar.n, bar.closed) for bar in bars[:2]] == [
        (None, " parts", 1, True),
        (1, " parts", 1, True),
    ]
    with PassProgress(), pytest.raises(DomainError):
        naive_bayes().fit([X, X + 5], [y, y])
    assert (bars[-1].n, bars[-1].closed) == (1, True)


def test_passes_over_a_dask_collection_are_counted_and_dask_shows_their_tasks(bars):
    dataframe = pytest.importorskip("dask.dataframe")
    from dask.diagnostics import Callback

    class Runs(Callback):
        seen = 0

        def _start(self, dsk):
            self.seen += 1

    frame = dataframe.from_pandas(pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}), npartitions=3)
    with Runs() as runs, PassProgress():
        naive_bayes().fit(frame, "y")
    assert runs.seen == 2
    assert [(bar.desc, bar.total, bar.n) for bar in bars] == [("pass 1", 3, 3), ("pass 2", 3, 3)]


class Full(io.StringIO):
    """A file that can be written a few times."""

    left = 3

    def write(self, text):
        self.left -= 1
        if self.left < 0:
            raise OSError("No space left on device")
        return super().write(text)


@pytest.mark.parametrize("n_writes", [0, 1, 3])
def test_a_file_that_cannot_be_written_ends_no_release(n_writes):
    file, budget = Full(), PrivacyLedger(2)
    file.left = n_writes
    with PassProgress(file=file):
        median(lambda: [np.arange(50.0), np.arange(60.0)], epsilon=1, ledger=budget)
    assert file.left < 0
    assert len(budget.history()) == 1


FRAME = pd.DataFrame({"age": [1, 2], "town": ["a", "b"]})


@pytest.mark.parametrize("part", [FRAME, FRAME["age"], np.zeros((3, 2)), np.zeros(3), [1, 2]], ids=range(5))
def test_parts_of_any_length_have_the_same_types(part):
    PartTypes.of(part).check_same(PartTypes.of(part[:1]))


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        (FRAME, pl.from_pandas(FRAME), "X must have parts of one library, got .* pandas and of polars"),
        (FRAME, FRAME.to_numpy(), "X must have parts of one library, got .* pandas and of numpy"),
    ],
)
def test_parts_of_other_libraries_are_refused_without_a_value(one, other, words):
    with pytest.raises((TypeError, ValueError), match=words):
        PartTypes.of(one).check_same(PartTypes.of(other))
