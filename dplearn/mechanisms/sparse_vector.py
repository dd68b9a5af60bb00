"""The sparse vector technique: any number of questions whether a count is above a threshold, paid by the yes.

>>> from dplearn.chance import SeededDice
>>> from dplearn.privacy import ApproxDP
>>> vector = SparseVector(100, max_positives=2, privacy=ApproxDP(1), dice=SeededDice(0))
>>> [vector.ask(count) for count in (3, 5, 260, 12)], vector.positives_left
([False, False, True, False], 1)
>>> vector.ask_all([7, 240, 9, 300]).tolist(), vector.stopped
([False, True], True)
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.chance.dice import Dice
from dplearn.core.exact import decay_ratio
from dplearn.core.grouping import near_integers
from dplearn.privacy import ApproxDP, OneTimeState
from dplearn.privacy.guarantees import epsilon_of
from dplearn.privacy.shares import equal_epsilon

__all__ = ["AboveThreshold", "SparseVector"]

# Questions answered at a time: so many, then so many more each time. What was drawn behind the answer that
# ends an epoch is thrown away, and each draw of many costs as much as some thousand more: where n questions
# make an epoch, chunks of the order of sqrt(n) keep the sum of both small.
_CHUNK = 1 << 11
_FAR = 1 << 61
_STOPPED = "max_positives answers were above the threshold: the sparse vector has stopped"


class SparseVector:
    """Answers questions one after another until `max_positives` of them had the answer True.

    Parameters
    ----------
    threshold : int
        Public.
    max_positives : int
        After so many answers True it stops, for good and in public; from 1 to 10**9.
    privacy : ApproxDP
        Spent whole by all answers together, when the object is made. Its `delta` is used only with
        `renew_threshold`.
    dice : Dice
        Source of chance.
    sensitivity : int, default=1
        The most by which the value of one question differs between neighbours.
    renew_threshold : bool, default=False
        Whether to draw the threshold's noise anew after each True. With a positive delta this needs less
        noise from some tens of positives on; with delta 0 never.

    Attributes
    ----------
    stopped : bool
        Public. Whether `max_positives` answers True were given. In a forked process, which cannot ask, it is
        True from the start.
    positives_left : int
        Public. How many more there can be.

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described.

    Notes
    -----
    **Privacy.** `privacy`, for all answers together, however many and however chosen, for the neighbours that
    `sensitivity` is counted in. Proof, with T = max_positives, s = sensitivity: a value q is above if
    q + G > threshold + B; B, the threshold's noise, and G, fresh for each question, are geometric with
    ratios a and b. Between neighbours compare B with B + s. Its probability falls by a factor of a ** s, no
    more. A question with the answer False keeps it with at least the same probability, for q rose by at most
    s and the threshold by s. One with the answer True needs G greater by at most 2 s: a factor of b ** (2 s).
    In all a ** -s b ** (-2 s T) <= exp(epsilon). With a renewed threshold that is (T = 1) the cost of one
    epoch, and T of them, each a pure one of an epsilon fixed in advance, compose to `privacy`.

    **Assumes.** The value of each question, however it was chosen from the answers before, moves by at most
    `sensitivity` between neighbours; how many questions are asked depends on nothing private but the answers.

    **Accuracy.** With probability at least 1 - beta, among m questions each True has a value above
    threshold - ln(2 m / beta) / ln(1 / b), and each False one of at most
    threshold + ln(2 E / beta) / ln(1 / a), with E = 1, or max_positives where the threshold is renewed.

    **Source.** Dwork, Naor, Reingold and others (2009); Dwork and Roth (2014), Theorem 3.23; epsilon
    is split as in Lyu, Su and Li (2017). There the noise is Laplace; here one-sided, which costs the same and
    spreads less.
    """

    def __init__(
        self,
        threshold: int,
        *,
        max_positives: int,
        privacy: ApproxDP,
        dice: Dice,
        sensitivity: int = 1,
        renew_threshold: bool = False,
    ):
        threshold = check_count("threshold", threshold, low=-_FAR, high=_FAR)
        positives = check_count("max_positives", max_positives, low=1, high=10**9)
        sensitivity = check_count("sensitivity", sensitivity, low=1)
        epsilon = epsilon_of(privacy)
        if renew_threshold:
            epsilon = equal_epsilon(privacy, positives)
        of_threshold, of_test = _ratios(epsilon / sensitivity, 1 if renew_threshold else positives)
        self._one_time_state = OneTimeState(
            Questions(dice, threshold, of_threshold, of_test, bool(renew_threshold), (positives, None))
        )

    def ask(self, value: int) -> bool:
        """Tell whether a value is above the threshold, give or take noise.

        Parameters
        ----------
        value : int
            Private. Beyond 2**61 in magnitude it counts as that.

        Raises
        ------
        RuntimeError
            If it has stopped.
        """
        return bool(self.ask_all([value])[0])

    def ask_all(self, values: Any) -> NDArray[np.bool_]:
        """Answer one question after another, as `ask` would.

        Parameters
        ----------
        values : array-like of int of shape (m,)
            Private.

        Returns
        -------
        ndarray of bool of shape (answered,)
            Shorter than `values` if it stops on the way: then the last answer is the last True.

        Raises
        ------
        TypeError
            If `values` is not an array of integers.
        RuntimeError
            If it has stopped before.
        """
        near = near_integers("values", values, -_FAR, _FAR)
        if self.stopped:
            raise RuntimeError(_STOPPED)
        with self._one_time_state.use() as state:
            if not state.epoch[0]:  # another thread was faster
                raise RuntimeError(_STOPPED)
            answers = state.answer(near)
            last = not state.epoch[0]
        if last:
            self._one_time_state.close()
        return answers

    @property
    def stopped(self) -> bool:
        """Whether all positive answers have been given."""
        return self.positives_left == 0

    @property
    def positives_left(self) -> int:
        """How many more answers can be True."""
        try:
            with self._one_time_state.use() as state:
                return state.epoch[0]
        except RuntimeError:  # the holder is closed: it has stopped, or another process answers
            return 0


class AboveThreshold(SparseVector):
    """Answers questions one after another until the first answer True.

    Parameters
    ----------
    threshold : int
        Public.
    privacy : ApproxDP
        Its `epsilon` is spent whole, when the object is made; its `delta` is not used.
    dice : Dice
        Source of chance.
    sensitivity : int, default=1
        The most by which the value of one question differs between neighbours.

    Notes
    -----
    **Privacy.** As for `SparseVector` with one positive answer.

    **Assumes.** As for `SparseVector`.

    **Accuracy.** As for `SparseVector`.

    **Source.** Dwork and Roth (2014), Algorithm 1 and Theorem 3.23; differences as for `SparseVector`.
    """

    def __init__(self, threshold: int, *, privacy: ApproxDP, dice: Dice, sensitivity: int = 1):
        super().__init__(threshold, max_positives=1, privacy=privacy, dice=dice, sensitivity=sensitivity)


@dataclass
class Questions:
    """What must not be seen of a sparse vector, and its noise: for what answers from a holder of its own.

    `epoch` holds how many positive answers are left, and the noisy threshold or None until it is drawn. Both
    change in one assignment: after an interrupt no threshold serves an epoch that is not its own.

    Notes
    -----
    **Privacy.** That of `SparseVector`, which holds one; by itself it guarantees nothing, for it can be read.
    **Assumes.** What `SparseVector` assumes. **Accuracy.** As there. **Source.** As there.
    """

    dice: Dice
    threshold: int
    of_threshold: Fraction
    of_test: Fraction
    renew: bool
    epoch: tuple[int, int | None]

    def noisy_threshold(self) -> int:
        """Return the noisy threshold of this epoch, drawn when it is first needed."""
        left, noisy_threshold = self.epoch
        if noisy_threshold is None:
            noisy_threshold = self.threshold + self.dice.geometric(self.of_threshold)
            self.epoch = left, noisy_threshold
        return noisy_threshold

    def answer(self, values: NDArray[np.int64], most: int | None = None) -> NDArray[np.bool_]:
        """Answer, chunk by chunk, up to the last positive answer that is left, or that is one of `most`."""
        parts, start, ahead = [np.zeros(0, dtype=bool)], 0, _CHUNK
        end = 0 if most is None else max(0, self.epoch[0] - most)
        while self.epoch[0] > end and start < values.size:
            above = self.compare(self.noisy_threshold(), values[start : start + ahead])
            ahead += _CHUNK
            left, noisy_threshold = self.epoch
            # What was drawn for questions behind the last hit that counts is never looked at.
            hits = above.nonzero()[0][: 1 if self.renew else left - end]
            if hits.size and (self.renew or hits.size == left - end):
                above = above[: hits[-1] + 1]
                ahead = _CHUNK
                noisy_threshold = None if self.renew or hits.size == left else noisy_threshold
            self.epoch = left - hits.size, noisy_threshold
            parts.append(above)
            start += above.size
        return np.concatenate(parts)

    def compare(self, noisy_threshold: int, values: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return [value + G > noisy_threshold] for fresh geometric G, clamped to two outcomes."""
        wide = noisy_threshold if noisy_threshold < 1 << 62 else np.array(noisy_threshold, dtype=object)
        gaps = np.asarray(wide - values)
        drawn = self.dice.geometric(self.of_test, gaps, gaps + 1, size=values.size)
        return np.asarray(drawn > gaps, dtype=bool)


def _ratios(epsilon: Fraction, positives: int) -> tuple[Fraction, Fraction]:
    """Return the ratios of the threshold's noise and of the questions' noise, for sensitivity 1.

    Any split of epsilon is valid; with shares as 1 to (2 positives)**(2/3) their noises' variances add up to
    the least.
    """
    share = Fraction(1, 1 + round((2 * positives) ** Fraction(2, 3)))
    return decay_ratio(epsilon * share), decay_ratio(epsilon * (1 - share) / (2 * positives))
