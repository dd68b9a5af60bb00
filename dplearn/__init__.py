"""dplearn: differentially private learners for scikit-learn, their guarantees executed."""

from dplearn._version import __version__
from dplearn.learners import ExponentialMechanismClassifier
from dplearn.privacy import ApproxDP, BudgetExceededError, LedgerError, PrivacyLedger, ZeroConcentratedDP

__all__ = [
    "ApproxDP",
    "BudgetExceededError",
    "ExponentialMechanismClassifier",
    "LedgerError",
    "PrivacyLedger",
    "ZeroConcentratedDP",
    "__version__",
]
