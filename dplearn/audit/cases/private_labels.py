"""Audit cases of classifiers trained on randomised labels: records are labels of fixed, public rows."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier

from dplearn.audit.case import AuditCase, Required, fit_case
from dplearn.audit.cases.additive import additive_query_case, with_far_noise
from dplearn.audit.fits import Rows
from dplearn.audit.replay import RULES, moved_by
from dplearn.domains import Categories, Product
from dplearn.learners import PrivateLabelsClassifier
from dplearn.learners.additive.label_sums import Products, PublicRows
from dplearn.learners.additive.queries import Rows as Tables
from dplearn.privacy import ApproxDP
from dplearn.queries import StatisticalQuery

__all__ = ["CASES", "REPLAYS"]


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


def _label_sums(*cells: Sequence[int], products: int = 0) -> StatisticalQuery:
    """Ask for the sums, over the records of a label in cells of two columns, of the constant and products."""
    given, signs, even = np.array(cells, dtype=np.int16), np.array([[1.0], [-1.0]]), np.full(2, 0.5)
    joint = Products.among([signs, signs], [even, even], len(given), deviation=0.0)  # no noise hides them
    tables = [np.zeros((2, 0)), np.zeros((2, 0)), *(table[:, :products] for table in joint.tables)]
    rows = Tables([table.astype(np.int64) for table in tables], 1, 1, 1.0)
    domain, factors = Product([Categories(["a", "b"])] * 2), np.ones(len(given), dtype=np.int32)
    found = np.hstack([given, joint.codes(given)])
    return PublicRows(domain, {}, [], found, [], rows, factors, [], joint).query(2)


def _sums(name: str, *, products: int = 0, required: Required) -> AuditCase:
    """Return a case of the sums of the rows of two records, with opposite products of two columns."""
    query = partial(_label_sums, (0, 0), (0, 1), products=products)
    learner = "PrivateLabelsClassifier"
    case = additive_query_case(name, query, [(0,), (1,)], learner, n=2, required=required)
    return replace(case, ordered=bool(products))


def _summed(name: str, n_labels: int) -> AuditCase:
    """Return a case of a whole fit by sums of rows of mixed columns."""
    labels = "abc"[:n_labels]
    model = PrivateLabelsClassifier(classes=list(labels), method="sums", random_state=0)
    X = np.array([[1.5, 0.0], [2.0, 1.0], [np.nan, 1.0], [9.0, 0.0], [2.0, 1.0]])

    def shown(fitted: Any) -> tuple[str, Any]:
        shapes = [np.round(shape.effects, 4).tolist() for shape in fitted.estimator_.shapes_]
        return str(shapes), ",".join(fitted.reports_)

    claim = ApproxDP(model.epsilon, model.delta, protects="labels")
    case = fit_case(name, model, lambda rows: (X, np.array(rows)), shown, labels, len(X), claim=claim)
    return case.with_fit(with_far_noise(case.fit))


#: Fits that are too large to enumerate; they are replayed on neighbours.
REPLAYS = (_summed("sums_of_labels", 2), _summed("sums_of_three_labels", 3))

CASES = (
    _sums("label_sums", required=Required(3, 0.999)),
    _sums("label_sums_of_products", products=1, required=Required(4, 0.999)),
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
