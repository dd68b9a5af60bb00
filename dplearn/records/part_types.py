"""The public types of a part of a table: its columns' names and types, which all parts share.

>>> import numpy as np
>>> first = PartTypes.of(np.zeros((5, 2)))
>>> first.check_same(PartTypes.of(np.ones((9, 2))))
>>> first.check_same(PartTypes.of(np.zeros((5, 2), dtype=np.int64)))
Traceback (most recent call last):
    ...
TypeError: X must have the same types in each part, but the type is float64 in one and int64 in another; \
declare types where parts are read, such as read_csv(..., dtype=...)
"""

from dataclasses import dataclass
from typing import Any

from dplearn.domains.cells import is_frame

__all__ = ["PartTypes"]


@dataclass(frozen=True)
class PartTypes:
    """What a part shows without its values.

    Attributes
    ----------
    library : str
        The package of the part's class.
    shape : tuple of int
        The shape of one record: (d,) in a table of d columns, () in a single column.
    names : tuple of str or None
        The names of the columns, if they have names.
    types : tuple
        The type of each column of a data frame, or that of an array or a series.
    """

    library: str
    shape: tuple[int, ...]
    names: tuple[Any, ...] | None
    types: tuple[Any, ...]

    @classmethod
    def of(cls, part: Any) -> "PartTypes":
        """Return the types of a data frame, an array, a series or a list."""
        shape = tuple(getattr(part, "shape", (0,))[1:])
        library = type(part).__module__.partition(".")[0]
        if is_frame(part):
            return cls(library, shape, tuple(part.columns), tuple(part.dtypes))
        return cls(library, shape, None, (getattr(part, "dtype", type(part).__name__),))

    def check_same(self, other: "PartTypes", name: str = "X", *, categories: bool = False) -> None:
        """Refuse another part with other columns, or other types of columns; no value is read.

        Parameters
        ----------
        other : PartTypes
            Of another part.
        name : str, default="X"
            The name of the parameter, for messages.
        categories : bool, default=False
            Whether the categories of categorical columns must be the same too.

        Raises
        ------
        TypeError
            If the types differ.
        ValueError
            If the columns differ.
        """
        if self.library != other.library:
            raise TypeError(
                f"{name} must have parts of one library, got parts of {self.library} and of {other.library}"
            )
        if (self.shape, self.names) != (other.shape, other.names):
            raise ValueError(f"{name} must have the same columns in each part, but {self._unlike(other)}")
        for place, (mine, theirs) in enumerate(zip(self.types, other.types, strict=True)):
            column = "" if self.names is None else f" of column {self.names[place]!r}"
            if categories and str(mine) == str(theirs) and mine != theirs:
                raise TypeError(
                    f"{name} must have the same categories in each part, but those{column} differ; make each"
                    " part's by the same pandas.CategoricalDtype([...]), or read the column as text"
                )
            if str(mine) != str(theirs):
                raise TypeError(
                    f"{name} must have the same types in each part, but the type{column} is"
                    f" {_without_values(mine)} in one and {_without_values(theirs)} in another; declare types"
                    " where parts are read, such as read_csv(..., dtype=...)"
                )

    def _unlike(self, other: "PartTypes") -> str:
        """Return how the columns of another part differ."""
        if self.names is None or other.names is None:
            return f"a record has the shape {self.shape} in one and {other.shape} in another"
        apart = [
            each for each in (*self.names, *other.names) if (each in self.names) != (each in other.names)
        ]
        if apart:
            return f"{apart[0]!r} is not in all of them"
        return "their order differs; select them by name where parts are read, such as part[names]"


def _without_values(kind: Any) -> str:
    """Return the text of a type; an Enum's without its values."""
    text = str(kind)
    return text.partition("(")[0] if text.startswith("Enum(") else text
