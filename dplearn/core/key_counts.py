"""Counts of keys of mixed types, in an order that depends on the set of keys alone.

>>> counted_keys(["b", "a", 7, "a", None, (1, "x")])
[(None, 1), (7, 1), ('a', 2), ('b', 1), ((1, 'x'), 1)]
>>> counted_keys(KeyCounts.of(["b", "a"]) + KeyCounts.of(["a"]))
[('a', 2), ('b', 1)]
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np

__all__ = ["KeyCounts", "counted_keys"]

_PLAIN = {str, bytes, int}  # types whose values are published unchanged
_DEEPEST = 16  # greatest depth of nested tuples
_BLOCK = 1 << 16  # keys that are counted together


class KeyCounts:
    """Counts of keys, which can be added.

    Keys of different types are never compared: "a" and b"a" have equal hashes, and `python -b` warns of their
    comparison.

    Parameters
    ----------
    counters : mapping of str to Counter
        For the name of each type the counts of its keys, as sortable values.
    """

    def __init__(self, counters: Mapping[str, Counter[Any]]):
        self._counters = counters

    @classmethod
    def of(cls, keys: Iterable[Hashable]) -> "KeyCounts":
        """Return the counts of keys: None, str, bytes, int, or tuples of these."""
        counters: dict[str, Counter[Any]] = {}
        rest = iter(keys)
        while block := list(islice(rest, _BLOCK)):
            for name, parts in _by_type(block).items():
                counters.setdefault(name, Counter()).update(parts)
        return cls(counters)

    def __add__(self, other: "KeyCounts") -> "KeyCounts":
        names = {*self._counters, *other._counters}
        none: Counter[Any] = Counter()
        return KeyCounts(
            {name: self._counters.get(name, none) + other._counters.get(name, none) for name in names}
        )

    def __len__(self) -> int:
        return sum(counter.total() for counter in self._counters.values())

    def sorted(self) -> list[tuple[Hashable, int]]:
        """Return the published form of each key and its count, in an order independent of the records'."""
        return [
            (_unranked((name, key)), counter[key])
            for name, counter in sorted(self._counters.items())
            for key in sorted(counter)
        ]


def counted_keys(keys: Iterable[Hashable] | KeyCounts) -> list[tuple[Hashable, int]]:
    """Return the published form of each key and its count, in an order independent of the records' order."""
    return (keys if isinstance(keys, KeyCounts) else KeyCounts.of(keys)).sorted()


def _by_type(block: list[Hashable]) -> dict[str, list[Any]]:
    kinds = set(map(type, block))
    if len(kinds) == 1 and kinds <= _PLAIN:
        return {kinds.pop().__name__: block}
    groups: dict[str, list[Any]] = {}
    for key in block:
        name, value = _ranked(key)
        groups.setdefault(name, []).append(value)
    return groups


def _ranked(key: Any, depth: int = 0) -> tuple[str, Any]:
    """Return the name of the type in which a key is published, and the key as a sortable value."""
    if isinstance(key, tuple) and depth < _DEEPEST:
        return "tuple", tuple(_ranked(part, depth + 1) for part in tuple.__iter__(key))
    if isinstance(key, str):
        return "str", str.__str__(key)
    if isinstance(key, bytes):
        return "bytes", bytes.join(b"", [key])
    if isinstance(key, int) and not isinstance(key, bool):
        return "int", int.__int__(key)
    if isinstance(key, np.integer):
        return "int", int(key)
    if key is not None:
        raise TypeError("keys must be None, str, bytes, int, or tuples of these, nested up to 16 deep")
    return "None", 0


def _unranked(ranked: tuple[str, Any]) -> Hashable:
    name, value = ranked
    if name == "tuple":
        return tuple(map(_unranked, value))
    return None if name == "None" else value
