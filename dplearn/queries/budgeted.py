"""Base class of oracles with a budget, which queries use in shares: of epsilon, of rho, or of the records."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from dplearn._validation import check_number
from dplearn.chance.dice import Dice
from dplearn.core.float_errors import float_errors_ignored
from dplearn.core.search import first
from dplearn.privacy import ApproxDP
from dplearn.privacy.one_time_state import OneTimeState
from dplearn.privacy.privacy_filter import BudgetExceededError
from dplearn.queries.noise import Noise
from dplearn.queries.oracle import Answer, Image, Oracle, Round, as_queries, tolerance_of
from dplearn.queries.query import StatisticalQuery
from dplearn.records.table import Table

__all__ = ["Account", "BudgetedOracle"]

_PARTS = 1 << 40  # a share chosen for a tolerance is a multiple of 1 / _PARTS


@dataclass(repr=False)
class Account:
    """The private state of an oracle and of those made from it; kept in a one-time state.

    Attributes
    ----------
    tables : list of Table
        Private. The records, then their images.
    noise : Noise
        Public, or with a released number of records.
    dice : Dice
        Source of chance.
    rounds : tuple of Round
        Public. The rounds so far.
    asked : int
        Public. The number of records that have reported, for an oracle to which each record reports once.
    numbers : int
        Public. The number of numbers in all answers.
    """

    tables: list[Table]
    noise: Any
    dice: Dice
    rounds: tuple[Round, ...] = ()
    asked: int = 0
    numbers: int = 0

    @property
    def spent(self) -> Fraction:
        """The part of the budget that is used up."""
        return sum((each.share for each in self.rounds), Fraction(0))


class BudgetedOracle(Oracle):
    """Answers statistical queries about private records until its budget is used up.

    Copies share one state, only one thread at a time uses it, and a forked child cannot use it: so the budget
    is never spent twice. It cannot be pickled.

    Parameters
    ----------
    records : Table
        Private. The records to which queries apply their functions; at least one.
    noise : Noise
        What the budget buys.
    privacy : ApproxDP
        The cost of all answers, which has been charged.
    dice : Dice
        Source of chance.
    """

    _size: str  # the number of records in the repr, where that is public

    def __init__(self, records: Table, noise: Noise, privacy: ApproxDP, dice: Dice):
        self.guarantee = privacy
        self._account = OneTimeState(Account([records], noise, dice))
        self._place = 0  # of its table
        self._whole, self._before = (
            Fraction(1),
            Fraction(0),
        )  # its own of the budget, and what was spent before

    def map(self, image: Image) -> Self:
        with float_errors_ignored(), self._account.use() as account:
            mapped = copy(self)
            mapped._place = len(account.tables)
            account.tables.append(account.tables[self._place].map(image))
        return mapped

    def within(self, share: Fraction) -> Self:
        inner = copy(self)
        with self._account.use() as account:
            assert 0 < share <= self._left(account)
            inner._whole, inner._before = self._whole * share, account.spent
        return inner

    def __repr__(self) -> str:
        budget = f"epsilon={float(self.guarantee.epsilon):g}, delta={float(self.guarantee.delta):g}"
        try:
            left = f"{float(self.left):g}"
        except RuntimeError:  # a query's function calls this during an answer, or this process is a fork
            left = "?"
        return f"{type(self).__name__}({self._size}{budget}, left={left})"

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds so far."""
        with self._account.use() as account:
            return account.rounds

    @property
    def left(self) -> Fraction:
        """The remaining part of the budget."""
        with self._account.use() as account:
            return self._left(account)

    def _left(self, account: Account) -> Fraction:
        return 1 - (account.spent - self._before) / self._whole

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
            noise, dice = account.noise, account.dice
            together = self._share(asked, share, tolerance, beta, account) * self._whole
            each = together / len(asked)
            noise.check(asked, each, account.numbers)
            bounds = [noise.bounds(query, each) for query in asked]
            account.rounds += (Round(len(asked), together),)
            account.numbers += sum(query.size for query in asked)
            private = self._private(account, asked, each)
            return [
                noise.answer(query, each, known, value, dice)
                for query, known, value in zip(asked, bounds, private, strict=True)
            ]

    def _share(
        self, asked: list[StatisticalQuery], share: Any, tolerance: Any, beta: Any, account: Account
    ) -> Fraction:
        """Return the share of the budget that all queries of a round use together."""
        left = self._left(account)
        if tolerance is not None and share is not None:
            raise ValueError("share must be None where tolerance is given, got both")
        wanted = None if tolerance is None else check_number("tolerance", tolerance, above=0)
        failure = check_number("beta", beta, above=0, below=1)
        together = left if share is None else check_number("share", share, above=0, high=1)
        if not left:
            raise BudgetExceededError("the oracle's budget is used up")
        if wanted is not None:
            return self._least_share(asked, wanted, failure, account)
        if together > left:
            raise BudgetExceededError(
                f"share must be at most the oracle's remaining budget, {float(left):g},"
                f" got {float(together):g}"
            )
        return together

    def _least_share(
        self, asked: list[StatisticalQuery], tolerance: Fraction, beta: Fraction, account: Account
    ) -> Fraction:
        """Return the least share, in steps of 1 / _PARTS, with which every answer keeps a tolerance."""
        left = self._left(account)

        def off(query: StatisticalQuery, share: Fraction) -> float:
            noise, sampling = account.noise.bounds(query, share * self._whole)
            return tolerance_of(noise, sampling, beta)

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
    def _private(self, account: Account, asked: list[StatisticalQuery], share: Fraction) -> Iterable[Any]:
        """Return what the answer to each query of a round is made of."""
