"""An oracle that has one budget to give away, in shares: of epsilon, of rho, or of the records."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dplearn._validation import check_number
from dplearn.chance.dice import Dice
from dplearn.core.float_errors import float_errors_ignored
from dplearn.core.search import first
from dplearn.privacy import ApproxDP
from dplearn.privacy.errors import BudgetExceededError
from dplearn.privacy.one_time_state import OneTimeState
from dplearn.queries.bounds import TailBound
from dplearn.queries.oracle import Answer, Oracle, Round, as_queries, tolerance_of
from dplearn.queries.query import StatisticalQuery
from dplearn.records.rows import as_records, count_of

__all__ = ["Account", "BudgetedOracle"]

_PARTS = 1 << 40  # a share found for a tolerance is a multiple of one part in this many

Bounds = tuple[TailBound, TailBound]  # how far an answer may be off, by noise and by sampling


@dataclass(repr=False)
class Account:
    """What an oracle has, and what it gave away: private, and never in two places.

    Attributes
    ----------
    records : object
        Private. From `as_records`.
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
    records : ndarray, data frame or Records of n records
        Private. What the queries' functions take, as for `as_records`; n at least 1.
    dice : Dice
        Source of chance.
    """

    guarantee: ApproxDP

    def __init__(self, records: Any, dice: Dice):
        records = as_records("records", records)
        self._n = count_of(records)
        if not self._n:
            raise ValueError("records must be at least one, got none")
        self._account = OneTimeState(Account(records, dice))

    def __repr__(self) -> str:
        budget = f"epsilon={float(self.guarantee.epsilon):g}, delta={float(self.guarantee.delta):g}"
        try:
            left = f"{float(self.left):g}"
        except RuntimeError:  # a query's function is asking just now, or this process is a fork
            left = "?"
        return f"{type(self).__name__}(n={self._n}, {budget}, left={left})"

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
        """Answer some queries together, in one round; see `Oracle.ask`."""
        asked = as_queries(queries)
        with float_errors_ignored(), self._account.use() as account:
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
        wanted = None if tolerance is None else check_number("tolerance", tolerance, above=0)
        failure = check_number("beta", beta, above=0, below=1)
        together = left if share is None else check_number("share", share, above=0, high=1)
        if not left:
            raise BudgetExceededError("the oracle's budget is used up")
        if wanted is not None:
            return self._least_share(asked, wanted, failure, left)
        if together > left:
            raise BudgetExceededError(
                f"share must be at most what is left of the oracle's budget, {float(left):g},"
                f" got {float(together):g}"
            )
        return together

    def _least_share(
        self, asked: list[StatisticalQuery], tolerance: Fraction, beta: Fraction, left: Fraction
    ) -> Fraction:
        """Return the least share found with which every answer keeps a tolerance."""

        def off(query: StatisticalQuery, part: Fraction) -> float:
            return tolerance_of(*self._bounds(query, part), beta)

        def least(query: StatisticalQuery) -> int:
            return first(lambda parts: off(query, Fraction(parts, _PARTS)) <= tolerance, 1, _PARTS + 1)

        together = Fraction(len(asked) * max(map(least, asked)), _PARTS)
        if together > left:
            best = max(off(query, left / len(asked)) for query in asked)
            raise BudgetExceededError(
                f"tolerance must be at least {best:.4g}, what all that is left of the oracle's budget gives"
                f" at beta={float(beta):g}, got {float(tolerance):g}"
            )
        return together

    @abstractmethod
    def _check(self, asked: list[StatisticalQuery], part: Fraction) -> None:
        """Refuse what cannot be answered with a part each, by public numbers alone."""

    @abstractmethod
    def _bounds(self, query: StatisticalQuery, part: Fraction) -> Bounds:
        """Return how far the answer may be off, by noise and by sampling."""

    @abstractmethod
    def _answer(self, account: Account, query: StatisticalQuery, part: Fraction, bounds: Bounds) -> Answer:
        """Return the answer to one query."""
