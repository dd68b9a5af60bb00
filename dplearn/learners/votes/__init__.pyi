"""Sub-sample and aggregate: teachers on disjoint shards, and what is released of their votes."""

from dplearn.learners.votes.aggregators import QueriesExhaustedError
from dplearn.learners.votes.online import (
    OnlineEnsembleClassifier,
    SoftLabelAggregateClassifier,
    SubsampleAggregateClassifier,
)
from dplearn.learners.votes.recipe import AggregationPlan, EnsembleClassifier
from dplearn.learners.votes.standard import standard_estimator
from dplearn.learners.votes.transfer import KnowledgeTransferClassifier, SoftLabelTransferClassifier

__all__ = [
    "AggregationPlan",
    "EnsembleClassifier",
    "KnowledgeTransferClassifier",
    "OnlineEnsembleClassifier",
    "QueriesExhaustedError",
    "SoftLabelAggregateClassifier",
    "SoftLabelTransferClassifier",
    "SubsampleAggregateClassifier",
    "standard_estimator",
]
