"""Private learners: one estimator family a file."""

from dplearn.learners.generic import ExponentialMechanismClassifier

__all__ = ["ExponentialMechanismClassifier"]
