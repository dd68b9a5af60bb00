"""Keys of mixed types: counts in an order that depends on the set of keys alone, and hashes to buckets."""

import hashlib
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count

_PLAIN = {str, bytes, int}  # types whose values are published unchanged
_DEEPEST = 16  # greatest depth of nested tuples
_BLOCK = 1 << 16  # keys that are counted together


class KeyCounts:
    """Counts of keys, which can be added.

    Keys of different types are never compared: "a" and b"a" have equal hashes, and `python -b` warns of their
    comparison.

    `counters`: for the name of each type the counts of its keys, as sortable values.
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


WIDTH = 256  #: Bits of multiplier and shift.
LARGEST_BITS = 32  #: Of a bucket.
_DIGEST = 28  # bytes: 224 + 32 <= 256


def multiply_shift(x: int, *, multiplier: int, shift: int, width: int, bits: int) -> int:
    """Return the `bits` highest of the `width` lowest bits of multiplier x + shift.

    If multiplier and shift are uniform below 2**width, the values of any two different x below
    2**(width - bits + 1) are independent and uniform, so they collide with probability exactly 2**-bits.

    `x`: from 0 to 2**(width - bits + 1) - 1. `multiplier`, `shift`: from 0 to 2**width - 1. `width`, `bits`:
    bits <= width.

    Notes
    -----
    **Source.** Dietzfelbinger (1996), Theorem 1. Proof: let y - x = 2**s u, with u odd and s <= width - bits.
    The multiplier times u is uniform, so multiplier (y - x) is 2**s times a number that is uniform modulo
    2**(width - s). The number multiplier x + shift is uniform too, and independent of the multiplier. The sum
    of both numbers determines the value of y. Given the second number, the bits of the sum from s on are
    uniform, and the `bits` highest bits are among them.
    """
    return ((multiplier * x + shift) & ((1 << width) - 1)) >> (width - bits)


@dataclass(frozen=True)
class KeyHash:
    """A public function from bytes of any length to 2**bits buckets.

    `multiplier`, `shift`: from 0 to 2**256 - 1. They must be drawn uniformly, and independently of the keys.
    `bits`: from 0 to 32.

    Notes
    -----
    Two different keys collide with probability 2**-bits over multiplier and shift, unless their 224-bit
    BLAKE2b digests are equal. No collision of BLAKE2b is known.
    """

    multiplier: int
    shift: int
    bits: int

    def __post_init__(self) -> None:
        check_count("multiplier", self.multiplier, high=(1 << WIDTH) - 1)
        check_count("shift", self.shift, high=(1 << WIDTH) - 1)
        check_count("bits", self.bits, high=LARGEST_BITS)

    def bucket(self, key: bytes) -> int:
        """Return the bucket of a key."""
        digest = int.from_bytes(hashlib.blake2b(key, digest_size=_DIGEST).digest(), "big")
        return multiply_shift(
            digest, multiplier=self.multiplier, shift=self.shift, width=WIDTH, bits=self.bits
        )

    def buckets(self, keys: Iterable[bytes]) -> NDArray[np.int64]:
        """Return the bucket of each key."""
        known: dict[bytes, int] = {}
        return np.array(
            [known[key] if key in known else known.setdefault(key, self.bucket(key)) for key in keys],
            dtype=np.int64,
        )
