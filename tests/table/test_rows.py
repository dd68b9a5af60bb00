"""Records: places are row numbers for all types, and other types are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import coo_matrix, csr_matrix

from dplearn.queries import LabelledRows, Records
from dplearn.table.rows import check_values, own_cells, plain, rows_of
from dplearn.table.table import as_records, count_of, taken

PLACES = np.array([2, 0])


class Halves(Records):
    """Returns half of the requested records."""

    def __len__(self):
        return 4

    def __getitem__(self, places):
        return np.zeros(len(places) // 2)


class Frame(pd.DataFrame):
    """Of a library that builds on pandas."""


@pytest.mark.parametrize("table", [np.array, csr_matrix, coo_matrix, pd.DataFrame, Frame, pl.DataFrame])
def test_examples_are_parts_of_rows_and_labels_together(table):
    for y in (np.array([7, 8, 9]), pd.Series([7, 8, 9], index=[2, 2, 0]), pl.Series([7, 8, 9])):
        part = LabelledRows(table(np.arange(6).reshape(3, 2)), y)[PLACES]
        assert len(part) == 2
        assert list(part.y) == [9, 7]
        rows = part.X.toarray() if hasattr(part.X, "toarray") else np.asarray(part.X)
        assert rows.tolist() == [[4, 5], [0, 1]]


@pytest.mark.parametrize(
    "records",
    [
        *(
            [1, 2],
            (1, 2),
            "text",
            {0: 1},
            np.array(3),
            pl.LazyFrame({"a": [1]}),
            range(3),
            iter([1]),
            None,
            3,
        ),
        np.ma.masked_array([1, 2], mask=[True, False]),
        np.zeros((2, 1)).view(np.matrix),
    ],
    ids=lambda records: type(records).__name__,
)
def test_records_of_other_types_are_refused(records):
    message = f"numpy array, .* LabelledRows or other Records; got {type(records).__name__}"
    with pytest.raises(TypeError, match=f"records must be a {message}"):
        as_records("records", records)
    with pytest.raises(TypeError, match=f"y must be a {message}"):
        LabelledRows(np.zeros((2, 2)), records)


def test_examples_have_a_label_for_each_row():
    with pytest.raises(ValueError, match="X and y must have equal numbers of records"):
        LabelledRows(np.zeros((2, 1)), np.zeros(3))


def test_records_that_do_not_return_the_requested_rows_are_refused():
    with pytest.raises(TypeError, match="one record for each requested row"):
        taken(as_records("records", Halves()), PLACES)


def test_arrays_and_sparse_matrices_are_counted_by_rows():
    assert [count_of(each) for each in (np.zeros((3, 2)), csr_matrix((4, 2)), Halves())] == [3, 4, 4]
    assert taken(csr_matrix(np.arange(6).reshape(3, 2)), PLACES).toarray().tolist() == [[4, 5], [0, 1]]


def test_categories_are_a_copys_own_and_must_be_values():
    frame = pd.DataFrame({"text": pd.Categorical(["u", "v", "u"]), "number": pd.Categorical([10, 20, 10])})
    frame["time"] = pd.Categorical(pd.to_datetime(["2020-01-01", "2021-01-01", "2020-01-01"]))
    copy = own_cells(rows_of(frame, np.array([0, 1])))
    assert copy.dtypes.tolist() == frame.dtypes.tolist()
    assert copy.astype(str).to_numpy().tolist() == frame.iloc[:2].astype(str).to_numpy().tolist()
    for name in frame:
        copy[name].cat.categories.name = "marked"
        assert frame[name].cat.categories.name is None
    check_values(frame)
    frame["odd"] = pd.Categorical([object(), None, None])
    with pytest.raises(TypeError, match="X must hold numbers, texts and missing values, got object"):
        check_values(frame)


def test_cells_of_two_types_are_not_converted():
    mixed = np.array([[1.5, "a"], [np.nan, "b"]], dtype=object)
    assert plain(mixed).tolist()[0] == [1.5, "a"]
    assert plain(mixed[:, :1]).dtype == np.float64
    assert plain(mixed[:, 1:]).dtype.kind == "U"


def test_what_a_frame_says_about_the_whole_table_is_left_out():
    frame = pd.DataFrame({"number": [1, 2, 3]})
    frame.attrs["n"] = 3
    assert rows_of(frame, np.array([0])).attrs == {}
    assert frame.attrs == {"n": 3}
