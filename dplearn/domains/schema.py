"""Schemas: the public description of a table, with the domains of its columns and, if known, its labels."""

import json
import re
from collections.abc import Hashable, Mapping, Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import Any

import numpy as np

from dplearn._writing import brief, fitting
from dplearn.domains.base import Domain
from dplearn.domains.categories import Bits, Categories, Hashed
from dplearn.domains.cells import column_type, is_frame, times_as_numbers
from dplearn.domains.dates import Dates
from dplearn.domains.numbers import Floats, Grid, IntegerRange
from dplearn.domains.product import Product

_KINDS: dict[str, type[Domain]] = {
    "integers": IntegerRange,
    "grid": Grid,
    "dates": Dates,
    "floats": Floats,
    "categories": Categories,
    "hashed": Hashed,
    "bits": Bits,
}


#: Names of dtypes of numpy, pandas, Arrow and polars for dates, times and durations.
_TIMES = re.compile(r"(m8|<m8|datetime|timedelta|date|time|duration|period)")
_NARROW = 8  # bits; the bounds of wider integer types are too far apart to serve as bounds of a domain


class Schema(Product):
    """The public description of a table, accepted as `domain=` by all estimators and releases.

    Columns of a data frame that the schema does not name are ignored, in `fit` and in new records.
    Transformers based on quantiles require a schema of numbers without missing values. A release about one
    column takes that column's domain, `columns[name]`.

    Parameters
    ----------
    columns : mapping of str to Domain or dict
        The domain of each column, or its JSON form, a dict such as `{"type": "integers", "low": 0, "high":
        120}`. The types are integers, grid, floats, dates, categories, hashed and bits; the other keys are
        the parameters of `IntegerRange`, `Grid`, `Floats`, `Dates`, `Categories`, `Hashed` and `Bits`.
    labels : sequence, optional
        All possible labels.

    Examples
    --------
    >>> age = {"type": "integers", "low": 0, "high": 120}
    >>> schema = Schema({"age": age, "town": Hashed(32)}, labels=["no", "yes"])
    >>> Schema.from_dict(schema.to_dict()) == schema
    True
    >>> schema
    Schema(2 columns, labels=2)
    """

    def __init__(self, columns: Mapping[str, Any], labels: Sequence[Hashable] | None = None):
        if not isinstance(columns, Mapping) or not columns:
            raise TypeError(f"columns must map column names to domains, got {brief(columns)}")
        super().__init__(
            [_as_domain(name, column) for name, column in columns.items()], names=[str(c) for c in columns]
        )
        self.labels = None if labels is None else tuple(labels)
        if self.labels is not None and (not self.labels or len(set(self.labels)) < len(self.labels)):
            raise ValueError(f"labels must be distinct and at least one, got {brief(self.labels)}")

    def __repr__(self) -> str:
        labels = "" if self.labels is None else f", labels={len(self.labels)}"
        return fitting(self._in_full(), f"{type(self).__name__}({self._size}{labels})")

    def __str__(self) -> str:
        labels = "" if self.labels is None else f"\n  labels: {brief(list(self.labels))}"
        return super().__str__() + labels

    def _in_full(self) -> str:
        labels = "" if self.labels is None else f", labels={list(self.labels)}"
        return f"{super()._in_full()[:-1]}{labels})"

    @property
    def columns(self) -> dict[str, Domain]:
        """The domain of each column."""
        return dict(zip(self.names, self.domains, strict=True))

    @classmethod
    def from_dict(cls, description: Mapping[str, Any]) -> "Schema":
        """Return the schema of a description `{"columns": {...}, "labels": [...]}`; "labels" is optional."""
        unknown = set(description) - {"columns", "labels"}
        if unknown or "columns" not in description:
            raise ValueError(
                f"a schema has the keys 'columns' and 'labels', got {brief(sorted(description))}"
            )
        return cls(description["columns"], description.get("labels"))

    @classmethod
    def from_json(cls, path: str | Path) -> "Schema":
        """Return the schema in a JSON file with a description as for `from_dict`."""
        text = Path(path).read_text(encoding="utf-8")
        try:
            description = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"a schema file must be JSON: {error}") from None
        if not isinstance(description, dict):
            raise ValueError("a schema file must hold a JSON object")
        return cls.from_dict(description)

    @classmethod
    def from_dtypes(cls, dtypes: Any, labels: Sequence[Hashable] | None = None) -> "Schema":
        """Return a schema derived from the columns' dtypes.

        Parameters
        ----------
        dtypes : mapping of str to dtype, or data frame of pandas or polars
            The columns' dtypes: `frame.dtypes`, `frame.schema`, or a data frame, of which only names and
            dtypes are read. Integers of 8 bits become an `IntegerRange`. Wider integers and floats become
            `Floats`, with missing values if the dtype allows them. Booleans become `Bits`, all other dtypes
            `Hashed`; dates, times and durations are refused. Drop the target first, or it becomes a feature.
            The dtypes must be known independently of the data: a reader that infers them reveals something.
        labels : sequence, optional
            All possible labels.

        Raises
        ------
        TypeError
            If `dtypes` is of another type, maps names to columns of values, or has dates, times or durations.
        """
        if is_frame(dtypes):
            dtypes = {name: column_type(dtypes, place) for place, name in enumerate(dtypes.columns)}
        if not hasattr(dtypes, "items"):
            raise TypeError(
                f"dtypes must map column names to types, or be a data frame, got {type(dtypes).__name__}"
            )
        types = dict(dtypes.items())
        if any(
            hasattr(dtype, "__len__") and not isinstance(dtype, str | np.dtype) for dtype in types.values()
        ):
            raise TypeError("dtypes must map column names to types, got columns of values")
        return cls({str(name): _domain_of_dtype(str(name), dtype) for name, dtype in types.items()}, labels)

    def to_dict(self) -> dict[str, Any]:
        """Return the description of this schema, for `from_dict` and `json.dumps`."""
        kind_of = {domain: kind for kind, domain in _KINDS.items()}
        columns = {}
        for name, domain in self.columns.items():
            listed = {k: _plain(v) if isinstance(v, tuple) else v for k, v in domain.parameters.items()}
            columns[name] = {"type": kind_of[type(domain)], **listed}
        return {"columns": columns} | ({} if self.labels is None else {"labels": _plain(self.labels)})

    def __eq__(self, other: object) -> bool:
        same = super().__eq__(other)
        if same is NotImplemented or not isinstance(other, Schema):
            return NotImplemented
        return same and self.labels == other.labels

    __hash__ = Product.__hash__


def _plain(values: Sequence[Any]) -> list[Any]:
    """Return a list with numpy's scalars converted to Python's types, for JSON."""
    return [value.item() if isinstance(value, np.generic) else value for value in values]


def _as_domain(name: str, column: Any) -> Domain:
    if isinstance(column, Domain):
        return column
    if not isinstance(column, Mapping) or str(column.get("type")) not in _KINDS:
        kinds = ", ".join(_KINDS)
        raise ValueError(
            f"column {name!r} must be a domain, or a dict with a 'type' among {kinds}, got {brief(column)}"
        )
    kind = column["type"]
    parameters = {key: value for key, value in column.items() if key != "type"}
    known = {each.name: each.default for each in signature(_KINDS[kind]).parameters.values()}
    if unknown := [key for key in parameters if key not in known]:
        raise ValueError(
            f"column {name!r}: {unknown[0]!r} is no key of type {kind!r}, which has {', '.join(known)}"
        )
    if absent := [
        key for key, default in known.items() if default is Parameter.empty and key not in parameters
    ]:
        raise ValueError(f"column {name!r}: type {kind!r} needs the key {absent[0]!r}")
    try:
        return _KINDS[kind](**parameters)
    except (TypeError, ValueError) as error:
        raise ValueError(f"column {name!r}: {error}") from None


def _domain_of_dtype(column: str, dtype: Any) -> Domain:
    name = str(dtype).lower()
    if _TIMES.match(name):
        raise TypeError(
            f"dtypes must have no dates or durations: column {column!r} is {times_as_numbers(dtype)}"
        )
    if name.startswith("bool"):
        return Bits(binarize=None)
    if whole := re.fullmatch(r"(u?)int(\d*)", name):
        width, nullable = (
            int(whole[2] or 64),
            str(dtype) != name,
        )  # pandas' "Int64" allows missing values, numpy's "int64" does not
        if width > _NARROW:
            return Floats(missing=nullable)
        low = 0 if whole[1] else -(1 << (width - 1))
        return IntegerRange(low, low + (1 << width) - 1, missing=nullable)
    if name.startswith("float"):
        return Floats(missing=True)
    return Hashed()
