"""Hadamard transforms: exact ones of integers, for the errors of all parities, and signed ones of rows.

**All parities.** A point x and a parity r are numbers 0..2**d - 1; the parity labels x popcount(r & x) mod 2.
If values[x] is the number of records at x with label 0 minus that with label 1, of n records, parity r has (n
- W[r]) / 2 errors, where

    W[r] = sum over x of (-1)**popcount(r & x) * values[x]

The transform multiplies by a matrix of +1 and -1 for a few bits at a time, as linear algebra libraries add
fast. Float additions are exact: every partial sum is an integer of magnitude at most the sum of all absolute
values, and single precision has all integers up to 2**24, double precision up to 2**53.

**Rows.** The signed transform multiplies each entry of a row by a public sign before the Hadamard transform,
which distributes the row's norm over all coordinates. Here are one coordinate of each row, and the inverse.
"""

import hashlib
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard
from scipy.linalg.blas import dasum, sasum

from dplearn._validation import check_count
from dplearn.kernels.grouping import check_integers
from dplearn.kernels.rows import blocks

Floats = NDArray[np.floating[Any]]

_MOST = 32  # bits of a point
_SINGLE, _DOUBLE = 1 << 24, 1 << 53  # floats represent all integers up to these
BLOCK = 16  # bits; 2**16 floats and a work array of the same size fit into the cache
ROWS = 8  # number of bits transformed together if their rows are far apart in memory
_FIRST, _NEXT = 5, 4  # number of bits of one product: of the lowest bits, and of others
_RECORDS = 1 << 14  # records counted at a time; their copies fit into the cache
PIECE = 1 << 13  # floats of one product; they fit into the first-level cache and start no thread
_LARGEST = 1 << 13  # largest number of coordinates of the signed transform, whose matrix is kept in memory


def walsh_hadamard(values: Any, *, bound: int | None = None) -> NDArray[Any]:
    """Return the Walsh-Hadamard transform: for each r the sum of (-1)**popcount(r & x) values[x]."""
    # `bound`, at least the sum of all absolute values and below 2**53, determines dtype, time and memory: a
    # public number, where values are private.
    values = check_integers("values", values)
    if values.size & (values.size - 1):
        raise ValueError("values must be 2**d numbers")
    bound = _absolute_sum(values) if bound is None else check_count("bound", bound, high=_DOUBLE - 1)
    return _transformed(values, np.empty(values.size, dtype=_dtype(bound)), bound)


def points_of(columns: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint32]:
    """Return each record as a number; its bit j is the entry (0 or 1) of column j, of at most 32."""
    check_count("the number of columns", len(columns), low=1, high=_MOST)
    points = np.zeros(len(columns[0]), dtype=np.uint32)
    for start in range(0, len(columns), 8):
        # Collected in bytes first: a register holds 4 times as many.
        eight = np.zeros(len(points), dtype=np.uint8)
        for column in reversed(columns[start : start + 8]):
            eight <<= 1
            eight |= column
        points |= eight.astype(np.uint32) << start
    return points


def parity_errors(points: NDArray[Any], bits: NDArray[Any], n_features: int) -> NDArray[Any]:
    """Return the number of errors of each of the 2**d parities on records, given as numbers of d bits."""
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
    for part in blocks(n, _RECORDS):
        np.add.at(errors, points[part].astype(np.intp), 1 - 2 * bits[part].astype(errors.dtype))
    _transformed(errors, errors, n)
    # The difference is in 0..2n: it may overflow a signed integer, but not the unsigned one of the same size.
    doubled = errors.view(f"u{errors.itemsize}")
    np.subtract(doubled.dtype.type(n), doubled, out=doubled)
    doubled >>= 1
    return errors


def nearest_parity(values: Any, *, complements: bool = False) -> tuple[int, int]:
    """Return the parity that agrees with a function of d bits at the most points, and at how many; 2**d + r
    is the complement of r, with `complements`. One that differs at less than a quarter of all points is
    found, as two parities differ at half (Bun, Nissim and Stemmer 2016, Lemma 5.3).
    """
    array = np.asarray(values)
    array = check_integers("values", array.view(np.uint8) if array.dtype == bool else array)
    if array.min() < 0 or array.max() > 1:
        raise ValueError("values must be 0 or 1")
    size = array.size
    excess = walsh_hadamard(1 - 2 * array.astype(np.int8), bound=size)  # agreements minus differences
    best = int(excess.argmax())
    most = int(excess[best])
    if complements and -int(excess.min()) > most:
        best = int(excess.argmin())
        most = -int(excess[best])
        best += size
    return best, (size + most) // 2


def hadamard_size(size: int) -> int:
    """Return the number of coordinates of the signed transform of `size` numbers: the next power of two."""
    transformed = 1 << max(size - 1, 0).bit_length()
    if transformed > _LARGEST:
        raise ValueError(f"size must be at most {_LARGEST}, got {size}")
    return transformed


def hadamard_coordinate(rows: NDArray[np.int64], picked: NDArray[Any]) -> NDArray[np.int64]:
    """Return coordinate picked[i] of the signed Hadamard transform of row i."""
    matrix = _signed_matrix(rows.shape[1])
    signs = matrix[np.asarray(picked, dtype=np.intp)]
    return np.asarray(np.einsum("ij,ij->i", rows, signs, dtype=np.int64))


def hadamard_inverse(transformed: NDArray[Any], size: int) -> NDArray[np.float64]:
    """Return the least-squares inverse of the signed transform: a vector of `size` numbers."""
    matrix = _signed_matrix(size)
    return np.asarray(matrix.T @ transformed / len(matrix), dtype=np.float64)


def _transformed(values: NDArray[Any], result: NDArray[Any], bound: int) -> NDArray[Any]:
    """Write the transform of `values` to `result`, which may be `values` itself, and return it."""
    kind: type[np.floating[Any]] = np.float32 if bound < _SINGLE else np.float64
    absolute_sum = sasum if bound < _SINGLE else dasum
    d = values.size.bit_length() - 1
    done = min(d, BLOCK)
    work, spare = np.empty(1 << done, dtype=kind), np.empty(1 << done, dtype=kind)
    total = 0.0
    for block, out in zip(values.reshape(-1, 1 << done), result.reshape(-1, 1 << done), strict=True):
        np.copyto(work, block, casting="unsafe")
        total += absolute_sum(work)
        if total > bound:  # float sums are exact up to the bound, and a larger sum is not rounded down to it
            raise ValueError(f"values must have absolute values that sum to at most {bound}")
        np.copyto(out, _of_bits(work, spare, 0, done), casting="unsafe")
    while done < d:
        more = min(d - done, ROWS)
        width = BLOCK - more
        for part in result.reshape(-1, 1 << more, 1 << done - width, 1 << width):
            for start in range(part.shape[1]):
                columns = part[:, start]
                np.copyto(work.reshape(columns.shape), columns, casting="unsafe")
                transformed = _of_bits(work, spare, width, BLOCK).reshape(columns.shape)
                np.copyto(columns, transformed, casting="unsafe")
        done += more
    return result


def _of_bits(work: Floats, spare: Floats, low: int, high: int) -> Floats:
    """Return the transform over the bits low..high-1 of a position, in one of the two given arrays."""
    bit = low
    while bit < high:
        step = min(_NEXT if bit else _FIRST, high - bit)
        signs = _signs(step, work.dtype)
        if bit == 0:
            shape: tuple[int, ...] = (-1, min(PIECE, work.size) >> step, 1 << step)
            np.matmul(work.reshape(shape), signs, out=spare.reshape(shape))
        else:
            width = min(1 << bit, PIECE >> step)
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
    return np.where(np.bitwise_count(numbers[:, None] & numbers) & 1, -1, 1).astype(kind)


def _absolute_sum(values: NDArray[Any]) -> int:
    """Return the sum of absolute values; the error message does not show the values."""
    total, work = 0.0, np.empty(min(values.size, PIECE))
    for piece in values.reshape(-1, work.size):
        np.copyto(work, piece, casting="unsafe")
        total += dasum(work)  # float sums are exact below 2**53, and a larger sum is not rounded below it
    if total >= _DOUBLE:
        raise ValueError("values must have absolute values that sum to less than 2**53")
    return int(total)


def _dtype(bound: int) -> type[np.signedinteger[Any]]:
    """Return the narrowest signed integer type of at least 16 bits for -bound..bound."""
    if bound < 1 << 15:
        return np.int16
    return np.int32 if bound < 1 << 31 else np.int64


@lru_cache(maxsize=8)
def _signed_matrix(size: int) -> NDArray[np.int8]:
    """Return `size` columns of a Hadamard matrix, each multiplied by a public sign."""
    full = hadamard(hadamard_size(size), dtype=np.int8)[:, :size]
    # The signs are public, fixed and pseudorandom, so that regular data do not align with them.
    stream = hashlib.shake_128(b"signs of turned vectors").digest(-(-size // 8))
    flips = 1 - 2 * np.unpackbits(np.frombuffer(stream, dtype=np.uint8))[:size].astype(np.int8)
    signs: NDArray[np.int8] = full * flips
    signs.flags.writeable = False
    return signs
