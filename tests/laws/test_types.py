"""Types in, types out: synthetic records have each type that a table of any library has."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest

from dplearn import (
    PrivacyLedger,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
    ThresholdClassifier,
)
from dplearn.domains import Categories, Dates, Grid, IntegerRange, Learn, Schema
from dplearn.releases import SyntheticTable, stable_counts

N = 4000
RANDOM = np.random.default_rng(0)
CODES = RANDOM.integers(0, 3, N)
TEXTS = pd.Series(np.array(["a", "b", "c"], dtype=object)[CODES])
DAYS = np.datetime64("2020-01-01", "s") + CODES * np.timedelta64(100, "D")
ORDERED = pd.CategoricalDtype(["c", "a", "b"], ordered=True)
NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]
OF_PANDAS = ["Int8", "Int64", "UInt64", "Float32", "Float64", "Sparse[int64, 0]", "Sparse[float64, nan]"]


def of_pandas():
    """A column of each type of pandas without Arrow."""
    columns = {name: pd.Series(CODES).astype(name) for name in NUMBERS + OF_PANDAS}
    columns |= {name: pd.Series(CODES > 0).astype(name) for name in ("bool", "boolean")}
    columns |= {name: TEXTS.astype(name) for name in ("object", "string", "category")}
    columns["ordered"] = TEXTS.astype(ORDERED)
    for name in ("bool", "int64", "float64", "boolean", "Int64", "string"):
        columns[f"category of {name}"] = columns[name].astype("category")
    columns["ordered booleans"] = columns["bool"].astype(pd.CategoricalDtype([True, False], ordered=True))
    columns |= {f"M8[{unit}]": pd.Series(DAYS.astype(f"M8[{unit}]")) for unit in ("s", "ms", "us", "ns")}
    columns["zoned"] = columns["M8[us]"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    return pd.DataFrame(columns)


def of_arrow():
    """A column of each type of Arrow, as Parquet files have them."""
    arrow = pytest.importorskip("pyarrow")
    columns = {name: arrow.array(CODES.astype(name)) for name in NUMBERS}
    texts = arrow.array(TEXTS.tolist())
    columns |= {
        "bool": arrow.array(CODES > 0),
        "decimal": arrow.array(CODES.astype(float)).cast(arrow.decimal128(10, 2)),
        "string": texts,
        "large_string": texts.cast(arrow.large_string()),
        "binary": texts.cast(arrow.binary()),
        "dictionary": texts.dictionary_encode(),
        "dictionary of booleans": arrow.array(CODES > 0).dictionary_encode(),
        "string_view": texts.cast(arrow.string_view()),
        "binary_view": texts.cast(arrow.binary()).cast(arrow.binary_view()),
        "fixed_size_binary": texts.cast(arrow.binary()).cast(arrow.binary(1)),
        "null": arrow.nulls(N),
        "date32": arrow.array(DAYS.astype("M8[D]")),
        "timestamp": arrow.array(DAYS.astype("M8[us]")),
        "zoned": arrow.array(DAYS.astype("M8[ns]")).cast(arrow.timestamp("ns", "Europe/Berlin")),
    }
    return arrow.table(columns).to_pandas(types_mapper=pd.ArrowDtype)


def of_polars():
    """A column of each type of polars."""
    polars = pytest.importorskip("polars")
    names = [name.title().replace("Ui", "UI") for name in NUMBERS]
    columns = {name: polars.Series(name, CODES).cast(getattr(polars, name)) for name in names}
    texts, times = polars.Series(TEXTS.tolist()), polars.Series(DAYS.astype("M8[us]"))
    columns |= {
        "Boolean": polars.Series(CODES > 0),
        "Decimal": polars.Series(CODES.astype(float)).cast(polars.Decimal(10, 2)),
        "String": texts,
        "Categorical": texts.cast(polars.Categorical),
        "Enum": texts.cast(polars.Enum(["c", "a", "b"])),
        "Binary": texts.cast(polars.Binary),
        "Null": polars.Series([None] * N, dtype=polars.Null),
        "Date": times.cast(polars.Date),
        **{unit: times.cast(polars.Datetime(unit)) for unit in ("ms", "us", "ns")},
        "zoned": times.cast(polars.Datetime("us", "Asia/Tokyo")),
    }
    return polars.DataFrame(columns)


def with_gaps(frame):
    """The table with a third of the cells of each column missing, and no others of its types."""
    gone = RANDOM.random(len(frame)) < 0.3
    if hasattr(frame, "iloc"):
        held = [
            name
            for name, dtype in frame.dtypes.items()
            if not isinstance(dtype, np.dtype) or dtype.kind in "fMO"
        ]
        held = [name for name in held if "Sparse" not in name]
        return pd.DataFrame({name: frame[name].mask(gone) for name in held})
    polars = pytest.importorskip("polars")
    keep = polars.Series(~gone)
    return frame.select(polars.when(keep).then(polars.col(name)).alias(name) for name in frame.columns)


def fitted(frame, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about columns of one value
        return SyntheticTable(**{"epsilon": 1000, "delta": 1e-6, "degree": 1, "random_state": 0} | given).fit(
            frame
        )


def cells(frame, name):
    column = frame[name]
    return {each for each in column.to_list() if not pd.isna(each)}


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("make", [of_pandas, of_arrow, of_polars])
def test_synthetic_records_have_the_types_and_the_whole_values_of_the_table(make, gaps):
    frame = with_gaps(make()) if gaps else make()
    table = fitted(frame)
    rows = table.sample(200)
    assert list(rows.columns) == list(frame.columns)
    types = dict(zip(frame.columns, frame.dtypes, strict=True))
    for (name, dtype), found in zip(types.items(), rows.dtypes, strict=True):
        if name.startswith("category"):  # all texts that are not listed have one more
            others = {"other"} if name in ("category", "category of string") else set()
            assert {*found.categories} == {*dtype.categories} | others
            assert found.categories.dtype == dtype.categories.dtype
        else:
            assert found == dtype, name
        gone = rows[name].isna().sum() if hasattr(rows, "iloc") else rows[name].null_count()
        assert (gone > 0) == (gaps or name.lower() == "null"), name
        if "loat" not in name and name not in ("Decimal", "decimal", "Date", "date32", "zoned", "timestamp"):
            assert name[:2] in ("M8", "ms", "us", "ns") or cells(rows, name) <= cells(frame, name), name
    again = pickle.loads(pickle.dumps(table))
    assert again.sample(20, random_state=0).equals(table.sample(20, random_state=0))
    if "binary" not in types and "Binary" not in types:  # JSON has no bytes
        again = SyntheticTable.from_json(table.to_json())
        assert again.sample(20, random_state=0).equals(table.sample(20, random_state=0))


def test_declared_categories_of_another_type_than_the_column_has_are_categories():
    frame = pd.DataFrame({"code": pd.Series(CODES).astype("category"), "same": CODES})
    schema = Schema({"code": Categories([0, 1, 2, "none"]), "same": IntegerRange(0, 2)})
    rows = fitted(frame, domain=schema).sample(9)
    assert [*rows["code"].cat.categories] == [0, 1, 2, "none"]


def test_categories_of_dates_are_refused_with_the_type_that_is_given_back():
    frame = pd.DataFrame({"day": pd.Series(DAYS).astype("category"), "code": CODES})
    with pytest.raises(
        TypeError, match=r"'day' has categories of dates, .*: give dates, d\.astype\('datetime64"
    ):
        fitted(frame)
    assert fitted(frame.astype({"day": "datetime64[s]"})).sample(9)["day"].dtype == "datetime64[s]"


def test_days_of_a_zone_lie_in_the_range_of_the_table_and_keep_their_zone():
    zoned = pd.Series(DAYS).dt.tz_localize("Europe/Berlin")
    rows = fitted(pd.DataFrame({"when": zoned, "code": CODES})).sample(1000)
    assert str(rows["when"].dtype.tz) == "Europe/Berlin"
    assert rows["when"].min() > pd.Timestamp("2019-12-25", tz="Europe/Berlin")
    assert rows["when"].max() < pd.Timestamp("2020-07-28", tz="Europe/Berlin")
    assert abs(rows.groupby("code")["when"].mean()[1] - zoned[CODES == 1].mean()) < pd.Timedelta("9D")


def test_integers_beyond_63_bits_are_exact_where_they_are_declared_or_categories():
    large = pd.DataFrame({"id": np.uint64(2**64 - 3) + CODES.astype(np.uint64), "code": CODES})
    declared = fitted(
        large, domain=Schema({"id": IntegerRange(2**64 - 3, 2**64 - 1), "code": IntegerRange(0, 2)})
    )
    named = fitted(large.astype({"id": "UInt64"}), domain=Learn({"id": "categories"}))
    for rows in (declared.sample(300), named.sample(300)):
        assert str(rows["id"].dtype).lower() == "uint64"
        assert set(rows["id"].tolist()) == {2**64 - 3, 2**64 - 2, 2**64 - 1}
    rows = declared.sample(300)
    assert (rows["id"] == np.uint64(2**64 - 3) + rows["code"].astype(np.uint64)).mean() > 0.9
    learned = fitted(large).sample(300)["id"]
    assert learned.dtype == np.uint64
    assert learned.min() > 2**64 - 2**46


@pytest.mark.parametrize("dtype", ["int8", "uint64", "float32", "bool"])
def test_arrays_have_their_type(dtype):
    table = np.stack([CODES, CODES], axis=1).astype(dtype)
    rows = fitted(table).sample(50)
    assert rows.dtype == table.dtype
    assert rows.shape == (50, 2)


@pytest.mark.parametrize("dtype", ["list", "U1", "S1", "T", "T with gaps"])
def test_lists_of_texts_give_objects_and_arrays_their_type(dtype):
    table = np.array(["a", "b"])[np.stack([CODES, CODES], axis=1) % 2]
    if dtype[0] == "T" and not hasattr(np.dtypes, "StringDType"):
        pytest.skip("numpy before 2.0")
    if dtype == "T with gaps":
        dtype = np.dtypes.StringDType(na_object=np.nan)
        table = np.where(CODES[:, None] > 0, table.astype(object), np.nan)
    rows = fitted(table.tolist() if dtype == "list" else table.astype(dtype)).sample(50)
    widths = {"list": object, "U1": "U5", "S1": "S5"}  # "other" has five letters
    assert rows.dtype == np.dtype(widths.get(dtype, dtype))
    found = {each.decode() if isinstance(each, bytes) else each for each in rows.ravel().tolist()}
    found -= {"other"}
    assert {each for each in found if each == each} == {"a", "b"}
    assert len(found) == 2 + (not isinstance(dtype, str))


@pytest.mark.parametrize("dtype", [">i4", ">f8"])
def test_arrays_have_their_order_of_bytes(dtype):
    table = np.stack([CODES, CODES], axis=1).astype(dtype)
    assert fitted(table).sample(50).dtype.str == dtype


UNSIGNED = ["uint64", "UInt64", "uint64[pyarrow]", "UInt64 of polars", "array of uint64"]


@pytest.mark.parametrize("dtype", [*UNSIGNED, "int64", "Int64", "array of int64"])
def test_the_greatest_integer_of_64_bits_is_given_back_where_it_is_learned(dtype):
    """That of int64 came back as 2**62 - 1."""
    last = 2**64 - 1 if "u" in dtype.lower() else 2**63 - 1
    gaps, of_array = dtype[0] == "U" or "pyarrow" in dtype or dtype == "Int64", dtype.startswith("array of ")
    cells = [None if gaps and not code else last for code in CODES]
    table = np.full((N, 2), last, dtype.removeprefix("array of ")) if of_array else None
    if dtype == "UInt64 of polars":
        polars = pytest.importorskip("polars")
        table = polars.DataFrame({"a": CODES, "b": polars.Series(cells, dtype=polars.UInt64)})
    elif not of_array:
        table = pd.DataFrame({"a": CODES, "b": pd.array(cells, dtype=dtype)})
    rows = fitted(table).sample(50)
    found = rows["b"] if hasattr(rows, "columns") else rows[:, 1]
    assert found.dtype == (table if of_array else table["b"]).dtype
    assert {None if pd.isna(each) else each for each in list(found)} == {last, *[None] * gaps}


def test_learned_integers_have_the_range_of_their_type():
    """All beyond 2**62 were lost in silence, and a wide column had "one value"."""
    large = {
        "narrow": 2**62 + 2**60 + CODES * 2**50,
        "wide": RANDOM.integers(-(2**63), 2**63 - 1, N),
        "ends": np.where(CODES, 2**63 - 1, -(2**63)),
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = SyntheticTable(1000, degree=1, random_state=0).fit(pd.DataFrame(large)).sample(N)
    assert not [each for each in caught if "one value" in str(each.message)]
    for name, column in large.items():
        assert rows[name].dtype == np.int64
        spread = max(float(column.max()) - float(column.min()), 2.0**44)
        assert abs(float(rows[name].min()) - float(column.min())) < 0.1 * spread, name
        assert abs(float(rows[name].max()) - float(column.max())) < 0.1 * spread, name


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("unit", ["D", "s", "ns"])
def test_arrays_of_dates_are_read_as_columns_of_frames_are(unit):
    first = np.datetime64("2020-01-01").astype(f"datetime64[{unit}]")
    X = first + 20 * np.stack([CODES, CODES[::-1]], axis=1).astype("timedelta64[D]")
    y = CODES > 0
    dates = Dates("2020-01-01", "2020-03-01", outside="clip")
    for domain in (dates, Schema({"x0": dates, "x1": dates}), "learn"):
        model = StatisticalQueryNaiveBayes(epsilon=100, domain=domain).fit(X, y)
        assert model.score(X, y) > 0.9
        assert (model.predict(pd.DataFrame(X, columns=["x0", "x1"])) == model.predict(X)).all()
    rows = fitted(X).sample(10)
    assert rows.dtype == X.dtype
    assert np.abs(rows - X.min()).max() <= np.timedelta64(50, "D")
    for learner in (StatisticalQueryNaiveBayes(domain=Grid(0, 9)), ThresholdClassifier()):
        with pytest.raises(TypeError, match=r"dtype datetime64.*: declare Dates\(low, high\) as its domain"):
            learner.fit(X, y)


@pytest.mark.parametrize("last", ["b0", "new"])
def test_dictionaries_of_several_pieces_may_hold_more_levels_than_one_has_places_for(last):
    arrow, ledger = pytest.importorskip("pyarrow"), PrivacyLedger(100, 1e-3)
    small = arrow.dictionary(arrow.int8(), arrow.string())

    def column(cells):
        coded = arrow.array(cells).dictionary_encode().cast(small)
        return pd.Series(pd.arrays.ArrowExtensionArray(arrow.chunked_array([coded])))

    pieces = [[f"a{i % 64}" for i in range(300)], [f"b{i % 63}" for i in range(299)] + [last]]
    parts = [pd.DataFrame({"t": column(each), "y": np.arange(300) % 2}) for each in pieces]
    model = SubsampleAggregateClassifier(n_teachers=20, max_queries=5, classes=[0, 1], ledger=ledger)
    model.fit(lambda: iter(parts), "y")
    whole = pd.concat(parts, ignore_index=True)["t"]
    stable_counts(whole, epsilon=1, delta=1e-6, groups=np.arange(600) // 2, ledger=ledger)
    assert len(ledger.history()) == 2
