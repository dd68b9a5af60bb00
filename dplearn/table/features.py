"""Read and validate features, with errors that show no private value.

Inside the declared domain no error, warning or type depends on the data. Other input is refused before
anything is spent, with messages that name columns and constraints.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from dplearn._writing import near_column
from dplearn.domains import DomainError, Product, Schema
from dplearn.domains.base import CellTypeError
from dplearn.domains.cells import (
    DATES_AS_DAYS,
    cells_of,
    column_type,
    frame_column,
    holds_times,
    is_frame,
    is_missing,
    is_number,
    times_as_numbers,
    unread_times,
)
from dplearn.domains.product import LEARN, ZEROS_AND_ONES, refuse_text
from dplearn.table.rows import sliceable
from dplearn.table.sources import table_in_memory

_NOT_NUMERIC = (
    f"X holds a value that is not a number{{}}; {LEARN}declare the columns with domain=Schema(...), or encode"
    " them by encoder = CellEncoder().fit(X) of dplearn.preprocessing, which learns nothing, and declare"
    " domain=encoder.domain()"
)
_ZEROS_AND_ONES = f"X holds a value that is not a number{{}}; {ZEROS_AND_ONES}"
NO_GAPS = (
    "Input X contains NaN or another missing value; fill it with a public constant or, where the estimator"
    " takes a domain that has missing values, declare one: domain=Floats(missing=True), or Schema(...) where"
    " columns hold text too, or domain=encoder.domain() after encoder = CellEncoder().fit(X) of"
    " dplearn.preprocessing, which encodes cells that are not numbers as NaN; IntegerRange and Grid take"
    " missing=True too"
)
NOT_A_CELL = f"X holds an object whose argument must be a string or a real number; of dates {DATES_AS_DAYS}"
COMPLEX = (complex, np.complexfloating)


def read_features(estimator: Any, X: Any, *, domain: Any, reset: bool) -> Any:
    """Return X as a numeric array, an array of unconverted cells, or a data frame.

    A numeric array keeps its type, which counts as public; other input is read cell by cell. With `reset`, in
    `fit`, `n_features_in_` and `feature_names_in_` are set; otherwise X must agree with them, or be a data
    frame with at least a schema's columns. The domain None means numbers without missing values.
    """
    X = X if isinstance(X, np.ndarray) else table_in_memory(X)
    if is_frame(X):
        if reset or not isinstance(domain, Schema):
            _check_names(X)
            validate_data(estimator, X, reset=reset, skip_check_array=True)
        _refuse_empty(X)
        if domain is None:
            _check_columns(X, estimator)
        X = _select(X, domain) if isinstance(domain, Schema) else X
        refuse_text(X, domain, estimator)
        return X
    rows = _validated(estimator, X, reset=reset, dates=domain is not None and not domain.numeric)
    refuse_text(X, domain, estimator)
    if not reset and isinstance(domain, Schema) and hasattr(estimator, "feature_names_in_"):
        fitted = estimator.feature_names_in_.tolist()
        rows = rows[:, [fitted.index(name) for name in domain.names]]
    if rows.dtype != object:
        if domain is None or _wants_finite(domain):
            _check_finite(rows)
    elif domain is None or domain.numeric:
        _check_numbers(rows, missing=domain is not None and domain.accepts_missing, estimator=estimator)
    return rows


def read_rows(estimator: Any, X: Any, *, reset: bool, sparse: bool) -> Any:
    """Return X as a table that can be cut into shards, with `reset` as for `read_features`; no value read."""
    X = X if isinstance(X, np.ndarray) else table_in_memory(X)
    if is_frame(X):
        _check_names(X)
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        _refuse_empty(X)
        return sliceable(X)
    rows = _validated(estimator, X, reset=reset, accept_sparse="csr" if sparse else False)
    if getattr(X, "format", "") == "bsr":
        rows.eliminate_zeros()  # the stored zeros of a block depend on other records in the block
    return rows


def _validated(
    estimator: Any, X: Any, *, reset: bool, accept_sparse: str | bool = False, dates: bool = False
) -> Any:
    """Return X, which is not a data frame, as numbers of its own type or as cells; validates the shape."""
    if issparse(X) and not accept_sparse:
        refuse_sparse(estimator, X)
    cells: Any = X if issparse(X) else cells_of(X, dates=dates)
    if cells.dtype.kind == "c":
        refuse_complex(cells.dtype)
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


def refuse_complex(*types: Any) -> None:
    """Refuse complex numbers before scikit-learn does, since its error message shows values."""
    scalars = [getattr(kind, "type", kind) for kind in types]
    if any(issubclass(kind, COMPLEX) for kind in scalars if isinstance(kind, type)):
        raise CellTypeError("Complex data not supported")


def _check_columns(X: Any, estimator: Any) -> None:
    """Refuse a data frame without a declared domain if a column has values other than numbers."""
    first = ""
    for position, name in enumerate(X.columns):
        if (times := unread_times(X, position)) is not None:
            raise CellTypeError(
                f"in column {name!r} of X, values are {times_as_numbers(times, of_table=True)}"
            )
        dtype = column_type(X, position)
        if not first and not _is_of_numbers(dtype):
            kind = str(dtype).partition("(")[0]  # the name of an Enum type without its values
            first = f"; the first column whose type is not one of numbers is {name!r} ({kind})"
    for position in range(X.shape[1]):
        column = frame_column(X, position)
        if column.dtype.kind == "f" and np.isnan(column).any():
            raise DomainError(NO_GAPS)
        if column.dtype.kind not in "iufb":
            _check_numbers(column, missing=False, estimator=estimator, first=first)


def _is_of_numbers(dtype: Any) -> bool:
    """Return True for a numeric column type of numpy, pandas or polars, and for times of polars."""
    numeric = getattr(dtype, "is_numeric", None)
    kind = getattr(dtype, "kind", "") or str(dtype)
    return kind in ("i", "u", "f", "b", "Boolean") or holds_times(dtype) or (callable(numeric) and numeric())


def _check_numbers(cells: NDArray[Any], *, missing: bool, estimator: Any, first: str = "") -> None:
    """Refuse cells that are not numbers, with messages like scikit-learn's; `first` names the first column
    whose public type allows such cells.
    """
    listed = cells.ravel().tolist()
    if any(issubclass(kind, (str, bytes)) for kind in set(map(type, listed))):
        learns = getattr(estimator, "can_learn_schema", False)
        raise DomainError((_NOT_NUMERIC if learns else _ZEROS_AND_ONES).format(first))
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
    if not np.isfinite([X.min(), X.max()]).all():
        raise DomainError("Input X contains infinity" if np.isinf(X).any() else NO_GAPS)


def _select(X: Any, schema: Schema) -> Any:
    """Return the schema's columns of a data frame, in the schema's order."""
    absent = [name for name in schema.names if name not in list(X.columns)]
    if absent:
        numbered = all(type(name) is not str for name in X.columns)
        rename = "; names of columns must be texts: X.columns = X.columns.astype(str)"
        advice = rename if numbered else near_column(absent[0], X.columns)
        raise ValueError(f"X must have the columns of its schema, but {absent[0]!r} is missing{advice}")
    if list(X.columns) == list(schema.names):
        return X
    selected = X[list(schema.names)]
    if selected.shape[1] > len(schema):
        raise ValueError("X must have each column of its schema once, but some name occurs twice")
    return selected


def schemas_of(estimator: Any) -> tuple[Schema, ...]:
    """Return the schemas among the parameters of an estimator and of those within it."""
    given = estimator.get_params().values() if hasattr(estimator, "get_params") else ()
    domains = (getattr(each, "domain", each) for each in given)  # some parameters have a domain
    return tuple(each for each in domains if isinstance(each, Schema))


def is_used(name: str, schemas: Sequence[Schema]) -> bool:
    """Return whether a column of a data frame is a feature: all are, unless schemas tell which."""
    return not schemas or any(name in each.names for each in schemas)


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
