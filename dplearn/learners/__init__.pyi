"""Private learners: one family of estimators in each module."""

from dplearn.learners.additive import AdditiveClassifier, AdditivePlan, AdditiveRegressor, ColumnShape
from dplearn.learners.conjunction import ConjunctionClassifier, ConjunctionPlan
from dplearn.learners.generic import ExponentialMechanismClassifier, GenericPlan
from dplearn.learners.line import LineClassifier, LinePlan
from dplearn.learners.linear import (
    LinearPlan,
    LinearRegressor,
    LogisticPlan,
    StatisticalQueryLogisticRegression,
)
from dplearn.learners.masked_parity import MaskedParityClassifier, MaskedParityPlan
from dplearn.learners.multi_output import MultiOutputPlan, PrivateMultiOutputClassifier
from dplearn.learners.naive_bayes import NaiveBayesPlan, StatisticalQueryNaiveBayes
from dplearn.learners.parity import ParityClassifier, ParityPlan
from dplearn.learners.point import PointClassifier, PointPlan
from dplearn.learners.point_rules import ChosenKeys, ChosenPoint, ChosenPrefix
from dplearn.learners.reductions import SecretSampleClassifier
from dplearn.learners.synthetic_data import (
    SyntheticDataClassifier,
    SyntheticDataPlan,
    SyntheticDataRegressor,
)
from dplearn.learners.threshold import ThresholdClassifier, ThresholdPlan
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
    "SyntheticDataPlan",
    "SyntheticDataRegressor",
    "ThresholdClassifier",
    "ThresholdPlan",
]
