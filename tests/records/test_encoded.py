"""Tests of encoded columns that are not held: the same codes and errors, and little memory."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest

from dplearn.audit.fits import ready
from dplearn.domains import DomainError, Floats, Grid, IntegerRange, Product
from dplearn.learners import AdditiveClassifier, ConjunctionClassifier, StatisticalQueryNaiveBayes
from dplearn.records import encoded as module
from dplearn.records.encoded import EncodedColumns, encoded
from dplearn.records.rows import Columns, count_of, taken

DOMAIN = Product([Floats(), Grid(0, 1, 7), Grid(0, 1, 7)])


def same(first, second):
    return all((mine == other).all() for mine, other in zip(first, second, strict=True))


@pytest.mark.parametrize("length", [1, 7, 100, 1000])
def test_codes_are_those_of_the_whole_table(length):
    X = np.random.default_rng(0).random((100, 3))
    columns, codes = encoded(X, DOMAIN), DOMAIN.encode(X)
    assert isinstance(columns, EncodedColumns)
    assert same(columns.columns, codes)
    for held in (columns, Columns(codes)):
        parts = list(held.blocks(length))
        assert [np.arange(100)[here].tolist() for here, _ in parts] == [
            list(range(start, min(start + length, 100))) for start in range(0, 100, length)
        ]
        assert same(
            [np.concatenate(column) for column in zip(*(part for _, part in parts), strict=True)], codes
        )
    places = np.array([5, 3, 99])
    few = taken(columns, places)
    assert count_of(few) == 3
    assert same(few.columns, [column[places] for column in codes])


@pytest.mark.parametrize("made", [pd.DataFrame, lambda X: X.astype(object)], ids=["frame", "objects"])
def test_codes_of_other_cells_are_held(made):
    X = np.random.default_rng(0).random((20, 3))
    assert type(encoded(made(X), DOMAIN)) is Columns
    assert same(encoded(made(X), DOMAIN).columns, encoded(X, DOMAIN).columns)


def test_the_error_names_the_first_column_of_all_rows(monkeypatch):
    monkeypatch.setattr(module, "_CHECKED", 2)
    X = np.zeros((9, 3))
    X[0, 2] = X[8, 1] = 5.0  # beyond the grid; in the first block the last column is the first such one
    with pytest.raises(DomainError) as whole:
        DOMAIN.encode(X)
    with pytest.raises(DomainError) as found:
        encoded(X, DOMAIN)
    assert str(found.value) == str(whole.value)
    assert "'x1'" in str(found.value)


@pytest.mark.parametrize("kind", [StatisticalQueryNaiveBayes, AdditiveClassifier, ConjunctionClassifier])
@pytest.mark.parametrize(
    "domain", [Floats(), IntegerRange(-9, 9, outside="clip")], ids=["floats", "integers"]
)
def test_a_summary_takes_less_memory_than_its_table(kind, domain):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200_000, 6)), rng.integers(0, 2, 200_000)
    model = kind(domain=domain, classes=[0, 1])
    ready(model, X[:5000], y[:5000])  # makes the tables of lookups
    tracemalloc.start()
    try:
        summary = ready(model, X, y).summary
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert summary.X.nbytes == X.nbytes / 4
    assert peak < 0.9 * X.nbytes
