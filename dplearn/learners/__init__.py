"""Private learners: one estimator family a file."""

from dplearn.learners.generic import ExponentialMechanismClassifier, GenericPlan
from dplearn.learners.knowledge_transfer import KnowledgeTransferClassifier
from dplearn.learners.parity import ParityClassifier, ParityPlan
from dplearn.learners.point import ChosenPoint, PointClassifier, PointPlan
from dplearn.learners.reductions import SecretSampleClassifier
from dplearn.learners.soft_label_transfer import SoftLabelTransferClassifier
from dplearn.learners.soft_labels import SoftLabelAggregateClassifier, SoftLabelPlan
from dplearn.learners.subsample_aggregate import SubsampleAggregateClassifier
from dplearn.learners.threshold import ThresholdClassifier, ThresholdPlan

__all__ = [
    "ChosenPoint",
    "ExponentialMechanismClassifier",
    "GenericPlan",
    "KnowledgeTransferClassifier",
    "ParityClassifier",
    "ParityPlan",
    "PointClassifier",
    "PointPlan",
    "SecretSampleClassifier",
    "SoftLabelAggregateClassifier",
    "SoftLabelPlan",
    "SoftLabelTransferClassifier",
    "SubsampleAggregateClassifier",
    "ThresholdClassifier",
    "ThresholdPlan",
]
