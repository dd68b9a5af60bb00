"""An oracle that has one budget to give away, in shares: of epsilon, of rho, or of the records."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dplearn._validation import check_number
from dplearn.chance.dice import Dice
from dplearn.privacy.errors import BudgetExceededError
from dplearn.privacy.holder import PrivateHolder
from dplearn.queries.oracle import Answer, Oracle, Round, as_queries, tolerance_of
from dplearn.queries.query import StatisticalQuery
from dplearn.theory.queries import TailBound
from dplearn.theory.search import first

__all__ = ["Account", "BudgetedOracle"]

_PARTS = 1 << 40  # a share found for a tolerance is a multiple of one part in this many

Bounds = tuple[TailBound, TailBound]  # how far an answer may be off, by noise and by sampling


@dataclass(repr=False)
class Account:
    """What an oracle has, and what it gave away: private, and never in two places.

    Attributes
    ----------
    records : sequence
        Private.
    dice : Dice
        Source of chance.
    rounds : tuple of Round
        What was asked.
    asked : int
        How many records answered, where each answers once.
    """

    records: Any
    dice: Dice
    rounds: tuple[Round, ...] = ()
    asked: int = 0

    @property
    def left(self) -> Fraction:
        """What part of the budget is left."""
        return 1 - sum((each.share for each in self.rounds), Fraction(0))


class BudgetedOracle(Oracle):
    """Answers statistical queries about private records, until its budget is used up.

    Copies are the same oracle, threads take turns, and a forked child finds it closed: so nothing is
    answered twice. It cannot be pickled.

    Parameters
    ----------
    records : sequence of length n
        Private. What the queries' functions take; n at least 1.
    dice : Dice
        Source of chance.
    """

    def __init__(self, records: Any, dice: Dice):
        self._n = len(records)
        if not self._n:
            raise ValueError("records must be at least one, got none")
        self._account = PrivateHolder(Account(records, dice))

    @property
    def rounds(self) -> tuple[Round, ...]:
        """What was asked so far."""
        with self._account.use() as account:
            return account.rounds

    @property
    def left(self) -> Fraction:
        """What part of the budget is left."""
        with self._account.use() as account:
            return account.left

    def ask(
        self,
        queries: StatisticalQuery | Sequence[StatisticalQuery],
        share: Any = None,
        *,
        tolerance: Any = None,
        beta: Any = 0.05,
    ) -> list[Answer]:
        """Answer some queries together, in one round; see `Oracle.ask`.

        An error of a query's own function comes when its share is spent.
        """
        asked = as_queries(queries)
        with self._account.use() as account:
            together = self._share(asked, share, tolerance, beta, account.left)
            part = together / len(asked)
            self._check(asked, part)
            bounds = [self._bounds(query, part) for query in asked]
            account.rounds += (Round(len(asked), together),)
            return [
                self._answer(account, query, part, known) for query, known in zip(asked, bounds, strict=True)
            ]

    def _share(
        self, asked: list[StatisticalQuery], share: Any, tolerance: Any, beta: Any, left: Fraction
    ) -> Fraction:
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
            together = left
        if not 0 < together <= left:
            raise BudgetExceededError(
                f"share must be at most what is left of the oracle's budget, {float(left):g},"
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
    def _bounds(self, query: StatisticalQuery, part: Fraction) -> Bounds:
        """Return how far the answer may be off, by noise and by sampling."""

    @abstractmethod
    def _answer(self, account: Account, query: StatisticalQuery, part: Fraction, bounds: Bounds) -> Answer:
        """Return the answer to one query."""
