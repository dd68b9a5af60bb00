"""Which tables are neighbours: what a guarantee assumes for each relation, and a private number of records.

For neighbors="add_remove" a share of the budget estimates the number of records. The rest of the fit is that
of a plan for as many records and the remaining budget, a function of public values and this estimate.

>>> Relation(groups=True).assuming(ApproxDP(1, assumes=(N_IS_PUBLIC,))).assumes[0]
'the number of groups is public'
>>> without_count((N_IS_PUBLIC, "labels are among the declared classes"))
('the table has at least one record', 'labels are among the declared classes')
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NamedTuple, cast

from dplearn.chance.dice import Dice
from dplearn.mechanisms import gaussian_counts, laplace_counts
from dplearn.privacy import ApproxDP, ZeroConcentratedDP
from dplearn.privacy.shares import CONCENTRATED, GAUSSIAN, concentrated_budget, gaussian_budget
from dplearn.privacy.unknown_count import ADDED, AT_LEAST_ONE, COUNT_SHARE, MOST_RECORDS

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
#: The assumption of guarantees with public rows.
PUBLIC_ROWS = "the rows in X_public are public"
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

    def assuming(self, guarantee: ApproxDP) -> ApproxDP:
        """Return the guarantee of a fit for one replaced row as that for one replaced record."""
        assumes = without_count(guarantee.assumes) if self.uncounted else guarantee.assumes
        if self.groups:
            assumes = (*(_variants(each).groups for each in assumes), GROUPS)
        if self.parts:
            assumes = (*assumes, PARTS_OF_GROUPS if self.groups else PARTS)
        protects = "groups" if self.groups else guarantee.protects
        return replace(guarantee, protects=protects, assumes=assumes)

    def planned(self, plan: Any) -> Any:
        """Return a plan with the guarantee for one replaced record."""
        return replace(plan, guarantee=self.assuming(plan.guarantee))


def without_count(assumes: Iterable[str]) -> tuple[str, ...]:
    """Return assumptions of a guarantee for one replaced record as those of one for one added record."""
    kept = (_variants(each).uncounted for each in assumes if each != AT_LEAST_ONE)
    return (AT_LEAST_ONE, *(each for each in kept if each is not None))


def _variants(assumption: str) -> _Variants:
    return _VARIANTS.get(assumption, _Variants(assumption, assumption))


_ANY = 1  # a number of records by which parameters are checked before one is known


def plan_with_count(
    plan_of: Callable[[ApproxDP, Any], Any], cost: ApproxDP, facts: Any, rest: ApproxDP | None = None
) -> Any:
    """Return a plan whose guarantee is for one added or removed record.

    `plan_of` maps a cost and facts with a number of records to a plan, whose guarantee has the assumptions
    for a replaced record. `rest`: the cost of all but the estimate; None: of queries with the noise of the
    cost. In a fit, `for_count` maps an estimate to the plan of all else. Errors are those for the fewest and
    the most records.
    """
    left, guess = _rest(cost) if rest is None else rest, cast("int | None", facts.n_samples)

    def for_count(n: int) -> Any:
        return plan_of(left, replace(facts, n_samples=n))

    plan = for_count(_ANY if guess is None else guess)
    guarantee = replace(cost, assumes=without_count(plan.guarantee.assumes))
    if guess is not None:
        return replace(plan, guarantee=guarantee)
    for_count(MOST_RECORDS)  # if the plan for an estimate raises an error, so does one of these two
    return replace(plan, guarantee=guarantee, public=facts, for_count=for_count)


def shares_with_count(
    cost: ApproxDP, *, concentrated: bool
) -> tuple[ApproxDP | ZeroConcentratedDP, ApproxDP]:
    """Return the guarantee of an estimate of the number of records, and that of the rest of a fit.

    If the rest is `concentrated` and has a delta, rho is divided. Otherwise epsilon is, and the rest has the
    whole delta; an epsilon far below delta leaves nothing for it, and is refused.
    """
    share = Fraction(COUNT_SHARE)
    if not (concentrated and cost.delta):
        return ApproxDP(share * cost.epsilon, neighbors=ADDED), replace(
            cost, epsilon=(1 - share) * cost.epsilon
        )
    whole = concentrated_budget(cost)
    rest = CONCENTRATED.epsilon_within((1 - share) * whole, cost.delta)
    if not rest:
        raise ValueError(
            "epsilon must be larger, or delta smaller, for a positive epsilon after the number of records is"
            f" estimated, got epsilon {float(cost.epsilon):g} and delta {float(cost.delta):g}; a given"
            " n_teachers needs no estimate"
        )
    return ZeroConcentratedDP(share * whole, neighbors=ADDED), replace(cost, epsilon=rest)


def noisy_count(
    n: int, privacy: ApproxDP | ZeroConcentratedDP, dice: Dice, *, most_records: int = MOST_RECORDS
) -> int:
    """Return a noisy number of records, from 1 to the public `most_records`; an added record moves n by 1."""
    ends: dict[str, Any] = {"dice": dice, "low": 1, "high": most_records}
    if isinstance(privacy, ZeroConcentratedDP):
        return int(gaussian_counts(n, privacy=privacy, **ends))
    return int(laplace_counts(n, privacy=privacy, **ends))


def warnings_with_count(plan: Any, n: int) -> tuple[str, ...]:
    """Return the warnings of a fit with an estimated number of records."""
    start, told = f"n_samples is {n}:", f"the noisy number of records is {n}:"
    return tuple(text.replace(start, told, 1) for text in plan.for_count(n).warnings)


def _rest(cost: ApproxDP) -> ApproxDP:
    """Return the cost of a fit without the share for the number of records."""
    assert cost.neighbors == ADDED
    share = 1 - Fraction(COUNT_SHARE)
    if not cost.delta:
        return replace(cost, epsilon=share * cost.epsilon)
    return replace(cost, epsilon=GAUSSIAN.epsilon_within(share * gaussian_budget(cost), cost.delta))
