"""Audit cases of the point-function learner, with keys of several types and a missing key."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from dplearn.audit.case import AuditCase, Required
from dplearn.audit.fits import Rows, StagedFit, WholeFit, refitted
from dplearn.audit.rules import RULES, coin_within
from dplearn.estimator.base import PrivateClassifier
from dplearn.learners.point import PointClassifier
from dplearn.privacy import ApproxDP

__all__ = ["CASES", "point_case", "point_model"]

_DELTA = Fraction(1, 20)
_KEYS = ("a", None, 2)


def point_case(
    name: str,
    model: PrivateClassifier,
    claim: ApproxDP,
    *,
    keys: Sequence[Any] = _KEYS,
    n: int,
    staged: bool = True,
    **options: Any,
) -> AuditCase:
    """Return a case of the fit of a point function, or of a learner around it.

    Parameters
    ----------
    name : str
        Name of the case.
    model : PrivateClassifier
        Unfitted; each dataset is fitted by a new estimator with these parameters.
    claim : ApproxDP
        The guarantee to verify.
    keys : sequence
        Each comes with either label.
    n : int
        Number of records.
    staged : bool, default=True
        True: the stages before the draws run once a table. False: the whole fit runs on each path.
    **options
        Further fields of the case.
    """
    whole = WholeFit(refitted(model), _split, _shown)
    universe = list(product(keys, (0, 1)))
    verified = (type(model).__name__,)
    fit = StagedFit(whole) if staged else whole
    return AuditCase(name, fit, universe, n, claim, verifies=verified, **options)


def _split(rows: Rows) -> tuple[Any, Any]:
    keys, labels = zip(*rows, strict=True)
    return [[key] for key in keys], list(labels)


def _shown(fitted: Any) -> tuple[str, Any]:
    return repr(getattr(fitted, "estimator_", fitted).concept_), fitted


def point_model(**parameters: Any) -> PointClassifier:
    """Return an unfitted learner of points of two labels, at epsilon 1."""
    return PointClassifier(epsilon=1.0, classes=[0, 1], random_state=0, **parameters)


_STABLE = ApproxDP(1, _DELTA)

CASES = (
    point_case(
        "point_stability",
        point_model(delta=_DELTA),
        _STABLE,
        n=3,
        rules={**RULES, "bernoulli": coin_within(_STABLE)},
        staged=False,
        required=Required(7, 0.999),
    ),
    point_case(
        "point_stability_of_many",
        point_model(delta=_DELTA),
        _STABLE,
        n=5,
        ordered=False,
        rules={**RULES, "bernoulli": coin_within(_STABLE)},
        required=Required(10, 0.999),
    ),
    point_case("point_hashing", point_model(n_buckets=4), ApproxDP(1), n=3, required=Required(16, 0.999)),
)
