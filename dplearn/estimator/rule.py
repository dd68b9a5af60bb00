"""Base class of classifiers that release a decision rule over declared columns."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dplearn.estimator.base import PrivateClassifier
from dplearn.records.reading import read_features

__all__ = ["RuleClassifier"]


class RuleClassifier(PrivateClassifier):
    """Base of classifiers that publish a decision rule.

    The `_publish` of a subclass also sets `domain_`. A subclass defines `_predict_codes(columns)`.
    """

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels; costs no privacy.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Numbers outside the domain are replaced with its nearest value.

        Returns
        -------
        ndarray of shape (n_samples,)
            Entries of `classes_`.
        """
        codes = self._codes(X)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return probability 1 for the predicted label, since a rule has no confidence; costs no privacy.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As for `predict`.

        Returns
        -------
        ndarray of float64 of shape (n_samples, n_classes)
        """
        codes = self._codes(X)
        return np.eye(len(self.classes_))[codes]

    def _codes(self, X: Any) -> NDArray[np.intp]:
        check_is_fitted(self)
        X = read_features(self, X, domain=self.domain_, reset=False)
        return self._predict_codes(self.domain_.nearest(X))

    def _predict_codes(self, columns: Any) -> NDArray[np.intp]:
        raise NotImplementedError
