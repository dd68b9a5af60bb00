"""Cases of points: counts of keys that nobody declared, one key or bucket of a kind, and secret samples.

Keys are of several types, and one is missing; records are read as a user's are.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from dplearn import mechanisms
from dplearn.audit.case import AuditCase
from dplearn.audit.enumeration import Rows
from dplearn.audit.rules import RULES, coin_within
from dplearn.chance.dice import Dice
from dplearn.estimator.base import PrivateClassifier
from dplearn.learners.point import PointClassifier
from dplearn.learners.reductions import SecretSampleClassifier
from dplearn.privacy import ApproxDP
from dplearn.privacy.subsampled import subsampled
from dplearn.releases.stable_counts import _StableCounts

__all__ = ["POINT_CASES", "point_case"]

_DELTA = Fraction(1, 20)
_KEYS = ("a", None, 2)
_COUNTS = ApproxDP(2, _DELTA)


def point_case(
    name: str,
    model: PrivateClassifier,
    claim: ApproxDP,
    *,
    keys: Sequence[Any] = _KEYS,
    n: int,
    **options: Any,
) -> AuditCase:
    """Return a case of the whole fit of a point function, or of a learner around it.

    Parameters
    ----------
    name : str
        Of the case.
    model : PrivateClassifier
        Is built anew for each dataset, with these parameters.
    claim : ApproxDP
        What is to be verified.
    keys : sequence
        Each comes with either label.
    n : int
        Number of records.
    **options
        Of the case.
    """

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        fitted: Any = type(model)(**model.get_params(deep=False))
        keys_given, labels = zip(*rows, strict=True)
        fitted._fit([[key] for key in keys_given], list(labels), dice, reproducible=True)
        return repr(getattr(fitted, "estimator_", fitted).concept_), fitted

    return AuditCase(name, fit, list(product(keys, (0, 1))), n, claim, **options)


def _counted(rows: Rows, dice: Dice) -> tuple[str, Any]:
    stages = _StableCounts(_COUNTS.epsilon, _COUNTS.delta)
    keys = stages.read(list(rows))
    plan = stages.plan(len(keys))
    found = stages.release(stages.summarize(keys, plan), plan, dice)
    return str(found.counts), found


def _answers_of_a_sample(rows: Rows, dice: Dice) -> tuple[str, Any]:
    """Two rows drawn in secret answer for themselves, and their answers come in a public order."""
    places = dice.below(len(rows), size=2)
    drawn = np.array(rows)[places]
    reports = np.sort(mechanisms.randomized_response(drawn, 2, privacy=ApproxDP(1), dice=dice))
    return str(reports.tolist()), reports


def _model(**parameters: Any) -> PointClassifier:
    return PointClassifier(epsilon=1.0, classes=[0, 1], random_state=0, **parameters)


_STABLE = ApproxDP(1, _DELTA)

POINT_CASES = (
    AuditCase("stable_counts", _counted, ("a", None, 2.0), 6, _COUNTS, ordered=False, rules=None),
    AuditCase("stable_counts_of_few", _counted, ("a", None, 2.0), 4, _COUNTS, rules=None),
    point_case(
        "point_stability",
        _model(delta=_DELTA),
        _STABLE,
        n=3,
        rules={**RULES, "bernoulli": coin_within(_STABLE)},
    ),
    point_case(
        "point_stability_of_many",
        _model(delta=_DELTA),
        _STABLE,
        n=5,
        ordered=False,
        rules={**RULES, "bernoulli": coin_within(_STABLE)},
    ),
    point_case("point_hashing", _model(n_buckets=4), ApproxDP(1), n=3),
    AuditCase(
        "secret_sample", _answers_of_a_sample, (0, 1), 4, subsampled(ApproxDP(1), m=2, n=4), rules=None
    ),
    point_case(
        "secret_sample_classifier",
        SecretSampleClassifier(_model(n_buckets=2), sample_size=2, random_state=0),
        subsampled(ApproxDP(1), m=2, n=3),
        keys=("a", None),
        n=3,
        ordered=False,
        rules=None,
    ),
)
