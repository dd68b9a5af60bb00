"""Online release of stable query answers: a sparse vector on distances to instability, of few abstentions."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._documented import Mechanism, documented_by
from dplearn._validation import check_count
from dplearn.chance.dice import Dice
from dplearn.kernels import near_integers
from dplearn.mechanisms.sparse_vector import Questions
from dplearn.privacy import ApproxDP, OneTimeState
from dplearn.privacy.stable_answers import StableAnswersNoise, stable_answers_noise

_FAR = 1 << 61
_STOPPED = "max_abstentions abstentions have occurred: the release has stopped"


@documented_by(Mechanism)
class StableAnswers:
    """Releases stable answers to queries unchanged, and abstains from others up to `max_abstentions` times.

    Parameters
    ----------
    max_abstentions : int
        Public. After this many abstentions the object stops permanently; from 1 to 10**9.
    privacy : ApproxDP
        Spent whole when the object is made, for all answers together; epsilon and delta positive.
    n_queries : int, default=1000
        Number of queries for which the noise is optimised; the guarantee holds for any number of queries.

    Attributes
    ----------
    stopped : bool
        Public. Whether `max_abstentions` abstentions have occurred.
    abstentions_left : int
        Public. Number of further abstentions; 0 in a forked process, which cannot use the object.

    Notes
    -----
    **Privacy.** `privacy`, for all answers together, for any number of adaptively chosen queries and the
    neighbours that distances are counted in. Proof: see `dplearn.theory.stable_answers_noise`. The tests of
    distances are questions to a sparse vector; queries with different answers on neighbours have distance 0,
    and are answered with probability at most delta over the whole run.

    **Assumes.** For every query, which may depend on earlier answers, `distance` is 0 if some neighbour has
    another answer, and moves by at most 1 between neighbours; the number of queries depends on no private
    data except the answers.

    **Accuracy.** With probability at least 1 - beta, every one of m queries that has a distance of at least
    `stable_answers_noise(privacy, max_abstentions).least_distance(m, beta)` is answered, until the object
    stops.

    **Source.** Bassily, Thakkar and Thakurta (2018), Algorithm 3 and Theorem 3.6, where the noise is Laplace
    and the threshold grows with the number of queries.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import StableAnswers
    >>> from dplearn.privacy import ApproxDP
    >>> release = StableAnswers(max_abstentions=2, privacy=ApproxDP(1, 1e-5), dice=SeededDice(0))
    >>> release.answer(np.array([1, 0, 1]), np.array([500, 0, 400])).tolist(), release.abstentions_left
    ([1, -1, 1], 1)
    """

    def __init__(self, *, max_abstentions: int, privacy: ApproxDP, dice: Dice, n_queries: int = 1000):
        unstable = check_count("max_abstentions", max_abstentions, low=1, high=10**9)
        n_queries = check_count("n_queries", n_queries, low=1)
        noise = stable_answers_noise(privacy, unstable, n_queries=n_queries)
        self._one_time_state = OneTimeState(stability_questions(noise, dice))

    def answer(self, answers: Any, distances: Any) -> NDArray[np.int64]:
        """Answer several queries in order; abstain from those that fail the noisy test of stability.

        Parameters
        ----------
        answers : array-like of int of shape (m,)
            Private. Exact answers: nonnegative integers, such as label codes.
        distances : array-like of int of shape (m,)
            Private. Distance to instability of each answer, nonnegative; clipped to 2**61.

        Returns
        -------
        ndarray of int64 of shape (answered,)
            The answers, -1 for an abstention. Shorter than `answers` if the object stops at one of the
            queries: then the last element is -1.

        Raises
        ------
        RuntimeError
            If the object had stopped before the call.
        """
        given = near_integers("answers", answers, -_FAR, _FAR)
        near = near_integers("distances", distances, 0, _FAR)
        if given.shape != near.shape:
            raise ValueError("answers and distances must have equal lengths")
        if (given < 0).any():
            raise ValueError("answers must be nonnegative: -1 stands for an abstention")
        if self.stopped:
            raise RuntimeError(_STOPPED)
        with self._one_time_state.use() as questions:
            if not questions.epoch[0]:  # another thread used the last abstention
                raise RuntimeError(_STOPPED)
            return answered(questions, given, near)

    @property
    def stopped(self) -> bool:
        """Public. Whether `max_abstentions` abstentions have occurred."""
        return self.abstentions_left == 0

    @property
    def abstentions_left(self) -> int:
        """Public. Number of further abstentions."""
        try:
            with self._one_time_state.use() as questions:
                return questions.epoch[0]
        except RuntimeError:  # another process owns the one-time state
            return 0


def stability_questions(noise: StableAnswersNoise, dice: Any) -> Questions:
    """Return the state of a sparse vector whose questions are whether answers are unstable."""
    # An answer at distance d is released if d - G2 >= threshold - G1, the negation of -d + G2 > -threshold +
    # G1: values -d, of sensitivity 1, and the threshold -threshold. The caller may set `dice` later.
    if noise.threshold > _FAR:
        raise ValueError("epsilon must be larger: the least distance to be answered would exceed 2**61")
    start = (noise.max_abstentions, None)
    return Questions(dice, -noise.threshold, noise.of_threshold, noise.of_test, noise.renew, start)


def answered(
    questions: Questions, answers: NDArray[np.int64], distances: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the stable answers, -1 for abstentions, up to the last abstention that `questions` allows."""
    unstable = questions.answer(-distances)
    return np.where(unstable, -1, answers[: unstable.size])
