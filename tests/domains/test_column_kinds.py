"""Kinds of columns come from declarations and types, and from no cell."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dplearn.domains import ColumnKinds, kinds_of

pa = pytest.importorskip("pyarrow")  # not among the oldest versions that are tested


class Unread:
    """An object whose cells cannot be looked at, with a public shape and type."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, np.dtype(dtype)


def test_the_type_of_an_array_is_the_kind_of_its_columns():
    kinds = {
        "numbers": ["f8", "f4", ">f8", "<f4"],
        "integers": ["i1", "u8", ">i4", "<u2"],
        "booleans": ["?"],
        "categories": ["U3", "S3", ">U3"],
    }
    for kind, types in kinds.items():
        for dtype in types:
            assert kinds_of(Unread((5, 2), dtype)) == ColumnKinds((kind, kind))
            assert kinds_of(pd.DataFrame(np.zeros((5, 1), dtype))).kinds == (kind,)


def test_the_types_of_a_data_frame_are_the_kinds_of_its_columns():
    pandas = pd.DataFrame(
        {
            "a": [1, 2],
            "b": pd.array([1, None], dtype="Int64"),
            "c": [0.5, None],
            "d": ["x", None],
            "e": pd.Categorical(["x", "y"]),
            "f": [True, False],
            "g": pd.array([True, None], dtype="boolean"),
            "h": pd.array([0.5, None], dtype="Float64"),
        }
    )
    kinds = ("integers", "integers", "numbers", "categories", "categories", "booleans", "booleans", "numbers")
    assert kinds_of(pandas) == ColumnKinds(kinds, tuple("abcdefgh"))
    polars = pl.DataFrame({"a": [1, None], "b": [0.5, None], "c": ["x", None], "d": [True, None]})
    assert kinds_of(polars).kinds == ("integers", "numbers", "categories", "booleans")


def test_the_types_of_arrow_are_the_kinds_of_its_columns():
    types = [
        pa.int64(),
        pa.uint8(),
        pa.float64(),
        pa.float32(),
        pa.float16(),
        pa.decimal128(5, 2),
        pa.bool_(),
    ]
    types += [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
    frame = pa.table({f"c{place}": pa.nulls(2, kind) for place, kind in enumerate(types)}).to_pandas(
        types_mapper=pd.ArrowDtype
    )
    kinds = ("integers",) * 2 + ("numbers",) * 4 + ("booleans",) + ("categories",) * 3
    assert kinds_of(frame).kinds == kinds
    for text in ("c7", "c8", "c9"):
        with pytest.raises(TypeError, match=f"column '{text}' is declared as numbers and has a type of text"):
            kinds_of(frame, {text: "numbers"})


@pytest.mark.parametrize("cells", [[1, 2], ["1", "x"], [None, 0.5]])
def test_cells_have_no_influence_on_kinds(cells):
    rows = np.array([[cell] * 2 for cell in cells], dtype=object)
    with pytest.raises(TypeError, match=r"its 2 columns have no types.*set_output.*Learn\('numbers'\)"):
        kinds_of(rows)
    found = kinds_of(rows, given=[])
    assert found == ColumnKinds(("categories",) * 2)
    assert found.note.startswith("X is a list: its columns have no types, and all 2 are read as categories")
    assert kinds_of(np.zeros((5, 2)), given=[]) == ColumnKinds(("numbers",) * 2)  # by __array__
    assert kinds_of(rows, "numbers", given=[]).note == ""
    assert kinds_of(rows, "numbers", given=[]) == ColumnKinds(("numbers", "numbers"))
    assert kinds_of(rows, "numbers") == ColumnKinds(("numbers", "numbers"))
    assert kinds_of(rows, ["numbers", "categories"]).kinds == ("numbers", "categories")
    frame = pd.DataFrame({"a": pd.Series(cells, dtype=object), "b": 1.0, "c": pd.Series(cells, dtype=object)})
    assert kinds_of(frame).kinds == ("categories", "numbers", "categories")


def test_columns_of_objects_are_categories_without_a_warning():
    """Texts of pandas 2, of pickles and of other readers are such columns, and their cells are private."""
    frame = pd.DataFrame({"a": ["x"], "b": [1.0]}, dtype=object)
    for table in (frame, pl.DataFrame({"a": pl.Series([1], dtype=pl.Object), "b": ["x"]})):
        found = kinds_of(table)
        assert (found.kinds, found.note) == (("categories", "categories"), "")


def test_columns_are_declared_by_name_or_in_order():
    frame = pd.DataFrame({"zip": [1, 2], "age": [3, 4], "town": ["a", "b"]})
    found = kinds_of(frame, {"zip": "categories"})
    assert found == ColumnKinds(("categories", "integers", "categories"), ("zip", "age", "town"))
    assert found.of_numbers == [1]
    assert found.of_categories == [0, 2]
    assert kinds_of(frame, ["numbers", "numbers", "categories"]).kinds == ("numbers", "numbers", "categories")
    table = frame.to_numpy(dtype=object)
    listed = {"zip": "categories", "age": "numbers", "town": "categories"}
    assert kinds_of(table, listed) == ColumnKinds(tuple(listed.values()), tuple(listed))
    assert kinds_of(pd.DataFrame({0: [1], 1: [2]})).names is None


def test_columns_of_dates_have_kinds_of_their_own():
    day = pd.Series(pd.to_datetime(["2020-01-01"]))
    frame = pd.DataFrame({"plain": day, "zoned": day.dt.tz_localize("UTC"), "text": ["2020-01-01"]})
    assert kinds_of(frame, {"text": "dates"}).kinds == ("datetimes", "datetimes", "dates")
    assert kinds_of(pl.DataFrame({"day": [datetime.date(2020, 1, 1)]})).kinds == ("dates",)
    for kind in ("numbers", "integers", "booleans", "categories"):
        with pytest.raises(TypeError, match=f"'plain' is declared as {kind} and has a type of dates"):
            kinds_of(frame, {"plain": kind})


def column_of_arrow(column):
    return pa.table({"a": column}).to_pandas(types_mapper=pd.ArrowDtype)["a"]


UNREAD = {
    "cut": pd.cut(pd.Series([1.0, 50.0]), [0, 30, 60]),
    "interval": pd.Series(pd.interval_range(0, 2)),
    "period": pd.Series(pd.period_range("2020-01", periods=2, freq="M")),
    "category of periods": pd.Series(pd.period_range("2020-01", periods=2, freq="M")).astype("category"),
    "category of dates": pd.Series(pd.to_datetime(["2020-01-01", None])).astype("category"),
    "category of durations": pd.Series(pd.to_timedelta([1, 2], unit="D")).astype("category"),
    "complex": pd.Series([1j, 2.0]),
    **{
        f"Arrow {name}": column_of_arrow(column)
        for name, column in {
            "time": pa.array([datetime.time(1), None], pa.time32("s")),
            "list": pa.array([[1], None]),
            "struct": pa.array([{"q": 1}]),
            "map": pa.array([[("q", 1)]], pa.map_(pa.string(), pa.int64())),
            "dictionary of dates": pa.array([datetime.date(2020, 1, 1)]).dictionary_encode(),
        }.items()
    },
    "polars List": pl.Series([[1], None]),
    "polars Array": pl.Series([[1], None], dtype=pl.Array(pl.Int64, 1)),
    "polars Struct": pl.Series([{"q": 1}]),
    "polars Time": pl.Series([datetime.time(1)]),
}


@pytest.mark.parametrize("declared", [None, {"a": "categories"}, {"a": "numbers"}])
@pytest.mark.parametrize("name", UNREAD)
def test_a_column_whose_type_no_learned_domain_reads_is_refused_by_its_name(name, declared):
    column = UNREAD[name]
    frame = pl.DataFrame({"a": column}) if isinstance(column, pl.Series) else pd.DataFrame({"a": column})
    with pytest.raises(TypeError, match=r"^column 'a' .*: give \w+"):
        kinds_of(frame, declared)
