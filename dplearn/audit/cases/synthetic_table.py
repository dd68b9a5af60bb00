"""Audit cases of synthetic tables: whole releases with Laplace noise; Gaussian ones are replayed.

Columns are binary, so a base table is one count. Noisy counts are clipped to 0..n, and every table may be
measured, whatever its noise. With two columns there are two candidates, and the quality of one is constant:
the selection shows half of its epsilon at most, .03 of the 1 that all steps cost, and clipping hides a little
more.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from dplearn.audit.case import AuditCase, Required
from dplearn.audit.fits import Rows
from dplearn.chance.dice import Dice
from dplearn.domains import Bits, Categories, Schema
from dplearn.domains.base import Domain
from dplearn.privacy import ApproxDP
from dplearn.releases.synthetic_table import TableStages
from dplearn.releases.table_columns import table_columns
from dplearn.releases.table_plan import checked_layout

__all__ = ["CASES", "SYNTHETIC_REPLAYS", "synthetic_case"]

_BIT = Bits(binarize=None)


def synthetic_case(
    name: str,
    domains: Sequence[Domain],
    universe: Sequence[tuple[Any, ...]],
    n: int,
    *,
    claim: ApproxDP,
    target: int | None = None,
    degree: int = 2,
    required: Required,
) -> AuditCase:
    """Return a case of the release of a synthetic table.

    Parameters
    ----------
    name : str
        Name of the case.
    domains : sequence of Domain
        The domain of each column.
    universe : sequence of tuple
        Records: a cell of each column.
    n : int
        Number of records.
    claim : ApproxDP
        The guarantee. With delta the noise is Gaussian, and the case is for replay.
    target : int, optional
        The place of the target.
    degree : int, default=2
        As for `SyntheticTable`.
    required : Required
        Required evidence of the case.
    """
    schema = Schema({f"x{place}": domain for place, domain in enumerate(domains)})
    layout = replace(
        checked_layout(table_columns(schema, 4), target, degree, 1 << 10), most_error=math.inf
    )

    def fit(rows: Rows, dice: Dice) -> tuple[str, Any]:
        stages = TableStages(schema, layout, claim, reach=0)
        records = stages.read([list(row) for row in rows])
        plan = stages.plan(len(records))
        found = stages.release(stages.summarize(records, plan), plan, dice).tables
        base = [table.tolist() for table in found.base]
        steps = [
            (step.column, step.parents, None if step.table is None else step.table.tolist())
            for step in found.steps
        ]
        model = [(parents, given.tolist()) for parents, given in found.model.conditionals.values()]
        return f"{base} {steps}", model

    return AuditCase(
        name,
        fit,
        universe,
        n,
        claim,
        ordered=False,
        rules=None,
        verifies=("SyntheticTable",),
        part_of=("SyntheticDataClassifier", "SyntheticDataRegressor"),
        required=required,
    )


_PAIRS = [(one, other) for one in range(2) for other in range(2)]
_TRIPLES = [(*pair, bit) for pair in _PAIRS for bit in range(2)]

CASES = (
    synthetic_case("synthetic_table", [_BIT] * 2, _PAIRS, 2, claim=ApproxDP(2), required=Required(10, 0.5)),
    synthetic_case(
        "synthetic_table_of_three_columns",
        [_BIT] * 3,
        _TRIPLES,
        1,
        claim=ApproxDP("1.9"),
        degree=1,
        required=Required(8, 0.5),
    ),
    synthetic_case(
        "synthetic_table_with_target",
        [_BIT] * 2,
        _PAIRS,
        2,
        claim=ApproxDP(2),
        target=1,
        required=Required(10, 0.5),
    ),
)
