"""Conversion of cells into keys: values of built-in types that are equal for cells of equal meaning.

Each cell is converted independently of the others. numpy and pandas turn a column of integers into floats if
one record has a missing value, so a whole float has the key of the integer. NaN, None and pandas' missing
values have the key None.
"""

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from dplearn.domains.base import DomainError
from dplearn.domains.cells import is_missing, is_number

#: The precondition on keys, as listed in a guarantee.
KEYS_ASSUMED = "keys are missing, text, bytes, numbers, or tuples of these"

_REFUSED = (
    "a key is of another type than None, text, bytes, numbers, or tuples of these, nested up to 16 deep;"
    " turn others into text first"
)
_AS_THEY_ARE = {str, bytes, int, type(None)}
_DEEPEST = 16


def read_keys(cells: Iterable[Any]) -> list[Hashable]:
    """Return each cell as None, str, bytes, int, float with a fraction or infinite, or a tuple of these."""
    kept = list(cells)
    if set(map(type, kept)) <= _AS_THEY_ARE:
        return kept
    return [_key(cell) for cell in kept]


def spelled(key: Hashable) -> bytes:
    """Return an encoding of a key as bytes, different for different keys and the same on every machine.

    `key`: as `read_keys` returns them.
    """
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
