"""Logistic regression of labels that were reported by randomised response: trained by the forward loss.

It is a classifier of reports, whose probabilities are those of true labels, which follow a logistic model,
times the matrix of the response. So it can stand wherever a classifier of reports does, also in what is
calibrated or scored on them.

**Source.** Patrini and others (2017), for the forward loss.
"""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

_SMOOTH = {"penalty": ("l2", None, "deprecated"), "l1_ratio": (None, 0), "class_weight": (None,)}
_LEAST = 1e-300  # of a probability


class LogisticOfReports(LogisticRegression):
    """A logistic model of labels, by the likelihood of their reports; `coef_` are the weights for labels."""

    coef_: NDArray[np.float64]
    intercept_: NDArray[np.float64]

    def __init__(self, truth: float = 1.0, other: float = 0.0, **given: Any):
        super().__init__(**given)
        self.truth = truth  # the probability with which a report is the true label
        self.other = other  # and with which it is each other one

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return ["other", "truth", *LogisticRegression._get_param_names()]

    def fit(self, X: Any, y: Any) -> Self:
        """Fit a model of the reports; with a smooth penalty, improve it to one of labels."""
        super().fit(X, y)
        smooth = all(getattr(self, name, None) in values for name, values in _SMOOTH.items())
        self.of_labels_ = smooth and self.solver != "liblinear"  # whose penalty is another
        return self._improved(X, y) if self.of_labels_ else self

    def _improved(self, X: Any, y: Any) -> Self:
        rows, codes = check_array(X, accept_sparse="csr", dtype=np.float64), self.classes_.searchsorted(y)
        k, n, own = len(self.coef_), len(codes), np.arange(len(codes))
        spread = self._reported(1.0) - self._reported(0.0)
        penalty = 0.0 if self.penalty is None else 1 / self.C

        def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
            """Return minus the log-likelihood, with the penalty, and its gradient."""
            weights = flat.reshape(k, -1)
            likely = _likely(rows @ weights[:, :-1].T + weights[:, -1])
            reported = np.maximum(self._reported(likely[own, codes]), _LEAST)
            slopes = likely * (spread * likely[own, codes] / reported)[:, None]
            slopes[own, codes] -= slopes.sum(axis=1)
            slopes = slopes[:, -k:]
            gradient = (rows.T @ slopes).T + penalty * weights[:, :-1]
            constants = slopes.sum(axis=0) * self.fit_intercept
            value = penalty / 2 * np.square(weights[:, :-1]).sum() - np.log(reported).sum()
            return value / n, np.column_stack([gradient, constants]).ravel() / n

        start: Any = np.column_stack([self.coef_, np.broadcast_to(self.intercept_, k)]).ravel()
        # Both are of the information in a report, which is smaller than that in a label by this square.
        how: Any = {"maxiter": self.max_iter, "gtol": self.tol * spread**2, "ftol": 1e-9 * spread**2}
        found: Any = minimize(loss, start, jac=True, method="L-BFGS-B", options=how).x.reshape(k, -1)
        self.coef_, self.intercept_ = found[:, :-1].copy(), found[:, -1].copy()
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each report."""
        if not self.of_labels_:
            return np.asarray(super().predict_proba(X))
        margins = self.decision_function(X)
        return np.asarray(self._reported(_likely(margins.reshape(len(margins), -1))))

    def _reported(self, likely: Any) -> Any:
        """Return the probabilities of reports, among the labels that were reported, by those of labels."""
        return (self.other + (self.truth - self.other) * likely) / (
            self.truth + (len(self.classes_) - 1) * self.other
        )


def _likely(margins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the probabilities of labels; of two, the first has the margin 0."""
    of_two = margins.shape[1] == 1
    return np.asarray(softmax(np.pad(margins, ((0, 0), (1, 0))) if of_two else margins, axis=1))


def through_reports(estimator: Any, truth: float, other: float) -> Any:
    """Return an estimator with logistic regression of reports in place of scikit-learn's: alone, at the end
    of a pipeline, or within a search. Others are returned as they are.
    """
    if type(estimator) is LogisticRegression:
        return LogisticOfReports(truth, other, **estimator.get_params())
    inner = "estimator" if isinstance(estimator, (GridSearchCV, RandomizedSearchCV)) else None
    inner = estimator.steps[-1][0] if isinstance(estimator, Pipeline) else inner
    if inner is None:
        return estimator
    found = through_reports(estimator.get_params()[inner], truth, other)
    return clone(estimator).set_params(**{inner: found})
