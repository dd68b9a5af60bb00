"""An oracle that has one budget to give away, in shares: of epsilon, of rho, or of the records."""

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from dplearn._validation import check_number
from dplearn.privacy.errors import BudgetExceededError
from dplearn.queries.oracle import Answer, Oracle, Round, as_queries, tolerance_of
from dplearn.queries.query import StatisticalQuery
from dplearn.theory.queries import TailBound
from dplearn.theory.search import first

__all__ = ["BudgetedOracle"]

_PARTS = 1 << 40  # a share found for a tolerance is a multiple of one part in this many


class BudgetedOracle(Oracle):
    """Answers statistical queries about private records, until its budget is used up."""

    @property
    def left(self) -> Fraction:
        """What part of the budget is left."""
        return 1 - sum((each.share for each in self.rounds), Fraction(0))

    def ask(
        self,
        queries: StatisticalQuery | Sequence[StatisticalQuery],
        share: Any = None,
        *,
        tolerance: Any = None,
        beta: Any = 0.05,
    ) -> list[Answer]:
        """Answer some queries together, in one round; see `Oracle.ask`."""
        asked = as_queries(queries)
        together = self._share(asked, share, tolerance, beta)
        part = together / len(asked)
        self._check(asked, part)
        self.rounds += (Round(len(asked), together),)
        return [self._answer(query, part) for query in asked]

    def _share(self, asked: list[StatisticalQuery], share: Any, tolerance: Any, beta: Any) -> Fraction:
        """Return what all the queries of a round take together."""
        if tolerance is not None and share is not None:
            raise ValueError("share must be None where tolerance is given, got both")
        if tolerance is not None:
            wanted = check_number("tolerance", tolerance, above=0)
            failure = check_number("beta", beta, above=0, below=1)
            together = len(asked) * max(self._least_share(query, wanted, failure) for query in asked)
        elif share is not None:
            together = check_number("share", share, above=0, high=1)
        else:
            together = self.left
        if not 0 < together <= self.left:
            raise BudgetExceededError(
                f"share must be at most what is left of the oracle's budget, {float(self.left):g},"
                f" got {float(together):g}"
            )
        return together

    def _least_share(self, query: StatisticalQuery, tolerance: Fraction, beta: Fraction) -> Fraction:
        """Return the least share found that keeps a tolerance; more than all of the budget if none does."""

        def kept(parts: int) -> bool:
            return tolerance_of(*self._bounds(query, Fraction(parts, _PARTS)), beta) <= tolerance

        return Fraction(first(kept, 1, _PARTS + 1), _PARTS)

    @abstractmethod
    def _check(self, asked: list[StatisticalQuery], part: Fraction) -> None:
        """Refuse what cannot be answered with a part each, by public numbers alone."""

    @abstractmethod
    def _bounds(self, query: StatisticalQuery, part: Fraction) -> tuple[TailBound, TailBound]:
        """Return how far the answer may be off, by noise and by sampling."""

    @abstractmethod
    def _answer(self, query: StatisticalQuery, part: Fraction) -> Answer:
        """Return the answer to one query."""
