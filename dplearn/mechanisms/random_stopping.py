"""Run something private a random number of times, and keep the best outcome.

>>> import numpy as np
>>> from dplearn.chance import SeededDice
>>> from dplearn.mechanisms.noisy_counts import laplace_counts
>>> from dplearn.privacy import ApproxDP
>>> errors = [30, 50, 10, 70]
>>> def one_of_four(dice):
...     candidate = dice.below(4)
...     return -laplace_counts(errors[candidate], privacy=ApproxDP(1), dice=dice), candidate
>>> best_of_runs(one_of_four, stopping=RandomStopping(20), dice=SeededDice(2))
(-11, 2)
"""

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from dplearn.chance.dice import Dice
from dplearn.privacy.random_stopping import RandomStopping

__all__ = ["best_of_runs"]

Outcome = TypeVar("Outcome")
_ANY = Fraction(1, 2)  # raised to the power 0


def best_of_runs(
    run: Callable[[Dice], tuple[int, Outcome]], *, stopping: RandomStopping, dice: Dice
) -> tuple[int, Outcome]:
    """Return the outcome of the highest score among a random number of runs, the first of equal ones.

    Parameters
    ----------
    run : callable
        From dice to a score and whatever else a run releases.
    stopping : RandomStopping
        The distribution of how many runs there are.
    dice : Dice
        Source of chance.

    Returns
    -------
    score : int
    outcome : object
        As one run returned them.

    Notes
    -----
    **Privacy.** `stopping.total(guarantee)`, where `guarantee` is what one run guarantees of its score and
    outcome together; proof in `RandomStopping`.

    **Assumes.** Runs leave nothing behind but what they return, and draw from `dice` alone, or from other
    chance of their own. Nobody is told how many there were.

    **Accuracy.** An outcome that one run has with probability q is among them with probability
    1 - stopping.missed(q).

    **Source.** Liu and Talwar (2019), Section 3; Papernot and Steinke (2022), Algorithm 1.
    """
    count = 1 + dice.power_weighted(_ANY, [0] * stopping.most, stopping.weights)
    best = run(dice)
    for _ in range(count - 1):
        found = run(dice)
        if found[0] > best[0]:
            best = found
    return best
