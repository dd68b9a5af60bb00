"""Mistake trees: proofs that a class has a great Littlestone dimension.

A mistake tree is a complete binary tree of points. Each leaf has a concept of the class that labels the
points of its path by the branches taken. So an adversary can make any learner err on each level, and no pure
private learner does with few records (`pure_private_lower_bound`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from dplearn._validation import check_count

__all__ = [
    "Ball",
    "Box",
    "Halfspace",
    "MistakeTree",
    "ball_mistake_tree",
    "box_mistake_tree",
    "halfspace_mistake_tree",
]

_MOST_LEVELS = 16  # of a tree that is listed

Point = tuple[int, ...]
State = Any  # what is known at a node
Step = tuple[Point, State, State]  # the point of a node, and what is known if its label is 0, and if it is 1


@dataclass(frozen=True, repr=False)
class MistakeTree:
    """A complete binary tree of points, with a concept at each leaf.

    Attributes
    ----------
    points : tuple
        The 2**depth - 1 points in the order of a heap: with positions from 1, the children of node i are 2 i
        for label 0 and 2 i + 1 for label 1.
    concepts : tuple of callable
        The 2**depth concepts of the leaves, from labels 0, ..., 0 to 1, ..., 1. A concept maps a point to its
        label, 0 or 1.
    """

    points: tuple[Any, ...]
    concepts: tuple[Callable[[Any], int], ...]

    @property
    def depth(self) -> int:
        """The number of levels of points, a lower bound on the Littlestone dimension."""
        return len(self.concepts).bit_length() - 1

    def check(self) -> None:
        """Raise ValueError unless the tree is complete and each concept has the labels of its path."""
        leaves = len(self.concepts)
        if leaves & (leaves - 1) or len(self.points) != leaves - 1:
            raise ValueError(f"a tree of {leaves} leaves must have a power of two of them, and a node less")
        for leaf, concept in enumerate(self.concepts):
            node = 1
            for level in reversed(range(self.depth)):
                label = leaf >> level & 1
                if concept(self.points[node - 1]) != label:
                    raise ValueError(
                        f"concept {leaf} must have label {label} at {self.points[node - 1]!r}, node {node}"
                    )
                node = 2 * node + label

    def __repr__(self) -> str:
        return f"MistakeTree(depth={self.depth})"


@dataclass(frozen=True)
class Box:
    """The concept with label 1 at the points between two corners, these included."""

    low: Point
    high: Point

    def __call__(self, point: Point) -> int:
        """Return the label of a point."""
        return int(all(a <= x <= b for a, x, b in zip(self.low, point, self.high, strict=True)))


@dataclass(frozen=True)
class Halfspace:
    """The concept with label 1 at the points x with 2 weights . x > bound; integers, the bound odd."""

    weights: Point
    bound: int

    def __call__(self, point: Point) -> int:
        """Return the label of a point."""
        return int(2 * _product(self.weights, point) > self.bound)


@dataclass(frozen=True)
class Ball:
    """The concept with label 1 at the points at a squared distance of at most `radius2` from the centre."""

    centre: Point
    radius2: int

    def __call__(self, point: Point) -> int:
        """Return the label of a point."""
        return int(sum((x - c) ** 2 for x, c in zip(point, self.centre, strict=True)) <= self.radius2)


def box_mistake_tree(bits: int, n_features: int) -> MistakeTree:
    """Return a mistake tree of 2 d (bits - 1) levels for the boxes on a grid of 2**bits values in d columns.

    Parameters
    ----------
    bits : int
        At least 1.
    n_features : int
        The number d of columns, at least 1. The tree must have at most 16 levels.

    Returns
    -------
    MistakeTree

    Notes
    -----
    All boxes contain the centre c. A box ends less than 2**(bits - 1) steps from c in each of 2 d directions;
    a binary search along each direction tells where.

    **Source.** Feldman and Xiao (2014), Section 4.

    Examples
    --------
    >>> from dplearn.theory import box_mistake_tree
    >>> box_mistake_tree(2, 2).depth
    4
    """
    bits, d = check_count("bits", bits, low=1), check_count("n_features", n_features, low=1)
    _check_levels(2 * d * (bits - 1))
    centre, reach = 1 << (bits - 1), 1 << (bits - 1)

    def step(ends: tuple[range, ...]) -> Step | None:
        side = next((i for i, end in enumerate(ends) if len(end) > 1), None)
        if side is None:
            return None
        middle = len(ends[side]) // 2
        at = ends[side][middle] * (1 if side % 2 else -1)
        point = tuple(centre + at * (axis == side // 2) for axis in range(d))
        nearer, farther = (
            (*ends[:side], part, *ends[side + 1 :]) for part in (ends[side][:middle], ends[side][middle:])
        )
        return point, nearer, farther

    def concept(ends: tuple[range, ...]) -> Box:
        return Box(tuple(centre - end[0] for end in ends[::2]), tuple(centre + end[0] for end in ends[1::2]))

    return _grown((range(reach),) * (2 * d), step, concept)


def halfspace_mistake_tree(bits: int, n_features: int) -> MistakeTree:
    """Return a mistake tree of b (d (d - 1) / 2 + 1) levels for halfspaces on a grid.

    Parameters
    ----------
    bits : int
        The number b; the grid has N = 2**b values in each column.
    n_features : int
        The number d of columns, at least 1; with 1, halfspaces are thresholds. The tree must have at most 16
        levels.

    Returns
    -------
    MistakeTree

    Notes
    -----
    With one column, a binary search of N thresholds. Let a halfspace of k columns be known, of odd bound and
    integer weights. Multiply both by an odd M > 2 N**k and add N**i to the weight of column i: no label on
    the grid changes, and the N**k points of the grid have distinct products with the weights. On the slice
    where the next column is 1 (it was 0 so far), the weight of that column shifts the bound, so halfspaces
    are the thresholds of these products; a binary search has b k levels.

    **Source.** Feldman and Xiao (2014), Section 4, with b d (d - 1) / 2 levels.

    Examples
    --------
    >>> from dplearn.theory import halfspace_mistake_tree
    >>> tree = halfspace_mistake_tree(2, 2)  # on a grid of 4 by 4 points
    >>> tree.depth, tree.points[0], len(tree.concepts)
    (4, (1, 0), 16)
    >>> tree.check()
    """
    bits, d = check_count("bits", bits, low=1), check_count("n_features", n_features, low=1)
    _check_levels(bits * (d * (d - 1) // 2 + 1))
    size = 1 << bits

    def start(halfspace: Halfspace) -> State:
        """Return the points of the next slice in the order of their products, with room for each."""
        k = len(halfspace.weights)
        factor = 2 * size**k + 1
        weights = tuple(factor * w + size**i for i, w in enumerate(halfspace.weights))
        slice_points = sorted(product(range(size), repeat=k), key=lambda x: _product(weights, x))
        return Halfspace(weights, factor * halfspace.bound), slice_points, range(size**k)

    def step(state: State) -> Step | None:
        halfspace, points, cuts = state
        if len(cuts) == 1:  # points from this one on have label 1
            following = _with_cut(halfspace, points[cuts[0]])
            return None if len(following.weights) == d else step(start(following))
        middle = len(cuts) // 2
        asked = points[cuts[middle] - 1]
        point = (*asked, 1, *[0] * d)[:d] if halfspace.weights else (*asked, *[0] * d)[:d]
        return point, (halfspace, points, cuts[middle:]), (halfspace, points, cuts[:middle])

    def concept(state: State) -> Halfspace:
        halfspace, points, cuts = state
        return _with_cut(halfspace, points[cuts[0]])

    return _grown((Halfspace((), 0), [(x,) for x in range(size)], range(size)), step, concept)


def ball_mistake_tree(bits: int, n_features: int) -> MistakeTree:
    """Return the mistake tree of `halfspace_mistake_tree` with balls, which have the same labels on the grid.

    Parameters
    ----------
    bits, n_features : int
        As for `halfspace_mistake_tree`.

    Returns
    -------
    MistakeTree

    Notes
    -----
    Let R exceed the squared length of each grid point x. The ball with centre R w contains x if 2 R w . x -
    ``|x|**2`` is at least R times the bound. This holds if 2 w . x exceeds the bound, an integer, and not
    if it is less.

    Examples
    --------
    >>> from dplearn.theory import ball_mistake_tree
    >>> ball_mistake_tree(2, 2).depth
    4
    """
    tree = halfspace_mistake_tree(bits, n_features)
    far = n_features * ((1 << bits) - 1) ** 2 + 1
    return MistakeTree(tree.points, tuple(_as_ball(concept, far) for concept in tree.concepts))


def _as_ball(halfspace: Any, far: int) -> Ball:
    centre = tuple(far * w for w in halfspace.weights)
    return Ball(centre, _product(centre, centre) - far * halfspace.bound)


def _with_cut(halfspace: Halfspace, point: Point) -> Halfspace:
    """Return the halfspace of a further column that, where it is 1, begins at a point of the others."""
    if not halfspace.weights:
        return Halfspace((1,), 2 * point[0] - 1)
    least = 2 * _product(halfspace.weights, point)
    return Halfspace((*halfspace.weights, (halfspace.bound - least + 1) // 2), halfspace.bound)


def _product(weights: Sequence[int], point: Sequence[int]) -> int:
    return sum(w * x for w, x in zip(weights, point, strict=True))


def _check_levels(levels: int) -> None:
    if levels > _MOST_LEVELS:
        raise ValueError(
            f"bits and n_features must be so small that the tree has at most {_MOST_LEVELS} levels, got"
            f" {levels}"
        )


def _grown(root: State, step: Callable[[State], Step | None], concept: Callable[[State], Any]) -> MistakeTree:
    """Return the tree that `step` grows, level by level; all its leaves are at the same level."""
    level, points = [root], list[Point]()
    while (steps := [step(state) for state in level])[0] is not None:
        taken = [each for each in steps if each is not None]
        points += [point for point, _, _ in taken]
        level = [state for _, zero, one in taken for state in (zero, one)]
    return MistakeTree(tuple(points), tuple(concept(state) for state in level))
