"""A finite class counts what each of its concepts gets wrong; what functions say stays with them."""

import traceback
from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dplearn.concepts import FiniteClass
from dplearn.concepts import finite as module
from dplearn.domains import DomainError
from dplearn.theory import sauer_bound


def test_large_tables_are_compared_block_by_block(monkeypatch):
    rng = np.random.default_rng(0)
    table, x, y = rng.integers(0, 3, (50, 7)), rng.integers(0, 7, (200, 1)), rng.integers(0, 3, 200)
    concepts = FiniteClass(table, 3)
    for block in (1, 7, 20, 1 << 22):
        monkeypatch.setattr(module, "BLOCK", block)
        counts = concepts.error_counts(concepts.domain.encode(x), y)
        assert counts.tolist() == [np.count_nonzero(row[x[:, 0]] != y) for row in table]


def test_distinct_keeps_each_row_once():
    rng = np.random.default_rng(0)
    for n_labels, places in ((1, 1), (2, 1), (2, 3), (3, 2), (5, 6)):
        table = rng.integers(0, n_labels, (7, places))
        concepts = FiniteClass(table, n_labels).distinct()
        columns = concepts.domain.encode(np.arange(places).reshape(-1, 1))
        kept = [tuple(concepts.member_at(i).predict(columns).tolist()) for i in range(concepts.size)]
        assert Counter(kept) == Counter(set(map(tuple, table.tolist())))
        assert concepts.n_labels == n_labels
        assert concepts.domain == FiniteClass(table, n_labels).domain


def test_functions_are_made_distinct_on_all_records_that_are_possible():
    # 200 cuts of a finite domain: by Corollary 3.6 their number is at most that of its labellings.
    cuts = FiniteClass([lambda X, cut=cut: (X[:, 0] > cut / 20).astype(int) for cut in range(200)])
    domain = np.arange(8.0).reshape(-1, 1)
    distinct = cuts.distinct(domain)
    assert distinct.size == 8 <= sauer_bound(1, 8)  # all rows are above no cut, and none is the least
    columns = distinct.domain.encode(domain)
    kept = {tuple(distinct.member_at(i).predict(columns).tolist()) for i in range(8)}
    assert kept == {tuple((np.arange(8) >= first).astype(int).tolist()) for first in range(1, 9)}


def warm(X):
    return np.asarray(X)[:, 0] > 20


# Functions that misbehave: refused by name, and without what they say of the data


def raises(kind):
    def raiser(X):
        raise kind(f"cannot judge {np.asarray(X)[0, 0]}")

    return raiser


MISBEHAVING = {
    "raises": raises(RuntimeError),
    "raises_a_domain_error": raises(DomainError),
    "gives_one_label_too_few": lambda X: [0] * (len(X) - 1),
    "gives_a_table": lambda X: np.zeros((len(X), 1), dtype=int),
    "gives_one_number": lambda X: 1,
    "gives_floats": lambda X: np.asarray(X)[:, 0] * 0.0,
    "gives_text": lambda X: [str(cell) for cell in np.asarray(X)[:, 0]],
    "gives_nothing": lambda X: None,
    "gives_ragged_lists": lambda X: [[0], [0, 1], *[[1]] * (len(X) - 2)],
    "gives_minus_one": lambda X: np.full(len(X), -1),  # which would predict the last label, classes_[-1]
    "gives_another_code": lambda X: np.full(len(X), 2),
}


@pytest.mark.parametrize("name", MISBEHAVING)
@pytest.mark.parametrize("holder", [np.array, pd.DataFrame])
@pytest.mark.parametrize("method", ["encode", "nearest"])
def test_a_function_that_misbehaves_is_refused_by_name_and_without_a_value(name, holder, method):
    function = MISBEHAVING[name]
    function.__name__ = name
    for given, shown in ((function, name), (partial(function), "a concept")):
        concepts, table = FiniteClass([warm, given]), holder([[31.41592], [27.18281]])
        with pytest.raises(DomainError) as refusal:
            getattr(concepts.domain, method)(table)
        assert str(refusal.value) == f"{shown} must give each row a label code from 0 to 1"
        text = "".join(traceback.format_exception(refusal.value))
        assert "31.41592" not in text
        assert "27.18281" not in text
        assert refusal.value.__context__ is None  # what a debugger or a log could follow to the value


HOLDERS = {
    "integers": lambda rows: np.array(rows),
    "objects": lambda rows: np.array(rows, dtype=object),
    "pandas": pd.DataFrame,
    "pandas nullable": lambda rows: pd.DataFrame(rows).astype("Int64"),
    "polars": lambda rows: pl.DataFrame(rows, orient="row"),
}


@pytest.mark.parametrize("holder", HOLDERS.values(), ids=HOLDERS)
def test_functions_see_floats_whatever_holds_the_table(holder):
    # Which type numpy would choose for a list or a frame depends on all of its records.
    seen = []

    def sees(X):
        seen.append(X.copy())
        with pytest.raises(ValueError, match="read-only"):  # no function changes what the next one sees
            X[:] = 0
        return np.zeros(len(X), dtype=np.uint8)

    table = holder([[1, 2], [3, 4]])
    codes = FiniteClass([sees]).domain.encode(table)
    assert seen[0].dtype == np.float64
    assert seen[0].tolist() == [[1, 2], [3, 4]]
    assert codes[0].tolist() == [0, 0]
    FiniteClass([sees]).domain.encode(table)
    assert seen[1].tolist() == seen[0].tolist()


@pytest.mark.parametrize("cell", ["secret", None, np.nan, np.inf, pd.NA], ids=lambda c: str(c)[:9])
def test_functions_are_not_shown_what_is_no_finite_number(cell):
    def sees(X):
        raise AssertionError("was called")

    table = np.array([[1.0], [cell]], dtype=object)
    with pytest.raises(DomainError, match="a value lies outside the declared domain") as refusal:
        FiniteClass([sees]).domain.encode(table)
    assert "secret" not in str(refusal.value)
    assert refusal.value.__context__ is None
