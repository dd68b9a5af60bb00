"""Long values are written in short for people, and in full where a seed's stream depends on them."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from dplearn import (
    ExponentialMechanismClassifier,
    KnowledgeTransferClassifier,
    SecretSampleClassifier,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
)
from dplearn._writing import LONGEST, brief, in_full, shortened
from dplearn.domains import Bits, Categories, IntegerRange, Product, Schema
from dplearn.model_selection import PrivateSearchCV

WORDS = [f"word number {place}" for place in range(2_000)]
SCHEMA = Schema({"age": IntegerRange(0, 9), "town": Categories(WORDS)}, labels=WORDS[:1000])
PIPELINE = make_pipeline(OneHotEncoder(categories=[WORDS] * 9), LogisticRegression())
LONG = {
    "schema": (ExponentialMechanismClassifier(domain=SCHEMA), "domain=Schema(2 columns, labels=1000)"),
    "classes": (StatisticalQueryNaiveBayes(classes=list(range(1000))), "1,000 in all]"),
    "array": (StatisticalQueryNaiveBayes(classes=np.arange(1000)), "classes=ndarray of shape (1000,)"),
    "product": (StatisticalQueryNaiveBayes(domain=Product([Bits()] * 500)), "domain=Product(500 columns)"),
    "categories": (ExponentialMechanismClassifier(domain=Categories(WORDS)), "2,000 in all], other=False)"),
    "pipeline": (SubsampleAggregateClassifier(PIPELINE), "estimator=Pipeline(...)"),
    "student": (KnowledgeTransferClassifier(student=PIPELINE), "student=Pipeline(...)"),
    "search": (
        PrivateSearchCV(ExponentialMechanismClassifier(domain=SCHEMA), {"domain": [SCHEMA] * 9}),
        "Schema(2 columns, labels=1000)",
    ),
}


@pytest.mark.first_by_day
@pytest.mark.parametrize("name", LONG)
def test_an_estimator_is_written_in_short(name):
    model, given = LONG[name]
    text = repr(model)
    assert given in text
    assert len("".join(text.split())) < 400
    assert str(model) == text
    if name not in ("pipeline", "student"):  # there scikit-learn shows parts that are not ours
        assert "word number 30" not in model._repr_html_()


def test_a_short_text_can_be_read_back_and_a_shortened_one_cannot():
    small = Schema({"a": IntegerRange(0, 3), "b": Bits()}, labels=[0, 1])
    assert eval(repr(small)) == small
    assert len(repr(small)) <= LONGEST
    for long in (SCHEMA, Categories(WORDS), Product([Bits()] * 500)):
        with pytest.raises(SyntaxError):
            eval(repr(long))


def test_a_seed_gives_other_noise_for_another_domain_that_is_written_alike(monkeypatch):
    class Drawn(Exception):  # noqa: N818 - with what was drawn
        pass

    def execute(*given, dice, **more):
        raise Drawn([dice.below(1 << 40) for _ in range(2)])

    monkeypatch.setattr("dplearn.estimator.base.execute", execute)

    def first_draws(last):
        domain = Product([Categories([*WORDS[:99], last])] * 20)
        model = SecretSampleClassifier(
            ExponentialMechanismClassifier(domain=domain, classes=[0, 1]), sample_size=9, random_state=0
        )
        assert repr(model.estimator.domain) == "Product(20 columns)"
        with pytest.raises(Drawn) as drawn:
            model.fit([["w"] * 20], [0])
        return drawn.value.args

    assert first_draws("a") == first_draws("a") != first_draws("b")


def test_texts_in_full_hold_everything():
    with in_full():
        assert all(len(repr(each)) > 10_000 for each in (SCHEMA, Categories(WORDS), [SCHEMA]))
        assert len(brief(WORDS)) > 10_000
        assert shortened(WORDS) is WORDS
    assert len(repr(SCHEMA)) < LONGEST


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (list(range(9)), "[0, 1, 2, 3, 4, 5, 6, 7, 8]"),
        (("a" * 200,), f"('{'a' * 27}...{'a' * 27}')"),
        ({0: range(10**6)}, "{0: range(0, 1000000)}"),
        (set(range(99)), "{" + ", ".join(map(str, range(18))) + ", ... 99 in all}"),
        (pd.DataFrame({"a": range(99)}), "DataFrame of shape (99, 1)"),
        (np.arange(3), "array([0, 1, 2])"),
    ],
    ids=["list", "tuple", "mapping", "set", "frame", "array"],
)
def test_values_are_written_in_short(value, text):
    assert brief(value) == text
