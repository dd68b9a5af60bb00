"""Points along sorted records, one inside each block of them, from a domain of any size.

>>> import numpy as np
>>> from dplearn.chance import SeededDice
>>> from dplearn.releases.block_errors import block_plan
>>> plan = block_plan(2**64, ApproxDP(1), 10_000)
>>> points = block_points(np.arange(10_000), plan, privacy=ApproxDP(1), dice=SeededDice(0))
>>> plan.left + plan.right, plan.spacing, [int(point) // 1000 for point in points]
(14, 700, [0, 1, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 8, 9])
"""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any, Protocol

from dplearn.chance.dice import Dice
from dplearn.core.exact import decay_ratio, exp_bounds
from dplearn.core.intervals import sorted_codes
from dplearn.mechanisms.interior_point import interior_point_code
from dplearn.mechanisms.rec_prefix import RecursiveSizes, recursive_interior_point
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of

__all__ = ["block_cost", "block_points", "deltas_of_points"]


def block_points(codes: Any, plan: "_Blocks", *, privacy: ApproxDP, dice: Dice) -> list[int]:
    """Return codes that, most likely, lie each between the records of one block of the sorted data.

    Parameters
    ----------
    codes : array-like of int of shape (n,)
        Private. From 0 to plan.size - 1, in any order; integers of any size.
    plan : BlockPlan
        Public: how many blocks, of how many records, and what is spent on what; `dplearn.theory.block_plan`.
    privacy : ApproxDP
        What `plan` may spend.
    dice : Dice
        Source of chance.

    Returns
    -------
    list of int of length left + right
        Rising. Blocks have the lengths spacing + Z, Z discrete Laplace: `left` of them from the least record
        up, `right` from the greatest down, over records that no block from below holds.

    Raises
    ------
    ValueError
        If the plan spends more than `privacy`.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record. Proof: let c_l be the sum of the first l lengths, which
    need not rise, and M_l = max(0, c_1, .., c_l); block l has the records of ranks above M_(l-1) and up to
    M_l. Take the blocks from below first. Let S and S' be T with one more record, x or y.

    From S to T: x has rank p; i is the first l with c_l >= p. Take 1 from the noise of block i + 1 (from none
    if i is the last), so that c_l stays for l <= i and falls by 1 after it. Then block i has lost x, and
    gained the next record of T if there is one; what held that, a later block or what no block holds, has
    lost it; all others are as they were. As c_1, .., c_i stay, i is the first l with c_l >= p as before: the
    pairing is one to one. (To shorten block i itself is not: a cut at p and one at p - 1 both come to p - 1.)

    From T to S': y has rank q in S'; i is the first l with c_l >= q - 1. Add 1 to the noise of block i: c_l
    rises by 1 from i on, so that block i has gained y, and nothing else has changed. Those before c_i stay
    less than q - 1, and c_i does not: one to one. Where there is no i, in either step, the noise stays, and x
    or y is among what no block holds.

    So what the blocks from below leave may have changed in one of three ways. By x or y, where these blocks
    have not changed at all: then the same holds of the blocks from above. Or it has lost its least record,
    where none of these blocks has: then the noise from above stays, and at most one block there loses a
    record, the last that it reaches. Or not at all.

    So noises differ by 1 twice, at 2 `noise`; one block has a record replaced, or lost one; another has lost
    one; and one, perhaps one of these, has gained one. Exponential: one record more moves all qualities
    min(data >= c, data <= c), and with them the sum of weights, in one direction: exp(epsilon / 2) at most,
    half of what a replaced one costs. In all 2 `noise` + 2 `point`. Recursive: short blocks are filled up
    with the least code, and of long ones the least records kept, so that each of these three replaces one
    record at most; one block can have two of them, at (1 + exp(epsilon)) delta, and another the third. In
    all 2 `noise` + 3 `point`, and (2 + exp(epsilon)) delta.

    **Assumes.** All values lie in the domain, which is public; n and `plan` are public.

    **Accuracy.** `dplearn.theory.BlockPlan`, `radius` and `error`.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Theorem 4.6, where the pairing is another, blocks are
    cut from below alone, and their points are counted once more.
    """
    spent, ratio = block_cost(plan), decay_ratio(epsilon_of(plan.noise))
    if spent.epsilon > epsilon_of(privacy) or spent.delta > privacy.delta:
        raise ValueError(f"plan must spend no more than {privacy!r}, got one that spends {spent!r}")
    ordered = sorted_codes(codes, plan.size)
    rest, below = ordered.size, [0]
    below += _cuts(rest, plan.left, plan.spacing, ratio, dice)
    rest -= below[-1]
    above = [0, *_cuts(rest, plan.right, plan.spacing, ratio, dice)]
    ends = [*below, *(ordered.size - cut for cut in reversed(above))]
    blocks = [ordered[start:stop].tolist() for start, stop in pairwise(ends)]
    del blocks[plan.left]  # what is left between the sides
    points = [_point(block, plan, dice) for block in blocks]
    return sorted(_filled(points))


def _cuts(n: int, count: int, spacing: int, ratio: Fraction, dice: Dice) -> Iterator[int]:
    """Draw M_1, .., M_count, as the proof has them, but at most n: from public numbers and noise alone."""
    cut = greatest = 0
    for left in reversed(range(count)):
        if greatest < n:
            at = cut + spacing
            # Beyond these ends all noise gives the same blocks: all is taken or, at the last cut, no more.
            cut = at + dice.discrete_laplace(ratio, None if left else greatest - at, n - at)
            greatest = max(greatest, cut)
        yield greatest


def _point(block: list[int], plan: "_Blocks", dice: Dice) -> int | None:
    if plan.sizes is None:
        return interior_point_code(block, plan.size, privacy=plan.point, dice=dice)
    length = plan.sizes.n_samples
    # Of the same length in every data set: the method's privacy is for one replaced record.
    filled = ([0] * length + block[:length])[-length:]
    return recursive_interior_point(filled, plan.size, sizes=plan.sizes, privacy=plan.point, dice=dice)


def _filled(points: list[int | None]) -> Iterator[int]:
    """Yield the point before, or the least code, in place of none."""
    last = 0
    for point in points:
        last = last if point is None else point
        yield last


class _Blocks(Protocol):
    """What `block_points` reads of a plan."""

    @property
    def size(self) -> int: ...
    @property
    def left(self) -> int: ...
    @property
    def right(self) -> int: ...
    @property
    def spacing(self) -> int: ...
    @property
    def noise(self) -> ApproxDP: ...
    @property
    def point(self) -> ApproxDP: ...
    @property
    def sizes(self) -> RecursiveSizes | None: ...


def block_cost(plan: _Blocks) -> ApproxDP:
    """Return what `block_points` is proved to spend.

    Parameters
    ----------
    plan : BlockPlan
        Its `noise`, `point` and `sizes` count.

    Notes
    -----
    **Privacy.** 2 `noise` + 2 `point` where the exponential mechanism finds the points (`sizes` is None);
    else 2 `noise` + 3 `point` and 2 + exp(epsilon) times the delta of a point. The proof is that of
    `block_points`.

    **Assumes.** The plan is public.

    **Accuracy.** Exact, but that exp(epsilon) is rounded up.

    **Source.** As for `block_points`.
    """
    noise, point = epsilon_of(plan.noise), epsilon_of(plan.point)
    if plan.sizes is None:
        return ApproxDP(2 * noise + 2 * point)
    return ApproxDP(2 * noise + 3 * point, deltas_of_points(point) * plan.point.delta)


def deltas_of_points(point: Fraction) -> Fraction:
    """Return how many deltas of one point the points of all blocks cost, at most.

    Parameters
    ----------
    point : Fraction
        Epsilon of one point.

    Notes
    -----
    **Privacy.** 2 + exp(epsilon): one block has two records replaced, another one; see `block_points`.
    **Assumes.** The recursive method finds the points. **Accuracy.** Exact, but that exp(epsilon) is rounded
    up. **Source.** As for `block_points`.
    """
    return 2 + exp_bounds(point)[1]
