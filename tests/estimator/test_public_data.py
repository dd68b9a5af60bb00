"""Public rows are not sliced with private ones."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import GridSearchCV, KFold

from dplearn import PublicData
from dplearn.estimator import public_rows

ROWS = np.array([[123.5, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
TABLES = {
    "array": ROWS,
    "lists": ROWS.tolist(),
    "sparse": csr_matrix(ROWS),
    "pandas": pd.DataFrame(ROWS, columns=["a", "b"]),
}


def cells(table):
    return (table.toarray() if hasattr(table, "toarray") else np.asarray(table)).tolist()


class Watching(ClassifierMixin, BaseEstimator):
    """Keeps the public rows that it was given."""

    seen: ClassVar[list] = []  # of all clones

    def __init__(self, depth=1):
        self.depth = depth

    def fit(self, X, y, X_public=None):
        Watching.seen.append((len(X), len(cells(public_rows(X_public)))))
        self.public_ = public_rows(X_public)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.fixture
def seen():
    Watching.seen = []
    return Watching.seen


@pytest.mark.parametrize("kind", TABLES)
def test_a_search_passes_all_public_rows_to_every_fit(kind, seen):
    search = GridSearchCV(Watching(), {"depth": [1, 2]}, cv=KFold(2))
    search.fit(ROWS, [0, 1, 0, 1], X_public=PublicData(TABLES[kind]))
    assert sorted(seen) == [(2, 4)] * 4 + [(4, 4)]
    assert cells(search.best_estimator_.public_) == cells(TABLES[kind])


def test_a_plain_tuple_of_one_table_which_a_pipeline_makes_is_taken():
    assert public_rows((ROWS,)) is ROWS
