"""`python -b` and `python -bb` change nothing: a cell of bytes is neither compared with text nor made one."""

import subprocess
import sys
from functools import cache

import pytest

#: What is read and released of cells that are bytes, beside texts that hash like them.
SCRIPT = r"""
import warnings

import numpy as np
import pandas as pd
import polars as pl

import dplearn
from dplearn.domains import (
    Bits, Categories, Floats, Grid, Hashed, IntegerRange, LargeIntegerRange, Product, Schema
)
from dplearn.mechanisms import stable_histogram
from dplearn.model_selection import PrivateSearchCV, private_score
from dplearn.preprocessing import CellEncoder
from dplearn.releases import stable_counts

warnings.filterwarnings("ignore", category=UserWarning)  # of few records; BytesWarning is none
CELLS = [
    b"a", "a", bytearray(b"a"), np.bytes_(b"a"), ("a", 1), (b"a", 1), ("a", (b"b",)), (b"a", ("b",)),
    frozenset([b"a"]), frozenset(["a"]), None, 1, b"1", b"", "",
]


def show(name, action):
    try:
        result = action()
    except (TypeError, ValueError) as error:
        result = type(error).__name__, str(error)
    print(name, result)


def column(cells):
    return np.fromiter(cells, dtype=object, count=len(cells))


domains = [
    Hashed(1 << 16),
    Categories(["a", ("a", 1), frozenset(["a"])], other=True),
    Categories([b"a", "a", (b"a", 1), ("a", 1), frozenset([b"a"]), None, 1], other=True),
    Categories([b"a", "a"]),
]
numbers = [
    Floats(), Floats(missing=True), Grid(0, 1), IntegerRange(0, 9), Bits(), Bits(None),
    LargeIntegerRange(0, 9),
]
for domain in domains + numbers:
    show(domain, lambda: domain.encode(column(CELLS)).tolist())
    show(domain, lambda: domain.nearest(column(CELLS)).tolist())
show("equal", lambda: [[one == other for one in domains] for other in domains])
schema = Schema({"t": Categories(["a"], other=True), "b": Categories([b"a"], other=True), "h": Hashed(99)})
rows = {"t": ["a", b"a"] * 40, "b": [b"a", "a"] * 40, "h": [b"a", "a", b"b", "b"] * 20}
listed = [list(row) for row in zip(*rows.values())]
tables = [pd.DataFrame(rows), column([cell for row in listed for cell in row]).reshape(-1, 3), listed]
tables += [pl.DataFrame({name: pl.Series(cells, dtype=pl.Object) for name, cells in rows.items()})]
for table in tables[:2] + tables[3:]:
    show("schema", lambda: [codes.tolist() for codes in schema.encode(table)])
show("binary", lambda: Product([Hashed(99)]).encode(pl.DataFrame({"x": [b"a", b"b", None]}))[0].tolist())
for table in tables[:3]:
    show("cells", lambda: CellEncoder(8).fit(table).transform(table).tolist())

for y in (["a", b"a"], [1, b"a"], np.array([b"a", b"b"])):
    for classes in (["a", "b"], [1, 2], None):
        learner = dplearn.StatisticalQueryNaiveBayes(classes=classes)
        show(y, lambda: learner.fit([[0], [1]], y).classes_.tolist())

y = ["p", "q"] * 40
text, both = tables[1][:, :1], Categories(["a", b"a"])
learners = [
    dplearn.PointClassifier(epsilon=50),
    dplearn.PointClassifier(method="stability", delta=1e-3, epsilon=5),
    dplearn.ExponentialMechanismClassifier(domain=Hashed(8)),
    dplearn.StatisticalQueryNaiveBayes(domain=both),
    dplearn.StatisticalQueryLogisticRegression(domain=both),
    dplearn.SubsampleAggregateClassifier(n_teachers=5, epsilon=1e5),
    PrivateSearchCV(dplearn.ExponentialMechanismClassifier(domain=both), {"method": ["exponential"]}),
]
for learner in learners:
    getattr(learner, "estimator", None) or learner.set_params(classes=["p", "q"])
    learner.set_params(random_state=0)
    show(learner, lambda: learner.fit(text, y).predict(text).tolist())
    show("score", lambda: private_score(learner, text, y, random_state=0).value)
    show("bytes among labels", lambda: learner.fit(text, [b"p", *y[1:]]))
keys = ["a", b"a", ("a", b"a"), (b"a", "a")] * 500
show("counts", lambda: stable_counts(keys, delta=1e-6, random_state=0).counts)
"""


@pytest.fixture(scope="module")
def given(program):
    """What the script prints, and its warnings, with a flag of Python's."""

    @cache
    def with_flag(flag):
        if not flag:
            ended = program(SCRIPT)
            return ended.stdout, ended.stderr
        command = [sys.executable, flag, "-c", SCRIPT]
        ended = subprocess.run(command, capture_output=True, text=True, check=False)
        return ended.stdout, ended.stderr

    return with_flag


@pytest.mark.nightly
@pytest.mark.parametrize("flag", [pytest.param("-b", marks=pytest.mark.nightly), "-bb"])
def test_bytes_are_read_alike_and_without_a_warning(given, flag):
    assert given(flag) == given("")
    assert given(flag)[1] == ""
    assert "counts {b'a': " in given(flag)[0]
