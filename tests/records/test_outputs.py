"""Labels of several outputs: their labels by code, and the share of rows with all labels correct."""

import numpy as np
import pandas as pd
import pytest

from dplearn.records.outputs import joined_outputs, label_columns, share_all_right

CLASSES = [np.array(["no", "yes"]), np.array([3, 4])]
COLUMNS = label_columns(CLASSES, np.array([[0, 1], [1, 0]]))


def test_labels_of_several_kinds_are_objects():
    assert joined_outputs(COLUMNS).tolist() == [["no", 4], ["yes", 3]]
    assert joined_outputs(COLUMNS[1:] * 2).dtype.kind == "i"
    longer = np.array(["longer", "-"])
    assert joined_outputs([COLUMNS[0], longer]).tolist() == [["no", "longer"], ["yes", "-"]]


@pytest.mark.parametrize("holder", [list, pd.DataFrame, lambda rows: np.array(rows, dtype=object)])
def test_a_row_is_correct_if_all_its_labels_are(holder):
    y = holder([["no", 4], ["yes", 4]])
    assert share_all_right(COLUMNS, y) == 0.5
    assert share_all_right(COLUMNS, y, weights=[3, 1]) == 0.75


@pytest.mark.parametrize("y", [["no", "yes"], [["no"], ["yes"]], [["no", 3, 1], ["yes", 4, 1]]])
def test_labels_of_another_number_of_outputs_are_refused(y):
    with pytest.raises(ValueError, match="y must have 2 outputs, got"):
        share_all_right(COLUMNS, y)
