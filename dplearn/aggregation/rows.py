"""Cut a table into rows that look the same whatever other rows hold.

numpy chooses one type for a whole array, scipy one type of index for a whole matrix, pandas one type for all
row labels. A shard that inherited these would change with a record of another shard. What is inherited are
the types of columns, which are public: the categories of a categorical column, and the type of an array.

>>> import numpy as np
>>> table = np.array([[1, 2], [3, "x"]], dtype=object)
>>> plain(rows_of(table, np.array([0]))).dtype.kind, plain(rows_of(table, np.array([1]))).dtype.kind
('i', 'U')
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from dplearn.domains.cells import is_frame

__all__ = ["plain", "rows_of", "sliceable"]

_SHORT = 1 << 31


def sliceable(X: Any) -> Any:
    """Return a table that rows can be cut out of: a sparse one by rows, any other as it is."""
    return X.tocsr() if hasattr(X, "tocsr") else X


def rows_of(X: Any, places: NDArray[np.int64]) -> Any:
    """Return a copy of some rows, which shares no memory with the table.

    Parameters
    ----------
    X : ndarray, CSR matrix, pandas or polars data frame of shape (n, d)
        A table.
    places : ndarray of int of shape (m,)
        Which rows.
    """
    if hasattr(X, "iloc"):
        return X.iloc[places].reset_index(drop=True)
    rows = X[places]
    if issparse(X):
        kind = np.int32 if max(rows.nnz, rows.shape[1]) < _SHORT else np.int64  # what its own entries need
        return type(rows)((rows.data, rows.indices.astype(kind), rows.indptr.astype(kind)), shape=rows.shape)
    return rows


def plain(rows: Any) -> Any:
    """Return an array of cells as what numpy makes of these rows alone; any other table as it is."""
    if is_frame(rows) or rows.dtype != object:
        return rows
    try:
        own = np.asarray(rows.tolist())
    except ValueError:  # cells that are sequences, of unequal lengths
        return rows
    return own if own.shape == rows.shape else rows
