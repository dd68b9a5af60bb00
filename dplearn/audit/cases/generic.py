"""Audit cases of the generic learner: the fit of a classifier on a column of small integers.

A case whose name starts with "small" has fewer records or values, for the quick test suite. No case attains
its claim, because of the normalisation of the exponential mechanism, and because universes of this size do
not contain the worst data.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from dplearn.audit.case import AuditCase, Required
from dplearn.audit.fits import Rows, StagedFit, WholeFit, refitted
from dplearn.audit.replay import RULES, Rule, moved_by
from dplearn.concepts import Conjunctions
from dplearn.domains import IntegerRange
from dplearn.estimator.public_data import PublicData
from dplearn.learners import ExponentialMechanismClassifier
from dplearn.privacy import ApproxDP

__all__ = ["CASES", "label_case", "learner_case", "whole_fit"]


def learner_case(
    name: str,
    estimator: ExponentialMechanismClassifier,
    *,
    values: int,
    labels: Sequence[str],
    n: int,
    required: Required,
    staged: bool = True,
    public: Sequence[int] | None = None,
    rules: Mapping[str, Rule] = RULES,
) -> AuditCase:
    """Return a case of the fit of a classifier on one column of small integers."""
    more = {} if public is None else {"X_public": PublicData(np.array(public)[:, None])}
    whole = whole_fit(refitted(estimator), more)
    universe = list(product(range(values), labels))
    return AuditCase(
        name,
        StagedFit(whole) if staged else whole,
        universe,
        n,
        ApproxDP(estimator.epsilon),
        rules=rules,
        verifies=("ExponentialMechanismClassifier",),
        required=required,
    )


def label_case(
    name: str,
    estimator: ExponentialMechanismClassifier,
    X: Sequence[Sequence[int]],
    labels: Sequence[str],
    *,
    required: Required,
    staged: bool = True,
) -> AuditCase:
    """Return a case of the fit of a classifier that protects labels: records are labels of fixed rows."""

    def table(rows: Rows) -> tuple[Any, Any]:
        return np.array(X), np.array(rows)

    whole = WholeFit(refitted(estimator), table, _shown)
    return AuditCase(
        name,
        StagedFit(whole) if staged else whole,
        labels,
        len(X),
        ApproxDP(estimator.epsilon, protects="labels"),
        verifies=("ExponentialMechanismClassifier",),
        required=required,
    )


def whole_fit(make: Callable[[], Any], public: Mapping[str, Any] | None = None) -> WholeFit:
    """Return the fit of the classifiers that `make` returns on one column and labels."""
    return WholeFit(make, _split, _shown, public or {})


def _split(rows: Rows) -> tuple[Any, Any]:
    X, y = (list(column) for column in zip(*rows, strict=True))
    return np.array(X)[:, None], np.array(y)


def _shown(fitted: Any) -> tuple[str, Any]:
    shares = fitted.label_shares_
    return repr(fitted.concept_) + ("" if shares is None else str(shares.round(9).tolist())), fitted


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
    label_case(
        "label_classifier",
        _stumps(9, _YES_NO, epsilon=1.0, protects="labels"),
        [[0], [2], [2], [5], [8]],
        _YES_NO,
        required=Required(24, 0.7),
    ),
    label_case(
        "small_label_classifier",
        _stumps(9, _YES_NO, epsilon=1.0, protects="labels"),
        [[0], [2], [2]],
        _YES_NO,
        staged=False,
        required=Required(6, 0.6),
    ),
    label_case(
        "three_labels_of_public_rows",
        _stumps(9, _THREE, epsilon=2.0, protects="labels", method="permute_and_flip"),
        [[1], [1], [7]],
        _THREE,
        required=Required(18, 0.85),
    ),
    label_case(
        "labels_of_public_bits",
        ExponentialMechanismClassifier(
            Conjunctions(2, 2, binarize=None), classes=list(_YES_NO), epsilon=1.0, protects="labels"
        ),
        [[0, 0], [1, 1], [1, 1], [1, 0]],
        _YES_NO,
        required=Required(12, 0.7),
    ),
    learner_case(
        "classifier_with_probability",
        _stumps(2, _YES_NO, epsilon=5.0, probability=True),
        values=2,
        labels=_YES_NO,
        n=1,
        staged=False,
        required=Required(4, 0.54),
        # Two counts move, which a replay sees if both rules predict alike.
        rules={**RULES, "discrete_laplace": moved_by(2)},
    ),
    learner_case(
        "public_cuts_classifier",
        _stumps(4, _YES_NO, epsilon=1.0),
        values=4,
        labels=_YES_NO,
        n=3,
        public=(0, 2),
        required=Required(44, 0.7),
    ),
    learner_case(
        "small_public_cuts_classifier",
        _stumps(4, _YES_NO, epsilon=1.0),
        values=4,
        labels=_YES_NO,
        n=2,
        public=(0, 2),
        staged=False,
        required=Required(19, 0.6),
    ),
)
