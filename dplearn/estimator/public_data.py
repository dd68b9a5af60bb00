"""A wrapper for public rows, which a search or a cross-validation does not slice.

scikit-learn slices every argument of `fit` that has as many entries as `X` has rows, and would cut public
rows to those of a fold. A tuple of one array has one entry, which a Pipeline with `transform_input`
transforms.

>>> rows = PublicData([[1.0, 2.0], [3.0, 4.0]])
>>> len(rows), rows.X
(1, [[1.0, 2.0], [3.0, 4.0]])
"""

from typing import Any, Self

#: The assumption of a guarantee for labels.
PUBLIC_FEATURES = "all features are public, and were made without the labels: only labels are protected"

_WHY = (
    "X_public must be PublicData(rows): a search silently cuts every array that has as many rows as X down to"
    " a fold"
)


class PublicData(tuple[Any]):
    """A table of public rows without labels, for `fit(X, y, X_public=PublicData(rows))`.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        The rows.

    Examples
    --------
    >>> from dplearn import PublicData
    >>> PublicData([[31, 0], [57, 1]]).X
    [[31, 0], [57, 1]]
    """

    __slots__ = ()

    def __new__(cls, X: Any) -> Self:
        return super().__new__(cls, (X,))

    def __getnewargs__(self) -> tuple[Any]:
        return (self[0],)

    @property
    def X(self) -> Any:  # noqa: N802 - scikit-learn's name for rows
        """The public rows."""
        return self[0]

    def __repr__(self) -> str:
        return f"PublicData(<{type(self[0]).__name__}>)"


def public_rows(X_public: Any) -> Any:
    """Return the wrapped rows; a Pipeline with `transform_input` passes a tuple of one table."""
    if not isinstance(X_public, tuple):
        raise TypeError(f"{_WHY}; got {type(X_public).__name__}")
    if len(X_public) != 1:
        raise ValueError(f"{_WHY}; got a tuple of {len(X_public)}")
    return X_public[0]
