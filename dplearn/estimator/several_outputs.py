"""Predictions and scores of classifiers of one label of a record, or of several at once."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.estimator.base import PrivateClassifier
from dplearn.records.outputs import joined_outputs, label_columns, share_all_right

__all__ = ["SeveralOutputsClassifier"]


class SeveralOutputsClassifier(PrivateClassifier):
    """Base of classifiers whose `classes_` are a list, of the labels of each output, if there are several.

    A subclass has `_codes`, which returns the predicted label code of each row in each output; or it has its
    own `_label_columns` and `predict_proba`.
    """

    classes_: Any
    reads_outputs = True

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels; costs no privacy.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows of the kinds that `fit` takes.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Entries of `classes_`.
        """
        columns = self._label_columns(X)
        return joined_outputs(columns) if isinstance(self.classes_, list) else columns[0]

    def predict_proba(self, X: Any) -> Any:
        """Return probability 1 for the predicted label, since the release contains no probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            As for `predict`.

        Returns
        -------
        ndarray of float64 of shape (n_samples, 2), or a list of n_outputs such arrays
        """
        likely = [np.eye(2)[column] for column in self._codes(X).T]
        return likely if isinstance(self.classes_, list) else likely[0]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows with all labels correct; if the rows are private, so is the result.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            The labels of the rows.
        sample_weight : array-like of shape (n_samples,), optional
            The weights of the rows.
        """
        if not isinstance(getattr(self, "classes_", None), list):
            return float(super().score(X, y, sample_weight))
        return share_all_right(self._label_columns(X), y, sample_weight)

    def _label_columns(self, X: Any) -> list[NDArray[Any]]:
        """Return the predicted labels of each output."""
        codes = self._codes(X)  # raises an error before a fit
        return label_columns(self.classes_ if isinstance(self.classes_, list) else [self.classes_], codes)

    def _codes(self, X: Any) -> NDArray[np.integer]:
        """Return the predicted label code of each row in each output, of shape (n_samples, n_outputs)."""
        raise NotImplementedError
