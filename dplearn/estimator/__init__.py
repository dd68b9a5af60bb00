"""What every private estimator shares: reading its input safely, and the order of the five steps of `fit`."""

from dplearn.estimator.base import PrivateClassifier

__all__ = ["PrivateClassifier"]
