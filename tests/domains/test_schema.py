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

from dplearn.domains import Bits, Categories, DomainError, Floats, Grid, Hashed, IntegerRange, Product, Schema

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


@pytest.mark.parametrize("parameters", [{"labels": np.array([0, 1])}, {"values": np.array([1, 2])}], ids=str)
def test_a_schema_made_from_numpy_values_can_be_written_as_json(parameters):
    schema = Schema({"a": Categories(parameters.get("values", ["x"]))}, parameters.get("labels"))
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema


def test_a_schema_comes_back_from_a_file(tmp_path):
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(example().to_dict(), ensure_ascii=False), encoding="utf-8")
    assert Schema.from_json(file) == example()
    assert Schema.from_json(str(file)) == example()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "a schema file must be JSON"),
        ("[1]", "a schema file must hold a JSON object"),
        ("{}", "a schema has the keys 'columns' and 'labels', got"),
    ],
)
def test_a_file_that_holds_no_schema_is_refused(tmp_path, text, message):
    (tmp_path / "schema.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        Schema.from_json(tmp_path / "schema.json")


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


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ({"low": 0, "high": 1}, "column 'age' must be a domain, or a dict with a 'type' among integers"),
        ({"type": "integer"}, "column 'age' must be a domain, or a dict with a 'type' among integers"),
        ("integers", "column 'age' must be a domain, or a dict .*, got 'integers'"),
        ({"type": "integers", "low": 0}, "column 'age': type 'integers' needs the key 'high'"),
        (
            {"type": "integers", "low": 0, "high": 1, "step": 2},
            "'step' is no key of type 'integers', which has low, high, ",
        ),
        ({"type": "integers", "low": 0.5, "high": 1}, "column 'age': low must be an integer"),
        ({"type": "integers", "low": 2, "high": 1}, "column 'age': high must be"),
        ({"type": "hashed", "buckets": 0}, "column 'age': buckets must be"),
        ({"type": ["integers"]}, "column 'age' must be a domain"),
    ],
    ids=str,
)
def test_a_column_that_is_no_domain_is_refused_by_name(column, message):
    with pytest.raises(ValueError, match=message):
        Schema({"age": column})


@pytest.mark.parametrize("description", [{"column": {}}, {"labels": [1]}, {"columns": {}, "n": 3}], ids=str)
def test_unknown_and_absent_keys_are_refused(description):
    with pytest.raises(ValueError, match="a schema has the keys 'columns' and 'labels', got"):
        Schema.from_dict(description)


@pytest.mark.parametrize("columns", [{}, [], None, [("a", Bits())]], ids=repr)
def test_columns_must_be_a_mapping(columns):
    with pytest.raises(TypeError, match="columns must map column names to domains, got"):
        Schema(columns)


@pytest.mark.parametrize("wrong", [[], ["a", "a"], [1, True]], ids=repr)
def test_labels_must_be_distinct_and_at_least_one(wrong):
    with pytest.raises(ValueError, match="labels must be distinct and at least one, got"):
        Schema(COLUMNS, labels=wrong)


# From types alone


def domains_of(types):
    return list(Schema.from_dtypes(types).columns.values())


def test_integers_of_8_bits_become_all_integers_of_that_width():
    columns = {"a": np.array([7], dtype="int8"), "b": np.array([7], dtype="uint8")}
    assert domains_of(pd.DataFrame(columns).dtypes) == [IntegerRange(-128, 127), IntegerRange(0, 255)]
    gapped = [IntegerRange(-128, 127, missing=True), IntegerRange(0, 255, missing=True)]
    assert domains_of(pd.DataFrame(columns).convert_dtypes().dtypes) == gapped
    assert domains_of(pl.DataFrame(columns).schema) == gapped


@pytest.mark.parametrize("width", [16, 32, 64])
def test_wider_integers_have_no_bounds(width):
    """Scaled between the ends of its type, an age would be the same number for everybody."""
    columns = {"a": np.array([7], dtype=f"int{width}"), "b": np.array([7], dtype=f"uint{width}")}
    assert domains_of(pd.DataFrame(columns).dtypes) == [Floats(), Floats()]
    nullable = [Floats(missing=True), Floats(missing=True)]
    assert domains_of(pd.DataFrame(columns).convert_dtypes().dtypes) == nullable
    assert domains_of(pl.DataFrame(columns).schema) == nullable


@pytest.mark.parametrize("holder", [pd.DataFrame, pl.DataFrame])
def test_a_frame_stands_for_its_types(holder):
    frame = holder({"a": [1, 2], "b": [0.5, None], "c": ["x", None], "d": [True, False]})
    types = frame.dtypes if holder is pd.DataFrame else frame.schema
    assert Schema.from_dtypes(frame) == Schema.from_dtypes(types)
    assert Hashed() not in domains_of(frame)[:2]


@pytest.mark.parametrize("wrong", [{"a": pd.Series([80])}, {"a": [80]}, [np.dtype("int64")], np.eye(2)])
def test_values_in_place_of_types_are_refused_and_not_shown(wrong):
    with pytest.raises(TypeError, match="dtypes must map column names to types") as error:
        Schema.from_dtypes(wrong)
    assert "80" not in str(error.value)


def test_other_types_become_floats_with_missing_values_bits_or_hashed_text():
    frame = pd.DataFrame({"a": [1.5], "b": ["x"], "c": [True], "d": [1j]})
    expected = [Floats(missing=True), Hashed(), Bits(None), Hashed()]
    assert domains_of(frame.dtypes) == expected
    nullable = frame.astype({"a": "Float32", "b": "string", "c": "boolean"})
    assert domains_of(nullable.dtypes) == expected
    assert domains_of(frame.astype({"b": "category"}).dtypes) == expected
    polars = pl.DataFrame({"a": [1.5], "b": ["x"], "c": [True], "d": [[1]]})
    assert domains_of(polars.schema) == expected
    assert domains_of({"a": np.dtype("f2"), "b": "O", "c": "bool", "d": "complex128"}) == expected


@pytest.mark.parametrize(
    "dtypes",
    [
        pd.DataFrame({"born": pd.to_datetime(["2020-01-01"])}).dtypes,
        pd.DataFrame({"born": pd.to_datetime(["2020-01-01"]).tz_localize("UTC")}),
        pd.DataFrame({"born": pd.to_timedelta([1], unit="s")}),
        pd.DataFrame({"born": pd.period_range("2020", periods=1)}),
        pl.DataFrame({"born": [datetime.date(2020, 1, 1)]}),
        pl.DataFrame({"born": [datetime.datetime(2020, 1, 1)]}).schema,
        pl.DataFrame({"born": [datetime.time(1)]}),
        pl.DataFrame({"born": [datetime.timedelta(1)]}),
        {"born": "M8[ns]"},
        {"born": np.dtype("m8[s]")},
    ],
    ids=repr,
)
def test_dates_and_durations_are_refused_with_advice(dtypes):
    with pytest.raises(TypeError, match=r"no dates or durations: column 'born' is .*give (days|seconds)"):
        Schema.from_dtypes(dtypes)


def test_intervals_are_no_integers():
    frame = pd.DataFrame({"a": pd.interval_range(0, 2)})
    assert domains_of(frame.dtypes) == [Hashed()]


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


def test_the_order_of_columns_is_part_of_a_schema():
    turned = Schema(dict(reversed(COLUMNS.items())), labels=["no", "yes"])
    assert list(turned.columns) == list(reversed(COLUMNS))
    assert turned != example()
    assert list(turned.to_dict()["columns"]) == list(reversed(COLUMNS))


def test_labels_and_their_order_are_part_of_a_schema():
    assert Schema(COLUMNS) != example()
    assert Schema(COLUMNS, labels=["yes", "no"]) != example()
    assert Schema(COLUMNS, labels=("no", "yes")) == example()


def test_a_product_is_no_schema_with_labels():
    # Else schemas with different labels were equal to one product, though not to each other.
    product = Product(COLUMNS.values(), list(COLUMNS))
    assert example() != product
    assert product != example()


@pytest.mark.parametrize("other", [None, "schema", 1, COLUMNS], ids=["None", "text", "number", "dict"])
def test_a_schema_differs_from_what_is_none(other):
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


def test_a_schema_encodes_and_refuses_as_its_product_does():
    schema = Schema({"age": IntegerRange(0, 9), "town": Categories(["Bonn"])})
    assert [c.tolist() for c in schema.encode(pd.DataFrame({"age": [3], "town": ["Bonn"]}))] == [[3], [0]]
    with pytest.raises(DomainError, match="in column 'town'") as refusal:
        schema.encode(pd.DataFrame({"age": [3], "town": ["secret"]}))
    assert "secret" not in str(refusal.value)


def test_a_schema_is_written_with_its_labels():
    column = {"a": IntegerRange(0, 3)}
    assert repr(Schema(column, labels=["no", "yes"])) == f"Schema({column!r}, labels=['no', 'yes'])"
    assert repr(Schema(column)) == f"Schema({column!r})"
