"""What a fit of thresholds is told, and what it will do: all of it public."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dplearn._validation import AUTO
from dplearn.domains import Product
from dplearn.estimator.intake import TABLE, labels_assumed
from dplearn.learners.threshold_methods import CutColumn
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import Plan, noted
from dplearn.releases.few_records import warn_if_few
from dplearn.theory.thresholds_learning import (
    THRESHOLD_METHODS,
    interior_point_examples,
    threshold_excess_errors,
    threshold_sample_size,
)

__all__ = ["ThresholdPlan", "ThresholdTerms"]


@dataclass(frozen=True)
class ThresholdPlan(Plan):
    """What a fit of `ThresholdClassifier` would give.

    Attributes
    ----------
    guarantee : ApproxDP
        What it would promise.
    method : str
        How it would learn.
    n_samples : int
        Number of records.
    n_examples : int
        How many records of each label are looked at; with "exponential" all are.
    excess_error : float
        With probability at least 1 - beta the training error exceeds the least by at most this; with
        "interior_point" where the least is 0.
    n_needed : int
        From how many records on, of a distribution that some threshold labels without error, the true error
        is at most alpha with probability at least 1 - beta.
    alpha, beta : float
        As the estimator has them.
    """

    guarantee: ApproxDP
    method: str
    n_samples: int
    n_examples: int
    excess_error: float = field(metadata=noted("on these records"))
    n_needed: int = field(metadata=noted("for a true error of alpha"))
    alpha: float
    beta: float


@dataclass(frozen=True)
class ThresholdTerms:
    """All parameters of one fit, read and checked before the data."""

    price: ApproxDP
    method: str
    declared: Any
    feature: int | str | None
    alpha: Fraction
    beta: Fraction
    classes: Sequence[Any] | None

    def plan(self, n_samples: int, domain: Product, columns: Sequence[CutColumn]) -> ThresholdPlan:
        """Return how a table of this shape will be learned."""
        method, sizes = self.settled(columns), self._sizes(columns)
        excess = threshold_excess_errors(method, **sizes)
        return ThresholdPlan(
            guarantee=self.guarantee(domain),
            method=method,
            n_samples=n_samples,
            n_examples=self.examples(method, n_samples, columns),
            excess_error=min(excess, n_samples) / n_samples,
            n_needed=threshold_sample_size(method, alpha=self.alpha, realizable=True, **sizes),
            alpha=float(self.alpha),
            beta=float(self.beta),
        )

    def guarantee(self, domain: Product) -> ApproxDP:
        """Return what a fit promises."""
        return replace(self.price, assumes=(*TABLE, *domain.assumes, labels_assumed(self.classes)))

    def examples(self, method: str, n_samples: int, columns: Sequence[CutColumn]) -> int:
        """Return how many records of each label are looked at."""
        if method == "exponential":
            return n_samples
        return interior_point_examples(n_samples, alpha=self.alpha, **self._sizes(columns))

    def warn_if_few(self, n_samples: int, method: str, columns: Sequence[CutColumn]) -> None:
        """Warn if a constant label, of which half are right, may be as good as what comes out."""
        sizes = self._sizes(columns)
        spent, cuts = float(self.price.epsilon), f"2^{math.log2(sizes['n_cuts']):.0f} cuts"
        several = f" in each of {len(columns)} columns" if len(columns) > 1 else ""
        warn_if_few(
            n_samples,
            threshold_excess_errors(method, **sizes),
            enough=n_samples / 2,
            problem=f"with epsilon {spent:.3g} and {cuts}{several}, half of the records more may"
            " come out wrong than with the best cut",
            fewer=", or name the column with feature=" if several else "",
            stacklevel=5,
        )

    def settled(self, columns: Sequence[CutColumn]) -> str:
        """Return the method, the one that promises fewer errors where there is a choice."""
        large = [column.domain for column in columns if column.size >= 1 << 64]
        if large and self.method == "exponential":
            raise ValueError(
                f"domain must have fewer than 2**64 values with method='exponential', got {large[0]!r}"
            )
        if self.method != AUTO:
            return self.method
        possible, sizes = THRESHOLD_METHODS[1:] if large else THRESHOLD_METHODS, self._sizes(columns)
        return min(possible, key=lambda method: threshold_excess_errors(method, **sizes))

    def _sizes(self, columns: Sequence[CutColumn]) -> dict[str, Any]:
        return {
            "n_cuts": 1 + max(column.size for column in columns),
            "n_columns": len(columns),
            "epsilon": self.price.epsilon,
            "beta": self.beta,
        }
