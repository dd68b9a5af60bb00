"""Domains without an order: listed categories and hashed text, whose tests are for equality; and bits."""

import hashlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat
from typing import Any, ClassVar

import numpy as np

from dplearn._validation import check_bool, check_count, check_number
from dplearn._writing import brief, fitting
from dplearn.domains.base import Codes, Domain, smallest_uint
from dplearn.domains.cells import as_cells, as_numbers, is_missing, text_of

_AS_THEY_ARE = {str, int, float, bool, type(None)}


@dataclass(frozen=True)
class Categories(Domain):
    """A public list of values.

    Parameters
    ----------
    values : sequence of hashable
        Distinct; None stands for a missing value of any kind.
    other : bool, default=False
        True if all values that are not listed share one additional code; otherwise they are refused.

    Examples
    --------
    >>> Categories(["north", "south"], other=True).encode(["south", "moon"]).tolist()
    [1, 2]
    """

    values: Sequence[Hashable]
    other: bool = False
    ordered: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if isinstance(self.values, str) or not len(self.values):
            raise ValueError(f"values must be a list of at least one category, got {brief(self.values)}")
        values = tuple(None if is_missing(v) else v for v in self.values)
        if len(set(map(_key, values))) < len(values):
            raise ValueError(f"values must be distinct, got {brief(self.values)}")
        object.__setattr__(self, "other", check_bool("other", self.other))
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "accepts_missing", None in values or self.other)
        object.__setattr__(self, "numeric", self.numbers and not self.other)

    def __repr__(self) -> str:
        name = type(self).__name__
        full = f"{name}(values={self.values!r}, other={self.other!r})"
        return fitting(full, f"{name}({brief(list(self.values))}, other={self.other!r})")

    @property
    def size(self) -> int:
        return len(self.values) + self.other

    @property
    def numbers(self) -> bool:
        """True if each listed category is a number or missing."""
        return all(value is None or isinstance(value, (int, float)) for value in self.values)

    @property
    def misreads_text(self) -> bool:
        """Whether listed values are numbers, and text would be read as not listed, without an error."""
        return self.other and self.numbers and set(self.values) != {None}

    @cached_property
    def _code_of(self) -> dict[Hashable, int]:
        return {_key(value): code for code, value in enumerate(self.values)}

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to save, without the dict, whose key None formats such as skops cannot load."""
        return {name: value for name, value in vars(self).items() if name != "_code_of"}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Categories):
            return NotImplemented
        return self.other == other.other and self._code_of == other._code_of

    def encode(self, values: Any) -> Codes:
        """Return the position of each value in the list."""
        codes = self.nearest(values)
        if (codes == self.size).any():
            raise self.refuse()
        return codes

    def nearest(self, values: Any) -> Codes:
        """Return the position of each value in the list, or `size` for a value without a category."""
        array = np.asarray(values, dtype=object)
        cells = array.ravel().tolist()
        dtype = smallest_uint(self.size)
        if set(map(type, cells)) <= _AS_THEY_ARE - {float}:  # of floats, NaN is missing
            codes = np.fromiter(
                map(self._code_of.get, cells, repeat(self.size - self.other)), dtype, len(cells)
            )
        else:
            codes = np.array([self._code(cell) for cell in cells], dtype=dtype)
        return codes.reshape(array.shape)

    def _code(self, cell: Any) -> int:
        try:
            code = self._code_of.get(cell if type(cell) in _AS_THEY_ARE else _key(cell))
        except Exception:  # a cell that cannot be hashed or compared is not a category
            return self.size - self.other
        if code is None:
            code = self._code_of.get(None) if is_missing(cell) else None
        return self.size - self.other if code is None else code

    def describe_test(self, code: int) -> str:
        """Return '== category', or the test for a missing or unlisted value in words."""
        if code == len(self.values):
            return "is none of the listed categories"
        return "is missing" if self.values[code] is None else f"== {self.values[code]!r}"

    @property
    def assumption(self) -> str:
        if self.other:
            return f"the list of {len(self.values)} categories is public"
        return f"values are among {len(self.values)} public categories"

    @property
    def _advice(self) -> str:
        if None in self.values:
            return "; other=True accepts values that are not listed"
        return "; other=True accepts values that are not listed, None among the values only missing ones"


@dataclass(frozen=True, slots=True)
class _Bytes:
    """Bytes as a dict key that is never compared with text, of which `python -b` would warn."""

    value: bytes


def _key(cell: Any) -> Any:
    """Return the dict key of a cell: equal for equal cells, with `_Bytes` for bytes, also in tuples."""
    if isinstance(cell, bytes):
        return _Bytes(bytes.join(b"", [cell]))
    if isinstance(cell, tuple) and type(cell).__eq__ is tuple.__eq__:
        return tuple(map(_key, cell))
    return frozenset(map(_key, cell)) if type(cell) is frozenset else cell


@dataclass(frozen=True)
class Hashed(Domain):
    """Values of any type, hashed as text into a number of buckets, without a list of categories.

    Parameters
    ----------
    buckets : int, default=64
        The number of buckets, at least 2. Different values may have the same bucket.

    Notes
    -----
    The hash is BLAKE2b of the value's text without surrounding blanks, the same on every machine. A whole
    float has the text of the integer. Bucket 0 is reserved for missing values and empty texts.

    Examples
    --------
    >>> from dplearn.domains import Hashed
    >>> Hashed(8).encode(["J45", "E11", "J45"]).tolist()
    [4, 7, 4]
    """

    buckets: int = 64
    ordered: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_count("buckets", self.buckets, low=2, high=1 << 20)
        object.__setattr__(self, "numeric", False)
        object.__setattr__(self, "accepts_missing", True)

    @property
    def size(self) -> int:
        return self.buckets

    def encode(self, values: Any) -> Codes:
        """Return the bucket of each value."""
        array = np.asarray(values, dtype=object)
        bucket_of: dict[str, int] = {}
        codes = []
        for value in array.ravel().tolist():
            text = text_of(value)
            if text not in bucket_of:
                bucket_of[text] = self.bucket(text)
            codes.append(bucket_of[text])
        return np.array(codes, dtype=smallest_uint(self.size)).reshape(array.shape)

    nearest = encode

    def bucket(self, text: str) -> int:
        """Return the bucket of a text; the empty text counts as missing."""
        if not text:
            return 0
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        return 1 + int.from_bytes(digest, "big") % (self.buckets - 1)

    def describe_test(self, code: int) -> str:
        """Return the bucket in words."""
        return "is missing" if code == 0 else f"hashes to bucket {code} of {self.buckets}"

    @property
    def assumption(self) -> str:
        return "values are of any kind"


@dataclass(frozen=True)
class Bits(Domain):
    """The two values 0 and 1, or numbers compared with a threshold.

    Parameters
    ----------
    binarize : float or None, default=0.0
        Numbers above it are encoded as 1, all others as 0. None: values must be 0 or 1.

    Examples
    --------
    >>> Bits().encode([-1, 0, 2]).tolist()
    [0, 0, 1]
    """

    binarize: float | None = 0.0

    def __post_init__(self) -> None:
        if self.binarize is not None:
            object.__setattr__(self, "binarize", float(check_number("binarize", self.binarize)))

    @property
    def size(self) -> int:
        """The number of codes, 2."""
        return 2

    def encode(self, values: Any) -> Codes:
        """Return 1 for values above `binarize`, else 0."""
        cells = as_cells(values)
        array = as_numbers(cells, self)
        # The cells themselves are compared: a Fraction close to 0 or 1 may become 0 or 1 as a float.
        if self.binarize is None and not ((cells == 0) | (cells == 1)).all():
            raise self.refuse()
        return self.nearest(array)

    def nearest(self, values: Any) -> Codes:
        """Return 1 for values above `binarize` (above 1/2 if that is None), else 0."""
        array = as_numbers(values, self)
        if array.dtype.kind == "f":
            array = array.astype(np.float64)  # in a narrower type, numpy would round the threshold
        return (array > (0.5 if self.binarize is None else self.binarize)).astype(np.uint8)

    def describe_test(self, code: int) -> str:
        """Return the test for code 0; for code 1, a test that always holds."""
        if code == 1:
            return "is any number"
        return "== 0" if self.binarize is None else f"<= {str(self.binarize).removesuffix('.0')}"

    @property
    def assumption(self) -> str:
        """The precondition on the column, as listed in a guarantee."""
        return "values are 0 or 1" if self.binarize is None else "values are finite numbers"
