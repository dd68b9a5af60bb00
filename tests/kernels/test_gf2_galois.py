"""Ranks, forms, null spaces and products over GF(2), against the library galois."""

import numpy as np
import pytest

from dplearn.kernels.gf2 import nullspace, pack, rank, rref

SHAPES = [(5, 9), (1, 1), (9, 5), (63, 65), (65, 63), (64, 64), (128, 129), (129, 64), (200, 30)]


@pytest.mark.first_by_day
@pytest.mark.parametrize("density", [0.02, 0.5])
@pytest.mark.parametrize("shape", SHAPES)
def test_forms_null_spaces_and_products_are_those_of_galois(shape, density):
    import galois  # which takes seconds, and only the worker that needs it

    A = np.random.default_rng(sum(shape)).random(shape) < density
    A[shape[0] // 2 :] = A[: shape[0] - shape[0] // 2]  # about half of the rank
    theirs = galois.GF(2, compile="python-calculate")(A.astype(np.uint8))
    form, _ = rref(A)
    assert rank(A) == np.linalg.matrix_rank(theirs)
    assert np.array_equal(form, np.asarray(theirs.row_reduce())[: len(form)])
    assert np.array_equal(rref(nullspace(A))[0], np.asarray(theirs.null_space()))
    assert np.array_equal(pack(A).dot(pack(A.T)), np.asarray(theirs @ theirs.T))
