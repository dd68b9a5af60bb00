"""What classifiers share whose fit releases a rule over declared columns: predicting costs nothing more."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from dplearn.estimator.base import PrivateClassifier
from dplearn.records.reading import read_features

__all__ = ["RuleClassifier"]


class RuleClassifier(PrivateClassifier):
    """Base of classifiers that publish a rule.

    A subclass's `_fit` sets `domain_` besides, and it has a method `_predict_codes(columns)`.
    """

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels; costs no privacy.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            Numbers outside the domain count as its nearest value.

        Returns
        -------
        ndarray of shape (n_samples,)
            Entries of `classes_`.
        """
        codes = self._codes(X)
        labels: NDArray[Any] = self.classes_[codes]
        return labels

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Give probability 1 to the predicted label: the release holds a rule and no confidence.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As for `predict`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        codes = self._codes(X)
        return np.eye(len(self.classes_))[codes]

    def _codes(self, X: Any) -> NDArray[np.intp]:
        check_is_fitted(self)
        X = read_features(self, X, domain=self.domain_, reset=False)
        return self._predict_codes(self.domain_.nearest(X))

    def _predict_codes(self, columns: Any) -> NDArray[np.intp]:
        raise NotImplementedError
