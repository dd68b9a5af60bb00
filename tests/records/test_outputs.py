"""Labels of several outputs: their labels by code, and the share of rows with all labels correct."""

import numpy as np
import pandas as pd
import pytest

from dplearn.domains import DomainError
from dplearn.records.outputs import (
    declared_sets,
    joined_outputs,
    label_columns,
    read_outputs,
    share_all_right,
)

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


def test_an_error_names_the_output_and_holds_no_cell():
    y = np.array([["no", 3], ["secret", 4]], dtype=object)
    with pytest.raises(DomainError, match="in output 0, y holds a label") as refused:
        read_outputs(y, 2, [["no", "yes"], [3, 4]])
    assert "secret" not in str(refused.value)
    assert refused.value.__cause__ is refused.value.__context__ is None


def test_sets_of_labels_by_name_and_of_another_number_are_refused():
    with pytest.raises(TypeError, match="in the order of the columns of y, got a mapping"):
        declared_sets({"a": [0, 1], "b": [3, 4]})
    with pytest.raises(ValueError, match="for each of 1 outputs, got 2; n_outputs is the number"):
        read_outputs([0, 1], 2, [[0, 1], [3, 4]])
