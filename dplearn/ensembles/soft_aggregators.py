"""From teachers' scores to released scores: stable histograms, and noisy means.

The scores of a row are one number for two labels, and one for each label where there are more. They come as
fixed-point scores (see `core.score_bins`), a row's beside each other.

>>> from dplearn.chance import SeededDice
>>> from dplearn.core.score_bins import fixed_point
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

from dplearn.core.score_bins import FIXED_POINT_ONE, midpoints, scores_per_row, shifted_midpoints
from dplearn.core.soft_votes import SoftVotes
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

_FINE = 4  # steps of a mean's grid, at least, in what the noise shifts a mean by


@dataclass(frozen=True)
class SoftBallot(Ballot):
    """What is public of an ensemble's scores; `max_queries` and `max_abstentions` count rows and scores."""

    @property
    def width(self) -> int:
        """How many scores a row has."""
        return scores_per_row(self.n_labels)


SOFT_AGGREGATIONS: dict[str, type[Aggregator]] = {}


@aggregation("sparse_vector", SOFT_AGGREGATIONS)
class StableScores(Aggregator):
    """Answers with the middle of the bin that most scores are in, where few teachers could not change it.

    Where the winning bin is not stable, which costs a None, bins shifted by half of one are asked about;
    where their winner is not stable either, which costs another, the score is declined. Scores that lie in
    half a bin's width are in one bin of one of the two. Where the shifted winner is the label of both ends,
    the score is declined for one None. `max_abstentions` scores can be declined for two.

    Bassily, Thakkar and Thakurta (2018), Algorithms 6 to 8. There the threshold is too low for the noise (see
    docs/errata.md).
    """

    nones_each = 2

    def __init__(self, ballot: SoftBallot):
        assert ballot.max_abstentions is not None  # chosen where the ballot is made
        n_scores = ballot.max_queries * ballot.width
        tests = replace(
            ballot, max_queries=n_scores, max_abstentions=self.nones_each * ballot.max_abstentions
        )
        noise, distance = stable_noise(tests)
        self._questions = stability_questions(noise, None)
        self.remaining_queries = ballot.max_queries
        self.noise_scale = 1 / float(1 - noise.of_test)
        self.least_lead = 2 * distance + 2
        # Of scores: an undecided one takes two Nones at most.
        self.least_decided = least_decided(n_scores, ballot.max_abstentions)

    @property
    def remaining_abstentions(self) -> int:
        """How many more scores can be declined before it stops, if each costs two."""
        return -(-self._questions.epoch[0] // self.nones_each)

    def _release(self, votes: SoftVotes) -> NDArray[np.float64]:  # type: ignore[override]
        """Release the scores of each row, one after the other."""
        self.remaining_queries -= len(votes)
        scores, done = np.full(votes.n_bins.size, np.nan), 0
        while done < scores.size and self._questions.epoch[0]:
            done = self._until_unstable(votes, scores, done)
        if not self._questions.epoch[0]:
            self.remaining_queries = 0
        answered = -(-done // votes.width)
        return scores.reshape(-1, votes.width)[:answered]

    def _until_unstable(self, votes: SoftVotes, scores: NDArray[np.float64], start: int) -> int:
        """Fill in scores up to the first whose bin is unstable, and ask of that about shifted bins.

        Returns how many scores are final then.
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
        """Take dice, or none to be pickled."""
        self._questions = replace(self._questions, dice=dice)
        return self


@aggregation("mean", SOFT_AGGREGATIONS)
class MeanScores(Aggregator):
    """Answers with the mean of all scores after discrete Gaussian noise on their sum; declines nothing.

    A teacher that has no score counts as one that finds all labels equally likely. Scores are rounded to a
    grid so fine that the noise hides it. One replaced record changes one teacher: its score by less than 1,
    or the scores of all labels, which add up to at most 1, by less than the square root of 2 in Euclidean
    length.

    What is released is unbiased but for the grid: it may lie beyond 0 and 1.
    """

    planned_lead = Fraction(1, 4)  # here the error of a mean, but for the grid

    def __init__(self, ballot: SoftBallot):
        self.remaining_queries = ballot.max_queries
        self._squared = min(ballot.width, 2)
        # A grid has at least two steps; its noise is drawn in these.
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
        # Grains were rounded down: by half of one on average.
        return (noisy + self._n_teachers / 2) / (self._n_teachers * self._grid)
