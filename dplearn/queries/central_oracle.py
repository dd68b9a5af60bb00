"""An oracle of the central trust model: it answers with noisy means over all records.

>>> import numpy as np
>>> from dplearn.chance import SeededDice
>>> from dplearn.queries.query import MeanQuery
>>> coins = np.arange(1000) % 4 == 0
>>> heads = MeanQuery(lambda coins: coins.astype(int), low=0, high=1)
>>> oracle = CentralOracle(coins, privacy=ApproxDP(1), dice=SeededDice(0))
>>> answer = oracle.ask(heads, share=0.5)[0]
>>> answer.mean, round(answer.tolerance(0.05), 3), oracle.left
(0.251, 0.056, Fraction(1, 2))
"""

import math
from fractions import Fraction
from typing import Any

import numpy as np

from dplearn._validation import AUTO, check_choice
from dplearn.chance.dice import Dice
from dplearn.core.exact import decay_rate, decay_ratio
from dplearn.mechanisms.noisy_counts import gaussian_sums, laplace_counts
from dplearn.privacy import ApproxDP, GaussianSums
from dplearn.privacy.gaussian_dp import MOST_NUMBERS
from dplearn.privacy.guarantees import epsilon_of
from dplearn.privacy.shares import gaussian_budget
from dplearn.queries.bounds import TailBound, sampling_bound
from dplearn.queries.budgeted import Account, Bounds, BudgetedOracle
from dplearn.queries.gaussian_noise import SumNoise, can_be_drawn
from dplearn.queries.oracle import Answer
from dplearn.queries.query import StatisticalQuery
from dplearn.records.groups import GroupedRecords
from dplearn.records.parts import summed

__all__ = ["CentralOracle"]

_FAR = 1 << 62
_NOISES = (AUTO, "laplace", "gaussian")


class CentralOracle(BudgetedOracle):
    """Answers statistical queries by noisy means of all records.

    Parameters
    ----------
    records : ndarray, data frame or Records of n records
        Private. The records to which queries apply their functions, as for `dplearn.records.rows.as_records`.
    privacy : ApproxDP
        The cost of all answers together; it must have been charged already.
    dice : Dice
        Source of chance.
    noise : {"auto", "laplace", "gaussian"}, default="auto"
        "laplace" spends epsilon only; "gaussian" needs a positive delta and suits many queries and vectors.
        "auto" is "gaussian" if delta is positive, else "laplace".

    Attributes
    ----------
    guarantee : ApproxDP
        Public. The guarantee of all answers together, as charged.
    rounds : tuple of Round
        Public. The rounds so far.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record; where records are groups of rows (`GroupedRecords`), for
    all replaced rows of one group. Proof: between neighbours each query's totals differ by at most `l1` in
    the l1 norm, and `squared_l2` in the squared l2 norm; for groups of m rows each, by m times `l1` and m^2
    times `squared_l2`, because the differences of m rows are added. The noise of an answer is scaled to
    the part of epsilon, or of mu^2 / 2 (`gaussian_sums`), that the answer spends. These parts add up to at
    most the whole, also if queries depend on earlier answers, and `gaussian_budget` implies `privacy`. Sums
    with little or very much Gaussian noise are multiplied by a public number first, and rounded; `SumNoise`
    bounds the distances of these multiples.

    **Assumes.** A query's value for a record is a function of that record alone; the number of records, and
    which queries are asked given the answers, are public.

    **Accuracy.** `Answer.tolerance`.

    **Source.** Blum, Dwork, McSherry and Nissim (2005), here with exact discrete noise.
    """

    def __init__(self, records: Any, *, privacy: ApproxDP, dice: Dice, noise: str = AUTO):
        super().__init__(records, dice)
        self.guarantee = privacy
        noise = check_choice("noise", noise, _NOISES)
        if noise == "gaussian" and not privacy.delta:
            raise ValueError("delta must be above 0 for noise='gaussian', got 0")
        gaussian = noise == "gaussian" or (noise == AUTO and privacy.delta > 0)
        #: The rows of a record: a record that is a group of rows has the mean of their values.
        self._each = records.each if isinstance(records, GroupedRecords) else 1
        self._budget = gaussian_budget(privacy) if gaussian else None
        self._epsilon = epsilon_of(privacy)

    def _check(self, account: Account, asked: list[StatisticalQuery], part: Fraction) -> None:
        if any(self._most(query) >= _FAR for query in asked):
            raise ValueError(f"queries must have bounds below 2**62 / n for {self._n} records")
        if self._budget is None:
            return
        if account.numbers + sum(query.size for query in asked) > MOST_NUMBERS:
            raise ValueError(f"queries must have at most {MOST_NUMBERS} numbers in all")
        noises = [self._noise(query, part * self._budget) for query in asked]
        if not all(can_be_drawn(noise.squared_l2, part * self._budget) for noise in noises):
            raise ValueError(
                "queries must have bounds so narrow, or a share so large, that Gaussian noise has sigma2"
                " below 2**56; noise='laplace' has no such limit"
            )

    # A replaced group replaces `each` rows, so the totals of the rows differ by at most `each` times as much.

    def _most(self, query: StatisticalQuery) -> int:
        return self._n * self._each * max(abs(query.low), abs(query.high))

    def _l1(self, query: StatisticalQuery) -> int:
        return query.l1 * self._each

    def _squared_l2(self, query: StatisticalQuery) -> int:
        return query.squared_l2 * self._each**2

    def _noise(self, query: StatisticalQuery, budget: Fraction) -> SumNoise:
        return SumNoise.of(self._squared_l2(query), budget, self._most(query), query.size)

    def _bounds(self, query: StatisticalQuery, part: Fraction) -> Bounds:
        if self._budget is None:
            ratio = decay_ratio(part * self._epsilon / self._l1(query))
            noise = TailBound(linear=1 / decay_rate(ratio), size=query.size)
        else:
            deviation = self._noise(query, part * self._budget).deviation
            noise = TailBound(root=math.sqrt(2) * deviation, size=query.size)
        sampling = sampling_bound(query.high - query.low, self._n, query.size)
        return noise.times(float(query.unit) / (self._n * self._each)), sampling.times(float(query.unit))

    def _exact(self, account: Account, asked: list[StatisticalQuery]) -> list[Any]:
        # One pass over the records for all queries of a round.
        return list(summed(account.records, lambda records: [query.total(records) for query in asked]))

    def _answer(
        self, account: Account, query: StatisticalQuery, part: Fraction, bounds: Bounds, exact: Any
    ) -> Answer:
        # The ends of totals are public, and no total is beyond them.
        n = self._n * self._each
        low, high, bits = n * query.low, n * query.high, 0
        if self._budget is None:
            privacy = ApproxDP(part * self._epsilon)
            noisy = laplace_counts(
                exact, privacy=privacy, dice=account.dice, sensitivity=self._l1(query), low=low, high=high
            )
        else:
            budget = part * self._budget
            noise = self._noise(query, budget)
            bits = noise.bits
            noisy = gaussian_sums(
                noise.of_sums(exact),
                privacy=GaussianSums(budget),
                dice=account.dice,
                squared_sensitivity=noise.squared_l2,
                low=int(noise.of_sums(low)),
                high=int(noise.of_sums(high)),
            )
        means = np.asarray(noisy, dtype=np.float64) * float(query.unit) / (n * 2.0**bits)
        return Answer(means, self._n, *bounds)
