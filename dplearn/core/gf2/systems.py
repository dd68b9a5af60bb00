"""Rank, reduced row echelon form, null space and solutions of linear systems over GF(2).

>>> rref([[1, 1], [1, 1]])[0].tolist()
[[1, 1]]
>>> only_solution([[1, 0], [1, 1]], [1, 1]).tolist()
[1, 0]
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.core.gf2.elimination import Elimination
from dplearn.core.gf2.matrices import BitMatrix, as_columns, as_matrix

__all__ = ["nullspace", "only_solution", "rank", "rref", "solve", "uniform_solution"]


def rank(A: Any) -> int:
    """Return the rank of a matrix over GF(2).

    Parameters
    ----------
    A : BitMatrix, or array-like of bits of shape (n, d)
        Any matrix, possibly empty.

    Returns
    -------
    int

    Raises
    ------
    TypeError
        If `A` holds neither integers nor booleans.
    ValueError
        If `A` is not two-dimensional or an integer is neither 0 nor 1. The message does not show it.

    Examples
    --------
    >>> from dplearn.core.gf2 import rank
    >>> rank([[1, 1, 0], [0, 1, 1], [1, 0, 1]])  # the third row is the sum of the others
    2
    """
    return _eliminated(A).rank


def rref(A: Any) -> tuple[Any, NDArray[np.intp]]:
    """Return the reduced row echelon form of a matrix over GF(2), without rows of zeros.

    Parameters
    ----------
    A : BitMatrix, or array-like of bits of shape (n, d)
        Any matrix.

    Returns
    -------
    form : ndarray of uint8, or BitMatrix if `A` is one, of shape (rank, d)
        A basis of the row space, the same for all matrices with that row space.
    pivots : ndarray of int of shape (rank,)
        Increasing: the column of each row's first 1, in which all other rows are 0.

    Raises
    ------
    TypeError, ValueError
        As for `rank`.

    Examples
    --------
    >>> from dplearn.core.gf2 import rref
    >>> form, pivots = rref([[1, 1, 0], [0, 1, 1]])
    >>> form.tolist(), pivots.tolist()
    ([[1, 0, 1], [0, 1, 1]], [0, 1])
    """
    system = _eliminated(A)
    return _in_the_form_of(A, system.rref()), system.pivots


def nullspace(A: Any) -> Any:
    """Return a basis of the vectors x with A x = 0 over GF(2).

    Parameters
    ----------
    A : BitMatrix, or array-like of bits of shape (n, d)
        Any matrix.

    Returns
    -------
    ndarray of uint8, or BitMatrix if `A` is one, of shape (d - rank, d)
        The basis vectors as rows, the same for all matrices with the same row space.

    Raises
    ------
    TypeError, ValueError
        As for `rank`.

    Examples
    --------
    >>> from dplearn.core.gf2 import nullspace
    >>> nullspace([[1, 1, 0], [0, 1, 1], [1, 0, 1]]).tolist()
    [[1, 1, 1]]
    """
    return _in_the_form_of(A, _eliminated(A).nullspace())


def solve(A: Any, b: Any) -> NDArray[np.uint8] | None:
    """Return a solution of A x = b over GF(2), or None if there is none.

    Parameters
    ----------
    A : BitMatrix, or array-like of bits of shape (n, d)
        Any matrix.
    b : BitMatrix, or array-like of bits of shape (n,) or (n, k)
        One right-hand side, or k of them.

    Returns
    -------
    ndarray of uint8 of shape (d,) or (d, k), or None
        The solution with zeros in the columns without pivot. None if one of the k systems has no solution.

    Raises
    ------
    TypeError
        If `A` or `b` hold neither integers nor booleans.
    ValueError
        If their shapes do not fit or an integer is neither 0 nor 1. The messages show no bits.

    Examples
    --------
    >>> from dplearn.core.gf2 import solve
    >>> solve([[1, 1, 0], [0, 1, 1]], [1, 0]).tolist()
    [1, 0, 0]
    >>> solve([[1, 1, 0], [1, 1, 0]], [1, 0]) is None
    True
    """
    return _eliminated(A, b).solution()


def only_solution(A: Any, b: Any) -> NDArray[np.uint8] | None:
    """Return the solution of A x = b over GF(2) if there is exactly one, else None.

    Parameters
    ----------
    A : BitMatrix, or array-like of bits of shape (n, d)
        Any matrix.
    b : BitMatrix, or array-like of bits of shape (n,) or (n, k)
        One right-hand side, or k.

    Returns
    -------
    ndarray of uint8 of shape (d,) or (d, k), or None
        None unless each of the k systems has exactly one solution.

    Raises
    ------
    TypeError, ValueError
        As for `solve`.

    Examples
    --------
    >>> from dplearn.core.gf2 import only_solution
    >>> only_solution([[1, 0], [1, 1]], [1, 1]).tolist()
    [1, 0]
    >>> only_solution([[1, 0]], [1]) is None  # there are two solutions
    True
    """
    system = _eliminated(A, b)
    return system.solution() if system.unique else None


def uniform_solution(A: Any, b: Any, bits: Any) -> NDArray[np.uint8] | None:
    """Return a uniformly random solution of A x = b over GF(2), or None if there is none.

    Parameters
    ----------
    A : BitMatrix, or array-like of bits of shape (n, d)
        Any matrix.
    b : BitMatrix, or array-like of bits of shape (n,) or (n, k)
        One right-hand side, or k.
    bits : BitMatrix, or array-like of bits of shape (d,) or (d, k)
        Independent uniform bits, drawn by the caller, the only randomness of the result. Not all are used.

    Returns
    -------
    ndarray of uint8 of shape (d,) or (d, k), or None
        A function of the set of solutions and of `bits` only. If `bits` are uniform, each solution has the
        same probability, and the solutions of the k systems are independent. None if one of the k systems has
        no solution.

    Raises
    ------
    TypeError, ValueError
        As for `solve`.

    Notes
    -----
    The unknowns in the columns without pivot are the corresponding `bits`; they determine the others.

    Examples
    --------
    >>> from dplearn.core.gf2 import uniform_solution
    >>> A = [[1, 1, 0], [0, 1, 1]]
    >>> [uniform_solution(A, [1, 0], [0, 0, coin]).tolist() for coin in (0, 1)]
    [[1, 0, 0], [0, 1, 1]]
    """
    return _eliminated(A, b).solution(bits)


def _eliminated(A: Any, b: Any = None) -> Elimination:
    matrix = as_matrix(A)
    if b is None:
        return Elimination(matrix.n_columns, 0).add(matrix)
    right, shape = as_columns("b", b, len(matrix))
    return Elimination(matrix.n_columns, *shape).add(matrix, right if shape else b)


def _in_the_form_of(A: Any, matrix: BitMatrix) -> Any:
    return matrix if isinstance(A, BitMatrix) else matrix.unpack()
