"""Released rules about keys: one key, one prefix of rows, or a few buckets of keys.

>>> hashed = KeyHash(multiplier=3**150, shift=5**100, bits=10)
>>> ChosenPrefix((2, 81), hashed, ("country", "region", "town"), ("none", "outbreak"))
'outbreak' if (country, region) hashes to 81 of 1024, else 'none'
>>> ChosenKeys((7, 81), hashed, ("code",), (0, 1))
1 if code hashes to 7 or 81 of 1024, else 0
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.domains.keys import spelled
from dplearn.kernels.keys import KeyHash

__all__ = ["ChosenKeys", "ChosenPoint", "ChosenPrefix", "prefix_buckets"]

_SHOWN = 60  # the most characters of a key in a rule
_NAMES = 4  # the most column names in a rule


@dataclass(frozen=True, repr=False)
class _Rule:
    """What all rules have; see `ChosenPoint`."""

    where: Any
    hashed: KeyHash | None
    names: tuple[str, ...]
    labels: tuple[Any, Any]

    def _said(self, condition: str) -> str:
        rest, there = map(repr, self.labels)
        return f"{there} if {condition}, else {rest}"

    def _hashed_to(self, buckets: Sequence[int], names: Sequence[str]) -> str:
        assert self.hashed is not None
        numbers = [str(bucket) for bucket in buckets]
        shown = numbers[-1] if len(numbers) == 1 else f"{', '.join(numbers[:-1])} or {numbers[-1]}"
        return self._said(f"{_columns(names)} hashes to {shown} of {1 << self.hashed.bits}")


@dataclass(frozen=True, repr=False)
class ChosenPoint(_Rule):
    """A released point function; its `repr` is the rule.

    Attributes
    ----------
    where : tuple of one key or bucket, or None
        The key or bucket with the second label; None: no key has it.
    hashed : KeyHash or None
        The hash from keys to buckets; None: keys are not hashed.
    names : tuple of str
        The names of the columns.
    labels : tuple of two
        The label of all other keys, and the label of the key.
    """

    def __call__(self, keys: Sequence[Hashable]) -> NDArray[np.intp]:
        """Return the label code of each key."""
        if self.where is None:
            return np.zeros(len(keys), dtype=np.intp)
        texts = map(spelled, keys)
        if self.hashed is not None:
            chosen: NDArray[np.intp] = (self.hashed.buckets(texts) == self.where[0]).astype(np.intp)
            return chosen
        wanted = spelled(self.where[0])
        return np.array([text == wanted for text in texts], dtype=np.intp)

    def __repr__(self) -> str:
        """Return the rule."""
        if self.where is None:
            return f"{self.labels[0]!r} always"
        if self.hashed is not None:
            return self._hashed_to(self.where, self.names)
        return self._said(f"{_columns(self.names)} == {_short(self.where[0])}")


@dataclass(frozen=True, repr=False)
class ChosenPrefix(_Rule):
    """A released rule about the first columns of a row; its `repr` is the rule.

    Attributes
    ----------
    where : tuple of two int, or None
        The number of columns, and the bucket of their values with the second label; (0, 0): all rows have it;
        None: no row has it.
    hashed : KeyHash
        The hash from prefixes of rows to buckets.
    names : tuple of str
        The names of all columns.
    labels : tuple of two
        The label of all other rows, and the label of these rows.
    """

    def __call__(self, keys: Sequence[Hashable]) -> NDArray[np.intp]:
        """Return the label code of each row, a tuple of the cells of all columns."""
        if self.where is None or not self.where[0]:
            return np.full(len(keys), 0 if self.where is None else 1, dtype=np.intp)
        assert self.hashed is not None
        length, bucket = self.where
        (buckets,) = prefix_buckets(self.hashed, keys, [length])
        chosen: NDArray[np.intp] = (buckets == bucket).astype(np.intp)
        return chosen

    def __repr__(self) -> str:
        """Return the rule."""
        if self.where is None or not self.where[0]:
            return f"{self.labels[self.where is not None]!r} always"
        length, bucket = self.where
        return self._hashed_to([bucket], self.names[:length])


@dataclass(frozen=True, repr=False)
class ChosenKeys(_Rule):
    """A released rule about a few buckets of keys; its `repr` is the rule.

    Attributes
    ----------
    where : tuple of int, or None
        The buckets with the second label, in increasing order; None: no bucket has it.
    hashed : KeyHash
        The hash from keys to buckets.
    names : tuple of str
        The names of the columns.
    labels : tuple of two
        The label of all other keys, and the label of the keys in these buckets.
    """

    def __call__(self, keys: Sequence[Hashable]) -> NDArray[np.intp]:
        """Return the label code of each key."""
        assert self.hashed is not None
        buckets = self.hashed.buckets(map(spelled, keys))
        chosen: NDArray[np.intp] = np.isin(buckets, self.where or ()).astype(np.intp)
        return chosen

    def __repr__(self) -> str:
        """Return the rule."""
        return f"{self.labels[0]!r} always" if self.where is None else self._hashed_to(self.where, self.names)


def prefix_buckets(hashed: KeyHash, rows: Sequence[Any], lengths: Iterable[int]) -> list[NDArray[np.int64]]:
    """Return for each length the bucket of the prefix of each row."""
    cells = [[spelled(cell) for cell in row] for row in rows]
    # The spelling of the tuple of the first cells.
    return [
        hashed.buckets(b"t%d:%b" % (length, b"".join(texts[:length])) for texts in cells)
        for length in lengths
    ]


def _columns(names: Sequence[str]) -> str:
    if len(names) == 1:
        return names[0]
    return f"({', '.join(names if len(names) <= _NAMES else (*names[:_NAMES], '...'))})"


def _short(key: Hashable) -> str:
    """Return a key as text, truncated if it is long."""
    try:
        text = repr(key)
    except ValueError:  # Python does not convert integers of thousands of digits
        return f"a {type(key).__name__} with too many digits to show"
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
