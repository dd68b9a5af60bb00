"""The choice of a network for a synthetic table, and all of its noisy measurements.

In each round one column is added to the network. A candidate is a column and the columns that it may depend
on. Its quality is the number of records that the present model puts into other cells than the true table
has, less the public expected error of the noise of the candidate's own table: a large table must be worth
its noise. The quality of no dependence is 0.
"""

import math
from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.mechanisms.selection import exponential_mechanism
from dplearn.privacy import ApproxDP
from dplearn.records.table import as_table
from dplearn.releases.table_counts import counts_of
from dplearn.releases.table_model import NetworkStep, TableModel
from dplearn.releases.table_plan import SyntheticTablePlan, TableLayout

__all__ = ["ReleasedTables", "candidates_of", "quality_of", "released_tables"]

_AT_ONCE = 1 << 22  # cells of tables that are counted in one pass

Candidate = tuple[int, tuple[int, ...]]


class ReleasedTables:
    """All released numbers of a synthetic table.

    Parameters
    ----------
    plan : SyntheticTablePlan
        Public. The plan of the release.
    base : sequence of ndarray of int64
        Released. The noisy counts of the base tables.
    steps : sequence of NetworkStep, default=()
        Released. The network, in its order.

    Attributes
    ----------
    plan, base : as given
    steps : list of NetworkStep
        Released.
    model : TableModel
        Released. The distribution that follows from these.
    """

    def __init__(
        self,
        plan: SyntheticTablePlan,
        base: Sequence[NDArray[np.int64]],
        steps: Sequence[NetworkStep] = (),
    ):
        self.plan, self.base = plan, list(base)
        self.model = TableModel(plan.layout, plan.budget, plan.n_samples, self.base)
        self.steps: list[NetworkStep] = []
        for step in steps:
            self.grow(step)

    def grow(self, step: NetworkStep) -> None:
        """Add a column to the network."""
        self.steps.append(step)
        self.model.grow(step)


def released_tables(records: Any, plan: SyntheticTablePlan, dice: Dice) -> ReleasedTables:
    """Release the tables of a network.

    Parameters
    ----------
    records : ndarray of int16 of shape (n, d), or Table of such
        Private. The cell of each column of each record.
    plan : SyntheticTablePlan
        The plan of the release.
    dice : Dice
        Source of chance.

    Returns
    -------
    ReleasedTables

    Notes
    -----
    **Privacy.** `plan.guarantee`, for one replaced record. Proof: base tables and tables of the network have
    the noise of `TableNoise`. A quality is floor(|T - E| / 2) less a public number, where E consists of
    released numbers: a replaced record moves |T - E|, the sum of magnitudes, by at most 2, half of it by at
    most 1, and so its floor. Selections are thus bounded range with the budget's epsilon. The costs of all
    steps, which are adaptive, add up as in `TableBudget.of`. The model is post-processing.

    **Assumes.** A record is one row of cells, each a function of this record alone.

    **Accuracy.** That of the plan's `expected_tv` for base tables. No error is promised for tables that are
    not measured.

    **Source.** Zhang, Cormode, Procopiuc, Srivastava and Xiao (2017), PrivBayes, for networks; McKenna,
    Mullins, Sheldon and Miklau (2022), AIM, for candidates that are charged for their noise. The quality is
    ours.
    """
    layout: TableLayout = plan.layout
    n, sizes = plan.n_samples, layout.sizes
    counts = _tables(records, layout.base, sizes)
    released = ReleasedTables(plan, [plan.budget.base.noisy(each, n, dice) for each in counts])
    qualities: dict[Candidate, int] = {}
    placed = [place for place in layout.first if place != layout.target]
    unplaced = [place for place in range(len(sizes)) if place not in layout.first]
    for _ in range(layout.rounds):
        candidates = list(candidates_of(plan, placed, unplaced))
        _add_qualities(qualities, candidates, records, plan, released.model)
        chosen = exponential_mechanism(
            np.array([qualities[each] for each in candidates]),
            privacy=ApproxDP(plan.budget.selection),
            dice=dice,
        )
        column, parents = candidates[chosen]
        [table] = _tables(records, [released.model.places_of(column, parents)], sizes)
        released.grow(NetworkStep(column, parents, plan.budget.network.noisy(table, n, dice)))
        placed.append(column)
        unplaced.remove(column)
    for column in unplaced:  # no selections: all depend on the target alone
        released.grow(NetworkStep(column, (), None))
    return released


def candidates_of(
    plan: SyntheticTablePlan, placed: Sequence[int], unplaced: Sequence[int]
) -> Iterator[Candidate]:
    """Yield the candidates of a round, a public function of the network.

    Parameters
    ----------
    plan : SyntheticTablePlan
        The plan of the release.
    placed, unplaced : sequence of int
        The columns, other than the target, that are in the network, and those that are not.
    """
    layout: TableLayout = plan.layout
    sizes = layout.sizes
    labels = 1 if layout.target is None else sizes[layout.target]
    above = [
        (parents, labels * math.prod(sizes[place] for place in parents))
        for size in range(1, layout.others + 1)
        for parents in combinations(sorted(placed), size)
    ]
    is_worth = cache(
        lambda cells: cells <= layout.max_cells and plan.network_error(cells) < layout.most_error
    )
    for column in unplaced:
        yield column, ()
        own = sizes[column]
        for parents, cells in above:
            if is_worth(own * cells):
                yield column, parents


def quality_of(counts: NDArray[np.int64], expected: NDArray[np.int64], penalty: int) -> int:
    """Return the quality of a candidate, which a replaced record moves by at most 1.

    Parameters
    ----------
    counts : ndarray of int64 of shape (k,)
        Private. The true table.
    expected : ndarray of int64 of shape (k,)
        Released. The table of the present model.
    penalty : int
        Public. The expected error of the noise.
    """
    return int(np.abs(counts - expected).sum()) // 2 - penalty


def _add_qualities(
    qualities: dict[Candidate, int],
    candidates: Sequence[Candidate],
    records: Any,
    plan: SyntheticTablePlan,
    model: TableModel,
) -> None:
    """Add the qualities of candidates that are new in this round; those of the others do not change."""
    new = [each for each in candidates if each not in qualities]
    qualities |= {each: 0 for each in new if not each[1]}
    asked = [each for each in new if each[1]]
    for some in _in_batches(asked, plan.layout, model):
        places = [model.places_of(*each) for each in some]
        for each, here, counts in zip(some, places, _tables(records, places, plan.layout.sizes), strict=True):
            penalty = round(plan.budget.network.expected_error(len(counts)))
            qualities[each] = quality_of(counts, model.expected(here), penalty)


def _in_batches(
    candidates: Sequence[Candidate], layout: TableLayout, model: TableModel
) -> Iterator[list[Candidate]]:
    """Yield the candidates in groups whose tables together fit into memory."""
    batch: list[Candidate] = []
    cells = 0
    for each in candidates:
        size = layout.size_of(model.places_of(*each))
        if batch and cells + size > _AT_ONCE:
            yield batch
            batch, cells = [], 0
        batch.append(each)
        cells += size
    if batch:
        yield batch


def _tables(
    records: Any, tables: Sequence[tuple[int, ...]], sizes: Sequence[int]
) -> Sequence[NDArray[np.int64]]:
    """Return the counts of some tables, in one pass over the records."""
    found: Sequence[NDArray[np.int64]] = as_table(records).sums(partial(_counted, tables, sizes))
    return found


def _counted(
    tables: Sequence[tuple[int, ...]], sizes: Sequence[int], cells: NDArray[Any]
) -> list[NDArray[np.int64]]:
    return [counts_of(places, [sizes[place] for place in places], cells) for places in tables]
