"""A dry run of an estimator on public or made-up rows, which finds exceptions before a fit is charged.

An error on a shard is never reported, since it depends on records. An estimator with an invalid parameter
would fail on every shard, and each teacher would answer its shard's most frequent label. So the estimator is
first fitted on rows that are public, or made up, with random labels.

>>> from sklearn.linear_model import LogisticRegression
>>> stream = PublicStream(0)
>>> rows = made_up_rows(30, 3, stream)
>>> dry_run(LogisticRegression(), rows, np.array(["no", "yes"]), stream)
''
>>> dry_run(LogisticRegression(C=-1), rows, np.array(["no", "yes"]), stream).split(":")[0]
'InvalidParameterError'
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_regressor

from dplearn.chance import PublicStream
from dplearn.ensembles.base_estimators import Seeded, quiet
from dplearn.ensembles.isolation import attempt, isolated, muted_output, native_threads, turn
from dplearn.table.rows import plain, rows_of, sliceable

Fit = Callable[[Any, Any, NDArray[Any]], Any]

#: Rows of a dry run.
MANY_ROWS = 64

_FIXED_POINT_ONE = 1 << 16
_TEXT = ("object", "str", "category", "categorical", "utf8")
_WORDS = ("one", "two")
_NUMBERS = ("float", "int", "uint", "bool")
_GAPS = 8  # a column with gaps misses one cell in so many


def made_up_rows(n_rows: int, n_features: int, stream: PublicStream) -> NDArray[np.float64]:
    """Return uniform random numbers from 0 to 1, of shape (n_rows, n_features)."""
    return stream.labels(_FIXED_POINT_ONE, n_rows * n_features).reshape(n_rows, n_features) / _FIXED_POINT_ONE


def made_up_cells(n_rows: int, n_features: int, texts: Sequence[int], stream: PublicStream) -> NDArray[Any]:
    """Return random numbers as objects, of shape (n_rows, n_features), and words in some columns."""
    numbers = made_up_rows(n_rows, n_features, stream)
    cells = numbers.astype(object)
    cells[:, texts] = np.where(numbers[:, texts] < 0.5, *_WORDS)
    return cells


def with_gaps(rows: Any) -> Any:
    """Return a copy of a frame in which columns of floats miss some values; None if it has no such column."""
    kinds = [str(kind).lower().startswith("float") for kind in rows.dtypes]
    if not any(kinds):
        return None
    return type(rows)(
        {
            name: _gapped(rows[name].to_list(), place) if floats else rows[name]
            for place, (name, floats) in enumerate(zip(rows.columns, kinds, strict=True))
        }
    )


def column_taken_for_numbers(frame: Any, failure: str) -> Any:
    """Return the first column of text, if an estimator failed as it took its words for numbers, or None."""
    kinds = [str(kind).lower() for kind in frame.dtypes]
    texts = [name for name, kind in zip(frame.columns, kinds, strict=True) if kind.startswith(_TEXT)]
    taken = any(f"could not convert string to float: {word!r}" in failure for word in _WORDS)
    return texts[0] if taken and texts else None


def made_up_frame(frame: Any, n_rows: int, stream: PublicStream) -> Any:
    """Return made-up rows with the columns of a frame; None if a type is neither text nor number."""
    kinds = [str(kind).lower() for kind in frame.dtypes]
    numbers = made_up_rows(n_rows, len(kinds), stream)
    columns = {}
    for name, kind, drawn in zip(frame.columns, kinds, numbers.T, strict=True):
        if kind.startswith(_TEXT):
            columns[name] = np.where(drawn < 0.5, *_WORDS).astype(object)
        elif kind.startswith(_NUMBERS):
            columns[name] = drawn if "float" in kind else (2 * drawn).astype(bool if "bool" in kind else int)
        else:
            return None
    return type(frame)(columns)


def dry_run(
    estimator: Any,
    rows: Any,
    classes: NDArray[Any],
    stream: PublicStream,
    fit: Fit = lambda estimator, X, y: estimator.fit(X, y),
    most: int = MANY_ROWS,
) -> str:
    """Return the error of an estimator on the first `most` rows with random labels, or an empty text.

    For a regressor, `classes` are targets. `fit` returns the fitted estimator.
    """
    few = np.arange(min(most, rows.shape[0]))
    X = plain(rows_of(sliceable(rows), few))
    # Every label occurs, if there are enough rows: some estimators need two rows of each.
    y = np.asarray(classes)[few % len(classes)][stream.permutation(few.size)]
    seed = stream.seeds(1)[0]
    with native_threads(None), muted_output(), isolated():
        return attempt(
            lambda: _prediction_error(fit, estimator, seed, X, y), lambda e: f"{type(e).__name__}: {e}"
        )


def _gapped(cells: list[Any], place: int) -> list[Any]:
    return [None if (row + place) % _GAPS == 0 else cell for row, cell in enumerate(cells)]


def _prediction_error(fit: Fit, estimator: Any, seed: int, X: Any, y: NDArray[Any]) -> str:
    """Return the error in the predictions, or an empty text."""
    with turn(seed):
        predicted = fit(Seeded(quiet(estimator)).clone(seed), X, y).predict(X)
    if np.shape(predicted) != y.shape or not (is_regressor(estimator) or np.isin(predicted, y).all()):
        return "it does not predict one of the labels for each row"
    return ""
