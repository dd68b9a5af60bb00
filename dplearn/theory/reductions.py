"""Reductions between private interior points, counts, learning of thresholds and of distributions.

Each takes a private algorithm as a callable, and bounds the change of its input for one replaced record.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack, vstack

from dplearn._validation import check_count
from dplearn.chance.dice import Dice

Value = TypeVar("Value")
Concept = TypeVar("Concept")
_NO_ANSWER = "queries and answers must be finite numbers, and queries lie between 0 and 1"


def interior_point_from_counts(
    codes: Sequence[int],
    size: int,
    *,
    n_padded: int,
    release: Callable[[list[int]], Callable[[int], float]],
) -> int:
    """Return an interior point from noisy counts of the records at or below each code.

    Parameters
    ----------
    codes : sequence of int of length n
        Private.
    size : int
        Number of codes in the domain.
    n_padded : int
        Number of codes that `release` takes: n, or more by an even number.
    release : callable
        Private algorithm: takes a list of n_padded codes, and returns a function from a code to an estimate
        of the number of these that are at most it, which is called at about log2(size) codes.

    Returns
    -------
    int
        A code; an interior point if all estimates have errors of less than n / 2.

    Raises
    ------
    ValueError
        If n_padded - n is negative or odd.

    Notes
    -----
    **Privacy.** That of `release`: one replaced record replaces one of its codes.

    **Accuracy.** Half of the padding is the least code and half the greatest. If every estimate has an error
    of less than n / 2, some of the data are at most the returned code, and some are at least it.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Theorem 4.6, item 1.

    Examples
    --------
    >>> from dplearn.theory import interior_point_from_counts
    >>> def release(codes):  # exact counts; a private algorithm takes their place
    ...     return lambda code: sum(value <= code for value in codes)
    >>> interior_point_from_counts([40, 50, 60], 100, n_padded=5, release=release)
    50
    """
    padding = check_count("n_padded", n_padded, low=len(codes)) - len(codes)
    if padding % 2:
        raise ValueError("n_padded must exceed the number of codes by an even number")
    count = release([*[0] * (padding // 2), *codes, *[size - 1] * (padding // 2)])
    low, high = -1, size - 1  # up to noise, fewer than half of the codes are <= low, at least half <= high
    while high - low > 1:
        middle = (low + high) // 2
        if 2 * count(middle) >= n_padded:
            high = middle
        else:
            low = middle
    return high


def interior_point_from_threshold_learner(
    codes: Sequence[int],
    size: int,
    *,
    n_padded: int,
    learn: Callable[[list[int], list[int], int], int],
) -> int:
    """Return an interior point from an algorithm that learns thresholds.

    Parameters
    ----------
    codes : sequence of int of length n
        Private; n is even.
    size : int
        Number of codes in the domain.
    n_padded : int
        Number of examples that `learn` takes: n, or more by an even number.
    learn : callable
        Private algorithm: takes n_padded codes of a domain of 2 size, their labels and that size, and returns
        a threshold as `threshold_from_interior_point` does.

    Returns
    -------
    int
        A code; an interior point if the threshold makes fewer than n / 2 errors.

    Raises
    ------
    ValueError
        If n or n_padded is odd, or n_padded is less than n.

    Notes
    -----
    **Privacy.** That of `learn` for two replaced records: a replaced code, and the code in the middle, whose
    label may change.

    **Accuracy.** The lower half of the data has label 1 and the upper half label 0, moved half a step up, so
    that an error-free threshold exists for all ties. A threshold outside the data makes n / 2 errors.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 5.7, item 2 (and, with `SecretSampleClassifier`,
    Theorem 5.6, item 2). The half step is added here.

    Examples
    --------
    >>> from dplearn.theory import interior_point_from_threshold_learner
    >>> def learn(codes, labels, size):  # no privacy; a private algorithm takes its place
    ...     return max((code for code, label in zip(codes, labels, strict=True) if label), default=-1)
    >>> interior_point_from_threshold_learner([4, 5, 8, 9], 20, n_padded=4, learn=learn)
    5
    """
    n = len(codes)
    padding = check_count("n_padded", n_padded, low=n) - n
    if n % 2 or padding % 2:
        raise ValueError("n_padded and the number of codes must be even")
    ordered = sorted(codes)
    half = padding // 2
    examples = [0] * half + [2 * code for code in ordered[: n // 2]]
    examples += [2 * code + 1 for code in ordered[n // 2 :]] + [2 * size - 1] * half
    found = learn(examples, [1] * (n_padded // 2) + [0] * (n_padded // 2), 2 * size)
    return max(0, found) // 2


def threshold_from_corner_learner(
    codes: Sequence[int],
    labels: Sequence[int],
    *,
    n_columns: int,
    sample: Callable[[], tuple[Sequence[int], Sequence[int]]],
    learn: Callable[[list[tuple[int, ...]], list[int]], Sequence[int]],
    dice: Dice,
) -> int:
    """Return a threshold learned by an algorithm for corners, which needs `n_columns` times the records.

    Parameters
    ----------
    codes, labels : sequence of int of length n
        Private. Codes from 0, and label 1 up to some threshold of at least 0, label 0 above it.
    n_columns : int
        The number d of columns of the corners.
    sample : callable
        Returns n codes and their labels, drawn from the distribution that `codes` and `labels` have.
    learn : callable
        Private algorithm: takes d n rows of d codes and their labels, and returns the d thresholds of a
        corner, whose label is 1 where each code is at most its threshold.
    dice : Dice
        Draws the column of the private examples.

    Returns
    -------
    int
        The threshold.

    Notes
    -----
    The private examples are placed on a random column, and fresh samples on each other one; all other codes
    of a row are 0, which every threshold gives label 1. So some corner has no error.

    **Privacy.** That of `learn`: one replaced record replaces one of its rows.

    **Accuracy.** If `learn` makes at most alpha d n errors with probability 1 - beta, the returned threshold
    makes more than c alpha n errors with probability at most beta + 1 / c, for every c > 1. Proof: a corner
    labels the rows of a column as the column's threshold does, or all rows 0, as the threshold -1 does, which
    is returned then. So the errors of all columns add up to those of the corner, and fewer than d / c columns
    have more than c alpha n. The columns are distributed alike, so `learn` does not know which one is
    private.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Theorem 6.4, there for conjunctions of d concepts of
    any class with a point that every concept gives label 1.

    Examples
    --------
    >>> from dplearn.chance import SeededDice
    >>> from dplearn.theory import threshold_from_corner_learner
    >>> def learn(rows, labels):  # no privacy; a private algorithm takes its place
    ...     return [max(row[j] for row, label in zip(rows, labels, strict=True) if label) for j in range(2)]
    >>> given = {"sample": lambda: ([2, 7, 11], [1, 1, 0]), "learn": learn, "dice": SeededDice(0)}
    >>> threshold_from_corner_learner([3, 8, 12], [1, 1, 0], n_columns=2, **given)
    8
    """
    d, n = check_count("n_columns", n_columns, low=1), len(codes)
    own = int(dice.below(d))
    rows: list[tuple[int, ...]] = []
    answers: list[int] = []
    for column in range(d):
        placed, given = (codes, labels) if column == own else sample()
        if len(placed) != n:
            raise ValueError(f"sample must return {n} codes, as many as the private ones, got {len(placed)}")
        rows += [tuple(code if place == column else 0 for place in range(d)) for code in placed]
        answers += given
    found = learn(rows, answers)
    return -1 if min(found) < 0 else found[own]


def learner_from_release(
    values: Sequence[Value],
    labels: Sequence[int] | NDArray[Any],
    concepts: Sequence[Concept],
    *,
    absent: Value,
    release: Callable[[list[Value]], Callable[[Concept], float]],
) -> Concept:
    """Return a concept with few errors, learned from two releases of counts for a class.

    Parameters
    ----------
    values : sequence of length n
        Private. Values of any type that `release` takes.
    labels : sequence of int, or ndarray of int or bool, of length n
        Private. Labels 0 and 1.
    concepts : sequence
        Public. The concepts, at least one; a threshold may stand for itself.
    absent : value
        Public. A value at which every concept is 0.
    release : callable
        Private algorithm: takes a list of n values, and returns a function from a concept to an estimate of
        the number of these at which the concept is 1. It is called twice, and must draw anew each time.

    Returns
    -------
    concept
        The first concept with the least estimated number of errors.

    Raises
    ------
    ValueError
        If there are no concepts, or as many labels as values are not given.

    Notes
    -----
    The first list holds the values with label 1, the second those with label 0, with `absent` in all other
    places. The errors of a concept are the number of ones, less those at which it is 1, plus the zeros at
    which it is 1.

    **Privacy.** That of two releases: epsilons and deltas add, since a replaced record replaces one value of
    each list at most, of both if its label changes.

    **Accuracy.** If every estimate has an error of at most a, the returned concept has at most 4 a errors
    more than the best: the estimated difference of the errors of two concepts has four estimates in it. This
    is attained. So with estimates within alpha n, which two releases have with probability 1 - 2 beta, the
    excess is at most 4 alpha n.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 6.8, after Gupta, Hardt, Roth and Ullman (2011)
    and Beimel, Nissim and Stemmer (2013). The constants are ours.

    Examples
    --------
    >>> from dplearn.theory import learner_from_release
    >>> def release(values):  # exact counts; a private algorithm takes their place
    ...     return lambda threshold: sum(value <= threshold for value in values)
    >>> learner_from_release([3, 8, 12], [1, 1, 0], range(-1, 20), absent=20, release=release)
    8
    """
    if not len(concepts) or len(values) != len(labels):
        raise ValueError(
            "concepts must not be empty, and labels must be as many as values, got"
            f" {len(concepts)} concepts, {len(labels)} labels and {len(values)} values"
        )
    is_one = np.asarray(labels, dtype=bool).tolist()
    ones = release([value if one else absent for value, one in zip(values, is_one, strict=True)])
    zeros = release([absent if one else value for value, one in zip(values, is_one, strict=True)])
    return min(concepts, key=lambda concept: zeros(concept) - ones(concept))


@dataclass(frozen=True)
class LearnedDistribution:
    """A distribution over finitely many values.

    Attributes
    ----------
    weights : ndarray of float64 of shape (n_values,)
        The probability of each value.
    discrepancy : float
        The greatest absolute difference between a released answer and that of the distribution.
    """

    weights: NDArray[np.float64]
    discrepancy: float


def learned_distribution(queries: Any, answers: Any) -> LearnedDistribution:
    """Return the distribution whose query answers are nearest to the released ones; costs no privacy.

    Parameters
    ----------
    queries : array-like or sparse matrix of float of shape (n_queries, n_values)
        Public. Value of each query on each value of the domain, from 0 to 1; the answer to a query is its
        mean over the records.
    answers : array-like of float of shape (n_queries,)
        Released. Answers of any mechanism; they may be inconsistent.

    Raises
    ------
    ValueError
        If the shapes do not match, or a number is not as described.

    Notes
    -----
    **Accuracy.** If each answer is within alpha of the records' mean, so is the empirical distribution, and
    each answer of the learned one is within 2 alpha of it. For independent records, `generalisation_failure`
    or, for all thresholds, `dkw_bound` bounds the distance from the means of the population, which is added.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Theorem 4.8; Dwork, Naor, Reingold, Rothblum and
    Vadhan (2009). Here the discrepancy is minimised, so that alpha need not be known.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.theory import learned_distribution
    >>> at_most = np.tri(4)  # query i: the fraction of records that are at most i
    >>> learned = learned_distribution(at_most, [0.1, 0.4, 0.38, 1.0])  # noisy answers, not monotone
    >>> round(learned.discrepancy, 4), bool(learned.weights[2] < 1e-9)
    (0.01, True)
    """
    rows, wanted = csr_array(queries, dtype=np.float64), np.asarray(answers, dtype=np.float64)
    if wanted.shape != rows.shape[:1] or not rows.shape[1] or not wanted.size:
        raise ValueError(
            f"answers must have shape (n_queries,) where queries have shape (n_queries, n_values), got"
            f" {wanted.shape} and {rows.shape}"
        )
    inside = np.isfinite(rows.data).all() and (rows.data >= 0).all() and (rows.data <= 1).all()
    if not inside or not np.isfinite(wanted).all():
        raise ValueError(_NO_ANSWER)
    # Minimise t over weights w >= 0 of sum 1, where -t <= Q w - answers <= t.
    apart = csr_array(np.full((wanted.size, 1), -1.0))
    bounds: Any = vstack([hstack([rows, apart]), hstack([-rows, apart])])  # the type stubs lack sparse arrays
    n_values = rows.shape[1]
    from scipy.optimize import linprog  # its import takes long

    found = linprog(
        np.append(np.zeros(n_values), 1.0),
        A_ub=bounds,
        b_ub=np.concatenate((wanted, -wanted)),
        A_eq=np.append(np.ones(n_values), 0.0)[None],
        b_eq=[1.0],
        method="highs",
    )
    if found.x is None:
        raise RuntimeError(f"the linear program was not solved: {found.message}")
    weights = np.maximum(found.x[:-1], 0.0)
    weights /= weights.sum()
    return LearnedDistribution(weights, float(np.abs(rows @ weights - wanted).max()))
