"""dplearn: differentially private learners for scikit-learn, their guarantees executed."""

from dplearn.learners import ExponentialMechanismClassifier
from dplearn.privacy import ApproxDP

__all__ = ["ApproxDP", "ExponentialMechanismClassifier", "__version__"]

__version__ = "0.1.0.dev0"
