"""The joint features of an additive model: a smooth function of all columns, for interactions.

A sum of effects of single columns cannot say that two columns matter together. Joint features can: a linear
function of them is a smooth function of all columns. They are computed from released values alone:

1. Each cell has a normal score. The scores of a record are multiplied by the weights of their columns and
   decorrelated by the released correlations; these are the coordinates of the record.
2. Some synthetic records are landmarks. The kernel between a record and a landmark is a mean of two Gaussian
   functions of their distance. Linear functions of the kernels to all landmarks approximate the smooth
   functions (Williams and Seeger 2001).
3. The joint features are those linear functions that vary most over synthetic records: principal components.

Records are private, and the features of a record must depend on this record alone. So all numbers after the
scores are integers, of magnitudes for which products of matrices in floats are exact.

>>> import numpy as np
>>> scores = [np.array([-1.0, 0.0, 1.0]), np.array([-1.0, 1.0])]
>>> cells = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [2, 0], [2, 1]])
>>> basis = JointBasis.of(scores, np.ones(2), np.eye(2), cells, size=3)
>>> basis.values(cells).shape, bool(abs(basis.values(cells).mean(axis=0)).max() < 1e-9)
((6, 3), True)
>>> features = basis.rounded(unit=0.01)
>>> features.of(cells).dtype, bool(abs(0.01 * features.of(cells) - basis.values(cells)).max() < 0.01)
(dtype('int16'), True)
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["LANDMARKS", "JointBasis", "JointFeatures"]

#: The most landmarks.
LANDMARKS = 400
# Fewer for few features: so many for each feature, but not fewer than the second number.
_LANDMARKS_EACH, _FEW_LANDMARKS = 4, 128

_RIDGE = 0.2  # added to the variances of weighted scores, as a share of the greatest, before decorrelation
_SCALES = (0.25, 1.0)  # of the squared distance, in the two Gaussian functions
_SMALL = 1e-6  # directions of landmarks below this share of the greatest eigenvalue are dropped
_TINY = 1e-12
# Bits after the binary point of scores, of the matrix of the coordinates, of coordinates, squared distances
# and kernels. Distances above 2**_FAR count as 2**_FAR.
_SCORE, _TURN, _COORDINATE, _SQUARE, _KERNEL, _FAR = 10, 14, 10, 8, 14, 6
_WEIGHT = 28  # bits of a weight of a kernel: sums over at most 2**9 landmarks are below 2**52
_GREATEST = (1 << 15) - 1  # of a feature, and of a score, in their integers
# Of a coordinate, and of an entry of the matrix that turns scores into coordinates. Of 2**8 columns, sums of
# scores times entries are below 2**(15 + 10 + 14 + 8), and squared distances at most 2**(2 * 20 + 2 + 8).
_LARGEST = 1 << 10
_BLOCK = 1 << 11  # records at once

Floats64 = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class _Kernels:
    """The kernels between records and landmarks, in units of 2**-_KERNEL."""

    scores: Sequence[Floats64]  # of cells, in units of 2**-_SCORE; the last is that of unknown categories
    turn: Floats64  # of shape (d, d), in units of 2**-_TURN
    landmarks: Floats64  # of shape (m, d), in units of 2**-_COORDINATE

    def coordinates(self, cells: NDArray[np.integer]) -> Floats64:
        """Return the coordinates of records, of shape (n, d)."""
        scores = np.stack([each[column] for each, column in zip(self.scores, cells.T, strict=True)], axis=1)
        places = np.floor((scores @ self.turn) * 2.0 ** (_COORDINATE - _SCORE - _TURN))
        return np.asarray(places.clip(-_LARGEST << _COORDINATE, _LARGEST << _COORDINATE))

    def of(self, cells: NDArray[np.integer]) -> Floats64:
        """Return the kernels, of shape (n, m)."""
        found = np.empty((len(cells), len(self.landmarks)))
        for here, kernels in self.blocks(cells):
            found[here] = kernels
        return found

    def blocks(self, cells: NDArray[np.integer]) -> Iterator[tuple[slice, Floats64]]:
        """Yield places of records, and their kernels, in memory that the next ones take."""
        table, matrix = _table(), self._squares
        products = np.empty((min(_BLOCK, len(cells)), len(self.landmarks)))
        steps = np.empty(products.shape, dtype=np.intp)
        for start in range(0, len(cells), _BLOCK):
            here = slice(start, start + _BLOCK)
            places = self.coordinates(cells[here])
            ones = np.ones((len(places), 1))
            sides = np.concatenate([places, (places**2).sum(axis=1, keepdims=True), ones], axis=1)
            found, few = products[: len(places)], steps[: len(places)]
            np.matmul(sides, matrix, out=found)
            np.copyto(few, found, casting="unsafe")  # rounded down
            # Beyond the table, the kernel is its last number.
            yield here, table.take(few, mode="clip", out=found)

    @property
    def _squares(self) -> Floats64:
        """The matrix from coordinates, their squares and 1 to squared distances, in steps of the table.

        Its products are multiples of a power of two below 2**52 of them, and so are their sums: exact.
        """
        ends = self.landmarks.T
        terms = [-2 * ends, np.ones((1, ends.shape[1])), (ends**2).sum(axis=0, keepdims=True)]
        return np.concatenate(terms) * 2.0 ** (_SQUARE - 2 * _COORDINATE)


@dataclass(frozen=True, eq=False)
class JointFeatures:
    """Joint features in integers.

    Attributes
    ----------
    kernels : object
        Released. The kernels between records and landmarks.
    weights : ndarray of int32 of shape (m, size)
        Released. The weights of the kernels in each feature.
    means : ndarray of float64 of shape (size,)
        Released. Integers: what is subtracted from the weighted kernels.
    step : float
        Released. What weighted kernels are multiplied by; a power of two.
    """

    kernels: _Kernels
    weights: NDArray[np.int32]
    means: Floats64
    step: float

    @property
    def size(self) -> int:
        """The number of features."""
        return int(self.weights.shape[1])

    def of(self, cells: NDArray[np.integer]) -> NDArray[np.int16]:
        """Return the features of records, each a function of its own record alone.

        Parameters
        ----------
        cells : ndarray of int of shape (n, d)
            Private. A cell of each column; the number of cells for an unknown category.

        Returns
        -------
        ndarray of int16 of shape (n, size)
        """
        features, weights = np.empty((len(cells), self.size), dtype=np.int16), self.weights.astype(np.float64)
        for here, kernels in self.kernels.blocks(cells):
            sums = kernels @ weights - self.means
            features[here] = np.rint(sums * self.step).clip(-_GREATEST, _GREATEST)
        return features


@dataclass(frozen=True, eq=False)
class JointBasis:
    """Joint features before rounding.

    Attributes
    ----------
    kernels : object
        Released. As for `JointFeatures`.
    weights : ndarray of float64 of shape (m, size)
        Released. The weights of the kernels in each feature.
    means : ndarray of float64 of shape (size,)
        Released. The means of the weighted kernels over synthetic records.
    """

    kernels: _Kernels
    weights: Floats64
    means: Floats64

    @classmethod
    def of(
        cls,
        scores: Sequence[Floats64],
        weights: Floats64,
        correlations: Floats64,
        cells: NDArray[np.integer],
        *,
        size: int,
        amplitude: float = 1.0,
    ) -> "JointBasis":
        """Return the joint features that vary most over synthetic records.

        Parameters
        ----------
        scores : sequence of ndarray of shape (cells,)
            Released. The normal score of each cell of each column.
        weights : ndarray of shape (d,)
            Released. The weight of each column.
        correlations : ndarray of shape (d, d)
            Released. The correlations of the scores.
        cells : ndarray of int of shape (n, d)
            Synthetic records, the first of which are landmarks.
        size : int
            Public. The most features.
        amplitude : float, default=1.0
            What all features are multiplied by. With 1, the mean square of all features together is below 1.
        """
        whole = [np.append(_limited(each * 2.0**_SCORE, _GREATEST), 0.0) for each in scores]
        none, greatest = np.zeros((1, len(scores))), float(_LARGEST << _TURN)
        turn = _turn(weights, correlations)
        places = _Kernels(whole, turn, none).coordinates(cells) * 2.0**-_COORDINATE
        turn = _limited(turn / math.sqrt(max(float(places.var(axis=0).sum()), _TINY)), greatest)
        landmarks = cells[: min(LANDMARKS, max(_FEW_LANDMARKS, _LANDMARKS_EACH * size))]
        kernels = _Kernels(whole, turn, _Kernels(whole, turn, none).coordinates(landmarks))
        values, vectors = np.linalg.eigh(kernels.of(landmarks) * 2.0**-_KERNEL)
        kept = values > max(_SMALL * float(values[-1]), _TINY)
        roots = vectors[:, kept] / np.sqrt(values[kept])
        projected = kernels.of(cells) * 2.0**-_KERNEL @ roots
        mean = projected.mean(axis=0)
        _, components = np.linalg.eigh((projected - mean).T @ (projected - mean) / len(cells))
        components = components[:, ::-1][:, :size]
        return cls(kernels, amplitude * roots @ components, amplitude * mean @ components)

    def values(self, cells: NDArray[np.integer]) -> Floats64:
        """Return the features of synthetic records, of shape (n, size)."""
        return self.kernels.of(cells) * 2.0**-_KERNEL @ self.weights - self.means

    def scaled(self, scales: Floats64) -> "JointBasis | None":
        """Return the features times `scales`, without those of scale 0; None if no feature is left."""
        kept = scales > 0
        if not kept.any():
            return None
        return JointBasis(self.kernels, (self.weights * scales)[:, kept], (self.means * scales)[kept])

    def rounded(self, unit: float) -> JointFeatures:
        """Return the features as integers.

        Parameters
        ----------
        unit : float
            Released. The value of one step of the integers; positive.
        """
        scaled = self.weights / (unit * 2.0**_KERNEL)
        _, exponent = math.frexp(max(float(np.abs(scaled).max(initial=0.0)), _TINY))
        raised = 2.0 ** (_WEIGHT - exponent)
        weights = _limited(scaled * raised, 2.0**_WEIGHT).astype(np.int32)
        return JointFeatures(self.kernels, weights, _limited(self.means / unit * raised, 2.0**51), 1 / raised)


def _turn(weights: Floats64, correlations: Floats64) -> Floats64:
    """Return the matrix from scores to coordinates: columns are weighted, then decorrelated."""
    values, vectors = np.linalg.eigh(weights[:, None] * correlations * weights[None, :])
    roots = np.sqrt(values.clip(0) + _RIDGE * max(float(values[-1]), _TINY))
    turn = weights[:, None] * ((vectors / roots) @ vectors.T)
    return _limited(turn * 2.0**_TURN, float(_LARGEST << _TURN))


def _limited(values: Floats64, greatest: float) -> Floats64:
    """Return the nearest integers within -greatest..greatest, 0 for NaN."""
    return np.asarray(np.rint(np.nan_to_num(values, nan=0.0).clip(-greatest, greatest)))


@cache
def _table() -> Floats64:
    """Return the kernel by squared distance, in steps of 2**-_SQUARE."""
    squares = np.arange((1 << (_FAR + _SQUARE)) + 1) * 2.0**-_SQUARE
    kernel = sum(np.exp(-scale * squares) for scale in _SCALES) / len(_SCALES)
    return np.asarray(np.rint(kernel * 2.0**_KERNEL))
