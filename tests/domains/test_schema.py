"""A schema states columns and labels once, and comes back from dicts, files and copies as it was."""

import copy
import datetime
import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, clone

from dplearn.domains import Bits, Categories, Floats, Grid, Hashed, IntegerRange, Product, Schema

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=60)

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
    st.builds(
        IntegerRange,
        st.integers(-9, 0),
        st.integers(1, 9),
        st.sampled_from(["refuse", "clip"]),
        missing=st.booleans(),
    )
    | st.builds(Grid, st.floats(-9, 0), st.floats(1, 9), st.integers(2, 99), missing=st.booleans())
    | st.builds(
        Floats,
        significand_bits=st.integers(0, 52),
        smallest=st.floats(0.1, 1),
        largest=st.floats(2, 9),
        missing=st.booleans(),
    )
    | st.builds(
        Categories,
        st.lists(st.none() | st.text() | st.integers(-9, 9), min_size=1, unique=True),
        st.booleans(),
    )
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


def test_columns_may_be_given_as_dicts():
    described = {
        "age": {"type": "integers", "low": 0, "high": 120, "outside": "clip"},
        "income": {"type": "grid", "low": 0, "high": 1e6, "size": 50},
        "weight": {
            "type": "floats",
            "significand_bits": 8,
            "smallest": 1,
            "largest": 1000,
            "missing": True,
        },
        "town": {"type": "categories", "values": ["Bonn", "Rome", None], "other": True},
        "job": {"type": "hashed", "buckets": 16},
        "smoker": {"type": "bits", "binarize": None},
    }
    assert Schema(described, labels=["no", "yes"]) == example()
    assert Schema.from_dict({"columns": described}).labels is None
    assert dict(example().columns) == COLUMNS


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


@pytest.mark.parametrize("holder", [pd.DataFrame, pl.DataFrame])
def test_a_frame_fits_the_schema_of_its_types(holder):
    whole = [1, -(2**62)] if holder is pd.DataFrame else [1, None]
    frame = holder({"a": whole, "b": [0.5, None], "c": ["x", None], "d": [True, False]})
    schema = Schema.from_dtypes(frame.dtypes if holder is pd.DataFrame else frame.schema, labels=[0, 1])
    codes = schema.encode(frame)
    assert [len(set(column.tolist())) for column in codes] == [2, 2, 2, 2]
    assert [codes[1][1], codes[2][1]] == [0, 0]
    assert schema.labels == (0, 1)


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
