"""Public rows are not sliced with private ones, and reprs show only their type."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV, KFold, cross_validate
from sklearn.utils.validation import _check_method_params

from dplearn.estimator.public_data import PublicData, public_rows

ROWS = np.array([[123.5, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
TABLES = {
    "array": ROWS,
    "lists": ROWS.tolist(),
    "sparse": csr_matrix(ROWS),
    "pandas": pd.DataFrame(ROWS, columns=["a", "b"]),
}
each_table = pytest.mark.parametrize("kind", TABLES)


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


@each_table
def test_scikit_learn_does_not_slice_it_where_it_slices_the_table(kind):
    fold = np.array([0, 2])
    given = {"bare": TABLES[kind], "wrapped": PublicData(TABLES[kind])}
    cut = _check_method_params(ROWS, given, indices=fold)
    assert len(cells(cut["bare"])) == 2
    assert cut["wrapped"] is given["wrapped"]


@each_table
def test_a_search_passes_all_public_rows_to_every_fit(kind, seen):
    search = GridSearchCV(Watching(), {"depth": [1, 2]}, cv=KFold(2))
    search.fit(ROWS, [0, 1, 0, 1], X_public=PublicData(TABLES[kind]))
    assert sorted(seen) == [(2, 4)] * 4 + [(4, 4)]
    assert cells(search.best_estimator_.public_) == cells(TABLES[kind])


@pytest.mark.parametrize("routing", [False, True])
def test_a_cross_validation_passes_all_public_rows_to_every_fit(routing, seen):
    with sklearn.config_context(enable_metadata_routing=routing):
        model = clone(Watching()).set_fit_request(X_public=True) if routing else Watching()
        cross_validate(model, ROWS, [0, 1, 0, 1], cv=KFold(2), params={"X_public": PublicData(ROWS)})
    assert seen == [(2, 4)] * 2


@pytest.mark.parametrize(
    "bare", [ROWS, ROWS.tolist(), TABLES["pandas"], TABLES["sparse"], "rows", 3], ids=type
)
def test_rows_that_are_not_wrapped_are_refused_with_the_reason_and_without_a_row(bare):
    with pytest.raises(
        TypeError, match=r"X_public must be PublicData\(rows\): a search silently cuts"
    ) as refused:
        public_rows(bare)
    assert str(refused.value).endswith(f"got {type(bare).__name__}")


def test_a_plain_tuple_of_one_table_which_a_pipeline_makes_is_taken():
    assert public_rows((ROWS,)) is ROWS
