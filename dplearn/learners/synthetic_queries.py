"""Queries for teachers without public rows: drawn from a synthetic table that a share of the budget pays for.

>>> from dplearn.domains import IntegerRange, Product
>>> layout = query_layout(Product([IntegerRange(0, 9)], names=["age"]), ["no", "yes"])
>>> [column.name for column in layout.columns], layout.target
(['age', 'target'], 1)
>>> rows = made_up_queries(layout, TableTypes("array"), PublicStream(0))
>>> rows.shape, int(rows.min()), int(rows.max())
((64, 1), 0, 9)
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn.chance import PublicStream
from dplearn.domains import Categories, Product
from dplearn.ensembles.dry_run import MANY_ROWS
from dplearn.learners.ensembles import AggregationPlan
from dplearn.learners.synthetic_data import free_name
from dplearn.privacy import ApproxDP
from dplearn.records.rows import Examples
from dplearn.releases.synthetic_table import SyntheticTable, SyntheticTablePlan
from dplearn.releases.table_columns import MOST_BINS, TableColumn, table_column, table_columns
from dplearn.releases.table_network import ReleasedTables
from dplearn.releases.table_plan import TableLayout, checked_layout
from dplearn.releases.table_values import TableTypes, as_table, values_of

__all__ = [
    "SyntheticAnswers",
    "SyntheticTransferPlan",
    "decoded",
    "drawn_queries",
    "made_up_queries",
    "query_layout",
    "released_table",
]

_DEGREE, _N_BINS, _MAX_CELLS = 2, 16, 20_000  # as SyntheticTable has them


@dataclass(frozen=True)
class SyntheticTransferPlan(AggregationPlan):
    """The plan of a knowledge transfer whose queries are rows of a synthetic table.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the fit: of the synthetic table and of all answers together.
    aggregation, n_samples, n_teachers, shard_size, max_queries, max_abstentions
        As for `AggregationPlan`.
    noise_scale, least_lead, least_decided
        As for `AggregationPlan`, of the votes.
    votes : ApproxDP
        The price of the votes.
    table : SyntheticTablePlan
        The plan of the synthetic table; its guarantee is the price of the table.
    """

    votes: ApproxDP = field(kw_only=True)
    table: SyntheticTablePlan = field(kw_only=True)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the votes and of the synthetic table."""
        return (*super().warnings, *self.table.warnings)


@dataclass(frozen=True, eq=False)
class SyntheticAnswers:
    """The released outcome of a transfer without public rows.

    Attributes
    ----------
    tables : ReleasedTables
        Released. The noisy tables.
    queries : table of shape (n_queries, n_features)
        Released. The rows that were queried, drawn from these.
    answers : Answers
        Released. The answers.
    """

    tables: ReleasedTables
    queries: Any
    answers: Any


def query_layout(domain: Product, labels: Sequence[Any]) -> TableLayout:
    """Return the layout of the synthetic table: the columns, and the label as the target.

    Parameters
    ----------
    domain : Product
        Public. The domain of a record.
    labels : sequence
        Public. The labels.

    Raises
    ------
    ValueError
        If a column has no cells that values can be drawn from, or a table has too many cells.
    """
    target = table_column(free_name(domain.names), Categories(list(labels)), MOST_BINS)
    columns = (*table_columns(domain, _N_BINS), target)
    return checked_layout(columns, len(domain), _DEGREE, _MAX_CELLS)


def made_up_queries(layout: TableLayout, types: TableTypes, stream: PublicStream) -> Any:
    """Return rows of the domain for a dry run: every cell of a column with few cells occurs in them."""
    features = layout.columns[:-1]
    cells = np.stack([stream.permutation(MANY_ROWS) % column.size for column in features], axis=1)
    return as_table(features, values_of(features, cells, stream), types)


def drawn_queries(
    tables: ReleasedTables, layout: TableLayout, n: int, types: TableTypes, stream: PublicStream
) -> Any:
    """Return rows without labels that are drawn from released tables by public chance."""
    features = layout.columns[:-1]
    cells = tables.model.draw(n, stream)[:, :-1]
    return as_table(features, values_of(features, cells, stream), types)


def decoded(
    features: Sequence[TableColumn], classes: NDArray[Any], types: TableTypes, rows: Examples
) -> Examples:
    """Return encoded records as teachers are given them: in the types of the synthetic rows, with labels.

    Parameters
    ----------
    features : sequence of TableColumn
        Public. The columns.
    classes : ndarray of shape (n_labels,)
        Public. The labels.
    types : TableTypes
        Public. The kind of table.
    rows : Examples
        Private. Codes of each column, and of the label.
    """
    values = [column.decoded(codes) for column, codes in zip(features, rows.X.columns, strict=True)]
    return Examples(as_table(features, values, types), classes[rows.y])


def released_table(tables: ReleasedTables, plan: SyntheticTablePlan, types: TableTypes) -> SyntheticTable:
    """Return the fitted synthetic table."""
    return SyntheticTable.of(tables, plan, types=types, n_bins=_N_BINS)
