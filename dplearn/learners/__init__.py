"""Private learners: one estimator family a file."""

from dplearn.learners.generic import ExponentialMechanismClassifier, GenericPlan
from dplearn.learners.knowledge_transfer import KnowledgeTransferClassifier
from dplearn.learners.subsample_aggregate import SubsampleAggregateClassifier

__all__ = [
    "ExponentialMechanismClassifier",
    "GenericPlan",
    "KnowledgeTransferClassifier",
    "SubsampleAggregateClassifier",
]
