"""The Littlestone dimension of small classes, and what it says about pure privacy."""

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
from dplearn.learners.pure_lower_bound import pure_records
from dplearn.theory.mistake_trees import MistakeTree

__all__ = [
    "LittlestoneDimension",
    "Row",
    "concept_table",
    "least_sample_size",
    "littlestone_dimension",
    "mistake_tree",
    "pure_private_lower_bound",
]

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
    """A concept of a table; it maps the position of a column to the label.

    Attributes
    ----------
    labels : tuple of int
        The label of each column.
    """

    labels: tuple[int, ...]

    def __call__(self, point: int) -> int:
        """Return the label of a column."""
        return self.labels[point]


def littlestone_dimension(concepts: Any, *, most_spaces: int = MOST_SPACES) -> LittlestoneDimension:
    """Return the Littlestone dimension: the greatest depth of a mistake tree.

    Parameters
    ----------
    concepts : array-like of shape (n_concepts, n_points), or ConceptClass
        0 or 1 for each concept and point. Of a concept class, the members on all points of its domain are
        listed: at most 2**24 labels.
    most_spaces : int, default=10**6
        The greatest number of version spaces in memory. Beyond it, the search stops and the result has
        bounds: the depth of a tree that was found, and the logarithm of the number of concepts.

    Returns
    -------
    LittlestoneDimension

    Raises
    ------
    TypeError, ValueError
        If the table has other entries than 0 and 1, or the class has three labels or more, is given by
        functions, or is too large to be listed.

    Notes
    -----
    The dimension of a set of concepts is 0 if it has one; otherwise the maximum over the points of 1 + the
    lesser dimension of its two parts. Points that split the set most evenly are tried first, and only while
    the smaller part has enough concepts. It is at most log2 of the number of concepts.

    **Source.** Littlestone (1988).

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

    Parameters
    ----------
    concepts : array-like of shape (n_concepts, n_points), or ConceptClass
        As for `littlestone_dimension`.

    Returns
    -------
    MistakeTree
        Its points are positions of columns; of a concept class, positions in the product of the codes of all
        columns, the last column's code varying fastest. Its concepts are rows of the table.

    Examples
    --------
    >>> from dplearn.theory import mistake_tree
    >>> thresholds = [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]  # four concepts on three points
    >>> tree = mistake_tree(thresholds)
    >>> tree.check()
    >>> tree.points  # columns of the table: the middle one first
    (1, 2, 0)
    """
    table = concept_table(concepts)
    spaces = VersionSpaces(table)
    points, leaves = spaces.tree(spaces.bounds()[0])
    return MistakeTree(tuple(points), tuple(Row(tuple(table[leaf].tolist())) for leaf in leaves))


def pure_private_lower_bound(concepts: Any, *, epsilon: Any, alpha: Any, beta: Any) -> int:
    """Return a number of records such that no pure private learner of a class is accurate with fewer.

    Parameters
    ----------
    concepts : int, array-like of shape (n_concepts, n_points), or ConceptClass
        The Littlestone dimension of the class, or a lower bound on it; or the class, as for
        `littlestone_dimension`. A class gives a slightly better bound where some point has one label in a
        part of full dimension.
    epsilon : number
        Positive.
    alpha, beta : number
        Error and probability of failure, in (0, 1).

    Returns
    -------
    int
        At most 10**9.

    Notes
    -----
    The learner is (epsilon, 0)-private for one replaced record. Its hypothesis, of the class or not, has an
    error of at most alpha with probability at least 1 - beta, for every distribution that some concept labels
    without error. A learner that is accurate whatever the labels are (agnostic) is such a learner.
    `dplearn.learners.pure_lower_bound.pure_records` has the proof. The bound grows linearly with the
    dimension. For approximate privacy, with delta > 0, it does not hold.

    **Source.** Feldman and Xiao (2014), Theorem 7; the constants are ours.

    Examples
    --------
    >>> from dplearn.theory import pure_private_lower_bound
    >>> thresholds = [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]]  # four concepts on three points
    >>> pure_private_lower_bound(thresholds, epsilon=1.0, alpha=0.1, beta=0.1)
    39
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
        The plan's `n_least`; its documentation says which learners are meant. Of one output, these are pure
        learners, or learners that release keys (`proper_point_lower_bound`); of several outputs, all learners
        with the same epsilon and delta (`multi_label_lower_bound`). None if no such number is known: the plan
        has no alpha and beta, the guarantee is not of the kind for which there is a bound, or the class is
        not known before the fit.

    Examples
    --------
    >>> from dplearn import PointClassifier
    >>> from dplearn.theory import least_sample_size
    >>> learner = PointClassifier(classes=[0, 1])
    >>> least_sample_size(learner.plan(1000))
    56
    """
    found = getattr(plan, "n_least", None)
    return None if found is None else int(found)


def concept_table(concepts: Any) -> NDArray[np.uint8]:
    """Return the distinct rows of a 0/1 table, or of the labels of a class on all points of its domain.

    Parameters
    ----------
    concepts : array-like of shape (n_concepts, n_points), or ConceptClass
        As for `littlestone_dimension`.

    Returns
    -------
    ndarray of uint8 of shape (n_distinct, n_points)
        Sorted by rows.
    """
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
