"""Audit cases of the generic learner: the fit of a classifier on a column of small integers."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from dplearn.audit.case import AuditCase, Required, fit_case
from dplearn.audit.fits import Rows
from dplearn.audit.replay import RULES, Rule, moved_by
from dplearn.concepts import Conjunctions
from dplearn.domains import IntegerRange
from dplearn.estimator.public_data import PublicData
from dplearn.learners import ExponentialMechanismClassifier
from dplearn.privacy import ApproxDP

__all__ = ["CASES", "label_case", "learner_case"]


def learner_case(
    name: str,
    values: int,
    labels: Sequence[str],
    n: int,
    required: Required,
    *,
    staged: bool = True,
    public: Sequence[int] | None = None,
    rules: Mapping[str, Rule] = RULES,
    **parameters: Any,
) -> AuditCase:
    """Return a case of the fit of a classifier on one column of small integers."""
    more = {} if public is None else {"X_public": PublicData(np.array(public)[:, None])}
    estimator = _stumps(values, labels, **parameters)
    universe = list(product(range(values), labels))
    how: dict[str, Any] = {"staged": staged, "public": more, "rules": rules, "required": required}
    return fit_case(name, estimator, _split, _shown, universe, n, **how)


def label_case(
    name: str,
    estimator: ExponentialMechanismClassifier,
    X: Sequence[Sequence[int]],
    labels: Sequence[str],
    required: Required,
    *,
    staged: bool = True,
) -> AuditCase:
    """Return a case of the fit of a classifier that protects labels: records are labels of fixed rows."""

    def table(rows: Rows) -> tuple[Any, Any]:
        return np.array(X), np.array(rows)

    claim = ApproxDP(estimator.epsilon, protects="labels")
    how: dict[str, Any] = {"staged": staged, "required": required}
    return fit_case(name, estimator, table, _shown, labels, len(X), claim=claim, **how)


def _split(rows: Rows) -> tuple[Any, Any]:
    X, y = (list(column) for column in zip(*rows, strict=True))
    return np.array(X)[:, None], np.array(y)


def _shown(fitted: Any) -> tuple[str, Any]:
    shares = fitted.label_shares_
    return repr(fitted.concept_) + ("" if shares is None else str(shares.round(9).tolist())), fitted


def _stumps(
    values: int, labels: Sequence[str], epsilon: float = 1.0, **parameters: Any
) -> ExponentialMechanismClassifier:
    domain, kind = IntegerRange(0, values - 1), parameters.pop("concept_class", "stumps")
    return ExponentialMechanismClassifier(
        kind, domain=domain, classes=list(labels), epsilon=epsilon, **parameters
    )


_YES_NO = ("no", "yes")
_THREE = ("a", "b", "c")
_FLIP = "permute_and_flip"
_PUBLIC = _stumps(9, _YES_NO, protects="labels")
_OF_BITS = ExponentialMechanismClassifier(
    Conjunctions(2, 2, binarize=None), classes=list(_YES_NO), epsilon=1.0, protects="labels"
)
_COUNTS = {**RULES, "discrete_laplace": moved_by(2)}

CASES = (
    learner_case("exponential_classifier", 4, _YES_NO, 4, Required(225, 0.8)),
    learner_case("small_exponential_classifier", 4, _YES_NO, 3, Required(96, 0.7)),
    learner_case("permute_and_flip_classifier", 3, _YES_NO, 4, Required(85, 0.85), method=_FLIP),
    learner_case("small_permute_and_flip_classifier", 3, _YES_NO, 3, Required(44, 0.75), method=_FLIP),
    learner_case("small_classifier", 2, _YES_NO, 3, Required(16, 0.7), staged=False),
    learner_case("three_label_classifier", 2, _THREE, 3, Required(55, 0.8), epsilon=2.0),
    label_case("label_classifier", _PUBLIC, [[0], [2], [2], [5], [8]], _YES_NO, Required(24, 0.7)),
    label_case("small_label_classifier", _PUBLIC, [[0], [2], [2]], _YES_NO, Required(6, 0.6), staged=False),
    label_case(
        "three_labels_of_public_rows",
        _stumps(9, _THREE, epsilon=2.0, protects="labels", method=_FLIP),
        [[1], [1], [7]],
        _THREE,
        Required(18, 0.85),
    ),
    label_case(
        "labels_of_public_bits", _OF_BITS, [[0, 0], [1, 1], [1, 1], [1, 0]], _YES_NO, Required(12, 0.7)
    ),
    learner_case(
        "classifier_with_probability",
        2,
        _YES_NO,
        1,
        Required(4, 0.54),
        epsilon=5.0,
        probability=True,
        staged=False,
        rules=_COUNTS,  # two counts move, which a replay sees if both rules predict alike
    ),
    learner_case("public_cuts_classifier", 4, _YES_NO, 3, Required(44, 0.7), public=(0, 2)),
    learner_case(
        "public_corners_classifier",
        4,
        _YES_NO,
        3,
        Required(16, 0.6),
        public=(0, 2),
        concept_class="corners",
    ),
    learner_case(
        "small_public_cuts_classifier", 4, _YES_NO, 2, Required(19, 0.6), public=(0, 2), staged=False
    ),
)
