"""An oracle of the central trust model: it answers with noisy means over all records.

With a guarantee for an added record, the number of records is estimated from a share of the budget.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from dplearn._validation import AUTO, check_choice, check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.core.float_errors import float_errors_ignored
from dplearn.privacy import ApproxDP
from dplearn.privacy.unknown_count import ADDED, COUNT_SHARE, MOST_RECORDS
from dplearn.queries.budgeted import Account, BudgetedOracle
from dplearn.queries.noise import CentralNoise
from dplearn.queries.query import StatisticalQuery
from dplearn.records.table import as_table

__all__ = ["COUNT_SHARE", "CentralOracle"]

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
        table = as_table(records)
        if not len(table):
            raise ValueError("records must be at least one, got none")
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
