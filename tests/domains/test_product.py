"""A table's codes are its columns', whatever holds the table; refusals name the column and no value."""

import copy
import pickle
import traceback

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
)

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=40)

AGES, SIZES, TOWNS = IntegerRange(0, 120), Floats(missing=True), Categories(["Bonn", "Rome", None])


def tables():
    """The same three records, in everything that can hold them."""
    columns = {"age": [30, 0, 120], "size": [1.5, None, -2.0], "town": ["Rome", "Bonn", None]}
    frame = pd.DataFrame(columns)
    return {
        "numpy": np.array(list(zip(*columns.values(), strict=True)), dtype=object),
        "pandas": frame,
        "pandas nullable": frame.convert_dtypes(),
        "pandas objects": frame.astype(object),
        "pandas with another index": frame.set_index(np.array(["a", "a", "b"])),
        "polars": pl.DataFrame(columns),
    }


def column_of(codes):
    return [column.tolist() for column in codes]


@pytest.mark.parametrize("holder", tables())
def test_codes_do_not_depend_on_what_holds_the_table(holder):
    product = Product([AGES, SIZES, TOWNS])
    codes = product.encode(tables()[holder])
    floats = SIZES.encode(np.array([1.5, np.nan, -2.0])).tolist()
    assert column_of(codes) == [[30, 0, 120], floats, [1, 0, 2]]
    assert column_of(product.nearest(tables()[holder])) == column_of(codes)


@pytest.mark.parametrize("holder", tables())
def test_codes_are_contiguous_and_narrow(holder):
    product = Product([AGES, SIZES, TOWNS])
    for codes, domain in zip(product.encode(tables()[holder]), product.domains, strict=True):
        assert codes.shape == (3,)
        assert codes.flags.c_contiguous
        assert codes.dtype == np.min_scalar_type(domain.size)


GRID = Grid(0, 9, 10)
MIXED = [GRID, GRID, Bits(4), IntegerRange(0, 9), Hashed(8), GRID, Categories(range(10))]


@pytest.mark.parametrize("n", [0, 1, 511, 512, 513, 2000])
@pytest.mark.parametrize("order", ["C", "F"])
def test_long_tables_of_mixed_domains_are_encoded_column_by_column(n, order):
    X = np.asarray(np.random.default_rng(0).integers(0, 10, (n, len(MIXED))), order=order)
    codes = Product(MIXED).encode(X)
    assert [c.dtype for c in codes] == [np.min_scalar_type(domain.size) for domain in MIXED]
    assert column_of(codes) == [domain.encode(X[:, i]).tolist() for i, domain in enumerate(MIXED)]
    if n:
        assert [c[-1] for c in codes] == [c.item() for c in Product(MIXED).encode(X[-1:])]


@repeatable
@given(st.lists(st.tuples(*[st.integers(0, 9)] * len(MIXED)), min_size=1, max_size=6), st.data())
def test_a_record_has_the_codes_that_it_has_alone(rows, data):
    product, X = Product(MIXED), np.array(rows)
    i = data.draw(st.integers(0, len(rows) - 1))
    assert [c[i] for c in product.encode(X)] == [c.item() for c in product.encode(X[i : i + 1])]


# One missing value must not change the codes of others

NULLABLE = {
    "integers": ([3, 2**53 + 1], "Int64", pl.Int64),
    "floats": ([0.5, 3.0], "Float64", pl.Float64),
    "text": (["a", "3"], "string", pl.String),
    "booleans": ([True, False], "boolean", pl.Boolean),
    "categories": (["a", "3"], pd.CategoricalDtype(["a", "3"]), pl.Categorical),
}
LISTED = Categories([3, 2**53 + 1, 2**53, 0.5, "a", True], other=True)


@pytest.mark.parametrize("domain", [Hashed(1 << 20), LISTED], ids=["hashed", "listed"])
@pytest.mark.parametrize("kind", NULLABLE)
@pytest.mark.parametrize("holder", ["pandas", "polars"])
def test_a_missing_value_in_a_nullable_column_does_not_change_the_codes_of_others(holder, kind, domain):
    # to_numpy() turns a nullable column of integers into floats if, and only if, a value is missing: 3 would
    # be hashed as "3.0" and 2**53 + 1 taken for 2**53. One replaced record would change all codes.
    values, pandas_type, polars_type = NULLABLE[kind]

    def codes(cells):
        if holder == "pandas":
            frame = pd.DataFrame({"a": pd.array(cells, dtype=pandas_type)})
        else:
            frame = pl.DataFrame({"a": cells}, schema={"a": polars_type})
        return Product([domain]).encode(frame)[0].tolist()

    assert codes([*values, None])[:2] == codes([*values, values[0]])[:2]


@pytest.mark.parametrize("domain", [Hashed(1 << 20), LISTED], ids=["hashed", "listed"])
@pytest.mark.parametrize("kind", ["int64", "uint8", "double", "float", "bool", "string", "large_string"])
def test_a_column_of_arrow_has_the_codes_of_its_cells(kind, domain):
    pa = pytest.importorskip("pyarrow")
    cells = {"i": [3, 0, 1], "u": [3, 0, 1], "d": [0.5, 3.0, 0.1], "f": [0.5, 3.0, 0.25], "b": [True, False]}
    values = cells.get(kind[0], ["a", "3", ""])

    def codes(cells):
        table = pa.table({"a": pa.array(cells, pa.type_for_alias(kind))})
        return Product([domain]).encode(table.to_pandas(types_mapper=pd.ArrowDtype))[0].tolist()

    expected = domain.encode(values).tolist()
    assert codes(values) == expected
    assert codes([*values, None])[:-1] == expected
    assert codes([None])[0] == domain.encode([None])[0]


@pytest.mark.parametrize("domain", [Hashed(1 << 20), LISTED], ids=["hashed", "listed"])
def test_a_missing_value_among_categories_that_are_integers_does_not_change_the_codes_of_others(domain):
    def codes(cells):
        kind = pd.CategoricalDtype([3, 2**53 + 1])
        return Product([domain]).encode(pd.DataFrame({"a": pd.Categorical(cells, dtype=kind)}))[0].tolist()

    assert codes([3, 2**53 + 1, None])[:2] == codes([3, 2**53 + 1, 3])[:2]
    assert codes([3, 2**53 + 1])[:2] == domain.encode(np.array([3, 2**53 + 1])).tolist()


CELLS = {
    "integers": st.none() | st.integers(-(2**63), 2**63 - 1),
    "floats": st.none() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-9, 9).map(float),
    "text": st.none() | st.text(st.characters(codec="utf-8"), max_size=3),
    "booleans": st.none() | st.booleans(),
}


@pytest.mark.parametrize("holder", ["pandas", "polars"])
@repeatable
@given(st.lists(st.tuples(*CELLS.values()), min_size=1, max_size=5), st.data())
def test_a_record_of_a_data_frame_has_the_codes_that_it_has_alone(holder, rows, data):
    def frame(records):
        columns = dict(zip(CELLS, zip(*records, strict=True), strict=True))
        if holder == "polars":
            return pl.DataFrame(columns, schema={kind: NULLABLE[kind][2] for kind in CELLS})
        return pd.DataFrame(
            {kind: pd.array(column, dtype=NULLABLE[kind][1]) for kind, column in columns.items()}
        )

    i = data.draw(st.integers(0, len(rows) - 1))
    for domains in ([Hashed(1 << 20)] * 4, [LISTED] * 4, [LISTED, Floats(missing=True), Hashed(9), LISTED]):
        product = Product(domains)
        alone = [codes.item() for codes in product.encode(frame([rows[i]]))]
        assert [codes[i] for codes in product.encode(frame(rows))] == alone


# Refusals

BAD = {
    "age": (0, [31.41592, 3141592, -1, "secret", None, float("inf")]),
    "income": (1, [31.41592, 3141592, "secret", None, float("nan")]),
    "town": (2, [31.41592, "secret", None]),
    "smoker": (3, [31.41592, 3141592, "secret", None]),
}
STRICT = Product(
    [AGES, Grid(0, 10), Categories(["Bonn"]), Bits(None)], names=["age", "income", "town", "smoker"]
)


def holders_of(rows):
    columns = list(zip(*rows, strict=True))
    frame = {name: pd.Series(list(column), dtype=object) for name, column in zip(BAD, columns, strict=True)}
    polars = {name: pl.Series(column, dtype=pl.Object) for name, column in zip(BAD, columns, strict=True)}
    array = np.array(rows, dtype=object)
    return {"numpy": array, "pandas": pd.DataFrame(frame), "polars": pl.DataFrame(polars)}


@pytest.mark.parametrize("holder", ["numpy", "pandas", "polars"])
@pytest.mark.parametrize("name", BAD)
def test_refusals_name_the_column_and_never_a_value(name, holder):
    place, values = BAD[name]
    for value in values:
        rows = [[3, 3.5, "Bonn", 1], [4, 4.5, "Bonn", 0]]
        rows[1][place] = value
        table = holders_of(rows)[holder]
        with pytest.raises(DomainError) as refusal:
            STRICT.encode(table)
        domain = STRICT.domains[place]
        words = f"in column {name!r}, a value lies outside the declared domain {domain!r}"
        assert str(refusal.value) == f"{words}, where {domain.assumption}{domain._advice}"
        shown = "".join(traceback.format_exception(refusal.value))
        assert not [text for text in ("31.41592", "3141592", "secret") if text in shown]
        assert refusal.value.__context__ is None  # what a debugger or a log could follow to the value


@pytest.mark.parametrize("holder", [np.array, pd.DataFrame, lambda rows: pl.DataFrame(rows, orient="row")])
@pytest.mark.parametrize("place", [0, 3, 4, 9])
def test_a_refusal_names_the_column_among_many_of_one_domain(place, holder):
    rows = [[1] * 10, [1] * 10]
    rows[1][place] = 77
    with pytest.raises(DomainError, match=f"'x{place}'") as refusal:
        Product([IntegerRange(0, 9)] * 10).encode(holder(rows))
    assert "77" not in str(refusal.value)


# Parameters and words


def test_assumptions_name_columns_where_they_differ():
    assert Product([AGES, AGES]).assumes == ("in every column, values are integers from 0 to 120",)
    assert Product([AGES, SIZES, AGES], names=["a", "b", "c"]).assumes == (
        "in columns 'a', 'c', values are integers from 0 to 120",
        "in column 'b', values are finite numbers or missing",
    )
    assert Product([AGES] * 6 + [SIZES]).assumes[0].startswith("in columns 'x0', 'x1', 'x2', 'x3' and 2 more")


def test_kinds_of_columns():
    assert Product([AGES, SIZES]).numeric
    assert not Product([AGES, TOWNS]).numeric
    assert Product([AGES, SIZES]).accepts_missing
    assert not Product([AGES, Bits()]).accepts_missing
    assert len(Product([AGES] * 3)) == 3


@pytest.mark.parametrize("domains", [[], [AGES, "integers"], [None]], ids=repr)
def test_domains_must_be_domains(domains):
    with pytest.raises(TypeError, match="domains must be a nonempty list of domains, got"):
        Product(domains)


@pytest.mark.parametrize("names", [["a"], ["a", "a"], ["a", "b", "c"], []], ids=repr)
def test_names_must_be_distinct_and_one_for_each_domain(names):
    with pytest.raises(ValueError, match="names must be 2 distinct names, one for each domain, got"):
        Product([AGES, SIZES], names)


def test_equality_is_that_of_domains_names_and_their_order():
    product = Product([AGES, SIZES], ["a", "b"])
    same = Product((AGES, SIZES), ("a", "b"))
    for other in (same, copy.deepcopy(product), pickle.loads(pickle.dumps(product))):
        assert other == product
        assert hash(other) == hash(product)
        assert repr(other) == repr(product)
    for other in (Product([SIZES, AGES], ["a", "b"]), Product([AGES, SIZES], ["b", "a"]), "Product", None):
        assert other != product


@pytest.mark.parametrize("holder", ["numpy", "pandas", "polars"])
def test_what_cannot_be_moved_into_a_domain_is_refused_in_words_about_new_records(holder):
    mixed = Product([IntegerRange(0, 120), Grid(0, 9, missing=True), Hashed(8)], ["age", "dose", "town"])

    def given(*row):
        table = np.array([row, (1, 2.0, "Bonn")], dtype=object)
        if holder == "pandas":
            table = pd.DataFrame(table, columns=mixed.names)
        elif holder == "polars":
            columns = zip(mixed.names, table.T, strict=True)
            table = pl.DataFrame(
                [pl.Series(name, cells.tolist(), dtype=pl.Object) for name, cells in columns]
            )
        with pytest.raises(DomainError) as refusal:
            mixed.nearest(table)
        assert refusal.value.__context__ is None
        return str(refusal.value)

    texts = {given(age, 1.0, "Bonn") for age in ("secret", None, np.nan, np.inf)}
    [text] = texts
    assert text.startswith(f"in column 'age', a value lies outside the declared domain {mixed.domains[0]!r}")
    assert text.endswith(
        "a finite number would be moved to the nearest value; this one is missing, infinite, or no number,"
        " such as text: fill in a constant, or leave such records out"
    )
    assert "outside='clip'" not in text
    [text] = {given(1, dose, "Bonn") for dose in ("secret", np.inf)}
    assert "this one is infinite, or no number, such as text" in text
    assert mixed.nearest(np.array([(999, -5.0, None)], dtype=object))[0].tolist() == [120]
    huge = Product([LargeIntegerRange(0, 2**70)])
    with pytest.raises(DomainError, match="this one is missing, or no integer: fill in a constant"):
        huge.nearest(np.array([[None]], dtype=object))
