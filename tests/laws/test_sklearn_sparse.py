"""What takes no sparse matrix says how the columns can be given instead, and spends nothing."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils import get_tags

from dplearn import (
    ExponentialMechanismClassifier,
    PointClassifier,
    PrivacyLedger,
    SecretSampleClassifier,
    ThresholdClassifier,
)
from dplearn.domains import Categories, Schema

FRAME = pd.DataFrame({"town": ["north", "south", "east"] * 40, "job": ["clerk", "nurse"] * 60})
LABELS = np.arange(120) % 2


def pytest_generate_tests(metafunc):
    distributions = metafunc.config.pluginmanager.get_plugin(str(Path(__file__).with_name("conftest.py")))
    if "dense" in metafunc.fixturenames:
        every = [
            *distributions.PREDICTORS,
            *distributions.TRANSFORMERS,
            SecretSampleClassifier(ThresholdClassifier(), sample_size=5),
        ]
        kinds = {type(each): each for each in every if not get_tags(each).input_tags.sparse}
        metafunc.parametrize("dense", kinds.values(), ids=lambda each: type(each).__name__)


def test_a_one_hot_encoder_in_front_is_refused_with_the_remedy(dense):
    dense = clone(dense)
    if hasattr(dense, "ledger"):
        dense.ledger = PrivacyLedger(10**15, 0.5, protects=getattr(dense, "protects", "examples"))
    with pytest.raises(TypeError, match=r"dense data is required\. Give .* the data frame itself") as refused:
        make_pipeline(OneHotEncoder(), dense).fit(FRAME, LABELS)
    assert ("domain=Schema(...)" in str(refused.value)) == hasattr(dense, "domain")
    assert type(dense).__name__ in str(refused.value)
    assert not getattr(dense, "ledger", None) or not dense.ledger.history()


def test_the_remedy_works():
    schema = Schema(
        {"town": Categories(["east", "north", "south"]), "job": Categories(["clerk", "nurse"])}, labels=[0, 1]
    )
    fitted = ExponentialMechanismClassifier(epsilon=9, domain=schema).fit(FRAME, LABELS)
    assert fitted.predict(FRAME).shape == (120,)
    assert PointClassifier(epsilon=9, classes=[0, 1]).fit(FRAME, LABELS).predict(FRAME).shape == (120,)
