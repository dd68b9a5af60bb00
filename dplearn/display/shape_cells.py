"""The part of a released shape that a panel shows: cells that hold records, their edges, and a scale.

>>> import numpy as np
>>> from dplearn.learners import ColumnShape
>>> values = np.array([np.nan, 0.0, 1.0, 2.0, 4.0, 8.0, 16.0])
>>> masses = np.array([0.1, 0.3, 0.3, 0.298, 0.0005, 0.0005, 0.001])
>>> names = ("missing", "0", "1", "2", "4", "8", "16")
>>> cells = ShownCells.of(ColumnShape("size", names, values, 0 * masses, 0 * masses, masses))
>>> cells.places.tolist(), cells.edges.tolist(), cells.missing
([1, 2, 3], [0.0, 1.0, 2.0, 4.0], 0)
>>> scale_of(cells.edges, masses[cells.places])
{'value': 'linear'}
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._writing import cut
from dplearn.learners import ColumnShape

__all__ = ["LONGEST_NAME", "ShownCells", "scale_of"]

LONGEST_NAME = 24  # characters of the name of a column
_LONGEST_CELL = 16  # characters of the name of a category
_MOST_BARS = 12  # categories in one panel
_EMPTY = 0.05  # a cell with less than this share of the mean mass holds no visible share of the records
_TAIL = 0.005  # the share of the records beyond each end of the axis
_OPEN = 16.0  # a first cell that is this many times as wide as the second has no visible start
_READABLE = 0.01  # the least width of a cell that can be seen, as a share of the axis
_READ = 0.8  # the share of the records in such cells that a linear axis needs
_INNER = 0.05  # the share of the records, beyond the cell of 0, in the linear part of a logarithmic axis


@dataclass(frozen=True, eq=False)
class ShownCells:
    """The cells of one column that a panel shows.

    Attributes
    ----------
    places : ndarray of int
        The places of these cells in the shape, without that of missing numbers.
    edges : ndarray of float64 of shape (len(places) + 1,) or None
        The ends of the cells; None if they are bars.
    labels : tuple of str
        The names of the bars, shortened; empty for numbers with edges.
    missing : int or None
        The place of the cell of missing numbers.
    hidden : int
        The number of categories without a bar.
    """

    places: NDArray[np.intp]
    edges: NDArray[np.float64] | None
    labels: tuple[str, ...]
    missing: int | None
    hidden: int

    @classmethod
    def of(cls, shape: ColumnShape) -> "ShownCells":
        """Return the cells of a shape that are shown.

        Parameters
        ----------
        shape : ColumnShape
            Released. Numbers are cut where less than 1 % of the records lie beyond both ends together. Of
            categories, the twelve with most records are shown; so are one or two numbers.
        """
        values = shape.values
        gap = int(values is not None and len(values) > 0 and bool(np.isnan(values[0])))
        missing = 0 if gap else None
        if values is None or len(values) - gap <= 2:
            common = np.argsort(-shape.masses[gap:], kind="stable")[:_MOST_BARS]
            places = gap + np.sort(common)
            labels = tuple(cut(_bare(shape.cells[place]), _LONGEST_CELL) for place in places)
            return cls(places, None, labels, missing, len(shape.masses) - gap - len(places))
        first, last = _usual(shape.masses[gap:])
        return cls(np.arange(gap + first, gap + last), _edges(values[gap:], first, last), (), missing, 0)


def scale_of(edges: NDArray[np.float64], masses: NDArray[np.float64]) -> dict[str, Any]:
    """Return the arguments of `set_xscale`: linear if most records lie in cells wide enough to be seen.

    Parameters
    ----------
    edges : ndarray of float64 of shape (n + 1,)
        The ends of the cells.
    masses : ndarray of float64 of shape (n,)
        Released. The share of records in each cell.
    """
    widths = np.diff(edges)
    readable = widths >= _READABLE * (edges[-1] - edges[0])
    if masses[readable].sum() >= _READ * masses.sum():
        return {"value": "linear"}
    if edges[0] > 0:
        return {"value": "log"}
    starts, ends = edges[:-1], edges[1:]
    apart = (starts > 0) | (ends <= 0)  # not the cell of 0
    sizes = np.where(starts >= 0, ends, -starts)[apart]
    if not len(sizes):
        return {"value": "linear"}
    order = np.argsort(sizes)
    below = np.cumsum(masses[apart][order]) / masses[apart].sum()
    return {"value": "symlog", "linthresh": float(sizes[order][np.argmax(below >= _INNER)])}


def _usual(masses: NDArray[np.float64]) -> tuple[int, int]:
    """Return the first cell that holds records, and the one after the last, of ordered cells."""
    seen = np.where(masses > _EMPTY * masses.mean(), masses, 0.0)
    below = np.cumsum(seen) / seen.sum()
    return int(np.argmax(below > _TAIL)), int(np.argmax(below >= 1 - _TAIL)) + 1


def _edges(values: NDArray[np.float64], first: int, last: int) -> NDArray[np.float64]:
    """Return the ends of cells first, ..., last - 1; the outer ends of open cells are made up."""
    inner = np.diff(values[1:])
    start = values[0] if values[1] - values[0] <= _OPEN * inner[0] else values[1] - inner[0]
    return np.concatenate([[start], values[1:], [values[-1] + inner[-1]]])[first : last + 1]


def _bare(cell: str) -> str:
    """Return the description of a category without the quotes of a string."""
    return cell[1:-1] if len(cell) > 2 and cell[0] == cell[-1] == "'" else cell
