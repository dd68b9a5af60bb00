"""Which objects are tables in parts, and which are refused with advice."""

import io
import re
import traceback
from collections import deque
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_matrix

from dplearn import PrivacyLedger, StatisticalQueryNaiveBayes
from dplearn.domains import Hashed
from dplearn.table.passes import PartsUnreadableError
from dplearn.table.sources import column_in_parts, table_in_memory, table_in_parts, table_of

FRAME = pd.DataFrame({"age": [31, 42, 57], "town": ["x", "y", "x"], "ill": ["no", "yes", "no"]})
CUT = [FRAME[:2], FRAME[2:]]


def parts(X, y):
    table = table_in_parts(X, y)
    return None if table is None else list(table.blocks.values(lambda given: (given.X, given.y)))


class Again:
    """Can be iterated over again and again."""

    def __iter__(self):
        return iter(CUT)


def dask_frame():
    return pytest.importorskip("dask.dataframe").from_pandas(FRAME, npartitions=2)


def arrow_table():
    return pytest.importorskip("pyarrow").Table.from_pandas(FRAME)


def parquet_file():
    parquet = pytest.importorskip("pyarrow.parquet")
    file = io.BytesIO()
    parquet.write_table(arrow_table(), file)
    return parquet.ParquetFile(file)


OF_A_COLUMN = {
    "list of frames": lambda: (CUT, "ill"),
    "tuple of frames": lambda: (tuple(CUT), "ill"),
    "list of polars frames": lambda: ([pl.from_pandas(part) for part in CUT], "ill"),
    "function": lambda: (lambda: iter(CUT), "ill"),
    "function of a list": lambda: (lambda: CUT, "ill"),
    "iterable": lambda: (Again(), "ill"),
    "list of labels": lambda: ([part[["age", "town"]] for part in CUT], [part["ill"] for part in CUT]),
    "pairs": lambda: ([(part[["age", "town"]], part["ill"]) for part in CUT], None),
    "function of pairs": lambda: (lambda: ((part[["age", "town"]], part["ill"]) for part in CUT), None),
    "Dask frame": lambda: (dask_frame(), "ill"),
    "Dask frame and series": lambda: (dask_frame()[["age", "town"]], dask_frame()["ill"]),
    "table of Arrow": lambda: (arrow_table(), "ill"),
    "function of a table of Arrow": lambda: (arrow_table, "ill"),
    "file of Parquet": lambda: (parquet_file(), "ill"),
    "frames of a lazy one": lambda: (
        lambda: pl.from_pandas(FRAME).lazy().collect_batches(chunk_size=2, maintain_order=True),
        "ill",
    ),
    "batches of Arrow": lambda: (arrow_table().to_batches(max_chunksize=2), "ill"),
}


@pytest.mark.parametrize("name", OF_A_COLUMN)
def test_parts_are_rows_and_labels(name):
    X, y = OF_A_COLUMN[name]()
    for _ in range(2):  # each pass reads all of them
        found = [part for part in parts(X, y) if len(part[0])]
        assert all(list(rows.columns) == ["age", "town"] for rows, _ in found)
        assert [each for rows, _ in found for each in rows["age"].to_list()] == [31, 42, 57]
        assert [each for _, labels in found for each in labels.to_list()] == ["no", "yes", "no"]


def test_arrays_and_sparse_matrices_are_parts_too():
    table, labels = np.arange(6.0).reshape(3, 2), np.array([0, 1, 0])
    for rows in ([table[:1], table[1:]], [csr_matrix(table[:1]), csr_matrix(table[1:])]):
        assert [part[1].tolist() for part in parts(rows, [labels[:1], labels[1:]])] == [[0], [1, 0]]


def test_parts_of_dask_arrays_have_whole_rows():
    da = pytest.importorskip("dask.array")
    table, labels = np.arange(12.0).reshape(4, 3), np.array([0, 1, 0, 1])
    found = parts(da.from_array(table, chunks=(3, 2)), da.from_array(labels, chunks=3))
    assert [(rows.shape, y.tolist()) for rows, y in found] == [((3, 3), [0, 1, 0]), ((1, 3), [1])]


def test_the_types_of_arrow_are_kept_though_a_part_has_gaps():
    pa = pytest.importorskip("pyarrow")
    batches = [pa.RecordBatch.from_pydict({"age": pa.array(ages, pa.int64())}) for ages in ([31, None], [42])]
    assert {str(rows["age"].dtype) for rows, _ in parts(batches, None)} == {"int64[pyarrow]"}


@pytest.mark.parametrize(
    "X",
    [
        FRAME,
        pl.from_pandas(FRAME),
        FRAME.to_numpy(),
        csr_matrix(np.eye(3)),
        csr_matrix(np.eye(3)).todok(),
        [[1, 2], [3, 4]],
        [(1, 2), (3, 4)],
        [np.array([1, 2]), np.array([3, 4])],
        [],
        deque([[1, 2], [3, 4]]),
        {31, 42},
        7,
        None,
    ],
    ids=lambda X: type(X).__name__,
)
def test_other_tables_are_in_memory(X):
    assert table_in_parts(X, [0, 1]) is None


def failure(X, y, error=TypeError):
    with pytest.raises(error) as caught:
        parts(X, y)
    return str(caught.value)


def data_set(table):
    return pytest.importorskip("pyarrow.dataset").dataset(table)


def test_several_columns_of_labels_are_named_by_a_list():
    for table in (table_in_parts(CUT, ["ill", "age"]), table_in_parts(dask_frame(), ("ill", "age"))):
        found = list(table.blocks.values(lambda given: (list(given.X.columns), given.y.to_numpy().tolist())))
        others = [name for name in FRAME.columns if name not in ("ill", "age")]
        assert [columns for columns, _ in found] == [others] * len(found)
        assert [row for _, rows in found for row in rows] == FRAME[["ill", "age"]].to_numpy().tolist()
    # A list may be one of labels, by mistake: it is never shown.
    for labels in (["ill", "sick"], ["yes", "no", "no"], ["ill", "ill"]):
        for X in (CUT, dask_frame(), data_set(arrow_table())):
            message = failure(X, labels, ValueError)
            assert f"got list of length {len(labels)}; the columns are 'age'" in message
            assert "sick" not in message
    assert table_in_parts(arrow_table(), ["yes", "no", "no"]) is None  # the labels of a table in memory


def test_labels_of_dask_beside_another_table_are_refused():
    assert "both X and y of Dask" in failure(FRAME[["age"]], dask_frame()["ill"])


def test_columns_that_pandas_calls_an_index_are_columns():
    table = pytest.importorskip("pyarrow").Table.from_pandas(FRAME.set_index("age"))
    assert set(table_of(table).columns) == set(FRAME.columns)


def test_an_iterator_is_refused_since_it_is_read_once():
    for once in (iter(CUT), (part for part in CUT)):
        assert re.match("X must be parts that can be read again, got an iterator", failure(once, "ill"))


def test_labels_that_are_not_in_the_same_parts_are_refused():
    rows = [part[["age"]] for part in CUT]
    assert "got ndarray" in failure(rows, np.array([0, 1, 0]))
    assert "got 1 parts" in failure(rows, [FRAME["ill"]])
    assert "got Series; cut it like X" in failure(rows, FRAME["ill"])
    assert "got Series; for function give the name of a column" in failure(lambda: CUT, FRAME["ill"])
    assert failure(CUT, "sick", ValueError) == (
        "y must be the name of a column of X in every part, or a list of different names, got 'sick'; the"
        " columns are 'age', 'town', 'ill'"
    )
    arrays = [part[["age"]].to_numpy() for part in CUT]
    assert "give each part as a pair (rows, labels), and no y" in failure(arrays, "ill", ValueError)
    unlabelled = [*CUT, FRAME[["age", "town"]]]
    assert "or a list of different names, got 'ill'" in failure(unlabelled, "ill", ValueError)
    assert "renamed by part.rename(columns=str)" in failure([FRAME.T], 2)
    pairs = [(part[["age"]], part["ill"]) for part in CUT]
    assert "y must be None where each part is a pair" in failure(pairs, "ill")
    dask = dask_frame()
    assert "got Series" in failure(dask[["age"]], FRAME["ill"])
    assert "got 1 partitions for the 2 of X" in failure(dask[["age"]], dask["ill"].repartition(npartitions=1))


def test_an_iterator_that_a_function_returns_again_is_refused_before_the_charge():
    once, ledger = iter(CUT), PrivacyLedger(1, 1e-5)
    model = StatisticalQueryNaiveBayes(classes=["no", "yes"], domain=Hashed(64), ledger=ledger)
    with pytest.raises(TypeError, match="got one that returned the same iterator twice"):
        model.fit(lambda: once, "ill")
    assert ledger.history() == []


def test_a_function_is_called_once_for_each_pass():
    calls = []

    def function():
        calls.append(1)
        return iter(CUT)

    table = table_in_parts(function, "ill")
    for n_passes in range(1, 4):
        assert len(list(table.blocks.values(lambda given: len(given.X)))) == 2
        assert len(calls) == max(2, n_passes)  # the second pass is prepared by the first


def test_chunks_of_x_and_y_that_one_task_makes_are_made_once():
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    made = []

    def read(number):
        made.append(number)
        return np.full((2, 3), number), np.full(2, number)

    parts = [dask.delayed(read)(number) for number in range(3)]
    X = da.concatenate([da.from_delayed(part[0], (2, 3), int) for part in parts])
    y = da.concatenate([da.from_delayed(part[1], (2,), int) for part in parts])
    table = table_in_parts(X, y)
    found = list(table.blocks.values(lambda given: (given.X[0, 0], given.y[0])))
    assert found == [(0, 0), (1, 1), (2, 2)]
    assert sorted(made) == [0, 1, 2]


def test_other_collections_of_dask_are_refused():
    dask, bag = pytest.importorskip("dask"), pytest.importorskip("dask.bag")
    rows, frame = bag.from_sequence([{"age": 31}], npartitions=1), dask.delayed(FRAME)
    assert "must be a data frame, a series or an array of Dask, got Bag; bag.to_dat" in failure(rows, "ill")
    assert "; dask.dataframe.from_delayed([...]) makes a frame" in failure(frame, "ill")
    assert "got a list of Delayed" in failure([frame, frame], "ill")
    assert "dask.dataframe.concat([...]) makes one frame" in failure([dask_frame()], "ill")
    assert "y must be a data frame, a series or an array of Dask, got Bag" in failure(dask_frame(), rows)
    with pytest.raises(TypeError, match=r"values must be .* got Bag; bag\.to_dataframe"):
        column_in_parts(rows)


@pytest.mark.parametrize("path", ["table.parquet", Path("table.csv")], ids=["text", "path"])
def test_a_path_is_refused_with_advice(path):
    advice = r"got a path; .* pyarrow\.dataset\.dataset\(path\), or lambda: pandas\.read_csv\(path, "
    with pytest.raises(TypeError, match=advice):
        table_in_parts(path, "ill")


def test_a_function_that_returns_no_parts_is_refused():
    assert "got one that returns DataFrame" in failure(lambda: FRAME, "ill")
    assert "got one that returns int" in failure(lambda: 7, "ill")
    assert "got one that returns str" in failure(lambda: "table.csv", "ill")
    assert "got one that returns function; call the function" in failure(lambda: lambda: CUT, "ill")
    assert "got one that returns NoneType; the function must return the parts" in failure(lambda: None, "ill")


def test_a_function_with_arguments_is_refused():
    def read(path, *, sep=","):
        return CUT

    assert "a function without arguments, got one that needs path; give" in failure(read, "ill")
    assert table_in_parts(partial(read, "table.csv"), "ill") is not None


def test_what_has_to_be_read_first_is_refused_with_advice():
    class Relation:
        columns = ("age", "ill")

        def to_arrow_reader(self, size):
            raise AssertionError

    class Dataset:
        def to_pandas(self):
            raise AssertionError

    assert "got Relation; lambda: relation.to_arrow_reader(100_000) reads" in failure(Relation(), "ill")
    assert "got Dataset; its method to_pandas() makes a table" in failure(Dataset(), "ill")
    assert "got int" in failure(lambda: [7], "ill")


def test_a_single_part_that_a_function_returns_is_refused_with_advice():
    for part in (FRAME, FRAME.to_numpy()):
        assert "a single part is given in a list: lambda: [part]" in failure(lambda part=part: part, None)
    with pytest.raises(TypeError, match=r"values must .* returns Series; .* lambda: \[part\]"):
        list(column_in_parts(lambda: FRAME["age"]).blocks.values(lambda given: given.X))


def test_the_name_of_a_column_is_refused_for_a_table_in_memory():
    for table in (FRAME, pl.from_pandas(FRAME), FRAME.to_numpy()):
        assert "got the text 'ill'; the name of a column is for tables in parts" in failure(table, "ill")


def test_lists_of_what_has_to_be_read_are_refused_with_advice(tmp_path):
    data = pytest.importorskip("pyarrow.dataset").dataset(arrow_table())
    for element, advice in (
        (tmp_path, "dataset(paths) reads"),
        (data, "dataset([first, second]) joins"),
        (pl.from_pandas(FRAME).lazy(), "lambda: frame.collect_batches(maintain_order=True)"),
    ):
        assert advice in failure([element], None)
        assert advice in failure(lambda element=element: [element], None)
    assert "got a list of str; pyarrow.dataset.dataset(paths) reads" in failure(["table.parquet"], "ill")
    assert "got an empty list; give at least one table" in failure([], "ill")
    assert "got a list of dict; pandas.DataFrame(...) makes a table" in failure([{"age": 31}], "ill")
    assert "got dict; pandas.DataFrame(...) makes a table" in failure({"age": [31, 42]}, [0, 1])
    assert "a LazyFrame is not supported" in failure(pl.from_pandas(FRAME).lazy(), "ill")
    assert table_in_parts(["a text", "another"], [0, 1]) is None  # documents, in memory


def test_a_list_of_series_is_no_column():
    for series in (FRAME["age"], pl.from_pandas(FRAME)["age"]):
        with pytest.raises(TypeError, match=r"values must be one column, got a list of series; .* lambda: "):
            column_in_parts([series, series])
    assert column_in_parts([np.arange(3), np.arange(3)]) is None  # rows


def test_a_table_of_arrow_with_labels_in_memory_is_in_memory():
    assert table_in_parts(arrow_table(), FRAME["ill"]) is None
    found = table_in_memory(arrow_table())
    assert found["age"].tolist() == FRAME["age"].tolist()
    assert str(found.dtypes["age"]) == "int64[pyarrow]"


@pytest.mark.parametrize(
    "X",
    [lambda: CUT, lambda: lambda: CUT, dask_frame, lambda: table_in_parts(CUT, "ill"), Again],
    ids=["list", "function", "dask", "table", "iterable"],
)
def test_a_table_in_parts_is_not_in_memory(X):
    with pytest.raises(TypeError, match=r"X must be a table in memory, .*\.map_partitions\(model\.predict\)"):
        table_in_memory(X())
    for table in (FRAME, FRAME.to_numpy(), [[1, 2], [3, 4]], csr_matrix(np.eye(2))):
        assert table_in_memory(table) is table


SECRET = 987654321


def broken_batches():
    yield FRAME
    raise OverflowError(f"{SECRET} does not fit")


def test_an_error_of_a_reader_is_raised_without_its_text_and_before_the_charge(tmp_path):
    pa, data = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.dataset")
    for name, kind in (("1", pa.int16()), ("2", pa.int64())):
        number = 7 if name == "1" else SECRET
        table = pa.table({"age": pa.array([number], kind), "ill": ["no"]})
        pytest.importorskip("pyarrow.parquet").write_table(table, tmp_path / f"{name}.parquet")

    def broken():
        raise OverflowError(f"{SECRET} does not fit")

    ledger = PrivacyLedger(1, 1e-5)
    model = StatisticalQueryNaiveBayes(classes=["no", "yes"], domain=Hashed(64), ledger=ledger)
    for X in (data.dataset(tmp_path), broken_batches, broken):
        with pytest.raises(PartsUnreadableError) as caught:
            model.fit(X, "ill")
        shown = "".join(traceback.format_exception(caught.value))
        assert str(SECRET) not in shown
    assert ledger.history() == []


def test_errors_of_a_reader_about_names_and_paths_keep_their_type():
    def misspelt():
        return pandas.read_csv("table.csv", chunksize=2)  # noqa: F821

    for X, error in ((misspelt, NameError), (lambda: [pd.read_csv("table.csv")], FileNotFoundError)):
        with pytest.raises(error, match="X must have parts that can be read") as caught:
            parts(X, None)
        assert "table.csv" not in str(caught.value)
