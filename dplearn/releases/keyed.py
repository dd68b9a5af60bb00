"""What releases by category share: declared categories, keys in parts beside values, and places of keys."""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._writing import brief
from dplearn.domains import DomainError, read_keys, spelled
from dplearn.domains.factors import Factor
from dplearn.releases.stable_counts import read_column_of_keys
from dplearn.table import InTurn, Table
from dplearn.table.sources import (
    DaskParts,
    check_index,
    column_in_parts,
    column_of,
    in_parts,
    is_dask,
    partitions,
    parts_read,
)


def checked_categories(categories: Any) -> tuple[Hashable, ...]:
    """Return declared categories as keys of built-in types."""
    if isinstance(categories, (str, bytes)) or not np.iterable(categories):
        raise TypeError(f"categories must be a sequence of keys, got {brief(categories)}")
    try:
        keys = read_column_of_keys(list(categories))
        read = tuple(keys.levels[keys.codes].tolist())
    except (DomainError, ValueError):
        read = ()
    if not read:
        raise ValueError(
            "categories must be at least one key, each missing, text, bytes, a whole number or a tuple of"
            " these"
        )
    if len({*map(spelled, read_keys(read))}) < len(read):
        raise ValueError(
            "categories must be distinct, got some key twice; the persons that records belong to go to"
            " groups="
        )
    return read


def declared(categories: Sequence[Hashable]) -> str:
    return f"the {len(categories)} categories are chosen without the data"


def places_of(keys: Factor, categories: Sequence[Hashable]) -> NDArray[np.intp]:
    """Return the place of each key's category, and the number of categories for a key of none."""
    # Keys of different types are not compared: "a" and b"a" have equal hashes.
    place = {spelled(key): code for code, key in enumerate(categories)}
    found = [place.get(spelled(key), len(categories)) for key in keys.levels.tolist()]
    return np.asarray(np.array(found, dtype=np.intp)[keys.codes])


def pairs_in_parts(first: Any, second: Any, names: tuple[str, str]) -> Table | None:
    """Return two columns of equal lengths in parts, or None if they are in memory; `second` may be None."""
    one, two = names
    if second is None:
        return column_in_parts(first, one)
    check_index(two, second, first, of=one)
    if is_dask(first, one) or is_dask(second, two):
        if not (is_dask(first, one) and is_dask(second, two)):
            raise TypeError(f"{one} and {two} must both be collections of Dask, or both be in memory")
        return in_parts(DaskParts(list(zip(partitions(first), partitions(second), strict=True))))
    if callable(first) != callable(second):
        raise TypeError(f"{one} and {two} must both be functions that return parts, or both be in memory")
    if not callable(first):
        return None
    both = first, second
    return in_parts(InTurn(lambda: zip(*(map(column_of, parts_read(each)) for each in both), strict=True)))
