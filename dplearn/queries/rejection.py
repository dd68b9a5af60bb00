"""Rejection sampling of a random record's reports, by statistical queries for the acceptance probabilities.

>>> from dplearn.chance import SeededDice
>>> from dplearn.queries.population_oracle import PopulationOracle
>>> heads = MeanQuery(lambda coins: coins, low=0, high=1)
>>> request = Request(0, heads, heads.randomizer(Fraction(1), "bit"))
>>> rejection = Rejection([], [request], Fraction(1, 20), SeededDice(0))
>>> candidate = rejection.candidate()  # the report of a reference record with value 0
>>> [answer] = PopulationOracle(np.array([0, 0, 0, 1])).ask(rejection.asked(candidate))
>>> candidate, rejection.accepts(answer), rejection.most
([1], False, 8)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, log, log1p, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.core.exact import exp_bounds
from dplearn.privacy.privacy_filter import BudgetExceededError
from dplearn.queries.oracle import Answer, Oracle
from dplearn.queries.query import MeanQuery, StatisticalQuery, VectorQuery
from dplearn.queries.randomizers import LocalRandomizer

__all__ = ["RecordBudgets", "Rejection", "Reports", "Request", "check_dice", "drawn"]

_SPARE = 64  # 1 / _SPARE of a tolerance is reserved for rounding


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


class Rejection:
    """Draws a random record's reports, given its earlier reports, by rejection sampling.

    A candidate w is drawn with the probability q(w) that a reference record reports it. For a record z let
    h(z) be the probability that z reports w and all earlier reports, divided by the same probability for the
    reference record. Let E be exp of the sum of the epsilons of these requests, rounded up; h(z) is between
    1/E and E. If w is accepted with a probability proportional to the mean of h over records, an accepted
    candidate has the distribution of a random record's reports, given its earlier ones.

    Parameters
    ----------
    past : list of (Request, int)
        Earlier requests to the record, with its reports.
    now : list of Request
        The current requests.
    off : Fraction
        A bound both on the total variation distance of an accepted candidate's distribution from the exact
        one, and on the probability that none of the first `most` candidates is accepted.
    dice : Dice
        Source of chance.

    Attributes
    ----------
    past : list of (Request, int)
        As given.
    tolerance : Fraction
        The required tolerance of answers to the queries.
    most : int
        The greatest number of candidates.
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
        """Return the query for the mean of h for a candidate."""
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
    """The privacy budget of each record.

    Parameters
    ----------
    epsilon : Fraction
        The budget of one record.
    """

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
    """Draws the reports of random records by rejection sampling.

    Parameters
    ----------
    oracle : Oracle
        Answers statistical queries about the records' distribution.
    n_reports : int
        The greatest number of reports.
    budgets : RecordBudgets
        The budgets of the records.
    off : Fraction
        The error of the distribution of one report, as for `Rejection`.
    dice : Dice
        Source of chance.
    interactive : bool
        Whether there may be several rounds.
    """

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
