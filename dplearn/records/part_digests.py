"""Digests of the records of a part, by which a later pass notices that the part has other records.

A digest is private, and lives as long as the fit. It is to notice mistakes, such as a source that shuffles,
and not to resist an adversary. So arrays of numbers, most of all data, are represented by their CRC-32, which
takes less time than a cryptographic hash function, and misses an arbitrary change with probability 2**-32.

>>> first = np.arange(6.0), np.array(["no", None, "yes"] * 2, dtype=object)
>>> digest_of(first) == digest_of(tuple(column.copy() for column in first))
True
>>> digest_of(first) == digest_of((first[0] + (np.arange(6) == 4), first[1]))
False
"""

import hashlib
import pickle
from contextlib import suppress
from io import BytesIO
from typing import Any
from zlib import crc32

import numpy as np
from scipy.sparse import issparse

from dplearn.domains.cells import frame_column, is_frame

__all__ = ["digest_of"]

_NARROW = {"g": "d", "G": "D"}  # long types have padding, whose bits are arbitrary


def digest_of(records: Any) -> bytes:
    """Return a digest of records, equal for equal records in every process, unless a cell is a set.

    Parameters
    ----------
    records : Records, array, sparse matrix, data frame, series or list
        Private.
    """
    pickled = BytesIO()
    pickler = _Pickler(pickled, 5)
    pickler.fast = True  # without a memo, which depends on whether equal cells are one object
    with suppress(Exception):  # records with a cell that cannot be pickled are not told apart
        pickler.dump(records)
    return hashlib.blake2b(pickled.getvalue(), digest_size=16).digest()


class _Pickler(pickle.Pickler):
    """Pickles tables as lists of their columns, in any layout, and arrays of numbers as their CRC-32."""

    def reducer_override(self, part: Any) -> Any:
        if is_frame(part):
            return list, tuple(frame_column(part, place) for place in range(part.shape[1]))
        if issparse(part):
            rows: Any = part.tocsr()  # type: ignore[attr-defined]
            return list, (rows.indptr, rows.indices, rows.data)
        if type(part) is not np.ndarray or part.dtype.hasobject:
            return NotImplemented
        plain = part.astype(_NARROW.get(part.dtype.char, part.dtype), copy=False)
        data: Any = np.ascontiguousarray(plain).reshape(-1).view(np.uint8)
        return list, (part.dtype.str, part.shape, crc32(data))
