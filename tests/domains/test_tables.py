"""Products and schemas: a table's codes are its columns', whatever holds it; refusals name it alone."""

import copy
import datetime
import json
import pickle
import traceback

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone

from dplearn.domains import Bits, Categories, DomainError, Floats, Grid, Hashed, IntegerRange, Product, Schema

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
    assert (Product(MIXED).numeric, Product([GRID, Bits(4)]).numeric) == (False, True)
    assert (Product(MIXED).accepts_missing, Product([AGES, Bits()]).accepts_missing) == (True, False)
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


COLUMNS = {
    "age": IntegerRange(0, 120, outside="clip"),
    "income": Grid(0, 1e6, size=50),
    "weight": Floats(significand_bits=8, smallest=1, largest=1000, missing=True),
    "town": Categories(["Bonn", "Rome", None], other=True),
    "job": Hashed(16),
    "smoker": Bits(None),
}


def example():
    return Schema(COLUMNS, labels=["no", "yes"])


domains = (
    st.builds(IntegerRange, st.integers(-9, 0), st.integers(1, 9), st.sampled_from(["refuse", "clip"]))
    | st.builds(Grid, st.floats(-9, 0), st.floats(1, 9), st.integers(2, 99), missing=st.booleans())
    | st.builds(
        Floats, significand_bits=st.integers(0, 52), smallest=st.floats(0.1, 1), missing=st.booleans()
    )
    | st.builds(Categories, st.lists(st.none() | st.text() | st.integers(-9, 9), min_size=1, unique=True))
    | st.builds(Hashed, st.integers(2, 99))
    | st.builds(Bits, st.none() | st.floats(-9, 9))
)
labels = st.none() | st.lists(st.text() | st.integers(), min_size=1, unique=True)
schemas = st.builds(Schema, st.dictionaries(st.text(), domains, min_size=1, max_size=4), labels)


@repeatable
@given(schemas)
def test_a_schema_comes_back_from_json(schema):
    text = json.dumps(schema.to_dict())
    back = Schema.from_dict(json.loads(text))
    assert back == schema
    assert hash(back) == hash(schema)
    assert list(back.columns) == list(schema.columns)
    assert json.dumps(back.to_dict()) == text


def test_a_schema_comes_back_from_a_file_and_from_values_of_numpy(tmp_path):
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(example().to_dict(), ensure_ascii=False), encoding="utf-8")
    assert Schema.from_json(file) == Schema.from_json(str(file)) == example()
    schema = Schema({"a": Categories(np.array([1, 2]))}, np.array([0, 1]))
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    for text, message in (
        ("{", "a schema file must be JSON"),
        ("[1]", "a schema file must hold a JSON object"),
        ("{}", "a schema has the keys 'columns' and 'labels', got"),
    ):
        file.write_text(text)
        with pytest.raises(ValueError, match=message):
            Schema.from_json(file)


# From types alone


#: Types of numpy, which pandas turns into nullable ones, and the domains of both.
TYPES = [
    ("int8", IntegerRange(-128, 127), IntegerRange(-128, 127, missing=True)),
    ("uint8", IntegerRange(0, 255), IntegerRange(0, 255, missing=True)),
    # Scaled between the ends of its type, an age would be the same number for everybody.
    *((f"{sign}int{width}", Floats(), Floats(missing=True)) for sign in ("", "u") for width in (16, 32, 64)),
    ("float32", Floats(missing=True), Floats(missing=True)),
    ("bool", Bits(None), Bits(None)),
    ("U1", Hashed(), Hashed()),
]


@pytest.mark.parametrize(("dtype", "domain", "gapped"), TYPES, ids=[each[0] for each in TYPES])
def test_a_type_alone_gives_the_domain_of_a_column_with_gaps_where_the_type_allows_them(
    dtype, domain, gapped
):
    columns = {"a": np.array([1], dtype=dtype)}
    frame = pd.DataFrame(columns)
    polars = pl.DataFrame(columns)
    for types, wanted in (
        ({"a": dtype}, domain),
        ({"a": np.dtype(dtype)}, domain),
        (frame, domain),
        (frame.dtypes, domain),
        (frame.astype({"a": PANDAS.get(dtype, dtype.capitalize().replace("Ui", "UI"))}).dtypes, gapped),
        (polars, gapped),
        (polars.schema, gapped),
    ):
        assert Schema.from_dtypes(types) == Schema({"a": wanted})


PANDAS = {"U1": "string", "bool": "boolean"}


def test_other_types_are_hashed_and_dates_and_durations_refused_with_advice():
    categories = pd.DataFrame({"a": pd.Categorical(["x"]), "b": pd.interval_range(0, 1), "c": [1j]})
    for types in (
        categories.dtypes,
        pl.DataFrame({"a": [[1]], "b": ["x"], "c": ["y"]}),
        dict.fromkeys("abc", "O"),
    ):
        assert list(Schema.from_dtypes(types).columns.values()) == [Hashed()] * 3
    day = pd.to_datetime(["2020-01-01"])
    for times in (
        *(
            pd.DataFrame({"born": each})
            for each in (day, day.tz_localize("UTC"), pd.to_timedelta([1], unit="s"))
        ),
        pd.DataFrame({"born": pd.period_range("2020", periods=1)}).dtypes,
        *(
            pl.DataFrame({"born": [each]})
            for each in (datetime.date(2020, 1, 1), datetime.datetime(2020, 1, 1), datetime.timedelta(1))
        ),
        pl.DataFrame({"born": [datetime.time(1)]}).schema,
    ):
        with pytest.raises(
            TypeError, match=r"no dates or durations: column 'born' is .*give (days|seconds|hours)"
        ):
            Schema.from_dtypes(times)
    with pytest.raises(TypeError, match="dtypes must map column names to types") as error:
        Schema.from_dtypes({"a": pd.Series([80])})
    assert "80" not in str(error.value)


# Equality, order, copies


def test_the_order_of_columns_and_labels_is_part_of_a_schema():
    turned = Schema(dict(reversed(COLUMNS.items())), labels=["no", "yes"])
    assert list(turned.to_dict()["columns"]) == list(turned.columns) == list(reversed(COLUMNS))
    assert Schema(COLUMNS, labels=("no", "yes")) == example()
    product = Product(COLUMNS.values(), list(COLUMNS))  # else schemas that differ were equal to one product
    for other in (turned, Schema(COLUMNS), Schema(COLUMNS, labels=["yes", "no"]), product, COLUMNS, None):
        assert other != example()
        assert example() != other


class Holder(BaseEstimator):
    def __init__(self, domain=None):
        self.domain = domain


def test_equal_schemas_are_equal_after_clone_copy_and_pickle():
    schema = example()
    schema.domains[3].encode(np.array(["Rome"]))  # which keeps a table of codes
    cloned = clone(Holder(schema)).domain
    for other in (cloned, copy.deepcopy(schema), pickle.loads(pickle.dumps(schema))):
        assert other == schema
        assert hash(other) == hash(schema)
        assert repr(other) == repr(schema)
        assert other.labels == ("no", "yes")
        assert {other: 1}[schema] == 1
