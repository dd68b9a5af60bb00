"""Aggregators release scores from teachers' scores: by stable histograms, or by noisy means.

A row has one score if there are two labels, else one score per label. Scores are fixed-point scores (see
`core.soft_votes`); the scores of a row are in adjacent columns.

>>> from dplearn.chance import SeededDice
>>> from dplearn.core.soft_votes import fixed_point
>>> from dplearn.core.soft_votes import soft_tally
>>> from dplearn.privacy import ApproxDP
>>> public = SoftBallot(ApproxDP(1, 1e-6), n_labels=2, n_teachers=500, max_queries=10, max_abstentions=1)
>>> aggregator = SOFT_AGGREGATIONS["sparse_vector"](public).attach(SeededDice(0))
>>> votes = soft_tally(fixed_point(np.full((500, 3), 0.92)), np.array([4, 5, 10]))
>>> aggregator.answer(votes).tolist(), aggregator.remaining_queries
([[0.875], [0.9], [0.95]], 7)
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, log, log2, sqrt
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplearn.core.soft_votes import FIXED_POINT_ONE, SoftVotes, midpoints, scores_per_row, shifted_midpoints
from dplearn.ensembles.aggregators import (
    BETA,
    Aggregator,
    Ballot,
    aggregation,
    least_decided,
    noisy_gaussian,
    stable_noise,
    wide_enough,
)
from dplearn.ensembles.asking import NO_VOTE
from dplearn.mechanisms.stable_answers import stability_questions
from dplearn.privacy.shares import concentrated_budget

__all__ = ["SOFT_AGGREGATIONS", "SoftBallot"]

_FINE = 4  # steps of a mean's grid, at least, per standard deviation of the noise


@dataclass(frozen=True)
class SoftBallot(Ballot):
    """The public parameters of a score aggregator; `max_queries` counts rows, `max_abstentions` scores."""

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
