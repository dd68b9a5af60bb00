"""All estimators, in the settings that differ: a law over them is a test with the fixture `classifier`,
which is a classifier or a regressor, or `any_transformer`; with `one_a_class` too, one setting of each class
runs with every change, all at night.
"""

import re
from dataclasses import dataclass, fields
from functools import cache, cached_property, partial
from inspect import signature
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from dplearn import (
    AdditiveClassifier,
    AdditiveRegressor,
    ApproxDP,
    ConjunctionClassifier,
    CornerClassifier,
    ExponentialMechanismClassifier,
    LinearRegressor,
    LineClassifier,
    MaskedParityClassifier,
    ParityClassifier,
    PointClassifier,
    PrivacyLedger,
    PrivateMultiOutputClassifier,
    PublicData,
    SoftLabelAggregateClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
    SyntheticDataClassifier,
    SyntheticDataRegressor,
    ThresholdClassifier,
    learners,
)
from dplearn.audit import (
    AuditCase,
    PrivacyReport,
    StagedFit,
    WholeFit,
    distribution_on,
    least_exp_epsilon,
    replay_violations,
)
from dplearn.chance import SeededDice
from dplearn.concepts import CONCEPT_CLASSES, Corners, Thresholds
from dplearn.domains import Floats, Grid
from dplearn.estimator import PrivateClassifier
from dplearn.learners.votes import OnlineEnsembleClassifier
from dplearn.model_selection import PrivateSearchCV, PrivateTunedThresholdClassifier
from dplearn.preprocessing import (
    CellEncoder,
    PrivateKBinsDiscretizer,
    PrivateKMeans,
    PrivateMinMaxClipper,
    PrivatePCA,
    PrivateQuantileTransformer,
    PrivateRobustScaler,
    PrivateStandardScaler,
)
from dplearn.privacy import Guarantee
from dplearn.table.features import as_product, read_features
from tests.audit.changed import OnItsOwnRows, with_recipe


@dataclass(frozen=True)
class OnePair(AuditCase):
    """A case over two neighbours alone; mutants are compared with the unchanged code's distributions on them.

    On a witness, neighbours that a mistake is known to show on, a mutant is caught in a moment; that it is
    caught over the whole universe too is for the night. What makes no draw in a whole fit runs once a table;
    replay runs all of it.
    """

    pair: tuple = ()
    staged: bool = (
        True  # False where a mistake is in a learner's methods, which a fit in stages does not call
    )

    @classmethod
    def of(cls, case, pair, *, staged=True):
        one, other = pair
        assert {*one, *other} <= set(case.universe)
        assert len(one) == case.n
        if case.claim.neighbors == "replace_one":
            assert sum(mine != theirs for mine, theirs in zip(one, other, strict=True)) == 1
        else:
            assert other in [(*one[:place], *one[place + 1 :]) for place in range(case.n)]
        kept = {each.name: getattr(case, each.name) for each in fields(AuditCase)}
        return cls(**kept, pair=(one, other), staged=staged)

    @cached_property
    def distributions(self):
        fit = StagedFit(self.fit) if self.staged and isinstance(self.fit, WholeFit) else self.fit
        return {rows: distribution_on(fit, rows, self.tail_bits) for rows in self.pair}

    def run(self):
        both = [self.distributions[rows] for rows in self.pair]
        found = [least_exp_epsilon(*distributions, self.claim.delta) for distributions in (both, both[::-1])]
        worst, event = max(found, key=lambda each: (each[0] is None, each[0] or 0))
        n_distributions, n_outcomes = (
            len({distribution.key() for distribution in both}),
            len(both[0].masses.keys() | both[1].masses.keys()),
        )
        how = (self.claim.neighbors, self.pair, event, 2, 1, n_distributions, n_outcomes)
        return PrivacyReport(worst, self.claim.delta, *how)

    def replay(self, seeds=3):
        return [
            found
            for rows in (self.pair, self.pair[::-1])
            if self.rules is not None
            for seed in range(seeds)
            for found in replay_violations(
                *(partial(self.fit, each) for each in rows), SeededDice(seed, self.name), self.rules
            )
        ]

    @cached_property
    def own_digest(self):
        return self.digest()

    def frozen(self):
        return {"digest": self.own_digest}

    def is_kept(self):
        return self.run().keeps(self.claim) and self.replay() == []


def of_residues(own):
    return lambda fit, X, y, reader: own(fit, residues(reader, X, fit.p, reset=True), y, fit.reader())


@dataclass(eq=False, repr=False)
class LineOfAnyTable(with_recipe(LineClassifier, encoded=of_residues)):
    # Lines take two columns of residues, as few tables have them. This learner takes any table, and makes
    # residues of the codes of its first and its last column.

    __doc__ = LineClassifier.__doc__

    p: int = 11

    def _codes(self, X):
        check_is_fitted(self)
        return self.concept_.predict(list(residues(self, X, self.p, reset=False).T))


def residues(estimator, X, p, reset):
    X = read_features(estimator, X, domain=Floats(), reset=reset)
    codes = as_product(Floats(), X.shape[1], None).encode(X)
    return np.column_stack([codes[0] % np.uint64(p), codes[-1] % np.uint64(p)])


@dataclass(eq=False, repr=False)
class KnowledgeTransferClassifier(OnItsOwnRows, learners.KnowledgeTransferClassifier):
    __doc__ = learners.KnowledgeTransferClassifier.__doc__


@dataclass(eq=False, repr=False)
class SoftLabelTransferClassifier(OnItsOwnRows, learners.SoftLabelTransferClassifier):
    __doc__ = learners.SoftLabelTransferClassifier.__doc__


@dataclass(eq=False, repr=False)
class PrivateLabelsClassifier(learners.PrivateLabelsClassifier):
    # Of few trees, so that it is fitted soon.
    __doc__ = learners.PrivateLabelsClassifier.__doc__
    default_trees = 3


# Thresholds are of one column and corners of two; scikit-learn's checks fit tables of any number of columns.
class ThresholdsOfAnyTable(Thresholds):
    @classmethod
    def over(cls, domain, n_labels):
        return Thresholds(domain, n_labels, feature=0)


class CornersOfAnyTable(Corners):
    @classmethod
    def over(cls, domain, n_labels):
        return Corners(domain, n_labels, features=list(range(len(domain)))[:2])


CONCEPT_CLASSES.update({"thresholds of x0": ThresholdsOfAnyTable, "corners of x0, x1": CornersOfAnyTable})
#: Concept classes over a range of numbers, which tables in parts take where it is declared and coarse.
OF_NUMBERS = ("stumps", "thresholds of x0", "corners of x0, x1")
#: Can only answer None on iris, where every measurement is above 0 and so counts as 1.
STABLE_PARITY = ParityClassifier(method="stable", delta=1e-6)
#: Can only answer None on iris, where no flower comes often enough.
STABLE_POINT = PointClassifier(epsilon=1e5, method="stability", delta=1e-6)
#: Can only answer None on iris, where both labels come anywhere, and so no line has a large lead.
STABLE_LINE = LineOfAnyTable(method="stability", delta=1e-6)
SILENT = (STABLE_PARITY, STABLE_POINT, STABLE_LINE)
#: Steps at an epsilon between those of two others; and one round where others have two.
MORE_STEPS = StatisticalQueryLogisticRegression(delta=1e-6)
ONE_ROUND = MaskedParityClassifier(interactive=False, trust_model="local")
#: On which additive models have few cells, and so are fitted soon.
FEW_VALUES = Grid(-8, 8, size=4, outside="clip")
METHODS = {"method": ["exponential", "permute_and_flip"]}
#: Few records and all these queries take an epsilon that guarantees nothing.
ASKED_OFTEN, OFTEN_UNSURE = {"n_teachers": 9, "epsilon": 1e5, "max_queries": 5000}, {"max_abstentions": 5000}
CLASSIFIERS = (
    ExponentialMechanismClassifier(),
    ExponentialMechanismClassifier(method="permute_and_flip"),
    ExponentialMechanismClassifier("thresholds of x0", epsilon=0.1),
    ExponentialMechanismClassifier("conjunctions"),
    ExponentialMechanismClassifier("corners of x0, x1"),
    ExponentialMechanismClassifier(protects="labels"),
    ParityClassifier(),
    ParityClassifier(method="elimination", fit_intercept=True),
    STABLE_PARITY,
    ThresholdClassifier(),
    PointClassifier(epsilon=1e5),
    STABLE_POINT,
    PointClassifier(epsilon=1e5, prefixes=True),
    PointClassifier(epsilon=1e5, n_keys=3),
    LineOfAnyTable(epsilon=50.0),
    STABLE_LINE,
    ThresholdClassifier(method="interior_point", epsilon=50.0),
    CornerClassifier(epsilon=50.0),
    StatisticalQueryNaiveBayes(epsilon=50.0, n_bins=2, domain=Grid(-1000, 1000, outside="clip")),
    StatisticalQueryNaiveBayes(epsilon=50.0, n_bins=4, trust_model="local"),
    StatisticalQueryNaiveBayes(epsilon=500.0, n_bins=2, domain="learn"),
    StatisticalQueryLogisticRegression(epsilon=500.0, domain="learn"),
    StatisticalQueryLogisticRegression(),
    MORE_STEPS,
    StatisticalQueryLogisticRegression(epsilon=100.0, delta=1e-6),
    AdditiveClassifier(domain=FEW_VALUES, delta=0),
    AdditiveClassifier(domain=FEW_VALUES),
    AdditiveClassifier(),
    AdditiveClassifier(delta=0),
    ConjunctionClassifier(),
    ConjunctionClassifier(trust_model="local"),
    MaskedParityClassifier(),
    MaskedParityClassifier(trust_model="local", epsilon=2.0),
    ONE_ROUND,
    SubsampleAggregateClassifier(GaussianNB(), aggregation="sparse_vector", **ASKED_OFTEN, **OFTEN_UNSURE),
    SubsampleAggregateClassifier(GaussianNB(), aggregation="gnmax", **ASKED_OFTEN),
    SubsampleAggregateClassifier(aggregation="sparse_vector", **ASKED_OFTEN, **OFTEN_UNSURE),
    SubsampleAggregateClassifier(aggregation="gnmax", **ASKED_OFTEN),
    SubsampleAggregateClassifier(GaussianNB(), aggregation="confident_gnmax", **ASKED_OFTEN),
    SubsampleAggregateClassifier(GaussianNB(), aggregation="lnmax", **ASKED_OFTEN),
    # Asked twice, it must answer twice alike.
    SoftLabelAggregateClassifier(GaussianNB(), aggregation="mean", **ASKED_OFTEN | {"epsilon": 1e12}),
    SoftLabelAggregateClassifier(GaussianNB(), aggregation="sparse_vector", **ASKED_OFTEN),
    SoftLabelAggregateClassifier(aggregation="sparse_vector", **ASKED_OFTEN),
    PrivateSearchCV(
        ExponentialMechanismClassifier(), METHODS, epsilon=100.0, method="random_stopping", n_iter=3
    ),
    PrivateSearchCV(ExponentialMechanismClassifier(domain="learn"), METHODS, epsilon=1000.0),
    PrivateTunedThresholdClassifier(ExponentialMechanismClassifier(), epsilon=100.0),
    PrivateMultiOutputClassifier(ExponentialMechanismClassifier()),
    SyntheticDataClassifier(GaussianNB(), domain=FEW_VALUES),
    SyntheticDataClassifier(),
    KnowledgeTransferClassifier(GaussianNB(), GaussianNB(), n_teachers=9, epsilon=1e5),
    KnowledgeTransferClassifier(),
    SoftLabelTransferClassifier(GaussianNB(), GaussianNB(), n_teachers=9, epsilon=1e5),
    SoftLabelTransferClassifier(None, make_pipeline(StandardScaler(), Ridge())),
    SoftLabelTransferClassifier(GaussianNB(), GaussianNB()),
    KnowledgeTransferClassifier(GaussianNB(), GaussianNB(), aggregation="lnmax"),
    PrivateLabelsClassifier(),
)
#: Learners that none of these settings is of: as they are by default.
CLASSIFIERS += tuple(
    each()
    for each in (getattr(learners, name) for name in learners.__all__)
    if issubclass(each, PrivateClassifier)
    and not any(isinstance(one, each) for one in CLASSIFIERS)
    and all(one.default is not one.empty for one in signature(each).parameters.values())
)
#: Targets of scikit-learn's checks are within this range, or nearly.
ANY_TARGET = {"target_range": (-1000, 1000), "clip_target": True}
REGRESSORS = (
    LinearRegressor(**ANY_TARGET),
    LinearRegressor(delta=0, **ANY_TARGET),
    AdditiveRegressor(domain=FEW_VALUES, delta=0, **ANY_TARGET),
    AdditiveRegressor(domain=FEW_VALUES, **ANY_TARGET),
    AdditiveRegressor(**ANY_TARGET),
    AdditiveRegressor(delta=0, **ANY_TARGET),
    SyntheticDataRegressor(DecisionTreeRegressor(max_depth=3), domain=FEW_VALUES, delta=0, **ANY_TARGET),
    SyntheticDataRegressor(**ANY_TARGET),
    PrivateSearchCV(LinearRegressor(delta=0, **ANY_TARGET), {"domain": [None, FEW_VALUES]}, epsilon=100.0),
)
PREDICTORS = (*CLASSIFIERS, *REGRESSORS)
TRANSFORMERS = (
    CellEncoder(),
    PrivateQuantileTransformer(),
    PrivateQuantileTransformer(n_quantiles=3, output_distribution="normal"),
    PrivateRobustScaler(),
    PrivateMinMaxClipper(),
    PrivateKBinsDiscretizer(),
    PrivateKBinsDiscretizer(encode="onehot-dense", strategy="uniform"),
    PrivateKBinsDiscretizer(encode="ordinal"),
    PrivateStandardScaler(),
    PrivateStandardScaler(delta=0, domain=FEW_VALUES),
    PrivatePCA(),
    PrivatePCA(domain=FEW_VALUES, epsilon=5.0),
    PrivateKMeans(2),
    PrivateKMeans(2, delta=0, domain=FEW_VALUES),
)


def is_among(each, estimators):
    return any(each is other for other in estimators)


def is_fitted_soon(each):
    """Whether it is no ensemble, or one of few teachers that learn in a moment; for additive models, whether
    columns have few values; for quantiles, whether they are few."""
    if isinstance(each, PrivateQuantileTransformer):
        return each.n_quantiles == 3
    if isinstance(each, SyntheticDataClassifier | SyntheticDataRegressor):
        return each.estimator is not None
    if isinstance(each, AdditiveClassifier | AdditiveRegressor):
        return each.domain is FEW_VALUES
    is_ensemble = isinstance(each, OnlineEnsembleClassifier | learners.KnowledgeTransferClassifier)
    return not is_ensemble or (isinstance(each.estimator, GaussianNB) and each.n_teachers == 9)


#: Settings whose ways others go too, and whose many small fits take most of all the time: run at night.
NIGHTLY = [
    each
    for each in PREDICTORS
    if not is_fitted_soon(each)
    or getattr(each, "aggregation", None) in ("confident_gnmax", "lnmax")
    or each is MORE_STEPS
    or (isinstance(each, StatisticalQueryLogisticRegression) and each.domain == "learn")
    or (isinstance(each, PrivateSearchCV) and each.estimator.domain == "learn")
    or each is ONE_ROUND
]


#: One setting of each class, the first that is fitted soon: it stands for all in laws that do not depend on
#: settings, among them scikit-learn's checks, which fit it often.
STAND_FOR_ALL = list(
    {
        type(each): each
        for each in reversed([*PREDICTORS, *TRANSFORMERS])
        if is_fitted_soon(each) and not is_among(each, NIGHTLY)
    }.values()
)


@cache
def written(each):
    """Return the repr of an estimator, once: it is in the names of hundreds of tests."""
    return repr(each)


def settings(estimators, one_a_class=False):
    """Return estimators as parameters, some of them for the night."""
    late = [
        is_among(each, NIGHTLY) or (one_a_class and not is_among(each, STAND_FOR_ALL)) for each in estimators
    ]
    return [
        pytest.param(each, marks=pytest.mark.nightly if at_night else ())
        for each, at_night in zip(estimators, late, strict=True)
    ]


def faulty(estimators, faults, usual):
    """Return each estimator with each fault: all faults on the first, and usual ones on each of the others,
    run with every change, the rest at night."""
    every = [(each, fault) for each in estimators for fault in faults]
    return [
        pytest.param(each, fault, marks=() if is_quick else pytest.mark.nightly)
        for each, fault in every
        for is_quick in [each is estimators[0] or (fault in usual and not is_among(each, NIGHTLY))]
    ]


ABSTAIN = ("sparse_vector", "confident_gnmax")  # where votes are close


def expected_failures(estimator):
    """Which of scikit-learn's checks an estimator fails on purpose, and why."""
    failures = {}
    tuned = isinstance(estimator, PrivateSearchCV | PrivateTunedThresholdClassifier)
    learner = estimator.estimator if tuned else estimator
    if getattr(learner, "domain", None) == "learn":
        failures["check_dtype_object"] = (
            "an array of objects shows no kinds of columns; no cell may show them"
        )
        if hasattr(estimator, "partial_fit"):
            reason = "partial_fit refuses: each call would learn another schema"
            calls = "fit_score_takes_y", "n_features_in_after_fitting", "estimators_partial_fit_n_features"
            failures |= {f"check_{each}": reason for each in calls}
    if isinstance(
        estimator, PrivateSearchCV | PrivateTunedThresholdClassifier | PrivateMultiOutputClassifier
    ):
        reason = "no unfitted private estimator is pickled alike twice, lest a cache takes one for another"
        failures["check_estimators_overwrite_params"] = reason
    if isinstance(estimator, OnlineEnsembleClassifier):
        reason = "a pickle contains no teachers, which could answer twice after unpickling"
        failures["check_estimators_pickle"] = reason
    if isinstance(estimator, SubsampleAggregateClassifier) and estimator.aggregation in ABSTAIN:
        reason = "an abstention has equal probabilities, and a label that is drawn by public chance"
        failures["check_classifiers_train"] = reason
    return failures


def chosen_classifiers(fixtures):
    """Return the classifiers and regressors that a test with these fixtures is for."""
    chosen = PREDICTORS
    if "fit_draws" in fixtures:
        chosen = [each for each in chosen if not get_tags(each).non_deterministic]
    return [each for each in chosen if each not in SILENT] if "speaks" in fixtures else chosen


def pytest_generate_tests(metafunc):
    one_a_class = "one_a_class" in metafunc.fixturenames
    if "classifier" in metafunc.fixturenames and "fault" not in metafunc.fixturenames:
        chosen = settings(chosen_classifiers(metafunc.fixturenames), one_a_class)
        metafunc.parametrize("classifier", chosen, ids=written)
    if "any_transformer" in metafunc.fixturenames:
        metafunc.parametrize("any_transformer", settings(TRANSFORMERS, one_a_class), ids=written)


@pytest.fixture
def fit_draws():
    """Restrict a test to classifiers that release when they fit, and not only when they are asked."""


@pytest.fixture
def one_a_class():
    """Leave all but one setting of each class for the night: what a test looks at is the same for all."""


@pytest.fixture
def speaks():
    """Restrict a test to classifiers that can answer anything but None on iris."""


@pytest.fixture
def budget(classifier):
    """From a number of fits, and an epsilon if it is another, to a ledger that holds as many."""

    def of(fits, epsilon=classifier.epsilon):
        delta = getattr(classifier, "delta", 0)
        cost = ApproxDP(epsilon, 0 if delta == "auto" else delta)  # the search's candidates have none
        protects = getattr(classifier, "protects", "examples")
        return PrivacyLedger(fits * cost.epsilon, fits * cost.delta, protects=protects)

    return of


@pytest.fixture
def iris(classifier):
    """Iris, with two of the three species where the classifier knows no more."""
    return iris_for(classifier)


def iris_for(classifier):
    X, y = load_iris(return_X_y=True)
    tags = get_tags(classifier).classifier_tags
    keep = y != 1 if tags is not None and not tags.multi_class else np.ones(len(y), bool)
    return X[keep], y[keep]


@cache
def once_fitted(classifier):
    return clone(classifier).fit(*iris_for(classifier))


@pytest.fixture
def fitted(classifier):
    """A fit that tests share, and so neither change nor ask."""
    return once_fitted(classifier)


def public_rows(estimator, X):
    """Further arguments of a fit: public rows, where an estimator needs them."""
    return {"X_public": PublicData(X)} if getattr(estimator, "needs_public_rows", False) else {}


def protects_labels(estimator):
    return getattr(estimator, "protects", "examples") == "labels"


def framed(X, **more):
    """A data frame of columns c0, c1, ..., and others."""
    return pd.DataFrame(X, columns=[f"c{place}" for place in range(np.shape(X)[1])]).assign(**more)


def in_parts(table):
    """A table in parts, one of one row, and one without rows."""
    return [table[start:stop] for start, stop in pairwise([0, 1, 1, 60, len(table)])]


def with_coarse_domain(classifier):
    """A copy of a classifier; stumps whose domain is not declared have coarse ones, as parts require."""
    model = clone(classifier)
    if isinstance(model, ExponentialMechanismClassifier) and model.domain is None:
        model.set_params(domain=Grid(0, 10, 101) if model.concept_class in OF_NUMBERS else None)
    return model


def published(model):
    """All that a fit sets, as text, but for the guarantee and for addresses in memory."""
    text = repr({name: shown(value) for name, value in sorted(vars(model).items()) if name.endswith("_")})
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", text)


def shown(value):
    """What a value holds, as text or as lists of it."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [shown(each) for each in value]
    if hasattr(value, "__dict__") and not isinstance(value, Guarantee):
        return {name: shown(each) for name, each in vars(value).items()}
    return "" if isinstance(value, Guarantee) else repr(value)
