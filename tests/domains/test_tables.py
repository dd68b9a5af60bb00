"""Products and schemas: a table's codes are its columns', whatever holds it; refusals name it alone."""

import datetime
import json
import traceback
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


@pytest.mark.parametrize("n", [0, 1, 2000, 30_000])  # the last is more than a block
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


def polars_of(rows):
    columns = zip(*rows, strict=True)
    return pl.DataFrame({f"x{i}": pl.Series(column, dtype=pl.Object) for i, column in enumerate(columns)})


@pytest.mark.parametrize("holder", [partial(np.array, dtype=object), pd.DataFrame, polars_of])
@pytest.mark.parametrize("place", [0, 3, 4, 9])
def test_a_refusal_names_the_column_and_no_value(place, holder):
    product = Product([*[IntegerRange(0, 9)] * 4, *[Grid(0, 9, 10)] * 3, *[Bits(None)] * 3])
    domain = product.domains[place]
    for wrong in (31.41592, 3141592, "secret", None, float("inf")):
        rows = [[1] * 10, [1] * 10]
        rows[1][place] = wrong
        for read, words in ((product.encode, domain.refuse()), (product.nearest, domain.refuse_new())):
            if read == product.encode or wrong == "secret":  # a number of a new record would be moved
                with pytest.raises(DomainError) as refusal:
                    read(holder(rows))
                assert str(refusal.value) == f"in column 'x{place}', {words}"
                assert "31415" not in "".join(traceback.format_exception(refusal.value))
                assert refusal.value.__context__ is None  # what a debugger or a log could follow to the value


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
