"""Private selection: exponential mechanism, permute-and-flip, and the best of a random number of runs."""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from numpy.typing import NDArray

from dplearn._documented import Mechanism, documented_by
from dplearn.chance.dice import Dice
from dplearn.kernels import check_integers, group_counts, nth_equal, selection_ratio
from dplearn.privacy import ApproxDP
from dplearn.privacy.conversion import log_float
from dplearn.privacy.guarantees import epsilon_of
from dplearn.privacy.random_stopping import RandomStopping

_MOST_COST = 1 << 61  # that a bound states


def exponential_mechanism(
    qualities: NDArray[Any], *, privacy: ApproxDP, dice: Dice, sensitivity: int = 1
) -> int:
    """Return the index of a candidate; its probability grows exponentially with its quality.

    Parameters
    ----------
    qualities : ndarray of int of shape (k,)
        Private. Greater is better.

    Returns
    -------
    int
        Index i, with probability proportional to ratio ** (best quality - qualities[i]); ratio is
        exp(-epsilon / (2 sensitivity)) rounded up to a rational number.

    Notes
    -----
    **Privacy.** `privacy`, for the neighbours that `sensitivity` is counted in.

    **Assumes.** Each quality moves by at most `sensitivity` between neighbours; the number of candidates and
    their order are public.

    **Accuracy.** With probability at least 1 - beta the quality is below the best by at most ln(k / beta) /
    ln(1 / ratio), which is 2 sensitivity ln(k / beta) / epsilon to one part in 2**30.

    **Source.** McSherry and Talwar (2007), Theorem 6; Kasiviswanathan et al. (2011), Section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import exponential_mechanism
    >>> from dplearn.privacy import ApproxDP
    >>> exponential_mechanism(np.array([10, 60, 20]), privacy=ApproxDP(1), dice=SeededDice(0))
    1
    """
    return _grouped(qualities, select_exponential, privacy=privacy, dice=dice, sensitivity=sensitivity)


def _grouped(qualities: NDArray[Any], select: Callable[..., tuple[int, int]], **terms: Any) -> int:
    """Return the candidate that is selected among groups of equal quality."""
    qualities = check_integers("qualities", qualities)
    distinct, multiplicities = group_counts(qualities)
    group, member = select([-quality for quality in distinct], multiplicities, **terms)
    return nth_equal(qualities, distinct[group], member)


def select_exponential(
    costs: Sequence[int],
    multiplicities: Sequence[int],
    *,
    privacy: ApproxDP,
    dice: Dice,
    sensitivity: int = 1,
) -> tuple[int, int]:
    """Select a candidate by the exponential mechanism, with the candidates given as groups of equal cost.

    Parameters
    ----------
    costs : sequence of int
        Private. The cost (negative quality) of each candidate in group i.
    multiplicities : sequence of int
        Private. The number of candidates in group i; integers of any size.

    Returns
    -------
    group : int
        Group of the candidate: an index into `costs`.
    member : int
        Index of the candidate in its group, from 0 to multiplicities[group] - 1.

    Notes
    -----
    **Privacy.** `privacy`, for the neighbours that `sensitivity` is counted in. Proof: let a candidate's
    weight be ratio ** cost. Between neighbours every weight, and so their sum, changes by a factor of at
    most ratio ** -sensitivity <= exp(epsilon / 2), and a probability is a weight divided by the sum.

    **Assumes.** Each candidate's cost moves by at most `sensitivity` between neighbours; the set of all
    candidates is public, their grouping need not be.

    **Accuracy.** As for `exponential_mechanism`, with k the sum of `multiplicities`.

    **Source.** As for `exponential_mechanism`.

    Examples
    --------
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import select_exponential
    >>> from dplearn.privacy import ApproxDP
    >>> costs, multiplicities = [0, 5, 100], [1, 3, 1000]  # 1,000 candidates make 100 errors
    >>> select_exponential(costs, multiplicities, privacy=ApproxDP(1), dice=SeededDice(0))
    (1, 0)
    """
    ratio = selection_ratio(epsilon_of(privacy), sensitivity)
    group = dice.power_weighted(ratio, costs, multiplicities)
    return group, dice.below(int(multiplicities[group]))


@documented_by(exponential_mechanism, Mechanism)
def permute_and_flip(qualities: NDArray[Any], *, privacy: ApproxDP, dice: Dice, sensitivity: int = 1) -> int:
    """Return the index of the first candidate, in random order, that a biased coin accepts.

    Returns
    -------
    int
        The first candidate i, in a uniformly random order, whose coin of bias
        ratio ** (best quality - qualities[i]) succeeds.

    Notes
    -----
    **Privacy.** `privacy`, for the neighbours that `sensitivity` is counted in.

    **Assumes.** Each quality moves by at most `sensitivity` between neighbours; the number of candidates
    and their order are public.

    **Accuracy.** For all qualities, its expected quality is at least that of `exponential_mechanism` at the
    same epsilon; the bound of that mechanism with probability 1 - beta holds too.

    **Source.** McKenna and Sheldon (2020), Theorems 1 and 2.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import permute_and_flip
    >>> from dplearn.privacy import ApproxDP
    >>> permute_and_flip(np.array([10, 60, 20]), privacy=ApproxDP(1), dice=SeededDice(0))
    1
    """
    return _grouped(qualities, select_permute_and_flip, privacy=privacy, dice=dice, sensitivity=sensitivity)


@documented_by(select_exponential, Mechanism)
def select_permute_and_flip(
    costs: Sequence[int],
    multiplicities: Sequence[int],
    *,
    privacy: ApproxDP,
    dice: Dice,
    sensitivity: int = 1,
) -> tuple[int, int]:
    """Select a candidate by permute-and-flip, with the candidates given as groups of equal cost.

    Returns
    -------
    group : int
        Group of the candidate: an index into `costs`.
    member : int
        Index of the candidate in its group, from 0 to multiplicities[group] - 1.

    Notes
    -----
    **Privacy.** `privacy`, for the neighbours that `sensitivity` is counted in. Proof: the probability of a
    candidate is unchanged when all costs move by the same amount, decreases in its cost and increases in
    every other cost, so on the worst neighbour its cost alone is lower, by 2 sensitivity. This multiplies the
    probability by at most ratio**(-2 sensitivity) <= exp(epsilon); see docs/theory/selection.md.

    **Assumes.** Each candidate's cost moves by at most `sensitivity` between neighbours; the set of all
    candidates is public, their grouping need not be.

    **Accuracy.** As for `permute_and_flip`.

    **Source.** As for `permute_and_flip`.

    Examples
    --------
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import select_permute_and_flip
    >>> from dplearn.privacy import ApproxDP
    >>> costs, multiplicities = [0, 5, 100], [1, 3, 1000]  # 1,000 candidates make 100 errors
    >>> select_permute_and_flip(costs, multiplicities, privacy=ApproxDP(1), dice=SeededDice(0))
    (1, 0)
    """
    ratio = selection_ratio(epsilon_of(privacy), sensitivity)
    group = dice.permute_and_flip(ratio, costs, multiplicities)
    return group, dice.below(int(multiplicities[group]))


def selection_excess(candidates: int, epsilon: Fraction, beta: Fraction | float) -> float:
    """Return a bound on the cost beyond the least that `exponential_mechanism` and `permute_and_flip` exceed
    with probability beta, at sensitivity 1.
    """
    ratio = selection_ratio(epsilon)
    # -log(ratio) >= 1 - ratio, which is above 0 in floats even where the ratio rounds to 1.
    rate = max(-math.log(ratio), float(1 - ratio))
    return (math.log(candidates) - log_float(Fraction(beta))) / rate


def shortfall(candidates: int, epsilon: Fraction, beta: Fraction | float) -> int:
    """Return `selection_excess` as a number of errors: a greater cost is less probable than beta."""
    return math.floor(min(selection_excess(candidates, epsilon, beta), float(_MOST_COST)))


Outcome = TypeVar("Outcome")
Score = TypeVar("Score", int, Fraction)
_ANY = Fraction(1, 2)  # raised to the power 0


def best_of_runs(
    run: Callable[[Dice], tuple[Score, Outcome]], *, stopping: RandomStopping, dice: Dice
) -> tuple[Score, Outcome]:
    """Return score and outcome of the best of a random number of runs; of equal scores, the first.

    **Privacy.** `stopping.total(guarantee)` for the guarantee of a run's score and outcome; see
    `RandomStopping`.

    **Assumes.** A run has no effect except the values that it returns; its randomness is `dice` or
    independent of the other runs. The number of runs is not released.

    **Accuracy.** An outcome of probability q in one run occurs in some run with 1 - stopping.missed(q).

    **Source.** Liu and Talwar (2019), Section 3; Papernot and Steinke (2022), Algorithm 1.
    """
    count = 1 + dice.power_weighted(_ANY, [0] * stopping.most, stopping.weights)
    best = run(dice)
    for _ in range(count - 1):
        found = run(dice)
        if found[0] > best[0]:
            best = found
    return best
