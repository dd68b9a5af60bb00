"""Permute-and-flip: as private as the exponential mechanism, and never worse."""

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
    """Return the index of a candidate: go through all in random order, accept each by a coin.

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

    **Accuracy.** Its expected quality is at least that of `exponential_mechanism` at the same epsilon, on
    all qualities; the same bound with probability 1 - beta holds.

    **Source.** McKenna and Sheldon (2020), Theorems 1 and 2. Here the coins are rational, and candidates of
    one quality are drawn together, so that their number does not matter.
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
    """Return a candidate from groups of equal cost, as its group and its place in the group.

    Parameters
    ----------
    costs : sequence of int
        Private. What each candidate of group i costs; less is better.
    multiplicities : sequence of int
        Private. How many candidates group i holds, up to any size.
    privacy : ApproxDP
        Its `epsilon` is spent whole; its `delta` is not used.
    dice : Dice
        Source of chance.
    sensitivity : int, default=1
        The most by which one candidate's cost differs between neighbours.

    Returns
    -------
    group : int
        Index into `costs`.
    member : int
        From 0 to multiplicities[group] - 1.

    Notes
    -----
    **Privacy.** `privacy`, for the neighbours that `sensitivity` is counted in. Proof: P(c) does not change
    when all costs move alike, falls with the cost of c and rises with the others', so the worst neighbour
    lowers the cost of c by 2 sensitivity and leaves the others. Let the others' coins have biases p_h
    relative to the best of *them*, and f(t) be the product of the (1 - p_h t). When c costs g more than the
    best other, P(c) = ratio**g times the integral of f over [0, 1]. When it costs g less, P(c) is the
    integral of f(ratio**g t) over [0, 1], which is ratio**-g times the integral of f over [0, ratio**g].
    Lowering the cost raises the factor by ratio**(-2 sensitivity) <= exp(epsilon) in all, and only shrinks
    the range of integration; f is nonnegative.

    **Assumes.** Each candidate's cost moves by at most `sensitivity` between neighbours; the set of all
    candidates is public, though its grouping is not.

    **Accuracy.** As for `permute_and_flip`.

    **Source.** As for `permute_and_flip`.
    """
    ratio = selection_ratio(epsilon_of(privacy), sensitivity)
    group = dice.permute_and_flip(ratio, costs, multiplicities)
    return group, dice.below(multiplicities[group])
