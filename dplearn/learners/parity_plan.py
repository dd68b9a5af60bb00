"""The plan of a fit of parity, and the public values of its table, which may have several labels a record.

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
    """The public values of a table with one label a record, or several.

    Attributes
    ----------
    classes : list of ndarray of shape (2,) or None
        The labels of each output.
    n_outputs : int
        Number of labels a record.
    many : bool
        Whether `y` has an axis of outputs.
    """

    n_outputs: int = 1
    many: bool = False

    def __post_init__(self) -> None:
        """Keep `n_labels`, the number of labels of an output: `classes` lists outputs here."""


@dataclass(frozen=True)
class ParityPlan(Plan):
    """What a fit of `ParityClassifier` would give.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the fit.
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
    domain: Any = hidden()
    public: Any = hidden()
    fit_intercept: bool = hidden(False)

    @property
    def n_unknowns(self) -> int:
        """Bits of a solution for one output."""
        return int(self.public.n_features) + self.fit_intercept

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warn if the public numbers guarantee less than is asked for."""
        if self.n_samples >= self.n_needed:
            return ()
        return (
            f"n_samples is {self.n_samples}: alpha={self.alpha} and beta={self.beta} with {self.method!r}"
            f" take {self.n_needed} records of {self.public.n_features} columns; plan(n_samples,"
            " n_features=...) tells more, without any data",
        )
