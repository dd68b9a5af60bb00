"""Audit cases of `describe`: whole releases with Laplace noise, of few cells; Gaussian ones are replayed."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from typing import Any

from dplearn.audit.case import NOTHING_REQUIRED, AuditCase, Required
from dplearn.audit.cases.groups import groups_of
from dplearn.audit.cases.synthetic_table import same_tables
from dplearn.audit.fits import ReleaseFit, Rows
from dplearn.audit.replay import RULES, moved_by
from dplearn.domains import Domain, IntegerRange, Schema
from dplearn.domains.cells import object_array
from dplearn.privacy import ApproxDP
from dplearn.releases.cell_statistics import ColumnSums
from dplearn.releases.describe import Choices, _Describe

__all__ = ["CASES", "REPLAYS"]

_BIT = IntegerRange(0, 1)


class _Few(_Describe):
    steps, most_records = 2, 2


class _FewOfLeastNoise(_Few):
    """With Laplace noise, whose outcomes are few, in the sums that have Gaussian noise."""

    @cached_property
    def described(self) -> tuple[ColumnSums, ...]:
        asked = {"quantiles": True, "means": True, "gaussian": True}
        return tuple(ColumnSums.of(each, self.steps, **asked) for each in self.columns)


class _Coarse(_Describe):
    cells = 16


def _shown(found: Any) -> tuple[str, Any]:
    # Six places would show 1.0000005, which rounds up or down by the processor.
    cells = [(group.cells.round(5) + 0.0).tolist() for column in found.measured for group in column]
    return str(cells), (found.groups, [tuple(map(str, each)) for each in found.statistics()])


def _table(rows: Rows) -> Any:
    return object_array([cell for row in rows for cell in row]).reshape(len(rows), -1)


def _of_groups(rows: Rows) -> Any:
    return _table(tuple(chain.from_iterable(rows)))


def _case(
    name: str,
    domains: Sequence[Domain],
    universe: Sequence[Any],
    n: int,
    claim: ApproxDP,
    *,
    by: tuple[str, ...] = (),
    statistics: tuple[str, ...] = ("count", "50%"),
    group_rows: int | None = None,
    moves: int,
    required: Required,
    kind: type[_Describe] = _Few,
) -> AuditCase:
    schema = Schema({f"x{place}": domain for place, domain in enumerate(domains)})
    choices = Choices(by, statistics, group_rows)
    cost = replace(claim, protects="examples")

    def make() -> _Describe:
        return kind(schema, choices, cost, random_state=0)

    in_groups = claim.protects == "groups"
    return AuditCase(
        name,
        ReleaseFit(make, _of_groups if in_groups else _table, _shown, groups_of if in_groups else None),
        universe,
        n,
        claim,
        ordered=False,
        rules={**RULES, "discrete_laplace": moved_by(moves)},
        verifies=("Described",),
        required=required,
    )


_PAIRS = [(one, other) for one in range(2) for other in range(2)]

CASES = (
    _case("describe", [_BIT], [(0,), (1,)], 2, ApproxDP(1), moves=2, required=Required(3, 0.99)),
    *(
        _case(name, [_BIT] * 2, _PAIRS, 1, ApproxDP(2), by=("x0",), statistics=(of,), moves=2, required=need)
        for name, of, need in (
            ("describe_by", "count", Required(2, 0.99)),
            ("describe_quantiles_by", "50%", Required(4, 0.99)),
        )
    ),
    _case(
        "describe_moments",
        [IntegerRange(0, 1, missing=True)],
        [(0,), (1,), (None,)],
        1,
        ApproxDP(1),
        statistics=("mean", "std"),
        moves=6,
        required=Required(3, 0.7),
    ),
    _case(
        "describe_means_and_quantiles",
        [_BIT],
        [(0,), (1,)],
        1,
        ApproxDP(1),
        statistics=("mean", "50%"),
        moves=12,
        required=Required(2, 0.83),
        kind=_FewOfLeastNoise,
    ),
    _case(
        "describe_added",
        [_BIT],
        [(0,), (1,)],
        2,
        ApproxDP(1, neighbors="add_remove"),
        moves=1,
        required=Required(4, 0.7),
    ),
    _case(
        "describe_of_groups",
        [_BIT],
        [((0,),), ((1,),), ((0,), (0,)), ((1,), (1,), (1,))],
        1,
        ApproxDP(1, protects="groups"),
        group_rows=2,
        moves=4,
        required=Required(3, 0.49),
    ),
)

_RECORDS = tuple(
    (None if k % 9 == 0 else k % 100, k % 3) for k in (pow(17, 5 * i, 8191) for i in range(1, 7))
)


def _replay(name: str, statistics: tuple[str, ...]) -> AuditCase:
    case = _case(
        name,
        [IntegerRange(0, 99, missing=True), IntegerRange(0, 2)],
        _RECORDS,
        len(_RECORDS),
        ApproxDP(1, "1e-6"),
        by=("x1",),
        statistics=statistics,
        moves=0,
        required=NOTHING_REQUIRED,
        kind=_Coarse,
    )
    return replace(case.with_fit(same_tables(case.fit)), rules=RULES)


#: Releases with Gaussian noise, which are replayed on neighbours.
REPLAYS = (
    _replay("describe_gaussian", ("count", "25%")),
    _replay("describe_means", ("mean", "std")),
    _replay("describe_values_and_quantiles", ("mean", "25%")),
)
