"""Read the values of a release in parts, all of them before anything is charged.

The first pass validates every part, and finds what is public: lengths and types. Later passes read a part
again, with the same checks. No pass makes a draw.

>>> import numpy as np
>>> from dplearn.releases import median
>>> months = [np.arange(0.0, 400.0), np.arange(400.0, 1000.0)]
>>> found = median(lambda: months, epsilon=1, random_state=0)  # parts, from a function
>>> found.value == median(np.arange(1000.0), epsilon=1, random_state=0).value
True
"""

from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dplearn.records.part_digests import digest_of
from dplearn.records.part_types import PartTypes
from dplearn.records.parts import PartedRecords, Source
from dplearn.records.rows import count_of

if TYPE_CHECKING:
    from dplearn.releases.stages import Release

__all__ = ["read_parts"]


def read_parts(release: "Release[Any, Any]", source: Source) -> PartedRecords:
    """Return the encoded values of all parts after they have been validated.

    Parameters
    ----------
    release : Release
        Its attributes that reading sets, `set_by_reading`, are set to those of the parts.
    source : Source
        Private.

    Raises
    ------
    DomainError, TypeError, ValueError
        As for the release's `read_part` of the first part that it refuses; or if parts have other columns or
        types than the first, or all are empty.
    """
    reader = _Reader.of(release)
    found = list(source.values(lambda _: reader.found))
    parts = [part for part in found if part is not None]
    if not parts:
        raise ValueError(f"{release.takes} must have at least one record, and all parts are empty")
    first = parts[0]
    reader = replace(reader, types=first.types)
    for part in parts:
        reader.check(part.types)
    for name, value in first.attributes.items():
        setattr(release, name, value)
    lengths = [0 if part is None else part.length for part in found]
    return PartedRecords(source, reader, lengths, [part and part.digest for part in found])


@dataclass(frozen=True, repr=False)
class _Found:
    """What a part shows: its length, its types, and the public attributes that reading it sets.

    The digest of its records is private.
    """

    length: int
    digest: bytes
    types: PartTypes
    attributes: dict[str, Any]


@dataclass(frozen=True, repr=False)
class _Reader:
    """The reading of one part, without draws."""

    release: Any
    types: PartTypes | None = None  # of all parts, after the first pass

    @classmethod
    def of(cls, release: Any) -> "_Reader":
        """Return the reader of a release's parts; no random generator goes to where they are read."""
        reader = copy(release)
        reader.random_state = None
        return cls(reader)

    def __call__(self, values: Any, y: Any) -> Any:
        self.check(PartTypes.of(values))
        return copy(self.release).read_part(values if y is None else (values, y))

    def check(self, types: PartTypes) -> None:
        """Refuse a part with other columns, or other types of columns, than the first one."""
        if self.types is not None:
            self.types.check_same(types, self.release.takes)

    def found(self, values: Any, y: Any) -> _Found | None:
        """Return the public values of a part; None if it is empty."""
        if not count_of(values):
            return None
        reader = copy(self.release)
        records = reader.read_part(values if y is None else (values, y))
        attributes = {name: getattr(reader, name) for name in reader.set_by_reading}
        return _Found(count_of(records), digest_of(records), PartTypes.of(values), attributes)
