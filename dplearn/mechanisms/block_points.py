"""Private interior points of consecutive blocks of the sorted records, for a domain of any size."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dplearn.chance.dice import Dice
from dplearn.kernels.exact import decay_ratio, exp_bounds
from dplearn.kernels.intervals import sorted_codes
from dplearn.mechanisms.interior_point import interior_point_code, recursive_interior_point
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of


def block_points(codes: Any, plan: Any, *, privacy: ApproxDP, dice: Dice) -> list[int]:
    """Return one interior point for each block of consecutive sorted records, with high probability.

    An interior point of a block is a code from its least record to its greatest.

    `codes` (n,): Private. From 0 to plan.size - 1, in any order; integers of any size. `plan`: Public. The
    numbers of blocks, their lengths in records, and the budget of each step; from
    `dplearn.theory.block_plan`. `privacy`: budget; the cost of `plan` must not exceed it. Result: in
    ascending order. Each block has length spacing + Z, with Z discrete Laplace noise: `left` blocks are cut
    from the least record upwards, then `right` blocks from the greatest record downwards, from the records
    that are in no left block.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record. Proof: let c_l be the sum of the first l lengths (the
    sequence c_l need not be monotone) and M_l = max(0, c_1, .., c_l); block l consists of the records with
    ranks from M_(l-1) + 1 to M_l. The remainder is the set of records in no block. Consider the left blocks
    first. Let T be the common records of two neighbours S and S', so that S is T with a record x added and S'
    is T with a record y added. The proof maps the noise on one data set one to one to noise on the other.

    From S to T: let p be the rank of x in S, and i the first l with c_l >= p. Subtract 1 from the noise of
    block i + 1 (if i is the last block, change nothing), so that c_l is unchanged for l <= i and decreases by
    1 for l > i. Then block i loses x and gains the next record of T, if there is one; the later block or the
    remainder that held this record loses it; every other block is unchanged. As c_1, .., c_i are unchanged, i
    is still the first l with c_l >= p, so the map is one to one. (Subtracting 1 from the noise of block i
    itself would not be: c_i = p and c_i = p - 1 would both be mapped to p - 1.)

    From T to S': let q be the rank of y in S', and i the first l with c_l >= q - 1. Add 1 to the noise of
    block i: c_l increases by 1 for l >= i, so block i gains y and nothing else changes. Every c_l before
    c_i is still less than q - 1 and c_i is not, so the map is one to one. If no such i exists, in either
    step, the noise is unchanged and x or y is in the remainder.

    Hence the remainder of the left blocks changes in one of three ways. (1) By x or y, if no left block
    changes: then the same argument holds for the right blocks. (2) It loses its least record, if no left
    block loses that record: then the noise of the right blocks is unchanged, and at most one right block,
    the last to reach that record, loses a record. (3) Not at all.

    In total the noise differs by 1 in at most two places, which costs 2 `noise`; one block has one record
    replaced or removed; another block has one removed; and one block, possibly one of these two, has one
    added. If the exponential mechanism finds the points: one added record moves all qualities
    min(data >= c, data <= c), and so the sum of the weights, in one direction, by a factor of at most
    exp(epsilon / 2), half the cost of a replaced record. The total is 2 `noise` + 2 `point`. If the
    recursive method finds the points: short blocks are padded with the least code and long blocks are cut to
    their least records, so each of these three changes replaces at most one record. One block can have two
    of the changes, with delta (1 + exp(epsilon)) delta, and another block the third. The total is
    2 `noise` + 3 `point`, with (2 + exp(epsilon)) delta.

    **Assumes.** All values lie in the domain, which is public; n and `plan` are public.

    **Accuracy.** See `radius` and `error` of `dplearn.theory.BlockPlan`.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Theorem 4.6. There the map of the noise is a different
    one, blocks are cut from the least record only, and each point's count is released in addition.
    """
    spent, ratio = block_cost(plan), decay_ratio(epsilon_of(plan.noise))
    if spent.epsilon > epsilon_of(privacy) or spent.delta > privacy.delta:
        raise ValueError(f"plan must cost at most {privacy!r}, got a plan that costs {spent!r}")
    ordered = sorted_codes(codes, plan.size)
    rest, below = ordered.size, [0]
    below += _cuts(rest, plan.left, plan.spacing, ratio, dice)
    rest -= below[-1]
    above = [0, *_cuts(rest, plan.right, plan.spacing, ratio, dice)]
    ends = [*below, *(ordered.size - cut for cut in reversed(above))]
    blocks = [ordered[start:stop].tolist() for start, stop in pairwise(ends)]
    del blocks[plan.left]  # the remainder: records between the left and the right blocks
    points = [_point(block, plan, dice) for block in blocks]
    return sorted(_filled(points))


def _cuts(n: int, count: int, spacing: int, ratio: Fraction, dice: Dice) -> Iterator[int]:
    """Yield min(n, M_1), .., min(n, M_count), M_l as in the proof, from public numbers and noise only."""
    cut = greatest = 0
    for left in reversed(range(count)):
        if greatest < n:
            at = cut + spacing
            # Noise beyond these ends gives the same blocks: the cut is n or, for the last block, M stays.
            cut = at + dice.discrete_laplace(ratio, None if left else greatest - at, n - at)
            greatest = max(greatest, cut)
        yield greatest


def _point(block: list[int], plan: Any, dice: Dice) -> int | None:
    if plan.sizes is None:
        return interior_point_code(block, plan.size, privacy=plan.point, dice=dice)
    length = plan.sizes.n_samples
    # The length is the same for every data set: the method is private for one replaced record.
    filled = ([0] * length + block[:length])[-length:]
    return recursive_interior_point(filled, plan.size, sizes=plan.sizes, privacy=plan.point, dice=dice)


def _filled(points: list[int | None]) -> Iterator[int]:
    """Yield the points, each None replaced by the point before it, or by the least code, 0."""
    last = 0
    for point in points:
        last = last if point is None else point
        yield last


def block_cost(plan: Any) -> ApproxDP:
    """Return the privacy cost of `block_points`, from `noise`, `point` and `sizes` of a plan."""
    noise, point = epsilon_of(plan.noise), epsilon_of(plan.point)
    if plan.sizes is None:
        return ApproxDP(2 * noise + 2 * point)
    return ApproxDP(2 * noise + 3 * point, deltas_of_points(point) * plan.point.delta)


def deltas_of_points(point: Fraction) -> Fraction:
    """Return the delta of the points of all blocks, as a multiple of the delta of one point.

    Two records are replaced in one block and one in another; see `block_points`.
    """
    return 2 + exp_bounds(point)[1]
