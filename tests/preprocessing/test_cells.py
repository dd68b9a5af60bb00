"""Cells are encoded independently of each other."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

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


def test_frames_give_names_and_a_domain_that_holds_every_encoding():
    table = pd.DataFrame({"age": ["39", "x", "-7.25"], "job": ["clerk", None, "1e300"]})
    encoder = CellEncoder(buckets=5).fit(table)
    found, names = encoder.transform(table), ["age", "age#text", "job", "job#text"]
    plain = CellEncoder(buckets=5).fit([["a", "b"]]).transform(table.to_numpy(dtype=object))
    np.testing.assert_array_equal(found, plain)
    assert encoder.get_feature_names_out().tolist() == list(encoder.domain().names) == names
    columns = encoder.domain().encode(found)
    for codes, part in zip(columns, encoder.domain().domains, strict=True):
        assert (codes < part.size).all()
