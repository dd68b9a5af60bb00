"""Rows that are cut out of a table share nothing with it that a teacher could change."""

import numpy as np
import pandas as pd
import pytest

from dplearn.records.tables import check_values, own_cells, plain, rows_of


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
