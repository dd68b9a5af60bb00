"""Learners that read undeclared numbers as they are say so, with a remedy that helps; others need none."""

import warnings

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from dplearn import (
    AdditiveClassifier,
    ExponentialMechanismClassifier,
    LinearRegressor,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
)
from dplearn.domains import Grid

RNG = np.random.default_rng(0)
X = RNG.uniform(20, 90, (4000, 3))
Y = (X.sum(axis=1) > 165).astype(int)
TEXT = "domain is None: numbers are read as they are"
READ_AS_THEY_ARE = [
    StatisticalQueryNaiveBayes(epsilon=9, classes=[0, 1]),
    StatisticalQueryLogisticRegression(epsilon=9, classes=[0, 1]),
    LinearRegressor(epsilon=9, target_range=(0, 1)),
]
SCALED_BY_THEMSELVES = [
    AdditiveClassifier(epsilon=9, classes=[0, 1]),
    ExponentialMechanismClassifier(epsilon=9, classes=[0, 1]),
]
models = pytest.mark.parametrize("model", READ_AS_THEY_ARE, ids=lambda model: type(model).__name__)


def warned(model, X=X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, Y)
    return sum(str(each.message).startswith(TEXT) for each in caught)


@models
@pytest.mark.first_by_day
@pytest.mark.parametrize("scale", [1e4, 1e-9])
def test_the_remedies_help_and_end_the_warning(model, scale):
    kind, kept = type(model), model.get_params()
    declared = Grid(20 * scale, 90 * scale, outside="clip")
    for domain in (declared, "learn"):
        remedied = kind(**kept | {"domain": domain})
        assert (warned(model, X * scale), warned(remedied, X * scale)) == (1, 0)
        assert ((remedied.predict(X * scale) > 0.5) == Y).mean() > 0.85


@pytest.mark.parametrize("scale", [1, 1e4, 1e-9])
@pytest.mark.parametrize("model", SCALED_BY_THEMSELVES, ids=lambda model: type(model).__name__)
def test_others_need_no_remedy(model, scale):
    assert warned(model, X * scale) == 0
    assert model.score(X * scale, Y) > 0.7


def test_sparse_rows_have_no_bounds_to_declare():
    assert warned(READ_AS_THEY_ARE[1], csr_matrix(X)) == 0
