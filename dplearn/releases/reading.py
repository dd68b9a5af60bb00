"""Reading of a column of private numbers as codes of a public domain; errors show no private value."""

from contextlib import suppress
from typing import Any

from dplearn._validation import check_number
from dplearn._writing import brief
from dplearn.core.float_errors import ignores_float_errors
from dplearn.domains import Domain, Floats, NumberDomain, Schema
from dplearn.domains.base import Codes, DomainError
from dplearn.domains.cells import (
    as_cells,
    cell_type,
    holds_times,
    is_frame,
    is_row,
    is_text,
    times_as_numbers,
)

__all__ = ["as_number_domain", "checked_bounds", "is_pair", "read_codes", "read_column"]

_ALL_FLOATS = Floats()
_LARGEST = 1e300
_NUMBERS = "give numbers, such as pd.to_numeric(d); stable_counts counts text"


def as_number_domain(domain: Any) -> NumberDomain:
    """Return the domain for a parameter `domain`: all finite floats for "float64", else the domain itself."""
    if isinstance(domain, str) and domain == "float64":
        return _ALL_FLOATS
    if not isinstance(domain, NumberDomain):
        raise TypeError(
            f"domain must be 'float64' or a domain of numbers, got {brief(domain)}{_advice(domain)}"
        )
    return domain


def _advice(domain: Any) -> str:
    """Return advice for a value that is not a domain of numbers, to be added to the error message."""
    if isinstance(domain, Schema):
        return f": take that of the column, schema.columns[{domain.names[0]!r}]"
    if is_pair(domain):
        low, high = (f"{end:.15g}" for end in domain)
        return (
            f"; for numbers from {low} to {high}, take Grid({low}, {high}, 1001) or, for integers,"
            f" IntegerRange({low}, {high}) from dplearn.domains"
        )
    if isinstance(domain, dict):
        return "; a dict of columns is for Schema(...), whose columns[name] is the domain of one"
    if isinstance(domain, str) and "int" in domain.lower():
        return "; for integers, IntegerRange(low, high) from dplearn.domains"
    if isinstance(domain, Domain):
        return "; stable_counts counts values that are no numbers"
    return ""


def checked_bounds(bounds: Any) -> tuple[float, float]:
    """Return the public bounds of numbers, which must be a pair."""
    if not isinstance(bounds, (list, tuple)) or len(bounds) != 2:
        raise ValueError(f"bounds must be a pair (low, high), got {brief(bounds)}")
    low = check_number("low end of bounds", bounds[0], low=-_LARGEST, high=_LARGEST)
    high = check_number("high end of bounds", bounds[1], above=low, high=_LARGEST)
    return float(low), float(high)


def is_pair(domain: Any) -> bool:
    """Return whether a value is a pair of numbers, which a caller may have meant as bounds."""
    return (
        isinstance(domain, (list, tuple))
        and len(domain) == 2
        and all(isinstance(x, (int, float)) for x in domain)
    )


def read_column(values: Any) -> Any:
    """Return a list, array or series of shape (n,) as an array, without reading its values.

    A list becomes an array of objects: a common type would depend on all records.
    """
    if is_frame(values):
        name = next(iter(values.columns)) if values.shape[1] else "..."
        raise ValueError(
            f"values must have shape (n,), got a data frame of shape {values.shape}: give one column,"
            f" such as df[{name!r}]"
        )
    _refuse_types(getattr(values, "dtype", None))
    cells = as_cells(values)
    if cells.dtype == object and cells.size and is_row(cells.flat[0]):
        raise ValueError(
            "values must have shape (n,), got rows: give one number of each record (the parts of a column are"
            " passed by a function: lambda: [first, second])"
        )
    if cells.ndim != 1 or not cells.size:
        advice = ": give one column, such as values[:, 0]" if cells.ndim == 2 else ""
        raise ValueError(f"values must have shape (n,), n at least 1, got shape {cells.shape}{advice}")
    return cells


def _refuse_types(dtype: Any) -> None:
    """Raise TypeError if the type of a column, which is public, is not numeric: dates, durations, text."""
    if holds_times(dtype):
        raise TypeError(f"values are {times_as_numbers(dtype)}")
    if is_text(cell_type(dtype)):
        raise TypeError(f"values are text: {_NUMBERS}")


@ignores_float_errors
def read_codes(values: Any, domain: NumberDomain, *, takes_missing: bool = True) -> Codes:
    """Return the code of each value.

    Parameters
    ----------
    values : array-like of shape (n,)
        Private. Numbers of the domain.
    domain : NumberDomain
        Public.
    takes_missing : bool, default=True
        Whether the caller accepts domains with missing values; only then may an error advise one.

    Returns
    -------
    ndarray of shape (n,)
        Private. Codes from 0 to domain.size - 1.

    Raises
    ------
    DomainError
        If a value is outside the domain; the message shows no value.
    TypeError
        If the type of the column is not numeric: dates, durations, text.
    ValueError
        If `values` has another shape, or is empty.
    """
    column = read_column(values)
    if takes_missing:
        return domain.encode(column)
    with suppress(DomainError):
        return domain.encode(column)
    raise domain.refuse(takes_missing=False)
