"""Verify guarantees by running the real code: over every outcome, on neighbours, with mistakes put in."""

from dplearn.audit.enumeration import PrivacyReport, enumerate_privacy
from dplearn.audit.laws import Law, exact_law, least_exp_epsilon
from dplearn.audit.mutants import Mutant, how_caught
from dplearn.audit.outcomes import freeze
from dplearn.audit.replay import replay_violations

__all__ = [
    "Law",
    "Mutant",
    "PrivacyReport",
    "enumerate_privacy",
    "exact_law",
    "freeze",
    "how_caught",
    "least_exp_epsilon",
    "replay_violations",
]
