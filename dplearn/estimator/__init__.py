"""What every private estimator shares: the door to `fit`, and how features and labels are read."""

from dplearn.estimator.base import PrivateClassifier, PrivateEstimator, PrivateTransformer
from dplearn.estimator.rule import RuleClassifier

__all__ = ["PrivateClassifier", "PrivateEstimator", "PrivateTransformer", "RuleClassifier"]
