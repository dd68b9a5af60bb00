"""In a notebook an estimator shows what it guarantees, or what its fit will cost, under its usual diagram."""

from pathlib import Path

import numpy as np
import pytest
import sklearn
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_html_repr

from dplearn import (
    ApproxDP,
    ParityClassifier,
    SecretSampleClassifier,
    SubsampleAggregateClassifier,
    ThresholdClassifier,
)

UNKNOWN = (ParityClassifier,)  # whether delta is spent depends on how many columns there are


def pytest_generate_tests(metafunc):
    distributions = metafunc.config.pluginmanager.get_plugin(str(Path(__file__).with_name("conftest.py")))
    if "private" in metafunc.fixturenames:
        everyone = [
            each
            for each in (*distributions.PREDICTORS, *distributions.TRANSFORMERS)
            if hasattr(each, "epsilon")
        ]
        metafunc.parametrize("private", everyone, ids=repr)


def shown(estimator):
    """What a notebook shows, by both ways that it may ask."""
    bundle = estimator._repr_mimebundle_()
    assert bundle["text/plain"] == repr(estimator)
    given = (estimator._repr_html_(), bundle["text/html"])
    under = [html.rpartition('<div class="dplearn-guarantee">')[2].removesuffix("</div>") for html in given]
    assert under[0] == under[1]
    return under[0]


def test_an_unfitted_estimator_tells_its_price(private):
    before = vars(private).copy()
    local = (
        getattr(private, "trust_model", None) == "local"
        or getattr(private, "method", None) == "interior_point"
    )
    delta = 0 if local else getattr(private, "delta", 0)
    delta = 0 if delta == "auto" else delta  # the search's candidates have none
    tells = f" A fit will spend epsilon {private.epsilon:.15g}, delta {delta:g}."
    tells = "" if isinstance(private, UNKNOWN) else tells
    assert shown(private) == f"Not fitted.{tells}"
    assert vars(private) == before


def test_a_fitted_estimator_tells_its_guarantee(private):
    fitted = clone(private)
    fitted.guarantee_ = ApproxDP(0.25, assumes=["<b> is public"])
    assert fitted.guarantee_._repr_html_() in fitted._repr_html_()
    assert "&lt;b&gt; is public" in shown(fitted)
    assert "Not fitted" not in shown(fitted)


def test_where_texts_are_wanted_there_is_no_html(private):
    with sklearn.config_context(display="text"):
        assert not hasattr(private, "_repr_html_")
        assert private._repr_mimebundle_() == {"text/plain": repr(private)}


def test_the_text_is_scikit_learns(private):
    plain = object.__new__(
        type(type(private).__name__, (BaseEstimator,), {"__init__": type(private).__init__})
    )
    vars(plain).update(private.get_params(deep=False))
    assert repr(private) == repr(plain)


def test_a_price_that_depends_on_the_data_is_not_told():
    secret = SecretSampleClassifier(ThresholdClassifier(), sample_size=5)
    assert shown(secret) == "Not fitted."


@pytest.mark.parametrize("wrong", [{"epsilon": -1}, {"epsilon": "<b>"}, {"ledger": 3, "method": "none"}])
def test_wrong_parameters_are_for_the_fit_to_refuse(wrong):
    assert shown(ThresholdClassifier(**wrong)) == "Not fitted."


def test_to_be_shown_draws_nothing_from_a_generator():
    generator = np.random.RandomState(3)
    state = generator.get_state()[1].tobytes()
    shown(SubsampleAggregateClassifier(random_state=generator))
    assert generator.get_state()[1].tobytes() == state


def test_a_pipeline_shows_its_diagram():
    pipeline = make_pipeline(ThresholdClassifier(), SubsampleAggregateClassifier())
    assert "SubsampleAggregateClassifier" in pipeline._repr_html_()
    assert estimator_html_repr(pipeline) is not None
