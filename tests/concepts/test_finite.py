"""A finite class counts what each of its concepts gets wrong; what functions say stays with them."""

import traceback
from collections import Counter
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.concepts import FiniteClass
from dplearn.concepts import finite as module
from dplearn.domains import DomainError
from dplearn.theory.rules import sauer_bound

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)


@st.composite
def tables_with_data(draw):
    """A table of predictions, its number of labels, and a few records with labels."""
    n_labels, places = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    label = st.integers(0, n_labels - 1)
    table = draw(st.lists(st.lists(label, min_size=places, max_size=places), min_size=1, max_size=7))
    records = draw(st.lists(st.tuples(st.integers(0, places - 1), label), min_size=1, max_size=8))
    x, y = np.array(records).T
    return table, n_labels, x.reshape(-1, 1), y


def test_large_tables_are_compared_block_by_block(monkeypatch):
    rng = np.random.default_rng(0)
    table, x, y = rng.integers(0, 3, (50, 7)), rng.integers(0, 7, (200, 1)), rng.integers(0, 3, 200)
    concepts = FiniteClass(table, 3)
    for block in (1, 7, 20, 1 << 22):
        monkeypatch.setattr(module, "_BLOCK", block)
        counts = concepts.error_counts(concepts.domain.encode(x), y)
        assert counts.tolist() == [np.count_nonzero(row[x[:, 0]] != y) for row in table]


# distinct


@repeatable
@given(tables_with_data())
def test_distinct_keeps_each_row_once(case):
    table, n_labels, _, _ = case
    concepts = FiniteClass(table, n_labels).distinct()
    columns = concepts.domain.encode(np.arange(len(table[0])).reshape(-1, 1))
    kept = [tuple(concepts.member_at(i).predict(columns).tolist()) for i in range(concepts.size)]
    assert Counter(kept) == Counter(set(map(tuple, table)))
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


# What a class may be made of


def warm(X):
    return np.asarray(X)[:, 0] > 20


def test_words():
    functions = FiniteClass([warm, partial(warm)])
    assert functions.member_at(0).describe(["t"], ["no", "yes"]) == "warm"
    assert functions.member_at(1).describe(["t"], ["no", "yes"]) == "concept 1"
    assert FiniteClass([[0, 1]]).member_at(0).describe(["t"], ["no", "yes"]) == "concept 0"
    assert repr(functions) == "FiniteClass(2 functions, n_labels=2)"
    assert repr(FiniteClass([[0, 1, 1]], 3)) == "FiniteClass(1 concepts over 3 values, n_labels=3)"


# Functions that misbehave: refused by name, and without what they say of the data


def raises_the_value(X):
    raise RuntimeError(f"cannot judge {np.asarray(X)[0, 0]}")


def raises_a_domain_error(X):
    raise DomainError(f"cannot judge {np.asarray(X)[0, 0]}")


def gives_one_label_too_few(X):
    return [0] * (len(X) - 1)


def gives_a_table(X):
    return np.zeros((len(X), 1), dtype=int)


def gives_one_number(X):
    return 1


def gives_floats(X):
    return np.asarray(X)[:, 0] * 0.0


def gives_text(X):
    return [str(cell) for cell in np.asarray(X)[:, 0]]


def gives_nothing(X):
    return None


def gives_ragged_lists(X):
    return [[0], [0, 1], *[[1]] * (len(X) - 2)]


MISBEHAVING = [
    raises_the_value,
    raises_a_domain_error,
    gives_one_label_too_few,
    gives_a_table,
    gives_one_number,
    gives_floats,
    gives_text,
    gives_nothing,
    gives_ragged_lists,
]


@pytest.mark.parametrize("function", MISBEHAVING, ids=lambda function: function.__name__)
@pytest.mark.parametrize("holder", [np.array, pd.DataFrame])
@pytest.mark.parametrize("method", ["encode", "nearest"])
def test_a_function_that_misbehaves_is_refused_by_name_and_without_a_value(function, holder, method):
    concepts, table = FiniteClass([warm, function]), holder([[31.41592], [27.18281]])
    with pytest.raises(DomainError) as refusal:
        getattr(concepts.domain, method)(table)
    name = function.__name__
    assert str(refusal.value) == f"{name} must give each row a label code from 0 to 1"
    shown = "".join(traceback.format_exception(refusal.value))
    assert "31.41592" not in shown
    assert "27.18281" not in shown
    assert refusal.value.__context__ is None  # what a debugger or a log could follow to the value


def test_a_function_without_a_name_is_refused_too():
    with pytest.raises(DomainError, match="a concept must give each row a label code"):
        FiniteClass([partial(gives_nothing)]).domain.encode(np.zeros((2, 1)))


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


# The fact behind every guarantee
