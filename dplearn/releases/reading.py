"""Read a column of private numbers as codes of a public domain; no error tells what it holds."""

from typing import Any

import numpy as np

from dplearn.domains import Floats, NumberDomain
from dplearn.domains.base import Codes

__all__ = ["as_number_domain", "read_codes", "read_column"]


def as_number_domain(domain: Any) -> NumberDomain:
    """Return the domain that a parameter `domain` names: "float64", all finite floats, or itself."""
    if isinstance(domain, str) and domain == "float64":
        return Floats()
    if not isinstance(domain, NumberDomain):
        raise TypeError(f"domain must be 'float64' or a domain of numbers, got {domain!r}")
    return domain


def read_column(values: Any) -> Any:
    """Return a list, array or series of shape (n,) as an array; no value in it is looked at.

    A list is read cell by cell: a common type would depend on all records.
    """
    cells = np.asarray(values, dtype=object) if isinstance(values, (list, tuple)) else np.asarray(values)
    if cells.ndim != 1 or not cells.size:
        raise ValueError(f"values must have shape (n,), n at least 1, got shape {cells.shape}")
    return cells


def read_codes(values: Any, domain: NumberDomain) -> Codes:
    """Return the code of each value.

    Parameters
    ----------
    values : array-like of shape (n,)
        Private. Numbers of the domain.
    domain : NumberDomain
        Public.

    Raises
    ------
    DomainError
        If a value is outside the domain; the message shows no value.
    ValueError
        If `values` has another shape, or is empty.
    """
    return domain.encode(read_column(values))
