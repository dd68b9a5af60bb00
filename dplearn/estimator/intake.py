"""Read features and labels without letting an error tell what they hold.

Inside the declared domain nothing here depends on data. Outside it, the input is refused before anything is
spent, and messages hold names and constraints, never values.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import column_or_1d, validate_data

from dplearn.domains import DomainError, Product, Schema

__all__ = ["as_product", "check_classes", "read_features", "read_labels"]

NOT_NUMERIC = (
    "X holds a value that is not a number; declare the columns with domain=Schema(...),"
    " or encode them before this estimator"
)


def read_features(estimator: Any, X: Any, *, domain: Any, reset: bool) -> Any:
    """Return X as an array, or as the data frame it is where a schema reads its columns by name.

    Parameters
    ----------
    estimator : BaseEstimator
        Gets `n_features_in_` and `feature_names_in_` if `reset`; else X must agree with them.
    X : array-like or data frame of shape (n, d)
        Sparse input is refused.
    domain : Product or None
        None means numbers without missing values.
    reset : bool
        True in `fit`.
    """
    named = isinstance(domain, Schema) and hasattr(X, "columns")
    if named:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return _select(X, domain)
    if domain is not None and not domain.numeric:
        return validate_data(estimator, X, reset=reset, dtype=object, ensure_all_finite=False)
    missing = domain is not None and domain.accepts_missing
    try:
        finite = "allow-nan" if missing else True
        return validate_data(estimator, X, reset=reset, dtype="numeric", ensure_all_finite=finite)
    except ValueError as error:
        # numpy and scikit-learn quote the offending cell.
        if "convert string to float" in str(error) or "numeric" in str(error):
            raise DomainError(NOT_NUMERIC) from None
        raise


def _select(X: Any, schema: Schema) -> Any:
    """Return the schema's columns of a data frame, in the schema's order."""
    absent = [name for name in schema.names if name not in list(X.columns)]
    if absent:
        raise ValueError(f"X must have the columns of its schema, but {absent[0]!r} is missing")
    return X[list(schema.names)]


def read_labels(y: Any, n: int, classes: Sequence[Hashable] | None) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the label set, sorted, and each record's place in it.

    Parameters
    ----------
    y : array-like of shape (n,)
        Strings, integers, booleans, or floats with whole values.
    n : int
        The number of records.
    classes : sequence or None
        All labels that can occur. None: those that do occur in y, which makes the set public.

    Raises
    ------
    DomainError
        If y holds a label that is not in `classes`.
    ValueError
        If y is missing, has another length, or is not discrete.
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    labels = column_or_1d(y, warn=True)
    if len(labels) != n:
        raise ValueError(f"X and y must have equal numbers of samples, got {n} and {len(labels)}")
    if labels.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError("Input y contains NaN or infinity.")
    if classes is None:
        if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
            raise ValueError(
                "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects"
                " discrete classes, on a regression target with continuous values."
            )
        return _unique(labels)
    public = check_classes(classes)
    place = {label: code for code, label in enumerate(public.tolist())}
    found, inverse = _unique(labels)
    codes = np.array([place.get(label, -1) for label in found.tolist()], dtype=np.intp)
    if (codes < 0).any():
        raise DomainError("y holds a label that is not among the declared classes")
    return public, codes[inverse]


def check_classes(classes: Sequence[Hashable]) -> NDArray[Any]:
    """Return the declared label set, sorted."""
    public = _unique(np.asarray(list(classes)))[0]
    if not len(public) or len(public) != len(list(classes)):
        raise ValueError(f"classes must be distinct and at least one, got {classes!r}")
    return public


def _unique(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    try:
        found, inverse = np.unique(labels, return_inverse=True)
    except TypeError:
        raise ValueError("labels must be all strings or all numbers, without missing ones") from None
    return found, inverse.astype(np.intp).ravel()


def as_product(domain: Any, n_features: int, names: Sequence[str] | None) -> Product:
    """Return the domain of a record of `n_features` columns.

    Parameters
    ----------
    domain : Domain, sequence of Domain, Product or Schema
        One domain for all columns, or one for each.
    n_features : int
        Number of columns.
    names : sequence of str or None
        Names of the columns.
    """
    if isinstance(domain, Product):
        product = domain
    else:
        per_column = list(domain) if isinstance(domain, (list, tuple)) else [domain] * n_features
        if len(per_column) == n_features:
            return Product(per_column, names)
        product = Product(per_column)
    if len(product) != n_features:
        raise ValueError(f"domain must describe {n_features} columns, as X has, got {len(product)}")
    return product
