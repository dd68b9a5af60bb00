"""Which objects are tables in parts, and which are refused with advice."""

import io
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
from dplearn.table import Task, column_in_parts, table_in_memory, table_in_parts, table_of
from dplearn.table import table as tables

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


def test_other_tables_are_in_memory():
    frames = [
        FRAME,
        pl.from_pandas(FRAME),
        FRAME.to_numpy(),
        csr_matrix(np.eye(3)),
        csr_matrix(np.eye(3)).todok(),
    ]
    lists = [[[1, 2], [3, 4]], [(1, 2)], [np.array([1, 2])], [], deque([[1, 2], [3, 4]]), {31, 42}, 7, None]
    for X in (*frames, *lists):
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


class Relation:
    columns = ("age", "ill")
    to_arrow_reader = None


class Dataset:
    to_pandas = None


def needing(path, *, sep=","):
    return CUT


def dask_of(kind):
    dask, bag = pytest.importorskip("dask"), pytest.importorskip("dask.bag")
    return dask.delayed(FRAME) if kind == "delayed" else bag.from_sequence([{"age": 31}], npartitions=1)


ROWS = [part[["age"]] for part in CUT]
ARRAYS = [part.to_numpy() for part in ROWS]
PAIRS = [(part[["age"]], part["ill"]) for part in CUT]
LAZY = pl.from_pandas(FRAME).lazy()
#: Tables, their labels, and what their refusal says.
REFUSED = [
    (ROWS, [FRAME["ill"]], "got 1 parts"),
    (ROWS, FRAME["ill"], "got Series; cut it like X"),
    (lambda: CUT, FRAME["ill"], "got Series; for function give the name of a column"),
    (ARRAYS, "ill", "give each part as a pair (rows, labels), and no y"),
    ([FRAME.T], 2, "renamed by part.rename(columns=str)"),
    (PAIRS, "ill", "y must be None where each part is a pair"),
    (Path("table.csv"), "ill", "pyarrow.dataset.dataset(path), or lambda: pandas.read_csv(path, "),
    (Relation(), "ill", "got Relation; lambda: relation.to_arrow_reader(100_000) reads"),
    (Dataset(), "ill", "got Dataset; its method to_pandas() makes a table"),
    *(
        (given, None, advice)
        for each, advice in (
            (Path("table"), "dataset(paths) reads"),
            (LAZY, "lambda: frame.collect_batches(maintain_order=True)"),
        )
        for given in ([each], lambda each=each: [each])
    ),
    (LAZY, "ill", "a LazyFrame is not supported"),
    # Of Dask, made when the test runs.
    (lambda: (dask_frame()[["age"]], FRAME["ill"]), ..., "got Series"),
    (lambda: (FRAME[["age"]], dask_frame()["ill"]), ..., "both X and y of Dask"),
    (
        lambda: (dask_frame()[["age"]], dask_frame()["ill"].repartition(npartitions=1)),
        ...,
        "got 1 partitions for the 2 of X",
    ),
    (lambda: (dask_of("bag"), "ill"), ..., "an array of Dask, got Bag; bag.to_dat"),
    (lambda: (dask_of("delayed"), "ill"), ..., "; dask.dataframe.from_delayed([...]) makes a frame"),
    (lambda: ([dask_of("delayed")] * 2, "ill"), ..., "got a list of Delayed"),
    (lambda: ([dask_frame()], "ill"), ..., "dask.dataframe.concat([...]) makes one frame"),
    (
        lambda: (dask_frame(), dask_of("bag")),
        ...,
        "y must be a data frame, a series or an array of Dask, got Bag",
    ),
    (lambda: ([data_set(arrow_table())], None), ..., "dataset([first, second]) joins"),
]


@pytest.mark.parametrize(("X", "y", "words"), REFUSED, ids=[words[:40] for _, _, words in REFUSED])
def test_what_cannot_be_read_part_by_part_is_refused_with_advice(X, y, words):
    assert words in failure(*(X() if y is ... else (X, y)), error=(TypeError, ValueError))


def test_what_is_no_column_in_parts_is_refused_with_advice():
    for values, words in (
        (dask_of("bag"), r"values must be .* got Bag; bag\.to_dataframe"),
        (lambda: FRAME["age"], r"values must .* returns Series; .* lambda: \[part\]"),
        ([FRAME["age"]] * 2, r"values must be one column, got a list of series; .* lambda: "),
        ([pl.from_pandas(FRAME)["age"]] * 2, r"values must be one column, got a list of series; .* lambda: "),
    ):
        with pytest.raises(TypeError, match=words):
            list(column_in_parts(values).blocks.values(lambda given: given.X))
    assert column_in_parts([np.arange(3), np.arange(3)]) is None  # rows
    assert table_in_parts(["a text", "another"], [0, 1]) is None  # documents, in memory
    assert table_in_parts(partial(needing, "table.csv"), "ill") is not None


def test_a_function_that_returns_an_iterator_again_is_refused_and_is_else_called_once_for_each_pass():
    once, ledger = iter(CUT), PrivacyLedger(1, 1e-5)
    model = StatisticalQueryNaiveBayes(classes=["no", "yes"], domain=Hashed(64), ledger=ledger)
    with pytest.raises(TypeError, match="got one that returned the same iterator twice"):
        model.fit(lambda: once, "ill")
    assert ledger.history() == []
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


def test_a_table_of_arrow_with_labels_in_memory_is_in_memory():
    assert table_in_parts(arrow_table(), FRAME["ill"]) is None
    table = pytest.importorskip("pyarrow").Table.from_pandas(FRAME.set_index("age"))
    assert set(table_of(table).columns) == set(FRAME.columns)  # of which pandas calls one an index
    found = table_in_memory(arrow_table())
    assert found["age"].tolist() == FRAME["age"].tolist()
    assert str(found.dtypes["age"]) == "int64[pyarrow]"


@pytest.mark.parametrize(("most", "reads"), [(1 << 27, 3 * 3 + 1), (1, 3 * 5 + 1)])
def test_workers_keep_encoded_partitions_that_fit_and_are_sent_a_function_once(most, reads, monkeypatch):
    dask, da = pytest.importorskip("dask"), pytest.importorskip("dask.array")
    monkeypatch.setattr(tables, "MOST_KEPT", most)
    seen = []

    def read(number):
        seen.append(number)
        return np.full((4, 2), float(number))

    frame = da.concatenate(
        [da.from_delayed(dask.delayed(read)(number), (4, 2), np.float64) for number in range(3)]
    )
    with dask.config.set(scheduler="sync"):
        _, table = table_in_parts(frame, None).read(lambda X, y: (None, X.astype(np.int8)))
        kept = table.kept()
        assert [kept.sums(lambda rows: [rows.sum()]) for _ in range(4)] == [[24]] * 4
    assert len(seen) == reads
    large = partial(np.add, np.zeros(1000))
    sent = dask.delayed(kept.blocks.parts.tasks(lambda number: Task(large, (number,)))).__dask_graph__()
    dumps = pytest.importorskip("cloudpickle").dumps
    assert sum(len(dumps(node)) > 8000 for node in dict(sent).values()) == 1


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
