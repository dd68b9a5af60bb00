"""Sub-sample and aggregate: teachers on disjoint shards, and what is released of their votes."""

from dplearn.learners.votes.aggregators import AGGREGATIONS as AGGREGATIONS
from dplearn.learners.votes.aggregators import NO_VOTE as NO_VOTE
from dplearn.learners.votes.aggregators import SOFT_AGGREGATIONS as SOFT_AGGREGATIONS
from dplearn.learners.votes.aggregators import Ballot as Ballot
from dplearn.learners.votes.aggregators import QueriesExhaustedError
from dplearn.learners.votes.asked import Labels as Labels
from dplearn.learners.votes.asked import Scores as Scores
from dplearn.learners.votes.online import (
    OnlineEnsembleClassifier,
    SoftLabelAggregateClassifier,
    SubsampleAggregateClassifier,
)
from dplearn.learners.votes.recipe import AggregationPlan, EnsembleClassifier
from dplearn.learners.votes.recipe import shards as shards
from dplearn.learners.votes.standard import standard_estimator
from dplearn.learners.votes.teachers import answers_of as answers_of
from dplearn.learners.votes.teachers import train_and_ask as train_and_ask
from dplearn.learners.votes.teachers import train_teachers as train_teachers
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
