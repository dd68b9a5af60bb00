"""Private learners: one family of estimators in each module."""

from dplearn.learners.additive import AdditiveClassifier, AdditivePlan, AdditiveRegressor, ColumnShape
from dplearn.learners.counts.conjunction import ConjunctionClassifier
from dplearn.learners.counts.naive_bayes import NaiveBayesPlan, StatisticalQueryNaiveBayes
from dplearn.learners.linear import (
    LinearPlan,
    LinearRegressor,
    LogisticPlan,
    StatisticalQueryLogisticRegression,
)
from dplearn.learners.parity.masked import MaskedParityClassifier
from dplearn.learners.parity.parity import ParityClassifier
from dplearn.learners.private_labels import PrivateLabelsClassifier
from dplearn.learners.rules.corner import CornerClassifier
from dplearn.learners.rules.generic import ExponentialMechanismClassifier
from dplearn.learners.rules.line import LineClassifier
from dplearn.learners.rules.point import ChosenKeys, ChosenPrefix, PointClassifier
from dplearn.learners.rules.threshold import ThresholdClassifier
from dplearn.learners.several.multi_output import PrivateMultiOutputClassifier
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
    "ChosenPrefix",
    "ColumnShape",
    "ConjunctionClassifier",
    "CornerClassifier",
    "ExponentialMechanismClassifier",
    "KnowledgeTransferClassifier",
    "LineClassifier",
    "LinearPlan",
    "LinearRegressor",
    "LogisticPlan",
    "MaskedParityClassifier",
    "NaiveBayesPlan",
    "ParityClassifier",
    "PointClassifier",
    "PrivateLabelsClassifier",
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
]
