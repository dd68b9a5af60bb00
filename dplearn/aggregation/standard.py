"""The teacher that is taken when none is given: a logistic regression that accepts what tables hold.

>>> import numpy as np
>>> standard_estimator(np.zeros((3, 2)), C=10).steps[-1]
('logisticregression', LogisticRegression(C=10, max_iter=200))
"""

from typing import Any

from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from dplearn.domains.cells import is_frame

__all__ = ["standard_estimator"]


def standard_estimator(X: Any, C: float) -> Pipeline:
    """Return an unfitted classifier for tables of this kind; only the types of the columns are looked at.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame of shape (n, d)
        Columns of a frame that hold no numbers are one-hot encoded, unknown values as none.
    C : float
        Inverse strength of regularisation.
    """
    numbers = [SimpleImputer(keep_empty_features=True), StandardScaler(with_mean=False)]
    model = LogisticRegression(C=C, max_iter=200)
    if not is_frame(X):
        return make_pipeline(*numbers, model)
    texts = [name for name, kind in zip(X.columns, _types(X), strict=True) if not _is_numeric(kind)]
    rest = [name for name in X.columns if name not in texts]
    encoded = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), texts), (make_pipeline(*numbers), rest)
    )
    return make_pipeline(encoded, model)


def _types(X: Any) -> list[Any]:
    return list(X.dtypes)


def _is_numeric(kind: Any) -> bool:
    """Return True for the numeric types of numpy, pandas and polars."""
    return bool(getattr(kind, "kind", "") in tuple("iufb") or getattr(kind, "is_numeric", bool)())
