"""Logistic regression on scores instead of labels; scores may be below 0 or above 1.

The loss of a row is linear in its scores: log sum exp(z) - <s, z>. Noise of mean zero does not change its
expectation, and it is convex for all scores. So scores are not clipped. The strength of regularisation,
which should grow with the noise, is chosen by cross-validation on the scores.

>>> import numpy as np
>>> X = np.arange(8.0).reshape(-1, 1)
>>> curve = ScoreRegression().fit(X, np.array([-0.2, 0.3, 0.1, 0.4, 0.6, 1.3, 0.9, 1.1]))
>>> curve.predict([[-50.0], [50.0]]).round().tolist()
[0.0, 1.0]
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["ScoreRegression"]

Floats = NDArray[np.float64]

_STRENGTHS = (0.001, 0.01, 0.1, 1.0, 10.0)
_FOLDS = 5
_STEPS = 200

#: Regularisation of the intercepts. Without it the loss has no minimum if the mean score is outside 0..1.
_PULL = 0.01


class ScoreRegression(RegressorMixin, BaseEstimator):
    """A multinomial logistic regression on scores.

    Parameters
    ----------
    C : float, optional
        Inverse strength of regularisation; positive. None chooses the best of some powers of ten, by the
        squared error in five-fold cross-validation.

    Attributes
    ----------
    C_ : float
        Released. The inverse strength of regularisation in use.
    coef_ : ndarray of float64 of shape (n_features, n_labels)
        Released. Coefficients, one column per label; two columns if `y` is one-dimensional.
    intercept_ : ndarray of float64 of shape (n_labels,)
        Released. Intercepts, one per label.
    """

    def __init__(self, C: float | None = None):
        self.C = C

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the regression.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, n_features)
            Finite numbers, of similar scales.
        y : ndarray of float64 of shape (n,) or (n, n_labels)
            Scores of the second of two labels, or of each label; any finite numbers. With one score per
            label, the same number is added to all scores of a row so that they sum to 1.

        Returns
        -------
        self : object
        """
        X, y = validate_data(
            self, X, y, accept_sparse="csr", multi_output=True, y_numeric=True, dtype=np.float64
        )
        scores = (
            np.column_stack([1 - y, y]) if y.ndim == 1 else y + (1 - y.sum(axis=1, keepdims=True)) / len(y[0])
        )
        self.C_ = _best_strength(X, scores) if self.C is None else self.C
        weights = _fitted(X, scores, self.C_, np.zeros((X.shape[1] + 1, scores.shape[1])))
        self.coef_, self.intercept_ = weights[:-1], weights[-1]
        self._one_column = y.ndim == 1
        return self

    def predict(self, X: Any) -> Floats:
        """Return probabilities of labels.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n, n_features)
            Rows.

        Returns
        -------
        ndarray of float64 of shape (n,) or (n, n_labels)
            Probabilities of the second label if `y` was one-dimensional, else of each label.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        probabilities = _curve(X, np.vstack([self.coef_, self.intercept_]))
        return probabilities[:, 1] if self._one_column else probabilities

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags


def _best_strength(X: Any, scores: Floats) -> float:
    """Return the inverse strength of regularisation with the least squared error in cross-validation.

    Independent noise on the held-out scores adds the same number to the expected error of every strength.
    """
    errors = np.zeros(len(_STRENGTHS))
    for turn in range(_FOLDS):
        held = np.arange(len(scores)) % _FOLDS == turn
        weights = np.zeros((X.shape[1] + 1, scores.shape[1]))
        for place, strength in enumerate(_STRENGTHS):
            weights = _fitted(X[~held], scores[~held], strength, weights)
            errors[place] += ((_curve(X[held], weights) - scores[held]) ** 2).sum()
    return _STRENGTHS[int(errors.argmin())]


def _fitted(X: Any, scores: Floats, strength: float, start: Floats) -> Floats:
    """Return the coefficients, and intercepts in the last row, that minimise the penalised loss."""
    pull = np.append(np.full(X.shape[1], 1 / strength), _PULL)[:, None]

    def loss(flat: Floats) -> tuple[float, Floats]:
        weights = flat.reshape(start.shape)
        heights = _heights(X, weights)
        top = logsumexp(heights, axis=1, keepdims=True)
        error = np.exp(heights - top) - scores
        value = top.sum() - (scores * heights).sum() + (pull * weights**2).sum() / 2
        slope = np.vstack([X.T @ error, error.sum(axis=0)]) + pull * weights
        return value, slope.ravel()

    best = minimize(loss, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS})
    weights: Floats = best.x.reshape(start.shape)
    return weights


def _curve(X: Any, weights: Floats) -> Floats:
    probabilities: Floats = softmax(_heights(X, weights), axis=1)
    return probabilities


def _heights(X: Any, weights: Floats) -> Floats:
    heights: Floats = X @ weights[:-1] + weights[-1]
    return heights
