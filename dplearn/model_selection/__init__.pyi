"""What this room exports; `__init__.py` imports each name when it is asked for."""

from dplearn.model_selection.candidates import splits_by_position as splits_by_position
from dplearn.model_selection.metrics import METRICS as METRICS
from dplearn.model_selection.metrics import PrivateScorer
from dplearn.model_selection.metrics import curve_band as curve_band
from dplearn.model_selection.metrics import measure_of as measure_of
from dplearn.model_selection.score import PrivateScore, private_score
from dplearn.model_selection.search import PrivateSearchCV, SearchPlan
from dplearn.model_selection.tables import BinnedScores as BinnedScores
from dplearn.model_selection.tables import ConfusionCounts as ConfusionCounts
from dplearn.model_selection.tables import ErrorCount as ErrorCount
from dplearn.model_selection.tables import LossSum as LossSum
from dplearn.model_selection.tables import NoisyTable as NoisyTable
from dplearn.model_selection.tables import TableNoise as TableNoise
from dplearn.model_selection.tables import TargetSums as TargetSums
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
