"""dplearn: differentially private learners for scikit-learn, their guarantees executed."""

from dplearn._version import __version__
from dplearn.estimator.public_data import PublicData
from dplearn.learners import (
    AdditiveClassifier,
    AdditiveRegressor,
    ConjunctionClassifier,
    ExponentialMechanismClassifier,
    KnowledgeTransferClassifier,
    LinearRegressor,
    LineClassifier,
    MaskedParityClassifier,
    ParityClassifier,
    PointClassifier,
    PrivateMultiOutputClassifier,
    SecretSampleClassifier,
    SoftLabelAggregateClassifier,
    SoftLabelTransferClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
    SyntheticDataClassifier,
    SyntheticDataRegressor,
    ThresholdClassifier,
)
from dplearn.learners.votes import QueriesExhaustedError
from dplearn.privacy import ApproxDP, BudgetExceededError, LedgerError, PrivacyLedger, ZeroConcentratedDP

__all__ = [
    "AdditiveClassifier",
    "AdditiveRegressor",
    "ApproxDP",
    "BudgetExceededError",
    "ConjunctionClassifier",
    "ExponentialMechanismClassifier",
    "KnowledgeTransferClassifier",
    "LedgerError",
    "LineClassifier",
    "LinearRegressor",
    "MaskedParityClassifier",
    "ParityClassifier",
    "PointClassifier",
    "PrivacyLedger",
    "PrivateMultiOutputClassifier",
    "PublicData",
    "QueriesExhaustedError",
    "SecretSampleClassifier",
    "SoftLabelAggregateClassifier",
    "SoftLabelTransferClassifier",
    "StatisticalQueryLogisticRegression",
    "StatisticalQueryNaiveBayes",
    "SubsampleAggregateClassifier",
    "SyntheticDataClassifier",
    "SyntheticDataRegressor",
    "ThresholdClassifier",
    "ZeroConcentratedDP",
    "__version__",
]
