"""Base classes of private estimators: the six stages of a fit, its parameters and its HTML diagram."""

from dplearn.estimator.base import PrivateClassifier, PrivateEstimator, PrivateRegressor, PrivateTransformer
from dplearn.estimator.rule import RuleClassifier

__all__ = [
    "PrivateClassifier",
    "PrivateEstimator",
    "PrivateRegressor",
    "PrivateTransformer",
    "RuleClassifier",
]
