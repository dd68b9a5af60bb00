"""Aggregators release answers to queries from teachers' votes, or scores from teachers' scores; their sizes.

An aggregator is made for a `Ballot`: a fixed guarantee and fixed numbers of labels, teachers and queries, all
public, which determine its noise. It counts the remaining queries, and charges each query before the noise is
drawn: an error in between loses queries and no privacy. A row has one score if there are two labels, else one
score per label, in adjacent columns, as fixed-point scores.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, log, log2, sqrt
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.kernels import FIXED_POINT_ONE, decay_ratio, first, scores_per_row
from dplearn.kernels.votes import SoftVotes, Votes, midpoints, shifted_midpoints
from dplearn.mechanisms import gaussian_counts, laplace_counts
from dplearn.mechanisms.stable_answers import answered, stability_questions
from dplearn.privacy import ApproxDP, LedgerError, ZeroConcentratedDP
from dplearn.privacy.shares import concentrated_budget, equal_epsilon
from dplearn.privacy.stable_answers import StableAnswersNoise, stable_answers_noise

#: The vote of a teacher that could not be trained, or whose answer is invalid.
NO_VOTE = -1
#: The probability with which the bounds of a plan may fail: `least_lead` and `least_decided`.
BETA = 0.05
_WIDEST = 1 << 55  # the greatest variance of noise
_FINE = 4  # steps of a mean's grid, at least, per standard deviation of the noise
_TESTED = Fraction(1, 4)  # the share of the test of agreement in the cost of a confident answer


@dataclass(frozen=True)
class Answers:
    """Released labels of queries, in order."""

    codes: NDArray[np.int64]  # indices of the sorted labels, -1 for an abstention
    #: Noisy counts of votes, of shape (answered, n_labels); 1 for the answer and 0 for others if none are
    #: released.
    counts: NDArray[np.int64]

    @classmethod
    def without_counts(cls, codes: NDArray[np.int64], n_labels: int) -> Self:
        return cls(codes, (codes[:, None] == np.arange(n_labels)).astype(np.int64))


class QueriesExhaustedError(LedgerError):
    """Raised when an ensemble's budget does not cover the queries of a batch; no `Exception`.

    Attributes
    ----------
    released : ndarray of shape (answered,)
        Released. The answers to the first queries of the batch; empty if the whole batch was refused.
    """

    def __init__(self, message: str, released: Any = ()):
        super().__init__(message)
        self.released = np.asarray(released)

    def __reduce__(self) -> Any:
        return type(self), (*self.args, self.released)


@dataclass(frozen=True)
class Ballot:
    """The public parameters of an aggregator, in rows and, of abstentions, in answers."""

    privacy: ApproxDP = field(repr=False)  # the greatest cost of all answers together
    n_labels: int
    n_teachers: int
    max_queries: int
    max_abstentions: int | None = None  # after which a sparse vector stops; None for other aggregators


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

    @staticmethod
    def width(n_labels: int) -> int:  # noqa: ARG004 - scores are one for each label
        return 1

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


class StableVotes(Aggregator):
    """Answers with the plurality if it is stable under a change of few votes; see `StableAnswers`."""

    unstable_per_abstention = 1

    def __init__(self, ballot: Ballot):
        assert ballot.max_abstentions is not None  # set when the ballot is made
        n_answers = ballot.max_queries * self.width(ballot.n_labels)
        unstable = self.unstable_per_abstention * ballot.max_abstentions
        noise, distance = stable_noise(replace(ballot, max_queries=n_answers, max_abstentions=unstable))
        self._questions = stability_questions(noise, None)
        self.remaining_queries = ballot.max_queries
        self.noise_scale = 1 / float(1 - noise.of_test)
        self.least_lead = 2 * distance + 2
        self.least_decided = least_decided(n_answers, ballot.max_abstentions)

    @property
    def remaining_abstentions(self) -> int:
        """Number of further abstentions after which the aggregator stops."""
        return -(-self._questions.epoch[0] // self.unstable_per_abstention)

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


class GaussianVotes(Aggregator):
    """Answers with the label of the greatest count after discrete Gaussian noise on every count (GNMax).

    One changed vote moves two counts by 1, so each query costs rho = 1 / sigma2 of zero-concentrated privacy.
    A filter bounds the sum, so queries may depend on earlier answers.
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


class LaplaceVotes(Aggregator):
    """Answers with the label of the greatest count after discrete Laplace noise on every count (LNMax).

    Each query satisfies pure differential privacy with an epsilon fixed in advance; `max_queries` of them
    compose to the guarantee by the best composition theorem. The only aggregator for delta 0.
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


class ConfidentVotes(Aggregator):
    """Tests by a noisy greatest count whether the teachers agree, and answers only if they do.

    One changed vote moves the greatest count by 1, so the test costs rho = 1 / (2 sigma1_2), and an answer,
    only if it passes, rho = 1 / sigma2. Abstentions leave budget: at least `max_queries` can be answered.
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
        """Return a lead g at which the (k + (n_labels - 1) g) / n_labels votes or more of a winner pass the
        test.
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
    """Return how many answers must be decided so that an aggregator does not stop before the last one."""
    return 0 if max_abstentions is None or max_abstentions >= n_answers else n_answers - max_abstentions + 1


def noisy_gaussian(counts: NDArray[np.int64], rho: Fraction, squared: int, dice: Dice) -> NDArray[np.int64]:
    """Return counts with Gaussian noise, at cost `rho` per row of squared distance at most `squared`."""
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
    """Return the lead at which each winner has the greatest noisy count; a difference has variance 2
    scale**2.
    """
    others = ballot.max_queries * (ballot.n_labels - 1)
    return ceil(2 * scale * sqrt(log(others / BETA))) + 1


class StableScores(StableVotes):
    """Answers with the midpoint of the fullest bin of scores if it is stable under a change of few teachers.

    If the fullest bin is unstable, the test is repeated with bins shifted by half a bin width; if the fullest
    of these is unstable too, the aggregator abstains from the score. Each unstable test costs privacy, so the
    budget covers `max_abstentions` abstentions at two unstable tests each. The two half bins at the ends of
    the shifted partition count as one bin; if that is the fullest, the aggregator abstains, and only the
    first test has cost privacy. The threshold of the source is too low for the noise (see docs/errata.md).
    """

    unstable_per_abstention = 2
    width = staticmethod(scores_per_row)

    def _release(self, votes: SoftVotes) -> NDArray[np.float64]:  # type: ignore[override]
        """Release the scores of the rows, in order."""
        self.remaining_queries -= len(votes)
        scores, done = np.full(votes.fixed_scores.shape[1], np.nan), 0
        while done < scores.size and self._questions.epoch[0]:
            done = self._until_unstable(votes, scores, done)
        if not self._questions.epoch[0]:
            self.remaining_queries = 0
        answered = -(-done // votes.width)
        return scores.reshape(-1, votes.width)[:answered]

    def _until_unstable(self, votes: SoftVotes, scores: NDArray[np.float64], start: int) -> int:
        """Fill in the scores up to the first with an unstable bin, test its shifted bin, and return their
        number.
        """
        unstable = self._questions.answer(-votes.plain.distance[start:], most=1)
        here = slice(start, start + unstable.size)
        middles = midpoints(votes.plain.winner[here], votes.n_bins)
        scores[here] = np.where(unstable, np.nan, middles)
        if unstable[-1] and self._questions.epoch[0]:
            last = slice(here.stop - 1, here.stop)
            if not self._questions.answer(-votes.shifted.distance[last], most=1)[0]:
                scores[last] = shifted_midpoints(votes.shifted.winner[last], votes.n_bins)
        return here.stop


class MeanScores(Aggregator):
    """Answers with the mean of all scores after discrete Gaussian noise on their sum; never abstains.

    A teacher without a score counts as one with equal scores for all labels. Scores are rounded to a grid
    with steps below the standard deviation of the noise. One replaced record changes one teacher: its single
    score by less than 1, or its vector of scores, which add up to at most 1, by less than the square root of
    2 in Euclidean length. Released means may be below 0 or above 1.
    """

    concentrated = True
    width = staticmethod(scores_per_row)
    planned_lead = Fraction(1, 4)  # here the error of a mean, without the rounding to the grid

    def __init__(self, ballot: Ballot):
        width = self.width(ballot.n_labels)
        self.remaining_queries = ballot.max_queries
        self._squared = min(width, 2)
        # The grid has at least two steps, and the noise is drawn in steps.
        self._rho = 8 * wide_enough(concentrated_budget(ballot.privacy) / ballot.max_queries / 8)
        self._n_labels, self._n_teachers = ballot.n_labels, ballot.n_teachers
        self.noise_scale = sqrt(self._squared / (2 * self._rho))
        finer = log2(_FINE * ballot.n_teachers / self.noise_scale)
        self.grid = 1 << min(max(ceil(finer), 1), FIXED_POINT_ONE.bit_length() - 1)
        n_scores = ballot.max_queries * width
        self.least_lead = ceil(self.noise_scale * sqrt(2 * log(2 * n_scores / BETA)))

    def _release(self, votes: SoftVotes) -> NDArray[np.float64]:  # type: ignore[override]
        """Release the noisy means of each row."""
        self.remaining_queries -= len(votes)
        steps = votes.fixed_scores.astype(np.int64) // (FIXED_POINT_ONE // self.grid)
        steps[votes.fixed_scores == NO_VOTE] = self.grid // self._n_labels
        sums = steps.sum(axis=0).reshape(len(votes), votes.width)
        noisy = noisy_gaussian(sums, self._rho, self._squared * self.grid**2, self.dice)
        # Scores were rounded down to the grid, by half a step on average.
        return (noisy + self._n_teachers / 2) / (self._n_teachers * self.grid)


#: The aggregators of votes, and those of scores, by name.
AGGREGATIONS: dict[str, type[Aggregator]] = {
    "sparse_vector": StableVotes,
    "gnmax": GaussianVotes,
    "lnmax": LaplaceVotes,
    "confident_gnmax": ConfidentVotes,
}
SOFT_AGGREGATIONS: dict[str, type[Aggregator]] = {"sparse_vector": StableScores, "mean": MeanScores}

#: The greatest number of queries that is chosen if the user gives none.
MANY_QUERIES = 1000
#: Records per shard if the answers themselves are wanted.
PREFERRED = 20
_LEAST = 10  # records per shard if the noise requires so many teachers
_LEAST_TO_TEACH = 5  # records per shard if a student is trained
_FEWEST_ROWS = 100  # answers for a student, if there are as many public rows


def planned_ballot(
    kind: type[Aggregator],
    privacy: ApproxDP,
    *,
    n_samples: int,
    n_labels: int,
    max_queries: int | None = None,
    n_teachers: int | None = None,
    max_abstentions: int | None = None,
) -> Ballot:
    """Return the sizes of an ensemble that answers queries; sizes given as None are chosen.

    A shard has 20 records, or fewer if the noise requires more teachers. The ensemble is assumed to agree if
    five of six of its k teachers do: then k / 3 votes must change before another label wins. Where every
    answer has noise, the number of queries is the greatest, up to 1,000, for which, with probability .95, all
    such rows are answered with their label, or all released means are within about 1/4 of the means of the
    teachers' scores.
    """
    preferred = max(1, n_samples // max(PREFERRED, 2 * n_labels))
    most = max(1, n_samples // max(_LEAST, 2 * n_labels))
    if not kind.unstable_per_abstention:
        n_teachers = n_teachers or preferred
        max_queries = max_queries or _most_queries(kind, Ballot(privacy, n_labels, n_teachers, MANY_QUERIES))
        return Ballot(privacy, n_labels, n_teachers, max_queries)

    max_queries = max_queries or MANY_QUERIES
    answers = max_queries * kind.width(n_labels)

    def needed(unstable: int) -> int:
        noise = stable_answers_noise(privacy, kind.unstable_per_abstention * unstable, n_queries=answers)
        return 3 * noise.least_distance(answers, BETA)

    if n_teachers is None:
        n_teachers = max(preferred, min(needed(max_abstentions or 1), most))
    if max_abstentions is None:
        max_abstentions = _most_abstentions(needed, n_teachers, answers)
    return Ballot(privacy, n_labels, n_teachers, max_queries, max_abstentions)


def transfer_ballot(
    kind: type[Aggregator],
    privacy: ApproxDP,
    *,
    n_samples: int,
    n_labels: int,
    n_rows: int,
    n_teachers: int | None = None,
    max_queries: int | None = None,
    max_abstentions: int | None = None,
) -> Ballot:
    """Return the sizes of an ensemble that teaches a student; sizes given as None are chosen.

    A student averages over all answers, so its teachers may be fewer and better. The rules were chosen on
    synthetic data (see docs/make_my_model_private.md).
    """
    if kind.unstable_per_abstention:
        return planned_ballot(
            kind,
            privacy,
            n_samples=n_samples,
            n_labels=n_labels,
            max_queries=min(max_queries or n_rows, n_rows),
            n_teachers=n_teachers,
            max_abstentions=max_abstentions,
        )
    single = kind(Ballot(privacy, n_labels, n_teachers=1, max_queries=1)).noise_scale
    if n_teachers is None:
        shard = max(_LEAST_TO_TEACH, n_labels, ceil(sqrt(n_samples / (n_labels * single))))
        n_teachers = max(1, n_samples // shard)
    if max_queries is None:
        # The standard deviation of the noise in a lead is then about two thirds of a unanimous lead.
        max_queries = max(_FEWEST_ROWS, round((n_teachers / (2 * single)) ** 2))
    return Ballot(privacy, n_labels, n_teachers, min(max_queries, n_rows))


def _most_queries(kind: type[Aggregator], ballot: Ballot) -> int:
    """Return the greatest number of queries, from 1 to `max_queries`, whose least lead is at most the planned
    one.
    """

    def too_many(queries: int) -> bool:
        try:
            lead = kind(replace(ballot, max_queries=queries)).least_lead
        except ValueError:  # the noise is too wide to be drawn
            return True
        return lead > kind.planned_lead * ballot.n_teachers

    return first(lambda queries: too_many(queries + 1), 1, ballot.max_queries)


def _most_abstentions(needed: Callable[[int], int], n_teachers: int, max_queries: int) -> int:
    """Return the most abstentions for which five of six teachers suffice, 1 if only all do, else
    `max_queries`.
    """
    if needed(1) > n_teachers:
        return 1 if 2 * needed(1) <= 3 * n_teachers else max_queries
    return first(lambda abstained: needed(abstained + 1) > n_teachers, 1, max_queries)
