"""Read and validate features and labels, with errors that show no private value.

Inside the declared domain no error, warning or type depends on the data. Other input is refused before
anything is spent, with messages that name columns and constraints, never values.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from decimal import Decimal
from itertools import repeat
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import column_or_1d, validate_data

from dplearn._validation import check_count, shown
from dplearn.domains import DomainError, Product, Schema
from dplearn.domains.base import CellTypeError
from dplearn.domains.cells import (
    DATES_AS_DAYS,
    as_cells,
    cells_of,
    column_type,
    frame_column,
    holds_times,
    is_frame,
    is_missing,
    is_number,
    is_row,
    object_array,
    times_as_numbers,
    unread_times,
)
from dplearn.domains.product import refuse_text
from dplearn.records.part_sources import table_in_memory

NOT_NUMERIC = (
    "X holds a value that is not a number; declare the columns with domain=Schema(...), or encode them before"
    " this estimator by encoder = CellEncoder().fit(X) of dplearn.preprocessing, which learns nothing from"
    " them, and declare domain=encoder.domain() for this estimator"
)
NO_GAPS = (
    "Input X contains NaN or another missing value; fill it with a public constant or, where the estimator"
    " takes a domain that has missing values, declare one: domain=Floats(missing=True), or Schema(...) where"
    " columns hold text too, or domain=encoder.domain() after encoder = CellEncoder().fit(X) of"
    " dplearn.preprocessing, which encodes cells that are not numbers as NaN; IntegerRange and Grid take"
    " missing=True too"
)
_LABELLED = "drop records without a label if their number may be public, or make 'missing' one of the labels"
_ONE_KIND = f"y must hold labels that are all strings or all numbers, and none missing; {_LABELLED}"
#: The end of a message about several labels of a record.
_SEVERAL = (
    "; PrivateMultiOutputClassifier fits a classifier to each of several labels of a record, from a table in"
    " memory, and AdditiveClassifier takes several labels, from parts too"
)
_NO_NAN = f"Input y contains NaN or infinity; {_LABELLED}"
NOT_A_CELL = f"X holds an object whose argument must be a string or a real number; of dates {DATES_AS_DAYS}"

_PLAIN_NUMBERS = {int, bool, float}
_PLAIN = {*_PLAIN_NUMBERS, str}
_COMPLEX = (complex, np.complexfloating)
_NO_LABEL = object()  # stands for a label that has no value
_LISTED = 20  # classes in a message


def read_features(estimator: Any, X: Any, *, domain: Any, reset: bool) -> Any:
    """Return X as a numeric array, an array of unconverted cells, or a data frame.

    A numeric array keeps its type, which counts as public. Other input is read cell by cell, since a common
    type for all cells would depend on all records. With `reset`, in `fit`, `n_features_in_` and
    `feature_names_in_` of the estimator are set. Otherwise X must agree with them, or be a data frame with at
    least the columns of a schema, and the columns of an array are in the order of the fit. The domain None
    means numbers without missing values.
    """
    X = table_in_memory(X)
    if is_frame(X):
        if reset or not isinstance(domain, Schema):
            _check_names(X)
            validate_data(estimator, X, reset=reset, skip_check_array=True)
        _refuse_empty(X)
        if domain is None:
            _check_columns(X)
        X = _select(X, domain) if isinstance(domain, Schema) else X
        refuse_text(X, domain)
        return X
    rows = _validated(estimator, X, reset=reset)
    refuse_text(X, domain)
    if not reset and isinstance(domain, Schema) and hasattr(estimator, "feature_names_in_"):
        fitted = estimator.feature_names_in_.tolist()
        rows = rows[:, [fitted.index(name) for name in domain.names]]
    if rows.dtype != object:
        if domain is None or _wants_finite(domain):
            _check_finite(rows)
    elif domain is None or domain.numeric:
        _check_numbers(rows, missing=domain is not None and domain.accepts_missing)
    return rows


def read_rows(estimator: Any, X: Any, *, reset: bool, sparse: bool) -> Any:
    """Return X as a table that can be cut into shards; no value is read or converted.

    `reset` and lists are as for `read_features`.
    """
    X = table_in_memory(X)
    if is_frame(X):
        _check_names(X)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        _refuse_empty(X)
        return X
    rows = _validated(estimator, X, reset=reset, accept_sparse="csr" if sparse else False)
    if getattr(X, "format", "") == "bsr":
        rows.eliminate_zeros()  # the stored zeros of a block depend on other records in the block
    return rows


def _validated(estimator: Any, X: Any, *, reset: bool, accept_sparse: str | bool = False) -> Any:
    """Return X, which is not a data frame, as numbers of its own type or as cells; validates the shape."""
    if not accept_sparse:
        refuse_sparse(estimator, X)
    cells: Any = X if issparse(X) else cells_of(X)
    _refuse_complex(getattr(cells, "dtype", None))
    if issparse(X) and cells.dtype.kind not in "iufb":
        raise CellTypeError("X must hold numbers where it is a sparse matrix, not objects")
    kind = "numeric" if issparse(X) or cells.dtype.kind in "iufbc" else object
    return validate_data(
        estimator, cells, reset=reset, dtype=kind, accept_sparse=accept_sparse, ensure_all_finite=False
    )


def refuse_sparse(estimator: Any, X: Any) -> None:
    """Refuse a sparse matrix, such as the output of OneHotEncoder, with advice for this estimator."""
    if not issparse(X):
        return
    given = ", and say what each column can hold: domain=Schema(...)" if hasattr(estimator, "domain") else ""
    raise TypeError(
        "Sparse data was passed for X, but dense data is required. Give"
        f" {type(estimator).__name__} the data frame itself, without an encoder in front{given} (an encoder"
        " that is fitted on private rows publishes their values); or make the matrix dense with X.toarray()"
    )


def _check_names(X: Any) -> None:
    """Refuse a data frame in which a name of columns occurs twice."""
    counts = Counter(X.columns)
    name, count = max(counts.items(), key=lambda each: each[1], default=("", 1))
    if count > 1:
        raise ValueError(f"X must have distinct names of columns, got {name!r} {count} times")


def _refuse_empty(X: Any) -> None:
    """Refuse a data frame without rows or columns, with scikit-learn's message for arrays."""
    if not all(X.shape):
        raise ValueError(
            f"Found array with {X.shape[0]} sample(s) and {X.shape[1]} feature(s) while a minimum of 1"
            " is required."
        )


def _refuse_complex(*types: Any) -> None:
    """Refuse complex numbers before scikit-learn does, since its error message shows values."""
    scalars = [getattr(kind, "type", kind) for kind in types]
    if any(issubclass(kind, _COMPLEX) for kind in scalars if isinstance(kind, type)):
        raise CellTypeError("Complex data not supported")


def _check_columns(X: Any) -> None:
    """Refuse a data frame without a declared domain if a column has values other than numbers."""
    first = ""
    for position, name in enumerate(X.columns):
        if (times := unread_times(X, position)) is not None:
            raise CellTypeError(f"in column {name!r} of X, values are {times_as_numbers(times)}")
        dtype = column_type(X, position)
        if not first and not _is_of_numbers(dtype):
            kind = str(dtype).partition("(")[0]  # the name of an Enum type without its values
            first = f"; the first column whose type is not one of numbers is {name!r} ({kind})"
    for position in range(X.shape[1]):
        column = frame_column(X, position)
        if column.dtype.kind == "f" and np.isnan(column).any():
            raise DomainError(NO_GAPS)
        if column.dtype.kind not in "iufb":
            _check_numbers(column, missing=False, first=first)


def _is_of_numbers(dtype: Any) -> bool:
    """Return True for a numeric column type of numpy, pandas or polars, and for times of polars."""
    numeric = getattr(dtype, "is_numeric", None)
    kind = getattr(dtype, "kind", "") or str(dtype)
    return kind in ("i", "u", "f", "b", "Boolean") or holds_times(dtype) or (callable(numeric) and numeric())


def _check_numbers(cells: NDArray[Any], *, missing: bool, first: str = "") -> None:
    """Refuse cells that are not numbers, with messages like scikit-learn's.

    `first` names the first column whose public type allows such cells, so it depends on no cell.
    """
    listed = cells.ravel().tolist()
    if any(issubclass(kind, (str, bytes)) for kind in set(map(type, listed))):
        raise DomainError(NOT_NUMERIC + first)
    if not all(is_number(cell) or is_missing(cell) for cell in listed):
        raise CellTypeError(NOT_A_CELL + first)
    if not missing and any(is_missing(cell) for cell in listed):
        raise DomainError(NO_GAPS)


def _wants_finite(domain: Any) -> bool:
    """Return True if no column has a code for NaN or for an infinity."""
    parts = getattr(domain, "domains", (domain,))
    return not domain.accepts_missing and all(getattr(part, "ordered", True) for part in parts)


def _check_finite(X: NDArray[Any]) -> None:
    """Refuse NaN and infinities, with messages like scikit-learn's."""
    if X.dtype.kind != "f" or not X.size:
        return
    if np.isinf(np.fmin.reduce(X, axis=None)) or np.isinf(np.fmax.reduce(X, axis=None)):
        raise DomainError("Input X contains infinity")
    if np.isnan(X.min()):
        raise DomainError(NO_GAPS)


def _select(X: Any, schema: Schema) -> Any:
    """Return the schema's columns of a data frame, in the schema's order."""
    absent = [name for name in schema.names if name not in list(X.columns)]
    if absent:
        numbered = all(type(name) is not str for name in X.columns)
        rename = "; names of columns must be texts: X.columns = X.columns.astype(str)" if numbered else ""
        raise ValueError(f"X must have the columns of its schema, but {absent[0]!r} is missing{rename}")
    selected = X[list(schema.names)]
    if selected.shape[1] > len(schema):
        raise ValueError("X must have each column of its schema once, but some name occurs twice")
    return selected


def read_labels(y: Any, n: int, classes: Sequence[Hashable] | None) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted label set, and the index of each record's label in it.

    `classes` are all labels that can occur; others are refused. None: the labels that occur in y, which makes
    their set public.
    """
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    labels = label_cells(y)
    if len(labels) != n:
        raise ValueError(f"X and y must have equal numbers of samples, got {n} and {len(labels)}")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(_NO_NAN)
    if classes is None:
        return _found_labels(labels)
    public = check_classes(classes)
    codes = _places(public, labels)
    if (codes < 0).any():
        raise DomainError(f"y holds a label that is not among the declared classes{_listed(public)}")
    return public, codes


def _listed(classes: NDArray[Any]) -> str:
    """Return the declared classes, or the first of many, as the end of a message; shows no label of y."""
    if len(classes) == 1:
        return ", which are one label only"
    shown = ", ".join(map(repr, classes[:_LISTED].tolist()))
    rest = f" and {len(classes) - _LISTED} more" if len(classes) > _LISTED else ""
    return f" ({shown}{rest}); a missing label counts as such"


def labels_assumed(classes: Sequence[Any] | None) -> str:
    """Return the assumption about labels: they are among the declared ones, or their set is public."""
    if classes is None:
        return "the set of labels, and their type, is public"
    return "labels are among the declared classes"


def declared_classes(classes: Sequence[Any] | None, domain: Any) -> Sequence[Any] | None:
    """Return the declared labels: `classes` if given, else those of a schema, else None."""
    return domain.labels if classes is None and isinstance(domain, Schema) else classes


def check_two_labels(classes: NDArray[Any], learned: str) -> None:
    """Raise scikit-learn's error unless there are two labels, which the kind of rule `learned` needs."""
    if len(classes) != 2:
        raise ValueError(
            f"Only binary classification is supported: {learned} needs 2 classes, got"
            f" {len(classes)} class" + ("es" if len(classes) != 1 else "; classes=[...] declares both")
        )


def check_given(name: str, value: Any, *, source: str, low: int = 1) -> int:
    """Return a size that a plan needs; raise an error if it is neither given nor determined by `source`."""
    if value is None:
        raise ValueError(f"{name} must be given, since {source} does not determine it")
    return check_count(name, value, low=low)


def label_cells(
    y: Any, *, what: str = "labels", several: str = _SEVERAL, any_cells: bool = False
) -> NDArray[Any]:
    """Return the labels, or targets, as a one-dimensional array, without a conversion to a common type.

    With `any_cells`, a row of several cells or a complex number becomes an object that equals no label.
    """
    if is_frame(y) and y.shape[1] != 1:
        raise ValueError(
            f"y must have one column of {what}, got a data frame of {y.shape[1]} columns{several}"
        )
    cells = frame_column(y, 0) if is_frame(y) else as_cells(y)
    if cells.ndim == 2 and cells.shape[1] > 1:
        raise ValueError(f"y should be a 1d array, got an array of {cells.shape[1]} columns instead{several}")
    listed = cells.ravel().tolist() if cells.dtype == object else []
    if not set(map(type, listed)) <= _PLAIN:
        listed = [_bare(label) for label in listed]
        if any_cells:
            listed = [
                _NO_LABEL if is_row(label) or isinstance(label, _COMPLEX) else label for label in listed
            ]
        if any(map(is_row, listed)):
            raise ValueError(f"y must hold one {what[:-1]} for each record, got a row of several{several}")
        cells = object_array(listed).reshape(cells.shape)
    _refuse_complex(cells.dtype, *set(map(type, listed)))
    if holds_times(cells.dtype):
        raise ValueError("y must hold labels that are texts or numbers, got times; y.astype(str) are texts")
    labels: NDArray[Any] = column_or_1d(cells, warn=True)
    return labels


def _bare(label: Any) -> Any:
    """Return the label in a row of one column or in an array of size 1; None for a missing label."""
    try:
        if isinstance(label, np.ndarray) and label.size == 1:
            label = label.ravel().tolist()[0]
        elif is_row(label) and len(label) == 1:
            label = label[0]
        return None if is_missing(label) else label
    except Exception:  # an arbitrary cell may raise any error
        return _NO_LABEL


def _found_labels(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the labels that occur, sorted, and each record's index; the set and its type count as public.

    Labels of a single kind are sorted and compared by value. For others, such as NaN or sets, the label set
    could contain equal labels several times, and would reveal the number and order of their records.
    """
    if labels.dtype.kind == "O":
        listed = labels.tolist()
        kinds = set(map(type, listed))
        if kinds == {str}:
            public = object_array(sorted(set(listed)))
            return public, _places(public, labels)
        plain = kinds <= _PLAIN_NUMBERS and not any(label != label for label in listed)  # NaN differs
        if not plain and not any(
            all(map(alike, listed)) for alike in (_is_text, _is_label_number, _is_bytes)
        ):
            raise ValueError(_ONE_KIND)
        common = np.asarray(listed)
        labels = common if common.ndim == 1 and common.dtype.kind in "iufb" else labels
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise ValueError(_NO_NAN)
    if labels.dtype.kind == "f" and (labels != np.floor(labels)).any():
        raise ValueError(
            "Unknown label type: continuous. Maybe you are trying to fit a classifier, which expects"
            " discrete classes, on a regression target with continuous values."
        )
    return _unique(labels)


def _is_text(label: Any) -> bool:
    return isinstance(label, str)


def _is_bytes(label: Any) -> bool:
    return isinstance(label, bytes)


def _is_label_number(label: Any) -> bool:
    """Return True for a number other than NaN; a comparison of decimal's signaling NaN would raise."""
    return is_number(label) and not is_missing(label) and not (isinstance(label, Decimal) and label.is_nan())


def _places(classes: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of each label in the sorted classes, -1 for others."""
    place = {label: code for code, label in enumerate(classes.tolist())}
    if labels.dtype.kind not in "iufb":
        return _looked_up(place, labels)
    if classes.dtype == labels.dtype:  # compared without a conversion, in little memory
        nearest = np.searchsorted(classes, labels)
        np.minimum(nearest, len(classes) - 1, out=nearest)
        nearest[classes[nearest] != labels] = -1
        return nearest
    found, inverse = _unique(labels)
    return _looked_up(place, found)[inverse]  # each distinct number is looked up once


def _looked_up(place: dict[Any, int], labels: NDArray[Any]) -> NDArray[np.intp]:
    listed = labels.tolist()
    if set(map(type, listed)) <= _PLAIN:  # these can be hashed and compared
        return np.fromiter(map(place.get, listed, repeat(-1)), np.intp, len(listed))
    return np.array([_place(place, label) for label in listed], dtype=np.intp)


def _place(place: dict[Any, int], label: Any) -> int:
    if isinstance(label, bytes):  # no class is bytes, and `python -b` warns of comparing them with text
        return -1
    try:
        return place.get(label, -1)
    except Exception:  # a value that cannot be hashed or compared is no label
        return -1


def check_classes(classes: Sequence[Hashable]) -> NDArray[Any]:
    """Return the declared label set, sorted, if its labels are distinct and all strings or all numbers."""
    labels = list(classes) if isinstance(classes, Iterable) and not isinstance(classes, str) else []
    texts = sum(isinstance(label, str) for label in labels)
    numbers = sum(isinstance(label, (int, float, np.number, np.bool_)) for label in labels)
    if not labels or len(labels) not in (texts, numbers) or len(set(labels)) < len(labels):
        raise ValueError(
            f"classes must be distinct, at least one, all strings or all numbers, got {shown(classes)}"
        )
    public = _unique(np.asarray(labels))[0]
    kept = set(public.tolist()) == set(labels) and len(public) == len(labels)
    if not kept or (public.dtype.kind == "f" and not np.isfinite(public).all()):
        raise ValueError(
            f"classes must be finite, and keep their values in one numpy type, got {shown(classes)}"
        )
    return public


def _unique(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    comparable = True
    try:
        found, inverse = np.unique(labels, return_inverse=True)
    except TypeError:
        comparable = False
    if not comparable:
        raise ValueError(_ONE_KIND)
    return found, inverse.astype(np.intp).ravel()


def as_product(domain: Any, n_features: int, names: Sequence[str] | None) -> Product:
    """Return the domain of a record of `n_features` columns, from one for all columns or one for each."""
    if isinstance(domain, Product):
        product = domain
    else:
        per_column = list(domain) if isinstance(domain, (list, tuple)) else [domain] * n_features
        if len(per_column) == n_features:
            return Product(per_column, names)
        product = Product(per_column)
    if len(product) != n_features:
        raise ValueError(f"domain must describe {n_features} columns, as X has, got {len(product)}")
    return product
