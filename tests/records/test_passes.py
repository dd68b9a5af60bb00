"""Tasks of a pass: their errors are results, and no setting of a thread changes them."""

import pickle

import numpy as np

from dplearn.domains import DomainError
from dplearn.records.passes import Task


def test_an_error_of_a_task_is_a_result_without_the_variables_of_its_frames():
    def function(X, y):
        try:
            raise KeyError(str(X))
        except KeyError as error:
            raise DomainError("X is outside its domain") from error

    error = Task(function)("a secret", None).error
    assert (type(error), error.args) == (DomainError, ("X is outside its domain",))
    assert error.__traceback__ is error.__cause__ is error.__context__ is None
    assert b"secret" not in pickle.dumps(error)


def test_float_errors_depend_on_no_setting_of_the_thread():
    with np.errstate(all="raise"):
        assert Task(lambda X, y: np.float64(1.0) / X)(np.float64(0.0), None).value == np.inf
