"""How near synthetic records are to what was released: a report from released numbers alone."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance import PublicStream
from dplearn.domains import Categories
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import ResultTable
from dplearn.releases.table_columns import TableColumn, counts_of
from dplearn.releases.table_network import SyntheticTablePlan, TableModel, projected

_ROWS = 1 << 18


@dataclass(frozen=True, eq=False)
class TableFidelity(ResultTable):
    """How near the records of a `SyntheticTable` are to what it released: of each column, then of each other
    measured table.

    Attributes
    ----------
    tables : tuple of str
        Released. The names of the columns, and of the tables of several columns that were measured.
    cells : tuple of int
        Released. The number of cells of each table.
    noise_tv : tuple of float
        Released. A bound on the expected total variation distance between the released table and the private
        one, by noise alone; at most 1.
    synthetic_tv : tuple of float
        Released. The total variation distance between the synthetic records and the released table. One far
        above `noise_tv` shows what the records do not reproduce.
    too_noisy : tuple of bool
        Released. Whether the noise of a count is greater than the mean count of its table.
    lost : dict of str to tuple of str
        Released. For each column the listed values, or bins of a declared range, that none of 262,144
        synthetic records has; and what is not listed: numbers beyond a learned range, or all categories.
    guarantee : ApproxDP
        Public. The guarantee of the table; the report costs no privacy.
    """

    tables: tuple[str, ...]
    cells: tuple[int, ...]
    noise_tv: tuple[float, ...]
    synthetic_tv: tuple[float, ...]
    too_noisy: tuple[bool, ...]
    lost: dict[str, tuple[str, ...]]
    guarantee: ApproxDP

    def _shown(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        lost = [", ".join(self.lost.get(name, ())) for name in self.tables]
        found = (self.tables, self.cells, self.noise_tv, self.synthetic_tv, self.too_noisy, lost)
        names = "table", "cells", "noise_tv", "synthetic_tv", "too_noisy", "lost"
        return names, list(zip(*found, strict=True))

    def to_frame(self) -> Any:
        """Return the report as a data frame of pandas, with a row for each table.

        Returns
        -------
        pandas.DataFrame
            With the attributes as columns, and in `lost` a text.
        """
        names, rows = self._shown()
        return import_module("pandas").DataFrame(rows, columns=list(names))


def table_fidelity(model: TableModel, plan: SyntheticTablePlan) -> TableFidelity:
    """Return the report of a released table: post-processing, by public chance."""
    layout = model.layout
    cells = model.draw(_ROWS, PublicStream(0, "rows of a report"))
    rows = []
    for places, released, deviation in _measured(model, plan):
        drawn = counts_of(places, released.shape, cells).reshape(released.shape) / _ROWS
        noise = min(1.0, released.size * deviation / math.sqrt(2 * math.pi))
        distance = float(np.abs(drawn - released).sum() / 2)
        rows.append((layout.name_of(places), released.size, noise, distance, deviation * released.size > 1))
    lost = {}
    for place, column in enumerate(layout.columns):
        gone = np.bincount(cells[:, place], minlength=column.size) == 0
        gone &= ~(column.rest | (column.unused & column.ranged))  # beyond a learned range nothing is listed
        texts = np.array(column.described())
        found = [*texts[gone].tolist(), *_unlisted(column, texts)]
        if found:
            lost[column.name] = tuple(found)
    names, sizes, noises, distances, noisy = zip(*rows, strict=True)
    return TableFidelity(names, sizes, noises, distances, noisy, lost, plan.guarantee)


def _unlisted(column: TableColumn, texts: NDArray[Any]) -> list[str]:
    """Return what no cell of a learned column stands for: other numbers, or all categories."""
    used = texts[~(column.gaps | column.unused)]
    if column.ranged and len(used):
        low, high = used[0].partition(" to ")[0], used[-1].rpartition(" to ")[2]
        return [f"what is beyond {low} to {high}"]
    if isinstance(column.domain, Categories) and column.domain.other and not {*column.domain.values} - {None}:
        return ["all categories: none is listed"]
    return []


def _measured(
    model: TableModel, plan: SyntheticTablePlan
) -> Iterator[tuple[tuple[int, ...], NDArray[np.float64], float]]:
    """Yield the columns of each released table, its shares, and the standard deviation of their noise."""
    layout, budget, n = model.layout, model.budget, model.n_samples
    used = [~column.unused for column in layout.columns]  # nothing is drawn from the others
    base = {
        places: projected(noisy, n, [used[place] for place in places])
        for places, noisy in zip(layout.base, model.base, strict=True)
    }
    for place, deviation in enumerate(margin_deviations(plan)):
        places = next(places for places in base if place in places)
        others = tuple(axis for axis, each in enumerate(places) if each != place)
        yield (place,), base[places].sum(axis=others), deviation
    for places, share in base.items():
        if len(places) > 1:
            yield places, share, budget.base.deviation(share.size) / n
    for step in model.steps:
        if step.table is not None and step.parents:
            places = model.places_of(step.column, step.parents)
            share = projected(step.table, n, [used[place] for place in places])
            yield places, share, budget.network.deviation(share.size) / n


def margin_deviations(plan: SyntheticTablePlan) -> list[float]:
    """Return the standard deviation of the noise in the share of a cell of each column."""
    layout, noise, found = plan.layout, plan.budget.base, []
    for place, size in enumerate(layout.sizes):
        tables = [places for places in layout.base if place in places]
        sums = 1.0
        if layout.target is not None:  # a margin is a sum over the other column; that of the target is a mean
            sums = math.sqrt(sum(layout.size_of(places) // size for places in tables)) / len(tables)
        found.append(sums * noise.deviation(layout.size_of(tables[0])) / float(plan.n_samples))
    return found
