"""Displays of released and public values, in the manner of scikit-learn, and the privacy card.

Displays need matplotlib (the extra `plot`); the card has no further requirement. Nothing here reads private
data: a display draws released values, and values that its caller declares public.
"""

from dplearn.display.agreement import QueryBudgetDisplay, TeacherAgreementDisplay
from dplearn.display.card import PrivacyCard, privacy_card
from dplearn.display.distribution import DistributionDisplay
from dplearn.display.epsilon import EpsilonDisplay
from dplearn.display.sample_size import SampleSizeDisplay
from dplearn.display.shapes import ShapesDisplay

__all__ = [
    "DistributionDisplay",
    "EpsilonDisplay",
    "PrivacyCard",
    "QueryBudgetDisplay",
    "SampleSizeDisplay",
    "ShapesDisplay",
    "TeacherAgreementDisplay",
    "privacy_card",
]
