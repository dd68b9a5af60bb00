"""Which tables are neighbours, and what a guarantee therefore assumes: texts that a relation selects.

>>> Relation(groups=True).assuming(ApproxDP(1, assumes=(N_IS_PUBLIC,))).assumes[0]
'the number of groups is public'
>>> without_count((N_IS_PUBLIC, "labels are among the declared classes"))
('the table has at least one record', 'labels are among the declared classes')
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from dplearn.privacy import ApproxDP
from dplearn.privacy.unknown_count import AT_LEAST_ONE

#: The first entry of `assumes` in the guarantee of every release for one replaced record.
N_IS_PUBLIC = "the number of records is public"
#: The assumption of a guarantee that protects groups.
GROUPS = (
    "the set of groups is public; the number of rows of a group is not, and a group's rows are in no other"
    " group"
)
#: The assumption of a guarantee about a table in parts.
PARTS = (
    "the number of parts, their lengths, and the part and place of each record are public and do not depend"
    " on values; a part has the same records each time it is read"
)
#: The same where records are groups of rows, and the lengths are not public.
PARTS_OF_GROUPS = (
    "the number of parts is public, a part has the same rows each time it is read, and the order of a group's"
    " rows depends on no other group"
)
COLUMNS = "the number of records and the number, names and types of the columns are public"
COLUMNS_AND_CATEGORIES = COLUMNS + ", the categories of categorical columns among them"
ROWS = "each row of X is made from one record alone, by rules that are public or were released privately"
#: The assumptions of guarantees about a table; for its labels see `labels_assumed`.
TABLE = (COLUMNS, ROWS)
#: As `ROWS`, of the rows of a table without labels.
ROWS_OF_TABLE = (
    "each row of the table is made from one record alone, by rules that are public or were released privately"
)


class _Variants(NamedTuple):
    """An assumption about records, where records are groups, and where their number is private."""

    groups: str
    uncounted: str | None


_VARIANTS = {
    N_IS_PUBLIC: _Variants("the number of groups is public", None),
    COLUMNS: _Variants(
        "the number of groups and the number, names and types of the columns are public",
        "the number, names and types of the columns are public",
    ),
    COLUMNS_AND_CATEGORIES: _Variants(
        "the number of groups and the number, names and types of the columns are public, the categories of"
        " categorical columns among them",
        "the number, names and types of the columns are public, the categories of categorical columns among"
        " them",
    ),
    ROWS: _Variants(
        "each row of X is made from rows of one group alone, by rules that are public or were released"
        " privately",
        ROWS,
    ),
    ROWS_OF_TABLE: _Variants(
        "each row of the table is made from rows of one group alone, by rules that are public or were"
        " released privately",
        ROWS_OF_TABLE,
    ),
}


@dataclass(frozen=True)
class Relation:
    """What a record of a table is, and where the table is."""

    groups: bool = False  # whether a record is a group of rows; else it is a row
    parts: bool = False  # whether one part of the rows at a time is in memory
    uncounted: bool = False  # whether a neighbour has one record more or less, and their number is private

    @property
    def features(self) -> tuple[str, ...]:
        """Those of `dplearn.fit.support` that a table has."""
        return tuple(name for name in ("parts", "groups") if getattr(self, name))

    def protecting(self, cost: ApproxDP) -> ApproxDP:
        """Return the cost of a fit for one replaced row as that for one replaced record."""
        return replace(cost, protects="groups") if self.groups else cost

    def assuming(self, guarantee: ApproxDP) -> ApproxDP:
        """Return the guarantee of a fit for one replaced row as that for one replaced record."""
        assumes = without_count(guarantee.assumes) if self.uncounted else guarantee.assumes
        if self.groups:
            assumes = (*(_variants(each).groups for each in assumes), GROUPS)
        if self.parts:
            assumes = (*assumes, PARTS_OF_GROUPS if self.groups else PARTS)
        return replace(self.protecting(guarantee), assumes=assumes)

    def planned(self, plan: Any) -> Any:
        """Return a plan with the guarantee for one replaced record."""
        return replace(plan, guarantee=self.assuming(plan.guarantee)) if self != Relation() else plan


def without_count(assumes: Iterable[str]) -> tuple[str, ...]:
    """Return assumptions of a guarantee for one replaced record as those of one for one added record."""
    kept = (_variants(each).uncounted for each in assumes if each != AT_LEAST_ONE)
    return (AT_LEAST_ONE, *(each for each in kept if each is not None))


def _variants(assumption: str) -> _Variants:
    return _VARIANTS.get(assumption, _Variants(assumption, assumption))
