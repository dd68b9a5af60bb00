"""Audit cases of the generic learner: the fit of a classifier on a column of small integers.

A case whose name starts with "small" has fewer records or values, for the quick test suite. No case attains
its claim, because of the normalisation of the exponential mechanism, and because universes of this size do
not contain the worst data.
"""

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np

from dplearn.audit.case import AuditCase, Required
from dplearn.audit.fits import Rows, StagedFit, WholeFit, refitted
from dplearn.domains import IntegerRange
from dplearn.learners import ExponentialMechanismClassifier
from dplearn.privacy import ApproxDP

__all__ = ["CASES", "learner_case", "whole_fit"]


def learner_case(
    name: str,
    estimator: ExponentialMechanismClassifier,
    *,
    values: int,
    labels: Sequence[str],
    n: int,
    required: Required,
    staged: bool = True,
) -> AuditCase:
    """Return a case of the fit of a classifier on one column of small integers.

    Parameters
    ----------
    name : str
        Name of the case.
    estimator : ExponentialMechanismClassifier
        Unfitted; each dataset is fitted by a new estimator with these parameters.
    values : int
        How many integers there are.
    labels : sequence of str
        All labels.
    n : int
        Number of records.
    required : Required
        Required evidence of the case.
    staged : bool, default=True
        True: the stages before the draws run once a table. False: the whole fit runs on each path.
    """
    whole = whole_fit(refitted(estimator))
    universe = list(product(range(values), labels))
    return AuditCase(
        name,
        StagedFit(whole) if staged else whole,
        universe,
        n,
        ApproxDP(estimator.epsilon),
        verifies=("ExponentialMechanismClassifier",),
        required=required,
    )


def whole_fit(make: Callable[[], Any]) -> WholeFit:
    """Return the fit of the classifiers that `make` returns on one column and labels."""
    return WholeFit(make, _split, _shown)


def _split(rows: Rows) -> tuple[Any, Any]:
    X, y = (list(column) for column in zip(*rows, strict=True))
    return np.array(X)[:, None], np.array(y)


def _shown(fitted: Any) -> tuple[str, Any]:
    return repr(fitted.concept_), fitted


def _stumps(values: int, labels: Sequence[str], **parameters: Any) -> ExponentialMechanismClassifier:
    return ExponentialMechanismClassifier(
        "stumps", domain=IntegerRange(0, values - 1), classes=list(labels), **parameters
    )


_YES_NO = ("no", "yes")
_THREE = ("a", "b", "c")

CASES = (
    learner_case(
        "exponential_classifier",
        _stumps(4, _YES_NO, epsilon=1.0),
        values=4,
        labels=_YES_NO,
        n=4,
        required=Required(225, 0.8),
    ),
    learner_case(
        "small_exponential_classifier",
        _stumps(4, _YES_NO, epsilon=1.0),
        values=4,
        labels=_YES_NO,
        n=3,
        required=Required(96, 0.7),
    ),
    learner_case(
        "permute_and_flip_classifier",
        _stumps(3, _YES_NO, epsilon=1.0, method="permute_and_flip"),
        values=3,
        labels=_YES_NO,
        n=4,
        required=Required(85, 0.85),
    ),
    learner_case(
        "small_permute_and_flip_classifier",
        _stumps(3, _YES_NO, epsilon=1.0, method="permute_and_flip"),
        values=3,
        labels=_YES_NO,
        n=3,
        required=Required(44, 0.75),
    ),
    learner_case(
        "small_classifier",
        _stumps(2, _YES_NO, epsilon=1.0),
        values=2,
        labels=_YES_NO,
        n=3,
        staged=False,
        required=Required(16, 0.7),
    ),
    learner_case(
        "three_label_classifier",
        _stumps(2, _THREE, epsilon=2.0),
        values=2,
        labels=_THREE,
        n=3,
        required=Required(55, 0.8),
    ),
)
