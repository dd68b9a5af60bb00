"""Arguments of fit besides the data are refused, without values in the message."""

import numpy as np
import pytest

from dplearn.estimator.fit_parameters import refuse_parameters


def test_nothing_and_no_weights_are_accepted():
    refuse_parameters("Learner", {})
    refuse_parameters("Learner", {"sample_weight": None})


@pytest.mark.parametrize("weights", [[7.25], np.array([7.25]), 7.25, 0])
def test_weights_are_refused_before_any_other_parameter(weights):
    with pytest.raises(TypeError, match=r"^Learner\.fit takes no sample_weight: ") as refused:
        refuse_parameters("Learner", {"groups": 1, "sample_weight": weights})
    assert "7.25" not in str(refused.value)


def test_another_parameter_is_refused_as_python_does_it():
    with pytest.raises(TypeError, match=r"^Learner\.fit\(\) got an unexpected keyword argument 'groups'$"):
        refuse_parameters("Learner", {"groups": None})
