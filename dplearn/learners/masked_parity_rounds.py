"""How a masked parity is learned from statistical queries: two rounds, or what one round can do.

>>> from dplearn.core.gf2 import pack
>>> from dplearn.queries import PopulationOracle
>>> points = np.array(list(np.ndindex(2, 2, 2, 2)), dtype=np.uint8)  # two bits, an index, a mask
>>> labels = np.where(points[:, 3], points[:, 2] == 1, 1 - points[:, 1]).astype(np.uint8)  # x1, complemented
>>> oracle = PopulationOracle(MaskedRecords.of(pack(points), 2, labels))
>>> learn_masked_parity(oracle, 2, Asking("cells"), Asking("turned"))
MaskedParity(shown=(1,), parity=Parity(features=(1,), intercept=1), n_bits=2)
>>> oracle.adaptive
True
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard

from dplearn._validation import check_choice
from dplearn.concepts.masked_parities import MaskedParity, index_of
from dplearn.concepts.parities import Parity
from dplearn.core.gf2 import BitMatrix
from dplearn.domains import Product
from dplearn.queries import MeanQuery, Oracle, Records, ShareQuery, StatisticalQuery

__all__ = ["Asking", "MaskedRecords", "learn_masked_parity"]

_WAYS = ("cells", "turned")

Signed = tuple[NDArray[np.intp], NDArray[np.int64]]  # which cell each record is in, and its sign


@dataclass(frozen=True, repr=False)  # a traceback may show it
class MaskedRecords(Records):
    """Records of a masked parity, as queries take them.

    Attributes
    ----------
    matrix : BitMatrix of shape (n, d)
        Private. The bits.
    index : ndarray of intp of shape (n,)
        Private. From 0 to d - 1, or d where it means nothing.
    mask : ndarray of uint8 of shape (n,)
        Private.
    labels : ndarray of int of shape (n,)
        Private. Label codes, 0 or 1.
    """

    matrix: BitMatrix
    index: NDArray[np.intp]
    mask: NDArray[np.uint8]
    labels: NDArray[Any]

    @classmethod
    def of(cls, matrix: BitMatrix, n_bits: int, labels: NDArray[Any]) -> Self:
        """Return the records of a table: bits, index and mask; see `masked_rows`."""
        columns = list(matrix.unpack().T)
        bits = BitMatrix(matrix.words, n_bits)  # the first columns, of the same words
        return cls(bits, index_of(columns[n_bits:-1], n_bits, len(matrix)), columns[-1], labels)

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, places: NDArray[np.int64]) -> Self:
        return type(self)(self.matrix[places], self.index[places], self.mask[places], self.labels[places])


@dataclass(frozen=True)
class Asking:
    """How a round is asked.

    Attributes
    ----------
    way : {"cells", "turned"}
        "cells": one query, which cell and sign a record has. "turned": as many as there are cells, or up to
        the next power of two, each of all cells with signs of its own.
    terms : mapping
        What `Oracle.ask` is told besides: `share`, or `tolerance` and `beta`.
    """

    way: str
    terms: Mapping[str, Any] = field(default_factory=dict)


def learn_masked_parity(
    oracle: Oracle, n_bits: int, first: Asking, second: Asking | None, domain: Product | None = None
) -> MaskedParity:
    """Learn a masked parity from any oracle about `MaskedRecords`.

    Parameters
    ----------
    oracle : Oracle
        What answers.
    n_bits : int
        How many bits d.
    first : Asking
        How to ask for the bits of the parity, which records with mask show.
    second : Asking or None
        How to ask, with the parity in hand, whether its complement labels the records without mask. None
        asks in the first round which label most of these have, and gives it to all of them.
    domain : Product of Bits, optional
        Of the columns; the concept gets it.

    Returns
    -------
    MaskedParity

    Notes
    -----
    **Accuracy.** Where masks are fair coins and indices uniform, right if no query in "cells" is off by
    1 / (4 d) or more in the first round and 1/4 in the second, with "turned" twice that.

    **Source.** Kasiviswanathan et al. (2011), Section 5.3.1. There each query is about one cell and asks for
    a share above 1 / (4 d); here signs are asked for, so that no bar depends on how frequent a cell is.
    """
    if second is None:
        signs = _signs(oracle, partial(_shown_or_plain, n_bits), n_bits + 1, first)
        rule = Parity((), int(signs[-1] > 0))
        return MaskedParity(_positive(signs[:-1]), rule, n_bits, domain)
    shown = _positive(_signs(oracle, partial(_shown, n_bits), n_bits, first))
    parity = Parity(shown, 0, domain)
    agreeing = partial(_agreeing, parity.coefficients(n_bits))
    (agrees,) = _signs(oracle, agreeing, 1, second)
    return MaskedParity(shown, Parity(shown, int(agrees < 0), domain), n_bits, domain)


def _shown(n_bits: int, records: MaskedRecords) -> Signed:
    """With mask: the index's cell, and the label."""
    return np.where(records.mask == 1, records.index, n_bits), _sign(records.labels)


def _shown_or_plain(n_bits: int, records: MaskedRecords) -> Signed:
    """Besides, a last cell for all without mask."""
    with_mask = np.where(records.index < n_bits, records.index, n_bits + 1)
    return np.where(records.mask == 1, with_mask, n_bits), _sign(records.labels)


def _agreeing(parity: NDArray[np.uint8], records: MaskedRecords) -> Signed:
    """Without mask: one cell, and whether the label is the parity's."""
    odd = records.matrix.dot(parity)
    return records.mask.astype(np.intp), _sign(odd == records.labels)


def _sign(bits: NDArray[Any]) -> NDArray[np.int64]:
    return 2 * bits.astype(np.int64) - 1


def _positive(signs: NDArray[np.float64]) -> tuple[int, ...]:
    return tuple(np.flatnonzero(signs > 0).tolist())


def _signs(
    oracle: Oracle, cells: Callable[[MaskedRecords], Signed], size: int, asking: Asking
) -> NDArray[np.float64]:
    """Return, for each cell, the estimated share of records in it with sign + less that with sign -."""
    if check_choice("way", asking.way, _WAYS) == "cells":
        query = ShareQuery(partial(_category, cells, size), categories=2 * size + 1)
        means = oracle.ask(query, **asking.terms)[0].means
        return np.asarray(means[1 : 2 * size : 2] - means[0 : 2 * size : 2])
    turn = hadamard(1 << (size - 1).bit_length(), dtype=np.int8)
    queries: list[StatisticalQuery] = [
        MeanQuery(partial(_turned, cells, row[:size]), low=-1, high=1) for row in turn
    ]
    answers = np.array([answer.mean for answer in oracle.ask(queries, **asking.terms)])
    # A symmetric matrix whose square is as many times the identity as it has rows.
    return np.asarray(turn[:size] @ answers / len(turn))


def _category(
    cells: Callable[[MaskedRecords], Signed], size: int, records: MaskedRecords
) -> NDArray[np.int64]:
    cell, sign = cells(records)
    return np.where(cell < size, 2 * cell + (sign > 0), 2 * size)


def _turned(
    cells: Callable[[MaskedRecords], Signed], row: NDArray[np.int8], records: MaskedRecords
) -> NDArray[np.int64]:
    cell, sign = cells(records)
    return np.append(row, 0).astype(np.int64)[np.minimum(cell, len(row))] * sign
