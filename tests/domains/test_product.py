"""A table's codes are its columns', whatever holds the table; refusals name the column and no value."""

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
    for column, domain in zip(codes, product.domains, strict=True):
        assert column.flags.c_contiguous
        assert column.dtype == np.min_scalar_type(domain.size)


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


# One missing value must not change the codes of others: to_numpy() turns a nullable column of integers into
# floats if, and only if, a value is missing; 3 would be hashed as "3.0", and 2**53 + 1 taken for 2**53.

NULLABLE = {
    "integers": ("Int64", pl.Int64),
    "floats": ("Float64", pl.Float64),
    "text": ("string", pl.String),
    "booleans": ("boolean", pl.Boolean),
}
LISTED = Categories([3, 2**53 + 1, 2**53, 0.5, "a", True], other=True)


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
            return pl.DataFrame(columns, schema={kind: NULLABLE[kind][1] for kind in CELLS})
        return pd.DataFrame(
            {kind: pd.array(column, dtype=NULLABLE[kind][0]) for kind, column in columns.items()}
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
        if value == "secret" and place != 2:  # a new record, of which a number would be moved
            with pytest.raises(DomainError) as refusal:
                STRICT.nearest(table)
            assert str(refusal.value) == f"in column {name!r}, {domain.refuse_new()}"
            assert refusal.value.__context__ is None


@pytest.mark.parametrize("holder", [np.array, pd.DataFrame, lambda rows: pl.DataFrame(rows, orient="row")])
@pytest.mark.parametrize("place", [0, 3, 4, 9])
def test_a_refusal_names_the_column_among_many_of_one_domain(place, holder):
    rows = [[1] * 10, [1] * 10]
    rows[1][place] = 77
    with pytest.raises(DomainError, match=f"'x{place}'") as refusal:
        Product([IntegerRange(0, 9)] * 10).encode(holder(rows))
    assert "77" not in str(refusal.value)


def test_a_product_is_of_numbers_or_accepts_missing_values_if_all_or_one_of_its_domains_do():
    assert (Product([AGES, SIZES]).numeric, Product([AGES, TOWNS]).numeric) == (True, False)
    assert (Product([AGES, SIZES]).accepts_missing, Product([AGES, Bits()]).accepts_missing) == (True, False)
