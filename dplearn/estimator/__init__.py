"""Base classes of private estimators, the recipe of a fit, its parameters and its HTML diagram."""

from dplearn.estimator.base import (
    PrivateClassifier,
    PrivateEstimator,
    PrivateRegressor,
    PrivateTransformer,
    RuleClassifier,
)
from dplearn.estimator.schema_learning import learns_schema
from dplearn.releases.schema_fits import SchemaFitPlan

__all__ = [
    "PrivateClassifier",
    "PrivateEstimator",
    "PrivateRegressor",
    "PrivateTransformer",
    "RuleClassifier",
    "SchemaFitPlan",
    "learns_schema",
]
