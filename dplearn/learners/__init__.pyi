"""Private learners: one family of estimators in each module."""

from dplearn.learners.additive import AdditiveClassifier, AdditivePlan, AdditiveRegressor, ColumnShape
from dplearn.learners.counts.conjunction import ConjunctionClassifier, ConjunctionPlan
from dplearn.learners.counts.naive_bayes import NaiveBayesPlan, StatisticalQueryNaiveBayes
from dplearn.learners.knowledge_transfer import KnowledgeTransferClassifier
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
from dplearn.learners.soft_label_transfer import SoftLabelTransferClassifier
from dplearn.learners.soft_labels import SoftLabelAggregateClassifier, SoftLabelPlan
from dplearn.learners.subsample_aggregate import SubsampleAggregateClassifier
from dplearn.learners.synthetic_data import (
    SyntheticDataClassifier,
    SyntheticDataPlan,
    SyntheticDataRegressor,
)

__all__ = [
    "AdditiveClassifier",
    "AdditivePlan",
    "AdditiveRegressor",
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
    "SoftLabelPlan",
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
