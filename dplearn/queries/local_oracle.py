"""An oracle of the local trust model: each record reports a randomised answer to one query."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

from dplearn._validation import check_choice
from dplearn.chance import PublicStream
from dplearn.chance.dice import Dice
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of
from dplearn.queries.budgeted import Account, BudgetedOracle
from dplearn.queries.noise import LocalNoise
from dplearn.queries.query import StatisticalQuery
from dplearn.records.table import as_table

__all__ = ["LocalOracle"]

_KINDS = ("bit", "laplace")


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
        table = as_table(records)
        if not len(table):
            raise ValueError("records must be at least one, got none")
        check_choice("neighbors", privacy.neighbors, ("replace_one",))  # reports can be counted
        self._order, self._size = stream.permutation(len(table)), f"n={len(table)}, "
        kind = check_choice("randomizer", randomizer, _KINDS)
        super().__init__(table, LocalNoise(epsilon_of(privacy), len(table), kind), privacy, dice)

    def _private(self, account: Account, asked: list[StatisticalQuery], share: Fraction) -> Iterable[Any]:
        count = account.noise.count(share)
        for _ in asked:
            places = self._order[account.asked : account.asked + count]
            account.asked += count
            yield account.tables[self._place].take(places)
