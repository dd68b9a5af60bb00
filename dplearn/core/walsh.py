"""All 2**d parities of d bits at once: the Walsh-Hadamard transform of integers, exact.

A point x and a parity r are numbers 0..2**d - 1. The parity gives a point the label popcount(r & x) mod 2: it
says whether the number of bits of x that r looks at is odd. The transform

    W[r] = sum over x of (-1)**popcount(r & x) * values[x]

compares `values` with all parities: of n labelled records, count those at x with label 0 less those with
label 1, and parity r gets (n - W[r]) / 2 of them wrong.

Bits are transformed a few at a time, by products with a matrix of +1 and -1: nothing at hand adds faster than
the library for linear algebra. It adds floats, and none is ever rounded. Whatever the order of additions, a
partial sum is a sum of some of the values, each once and with a sign: an integer no larger than the sum of
all absolute values. Single precision holds every integer up to 2**24, double precision up to 2**53.

>>> import numpy as np
>>> walsh_hadamard(np.array([1, 0, -2, 0])).tolist()
[-1, -1, 3, 3]
>>> points = points_of([np.array([0, 1, 1], dtype=np.uint8), np.array([0, 0, 1], dtype=np.uint8)])
>>> points.tolist()
[0, 1, 3]
>>> parity_errors(points, np.array([0, 1, 0]), 2).tolist()  # of 0, x0, x1, x0 + x1
[1, 1, 2, 0]
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dasum, sasum

from dplearn._validation import check_count
from dplearn.core.grouping import check_integers

__all__ = ["nearest_parity", "parity_errors", "points_of", "walsh_hadamard"]

Floats = NDArray[np.floating[Any]]

_MOST = 32  # bits of a point
_SINGLE, _DOUBLE = 1 << 24, 1 << 53  # up to these, floats hold all integers
_BLOCK = 16  # 2**16 floats, and as many to spare, stay in the cache
_ROWS = 8  # bits whose rows, far apart in memory, are transformed together
_FIRST, _NEXT = 5, 4  # bits of one product: of the lowest bits, and of others
_RECORDS = 1 << 14  # counted at a time: copies of so many stay in the cache
_PIECE = 1 << 13  # floats of one product: the nearest cache holds them, and no thread is worth starting


def walsh_hadamard(values: Any, *, bound: int | None = None) -> NDArray[Any]:
    """Return the Walsh-Hadamard transform of integers, not normalised, in natural order.

    Parameters
    ----------
    values : array-like of int of shape (2**d,)
    bound : int, optional
        At least the sum of all absolute values, and below 2**53. Nothing but the type of the result, time
        and memory depend on it; where `values` are private and those must not tell of them, give a public
        number, such as that of records. None takes the sum itself.

    Returns
    -------
    ndarray of shape (2**d,)
        Element r is the sum of (-1)**popcount(r & x) * values[x] over all x. int16 if bound < 2**15, int32
        if bound < 2**31, else int64.

    Raises
    ------
    TypeError
        If `values` are not integers in one dimension, or `bound` is none.
    ValueError
        If their number is not a power of 2, or their absolute values sum to more than `bound` or to 2**53
        or more. The message does not show them.

    Notes
    -----
    Beside the result, some megabytes are needed whatever d.
    """
    values = check_integers("values", values)
    if values.size & (values.size - 1):
        raise ValueError("values must be 2**d numbers")
    bound = _absolute_sum(values) if bound is None else check_count("bound", bound, high=_DOUBLE - 1)
    return _transformed(values, np.empty(values.size, dtype=_dtype(bound)), bound)


def points_of(columns: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint32]:
    """Return each record as a number: bit j is that of column j.

    Parameters
    ----------
    columns : sequence of d ndarrays of uint8 of shape (n,)
        From 1 to 32; entries are 0 or 1.

    Returns
    -------
    ndarray of uint32 of shape (n,)
    """
    check_count("the number of columns", len(columns), low=1, high=_MOST)
    points = np.zeros(len(columns[0]), dtype=np.uint32)
    for start in range(0, len(columns), 8):
        # Bytes first: 4 times as many fit a register.
        eight = np.zeros(len(points), dtype=np.uint8)
        for column in reversed(columns[start : start + 8]):
            eight <<= 1
            eight |= column
        points |= eight.astype(np.uint32) << start
    return points


def parity_errors(points: NDArray[Any], bits: NDArray[Any], n_features: int) -> NDArray[Any]:
    """Return how many records each of the 2**d parities gets wrong.

    Parameters
    ----------
    points : ndarray of int of shape (n,)
        Private. The features of each record, bit j of the number being feature j.
    bits : ndarray of int of shape (n,)
        Private. The label of each record, 0 or 1.
    n_features : int
        The number d, from 1 to 32.

    Returns
    -------
    ndarray of shape (2**d,)
        Element r is the number of records whose label is not popcount(r & point) mod 2. int16 if n < 2**15,
        int32 if n < 2**31, else int64.

    Raises
    ------
    TypeError
        If `points` or `bits` are not integers in one dimension, or `n_features` is none.
    ValueError
        If `n_features` is out of range, a point or a label is, or their numbers differ. The message does not
        show them.
    """
    size = 1 << check_count("n_features", n_features, low=1, high=_MOST)
    points, bits = np.asarray(points), np.asarray(bits)
    for name, array, most in (("points", points, size - 1), ("bits", bits, 1)):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            raise TypeError(f"{name} must be a one-dimensional array of integers")
        if array.size and (array.min() < 0 or array.max() > most):
            raise ValueError(f"{name} must be from 0 to {most}")
    n = len(points)
    if len(bits) != n:
        raise ValueError("bits must be as many as points")
    errors = np.zeros(size, dtype=_dtype(n))
    for start in range(0, n, _RECORDS):
        part = slice(start, start + _RECORDS)
        np.add.at(errors, points[part].astype(np.intp), 1 - 2 * bits[part].astype(errors.dtype))
    _transformed(errors, errors, n)
    # The difference is in 0..2n: as signed numbers it may overflow, but never as unsigned ones.
    doubled = errors.view(f"u{errors.itemsize}")
    np.subtract(doubled.dtype.type(n), doubled, out=doubled)
    doubled >>= 1
    return errors


def nearest_parity(values: Any, *, complements: bool = False) -> tuple[int, int]:
    """Return the parity that agrees with a function of d bits at most points.

    Parameters
    ----------
    values : array-like of int or bool of shape (2**d,)
        What the function gives to each point, 0 or 1.
    complements : bool, default=False
        Whether parities plus 1 take part.

    Returns
    -------
    parity : int
        The first of the best; 2**d + r stands for the complement of parity r.
    agreements : int
        At how many of the 2**d points the two are the same.

    Raises
    ------
    TypeError, ValueError
        If `values` are not 2**d integers, 0 or 1.

    Notes
    -----
    Two different parities differ at half of all points. So where a function differs from a parity at less
    than a quarter of them, it differs from all others at more than a quarter, and that parity is found.

    **Source.** Bun, Nissim and Stemmer (2016), Lemma 5.3.
    """
    array = np.asarray(values)
    array = check_integers("values", array.view(np.uint8) if array.dtype == bool else array)
    if array.min() < 0 or array.max() > 1:
        raise ValueError("values must be 0 or 1")
    size = array.size
    excess = walsh_hadamard(1 - 2 * array.astype(np.int8), bound=size)  # of agreements over differences
    best = int(excess.argmax())
    most = int(excess[best])
    if complements and -int(excess.min()) > most:
        best = int(excess.argmin())
        most = -int(excess[best])
        best += size
    return best, (size + most) // 2


def _transformed(values: NDArray[Any], result: NDArray[Any], bound: int) -> NDArray[Any]:
    """Return `result`, filled; it may be `values` itself."""
    kind: type[np.floating[Any]] = np.float32 if bound < _SINGLE else np.float64
    absolute_sum = sasum if bound < _SINGLE else dasum
    d = values.size.bit_length() - 1
    done = min(d, _BLOCK)
    work, spare = np.empty(1 << done, dtype=kind), np.empty(1 << done, dtype=kind)
    total = 0.0
    for block, out in zip(values.reshape(-1, 1 << done), result.reshape(-1, 1 << done), strict=True):
        np.copyto(work, block, casting="unsafe")
        total += absolute_sum(work)
        if total > bound:  # exact up to the bound, and a sum beyond it is never rounded to it
            raise ValueError(f"values must have absolute values that sum to at most {bound}")
        np.copyto(out, _of_bits(work, spare, 0, done), casting="unsafe")
    while done < d:
        more = min(d - done, _ROWS)
        width = _BLOCK - more
        for part in result.reshape(-1, 1 << more, 1 << done - width, 1 << width):
            for start in range(part.shape[1]):
                columns = part[:, start]
                np.copyto(work.reshape(columns.shape), columns, casting="unsafe")
                transformed = _of_bits(work, spare, width, _BLOCK).reshape(columns.shape)
                np.copyto(columns, transformed, casting="unsafe")
        done += more
    return result


def _of_bits(work: Floats, spare: Floats, low: int, high: int) -> Floats:
    """Return the transform over the bits low..high-1 of a position; it is one of the arguments."""
    bit = low
    while bit < high:
        step = min(_NEXT if bit else _FIRST, high - bit)
        signs = _signs(step, work.dtype)
        if bit == 0:
            shape: tuple[int, ...] = (-1, min(_PIECE, work.size) >> step, 1 << step)
            np.matmul(work.reshape(shape), signs, out=spare.reshape(shape))
        else:
            width = min(1 << bit, _PIECE >> step)
            shape = (-1, 1 << step, (1 << bit) // width, width)
            pieces, out = work.reshape(shape).swapaxes(1, 2), spare.reshape(shape).swapaxes(1, 2)
            np.matmul(signs, pieces, out=out)
        work, spare = spare, work
        bit += step
    return work


@cache
def _signs(bits: int, kind: np.dtype[Any]) -> Floats:
    """Return the matrix of (-1)**popcount(r & x)."""
    numbers = np.arange(1 << bits)
    signs: Floats = np.where(np.bitwise_count(numbers[:, None] & numbers) & 1, -1, 1).astype(kind)
    return signs


def _absolute_sum(values: NDArray[Any]) -> int:
    """Return the sum of absolute values; the error does not show them."""
    total, work = 0.0, np.empty(min(values.size, _PIECE))
    for piece in values.reshape(-1, work.size):
        np.copyto(work, piece, casting="unsafe")
        total += dasum(work)  # exact below 2**53, and a sum that is 2**53 or more is never rounded to less
    if total >= _DOUBLE:
        raise ValueError("values must have absolute values that sum to less than 2**53")
    return int(total)


def _dtype(bound: int) -> type[np.signedinteger[Any]]:
    if bound < 1 << 15:
        return np.int16
    return np.int32 if bound < 1 << 31 else np.int64
