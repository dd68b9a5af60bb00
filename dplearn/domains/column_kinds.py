"""The public kinds of columns whose domains are learned, declared or from a type; no cell is read."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from dplearn._validation import check_number
from dplearn._writing import brief, near_column
from dplearn.domains.base import Domain
from dplearn.domains.cells import (
    cell_type,
    column_type,
    holds_dates,
    holds_times,
    in_units,
    is_frame,
    is_text,
)
from dplearn.domains.product import Product
from dplearn.domains.schema import Schema

#: The kinds of columns.
KINDS = ("numbers", "integers", "dates", "datetimes", "booleans", "categories")
_OF_NUMBERS = ("numbers", "integers")
#: The steps in which columns of dates and times are learned, by their kind.
STEPS = {"dates": "D", "datetimes": "s"}
#: The kinds of types by their names in numpy, pandas, polars and Arrow; all other types are of categories.
_TYPES = {
    r"bool": "booleans",
    r"u?int\d*(\[pyarrow\])?$": "integers",
    r"float|halffloat|double|decimal": "numbers",
}
#: Types that cannot be read as categories, and what to give instead.
_UNREAD = {
    r"interval": "text, d.astype(str), if its ends are public (those of pd.qcut come from the data)",
    r"period": "integers, such as d.dt.year and d.dt.month",
    r"complex": "its parts, .real and .imag, as two columns",
    r"time": "hours, such as d.dt.hour",
    r"((large_|fixed_size_)?list|array|struct|map|month_day|object<)": "each of its parts as a column",
    r"(void|\[\()": "each of its fields as a column",
}
_SHARE = Fraction(1, 10)
_OF_LIST = (
    "X is a list: its columns have no types, and all {} are read as categories; pass a data frame, or an"
    " array of numbers, or declare kinds: domain=Learn('numbers'), or columns='numbers' of learned_schema"
)
_UNTYPED = (
    "X is an array of objects: its {} columns have no types, which would tell their kinds. Pass a"
    " data frame (the output of a transformer is one after set_output(transform='pandas')), or an array of"
    " numbers such as X.astype(float), or declare kinds: domain=Learn('numbers'), or domain=Learn(['numbers',"
    " 'categories', ...]) with a kind for each column; for learned_schema, these are columns="
)


@dataclass(frozen=True)
class Learn:
    """A value of the parameter `domain`: the fit learns the domains privately, from a share of its budget.

    `domain="learn"` is `Learn()`.

    Parameters
    ----------
    columns : str, mapping of str to str, or sequence of str, optional
        Public. The kind of all columns, of each column, or of some columns of a data frame by name:
        "numbers", "integers", "dates" (to the day), "datetimes" (to the second), "booleans" or "categories".
        Other kinds follow from the types of columns; columns of objects in a data frame, such as texts, are
        categories. Texts may be declared as dates, in ISO 8601. The kinds of an array of objects must be
        declared; the columns of a list are categories unless declared, with a warning.
    share : number, default=1/10
        The share of a fit's budget for the domains, in (0, 1).

    Examples
    --------
    >>> from dplearn import StatisticalQueryNaiveBayes
    >>> from dplearn.domains import Learn
    >>> kinds = {"age": "integers", "town": "categories"}
    >>> learner = StatisticalQueryNaiveBayes(domain=Learn(kinds, share=0.2))
    """

    columns: Any = None
    share: Any = _SHARE

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", declared_kinds(self.columns))
        object.__setattr__(self, "share", check_number("share", self.share, above=0, below=1))

    def __repr__(self) -> str:
        declared: ColumnKinds | None = self.columns
        given = [] if declared is None else [repr(declared.kinds[0] if declared.alike else declared.listed)]
        share = [f"share={str(self.share)!r}"] if self.share != _SHARE else []
        return f"Learn({', '.join(given + share)})"


def as_learn(domain: Any) -> Learn | None:
    """Return the parameter `domain` of an estimator as `Learn`, or None if it declares the domains."""
    if isinstance(domain, str) and domain == "learn":
        return Learn()
    return domain if isinstance(domain, Learn) else None


@dataclass(frozen=True)
class ColumnKinds:
    """The public kinds of a table's columns."""

    kinds: tuple[str, ...]  # of each column, one of `KINDS`
    names: tuple[str, ...] | None = None  # of the columns, if they have names
    alike: bool = False  # whether the only kind is declared for all columns, of any number
    # a warning about columns that are categories since they have no type
    note: str = field(default="", compare=False)

    def __len__(self) -> int:
        return len(self.kinds)

    @property
    def listed(self) -> list[str] | dict[str, str]:
        """The kinds as a list, or by name."""
        kinds = list(self.kinds)
        return kinds if self.names is None else dict(zip(self.names, kinds, strict=True))

    @property
    def of_numbers(self) -> list[int]:
        """The places of the columns with ranges: of numbers, integers, dates and times."""
        return [place for place, kind in enumerate(self.kinds) if kind in (*_OF_NUMBERS, *STEPS)]

    @property
    def of_categories(self) -> list[int]:
        """The places of the columns of categories."""
        return [place for place, kind in enumerate(self.kinds) if kind == "categories"]

    def schema(self, domains: Iterable[Domain]) -> Product:
        """Return the domain of a record: a schema if the columns have names."""
        if self.names is None:
            return Product(domains)
        return Schema(dict(zip(self.names, domains, strict=True)))


def kinds_of(X: Any, columns: Any = None, given: Any = None) -> ColumnKinds:
    """Return the kinds of the columns of a table, from declarations and types; no cell is read."""
    # X was made from what was given, by default X: of an array it has the types, and a list has none.
    given = X if given is None else given
    d, frame, declared = X.shape[1], is_frame(X), declared_kinds(columns)
    types = [column_type(X, place) for place in range(d)] if frame else [getattr(given, "dtype", X.dtype)] * d
    untyped = declared is None and not frame and getattr(types[0], "kind", "") == "O"
    if untyped and hasattr(given, "dtype"):
        raise TypeError(_UNTYPED.format(d))
    given = tuple(map(str, X.columns)) if frame else tuple(f"x{place}" for place in range(d))
    kinds = [_of_type(dtype, name) for dtype, name in zip(types, given, strict=True)]
    named = frame and len({name for name in X.columns if isinstance(name, str)}) == d
    if declared is not None and declared.alike:
        kinds = list(declared.kinds) * d
    elif declared is not None and declared.names is not None and frame:
        kinds = _overwritten(kinds, given, declared)
    elif declared is not None:
        if len(declared) != d:
            raise ValueError(f"columns must list {d} kinds, one for each column, got {len(declared)}")
        kinds = list(declared.kinds)
        given, named = declared.names or given, named or declared.names is not None
    for place, kind in enumerate(kinds):
        if kind in _OF_NUMBERS and is_text(types[place]):
            of_texts = str(types[place]).partition("(")[0]  # an Enum's without its values
            raise TypeError(
                f"column {given[place]!r} is declared as {kind} and has a type of text, {of_texts}"
            )
        if kind not in STEPS and holds_dates(types[place]):
            raise TypeError(
                f"column {given[place]!r} is declared as {kind} and has a type of dates, {types[place]}: give"
                " 'dates' or 'datetimes' as its kind"
            )
    note = _OF_LIST.format(d) if untyped else ""
    return ColumnKinds(tuple(kinds), given if named else None, note=note)


def declared_kinds(columns: Any) -> ColumnKinds | None:
    """Return declared kinds, or None if none are declared."""
    if columns is None or isinstance(columns, ColumnKinds):
        return columns
    if isinstance(columns, Mapping):
        return ColumnKinds(tuple(map(_checked, columns.values())), tuple(map(str, columns)))
    if isinstance(columns, str):
        return ColumnKinds((_checked(columns),), alike=True)
    return ColumnKinds(tuple(map(_checked, columns)))


def _checked(kind: Any) -> str:
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"columns must be of kinds {_listed()}, got {brief(kind)}")
    return kind


def _listed() -> str:
    return ", ".join(map(repr, KINDS))


def _of_type(dtype: Any, column: str) -> str:
    if holds_dates(dtype):
        return "dates" if str(dtype).lower().startswith("date32") or str(dtype) == "Date" else "datetimes"
    cells = cell_type(dtype)
    if holds_dates(cells):
        raise TypeError(
            f"column {column!r} has categories of dates, {cells}: give dates, d.astype('{cells}')"
        )
    if holds_times(cells):
        raise TypeError(f"column {column!r} is {in_units(cells)}")
    if advice := [advice for pattern, advice in _UNREAD.items() if re.match(pattern, str(cells).lower())]:
        raise TypeError(
            f"column {column!r} has the type {cells}, which cannot be read as categories: give {advice[0]}"
        )
    name = (dtype.name if isinstance(dtype, np.dtype) else str(dtype)).lower()
    return next((kind for pattern, kind in _TYPES.items() if re.match(pattern, name)), "categories")


def _overwritten(kinds: Sequence[str], names: Sequence[str], declared: ColumnKinds) -> list[str]:
    kind_of = dict(zip(declared.names or (), declared.kinds, strict=True))
    if absent := [name for name in kind_of if name not in names]:
        raise ValueError(f"columns must name columns of X, got {absent[0]!r}{near_column(absent[0], names)}")
    return [kind_of.get(name, kind) for name, kind in zip(names, kinds, strict=True)]
