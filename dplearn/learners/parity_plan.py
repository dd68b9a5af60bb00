"""The plan of a fit of the parity learner, and the public values of its table.

>>> ParityTable(1000, 12, n_outputs=3).n_outputs
3
"""

from dataclasses import dataclass
from typing import Any

from dplearn.estimator.stages import Public
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import Plan, hidden

__all__ = ["ParityPlan", "ParityTable"]


@dataclass(frozen=True)
class ParityTable(Public):
    """The public values of a table with one or several labels a record.

    Attributes
    ----------
    classes : list of ndarray of shape (2,) or None
        The labels of each output.
    n_outputs : int
        Number of labels of a record.
    many : bool
        Whether `y` has two dimensions.
    """

    n_outputs: int = 1
    many: bool = False

    def __post_init__(self) -> None:
        """Leave `n_labels` unchanged: here `classes` is a list over outputs, not over labels."""


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
