"""The class's errors are those its members make; its size, order and refusals are as documented.

Both routes count what brute force counts, in the order that the module states.
"""

from itertools import product

import numpy as np
import pytest

from dplearn.concepts import Conjunctions

SHAPES = [(1, 0), (1, 1), (1, 4), (2, 1), (2, 2), (3, 2), (4, 0), (4, 3), (4, 9), (5, 2), (5, 4), (5, 5)]


def columns_of(table):
    return list(np.ascontiguousarray(table.T))


def some_records(n, d, seed=0):
    rng = np.random.default_rng(seed)
    return columns_of(rng.integers(0, 2, (n, d), dtype=np.uint8)), rng.integers(0, 2, n)


def listed(d, k):
    """All conjunctions in the stated order, by sorting."""
    members = []
    for digits in product((0, 1, 2), repeat=d):
        named = [i for i in range(d) if digits[i] < 2]
        if len(named) <= k:
            signs = sum(digits[v] << i for i, v in enumerate(named))
            number = sum(digit * 3**i for i, digit in enumerate(digits))
            key = (number,) if k >= d else (len(named), signs, *reversed(named))
            literals = tuple(tuple(v for v in named if digits[v] == sign) for sign in (1, 0))
            members.append((key, literals))
    return [literals for _, literals in sorted(members)]


@pytest.mark.parametrize(("d", "k"), SHAPES)
def test_positions_follow_the_stated_order(d, k):
    order = listed(d, k)
    concepts = Conjunctions(d, k)
    members = [concepts.member_at(i) for i in range(len(order))]
    assert [(each.positive, each.negative) for each in members] == order
    assert concepts.size == len(order)
    for beyond in (-1, len(order), len(order) + 5):
        with pytest.raises(IndexError, match="beyond the last"):
            concepts.member_at(beyond)


@pytest.mark.parametrize("n", [1, 63, 64, 65, 127, 128, 8191, 8192, 8193, 20_000])
@pytest.mark.parametrize("label", [0, 1])
def test_a_count_of_all_records_fits_wherever_words_and_blocks_end(n, label):
    columns, y = [np.ones(n, dtype=np.uint8)] * 4, np.full(n, label)
    for k in (2, 3, 4):
        concepts = Conjunctions(4, k)
        for position, errors in enumerate(concepts.error_counts(columns, y).tolist()):
            satisfied = not concepts.member_at(position).negative
            assert errors == n * (satisfied != label)


@pytest.mark.parametrize(("d", "k"), [(2, 1), (3, 2), (5, 4), (9, 9), (12, 12), (70, 2), (150, 1), (24, 4)])
def test_errors_are_those_of_brute_force_at_positions_of_larger_classes(d, k):
    columns, y = some_records(9000 + d, d, seed=d)
    concepts = Conjunctions(d, k)
    errors = concepts.error_counts(columns, y)
    assert errors.dtype == np.int32
    for position in (np.arange(150) * 7919 % errors.size).tolist() + [errors.size - 1]:
        assert errors[position] == np.count_nonzero(concepts.member_at(position).predict(columns) != y)
