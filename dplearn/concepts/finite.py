"""Finite concept classes, as a list of functions or a table of predictions, and their Littlestone dimension.

A version space is a set of concepts, here the bits of a Python integer. Its Littlestone dimension is 0 if it
holds one concept; otherwise it is the maximum over the points that split it of 1 + the lesser dimension of
the two parts.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import check_count
from dplearn.concepts.base import CountedClass, Labels, ListedMembers
from dplearn.domains import DomainError, Floats, IntegerRange, Product
from dplearn.domains.cells import as_numbers, frame_column, is_frame

BLOCK = 1 << 22  # table entries compared at a time
_SEARCHED = 1 << 8  # concepts, values and version spaces in which a mistake tree is searched


class FiniteClass(CountedClass):
    """An explicit list of concepts.

    Parameters
    ----------
    concepts : sequence of callable, or array-like of int of shape (size, domain size)
        Functions from a float64 array X of shape (n, d) to an array of n label codes, which must label each
        row independently of the others. Or a table, in which row h has the label codes of concept h for the
        values 0, 1, ... of a single column.
    n_labels : int, default=2
        Label codes are 0..n_labels-1, positions in the sorted list of labels.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.concepts import FiniteClass
    >>> table = FiniteClass([[0, 0, 1], [0, 1, 1], [0, 0, 1]])  # three concepts over the domain {0, 1, 2}
    >>> columns = table.domain.encode(np.array([[1], [2]]))
    >>> table.error_counts(columns, np.array([1, 1])).tolist()
    [1, 0, 1]
    >>> table.distinct().size, table.dichotomies([np.array([1, 2])]).size
    (2, 2)
    """

    def __init__(self, concepts: Any, n_labels: int = 2):
        self.n_labels = check_count("n_labels", n_labels, low=1)
        if not len(concepts):
            raise ValueError("concepts must hold at least one concept, got none")
        self._functions: tuple[Callable[..., Any], ...] | None = None
        if callable(concepts[0]):
            self._functions = tuple(concepts)
            self.domain: Any = _Judged(self._functions, self.n_labels)
            return
        table = np.asarray(concepts)
        if table.ndim != 2 or table.dtype.kind not in "iub" or not table.size:
            raise ValueError(f"concepts must be functions or a table of label codes, got shape {table.shape}")
        if table.min() < 0 or table.max() >= self.n_labels:
            raise ValueError(f"concepts must predict label codes from 0 to {self.n_labels - 1}")
        self._table = table.astype(np.min_scalar_type(self.n_labels))
        self.domain = Product([IntegerRange(0, table.shape[1] - 1)])

    def __repr__(self) -> str:
        what = "functions" if self._functions else f"concepts over {self._table.shape[1]} values"
        return f"FiniteClass({self.size} {what}, n_labels={self.n_labels})"

    @property
    def size(self) -> int:
        return len(self._functions) if self._functions else len(self._table)

    @property
    def assumes(self) -> tuple[str, ...]:
        """For functions, the assumption that they label each row independently, which code cannot check."""
        if self._functions:
            return ("each concept labels a row by that row alone, and labels every row",)
        return ()

    @property
    def littlestone_lower_bound(self) -> int:
        """A lower bound on the Littlestone dimension; of a table of two labels, that of its first part."""
        if self._functions or self.n_labels != 2:
            return 0
        part = np.unique(self._table[:_SEARCHED, :_SEARCHED], axis=0)
        return VersionSpaces(part, most=_SEARCHED).bounds()[0]

    def distinct(self, X: Any = None) -> "FiniteClass":
        """Return the class of distinct concepts: one for each labelling of a public, finite domain.

        Parameters
        ----------
        X : ndarray or data frame of shape (n, d), optional
            Public. For functions, all records that are possible; of concepts that label them alike, the first
            one is kept. None for a table, whose columns are all values.

        Notes
        -----
        By Sauer's lemma, a class of VC dimension v has at most `sauer_bound(v, n)` labellings of n records
        (Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith 2011, Corollary 3.6).
        """
        if self._functions is None:
            return FiniteClass(np.unique(self._table, axis=0), self.n_labels)
        if X is None:
            raise ValueError(
                "X must be all records that are possible if the concepts are functions, got None"
            )
        kept = _first_of_each(np.array(self.domain.encode(X)))
        return FiniteClass([self._functions[position] for position in kept], self.n_labels)

    def dichotomies(self, columns: Sequence[NDArray[Any]]) -> ListedMembers:
        """Return the first concept of each behaviour on public records; parameters as in `ConceptClass`."""
        if self._functions:
            return ListedMembers(self, _first_of_each(np.array(columns)))
        return ListedMembers(self, _first_of_each(self._table[:, np.unique(columns[0])]))

    def error_counts(self, columns: Sequence[NDArray[Any]], y: Labels) -> NDArray[np.int64]:
        """Return the number of errors of each concept, as int64."""
        if self._functions:
            return np.array([np.count_nonzero(column != y) for column in columns], dtype=np.int64)
        places = self._table.shape[1]
        histogram = np.bincount(y * places + columns[0], minlength=self.n_labels * places)
        # Counts below 2**53 are exact as float64, for which the matrix product is fast.
        by_label = histogram.reshape(self.n_labels, places).astype(np.float64)
        right = np.empty(self.size)
        rows = max(1, BLOCK // places)
        for start in range(0, self.size, rows):
            block = self._table[start : start + rows]
            right[start : start + rows] = sum(
                (block == label) @ by_label[label] for label in range(self.n_labels)
            )
        return y.size - right.astype(np.int64)

    def member_at(self, position: int) -> "Listed":
        if self._functions:
            function = self._functions[position]
            return Listed(position, getattr(function, "__name__", f"concept {position}"), None)
        return Listed(position, f"concept {position}", tuple(self._table[position].tolist()))


def _first_of_each(table: NDArray[Any]) -> NDArray[np.intp]:
    """Return the position of the first row of each kind, increasing."""
    _, first = np.unique(table, axis=0, return_index=True)
    return np.sort(first)


@dataclass(frozen=True)
class Listed:
    """A concept of a `FiniteClass`."""

    position: int  # in the list
    name: str
    predictions: tuple[int, ...] | None  # label codes for the values of the domain; None for a function

    def predict(self, columns: Sequence[NDArray[Any]]) -> Labels:
        if self.predictions is None:
            return columns[self.position].astype(np.intp, copy=False)
        return np.array(self.predictions, dtype=np.intp)[columns[0]]

    def describe(self, features: Sequence[str], labels: Sequence[Any]) -> str:  # noqa: ARG002 - the protocol's
        return self.name


@dataclass(frozen=True)
class _Judged:
    """A substitute for a domain, which encodes a table as the functions' predictions before the charge."""

    functions: tuple[Callable[..., Any], ...]
    n_labels: int
    accepts_missing = False
    numeric = True
    assumes: tuple[str, ...] = ("in every column, values are finite numbers",)

    @property
    def names(self) -> tuple[str, ...]:
        return ()

    def encode(self, X: Any) -> list[NDArray[np.int64]]:
        # Always as float64: numpy's choice of a dtype would depend on all records.
        width = X.shape[1]
        table = np.column_stack(
            [
                as_numbers(frame_column(X, i) if is_frame(X) else X[:, i], Floats()).astype(np.float64)
                for i in range(width)
            ]
        )
        table.flags.writeable = False  # so that no function can modify the input of the next one
        return [_judge(function, table, self.n_labels) for function in self.functions]

    nearest = encode


def _judge(function: Callable[..., Any], X: Any, n_labels: int) -> NDArray[np.int64]:
    """Return the function's label codes; an error names the function and shows no data."""
    codes = None
    with suppress(Exception):  # its message may quote the data
        codes = np.asarray(function(X))
    right = codes is not None and codes.dtype.kind in "iub" and codes.shape == (len(X),)
    if codes is None or not right or (codes < 0).any() or (codes >= n_labels).any():
        name = getattr(function, "__name__", "a concept")
        raise DomainError(f"{name} must give each row a label code from 0 to {n_labels - 1}")
    return codes.astype(np.int64)


MOST_SPACES = 10**6  #: The number of version spaces after which the recursion stops with bounds.


class _FullError(Exception):
    """The memo holds as many version spaces as it may."""


class VersionSpaces:
    """The version spaces of a table of distinct rows of 0 and 1, at most `most` of them in a memo."""

    def __init__(self, table: Any, most: int = MOST_SPACES):
        bits: NDArray[np.bool_] = np.asarray(table, dtype=bool)
        self.size = len(bits)
        self.columns = [_as_integer(column) for column in bits.T]
        self.distinct = set(self.columns)
        self._most = most
        self._known: dict[int, tuple[int, int]] = {}  # bounds on the dimension of a version space

    @property
    def all(self) -> int:
        """The version space of all concepts."""
        return (1 << self.size) - 1

    def bounds(self, space: int | None = None) -> tuple[int, int]:
        """Return bounds on the dimension of a nonempty version `space`; they are equal unless the memo is
        full.
        """
        space = self.all if space is None else space
        least, most = 0, space.bit_count().bit_length() - 1
        try:
            while least < most and self._reaches(space, least + 1):
                least += 1
        except _FullError:
            return least, most
        return least, least

    def reaches(self, space: int, depth: int) -> bool:
        """Return whether the dimension of a nonempty version space is at least `depth`; False if unknown."""
        try:
            return self._reaches(space, depth)
        except _FullError:
            return False

    def _reaches(self, space: int, depth: int) -> bool:
        """Return whether the dimension of a nonempty version space is at least `depth`."""
        size = space.bit_count()
        if depth <= 0 or size >> depth == 0:
            return depth <= 0
        if depth == 1:
            return True  # two concepts differ at some point
        least, most = self._known.get(space, (1, size.bit_length() - 1))
        if least < depth <= most:
            if len(self._known) >= self._most and space not in self._known:
                raise _FullError
            halves = self._halves(space, depth - 1)
            if any(self._reaches(p, depth - 1) and self._reaches(q, depth - 1) for p, q in halves):
                least = depth
            else:
                most = depth - 1
            self._known[space] = least, most
        return depth <= least

    def _halves(self, space: int, depth: int) -> list[tuple[int, int]]:
        """Return the ways to split a version space into parts of 2**depth concepts, the most even first."""
        parts = {space & column for column in self.distinct}
        split = {min((p.bit_count(), p), ((q := space ^ p).bit_count(), q)) for p in parts}
        return [(p, space ^ p) for count, p in sorted(split, reverse=True) if count >> depth]


def _as_integer(column: NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(column, bitorder="little").tobytes(), "little")
