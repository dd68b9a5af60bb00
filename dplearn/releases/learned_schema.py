"""Private release of a schema: ranges of numbers and lists of categories, from a table without declarations.

Only the kinds of the columns are public: numbers, integers, booleans or categories. Every cell has a code:
numbers beyond a range are clipped, unlisted categories share a code, and missing cells have one.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from dplearn._documented import documented_by
from dplearn._validation import check_number
from dplearn._writing import first_of
from dplearn.chance.dice import Dice
from dplearn.domains import Categories, Domain, Floats, Grid, Hashed, IntegerRange, Product
from dplearn.domains.cells import as_factor, cells_of, is_frame, is_missing, is_number, mapped, read_column
from dplearn.domains.column_kinds import STEPS, ColumnKinds, declared_kinds, kinds_of
from dplearn.domains.dates import Dates, covering, everything
from dplearn.domains.factors import Factor
from dplearn.domains.keys import key_counts, read_keys
from dplearn.fit import N_IS_PUBLIC, Facts
from dplearn.kernels import Cell, Ranks, log_bounds, root_below
from dplearn.kernels.ranks import UnsortedCodes
from dplearn.mechanisms.rank_selection import code_by_cost, examined_ranks
from dplearn.mechanisms.stable_histogram import frequent_keys, frequent_keys_threshold
from dplearn.privacy import ApproxDP, PrivacyLedger, ZeroConcentratedDP
from dplearn.privacy.calibration import calibrate
from dplearn.privacy.composition import Composition, least_epsilon
from dplearn.privacy.events import BoundedRange, Event, Gaussian, ZeroConcentrated
from dplearn.privacy.plan import hidden, noted
from dplearn.releases.release import (
    ColumnRelease,
    Release,
    Released,
    ReleasePlan,
    checked_cost,
    few_records,
)
from dplearn.table import Columns, Table, parted_ranks

_TYPES_ARE_PUBLIC = "the number, names and types of the columns are public"
#: The numbers among which ranges are found: 20 significand bits resolve spreads of a millionth of a value.
NUMBERS = Floats(significand_bits=20, smallest=2.0**-64, largest=2.0**64, missing=True, outside="accept")
_BOOLEANS = Categories([False, True, None], other=True)
_HASHED = Hashed(32)  # without lists; with 64 buckets the AUC on a table of 1,470 records was less by .07
_MOST_CODES = 2048  # of a one-hot encoded record, unless more columns need more; tables stay narrow
_LEAST_TAIL, _MOST_TAIL, _TAILS = 5, 250, 1000  # of the records beyond either end of a range, in thousandths
_MOST_COUNT = 4  # lists of categories need this many times the threshold
_STEPS = 8  # a range consists of 8 to 18 steps, each a power of two
_UNLISTED = (
    "delta is 0: categories are not listed, and are 'other' in synthetic records; take delta above 0, or"
    " declare domain=Schema(...)"
)
_OTHER: tuple[Hashable, ...] = ()  # the key of cells that no list of categories contains
_CENTER = 0.5  # the tail without a range
_SHOWN = 5  # columns in a warning
_PUBLIC_POINTS, _APART = 1 << 32, 0.9  # of a range of public numbers, of which it keeps such a share apart


@dataclass(frozen=True)
class SchemaDetail:
    """How fine learned domains are: public, and post-processing of the released ends and lists."""

    points: int = 1025  # of the grid in a learned range; integers with fewer values are kept apart
    listed: int | None = None  # the most categories of a column; None: so few that all codes are few
    drawn: bool = False  # numbers will be drawn: ends are not round, so that few lie beyond the table's
    medians: bool = False  # with too few records for ranges, the median of each column is released


_DETAIL = SchemaDetail()


@dataclass(frozen=True)
class LearnedSchemaPlan(ReleasePlan):
    """The plan of `learned_schema`.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the release.
    n_samples : int
        Number of records.
    tail : float or None
        The ends of a range are selected at this fraction of the records from either end; None if no ranges
        are released. 0.5: of a synthetic table with too few records for ranges; both ends are the median.
    error : int or None
        With probability at least 1 - beta the numbers of at most tail n + error records lie below their
        column's range, likewise above it, and either end lies within the column's numbers before it is moved
        outward, for all columns with tail n + error numbers or more.
    threshold : int or None
        The least noisy count of a listed category; None if no lists are released, and categories are hashed.
    n_needed : int
        Number of records from which on all ranges and all lists are released.
    beta : float
        Probability of failure, as given; 0.05 in the plan of a release.
    """

    tail: float | None
    error: int | None = field(metadata=noted("of a rank"))
    threshold: int | None = field(metadata=noted("of a category's count"))
    beta: float
    columns: Any = hidden()  # ColumnKinds
    parts: Any = hidden()
    numbers: Any = hidden()  # the domain of numbers without a range
    curated: bool = hidden(True)  # False: nothing may be released
    detail: SchemaDetail = hidden(_DETAIL)

    @property
    def is_free(self) -> bool:
        """Whether nothing private is released: all columns are booleans, hashed, or without a range."""
        return self.tail is None and self.threshold is None

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings if no types show the kinds, or if there are too few records for ranges or for lists."""
        texts: list[str] = []
        kinds: tuple[str, ...] = (self.columns.note,) if self.columns.note else ()
        if not self.curated:
            return kinds
        if self.tail is None and self.columns.of_numbers:
            texts.append(
                "numbers have no learned range, and are told apart by their powers of two, so that a model"
                " may be no better than a constant"
            )
        if self.tail == _CENTER:
            texts.append(
                "numbers have a learned median and no range, and bins that grow with the distance from it"
            )
        unlisted = self.threshold is None and bool(self.columns.of_categories)
        if unlisted and self.guarantee.delta:
            rest = "'other'" if self.detail.drawn else "hashed"
            texts.append(f"categories are not listed, and are {rest}")
        if unlisted and self.detail.drawn and not self.guarantee.delta:
            kinds += (_UNLISTED,)
        return kinds + tuple(
            few_records(
                self.n_samples,
                f"with epsilon {float(self.guarantee.epsilon):.3g} for the schema, {text}; {self.n_needed}"
                f" records are enough for a schema of all {len(self.columns)} columns",
                "spend more epsilon",
                "leave columns out",
                "declare domain=Schema(...)",
                subset="release a schema of all records by learned_schema, and pass it as domain=",
            )
            for text in texts
        )

    @property
    def most(self) -> int:
        """The greatest number of listed categories of a column."""
        if self.detail.listed is not None:
            return self.detail.listed
        d_lists, d_numbers = len(self.columns.of_categories), len(self.columns.of_numbers)
        return max(1, (_MOST_CODES - 2 * d_numbers) // max(1, d_lists) - 2)

    @property
    def narrowest(self) -> Product:
        """A public schema with as few codes as a learned one can have."""
        return self._public_schema(1)

    @property
    def widest(self) -> Product:
        """A public schema with as many codes as a learned one can have."""
        return self._public_schema(self.most)

    @property
    def unranged(self) -> Product:
        """The widest schema if no column has a range: one with few numbers has none."""
        return self._public_schema(self.most, ranged=False)

    def _public_schema(self, n_listed: int, *, ranged: bool = True) -> Product:
        of_kind = {kind: self.without_range(kind) for kind in ("numbers", "integers", *STEPS)}
        if ranged and self.tail is not None:
            points = self.detail.points
            of_kind |= dict.fromkeys(("numbers", "integers"), Grid(0.0, 1.0, points, "accept", missing=True))
            of_kind |= {kind: Dates(0, points - 1, STEPS[kind], "accept", missing=True) for kind in STEPS}
        listed = _HASHED if self.threshold is None else _any_categories(n_listed)
        of_kind |= {"booleans": _BOOLEANS, "categories": listed}
        kinds: ColumnKinds = self.columns
        return kinds.schema(of_kind[kind] for kind in kinds.kinds)

    def without_range(self, kind: str) -> Domain:
        """Return the domain of a column of numbers or dates of which no range is learned."""
        return everything(STEPS[kind]) if kind in STEPS else self.numbers


@dataclass(frozen=True, eq=False)
class LearnedSchema(Released):
    """The result of `learned_schema`.

    Attributes
    ----------
    schema : Product
        Released. The domain of each column, a `Schema` if the columns have names; accepted as `domain=`. No
        cell is outside it.
    plan : LearnedSchemaPlan
        Public. The plan of the release.
    guarantee : ApproxDP
        Public. The guarantee of the release.
    """

    schema: Product
    plan: LearnedSchemaPlan

    @property
    def warnings(self) -> tuple[str, ...]:
        """Released. A warning about columns without a category and without a range."""
        return without_values(self.schema, unlearned(self.schema, self.plan))


def unlearned(schema: Product, plan: LearnedSchemaPlan) -> tuple[str, ...]:
    """Return the names of the columns of a learned schema that have neither a category nor a range."""
    unranged = [] if plan.tail is None else [plan.numbers, *map(everything, STEPS.values())]
    nothing, given = (*unranged, _categories(())), zip(schema.names, schema.domains, strict=True)
    return tuple(name for name, domain in given if domain in nothing)


def without_values(schema: Any, unlearned: Sequence[str]) -> tuple[str, ...]:
    """Return a warning about the `unlearned` columns of a learned schema."""
    if not unlearned:
        return ()
    return (
        f"the learned schema does not tell apart the values of {len(unlearned)} of {len(schema)} columns,"
        f" {first_of(unlearned, _SHOWN)}: no category is frequent, as of ids, or most cells are missing,"
        " decimals or other objects that are not read; leave such columns out, declare columns of dates as"
        " 'dates', in ISO 8601, or give their values as numbers or as text with few categories",
    )


@documented_by(ColumnRelease)
def learned_schema(
    X: Any,
    columns: Any = None,
    *,
    epsilon: Any = 1.0,
    delta: Any = 1e-6,
    groups: Any = None,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> LearnedSchema:
    """Release a schema of a private table: a range for each column of numbers, a list for each of categories.

    Parameters
    ----------
    X : data frame, array or list of rows, of shape (n, d); or parts of it
        Private. Cells of any kind. Types of columns (dtypes) are public. Parts: as for the learners of tables
        in parts, without y.
    columns : str, mapping of str to str, or sequence of str, optional
        Public. Kinds of columns, as for `Learn`: "numbers", "integers", "dates", "datetimes", "booleans" or
        "categories". None: by the types of the columns. An array of objects has no types: declare the kinds.
        A list has none either: its columns are categories unless declared, with a warning.
    epsilon : float, default=1.0
        Privacy budget of the release; positive. A float stands for its shortest decimal: 0.1 is 1/10.
    delta
        ... 0: categories are hashed, not listed.
    groups : array-like of shape (n,) or str, optional
        ... One row of each group takes part, chosen by public chance. Of a table in parts: the name of the
        column that holds them.

    Raises
    ------
    TypeError, ValueError
        If a column has a type that is neither of numbers, dates nor text, such as durations, intervals or
        lists, a column of numbers has a type of text, or the columns have no types and no declared kinds;
        nothing is spent.
    BudgetExceededError
        If the guarantee does not fit the ledger's remaining budget; nothing is spent.

    Warns
    -----
    UserWarning
        If there are too few records for ranges, or for lists, or kinds are not declared for a list. After the
        release, if a column has neither a range nor a listed category.

    Notes
    -----
    **Privacy.** (epsilon, delta) for one replaced record. Proof: the two ends of a range are two selections
    by the exponential mechanism, whose ranks move by at most 1, so each is bounded range. The lists of all
    columns are one release of `frequent_keys`, whose rho is that of all selections together; half of delta is
    the probability that it fails. The domains are post-processing.

    **Assumes.** The entries of `guarantee.assumes`: types of columns are public. No cell is refused.

    **Accuracy.** `learned_schema_plan` returns the error of the ends' ranks and the threshold of the lists.
    Numbers of magnitudes above 2**64, such as long identifiers, share a code, and so do those below 2**-64.

    **Source.** Smith (2011) for quantiles; Korolova, Kenthapadi, Mishra and Ntoulas (2009) for the lists.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.releases import learned_schema
    >>> years = np.random.default_rng(0).integers(1990, 2021, 20_000)
    >>> found = learned_schema(years[:, None], epsilon=1, random_state=0)
    >>> found.schema.domains[0]
    IntegerRange(low=1988, high=2022, outside='accept', missing=True)
    """
    return SchemaRelease.of(columns, epsilon, delta, random_state).run_on(X, None, ledger, groups)


@documented_by(learned_schema, ColumnRelease)
def learned_schema_plan(
    n_samples: int, columns: Any = None, *, epsilon: Any = 1.0, delta: Any = 1e-6, beta: Any = 0.05
) -> LearnedSchemaPlan:
    """Return the plan of `learned_schema`, without data.

    Parameters
    ----------
    columns : mapping of str to str, or sequence of str
        The kind of each column; required, since there is no table.

    Examples
    --------
    >>> from dplearn.releases import learned_schema_plan
    >>> plan = learned_schema_plan(20_000, ["integers"], epsilon=1)
    >>> plan.tail, plan.error, plan.n_needed
    (0.005, 93, 372)
    """
    stages = SchemaRelease.of(columns, epsilon, delta)
    if columns is None:
        raise ValueError("columns must give the kind of each column, since a plan reads no table")
    return stages.plan(Facts(n_samples), beta=beta)


@dataclass(frozen=True)
class SchemaFacts(Facts):
    """The public facts of a table whose schema is released."""

    kinds: ColumnKinds


class SchemaRelease(Release[LearnedSchema]):
    """The recipe of `learned_schema`, also within the fit of a learner."""

    def __init__(
        self,
        columns: Any,
        guarantee: ApproxDP,
        concentrated: "ConcentratedPart | None" = None,
        *,
        random_state: Any = None,
        numbers: Floats = NUMBERS,
        curated: bool = True,
        detail: SchemaDetail = _DETAIL,
    ):
        self.columns, self.concentrated, self.numbers = columns, concentrated, numbers
        self.curated, self.detail = curated, detail
        context = str(guarantee.epsilon), str(guarantee.delta), repr(columns)
        super().__init__("learned_schema", guarantee, context, random_state)

    @classmethod
    def of(cls, columns: Any, epsilon: Any, delta: Any, random_state: Any = None) -> "SchemaRelease":
        """Return the recipe of a release by the parameters of `learned_schema`."""
        cost = checked_cost(epsilon, delta, assumes=(N_IS_PUBLIC, _TYPES_ARE_PUBLIC))
        return cls(columns, cost, random_state=random_state)

    def read(self, X: Any, y: Any) -> tuple["SchemaFacts", Columns]:  # noqa: ARG002 - there is none
        table = X if is_frame(X) else cells_of(X, dates=True)
        if not all(table.shape):
            raise ValueError(f"X must have at least one row and one column, got shape {table.shape}")
        kinds = kinds_of(table, self.columns, X)
        if set(kinds.kinds) <= {"numbers", "integers"}:
            return SchemaFacts(len(table), kinds), Columns(Product([self.numbers] * len(kinds)).encode(table))
        return SchemaFacts(len(table), kinds), Columns(_read(table, kinds, self.numbers))

    def plan(self, facts: Facts, *, beta: Any = 0.05) -> LearnedSchemaPlan:
        n, failure, size = self.count(facts), check_number("beta", beta, above=0, below=1), self.numbers.size
        declared: Any = declared_kinds(self.columns)
        kinds: ColumnKinds = getattr(facts, "kinds", declared)
        d_numbers, d_lists = len(kinds.of_numbers), len(kinds.of_categories)
        every = 2 * d_numbers, d_lists if self.cost.delta else 0
        uses = self._uses(*every) if self.curated else [(0, 0)]
        parts = self._parts(*next(use for use in uses if self._is_worth(n, failure, d_numbers, *use)))
        error = parts.error(size, failure)
        tail = None if error is None else _CENTER if parts.ends < 2 * d_numbers else float(_tail(error, n))
        return LearnedSchemaPlan(
            self.cost,
            n,
            tail=tail,
            error=error,
            threshold=parts.threshold,
            beta=float(failure),
            columns=kinds,
            parts=parts,
            numbers=self.numbers,
            curated=self.curated,
            detail=self.detail,
            later={"n_needed": partial(_n_needed, self.cost, self.concentrated, *every, size, failure)},
            notes={"n_needed": "for all ranges and lists"},
        )

    def _uses(self, ends: int, lists: int) -> list[tuple[int, int]]:
        """Return the numbers of ends and lists that may be released, in order of preference."""
        if self.detail.medians:
            return [(each, d) for d in (lists, 0) for each in (ends, ends // 2, 0)]
        return list(product((ends, 0), (lists, 0)))

    def _parts(self, ends: int, lists: int) -> "_Parts":
        return _Parts.of(self.cost, self.concentrated, ends, lists)

    def _is_worth(self, n: int, beta: Fraction, d_numbers: int, ends: int, lists: int) -> bool:
        """Return whether n records are enough for these ends and lists to be worth their cost."""
        size, centers = self.numbers.size, self.detail.medians and ends == d_numbers
        if ends and self.cost.delta and self.concentrated is None:
            # If even the least worthwhile selections exceed the budget, its division need not be computed.
            share = 1 if centers else Fraction(_MOST_TAIL, _TAILS)
            least = 2 * log_bounds(size * ends / beta)[1] / (n * share)
            if least > self.cost.epsilon / ends and _exceeds(_target(self.cost, lists), ends, lists, least):
                return False
        return self._parts(ends, lists).n_needed(size, beta, centers=centers) <= n

    def run(self, table: Table, plan: LearnedSchemaPlan, dice: Dice) -> LearnedSchema:
        kinds, table = plan.columns, table.kept()
        ranks: _BothRanks = table.at_once(partial(_in_memory, plan)) or _of_parts(table, plan)
        domains: list[Domain] = [_BOOLEANS] * len(kinds)
        for number, place in enumerate(kinds.of_numbers):
            domains[place] = _number_domain(ranks, number, kinds.kinds[place], plan, dice)
        for place, listed in zip(kinds.of_categories, _lists(table, plan, dice), strict=True):
            domains[place] = listed
        return LearnedSchema(kinds.schema(domains), plan)


@dataclass(frozen=True)
class ConcentratedPart:
    """A budget: rho-concentrated, except for a failure."""

    rho: Fraction  # the cost without the failure
    failure: Fraction  # its probability


@dataclass(frozen=True)
class _Parts:
    """The division of the budget."""

    ends: int  # selections: two for each column of numbers, if ranges are released; one, if medians are
    lists: int  # columns whose categories are listed
    epsilon: Fraction = Fraction(0)  # of each selection
    rho: Fraction = Fraction(0)  # of all lists together
    failure: Fraction = Fraction(0)  # of all lists together

    @classmethod
    def of(cls, cost: ApproxDP, given: "ConcentratedPart | None", ends: int, lists: int) -> "_Parts":
        """Return the division for this many selections and columns of lists."""
        if not ends and not lists:
            return cls(0, 0)
        if given is not None:
            half = given.rho / ((ends > 0) + (lists > 0))
            return cls(ends, lists, _selection_epsilon(half, ends), half, given.failure)
        if not lists and not cost.delta:
            return cls(ends, 0, cost.epsilon / ends)
        target = _target(cost, lists)
        half = _calibrated(target, ends, lists)
        epsilon = _selection_epsilon(half, ends)
        if not lists:
            epsilon = max(epsilon, cost.epsilon / ends)  # basic composition
        return cls(ends, lists, epsilon, half, cost.delta - target.delta)

    def error(self, size: int, beta: Fraction) -> int | None:
        """Return a bound on the rank errors of all ends, or None if no ranges are released."""
        if not self.ends:
            return None
        # A selection costs at most ln(size / beta) / ln(1 / ratio), 2 / epsilon for each rank.
        return math.ceil(2 * log_bounds(size * self.ends / beta)[1] / self.epsilon)

    @property
    def threshold(self) -> int | None:
        """The least noisy count of a listed category, or None if no lists are released."""
        if not self.lists:
            return None
        return frequent_keys_threshold(self.lists, privacy=ZeroConcentratedDP(self.rho), delta=self.failure)

    @property
    def event(self) -> Composition:
        """The event of all ranges and lists, except for the failure of the lists."""
        counts: dict[Event, int] = {}
        if self.ends:
            counts[BoundedRange(self.epsilon)] = self.ends
        if self.lists:  # the noise of `frequent_keys`
            counts[Gaussian(self.lists / self.rho, 2 * self.lists)] = 1
        return Composition(counts)

    def n_needed(self, size: int, beta: Fraction, *, centers: bool = False) -> int:
        """Return the number of records from which on these ends and lists are worth their cost."""
        error, threshold = self.error(size, beta) or 0, self.threshold or 0
        return max(1, error if centers else -(-_TAILS * error // _MOST_TAIL), _MOST_COUNT * threshold)


def _n_needed(
    cost: ApproxDP, given: ConcentratedPart | None, ends: int, lists: int, size: int, beta: Fraction
) -> int:
    return _Parts.of(cost, given, ends, lists).n_needed(size, beta)


def _selection_epsilon(rho: Fraction, count: int) -> Fraction:
    """Return an epsilon of `count` bounded-range selections that cost rho together: epsilon^2 / 8 each."""
    return root_below(8 * rho / count) if count else Fraction(0)


@lru_cache(maxsize=64)
def _calibrated(target: ApproxDP, ends: int, lists: int) -> Fraction:
    """Return the greatest rho found for which selections of this rho, and lists of it, have `target`."""
    high = target.epsilon**2 + target.epsilon + 1
    return calibrate(partial(_together, ends=ends, lists=lists), target, low=high / (1 << 120), high=high)


@lru_cache(maxsize=64)
def _exceeds(target: ApproxDP, ends: int, lists: int, epsilon: Fraction) -> bool:
    """Return whether selections of `epsilon` each, and lists of their rho, cost more than `target`."""
    event, enough = _together(epsilon**2 * ends / 8, ends, lists), target.epsilon
    return bool(least_epsilon(event, target.delta, enough) > enough)


def _together(rho: Fraction, ends: int, lists: int) -> Composition:
    """Return the event of selections that cost rho together, and of lists that do, except for a failure."""
    counts: dict[Event, int] = {BoundedRange(_selection_epsilon(rho, ends)): ends} if ends else {}
    return Composition(counts | ({ZeroConcentrated(rho): 1} if lists else {}))


def _target(cost: ApproxDP, lists: int) -> ApproxDP:
    """Return the cost of the selections and lists, except for the failure of lists."""
    return ApproxDP(cost.epsilon, cost.delta / 2 if lists else cost.delta)


def _tail(error: int, n: int) -> Fraction:
    """Return the fraction of the records beyond either end at which an end is selected."""
    return Fraction(max(_LEAST_TAIL, -(-_TAILS * error // n)), _TAILS)


def _read(table: Any, kinds: ColumnKinds, numbers: Floats) -> list[Any]:
    """Return the codes of the numbers and dates of each column, or the keys of its cells."""
    found: list[Any] = []
    for place, kind in enumerate(kinds.kinds):
        column, ranged = read_column(table, place), kind not in ("booleans", "categories")
        found.append(mapped(partial(_codes, numbers, kind), column) if ranged else _keys(column))
    return found


def _codes(numbers: Floats, kind: str, cells: Any) -> NDArray[Any]:
    """Return the codes of numbers, or of the steps of dates since 1970."""
    if kind not in STEPS:
        return numbers.encode(cells)
    every = everything(STEPS[kind])
    return numbers.encode(every.decode(every.encode(cells)))


def _keys(column: Any) -> Factor:
    """Return the key of each cell: None, text, bytes, an integer, a fraction in hexadecimal or `_OTHER`."""
    cells = as_factor(column)
    return cells.with_levels([_key(cell) for cell in cells.levels.tolist()])


def _key(cell: Any) -> Hashable:
    if type(cell) is str or cell is None:
        return cell
    try:
        [key] = read_keys([cell])
    except Exception:  # an arbitrary cell may raise any error
        return _OTHER
    if isinstance(key, float) and math.isfinite(key):  # with a fraction; mechanisms take no floats as keys
        return (key.hex(),)
    return key if key is None or isinstance(key, (str, bytes, int)) else _OTHER


def public_schema(X: Any) -> Product:
    """Return the schema that a public table shows: the ranges of its numbers, and all of its categories."""
    cells: Any = [] if is_frame(X) or X.dtype != object else X.T.tolist()  # columns without types
    known = [all(is_number(cell) or is_missing(cell) for cell in column) for column in cells]
    kinds = kinds_of(X, ["numbers" if each else "categories" for each in known] or None)
    numbers = Floats(missing=True, outside="accept")
    domains: list[Domain] = []
    for kind, column in zip(kinds.kinds, _read(X, kinds, numbers), strict=True):
        if kind == "categories":
            domains.append(_categories(list(dict.fromkeys(column.levels.tolist()))))
        elif kind == "booleans":
            domains.append(_BOOLEANS)
        else:
            domains.append(_public_range(kind, np.unique(numbers.decode(column[column > 0])), numbers))
    return kinds.schema(domains)


def _public_range(kind: str, values: NDArray[np.float64], numbers: Floats) -> Domain:
    """Return the range of distinct public numbers, or all floats if a grid would join many of these."""
    low, high = (float(values[0]), float(values[-1])) if len(values) else (0.0, 1.0)
    if low == high and kind == "numbers":
        low, high = low - 1, high + 1
    with suppress(ValueError, OverflowError):  # ends that are too near or too far for a grid
        found = _range(kind, Fraction(low), Fraction(high), _PUBLIC_POINTS)
        if kind != "numbers" or len(np.unique(found.nearest(values))) >= _APART * len(values):
            return found
    return numbers


class _BothRanks(NamedTuple):
    """The ranks of each column of numbers from either end."""

    from_low: Callable[[int], Ranks]  # missing numbers are above all
    from_high: Callable[[int], Ranks]  # missing numbers are below all


def _in_memory(plan: LearnedSchemaPlan, rows: Columns) -> _BothRanks:
    columns, numbers, size = rows.columns, plan.columns.of_numbers, plan.numbers.size
    return _BothRanks(
        lambda number: UnsortedCodes(_moved(columns[numbers[number]], size)),  # one column at a time
        lambda number: UnsortedCodes(columns[numbers[number]]),
    )


def _moved(codes: NDArray[Any], size: int) -> NDArray[Any]:
    """Return codes with that of missing numbers, 0, moved above all others."""
    moved: NDArray[Any] = codes - codes.dtype.type(1)
    moved[codes == 0] = size - 1
    return moved


def _of_parts(rows: Table, plan: LearnedSchemaPlan) -> _BothRanks:
    """Return the ranks of a table in parts, by passes that find those at which ends are selected."""
    numbers = list(plan.columns.of_numbers) if plan.tail is not None else []
    size, low = plan.numbers.size, _tail_of(plan)
    ranks: list[Any] = []
    if numbers:
        windows = [
            [examined_ranks(len(rows), fraction, size, privacy=ApproxDP(plan.parts.epsilon))]
            for fraction in (low, 1 - low)
            for _ in numbers
        ]
        both = rows.map(partial(_from_both_ends, numbers, size))
        ranks = parted_ranks(both, [size] * len(windows), windows)
    return _BothRanks(ranks[: len(numbers)].__getitem__, ranks[len(numbers) :].__getitem__)


def _from_both_ends(numbers: Sequence[int], size: int, rows: Columns) -> Columns:
    columns = [rows.columns[place] for place in numbers]
    return Columns([*(_moved(codes, size) for codes in columns), *columns])


def _tail_of(plan: LearnedSchemaPlan) -> Fraction:
    return Fraction(1, 2) if plan.tail == _CENTER else _tail(plan.error or 0, plan.n_samples)


def _number_domain(ranks: _BothRanks, number: int, kind: str, plan: LearnedSchemaPlan, dice: Dice) -> Domain:
    """Release the range of one column of numbers, and return its domain."""
    if plan.tail is None:
        return plan.without_range(kind)
    size, tail, privacy = plan.numbers.size, _tail_of(plan), ApproxDP(plan.parts.epsilon)
    # Missing numbers have the code 0. They are moved above all numbers for the low end, and stay below all
    # numbers for the high end, so that either end is found by its rank among the numbers from that end.
    low = 1 + _selected(ranks.from_low(number), size, tail, privacy, dice)
    if plan.tail == _CENTER:
        high = low if low < size else 0
    else:
        high = _selected(ranks.from_high(number), size, 1 - tail, privacy, dice)
    if low == size or high == 0:  # most numbers are missing
        return plan.without_range(kind)
    low, high = min(low, high), max(low, high)
    # The numbers of a code lie between those of its two neighbours.
    codes = [max(1, low - 1), low, high, min(size - 1, high + 1)]
    below, lowest, highest, above = map(Fraction, plan.numbers.decode(codes).tolist())
    points: Any = plan.detail.points
    if not plan.detail.drawn:
        return _range(kind, *_outward(kind, below, above, tail), points)
    if low == high and kind == "numbers":
        least, most = (lowest, above) if above > lowest else (below, lowest)
        return Grid(float(least), float(most), 2, "accept", missing=True)
    outward = Fraction(0) if plan.tail == _CENTER else tail
    first, last = _slightly_outward(kind, (below, lowest, highest, above), outward)
    first, last = max(first, 0) if lowest >= 0 else first, min(last, 0) if highest <= 0 else last
    return _range(kind, first, last, math.inf if kind in STEPS else points)


def _selected(ranks: Ranks, size: int, fraction: Fraction, privacy: ApproxDP, dice: Dice) -> int:
    # Unlike `code_near_rank`, a value that many records have is not preferred: others give the wider range.
    everything, unit = Cell(ranks, 0, len(ranks), 0, size), fraction.denominator
    rank = fraction.numerator * len(ranks)
    return code_by_cost(everything, rank, rank, unit=unit, privacy=privacy, dice=dice, sensitivity=unit)


def _outward(kind: str, low: Fraction, high: Fraction, tail: Fraction) -> tuple[Fraction, Fraction]:
    """Return the ends of a range, given released quantiles at `tail` from either: they move outward as far as
    those of evenly distributed numbers, and then to multiples of a power of two, at least 1 for whole ones.
    """
    beyond = (high - low) * tail / (1 - 2 * tail)
    exponent = math.floor(math.log2((high - low) / _STEPS))
    step = Fraction(2) ** (max(0, exponent) if kind != "numbers" else exponent)
    return math.floor((low - beyond) / step) * step, math.ceil((high + beyond) / step) * step


def _slightly_outward(kind: str, ends: Sequence[Fraction], tail: Fraction) -> tuple[Any, Any]:
    """Return the ends of a range that numbers are drawn from, given numbers of released codes and their
    neighbours; they move outward as far as those of evenly distributed numbers.
    """
    below, lowest, highest, above = ends
    whole = kind != "numbers"
    first, last = (math.floor(below) + 1, math.ceil(above) - 1) if whole else (below, above)
    if last < first:  # no integer lies between them, as can be of fractions and of the last code
        first = last = round((lowest + highest) / 2)
    beyond = (last - first) * tail / (1 - 2 * tail)
    moved: Any = round(beyond) if whole else beyond
    return first - moved, last + moved


def _range(kind: str, first: Any, last: Any, points: Any) -> Domain:
    """Return the domain of the numbers between two ends."""
    if kind in STEPS:
        return covering(STEPS[kind], int(first), int(last), points)
    if kind == "integers" and last - first < points:
        return IntegerRange(int(first), int(last), "accept", missing=True)
    return Grid(float(first), float(last), points, "accept", missing=True)


def _lists(rows: Table, plan: LearnedSchemaPlan, dice: Dice) -> list[Domain]:
    """Release the lists of all columns of categories, and return their domains."""
    if plan.threshold is None:
        return [_HASHED for _ in plan.columns.of_categories]
    parts, keys = plan.parts, rows.sums(partial(key_counts, plan.columns.of_categories))
    found = frequent_keys(keys, privacy=ZeroConcentratedDP(parts.rho), delta=parts.failure, dice=dice)
    return [_categories(each[: plan.most]) for each in found]


@lru_cache(maxsize=8)
def _any_categories(n_listed: int) -> Categories:
    return _categories([f"value {n}" for n in range(n_listed)])


def _categories(keys: Sequence[Hashable]) -> Categories:
    """Return the domain of listed categories: missing cells have a code, and all others share one."""
    listed = (float.fromhex(key[0]) if isinstance(key, tuple) else key for key in keys if key != _OTHER)
    return Categories([*(value for value in listed if value is not None), None], other=True)
