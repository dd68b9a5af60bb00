"""What an oracle is: it answers statistical queries, round by round.

An algorithm is written once, against `Oracle.ask`, and runs with whichever oracle it is given: one that knows
the population, one that holds all records, or one that hears each record's randomised report only.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_number
from dplearn.queries.bounds import TailBound
from dplearn.queries.query import StatisticalQuery

__all__ = ["Answer", "Oracle", "Round", "as_queries", "tolerance_of"]


@dataclass(frozen=True)
class Answer:
    """What was answered to one query.

    Attributes
    ----------
    means : ndarray of float64 of shape (k,)
        Released. The estimated mean of each of the query's numbers.
    n : int
        Public. How many records it is about.
    noise : TailBound
        Public. How far the means may be off those of these records.
    sampling : TailBound
        Public. How much further off those expected, where records are independent draws of a distribution.
    """

    means: NDArray[np.float64]
    n: int
    noise: TailBound
    sampling: TailBound

    @property
    def mean(self) -> float:
        """The mean, where one number was asked for."""
        if len(self.means) != 1:
            raise ValueError(f"an answer of {len(self.means)} numbers has no single mean: see its means")
        return float(self.means[0])

    def tolerance(self, beta: Any = 0.05) -> float:
        """Return by how much no mean is off the expected one, with probability at least 1 - beta.

        The expected mean is that of the query's values as they are bounded: a number beyond the bounds counts
        as the nearer one, a row longer than the norm as zeros. The probability is over the noise and the draw
        of the records; the bias of an estimate is counted whole, at its most for any records.
        """
        return tolerance_of(self.noise, self.sampling, check_number("beta", beta, above=0, below=1))


@dataclass(frozen=True)
class Round:
    """Queries that were asked together, before any of their answers was known.

    Attributes
    ----------
    n_queries : int
        How many.
    share : Fraction
        What part of the oracle's budget they took; 0 of an oracle that has none.
    """

    n_queries: int
    share: Fraction


class Oracle(ABC):
    """Answers statistical queries.

    Attributes
    ----------
    rounds : tuple of Round
        Public. What was asked so far.
    left : Fraction
        Public. What part of the budget is left; 1 of an oracle that has none.
    """

    @property
    @abstractmethod
    def rounds(self) -> tuple[Round, ...]:
        """What was asked so far."""

    @property
    @abstractmethod
    def left(self) -> Fraction:
        """What part of the budget is left."""

    @property
    def adaptive(self) -> bool:
        """Whether some query was asked when answers to others were known."""
        return len(self.rounds) > 1

    @abstractmethod
    def ask(
        self,
        queries: StatisticalQuery | Sequence[StatisticalQuery],
        share: Any = None,
        *,
        tolerance: Any = None,
        beta: Any = 0.05,
    ) -> list[Answer]:
        """Answer some queries together, in one round.

        Parameters
        ----------
        queries : StatisticalQuery or sequence of them
            At least one. They have equal parts of the share.
        share : number, optional
            Above 0: what part of the oracle's budget this round may take. Left out, all that is left.
        tolerance : number, optional
            In place of `share`: the least share is taken with which no answer is off what is expected by
            more, except with probability `beta` for each query.
        beta : number, default=0.05
            As said.

        Returns
        -------
        list of Answer
            One for each query.

        Raises
        ------
        TypeError, ValueError
            If a parameter is not as described; nothing is spent. But an error in a query's function, or
            what it returns being of the wrong type or shape, comes when the share is spent.
        BudgetExceededError
            If more than what is left is asked for; nothing is spent.
        """


def as_queries(queries: Any) -> list[StatisticalQuery]:
    """Return what is asked as a list."""
    hint = "; wrap a function: MeanQuery(function, low=..., high=...)" if callable(queries) else ""
    wrong = f"queries must be at least one StatisticalQuery, got {type(queries).__name__}{hint}"
    if isinstance(queries, StatisticalQuery):
        return [queries]
    if not np.iterable(queries):
        raise TypeError(wrong)
    asked = list(queries)
    if not asked or not all(isinstance(query, StatisticalQuery) for query in asked):
        raise TypeError(wrong)
    return asked


def tolerance_of(noise: TailBound, sampling: TailBound, beta: Fraction) -> float:
    """Return the sum of both bounds; one that is absent leaves all of beta to the other."""
    random = sum(bool(bound.linear or bound.root) for bound in (noise, sampling))
    return sum(bound.at(beta / max(random, 1)) for bound in (noise, sampling))
