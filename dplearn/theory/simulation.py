"""Simulate statistical queries by local reports, and local reports by statistical queries.

`simulate_locally` runs a statistical query algorithm on records that report once each, `run_locally` a local
algorithm, which requests reports. `simulate_by_queries` runs that without access to records: it draws reports
of random records by rejection sampling, with statistical queries for the acceptance probabilities.
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log, log1p, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_choice, check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.kernels import decay_rate, decay_ratio, exp_bounds, first, ignores_float_errors
from dplearn.mechanisms.randomized_response import truth_probability
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.privacy_filter import BudgetExceededError
from dplearn.queries.answer import Answer, TailBound, sampling_bound
from dplearn.queries.noise import QUERY_MODELS
from dplearn.queries.oracle import LocalOracle, Oracle, Round, local
from dplearn.queries.query import MeanQuery, StatisticalQuery, VectorQuery
from dplearn.queries.randomizers import LocalRandomizer
from dplearn.table import count_of
from dplearn.table.table import as_records, taken

_SPARE = 64  # 1 / _SPARE of a tolerance is reserved for rounding


@dataclass(frozen=True)
class LocalRun:
    """The outcome of `simulate_locally`."""

    result: Any  # released: the algorithm's return value
    n_needed: int  # public: the records needed for its accuracy
    adaptive: bool  # public: whether there was more than one round
    guarantee: ApproxDP  # for each record


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
    """Run a statistical query algorithm on records that report once each.

    Parameters
    ----------
    algorithm : callable
        Takes an oracle, asks it `MeanQuery` queries, and returns a result. All queries have equal parts of
        the records, whatever `share` it gives.
    records : ndarray, data frame or Records of n records, as for `dplearn.queries.local`
        Private. Independent draws from the distribution that the queries are about.
    n_queries : int
        The greatest number of queries of the algorithm.
    tolerance : float
        The tolerance of all answers.
    epsilon : number, default=1.0
        The cost for each record.
    beta : float, default=0.05
        The probability that the error of some answer exceeds `tolerance`.
    width : number, default=2
        The greatest width of the range of a query's values, (high - low) * unit: 2 for -1..1.
    ledger : PrivacyLedger, optional
        The ledger that all answers are charged to, before the first query.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the answers reproducible, for tests only;
        the guarantee states this.

    Raises
    ------
    ValueError
        If there are fewer records than needed, and nothing is spent; or if a query of the algorithm is wider,
        or of a smaller tolerance, than declared.
    BudgetExceededError
        If the cost exceeds the ledger's remaining budget; or if the algorithm asks more than `n_queries`.

    Notes
    -----
    **Privacy.** (epsilon, 0), for one replaced record, even if the collector of the reports is not trusted,
    and under the assumptions of `LocalOracle`: queries use disjoint sets of records.

    **Accuracy.** With probability at least 1 - beta all answers are within the tolerance.

    **Source.** Kasiviswanathan et al. (2011), Theorem 5.7, with the constants of `query_sample_size`.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> import numpy as np
    >>> from dplearn.queries import MeanQuery
    >>> from dplearn.theory import simulate_locally
    >>> coins = np.arange(2000) % 4 // 3
    >>> def asked(oracle):
    ...     return oracle.ask(MeanQuery(lambda coins: coins, low=0, high=1))[0].mean
    >>> run = simulate_locally(asked, coins, n_queries=1, tolerance=0.1, width=1, random_state=0)
    >>> round(run.result, 1), run.n_needed, run.adaptive
    (0.2, 864, False)
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
    """A local oracle with the same number of records for each query."""

    def __init__(self, oracle: LocalOracle, n_queries: int, tolerance: Fraction, width: Fraction):
        self._oracle, self._most, self._asked = oracle, n_queries, 0
        self._tolerance, self._width = tolerance, width

    @property
    def rounds(self) -> tuple[Round, ...]:
        return self._oracle.rounds

    @property
    def left(self) -> Fraction:
        return self._oracle.left

    def _answers(self, asked: list[StatisticalQuery], share: Any, tolerance: Any, beta: Any) -> list[Answer]:  # noqa: ARG002 - the beta of the whole run applies
        if share is not None:
            check_number("share", share, above=0, high=1)  # otherwise without effect
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
            raise BudgetExceededError(f"queries must be at most {self._most}, the declared n_queries")
        self._asked += len(asked)
        return self._oracle.ask(asked, share=Fraction(len(asked), self._most))


@dataclass(frozen=True)
class Request:
    """A request for a randomised report of one record.

    Attributes
    ----------
    record : int
        The index of the record; in a simulation without records, any integer that identifies it.
    query : StatisticalQuery
        The query whose value is reported.
    randomizer : LocalRandomizer
        The randomiser of that value.
    """

    record: int
    query: StatisticalQuery
    randomizer: LocalRandomizer


#: A local algorithm: it yields the requests of a round, is sent their reports, and returns a result.
Rounds = Generator[Sequence[Request], list[int], Any]


def run_locally(algorithm: Callable[[], Rounds], records: Any, *, epsilon: Any, dice: Dice) -> Any:
    """Run a local algorithm, which requests randomised reports, on records.

    Parameters
    ----------
    algorithm : callable
        A function without arguments that returns a generator, which yields in each round a list of
        `Request(record, query, randomizer)`, is sent the list of the reports, integers, and returns the
        result.
    records : ndarray, data frame or Records of n records, as for `dplearn.queries.local`
        Private. A request's `record` is an index from 0.
    epsilon : number
        The cost of all reports of a record together; it must have been charged already.
    dice : Dice
        Source of chance.

    Returns
    -------
    object
        The algorithm's return value.

    Raises
    ------
    BudgetExceededError
        If the requests to a record exceed `epsilon`; no record reports in that round.

    Notes
    -----
    **Privacy.** (epsilon, 0), for one replaced record, if requests depend on the records through earlier
    reports only: the epsilons of its reports add up to at most epsilon.

    **Source.** Kasiviswanathan et al. (2011), Definition 5.3.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.queries import MeanQuery
    >>> from dplearn.theory import Request, run_locally
    >>> heads = MeanQuery(lambda coins: coins, low=0, high=1)
    >>> def reported():
    ...     reports = yield [Request(i, heads, heads.randomizer(Fraction(1), "bit")) for i in range(40)]
    ...     return sum(reports)
    >>> coins = np.arange(2000) % 4 // 3
    >>> run_locally(reported, coins, epsilon=1, dice=SeededDice(0))  # near 40 (p / 4 + 3 (1 - p) / 4) = 15
    19
    """
    budgets = RecordBudgets(check_number("epsilon", epsilon, above=0))
    records = as_records("records", records)
    n = count_of(records)
    check_dice(dice)

    @ignores_float_errors
    def answer(requests: Sequence[Request]) -> list[int]:
        for request in requests:
            check_count("record", request.record, high=n - 1)  # no negative indices: they would alias records
        budgets.allow(requests)
        parts = [taken(records, np.array([request.record])) for request in requests]
        values = [request.query.inputs(part) for request, part in zip(requests, parts, strict=True)]
        return [drawn(request, value, dice) for request, value in zip(requests, values, strict=True)]

    return _driven(algorithm, answer)


@dataclass(frozen=True)
class QueriedRun:
    """The outcome of `simulate_by_queries`."""

    result: Any  # the algorithm's return value
    n_queries: int  # to the oracle


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
    """Run a local algorithm with reports that are drawn by statistical queries about the distribution.

    Parameters
    ----------
    algorithm : callable
        As for `run_locally`. A request's `record` only identifies records that report more than once.
    oracle : Oracle
        Answers `MeanQuery` queries, always within the tolerance given to `ask`, as `PopulationOracle` does.
    n_reports : int
        The greatest number t of reports that the algorithm requests.
    epsilon : number
        The greatest sum of the epsilons of one record's reports.
    beta : float
        The greatest total variation distance of the result's distribution from the exact one, in (0, 1).
    dice : Dice
        Source of chance.
    interactive : bool, default=True
        False asks all queries in one round; the algorithm must then have one round too.

    Raises
    ------
    ValueError
        If the algorithm requests more than `n_reports`, or has several rounds while `interactive` is False.
    BudgetExceededError
        If the requests to a record exceed `epsilon`.

    Notes
    -----
    **Privacy.** That of `oracle`, since records are accessed through it only.

    **Assumes.** The algorithm is meant for independent records from the distribution that `oracle` answers
    about, and its requests depend on earlier reports only. All answers are within the tolerance given to
    `ask`; for an oracle such as `central` add the probability of failure to beta: .05 for each of
    `n_queries`.

    **Accuracy.** The result's distribution, over all draws and over independent records, is within beta of
    the exact one in total variation; see docs/theory/queries.md for the proof. The expected number of queries
    for a report, or for the reports of one record in a round, of cost e together, is at most ((1 + 2 x)
    exp(e) + x) / (1 - x), with x = beta / (2 t + beta), and one more if the record has reported before; in
    one round it is ln(2 t / beta) times as many. If a population's records repeat, give it `weights`.

    **Source.** Kasiviswanathan et al. (2011), Lemma 5.8, with tolerances beta / (3 exp(2 epsilon) t); here
    they are x / (exp(epsilon) - exp(-epsilon)), which is enough.

    Examples
    --------
    >>> from fractions import Fraction
    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.queries import MeanQuery, PopulationOracle
    >>> from dplearn.theory import Request, simulate_by_queries
    >>> heads = MeanQuery(lambda coins: coins, low=0, high=1)
    >>> def reported():
    ...     reports = yield [Request(i, heads, heads.randomizer(Fraction(1), "bit")) for i in range(40)]
    ...     return sum(reports)
    >>> coins = PopulationOracle(np.arange(2000) % 4 // 3)
    >>> run = simulate_by_queries(reported, coins, n_reports=40, epsilon=1, beta=0.1, dice=SeededDice(0))
    >>> run.result, run.n_queries
    (12, 101)
    """
    if not isinstance(oracle, Oracle):
        raise TypeError(f"oracle must be an Oracle, such as population(records), got {type(oracle).__name__}")
    check_dice(dice)
    reports = Reports(
        oracle,
        n_reports=check_count("n_reports", n_reports, low=1),
        budgets=RecordBudgets(check_number("epsilon", epsilon, above=0)),
        # One half of each report's error is for the tolerance of answers, the other for the event that no
        # candidate is accepted.
        off=check_number("beta", beta, above=0, below=1) / (2 * n_reports),
        dice=dice,
        interactive=bool(interactive),
    )
    result = _driven(algorithm, reports.answer)
    return QueriedRun(result, reports.n_queries)


def _driven(algorithm: Callable[[], Rounds], answer: Callable[[Sequence[Request]], list[int]]) -> Any:
    """Run an algorithm, send it the reports of each round, and return its result."""
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


class Rejection:
    """Draws a random record's reports, given its earlier reports, by rejection sampling.

    A candidate w has the probability q(w) that a reference record reports it. Let h(z) be P[z reports w and
    all earlier reports], divided by that of the reference: between 1/E and E, E = exp of the sum of the
    epsilons, rounded up. Accepted with a probability proportional to the mean of h, w has the wanted
    distribution. `off` bounds its total variation distance, and the probability that none of the first `most`
    candidates is accepted; answers must be within `tolerance`.
    """

    def __init__(self, past: list[tuple[Request, int]], now: list[Request], off: Fraction, dice: Dice):
        self.past, self._now, self._dice = past, now, dice
        before, self._spread = (
            exp_bounds(sum((request.randomizer.epsilon for request in each), Fraction(0)))[1]
            for each in ([request for request, _ in past], now)
        )
        whole = before * self._spread
        self._scale = whole - 1 / whole
        # The average over candidates of the mean of h is at least 1 / before. If each mean has an error of at
        # most x times this, the distribution has an error of at most x / (1 - x) = off.
        x = off / (1 + off)
        self._error = x / before
        self.tolerance = self._error / self._scale * (1 - Fraction(1, _SPARE))
        self._steps = ceil(_SPARE * self._scale / self._error)
        self._most_weight = self._spread + self._error
        accepted = (1 - x) / ((1 + 2 * x) * self._spread + x)
        self.most = ceil(log(off) / log1p(-float(accepted)))

    def weigh(self, answer: Answer) -> None:
        """Set the upper bound on the mean of h, from the answer for the earlier reports alone."""
        self._most_weight = (self._weight(answer) + self._error) * self._spread + self._error

    def candidate(self) -> list[int]:
        """Draw the reports of the reference record."""
        return [drawn(request, _reference(request.query), self._dice) for request in self._now]

    def asked(self, candidate: list[int]) -> MeanQuery:
        return self.question([*self.past, *zip(self._now, candidate, strict=True)])

    def accepts(self, answer: Answer) -> bool:
        """Decide by a draw whether a candidate with this answer is accepted."""
        chance = self._weight(answer) / self._most_weight
        return bool(self._dice.bernoulli(min(max(chance, Fraction(0)), Fraction(1))))

    def _weight(self, answer: Answer) -> Fraction:
        return 1 + Fraction(answer.mean) * self._scale

    def question(self, reports: list[tuple[Request, int]]) -> MeanQuery:
        """Return the query for (h - 1) / (E - 1/E), which is within -1..1, rounded to the nearest step."""

        def steps(values: list[NDArray[np.int64]]) -> int:
            pairs = zip(reports, values, strict=True)
            h = prod(
                (_times(request, value, report) for (request, report), value in pairs), start=Fraction(1)
            )
            return round((h - 1) / self._scale * self._steps)

        def function(records: Any) -> NDArray[np.int64]:
            columns = [_rows(request.query.inputs(records)) for request, _ in reports]
            distinct, places = np.unique(np.hstack(columns), axis=0, return_inverse=True)
            cuts = np.cumsum([column.shape[1] for column in columns])[:-1]
            whole = [steps(np.split(row, cuts)) for row in distinct]
            return np.array(whole, dtype=np.int64)[places.ravel()]

        return MeanQuery(function, low=-self._steps, high=self._steps, unit=Fraction(1, self._steps))


class RecordBudgets:
    """The privacy budget of each record."""

    def __init__(self, epsilon: Fraction):
        self._epsilon = epsilon
        self._spent: dict[int, Fraction] = {}

    def allow(self, requests: Sequence[Request]) -> None:
        """Charge the requests of a round, or raise and charge none if they exceed some record's budget."""
        spent = dict(self._spent)
        for request in requests:
            spent[request.record] = spent.get(request.record, Fraction(0)) + request.randomizer.epsilon
            if spent[request.record] > self._epsilon:
                raise BudgetExceededError(
                    f"requests must cost each record at most epsilon {float(self._epsilon):g} in all"
                )
        self._spent = spent


class Reports:
    """Draws the reports of random records by rejection sampling."""

    def __init__(
        self,
        oracle: Oracle,
        *,
        n_reports: int,
        budgets: RecordBudgets,
        off: Fraction,
        dice: Dice,
        interactive: bool,
    ):
        self._oracle, self._left, self._budgets = oracle, n_reports, budgets
        self._off, self._dice, self._interactive = off, dice, interactive
        self._past: dict[int, list[tuple[Request, int]]] = {}
        self.n_queries = 0

    def answer(self, requests: Sequence[Request]) -> list[int]:
        """Return the reports of a round; all requests of a round to one record are drawn jointly."""
        self._left -= len(requests)
        if self._left < 0:
            raise ValueError("n_reports must be at least the number of reports that the algorithm requests")
        if self._past and not self._interactive:
            raise ValueError("interactive must be True for an algorithm of several rounds")
        self._budgets.allow(requests)
        by_record: dict[int, list[int]] = {}
        for place, request in enumerate(requests):
            by_record.setdefault(request.record, []).append(place)
        rejections = {
            record: Rejection(
                self._past.get(record, []), [requests[place] for place in places], self._off, self._dice
            )
            for record, places in by_record.items()
        }
        taken = (self._in_turn if self._interactive else self._together)(rejections)
        reports = [0] * len(requests)
        for record, places in by_record.items():
            for place, report in zip(places, taken[record], strict=True):
                reports[place] = report
                self._past.setdefault(record, []).append((requests[place], report))
        return reports

    def _in_turn(self, rejections: dict[int, Rejection]) -> dict[int, list[int]]:
        """Query one candidate after the other, until one is accepted."""
        taken = {}
        for record, rejection in rejections.items():
            if rejection.past:
                rejection.weigh(self._ask([rejection.question(rejection.past)], rejection.tolerance)[0])
            for _ in range(rejection.most):
                taken[record] = candidate = rejection.candidate()
                [answer] = self._ask([rejection.asked(candidate)], rejection.tolerance)
                if rejection.accepts(answer):
                    break
        return taken

    def _together(self, rejections: dict[int, Rejection]) -> dict[int, list[int]]:
        """Query all candidates in one round; take the first that is accepted, or else the last."""
        candidates = {
            record: [rejection.candidate() for _ in range(rejection.most)]
            for record, rejection in rejections.items()
        }
        questions = [rejections[record].asked(each) for record in candidates for each in candidates[record]]
        answers = iter(self._ask(questions, min(each.tolerance for each in rejections.values())))
        taken = {}
        for record, offered in candidates.items():
            accepted = [each for each in offered if rejections[record].accepts(next(answers))]
            taken[record] = accepted[0] if accepted else offered[-1]
        return taken

    def _ask(self, queries: list[MeanQuery], tolerance: Fraction) -> list[Answer]:
        self.n_queries += len(queries)
        return self._oracle.ask(queries, tolerance=tolerance)


def check_dice(dice: Any) -> None:
    """Raise an error if the argument is not a source of chance."""
    if not hasattr(dice, "below"):
        raise TypeError(
            "dice must be a source of chance, such as SystemDice() or, for tests, SeededDice(0) of"
            f" dplearn.chance, got {type(dice).__name__}"
        )


def drawn(request: Request, values: NDArray[np.int64], dice: Dice) -> int:
    """Draw the report of one record with these values."""
    return int(request.randomizer.draw(values, dice)[0])


def _times(request: Request, value: NDArray[np.int64], report: int) -> Fraction:
    """Return the probability of a report for a value, divided by that for the reference value."""
    reference = _rows(_reference(request.query))[0]
    one, other = (each if isinstance(request.query, VectorQuery) else each[0] for each in (value, reference))
    return request.randomizer.likelihood_ratio(one, other, report)


def _reference(query: StatisticalQuery) -> NDArray[np.int64]:
    """Return the value of the reference record, an arbitrary value within the query's bounds."""
    if isinstance(query, VectorQuery):
        return np.zeros((1, query.size), dtype=np.int64)
    return np.array([query.low], dtype=np.int64)


def _rows(values: NDArray[np.int64]) -> NDArray[np.int64]:
    return values.reshape(len(values), -1)


_MOST = 1 << 62


def query_sample_size(
    *,
    tolerance: Any,
    beta: Any,
    epsilon: Any,
    queries: int = 1,
    width: Any = 2,
    trust_model: str = "local",
) -> int:
    """Return the number of records that suffice to answer statistical queries about their distribution.

    Parameters
    ----------
    tolerance : float
        The greatest error of an answer; positive.
    beta : float
        The probability that the error of some answer exceeds `tolerance`, in (0, 1).
    epsilon : float
        The privacy parameter, positive; delta is 0.
    queries : int, default=1
        The number of queries, all of the same tolerance; they may be adaptive.
    width : float, default=2
        The width of the range of a query's values: 2 b for -b..b.
    trust_model : {"local", "central"}, default="local"
        "local": each record reports one randomised bit for one query. "central": every answer is a mean over
        all records with Laplace noise.

    Notes
    -----
    **Accuracy.** "local", for one query: a report is an unbiased estimate of the record's value in a range of
    width W = width / (2 p - 1), p = 1 / (1 + exp(-epsilon)), so Hoeffding's inequality gives n = W**2 ln(2 /
    beta) / (2 tolerance**2). Queries use disjoint records, at beta / queries each. "central": the bounds on
    the sampling error and on the noise, at half of beta each, must sum to at most `tolerance`.

    **Source.** Kasiviswanathan et al. (2011), Lemma 5.6 and Theorem 5.7, with constants; there each record
    adds Laplace noise, and n is of order t ln(t / beta) b**2 / (epsilon**2 tolerance**2).

    Examples
    --------
    >>> from dplearn.theory import query_sample_size
    >>> query_sample_size(tolerance=0.1, beta=0.05, epsilon=1)
    3455
    >>> query_sample_size(tolerance=0.1, beta=0.05, epsilon=1, trust_model="central")
    1045
    """
    tolerance = float(check_number("tolerance", tolerance, above=0))
    beta = check_number("beta", beta, above=0, below=1) / check_count("queries", queries, low=1)
    epsilon = check_number("epsilon", epsilon, above=0)
    width = float(check_number("width", width, above=0))
    if check_choice("trust_model", trust_model, QUERY_MODELS) == "local":
        reach = width / float(2 * truth_probability(2, epsilon) - 1)
        return queries * _least(lambda n: sampling_bound(reach, n).at(beta), tolerance)
    scale = width / decay_rate(decay_ratio(epsilon / queries))

    def off(n: int) -> float:
        return sampling_bound(width, n).at(beta / 2) + TailBound(linear=scale / n).at(beta / 2)

    return _least(off, tolerance)


def _least(off: Callable[[int], float], tolerance: float) -> int:
    """Return the least number of records for which the error bound is at most the tolerance."""
    return first(lambda n: off(n) <= tolerance, 1, _MOST)
