"""Regression coefficients from released second moments, by empirical Bayes with the known noise.

The relation `products = moments @ weights` holds for the exact moments of columns and their products with the
target, where `weights` are those of least squares. Of the released ones it holds up to noise of known
variance. With a normal prior on the weights, their posterior is normal, too; it is averaged over prior
variances, in proportion to the probability of the released products.

>>> moments = np.array([[0.5, 0.0, 0.1], [0.0, 1.0, 0.2], [0.1, 0.2, 0.3]])  # column, constant, target
>>> model = LinearModel.of(moments, 1e-12, np.eye(2))
>>> model.weights.round(3).tolist(), round(model.residual, 3)
([0.2, 0.2], 0.24)
>>> LinearModel.of(moments, 1.0, np.eye(2)).weights.round(3).tolist()  # mostly noise
[0.01, 0.02]
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["LinearModel"]

#: The prior variances of a weight, in the unit of half the target's range by the bound of a column; all are
#: equally probable. Chosen on the tables of `LinearPlan.reach`, as was the form of the estimate, with which
#: AdaSSP, ridges of fixed multiples of the noise, and Stein's unbiased estimate of the risk were compared.
_PRIORS = np.geomspace(0.01, 30.0, 33)
_LEAST = 1e-12  # relative to the largest eigenvalue


@dataclass(frozen=True)
class LinearModel:
    """The posterior of the weights of numeric columns and of the constant.

    Attributes
    ----------
    weights : ndarray of float64 of shape (d,)
        Released. The posterior mean; the weight of the constant is the last.
    covariance : ndarray of float64 of shape (d, d)
        Released. The posterior covariance, which is due to the privacy noise.
    residual : float
        Released. An upper estimate of the variance of the residuals.
    count : int or None
        Released. The estimated number of records, where that is private.
    """

    weights: NDArray[np.float64]
    covariance: NDArray[np.float64]
    residual: float
    count: int | None = None

    @classmethod
    def of(
        cls, moments: NDArray[np.float64], variance: float, basis: NDArray[np.float64], unit: float = 1.0
    ) -> "LinearModel":
        """Return the model, given the mean second moments of the rows.

        Parameters
        ----------
        moments : ndarray of float64 of shape (d + 1, d + 1)
            Released. Symmetric; the constant is the last number of a row but one, the target the last.
        variance : float
            Public. The variance of the noise in each moment off the diagonal.
        basis : ndarray of float64 of shape (d, r)
            Public. An orthonormal basis, in columns, of the span of all possible rows without targets.
        unit : float
            Public. The number of a target at a bound of its range, where the bound of a column is 1.
        """
        inner = basis.T @ moments[:-1, :-1] @ basis
        found, vectors = np.linalg.eigh(inner)
        vectors = basis @ vectors
        energies = _without_noise(found, variance)
        products = vectors.T @ moments[:-1, -1]
        mean, own = _posterior(energies, products, variance, _PRIORS * unit**2)
        weights = vectors @ mean
        explained = float(energies @ mean**2)
        noise = math.sqrt(2 * variance)
        weight = float(moments[-2, -2])  # the mean square of the constant in shortened rows
        residual = max(float(moments[-1, -1]) - explained, 0.0) + noise
        covariance = (vectors * own) @ vectors.T
        return cls(
            weights / unit, covariance / unit**2, residual / max(weight - noise, weight / 2, _LEAST) / unit**2
        )


def _without_noise(found: NDArray[np.float64], variance: float) -> NDArray[np.float64]:
    """Return estimates of the eigenvalues of a matrix, given those of its sum with symmetric noise.

    The eigenvalues of r x r noise of variance v are within 2 sqrt(r v) of 0. An eigenvalue a > sqrt(r v) of
    the matrix becomes about a + r v / a. The others are replaced by twice the mean that the trace leaves.
    """
    edge = 2 * math.sqrt(len(found) * variance)
    seen = found > edge
    estimates = np.where(seen, (found + np.sqrt(np.maximum(found**2 - edge**2, 0.0))) / 2, 0.0)
    rest = max(float(found.sum() - estimates.sum()), 0.0) / max(int((~seen).sum()), 1)
    least = _LEAST * max(float(np.abs(found).max()), 1.0)
    return np.where(seen, estimates, max(min(2 * rest, edge / 2), least))


def _posterior(
    energies: NDArray[np.float64], products: NDArray[np.float64], variance: float, priors: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the posterior mean and variance of the weight in each direction.

    With weights w of prior variance t, a product is energy * w plus noise of variance (1 + r t) variance:
    that of the product itself, and that of the moments times the weights.
    """
    noise = variance * (1 + len(energies) * priors)[:, None]
    total = priors[:, None] * energies**2 + noise
    log = -0.5 * (np.log(total) + products**2 / total).sum(axis=1)
    probable = np.exp(log - log.max())
    probable /= probable.sum()
    means = priors[:, None] * energies * products / total
    mean = probable @ means
    own = probable @ (priors[:, None] * noise / total + (means - mean) ** 2)
    return mean, own
