"""Turned vectors: orthogonal, exact, undone by turning back, and spread over all coordinates."""

import numpy as np
import pytest

from dplearn.core.turning import turned_coordinate, turned_size, unturned


def turned(rows):
    size = turned_size(rows.shape[1])
    return np.stack([turned_coordinate(rows, np.full(len(rows), j)) for j in range(size)], axis=1)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 13])
def test_turning_keeps_lengths_and_turning_back_undoes_it(size):
    rows = np.random.default_rng(size).integers(-50, 50, (20, size))
    found = turned(rows)
    assert ((found**2).sum(axis=1) == turned_size(size) * (rows**2).sum(axis=1)).all()
    for row, coordinates in zip(rows, found, strict=True):
        np.testing.assert_allclose(unturned(coordinates.astype(float), size), row, atol=1e-12)


def test_each_row_has_its_own_coordinate():
    rows = np.random.default_rng(0).integers(-9, 9, (6, 5))
    picked = np.array([0, 7, 3, 3, 1, 6])
    assert turned_coordinate(rows, picked).tolist() == turned(rows)[np.arange(6), picked].tolist()


@pytest.mark.parametrize("size", [100, 1000])
def test_patterns_that_data_have_are_spread(size):
    patterns = np.stack(
        [np.ones(size), np.arange(size) % 2, np.arange(size) < size // 2, np.arange(size) % 7 == 0]
    )
    patterns = patterns.astype(np.int64)
    bound = np.sqrt(2 * np.log(200)) * np.linalg.norm(patterns, axis=1)
    assert (np.abs(turned(patterns)) > bound[:, None]).mean() <= 0.01


def test_sizes_beyond_memory_are_refused():
    with pytest.raises(ValueError, match="size must be at most 8192, got 10000"):
        turned_size(10_000)
