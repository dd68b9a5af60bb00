"""The teacher that is taken when none is given: a logistic regression that accepts what tables hold.

>>> import numpy as np
>>> standard_estimator(np.zeros((3, 2)), C=10).steps[-1]
('logisticregression', LogisticRegression(C=10, max_iter=200))

The parts of scikit-learn that it is made of are imported where they are needed: they are a fifth of what
`import dplearn` would take besides scikit-learn's own base.
"""

from typing import Any

from sklearn.pipeline import Pipeline, make_pipeline

from dplearn.domains.cells import is_frame

__all__ = ["standard_estimator", "standard_scorer"]


def standard_estimator(X: Any, C: float) -> Pipeline:
    """Return an unfitted classifier for tables of this kind; only the types of the columns are looked at.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame of shape (n, d)
        Columns of a frame that hold no numbers are one-hot encoded, unknown values as none.
    C : float
        Inverse strength of regularisation.
    """
    from sklearn.linear_model import LogisticRegression

    return _prepared(X, LogisticRegression(C=C, max_iter=200))


def standard_scorer(X: Any) -> Pipeline:
    """Return an unfitted logistic regression by stochastic gradient descent, for tables of this kind.

    Parameters
    ----------
    X : ndarray, sparse matrix or data frame of shape (n, d)
        As for `standard_estimator`.
    """
    from sklearn.linear_model import SGDClassifier

    return _prepared(X, SGDClassifier(loss="log_loss", alpha=0.01, average=True))


def _prepared(X: Any, model: Any) -> Pipeline:
    """Return a pipeline that fills gaps, scales and encodes before the model."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

    numbers = [SimpleImputer(keep_empty_features=True), StandardScaler(with_mean=False)]
    if not is_frame(X):
        return make_pipeline(*numbers, model)
    # By place: a column transformer takes names that are integers for places.
    numeric = [_is_numeric(kind) for kind in X.dtypes]
    texts = [place for place, yes in enumerate(numeric) if not yes]
    rest = [place for place, yes in enumerate(numeric) if yes]
    one_hot = make_pipeline(FunctionTransformer(_without_na), OneHotEncoder(handle_unknown="ignore"))
    encoded = make_column_transformer((one_hot, texts), (make_pipeline(*numbers), rest))
    return make_pipeline(encoded, model)


def _without_na(texts: Any) -> Any:
    """Return columns of texts in which pandas' NA, which the encoder cannot sort, is None."""
    if any(str(kind).startswith("string") for kind in texts.dtypes):
        return texts.astype(object).where(texts.notna(), None)
    return texts


def _is_numeric(kind: Any) -> bool:
    """Return True for the numeric types of numpy, pandas and polars."""
    return bool(getattr(kind, "kind", "") in tuple("iufb") or getattr(kind, "is_numeric", bool)())
