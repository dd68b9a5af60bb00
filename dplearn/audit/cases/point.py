"""Audit cases of the point-function learner, with keys of several types and a missing key."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from dplearn.audit.case import AuditCase, Required, fit_case
from dplearn.audit.fits import Rows
from dplearn.audit.replay import RULES, coin_within
from dplearn.estimator.base import PrivateClassifier
from dplearn.learners.rules.point import PointClassifier
from dplearn.privacy import ApproxDP

__all__ = ["CASES", "point_case", "point_model"]

_DELTA = Fraction(1, 20)
_FIFTH = Fraction(1, 5)
_KEYS = ("a", None, 2)
_ROWS = tuple(product(("a", None), (1, "x")))


def point_case(
    name: str,
    model: PrivateClassifier,
    claim: ApproxDP,
    *,
    keys: Sequence[Any] = _KEYS,
    n: int,
    n_outputs: int = 1,
    **options: Any,
) -> AuditCase:
    """Return a case of the fit of a point function, or of a learner around it."""
    universe = list(product(keys, *[(0, 1)] * n_outputs))
    return fit_case(name, model, _split, _shown, universe, n, claim=claim, **options)


def _split(rows: Rows) -> tuple[Any, Any]:
    labels = [list(row[1:]) for row in rows]
    cells = [list(row[0]) if isinstance(row[0], tuple) else [row[0]] for row in rows]
    return cells, labels if len(labels[0]) > 1 else [label for (label,) in labels]


def _shown(fitted: Any) -> tuple[str, Any]:
    return repr(getattr(fitted, "estimator_", fitted).concept_), fitted


def point_model(*, epsilon: float = 1.0, **parameters: Any) -> PointClassifier:
    """Return an unfitted learner of points of two labels."""
    return PointClassifier(epsilon=epsilon, classes=[0, 1], random_state=0, **parameters)


_STABLE = ApproxDP(1, _DELTA)

CASES = (
    point_case(
        "point_stability",
        point_model(delta=_DELTA),
        _STABLE,
        n=3,
        rules={**RULES, "bernoulli": coin_within(_STABLE)},
        staged=False,
        required=Required(19, 0.89),
    ),
    point_case(
        "point_stability_of_many",
        point_model(delta=_DELTA),
        _STABLE,
        n=5,
        ordered=False,
        rules={**RULES, "bernoulli": coin_within(_STABLE)},
        required=Required(45, 0.89),
    ),
    # Its draws are as many as there are keys with labels, so neighbours may draw differently.
    point_case(
        "point_of_two_labels",
        point_model(epsilon=3.0, delta=_FIFTH),
        ApproxDP(3, _FIFTH),
        keys=("a", None),
        n=3,
        n_outputs=2,
        ordered=False,
        rules=None,
        required=Required(84, 0.88),
    ),
    # Of a record with another key, or none, the threshold of the histogram hides all but delta here, so that
    # a part of the budget is not seen.
    point_case(
        "point_sanitizer",
        point_model(method="sanitizer", epsilon=6.0, delta=_FIFTH),
        ApproxDP(6, _FIFTH),
        keys=("a",),
        n=3,
        n_outputs=2,
        ordered=False,
        rules=None,
        required=Required(20, 0.49),
    ),
    point_case(
        "point_sanitizer_of_sets",
        point_model(method="sanitizer", n_keys=2, epsilon=6.0, delta=_FIFTH),
        ApproxDP(6, _FIFTH),
        keys=("a", None),
        n=3,
        ordered=False,
        rules=None,
        required=Required(17, 0.44),
    ),
    point_case("point_hashing", point_model(n_buckets=4), ApproxDP(1), n=3, required=Required(16, 0.999)),
    # Rules overlap: a record that adds an error to one rule adds it to others. So epsilon is not attained,
    # but approached as the errors of the others grow with the number of records.
    point_case(
        "point_prefixes",
        point_model(prefixes=True, n_buckets=2),
        ApproxDP(1),
        keys=_ROWS,
        n=2,
        required=Required(19, 0.74),
    ),
    point_case(
        "point_prefixes_of_many",
        point_model(prefixes=True, n_buckets=2),
        ApproxDP(1),
        keys=_ROWS[:3:2],
        n=5,
        ordered=False,
        required=Required(30, 0.9),
    ),
    point_case(
        "point_sets",
        point_model(n_keys=2, n_buckets=4),
        ApproxDP(1),
        keys=("a", None, b"x"),
        n=2,
        required=Required(19, 0.8),
    ),
    point_case(
        "point_sets_of_many",
        point_model(n_keys=2, n_buckets=4),
        ApproxDP(1),
        keys=("a", None),
        n=5,
        ordered=False,
        required=Required(36, 0.95),
    ),
)
