"""An oracle for a known distribution; its answers are exact, or off by an adversary within a tolerance."""

import warnings
from collections.abc import Callable, Sequence
from copy import copy
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_number
from dplearn._writing import brief
from dplearn.queries.bounds import TailBound
from dplearn.queries.oracle import Answer, Image, Oracle, Round, as_queries
from dplearn.queries.query import HistogramQuery, StatisticalQuery, one_each
from dplearn.records.rows import as_records, count_of


class PopulationOracle(Oracle):
    """Answers statistical queries about a known distribution; not private, for theory and tests.

    Unlike the errors of other oracles, its errors describe the invalid values of a query's function, and it
    warns of values outside the bounds of a query.

    Parameters
    ----------
    records : ndarray, sparse matrix, data frame or series of pandas or polars, or Records of m records
        The support of the distribution.
    weights : sequence of numbers of length m, optional
        Nonnegative weights, proportional to the probabilities. None: all equal.
    tolerance : number, default=0
        The greatest error of an answer. The `tolerance` of `ask` takes precedence.
    adversary : callable, optional
        A function from the exact means, of shape (k,), to the answers, which are then clipped to within the
        tolerance. None: the answers are exact.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.queries import PopulationOracle
    >>> from dplearn.queries.query import MeanQuery
    >>> heads = MeanQuery(lambda coins: coins, low=0, high=1)
    >>> oracle = PopulationOracle(np.array([0, 1]), weights=[0.25, 0.75])
    >>> oracle.ask(heads)[0].mean
    0.75
    >>> oracle = PopulationOracle(np.array([0, 1]), tolerance=0.1, adversary=lambda exact: exact + 9)
    >>> oracle.ask(heads)[0].mean
    0.6
    """

    def __init__(
        self,
        records: Any,
        *,
        weights: Sequence[Any] | None = None,
        tolerance: Any = 0,
        adversary: Callable[[NDArray[np.float64]], Any] | None = None,
    ):
        self._rounds: list[Round] = []  # of oracles for images too
        self._records = as_records("records", records)
        m = count_of(self._records)
        self._weights = np.ones(m) if weights is None else np.array([float(w) for w in weights])
        total = self._weights.sum()
        if len(self._weights) != m or not (self._weights >= 0).all() or not 0 < total < np.inf:
            raise ValueError(f"weights must be {m} nonnegative numbers, not all 0, got {brief(weights)}")
        self._tolerance = float(check_number("tolerance", tolerance, low=0))
        if not (adversary is None or callable(adversary)):
            raise TypeError(
                f"adversary must be a function of the exact means, got {type(adversary).__name__}"
            )
        self._adversary = adversary

    def __repr__(self) -> str:
        return f"PopulationOracle(m={len(self._weights)}, tolerance={self._tolerance:g})"

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds so far."""
        return tuple(self._rounds)

    @property
    def left(self) -> Fraction:
        """The remaining part of the budget, always 1: this oracle has no budget."""
        return Fraction(1)

    def map(self, image: Image) -> Self:
        mapped = copy(self)
        mapped._records = as_records("records", image(self._records))
        return mapped

    def within(self, share: Fraction) -> Self:  # noqa: ARG002 - this oracle has no budget
        return self

    def ask(
        self,
        queries: StatisticalQuery | Sequence[StatisticalQuery],
        share: Any = None,
        *,
        tolerance: Any = None,
        beta: Any = 0.05,
    ) -> list[Answer]:
        """Answer some queries together, in one round; see `Oracle.ask`. `share` and `beta` have no effect."""
        asked = as_queries(queries)
        if share is not None:
            check_number("share", share, above=0, high=1)
        check_number("beta", beta, above=0, below=1)
        within = self._tolerance
        if tolerance is not None:
            within = float(check_number("tolerance", tolerance, above=0))
        self._rounds.append(Round(len(asked), Fraction(0)))
        return [self._answer(query, within) for query in asked]

    def _answer(self, query: StatisticalQuery, tolerance: float) -> Answer:
        inputs = self._inputs(query)
        each = (
            np.eye(query.size)[inputs]
            if isinstance(query, HistogramQuery)
            else inputs.reshape(-1, query.size)
        )
        # The division is last: sums of integer weights are integers, which floats represent exactly.
        exact = means = self._weights @ each / self._weights.sum() * float(query.unit)
        if self._adversary is not None:
            answered = np.asarray(self._adversary(exact), dtype=np.float64)
            if answered.shape != exact.shape or np.isnan(answered).any():
                raise ValueError(
                    f"adversary must return numbers of shape {exact.shape}, got {brief(answered)}"
                )
            means = answered.clip(exact - tolerance, exact + tolerance)
        off = TailBound(bias=0.0 if self._adversary is None else tolerance)
        return Answer(means, len(inputs), off, TailBound())

    def _inputs(self, query: StatisticalQuery) -> NDArray[np.int64]:
        """Return each record's bounded value; errors and a warning describe invalid values."""
        values = query.values(self._records)
        try:
            inputs = one_each(query.bounded(values), self._records)
        except TypeError as error:
            raise TypeError(f"{error}; got {_described(values)}") from None
        moved = np.asarray(values) != inputs
        n_moved = int(moved.any(axis=tuple(range(1, moved.ndim))).sum())
        if n_moved:
            warnings.warn(
                f"{query!r} has values beyond its bounds for {n_moved} of {len(inputs)} records: they are"
                " replaced with the nearest bound, and too long vectors with zeros; bounds count steps of the"
                " unit",
                stacklevel=5,
            )
        return inputs


def _described(values: Any) -> str:
    """Return the type, dtype and shape of the values of a function."""
    array = np.asarray(values)
    return f"{type(values).__name__} of dtype {array.dtype} and shape {array.shape}"
