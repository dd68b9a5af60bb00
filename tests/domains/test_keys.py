"""Cells read as keys: alike whatever holds them, and refused without being shown."""

from enum import Enum

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dplearn.domains import DomainError
from dplearn.domains.keys import read_keys, spelled

repeatable = settings(deadline=None, derandomize=True, database=None, max_examples=200)
parts = st.none() | st.text() | st.binary() | st.integers() | st.floats(allow_nan=False)
keys = st.recursive(parts, lambda inner: st.lists(inner, max_size=3).map(tuple), max_leaves=5)


@pytest.mark.parametrize(
    ("cell", "key"),
    [
        (np.int8(3), 3),
        (3.0, 3),
        (np.float32(3), 3),
        (True, 1),
        (np.bool_(False), 0),
        (-0.0, 0),
        (1e300, int(1e300)),
        (0.5, 0.5),
        (float("inf"), float("inf")),
        (np.str_("a"), "a"),
        (np.bytes_(b"a"), b"a"),
        (float("nan"), None),
        (np.float64("nan"), None),
        (pd.NA, None),
        (pd.NaT, None),
        (np.datetime64("NaT", "D"), None),
        (("a", (2.0, pd.NA)), ("a", (2, None))),
    ],
)
def test_a_cell_is_read_by_itself(cell, key):
    [found] = read_keys([cell])
    assert found == key
    assert type(found) is type(key)


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize("cell", [{"secret": 1}, ["secret"], Colour.RED, np.datetime64("2020-01-01"), 1j])
@pytest.mark.parametrize("nested", [False, True])
def test_what_is_no_key_is_refused_and_not_shown(cell, nested):
    with pytest.raises(DomainError) as refused:
        read_keys(["a", (cell,) if nested else cell])
    assert "secret" not in str(refused.value)


def test_tuples_that_are_nested_too_deep_are_refused():
    key = 1
    for _ in range(20):
        key = (key,)
    with pytest.raises(DomainError, match="16 deep"):
        read_keys([key])


@repeatable
@given(keys, keys)
def test_keys_are_spelled_alike_exactly_if_they_are_equal(one, other):
    [first], [second] = read_keys([one]), read_keys([other])
    assert (spelled(first) == spelled(second)) == (first == second)


def test_long_integers_and_lone_surrogates_are_spelled_too():
    assert spelled(10**6000) != spelled(-(10**6000))
    assert spelled("\ud800") != spelled("?")
