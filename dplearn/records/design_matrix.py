"""Design matrices: tables encoded as numbers by the public domains of their columns, row by row.

>>> from dplearn.domains import Categories, IntegerRange, Product
>>> design = DesignMatrix(Product([IntegerRange(0, 100), Categories(["north", "south"])], ["age", "town"]))
>>> design.of(np.array([[25, "south"], [100, "north"]], dtype=object)).tolist()
[[-0.5, 0.0, 1.0], [1.0, 1.0, 0.0]]
>>> design.names
('age', "town == 'north'", "town == 'south'")
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from dplearn.domains import Bits, Domain, DomainError, Floats, Product
from dplearn.domains.base import Codes
from dplearn.kernels.rows import row_blocks
from dplearn.records.rows import Columns

_WIDE = 12.0  # arsinh(x) is divided by this and clipped to -1..1, which merges magnitudes above 80,000


@dataclass(frozen=True)
class DesignMatrix:
    """An encoding of the columns of a table as columns of numbers from -1 to 1.

    Unordered values are one-hot encoded, with one column per value. Bounded numbers are scaled, the lowest to
    -1 and the highest to 1. Bits are 0 or 1. Floats, which have no bounds, become arsinh(x) / 12 clipped to
    -1..1; for large |x| that is about sign(x) log(2 |x|) / 12. If numbers may be missing, a missing one
    becomes 0, and a further column is 1 for it and 0 for other numbers.
    """

    domain: Product

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name of each column of numbers."""
        names: list[str] = []
        for name, domain in zip(self.domain.names, self.domain.domains, strict=True):
            if domain.ordered:
                names += [name, f"{name} is missing"] if _has_gaps(domain) else [name]
            else:
                names += [f"{name} {domain.describe_test(code)}" for code in range(domain.size)]
        return tuple(names)

    @property
    def n_active(self) -> int:
        """The greatest number of nonzero numbers in a row: one for each column of the table."""
        return len(self.domain.domains)

    @cached_property
    def blocks(self) -> tuple[slice, ...]:
        """The columns of numbers of each one-hot encoding: in each row exactly one of them is 1."""
        placed = zip(self.domain.domains, self._places, strict=True)
        return tuple(place for domain, place in placed if not domain.ordered and not isinstance(domain, Bits))

    def of(self, X: Any, *, nearest: bool = False) -> NDArray[np.float64]:
        """Return the matrix of a table, of shape (n, len(names)); a value outside its domain is an error.

        `nearest` replaces such values with the nearest inside, as predictions do; unordered ones become
        zeros.
        """
        return self.encoded(X, nearest=nearest).toarray()

    def encoded(self, X: Any, *, nearest: bool = False) -> "EncodedMatrix":
        """Return the matrix of a table, held as the codes of its columns; parameters as for `of`."""
        return EncodedMatrix(self, self.domain.nearest(X) if nearest else self.domain.encode(X))

    @cached_property
    def _places(self) -> tuple[slice, ...]:
        """The columns of numbers of each column of the table."""
        widths = [1 + _has_gaps(each) if each.ordered else each.size for each in self.domain.domains]
        return tuple(slice(end - width, end) for width, end in zip(widths, accumulate(widths), strict=True))


class EncodedMatrix(Columns):
    """The matrix of a table, held as the codes of its columns, which take less memory than its numbers.

    Like a sparse matrix it has a `shape`, rows by slices or row numbers, and `toarray()`.
    """

    def __init__(self, design: DesignMatrix, columns: Sequence[NDArray[Any]]):
        super().__init__(columns)
        self.design = design

    def __getitem__(self, places: Any) -> "EncodedMatrix":
        return EncodedMatrix(self.design, [column[places] for column in self.columns])

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the matrix."""
        return len(self), len(self.design.names)

    def toarray(self) -> NDArray[np.float64]:
        """Return the matrix."""
        matrix = np.empty(self.shape)
        for block in row_blocks(*self.shape):
            for domain, place, codes in zip(
                self.design.domain.domains, self.design._places, self.columns, strict=True
            ):
                matrix[block, place] = _numbers(domain, codes[block])
        return matrix


def plain_matrix(X: Any) -> Any:
    """Return a table, which must hold finite numbers, as a matrix of floats; a sparse one as a CSR matrix."""
    if issparse(X) or (isinstance(X, np.ndarray) and X.dtype.kind in "iufb"):
        table = _floats(X)
        if not np.isfinite(table.data if issparse(X) else table).all():
            raise DomainError("X must hold finite numbers")
        return table
    floats = Floats()
    columns = Product([floats] * X.shape[1]).encode(X)
    return np.stack([floats.decode(column) for column in columns], axis=1)


def _floats(X: Any) -> Any:
    """Return a table as floats, which may be infinite; numbers at one place of a sparse matrix are added."""
    table = X.astype(np.float64, copy=False)
    if issparse(X) and not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return table


def _has_gaps(domain: Domain) -> bool:
    return domain.ordered and domain.accepts_missing


def _numbers(domain: Domain, codes: Codes) -> NDArray[np.float64]:
    """Return the columns of numbers that encode one column of codes."""
    if isinstance(domain, Bits):
        return np.asarray(codes[:, None], dtype=np.float64)
    if not domain.ordered:
        return np.asarray(codes[:, None] == np.arange(domain.size), dtype=np.float64)
    flat = _scaled(domain, codes)
    if not _has_gaps(domain):
        return flat[:, None]
    gaps = codes == 0
    return np.column_stack([np.where(gaps, 0.0, flat), gaps])


def _scaled(domain: Domain, codes: Codes) -> NDArray[np.float64]:
    """Return numbers from -1 to 1; the result for a missing number is arbitrary."""
    if isinstance(domain, Floats):
        return (np.arcsinh(domain.decode(codes)) / _WIDE).clip(-1.0, 1.0)
    first = int(_has_gaps(domain))  # the code of the least number; the code 0 of a missing one may underflow
    # Codes may be Python integers of any size; the quotient of two is a float.
    return np.asarray(2 * ((codes - first) / max(domain.size - 1 - first, 1)) - 1, dtype=np.float64)
