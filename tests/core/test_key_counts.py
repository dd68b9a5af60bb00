"""Counts of keys of mixed types, in an order that depends on the set of keys alone."""

import numpy as np
import pytest

from dplearn.core.keys import KeyCounts, counted_keys

KEYS = ["b", b"a", "a", 3, "a", None, (1, ("x", None)), 3, np.int64(3), np.str_("a")]


def test_the_order_of_the_keys_changes_no_count_and_no_order():
    counts = counted_keys(KEYS)
    assert counted_keys(KEYS[::-1]) == counts
    assert dict(counts) == {"a": 3, b"a": 1, "b": 1, 3: 3, None: 1, (1, ("x", None)): 1}


def test_keys_are_published_in_built_in_types():
    assert {type(key) for key, _ in counted_keys(KEYS)} == {str, bytes, int, tuple, type(None)}


@pytest.mark.parametrize("key", [1.5, True, object(), {1}])
def test_keys_of_other_types_are_refused_without_being_shown(key):
    with pytest.raises(TypeError, match="keys must be None, str, bytes, int, or tuples of these") as error:
        counted_keys([key])
    assert repr(key) not in str(error.value)


def test_counts_of_parts_add_up_to_those_of_all_keys():
    keys = ["b", "a", 7, "a", None, (1, "x"), b"a", (1, "x"), np.int64(7)]
    for cut in range(len(keys) + 1):
        total = KeyCounts.of(keys[:cut]) + KeyCounts.of(keys[cut:])
        assert counted_keys(total) == counted_keys(keys)
        assert len(total) == len(keys)
