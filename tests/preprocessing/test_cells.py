"""Cells are encoded independently of each other."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from dplearn.preprocessing import CellEncoder

cells = st.one_of(
    st.none(), st.text(max_size=8), st.integers(), st.floats(), st.sampled_from(["1", " 1 ", "1_0"])
)


@given(st.lists(st.tuples(cells, cells), min_size=1, max_size=6))
def test_a_rows_encoding_does_not_depend_on_other_rows(rows):
    encoder = CellEncoder().fit([["a", "b"]])
    table = np.empty((len(rows), 2), dtype=object)
    for i, row in enumerate(rows):
        table[i] = row
    together = encoder.transform(table)
    alone = np.vstack([encoder.transform(table[i : i + 1]) for i in range(len(rows))])
    np.testing.assert_array_equal(together, alone)


def test_fit_learns_nothing_but_the_columns():
    first = CellEncoder().fit([["a", "1"], ["b", "2"]])
    other = CellEncoder().fit([[None, "x"]])
    assert vars(first) == vars(other)


@pytest.mark.parametrize(
    ("cell", "number"),
    [("39", 39), (" 2.5 ", 2.5), ("-1e3", -1000), (7, 7), (1.5, 1.5), ("0", 0), (np.int64(3), 3)],
)
def test_decimal_numbers_are_numbers(cell, number):
    assert CellEncoder().fit([[cell]]).transform([[cell]])[0, 0] == number


@pytest.mark.parametrize(
    "cell", ["", None, "abc", "nan", "inf", "1e999", "1_000", "0x10", "1,5", float("nan")]
)
def test_other_cells_are_not(cell):
    assert np.isnan(CellEncoder().fit([["x"]]).transform(np.array([[cell]], dtype=object))[0, 0])


@pytest.mark.parametrize("cell", ["", "   ", None, float("nan"), pd.NA, pd.NaT])
def test_missing_cells_share_bucket_0_and_nothing_else_does(cell):
    encoder = CellEncoder(buckets=2).fit([["x"]])
    assert encoder.transform(np.array([[cell]], dtype=object))[0, 1] == 0
    assert encoder.transform([["text"]])[0, 1] == 1


def test_buckets_are_the_same_on_every_machine():
    # BLAKE2b is a standard; these were computed once and must never change, or saved models would.
    assert CellEncoder(8).fit([["a"]]).transform([["39"], ["Bachelors"], ["?"]])[:, 1].tolist() == [6, 1, 4]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames_give_names_and_the_same_numbers(frame):
    table = {"age": ["39", "x"], "job": ["clerk", None]}
    encoder = CellEncoder().fit(frame(table))
    plain = (
        CellEncoder()
        .fit([["a", "b"]])
        .transform(np.array(list(zip(*table.values(), strict=True)), dtype=object))
    )
    np.testing.assert_array_equal(encoder.transform(frame(table)), plain)
    assert encoder.get_feature_names_out().tolist() == ["age", "age#text", "job", "job#text"]
    assert encoder.domain().names == ("age", "age#text", "job", "job#text")


def test_the_domain_holds_every_encoding():
    table = np.array([["1", "abc", None], ["-7.25", "", "1e300"]], dtype=object)
    encoder = CellEncoder(buckets=5).fit(table)
    columns = encoder.domain().encode(encoder.transform(table))
    assert all(
        (codes < part.size).all() for codes, part in zip(columns, encoder.domain().domains, strict=True)
    )


def test_a_bad_number_of_buckets_is_named():
    with pytest.raises(ValueError, match="buckets must be an integer from 2 to 1048576, got 1"):
        clone(CellEncoder(buckets=1)).fit([["a"]])
