"""Rows of numbers, for the sums of a fit and for predictions, dense or as places of one-hot encodings.

Of the D numbers of an encoded row few are not 0: `OneHotRows` hold those of numeric columns, and the places
of encodings. Sums over rows are sums by place, a quadratic form of a row is a sum over pairs of its places;
no matrix of D columns is formed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import diags_array, issparse

from dplearn.domains import Product
from dplearn.domains.base import smallest_uint
from dplearn.kernels import blocks, dense, float_blocks, row_blocks
from dplearn.table import Columns
from dplearn.table.encodings import DesignMatrix, EncodedMatrix, is_one_hot

_ROWS = 1 << 13  # in a block, so that its intermediate results fit into the cache
_CHUNK = 1 << 20  # rows whose sums are exact in floats
_WORTH = 8  # the least width of a row, in places, for which sums by place are faster than those of matrices


@dataclass(frozen=True)
class Layout:
    """Where the numbers of a row are; public."""

    size: int
    numbers: NDArray[np.intp]  # the places of the numbers that are held
    constant: int  # the one of these that is also at the place of each encoding
    encodings: tuple[slice, ...]

    @classmethod
    def of(cls, design: DesignMatrix, more: int) -> "Layout":
        """Return the layout of rows of a design and `more` numbers, the first of which is the constant."""
        held = np.ones(len(design.names) + more, dtype=bool)
        for block in design.blocks:
            held[block] = False
        numbers = np.flatnonzero(held)
        return cls(len(held), numbers, len(numbers) - more, design.blocks)


def is_worth(design: DesignMatrix | None) -> bool:
    """Return whether sums by place are faster than those of matrices."""
    return design is not None and bool(design.blocks) and len(design.names) >= _WORTH * (1 + design.n_active)


def numbers_of(rows: EncodedMatrix) -> Any:
    """Return the numeric columns of an encoded table, as a matrix."""
    given = zip(rows.design.domain.domains, rows.columns, strict=True)
    kept = [(domain, codes) for domain, codes in given if not is_one_hot(domain)]
    if not kept:
        return np.zeros((len(rows), 0))
    domains, columns = zip(*kept, strict=True)
    return EncodedMatrix(DesignMatrix(Product(domains)), columns)


def places_of(rows: EncodedMatrix) -> list[NDArray[np.unsignedinteger[Any]]]:
    given = zip(rows.design.domain.domains, rows.columns, strict=True)
    encoded = zip((codes for domain, codes in given if is_one_hot(domain)), rows.design.blocks, strict=True)
    kind = smallest_uint(len(rows.design.names))
    return [(codes.astype(np.intp) + block.start).astype(kind) for codes, block in encoded]


class OneHotRows(Columns):
    """Rows of numbers and encodings: the columns are the numbers, of shape (n, numbers), and the places."""

    def __init__(self, layout: Layout, numbers: NDArray[Any], places: Sequence[NDArray[np.integer[Any]]]):
        super().__init__([numbers, *places])
        self.layout, self.numbers, self.places = layout, numbers, self.columns[1:]

    def __getitem__(self, rows: Any) -> "OneHotRows":
        numbers, *places = (column[rows] for column in self.columns)
        return OneHotRows(self.layout, numbers, places)

    def short_blocks(self) -> Iterator[tuple[slice, "OneHotRows"]]:
        return ((block, self[block]) for block in blocks(len(self), _ROWS))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self), self.layout.size

    def toarray(self) -> NDArray[Any]:
        matrix = np.zeros(self.shape, dtype=self.numbers.dtype)
        matrix[:, self.layout.numbers] = self.numbers
        for places in self.places:
            matrix[np.arange(len(self)), places] = self.numbers[:, self.layout.constant]
        return matrix

    def times(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the products of rows and vectors, the columns of a matrix."""
        if not self.places:
            return np.asarray((vectors.T @ self.numbers.T).T)  # faster so where rows are short
        found = np.empty((len(self), vectors.shape[1]))
        for block, rows in self.short_blocks():
            numbers = rows.numbers.astype(np.float64)
            encoded = sum(vectors.take(here, axis=0) for here in rows.places)
            encoded *= numbers[:, [self.layout.constant]]
            found[block] = encoded + numbers @ vectors[self.layout.numbers]
        return found

    def sums(self, weights: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the sums of rows times weights, of shape (D, weights of a row): exact for whole numbers
        whose products are below 2**40, and modulo 2**64.
        """
        found = np.zeros((self.layout.size, weights.shape[1]), dtype=np.int64)
        for block, rows in self.short_blocks():
            numbers, own = rows.numbers.astype(np.float64), weights[block]
            places = np.concatenate(rows.places)
            for column, each in zip(found.T, own.T * numbers[:, self.layout.constant], strict=True):
                column += np.bincount(places, np.tile(each, len(rows.places)), len(found)).astype(np.int64)
            found[self.layout.numbers] += (numbers.T @ own).astype(np.int64)
        return found

    def squares(self, gram: NDArray[Any]) -> NDArray[Any]:
        """Return x @ gram @ x of each row x, for a symmetric matrix, in its type.

        Those of whole numbers are exact if no sum of products of two exceeds 2**53, and of three 2**62.
        """
        at, size, kind = self.layout.numbers, self.layout.size, gram.dtype
        own, by_place, flat = gram[np.ix_(at, at)].astype(np.float64), gram[:, at], gram.ravel()
        found = np.empty(len(self), dtype=kind)
        for block, rows in self.short_blocks():
            numbers, places = rows.numbers.astype(kind), [each.astype(np.intp) for each in rows.places]
            constant = numbers[:, self.layout.constant]
            near = (rows.numbers @ own).astype(kind)
            pairs = np.zeros(len(rows), dtype=kind)
            for j, here in enumerate(places):
                near += by_place.take(here, axis=0) * (2 * constant)[:, None]
                pairs += flat.take(here * (size + 1))
                for other in places[j + 1 :]:
                    pairs += 2 * flat.take(here * size + other)
            found[block] = np.einsum("ij,ij->i", near, numbers) + constant * constant * pairs
        return found

    def moments(self) -> NDArray[np.int64]:
        """Return the sums of products of columns, of shape (D, D), exact for products up to 2**32."""
        found = np.zeros((self.layout.size, self.layout.size), dtype=np.int64)
        for chunk in blocks(len(self), _CHUNK):
            self[chunk]._add_moments(found)
        upper: NDArray[np.int64] = np.triu(found)
        return upper + np.triu(upper, 1).T

    def _add_moments(self, found: NDArray[np.int64]) -> None:
        """Add the products of columns, each of those of two encodings in one of two orders."""
        at, encodings = self.layout.numbers, self.layout.encodings
        constant = self.numbers[:, self.layout.constant].astype(np.float64)
        square = constant**2
        for _, rows in self.short_blocks():
            numbers = rows.numbers.astype(np.float64)
            found[np.ix_(at, at)] += (numbers.T @ numbers).astype(np.int64)
        for j, here in enumerate(encodings):
            codes, width = self.places[j].astype(np.intp) - here.start, here.stop - here.start
            for number, place in zip(self.numbers.T, at, strict=True):
                sums = np.bincount(codes, constant * number, width).astype(np.int64)
                found[place, here] += sums
                found[here, place] += sums
            found[here, here] += np.diag(np.bincount(codes, square, width).astype(np.int64))
            for other, places in zip(encodings[j + 1 :], self.places[j + 1 :], strict=True):
                size = other.stop - other.start
                pairs = np.bincount(codes * size + places - other.start, square, width * size)
                found[here, other] += pairs.reshape(width, size).astype(np.int64)


def second_moments(rows: Any) -> NDArray[np.int64]:
    """Return the sums of products of columns, of whole numbers whose products are at most 2**32."""
    if isinstance(rows, OneHotRows):
        return rows.moments()
    sums = np.zeros((rows.shape[1], rows.shape[1]), dtype=np.int64)
    for _, block in float_blocks(rows):
        sums += (block.T @ block).astype(np.int64)
    return sums


def spectrum(
    moments: NDArray[np.float64], encodings: Sequence[slice]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the ascending eigenvalues and, in columns, the eigenvectors of noisy second moments in the span
    of all possible rows, of which each encoding sums to the last number.
    """
    constant = np.zeros((len(moments), len(encodings)))
    for place, block in enumerate(encodings):
        constant[block, place], constant[-1, place] = 1.0, -1.0
    beside = np.linalg.qr(constant)[0]  # outside the span; there moments are noise only
    noise = beside.T @ moments
    inside = moments - beside @ noise - noise.T @ beside.T + beside @ (noise @ beside) @ beside.T
    # Moved so far that these are the least eigenvalues.
    far = 2 * float(np.linalg.norm(moments)) + 1
    values, vectors = np.linalg.eigh(inside - far * beside @ beside.T)
    return values[len(encodings) :], vectors[:, len(encodings) :]


def identified(weights: NDArray[np.float64], encodings: Sequence[slice]) -> NDArray[np.float64]:
    """Return weights, or columns of them, with sum 0 in each encoding; no product with a row differs."""
    found = np.array(weights)
    for block in encodings:
        mean = weights[block].mean(axis=0)
        found[block] -= mean
        found[-1] += mean
    return found


def by_place(X: Any) -> bool:
    """Return whether the rows of a table are `OneHotRows` in predictions."""
    return isinstance(X, EncodedMatrix) and is_worth(X.design)


def prediction_blocks(X: Any) -> Iterator[tuple[slice, Any, Any]]:
    """Yield blocks of a table (n, d) with a constant of 1: their slices, rows divided by their greatest
    magnitudes, and these; no product of such rows overflows.
    """
    if issparse(X):
        yield slice(None), *SparseRows.of(X)
        return
    (n, d), held, largest = X.shape, by_place(X), 1.0
    layout = Layout.of(X.design, 1) if held else Layout(d + 1, np.arange(d + 1), d, ())
    for block in row_blocks(n, len(X.columns) if held else d):
        part: Any = X[block]
        if held:
            numbers = np.column_stack([dense(numbers_of(part)), np.ones(len(part))])
        elif isinstance(part, EncodedMatrix):
            numbers = part.numbers(1).T
        else:
            columns = np.ones((d + 1, len(part)))
            columns[:d] = part.T
            largest = np.abs(columns).max(axis=0)
            numbers = (columns / largest).T
        yield block, OneHotRows(layout, numbers, places_of(part) if held else ()), largest


@dataclass(frozen=True, repr=False)
class SparseRows:
    """Rows of a sparse matrix, and their constants."""

    rows: Any
    constants: NDArray[np.float64]

    @classmethod
    def of(cls, X: Any) -> "tuple[SparseRows, NDArray[np.float64]]":
        """Return rows divided by their greatest magnitudes, and these."""
        largest = np.maximum(abs(X).max(axis=1).toarray().ravel(), 1.0)
        return cls(diags_array(1.0 / largest) @ X, 1.0 / largest), largest

    def times(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the products of rows and vectors, the columns of a matrix."""
        return np.asarray(self.rows @ vectors[:-1] + np.outer(self.constants, vectors[-1]))
