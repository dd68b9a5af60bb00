"""Passes: errors of tasks are results, and all parts have the same types."""

import pickle

import numpy as np
import pandas as pd

from dplearn.domains import DomainError
from dplearn.table import Task


def test_an_error_of_a_task_is_a_result_without_the_variables_of_its_frames():
    def function(X, y):
        try:
            raise KeyError(str(X))
        except KeyError as error:
            outside = DomainError("X is outside its domain")
            outside.add_note(str(X))
            raise outside from error

    error = Task(function)("a secret", None).error
    assert (type(error), error.args) == (DomainError, ("X is outside its domain",))
    assert error.__traceback__ is error.__cause__ is error.__context__ is None
    assert b"secret" not in pickle.dumps(error)
    with np.errstate(all="raise"):  # of the thread that runs it
        assert Task(lambda X, y: np.float64(1.0) / X)(np.float64(0.0), None).value == np.inf


FRAME = pd.DataFrame({"age": [1, 2], "town": [3, 4]})
