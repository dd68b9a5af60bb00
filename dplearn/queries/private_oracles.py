"""Oracles of private records: their budget, central noise for all records, and reports of single ones."""

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from dplearn._validation import AUTO, check_choice, check_count, check_number
from dplearn.chance import PublicStream
from dplearn.chance.dice import Dice
from dplearn.kernels.float_errors import float_errors_ignored
from dplearn.kernels.search import first
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of
from dplearn.privacy.one_time_state import OneTimeState
from dplearn.privacy.privacy_filter import BudgetExceededError
from dplearn.privacy.unknown_count import ADDED, COUNT_SHARE, MOST_RECORDS
from dplearn.queries.noise import CentralNoise, LocalNoise, Noise
from dplearn.queries.oracle import Answer, Image, Oracle, Round, as_queries, tolerance_of
from dplearn.queries.query import KINDS, StatisticalQuery
from dplearn.records.table import Table, as_table

_PARTS = 1 << 40  # a share chosen for a tolerance is a multiple of 1 / _PARTS


@dataclass(repr=False)
class Account:
    """The private state of an oracle and of those made from it; kept in a one-time state."""

    tables: list[Table]  # private: the records, then their images
    noise: Any  # public, or with a released number of records
    dice: Dice
    rounds: tuple[Round, ...] = ()
    asked: int = 0  # records that have reported, where each reports once
    numbers: int = 0  # in all answers

    @property
    def spent(self) -> Fraction:
        """The part of the budget that is used up."""
        return sum((each.share for each in self.rounds), Fraction(0))


class BudgetedOracle(Oracle):
    """Answers statistical queries about private records until its budget is used up.

    Copies share one state, only one thread at a time uses it, and a forked child cannot use it: so the budget
    is never spent twice. It cannot be pickled.
    """

    _size: str  # the number of records in the repr, where that is public

    def __init__(self, records: Table, noise: Noise, privacy: ApproxDP, dice: Dice):
        self.guarantee = privacy
        self._account = OneTimeState(Account([records], noise, dice))
        self._place = 0  # of its table
        self._whole = Fraction(1)  # its part of the budget
        self._before = Fraction(0)  # what was spent before it was made

    def map(self, image: Image) -> Self:
        with float_errors_ignored(), self._account.use() as account:
            mapped = copy(self)
            mapped._place = len(account.tables)
            account.tables.append(account.tables[self._place].map(image))
        return mapped

    def within(self, share: Fraction) -> Self:
        inner = copy(self)
        with self._account.use() as account:
            own = _affordable(share, self._left(account))
            inner._whole, inner._before = self._whole * own, account.spent
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
        # Answers to others count too, of which there may be more than its part.
        return max(1 - (account.spent - self._before) / self._whole, Fraction(0))

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
        together = _affordable(share, left)
        return together if wanted is None else self._least_share(asked, wanted, failure, account)

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


def _affordable(share: Any, left: Fraction) -> Fraction:
    """Return a share of the budget, None for all that is left of it."""
    wanted = left if share is None else check_number("share", share, above=0, high=1)
    if not left:
        raise BudgetExceededError("the oracle's budget is used up")
    if wanted > left:
        raise BudgetExceededError(
            f"share must be at most the oracle's remaining budget, {float(left):g}, got {float(wanted):g}"
        )
    return wanted


def _asked_table(records: Any) -> Table:
    """Return records as a table; at least one."""
    table = as_table(records)
    if not len(table):
        raise ValueError("records must be at least one, got none")
    return table


_NOISES = (AUTO, "laplace", "gaussian")


class CentralOracle(BudgetedOracle):
    """Answers statistical queries by noisy means of all records.

    Parameters
    ----------
    records : ndarray, data frame or Records of n records
        Private. The records to which queries apply their functions, as for `dplearn.records.rows.as_records`.
    privacy : ApproxDP
        The cost of all answers together; it must have been charged already. With the neighbours "add_remove"
        the number of records is private: the oracle estimates it before its first answer.
    dice : Dice
        Source of chance.
    noise : {"auto", "laplace", "gaussian"}, default="auto"
        "laplace" spends epsilon only; "gaussian" needs a positive delta and suits many queries and vectors.
        "auto" is "gaussian" if delta is positive, else "laplace".
    count_share : number, default=1/10
        For "add_remove": the part of the budget for the number of records, in [0, 1); the shares of queries
        are shares of the rest. 0: the number is not estimated, and answers are totals, as if they were means
        over one record.
    most_records : int, default=2**32
        Public. For "add_remove": sums are clipped to those of so many records.

    Attributes
    ----------
    guarantee : ApproxDP
        Public. The guarantee of all answers together, as charged.
    rounds : tuple of Round
        Public. The rounds so far.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record; where records are groups of rows, for
    all replaced rows of one group. Proof: between neighbours each query's totals differ by at most `l1` in
    the l1 norm, and `squared_l2` in the squared l2 norm; for groups of m rows each, by m times `l1` and m^2
    times `squared_l2`, because the differences of m rows are added. The noise of an answer is scaled to
    the part of epsilon, or of mu^2 / 2 (`gaussian_sums`), that the answer spends. These parts add up to at
    most the whole, also if queries depend on earlier answers, and `gaussian_budget` implies `privacy`. Sums
    with little or very much Gaussian noise are multiplied by a public number first, and rounded; `SumNoise`
    bounds the distances of these multiples.

    For one added or removed record: likewise with `added_l1` and `added_squared_l2`, the greatest norms of
    one record's numbers, and 1 for the number of records. Nothing else depends on that number: the ends of
    sums, the grid of their noise, bounds and messages are functions of `most_records` and of the estimate,
    which is released. Clipping increases no distance.

    **Assumes.** A query's value for a record is a function of that record alone; which queries are asked,
    given the answers, is public. The number of records is public, or, for "add_remove", at least 1.

    **Accuracy.** `Answer.tolerance`. For "add_remove" its probability of failure is greater by 2**-40, and an
    estimated number is at most `most_records`.

    **Source.** Blum, Dwork, McSherry and Nissim (2005), here with exact discrete noise.

    Examples
    --------
    Seeded dice make this example repeatable; private data need `dplearn.chance.SystemDice`.

    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.queries import CentralOracle
    >>> from dplearn.queries.query import MeanQuery
    >>> coins = np.arange(1000) % 4 == 0
    >>> heads = MeanQuery(lambda coins: coins.astype(int), low=0, high=1)
    >>> oracle = CentralOracle(coins, privacy=ApproxDP(1), dice=SeededDice(0))
    >>> answer = oracle.ask(heads, share=0.5)[0]
    >>> answer.mean, round(answer.tolerance(0.05), 3), oracle.left
    (0.251, 0.056, Fraction(1, 2))
    >>> added = ApproxDP(1, neighbors="add_remove")
    >>> answer = CentralOracle(coins, privacy=added, dice=SeededDice(0)).ask(heads)[0]
    >>> answer.n, round(answer.mean, 3)
    (1006, 0.247)
    """

    def __init__(
        self,
        records: Any,
        *,
        privacy: ApproxDP,
        dice: Dice,
        noise: str = AUTO,
        count_share: Any = COUNT_SHARE,
        most_records: int = MOST_RECORDS,
    ):
        table = _asked_table(records)
        kind = check_choice("noise", noise, _NOISES)
        if kind == "gaussian" and not privacy.delta:
            raise ValueError("delta must be above 0 for noise='gaussian', got 0")
        if kind == AUTO:
            kind = "gaussian" if privacy.delta else "laplace"
        share = check_number("count_share", count_share, low=0, below=1)
        most = check_count("most_records", most_records, low=1, high=MOST_RECORDS)
        added = privacy.neighbors == ADDED
        if added and (table.in_parts or table.grouping is not None):
            raise TypeError("records must be in memory, and no groups, for neighbors='add_remove'")
        n = 1 if added else len(table)  # an answer about added records is a total, unless these are counted
        bought = CentralNoise.of(kind, privacy, n, count_share=share, each=table.each, most_records=most)
        super().__init__(table, bought, privacy, dice)
        self._size = "" if added else f"n={n}, "

    def count(self) -> int:
        """Return the number of records, if that is private an estimate, which the first round spends."""
        with float_errors_ignored(), self._account.use() as account:
            self._open(account)
            return int(account.noise.n)

    def _open(self, account: Account) -> None:
        if account.noise.n is None:
            account.noise = account.noise.counted(len(account.tables[0]), account.dice)
            account.numbers += 1

    def _private(self, account: Account, asked: list[StatisticalQuery], share: Fraction) -> Iterable[Any]:  # noqa: ARG002
        # One pass over the records for all queries of a round.
        return account.tables[self._place].sums(lambda rows: [query.total(rows) for query in asked])


class LocalOracle(BudgetedOracle):
    """Answers statistical queries from the randomised reports of records.

    Parameters
    ----------
    records : ndarray, data frame or Records of n records
        Private. The records to which queries apply their functions, as for `dplearn.records.rows.as_records`.
    privacy : ApproxDP
        The cost for each record, of which only epsilon is spent; it must have been charged already.
    dice : Dice
        Source of chance.
    stream : PublicStream
        The source of the public order in which records report.
    randomizer : {"bit", "laplace"}, default="bit"
        The randomiser of a number: one bit, or the number with Laplace noise, which is more accurate only if
        epsilon is large and the numbers vary far less than their bounds allow.

    Attributes
    ----------
    guarantee : ApproxDP
        Public. The guarantee of all answers together, as charged.
    rounds : tuple of Round
        Public. The rounds so far.

    Notes
    -----
    **Privacy.** (epsilon, 0) for one replaced record, even if the collector of the reports is not trusted.
    Proof: public numbers determine the records that answer a query. Each record answers at most one query,
    once, by a randomiser of epsilon. Given the queries, all other reports do not depend on this record.

    **Assumes.** A query's value for a record is a function of that record alone; the number of records, and
    which queries are asked given the answers, are public.

    **Accuracy.** `Answer.tolerance`, for all records, even if they are chosen for the public signs of the
    Hadamard transform of vectors: it includes the greatest bias from clipping. For a number,
    `dplearn.theory.query_sample_size` returns the number of records needed for a tolerance.

    **Source.** Kasiviswanathan et al. (2011), Section 5.1.1 and Theorem 5.7. There each record adds Laplace
    noise to its value; a bit has less variance for the worst values, at every epsilon: with w their range,
    w**2 / (4 tanh(epsilon / 2)**2) < 2 (w / epsilon)**2 + w**2 / 4, since sinh(x) > x.

    Examples
    --------
    Seeded dice make this example repeatable; private data need `dplearn.chance.SystemDice`.

    >>> import numpy as np
    >>> from dplearn.chance import PublicStream, SeededDice
    >>> from dplearn.privacy import ApproxDP
    >>> from dplearn.queries import LocalOracle
    >>> from dplearn.queries.query import MeanQuery
    >>> coins = np.arange(100_000) % 4 == 0
    >>> heads = MeanQuery(lambda coins: coins.astype(int), low=0, high=1)
    >>> oracle = LocalOracle(coins, privacy=ApproxDP(1), dice=SeededDice(0), stream=PublicStream(0))
    >>> answer = oracle.ask(heads, share=0.5)[0]
    >>> round(answer.mean, 2), round(answer.tolerance(0.05), 3), answer.n
    (0.25, 0.013, 50000)
    """

    def __init__(
        self, records: Any, *, privacy: ApproxDP, dice: Dice, stream: PublicStream, randomizer: str = "bit"
    ):
        table = _asked_table(records)
        check_choice("neighbors", privacy.neighbors, ("replace_one",))  # reports can be counted
        self._order, self._size = stream.permutation(len(table)), f"n={len(table)}, "
        kind = check_choice("randomizer", randomizer, KINDS)
        super().__init__(table, LocalNoise(epsilon_of(privacy), len(table), kind), privacy, dice)

    def _private(self, account: Account, asked: list[StatisticalQuery], share: Fraction) -> Iterable[Any]:
        count = account.noise.count(share)
        for _ in asked:
            places = self._order[account.asked : account.asked + count]
            account.asked += count
            yield account.tables[self._place].take(places)
