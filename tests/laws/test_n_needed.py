"""Every learner's plan says how many records are needed."""

from inspect import signature

import pytest

from dplearn import (
    AdditiveClassifier,
    ConjunctionClassifier,
    CornerClassifier,
    ExponentialMechanismClassifier,
    KnowledgeTransferClassifier,
    LinearRegressor,
    LineClassifier,
    MaskedParityClassifier,
    ParityClassifier,
    PointClassifier,
    SoftLabelAggregateClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
    ThresholdClassifier,
)
from dplearn.domains import Floats, Grid
from dplearn.preprocessing import PrivateKMeans, PrivatePCA, PrivateStandardScaler

COLUMNS, LABELS = {"n_features": 10, "n_labels": 2}, {"n_labels": 2}
PLANS = [
    (StatisticalQueryNaiveBayes(), COLUMNS, lambda plan: plan.tolerance <= 0.05),
    (
        StatisticalQueryNaiveBayes(trust_model="local", epsilon=3),
        COLUMNS,
        lambda plan: plan.tolerance <= 0.05,
    ),
    (StatisticalQueryLogisticRegression(), COLUMNS, lambda plan: plan.tolerance <= 0.05),
    (LinearRegressor(target_range=(0, 1)), {"n_features": 10}, lambda plan: plan.tolerance <= 0.05),
    (
        AdditiveClassifier(domain=Floats(), classes=[0, 1]),
        {"n_features": 10},
        lambda plan: plan.deviation <= 0.005,
    ),
    (
        AdditiveClassifier(),
        COLUMNS,
        lambda plan: plan.deviation <= 0.005 and plan.schema.tail is not None,
    ),
    (
        LinearRegressor(target_range=(0, 1), domain="learn"),
        {"n_features": 10},
        lambda plan: plan.tolerance <= 0.05 and plan.schema.tail is not None,
    ),
    *(
        (kind(domain=Grid(0, 1)), {"n_features": 10}, lambda plan: plan.tolerance <= 0.05)
        for kind in (PrivateStandardScaler, PrivatePCA, PrivateKMeans)
    ),
    (SubsampleAggregateClassifier(), LABELS, lambda plan: plan.least_lead <= plan.n_teachers * 2 / 3),
    (KnowledgeTransferClassifier(), LABELS, lambda plan: plan.least_lead <= plan.n_teachers * 2 / 3),
    (SoftLabelAggregateClassifier(), LABELS, lambda plan: plan.error <= 0.05),
]


@pytest.mark.parametrize(
    ("learner", "public", "suffices"), PLANS, ids=[repr(learner) for learner, *_ in PLANS]
)
def test_so_many_records_suffice_and_notably_fewer_do_not(learner, public, suffices):
    n = learner.plan(100, **public).n_needed
    assert n == learner.plan(3 * n, **public).n_needed
    assert suffices(learner.plan(n, **public))
    assert not suffices(learner.plan(int(0.95 * n), **public))


def test_no_number_of_records_suffices_for_too_few_teachers():
    assert SubsampleAggregateClassifier(n_teachers=5).plan(1000, n_labels=2).n_needed is None


@pytest.mark.parametrize(
    "rule",
    [
        ConjunctionClassifier(),
        CornerClassifier(),
        ExponentialMechanismClassifier(),
        LineClassifier(101),
        MaskedParityClassifier(),
        ParityClassifier(),
        PointClassifier(),
        ThresholdClassifier(),
    ],
    ids=lambda rule: type(rule).__name__,
)
def test_all_rules_mean_the_same_by_n_needed(rule):
    given = signature(rule.plan).parameters
    public = {"n_features": 2, "n_labels": 2} if "n_labels" in given else {"n_features": 2}
    public = {name: value for name, value in public.items() if name in given}
    plan = rule.plan(20_000, **public)
    [told] = [line for line in str(plan).split("\n") if line.split()[0] == "n_needed"]
    assert told.endswith("(for a true error of alpha, if a rule of the class labels the records)")
    assert (getattr(plan, "n_needed_agnostic", None) or plan.n_needed) >= plan.n_needed
