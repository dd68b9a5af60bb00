"""The part of a released shape that a panel shows: cells that hold records, their edges, and a scale.

>>> import numpy as np
>>> from dplearn.domains import IntegerRange
>>> from dplearn.learners import ColumnShape
>>> from dplearn.learners.additive_columns import column_of
>>> masses = np.array([0.1, 0.3, 0.3, 0.298, 0.0005, 0.0005, 0.001])
>>> visits = column_of(IntegerRange(0, 5, missing=True))
>>> cells = ShownCells.of(ColumnShape("visits", visits, 0 * masses, 0 * masses, masses))
>>> cells.places.tolist(), cells.edges.tolist(), cells.missing
([1, 2, 3], [0.0, 1.0, 2.0, 3.0], 0)
>>> scale_of(cells.edges, masses[cells.places])
{'value': 'linear'}
>>> ticks_of({"value": "symlog", "linthresh": 10.0}, lambda x: np.arcsinh(x / 10), -3.0, 5000.0)
([0.0, 100.0, 1000.0], [10.0])
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._writing import cut
from dplearn.learners import ColumnShape

__all__ = ["LONGEST_NAME", "ShownCells", "named", "scale_of", "ticks_of"]

LONGEST_NAME = 24  # characters of the name of a column
_LONGEST_CELL = 16  # characters of the name of a category
_MOST_BARS = 12  # categories in one panel
_EMPTY = 0.1  # a cell with less than this share of the mean mass holds no visible share of the records
_TAIL = 0.01  # the share of the records beyond each end of the axis
_OPEN = 16.0  # a first cell that is this many times as wide as the second has no visible start
_READABLE = 0.005  # the least width of a cell that can be seen, as a share of the axis
_READ = 0.7  # the share of the records in such cells that a linear axis needs
_APART = 0.18  # the least distance of two ticks of a logarithmic axis, as a share of the axis
_LEAST_POWER = -9  # the exponent of the least tick of a logarithmic axis
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
            Released. Numbers are cut where at most 1 % of the records lie beyond each end. Of categories, the
            twelve with most records are shown. One or two numbers are shown as categories are.
        """
        values, gap = shape.values, shape.column.gap
        missing = 0 if gap else None
        if values is None or len(values) - gap <= 2:
            common = np.argsort(-shape.masses[gap:], kind="stable")[:_MOST_BARS]
            places = gap + np.sort(common)
            cells = shape.cells
            labels = tuple(named(cells[place]) for place in places)
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


def ticks_of(
    scale: Mapping[str, Any], transform: Callable[[Any], Any], low: float, high: float
) -> tuple[list[float], list[float]]:
    """Return the ticks of a logarithmic axis, 0 and powers of ten: those with labels, and all others.

    Parameters
    ----------
    scale : dict of str to object
        From `scale_of`: "log" or "symlog". Of a log scale over less than two powers of ten, twice and
        five times these are ticks, too.
    transform : callable
        From numbers to places on the axis.
    low, high : float
        The ends of the axis.

    Returns
    -------
    labelled, others : list of float
        Labelled ticks are far enough from each other.
    """
    exponents = range(_LEAST_POWER, 1 + math.ceil(math.log10(max(abs(low), abs(high)))))
    least = scale.get("linthresh", 0.0)
    powers = [10.0**exponent for exponent in reversed(exponents) if 10.0**exponent >= least]
    if scale["value"] == "log" and high < 100 * low:
        powers += [factor * power for power in powers for factor in (5.0, 2.0)]
    found: list[float] = []
    others: list[float] = []
    room = _APART * float(transform(high) - transform(low))
    for tick in [0.0, *powers, *(-power for power in powers)]:
        if low <= tick <= high:
            near = any(abs(transform(tick) - transform(each)) < room for each in found)
            (others if near else found).append(tick)
    return sorted(found), sorted(others)


def named(cell: str) -> str:
    """Return the description of a cell without the quotes of a string, shortened.

    Parameters
    ----------
    cell : str
        From the `cells` of a shape.
    """
    return cut(re.sub(r"^(?:np\.str_\()?(['\"])(.+)\1\)?$", r"\2", cell), _LONGEST_CELL)


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
