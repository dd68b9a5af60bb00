"""Cases of learners: the whole fit of a classifier on a column of small integers.

A case whose name begins with "small" is another with fewer records or values: what every change can afford.
"""

import warnings
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from dplearn.audit.case import AuditCase
from dplearn.audit.enumeration import Rows
from dplearn.chance.dice import Dice
from dplearn.domains import IntegerRange
from dplearn.learners import ExponentialMechanismClassifier
from dplearn.privacy import ApproxDP

__all__ = ["LEARNER_CASES", "fit_rows"]


def learner_case(name: str, estimator: Any, *, values: int, labels: Sequence[str], n: int) -> AuditCase:
    """Return a case of the whole fit of a classifier on one column of small integers."""

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        fitted = estimator.__class__(**estimator.get_params(deep=False))
        fit_rows(fitted, rows, dice)
        return repr(fitted.concept_), fitted

    claim = ApproxDP(estimator.epsilon)
    return AuditCase(name, fit, list(product(range(values), labels)), n, claim)


def fit_rows(learner: Any, rows: Rows, dice: Dice) -> None:
    """Fit on one column and labels; that so many records are few is said whatever they are."""
    X, y = (list(column) for column in zip(*rows, strict=True))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", f"n_samples is {len(rows)}: ", UserWarning)
        learner._fit(np.array(X)[:, None], np.array(y), dice)


def _stumps(values: int, labels: Sequence[str], **parameters: Any) -> ExponentialMechanismClassifier:
    return ExponentialMechanismClassifier(
        "stumps", domain=IntegerRange(0, values - 1), classes=list(labels), **parameters
    )


_YES_NO = ("no", "yes")
_THREE = ("a", "b", "c")

LEARNER_CASES = (
    learner_case(
        "exponential_classifier",
        _stumps(4, _YES_NO, epsilon=1.0),
        values=4,
        labels=_YES_NO,
        n=4,
    ),
    learner_case(
        "small_exponential_classifier",
        _stumps(4, _YES_NO, epsilon=1.0),
        values=4,
        labels=_YES_NO,
        n=3,
    ),
    learner_case(
        "permute_and_flip_classifier",
        _stumps(3, _YES_NO, epsilon=1.0, method="permute_and_flip"),
        values=3,
        labels=_YES_NO,
        n=4,
    ),
    learner_case(
        "small_permute_and_flip_classifier",
        _stumps(3, _YES_NO, epsilon=1.0, method="permute_and_flip"),
        values=3,
        labels=_YES_NO,
        n=3,
    ),
    learner_case(
        "small_classifier",
        _stumps(2, _YES_NO, epsilon=1.0),
        values=2,
        labels=_YES_NO,
        n=3,
    ),
    learner_case(
        "three_label_classifier",
        _stumps(2, _THREE, epsilon=2.0),
        values=2,
        labels=_THREE,
        n=3,
    ),
)
