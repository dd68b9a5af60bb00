"""Walsh-Hadamard transforms are exact at the limits of all types; the signed transform has an inverse."""

from itertools import product

import numpy as np
import pytest

from dplearn.kernels import hadamard as module
from dplearn.kernels import hadamard_coordinate, walsh_hadamard


def signs(d):
    """The matrix of (-1)**popcount(r & x), bit by bit."""
    matrix = np.ones((1, 1), dtype=np.int64)
    for _ in range(d):
        matrix = np.kron(matrix, [[1, 1], [1, -1]])
    return matrix


def butterflies(values):
    """The transform in 64 bits, one bit after the other."""
    result = np.array(values, dtype=np.int64)
    for bit in range(result.size.bit_length() - 1):
        pairs = result.reshape(-1, 2, 1 << bit)
        result = np.stack((pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]), axis=1).ravel()
    return result


def values_that_sum_to(total, d, seed=0):
    """Integers of both signs whose absolute values have that sum, the largest first."""
    rng = np.random.default_rng(seed)
    sizes = rng.multinomial(total // 2, np.full(1 << d, 2.0**-d))
    sizes[0] += total - sizes.sum()
    return sizes * rng.choice([-1, 1], 1 << d)


def label(parity, point):
    return (parity & point).bit_count() % 2


@pytest.mark.parametrize("block", [1, 3, 5, 6])
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("piece", [1 << 5, 1 << 8])
def test_the_transform_does_not_depend_on_how_it_is_cut(monkeypatch, block, rows, piece):
    for name, value in (("BLOCK", block), ("ROWS", min(rows, block)), ("PIECE", piece)):
        monkeypatch.setattr(module, name, value)
    for d in (0, 1, 5, 7, 11):
        values = values_that_sum_to(30_000, d, seed=d)
        assert np.array_equal(walsh_hadamard(values), butterflies(values))


TOTALS = [(0, "i2"), (2**15 - 1, "i2"), (2**15, "i4"), (2**24 - 1, "i4"), (2**24, "i4"), (2**24 + 1, "i4")]
TOTALS += [(2**31 - 1, "i4"), (2**31, "i8"), (2**53 - 1, "i8")]


@pytest.mark.parametrize(("total", "dtype"), TOTALS)
@pytest.mark.parametrize("d", [0, 1, 3, 4, 5, 6, 9, 10, 12, 13, 15, 16, 17, 18])
def test_the_result_is_exact_up_to_the_ends_of_every_type(total, dtype, d):
    one_sign = np.abs(values_that_sum_to(total, d))
    spike = np.eye(1, 1 << d, dtype=int)[0] * total
    for values in (one_sign, -one_sign, values_that_sum_to(total, d), spike):
        result = walsh_hadamard(values)
        assert result.dtype == dtype
        assert np.array_equal(result, butterflies(values))
        assert d > 6 or np.array_equal(result, signs(d) @ values)
    assert abs(walsh_hadamard(one_sign)[0]) == total


@pytest.mark.parametrize("bound", [0, 1000, 2**15 - 1, 2**24 - 2, 2**24 - 1, 2**24, 2**31, 2**53 - 1])
@pytest.mark.parametrize("d", [0, 8, 17])
@pytest.mark.parametrize("more", [1, 12_345])
def test_a_sum_beyond_the_bound_is_refused_and_the_bound_itself_is_not(bound, d, more):
    assert np.array_equal(
        walsh_hadamard(values_that_sum_to(bound, d), bound=bound), butterflies(values_that_sum_to(bound, d))
    )
    with pytest.raises(ValueError, match=f"^values must have absolute values that sum to at most {bound}$"):
        walsh_hadamard(values_that_sum_to(bound + more, d), bound=bound)


def listed_nearest(values, complements):
    """The first of all parities, complements after them, that agrees most often."""
    size = len(values)
    agreements = [sum(label(r, x) == value for x, value in enumerate(values)) for r in range(size)]
    agreements += [size - agreed for agreed in agreements] if complements else []
    best = max(range(len(agreements)), key=agreements.__getitem__)  # max keeps the first
    return best, agreements[best]


@pytest.mark.parametrize("complements", [False, True])
def test_the_nearest_parity_is_the_first_of_the_best_for_all_functions_of_three_bits(complements):
    for values in product((0, 1), repeat=8):
        found = module.nearest_parity(values, complements=complements)
        assert found == listed_nearest(values, complements)
        assert module.nearest_parity(np.array(values, dtype=bool), complements=complements) == found


def transformed(rows):
    size = module.hadamard_size(rows.shape[1])
    return np.stack([hadamard_coordinate(rows, np.full(len(rows), j)) for j in range(size)], axis=1)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 13])
def test_the_signed_transform_keeps_lengths_and_has_an_inverse(size):
    rows = np.random.default_rng(size).integers(-50, 50, (20, size))
    found = transformed(rows)
    assert ((found**2).sum(axis=1) == module.hadamard_size(size) * (rows**2).sum(axis=1)).all()
    picked = np.arange(20) * 7 % module.hadamard_size(size)  # each row has its own coordinate
    assert hadamard_coordinate(rows, picked).tolist() == found[np.arange(20), picked].tolist()
    for row, coordinates in zip(rows, found, strict=True):
        np.testing.assert_allclose(module.hadamard_inverse(coordinates.astype(float), size), row, atol=1e-12)
