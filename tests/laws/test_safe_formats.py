"""Fitted learners, transformers and synthetic tables are saved by formats that load trusted types alone.

skops and MLflow are no dependencies: where they are not installed, these tests are skipped.
"""

import warnings
from functools import cache
from importlib import import_module

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import dplearn
from dplearn import TRUSTED_TYPES, PublicData
from dplearn.domains import LargeIntegerRange, Learn
from dplearn.releases import SyntheticTable
from tests.display.test_card import FITTED, X, Y, fitted

N = 4000
RANDOM = np.random.default_rng(0)
JOBS = RANDOM.choice(["clerk", "farmer", None], N)
RAW = pd.DataFrame(
    {
        "job": JOBS,
        "age": RANDOM.integers(18, 90, N),
        "works": RANDOM.random(N) < 0.5,
        "hired": pd.to_datetime("2020-01-01") + pd.to_timedelta(RANDOM.integers(0, 900, N), unit="D"),
        "size": pd.Categorical(RANDOM.choice(["S", "M"], N), ["S", "M"], ordered=True),
    }
)
LABELS = np.where(RAW["age"] > 60, "old", "young")
KINDS = Learn({"hired": "dates"})
CODED = OneHotEncoder(handle_unknown="ignore")
#: Learners of the raw table, whose domains are learned.
LEARNED = {
    **{
        name: getattr(dplearn, name)(domain=KINDS)
        for name in (
            "AdditiveClassifier",
            "ExponentialMechanismClassifier",
            "StatisticalQueryLogisticRegression",
            "StatisticalQueryNaiveBayes",
        )
    },
    **{
        name: getattr(dplearn, name)(domain=KINDS, target_range="learn")
        for name in ("AdditiveRegressor", "LinearRegressor")
    },
    "SyntheticDataClassifier": dplearn.SyntheticDataClassifier(make_pipeline(CODED, LogisticRegression())),
    "SyntheticDataRegressor": dplearn.SyntheticDataRegressor(
        make_pipeline(CODED, LinearRegression()), target_range=(18, 90)
    ),
}
ANSWERED = {"SoftLabelAggregateClassifier", "SubsampleAggregateClassifier"}  # a file has no teachers
TRANSFERS = {"KnowledgeTransferClassifier", "SoftLabelTransferClassifier"}
#: Learners with their default estimators.
DEFAULTS = [
    "PrivateLabelsClassifier",
    "SyntheticDataClassifier",
    "SyntheticDataRegressor",
    *sorted(TRANSFERS),
]
ON_TREES = {"PrivateLabelsClassifier", "SyntheticDataRegressor"}  # the fits to small tables
#: The beginnings of the types of default estimators.
OTHERS = ("sklearn.", "numpy.", "functools.partial", "tests.")


@cache
def models():
    """Return fitted objects by name, and a function of each that reads what was released."""
    found = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about few records, and columns of one value
        for name in FITTED.keys() - ANSWERED - TRANSFERS:
            table = 1 * np.signbit(X) if name == "LineClassifier" else X
            found[name] = (fitted(name, X, Y), lambda model, table=table: outcome(model, table))
        for name in TRANSFERS:  # those of the laws are classes of the tests
            model = getattr(dplearn, name)(**FITTED[name].get_params(deep=False))
            found[name] = (model.fit(X, Y, PublicData(X)), lambda model: outcome(model, X))
        for name, learner in LEARNED.items():
            target = LABELS if "Class" in name or "Query" in name else RAW["age"].to_numpy(float)
            found[f"learned {name}"] = (
                clone(learner).fit(RAW, target),
                lambda model: model.predict(RAW[:200]),
            )
        for name in DEFAULTS:
            learner, target = getattr(dplearn, name)(epsilon=5.0), LABELS
            if name.endswith("Regressor"):
                learner, target = learner.set_params(target_range=(18, 90)), RAW["age"].to_numpy(float)
            public = {"X_public": PublicData(RAW)} if name in TRANSFERS else {}
            found[f"default {name}"] = (
                learner.fit(RAW, target, **public),
                lambda model: model.predict(RAW[:200]),
            )
        of_reports = dplearn.PrivateLabelsClassifier(LogisticRegression(), method="reports")
        found["default of reports"] = of_reports.fit(RAW[["age"]], LABELS), lambda model: model.predict([[9]])
        table = SyntheticTable(epsilon=5, domain=KINDS).fit(RAW)
        found["SyntheticTable"] = (table, lambda model: model.sample(50, random_state=0))
        wide = dplearn.ThresholdClassifier(domain=LargeIntegerRange(0, 10**30)).fit(RAW[["age"]], LABELS)
        found["wide ThresholdClassifier"] = (wide, lambda model: model.predict(RAW[["age"]]))
    return found


def outcome(model, table):
    read = model.transform(table) if hasattr(model, "transform") else model.predict(table)
    return read.toarray() if hasattr(read, "toarray") else read


def same(one, other):
    return one.equals(other) if hasattr(one, "equals") else np.array_equal(one, other)


@pytest.fixture(scope="module")
def skops():
    return pytest.importorskip("skops.io")


def test_every_trusted_type_is_of_this_package_or_an_exact_number():
    assert len(set(TRUSTED_TYPES)) == len(TRUSTED_TYPES)
    for name in TRUSTED_TYPES:
        module, _, kind = name.rpartition(".")
        assert callable(getattr(import_module(module), kind))
        assert module.startswith("dplearn.") or name in ("decimal.Decimal", "fractions.Fraction")


def test_models_saved_by_skops_are_loaded_with_the_trusted_types_and_predict_the_same(skops):
    for name, (model, read) in models().items():
        file = skops.dumps(model)
        others = [each for each in skops.get_untrusted_types(data=file) if each.startswith(OTHERS)]
        assert not others or name in {*LEARNED, *map("default {}".format, DEFAULTS), *ON_TREES}, name
        loaded = skops.loads(file, trusted=[*TRUSTED_TYPES, *others])
        assert getattr(loaded, "guarantee_", None) == getattr(model, "guarantee_", None), name
        assert same(read(loaded), read(model)), name


def test_no_other_types_are_trusted(skops):
    needed = {
        each for model, _ in models().values() for each in skops.get_untrusted_types(data=skops.dumps(model))
    }
    own = {each for each in needed if not each.startswith(OTHERS)}
    # Some versions of skops trust these numbers.
    assert own | {"fractions.Fraction", "decimal.Decimal"} == {*TRUSTED_TYPES}


@pytest.mark.nightly
@pytest.mark.filterwarnings("ignore")  # of MLflow itself
def test_mlflow_saves_and_loads_models_in_its_default_format(tmp_path):
    mlflow = pytest.importorskip("mlflow.sklearn")
    for name in ("learned AdditiveClassifier", "learned SyntheticDataClassifier", "PrivatePCA"):
        model, read = models()[name]
        path = tmp_path / name.replace(" ", "_")
        mlflow.save_model(model, path, skops_trusted_types=TRUSTED_TYPES)
        assert same(read(mlflow.load_model(str(path))), read(model))
