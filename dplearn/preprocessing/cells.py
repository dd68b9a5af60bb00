"""Stateless encoder of mixed tables: each cell becomes a number and a hash, independently of other cells.

The numbers of a cell are its own number, if it is one, and a hash of its text. Usual encoders learn
categories, types and means from the data, and each of these publishes information about single records.
"""

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from dplearn.domains import Categories, Domain, Floats, Hashed, Product
from dplearn.domains.cells import cells_of, frame_column, is_frame, object_array, text_of
from dplearn.estimator.base import ROUTED_WITHOUT_GROUPS, refuse_parameters
from dplearn.kernels import IgnoresFloatErrors
from dplearn.privacy.pipelines import learns_nothing
from dplearn.privacy.unrepeatable import UnrepeatablePickles
from dplearn.table import table_in_memory
from dplearn.table.features import refuse_sparse

_NUMBERS = Floats(significand_bits=32, smallest=2.0**-40, largest=2.0**40, missing=True)


@learns_nothing
class CellEncoder(IgnoresFloatErrors, TransformerMixin, UnrepeatablePickles, BaseEstimator):
    """Encode each cell as a number and a hash bucket, independently of other cells.

    Parameters
    ----------
    buckets : int, default=64
        The number of hash buckets for the text of a cell; two texts may share a bucket.

    Attributes
    ----------
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.

    Notes
    -----
    Stateless: `fit` reads only the number and the names of the columns, so it costs no privacy. Column i of
    the input becomes two columns: 2 i is the cell's number, NaN if its text is not a finite decimal number;
    2 i + 1 is the bucket of its text, 0 for an empty or missing cell.

    Examples
    --------
    >>> from dplearn.preprocessing import CellEncoder
    >>> encoder = CellEncoder(buckets=8).fit([["39", "Bachelors"], ["", "?"]])
    >>> encoder.transform([["39", "Bachelors"], ["", "?"]]).tolist()
    [[39.0, 6.0, nan, 1.0], [nan, 0.0, nan, 4.0]]
    """

    row_methods = frozenset({"fit", "transform"})
    __metadata_request__fit = ROUTED_WITHOUT_GROUPS

    def __init__(self, buckets: int = 64):
        self.buckets = buckets

    def fit(self, X: Any, y: Any = None, **fit_parameters: Any) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Store the number and the names of the columns, of a table of any cells.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : ignored
        **fit_parameters : None
            Not supported: a `sample_weight` other than None is refused.

        Returns
        -------
        self : object
        """
        refuse_parameters(self, fit_parameters)
        Hashed(self.buckets)
        self._cells(X, reset=True)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Encode each cell.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64 of shape (n_samples, 2 * n_features)
        """
        check_is_fitted(self, "n_features_in_")
        cells = self._cells(X, reset=False)
        hashed = Hashed(self.buckets)
        known: dict[Any, tuple[float, float]] = {}
        encoded = np.empty((cells.shape[0], 2 * cells.shape[1]))
        for column in range(cells.shape[1]):
            for row, cell in enumerate(cells[:, column].tolist()):
                text = text_of(cell)
                if text not in known:
                    known[text] = finite_number(text), hashed.bucket(text)
                encoded[row, 2 * column : 2 * column + 2] = known[text]
        return encoded

    def _cells(self, X: Any, *, reset: bool) -> NDArray[Any]:
        """Return the unconverted cells, as an array of objects."""
        if getattr(getattr(X, "dtype", None), "kind", None) == "c":
            raise ValueError("Complex data not supported")
        refuse_sparse(self, X)
        X = table_in_memory(X)
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            columns = [object_array(frame_column(X, place).tolist()) for place in range(X.shape[1])]
            return np.column_stack(columns)
        cells = cells_of(X)
        return validate_data(self, cells, dtype=object, ensure_all_finite=False, reset=reset)

    def domain(self, names: Any = None) -> Product:
        """Return the domain of encoded records, for the learner that follows in a pipeline.

        Parameters
        ----------
        names : sequence of str, optional
            Names of the input's columns. None: the names in `fit`, or x0, x1, ... without names.
        """
        check_is_fitted(self, "n_features_in_")
        pair: list[Domain] = [_NUMBERS, Categories(range(self.buckets))]
        names = None if names is None else list(names)
        return Product(pair * self.n_features_in_, self.get_feature_names_out(names).tolist())

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return two names for each column of the input: its name, and its name followed by `#text`.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the input's columns.
        """
        check_is_fitted(self, "n_features_in_")
        names = OneToOneFeatureMixin.get_feature_names_out(self, input_features)
        return np.array([part for name in names for part in (name, f"{name}#text")], dtype=object)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.requires_fit = True
        return tags


def finite_number(text: str) -> float:
    """Return a text as a finite decimal number, or NaN if it is not one."""
    try:
        value = float(text) if "_" not in text else math.nan
    except ValueError:
        return math.nan
    return value if math.isfinite(value) else math.nan
