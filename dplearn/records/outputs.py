"""Read one or several labels per record.

>>> outputs = read_outputs([["a", 0], ["b", 1]], 2, None)
>>> [classes.tolist() for classes in outputs.classes], outputs.codes.tolist(), outputs.many
([['a', 'b'], [0, 1]], [[0, 0], [1, 1]], True)
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.domains import DomainError
from dplearn.domains.cells import frame_column, is_frame
from dplearn.records.reading import check_classes, read_labels


@dataclass(frozen=True, repr=False)  # a traceback could show the repr
class Outputs:
    """The labels of a table."""

    classes: list[NDArray[Any]]  # public: the sorted label set of each output
    codes: NDArray[np.intp]  # private: of shape (n, n_outputs)
    many: bool  # public: whether y has two dimensions


def n_outputs_of(y: Any) -> int:
    """Return the number of labels per record, in the first row of a list; `read_outputs` refuses others."""
    if is_frame(y) or (isinstance(y, np.ndarray) and y.ndim == 2):
        return int(y.shape[1])
    row = y[0] if isinstance(y, Sequence) and not isinstance(y, (str, bytes)) and len(y) else None
    return np.size(row) if isinstance(row, (list, tuple, np.ndarray)) else 1


def read_outputs(y: Any, n: int, classes: Sequence[Any] | None) -> Outputs:
    """Return the labels of each output, read by `read_labels`."""
    k = n_outputs_of(y)
    known: list[Any] = [None] * max(1, k) if classes is None else sets_of_outputs(classes, max(1, k))
    if k < 2:
        label_set, codes = read_labels(y, n, known[0])
        return Outputs([label_set], codes[:, None], many=False)
    if isinstance(y, Sequence) and any(np.size(row) != k for row in y):
        raise ValueError("rows of y must be equally long")
    read = [_read_output(output_column(y, i), n, each, i) for i, each in enumerate(known)]
    return Outputs([labels for labels, _ in read], np.column_stack([codes for _, codes in read]), many=True)


def _read_output(y: Any, n: int, classes: Any, i: int) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the label set and the codes of one output; an error names it."""
    refused: ValueError | None = None
    try:
        return read_labels(y, n, classes)
    except ValueError as error:
        refused = error
    kind = DomainError if isinstance(refused, DomainError) else ValueError
    raise kind(f"in output {i}, {refused}")  # not in the handler: the traceback of the cause holds cells


def declared_sets(classes: Sequence[Any]) -> list[NDArray[Any]]:
    """Return the validated declared label sets: one for each output, or one for all."""
    if isinstance(classes, Mapping):
        raise TypeError(
            "classes must be a sequence of labels, or of label sets in the order of the columns of y, got a"
            " mapping"
        )
    sets = list(classes) if isinstance(classes, Iterable) and not isinstance(classes, str) else []
    many = sets and all(isinstance(each, (list, tuple, np.ndarray)) for each in sets)
    return [check_classes(each) for each in (sets if many else [classes])]


def sets_of_outputs(classes: Sequence[Any], n_outputs: int) -> list[NDArray[Any]]:
    """Return the declared label set of each output, of which there is one for each or one for all."""
    sets = declared_sets(classes)
    if len(sets) not in (1, n_outputs):
        raise ValueError(
            f"classes must have a label set for each of {n_outputs} outputs, got {len(sets)}; n_outputs is"
            " the number of columns of y, and in a plan an argument"
        )
    return sets if len(sets) == n_outputs else sets * n_outputs


def label_columns(classes: Sequence[NDArray[Any]], codes: NDArray[np.integer]) -> list[NDArray[Any]]:
    """Return the labels with the given codes, of each output."""
    return [labels[column] for labels, column in zip(classes, codes.T, strict=True)]


def output_column(y: Any, i: int) -> Any:
    """Return the labels of one output."""
    if is_frame(y):
        return frame_column(y, i)
    return y[:, i] if isinstance(y, np.ndarray) else [row[i] for row in y]


def joined_outputs(columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Return the labels of several outputs as one array; an array of objects if they are of several kinds."""
    alike = len({column.dtype.kind for column in columns}) == 1
    return np.column_stack(columns if alike else [column.astype(object) for column in columns])


def share_all_right(columns: Sequence[NDArray[Any]], y: Any, weights: Any = None) -> float:
    """Return the share of rows, weighted if there are weights, whose labels are all predicted correctly."""
    if n_outputs_of(y) != len(columns):
        raise ValueError(f"y must have {len(columns)} outputs, got {n_outputs_of(y)}")
    right = [column == np.asarray(output_column(y, i)) for i, column in enumerate(columns)]
    return float(np.average(np.all(right, axis=0), weights=weights))
