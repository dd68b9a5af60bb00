"""The sparse vector technique: noisy threshold tests of private values, with a limit on positive answers."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._documented import Mechanism, documented_by
from dplearn._validation import check_count
from dplearn.chance.dice import Dice
from dplearn.kernels import decay_ratio, near_integers
from dplearn.privacy import ApproxDP, OneTimeState
from dplearn.privacy.guarantees import epsilon_of
from dplearn.privacy.shares import equal_epsilon

# The first chunk has this many questions, and each later chunk this many more than the one before. Draws
# after the answer that ends an epoch are discarded, and each call of the dice has a fixed overhead: in an
# epoch of n questions, chunks of the order of sqrt(n) keep the sum of both small.
CHUNK = 1 << 11
_FAR = 1 << 61
_STOPPED = "max_positives answers were above the threshold: the sparse vector has stopped"


@documented_by(Mechanism)
class SparseVector:
    """Answers whether private values are above a threshold, until `max_positives` answers were True.

    Parameters
    ----------
    threshold : int
        Public. The threshold before noise.
    max_positives : int
        Public. After this many True answers the object stops permanently; from 1 to 10**9.
    privacy : ApproxDP
        Spent whole when the object is made, for all answers together. Its `delta` is used only with
        `renew_threshold`.
    renew_threshold : bool, default=False
        Whether to draw a new noisy threshold after each True. With a positive delta this needs less noise
        if `max_positives` is some tens or more; with delta 0 it never does.

    Attributes
    ----------
    stopped : bool
        Public. Whether `max_positives` answers were True. Always True in a forked process, which cannot use
        the object.
    positives_left : int
        Public. The number of further answers that can be True.

    Notes
    -----
    **Privacy.** `privacy`, for all answers together, for any number of adaptively chosen questions and the
    neighbours that `sensitivity` is counted in. Proof, with T = max_positives, s = sensitivity: the answer
    for a value q is True if q + G > threshold + B, with geometric noise of ratios b and a. Mapping B to B + s
    on a neighbour costs a factor of a ** s; no False answer becomes less probable, and each True answer costs
    at most b ** (2 s): a ** -s b ** (-2 s T) <= exp(epsilon). With a renewed threshold, T epochs of T = 1
    compose to `privacy`. See docs/theory/stable_answers.md.

    **Assumes.** The value of each question, which may depend on earlier answers, moves by at most
    `sensitivity` between neighbours; the number of questions depends on no private data except the answers.

    **Accuracy.** With probability at least 1 - beta, among m questions each with a True answer has a value
    above threshold - ln(2 m / beta) / ln(1 / b), and each with a False answer a value of at most
    threshold + ln(2 E / beta) / ln(1 / a), where E is 1, or max_positives if the threshold is renewed.

    **Source.** Dwork, Naor, Reingold and others (2009); Dwork and Roth (2014), Theorem 3.23; epsilon is split
    as in Lyu, Su and Li (2017). The noise is one-sided, which has the same cost and a smaller variance.

    Examples
    --------
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import SparseVector
    >>> from dplearn.privacy import ApproxDP
    >>> vector = SparseVector(100, max_positives=2, privacy=ApproxDP(1), dice=SeededDice(0))
    >>> [vector.ask(count) for count in (3, 5, 260, 12)], vector.positives_left
    ([False, False, True, False], 1)
    >>> vector.ask_all([7, 240, 9, 300]).tolist(), vector.stopped
    ([False, True], True)
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
        """Return whether the noisy value is above the noisy threshold.

        Parameters
        ----------
        value : int
            Private. Clipped to 2**61 in magnitude.

        Raises
        ------
        RuntimeError
            If the sparse vector has stopped.
        """
        return bool(self.ask_all([value])[0])

    def ask_all(self, values: Any) -> NDArray[np.bool_]:
        """Answer several questions in order, with the output distribution of repeated calls of `ask`.

        Parameters
        ----------
        values : array-like of int of shape (m,)
            Private. Clipped to 2**61 in magnitude.

        Returns
        -------
        ndarray of bool of shape (answered,)
            One answer a value. Shorter than `values` if the sparse vector stops at one of them: then the last
            answer is the last True.

        Raises
        ------
        RuntimeError
            If the sparse vector had stopped before the call.
        """
        near = near_integers("values", values, -_FAR, _FAR)
        if self.stopped:
            raise RuntimeError(_STOPPED)
        with self._one_time_state.use() as state:
            if not state.epoch[0]:  # another thread used the last positive answer
                raise RuntimeError(_STOPPED)
            answers = state.answer(near)
            last = not state.epoch[0]
        if last:
            self._one_time_state.close()
        return answers

    @property
    def stopped(self) -> bool:
        """Public. Whether `max_positives` answers were True."""
        return self.positives_left == 0

    @property
    def positives_left(self) -> int:
        """Public. The number of further answers that can be True."""
        try:
            with self._one_time_state.use() as state:
                return state.epoch[0]
        except RuntimeError:  # the one-time state is closed: it has stopped, or another process owns it
            return 0


@documented_by(Mechanism)
class AboveThreshold(SparseVector):
    """Answers whether private values are above a threshold, until the first answer True.

    Parameters
    ----------
    threshold : int
        Public. The threshold before noise.
    privacy : ApproxDP
        Its `epsilon` is spent whole, when the object is made; its `delta` is not used.

    Notes
    -----
    **Privacy.** As for `SparseVector` with one positive answer.

    **Assumes.** As for `SparseVector`.

    **Accuracy.** As for `SparseVector`.

    **Source.** Dwork and Roth (2014), Algorithm 1 and Theorem 3.23; differences as for `SparseVector`.

    Examples
    --------
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import AboveThreshold
    >>> from dplearn.privacy import ApproxDP
    >>> test = AboveThreshold(100, privacy=ApproxDP(1), dice=SeededDice(0))
    >>> [test.ask(count) for count in (3, 5, 260)], test.stopped
    ([False, False, True], True)
    """

    def __init__(self, threshold: int, *, privacy: ApproxDP, dice: Dice, sensitivity: int = 1):
        super().__init__(threshold, max_positives=1, privacy=privacy, dice=dice, sensitivity=sensitivity)


@dataclass
class Questions:
    """The private state of a sparse vector, as private as `SparseVector` if kept in a one-time state."""

    dice: Dice
    threshold: int
    of_threshold: Fraction
    of_test: Fraction
    renew: bool
    # The number of positive answers left and the noisy threshold, None until it is drawn. Both change in one
    # assignment, so that after an interrupt no noisy threshold is used in another epoch.
    epoch: tuple[int, int | None]

    def noisy_threshold(self) -> int:
        """Return the noisy threshold of this epoch; draw it on first use."""
        left, noisy_threshold = self.epoch
        if noisy_threshold is None:
            noisy_threshold = self.threshold + self.dice.geometric(self.of_threshold)
            self.epoch = left, noisy_threshold
        return noisy_threshold

    def answer(self, values: NDArray[np.int64], most: int | None = None) -> NDArray[np.bool_]:
        """Answer in chunks, until no positive answers are left or `most` answers were positive."""
        parts, start, ahead = [np.zeros(0, dtype=bool)], 0, CHUNK
        end = 0 if most is None else max(0, self.epoch[0] - most)
        while self.epoch[0] > end and start < values.size:
            above = self.compare(self.noisy_threshold(), values[start : start + ahead])
            ahead += CHUNK
            left, noisy_threshold = self.epoch
            # Draws for questions after the last hit that counts are discarded unread.
            hits = above.nonzero()[0][: 1 if self.renew else left - end]
            if hits.size and (self.renew or hits.size == left - end):
                above = above[: hits[-1] + 1]
                ahead = CHUNK
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
    """Return the ratios of the threshold's noise and of the questions' noise, for sensitivity 1."""
    # Any split of epsilon is valid; a split of 1 to (2 positives)**(2/3) minimises the sum of both variances.
    share = Fraction(1, 1 + round((2 * positives) ** Fraction(2, 3)))
    return decay_ratio(epsilon * share), decay_ratio(epsilon * (1 - share) / (2 * positives))


#: The share of epsilon that the threshold's noise takes; any share is valid. If the count after the last
#: record never changes, more than k further candidates are passed with a probability of the order of
#: k ** -(share / (1 - share)): with two thirds, of k ** -2, so that the expected number is finite.
_OF_THRESHOLD = Fraction(2, 3)


def reaching_ratios(epsilon: Fraction) -> tuple[Fraction, Fraction]:
    """Return the ratios a, of the threshold, and b, of counts, in `first_reaching`: a b >= exp(-epsilon)."""
    return decay_ratio(epsilon * _OF_THRESHOLD), decay_ratio(epsilon * (1 - _OF_THRESHOLD))


def first_reaching(counts: Any, threshold: int, *, privacy: ApproxDP, dice: Dice) -> int:
    """Return the index of the first count that, with noise, reaches a noisy threshold.

    Parameters
    ----------
    counts : array-like of int of shape (m,)
        Private. At least one; m is public. Clipped to 2**61 in magnitude.
    threshold : int
        Public.

    Returns
    -------
    int
        The first i with counts[i] + G[i] >= threshold + B; m - 1 if there is none. B and all G are
        independent and geometric, with the ratios of `reaching_ratios`.

    Notes
    -----
    **Privacy.** `privacy`. Proof: for neighbours whose counts are larger by 0 or 1 each, map B to B + 1, at a
    factor of a: counts before i stay below, and count i needs a noise greater by 1, a factor of b. For
    neighbours whose counts are smaller by 0 or 1, keep B: count i needs a noise greater by at most 1. So the
    probability of i falls by a factor of at most a b >= exp(-epsilon), likewise that of m - 1.

    **Assumes.** Between neighbours no count moves by more than 1, and all that move do so in the same
    direction, such as the numbers of records up to rising candidates; else use `AboveThreshold`.

    **Accuracy.** With probability at least 1 - beta, the count found is at least
    threshold - ln(2 m / beta) / ln(1 / b), or the last, and no earlier count is greater than
    threshold + ln(2 / beta) / ln(1 / a).

    **Source.** Durfee (2023) searches for extremes with the sparse vector technique of Dwork, Naor, Reingold
    and others (2009); the proof here is our own.

    Examples
    --------
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import first_reaching
    >>> from dplearn.privacy import ApproxDP
    >>> first_reaching([0, 3, 40, 700, 990, 1000], 900, privacy=ApproxDP(1), dice=SeededDice(0))
    4
    """
    near = near_integers("counts", counts, -_FAR, _FAR)
    if not near.size:
        raise ValueError("counts must hold at least one count")
    bar = check_count("threshold", threshold, low=1 - _FAR, high=_FAR) - 1
    of_threshold, of_count = reaching_ratios(epsilon_of(privacy))
    answers = Questions(dice, bar, of_threshold, of_count, False, (1, None)).answer(near)
    return int(answers.size) - 1
