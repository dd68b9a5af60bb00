"""Cases of points: counts of keys that nobody declared, one key or bucket of a kind, and secret samples.

Keys are of several types, and one is missing; records are read as a user's are.
"""

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from dplearn import mechanisms
from dplearn.audit.case import AuditCase, Required
from dplearn.audit.fits import Rows, StagedFit, WholeFit, refitted
from dplearn.audit.rules import RULES, coin_within
from dplearn.chance.dice import Dice
from dplearn.estimator.base import PrivateClassifier
from dplearn.learners.point import PointClassifier
from dplearn.learners.reductions import SecretSampleClassifier
from dplearn.privacy import ApproxDP
from dplearn.privacy.subsampled import subsampled
from dplearn.releases.stable_counts import _read, _release

__all__ = ["CASES", "point_case"]

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
    staged: bool = True,
    **options: Any,
) -> AuditCase:
    """Return a case of the fit of a point function, or of a learner around it.

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
    staged : bool, default=True
        Whether the stages before the draws run once a table; else all of the fit runs on each path.
    **options
        Of the case.
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


def _counted(rows: Rows, dice: Dice) -> tuple[str, Any]:
    found = _release(_read(list(rows)), _COUNTS, dice)
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

CASES = (
    AuditCase(
        "stable_counts",
        _counted,
        ("a", None, 2.0),
        6,
        _COUNTS,
        ordered=False,
        rules=None,
        verifies=("StableCounts",),
        required=Required(28, 0.85),
    ),
    AuditCase(
        "stable_counts_of_few",
        _counted,
        ("a", None, 2.0),
        4,
        _COUNTS,
        rules=None,
        verifies=("StableCounts",),
        required=Required(15, 0.48),
    ),
    point_case(
        "point_stability",
        _model(delta=_DELTA),
        _STABLE,
        n=3,
        rules={**RULES, "bernoulli": coin_within(_STABLE)},
        staged=False,
        required=Required(7, 0.999),
    ),
    point_case(
        "point_stability_of_many",
        _model(delta=_DELTA),
        _STABLE,
        n=5,
        ordered=False,
        rules={**RULES, "bernoulli": coin_within(_STABLE)},
        required=Required(10, 0.999),
    ),
    point_case("point_hashing", _model(n_buckets=4), ApproxDP(1), n=3, required=Required(16, 0.999)),
    AuditCase(
        "secret_sample",
        _answers_of_a_sample,
        (0, 1),
        4,
        subsampled(ApproxDP(1), m=2, n=4),
        rules=None,
        part_of=("SecretSampleClassifier",),
        required=Required(5, 0.999),
    ),
    # Not staged: the learner within is set up when the table is read, and is published.
    point_case(
        "secret_sample_classifier",
        SecretSampleClassifier(_model(n_buckets=2), sample_size=2, random_state=0),
        subsampled(ApproxDP(1), m=2, n=3),
        keys=("a", None),
        n=3,
        ordered=False,
        rules=None,
        staged=False,
        required=Required(4, 0.9),
    ),
)
