"""The one conductor of fits and releases: `execute` carries out a recipe on a private table.

A recipe is a value of checked parameters. In this order

1. the recipe's cost is compared with what is left in the ledger;
2. `read` validates and encodes the rows: all of them, or of a table in parts each part in each pass;
3. `prepared` adds public facts of the whole table, and `plan` fixes the guarantee from public facts alone;
   what cannot be carried out is refused, and the warnings of the plan are issued;
4. the ledger is charged with the guarantee of the plan;
5. `run` makes all secret draws, and returns what is released.

Methods of a recipe, in the order of their calls: `cost_of`, `chosen`, `read` (of a fit: `encoded`),
`prepared` (`plan`; of a fit `known` before it and `try_out` after it), the charge, `summarized` (of a fit:
`summarize` of the rows of each part), `run` (of a fit that only asks queries: `learn`). After a fit the
estimator calls `publish` (its own `_publish`) and `late_warnings`. Nothing is spent before step 4, and no
private value is read before step 2. An audit calls the same functions with enumerating dice.
"""

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._progress import progress
from dplearn.chance import PublicStream
from dplearn.chance.dice import Dice
from dplearn.domains.cells import columns_read_once, is_frame
from dplearn.fit.relation import Relation
from dplearn.fit.support import refuse_unsupported
from dplearn.kernels import float_errors_ignored
from dplearn.privacy import ApproxDP, PrivacyLedger, open_account
from dplearn.privacy.guarantees import in_words
from dplearn.privacy.unknown_count import ADDED
from dplearn.table import Given, InMemory, Table, count_of, table_in_memory
from dplearn.table.groups import SHIFTS, grouped_parts, grouping_of, groups_in_parts, selected
from dplearn.table.passes import PartsChangedError
from dplearn.table.sources import check_index, table_in_parts

GREATEST_EPSILON = 1e100  # of a fit or a release; plans calculate with floats


@dataclass(frozen=True)
class Facts:
    """The public facts of a table."""

    n_samples: Any  # None where it is private


class Recipe(ABC):
    """What a learner or a release does, with checked parameters."""

    name: str  # for the ledger's history
    cost: ApproxDP  # the most that it costs, with its neighbours and what it protects
    random_state: Any = None  # of public choices, such as the rows of groups that take part
    takes = "X"  # the parameter with the table, for messages
    unequal = "X and y must have equal numbers of samples, got {} and {}"
    reads_parts = True
    named = True  # whether parts have columns with names, one of which may hold the groups
    # How many rows of a group take part; None: one, chosen before the table is read. Votes put all rows of a
    # group into one shard, and have 1 here.
    group_rows: int | None = None
    repeated = True  # whether a group with fewer rows repeats them, so that each group has `group_rows`
    keeps_types = False  # whether rows keep their types, so that all parts have the same categories

    @property
    def uncounted(self) -> bool:
        """Whether a neighbour has one record more or less, and the number of records is private."""
        return self.cost.neighbors == ADDED

    @abstractmethod
    def read(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Validate and encode rows in memory, all or those of a part; return public facts, and the rows.

        Inside the declared domain no error, warning, type or size depends on the values, and each row is made
        from its own row alone. Nothing is drawn.
        """

    @abstractmethod
    def plan(self, facts: Any, /) -> Any:
        """Return the plan for one replaced record, from public facts and further arguments of plans.

        Its `guarantee` costs at most `cost`.
        """

    def summarized(self, table: Table, plan: Any) -> Any:  # noqa: ARG002 - of use to subclasses
        """Return what `run` is given of the table, without a draw; an audit does this once for all paths."""
        return table

    @abstractmethod
    def run(self, table: Any, plan: Any, dice: Dice) -> Any:
        """Make all secret draws, and return what is released."""

    def parts_of(self, X: Any, y: Any) -> Table | None:
        """Return the table in parts that is given, or None if it is in memory."""
        return table_in_parts(X, y)

    def in_memory(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Return a table in memory, one of Arrow as a data frame, and its labels."""
        return (table_in_memory(X) if hasattr(X, "to_pandas") else X), y

    def from_parts(self, table: Table) -> tuple[Any, Table]:
        """Return the public facts of all parts, and the table of their encoded rows."""
        found, rows = table.read(self.read_part, self.takes, categories=self.keeps_types)
        facts = self.facts_of_all([each for each in found if each is not None])
        return replace(facts, n_samples=len(rows)), rows

    def facts_of_all(self, found: Sequence[Any]) -> Any:
        """Return the facts of all parts but the number of records, from those of each part with rows."""
        return found[0]

    def read_part(self, X: Any, y: Any) -> tuple[Any, Any]:
        """Validate and encode the rows of a part, if not as those in memory."""
        return self.read(X, y)

    def cost_of(self, X: Any, y: Any) -> ApproxDP | None:  # noqa: ARG002 - of use to subclasses
        """Return the greatest cost of carrying it out on a table, of which only shapes are read.

        None: unknown, for example if X is None.
        """
        return self.cost

    def uses(self, name: str) -> bool:  # noqa: ARG002 - of use to subclasses
        """Return whether a column of X of this name is a feature."""
        return False

    def chosen(self) -> "Recipe":
        """Return the recipe with the public choices that precede the data; of use to subclasses."""
        return self

    def planned(self, facts: Any, **more: Any) -> Any:
        """Return the plan for the neighbours of `cost`; a private number of records is a guess, or None."""
        plan = self.plan(facts, **more)
        return Relation(uncounted=True).planned(plan) if self.uncounted else plan

    def prepared(self, facts: Any, table: Table) -> tuple[Any, Any]:  # noqa: ARG002 - of use to subclasses
        """Return the facts with those that need the whole table or public rows, and the plan of them."""
        return facts, self.planned(facts)


@dataclass(frozen=True, repr=False, eq=False)
class Ready:
    """A recipe whose table has been read and planned: what follows are draws."""

    recipe: Recipe
    table: Table  # private
    plan: Any

    @cached_property
    def summary(self) -> Any:
        return self.recipe.summarized(self.table, self.plan)

    def run(self, dice: Dice) -> Any:
        return self.recipe.run(self.summary, self.plan, dice)

    def done(self, dice: Dice) -> "Done":
        """Make the draws, and return what is left of it all."""
        return Done(self.recipe, self.table.facts, self.plan, self.run(dice))


@dataclass(frozen=True, eq=False)
class Done:
    """What a recipe has left: no private value."""

    recipe: Recipe  # as `chosen` returned it
    facts: Any
    plan: Any
    released: Any  # released


def begin(recipe: Recipe, X: Any, y: Any = None, *, groups: Any = None) -> Ready:
    """Read a table and plan a recipe, without a secret draw or a charge.

    An error about the number of records says so where these are groups of rows.
    """
    try:
        return _begun(recipe, X, y, groups)
    except ValueError as error:
        if groups is None or type(error) is not ValueError or not _COUNTS.search(str(error)):
            raise
        refused = str(error)
    raise ValueError(f"{refused}; groups count as records")  # not in the handler, whose traceback holds rows


def _begun(recipe: Recipe, X: Any, y: Any, groups: Any) -> Ready:
    recipe = recipe.chosen()
    parts = recipe.parts_of(X, y)
    if parts is None:
        _apart(recipe, Given(X, y, groups))
    else:
        parts = parts.map(partial(_apart, recipe))
    features = ("parts",) * (parts is not None) + ("groups",) * (groups is not None)
    if features:  # all else has been refused where the recipe was made
        refuse_unsupported(recipe, *features)
    facts, table = _read(recipe, X, y, parts, groups)
    facts, plan = recipe.prepared(facts, table)
    if features:
        plan = Relation(groups=groups is not None, parts=parts is not None).planned(plan)
    return Ready(recipe, replace(table, facts=facts), plan)


def execute(
    recipe: Recipe,
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    ledger: PrivacyLedger | None = None,
    dice: Dice,
    stacklevel: int = 3,
) -> Done:
    """Carry out a recipe; `groups` are those of the rows, or of a table in parts the name of their column."""
    cost = recipe.cost_of(X, y)
    if cost is not None and groups is not None:
        cost = replace(cost, protects="groups")
    charge = open_account(ledger, cost, name=recipe.name)
    with float_errors_ignored(), columns_read_once(), progress():
        ready = begin(recipe, X, y, groups=groups)
        warn(ready.plan.warnings, ready.plan.guarantee, stacklevel=stacklevel)
        charge(ready.plan.guarantee)
        with suppress(KeyboardInterrupt):
            return ready.done(dice)
        # Outside of a handler, so that it has no context: that of a model may quote records.
        raise KeyboardInterrupt(_INTERRUPTED.format(recipe.name, in_words(ready.plan.guarantee)))


def warn(texts: Iterable[str], guarantee: ApproxDP, *, stacklevel: int) -> None:
    """Issue the warnings of a plan or a fit."""
    for text in issued(texts, guarantee):
        warnings.warn(text, UserWarning, stacklevel=stacklevel + 1)


def issued(texts: Iterable[str], guarantee: ApproxDP) -> list[str]:
    """Return warnings as they are issued; where records are groups of rows, they say so of their number."""
    if guarantee.protects != "groups":
        return list(texts)
    groups = ", the number of groups, which count as records:"
    return [text.replace(":", groups, 1) if text.startswith("n_samples is ") else text for text in texts]


_COUNTS = re.compile(r"number of records|\d records|n_samples")
_INTERRUPTED = (
    "{} was interrupted after its charge: it has spent {}, and shows nothing for it; what was drawn is thrown"
    " away, since a part of it is not what the guarantee is for"
)
_FEATURE_TOO = (
    "{0} has the name and the type of a column of X that is used as a feature, {1!r}: give"
    " X.drop(columns={1!r}), and no domain of that column; if it is to stay, {0}.to_numpy() has no name"
)


def _apart(recipe: Recipe, given: Given) -> Given:
    """Return rows; refuse labels or groups that are a feature too, by names and types, which are public."""
    for what, column in (("y", given.y), ("groups", given.ids)) if is_frame(given.X) else ():
        own = [getattr(column, "name", None)], [getattr(column, "dtype", None)]
        names, types = (column.columns, column.dtypes) if is_frame(column) else own
        for name, dtype in zip(names, types, strict=True):
            alike = (name, dtype) in zip(given.X.columns, given.X.dtypes, strict=True)
            if name and isinstance(name, str) and alike and recipe.uses(name):
                raise ValueError(_FEATURE_TOO.format(what, name))
    return given


def _read(recipe: Recipe, X: Any, y: Any, parts: Table | None, groups: Any) -> tuple[Any, Table]:
    """Return the public facts, and the table of encoded rows."""
    if groups is None and parts is not None:
        return recipe.from_parts(parts)
    if groups is None:
        facts, rows = recipe.read(*recipe.in_memory(X, y))
        facts = replace(facts, n_samples=None) if recipe.uncounted else facts
        return facts, Table(InMemory(rows))
    check_index("groups", groups, X, of=recipe.takes)
    if parts is None:
        facts, table, n_groups = _read_groups(recipe, *recipe.in_memory(X, y), groups)
    else:
        facts, table, n_groups = _read_groups_of_parts(recipe, parts, groups)
    return replace(facts, n_samples=n_groups), table


def _read_groups(recipe: Recipe, X: Any, y: Any, groups: Any) -> tuple[Any, Table, int]:
    """Read a table in memory whose records are groups of its rows."""
    n, most = count_of(X), recipe.group_rows or 1
    if hasattr(y, "__len__") and count_of(y) != n:  # before some of them are selected
        raise ValueError(recipe.unequal.format(n, count_of(y)))
    grouping = grouping_of(groups, n, most=most, shifts=_shifts(recipe))
    if recipe.group_rows and recipe.repeated:
        facts, rows = recipe.read(X, y)
        return facts, Table(InMemory(rows)).grouped(grouping), grouping.n_groups
    places: NDArray[np.int64] = grouping.once().slots[:, 0]
    facts, rows = recipe.read(selected(X, places), None if y is None else selected(y, places))
    return facts, Table(InMemory(rows)), grouping.n_groups


def _read_groups_of_parts(recipe: Recipe, parts: Table, groups: Any) -> tuple[Any, Table, int]:
    """Read a table in parts, of which a column, or parts beside them, hold the groups."""
    given = (grouped_parts if recipe.named else groups_in_parts)(parts, groups)
    grouping = given.grouping(recipe.group_rows or 1, _shifts(recipe))
    unequal = f"{recipe.takes} and their groups must have the same parts each time"
    if not (recipe.group_rows and recipe.repeated):
        once = grouping.once()
        chosen, order = given.chosen(once)
        try:
            facts, table = recipe.from_parts(chosen)
            if len(table) != once.n_groups:  # the parts of the rows end before those of the groups
                raise PartsChangedError
        except PartsChangedError:
            if recipe.named:
                raise
            raise ValueError(unequal) from None
        return facts, replace(table, order=order), grouping.n_groups
    facts, table = recipe.from_parts(given.table)
    if table.lengths != list(given.lengths):
        raise PartsChangedError if recipe.named else ValueError(unequal)
    return facts, table.grouped(grouping), grouping.n_groups


def _shifts(recipe: Recipe) -> Any:
    """Return the public chance by which rows of groups are chosen."""
    return partial(PublicStream.of(recipe.random_state, recipe.name, "groups").labels, SHIFTS)
