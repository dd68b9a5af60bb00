"""Is every figure of our accountants right? dp-accounting and OpenDP as oracles, name by name.

    python benchmarks/accounting_oracles.py [--opendp-python PATH] [--json PATH]

Each public name of an accounting module is compared with an outside package on a grid, or is listed in
WITHOUT with the reason why no outside figure exists and the test that checks it. A figure of ours is an upper
bound (an epsilon, a delta) or a lower bound (a budget). A figure of theirs is the truth, as far as floats go,
or a bound of their own. Ours must be on the safe side of every truth; the ratio says how loose it is. Beside
a bound of theirs the ratio only says whose is tighter: below 1, an upper bound of ours is, and a truth in
another row says that it may be. Where a budget or a threshold is found, the cost of what was found is
compared: ours is then what was wanted. dp-accounting is a package of the tests; OpenDP has an environment
of its own.
"""

import ast
import inspect
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from importlib import import_module
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import dp_accounting
import numpy as np
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.pld.privacy_loss_mechanism import DiscreteGaussianPrivacyLoss, GaussianPrivacyLoss
from dp_accounting.rdp import RdpAccountant
from dp_accounting.rdp.rdp_privacy_accountant import compute_epsilon
from scipy.stats import norm
from side_by_side import lined_up, options_of, write

from dplearn.kernels import (
    decay_ratio,
    gaussian_probabilities,
    geometric_probabilities,
    laplace_probabilities,
    laplace_quantile,
    laplace_tail,
    permute_and_flip_probabilities,
    power_probabilities,
    selection_ratio,
)
from dplearn.kernels.distributions import geometric_tail
from dplearn.privacy import (
    ApproxDP,
    Approximate,
    BoundedRange,
    Composition,
    Gaussian,
    GaussianSums,
    Parallel,
    PermuteAndFlip,
    PureDP,
    RandomStopping,
    Renyi,
    SampledWithReplacement,
    ZeroConcentrated,
    ZeroConcentratedDP,
    attack_risk,
    calibrate,
    compose,
    epsilon_for_risk,
    event_of,
    gaussian_sigma2,
    published_subsampled,
    subsampled,
)
from dplearn.privacy.composition import (
    advanced,
    basic,
    gaussian,
    least_epsilon,
    optimal_homogeneous,
    renyi,
    zero_concentrated,
)
from dplearn.privacy.conversion import concentrated_epsilon, epsilon_at, pure_and_concentrated
from dplearn.privacy.gaussian_dp import (
    delta_of_mu,
    greatest_mu,
    least_epsilon_of_mu2,
    mu2_of_gaussian,
    mu2_of_pure,
    sums_sigma2,
    tail_bounds,
    without_failure,
)
from dplearn.privacy.random_stopping import gaussian_run_budget, gaussian_runs_delta
from dplearn.privacy.shares import (
    CONCENTRATED,
    GAUSSIAN,
    concentrated_budget,
    equal_epsilon,
    equal_shares,
    gaussian_budget,
)

__all__ = ["MODULES", "OTHER_MODULES", "ROUNDING", "WITHOUT", "Comparison", "compared", "names", "oracles"]

ROUNDING = 1e-6  # relative: what the oracles' floats and their grids of privacy losses may lose
DELTAS, EPSILONS, COUNTS = (1e-3, 1e-6), (0.1, 1.0, 3.0), (1, 10, 100)
DPA, ODP = "dp-accounting", "OpenDP"

#: The modules whose public names must have an oracle or a reason.
MODULES = (
    "privacy.attack_risk",
    "privacy.calibration",
    "privacy.composition",
    "privacy.conversion",
    "privacy.derived",
    "privacy.events",
    "privacy.gaussian_dp",
    "privacy.guarantees",
    "privacy.privacy_filter",
    "privacy.random_stopping",
    "privacy.shares",
    "privacy.stable_answers",
    "kernels.distributions",
)
#: Single names of other modules that guarantees rest on.
MORE = ("kernels.exact.decay_ratio", "kernels.exact.selection_ratio")
#: Modules of `dplearn.privacy` that hold no accounting figure.
OTHER_MODULES = {
    "held": "where a guarantee is found",
    "ledger": "sums by the privacy filter, which is an accounting module",
    "ledger_storage": "storage",
    "one_time_state": "storage",
    "pipelines": "sums of guarantees by composition",
    "plan": "formats",
    "unknown_count": "which parameters go with an unknown number of records",
    "unrepeatable": "protection from caches",
}

_ROUNDS = "a rounding or a constant, without a figure of its own", "tests/privacy/test_conversion.py"
_OURS = "no outside package computes it"
#: Names without an oracle: why, and the file that checks them by exact enumeration or in another way.
WITHOUT: dict[str, tuple[str, str]] = {
    "privacy.attack_risk.percent": ("formats a number", "tests/privacy/test_attack_risk.py"),
    "privacy.conversion.best_order": (
        "chooses an order; every order gives a valid epsilon",
        "tests/privacy/test_conversion.py",
    ),
    "privacy.conversion.as_decimal": _ROUNDS,
    "privacy.conversion.log_float": _ROUNDS,
    "privacy.conversion.rounded_up": _ROUNDS,
    "privacy.events.EVENTS": ("a registry", "tests/laws/test_events.py"),
    "privacy.shares.WORTH_DELTA": ("decides when delta is spent", "tests/learners/test_corner.py"),
    "privacy.events.Event": ("the base class, of unbounded cost", "tests/privacy/test_events.py"),
    "privacy.events.checked": ("checks an argument", "tests/privacy/test_events.py"),
    "privacy.events.freeze": ("sets fields", "tests/privacy/test_events.py"),
    "privacy.events.register": ("a registry", "tests/laws/test_events.py"),
    "kernels.distributions.halving_width": (
        "blocks of a draw, whose law is enumerated",
        "tests/mechanisms/test_rank_selection.py",
    ),
    "privacy.gaussian_dp.float_sigma2": (
        "a guess that exact sums check",
        "tests/privacy/test_gaussian_dp.py",
    ),
    "privacy.gaussian_dp.root_of_falling": (
        "finds a guess that exact sums check",
        "tests/privacy/test_gaussian_dp.py",
    ),
    "privacy.gaussian_dp.FAILURE": ("a constant", "tests/privacy/test_gaussian_dp.py"),
    "privacy.gaussian_dp.LARGEST_EPSILON": ("a constant", "tests/privacy/test_gaussian_dp.py"),
    "privacy.gaussian_dp.MOST_NUMBERS": ("a constant", "tests/privacy/test_gaussian_dp.py"),
    "privacy.gaussian_dp.SLACK": ("a constant", "tests/privacy/test_gaussian_dp.py"),
    "privacy.random_stopping.MOST_RUNS": ("a constant", "tests/privacy/test_random_stopping.py"),
    "privacy.guarantees.Guarantee": ("the base class", "tests/privacy/test_guarantees.py"),
    "privacy.guarantees.NEIGHBORS": ("a constant", "tests/privacy/test_guarantees.py"),
    "privacy.guarantees.PROTECTS": ("a constant", "tests/privacy/test_guarantees.py"),
    "privacy.guarantees.amounts": ("reads numbers", "tests/privacy/test_guarantees.py"),
    "privacy.guarantees.decimal": ("formats a number", "tests/privacy/test_guarantees.py"),
    "privacy.guarantees.decimals": ("formats numbers", "tests/privacy/test_guarantees.py"),
    "privacy.guarantees.in_words": ("formats numbers", "tests/privacy/test_guarantees.py"),
    "privacy.guarantees.with_amounts": ("sets numbers", "tests/privacy/test_guarantees.py"),
    "privacy.privacy_filter.BudgetExceededError": ("an error", "tests/privacy/test_privacy_filter.py"),
    "privacy.privacy_filter.LedgerError": ("an error", "tests/privacy/test_privacy_filter.py"),
    "kernels.distributions.partial_sum_bound": (_OURS, "tests/kernels/test_exact.py"),
    "privacy.guarantees.delta_of": ("reads a number", "tests/privacy/test_guarantees.py"),
    "privacy.guarantees.epsilon_of": ("reads a number", "tests/privacy/test_guarantees.py"),
    "privacy.guarantees.rho_of": ("reads a number", "tests/privacy/test_guarantees.py"),
    "privacy.composition.THEOREMS": ("the list of theorems", "tests/privacy/test_theorems.py"),
    "privacy.conversion.chords": (_OURS, "tests/privacy/test_conversion.py"),
    "privacy.conversion.float_or_infinity": _ROUNDS,
    "privacy.stable_answers.StableAnswersNoise": (_OURS, "tests/privacy/test_stable_answers.py"),
    "privacy.stable_answers.stable_answers_noise": (_OURS, "tests/privacy/test_stable_answers.py"),
    "kernels.distributions.power_at_most": ("an inverse in integers", "tests/kernels/test_exact.py"),
    "privacy.gaussian_dp.pi_bounds": ("a constant", "tests/privacy/test_gaussian_dp.py"),
}


@dataclass(frozen=True)
class Comparison:
    """One figure of ours beside one of an outside package.

    Attributes
    ----------
    name : str
        The public name that the figure is of.
    question : str
        What is computed.
    ours, theirs : float
        The figures; None of theirs where the package is absent.
    by : str
        The package.
    kind : {"upper", "lower"}
        Whether ours is an upper or a lower bound.
    truth : bool
        Whether theirs is the truth, or a bound below it for "upper" and above it for "lower".
    """

    name: str
    question: str
    ours: float
    theirs: Any
    by: str
    kind: str = "upper"
    truth: bool = True

    @property
    def ratio(self) -> float | None:
        """Ours over theirs."""
        if self.theirs is None:
            return None
        return 1.0 if self.ours == self.theirs else math.inf if not self.theirs else self.ours / self.theirs

    @property
    def kept(self) -> bool:
        """Whether ours is on the safe side of a truth."""
        if self.ratio is None or not self.truth:
            return True
        return self.ratio >= 1 - ROUNDING if self.kind == "upper" else self.ratio <= 1 + ROUNDING


Ask = Callable[..., Any]
Rows = Iterator[Comparison]
_ORACLES: dict[str, list[Callable[[Ask], Iterator[tuple]]]] = {}


def oracle(*names: str) -> Callable:
    """Register comparisons of these names: a function that yields the other fields of `Comparison`."""

    def registered(make: Callable[[Ask], Iterator[tuple]]) -> Callable:
        for name in names:
            _ORACLES.setdefault(name, []).append(make)
        return make

    return registered


def oracles() -> set[str]:
    """Return the names that have an oracle."""
    return set(_ORACLES)


def names() -> set[str]:
    """Return all names that need an oracle or a reason: functions, classes and constants of `MODULES`."""
    found = set(MORE)
    for module in MODULES:
        for node in ast.parse(inspect.getsource(import_module(f"dplearn.{module}"))).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                defined = [node.name]
            else:
                targets = [*getattr(node, "targets", ()), getattr(node, "target", None)]
                named = [each.id for each in targets if isinstance(each, ast.Name)]
                defined = [name for name in named if name.isupper()]  # a type alias has no figure
            found |= {f"{module}.{name}" for name in defined if not name.startswith("_")}
    return found


# The oracles' figures


def responses(epsilon: float, k: int, failure: float = 0.0) -> Any:
    """Return the privacy loss distribution of k randomised responses, which is exact on its grid."""
    one = pld.from_privacy_parameters(
        DifferentialPrivacyParameters(epsilon, failure), value_discretization_interval=epsilon
    )
    return one.self_compose(k, tail_mass_truncation=0)


def normal_epsilon(mu: float, delta: float) -> float:
    """Return the exact epsilon of a normal number that moves by mu deviations."""
    return float(dp_accounting.get_epsilon_gaussian(1 / mu, delta))


def normal_delta(mu: float, epsilon: float) -> float:
    """Return the exact delta of a normal number that moves by mu deviations."""
    return float(GaussianPrivacyLoss(1 / mu).get_delta_for_epsilon(epsilon))


def discrete(sigma2: Any, k: int, sensitivity: int = 1) -> Any:
    """Return a lower bound on the privacy loss distribution of k releases with discrete Gaussian noise."""
    sigma = math.sqrt(sigma2)
    one = pld.from_discrete_gaussian_mechanism(
        sigma,
        sensitivity=sensitivity,
        pessimistic_estimate=False,
        value_discretization_interval=min(1e-3, 1e-2 / sigma),
    )
    return one.self_compose(k)


def pair_epsilon(first: Any, second: Any, delta: float) -> float:
    """Return a lower bound on the epsilon of two distributions on the same numbered outcomes."""
    logs = [{i: math.log(p) for i, p in enumerate(each) if p > 0} for each in (first, second)]
    both = (
        pld.from_two_probability_mass_functions(
            *pair,
            pessimistic_estimate=False,
            value_discretization_interval=1e-5,
        ).get_epsilon_for_delta(delta)
        for pair in (logs, logs[::-1])
    )
    return float(max(both))


def rational(x: float) -> Fraction:
    """Return the fraction that a float stands for."""
    return Fraction(repr(x))


def grid(*sides: Any) -> Iterator[tuple]:
    return product(*sides)


# Composition theorems


@oracle(
    "privacy.composition.basic", "privacy.composition.advanced", "privacy.composition.optimal_homogeneous"
)
def _pure_theorems(_: Ask) -> Rows:
    theorems = {"basic": basic, "advanced": advanced, "optimal_homogeneous": optimal_homogeneous}
    for e, k, delta in grid(EPSILONS, COUNTS, DELTAS):
        truth = responses(e, k).get_epsilon_for_delta(delta)
        event = Composition({PureDP(e): k})
        for name, theorem in theorems.items():
            ours = float(theorem(event, rational(delta)))
            yield Comparison(
                f"privacy.composition.{name}", f"{k} x epsilon {e:g} at {delta:g}", ours, truth, DPA
            )


@oracle("privacy.composition.zero_concentrated", "privacy.composition.gaussian")
def _gaussian_theorems(ask: Ask) -> Rows:
    for sigma, k, delta in grid((5, 50), COUNTS, DELTAS):
        event, question = Composition({Gaussian(sigma**2): k}), f"{k} x sigma {sigma} at {delta:g}"
        truth = discrete(sigma**2, k).get_epsilon_for_delta(delta)
        for name, theorem in {"zero_concentrated": zero_concentrated, "gaussian": gaussian}.items():
            ours = float(theorem(event, rational(delta)))
            yield Comparison(f"privacy.composition.{name}", question, ours, truth, DPA)
        ours = float(zero_concentrated(event, rational(delta)))
        theirs = ask("gaussian epsilon", sigma, k, delta)
        yield Comparison("privacy.composition.zero_concentrated", question, ours, theirs, ODP, truth=False)


@oracle("privacy.composition.renyi", "privacy.events.PureDP")
def _renyi_theorem(ask: Ask) -> Rows:
    for e, k, delta in grid(EPSILONS, COUNTS, DELTAS):
        question = f"{k} x epsilon {e:g} at {delta:g}"
        ours = float(renyi(Composition({PureDP(e): k}), rational(delta)))
        truth = responses(e, k).get_epsilon_for_delta(delta)
        yield Comparison("privacy.composition.renyi", question, ours, truth, DPA)
        book = RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
        book.compose(dp_accounting.RandomizedResponseDpEvent(2 / (1 + math.exp(e)), 2), k)
        theirs = float(book.get_epsilon(delta))
        yield Comparison("privacy.composition.renyi", question, ours, theirs, f"{DPA}, Renyi", truth=False)
    for e in EPSILONS:
        theirs = ask("pure to rho", e)
        yield Comparison(
            "privacy.events.PureDP", f"rho of {e:g}", float(PureDP(e).rho), theirs, ODP, truth=False
        )


@oracle("privacy.composition.least_epsilon", "privacy.composition.Composition", "privacy.composition.compose")
def _totals(ask: Ask) -> Rows:
    for (e, k), (sigma, j), delta in grid(((0.1, 10), (0.5, 3)), ((10, 10), (50, 100)), DELTAS):
        events = [(PureDP(e), k), (Gaussian(sigma**2), j)]
        question = f"{k} x epsilon {e:g} and {j} x sigma {sigma} at {delta:g}"
        one = pld.from_randomized_response(
            2 / (1 + math.exp(e)), 2, pessimistic_estimate=False, value_discretization_interval=1e-3
        )
        other = pld.from_gaussian_mechanism(
            sigma, pessimistic_estimate=False, value_discretization_interval=1e-3
        )
        both = one.self_compose(k).compose(other.self_compose(j)).get_epsilon_for_delta(delta)
        figures = {
            "composition.Composition": Composition(events).total(delta).epsilon,
            "composition.compose": compose(events).total(delta).epsilon,
            "composition.least_epsilon": least_epsilon(Composition(events), rational(delta)),
        }
        for name, ours in figures.items():
            yield Comparison(f"privacy.{name}", question, float(ours), both, f"{DPA}, continuous noise")
    for e, k in grid(EPSILONS, COUNTS):
        ours = float(Composition({PureDP(e): k}).total().epsilon)
        theirs = ask("composed epsilon", e, k)
        yield Comparison("privacy.composition.Composition", f"{k} x epsilon {e:g} at 0", ours, theirs, ODP)


# Conversions


@oracle("privacy.conversion.concentrated_epsilon", "privacy.guarantees.ZeroConcentratedDP")
def _concentrated(ask: Ask) -> Rows:
    for rho, delta in grid((1e-4, 0.01, 0.5, 4.0), DELTAS):
        question, theirs = f"rho {rho:g} at {delta:g}", ask("rho to epsilon", rho, delta)
        truth = normal_epsilon(math.sqrt(2 * rho), delta)
        for name, ours in {
            "conversion.concentrated_epsilon": concentrated_epsilon(rational(rho), rational(delta)),
            "guarantees.ZeroConcentratedDP": ZeroConcentratedDP(rho).to_approx(delta).epsilon,
        }.items():
            yield Comparison(f"privacy.{name}", question, float(ours), theirs, ODP, truth=False)
            yield Comparison(f"privacy.{name}", question, float(ours), truth, f"{DPA}, Gaussian noise")
    for k, rho in grid((2, 5), (0.01, 0.5)):
        ours = float(ZeroConcentratedDP(rho).for_group(k).rho)
        theirs = ask("gaussian rho", 1 / math.sqrt(2 * rho), k)
        question = f"rho {rho:g} of a group of {k}"
        yield Comparison("privacy.guarantees.ZeroConcentratedDP", question, ours, theirs, ODP)


@oracle("privacy.conversion.epsilon_at")
def _epsilon_at(_: Ask) -> Rows:
    for order, divergence, delta in grid((1.5, 8.0, 64.0), (0.01, 1.0), DELTAS):
        theirs, _ = compute_epsilon([order], [divergence], delta)
        ours = float(epsilon_at(rational(order), rational(divergence), rational(delta)))
        question = f"order {order:g}, divergence {divergence:g} at {delta:g}"
        yield Comparison("privacy.conversion.epsilon_at", question, ours, float(theirs), DPA)


@oracle("privacy.guarantees.ApproxDP", "privacy.events.Approximate", "privacy.events.event_of")
def _approximate(ask: Ask) -> Rows:
    for e in EPSILONS:
        ours, theirs = float(ApproxDP(e).to_zcdp().rho), ask("pure to rho", e)
        yield Comparison("privacy.guarantees.ApproxDP", f"rho of {e:g}", ours, theirs, ODP, truth=False)
    for e, delta, k in grid((0.1, 1.0), (1e-6,), (2, 5)):
        # A noisy count with Gaussian noise that has this epsilon and delta, of a group of k.
        mu = float(greatest_mu(rational(e), rational(delta)))
        group = ApproxDP(e, delta).for_group(k)
        truth = normal_delta(k * mu, float(group.epsilon))
        question = f"delta of a group of {k} at epsilon {k} x {e:g}"
        yield Comparison(
            "privacy.guarantees.ApproxDP", question, float(group.delta), truth, f"{DPA}, Gaussian noise"
        )
    for e, failure, k in grid((0.1, 1.0), (1e-9,), COUNTS):
        truth = responses(e, k, failure).get_epsilon_for_delta(1e-6)
        question = f"{k} x epsilon {e:g}, delta {failure:g} at 1e-06"
        for name, event in {
            "Approximate": Approximate(e, failure),
            "event_of": event_of(ApproxDP(e, failure)),
        }.items():
            ours = float(Composition({event: k}).total(1e-6).epsilon)
            yield Comparison(f"privacy.events.{name}", question, ours, truth, DPA)


@oracle("privacy.privacy_filter.PrivacyFilter")
def _filter(ask: Ask) -> Rows:
    from dplearn.privacy.privacy_filter import PrivacyFilter

    for e, k in grid(EPSILONS, COUNTS):
        rule = PrivacyFilter(ApproxDP(1000))
        spent = rule.nothing
        for _ in range(k):
            spent = rule.after(spent, rule.cost(ApproxDP(e)))
        theirs = ask("composed epsilon", e, k)
        question = f"{k} x epsilon {e:g}"
        yield Comparison("privacy.privacy_filter.PrivacyFilter", question, float(spent.epsilon), theirs, ODP)


# Events


@oracle("privacy.events.BoundedRange", "privacy.events.PermuteAndFlip", "kernels.exact.selection_ratio")
def _selections(ask: Ask) -> Rows:
    for e in EPSILONS:
        scale = 2 / e  # of Gumbel noise on qualities of sensitivity 1, which both may rise and fall
        ours, theirs = float(BoundedRange(e).rho), ask("selection rho", scale)
        yield Comparison("privacy.events.BoundedRange", f"rho of {e:g}", ours, theirs, ODP)
        ours, theirs = float(PermuteAndFlip(e).pure), ask("selection epsilon", scale)
        yield Comparison("privacy.events.PermuteAndFlip", f"epsilon of scale {scale:g}", ours, theirs, ODP)
        ours = -2 * math.log(selection_ratio(rational(e)))
        theirs = ask("selection epsilon", scale)
        yield Comparison("kernels.exact.selection_ratio", f"epsilon of {e:g}", ours, theirs, ODP, "lower")


@oracle("privacy.events.Gaussian", "privacy.events.ZeroConcentrated", "privacy.events.GaussianSums")
def _gaussians(ask: Ask) -> Rows:
    for sigma, moved in grid((3, 30), (1, 3)):
        ours, theirs = float(Gaussian(sigma**2, moved**2).rho), ask("gaussian rho", sigma, moved)
        yield Comparison(
            "privacy.events.Gaussian", f"rho of sigma {sigma}, moved by {moved}", ours, theirs, ODP
        )
    for rho, delta in grid((0.01, 0.5), DELTAS):
        truth, question = normal_epsilon(math.sqrt(2 * rho), delta), f"{rho:g} at {delta:g}"
        for kind in (ZeroConcentrated, GaussianSums):
            ours = float(Composition({kind(rho): 1}).total(delta).epsilon)
            name = f"privacy.events.{kind.__name__}"
            yield Comparison(name, question, ours, truth, f"{DPA}, Gaussian noise")


@oracle("privacy.events.Renyi", "privacy.conversion.pure_and_concentrated")
def _curves(_: Ask) -> Rows:
    orders = np.array([1.5, 2.0, 8.0, 64.0])
    for e in EPSILONS:
        book = RdpAccountant(
            orders=orders, neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE
        )
        book.compose(dp_accounting.RandomizedResponseDpEvent(2 / (1 + math.exp(e)), 2))
        curve = pure_and_concentrated(np.array([e]), np.array([np.inf]), orders)[0]
        for order, ours, theirs in zip(orders, curve, book._rdp, strict=True):
            question = f"divergence of order {order:g} of epsilon {e:g}"
            yield Comparison(
                "privacy.conversion.pure_and_concentrated", question, float(ours), float(theirs), DPA
            )
        for delta in DELTAS:
            ours = float(Composition({Renyi(orders.tolist(), curve.tolist()): 1}).total(delta).epsilon)
            theirs, _ = compute_epsilon(orders, curve, delta)
            # Chords between the orders may give less than any of the orders.
            question = f"curve of epsilon {e:g} at {delta:g}"
            yield Comparison("privacy.events.Renyi", question, ours, float(theirs), DPA, truth=False)
            truth = responses(e, 1).get_epsilon_for_delta(delta)
            yield Comparison("privacy.events.Renyi", question, ours, truth, DPA)


@oracle("privacy.derived.Parallel")
def _parallel(_: Ask) -> Rows:
    for e, delta in grid(EPSILONS, DELTAS):
        for by, k in (("position", 1), ("value", 2)):
            ours = float(Composition([Parallel([PureDP(e)] * 5, by=by)]).total(delta).epsilon)
            truth = responses(e, k).get_epsilon_for_delta(delta)
            yield Comparison(
                "privacy.derived.Parallel", f"5 parts of {e:g} by {by} at {delta:g}", ours, truth, DPA
            )


@oracle(
    "privacy.derived.SampledWithReplacement",
    "privacy.derived.subsampled",
    "privacy.derived.published_subsampled",
)
def _samples(ask: Ask) -> Rows:
    for e, m, n in grid((0.1, 1.0), (1, 10, 100), (1000,)):
        theirs = ask("sampled epsilon", e, m, n)
        question = f"epsilon {e:g}, {m} of {n}"
        for name, ours in {
            "derived.SampledWithReplacement": SampledWithReplacement(PureDP(e), m, n).pure,
            "subsampled.subsampled": subsampled(ApproxDP(e), m=m, n=n).epsilon,
            "subsampled.published_subsampled": published_subsampled(ApproxDP(e), m=m, n=n).epsilon,
        }.items():
            # Theirs draws without replacement: the same for one row, and less for several.
            yield Comparison(f"privacy.{name}", question, float(ours), theirs, f"{ODP}, without replacement")


# Gaussian-DP and calibration


@oracle(
    "privacy.gaussian_dp.delta_of_mu",
    "privacy.gaussian_dp.greatest_mu",
    "privacy.gaussian_dp.least_epsilon_of_mu2",
)
def _gaussian_dp(_: Ask) -> Rows:
    for mu, e in grid((0.05, 0.5, 2.0), (0.1, 1.0, 4.0)):
        ours = float(delta_of_mu(rational(mu), rational(e), 120))
        truth = normal_delta(mu, e)
        if truth > 1e-12:  # below, their floats cancel
            yield Comparison("privacy.gaussian_dp.delta_of_mu", f"mu {mu:g} at {e:g}", ours, truth, DPA)
    for e, delta in grid(EPSILONS, DELTAS):
        ours = float(greatest_mu(rational(e), rational(delta)))
        theirs = 1 / float(dp_accounting.get_sigma_gaussian(e, delta))
        yield Comparison("privacy.gaussian_dp.greatest_mu", f"{e:g} at {delta:g}", ours, theirs, DPA, "lower")
    for mu, delta in grid((0.05, 0.5, 2.0), DELTAS):
        ours = float(least_epsilon_of_mu2(rational(mu) ** 2, rational(delta)))
        theirs = normal_epsilon(mu, delta)
        yield Comparison(
            "privacy.gaussian_dp.least_epsilon_of_mu2", f"mu {mu:g} at {delta:g}", ours, theirs, DPA
        )


@oracle(
    "privacy.gaussian_dp.mu2_of_gaussian",
    "privacy.gaussian_dp.mu2_of_pure",
    "privacy.gaussian_dp.sums_sigma2",
    "privacy.gaussian_dp.without_failure",
)
def _mus(_: Ask) -> Rows:
    for sigma, moved, e in grid((4, 12, 60), (1, 3), (0.1, 0.5)):
        truth = float(DiscreteGaussianPrivacyLoss(sigma, moved).get_delta_for_epsilon(e))
        mu2 = mu2_of_gaussian(Fraction(moved**2), Fraction(sigma**2))
        if truth > 1e-12:
            ours = normal_delta(math.sqrt(mu2), e)
            question = f"delta of sigma {sigma}, moved by {moved}, at {e:g}"
            yield Comparison("privacy.gaussian_dp.mu2_of_gaussian", question, ours, truth, DPA)
    for e in EPSILONS:
        mu = math.sqrt(mu2_of_pure(rational(e)))
        for share in (0.0, 0.5, 0.9):
            truth = float(responses(e, 1).get_delta_for_epsilon(share * e))
            ours = normal_delta(mu, share * e)
            question = f"delta of epsilon {e:g} at {share:g} of it"
            yield Comparison("privacy.gaussian_dp.mu2_of_pure", question, ours, truth, DPA)
    for budget, e in grid((0.001, 0.02), (0.1, 0.5)):
        sigma2 = sums_sigma2(4, rational(budget))
        truth = float(DiscreteGaussianPrivacyLoss(math.sqrt(sigma2), 2).get_delta_for_epsilon(e))
        ours = float(delta_of_mu(Fraction(math.sqrt(2 * budget)), rational(e), 200))
        if truth > 1e-12:
            question = f"delta of a budget of {budget:g} at {e:g}"
            yield Comparison("privacy.gaussian_dp.sums_sigma2", question, ours, truth, DPA)
    for e, failure, delta in grid((0.1, 1.0), (1e-9, 1e-7), (1e-6,)):
        rest = without_failure(rational(delta), rational(failure))
        ours = float(optimal_homogeneous(PureDP(e), rest))
        truth = responses(e, 1, failure).get_epsilon_for_delta(delta)
        question = f"epsilon {e:g}, failure {failure:g} at {delta:g}"
        yield Comparison("privacy.gaussian_dp.without_failure", question, ours, truth, DPA)


@oracle("privacy.calibration.gaussian_sigma2", "privacy.calibration.calibrate")
def _calibrated(_: Ask) -> Rows:
    for e, delta, moved in grid((0.1, 1.0, 3.0), (1e-3, 1e-6), (1, 3)):
        target = ApproxDP(e, delta)
        sigma2 = gaussian_sigma2(target, moved)
        truth = float(DiscreteGaussianPrivacyLoss(math.sqrt(sigma2), moved).get_delta_for_epsilon(e))
        question = f"delta at {e:g}, wanted {delta:g}, moved by {moved}"
        yield Comparison("privacy.calibration.gaussian_sigma2", question, delta, truth, DPA)
    for e, delta, k in grid((0.5, 2.0), (1e-6,), (1, 20)):
        found = calibrate(
            lambda s, k=k: Composition({Gaussian(s): k}),
            ApproxDP(e, delta),
            low=1,
            high=10**7,
            increasing=False,
        )
        theirs = float(dp_accounting.get_sigma_gaussian(e, delta)) * math.sqrt(k)
        question = f"sigma of {k} releases at {e:g}, {delta:g}"
        ours = math.sqrt(found)
        yield Comparison("privacy.calibration.calibrate", question, ours, theirs, f"{DPA}, continuous noise")


# Budgets and shares


@oracle("privacy.shares.equal_epsilon", "privacy.shares.equal_shares")
def _shares(_: Ask) -> Rows:
    for e, delta, k in grid((0.5, 2.0), (1e-6,), (10, 100)):
        target, question = ApproxDP(e, delta), f"{k} releases within {e:g}, {delta:g}"
        share = float(equal_epsilon(target, k))
        cost = responses(share, k).get_epsilon_for_delta(delta)
        yield Comparison("privacy.shares.equal_epsilon", question, e, cost, DPA)
        last = equal_shares(target, k)[-1]
        cost = responses(float(last.epsilon), k, float(last.delta)).get_epsilon_for_delta(delta)
        yield Comparison("privacy.shares.equal_shares", question, e, cost, DPA)


@oracle(
    "privacy.shares.concentrated_budget",
    "privacy.shares.gaussian_budget",
    "privacy.shares.CONCENTRATED",
    "privacy.shares.GAUSSIAN",
    "privacy.shares.Accounting",
)
def _budgets(ask: Ask) -> Rows:
    for e, delta in grid(EPSILONS, DELTAS):
        target, question = ApproxDP(e, delta), f"{e:g} at {delta:g}"
        rho, half = float(concentrated_budget(target)), float(gaussian_budget(target))
        theirs = ask("rho to epsilon", rho, delta)
        yield Comparison("privacy.shares.concentrated_budget", question, e, theirs, ODP, truth=False)
        cost = normal_epsilon(math.sqrt(2 * rho), delta)
        yield Comparison("privacy.shares.concentrated_budget", question, e, cost, f"{DPA}, Gaussian noise")
        cost = normal_epsilon(math.sqrt(2 * half), delta)
        yield Comparison("privacy.shares.gaussian_budget", question, e, cost, f"{DPA}, Gaussian noise")
        for name, accounting in {"CONCENTRATED": CONCENTRATED, "GAUSSIAN": GAUSSIAN}.items():
            within = accounting.epsilon_within(accounting.budget(target) / 2, rational(delta))
            cost = normal_epsilon(math.sqrt(2 * float(accounting.budget(ApproxDP(within, delta)))), delta)
            for title in (name, "Accounting"):
                yield Comparison(
                    f"privacy.shares.{title}",
                    f"half of {question}",
                    float(within),
                    cost,
                    f"{DPA}, Gaussian noise",
                )


# Random stopping


def best_of(weights: list[int], below: Any) -> Any:
    """Return the probability that the best of a random number of runs is at most each of some values."""
    share = np.array(weights, float) / sum(weights)
    return sum(p * np.asarray(below) ** k for k, p in enumerate(share, 1))


@oracle("privacy.random_stopping.RandomStopping")
def _stopping(_: Ask) -> Rows:
    for e, most, concentration in grid(EPSILONS, (1, 5, 200), (0, 1, 3)):
        stopping = RandomStopping(most, concentration)
        worst = 0.0
        for rare in np.geomspace(1e-6, 0.5, 25):
            # One run gives the better of two outcomes with this probability, or exp(epsilon) times it.
            often = min(rare * math.exp(e), 1 - (1 - rare) * math.exp(-e))
            pair = [1 - best_of(stopping.weights, 1 - p) for p in (often, rare)]
            worst = max(worst, pair_epsilon(*[[p, 1 - p] for p in pair], 0.0))
        ours = float(stopping.total(ApproxDP(e)).epsilon)
        question = f"best of at most {most}, concentration {concentration}, of epsilon {e:g}"
        yield Comparison(
            "privacy.random_stopping.RandomStopping", question, ours, worst, f"{DPA}, some release"
        )


@oracle("privacy.random_stopping.gaussian_runs_delta", "privacy.random_stopping.gaussian_run_budget")
def _gaussian_stopping(_: Ask) -> Rows:
    places = np.linspace(-9, 9, 1801)
    for most, mu, e in grid((1, 5, 50), (0.1, 0.5), (0.5, 2.0)):
        stopping = RandomStopping(most)
        first, second = (np.diff(best_of(stopping.weights, norm.cdf(places - m))) for m in (0, mu))
        truth = max(np.maximum(p - math.exp(e) * q, 0).sum() for p, q in ((first, second), (second, first)))
        ours = float(gaussian_runs_delta(stopping, rational(mu) ** 2, rational(e)))
        question = f"delta of the best of at most {most}, mu {mu:g}, at {e:g}"
        if truth > 1e-12:
            yield Comparison(
                "privacy.random_stopping.gaussian_runs_delta",
                question,
                ours,
                float(truth),
                "SciPy, some release",
            )
        if most > 1 and mu == 0.1:
            target = ApproxDP(e, 1e-6)
            half = float(gaussian_run_budget(stopping, target))
            cost = normal_epsilon(math.sqrt(2 * half), 1e-6)  # of one run, which the best of several exceeds
            question = f"budget of a run, best of at most {most}, for {e:g} at 1e-06"
            yield Comparison(
                "privacy.random_stopping.gaussian_run_budget", question, e, cost, f"{DPA}, one run"
            )


# Noisy max


# Attack risk


@oracle(
    "privacy.attack_risk.AttackRisk",
    "privacy.attack_risk.attack_risk",
    "privacy.attack_risk.epsilon_for_risk",
)
def _risk(_: Ask) -> Rows:
    for e, delta in grid(EPSILONS, (0.0, 1e-6, 1e-2)):
        truth = float(responses(e, 1, delta).get_delta_for_epsilon(0))
        risk = attack_risk(ApproxDP(e, delta))
        question = f"advantage of {e:g}, {delta:g}"
        yield Comparison("privacy.attack_risk.attack_risk", question, float(risk.advantage), truth, DPA)
        for rate in (0.001, 0.1):
            # The optimal rate is the least of delta' + exp(epsilon') rate over the privacy profile.
            loss = responses(e, 1, delta)
            levels = np.linspace(-e, e, 401)
            truth = min(1.0, *(float(loss.get_delta_for_epsilon(x)) + math.exp(x) * rate for x in levels))
            ours = float(risk.true_positive_rate(rate))
            question = f"true positive rate at {rate:g} of {e:g}, {delta:g}"
            yield Comparison("privacy.attack_risk.AttackRisk", question, ours, truth, DPA)
    for mu in (0.1, 1.0):
        half, truth = rational(mu) ** 2 / 2, normal_delta(mu, 0.0)
        guarantee = Composition({GaussianSums(half): 1}).total(1e-6)
        ours = float(attack_risk(guarantee, GaussianSums(half)).advantage)
        yield Comparison("privacy.attack_risk.attack_risk", f"advantage of mu {mu:g}", ours, truth, DPA)
    for wanted, delta in grid((0.05, 0.3), (0.0, 1e-3)):
        e = float(epsilon_for_risk(advantage=wanted, delta=delta))
        truth = float(responses(e, 1, delta).get_delta_for_epsilon(0))
        question = f"advantage wanted {wanted:g}, delta {delta:g}"
        yield Comparison("privacy.attack_risk.epsilon_for_risk", question, wanted, truth, DPA)


# Distributions


@oracle(
    "kernels.exact.decay_ratio",
    "kernels.distributions.laplace_tail",
    "kernels.distributions.laplace_probabilities",
    "kernels.distributions.laplace_quantile",
    "kernels.distributions.geometric_tail",
    "kernels.distributions.geometric_probabilities",
)
def _laplace(ask: Ask) -> Rows:
    from scipy.stats import dlaplace, geom

    for e in EPSILONS:
        ratio = decay_ratio(rational(e))
        loss = pld.from_discrete_laplace_mechanism(-math.log(ratio), pessimistic_estimate=False)
        truth = float(loss.get_epsilon_for_delta(0))
        yield Comparison("kernels.exact.decay_ratio", f"epsilon of rate {e:g}", e, truth, DPA)
        theirs = ask("laplace epsilon", 1 / e, 1)
        yield Comparison("kernels.exact.decay_ratio", f"epsilon of scale {1 / e:g}", e, theirs, ODP)
        law, one_sided = dlaplace(-math.log(ratio)), geom(1 - float(ratio), loc=-1)
        for k in (0, 3, 20):
            question = f"rate {e:g}, {k}"
            theirs = float(law.sf(k - 1))
            if theirs > 1e-14:
                yield Comparison(
                    "kernels.distributions.laplace_tail",
                    question,
                    float(laplace_tail(ratio, k)),
                    theirs,
                    "SciPy",
                )
            theirs = float(one_sided.sf(k - 1))
            ours = float(geometric_tail(ratio, k))
            yield Comparison("kernels.distributions.geometric_tail", question, ours, theirs, "SciPy")
            ours, theirs = (
                float(laplace_probabilities(ratio, -30, 30)[30 + min(k, 29)]),
                float(law.pmf(min(k, 29))),
            )
            yield Comparison("kernels.distributions.laplace_probabilities", question, ours, theirs, "SciPy")
            ours, theirs = float(geometric_probabilities(ratio, 0, 30)[k]), float(one_sided.pmf(k))
            yield Comparison("kernels.distributions.geometric_probabilities", question, ours, theirs, "SciPy")
        for delta in DELTAS:
            found = laplace_quantile(ratio, rational(delta))
            theirs = float(law.sf(found - 1))  # the tail of the threshold, at most delta
            yield Comparison(
                "kernels.distributions.laplace_quantile", f"rate {e:g} at {delta:g}", delta, theirs, "SciPy"
            )


@oracle("kernels.distributions.power_probabilities", "kernels.distributions.permute_and_flip_probabilities")
def _selected(ask: Ask) -> Rows:
    for e in EPSILONS:
        ratio, scale = selection_ratio(rational(e)), 2 / e
        for mine, other in (((0, 1, 3), (1, 0, 2)), ((0, 0, 0), (1, 1, 0))):
            for name, law in {
                "power_probabilities": power_probabilities,
                "permute_and_flip_probabilities": permute_and_flip_probabilities,
            }.items():
                first, second = (
                    list(map(float, law(ratio, list(costs), [1, 1, 1]))) for costs in (mine, other)
                )
                exact = pair_epsilon(first, second, 0.0)
                theirs = ask("selection epsilon", scale)
                question = f"epsilon of costs {mine} and {other} of scale {scale:g}"
                yield Comparison(f"kernels.distributions.{name}", question, exact, theirs, ODP, "lower")


@oracle(
    "kernels.distributions.gaussian_probabilities",
    "privacy.gaussian_dp.tail_bounds",
)
def _normal(_: Ask) -> Rows:
    for sigma in (1, 4, 20):
        law = DiscreteGaussianPrivacyLoss(sigma)
        _, masses, left_out = gaussian_probabilities(Fraction(sigma**2), bits=60)
        # Delta at epsilon 0 is the total variation, computed here from our probabilities.
        ours = 0.5 * sum(abs(float(a) - float(b)) for a, b in pairwise(masses))
        ours += 0.5 * float(masses[0] + masses[-1] + left_out)
        truth = float(law.get_delta_for_epsilon(0))
        yield Comparison(
            "kernels.distributions.gaussian_probabilities", f"variation, sigma {sigma}", ours, truth, DPA
        )
    for x in (0.0, 1.0, 4.0, 8.0):
        low, high = tail_bounds(rational(x), 100)
        yield Comparison(
            "privacy.gaussian_dp.tail_bounds", f"upper at {x:g}", float(high), float(norm.sf(x)), "SciPy"
        )
        yield Comparison(
            "privacy.gaussian_dp.tail_bounds",
            f"lower at {x:g}",
            float(low),
            float(norm.sf(x)),
            "SciPy",
            "lower",
        )


# The run


class _Asked:
    """Questions for OpenDP, which are answered together; until then a question stands for its answer."""

    def __init__(self) -> None:
        self.answers: dict[tuple, float | None] = {}

    def __call__(self, *question: Any) -> tuple:
        self.answers.setdefault(question, None)
        return question

    def answer(self, python: str) -> str:
        """Ask OpenDP in its environment; return its version."""
        driver = str(Path(__file__).with_name("opendp_driver.py"))
        asked = json.dumps([list(question) for question in self.answers])
        run = subprocess.run([python, driver], input=asked, capture_output=True, text=True, check=True)
        self.answers = dict(zip(self.answers, json.loads(run.stdout), strict=True))
        program = "from importlib.metadata import version; print(version('opendp'))"
        told = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True)
        return told.stdout.strip()


def compared(
    opendp_python: str | None = None, only: set[str] | None = None
) -> tuple[list[Comparison], str | None]:
    """Return all comparisons, and the version of OpenDP if a Python with it is given.

    Parameters
    ----------
    opendp_python : str, optional
        A Python with OpenDP; without it, its figures are None.
    only : set of str, optional
        Names to compare; all unless given.
    """
    ask = _Asked()
    makers = {make for name, each in _ORACLES.items() for make in each if only is None or name in only}
    found = []
    for make in sorted(makers, key=lambda make: make.__name__):
        found += [row for row in make(ask) if only is None or row.name in only]
        print(make.__name__, len(found), file=sys.stderr, flush=True)
    version = ask.answer(opendp_python) if opendp_python and ask.answers else None
    rows = [
        replace(row, theirs=ask.answers[row.theirs]) if isinstance(row.theirs, tuple) else row
        for row in found
    ]
    return rows, version


def summary(rows: list[Comparison]) -> list[dict[str, Any]]:
    """Return, for each name and oracle, the number of figures and their least and greatest ratio."""
    groups: dict[tuple, list[Comparison]] = {}
    for row in rows:
        groups.setdefault((row.name, row.by, row.kind, row.truth), []).append(row)
    return [
        {
            "name": name,
            "by": by,
            "kind": kind,
            "truth": truth,
            "figures": len(each),
            "least": min((r.ratio for r in each if r.ratio is not None), default=None),
            "greatest": max(
                (r.ratio for r in each if r.ratio is not None and r.ratio < math.inf), default=None
            ),
            "broken": [asdict(r) for r in each if not r.kept],
        }
        for (name, by, kind, truth), each in sorted(groups.items())
    ]


def main() -> None:
    parser = options_of("accounting_oracles", __doc__)
    parser.add_argument("--opendp-python", help="a Python with OpenDP")
    options = parser.parse_args()
    rows, version = compared(options.opendp_python)
    table = summary(rows)
    lines = [["name", "by", "ours is", "figures", "least ratio", "greatest ratio", "broken"]]
    for each in table:
        ratios = ["" if each[end] is None else f"{each[end]:.6g}" for end in ("least", "greatest")]
        lines.append(
            [each["name"], each["by"], each["kind"], str(each["figures"]), *ratios, str(len(each["broken"]))]
        )
    print(lined_up(lines, left=3))
    write(
        options.json,
        ("dp-accounting", "numpy", "scipy"),
        opendp=version,
        rounding=ROUNDING,
        without={name: list(why) for name, why in WITHOUT.items()},
        rows=table,
    )


if __name__ == "__main__":
    main()
