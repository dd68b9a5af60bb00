"""Matrices of bits in words, and systems over GF(2), against elimination bit by bit and brute force."""

from collections import Counter
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.kernels import BitMatrix, gf2, gf2_matrices, pack
from dplearn.kernels.gf2 import (
    nullspace,
    only_solution,
    rank,
    rref,
    solve,
    uniform_solution,
)

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=40)
SIZES = (0, 1, 2, 3, 7, 63, 64, 65, 127, 128, 129, 200)
KINDS = ("uniform", "low rank", "sparse", "few distinct rows", "sorted", "columns of zeros")


def reduced_by_definition(A):
    """Return the nonzero rows of the reduced row echelon form, and its pivots, one column after the other."""
    A, pivots = np.array(A, dtype=np.uint8), []
    for column in range(A.shape[1]):
        found = np.flatnonzero(A[len(pivots) :, column])
        if len(found):
            here = len(pivots)
            A[[here, here + found[0]]] = A[[here + found[0], here]]
            others = A[:, column] == 1
            others[here] = False
            A[others] ^= A[here]
            pivots.append(column)
    return A[: len(pivots)], pivots


def system(n, d, kind, generator):
    """Return a matrix of bits."""
    A = generator.integers(0, 2, (n, d)).astype(np.uint8)
    if kind == "low rank":
        inner = generator.integers(0, min(n, d) + 1)
        A = (generator.integers(0, 2, (n, inner)) @ generator.integers(0, 2, (inner, d)) % 2).astype(np.uint8)
    if kind == "sparse":
        A = (generator.random((n, d)) < 2 / max(d, 1)).astype(np.uint8)
    if kind == "few distinct rows" and n:
        A = A[np.minimum(generator.geometric(0.05, n), n) - 1]
    if kind == "sorted" and n and d:
        A = A[np.lexsort(A.T)]
    if kind == "columns of zeros":
        A[:, generator.random(d) < 0.3] = 0
    return A


def right_sides(A, k, broken, generator):
    """Return k right-hand sides that have a solution, but for a bit that is flipped if `broken`."""
    B = A.astype(int) @ generator.integers(0, 2, (A.shape[1], k)) % 2
    if broken and B.size:
        B[generator.integers(len(B)), generator.integers(k)] ^= 1
    return B


@st.composite
def systems(draw):
    n, d, kind = draw(st.sampled_from(SIZES)), draw(st.sampled_from(SIZES)), draw(st.sampled_from(KINDS))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    A = system(n, d, kind, generator)
    B = right_sides(A, draw(st.sampled_from([1, 2, 64, 65])), draw(st.booleans()), generator)
    return A, B, generator.integers(0, 2, (d, B.shape[1]))


@repeatable
@given(systems())
def test_form_null_space_and_solutions_are_those_by_definition(drawn):
    A, B, bits = drawn
    kept = A.copy()
    form, pivots = reduced_by_definition(A)
    ours, columns = rref(A)
    assert np.array_equal(A, kept)
    solution, free = uniform_solution(A, B, bits), np.setdiff1d(np.arange(A.shape[1]), pivots)
    assert solution is None or np.array_equal(solution[free], bits[free])  # unknowns without pivot
    assert ours.dtype == np.uint8
    assert np.array_equal(ours, form)
    assert columns.tolist() == pivots
    assert rank(A) == len(pivots)
    basis = nullspace(A)
    assert basis.shape == (A.shape[1] - rank(A), A.shape[1])
    assert not (A.astype(int) @ basis.T % 2).any()
    assert len(reduced_by_definition(basis)[1]) == len(basis)
    solvable = len(reduced_by_definition(np.hstack([A, B]))[1]) == len(pivots)
    for solution in (solve(A, B), uniform_solution(A, B, bits)):
        assert (solution is not None) == solvable
        assert solution is None or np.array_equal(A.astype(int) @ solution % 2, B)
    assert (only_solution(A, B) is not None) == (solvable and len(pivots) == A.shape[1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("d", [5, 64, 100])
def test_tall_systems_of_which_rows_are_only_verified_give_what_definition_says(d, kind):
    generator = np.random.default_rng(d)
    A = system(3000, d, kind, generator)
    form, pivots = reduced_by_definition(A)
    assert np.array_equal(rref(A)[0], form)
    for broken in (False, True):
        B = right_sides(A, 2, broken, generator)
        solvable = len(reduced_by_definition(np.hstack([A, B]))[1]) == len(pivots)
        solution = uniform_solution(A, B, generator.integers(0, 2, (d, 2)))
        assert (solution is not None) == solvable
        assert solution is None or np.array_equal(A.astype(int) @ solution % 2, B)
    A, x = generator.integers(0, 2, (3000, d)).astype(np.uint8), generator.integers(0, 2, d)
    A[:, d - 3] = A[:, 1]  # rank d - 1, but for one row
    for place in (0, 1500, 2999):
        b = A.astype(int) @ x % 2
        b[place] ^= 1
        assert solve(A, b) is None
        assert rank(A) == d - 1
        A[place, 1] ^= 1
        assert rank(A) == d
        assert np.array_equal(only_solution(A, A.astype(int) @ x % 2), x)
        A[place, 1] ^= 1


@cache
def solved_systems():
    """Systems, their reduced forms by definition, and a solution and a null space of each."""
    generator = np.random.default_rng(0)
    cases = [system(n, d, kind, generator) for n, d in ((150, 130), (1500, 70)) for kind in KINDS]
    return [(A, reduced_by_definition(A)[0], solve(A, A[:, :3]), nullspace(A)) for A in cases]


@pytest.mark.first_by_day
@pytest.mark.parametrize(
    ("module", "name", "value"),
    [
        (gf2_matrices, "BLOCK", 90),
        (gf2_matrices, "WIDTH", 1),
        (gf2_matrices, "MANY", 0),
        (gf2_matrices, "MANY", 10_000),
        (gf2_matrices, "FEW", 0),
        (gf2_matrices, "FEW", 64),
        (gf2, "CANDIDATES", 1),
        (gf2, "VERIFIED", 1),
        (gf2, "COPIED", 1),
        (gf2, "BEYOND", 0),
    ],
)
def test_sizes_that_only_cost_time_change_no_result(module, name, value, monkeypatch):
    solved = solved_systems()  # before the size is another
    monkeypatch.setattr(module, name, value)
    for A, form, solution, basis in solved:
        assert np.array_equal(rref(A)[0], form)
        assert np.array_equal(solve(A, A[:, :3]), solution)
        assert np.array_equal(nullspace(A), basis)
        assert np.array_equal(pack(A).dot(A[0]), A.astype(int) @ A[0] % 2)


def small_systems(most):
    """Yield all matrices with few rows and columns, all vectors, and those that solve each right side."""
    for n, d in product(range(most + 1), repeat=2):
        vectors = np.array(list(product((0, 1), repeat=d)), dtype=np.uint8).reshape(2**d, d)
        for cells in product((0, 1), repeat=n * d):
            A = np.array(cells, dtype=np.uint8).reshape(n, d)
            solutions = {b: set() for b in product((0, 1), repeat=n)}
            for x in vectors:
                solutions[tuple((A.astype(int) @ x % 2).tolist())].add(tuple(x.tolist()))
            yield A, vectors, solutions


def faults_of(solver, most):
    """Return what is wrong with a solver of small systems, whose bits take all values."""
    faults, distributions = set(), {}
    for A, vectors, solutions in small_systems(most):
        solvable = [b for b in solutions if solutions[b]]
        unsolvable = [b for b in solutions if not solutions[b]][:1]
        for b in unsolvable:
            if solver(A, np.array([b]).T, vectors[:1].T) is not None:
                faults.add("existence")
        found = solver(
            A, np.repeat(np.array(solvable).T, len(vectors), axis=1), np.tile(vectors.T, len(solvable))
        )
        if found is None:
            faults.add("existence")
            continue
        for b, drawn in zip(solvable, np.split(found, len(solvable), axis=1), strict=True):
            drawn = [tuple(x) for x in drawn.T.tolist()]
            if set(drawn) - solutions[b]:
                faults.add("no solution")
            if Counter(drawn) != Counter(len(vectors) // len(solutions[b]) * list(solutions[b])):
                faults.add("not uniform")
            if distributions.setdefault((A.shape[1], frozenset(solutions[b])), drawn) != drawn:
                faults.add("depends on more than the solutions")
    return faults


@pytest.mark.nightly
def test_uniform_bits_give_each_solution_equally_often_whatever_the_rows():
    assert not faults_of(uniform_solution, most=3)


def biased_bits(A, B, bits):
    return uniform_solution(A, B, bits | np.roll(bits, 1, axis=0))


def columns_from_the_right_if_the_first_row_is_zero(A, B, bits):
    if len(A) and not A[0].any():
        found = uniform_solution(A[:, ::-1], B, bits[::-1])
        return None if found is None else found[::-1]
    return uniform_solution(A, B, bits)


@pytest.mark.parametrize(
    ("mistake", "faults"),
    [
        (lambda A, B, bits: solve(A, B), {"not uniform"}),
        (biased_bits, {"not uniform"}),
        (columns_from_the_right_if_the_first_row_is_zero, {"depends on more than the solutions"}),
        (lambda A, B, bits: bits, {"existence", "no solution"}),
    ],
    ids=["zeros", "biased", "two orders", "bits"],
)
def test_the_check_above_finds_mistakes(mistake, faults):
    assert faults <= faults_of(mistake, most=2)


@pytest.mark.parametrize("wrong", [2, -1, 255, 256, 2**40, -(2**63)])
def test_an_integer_that_is_no_bit_is_refused_in_words_that_do_not_show_it(wrong):
    bits = np.zeros((5000, 70), dtype=np.int64)
    bits[4321, 66] = wrong
    for function in (lambda: pack(bits), lambda: solve(np.zeros((5000, 1), dtype=int), bits[:, 66])):
        with pytest.raises(ValueError, match=r"^bits must be 0 or 1$"):
            function()


def bits_of(n, d, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (n, d)).astype(np.uint8)


@pytest.mark.parametrize("d", [0, 1, 10, 64, 69])
def test_bits_beyond_the_last_column_are_not_looked_at(d):
    bits = bits_of(90, 70)
    first = BitMatrix(pack(bits).words, d)
    assert np.array_equal(first.unpack(), bits[:, :d])
    assert rank(first) == rank(bits[:, :d])
    form, _ = rref(first)
    assert form.words.tolist() == pack(rref(bits[:, :d])[0]).words.tolist()
    x = bits_of(d, 3, seed=1)
    sides = first.dot(x)
    assert np.array_equal(sides, bits[:, :d].astype(int) @ x % 2)
    assert np.array_equal(first.dot(solve(first, sides)), sides)
    unsolvable_beyond = np.hstack([bits[:, :d], bits_of(90, 30, seed=2)])
    assert np.array_equal(solve(bits, BitMatrix(pack(unsolvable_beyond).words, d)), np.eye(70)[:, :d])
