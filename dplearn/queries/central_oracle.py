"""An oracle of the central trust model: it answers with noisy means over all records.

With a guarantee for an added record, the number of records is estimated from a share of the budget.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dplearn._validation import AUTO, check_choice, check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.core.float_errors import float_errors_ignored
from dplearn.privacy import ApproxDP
from dplearn.privacy.gaussian_dp import MOST_NUMBERS
from dplearn.privacy.unknown_count import ADDED, COUNT_SHARE, MOST_RECORDS
from dplearn.queries.bounds import TailBound, sampling_bound
from dplearn.queries.budgeted import Account, Bounds, BudgetedOracle
from dplearn.queries.noise import Noise
from dplearn.queries.oracle import Answer
from dplearn.queries.query import MeanQuery, StatisticalQuery
from dplearn.records.table import as_table

__all__ = ["COUNT_SHARE", "CentralOracle"]

_NOISES = (AUTO, "laplace", "gaussian")
_RARE = Fraction(1, 1 << 40)
_NUMBER = MeanQuery(None, low=0, high=1)  # type: ignore[arg-type] # of records; its total is counted
_TOO_MUCH = (
    "queries must have bounds so narrow, or a share so large, that Gaussian noise has sigma2 below 2**56;"
    " noise='laplace' has no such limit"
)


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
        super().__init__(table, dice)
        self.guarantee = privacy
        noise = check_choice("noise", noise, _NOISES)
        if noise == "gaussian" and not privacy.delta:
            raise ValueError("delta must be above 0 for noise='gaussian', got 0")
        gaussian = noise == "gaussian" or (noise == AUTO and privacy.delta > 0)
        self._count_share = check_number("count_share", count_share, low=0, below=1)
        most = check_count("most_records", most_records, low=1, high=MOST_RECORDS)
        self._added = privacy.neighbors == ADDED
        if self._added:
            if table.in_parts or table.grouping is not None:
                raise TypeError("records must be in memory, and no groups, for neighbors='add_remove'")
            self._n = 1  # until it is estimated
        kind = "gaussian" if gaussian else "laplace"
        noise_of_all = Noise.of(kind, privacy, self._n, each=table.each, most_records=most)
        rest = 1 - self._count_share if self._added else Fraction(1)
        self._noise = replace(noise_of_all, budget=noise_of_all.budget * rest)

    @property
    def _size(self) -> str:
        return "" if self._added else super()._size

    def _open(self, account: Account) -> None:
        """Estimate a private number of records, once; copies find the estimate in their common state."""
        if not self._added or not self._count_share:
            return
        if account.count is None:
            part = self._count_share / (1 - self._count_share)
            if not self._noise.can_be_drawn(_NUMBER, part):
                raise ValueError(_TOO_MUCH)
            total = np.array([len(account.records)], dtype=np.int64)
            [noisy], bits = self._noise.added_to(total, _NUMBER, part, account.dice)
            account.count = min(max(round(float(noisy) / 2.0**bits), 1), self._noise.most_records)
            account.numbers += 1
        self._n = account.count
        self._noise = replace(self._noise, n=self._n)

    def estimated_count(self) -> int:
        """Return the estimate of a private number of records; the first call spends `count_share`."""
        with float_errors_ignored(), self._account.use() as account:
            self._open(account)
            return self._n

    def replace_records(self, image: Callable[[Any], Any]) -> None:
        """Replace the records by their images, for all further answers.

        Parameters
        ----------
        image : callable
            Public or released. From records to as many, each a function of its own record alone.
        """
        with float_errors_ignored(), self._account.use() as account:
            account.records = account.records.map(image)

    def _check(self, account: Account, asked: list[StatisticalQuery], part: Fraction) -> None:
        if not all(map(self._noise.fits, asked)):
            n = self._noise.most_records if self._added else self._n
            raise ValueError(f"queries must have bounds below 2**62 / n for {n} records")
        if not self._noise.gaussian:
            return
        if account.numbers + sum(query.size for query in asked) > MOST_NUMBERS:
            raise ValueError(f"queries must have at most {MOST_NUMBERS} numbers in all")
        if not all(self._noise.can_be_drawn(query, part) for query in asked):
            raise ValueError(_TOO_MUCH)

    def _bounds(self, query: StatisticalQuery, part: Fraction) -> Bounds:
        noise = self._noise.bound(query, part)
        if not self._added:
            sampling = sampling_bound(query.high - query.low, self._n, query.size)
            factor = float(query.unit) / (self._n * self._noise.each)
            return noise.times(factor), sampling.times(float(query.unit))
        if not self._count_share:
            return noise.times(float(query.unit)), TailBound()
        # With sums S, n and their noisy values T, m: T/m - S/n = (T - S)/m + (S/n) (n - m)/m, and |S/n| is at
        # most the greatest number. A union bound over all noisy values holds for both terms together.
        count = self._noise.bound(_NUMBER, self._count_share / (1 - self._count_share))
        reach = max(abs(query.low), abs(query.high))
        noise = TailBound(
            noise.linear + reach * count.linear, noise.root + reach * count.root, size=query.size + 1
        )
        least = max(1, self._n - math.ceil(count.at(_RARE)))
        sampling = sampling_bound(query.high - query.low, least, query.size)
        return noise.times(float(query.unit) / self._n), sampling.times(float(query.unit))

    def _exact(self, account: Account, asked: list[StatisticalQuery]) -> list[Any]:
        # One pass over the records for all queries of a round.
        return account.records.sums(lambda rows: [query.total(rows) for query in asked])

    def _answer(
        self, account: Account, query: StatisticalQuery, part: Fraction, bounds: Bounds, exact: Any
    ) -> Answer:
        n = self._n * self._noise.each
        sums, bits = self._noise.added_to(exact, query, part, account.dice)
        means = sums * float(query.unit) / (n * 2.0**bits)
        if self._added and self._count_share:  # else the ends of totals keep means within the bounds
            means = means.clip(float(query.low * query.unit), float(query.high * query.unit))
            sums_noise = self._noise.bound(query, part).times(float(query.unit) / n)
            return Answer(means, self._n, *bounds, sums_noise)
        return Answer(means, self._n, *bounds)
