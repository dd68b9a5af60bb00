"""How long does elimination over GF(2) take in numpy alone, and how long in a library written in C?

    python benchmarks/bench_gf2.py [--rounds 15] [--slow] [--json PATH]

All contenders work in turn on the same random bits, each after a call that is not timed; the best round
counts. M4RI, where its shared library is installed (Debian's libm4ri-dev), is called through ctypes, packed
as ours is, and reduces a copy, as ours does. galois and python-flint, where installed, hold an integer a bit:
these are made before the clock runs. All run on one thread. Their reduced forms are compared beforehand.

Bars: reduced row echelon forms within 8 times M4RI's time at 1,024 x 1,024, within 3.5 at 4,096 x 4,096, and
within 3.2 at 8,192 x 8,192 and 20,000 x 1,024; at 1,024, at least 69 times as fast as galois and 29 times as
python-flint, or at 4,096, where they take minutes (`--slow`), 200 and 70 times; a uniform solution of
100,000 x 4,096 at least 5 times as fast as M4RI's upper echelon form.
"""

import ctypes
import os
from collections.abc import Callable
from ctypes.util import find_library
from typing import Any

import numpy as np
from side_by_side import Contenders, compared, options_of, peer, public_generator, shown, write

from dplearn.kernels import BitMatrix
from dplearn.kernels.gf2 import rref, uniform_solution

galois, flint = peer("galois"), peer("flint")

OURS, M4RI, GALOIS, FLINT = "dplearn", "M4RI", "galois", "python-flint"
SMALL, SQUARE, LARGE, LONG = (1024, 1024), (4096, 4096), (8192, 8192), (20_000, 1024)
TALL = (100_000, 4096)
WITHIN = {SMALL: 8, SQUARE: 3.5, LARGE: 3.2, LONG: 3.2}  # times M4RI's time
FASTER = {SMALL: {GALOIS: 69, FLINT: 29}, SQUARE: {GALOIS: 200, FLINT: 70}}  # times as fast as these
FASTER_TALL = 5  # times as fast as M4RI's upper form
PATIENCE = 20  # seconds of each


class Matrix(ctypes.Structure):
    """A matrix of M4RI, version 20200125, up to its rows."""

    _fields_ = (
        ("sizes", ctypes.c_int * 6),
        ("flags", ctypes.c_uint8 * 16),
        ("mask", ctypes.c_uint64),
        ("blocks", ctypes.c_void_p),
        ("rows", ctypes.POINTER(ctypes.c_void_p)),
    )


class M4ri:
    """What is used of the shared library."""

    def __init__(self, name: str):
        os.environ["OMP_NUM_THREADS"] = "1"  # before it is loaded
        self.library, handle = ctypes.CDLL(name), ctypes.POINTER(Matrix)
        for function in (self.library.mzd_init, self.library.mzd_copy):
            function.restype = handle
        self.library.mzd_copy.argtypes = (handle, handle)
        self.library.mzd_echelonize_m4ri.argtypes = (handle, ctypes.c_int, ctypes.c_int)
        self.library.mzd_free.argtypes = (handle,)

    def filled(self, matrix: BitMatrix) -> Any:
        theirs = self.library.mzd_init(*matrix.shape)
        for row, words in zip(theirs.contents.rows[: len(matrix)], matrix.words, strict=True):
            ctypes.memmove(row, words.ctypes.data, words.nbytes)
        return theirs

    def reduced(self, theirs: Any, full: bool, words: int = 0) -> np.ndarray:
        """Reduce a copy, and return so many words of each of its nonzero rows."""
        copy = self.library.mzd_copy(None, theirs)
        rank = self.library.mzd_echelonize_m4ri(copy, int(full), 0)
        found = [ctypes.string_at(row, 8 * words) for row in copy.contents.rows[: rank if words else 0]]
        self.library.mzd_free(copy)
        return np.frombuffer(b"".join(found), dtype=np.uint64).reshape(-1, max(words, 1))


def m4ri() -> M4ri | None:
    name = find_library("m4ri")
    return None if name is None else M4ri(name)


def public_matrix(shape: tuple[int, int]) -> BitMatrix:
    words = public_generator().integers(0, 2**64, (shape[0], shape[1] // 64), dtype=np.uint64)
    return BitMatrix(words, shape[1])


def forms(shape: tuple[int, int], library: M4ri | None, slow: bool) -> Contenders:
    """Return who brings a random matrix into reduced row echelon form, once they agree what that is."""
    matrix = public_matrix(shape)
    calls: dict[str, Callable[[], Any] | None] = {OURS: lambda: rref(matrix), M4RI: None}
    form = rref(matrix)[0]
    if library is not None:
        theirs = library.filled(matrix)
        assert np.array_equal(library.reduced(theirs, True, matrix.words.shape[1]), form.words)
        calls[M4RI] = lambda: library.reduced(theirs, True)
    if shape == SMALL or (slow and shape in FASTER):
        calls |= slow_forms(matrix.unpack(), form.unpack())
    return calls


def slow_forms(bits: np.ndarray, form: np.ndarray) -> dict[str, Callable[[], Any] | None]:
    calls: dict[str, Callable[[], Any] | None] = {GALOIS: None, FLINT: None}
    if galois is not None:
        field = galois.GF(2)(bits)
        assert np.array_equal(np.asarray(field.row_reduce())[: len(form)], form)
        calls[GALOIS] = field.row_reduce
    if flint is not None:
        integers = flint.nmod_mat(*bits.shape, bits.ravel().tolist(), 2)
        reduced = np.array([int(entry) for entry in integers.rref()[0].entries()], dtype=np.uint8)
        assert np.array_equal(reduced.reshape(bits.shape)[: len(form)], form)
        calls[FLINT] = integers.rref
    return calls


def solutions(shape: tuple[int, int], library: M4ri | None) -> Contenders:
    matrix, generator = public_matrix(shape), public_generator()
    unknowns, bits = generator.integers(0, 2, (2, shape[1]))
    sides = matrix.dot(unknowns)
    found = uniform_solution(matrix, sides, bits)
    assert found is not None
    assert np.array_equal(matrix.dot(found), sides)
    calls: dict[str, Callable[[], Any] | None] = {
        OURS: lambda: uniform_solution(matrix, sides, bits),
        M4RI: None,
    }
    if library is not None:
        theirs = library.filled(matrix)
        calls[M4RI] = lambda: library.reduced(theirs, False)
    return calls


def sized(shape: tuple[int, int]) -> str:
    return f"{shape[0]:,} x {shape[1]:,}"


def rows(options: Any) -> list[dict[str, Any]]:
    library, table = m4ri(), []
    for shape in WITHIN:
        found = compared(forms(shape, library, options.slow), OURS, options.rounds, PATIENCE, warm=True)
        table += [{"question": f"form of {sized(shape)}"} | row for row in found]
    found = compared(solutions(TALL, library), OURS, options.rounds, PATIENCE, warm=True)
    return table + [{"question": f"solution of {sized(TALL)}"} | row for row in found]


def bars(table: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what is asked, and whether it is met; nothing of a peer that is absent."""
    times = {(row["question"], row["by"]): row["times_ours"] for row in table}
    met = {}
    for shape, bar in WITHIN.items():
        theirs = times[f"form of {sized(shape)}", M4RI]
        if theirs is not None:
            name = f"form of {sized(shape)} within {bar} times {M4RI}"
            met[name] = {"bar": bar, "ours": 1 / theirs, "met": 1 / theirs <= bar}
    faster = [
        (f"form of {sized(shape)}", name, bar)
        for shape, peers in FASTER.items()
        for name, bar in peers.items()
    ]
    for question, name, bar in [*faster, (f"solution of {sized(TALL)}", M4RI, FASTER_TALL)]:
        theirs = times.get((question, name))
        if theirs is not None:
            text = f"{question} at least {bar} times as fast as {name}"
            met[text] = {"bar": bar, "ours": theirs, "met": theirs >= bar}
    return met


def main() -> None:
    parser = options_of("gf2", __doc__)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--slow", action="store_true", help="galois and python-flint at 4,096 x 4,096 too")
    options = parser.parse_args()
    table = rows(options)
    met = bars(table)
    print(f"{shown(table, 'question')}\n")
    for name, bar in met.items():
        print(f"bar: {name}: {bar['ours']:.2f}, {'met' if bar['met'] else 'MISSED'}")
    write(options.json, ("numpy", "galois", "python-flint"), rounds=options.rounds, bars=met, rows=table)


if __name__ == "__main__":
    main()
