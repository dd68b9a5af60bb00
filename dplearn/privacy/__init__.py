"""Privacy guarantees, accounting of their composition, calibration of noise, and the privacy ledger."""

from dplearn.privacy.attack_risk import AttackRisk, attack_risk, epsilon_for_risk
from dplearn.privacy.calibration import calibrate, gaussian_sigma2
from dplearn.privacy.composition import Composition, compose
from dplearn.privacy.derived import Parallel, SampledWithReplacement, published_subsampled, subsampled
from dplearn.privacy.events import (
    EVENTS,
    Approximate,
    BoundedRange,
    Event,
    Gaussian,
    GaussianSums,
    PermuteAndFlip,
    PureDP,
    Renyi,
    ZeroConcentrated,
    event_of,
)
from dplearn.privacy.guarantees import ApproxDP, Guarantee, ZeroConcentratedDP
from dplearn.privacy.ledger import PrivacyLedger, open_account
from dplearn.privacy.ledger_storage import ReleaseRecord
from dplearn.privacy.one_time_state import OneTimeState
from dplearn.privacy.pipelines import pipeline_guarantee
from dplearn.privacy.privacy_filter import BudgetExceededError, LedgerError
from dplearn.privacy.random_stopping import RandomStopping

__all__ = [
    "EVENTS",
    "ApproxDP",
    "Approximate",
    "AttackRisk",
    "BoundedRange",
    "BudgetExceededError",
    "Composition",
    "Event",
    "Gaussian",
    "GaussianSums",
    "Guarantee",
    "LedgerError",
    "OneTimeState",
    "Parallel",
    "PermuteAndFlip",
    "PrivacyLedger",
    "PureDP",
    "RandomStopping",
    "ReleaseRecord",
    "Renyi",
    "SampledWithReplacement",
    "ZeroConcentrated",
    "ZeroConcentratedDP",
    "attack_risk",
    "calibrate",
    "compose",
    "epsilon_for_risk",
    "event_of",
    "gaussian_sigma2",
    "open_account",
    "pipeline_guarantee",
    "published_subsampled",
    "subsampled",
]
