"""Displays of released and public values, in the manner of scikit-learn, and the privacy card.

Displays need matplotlib (the extra `plot`); the card has no further requirement. A display draws released
values, and values that its caller declares public; `from_estimator` of the displays of private scores
releases them first, at a stated cost.
"""

from dplearn.display.card import PrivacyCard, privacy_card
from dplearn.display.curves import (
    DistributionDisplay,
    PrivateCalibrationDisplay,
    PrivateConfusionMatrixDisplay,
    PrivatePrecisionRecallDisplay,
    PrivateRocCurveDisplay,
)
from dplearn.display.planning import (
    EpsilonDisplay,
)
from dplearn.display.registry import RegistryEntry, registry_entry, registry_schema
from dplearn.display.shapes import ShapesDisplay, SyntheticTableDisplay
from dplearn.display.statistics import StatisticsDisplay

__all__ = [
    "DistributionDisplay",
    "EpsilonDisplay",
    "PrivacyCard",
    "PrivateCalibrationDisplay",
    "PrivateConfusionMatrixDisplay",
    "PrivatePrecisionRecallDisplay",
    "PrivateRocCurveDisplay",
    "RegistryEntry",
    "ShapesDisplay",
    "StatisticsDisplay",
    "SyntheticTableDisplay",
    "privacy_card",
    "registry_entry",
    "registry_schema",
]
