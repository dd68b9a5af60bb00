"""Verification of privacy guarantees on the real code, by enumeration, replay, sampling and mutants."""

from dplearn.audit.case import AuditCase as AuditCase
from dplearn.audit.case import FaultyDice, Mutant, how_caught
from dplearn.audit.case import Required as Required
from dplearn.audit.codes import BonehShawCode, InteriorPointCode, TardosCode, ThresholdCode, UniformCode
from dplearn.audit.enumeration import (
    OutputDistribution,
    PrivacyReport,
    enumerate_privacy,
    exact_distribution,
    least_exp_epsilon,
)
from dplearn.audit.enumeration import distribution_on as distribution_on
from dplearn.audit.enumeration import observe as observe
from dplearn.audit.fits import StagedFit as StagedFit
from dplearn.audit.fits import WholeFit as WholeFit
from dplearn.audit.fits import fitted_with
from dplearn.audit.fits import ready as ready
from dplearn.audit.fits import refitted as refitted
from dplearn.audit.fits import run_on as run_on
from dplearn.audit.outcomes import freeze
from dplearn.audit.replay import (
    RULES,
    ReplayReport,
    coin_within,
    each_moved_by,
    moved_by,
    replay_privacy,
    replay_violations,
)
from dplearn.audit.sampling import Evidence, SamplingReport, sample_privacy
from dplearn.audit.tracing import TraceReport, epsilon_from_guesses, guesses_p_value, trace_outputs

__all__ = [
    "RULES",
    "BonehShawCode",
    "Evidence",
    "FaultyDice",
    "InteriorPointCode",
    "Mutant",
    "OutputDistribution",
    "PrivacyReport",
    "ReplayReport",
    "SamplingReport",
    "TardosCode",
    "ThresholdCode",
    "TraceReport",
    "UniformCode",
    "coin_within",
    "each_moved_by",
    "enumerate_privacy",
    "epsilon_from_guesses",
    "exact_distribution",
    "fitted_with",
    "freeze",
    "guesses_p_value",
    "how_caught",
    "least_exp_epsilon",
    "moved_by",
    "replay_privacy",
    "replay_violations",
    "sample_privacy",
    "trace_outputs",
]
