"""Predictions and scores of one output and of several, for any codes."""

import numpy as np
import pytest

from dplearn.estimator.several_outputs import SeveralOutputsClassifier

CODES = np.array([[0, 1], [1, 1]])
ONE, TWO = np.array(["no", "yes"]), [np.array(["no", "yes"]), np.array([3, 4])]


class Fixed(SeveralOutputsClassifier):
    """Predicts the given codes."""

    def __init__(self, classes_=ONE):
        self.classes_ = classes_

    def _codes(self, X):
        return CODES[: len(X)] if isinstance(self.classes_, list) else CODES[: len(X), :1]


def test_one_output_has_labels_of_one_dimension():
    model = Fixed()
    assert model.predict([[0], [0]]).tolist() == ["no", "yes"]
    assert model.predict_proba([[0], [0]]).tolist() == [[1, 0], [0, 1]]
    assert model.score([[0], [0]], ["no", "no"]) == 0.5


def test_several_outputs_have_a_column_and_a_table_of_probabilities_each():
    model = Fixed(TWO)
    assert model.predict([[0], [0]]).tolist() == [["no", 4], ["yes", 4]]
    assert [each.tolist() for each in model.predict_proba([[0], [0]])] == [[[1, 0], [0, 1]], [[0, 1], [0, 1]]]
    assert model.score([[0], [0]], [["no", 4], ["yes", 3]]) == 0.5
    assert model.score([[0], [0]], [["no", 4], ["yes", 3]], sample_weight=[3, 1]) == 0.75
    with pytest.raises(ValueError, match="y must have 2 outputs, got 1"):
        model.score([[0], [0]], ["no", "no"])
