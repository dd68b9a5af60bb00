"""Interior points from counts or from a threshold learner, and a threshold learner from interior points.

Each function takes private codes of an ordered domain, from 0 to size - 1, and a private algorithm as a
callable; it says what one replaced record changes in what the callable gets, and so what is guaranteed.

>>> interior_point_from_counts([40, 50, 60], 100, n_padded=5, release=lambda codes: (
...     lambda code: sum(value <= code for value in codes)
... ))
50
>>> threshold_from_interior_point([3, 8, 12], [1, 1, 0], 20, m=2, interior_point=lambda codes, size: 10)
9
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count

__all__ = [
    "interior_point_from_counts",
    "interior_point_from_threshold_learner",
    "threshold_from_interior_point",
]


def interior_point_from_counts(
    codes: Sequence[int],
    size: int,
    *,
    n_padded: int,
    release: Callable[[list[int]], Callable[[int], float]],
) -> int:
    """Return an interior point, from noisy numbers of records at or below each code.

    Parameters
    ----------
    codes : sequence of int of length n
        Private.
    size : int
        How many codes there are.
    n_padded : int
        How many codes `release` takes; n, or more by an even number.
    release : callable
        Private algorithm: takes n_padded codes, and returns a function from a code to about how many of them
        are at it or below. It is asked at about log2(size) codes.

    Notes
    -----
    **Privacy.** That of `release`: one replaced record replaces one of its codes.

    **Accuracy.** Half the padding is the least code and half the greatest. If every number is wrong by less
    than n / 2, at the code that is found more than the lower half of the padding is at it or below, and at
    the code before it less than all but the upper half: some of the data are at it or below, and some at it
    or above.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Theorem 4.6, item 1.
    """
    padding = check_count("n_padded", n_padded, low=len(codes)) - len(codes)
    if padding % 2:
        raise ValueError("n_padded must exceed the number of codes by an even number")
    count = release([*[0] * (padding // 2), *codes, *[size - 1] * (padding // 2)])
    low, high = -1, size - 1  # fewer than half are at low or below, but for noise, and more than that at high
    while high - low > 1:
        middle = (low + high) // 2
        if 2 * count(middle) >= n_padded:
            high = middle
        else:
            low = middle
    return high


def threshold_from_interior_point(
    codes: Sequence[int] | NDArray[Any],
    labels: Sequence[int] | NDArray[Any],
    size: int,
    *,
    m: int,
    interior_point: Callable[[list[int], int], int],
) -> int:
    """Return a threshold t, from -1 to size - 1: records at it or below are labelled 1, the others 0.

    Parameters
    ----------
    codes : sequence of int, or ndarray of unsigned int or of int objects, of length n
        Private. From 0 to size - 1.
    labels : sequence of int, or ndarray of int or bool, of length n
        Private. Labels 0 and 1.
    size : int
        How many codes there are.
    m : int
        How many examples of each label to look at.
    interior_point : callable
        Private algorithm: takes 2 m codes of a domain of size + 1 and that size, and returns a code.

    Notes
    -----
    The points are the m greatest examples labelled 1, filled up with m times one step below the domain; and
    the m least labelled 0, each moved one step down, filled up with m times the top.

    **Privacy.** That of `interior_point` for two replaced records, `ApproxDP.for_group(2)`. Proof: an example
    that is replaced and keeps its label replaces one of that label's m points at most. One that changes it is
    taken from one label and given to the other, which replaces one point of each at most.

    **Accuracy.** Let some threshold t have no error. A threshold c < t with k examples labelled 1 above it
    has at most m - min(m, k) points not above it: all points of examples labelled 0, moved down, are at t or
    above, and so above c. A threshold c > t that k examples labelled 0 are at or below has at most
    m - min(m, k) points not below it. And t has m of each kind. So every interior point makes at most m - 1
    errors, and a threshold with m - k points or more on each side, its own included, at most k.
    `dplearn.theory.interior_point_examples` goes on to data that no threshold labels without error.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 5.7, item 1 (and so Theorem 5.6, item 1). There
    no example is moved, and ties break it: of two records at the top, both labelled 0, m = 1 of which is
    looked at, the top may be the interior point, and the threshold there is wrong at both.
    """
    check_count("m", m, low=1)
    values = codes if isinstance(codes, np.ndarray) else np.array(codes, dtype=object)
    is_one = np.asarray(labels, dtype=bool)
    # Thresholds begin one step below the domain, so that code c becomes c + 1, and one step down of it c.
    ones = [code + 1 for code in np.sort(values[is_one])[-m:].tolist()]
    zeros = np.sort(values[~is_one])[:m].tolist()
    points = [0] * (m - len(ones)) + ones + zeros + [size] * (m - len(zeros))
    return interior_point(points, size + 1) - 1


def interior_point_from_threshold_learner(
    codes: Sequence[int],
    size: int,
    *,
    n_padded: int,
    learn: Callable[[list[int], list[int], int], int],
) -> int:
    """Return an interior point, from an algorithm that learns thresholds.

    Parameters
    ----------
    codes : sequence of int of length n
        Private; n even.
    size : int
        How many codes there are.
    n_padded : int
        How many examples `learn` takes; n, or more by an even number.
    learn : callable
        Private algorithm: takes n_padded codes of a domain of 2 size, their labels and that size, and returns
        a threshold as `threshold_from_interior_point` does.

    Notes
    -----
    **Privacy.** That of `learn` for two replaced records: a replaced code, and the one in the middle, whose
    label may change.

    **Accuracy.** The lower half of the data is labelled 1 and the upper half 0; the padding is at both ends.
    Zeros stand half a step above, so that a threshold without errors exists whatever the ties. A threshold
    below all data is wrong at all n / 2 ones, one above all at all n / 2 zeros: with fewer errors than n / 2
    it is an interior point.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 5.7, item 2 (and, with `SecretSampleClassifier`,
    Theorem 5.6, item 2), but for the half step.
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
