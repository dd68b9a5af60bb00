"""A released additive model: effects of columns, and interactions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dplearn.learners.additive_joint import JointFeatures
from dplearn.learners.additive_losses import Base

__all__ = ["AdditiveModel", "Interactions", "summed"]

Floats64 = NDArray[np.float64]

_AT_ONCE = 1 << 12  # records whose joint features are held as floats


@dataclass(frozen=True, eq=False)
class AdditiveModel:
    """A released additive model.

    Attributes
    ----------
    intercept : ndarray of shape (k,)
        Released. The mean margins.
    effects, deviations : list of ndarray of shape (cells, k)
        Released. For each column the effects of its cells on the margins, with mean 0, and their posterior
        standard deviations.
    masses : list of ndarray of shape (cells,)
        Released. The shares of records in the cells.
    base : Base or None
        Released. The loss, and the unit of the margins; None if the queries were those of a linear fit,
        unless its class weights are balanced.
    joint : Interactions or None
        Released. The part of the margins that depends on several columns together, if any was found.
    spread : float
        Released. The root mean square of residuals of a regression, in the unit of the margins.
    """

    intercept: Floats64
    effects: list[Floats64]
    deviations: list[Floats64]
    masses: list[Floats64]
    base: Base | None = None
    joint: "Interactions | None" = None
    spread: float = 0.0


@dataclass(frozen=True, eq=False, repr=False)
class Interactions:
    """A smooth function of all columns, beyond the best sum of effects of single columns.

    Attributes
    ----------
    features : JointFeatures
        Released. The function is a linear function of these features, minus an effect for each column.
    effects : list of ndarray of shape (cells, k)
        Released. What is subtracted for a cell of each column.
    constant : ndarray of shape (k,)
        Released. What is subtracted for all records.
    weights : ndarray of shape (size, k)
        Released. Of the features, for each margin.
    roots : ndarray of shape (k, size, size)
        Released. Matrices whose squares are the posterior covariances of the weights of each margin.
    usual_deviation : ndarray of shape (k,)
        Released. The root mean square over synthetic records of the deviations of this function.
    strengths : ndarray of shape (d, d)
        Released. For each pair of columns, how much the residuals of the first shapes were correlated with
        the product of their normal scores, in standard deviations of the noise; 0 if it was not asked for.
        Without any effect of both columns it is seldom above 3. Strong effects on a label, or correlated
        columns with bends, can exceed this without an interaction.
    """

    features: JointFeatures
    effects: list[Floats64]
    constant: Floats64
    weights: Floats64
    roots: Floats64
    usual_deviation: Floats64
    strengths: Floats64

    def __repr__(self) -> str:
        return f"Interactions({self.features.size} joint features of {len(self.effects)} columns)"

    def scaled(self, unit: float) -> "Interactions":
        """Return this function times a number."""
        effects = [unit * each for each in self.effects]
        return replace(
            self,
            effects=effects,
            constant=unit * self.constant,
            weights=unit * self.weights,
            roots=unit * self.roots,
            usual_deviation=unit * self.usual_deviation,
        )

    def margins(self, cells: NDArray[np.integer]) -> Floats64:
        """Return the part of the margins of records, of shape (n, k).

        Parameters
        ----------
        cells : ndarray of int of shape (n, d)
            A cell of each column; the number of cells for an unknown category.
        """
        linear = self._of_parts(cells, lambda features: features @ self.weights)
        return linear - summed(self.constant, self.effects, cells)

    def variances(self, cells: NDArray[np.integer]) -> Floats64:
        """Return the variances of the linear function of the features, of shape (n, k)."""

        def of(features: Floats64) -> Floats64:
            return np.stack([((features @ root) ** 2).sum(axis=1) for root in self.roots], axis=1)

        return self._of_parts(cells, of)

    def _of_parts(self, cells: NDArray[np.integer], of: Callable[[Floats64], Floats64]) -> Floats64:
        """Return a function of the features of each record, computed for few records at once."""
        found = np.empty((len(cells), self.weights.shape[1]))
        for start in range(0, len(cells), _AT_ONCE):
            here = slice(start, start + _AT_ONCE)
            found[here] = of(self.features.of(cells[here]).astype(np.float64))
        return found


def summed(first: Floats64, tables: Sequence[Floats64], cells: NDArray[np.integer]) -> Floats64:
    """Return `first` plus the numbers of each row's cells, of shape (n, k); 0 for a value in no cell."""
    total = np.tile(first, (len(cells), 1))
    for table, places in zip(tables, cells.T, strict=True):
        total += np.pad(table.reshape(len(table), -1), ((0, 1), (0, 0)))[places]
    return total
