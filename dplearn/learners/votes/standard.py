"""The default teachers and students: models of scikit-learn, with preprocessing for the types of the columns.

A student encodes texts in the categories of all of its rows. A teacher has a few rows, and there are many: it
reads them by `CellColumns`, a public function of one row, which is applied to the rows of many teachers at
once (`apart`). So all teachers learn from arrays of numbers of one width, and read every kind of query.

>>> standard_estimator(np.zeros((3, 2)), C=10).steps[-1]
('logisticregression', LogisticRegression(C=10, max_iter=200))
>>> rows = np.array([[1.5, "a"], [2, "b"]], dtype=object)
>>> CellColumns(kinds=("number", "text")).transform(rows)[:, :4].tolist()
[[1.5, 1.0, 0.0, 0.0], [2.0, 0.0, 0.0, 0.0]]
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline, make_pipeline

from dplearn.domains import Dates, Hashed
from dplearn.domains.cells import any_as_numbers, frame_column, holds_dates, is_frame, is_missing, text_of
from dplearn.kernels import dense
from dplearn.table.rows import with_columns

_NUMBER_KINDS = "iufb"
_MOST_CODES = 250  # of a column; boosting takes at most 255
_MOST_TEXTS = 50  # of a column, as columns of 0 and 1
_LONG_TAILS = 20  # the fourth moment of a column, over its squared variance, from which on ranks are used
_FARTHEST, _FARTHEST_SCALED = 1e100, 1e4  # the greatest magnitude of a number, and of a scaled one
_PRESENT = 50  # numbers, all of which are hardly ever in a tenth of the rows
_BASE = 8  # in which the buckets of the texts of a column have two digits, for teachers
_BUCKETS = Hashed(_BASE**2)
_BUILT_IN = {str, bytes, bytearray, int, float, bool, complex, type(None)}
_OF_VALUES = {"datetime", "decimal", "fractions", "numpy", "pandas"}
_HOURS = Dates("1000-01-01", "3000-01-01", step="1h", outside="clip", missing=True)


# The parts of scikit-learn that default estimators consist of are imported inside functions: they would be a
# fifth of the time that `import dplearn` takes beyond scikit-learn's own base.
def standard_estimator(X: Any, C: float) -> Pipeline:
    """Return a logistic regression for tables like X, before which each teacher encodes text columns."""
    from sklearn.linear_model import LogisticRegression

    return _prepared(X, LogisticRegression(C=C, max_iter=200))


def standard_teacher(X: Any) -> Pipeline:
    """Return a logistic regression on few rows of tables like X."""
    from sklearn.linear_model import LogisticRegression

    return _of_cells(X, LogisticRegression(C=10, max_iter=200))


def standard_scorer(X: Any) -> Pipeline:
    """Return a logistic regression by stochastic gradient descent, on few rows of tables like X."""
    from sklearn.linear_model import SGDClassifier

    return _of_cells(X, SGDClassifier(loss="log_loss", alpha=0.01, average=True))


def _of_cells(X: Any, model: Any) -> Pipeline:
    """Return a pipeline that reads cells one by one, and imputes and scales numbers before the model."""
    from sklearn.impute import SimpleImputer

    if hasattr(X, "tocsr"):
        return _prepared(X, model)
    if is_frame(X):
        kinds = ["number" if _is_numeric(kind) or holds_dates(kind) else "text" for kind in X.dtypes]
    else:
        kinds = ["number" if X.dtype.kind in _NUMBER_KINDS else "cell"] * X.shape[1]
    scaler = NumberScaler(sum(kind != "text" for kind in kinds))
    return make_pipeline(CellColumns(tuple(kinds)), SimpleImputer(keep_empty_features=True), scaler, model)


class CellColumns(TransformerMixin, BaseEstimator):
    """Reads rows as numbers, each by itself: one for each column of numbers, then 16 for each text, which is
    1 at the two digits of its bucket, one of 64.
    """

    def __init__(self, kinds: tuple[str, ...] = ()):
        self.kinds = kinds  # of each column: "number", "text" or "cell"

    def fit(self, X: Any, y: Any = None) -> "CellColumns":  # noqa: ARG002
        """Return the estimator: it learns nothing."""
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the numbers of each row; NaN where a number is missing or very large."""
        X = undated(dense(X))
        if set(self.kinds) == {"number"} and not is_frame(X) and X.dtype.kind in _NUMBER_KINDS:
            return X if X.dtype.kind != "f" else _moderate(X)
        numbers, texts = [], []
        for place, kind in enumerate(self.kinds):
            cells = frame_column(X, place) if is_frame(X) else X[:, place]
            found = _moderate(any_as_numbers(cells)) if kind != "text" else np.full(len(cells), np.nan)
            if kind != "number":
                values = list(map(_plain, cells.tolist())) if cells.dtype == object else cells
                digits = divmod(_BUCKETS.encode(values), _BASE)
                ones = np.hstack([np.eye(_BASE)[digit] for digit in digits])
                texts.append(np.where(np.isnan(found)[:, None], ones, 0))
            if kind != "text":
                numbers.append(found if kind == "number" else np.nan_to_num(found))
        return np.column_stack([*numbers, *texts]).astype(np.float64, copy=False)


def _plain(cell: Any) -> Any:
    """Return a cell if its text is a function of its value alone, else the name of its type."""
    kind = type(cell)
    return cell if kind in _BUILT_IN or kind.__module__.partition(".")[0] in _OF_VALUES else kind.__name__


def undated(X: Any) -> Any:
    """Return a table in which a data frame's columns of dates are numbers of days; row by row."""
    return with_columns(X, holds_dates, _days) if is_frame(X) else X


def _days(column: Any) -> NDArray[np.float64]:
    return np.asarray(_HOURS.decode(_HOURS.encode(column)), dtype=np.float64) / 24


def _after_days(X: Any, made: Any) -> Any:
    """Return what is made for tables like `undated(X)`, behind that where it changes tables like X."""
    if not is_frame(X) or not any(map(holds_dates, X.dtypes)):
        return made
    steps = made.steps if isinstance(made, Pipeline) else make_pipeline(made).steps
    return Pipeline([("days", _cleaned(undated)), *steps])


def _moderate(numbers: NDArray[Any]) -> NDArray[Any]:
    numbers = numbers.astype(np.float64, copy=False)
    return np.where(abs(numbers) <= _FARTHEST, numbers, np.nan)


class NumberScaler(TransformerMixin, BaseEstimator):
    """Scales the first columns as StandardScaler does, and leaves all others as they are."""

    with_mean = with_std = True

    def __init__(self, n_numbers: int = 0):
        self.n_numbers = n_numbers

    def fit(self, X: Any, y: Any = None) -> "NumberScaler":  # noqa: ARG002
        """Learn means and deviations."""
        from sklearn.preprocessing import StandardScaler

        n, d = self.n_numbers, X.shape[1]
        self.n_features_in_, self.mean_, self.scale_ = d, np.zeros(d), np.ones(d)
        if n:
            scaler = StandardScaler().fit(X[:, :n])
            self.mean_[:n], self.scale_[:n] = scaler.mean_, scaler.scale_
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the scaled rows."""
        return (X - self.mean_) / self.scale_


def apart(estimator: Any) -> tuple[CellColumns | None, Any]:
    """Return how an estimator first reads each row by itself, None if it does not, and its other steps."""
    if isinstance(estimator, Pipeline) and isinstance(estimator.steps[0][1], CellColumns):
        return estimator.steps[0][1], Pipeline(estimator.steps[1:])
    return None, estimator


def _prepared(X: Any, model: Any) -> Pipeline:
    """Return a pipeline that imputes, scales and encodes before the model."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    # Rows of numbers may be sparse, which cannot be centred.
    numbers = [SimpleImputer(keep_empty_features=True), StandardScaler(with_mean=is_mixed(X))]
    if not is_frame(X) and X.dtype.kind in _NUMBER_KINDS:
        return make_pipeline(*numbers, model)
    texts = _texts_of(undated(X))
    rest = [place for place in range(X.shape[1]) if place not in texts]
    named = make_pipeline(_cleaned(_texts_or_gaps), OneHotEncoder(handle_unknown="ignore"))
    encoded = make_column_transformer((named, texts), (make_pipeline(_cleaned(_as_floats), *numbers), rest))
    return _after_days(X, make_pipeline(encoded, model))


def is_mixed(X: Any) -> bool:
    """Return whether X is a data frame with columns that are no numbers."""
    return is_frame(X) and not all(map(_is_numeric, X.dtypes))


def coded(X: Any, boosting: Any) -> Any:
    """Return gradient boosting for tables like X; columns of few values, or that are no numbers, are
    categories.
    """
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import OrdinalEncoder

    texts, rest = _kinds_of_columns(undated(X))
    if not is_frame(X) and X.dtype.kind in _NUMBER_KINDS and not texts:
        return boosting
    unseen = {"handle_unknown": "use_encoded_value", "unknown_value": np.nan}
    codes = OrdinalEncoder(**unseen, encoded_missing_value=np.nan, max_categories=_MOST_CODES)
    parts = (make_pipeline(_cleaned(_texts_or_gaps), codes), texts), (_cleaned(_as_floats), rest)
    columns = make_column_transformer(*parts, sparse_threshold=0)
    boosted = boosting.set_params(categorical_features=list(range(len(texts))))
    return _after_days(X, make_pipeline(columns, boosted))


def scaled(X: Any) -> Any:
    """Return a transformer of tables like X to numbers of similar spread: 0 and 1 for frequent texts, and
    ranks.
    """
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import OneHotEncoder, QuantileTransformer, StandardScaler

    if not is_frame(X) and hasattr(X, "tocsr"):
        return make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler(with_mean=False))
    given, X = X, undated(X)
    texts, rest = _kinds_of_columns(X)
    tails = [place for place in rest if _has_long_tails(X, place)]
    numbers = [_cleaned(_as_floats), SimpleImputer(keep_empty_features=True)]
    ranks = QuantileTransformer(n_quantiles=min(1000, X.shape[0]), random_state=0)
    named = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=_MOST_TEXTS)
    columns = make_column_transformer(
        (make_pipeline(_cleaned(_texts_or_gaps), named), texts),
        (
            make_pipeline(*numbers, StandardScaler(), _cleaned(_clipped)),
            [place for place in rest if place not in tails],
        ),
        (make_pipeline(*numbers, ranks, StandardScaler()), tails),
        sparse_threshold=0,
    )
    return _after_days(given, columns.set_output(transform="default"))


def _cleaned(function: Any) -> Any:
    from sklearn.preprocessing import FunctionTransformer

    return FunctionTransformer(function)


def _kinds_of_columns(X: Any) -> tuple[list[int], list[int]]:
    """Return the indices of columns that are categories, and of those that are numbers."""
    texts = _texts_of(X)
    texts += [place for place in range(X.shape[1]) if place not in texts and _is_nearly_empty(X, place)]
    return texts, [place for place in range(X.shape[1]) if place not in texts]


def _numbers_of(X: Any, place: int) -> Any:
    return any_as_numbers(frame_column(X, place) if is_frame(X) else X[:, place])


def _has_long_tails(X: Any, place: int) -> bool:
    """Return whether the fourth moment of a column is far above that of a normal distribution."""
    numbers = _numbers_of(X, place)
    numbers = numbers[np.isfinite(numbers)].clip(-_FARTHEST, _FARTHEST)
    if not numbers.size or not (spread := np.abs(numbers - numbers.mean()).max()):
        return False
    squares = np.square((numbers - numbers.mean()) / spread)
    return bool(np.square(squares).mean() > _LONG_TAILS * max(squares.mean() ** 2, np.finfo(float).tiny))


def _is_nearly_empty(X: Any, place: int) -> bool:
    """Return whether all numbers of a column may be in the tenth of rows by which boosting stops early."""
    # Boosting fails then, but for categories.
    numbers = _numbers_of(X, place)
    return bool(np.count_nonzero(~np.isnan(numbers)) <= min(_PRESENT, len(numbers) // 10 + 1))


def _texts_or_gaps(cells: Any) -> Any:
    """Return cells as texts, which do not depend on gaps in other cells, and NaN where they are missing."""
    rows = cells.to_numpy() if is_frame(cells) else cells
    found = [np.nan if is_missing(cell) else text_of(cell) for cell in rows.ravel().tolist()]
    return np.array(found, dtype=object).reshape(rows.shape)


def _as_floats(columns: Any) -> Any:
    """Return columns of numbers as float64, NaN where they are missing or infinite."""
    if hasattr(columns, "iloc"):
        found = columns.to_numpy(dtype=np.float64, na_value=np.nan)
    elif is_frame(columns):
        found = columns.to_numpy().astype(np.float64)
    else:
        found = dense(columns)  # rows to predict may be sparse
        if found.dtype.kind not in _NUMBER_KINDS:
            numbers = [_number(cell) for cell in found.ravel().tolist()]
            found = np.array([np.nan if each is None else each for each in numbers]).reshape(found.shape)
        found = found.astype(np.float64, copy=False)
    return np.where(np.isfinite(found), found.clip(-_FARTHEST, _FARTHEST), np.nan)


def _clipped(numbers: Any) -> Any:
    """Return scaled numbers, with those that are far from all of a fit's clipped: trees read 32 bits."""
    return np.clip(numbers, -_FARTHEST_SCALED, _FARTHEST_SCALED)


def _texts_of(cells: Any) -> list[int]:
    """Return the indices of columns that are no numbers, by the types of a frame, or else by their cells."""
    if is_frame(cells):
        return [place for place, kind in enumerate(cells.dtypes) if not _is_numeric(kind)]
    if cells.dtype.kind in _NUMBER_KINDS:
        return []
    return [place for place, column in enumerate(cells.T) if None in map(_number, column.tolist())]


def _number(cell: Any) -> float | None:
    """Return a cell as a number: NaN if it is missing or infinite, None if it is not a number."""
    if is_missing(cell):
        return math.nan
    try:
        number = float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else math.nan


def _is_numeric(kind: Any) -> bool:
    """Return True for the numeric types of numpy, pandas and polars."""
    return bool(getattr(kind, "kind", "") in tuple(_NUMBER_KINDS) or getattr(kind, "is_numeric", bool)())
