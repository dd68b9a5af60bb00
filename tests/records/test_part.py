import numpy as np
import pandas as pd
import polars as pl
import pytest

from dplearn.records.part import PartTypes

FRAME = pd.DataFrame({"age": [1, 2], "town": ["a", "b"]})


@pytest.mark.parametrize("part", [FRAME, FRAME["age"], np.zeros((3, 2)), np.zeros(3), [1, 2]], ids=range(5))
def test_parts_of_any_length_have_the_same_types(part):
    PartTypes.of(part).check_same(PartTypes.of(part[:1]))


def test_other_columns_are_refused():
    for other, reason in (
        (FRAME[["town", "age"]], "their order differs"),
        (FRAME[["age"]], "'town' is not in all of them"),
        (FRAME.assign(b=1), "'b' is not in all of them"),
        (FRAME.rename(columns={"age": "b"}), "'age' is not in all of them"),
    ):
        with pytest.raises(ValueError, match=f"X must have the same columns in each part, but {reason}"):
            PartTypes.of(FRAME).check_same(PartTypes.of(other))
    with pytest.raises(ValueError, match=r"a record has the shape \(2,\) in one and \(3,\) in another"):
        PartTypes.of(np.zeros((3, 2))).check_same(PartTypes.of(np.zeros((3, 3))))


def test_parts_of_other_libraries_are_refused():
    for other, library in ((pl.from_pandas(FRAME), "polars"), (FRAME.to_numpy(), "numpy")):
        with pytest.raises(
            TypeError, match=f"X must have parts of one library, got .* pandas and of {library}"
        ):
            PartTypes.of(FRAME).check_same(PartTypes.of(other))


def test_other_types_are_refused_by_the_name_of_the_column_without_a_value():
    other = FRAME.astype({"age": "float64"})
    with pytest.raises(TypeError, match="the type of column 'age' is int64 in one and float64 in another"):
        PartTypes.of(FRAME).check_same(PartTypes.of(other))
    with pytest.raises(
        TypeError, match=r"keys must have the same types .* the type is int64 in one and object"
    ):
        PartTypes.of(np.arange(3)).check_same(PartTypes.of(np.array([1, None])), "keys")


def test_other_categories_are_refused_where_rows_keep_their_types():
    first, second = (FRAME.astype({"town": pd.CategoricalDtype(of)}) for of in (["a", "b"], ["a", "b", "c"]))
    PartTypes.of(first).check_same(PartTypes.of(second))
    PartTypes.of(first).check_same(PartTypes.of(first[:1]), categories=True)
    with pytest.raises(
        TypeError, match="X must have the same categories in each part, but those of column 'town'"
    ):
        PartTypes.of(first).check_same(PartTypes.of(second), categories=True)
