"""Private interior points of consecutive blocks of the sorted records, for a domain of any size."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

from dplearn.chance.dice import Dice
from dplearn.kernels import Cell, SortedCodes, decay_ratio, exp_bounds
from dplearn.kernels.intervals import exact_codes
from dplearn.mechanisms.interior_point import interior_point_of, recursive_interior_point
from dplearn.privacy import ApproxDP
from dplearn.privacy.guarantees import epsilon_of


def block_points(codes: Any, plan: Any, *, privacy: ApproxDP, dice: Dice) -> list[int]:
    """Return one interior point for each block of consecutive sorted records, with high probability.

    `codes` (n,): Private. From 0 to plan.size - 1, in any order. `plan`: Public, from
    `dplearn.theory.block_plan`; its cost must not exceed `privacy`. Result: in ascending order, a code from
    the least record of a block to its greatest. A block has length spacing + Z, Z discrete Laplace noise:
    `left` blocks are cut from the least record upwards, then `right` ones downwards from the rest.

    **Privacy.** `privacy`, for one replaced record. Let c_l be the sum of the first l lengths and M_l =
    max(0, c_1, .., c_l): block l has the ranks from M_(l-1) + 1 to M_l, the remainder those of no block. Let
    T be S without x, and S' be T with y. Noise is mapped one to one.

    From S to T: let p be the rank of x, i the first l with c_l >= p. Subtract 1 from the noise of block i + 1
    (none if i is the last): block i loses x and gains the next record of T, which a later block or the
    remainder loses; c_1, .., c_i and so i are unchanged. (Subtracting it from block i would map c_i = p and p
    - 1 to p - 1.)

    From T to S': let q be the rank of y, i the first l with c_l >= q - 1. Add 1 to the noise of block i,
    which gains y; c_l < q - 1 before i still, and not at i. Without such an i, in either step, the remainder
    has x or y.

    So the remainder changes (1) by x or y, if no left block changes: the same holds for the right blocks; (2)
    by its least record, if no left block loses one: at most one right block, the last to reach it, loses a
    record; (3) not at all. In total the noise differs by 1 in at most two places, 2 `noise`; one block has a
    record replaced or removed, another one removed, and one block, possibly one of these, one added.
    Exponential mechanism: an added record moves all qualities in one direction, half the cost of a replaced
    one: 2 `noise` + 2 `point`. Recursion: blocks are padded or cut to one length, so each change replaces a
    record: 2 `noise` + 3 `point`, with (2 + exp(epsilon)) delta.

    **Assumes.** All values lie in the public domain; n and `plan` are public.

    **Accuracy.** See `radius` and `error` of `dplearn.theory.BlockPlan`.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Theorem 4.6, with another map of the noise, blocks
    from the least record only, and each point's count released in addition.
    """
    spent, ratio = block_cost(plan), decay_ratio(epsilon_of(plan.noise))
    if spent.epsilon > epsilon_of(privacy) or spent.delta > privacy.delta:
        raise ValueError(f"plan must cost at most {privacy!r}, got a plan that costs {spent!r}")
    ordered = SortedCodes(exact_codes(codes, plan.size))
    rest, below = len(ordered), [0]
    below += _cuts(rest, plan.left, plan.spacing, ratio, dice)
    rest -= below[-1]
    above = [0, *_cuts(rest, plan.right, plan.spacing, ratio, dice)]
    ends = [*below, *(len(ordered) - cut for cut in reversed(above))]
    blocks = [Cell(ordered, start, stop, 0, plan.size) for start, stop in pairwise(ends)]
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


def _point(block: Cell, plan: Any, dice: Dice) -> int | None:
    if plan.sizes is None:
        return interior_point_of(block, privacy=plan.point, dice=dice)
    length = plan.sizes.n_samples
    # The length is the same for every data set: the method is private for one replaced record.
    filled = ([0] * length + block.at(range(min(length, len(block)))))[-length:]
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
    # Two records are replaced in one block and one in another; see `block_points`.
    return 2 + exp_bounds(point)[1]
