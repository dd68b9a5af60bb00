"""What this room exports; `__init__.py` imports all."""

from dplearn.privacy.attack_risk import AttackRisk, attack_risk, epsilon_for_risk
from dplearn.privacy.calibration import calibrate, gaussian_sigma2
from dplearn.privacy.composition import THEOREMS as THEOREMS
from dplearn.privacy.composition import Composition, compose
from dplearn.privacy.composition import least_epsilon as least_epsilon
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
from dplearn.privacy.guarantees import amounts as amounts
from dplearn.privacy.guarantees import with_amounts as with_amounts
from dplearn.privacy.held import held_by as held_by
from dplearn.privacy.ledger import PrivacyLedger, open_account
from dplearn.privacy.ledger_storage import ReleaseRecord
from dplearn.privacy.one_time_state import OneTimeState
from dplearn.privacy.pipelines import fitted_together as fitted_together
from dplearn.privacy.pipelines import pipeline_guarantee
from dplearn.privacy.plan import Plan as Plan
from dplearn.privacy.plan import cell_text as cell_text
from dplearn.privacy.privacy_filter import BudgetExceededError, LedgerError
from dplearn.privacy.privacy_filter import PrivacyFilter as PrivacyFilter
from dplearn.privacy.random_stopping import RandomStopping
from dplearn.privacy.random_stopping import gaussian_run_budget as gaussian_run_budget
from dplearn.privacy.shares import concentrated_budget as concentrated_budget
from dplearn.privacy.shares import equal_epsilon as equal_epsilon
from dplearn.privacy.shares import equal_shares as equal_shares
from dplearn.privacy.shares import gaussian_budget as gaussian_budget
from dplearn.privacy.unknown_count import AT_LEAST_ONE as AT_LEAST_ONE
from dplearn.privacy.unknown_count import MOST_RECORDS as MOST_RECORDS
from dplearn.privacy.unknown_count import TAKING_ADDED as TAKING_ADDED

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
