"""An oracle that knows the population, and answers exactly or, within a tolerance, as badly as it can.

>>> import numpy as np
>>> from dplearn.queries.query import MeanQuery
>>> heads = MeanQuery(lambda coins: coins, low=0, high=1)
>>> oracle = PopulationOracle(np.array([0, 1]), weights=[0.25, 0.75])
>>> oracle.ask(heads)[0].mean
0.75
>>> PopulationOracle(np.array([0, 1]), tolerance=0.1, adversary=lambda exact: exact + 9).ask(heads)[0].mean
0.6
"""

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_number
from dplearn.queries.oracle import Answer, Oracle, Round, as_queries
from dplearn.queries.query import ShareQuery, StatisticalQuery
from dplearn.theory.queries import TailBound

__all__ = ["PopulationOracle"]


class PopulationOracle(Oracle):
    """Answers about a distribution that is known; for theory and tests, it keeps nothing private.

    Parameters
    ----------
    records : sequence of length m that an array of places can index
        All records that can occur.
    weights : sequence of numbers of length m, optional
        How probable each is, in proportion; equally, if left out.
    tolerance : number, default=0
        By how much each answer may be off; what `ask` is told goes before.
    adversary : callable, optional
        From the exact means, shape (k,), to what is answered, moved to within the tolerance. Left out, the
        answers are exact.
    """

    def __init__(
        self,
        records: Any,
        *,
        weights: Sequence[Any] | None = None,
        tolerance: Any = 0,
        adversary: Callable[[NDArray[np.float64]], Any] | None = None,
    ):
        self._rounds: tuple[Round, ...] = ()
        self._records = records
        shares = np.ones(len(records)) if weights is None else np.array([float(w) for w in weights])
        if len(shares) != len(records) or not (shares >= 0).all() or not 0 < shares.sum() < np.inf:
            raise ValueError(
                f"weights must be {len(records)} nonnegative numbers, not all 0, got {weights!r}"
            )
        self._weights = shares / shares.sum()
        self._tolerance = float(check_number("tolerance", tolerance, low=0))
        self._adversary = adversary

    @property
    def rounds(self) -> tuple[Round, ...]:
        """What was asked so far."""
        return self._rounds

    def ask(
        self,
        queries: StatisticalQuery | Sequence[StatisticalQuery],
        share: Any = None,  # noqa: ARG002 - of no budget
        *,
        tolerance: Any = None,
        beta: Any = 0.05,  # noqa: ARG002 - no answer ever fails
    ) -> list[Answer]:
        """Answer some queries together, in one round; see `Oracle.ask`. There is no budget to share."""
        asked = as_queries(queries)
        within = (
            self._tolerance if tolerance is None else float(check_number("tolerance", tolerance, above=0))
        )
        self._rounds += (Round(len(asked), Fraction(0)),)
        return [self._answer(query, within) for query in asked]

    def _answer(self, query: StatisticalQuery, tolerance: float) -> Answer:
        inputs = query.inputs(self._records)
        values = (
            np.eye(query.size)[inputs] if isinstance(query, ShareQuery) else inputs.reshape(-1, query.size)
        )
        exact = means = self._weights @ values * float(query.unit)
        if self._adversary is not None:
            answered = np.asarray(self._adversary(exact), dtype=np.float64)
            means = answered.clip(exact - tolerance, exact + tolerance)
        return Answer(means, len(inputs), TailBound(), TailBound())
