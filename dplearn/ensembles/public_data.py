"""Public rows, wrapped so that no search takes them for a property of the private ones.

A search or a cross-validation slices every argument of `fit` that has as many entries as `X` has rows. An
array of public rows that happens to be as long would silently be cut to the rows of a fold. A tuple of one
array has one entry; and a Pipeline with `transform_input` transforms what is in a tuple.

>>> rows = PublicData([[1.0, 2.0], [3.0, 4.0]])
>>> len(rows), rows.X
(1, [[1.0, 2.0], [3.0, 4.0]])
"""

from typing import Any, Self

__all__ = ["PublicData", "public_rows"]

_WHY = (
    "X_public must be PublicData(rows): a search cuts every array that has as many rows as X down to a fold,"
    " without a word"
)


class PublicData(tuple[Any]):
    """A table of public rows without labels, for `fit(X, y, X_public=PublicData(rows))`.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        The rows.
    """

    __slots__ = ()

    def __new__(cls, X: Any) -> Self:
        return super().__new__(cls, (X,))

    def __getnewargs__(self) -> tuple[Any]:
        return (self[0],)

    @property
    def X(self) -> Any:  # noqa: N802 - scikit-learn's name for rows
        """The rows."""
        return self[0]

    def __repr__(self) -> str:
        return f"PublicData(<{type(self[0]).__name__}>)"


def public_rows(X_public: Any) -> Any:
    """Return the rows that are wrapped, by the user or by a Pipeline that transformed them.

    Parameters
    ----------
    X_public : PublicData or tuple of one table
        What `fit` was given.
    """
    if not isinstance(X_public, tuple):
        raise TypeError(f"{_WHY}; got {type(X_public).__name__}")
    if len(X_public) != 1:
        raise ValueError(f"{_WHY}; got a tuple of {len(X_public)}")
    return X_public[0]
