"""Keys: cells as values of built-in types that are equal for cells of equal meaning, and counts of keys.

Each cell is converted independently. A whole float has the key of the integer, since numpy and pandas turn
integers into floats if a value is missing; missing values have the key None. The order depends on keys alone.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from dplearn.domains.base import DomainError
from dplearn.domains.cells import is_missing, is_number, object_array
from dplearn.domains.factors import factor

#: The precondition on keys, as listed in a guarantee.
KEYS_ASSUMED = "keys are missing, text, bytes, numbers, or tuples of these"

_REFUSED = (
    "a key is of another type than None, text, bytes, numbers, or tuples of these, nested up to 16 deep;"
    " turn others into text first"
)
_AS_THEY_ARE = {str, bytes, int, type(None)}
_DEEPEST = 16  # greatest depth of nested tuples


def read_keys(cells: Iterable[Any]) -> list[Hashable]:
    """Return each cell as None, str, bytes, int, float with a fraction or infinite, or a tuple of these."""
    kept = list(cells)
    if set(map(type, kept)) <= _AS_THEY_ARE:
        return kept
    return [_key(cell) for cell in kept]


def spelled(key: Hashable) -> bytes:
    """Return an encoding of a key as bytes, different for different keys and the same on every machine."""
    if isinstance(key, tuple):
        return b"t%d:%b" % (len(key), b"".join(map(spelled, key)))
    tag, text = _text(key)
    return b"%b%d:%b" % (tag, len(text), text)  # the length makes the code prefix-free


def _text(key: Any) -> tuple[bytes, bytes]:
    if isinstance(key, str):
        return b"s", key.encode("utf-8", "surrogatepass")
    if isinstance(key, bytes):
        return b"b", key
    if isinstance(key, int):
        return b"i", b"%x" % key  # Python limits the length of decimal texts
    if isinstance(key, float):
        return b"f", key.hex().encode()
    return b"n", b""


def _key(cell: Any, depth: int = 0) -> Hashable:
    if isinstance(cell, str):
        return str.__str__(cell)
    if isinstance(cell, bytes):
        return bytes.join(b"", [cell])
    if isinstance(cell, int):
        return int.__int__(cell)
    if isinstance(cell, (np.bool_, np.integer)) and is_number(cell):
        return int(cell)
    if is_missing(cell):
        return None
    if isinstance(cell, (float, np.floating)):
        value = float(cell)
        return int(value) if value.is_integer() else value
    if isinstance(cell, tuple) and depth < _DEEPEST:
        return tuple(_key(part, depth + 1) for part in tuple.__iter__(cell))
    raise DomainError(_REFUSED)


class KeyCounts:
    """Counts of keys by the names of their types, as sortable values, which can be added."""

    # Keys of different types are never compared: "a" and b"a" have equal hashes, and `python -b` warns.

    def __init__(self, counters: Mapping[str, Counter[Any]]):
        self._counters = counters

    @classmethod
    def of(cls, keys: Iterable[Hashable]) -> "KeyCounts":
        """Return the counts of keys: None, str, bytes, int, or tuples of these."""
        return cls.counted(factor(object_array(list(keys))).counts())

    @classmethod
    def counted(cls, counts: Iterable[tuple[Hashable, int]]) -> "KeyCounts":
        """Return the counts of keys, of which each pair holds some; a key may occur in several."""
        counters: dict[str, Counter[Any]] = defaultdict(Counter)
        for key, count in counts:
            name, value = _ranked(key)
            counters[name][value] += count
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


def key_counts(places: Sequence[int], rows: Any) -> list[KeyCounts]:
    """Return the counts of keys in some columns, factors, of rows."""
    return [KeyCounts.counted(rows.columns[place].counts()) for place in places]


def counted_keys(keys: Iterable[Hashable] | KeyCounts) -> list[tuple[Hashable, int]]:
    """Return the published form of each key and its count, in an order independent of the records' order."""
    return (keys if isinstance(keys, KeyCounts) else KeyCounts.of(keys)).sorted()


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
