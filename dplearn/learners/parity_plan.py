"""The plan of a fit of the parity learner."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from dplearn.learners.multi_label_limit import Task, least_of_outputs
from dplearn.privacy import ApproxDP, BoundedRange, Event
from dplearn.privacy.plan import Plan, hidden

__all__ = ["ParityPlan"]


@dataclass(frozen=True)
class ParityPlan(Plan):
    """The plan of a fit of `ParityClassifier`.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the fit.
    method : str
        The method, a key of `PARITY_METHODS`.
    n_samples : int
        Number of records.
    n_needed : int
        The least number of records from which on `failure` is at most `beta`.
    n_parts, test_size : int
        The numbers of parts, and of test records, into which the records are divided.
    failure : float
        A bound on the probability that the error exceeds `alpha`, if labels are a parity of the columns; with
        "stable", if also the columns are independent fair coins.
    alpha, beta : float
        The parameters of the estimator.
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
    domain: Any = hidden()
    public: Any = hidden()
    fit_intercept: bool = hidden(False)
    _computed = ("n_least",)
    _notes: ClassVar[Mapping[str, str]] = {"n_least": "no private learner with fewer"}

    @property
    def n_least(self) -> int | None:
        """A number such that no learner with this guarantee is as accurate with fewer records.

        Accurate: with probability at least 1 - beta, the errors of all outputs are at most alpha if parities
        decide the labels; with "stable", if also the columns are independent fair coins. See
        `theory.multi_label_lower_bound`.
        """
        outputs = self.public.n_outputs
        return least_of_outputs(self.guarantee, [self.task] * outputs, alpha=self.alpha, beta=self.beta)

    @property
    def task(self) -> Task:
        """Parities. Without an intercept all agree at 0."""
        if self.method == "stable":
            return Task("parities", rooted=False, size=self.n_unknowns)
        return Task("parities", rooted=True, size=int(self.public.n_features))

    @property
    def known_event(self) -> Event | None:
        """Of "agnostic", which is of bounded range."""
        return BoundedRange(self.guarantee.epsilon) if self.method == "agnostic" else None

    @property
    def n_unknowns(self) -> int:
        """Number of bits of a solution for one output."""
        return int(self.public.n_features) + self.fit_intercept

    @property
    def warnings(self) -> tuple[str, ...]:
        """A warning if there are fewer than `n_needed` records."""
        if self.n_samples >= self.n_needed:
            return ()
        return (
            f"n_samples is {self.n_samples}: alpha={self.alpha} and beta={self.beta} with {self.method!r}"
            f" require {self.n_needed} records of {self.public.n_features} columns; plan(n_samples,"
            " n_features=...) reports `failure` without data",
        )
