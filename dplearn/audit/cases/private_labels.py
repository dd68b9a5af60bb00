"""Audit cases of classifiers trained on randomised labels: records are labels of fixed, public rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier

from dplearn.audit.case import AuditCase, Required, fit_case
from dplearn.audit.fits import Rows
from dplearn.audit.replay import RULES, moved_by
from dplearn.learners import PrivateLabelsClassifier
from dplearn.privacy import ApproxDP

__all__ = ["CASES"]


def _case(
    name: str,
    labels: Sequence[str],
    n: int,
    *,
    required: Required,
    clusters: int | None = None,
    staged: bool = True,
) -> AuditCase:
    method = "clusters" if clusters else "reports"
    model = PrivateLabelsClassifier(
        DummyClassifier(),
        classes=list(labels),
        method=method,
        epsilon=len(labels) - 1,
        random_state=0,  # of public choices; a fit of a case draws from the case's dice
    )

    def table(rows: Rows) -> tuple[Any, Any]:
        return np.arange(2.0 * n).reshape(n, 2), np.array(rows)

    def shown(fitted: Any) -> tuple[str, Any]:
        reports = ",".join(fitted.reports_)
        first = f"{fitted.counts_.tolist()} {reports}" if clusters else reports
        return first, (fitted.estimator_.class_prior_.tolist(), fitted.estimator_error_)

    claim, rules = ApproxDP(model.epsilon, protects="labels"), {**RULES, "discrete_laplace": moved_by(2)}
    how: dict[str, Any] = {"rules": rules, "required": required, "staged": staged}
    constants = {"_n_clusters": clusters}
    return fit_case(name, model, table, shown, labels, n, claim=claim, constants=constants, **how)


CASES = (
    _case("private_labels", ("no", "yes"), 3, required=Required(8, 0.999)),
    _case("small_private_labels", ("no", "yes"), 2, required=Required(4, 0.999), staged=False),
    _case("private_labels_of_three", ("a", "b", "c"), 2, required=Required(9, 0.999)),
    _case("labels_of_a_cluster", ("no", "yes"), 2, clusters=1, required=Required(3, 0.999)),
    _case("labels_of_two_clusters", ("no", "yes"), 2, clusters=2, required=Required(4, 0.999)),
    _case(
        "small_labels_of_a_cluster",
        ("no", "yes"),
        1,
        clusters=1,
        required=Required(2, 0.999),
        staged=False,
    ),
)
