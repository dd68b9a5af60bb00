"""Identifiable coefficients of the released weights, with the standard deviations of their noise.

If exactly one of several one-hot columns is 1 in each row, adding a constant to their weights and subtracting
it from the intercept changes no margin. The weights are therefore not identifiable; those of each such block
are shifted to sum 0.

>>> weights = np.array([[0.0, 3.0], [0.0, 1.0], [0.0, -1.0]])
>>> effects = Effects.of(LogisticModel(2, np.eye(3), weights, np.zeros(2)), [slice(0, 2)])
>>> effects.coef.tolist(), effects.intercept.tolist()
([[1.0, -1.0]], [1.0])
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dplearn.learners.logistic_steps import LogisticModel

__all__ = ["Effects", "identified"]


@dataclass(frozen=True)
class Effects:
    """The effects of numeric columns on the margins of a row of typical length.

    Attributes
    ----------
    coef : ndarray of float64 of shape (n_classes, n_numbers), or (1, n_numbers) of two classes
        Released. The effects; with two classes, on the margin of the second class.
    deviation : ndarray of float64, of the shape of `coef`
        Released. The standard deviations of the noise in `coef`.
    intercept : ndarray of float64 of shape (n_classes,) or (1,)
        Released. The intercepts for a row of typical length, without `LogisticModel.offsets`.
    """

    coef: NDArray[np.float64]
    deviation: NDArray[np.float64]
    intercept: NDArray[np.float64]

    @classmethod
    def of(cls, model: LogisticModel, blocks: Sequence[slice]) -> "Effects":
        """Return the effects of the columns in a model.

        Parameters
        ----------
        model : LogisticModel
            The result of `learn_logistic`.
        blocks : sequence of slice
            Blocks of one-hot columns: in each row, exactly one column of a block is 1 and the others are 0.

        Notes
        -----
        **Accuracy.** The standard deviations include, to first order, the noise in the label query, in the
        steps and in the scale of the margins; they ignore the noise in the metric.
        """
        taken = identified(len(model.weights), blocks)
        weights = taken @ model.weights
        two = weights.shape[1] == 2
        effects = (weights[:, 1:] - weights[:, :1] if two else weights).T
        covariance = model.covariance if model.covariance is not None else np.zeros_like(taken)
        # The noise in the weights of the two classes is equal, with opposite signs.
        own = np.einsum("ij,jk,ik->i", taken, covariance, taken)[:-1] * (4 if two else 1)
        coef = effects[:, :-1]
        deviation = np.sqrt(np.maximum(own, 0.0) + (model.slope_deviation * coef) ** 2)
        return cls(coef, deviation, effects[:, -1])


def identified(size: int, blocks: Sequence[slice]) -> NDArray[np.float64]:
    """Return the matrix that shifts the weights of each block to sum 0, without changing any margin.

    Parameters
    ----------
    size : int
        The number of weights; the last is that of the intercept.
    blocks : sequence of slice
        Blocks of one-hot columns: in each row, exactly one column of a block is 1 and the others are 0.

    Returns
    -------
    ndarray of float64 of shape (size, size)
        It multiplies weights from the left.
    """
    taken = np.eye(size)
    for block in blocks:
        width = block.stop - block.start
        taken[block, block] -= 1 / width
        taken[-1, block] = 1 / width
    return taken
