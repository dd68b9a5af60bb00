"""Cutting a table into consecutive parts changes no summary: the parts' summaries are parts of the whole's.

So a table in memory and a table in many partitions can run the same code.
"""

from dataclasses import fields, is_dataclass, replace

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.datasets import load_iris

from dplearn.core.gf2 import BitMatrix
from dplearn.learners import ExponentialMechanismClassifier, SecretSampleClassifier
from dplearn.records.rows import taken
from tests.laws.conftest import TRANSFORMERS

IRIS = load_iris(return_X_y=True)
PARTS = [np.arange(0, 1), np.arange(1, 60), np.arange(60, 100)]
SAMPLED = SecretSampleClassifier(ExponentialMechanismClassifier(), sample_size=20)


def same(first, second):
    """Return whether two private values are equal, whatever they are made of."""
    if type(first) is not type(second):
        return False
    if isinstance(first, (list, tuple)):
        return len(first) == len(second) and all(map(same, first, second))
    if issparse(first):
        return (first != second).nnz == 0
    if isinstance(first, pd.DataFrame):
        return first.equals(second)
    if isinstance(first, BitMatrix):
        return bool((first.unpack() == second.unpack()).all())
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    if first is None:
        return True
    attributes = [each.name for each in fields(first)] if is_dataclass(first) else list(vars(first))
    return all(same(getattr(first, name), getattr(second, name)) for name in attributes)


def rows_of_summary(summary):
    return getattr(summary, "records", summary)


def assert_parts_are_summarised_alike(model, X, y):
    params = model._params(reproducible=False)
    table, plan = model._begin(X, y, params)
    if isinstance(model, SecretSampleClassifier):
        model, params, plan = params.inner, params.inner_params, plan.estimator_plan
    whole = rows_of_summary(model._summarize(table, plan))
    for places in PARTS:
        part = model._read(X[places], y[places], params)
        assert part.public.n_samples == len(places)
        assert same(part.public.classes, table.public.classes)
        part = replace(part, public=replace(table.public, n_samples=len(places)))
        assert same(rows_of_summary(model._summarize(part, plan)), taken(whole, places))


def reads_parts(model):
    """Return whether a table's public values are not more than its own: no public rows, and no splits."""
    return getattr(model, "protects", "") == "" and not hasattr(model, "cv")


@pytest.mark.filterwarnings("ignore")
def test_parts_of_a_table_are_summarised_as_parts_of_the_whole(classifier, iris):
    X, y = iris
    if not reads_parts(classifier):
        return
    model = clone(classifier)
    # The law is about summaries; a part of one record has one shard, and not all labels.
    for name, value in {"classes": np.unique(y).tolist(), "n_teachers": 1, "n_parts": 1}.items():
        if name in model.get_params():
            model.set_params(**{name: value})
    assert_parts_are_summarised_alike(model, X, y)


def test_parts_of_a_secret_sample_are_those_of_its_learner():
    model = clone(SAMPLED)
    model.estimator.set_params(classes=[0, 1, 2])
    assert_parts_are_summarised_alike(model, *IRIS)


@pytest.mark.parametrize("transformer", [each for each in TRANSFORMERS if hasattr(each, "plan")], ids=repr)
def test_parts_of_columns_are_summarised_as_parts_of_the_whole(transformer):
    assert_parts_are_summarised_alike(clone(transformer), *IRIS)


def test_a_summary_that_depends_on_the_whole_table_is_caught():
    class Centred(ExponentialMechanismClassifier):
        def _read(self, X, y, params):
            return super()._read(X - X.mean(axis=0), y, params)

    with pytest.raises(AssertionError):
        assert_parts_are_summarised_alike(Centred(classes=[0, 1, 2]), *IRIS)
