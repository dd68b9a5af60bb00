"""Audit cases of corners: the fit of `ExponentialMechanismClassifier` on two columns of small integers."""

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from dplearn.audit.case import AuditCase, Required, fit_case
from dplearn.audit.fits import Rows
from dplearn.concepts import Corners
from dplearn.domains import IntegerRange, Product
from dplearn.learners import ExponentialMechanismClassifier
from dplearn.privacy import ApproxDP

__all__ = ["CASES", "corner_case"]

_LABELS = ("no", "yes")


def corner_case(
    name: str,
    concepts: str | Corners,
    sizes: tuple[int, int],
    n: int,
    *,
    required: Required,
    staged: bool = True,
    rows: Sequence[tuple[int, int]] | None = None,
    **parameters: Any,
) -> AuditCase:
    """Return a case of the fit of a classifier on two columns of small integers and two labels."""
    if isinstance(concepts, str):
        parameters["domain"] = _plane(sizes)
    if rows is not None:
        parameters["protects"] = "labels"
    estimator = ExponentialMechanismClassifier(concepts, classes=list(_LABELS), epsilon=1.0, **parameters)

    def table(records: Rows) -> tuple[Any, Any]:
        if rows is not None:
            return np.array(rows), np.array(records)
        return np.array([record[:2] for record in records]), np.array([record[2] for record in records])

    cells = list(product(range(sizes[0]), range(sizes[1]), _LABELS)) if rows is None else _LABELS
    claim = ApproxDP(1.0, protects="examples" if rows is None else "labels")
    how: dict[str, Any] = {"claim": claim, "staged": staged, "required": required}
    return fit_case(name, estimator, table, _shown, cells, n, **how)


def _plane(sizes: tuple[int, int]) -> Product:
    return Product([IntegerRange(0, size - 1) for size in sizes])


def _shown(fitted: Any) -> tuple[str, Any]:
    return repr(fitted.concept_), fitted


_UP_TO = Corners(_plane((3, 3)), directions=("<=", "<="), inside=1)  # the class of the paper
_ABOVE = Corners(_plane((2, 2)), directions=("<=", ">"), inside=0)

CASES = (
    corner_case("corners", _UP_TO, (3, 3), 2, required=Required(163, 0.95)),
    corner_case("corners_of_all_directions", "corners", (2, 2), 1, required=Required(8, 0.49)),
    corner_case(
        "corners_permute_and_flip", _ABOVE, (2, 2), 3, method="permute_and_flip", required=Required(96, 0.99)
    ),
    corner_case("small_corners", _ABOVE, (2, 2), 2, staged=False, required=Required(33, 0.9)),
    corner_case(
        "corners_of_public_rows",
        "corners",
        (9, 9),
        3,
        rows=[(0, 5), (2, 2), (8, 2)],
        required=Required(8, 0.58),
    ),
)
