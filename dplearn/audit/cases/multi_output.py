"""Audit cases of several outputs: fits of two private classifiers to two labels of the same records."""

from itertools import product
from typing import Any

import numpy as np

from dplearn.audit.case import AuditCase, Required, fit_case
from dplearn.audit.cases.search import OneAnswer
from dplearn.audit.fits import Rows
from dplearn.domains import IntegerRange
from dplearn.learners import ExponentialMechanismClassifier, PrivateMultiOutputClassifier
from dplearn.privacy import ApproxDP

__all__ = ["CASES", "multi_output_case"]

_NO_YES = ("no", "yes")
_OFF_ON = ("off", "on")


def multi_output_case(
    name: str,
    estimator: Any,
    claim: ApproxDP,
    *,
    n: int,
    values: int,
    classes: tuple[tuple[Any, ...], ...],
    **options: Any,
) -> AuditCase:
    """Return a case of the fit of two labels on one column of small integers."""
    budget: dict[str, Any] = {"epsilon": claim.epsilon, "delta": claim.delta}
    model = PrivateMultiOutputClassifier(estimator, classes=list(map(list, classes)), **budget)
    universe = list(product(range(values), *classes))
    return fit_case(name, model, _split, _shown, universe, n, claim=claim, **options)


def _split(rows: Rows) -> tuple[Any, Any]:
    X, *labels = zip(*rows, strict=True)
    return np.array(X)[:, None], np.array(labels, dtype=object).T


def _shown(fitted: PrivateMultiOutputClassifier) -> tuple[str, Any]:
    return " and ".join(repr(each.concept_) for each in fitted.estimators_), fitted


_THRESHOLDS = ExponentialMechanismClassifier("thresholds", domain=IntegerRange(0, 1))
_ANSWERS: dict[str, Any] = {"values": 1, "classes": ((0, 1), (0, 1)), "rules": None}

CASES = (
    multi_output_case(
        "multi_output",
        _THRESHOLDS,
        ApproxDP(1),
        n=2,
        values=2,
        classes=(_NO_YES, _OFF_ON),
        ordered=False,
        required=Required(33, 0.56),
    ),
    multi_output_case(
        "whole_multi_output",
        OneAnswer(),
        ApproxDP(1),
        n=2,
        staged=False,
        required=Required(4, 0.999999),
        **_ANSWERS,
    ),
    multi_output_case(
        "multi_output_with_delta",
        OneAnswer(),
        ApproxDP(1, "0.05"),
        n=1,
        required=Required(4, 0.97),
        **_ANSWERS,
    ),
)
