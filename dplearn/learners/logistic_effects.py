"""Effects of columns on margins: weights without what is arbitrary in them, and the noise in each.

Where each row has exactly one of several columns, a constant added to their weights and taken from the
intercept changes no margin. So two fits could have quite different weights and the same margins; the weights
of such columns are made to sum to 0.

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

__all__ = ["Effects"]


@dataclass(frozen=True)
class Effects:
    """What columns of numbers do to the margins of a row of typical length.

    Attributes
    ----------
    coef : ndarray of float64 of shape (n_classes, n_numbers), or (1, n_numbers) of two classes
        Released. With two classes, of the second's margin.
    deviation : ndarray of float64, of the shape of `coef`
        Standard deviations of the noise in `coef`.
    intercept : ndarray of float64 of shape (n_classes,) or (1,)
        Released. Of a row of typical length, without `LogisticModel.offsets`.
    """

    coef: NDArray[np.float64]
    deviation: NDArray[np.float64]
    intercept: NDArray[np.float64]

    @classmethod
    def of(cls, model: LogisticModel, blocks: Sequence[slice]) -> "Effects":
        """Return the effects in a model.

        Parameters
        ----------
        model : LogisticModel
            As `learn_logistic` returns it.
        blocks : sequence of slice
            Columns of which each row has exactly one that is 1, and the others are 0.

        Notes
        -----
        **Accuracy.** Deviations are those of the noise in the answers about labels, in the steps and in the
        scale of the margins, followed to first order; noise in the metric is left out.
        """
        taken = np.eye(len(model.weights))
        for block in blocks:
            size = block.stop - block.start
            taken[block, block] -= 1 / size
            taken[-1, block] = 1 / size
        weights = taken @ model.weights
        two = weights.shape[1] == 2
        effects = (weights[:, 1:] - weights[:, :1] if two else weights).T
        covariance = model.covariance if model.covariance is not None else np.zeros_like(taken)
        # The noise in the two classes' weights is the same, of opposite signs.
        own = np.einsum("ij,jk,ik->i", taken, covariance, taken)[:-1] * (4 if two else 1)
        coef = effects[:, :-1]
        deviation = np.sqrt(np.maximum(own, 0.0) + (model.slope_deviation * coef) ** 2)
        return cls(coef, deviation, effects[:, -1])
