import pandas as pd
import pytest

from dplearn.domains import Categories
from dplearn.domains.cells import object_array
from dplearn.releases.table_columns import table_column
from dplearn.releases.table_values import TableTypes, as_table

TEXT = pd.Series(["text"]).dtype


@pytest.mark.parametrize(
    ("domain", "cells", "expected"),
    [
        (Categories(["a", "b"], other=True), [["a", "b"], [None, None], ["a", None]], TEXT),
        (Categories(["a", "b", None]), [["a", "b"], [None, None], [None, "a"]], TEXT),
        (Categories(["a", "b", 1]), [["a", "b"], ["a", 1], [1, 1]], object),
        (Categories([1, 2, "x"]), [[1, 2], ["x", "x"]], object),
    ],
)
def test_the_type_of_a_column_of_pandas_does_not_depend_on_values(domain, cells, expected):
    column = table_column("c", domain, 8)
    for values in cells:
        found = as_table([column], [object_array(values)], TableTypes("pandas"))["c"]
        assert found.dtype == expected
        assert found.isna().tolist() == [value is None for value in values]
        assert found.dropna().tolist() == [value for value in values if value is not None]


def test_a_column_of_the_type_category_has_all_listed_categories():
    column = table_column("c", Categories(["a", "b", "c"]), 8)
    found = as_table([column], [object_array(["b", "b"])], TableTypes("pandas", ("category",)))["c"]
    assert found.cat.categories.tolist() == ["a", "b", "c"]
