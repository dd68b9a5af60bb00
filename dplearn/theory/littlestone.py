"""The Littlestone dimension of classes, mistake trees as its proofs, and what it says about pure privacy.

A mistake tree is a complete binary tree of points, with a concept of the class for each leaf that labels its
path: an adversary can make any learner err on each level (`pure_private_lower_bound`).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count, check_number
from dplearn.concepts import ConceptClass
from dplearn.concepts.finite import MOST_SPACES, VersionSpaces
from dplearn.domains.base import smallest_uint
from dplearn.learners.limits import pure_records

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
        return int(all(a <= x <= b for a, x, b in zip(self.low, point, self.high, strict=True)))


@dataclass(frozen=True)
class Halfspace:
    """The concept with label 1 at the points x with 2 weights . x > bound; integers, the bound odd."""

    weights: Point
    bound: int

    def __call__(self, point: Point) -> int:
        return int(2 * _product(self.weights, point) > self.bound)


@dataclass(frozen=True)
class Ball:
    """The concept with label 1 at the points at a squared distance of at most `radius2` from the centre."""

    centre: Point
    radius2: int

    def __call__(self, point: Point) -> int:
        return int(sum((x - c) ** 2 for x, c in zip(point, self.centre, strict=True)) <= self.radius2)


def box_mistake_tree(bits: int, n_features: int) -> MistakeTree:
    """Return a mistake tree of 2 d (bits - 1) levels for the boxes on a grid of 2**bits values in d columns.

    Parameters
    ----------
    bits : int
        At least 1.
    n_features : int
        The number d of columns, at least 1. The tree must have at most 16 levels.

    Notes
    -----
    All boxes contain the centre; a binary search along each of 2 d directions tells where a box ends.

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

    Notes
    -----
    With one column, a binary search of N thresholds. Let a halfspace of k columns have an odd bound and
    integer weights. Multiply both by an odd M > 2 N**k and add N**i to the weight of column i: no label
    changes, and the grid's points have distinct products with the weights. On the slice where the next column
    is 1, the weight of that column shifts the bound, so halfspaces are the thresholds of these products; a
    binary search has b k levels.

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


_MOST_CELLS = 1 << 24  # of the table of a concept class


@dataclass(frozen=True)
class LittlestoneDimension:
    """The Littlestone dimension of a class, or bounds on it.

    Attributes
    ----------
    lower, upper : int
        Bounds; equal if the dimension is exact.
    """

    lower: int
    upper: int

    @property
    def exact(self) -> bool:
        """Whether the bounds are equal."""
        return self.lower == self.upper


@dataclass(frozen=True)
class Row:
    """A concept of a table, with the label of each column; it maps the position of a column to the label."""

    labels: tuple[int, ...]

    def __call__(self, point: int) -> int:
        return self.labels[point]


def littlestone_dimension(concepts: Any, *, most_spaces: int = MOST_SPACES) -> LittlestoneDimension:
    """Return the Littlestone dimension: the greatest depth of a mistake tree.

    Parameters
    ----------
    most_spaces : int, default=10**6
        The greatest number of version spaces in memory. Beyond it, the search stops and the result has
        bounds: the depth of a tree that was found, and the logarithm of the number of concepts.

    Raises
    ------
    TypeError, ValueError
        If the table has other entries than 0 and 1, or the class has three labels or more, or cannot be
        listed.

    Notes
    -----
    The dimension of a set of concepts is 0 if it has one; otherwise the maximum over the points of 1 + the
    lesser dimension of its two parts (Littlestone 1988). Points that split the set most evenly are tried
    first, and only while the smaller part has enough concepts.

    Examples
    --------
    >>> from dplearn.theory import littlestone_dimension
    >>> thresholds = [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]  # four concepts on three points
    >>> littlestone_dimension(thresholds)
    LittlestoneDimension(lower=2, upper=2)
    """
    return LittlestoneDimension(*_spaces(concepts, most_spaces).bounds())


def mistake_tree(concepts: Any) -> MistakeTree:
    """Return a mistake tree as deep as `littlestone_dimension`, or its lower bound.

    Returns
    -------
    MistakeTree
        Its points are positions of columns; of a concept class, positions in the product of the codes of all
        columns, the last column's code varying fastest. Its concepts are rows of the table.

    Examples
    --------
    >>> from dplearn.theory import mistake_tree
    >>> tree = mistake_tree([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])  # four concepts on three points
    >>> tree.points  # columns of the table: the middle one first
    (1, 2, 0)
    """
    table = concept_table(concepts)
    spaces = VersionSpaces(table)
    points, leaves = tree_of(spaces, spaces.bounds()[0])
    return MistakeTree(tuple(points), tuple(Row(tuple(table[leaf].tolist())) for leaf in leaves))


def tree_of(spaces: VersionSpaces, depth: int) -> tuple[list[int], list[int]]:
    """Return a mistake tree: its points in the order of a heap, and the concepts of its leaves."""
    # `depth` is at most the lower bound of `spaces.bounds()`, which must have been computed. The children of
    # node i (from 1) are 2 i for label 0 and 2 i + 1 for label 1; leaves are in the order of their labels.
    level, points = [spaces.all], []
    for below in reversed(range(depth)):
        following = []
        for each in level:
            column = _splitting(spaces, each, below)
            points.append(spaces.columns.index(column))
            following += [each & ~column, each & column]
        level = following
    return points, [(each & -each).bit_length() - 1 for each in level]


def _splitting(spaces: VersionSpaces, space: int, depth: int) -> int:
    """Return a column that splits a version space into two of dimension at least `depth`."""
    size = space.bit_count()
    for column in sorted(spaces.distinct, key=lambda column: abs(2 * (space & column).bit_count() - size)):
        one = space & column
        if one and one != space and spaces.reaches(one, depth) and spaces.reaches(space ^ one, depth):
            return column
    raise ValueError(f"no mistake tree of depth {depth + 1} is known for these concepts")


def pure_private_lower_bound(concepts: Any, *, epsilon: Any, alpha: Any, beta: Any) -> int:
    """Return a number of records such that no pure private learner of a class is accurate with fewer.

    Parameters
    ----------
    concepts : int, array-like of shape (n_concepts, n_points), or ConceptClass
        The Littlestone dimension of the class, or a lower bound on it; or the class, as for
        `littlestone_dimension`: slightly better where some point has one label in a part of full dimension.

    Returns
    -------
    int
        At most 10**9.

    Notes
    -----
    The learner is (epsilon, 0)-private for one replaced record. Its hypothesis, of the class or not, has an
    error of at most alpha with probability at least 1 - beta, for every distribution that some concept labels
    without error, or for all distributions (agnostic). The bound grows linearly with the dimension; it does
    not hold for delta > 0. For the proof see docs/theory/pure_privacy.md.

    **Source.** Feldman and Xiao (2014), Theorem 7; the constants are ours.

    Examples
    --------
    >>> from dplearn.theory import pure_private_lower_bound
    >>> [pure_private_lower_bound(d, epsilon=1.0, alpha=0.1, beta=0.1) for d in (64, 128, 256)]
    [39, 66, 121]
    """
    asked = (
        check_number("epsilon", epsilon, above=0),
        check_number("alpha", alpha, above=0, below=1),
        check_number("beta", beta, above=0, below=1),
    )
    if np.ndim(concepts) == 0 and not isinstance(concepts, ConceptClass):
        dimension = check_count("concepts", concepts)
        return pure_records(max(0, dimension - 1), dimension, *asked)
    spaces = _spaces(concepts, MOST_SPACES)
    dimension, _ = spaces.bounds()
    return pure_records(dimension - (not _has_root(spaces, dimension)), dimension, *asked)


def least_sample_size(plan: Any) -> int | None:
    """Return the number of records below which no private learner is as accurate as a plan asks.

    Parameters
    ----------
    plan : Plan
        As returned by `plan` of a learner.

    Returns
    -------
    int or None
        The plan's `n_least`; its documentation says which learners are meant: pure ones, or ones that release
        keys (`proper_point_lower_bound`); of several outputs, all with the same epsilon and delta
        (`multi_label_lower_bound`). None if no such number is known: the plan has no alpha and beta, no bound
        is for its kind of guarantee, or the class is not known before the fit.

    Examples
    --------
    >>> from dplearn import PointClassifier
    >>> from dplearn.theory import least_sample_size
    >>> least_sample_size(PointClassifier(classes=[0, 1]).plan(1000))
    56
    """
    found = getattr(plan, "n_least", None)
    return None if found is None else int(found)


def concept_table(concepts: Any) -> NDArray[np.uint8]:
    """Return the distinct rows, sorted, of a 0/1 table, or of the labels of a class on all points."""
    table = _listed(concepts) if isinstance(concepts, ConceptClass) else np.asarray(concepts)
    if table.ndim != 2 or not table.size or table.dtype.kind not in "iub":
        raise ValueError(
            "concepts must be a ConceptClass or a table of 0 and 1 of shape (n_concepts, n_points), got"
            f" {table.dtype} of shape {table.shape}"
        )
    if not np.isin(table, (0, 1)).all():
        raise ValueError("concepts must have the labels 0 and 1 only, got others")
    return np.unique(table.astype(np.uint8), axis=0)


def _listed(concepts: ConceptClass) -> NDArray[Any]:
    if concepts.n_labels > 2:
        raise ValueError(f"concepts must have at most two labels, got {concepts.n_labels}")
    domains = getattr(concepts.domain, "domains", None)
    if domains is None:
        raise ValueError(f"concepts must be a table or have a domain that can be listed, got {concepts!r}")
    cells = prod(domain.size for domain in domains) * concepts.size
    if cells > _MOST_CELLS:
        raise ValueError(f"concepts must have at most 2**24 labels in all, members times points, got {cells}")
    points = np.array(list(product(*(range(domain.size) for domain in domains))))
    columns = [points[:, i].astype(smallest_uint(domain.size)) for i, domain in enumerate(domains)]
    profile = concepts.error_profile(columns, np.zeros(len(points), dtype=np.intp))
    return np.array(
        [
            profile.member(errors, index).predict(columns)
            for errors, members in zip(*profile.groups(), strict=True)
            for index in range(members)
        ]
    )


def _spaces(concepts: Any, most: int) -> VersionSpaces:
    return VersionSpaces(concept_table(concepts), check_count("most_spaces", most, low=1))


def _has_root(spaces: VersionSpaces, dimension: int) -> bool:
    """Return whether the concepts with some label at some point are known to have the full dimension."""
    parts = (part for column in spaces.columns for part in (spaces.all & column, spaces.all & ~column))
    return any(part and spaces.reaches(part, dimension) for part in parts)
