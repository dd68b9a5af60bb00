"""Private model selection: differentially private parameter search and scores."""

from dplearn.model_selection.metrics import PrivateScorer
from dplearn.model_selection.score import PrivateScore, private_score
from dplearn.model_selection.search import PrivateSearchCV, SearchPlan
from dplearn.model_selection.tuned_threshold import PrivateTunedThresholdClassifier, TunedThresholdPlan

__all__ = [
    "PrivateScore",
    "PrivateScorer",
    "PrivateSearchCV",
    "PrivateTunedThresholdClassifier",
    "SearchPlan",
    "TunedThresholdPlan",
    "private_score",
]
