"""Codes of columns and design matrices: the same for a table and its rows, in little memory."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from dplearn.audit import ready
from dplearn.domains import (
    Bits,
    Categories,
    DomainError,
    Floats,
    Grid,
    Hashed,
    IntegerRange,
    LargeIntegerRange,
    Product,
    Schema,
)
from dplearn.kernels import rows as row_blocks
from dplearn.learners import AdditiveClassifier, ConjunctionClassifier, StatisticalQueryNaiveBayes
from dplearn.table import Columns, count_of, taken
from dplearn.table import encodings as module
from dplearn.table.encodings import DesignMatrix, EncodedColumns, encoded, packed_rows, plain_matrix

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
    for other in (pd.DataFrame(X), X.astype(object)):  # whose codes are held
        assert type(encoded(other, DOMAIN)) is Columns
        assert same(encoded(other, DOMAIN).columns, codes)


def test_the_error_names_the_first_column_of_all_rows(monkeypatch):
    monkeypatch.setattr(module, "CHECKED", 2)
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


SCHEMA = Schema(
    {
        "age": IntegerRange(0, 10),
        "height": Grid(1.0, 2.0, 3),
        "town": Categories(["north", None], other=True),
        "tall": Bits(),
        "debt": Floats(missing=True),
        "street": Hashed(3),
    }
)


def table(**cells):
    row = {"age": 5, "height": 1.0, "town": "north", "tall": 1, "debt": 0.0, "street": ""} | cells
    return pd.DataFrame({name: [value] for name, value in row.items()})


def columns(**cells):
    design = DesignMatrix(SCHEMA)
    return dict(zip(design.names, design.of(table(**cells))[0].tolist(), strict=True))


@pytest.mark.parametrize("domain", [IntegerRange(0, 10), Grid(0, 10, 11), Floats()], ids=repr)
def test_numbers_that_may_be_missing_have_a_column_more(domain):
    gapped = type(domain)(**domain.parameters | {"missing": True})
    design = DesignMatrix(Schema({"a": gapped}))
    assert design.names == ("a", "a is missing")
    numbers = pd.DataFrame({"a": [0.0, 3.0, 10.0]})
    whole = DesignMatrix(Schema({"a": domain})).of(numbers)[:, 0].tolist()
    for nearest in (False, True):
        assert design.of(numbers, nearest=nearest).tolist() == [[each, 0.0] for each in whole]
        assert design.of(pd.DataFrame({"a": [None, 3.0]}), nearest=nearest)[0].tolist() == [0.0, 1.0]


def test_every_kind_of_column_has_numbers_from_minus_1_to_1():
    assert columns() == {
        "age": 0.0,
        "height": -1.0,
        "town == 'north'": 1.0,
        "town is missing": 0.0,
        "town is none of the listed categories": 0.0,
        "tall": 1.0,
        "debt": 0.0,
        "debt is missing": 0.0,
        "street is missing": 1.0,
        "street hashes to bucket 1 of 3": 0.0,
        "street hashes to bucket 2 of 3": 0.0,
    }
    ends = columns(age=10, height=2.0, town="elsewhere", tall=-3, debt=-1e300)
    assert [ends[name] for name in ("age", "height", "tall", "debt")] == [1, 1, 0, -1]
    assert ends["town is none of the listed categories"] == 1
    gap = columns(debt=None)
    assert (gap["debt"], gap["debt is missing"]) == (0, 1)
    large = [LargeIntegerRange(0, 2**2000), IntegerRange(3, 3), IntegerRange(1 - 2**63, 2**63 - 1)]
    rows = np.array([[2**1999, 3, 2**63 - 1], [0, 3, 1 - 2**63]], dtype=object)
    assert DesignMatrix(Product(large)).of(rows).tolist() == [[0.0, -1.0, 1.0], [-1.0, -1.0, -1.0]]
    design = DesignMatrix(Product([IntegerRange(0, 4), Categories(["a", "b"])]))
    outside = np.array([[9, "c"]], dtype=object)
    assert design.of(outside, nearest=True).tolist() == [[1.0, 0.0, 0.0]]
    with pytest.raises(DomainError, match="in column 'x0'"):
        design.of(outside)


def test_floats_keep_their_order_and_their_sign():
    design = DesignMatrix(Product([Floats()]))
    values = np.array([-1e9, -5.0, -0.1, 0.0, 0.1, 5.0, 1000.0, 1e9])[:, None]
    numbers = design.of(values)[:, 0]
    assert (np.diff(numbers) >= 0).all()
    assert np.array_equal(np.sign(numbers), np.sign(values[:, 0]))
    assert numbers[4] == pytest.approx(0.1 / 12, rel=0.01)


def test_plain_tables_are_taken_as_they_are():
    rows = np.array([[1, -2], [3, 2**53]])
    for same in (rows, rows.astype(object), pd.DataFrame(rows), pd.DataFrame(rows).astype("Int64")):
        assert plain_matrix(same).tolist() == rows.tolist()
    sparse = plain_matrix(csr_matrix(rows))
    assert sparse.dtype == np.float64
    assert sparse.toarray().tolist() == rows.tolist()
    for kind in (np.array, csr_matrix, pd.DataFrame):
        for value in (np.nan, np.inf):
            with pytest.raises(DomainError, match="finite"):
                plain_matrix(kind([[1.0, value]]))


def test_an_encoded_matrix_has_the_rows_of_the_matrix(monkeypatch):
    design = DesignMatrix(Product([IntegerRange(0, 4, missing=True), Categories(["a", "b"]), Bits()]))
    rows = [[0, "a", 1], [None, "b", 0], [3, "b", 1], [4, "a", 0], [2, "a", 0]]
    table = np.array(rows, dtype=object)
    encoded, whole = design.encoded(table), design.of(table)
    assert encoded.shape == whole.shape == (5, 5)
    far = np.array([[7, -1, 1], [0, 0, 0]])  # bits of new records are moved, and of others refused
    assert packed_rows(far, Product([Bits(None)] * 3), nearest=True).unpack().tolist() == [
        [1, 0, 1],
        [0, 0, 0],
    ]
    with pytest.raises(DomainError):
        packed_rows(far, Product([Bits(None)] * 3))
    assert np.array_equal(encoded[1:4].toarray(), whole[1:4])
    assert np.array_equal(encoded[np.array([4, 0])].toarray(), whole[[4, 0]])
    monkeypatch.setattr(row_blocks, "FEWEST", 2)
    monkeypatch.setattr(row_blocks, "MOST", 2)
    assert np.array_equal(encoded.toarray(), whole)
