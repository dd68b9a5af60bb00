"""Matrices of bits in words: packing, unpacking, choosing rows, products."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix

from dplearn.kernels.gf2 import BitMatrix, pack, rank, rref, solve, unpack

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=40)
WIDTHS = (0, 1, 7, 8, 63, 64, 65, 127, 128, 129, 700)


def bits_of(n, d, seed=0):
    return np.random.default_rng(seed).integers(0, 2, (n, d)).astype(np.uint8)


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8, np.int64, np.uint64])
def test_unpacking_gives_back_what_was_packed(dtype):
    for n, d in product([0, 1, 5, 600], WIDTHS):
        assert_packed_and_unpacked(bits_of(n, d), dtype)


def assert_packed_and_unpacked(bits, dtype):
    n, d = bits.shape
    matrix = pack(bits.astype(dtype))
    assert matrix.shape == (n, d)
    assert matrix.words.shape == (n, -(-d // 64))
    for read in (matrix.unpack(), unpack(matrix), np.asarray(matrix)):
        assert np.array_equal(read, bits)
        assert read.dtype == np.uint8
    assert np.asarray(matrix, dtype=float).dtype == float
    assert np.array_equal(pack(np.asfortranarray(bits)).words, matrix.words)
    assert np.array_equal(pack(bits[::-1, ::-1]).unpack(), bits[::-1, ::-1])


def test_bit_j_of_a_row_is_bit_j_mod_64_of_word_j_over_64():
    for j in (0, 1, 63, 64, 129):
        row = np.arange(130) == j
        assert pack(row[None]).words.tolist() == [
            [(1 << j) >> (64 * word) & (2**64 - 1) for word in range(3)]
        ]


@repeatable
@given(st.sampled_from(WIDTHS), st.sampled_from(WIDTHS), st.sampled_from([0, 1, 2, 6, 7, 64, 130]))
def test_a_product_is_the_sum_of_products_modulo_2(n, d, k):
    A, B = bits_of(n, d), bits_of(d, k, seed=1)
    wanted = A.astype(int) @ B % 2
    assert np.array_equal(pack(A).dot(B), wanted)
    assert np.array_equal(pack(A).dot(pack(B)), wanted)
    if k:
        assert np.array_equal(pack(A).dot(B[:, 0]), wanted[:, 0])


@pytest.mark.parametrize(
    "rows", [slice(3, 9), [5, 5, 0], np.arange(20) % 3 == 0, np.array([], dtype=int)], ids=repr
)
def test_rows_are_chosen_as_from_an_array(rows):
    bits = bits_of(20, 70)
    chosen = pack(bits)[rows]
    assert np.array_equal(chosen.unpack(), bits[rows])
    assert len(chosen) == len(bits[rows])


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


def test_a_matrix_shows_its_shape_and_not_its_bits():
    assert repr(pack([[1, 0, 1]])) == "<BitMatrix of shape (1, 3)>"


def test_what_was_packed_is_a_copy_and_a_chosen_slice_is_not():
    bits = bits_of(4, 64)
    matrix = pack(bits)
    bits[:] = 0
    assert matrix.unpack().any()
    assert np.shares_memory(matrix[1:3].words, matrix.words)


@pytest.mark.parametrize("wrong", [2, -1, 3, 255, 256, 2**40, -(2**63)])
def test_an_integer_that_is_no_bit_is_refused_in_words_that_do_not_show_it(wrong):
    bits = np.zeros((5000, 70), dtype=np.int64)
    bits[4321, 66] = wrong
    with pytest.raises(ValueError, match=r"^bits must be 0 or 1$"):
        pack(bits)
    with pytest.raises(ValueError, match=r"^bits must be 0 or 1$"):
        solve(np.zeros((5000, 1), dtype=int), bits[:, 66])


@pytest.mark.parametrize("bits", [[[0.0, 1.0]], [["0", "1"]], [[None]]], ids=repr)
def test_what_is_neither_integer_nor_boolean_is_refused(bits):
    with pytest.raises(TypeError, match=r"^bits must be booleans or the integers 0 and 1$"):
        pack(bits)


@pytest.mark.parametrize("bits", [1, [1], [[[1]]]], ids=repr)
def test_a_matrix_has_two_dimensions(bits):
    with pytest.raises(ValueError, match="a matrix of bits must have two dimensions"):
        pack(bits)


@pytest.mark.parametrize("words", [[[1]], np.zeros((1, 1), dtype=np.int64), np.zeros((1, 1))], ids=repr)
def test_words_are_unsigned_integers_of_64_bits(words):
    with pytest.raises(TypeError, match="words must be an array of uint64"):
        BitMatrix(words, 1)


def test_words_hold_all_columns():
    with pytest.raises(ValueError, match="n_columns must be an integer from 0 to 64, got 65"):
        BitMatrix(np.zeros((1, 1), dtype=np.uint64), 65)
    with pytest.raises(ValueError, match="words must be two-dimensional, got 1"):
        BitMatrix(np.zeros(1, dtype=np.uint64), 1)


@pytest.mark.parametrize("other", [[1, 0], [[1, 0]], 1, [[[1]] * 3]], ids=repr)
def test_factors_that_do_not_fit_are_refused(other):
    with pytest.raises(ValueError, match=r"^other must have shape \(3,\) or \(3, k\)"):
        pack([[1, 0, 1]]).dot(other)


def test_sparse_matrices_are_refused_by_name():
    with pytest.raises(TypeError, match=r"must be dense: use \.toarray\(\)"):
        rank(csr_matrix(np.eye(3, dtype=int)))


def test_packed_bits_are_no_array_without_a_copy():
    with pytest.raises(ValueError, match="copy must not be False"):
        np.asarray(pack(bits_of(3, 3)), copy=False)
