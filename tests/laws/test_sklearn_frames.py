"""Every transformer names its columns, gives frames where it is asked to, and refuses other names."""

from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import ClassNamePrefixFeaturesOutMixin, clone
from sklearn.pipeline import make_pipeline

NUMBERS = np.linspace(-3, 3, 90).reshape(30, 3)
NAMES = ["age", "wage", "height"]


def pytest_generate_tests(metafunc):
    distributions = metafunc.config.pluginmanager.get_plugin(str(Path(__file__).with_name("conftest.py")))
    if "transformer" in metafunc.fixturenames:
        metafunc.parametrize("transformer", distributions.TRANSFORMERS, ids=repr)


@pytest.fixture(params=[pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def frame(request):
    return request.param(dict(zip(NAMES, NUMBERS.T, strict=True)))


@pytest.fixture
def fitted(transformer, frame):
    return clone(transformer).fit(frame)


@pytest.mark.parametrize("container", [pd, pl], ids=["pandas", "polars"])
def test_a_frame_that_is_asked_for_has_the_names_that_are_told(fitted, frame, container):
    plain = fitted.transform(frame)
    plain = plain.toarray() if hasattr(plain, "toarray") else np.asarray(plain)
    if hasattr(fitted.transform(frame), "toarray"):
        fitted.set_params(encode="onehot-dense")  # scikit-learn puts no sparse matrix into a frame
    made = fitted.set_output(transform=container.__name__).transform(frame)
    assert isinstance(made, container.DataFrame)
    assert list(made.columns) == fitted.get_feature_names_out().tolist()
    assert np.array_equal(made.to_numpy(), plain, equal_nan=True)


def test_names_that_come_in_are_known_and_in_those_that_go_out(fitted):
    assert fitted.feature_names_in_.tolist() == NAMES
    out = fitted.get_feature_names_out().tolist()
    assert len(set(out)) == len(out)
    if isinstance(fitted, ClassNamePrefixFeaturesOutMixin):  # its columns are none of the input's
        assert all(name.startswith(type(fitted).__name__.lower()) for name in out)
        return
    assert {name for name in NAMES if any(other.startswith(name) for other in out)} == set(NAMES)
    assert fitted.get_feature_names_out(NAMES).tolist() == out


def test_other_names_are_refused(fitted, frame):
    other = frame.rename(
        **{"columns": {"age": "years"}} if isinstance(frame, pd.DataFrame) else {"mapping": {"age": "years"}}
    )
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(other)
    with pytest.raises(ValueError, match="input_features is not equal to feature_names_in_"):
        fitted.get_feature_names_out(["years", "wage", "height"])


def test_without_names_columns_are_numbered(transformer):
    fitted = clone(transformer).fit(NUMBERS)
    assert not hasattr(fitted, "feature_names_in_")
    out = fitted.get_feature_names_out().tolist()
    if isinstance(fitted, ClassNamePrefixFeaturesOutMixin):
        assert out[0] == f"{type(fitted).__name__.lower()}0"
        return
    assert all(any(name.startswith(f"x{i}") for name in out) for i in range(3))


def test_a_pipeline_hands_frames_and_names_on(transformer, frame):
    if getattr(transformer, "encode", None) == "onehot":
        transformer = clone(transformer).set_params(encode="onehot-dense")
    pipeline = make_pipeline(clone(transformer), clone(transformer)).set_output(transform="pandas")
    made = pipeline.fit_transform(frame)
    assert list(made.columns) == pipeline.get_feature_names_out().tolist()
