"""Base class of oracles with a budget, which queries use in shares: of epsilon, of rho, or of the records."""

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
from dplearn.records.table import Table, as_table

__all__ = ["Account", "BudgetedOracle"]

_PARTS = 1 << 40  # a share chosen for a tolerance is a multiple of 1 / _PARTS

Bounds = tuple[TailBound, TailBound]  # error bounds of an answer: from noise and from sampling


@dataclass(repr=False)
class Account:
    """The private state of an oracle: its records, its dice, and the rounds so far; kept in a one-time state.

    Attributes
    ----------
    records : Table
        Private.
    dice : Dice
        Source of chance.
    rounds : tuple of Round
        Public. The rounds so far.
    asked : int
        Public. The number of records that have reported, for an oracle to which each record reports once.
    numbers : int
        Public. The number of numbers in all answers.
    count : int or None
        Released. The estimated number of records, where that is private; None before the first round.
    """

    records: Table
    dice: Dice
    rounds: tuple[Round, ...] = ()
    asked: int = 0
    numbers: int = 0
    count: int | None = None

    @property
    def left(self) -> Fraction:
        """The remaining part of the budget."""
        return 1 - sum((each.share for each in self.rounds), Fraction(0))


class BudgetedOracle(Oracle):
    """Answers statistical queries about private records until its budget is used up.

    Copies share one state, only one thread at a time uses it, and a forked child cannot use it: so the budget
    is never spent twice. It cannot be pickled.

    Parameters
    ----------
    records : ndarray, data frame or Records of n records
        Private. The records to which queries apply their functions, as for `as_records`; n at least 1.
    dice : Dice
        Source of chance.
    """

    guarantee: ApproxDP

    def __init__(self, records: Any, dice: Dice):
        table = as_table(records)
        self._n = len(table)
        if not self._n:
            raise ValueError("records must be at least one, got none")
        self._account = OneTimeState(Account(table, dice))

    def __repr__(self) -> str:
        budget = f"epsilon={float(self.guarantee.epsilon):g}, delta={float(self.guarantee.delta):g}"
        try:
            left = f"{float(self.left):g}"
        except RuntimeError:  # a query's function calls this during an answer, or this process is a fork
            left = "?"
        return f"{type(self).__name__}({self._size}{budget}, left={left})"

    @property
    def _size(self) -> str:
        """The number of records in the repr."""
        return f"n={self._n}, "

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds so far."""
        with self._account.use() as account:
            return account.rounds

    @property
    def left(self) -> Fraction:
        """The remaining part of the budget."""
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
            self._open(account)
            together = self._share(asked, share, tolerance, beta, account.left)
            part = together / len(asked)
            self._check(account, asked, part)
            bounds = [self._bounds(query, part) for query in asked]
            account.rounds += (Round(len(asked), together),)
            account.numbers += sum(query.size for query in asked)
            exact = self._exact(account, asked)
            return [
                self._answer(account, query, part, known, each)
                for query, known, each in zip(asked, bounds, exact, strict=True)
            ]

    def _share(
        self, asked: list[StatisticalQuery], share: Any, tolerance: Any, beta: Any, left: Fraction
    ) -> Fraction:
        """Return the share of the budget that all queries of a round use together."""
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
                f"share must be at most the oracle's remaining budget, {float(left):g},"
                f" got {float(together):g}"
            )
        return together

    def _least_share(
        self, asked: list[StatisticalQuery], tolerance: Fraction, beta: Fraction, left: Fraction
    ) -> Fraction:
        """Return the least share, in steps of 1 / _PARTS, with which every answer keeps a tolerance."""

        def off(query: StatisticalQuery, part: Fraction) -> float:
            return tolerance_of(*self._bounds(query, part), beta)

        def least(query: StatisticalQuery) -> int:
            return first(lambda parts: off(query, Fraction(parts, _PARTS)) <= tolerance, 1, _PARTS + 1)

        together = Fraction(len(asked) * max(map(least, asked)), _PARTS)
        if together > left:
            best = max(off(query, left / len(asked)) for query in asked)
            raise BudgetExceededError(
                f"tolerance must be at least {best:.4g}, which takes all of the oracle's remaining budget"
                f" at beta={float(beta):g}, got {float(tolerance):g}"
            )
        return together

    def _open(self, account: Account) -> None:
        """Prepare a round, before its share is known; of use to subclasses."""

    @abstractmethod
    def _check(self, account: Account, asked: list[StatisticalQuery], part: Fraction) -> None:
        """Raise an error if the queries cannot be answered with this part each; uses public values only."""

    @abstractmethod
    def _bounds(self, query: StatisticalQuery, part: Fraction) -> Bounds:
        """Return the error bounds of the answer, from noise and from sampling."""

    def _exact(self, account: Account, asked: list[StatisticalQuery]) -> list[Any]:  # noqa: ARG002
        """Return the private value that each answer of a round is made of; None if a draw comes first."""
        return [None] * len(asked)

    @abstractmethod
    def _answer(
        self, account: Account, query: StatisticalQuery, part: Fraction, bounds: Bounds, exact: Any
    ) -> Answer:
        """Return the answer to one query."""
