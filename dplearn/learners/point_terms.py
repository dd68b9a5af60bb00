"""What a fit of a point function is told, and what it will do: all of it public."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from dplearn.chance import public_seed
from dplearn.core.key_hash import KeyHash
from dplearn.domains.keys import KEYS_ASSUMED
from dplearn.estimator.intake import TABLE, labels_assumed
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import Plan
from dplearn.theory.points import (
    hashed_point_failure,
    hashed_point_sizes,
    stable_point_failure,
    stable_point_sample_size,
)

__all__ = ["PointPlan", "PointTerms", "point_promise"]


@dataclass(frozen=True)
class PointPlan(Plan):
    """What a fit of `PointClassifier` would give.

    Attributes
    ----------
    guarantee : ApproxDP
        What it would promise.
    method : str
        How it would learn.
    n_buckets : int
        Into how many buckets it would hash keys; 0 with "stability".
    n_samples : int
        Number of records.
    failure : float
        Of records whose labels are a point function: the error exceeds alpha with probability at most this.
    n_needed : int
        Number of records from which on that is at most beta, with as many buckets as that takes.
    alpha, beta : float
        As asked for.
    """

    guarantee: ApproxDP
    method: str
    n_buckets: int
    n_samples: int
    failure: float
    n_needed: int
    alpha: float
    beta: float


@dataclass(frozen=True)
class PointTerms:
    """What the parameters settle before any data are seen."""

    method: str
    price: ApproxDP
    n_buckets: int

    def hash(self, seed: int) -> KeyHash | None:
        """Return the public hash that a seed stands for; None with "stability"."""
        if not self.n_buckets:
            return None
        multiplier, shift = (public_seed(seed, part) for part in ("multiplier", "shift"))
        return KeyHash(multiplier, shift, self.n_buckets.bit_length() - 1)

    def plan(self, n: int, alpha: Any, beta: Any) -> PointPlan:
        """Return how likely n records are too few, and how many are enough."""
        epsilon, delta = self.price.epsilon, self.price.delta
        if self.n_buckets:
            failure = hashed_point_failure(n, self.n_buckets, epsilon=epsilon, alpha=alpha)
            needed = hashed_point_sizes(epsilon=epsilon, alpha=alpha, beta=beta).n_samples
        else:
            failure = stable_point_failure(n, epsilon=epsilon, delta=delta, alpha=alpha)
            needed = stable_point_sample_size(epsilon=epsilon, delta=delta, alpha=alpha, beta=beta)
        return PointPlan(self.price, self.method, self.n_buckets, n, min(1.0, failure), needed, alpha, beta)


def point_promise(price: ApproxDP, classes: Sequence[Any] | None) -> ApproxDP:
    """Return what a fit promises."""
    return replace(price, assumes=(*TABLE, KEYS_ASSUMED, labels_assumed(classes)))
