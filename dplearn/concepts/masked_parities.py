"""Masked parities: the label of a record is a coefficient of a parity if the mask is 1, else the parity.

>>> import numpy as np
>>> rows = masked_rows(bits=[[1, 0], [1, 1], [0, 1]], index=[0, 1, 0], mask=[0, 1, 1])
>>> rows.tolist()  # two bits, an index of one bit, the mask
[[1, 0, 0, 0], [1, 1, 1, 1], [0, 1, 0, 1]]
>>> concept = MaskedParity((0,), Parity((0,)), n_bits=2)
>>> concept.predict(list(rows.T)).tolist()
[1, 0, 1]
>>> concept.describe(["x0", "x1", "i", "mask"], ["no", "yes"])
"if mask: 'yes' if i is 0, else 'no'; otherwise: 'yes' if x0, else 'no'"
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.concepts.base import Labels
from dplearn.concepts.bits import literal
from dplearn.concepts.parities import Parity
from dplearn.domains import Product

__all__ = ["MaskedParity", "index_of", "masked_layout", "masked_rows"]

_NAMED = 20  # greatest number of indices that are all named


@dataclass(frozen=True)
class MaskedParity:
    """A rule over n_bits columns of bits, columns of a binary index (lowest bit first), and a mask column.

    Attributes
    ----------
    shown : tuple of int
        The indices for which a record with mask 1 has label code 1; increasing.
    parity : Parity
        The rule for a record with mask 0, a parity of its bits.
    n_bits : int
        The number of columns of bits, and of valid indices.
    domain : Product of Bits, optional
        The domains of the columns, with their thresholds, for `describe`. None: no thresholds.
    """

    shown: tuple[int, ...]
    parity: Parity
    n_bits: int
    domain: Product | None = field(default=None, repr=False, compare=False)

    def predict(self, columns: Sequence[NDArray[Any]]) -> Labels:
        """Return the label code of each record.

        Parameters
        ----------
        columns : list of ndarray of shape (n,)
            Bits, 0 or 1.

        Returns
        -------
        ndarray of intp of shape (n,)
        """
        shows = np.zeros(self.n_bits + 1, dtype=np.intp)
        shows[list(self.shown)] = 1
        index = index_of(columns[self.n_bits : -1], self.n_bits, len(columns[-1]))
        return np.where(columns[-1] == 1, shows[index], self.parity.predict(columns[: self.n_bits]))

    def describe(self, features: Sequence[str], labels: Sequence[Any]) -> str:
        """Return the rule in words; if it has more than 20 indices, it names the first three and the last."""
        mask = literal(features[-1], len(features) - 1, self.domain)
        return (
            f"if {mask}: {self._shown(features, labels)};"
            f" otherwise: {self.parity.describe(features[: self.n_bits], labels)}"
        )

    def _shown(self, features: Sequence[str], labels: Sequence[Any]) -> str:
        if not self.shown:
            return f"always {labels[0]!r}"
        index = features[self.n_bits : -1]
        name = index[0] if len(index) == 1 else "the index" if len(index) == 0 else f"{index[0]}..{index[-1]}"
        named = [str(i) for i in self.shown]
        if len(named) > _NAMED:
            named = [*named[:3], "...", named[-1]]
        return f"{labels[1]!r} if {name} is {' or '.join(named)}, else {labels[0]!r}"


def masked_layout(n_features: int) -> tuple[int, int]:
    """Return the number of columns of bits, and of the index; the remaining last column is the mask.

    Parameters
    ----------
    n_features : int
        At least 2.

    Returns
    -------
    n_bits, n_index : int
        n_bits is the greatest number with n_bits <= 2**n_index.

    Raises
    ------
    ValueError
        If `n_features` is below 2.
    """
    if check_count("n_features", n_features) < 2:
        raise ValueError(
            f"X must have columns of bits, of an index and of a mask, 2 at least, got {n_features} feature(s)"
        )
    n_bits = n_features - 1
    while n_bits + (n_bits - 1).bit_length() + 1 > n_features:
        n_bits -= 1
    return n_bits, n_features - 1 - n_bits


def masked_rows(bits: Any, index: Any, mask: Any) -> NDArray[np.uint8]:
    """Return the table of a masked parity: bits, the index in binary (lowest bit first), and the mask.

    Parameters
    ----------
    bits : array-like of shape (n, n_bits)
        0 or 1.
    index : array-like of int of shape (n,)
        From 0 to n_bits - 1.
    mask : array-like of shape (n,)
        0 or 1; if it is 1, the label is that of the index.

    Returns
    -------
    ndarray of uint8 of shape (n, n_bits + ceil(log2(n_bits)) + 1)

    Raises
    ------
    TypeError, ValueError
        If a parameter is not as described; the message contains no value.
    """
    bits, index, mask = np.asarray(bits), np.asarray(index), np.asarray(mask)
    if bits.ndim != 2 or not bits.shape[1] or not index.shape == mask.shape == bits.shape[:1]:
        raise ValueError("bits must have shape (n, n_bits), index and mask (n,)")
    n_bits = bits.shape[1]
    for name, values in (("bits", bits), ("mask", mask)):
        if not np.isin(values, (0, 1)).all():
            raise ValueError(f"{name} must be 0 or 1")
    if index.dtype.kind not in "iu":
        raise TypeError(f"index must be integers, got dtype {index.dtype}")
    if not ((index >= 0) & (index < n_bits)).all():
        raise ValueError(f"index must be from 0 to {n_bits - 1}, below the number of bits")
    places = index.astype(np.int64)[:, None] >> np.arange((n_bits - 1).bit_length()) & 1
    return np.hstack((bits, places, mask[:, None])).astype(np.uint8)


def index_of(columns: Sequence[NDArray[Any]], n_bits: int, n: int) -> NDArray[np.intp]:
    """Return the minimum of each record's index and n_bits.

    Parameters
    ----------
    columns : sequence of ndarray of shape (n,)
        The bits of the index, the lowest first.
    n_bits : int
        The number of valid indices.
    n : int
        The number of records.
    """
    index = np.zeros(n, dtype=np.intp)
    for place, column in enumerate(columns):
        index |= (column == 1).astype(np.intp) << place
    return np.minimum(index, n_bits)
