"""The permute-and-flip mechanism: private selection, at least as accurate as the exponential mechanism."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.core.exact import selection_ratio
from dplearn.core.grouping import check_integers, group_counts, nth_equal
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of

__all__ = ["permute_and_flip", "select_permute_and_flip"]


def permute_and_flip(qualities: NDArray[Any], *, privacy: ApproxDP, dice: Dice, sensitivity: int = 1) -> int:
    """Return the index of the first candidate, in random order, that a biased coin accepts.

    Parameters
    ----------
    qualities : ndarray of int of shape (k,)
        Private. Greater is better.
    privacy : ApproxDP
        Its `epsilon` is spent whole; its `delta` is not used.
    dice : Dice
        Source of chance.
    sensitivity : int, default=1
        The most by which one quality differs between neighbours.

    Returns
    -------
    int
        The first candidate i, in a uniformly random order, whose coin of bias
        ratio ** (best quality - qualities[i]) succeeds.

    Raises
    ------
    TypeError, ValueError
        If `qualities` is not a nonempty array of integers, or `sensitivity` not a positive integer.

    Notes
    -----
    **Privacy.** `privacy`, for the neighbours that `sensitivity` is counted in.

    **Assumes.** Each quality moves by at most `sensitivity` between neighbours; the number of candidates
    and their order are public.

    **Accuracy.** For all qualities, its expected quality is at least that of `exponential_mechanism` at the
    same epsilon; the bound of that mechanism with probability 1 - beta holds too.

    **Source.** McKenna and Sheldon (2020), Theorems 1 and 2. Here the biases are rational, and all candidates
    of equal quality are drawn together, so that the time does not grow with their number.

    Examples
    --------
    Seeded dice make this example repeatable; private data need `dplearn.chance.SystemDice`.

    >>> import numpy as np
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import permute_and_flip
    >>> from dplearn.privacy import ApproxDP
    >>> permute_and_flip(np.array([10, 60, 20]), privacy=ApproxDP(1), dice=SeededDice(0))
    1
    """
    qualities = check_integers("qualities", qualities)
    distinct, multiplicities = group_counts(qualities)
    group, member = select_permute_and_flip(
        [-quality for quality in distinct],
        multiplicities,
        privacy=privacy,
        dice=dice,
        sensitivity=sensitivity,
    )
    return nth_equal(qualities, distinct[group], member)


def select_permute_and_flip(
    costs: Sequence[int],
    multiplicities: Sequence[int],
    *,
    privacy: ApproxDP,
    dice: Dice,
    sensitivity: int = 1,
) -> tuple[int, int]:
    """Select a candidate by permute-and-flip, with the candidates given as groups of equal cost.

    Parameters
    ----------
    costs : sequence of int
        Private. The cost (negative quality) of each candidate in group i.
    multiplicities : sequence of int
        Private. The number of candidates in group i; integers of any size.
    privacy : ApproxDP
        Its `epsilon` is spent whole; its `delta` is not used.
    dice : Dice
        Source of chance.
    sensitivity : int, default=1
        The most by which one candidate's cost differs between neighbours.

    Returns
    -------
    group : int
        Group of the candidate: an index into `costs`.
    member : int
        Index of the candidate in its group, from 0 to multiplicities[group] - 1.

    Notes
    -----
    **Privacy.** `privacy`, for the neighbours that `sensitivity` is counted in. Proof: let P(c) be the
    probability of candidate c. P(c) is unchanged when all costs move by the same amount, decreases in the
    cost of c and increases in the cost of every other candidate, so on the worst neighbour the cost of c is
    lower by 2 sensitivity and the other costs are equal. Let p_h be the biases of the other candidates'
    coins, relative to the best of the *other* candidates, and f(t) the product of the (1 - p_h t). If the
    cost of c exceeds that of the best other candidate by g, P(c) = ratio**g times the integral of f over
    [0, 1]. If it is less by g, P(c) is the integral of f(ratio**g t) over [0, 1], which is ratio**-g times
    the integral of f over [0, ratio**g]. A cost that is lower by 2 sensitivity multiplies the factor by
    ratio**(-2 sensitivity) <= exp(epsilon) in total, and can only shrink the range of integration; f is
    nonnegative.

    **Assumes.** Each candidate's cost moves by at most `sensitivity` between neighbours; the set of all
    candidates is public, their grouping need not be.

    **Accuracy.** As for `permute_and_flip`.

    **Source.** As for `permute_and_flip`.

    Examples
    --------
    Seeded dice make this example repeatable; private data need `dplearn.chance.SystemDice`.

    >>> from dplearn.chance import SeededDice
    >>> from dplearn.mechanisms import select_permute_and_flip
    >>> from dplearn.privacy import ApproxDP
    >>> costs, multiplicities = [0, 5, 100], [1, 3, 1000]  # 1,000 candidates make 100 errors
    >>> select_permute_and_flip(costs, multiplicities, privacy=ApproxDP(1), dice=SeededDice(0))
    (1, 0)
    """
    ratio = selection_ratio(epsilon_of(privacy), sensitivity)
    group = dice.permute_and_flip(ratio, costs, multiplicities)
    return group, dice.below(multiplicities[group])
