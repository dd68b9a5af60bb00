"""dplearn: differentially private learners for scikit-learn, their guarantees executed."""

from dplearn._version import __version__
from dplearn.ensembles import PublicData, QueriesExhaustedError
from dplearn.learners import (
    AdditiveClassifier,
    AdditiveRegressor,
    ConjunctionClassifier,
    ExponentialMechanismClassifier,
    KnowledgeTransferClassifier,
    LinearRegressor,
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
    ThresholdClassifier,
)
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
    "ThresholdClassifier",
    "ZeroConcentratedDP",
    "__version__",
]
