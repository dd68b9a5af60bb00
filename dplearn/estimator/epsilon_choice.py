"""The choice of epsilon, from a wanted accuracy or from the risk of an attack: plans at other epsilons.

>>> from dplearn import StatisticalQueryNaiveBayes
>>> learner = StatisticalQueryNaiveBayes()
>>> chosen_epsilon(learner, 10_000, alpha=0.01, n_features=5, n_labels=2)
0.677
>>> round(learner.set_params(epsilon=0.677).plan(10_000, n_features=5, n_labels=2).tolerance, 5)
0.00999
>>> chosen_epsilon(learner, 10_000, advantage=0.05, n_features=5, n_labels=2)
0.505
"""

import inspect
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sklearn.base import clone

from dplearn._validation import check_count, check_number
from dplearn.kernels.search import first
from dplearn.privacy.plan import Plan

#: The epsilons that are tried: all decimals of three digits from .001 to 100.
_EPSILONS = tuple(Decimal(digits).scaleb(power) for power in range(-5, 0) for digits in range(100, 1000)) + (
    Decimal(100),
)
_LAST = len(_EPSILONS) - 1


def chosen_epsilon(
    learner: Any, n_samples: int, *, alpha: Any = None, advantage: Any = None, **public: Any
) -> float:
    """Return the epsilon of `PrivateEstimator.epsilon_for`."""
    name = type(learner).__name__
    if not hasattr(learner, "plan") or "epsilon" not in learner.get_params(deep=False):
        raise TypeError(f"epsilon_for needs a plan and a parameter epsilon, which {name} does not have")
    check_count("n_samples", n_samples, low=1)
    if alpha is not None and advantage is not None:
        raise ValueError("at most one of alpha and advantage must be given, got both")
    if advantage is not None:
        return _greatest(learner, n_samples, check_number("advantage", advantage, above=0, below=1), public)
    return _least(learner, n_samples, alpha, public)


def _planned(learner: Any, epsilon: Decimal, n_samples: int, public: dict[str, Any]) -> Plan:
    plan: Plan = clone(learner).set_params(epsilon=float(epsilon), ledger=None).plan(n_samples, **public)
    return plan


def _greatest(learner: Any, n_samples: int, wanted: Fraction, public: dict[str, Any]) -> float:
    """Return the greatest epsilon with an advantage of at most the wanted one."""

    def exceeds(place: int) -> bool:
        return _planned(learner, _EPSILONS[place], n_samples, public).risk.advantage > wanted

    if not exceeds(_LAST):
        return float(_EPSILONS[_LAST])
    place = first(_unless_refused(exceeds), 0, _LAST)
    if not place:
        raise ValueError(
            f"advantage must be reachable with an epsilon of at least {_EPSILONS[0]}, got {float(wanted):g};"
            " a smaller delta helps if delta is as large as this"
        )
    return float(_EPSILONS[place - 1])


def _least(learner: Any, n_samples: int, alpha: Any, public: dict[str, Any]) -> float:
    """Return the least epsilon that suffices for the wanted error, or for the plan's own one."""
    learner, public, error = _with_alpha(learner, n_samples, alpha, public)

    def suffices(place: int) -> bool:
        plan: Any = _planned(learner, _EPSILONS[place], n_samples, public)
        if error is not None:
            return bool(getattr(plan, error) <= alpha)
        needed = getattr(plan, "n_needed", None)
        return needed is not None and bool(needed <= n_samples)

    if not suffices(_LAST):
        shown = "the error that the plan states" if alpha is None else f"alpha={float(alpha):g}"
        plan: Any = _planned(learner, _EPSILONS[_LAST], n_samples, public)
        there = _stated(plan, error)
        raise ValueError(
            f"n_samples must be greater: {n_samples} records do not suffice for {shown} at any epsilon up to"
            f" {_EPSILONS[_LAST]}{there and f', where {there}'}"
        )
    return float(_EPSILONS[first(_unless_refused(suffices), 0, _LAST)])


def _stated(plan: Any, error: str | None) -> str:
    """Return what a plan states about its accuracy; nothing if it states nothing."""
    if error is not None:
        return f"{error} is {float(getattr(plan, error)):.3g}"
    needed = getattr(plan, "n_needed", None)
    return "" if needed is None else f"{needed} are needed"


def _with_alpha(
    learner: Any, n_samples: int, alpha: Any, public: dict[str, Any]
) -> tuple[Any, dict[str, Any], str | None]:
    """Return the learner and the arguments of its plan with alpha, and the name of the plan's error."""
    if alpha is None:
        plan = _planned(learner, _EPSILONS[_LAST], n_samples, public)
        if not hasattr(plan, "n_needed"):
            raise ValueError(
                f"advantage must be given: the plan of {type(learner).__name__} states no n_needed, so no"
                " accuracy"
            )
        return learner, public, None
    check_number("alpha", alpha, above=0, below=1)
    if "alpha" in inspect.signature(learner.plan).parameters:
        return learner, public | {"alpha": alpha}, None
    if "alpha" in learner.get_params(deep=False):
        return clone(learner).set_params(alpha=alpha), public, None
    plan = _planned(learner, _EPSILONS[_LAST], n_samples, public)
    if plan.error_name is None:
        raise ValueError(
            f"alpha must be None: the plan of {type(learner).__name__} states no error that could be compared"
            " with it; without it, epsilon_for returns the least epsilon for which n_needed is at most"
            " n_samples"
        )
    return learner, public, plan.error_name


def _unless_refused(holds: Callable[[int], bool]) -> Callable[[int], bool]:
    """Return a condition that does not hold where a plan refuses the epsilon, as too small."""

    def checked(place: int) -> bool:
        try:
            return holds(place)
        except ValueError:
            return False

    return checked
