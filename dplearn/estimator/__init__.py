"""What every private estimator shares: the door to `fit`, and how features and labels are read."""

from dplearn.estimator.base import PrivateClassifier
from dplearn.estimator.rule import RuleClassifier

__all__ = ["PrivateClassifier", "RuleClassifier"]
