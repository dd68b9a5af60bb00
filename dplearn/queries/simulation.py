"""Reports can stand in for statistical queries, and statistical queries for reports.

`simulate_locally` runs an algorithm that asks for averages on records that report once each.
`simulate_by_queries` runs an algorithm that asks records for reports, and touches no record: it draws what a
random record would report by asking for averages. `run_locally` is what the latter stands in for.

>>> from dplearn.chance import SeededDice
>>> from dplearn.queries.population_oracle import PopulationOracle
>>> heads = MeanQuery(lambda coins: coins, low=0, high=1)
>>> coins = np.arange(2000) % 4 // 3
>>> run = simulate_locally(
...     lambda oracle: oracle.ask(heads)[0].mean, coins, n_queries=1, tolerance=0.1, width=1, random_state=0
... )
>>> round(run.result, 1), run.n_needed, run.adaptive
(0.2, 864, False)
>>> def reported():
...     reports = yield [Request(i, heads, heads.randomizer(Fraction(1), "bit")) for i in range(40)]
...     return sum(reports)
>>> run_locally(reported, coins, epsilon=1, dice=SeededDice(0))  # near 40 (p / 4 + 3 (1 - p) / 4) = 15
19
>>> run = simulate_by_queries(
...     reported, PopulationOracle(coins), n_reports=40, epsilon=1, beta=0.1, dice=SeededDice(0)
... )
>>> run.result, run.n_queries
(12, 101)
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dplearn._validation import check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.core.float_errors import ignores_float_errors
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.errors import BudgetExceededError
from dplearn.queries.bounds import query_sample_size
from dplearn.queries.factories import local
from dplearn.queries.local_oracle import LocalOracle
from dplearn.queries.oracle import Answer, Oracle, Round, as_queries
from dplearn.queries.query import MeanQuery, StatisticalQuery
from dplearn.queries.rejection import RecordBudgets, Reports, Request, check_dice, drawn
from dplearn.records.rows import as_records, count_of, taken

__all__ = ["LocalRun", "QueriedRun", "Request", "run_locally", "simulate_by_queries", "simulate_locally"]


@dataclass(frozen=True)
class LocalRun:
    """What an algorithm for statistical queries gave on reports.

    Attributes
    ----------
    result : object
        Released. What the algorithm returned.
    n_needed : int
        Public. How many records keep its guarantee.
    adaptive : bool
        Public. Whether it asked when answers to other queries were known.
    guarantee : ApproxDP
        Public. What was guaranteed to each record.
    """

    result: Any
    n_needed: int
    adaptive: bool
    guarantee: ApproxDP


def simulate_locally(
    algorithm: Callable[[Oracle], Any],
    records: Any,
    *,
    n_queries: int,
    tolerance: Any,
    epsilon: Any = 1.0,
    beta: Any = 0.05,
    width: Any = 2,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> LocalRun:
    """Run an algorithm that asks statistical queries, on records that report once each.

    Parameters
    ----------
    algorithm : callable
        Takes an oracle, and asks it `MeanQuery`. A `share` that it names is left aside: each query has an
        equal part, which is enough for its tolerance.
    records : ndarray, data frame or Records of n records, as for `dplearn.queries.local`
        Private. Independent draws of the distribution that is asked about.
    n_queries : int
        At most so many the algorithm asks.
    tolerance : float
        No query needs a more precise answer.
    epsilon : number, default=1.0
        What each record may give away.
    beta : float, default=0.05
        Probability with which some answer may be off by more than `tolerance`.
    width : number, default=2
        The widest range of a query's values, (high - low) * unit: 2 for -1..1.
    ledger : PrivacyLedger, optional
        Is charged before anything is asked.
    random_state : None, int or numpy random generator, optional
        As for `dplearn.queries.local`.

    Returns
    -------
    LocalRun

    Raises
    ------
    ValueError
        If there are fewer records than the guarantee takes, and nothing is spent; or if the algorithm asks
        for something else than was said.
    BudgetExceededError
        If the ledger's budget does not hold it; or if the algorithm asks more queries than was said.

    Notes
    -----
    **Privacy.** (epsilon, 0), for one replaced record, even towards whoever collects the reports. Proof: as
    for `LocalOracle`; each query has a part of the records of its own.

    **Assumes.** As for `LocalOracle`.

    **Accuracy.** With probability at least 1 - beta the algorithm's answers are those of an oracle of the
    tolerance. If it asks in one round, so does this.

    **Source.** Kasiviswanathan et al. (2011), Theorem 5.7, with the constants of `query_sample_size`.
    """
    n_queries = check_count("n_queries", n_queries, low=1)
    exact, width = check_number("tolerance", tolerance, above=0), check_number("width", width, above=0)
    needed = query_sample_size(
        tolerance=exact, beta=beta, epsilon=epsilon, queries=n_queries, width=width, trust_model="local"
    )
    n = count_of(as_records("records", records))
    if n < needed:
        raise ValueError(
            f"records must be at least {needed} for {n_queries} queries of tolerance {float(exact):g},"
            f" got {n}"
        )
    oracle = local(records, epsilon=epsilon, randomizer="bit", ledger=ledger, random_state=random_state)
    portions = _Portions(oracle, n_queries, exact, width)
    result = algorithm(portions)
    return LocalRun(result, needed, portions.adaptive, oracle.guarantee)


class _Portions(Oracle):
    """A local oracle that gives each query the same part of the records."""

    def __init__(self, oracle: LocalOracle, n_queries: int, tolerance: Fraction, width: Fraction):
        self._oracle, self._most, self._asked = oracle, n_queries, 0
        self._tolerance, self._width = tolerance, width

    @property
    def rounds(self) -> tuple[Round, ...]:
        return self._oracle.rounds

    @property
    def left(self) -> Fraction:
        return self._oracle.left

    def ask(
        self,
        queries: StatisticalQuery | Sequence[StatisticalQuery],
        share: Any = None,
        *,
        tolerance: Any = None,
        beta: Any = 0.05,  # noqa: ARG002 - that of the whole run holds
    ) -> list[Answer]:
        asked = as_queries(queries)
        if share is not None:
            check_number("share", share, above=0, high=1)  # and is left aside
        if tolerance is not None and check_number("tolerance", tolerance, above=0) < self._tolerance:
            raise ValueError(f"tolerance must be at least {float(self._tolerance):g}, got {tolerance!r}")
        for query in asked:
            if not isinstance(query, MeanQuery):
                raise ValueError(f"queries must be MeanQuery, got {type(query).__name__}")
            width = (query.high - query.low) * query.unit
            if width > self._width:
                raise ValueError(
                    f"queries must be MeanQuery of width {float(self._width):g} at most, got width"
                    f" {float(width):g}: pass width={float(width):g}"
                )
        if self._asked + len(asked) > self._most:
            raise BudgetExceededError(f"queries must be at most {self._most}, as was said")
        self._asked += len(asked)
        return self._oracle.ask(asked, share=Fraction(len(asked), self._most))


#: An algorithm that asks records: it yields the requests of a round, gets their reports, returns a result.
Rounds = Generator[Sequence[Request], list[int], Any]


def run_locally(algorithm: Callable[[], Rounds], records: Any, *, epsilon: Any, dice: Dice) -> Any:
    """Run an algorithm that asks records for reports.

    Parameters
    ----------
    algorithm : callable
        Without arguments; returns a generator. It yields the requests of one round, a list of
        `Request(record, query, randomizer)`, is sent the list of their reports, integers, and so on; what it
        returns is the result.
    records : ndarray, data frame or Records of n records, as for `dplearn.queries.local`
        Private. Requests name them by their places, from 0.
    epsilon : number
        What each record may give away in all; it must have been charged already.
    dice : Dice
        Source of chance.

    Returns
    -------
    object
        What the algorithm returned.

    Raises
    ------
    TypeError
        If `algorithm` is not such a function.
    BudgetExceededError
        If a record is asked for more; it reports nothing then.

    Notes
    -----
    **Privacy.** (epsilon, 0), for one replaced record. Proof: the epsilons of what it reports add up to at
    most that, also where requests depend on earlier reports.

    **Assumes.** Requests depend on nothing private but reports.

    **Source.** Kasiviswanathan et al. (2011), Definition 5.3.
    """
    budgets = RecordBudgets(check_number("epsilon", epsilon, above=0))
    records = as_records("records", records)
    n = count_of(records)
    check_dice(dice)

    @ignores_float_errors
    def answer(requests: Sequence[Request]) -> list[int]:
        for request in requests:
            check_count("record", request.record, high=n - 1)  # so that none has two names
        budgets.allow(requests)
        parts = [taken(records, np.array([request.record])) for request in requests]
        values = [request.query.inputs(part) for request, part in zip(requests, parts, strict=True)]
        return [drawn(request, value, dice) for request, value in zip(requests, values, strict=True)]

    return _driven(algorithm, answer)


@dataclass(frozen=True)
class QueriedRun:
    """What an algorithm that asks records gave when only averages were asked for.

    Attributes
    ----------
    result : object
        What the algorithm returned.
    n_queries : int
        How many queries the oracle answered.
    """

    result: Any
    n_queries: int


def simulate_by_queries(
    algorithm: Callable[[], Rounds],
    oracle: Oracle,
    *,
    n_reports: int,
    epsilon: Any,
    beta: Any,
    dice: Dice,
    interactive: bool = True,
) -> QueriedRun:
    """Run an algorithm that asks records for reports, by statistical queries about their distribution.

    Parameters
    ----------
    algorithm : callable
        As for `run_locally`; records are no more than names here, for those that are asked again.
    oracle : Oracle
        Answers `MeanQuery` of records, always within the tolerance that it is told, as a population's does.
    n_reports : int
        At most so many reports t the algorithm asks for.
    epsilon : number
        What it may ask of each record in all.
    beta : float
        By how much the result's distribution may be off, in (0, 1).
    dice : Dice
        Source of chance.
    interactive : bool, default=True
        False asks all queries in one round; the algorithm then must do so, too.

    Returns
    -------
    QueriedRun

    Raises
    ------
    ValueError
        If the algorithm asks for more reports, or in more rounds, than was said.
    BudgetExceededError
        If it asks a record for more than `epsilon`.

    Notes
    -----
    **Privacy.** That of `oracle`, since nothing else touches a record.

    **Assumes.** The records that the algorithm is meant for are independent draws of the distribution that
    `oracle` answers about; requests depend on nothing but reports; a randomiser's `probability` is exact.
    All answers are within the tolerance that the oracle is told. One that keeps it with a probability only,
    such as `central`, may be off further: add its probability of failure, .05 for each of `n_queries`.

    **Accuracy.** The result's distribution, over chance and independent draws of the records, is within beta
    in total variation; see docs/theory/queries.md for the proof. Each report, or the reports of one record in
    a round, is expected to take at most ((1 + 2 x) exp(e) + x) / (1 - x) queries for the e that it spends,
    x = beta / (2 t + beta), and one more where the record has reported before; in one round it takes
    ln(2 t / beta) times that. Each query goes over all records of a population, which takes time: where they
    repeat, ask for distinct ones with `weights`.

    **Source.** Kasiviswanathan et al. (2011), Lemma 5.8. There tolerances are beta / (3 exp(2 epsilon) t);
    here they are x / (exp(epsilon) - exp(-epsilon)), which is enough.
    """
    if not isinstance(oracle, Oracle):
        raise TypeError(f"oracle must be an Oracle, such as population(records), got {type(oracle).__name__}")
    check_dice(dice)
    reports = Reports(
        oracle,
        n_reports=check_count("n_reports", n_reports, low=1),
        budgets=RecordBudgets(check_number("epsilon", epsilon, above=0)),
        # Half of what each report may be off by is for wrong answers, half for that no candidate is accepted.
        off=check_number("beta", beta, above=0, below=1) / (2 * n_reports),
        dice=dice,
        interactive=bool(interactive),
    )
    result = _driven(algorithm, reports.answer)
    return QueriedRun(result, reports.n_queries)


def _driven(algorithm: Callable[[], Rounds], answer: Callable[[Sequence[Request]], list[int]]) -> Any:
    """Return what an algorithm returns, its rounds answered."""
    rounds = algorithm() if callable(algorithm) else algorithm
    if not (callable(algorithm) and isinstance(rounds, Generator)):
        raise TypeError(
            "algorithm must be a function without arguments that yields lists of Request, not called yet, got"
            f" {type(rounds).__name__}"
        )
    try:
        requests = next(rounds)
        while True:
            requests = rounds.send(answer(requests))
    except StopIteration as end:
        return end.value
