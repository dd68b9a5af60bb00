"""All estimators, in the settings that differ: a law over them is a test with the fixture `classifier`."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.utils.estimator_checks import parametrize_with_checks

from dplearn import ExponentialMechanismClassifier
from dplearn.preprocessing import CellEncoder

CLASSIFIERS = (
    ExponentialMechanismClassifier(),
    ExponentialMechanismClassifier(mechanism="permute_and_flip"),
    ExponentialMechanismClassifier("thresholds", epsilon=0.1),
    ExponentialMechanismClassifier("conjunctions"),
)
TRANSFORMERS = (CellEncoder(),)


def pytest_generate_tests(metafunc):
    if "classifier" in metafunc.fixturenames:
        metafunc.parametrize("classifier", CLASSIFIERS, ids=repr)
    if "common_check" in metafunc.fixturenames:
        checks = parametrize_with_checks([*CLASSIFIERS, *TRANSFORMERS])
        metafunc.parametrize("checked_estimator, common_check", checks.args[1], ids=checks.kwargs["ids"])


@pytest.fixture
def iris(classifier):
    """Iris, with two of the three species where the classifier knows no more."""
    X, y = load_iris(return_X_y=True)
    keep = y != 1 if not classifier.__sklearn_tags__().classifier_tags.multi_class else np.ones(len(y), bool)
    return X[keep], y[keep]


@pytest.fixture
def fitted(classifier, iris):
    return clone(classifier).fit(*iris)
