"""An oracle that never sees a record: each one randomises its own answer, and answers one query only.

>>> import numpy as np
>>> from dplearn.chance import PublicStream, SeededDice
>>> from dplearn.queries.query import MeanQuery
>>> coins = np.arange(100_000) % 4 == 0
>>> heads = MeanQuery(lambda coins: coins.astype(int), low=0, high=1)
>>> oracle = LocalOracle(coins, privacy=ApproxDP(1), dice=SeededDice(0), stream=PublicStream(0))
>>> answer = oracle.ask(heads, share=0.5)[0]
>>> round(answer.mean, 2), round(answer.tolerance(0.05), 3), answer.n
(0.25, 0.013, 50000)
"""

import math
from fractions import Fraction
from typing import Any

from dplearn._validation import check_choice
from dplearn.chance import PublicStream
from dplearn.chance.dice import Dice
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of
from dplearn.queries.budgeted import Account, Bounds, BudgetedOracle
from dplearn.queries.oracle import Answer
from dplearn.queries.query import StatisticalQuery
from dplearn.queries.randomizers import LocalRandomizer
from dplearn.records.rows import taken

__all__ = ["LocalOracle"]

_KINDS = ("bit", "laplace")


class LocalOracle(BudgetedOracle):
    """Answers statistical queries from what records report of themselves.

    Parameters
    ----------
    records : ndarray, data frame or Records of n records
        Private. What the queries' functions take some of: as for `dplearn.records.rows.as_records`.
    privacy : ApproxDP
        What each record may give away, of which epsilon alone is spent; it must have been charged already.
    dice : Dice
        Source of chance.
    stream : PublicStream
        Of the public order in which records are asked.
    randomizer : {"bit", "laplace"}, default="bit"
        How a record randomises a number: to a bit, or by Laplace noise, which tells more only where epsilon
        is large and numbers vary far less than their bounds allow.

    Attributes
    ----------
    guarantee : ApproxDP
        Public. What was charged.
    rounds : tuple of Round
        Public. What was asked so far.

    Notes
    -----
    **Privacy.** (epsilon, 0) for one replaced record, even towards whoever collects the reports. Proof: which
    records are asked is fixed by public numbers; each answers at most one query, once, by a randomiser of
    epsilon; all other reports, given the queries, do not depend on it.

    **Assumes.** A query's value for a record is a function of that record alone; the number of records, and
    which queries are asked given the answers, are public.

    **Accuracy.** `Answer.tolerance`, for any records, also for records chosen for the public signs of the
    Hadamard transform of vectors: it includes the greatest bias from clipping.
    `dplearn.theory.query_sample_size` says how many records keep a tolerance for a number.

    **Source.** Kasiviswanathan et al. (2011), Section 5.1.1 and Theorem 5.7. There each record adds Laplace
    noise to its value; a bit has less variance for the worst values, at every epsilon: with w their range,
    w**2 / (4 tanh(epsilon / 2)**2) < 2 (w / epsilon)**2 + w**2 / 4, since sinh(x) > x.
    """

    def __init__(
        self, records: Any, *, privacy: ApproxDP, dice: Dice, stream: PublicStream, randomizer: str = "bit"
    ):
        super().__init__(records, dice)
        self.guarantee = privacy
        self._order = stream.permutation(self._n)
        self._epsilon = epsilon_of(privacy)
        self._kind = check_choice("randomizer", randomizer, _KINDS)

    def randomizer(self, query: StatisticalQuery, n_reports: int = 1) -> LocalRandomizer:
        """Return what a record that is asked this query, as one of so many, randomises its answer by."""
        return query.randomizer(self._epsilon, self._kind, n_reports)

    def _check(self, asked: list[StatisticalQuery], part: Fraction) -> None:
        if self._count(part) < 1:
            raise ValueError(
                f"queries must leave each at least one of {self._n} records, got {len(asked)} queries for"
                f" {float(part * len(asked)):g} of the records"
            )

    def _count(self, part: Fraction) -> int:
        """Return how many records answer one query."""
        return math.floor(part * self._n)

    def _bounds(self, query: StatisticalQuery, part: Fraction) -> Bounds:
        unit = float(query.unit)
        count = max(self._count(part), 1)
        noise, sampling = self.randomizer(query, count).bounds(count)
        return noise.times(unit), sampling.times(unit)

    def _answer(self, account: Account, query: StatisticalQuery, part: Fraction, bounds: Bounds) -> Answer:
        count = self._count(part)
        randomizer = self.randomizer(query, count)
        asked = taken(account.records, self._order[account.asked : account.asked + count])
        account.asked += count
        reports = randomizer.draw(query.inputs(asked), account.dice)
        means = randomizer.estimate(reports) * float(query.unit)
        return Answer(means, count, *bounds)
