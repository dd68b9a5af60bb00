"""Audit cases of classifiers trained on randomised labels: records are labels of fixed, public rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier

from dplearn.audit.case import AuditCase, Required
from dplearn.audit.fits import Rows, StagedFit, WholeFit, refitted
from dplearn.learners import PrivateLabelsClassifier
from dplearn.privacy import ApproxDP

__all__ = ["CASES"]


def _case(name: str, labels: Sequence[str], n: int, *, required: Required, staged: bool = True) -> AuditCase:
    model = PrivateLabelsClassifier(DummyClassifier(), classes=list(labels), epsilon=len(labels) - 1)

    def table(rows: Rows) -> tuple[Any, Any]:
        return np.arange(2.0 * n).reshape(n, 2), np.array(rows)

    def shown(fitted: Any) -> tuple[str, Any]:
        return ",".join(fitted.reports_), (fitted.estimator_.class_prior_.tolist(), fitted.estimator_error_)

    whole = WholeFit(refitted(model), table, shown)
    return AuditCase(
        name,
        StagedFit(whole) if staged else whole,
        labels,
        n,
        ApproxDP(model.epsilon, protects="labels"),
        verifies=("PrivateLabelsClassifier",),
        required=required,
    )


CASES = (
    _case("private_labels", ("no", "yes"), 3, required=Required(8, 0.999)),
    _case("small_private_labels", ("no", "yes"), 2, required=Required(4, 0.999), staged=False),
    _case("private_labels_of_three", ("a", "b", "c"), 2, required=Required(9, 0.999)),
)
