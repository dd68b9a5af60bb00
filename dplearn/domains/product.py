"""The domain of a whole record, with one domain for each column."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

import numpy as np

from dplearn._writing import brief, first_of, fitting
from dplearn.domains.base import CellTypeError, Codes, Domain, DomainError
from dplearn.domains.cells import (
    cell_type,
    holds_dates,
    is_frame,
    is_text,
    mapped,
    read_column,
    times_as_numbers,
    unread_times,
)

_Encoder = tuple[Callable[[Any], Codes], list[int]]  # of adjacent columns
_RefusedBy = Callable[[Domain], DomainError]

#: Advice on text for learners of all kinds of columns, where nothing is declared, and for those of numbers.
LEARN = "take domain='learn', with which a fit of a data frame releases first what its columns hold, "
ZEROS_AND_ONES = "give a column of 0 and 1 for a text, such as d == 'yes', or leave the column out"
_CELLS = 1 << 15  # of a block of rows, so that its intermediate results fit into the cache


def is_pair(domain: Any) -> bool:
    """Return whether a value is a pair of numbers, which a caller may have meant as bounds."""
    return (
        isinstance(domain, (list, tuple))
        and len(domain) == 2
        and all(isinstance(x, (int, float)) for x in domain)
    )


def of_pair(domain: Any) -> str:
    """Return advice on a pair of numbers, to be added to an error message; else an empty text."""
    if not is_pair(domain):
        return ""
    low, high = (f"{end:.15g}" for end in domain)
    return (
        f"; for numbers from {low} to {high}, take Grid({low}, {high}, 1001) or, for integers,"
        f" IntegerRange({low}, {high}) from dplearn.domains"
    )


class Product:
    """The domains of a table's columns, in the order of the columns.

    Parameters
    ----------
    domains : iterable of Domain
        At least one.
    names : sequence of str, optional
        Names of the columns, for messages; by default "x0", "x1", ....

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.domains import Bits, IntegerRange, Product
    >>> product = Product([IntegerRange(18, 90), Bits()], names=["age", "smoker"])
    >>> [codes.tolist() for codes in product.encode(np.array([[31, 1], [57, 0]]))]  # one array a column
    [[13, 39], [1, 0]]
    """

    def __init__(self, domains: Iterable[Domain], names: Sequence[str] | None = None):
        self.domains = tuple(domains)
        if not self.domains or not all(isinstance(domain, Domain) for domain in self.domains):
            got = f"{brief(self.domains)}{of_pair(self.domains)}"
            raise TypeError(f"domains must be a nonempty list of domains, got {got}")
        self.names = tuple(names) if names is not None else tuple(f"x{i}" for i in range(len(self.domains)))
        if len(self.names) != len(self.domains) or len(set(self.names)) < len(self.names):
            raise ValueError(
                f"names must be {len(self.domains)} distinct names, one for each domain, got"
                f" {brief(self.names)}"
            )

    def __len__(self) -> int:
        return len(self.domains)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Product) or type(other) is not type(self):
            return NotImplemented
        return (self.domains, self.names) == (other.domains, other.names)

    def __hash__(self) -> int:
        return hash((self.domains, self.names))

    def __repr__(self) -> str:
        return fitting(self._in_full(), f"{type(self).__name__}({self._size})")

    def __str__(self) -> str:
        columns = zip(self.names, self.domains, strict=True)
        lines = (f"  {name!r}: {domain!r}" for name, domain in columns)
        return "\n".join([f"{type(self).__name__} of {self._size}", *lines])

    def _in_full(self) -> str:
        return f"{type(self).__name__}({dict(zip(self.names, self.domains, strict=True))!r})"

    @property
    def _size(self) -> str:
        return "1 column" if len(self) == 1 else f"{len(self):,} columns"

    @property
    def accepts_missing(self) -> bool:
        """True if some column may have missing values."""
        return any(domain.accepts_missing for domain in self.domains)

    @property
    def numeric(self) -> bool:
        """True if each column is numeric, so that a float array can hold the table."""
        return all(domain.numeric for domain in self.domains)

    @property
    def assumes(self) -> tuple[str, ...]:
        """The preconditions of a guarantee: one entry for each, with its columns if there are several."""
        by_assumption: dict[str, list[str]] = {}
        for name, domain in zip(self.names, self.domains, strict=True):
            by_assumption.setdefault(domain.assumption, []).append(name)
        if len(by_assumption) == 1:
            return (f"in every column, {next(iter(by_assumption))}",)
        return tuple(
            f"in column{'s' * (len(names) > 1)} {first_of(names, 4)}, {words}"
            for words, names in by_assumption.items()
        )

    def encode(self, X: Any, *, takes_missing: bool = True) -> list[Codes]:
        """Return the codes of each column.

        Parameters
        ----------
        X : ndarray or data frame of shape (n, len(self))
        takes_missing : bool, default=True
            True if the caller accepts domains with missing values; errors then recommend them.

        Returns
        -------
        list of ndarray of shape (n,)
            Contiguous, each of the narrowest unsigned dtype for its domain.

        Raises
        ------
        DomainError
            If a value is outside its column's domain; the message names the column and the domain.
        """
        return self._encode(X, "encode", None if takes_missing else _without_gaps)

    def nearest(self, X: Any) -> list[Codes]:
        """Return the codes of each column, with values outside a domain moved to the nearest one inside.

        Parameters
        ----------
        X : ndarray or data frame of shape (n, len(self))
            New records.

        Returns
        -------
        list of ndarray of shape (n,)

        Raises
        ------
        DomainError
            If a value has no nearest value and is refused; the message names the column and the domain.
        """
        return self._encode(X, "nearest", Domain.refuse_new)

    def _encode(self, X: Any, how: str, refused_by: _RefusedBy | None) -> list[Codes]:
        encoders = [
            (getattr(domain, how), list(g))
            for domain, g in groupby(range(len(self)), self.domains.__getitem__)
        ]
        with suppress(DomainError):
            return _encoded(X, encoders)
        place, refused = _first_refused(X, encoders)
        domain = self.domains[place]
        times = unread_times(X, place) if domain.numeric else None
        outside = refused if refused_by is None else refused_by(domain)
        given = outside if times is None else f"values are {times_as_numbers(times, of_table=True)}"
        raise type(refused)(f"in column {self.names[place]!r}, {given}")


def refuse_text(X: Any, domain: Any, estimator: Any = None) -> None:
    """Refuse, by types alone, text or dates for a domain of numbers that would read them as missing."""
    if not is_frame(X) and getattr(X, "dtype", np.dtype(int)).kind in "iufb":
        return
    d = X.shape[1]
    names = list(X.columns) if is_frame(X) else range(d)
    types = list(X.dtypes) if is_frame(X) else [X.dtype] * d
    kinds = {dtype: _other_kind(dtype) for dtype in set(types)}
    if not any(kinds.values()):
        return
    domains = getattr(domain, "domains", domain if isinstance(domain, (list, tuple)) else [domain] * d)
    for name, dtype, part in zip(names, types, domains, strict=False):
        of_numbers = kinds[dtype] == "text" and getattr(part, "ordered", False) and part.numeric
        if kinds[dtype] and (of_numbers or getattr(part, "misreads_text", False)):
            kind = str(dtype).partition("(")[0]  # the name of an Enum type without its values
            instead = "declare what it holds, in domain=Schema(...)"
            if getattr(estimator, "can_learn_schema", False) and estimator.domain is None:
                instead = f"{LEARN}or {instead}"
            elif of_numbers and not getattr(estimator, "can_learn_schema", True):  # it knows numbers only
                instead = ZEROS_AND_ONES
            raise CellTypeError(
                f"in column {name!r} of X, values have a type of {kinds[dtype]}, {kind}, and those of its"
                " domain are numbers: give numbers, such as X.astype(float), or the type that the column"
                f" had in fit; or {instead}"
            )


def _other_kind(dtype: Any) -> str:
    """Return what other values than numbers a type is of, or nothing."""
    return "dates" if holds_dates(dtype) else "text" if is_text(cell_type(dtype)) else ""


def _encoded(X: Any, encoders: Sequence[_Encoder]) -> list[Codes]:
    """Encode columns; of numbers together where domains are equal, in blocks that fit into the cache."""
    if is_frame(X) or X.dtype == object:
        return [
            np.ascontiguousarray(mapped(encode, read_column(X, place)))
            for encode, places in encoders
            for place in places
        ]
    codes: list[Any] = []
    step = -(-_CELLS * len(encoders) // X.shape[1])
    for start in range(0, max(len(X), 1), step):
        rows = X[start : start + step].T
        rows = rows if len(encoders) == 1 else np.ascontiguousarray(rows)  # read several times
        blocks = [encode(rows[places[0] : places[-1] + 1]) for encode, places in encoders]
        codes = codes or [np.empty((len(block), len(X)), dtype=block.dtype) for block in blocks]
        for whole, block in zip(codes, blocks, strict=True):
            whole[:, start : start + step] = block
    return [column for whole in codes for column in whole]


def _without_gaps(domain: Domain) -> DomainError:
    return domain.refuse(takes_missing=False)


def _first_refused(X: Any, encoders: Sequence[_Encoder]) -> tuple[int, DomainError]:
    for encode, places in encoders:
        for place in places:
            try:
                _encoded(X, [(encode, [place])])
            except DomainError as error:
                return place, error
    raise AssertionError("some column has a refused value")
