"""Audit cases of secret samples: randomised response on a sample, and a learner fitted on a sample."""

from typing import Any

import numpy as np

from dplearn import mechanisms
from dplearn.audit.case import AuditCase, Required
from dplearn.audit.cases.point import point_case, point_model
from dplearn.audit.fits import Rows
from dplearn.chance.dice import Dice
from dplearn.learners.several.secret_sample import SecretSampleClassifier
from dplearn.privacy import ApproxDP
from dplearn.privacy.derived import subsampled

__all__ = ["CASES"]


def _answers_of_a_sample(rows: Rows, dice: Dice) -> tuple[str, Any]:
    """Release randomised responses of a secret sample of two rows, in a public order."""
    places = dice.below(len(rows), size=2)
    drawn = np.array(rows)[places]
    reports = np.sort(mechanisms.randomized_response(drawn, 2, privacy=ApproxDP(1), dice=dice))
    return str(reports.tolist()), reports


CASES = (
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
        SecretSampleClassifier(point_model(n_buckets=2), sample_size=2, random_state=0),
        subsampled(ApproxDP(1), m=2, n=3),
        keys=("a", None),
        n=3,
        ordered=False,
        rules=None,
        staged=False,
        required=Required(4, 0.9),
    ),
)
