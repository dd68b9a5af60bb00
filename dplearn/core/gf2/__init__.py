"""Linear algebra over GF(2), where 1 + 1 = 0: systems of equations between bits, packed 64 to a word.

All functions take 0/1 arrays. A `BitMatrix` stores the same bits in an eighth of the bytes and saves the
packing if a matrix is used several times.

>>> import numpy as np
>>> A = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])  # the third row is the sum of the others
>>> rank(A), nullspace(A).tolist()
(2, [[1, 1, 1]])
>>> solve(A, [1, 0, 1]).tolist()
[1, 0, 0]
>>> solve(A, [1, 0, 0]) is None
True
>>> A = pack(A)
>>> [uniform_solution(A, [1, 0, 1], [0, 0, coin]).tolist() for coin in (0, 1)]
[[1, 0, 0], [0, 1, 1]]
"""

from dplearn.core.gf2.elimination import Elimination
from dplearn.core.gf2.matrices import BitMatrix, pack, unpack
from dplearn.core.gf2.systems import nullspace, only_solution, rank, rref, solve, uniform_solution

__all__ = [
    "BitMatrix",
    "Elimination",
    "nullspace",
    "only_solution",
    "pack",
    "rank",
    "rref",
    "solve",
    "uniform_solution",
    "unpack",
]
