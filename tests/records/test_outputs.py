"""Labels of several outputs: their labels by code, and rows with all labels correct."""

import numpy as np
import pandas as pd
import pytest

from dplearn.records.outputs import all_correct, labels_of_codes

CLASSES = [np.array(["no", "yes"]), np.array([3, 4])]
CODES = np.array([[0, 1], [1, 0]])


def test_labels_of_several_kinds_are_objects():
    assert labels_of_codes(CLASSES, CODES).tolist() == [["no", 4], ["yes", 3]]
    assert labels_of_codes([CLASSES[1]] * 2, CODES).dtype.kind == "i"
    assert labels_of_codes([CLASSES[0], np.array(["longer", "-"])], CODES).tolist() == [
        ["no", "-"],
        ["yes", "longer"],
    ]


@pytest.mark.parametrize("holder", [list, pd.DataFrame, lambda rows: np.array(rows, dtype=object)])
def test_a_row_is_correct_if_all_its_labels_are(holder):
    assert all_correct(CLASSES, CODES, holder([["no", 4], ["yes", 4]])).tolist() == [True, False]


@pytest.mark.parametrize("y", [["no", "yes"], [["no"], ["yes"]], [["no", 3, 1], ["yes", 4, 1]]])
def test_labels_of_another_number_of_outputs_are_refused(y):
    with pytest.raises(ValueError, match="y must have 2 outputs, got"):
        all_correct(CLASSES, CODES, y)
