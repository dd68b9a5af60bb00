"""Private learners: one family of estimators in each module."""

from dplearn.learners.additive import AdditiveClassifier, AdditivePlan, AdditiveRegressor, ColumnShape
from dplearn.learners.counts.conjunction import ConjunctionClassifier, ConjunctionPlan
from dplearn.learners.counts.naive_bayes import NaiveBayesPlan, StatisticalQueryNaiveBayes
from dplearn.learners.linear import (
    LinearPlan,
    LinearRegressor,
    LogisticPlan,
    StatisticalQueryLogisticRegression,
)
from dplearn.learners.parity.masked import MaskedParityClassifier, MaskedParityPlan
from dplearn.learners.parity.parity import ParityClassifier, ParityPlan
from dplearn.learners.rules.generic import ExponentialMechanismClassifier, GenericPlan
from dplearn.learners.rules.line import LineClassifier, LinePlan
from dplearn.learners.rules.point import ChosenKeys, ChosenPoint, ChosenPrefix, PointClassifier, PointPlan
from dplearn.learners.rules.threshold import ThresholdClassifier, ThresholdPlan
from dplearn.learners.several.multi_output import MultiOutputPlan, PrivateMultiOutputClassifier
from dplearn.learners.several.secret_sample import SecretSampleClassifier
from dplearn.learners.synthetic_data import (
    SyntheticDataClassifier,
    SyntheticDataRegressor,
)
from dplearn.learners.votes import (
    AggregationPlan,
    KnowledgeTransferClassifier,
    SoftLabelAggregateClassifier,
    SoftLabelTransferClassifier,
    SubsampleAggregateClassifier,
)

__all__ = [
    "AdditiveClassifier",
    "AdditivePlan",
    "AdditiveRegressor",
    "AggregationPlan",
    "ChosenKeys",
    "ChosenPoint",
    "ChosenPrefix",
    "ColumnShape",
    "ConjunctionClassifier",
    "ConjunctionPlan",
    "ExponentialMechanismClassifier",
    "GenericPlan",
    "KnowledgeTransferClassifier",
    "LineClassifier",
    "LinePlan",
    "LinearPlan",
    "LinearRegressor",
    "LogisticPlan",
    "MaskedParityClassifier",
    "MaskedParityPlan",
    "MultiOutputPlan",
    "NaiveBayesPlan",
    "ParityClassifier",
    "ParityPlan",
    "PointClassifier",
    "PointPlan",
    "PrivateMultiOutputClassifier",
    "SecretSampleClassifier",
    "SoftLabelAggregateClassifier",
    "SoftLabelTransferClassifier",
    "StatisticalQueryLogisticRegression",
    "StatisticalQueryNaiveBayes",
    "SubsampleAggregateClassifier",
    "SyntheticDataClassifier",
    "SyntheticDataRegressor",
    "ThresholdClassifier",
    "ThresholdPlan",
]
