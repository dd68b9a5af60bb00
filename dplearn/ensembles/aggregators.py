"""From votes to released answers: the sparse vector on stable pluralities, and noisy maxima.

An aggregator is made for a fixed guarantee, number of labels, of teachers and of queries, all public. It says
how much noise that takes before it sees a vote, and counts what is left. Its noise is paid before it is
drawn: a fault on the way loses queries and no privacy.

>>> from dplearn.chance import SeededDice
>>> import numpy as np
>>> from dplearn.core.votes import tally
>>> public = Ballot(ApproxDP(1, 1e-6), n_labels=2, n_teachers=500, max_queries=10)
>>> aggregator = AGGREGATIONS["gnmax"](public).attach(SeededDice(0))
>>> aggregator.answer(tally(np.ones((500, 3), dtype=int), 2)).codes.tolist(), aggregator.remaining_queries
([1, 1, 1], 7)
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, log, sqrt
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.core.exact import decay_ratio
from dplearn.core.votes import Votes
from dplearn.ensembles.answers import Answers
from dplearn.mechanisms import gaussian_counts, laplace_counts
from dplearn.mechanisms.stable_answers import answered, stability_questions
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.privacy.shares import concentrated_budget, equal_epsilon
from dplearn.privacy.stable_answers import StableAnswersNoise, stable_answers_noise

__all__ = [
    "AGGREGATIONS",
    "BETA",
    "Aggregator",
    "Ballot",
    "aggregation",
    "least_decided",
    "noisy_gaussian",
    "stable_noise",
    "wide_enough",
]

_WIDEST = 1 << 55  # of the variance of noise
#: With which probability answers may differ from what a plan says of them.
BETA = 0.05
_TESTED = Fraction(1, 4)  # of what a confident answer costs, the share of asking whether there is one


@dataclass(frozen=True)
class Ballot:
    """What is public of an ensemble's votes.

    Attributes
    ----------
    privacy : ApproxDP
        What all answers together may cost.
    n_labels, n_teachers, max_queries : int
        At least 2, 1 and 1.
    max_abstentions : int or None
        How many queries may be declined, where that is what is paid for.
    """

    privacy: ApproxDP = field(repr=False)
    n_labels: int
    n_teachers: int
    max_queries: int
    max_abstentions: int | None = None

    @property
    def width(self) -> int:
        """How many answers a query takes."""
        return 1


class Aggregator(ABC):
    """Answers queries from votes until what was paid for is used up.

    Attributes
    ----------
    remaining_queries : int
        Public. How many can be asked at once.
    remaining_abstentions : int or None
        Public. How many more can be declined before it stops; None where declining costs nothing.
    noise_scale : float
        Public. Standard deviation, in votes, of the noise that an answer has to stand out of.
    least_lead : int
        Public. By how many votes a winner must lead so that all `max_queries` such queries are answered with
        their winner, with probability at least .95.
    least_decided : int
        Public. How many of all answers must have such a winner so that it does not stop before the last one,
        with probability at least .95; 0 if it never stops.
    """

    remaining_queries: int
    noise_scale: float
    least_lead: int
    least_decided: int = 0

    #: Its source of chance; none before it is attached, and none in a pickle.
    dice: Any = None
    #: The share of the teachers that `least_lead` may be where the number of queries is chosen: two thirds of
    #: the votes are the lead of a label that five of six teachers vote for, the others for one other label.
    planned_lead: ClassVar[Fraction] = Fraction(2, 3)
    #: How many Nones of a sparse vector a declined query takes; 0 where declining is not what is paid for.
    nones_each: ClassVar[int] = 0

    @property
    def remaining_abstentions(self) -> int | None:
        """How many more can be declined before it stops."""
        return None

    @abstractmethod
    def __init__(self, ballot: Ballot): ...

    def answer(self, votes: Votes) -> Answers:
        """Release answers to the queries that were voted on.

        Parameters
        ----------
        votes : Votes
            Private; of at least one query, and of at most `remaining_queries`.

        Returns
        -------
        Answers
            Fewer than asked if it stopped on the way.

        Raises
        ------
        ValueError
            If there are more queries than are left; nothing is drawn.
        """
        # Whoever asks has counted; but the guarantee hangs on it, and queries may be anybody's objects.
        if not 0 < len(votes) <= self.remaining_queries:
            raise ValueError("votes must be of at least one query, and of at most those that are left")
        return self._release(votes)

    @abstractmethod
    def _release(self, votes: Votes) -> Answers: ...

    def attach(self, dice: Dice | None) -> Self:
        """Take dice, or none to be pickled."""
        self.dice = dice
        return self


AGGREGATIONS: dict[str, type[Aggregator]] = {}

Kind = TypeVar("Kind", bound=type[Aggregator])


def aggregation(name: str, among: dict[str, type[Aggregator]] = AGGREGATIONS) -> Callable[[Kind], Kind]:
    """Enter an aggregator among others: the laws that all of them keep are then tested on it."""

    def register(kind: Kind) -> Kind:
        among[name] = kind
        return kind

    return register


@aggregation("sparse_vector")
class StableVotes(Aggregator):
    """Answers with the plurality where few votes could not have changed it; pays for the other queries.

    Bassily, Thakkar and Thakurta (2018), Algorithms 3 and 4; see `StableAnswers`.
    """

    nones_each = 1

    def __init__(self, ballot: Ballot):
        noise, distance = stable_noise(ballot)
        self._questions = stability_questions(noise, None)
        self.remaining_queries = ballot.max_queries
        self.noise_scale = 1 / float(1 - noise.of_test)
        self.least_lead = 2 * distance + 2
        self.least_decided = least_decided(ballot.max_queries, ballot.max_abstentions)

    @property
    def remaining_abstentions(self) -> int:
        """How many more queries can be declined."""
        return self._questions.epoch[0]

    def _release(self, votes: Votes) -> Answers:
        """Release the plurality of each query that is stable."""
        self.remaining_queries -= len(votes.winner)
        codes = answered(self._questions, votes.winner, votes.distance)
        if not self.remaining_abstentions:
            self.remaining_queries = 0
        return Answers.without_counts(codes, votes.counts.shape[1])

    def attach(self, dice: Any) -> Self:
        """Take dice, or none to be pickled."""
        self._questions = replace(self._questions, dice=dice)
        return self


@aggregation("gnmax")
class GaussianVotes(Aggregator):
    """Answers with the label that leads after discrete Gaussian noise on every count (GNMax).

    Papernot and others (2018). A moved vote changes two counts by 1: 1 / sigma2 of zero-concentrated
    privacy a query. A filter on their sum ends it, so that which queries are asked may depend on answers.
    """

    def __init__(self, ballot: Ballot):
        self.remaining_queries = ballot.max_queries
        self._rho = wide_enough(concentrated_budget(ballot.privacy) / ballot.max_queries)
        self.noise_scale = sqrt(1 / self._rho)
        self.least_lead = _gaussian_lead(self.noise_scale, ballot)

    def _release(self, votes: Votes) -> Answers:
        """Release the leader of each query's noisy counts."""
        self.remaining_queries -= len(votes.winner)
        return leaders(noisy_gaussian(votes.counts, self._rho, 2, self.dice))


@aggregation("lnmax")
class LaplaceVotes(Aggregator):
    """Answers with the label that leads after discrete Laplace noise on every count (LNMax).

    Papernot and others (2017). Each query is a purely private release; `max_queries` of them, of an epsilon
    fixed in advance, compose to the guarantee by the best theorem. The only one for delta 0.
    """

    def __init__(self, ballot: Ballot):
        self.remaining_queries = ballot.max_queries
        self._epsilon = equal_epsilon(ballot.privacy, ballot.max_queries)
        scale = 1 / float(1 - decay_ratio(self._epsilon / 2))
        self.noise_scale = sqrt(2) * scale
        # Each of all counts' noises stays below half of this but with probability beta.
        self.least_lead = ceil(2 * scale * log(ballot.max_queries * ballot.n_labels / BETA)) + 1

    def _release(self, votes: Votes) -> Answers:
        """Release the leader of each query's noisy counts."""
        asked = len(votes.winner)
        self.remaining_queries -= asked
        # All counts together move by 2 a query, and cost epsilon a query.
        privacy = ApproxDP(asked * self._epsilon)
        noisy = laplace_counts(votes.counts.ravel(), privacy=privacy, dice=self.dice, sensitivity=2 * asked)
        return leaders(noisy.reshape(votes.counts.shape))


@aggregation("confident_gnmax")
class ConfidentVotes(Aggregator):
    """Asks whether the ensemble agrees, by a noisy test of the leading count, and answers where it does.

    Papernot and others (2018), Confident-GNMax. The leading count moves by 1 with one vote, so that the test
    costs 1 / (2 sigma1_2) and the answer 1 / sigma2; an answer is paid for only where the test passes. What
    declined queries leave is there for others: at least `max_queries` can be asked.
    """

    planned_lead = Fraction(1)  # five of six teachers are hardly more than the test asks for

    def __init__(self, ballot: Ballot):
        self._left = concentrated_budget(ballot.privacy)
        cost = self._left / ballot.max_queries
        self._test, self._answer = wide_enough(_TESTED * cost), (1 - _TESTED) * cost
        # Half-way between votes spread evenly and a unanimous ensemble.
        self._majority = ceil(Fraction(ballot.n_teachers * (ballot.n_labels + 1), 2 * ballot.n_labels))
        self.noise_scale = sqrt(1 / self._answer)
        half = replace(ballot, max_queries=2 * ballot.max_queries)  # which halves the failures of each
        self.least_lead = max(_gaussian_lead(self.noise_scale, half), self._passing_lead(half))

    def _passing_lead(self, ballot: Ballot) -> int:
        """Return from which lead on all queries pass the test, if every teacher votes.

        A label that leads all others by g of k votes has at least (k + (n_labels - 1) g) / n_labels.
        """
        short = sqrt(log(ballot.max_queries / BETA) / float(self._test))  # sqrt(2 sigma1_2 ln(...))
        others = ballot.n_labels - 1
        return ceil((ballot.n_labels * (self._majority + short) - ballot.n_teachers) / others)

    @property
    def remaining_queries(self) -> int:  # type: ignore[override]
        """How many can certainly be asked: as many as could all be answered."""
        return int(self._left / (self._test + self._answer))

    def _release(self, votes: Votes) -> Answers:
        """Release which queries are agreed on, and the leader of the noisy counts of those."""
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
    """Return the noise of a sparse vector, and from which distance on all queries are answered."""
    assert ballot.max_abstentions is not None  # chosen where the ballot is made
    noise = stable_answers_noise(ballot.privacy, ballot.max_abstentions, n_queries=ballot.max_queries)
    return noise, noise.least_distance(ballot.max_queries, BETA)


def least_decided(n_answers: int, max_abstentions: int | None) -> int:
    """Return how many of all answers must be decided so that fewer than `max_abstentions` are declined.

    Parameters
    ----------
    n_answers : int
        How many are wanted. All decided ones are given, with probability 1 - BETA, as long as the others are
        fewer than `max_abstentions` (see `StableAnswersNoise.least_distance`).
    max_abstentions : int or None
        After how many declined ones it stops; if these are all, no answer is left to be missed.
    """
    return 0 if max_abstentions is None or max_abstentions >= n_answers else n_answers - max_abstentions + 1


def noisy_gaussian(counts: NDArray[np.int64], rho: Fraction, squared: int, dice: Dice) -> NDArray[np.int64]:
    """Return counts with noise that costs `rho` for each row, whose squares move by at most `squared`."""
    rows = len(counts)
    noisy: NDArray[np.int64] = gaussian_counts(
        counts.ravel(), privacy=ZeroConcentratedDP(rows * rho), dice=dice, squared_sensitivity=rows * squared
    )
    return noisy.reshape(counts.shape)


def leaders(noisy: NDArray[np.int64]) -> Answers:
    """Return the first label with the greatest noisy count: all of what is released."""
    return Answers(noisy.argmax(axis=1), noisy)


def wide_enough(rho: Fraction) -> Fraction:
    """Return the cost of a query, if noise as wide as it takes can be drawn."""
    if rho * _WIDEST <= 1:
        raise ValueError(
            f"epsilon must be larger, or max_queries smaller: its variance would exceed {_WIDEST}"
        )
    return rho


def _gaussian_lead(scale: float, ballot: Ballot) -> int:
    """Return from which lead on no other label comes first in any query: differences vary by 2 scale**2."""
    others = ballot.max_queries * (ballot.n_labels - 1)
    return ceil(2 * scale * sqrt(log(others / BETA))) + 1
