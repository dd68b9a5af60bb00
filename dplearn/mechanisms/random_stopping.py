"""Private selection with random stopping: the best of a random number of runs of a private algorithm."""

from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from dplearn.chance.dice import Dice
from dplearn.privacy.random_stopping import RandomStopping

Outcome = TypeVar("Outcome")
Score = TypeVar("Score", int, Fraction)
_ANY = Fraction(1, 2)  # raised to the power 0


def best_of_runs(
    run: Callable[[Dice], tuple[Score, Outcome]], *, stopping: RandomStopping, dice: Dice
) -> tuple[Score, Outcome]:
    """Return the outcome with the highest score among a random number of runs; of equal scores, the first.

    `run`: takes dice; returns a score (int or Fraction) and an outcome, which together are the output of one
    private run. `stopping`: the distribution of the number of runs. `score`: score of the best run.
    `outcome`: outcome of the best run.

    Notes
    -----
    **Privacy.** `stopping.total(guarantee)`, where `guarantee` is the guarantee of one run for its score and
    outcome together; the proof is in `RandomStopping`.

    **Assumes.** A run has no effect except the values that it returns; its randomness is `dice` or is
    independent of the other runs. The number of runs is not released.

    **Accuracy.** An outcome that has probability q in one run occurs in some run with probability
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
