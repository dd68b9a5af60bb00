"""Online query release: answers that few records could have changed, paid by the queries left unanswered.

>>> import numpy as np
>>> from dplearn.chance import SeededDice
>>> from dplearn.privacy import ApproxDP
>>> release = StableAnswers(max_abstentions=2, privacy=ApproxDP(1, 1e-5), dice=SeededDice(0))
>>> release.answer(np.array([1, 0, 1]), np.array([500, 0, 400])).tolist(), release.abstentions_left
([1, -1, 1], 1)
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.chance.dice import Dice
from dplearn.core.grouping import near_integers
from dplearn.mechanisms.sparse_vector import Questions
from dplearn.privacy import ApproxDP, OneTimeState
from dplearn.privacy.stable_answers import StableAnswersNoise, stable_answers_noise

__all__ = ["StableAnswers", "answered", "stability_questions"]

_FAR = 1 << 61
_STOPPED = "max_abstentions queries were left unanswered: the release has stopped"


class StableAnswers:
    """Answers queries as they are if they are stable, until `max_abstentions` of them were left unanswered.

    Parameters
    ----------
    max_abstentions : int
        After so many queries without an answer it stops, for good and in public; from 1 to 10**9.
    privacy : ApproxDP
        Spent whole by all answers together, when the object is made; epsilon and delta positive.
    dice : Dice
        Source of chance.
    n_queries : int, default=1000
        For how many queries the noise is tuned; any number of them can be asked, at the same privacy.

    Attributes
    ----------
    stopped : bool
        Public. Whether `max_abstentions` queries were left unanswered.
    abstentions_left : int
        Public. How many more can be left unanswered; 0 in a forked process, which cannot ask.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    Notes
    -----
    **Privacy.** `privacy`, for all answers together, however many and however chosen, for the neighbours that
    distances are counted in. Proof: see `dplearn.theory.stable_answers_noise`. In short: where neighbours
    have different answers both distances are 0, and such a query is answered with a probability that adds
    up to at most delta over the whole run; all others are a sparse vector's questions, and their answers are
    equal.

    **Assumes.** `distance` is 0 wherever some neighbour has another answer, and moves by at most 1 between
    neighbours, for every query, however it was chosen from what was released before; how many queries are
    asked depends on nothing private but the answers.

    **Accuracy.** With probability at least 1 - beta all of m queries are answered whose distance is at least
    `stable_answers_noise(privacy, max_abstentions).least_distance(m, beta)`, as long as it has not stopped.

    **Source.** Bassily, Thakkar and Thakurta (2018), Algorithm 3 and Theorem 3.6. There noise is Laplace, its
    threshold rises with the number of queries, and T + 1 queries may stay unanswered; here noise is
    one-sided, the threshold does not know the number of queries, and after `max_abstentions` it stops.
    """

    def __init__(self, *, max_abstentions: int, privacy: ApproxDP, dice: Dice, n_queries: int = 1000):
        unstable = check_count("max_abstentions", max_abstentions, low=1, high=10**9)
        n_queries = check_count("n_queries", n_queries, low=1)
        noise = stable_answers_noise(privacy, unstable, n_queries=n_queries)
        self._one_time_state = OneTimeState(stability_questions(noise, dice))

    def answer(self, answers: Any, distances: Any) -> NDArray[np.int64]:
        """Answer one query after another, each if it is stable.

        Parameters
        ----------
        answers : array-like of int of shape (m,)
            Private. Nonnegative, such as label codes.
        distances : array-like of int of shape (m,)
            Private. How many records can change before the answer may; beyond 2**61 it counts as that.

        Returns
        -------
        ndarray of int64 of shape (answered,)
            The answers, -1 where a query was left unanswered. Shorter than `answers` if it stops on the
            way: then the last one is -1.

        Raises
        ------
        TypeError, ValueError
            If these are not arrays of integers of one length; the message shows none.
        RuntimeError
            If it has stopped before.
        """
        given = near_integers("answers", answers, -_FAR, _FAR)
        near = near_integers("distances", distances, 0, _FAR)
        if given.shape != near.shape:
            raise ValueError("answers and distances must have one length")
        if (given < 0).any():
            raise ValueError("answers must be nonnegative: -1 stands for a query left unanswered")
        if self.stopped:
            raise RuntimeError(_STOPPED)
        with self._one_time_state.use() as questions:
            if not questions.epoch[0]:  # another thread was faster
                raise RuntimeError(_STOPPED)
            return answered(questions, given, near)

    @property
    def stopped(self) -> bool:
        """Whether all queries that can be left unanswered were."""
        return self.abstentions_left == 0

    @property
    def abstentions_left(self) -> int:
        """How many more queries can be left unanswered."""
        try:
            with self._one_time_state.use() as questions:
                left: int = questions.epoch[0]
                return left
        except RuntimeError:  # another process answers
            return 0


def stability_questions(noise: StableAnswersNoise, dice: Any) -> Questions:
    """Return the sparse vector whose question is whether an answer is unstable.

    d - G2 >= threshold - G1 is the negation of -d + G2 > -threshold + G1.

    Parameters
    ----------
    noise : StableAnswersNoise
        Bar and ratios.
    dice : Dice or None
        Source of chance; None if it comes later.

    Notes
    -----
    **Privacy.** That of `StableAnswers`. **Assumes.** Distances to instability are of sensitivity 1.
    **Accuracy.** As of `StableAnswers`. **Source.** As there; the proof is in docs/theory/stable_answers.md.
    """
    if noise.threshold > _FAR:
        raise ValueError("epsilon must be larger: the least distance to be answered would exceed 2**61")
    start = (noise.max_abstentions, None)
    return Questions(dice, -noise.threshold, noise.of_threshold, noise.of_test, noise.renew, start)


def answered(
    questions: Questions, answers: NDArray[np.int64], distances: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the answers as far as the questions go, -1 where a query is declined.

    Parameters
    ----------
    questions : Questions
        Not yet stopped.
    answers, distances : ndarray of int64 of shape (m,)
        Private.

    Notes
    -----
    **Privacy.** That of `StableAnswers`: an answer is shown where its distance passed the test, and the test
    is the sparse vector's. **Assumes.** `distances` are those of `answers`. **Accuracy.** As of
    `StableAnswers`. **Source.** As there.
    """
    unstable = questions.answer(-distances)
    return np.where(unstable, -1, answers[: unstable.size])
