"""Lines in the plane over the integers modulo a prime p: the points (x, a x + b), for each a and b.

Two points with different x lie on exactly one line, two with equal x on none. The quality of a line is the
number of its points, counted with multiplicity, minus the greatest multiplicity of one of them. If all points
lie on one line, every other line has quality 0.

>>> points = counted([0, 1, 1, 2], [1, 3, 3, 5])
>>> leading_line(points, 7)
((2, 1), 0)
>>> leading_line(counted([0, 1, 2] * 4, [1, 3, 5] * 4), 7)
((2, 1), 3)
>>> leading_point(counted([4] * 9, [1] * 9))
((4, 1), 4)
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.core.points import distance_of_lead

__all__ = ["Points", "counted", "inverses", "leading_line", "leading_point", "residues", "slopes_from"]

Points = Mapping[tuple[int, int], int]
_NARROW = 1 << 31  # below it, products of two residues fit into 64 bits


def counted(x: Any, y: Any) -> Counter[tuple[int, int]]:
    """Return the number of occurrences of each point; `x` and `y` are sequences of Python integers."""
    return Counter(zip(x, y, strict=True))


def residues(values: Any, p: int) -> NDArray[Any]:
    """Return integers from 0 to p - 1 as int64 if p < 2**31, else as Python integers."""
    if p < _NARROW:
        return np.array(values, dtype=np.int64)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def inverses(values: NDArray[Any], p: int) -> NDArray[Any]:
    """Return the inverses modulo p, with one inversion and about three products a value.

    Parameters
    ----------
    values : ndarray of shape (n,)
        From 1 to p - 1, as returned by `residues`.
    p : int
        A prime.

    Notes
    -----
    The inverse of a product of two values, multiplied by one of them, is the inverse of the other. Products
    of pairs are inverted together, by the same rule.
    """
    if len(values) < 2:
        return residues([pow(value, -1, p) for value in values.tolist()], p)
    half = len(values) // 2
    first, second = values[:half], values[half : 2 * half]
    odd = values[2 * half :]
    found = inverses(np.concatenate((first * second % p, odd)), p)
    pairs = found[:half]
    return np.concatenate((pairs * second % p, pairs * first % p, found[half:]))


def slopes_from(x: NDArray[Any], y: NDArray[Any], place: int, p: int, start: int = 0) -> "Slopes":
    """Return the slopes of the lines through one of several distinct points and each of the others.

    Parameters
    ----------
    x, y : ndarray of shape (n,)
        As returned by `residues`.
    place : int
        The position of the point.
    p : int
        A prime.
    start : int, default=0
        Points before this position are left out.
    """
    dx, dy = (x[start:] - x[place]) % p, (y[start:] - y[place]) % p
    kept = np.flatnonzero(dx != 0)
    slopes = dy[kept] * inverses(dx[kept], p) % p
    distinct, groups = np.unique(slopes, return_inverse=True)
    return Slopes(distinct, groups.reshape(-1), start + kept)


@dataclass(frozen=True, repr=False)
class Slopes:
    """The slopes of the lines from one point to others.

    Attributes
    ----------
    distinct : ndarray of shape (n_lines,)
        Private. The slopes, sorted.
    groups : ndarray of int of shape (n_others,)
        Private. For each other point on a line, the index of its slope.
    places : ndarray of int of shape (n_others,)
        Private. The positions of these points, increasing.
    """

    distinct: NDArray[Any]
    groups: NDArray[np.intp]
    places: NDArray[np.intp]

    def sums(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the sum of the weights of the other points on each line; below 2**53."""
        totals = np.bincount(self.groups, weights=weights[self.places], minlength=len(self.distinct))
        return totals.astype(np.int64)


def leading_line(points: Points, p: int) -> tuple[tuple[int, int] | None, int]:
    """Return the line with the greatest quality, and its distance to instability.

    Parameters
    ----------
    points : mapping from (x, y) to int
        Private. The multiplicity of each point.
    p : int
        A prime.

    Returns
    -------
    line : (slope, intercept), or None
        The line with a quality above that of all others; None if there is none.
    distance : int
        0 if one replaced point may change the line; it changes by at most 1 with a replaced point.

    Notes
    -----
    Proof: a point added to a line increases its number of points by 1 and its greatest multiplicity by 0 or
    1, so a replaced point changes each quality by at most 1, and so the greatest and the second greatest. The
    lead, their difference, changes by at most 2; the rest is the proof of `core.points.leading_key`.

    Time is linear in the number of distinct points if they lie on one line, and quadratic otherwise.
    """
    if len(points) < 2:
        return None, 0
    (x, y), counts = _columns(points, p), np.array(list(points.values()), dtype=np.int64)
    others = np.flatnonzero(x != x[0])
    if not others.size:
        return None, 0
    line = _line_through(x, y, [0, int(others[0])], p)
    if not ((line[0] * x + line[1] - y) % p).any():
        lead = int(counts.sum() - counts.max())
    else:
        line, lead = _best_line(x, y, counts, p)
    return (line, distance_of_lead(lead)) if lead > 0 else (None, 0)


def leading_point(points: Points) -> tuple[tuple[int, int] | None, int]:
    """Return the point with the greatest multiplicity, and its distance to instability.

    Parameters
    ----------
    points : mapping from (x, y) to int
        Private. The multiplicity of each point.

    Returns
    -------
    point : (x, y), or None
        None if no point occurs more often than all others.
    distance : int
        As for `leading_line`; the proof is that of `core.points.leading_key`.
    """
    if not points:
        return None, 0
    (point, most), *others = Counter(points).most_common(2)
    lead = most - max([0, *(count for _, count in others)])
    return (point, distance_of_lead(lead)) if lead > 0 else (None, 0)


def _columns(points: Points, p: int) -> tuple[NDArray[Any], NDArray[Any]]:
    x, y = zip(*points, strict=True)
    return residues(x, p), residues(y, p)


def _line_through(x: NDArray[Any], y: NDArray[Any], places: list[int], p: int) -> tuple[int, int]:
    """Return the line through two points with different x, as Python integers."""
    (x0, x1), (y0, y1) = x[places].tolist(), y[places].tolist()
    slope = (y1 - y0) * pow(x1 - x0, -1, p) % p
    return slope, (y0 - slope * x0) % p


def _best_line(
    x: NDArray[Any], y: NDArray[Any], counts: NDArray[np.int64], p: int
) -> tuple[tuple[int, int], int]:
    """Return a line of the greatest quality, and the lead over the second greatest."""
    best, most, second = (-1, -1), 0, 0
    for line, quality in _qualities(x, y, counts, p):
        if line == best:
            continue  # without its first points, so the quality is not greater
        if quality > most:
            best, most, second = line, quality, most
        else:
            second = max(second, quality)
    return best, most - second


def _qualities(
    x: NDArray[Any], y: NDArray[Any], counts: NDArray[np.int64], p: int
) -> Iterator[tuple[tuple[int, int], int]]:
    """Yield, for each point, the two best lines through it and later points, with their qualities there.

    Each line is complete at the first of its points. Only the two best lines at a point can be the first and
    the second of all, or one of these is a part of a line that was complete before.
    """
    for place in range(len(x) - 1):
        lines = slopes_from(x, y, place, p, start=place + 1)
        if not lines.distinct.size:
            continue
        most = np.full(len(lines.distinct), counts[place])
        np.maximum.at(most, lines.groups, counts[lines.places])
        qualities = counts[place] + lines.sums(counts) - most
        for group in np.argsort(-qualities, kind="stable")[:2].tolist():
            slope = int(lines.distinct[group])
            yield (slope, int((y[place] - slope * x[place]) % p)), int(qualities[group])
