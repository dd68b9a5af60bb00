"""What a fit of a parity is told, and what it will do: all of it public."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from dplearn.domains import Bits
from dplearn.learners.parity_methods import ParityMethod, ParityTask, settled_method
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import Plan

__all__ = ["ParityPlan", "ParityTerms"]


@dataclass(frozen=True)
class ParityPlan(Plan):
    """What a fit of `ParityClassifier` would give.

    Attributes
    ----------
    guarantee : ApproxDP
        What it would promise.
    method : str
        How it would learn.
    n_samples : int
        Number of records.
    n_needed : int
        From how many records on `failure` is at most `beta`.
    n_parts, test_size : int
        How the records would be cut.
    failure : float
        A bound on the probability that the error exceeds `alpha`, where labels are a parity of the columns;
        with "stable", where the columns are fair coins besides.
    alpha, beta : float
        As the estimator has them.
    """

    guarantee: ApproxDP
    method: str
    n_samples: int
    n_needed: int
    n_parts: int
    test_size: int
    failure: float
    alpha: float
    beta: float


@dataclass(frozen=True)
class ParityTerms:
    """All parameters of one fit, read and checked before the data."""

    budget: ApproxDP
    method: str
    task: Callable[..., ParityTask]
    bits: Bits
    classes: Sequence[Any] | None

    def price(self, spends_delta: bool) -> ApproxDP:
        """Return what a fit promises; a method that has no use for delta spends none."""
        return self.budget if spends_delta else replace(self.budget, delta=Fraction(0))

    def plan(self, method: ParityMethod) -> ParityPlan:
        """Return what a fit by a settled method would give."""
        task, sizes = method.task, method.sizes
        return ParityPlan(
            guarantee=self.price(method.spends_delta),
            method=method.name,
            n_samples=task.n_samples,
            n_needed=sizes.n_needed,
            n_parts=sizes.n_parts,
            test_size=sizes.test_size,
            failure=sizes.failure,
            alpha=task.alpha,
            beta=task.beta,
        )

    def settled(self, n_samples: int, n_features: int, n_outputs: int) -> ParityMethod:
        """Return the way in which a table of these sizes will be learned."""
        return settled_method(
            self.method, self.task(n_samples=n_samples, n_features=n_features, n_outputs=n_outputs)
        )
