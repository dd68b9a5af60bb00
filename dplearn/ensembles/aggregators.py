"""Aggregators release answers to queries from teachers' votes, or scores from teachers' scores.

An aggregator is made for a fixed guarantee and fixed numbers of labels, teachers and queries, all public. The
scale of its noise follows from these alone. It counts the remaining queries, and charges each query before
the noise is drawn: an error in between loses queries and no privacy.

Votes are released by the sparse vector, or by noisy maxima; scores by stable histograms, or by noisy means. A
row has one score if there are two labels, else one score per label, in adjacent columns, as fixed-point
scores (see `kernels.soft_votes`).

>>> from dplearn.chance import SeededDice
>>> import numpy as np
>>> from dplearn.kernels.votes import tally
>>> public = Ballot(ApproxDP(1, 1e-6), n_labels=2, n_teachers=500, max_queries=10)
>>> aggregator = AGGREGATIONS["gnmax"](public).attach(SeededDice(0))
>>> aggregator.answer(tally(np.ones((500, 3), dtype=int), 2)).codes.tolist(), aggregator.remaining_queries
([1, 1, 1], 7)

>>> from dplearn.kernels.soft_votes import fixed_point
>>> from dplearn.kernels.soft_votes import soft_tally
>>> public = SoftBallot(ApproxDP(1, 1e-6), n_labels=2, n_teachers=500, max_queries=10, max_abstentions=1)
>>> aggregator = SOFT_AGGREGATIONS["sparse_vector"](public).attach(SeededDice(0))
>>> votes = soft_tally(fixed_point(np.full((500, 3), 0.92)), np.array([4, 5, 10]))
>>> aggregator.answer(votes).tolist(), aggregator.remaining_queries
([[0.875], [0.9], [0.95]], 7)
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, log, log2, sqrt
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.ensembles.asking import NO_VOTE, Answers
from dplearn.kernels.exact import decay_ratio
from dplearn.kernels.soft_votes import (
    FIXED_POINT_ONE,
    SoftVotes,
    midpoints,
    scores_per_row,
    shifted_midpoints,
)
from dplearn.kernels.votes import Votes
from dplearn.mechanisms import gaussian_counts, laplace_counts
from dplearn.mechanisms.stable_answers import answered, stability_questions
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.privacy.shares import concentrated_budget, equal_epsilon
from dplearn.privacy.stable_answers import StableAnswersNoise, stable_answers_noise

_WIDEST = 1 << 55  # the greatest variance of noise
#: The probability with which the bounds of a plan may fail: `least_lead` and `least_decided`.
BETA = 0.05
_FINE = 4  # steps of a mean's grid, at least, per standard deviation of the noise
_TESTED = Fraction(1, 4)  # the share of the test of agreement in the cost of a confident answer


@dataclass(frozen=True)
class Ballot:
    """The public parameters of an aggregator; `privacy` is the greatest cost of all answers together.

    `max_abstentions` is the number after which a sparse vector stops; None for other aggregators.
    """

    privacy: ApproxDP = field(repr=False)
    n_labels: int
    n_teachers: int
    max_queries: int
    max_abstentions: int | None = None

    @property
    def width(self) -> int:
        """Number of answers per query."""
        return 1


class Aggregator(ABC):
    """Answers queries from votes until its budget is used up.

    Of `max_queries` queries whose winners lead by `least_lead` votes, all are answered with them, with
    probability at least 1 - BETA. If `least_decided` answers have such a winner, the aggregator does not stop
    before the last one, with the same probability; 0 if it never stops.
    """

    remaining_queries: int
    noise_scale: float  # standard deviation, in votes
    least_lead: int
    least_decided: int = 0

    #: The source of chance; None before `attach`, and in a pickle.
    dice: Any = None
    #: The greatest `least_lead`, as a share of the teachers, when the number of queries is chosen. If five of
    #: six teachers vote for one label, and the others for another one, its lead is two thirds of the votes.
    planned_lead: ClassVar[Fraction] = Fraction(2, 3)
    #: Whether all answers together are zero-concentrated with `concentrated_budget` of the ballot's privacy.
    concentrated: ClassVar[bool] = False
    #: The number of unstable tests of the sparse vector that an abstention costs; 0 without a sparse vector.
    unstable_per_abstention: ClassVar[int] = 0

    @property
    def remaining_abstentions(self) -> int | None:
        """Number of further abstentions after which the aggregator stops."""
        return None

    @abstractmethod
    def __init__(self, ballot: Ballot): ...

    def answer(self, votes: Votes) -> Answers:
        """Release answers to queries; fewer than the queries if the aggregator stops before the last one."""
        # The caller has checked the number, but the guarantee depends on it, and queries may be of any class.
        if not 0 < len(votes) <= self.remaining_queries:
            raise ValueError("votes must be of at least one query, and of at most those that are left")
        return self._release(votes)

    @abstractmethod
    def _release(self, votes: Votes) -> Answers: ...

    def attach(self, dice: Dice | None) -> Self:
        """Set the dice; None before pickling."""
        self.dice = dice
        return self


AGGREGATIONS: dict[str, type[Aggregator]] = {}

Kind = TypeVar("Kind", bound=type[Aggregator])


def aggregation(name: str, among: dict[str, type[Aggregator]] = AGGREGATIONS) -> Callable[[Kind], Kind]:
    """Register an aggregator under a name; the tests of all aggregators then run on it too."""

    def register(kind: Kind) -> Kind:
        among[name] = kind
        return kind

    return register


@aggregation("sparse_vector")
class StableVotes(Aggregator):
    """Answers with the plurality if it is stable under a change of few votes; only abstentions cost privacy.

    Bassily, Thakkar and Thakurta (2018), Algorithms 3 and 4; see `StableAnswers`.
    """

    unstable_per_abstention = 1

    def __init__(self, ballot: Ballot):
        noise, distance = stable_noise(ballot)
        self._questions = stability_questions(noise, None)
        self.remaining_queries = ballot.max_queries
        self.noise_scale = 1 / float(1 - noise.of_test)
        self.least_lead = 2 * distance + 2
        self.least_decided = least_decided(ballot.max_queries, ballot.max_abstentions)

    @property
    def remaining_abstentions(self) -> int:
        """Number of further abstentions after which the aggregator stops."""
        return self._questions.epoch[0]

    def _release(self, votes: Votes) -> Answers:
        """Release the plurality of each query with a stable plurality, and abstain from the others."""
        self.remaining_queries -= len(votes.winner)
        codes = answered(self._questions, votes.winner, votes.distance)
        if not self.remaining_abstentions:
            self.remaining_queries = 0
        return Answers.without_counts(codes, votes.counts.shape[1])

    def attach(self, dice: Any) -> Self:
        """Set the dice; None before pickling."""
        self._questions = replace(self._questions, dice=dice)
        return self


@aggregation("gnmax")
class GaussianVotes(Aggregator):
    """Answers with the label of the greatest count after discrete Gaussian noise on every count (GNMax).

    Papernot and others (2018). One changed vote moves two counts by 1, so each query costs rho = 1 / sigma2
    of zero-concentrated privacy. A privacy filter bounds the sum, so queries may depend on earlier answers.
    """

    concentrated = True

    def __init__(self, ballot: Ballot):
        self.remaining_queries = ballot.max_queries
        self._rho = wide_enough(concentrated_budget(ballot.privacy) / ballot.max_queries)
        self.noise_scale = sqrt(1 / self._rho)
        self.least_lead = _gaussian_lead(self.noise_scale, ballot)

    def _release(self, votes: Votes) -> Answers:
        """Release the noisy counts of each query, and the label of the greatest one."""
        self.remaining_queries -= len(votes.winner)
        return leaders(noisy_gaussian(votes.counts, self._rho, 2, self.dice))


@aggregation("lnmax")
class LaplaceVotes(Aggregator):
    """Answers with the label of the greatest count after discrete Laplace noise on every count (LNMax).

    Papernot and others (2017). Each query satisfies pure differential privacy with an epsilon fixed in
    advance; `max_queries` of them compose to the guarantee by the best composition theorem. The only
    aggregator for delta 0.
    """

    def __init__(self, ballot: Ballot):
        self.remaining_queries = ballot.max_queries
        self._epsilon = equal_epsilon(ballot.privacy, ballot.max_queries)
        scale = 1 / float(1 - decay_ratio(self._epsilon / 2))
        self.noise_scale = sqrt(2) * scale
        # With probability at least 1 - BETA the noise of every count is below half of this.
        self.least_lead = ceil(2 * scale * log(ballot.max_queries * ballot.n_labels / BETA)) + 1

    def _release(self, votes: Votes) -> Answers:
        """Release the noisy counts of each query, and the label of the greatest one."""
        asked = len(votes.winner)
        self.remaining_queries -= asked
        # One changed vote per query moves all counts together by 2 per query; a query costs epsilon.
        privacy = ApproxDP(asked * self._epsilon)
        noisy = laplace_counts(votes.counts.ravel(), privacy=privacy, dice=self.dice, sensitivity=2 * asked)
        return leaders(noisy.reshape(votes.counts.shape))


@aggregation("confident_gnmax")
class ConfidentVotes(Aggregator):
    """Tests by a noisy greatest count whether the teachers agree, and answers only if they do.

    Papernot and others (2018), Confident-GNMax. One changed vote moves the greatest count by 1, so the test
    costs rho = 1 / (2 sigma1_2), and an answer costs rho = 1 / sigma2. A query costs the latter only if its
    test passes. Abstentions leave budget for further queries: at least `max_queries` can be answered.
    """

    concentrated = True
    planned_lead = Fraction(1)  # the votes of five of six teachers exceed the threshold of the test by little

    def __init__(self, ballot: Ballot):
        self._left = concentrated_budget(ballot.privacy)
        cost = self._left / ballot.max_queries
        self._test, self._answer = wide_enough(_TESTED * cost), (1 - _TESTED) * cost
        # Half-way between the count of evenly spread votes and that of unanimous ones.
        self._majority = ceil(Fraction(ballot.n_teachers * (ballot.n_labels + 1), 2 * ballot.n_labels))
        self.noise_scale = sqrt(1 / self._answer)
        half = replace(ballot, max_queries=2 * ballot.max_queries)  # halves the probability of each failure
        self.least_lead = max(_gaussian_lead(self.noise_scale, half), self._passing_lead(half))

    def _passing_lead(self, ballot: Ballot) -> int:
        """Return the lead from which on all queries pass the test, if every teacher votes.

        A label that leads all others by g of k votes has at least (k + (n_labels - 1) g) / n_labels votes.
        """
        short = sqrt(log(ballot.max_queries / BETA) / float(self._test))  # sqrt(2 sigma1_2 ln(...))
        others = ballot.n_labels - 1
        return ceil((ballot.n_labels * (self._majority + short) - ballot.n_teachers) / others)

    @property
    def remaining_queries(self) -> int:  # type: ignore[override]
        """Number of queries that the budget covers if all of them pass the test."""
        return int(self._left / (self._test + self._answer))

    def _release(self, votes: Votes) -> Answers:
        """Release the result of each query's test, and the noisy counts and their leader where it passes."""
        asked = len(votes.winner)
        self._left -= asked * self._test
        leading = noisy_gaussian(votes.counts.max(axis=1), self._test, 1, self.dice)
        agreed = np.flatnonzero(leading >= self._majority)
        codes, counts = np.full(asked, -1), np.zeros_like(votes.counts)
        if agreed.size:
            self._left -= agreed.size * self._answer
            released = leaders(noisy_gaussian(votes.counts[agreed], self._answer, 2, self.dice))
            codes[agreed], counts[agreed] = released.codes, released.counts
        return Answers(codes, counts)


@lru_cache(maxsize=64)
def stable_noise(ballot: Ballot) -> tuple[StableAnswersNoise, int]:
    """Return the noise of a sparse vector, and the distance from which on all queries are answered."""
    assert ballot.max_abstentions is not None  # set when the ballot is made
    noise = stable_answers_noise(ballot.privacy, ballot.max_abstentions, n_queries=ballot.max_queries)
    return noise, noise.least_distance(ballot.max_queries, BETA)


def least_decided(n_answers: int, max_abstentions: int | None) -> int:
    """Return how many answers must be decided so that an aggregator does not stop before the last one.

    With probability at least 1 - BETA all decided answers are released, as long as the others are fewer than
    `max_abstentions` (see `StableAnswersNoise.least_distance`).
    """
    return 0 if max_abstentions is None or max_abstentions >= n_answers else n_answers - max_abstentions + 1


def noisy_gaussian(counts: NDArray[np.int64], rho: Fraction, squared: int, dice: Dice) -> NDArray[np.int64]:
    """Return counts with Gaussian noise, at cost `rho` per row.

    Between neighbours the squared Euclidean distance of a row is at most `squared`.
    """
    rows = len(counts)
    noisy: NDArray[np.int64] = gaussian_counts(
        counts.ravel(), privacy=ZeroConcentratedDP(rows * rho), dice=dice, squared_sensitivity=rows * squared
    )
    return noisy.reshape(counts.shape)


def leaders(noisy: NDArray[np.int64]) -> Answers:
    """Return noisy counts, and the first label with the greatest one, as answers."""
    return Answers(noisy.argmax(axis=1), noisy)


def wide_enough(rho: Fraction) -> Fraction:
    """Return the cost `rho` of a query; raise if the noise that it needs is too wide to be drawn."""
    if rho * _WIDEST <= 1:
        raise ValueError(
            f"epsilon must be larger, or max_queries smaller: its variance would exceed {_WIDEST}"
        )
    return rho


def _gaussian_lead(scale: float, ballot: Ballot) -> int:
    """Return the lead from which on the winner of every query also has the greatest noisy count.

    The noise of a difference of two counts has variance 2 scale**2.
    """
    others = ballot.max_queries * (ballot.n_labels - 1)
    return ceil(2 * scale * sqrt(log(others / BETA))) + 1


@dataclass(frozen=True)
class SoftBallot(Ballot):
    """As of `Ballot`, but `max_queries` counts rows, and `max_abstentions` counts scores."""

    @property
    def width(self) -> int:
        """Number of scores per row."""
        return scores_per_row(self.n_labels)


SOFT_AGGREGATIONS: dict[str, type[Aggregator]] = {}


@aggregation("sparse_vector", SOFT_AGGREGATIONS)
class StableScores(Aggregator):
    """Answers with the midpoint of the fullest bin of scores if it is stable under a change of few teachers.

    If the fullest bin is unstable, the test is repeated with bins shifted by half a bin width; if the fullest
    of these is unstable too, the aggregator abstains from the score. Each unstable test costs privacy, so an
    abstention costs two. Scores within an interval of half a bin width all lie in one bin of one of the two
    partitions. The two half bins at the ends of the shifted partition count as one bin; if that is the
    fullest, the aggregator abstains, and only the first test has cost privacy. The budget covers
    `max_abstentions` abstentions at two unstable tests each.

    Bassily, Thakkar and Thakurta (2018), Algorithms 6 to 8. There the threshold is too low for the noise (see
    docs/errata.md).
    """

    unstable_per_abstention = 2

    def __init__(self, ballot: SoftBallot):
        assert ballot.max_abstentions is not None  # set when the ballot is made
        n_scores = ballot.max_queries * ballot.width
        tests = replace(
            ballot,
            max_queries=n_scores,
            max_abstentions=self.unstable_per_abstention * ballot.max_abstentions,
        )
        noise, distance = stable_noise(tests)
        self._questions = stability_questions(noise, None)
        self.remaining_queries = ballot.max_queries
        self.noise_scale = 1 / float(1 - noise.of_test)
        self.least_lead = 2 * distance + 2
        # Counts scores: an undecided one costs at most two unstable tests.
        self.least_decided = least_decided(n_scores, ballot.max_abstentions)

    @property
    def remaining_abstentions(self) -> int:
        """Number of further abstentions after which the aggregator stops, at two unstable tests each."""
        return -(-self._questions.epoch[0] // self.unstable_per_abstention)

    def _release(self, votes: SoftVotes) -> NDArray[np.float64]:  # type: ignore[override]
        """Release the scores of the rows, in order."""
        self.remaining_queries -= len(votes)
        scores, done = np.full(votes.n_bins.size, np.nan), 0
        while done < scores.size and self._questions.epoch[0]:
            done = self._until_unstable(votes, scores, done)
        if not self._questions.epoch[0]:
            self.remaining_queries = 0
        answered = -(-done // votes.width)
        return scores.reshape(-1, votes.width)[:answered]

    def _until_unstable(self, votes: SoftVotes, scores: NDArray[np.float64], start: int) -> int:
        """Fill in the scores up to the first with an unstable bin, and test its shifted bin.

        Returns the number of final scores.
        """
        unstable = self._questions.answer(-votes.plain.distance[start:], most=1)
        here = slice(start, start + unstable.size)
        middles = midpoints(votes.plain.winner[here], votes.n_bins[here])
        scores[here] = np.where(unstable, np.nan, middles)
        if unstable[-1] and self._questions.epoch[0]:
            last = slice(here.stop - 1, here.stop)
            if not self._questions.answer(-votes.shifted.distance[last], most=1)[0]:
                scores[last] = shifted_midpoints(votes.shifted.winner[last], votes.n_bins[last])
        return here.stop

    def attach(self, dice: Any) -> Self:
        """Set the dice; None before pickling."""
        self._questions = replace(self._questions, dice=dice)
        return self


@aggregation("mean", SOFT_AGGREGATIONS)
class MeanScores(Aggregator):
    """Answers with the mean of all scores after discrete Gaussian noise on their sum; never abstains.

    A teacher without a score counts as one with equal scores for all labels. Scores are rounded to a grid
    with steps below the standard deviation of the noise. One replaced record changes one teacher: its single
    score by less than 1, or its vector of scores, which add up to at most 1, by less than the square root of
    2 in Euclidean length.

    Released means are unbiased except for the rounding to the grid, and may be below 0 or above 1.
    """

    concentrated = True
    planned_lead = Fraction(1, 4)  # here the error of a mean, without the rounding to the grid

    def __init__(self, ballot: SoftBallot):
        self.remaining_queries = ballot.max_queries
        self._squared = min(ballot.width, 2)
        # The grid has at least two steps, and the noise is drawn in steps.
        self._rho = 8 * wide_enough(concentrated_budget(ballot.privacy) / ballot.max_queries / 8)
        self._n_labels, self._n_teachers = ballot.n_labels, ballot.n_teachers
        self.noise_scale = sqrt(self._squared / (2 * self._rho))
        finer = log2(_FINE * ballot.n_teachers / self.noise_scale)
        self._grid = 1 << min(max(ceil(finer), 1), FIXED_POINT_ONE.bit_length() - 1)
        n_scores = ballot.max_queries * ballot.width
        self.least_lead = ceil(self.noise_scale * sqrt(2 * log(2 * n_scores / BETA)))

    def _release(self, votes: SoftVotes) -> NDArray[np.float64]:  # type: ignore[override]
        """Release the noisy means of each row."""
        self.remaining_queries -= len(votes)
        steps = votes.fixed_scores.astype(np.int64) // (FIXED_POINT_ONE // self._grid)
        steps[votes.fixed_scores == NO_VOTE] = self._grid // self._n_labels
        sums = steps.sum(axis=0).reshape(len(votes), votes.width)
        noisy = noisy_gaussian(sums, self._rho, self._squared * self._grid**2, self.dice)
        # Scores were rounded down to the grid, by half a step on average.
        return (noisy + self._n_teachers / 2) / (self._n_teachers * self._grid)
