"""The interface of oracles, which answer statistical queries in rounds.

An algorithm that uses `Oracle.ask` runs with every oracle: one with the exact distribution of a population,
one with all records and central noise, and one with a randomised report of each record.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_number
from dplearn.queries.bounds import TailBound
from dplearn.queries.query import StatisticalQuery

Image = Callable[[Any], Any]  # from records to as many records


@dataclass(frozen=True)
class Answer:
    """The answer to one query.

    Attributes
    ----------
    means : ndarray of float64 of shape (k,)
        Released. The estimated mean of each of the query's numbers.
    n : int
        Public. The number of records that the means are over. Where that is private: released, an estimate.
    noise : TailBound
        Public. A bound on the difference between these means and the means over these records.
    sampling : TailBound
        Public. A bound on the difference between the means over these records and their expectations, if
        records are independent draws from a distribution. For reports of bits or categories `noise` bounds
        the sum of both differences, and this is 0.
    sums : TailBound or None
        Where the number of records is estimated: a bound on the part of that error that the noise in the sums
        adds. None: that is all of it.
    """

    means: NDArray[np.float64]
    n: int
    noise: TailBound
    sampling: TailBound
    sums: TailBound | None = None

    @property
    def noise_variance(self) -> float:
        """The variance of the noise in each mean, as its bound implies it; without that of a noisy `n`.

        Laplace noise of scale s has the variance 2 s**2, and `root` is sqrt(2) Gaussian standard deviations.
        """
        noise = self.sums or self.noise
        return 2 * noise.linear**2 + noise.root**2 / 2

    @property
    def mean(self) -> float:
        """The mean, if the query has a single number."""
        if len(self.means) != 1:
            raise ValueError(f"an answer of {len(self.means)} numbers has no single mean: see its means")
        return float(self.means[0])

    def tolerance(self, beta: Any = 0.05) -> float:
        """Return a bound on the errors of all means that holds with probability at least 1 - beta.

        The error is the difference to the expected mean of the bounded values: a number outside the bounds is
        replaced with the nearest bound, and a row longer than the norm with zeros. The probability is over
        the noise and the draw of the records. The bound includes the greatest bias over all records.
        """
        return tolerance_of(self.noise, self.sampling, check_number("beta", beta, above=0, below=1))


@dataclass(frozen=True)
class Round:
    """A round: queries asked together, none of which depends on an answer to another.

    Attributes
    ----------
    n_queries : int
        The number of queries.
    share : Fraction
        The part of the oracle's budget that they used; 0 for an oracle without a budget.
    """

    n_queries: int
    share: Fraction


class Oracle(ABC):
    """Answers statistical queries.

    Attributes
    ----------
    rounds : tuple of Round
        Public. The rounds so far.
    left : Fraction
        Public. The remaining part of the budget; 1 for an oracle without a budget.
    """

    @property
    @abstractmethod
    def rounds(self) -> tuple[Round, ...]:
        """The rounds so far."""

    @property
    @abstractmethod
    def left(self) -> Fraction:
        """The remaining part of the budget."""

    def map(self, image: Image) -> Self:
        """Return an oracle for images of the records, which uses the budget of this one.

        Parameters
        ----------
        image : callable
            Public or released. From records to as many, each a function of its own record alone.
        """
        raise NotImplementedError

    def within(self, share: Fraction) -> Self:
        """Return an oracle that spends at most a share of this one's budget.

        All further answers of this oracle, and of others made from it, count against the share too.

        Parameters
        ----------
        share : number
            Above 0 and at most `left`.

        Raises
        ------
        TypeError, ValueError
            If the share is no such number.
        BudgetExceededError
            If the share exceeds the remaining budget.
        """
        raise NotImplementedError

    @property
    def adaptive(self) -> bool:
        """Whether there was more than one round, so that queries may depend on earlier answers."""
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
        queries : StatisticalQuery or sequence of StatisticalQuery
            At least one query. All get equal parts of the share.
        share : number, optional
            The part of the oracle's budget for this round, above 0 and at most 1. None uses all of the
            remaining budget.
        tolerance : number, optional
            Instead of `share`: the round uses the least share for which the error of each answer is at most
            `tolerance` with probability at least 1 - `beta`.
        beta : number, default=0.05
            The probability of a greater error, in (0, 1), for each query. Only used with `tolerance`.

        Returns
        -------
        list of Answer
            One for each query.

        Raises
        ------
        TypeError, ValueError
            If a parameter is invalid; nothing is spent. If a query's function raises an error, or returns
            values of the wrong type or shape, the share has been spent already.
        BudgetExceededError
            If the share exceeds the remaining budget; nothing is spent.
        """


def as_queries(queries: Any) -> list[StatisticalQuery]:
    """Return queries as a list."""
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
    """Return the sum of both bounds, each at beta / 2, or at beta if the other does not depend on beta."""
    random = sum(bool(bound.linear or bound.root) for bound in (noise, sampling))
    return sum(bound.at(beta / max(random, 1)) for bound in (noise, sampling))
