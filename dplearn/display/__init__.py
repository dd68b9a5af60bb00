"""Pictures of what was released, as scikit-learn's displays, and the privacy card.

Pictures need matplotlib, the extra `plot`; the card needs nothing. Nothing here looks at private data: what
is drawn was released, or is public because you say so.
"""

from dplearn.display.agreement import QueryBudgetDisplay, TeacherAgreementDisplay
from dplearn.display.card import PrivacyCard, privacy_card
from dplearn.display.distribution import DistributionDisplay
from dplearn.display.epsilon import EpsilonDisplay
from dplearn.display.sample_size import SampleSizeDisplay

__all__ = [
    "DistributionDisplay",
    "EpsilonDisplay",
    "PrivacyCard",
    "QueryBudgetDisplay",
    "SampleSizeDisplay",
    "TeacherAgreementDisplay",
    "privacy_card",
]
