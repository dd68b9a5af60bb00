"""Warnings of an ensemble before a fit is charged: its estimator fails on made-up rows, or on missing values.

An error on a shard is never reported, since it depends on records: so the estimator is first fitted on rows
that are public, or made up by the types of the columns, with random labels (see `base_models.dry_run`).
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance import PublicStream
from dplearn.domains.cells import is_frame
from dplearn.estimator.base_models import MANY_ROWS, dry_run

_FIXED_POINT_ONE = 1 << 16
_TEXT = ("object", "str", "category", "categorical", "utf8")
_WORDS = ("one", "two")
_NUMBERS = ("float", "int", "uint", "bool")
_GAPS = 8  # a column with gaps misses one cell in so many
_COLUMNS_TRIED = 32  # columns tried one by one as texts, with numbers in the others

Tried = Callable[[Any, Any, NDArray[Any]], Any]


def notes_on_made_up_rows(public: Any, tried: Tried) -> tuple[str, ...]:
    """Return a warning if a dry run on made-up rows fails; text that is read as numbers is an error."""
    stream, X = public.apart("made up"), public.like
    if is_frame(X):
        rows = made_up_frame(X, MANY_ROWS, stream)
    elif X.dtype.kind in "iufb":
        rows = made_up_rows(MANY_ROWS, X.shape[1], stream)
    else:
        return _notes_on_cells(public, tried)
    if rows is None:
        return ()
    failure = dry_run(public.estimator, rows, public.classes, public.apart("rehearsal"), tried)
    if not failure:
        return notes_on_gaps(public, rows, tried)
    column = column_taken_for_numbers(X, failure) if is_frame(X) else None
    if column is not None:
        raise ValueError(
            f"estimator must be able to learn from text, which X has in column {column!r}, but reads it"
            " as numbers: encode it, in a pipeline of the estimator, or convert it to numbers first;"
            " estimator=None encodes it"
        )
    return (
        f"estimator fails on {MANY_ROWS} made-up rows with random labels ({failure}); where it fails on a"
        " shard, its teacher predicts the most frequent label of the shard",
    )


def _notes_on_cells(public: Any, tried: Tried) -> tuple[str, ...]:
    """Return a warning if dry runs on cells of text fail, and for lists on numbers too."""
    d = public.n_features  # which of them hold text is not public, but that some may

    def failure(*texts: int) -> str:
        rows = made_up_cells(MANY_ROWS, d, texts, public.apart("made up"))
        return dry_run(public.estimator, rows, public.classes, public.apart("rehearsal"), tried)

    with_numbers = failure()
    if public.listed and not with_numbers:
        return ()
    # A pipeline may encode columns by position: one column that accepts text is enough.
    with_texts = failure(*range(d))
    if not with_texts or not all(failure(place) for place in range(min(d, _COLUMNS_TRIED))):
        return ()
    of_numbers = f" of numbers ({with_numbers.splitlines()[0]}) and" if with_numbers else ""
    return (
        f"estimator fails on {MANY_ROWS} made-up rows with random labels,{of_numbers} of texts"
        f" ({with_texts.splitlines()[0]}); where it fails on a shard, its teacher predicts the shard's most"
        f" frequent label. X is {'lists' if public.listed else 'an array'} of objects, without column types:"
        " pass a data frame, whose columns have types and names, or X.astype(float) if all cells are"
        " numbers; estimator=None accepts cells of both kinds",
    )


def notes_on_gaps(public: Any, rows: Any, tried: Tried) -> tuple[str, ...]:
    """Return a warning if a dry run on a data frame fails once floats are missing, as any column may have."""
    gaps = with_gaps(rows.head(MANY_ROWS)) if is_frame(rows) else None
    failure = ""
    if gaps is not None:
        failure = dry_run(public.estimator, gaps, public.classes, public.apart("rehearsal"), tried)
    if not failure:
        return ()
    return (
        f"estimator fails where values are missing ({failure.splitlines()[0]}): if a shard has missing"
        " values, its teacher predicts the most frequent label of the shard. Add an imputer, such as"
        " SimpleImputer, even if no value is missing now; estimator=None has one",
    )


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


def _gapped(cells: list[Any], place: int) -> list[Any]:
    return [None if (row + place) % _GAPS == 0 else cell for row, cell in enumerate(cells)]
