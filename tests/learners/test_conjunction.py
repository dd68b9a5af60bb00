"""Private conjunctions as their users meet them."""

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dplearn import BudgetExceededError, PrivacyLedger
from dplearn.domains import Bits, Categories, DomainError, IntegerRange, Schema
from dplearn.learners.conjunction import ConjunctionClassifier

MODELS = ["central", "local"]
BITS = Bits(None)


def bits(n=30_000, d=6, seed=0):
    X = np.random.default_rng(seed).integers(0, 2, (n, d))
    return X, X[:, 1] & ~X[:, 3] & 1


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_conjunction_of_bits_is_found(model, delta):
    X, y = bits(400_000 if model == "local" else 30_000)
    learner = ConjunctionClassifier(epsilon=4, delta=delta, model=model, domain=BITS, alpha=0.3)
    plan, fitted = learner.plan(len(X), n_features=6), learner.fit(X, y)
    assert repr(fitted.concept_) == "1 if x1 and not x3, else 0"
    assert fitted.score(X, y) == 1
    assert plan.guarantee == fitted.guarantee_
    assert plan.noise == fitted.noise_
    assert plan.n_needed <= plan.n_samples
    assert plan.error <= 0.3
    assert fitted.guarantee_.delta == 0


@pytest.mark.parametrize("positive", ["low", "high"])
def test_either_label_can_be_the_positive_one(positive):
    X, y = bits()
    labels = np.array(["high", "low"])
    y = labels[y] if positive == "low" else labels[::-1][y]
    fitted = ConjunctionClassifier(epsilon=4, domain=BITS, positive=positive, alpha=0.3).fit(X, y)
    assert fitted.score(X, y) == 1
    assert repr(fitted.concept_).startswith(repr(positive))
    assert fitted.predict_proba(X[:3]).tolist() == (y[:3, None] == fitted.classes_).astype(float).tolist()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_ranges_and_lists_of_declared_columns(frame):
    rng = np.random.default_rng(0)
    age, town = rng.integers(0, 80, 40_000), rng.choice(["a", "b", "c"], 40_000)
    y = np.where((age >= 20) & (age < 60) & (town != "b"), "yes", "no")
    schema = Schema({"age": IntegerRange(0, 79), "town": Categories(["a", "b", "c"])}, labels=["no", "yes"])
    X = frame({"age": age.tolist(), "town": town.tolist()})
    fitted = ConjunctionClassifier(domain=schema, alpha=0.2).fit(X, y)
    assert repr(fitted.concept_) == "'yes' if age > 19 and age <= 59 and town != 'b', else 'no'"
    assert fitted.score(X, y) == 1
    assert fitted.predict(frame({"age": [30], "town": ["elsewhere"]})).tolist() == ["no"]


def test_few_records_are_warned_of_by_public_numbers():
    X, y = bits(50)
    with pytest.warns(
        UserWarning, match=r"n_samples is 50: alpha=0.1 and beta=0.05 take \d+ records in the worst case"
    ):
        ConjunctionClassifier(domain=BITS).fit(X, y)


def test_a_rare_exception_does_not_undo_a_condition():
    X, y = bits()
    y[:10] = 1 - y[:10]
    fitted = ConjunctionClassifier(epsilon=4, domain=BITS, alpha=0.3).fit(X, y)
    assert repr(fitted.concept_) == "1 if x1 and not x3, else 0"


def test_labels_that_are_often_wrong_leave_no_condition():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (50_000, 10))
    y = X[:, 1] & X[:, 4] & (1 - X[:, 7])
    wrong = rng.random(len(y)) < 0.1
    learner = ConjunctionClassifier(classes=[0, 1], random_state=0)
    assert str(learner.fit(X, y).concept_) == "1 if x1 > 0 and x4 > 0 and x7 <= 0, else 0"
    assert str(learner.fit(X, np.where(wrong, 1 - y, y)).concept_) == "always 1"


def test_searches_are_charged_and_copies_predict_alike():
    X, y = bits()
    ledger = PrivacyLedger(16)
    learner = ConjunctionClassifier(epsilon=4, ledger=ledger, domain=BITS, classes=[0, 1], alpha=0.3)
    pipeline = make_pipeline(FunctionTransformer(), learner)
    search = GridSearchCV(pipeline, {"conjunctionclassifier__alpha": [0.3]}, cv=3).fit(X, y)
    assert (pickle.loads(pickle.dumps(search)).predict(X) == y).all()
    with pytest.raises(BudgetExceededError):
        clone(learner).fit(X, y)


def test_an_integer_makes_a_fit_repeatable_and_says_so():
    X, y = bits(300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fits = [ConjunctionClassifier(domain=BITS, random_state=0).fit(X, y) for _ in range(2)]
    assert fits[0].concept_ == fits[1].concept_
    assert fits[0].guarantee_.reproducible


def test_delta_is_spent_where_columns_are_many():
    learner = ConjunctionClassifier(delta=1e-6)
    many, few = (learner.plan(10**6, n_features=d) for d in (100, 3))
    assert (many.noise, many.guarantee.delta) == ("gaussian", Fraction(1, 10**6))
    assert (few.noise, few.guarantee.delta) == ("laplace", 0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": -1}, "epsilon must be a finite number above 0"),
        ({"model": "shuffle"}, "model must be one of 'central', 'local'"),
        ({"n_bins": 1}, "n_bins must be an integer from 2 to 4096, got 1"),
        ({"alpha": 1}, "alpha must be a finite number above 0 and below 1"),
        ({"beta": 0}, "beta must be a finite number above 0 and below 1"),
        ({"positive": 2}, "positive must be one of the two labels, got 2"),
        ({"classes": [0, 1, 2]}, "a conjunction needs 2 classes, got 3 classes"),
        ({"classes": [0, 1], "positive": "x"}, "positive must be one of the two labels, got 'x'"),
    ],
)
def test_bad_parameters_are_refused_by_name(parameters, message):
    X, y = bits(10)
    with pytest.raises(ValueError, match=message):
        ConjunctionClassifier(**parameters).fit(X, y)


def test_what_cannot_be_done_is_refused():
    X, y = bits(4)
    with pytest.raises(ValueError, match="needs a record for each of 6 columns, got n_samples=4"):
        ConjunctionClassifier(model="local", classes=[0, 1]).fit(X, y)
    with pytest.raises(DomainError, match="values are 0 or 1"):
        ConjunctionClassifier(domain=BITS, classes=[0, 1]).fit(X + 1, y)
    with pytest.raises(ValueError, match="n_features must be given, since domain does not tell it"):
        ConjunctionClassifier().plan(10)
