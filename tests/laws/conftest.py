"""All estimators, in the settings that differ: a law over them is a test with the fixture `classifier`
or `any_transformer`."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from dplearn import (
    ApproxDP,
    ConjunctionClassifier,
    ExponentialMechanismClassifier,
    KnowledgeTransferClassifier,
    MaskedParityClassifier,
    ParityClassifier,
    PointClassifier,
    PrivacyLedger,
    SoftLabelAggregateClassifier,
    SoftLabelTransferClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
    ThresholdClassifier,
)
from dplearn.domains import Grid
from dplearn.learners.online import OnlineEnsembleClassifier
from dplearn.model_selection import PrivateSearchCV
from dplearn.preprocessing import (
    CellEncoder,
    PrivateKBinsDiscretizer,
    PrivateMinMaxClipper,
    PrivateQuantileTransformer,
    PrivateRobustScaler,
)

#: Can only answer None on iris, where every measurement is above 0 and so counts as 1.
STABLE_PARITY = ParityClassifier(method="stable", delta=1e-6)
#: Can only answer None on iris, where no flower comes often enough.
STABLE_POINT = PointClassifier(epsilon=1e5, method="stability", delta=1e-6)
SILENT = (STABLE_PARITY, STABLE_POINT)
#: Steps at an epsilon between those of two others; and one round where others have two.
MORE_STEPS = StatisticalQueryLogisticRegression(delta=1e-6)
ONE_ROUND = MaskedParityClassifier(interactive=False, model="local")
CLASSIFIERS = (
    ExponentialMechanismClassifier(),
    ExponentialMechanismClassifier(mechanism="permute_and_flip"),
    ExponentialMechanismClassifier("thresholds", epsilon=0.1),
    ExponentialMechanismClassifier("conjunctions"),
    ParityClassifier(),
    ParityClassifier(method="elimination", fit_intercept=True),
    STABLE_PARITY,
    ThresholdClassifier(),
    PointClassifier(epsilon=1e5),
    STABLE_POINT,
    ThresholdClassifier(method="interior_point", epsilon=50.0),
    StatisticalQueryNaiveBayes(epsilon=50.0, n_bins=2, domain=Grid(-1000, 1000, outside="clip")),
    StatisticalQueryNaiveBayes(epsilon=50.0, n_bins=4, model="local"),
    StatisticalQueryLogisticRegression(),
    MORE_STEPS,
    StatisticalQueryLogisticRegression(epsilon=100.0, delta=1e-6),
    StatisticalQueryLogisticRegression(model="local"),
    ConjunctionClassifier(),
    ConjunctionClassifier(model="local"),
    MaskedParityClassifier(),
    MaskedParityClassifier(model="local", epsilon=2.0),
    ONE_ROUND,
    # Few records and all these queries take an epsilon that promises nothing.
    SubsampleAggregateClassifier(
        aggregation="sparse_vector", n_teachers=9, epsilon=1e5, max_queries=5000, max_unstable=5000
    ),
    SubsampleAggregateClassifier(aggregation="gnmax", n_teachers=9, epsilon=1e5, max_queries=5000),
    SubsampleAggregateClassifier(
        GaussianNB(), aggregation="confident_gnmax", n_teachers=9, epsilon=1e5, max_queries=5000
    ),
    SubsampleAggregateClassifier(
        GaussianNB(), aggregation="lnmax", n_teachers=9, epsilon=1e5, max_queries=5000
    ),
    SoftLabelAggregateClassifier(aggregation="sparse_vector", n_teachers=9, epsilon=1e5, max_queries=5000),
    SoftLabelAggregateClassifier(
        # Asked twice, it must answer twice alike.
        GaussianNB(),
        aggregation="mean",
        n_teachers=9,
        epsilon=1e12,
        max_queries=5000,
    ),
    PrivateSearchCV(
        ExponentialMechanismClassifier(),
        {"mechanism": ["exponential", "permute_and_flip"]},
        epsilon=100.0,
        method="random_stopping",
        n_iter=3,
    ),
    KnowledgeTransferClassifier(protects="labels"),
    SoftLabelTransferClassifier(None, make_pipeline(StandardScaler(), Ridge()), protects="labels"),
    SoftLabelTransferClassifier(GaussianNB(), GaussianNB(), protects="labels"),
    KnowledgeTransferClassifier(GaussianNB(), GaussianNB(), protects="labels", aggregation="lnmax"),
)
TRANSFORMERS = (
    CellEncoder(),
    PrivateQuantileTransformer(),
    PrivateQuantileTransformer(n_quantiles=3, output_distribution="normal"),
    PrivateRobustScaler(),
    PrivateMinMaxClipper(),
    PrivateKBinsDiscretizer(),
    PrivateKBinsDiscretizer(encode="onehot-dense", strategy="uniform"),
    PrivateKBinsDiscretizer(encode="ordinal"),
)


#: Settings whose ways others go too, and whose many small fits take half of all the time: run at night.
NIGHTLY = [
    each
    for each in CLASSIFIERS
    if getattr(each, "aggregation", None) in ("confident_gnmax", "lnmax", "mean")
    or (isinstance(each, SoftLabelTransferClassifier) and each.estimator is None)
    or each is MORE_STEPS
    or each is ONE_ROUND
]


def settings(estimators):
    """Return estimators as parameters, some of them for the night."""
    return [
        pytest.param(each, marks=pytest.mark.nightly if any(each is late for late in NIGHTLY) else ())
        for each in estimators
    ]


def in_its_time(check):
    """Return one of scikit-learn's checks, which is at least an estimator and a function, as a parameter."""
    values, marks = getattr(check, "values", check), getattr(check, "marks", ())
    late = [pytest.mark.nightly] if any(values[0] is each for each in NIGHTLY) else []
    return pytest.param(*values, marks=[*marks, *late])


def expected_failures(estimator):
    """Which of scikit-learn's checks an estimator fails on purpose, and why."""
    if isinstance(estimator, PrivateSearchCV):
        reason = "no unfitted private estimator is pickled alike twice, lest a cache takes one for another"
        return {"check_estimators_overwrite_params": reason}
    if not isinstance(estimator, OnlineEnsembleClassifier):
        return {}
    return {"check_estimators_pickle": "a pickle holds no teachers: what unpickled could answer twice"}


def pytest_generate_tests(metafunc):
    if "classifier" in metafunc.fixturenames:
        draws = [each for each in CLASSIFIERS if not get_tags(each).non_deterministic]
        chosen = draws if "fit_draws" in metafunc.fixturenames else CLASSIFIERS
        if "speaks" in metafunc.fixturenames:
            chosen = [each for each in chosen if each not in SILENT]
        metafunc.parametrize("classifier", settings(chosen), ids=repr)
    if "any_transformer" in metafunc.fixturenames:
        metafunc.parametrize("any_transformer", TRANSFORMERS, ids=repr)
    if "common_check" in metafunc.fixturenames:
        checks = parametrize_with_checks(
            [*CLASSIFIERS, *TRANSFORMERS], expected_failed_checks=expected_failures
        )
        parameters = [in_its_time(check) for check in checks.args[1]]
        metafunc.parametrize("checked_estimator, common_check", parameters, ids=checks.kwargs["ids"])


@pytest.fixture
def fit_draws():
    """Restrict a test to classifiers that release when they fit, and not only when they are asked."""


@pytest.fixture
def speaks():
    """Restrict a test to classifiers that can answer anything but None on iris."""


@pytest.fixture
def budget(classifier):
    """From a number of fits, and an epsilon if it is another, to a ledger that holds as many."""

    def of(fits, epsilon=classifier.epsilon):
        delta = getattr(classifier, "delta", 0)
        price = ApproxDP(epsilon, 0 if delta == "auto" else delta)  # the search's candidates have none
        protects = getattr(classifier, "protects", "examples")
        return PrivacyLedger(fits * price.epsilon, fits * price.delta, protects=protects)

    return of


@pytest.fixture
def iris(classifier):
    """Iris, with two of the three species where the classifier knows no more."""
    X, y = load_iris(return_X_y=True)
    keep = y != 1 if not classifier.__sklearn_tags__().classifier_tags.multi_class else np.ones(len(y), bool)
    return X[keep], y[keep]


@pytest.fixture
def fitted(classifier, iris):
    return clone(classifier).fit(*iris)
