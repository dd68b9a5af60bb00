"""How far the totals of queries move, over all pairs of records of a small grid."""

import numpy as np
from scipy.spatial.distance import cdist


def grid(*columns):
    """Return all records with a value of each column, of shape (n, number of columns)."""
    return np.stack(np.meshgrid(*columns, indexing="ij"), axis=-1).reshape(-1, len(columns))


def greatest_moves(query, records):
    """Return the greatest moves of a query's totals over all pairs of records, in parts of its bounds.

    In the L1 norm, and in the squared L2 norm: each for a record that is replaced, and one that is added.
    """
    rows = query.values(records)
    rows = np.eye(query.size)[rows] if rows.ndim == 1 else rows.astype(float)
    assert (query.total(records) == rows.sum(axis=0)).all()
    assert np.abs(rows).max() < 1 << 24  # so that sums of squares are exact
    nothing, moves = np.zeros((1, rows.shape[1])), []
    for norm, name in (("cityblock", "l1"), ("sqeuclidean", "squared_l2")):
        replaced, added = (cdist(rows, other, norm).max() for other in (rows, nothing))
        moves.append([replaced / getattr(query, name), added / getattr(query, f"added_{name}")])
    return np.array(moves)
