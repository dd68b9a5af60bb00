"""Private release of quantiles, without bounds on the values, and plans with error bounds.

There are two methods: halving, and windows for many quantiles that are far apart. `windows_for` chooses, by
public numbers. Privacy is proved in `dplearn.mechanisms.rank_selection` and, for any terms of windows, in
`dplearn.mechanisms.quantile_windows`. Floats decide which terms are better, and never what they cost.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial
from itertools import chain, pairwise, product
from math import ceil, floor, inf, log, log1p, log2, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, bdtrc, gammaln, logsumexp

from dplearn._documented import documented_by
from dplearn._validation import check_bool, check_count, check_goal, check_number, shown
from dplearn._writing import brief
from dplearn.chance.dice import Dice
from dplearn.domains import Floats, Grid, IntegerRange, NumberDomain
from dplearn.domains.cells import as_numbers
from dplearn.fit import N_IS_PUBLIC, Facts
from dplearn.kernels import first, ignores_float_errors, power_at_most, selection_ratio
from dplearn.kernels.ranks import (
    CodeCounts,
    Ranks,
    Step,
    UnsortedCodes,
    finest_fraction,
    halving,
    ranks_of_codes,
)
from dplearn.mechanisms.quantile_windows import WindowTerms, codes_in_windows
from dplearn.mechanisms.rank_selection import FEW_CODES, codes_at_fractions, examined_reach
from dplearn.privacy import MOST_RECORDS, ApproxDP, PrivacyLedger
from dplearn.privacy.plan import ResultTable
from dplearn.queries.noise import CentralNoise
from dplearn.releases.cell_statistics import MOST_CELLS, CellCounts, CellSums, ColumnSums, cells_of
from dplearn.releases.keyed import checked_categories, declared, pairs_in_parts, places_of
from dplearn.releases.release import (
    ALL_GROUPS,
    UNKNOWN_COUNT,
    ColumnRelease,
    Released,
    ReleasePlan,
    as_number_domain,
    checked_cost,
    covers_sampling,
    few_records_warnings,
    normal_tail,
    planned_rows,
    read_column,
    rows_of_groups,
    written,
)
from dplearn.releases.stable_counts import KEYS, read_column_of_keys
from dplearn.table import Columns, Table, parted_ranks

#: Types of columns, and the domains for which such numbers form an interval on which codes are increasing.
READ_AS_NUMBERS = {"f": (Floats, Grid), "i": (Floats, Grid, IntegerRange), "u": (Floats, Grid, IntegerRange)}
_RARE = Fraction(1, 1 << 20)  # probability of a further pass over parts, because of greater errors
_SLACK = 4  # ranks, for those that are rounded
_FEWEST = 5  # quantiles for which windows can be better
#: Probability that some window has less than full strength; and that some code outside a window is chosen.
FAILURE = Fraction(1, 1 << 40)
BETA = Fraction(1, 20)  #: Probability of failure at which bounds on errors are compared.
_MERGING = Fraction(1, 20)  # share of epsilon that is spent where two noisy ranks are mapped to one
_NOISE = tuple(Fraction(i, 20) for i in range(4, 17))  # possible shares of epsilon for the noise
_RAMPS = Fraction(1, 20), Fraction(1, 10), Fraction(1, 5)  # and for windows that lose strength


@dataclass(frozen=True, eq=False)
class Quantiles(Released, ResultTable):
    """The result of `quantiles` and `median`.

    Attributes
    ----------
    values : ndarray of shape (k,) or dict of such arrays
        Released. The quantiles: numbers of the domain, in nondecreasing order. With `by`, a dict from each
        category to its quantiles.
    plan : ReleasePlan
        Public. The plan of the release, as `quantiles_plan` describes it.
    guarantee : ApproxDP
        Public. The guarantee of the release.
    """

    values: Any
    plan: ReleasePlan
    counts: tuple[CellCounts, ...] = field(default=(), repr=False)  # with intervals, of each category

    @property
    def q(self) -> tuple[float, ...]:
        """Public. The k fractions, from 0 to 1."""
        return self.plan.q

    @property
    def value(self) -> Any:
        """Released. The value of a single quantile; with `by`, a dict from each category to its value."""
        if len(self.q) != 1:
            raise ValueError(f"value needs a single quantile, got {len(self.q)}: use values instead")
        if self.plan.categories is None:
            return self.values.tolist()[0]
        return {category: values.tolist()[0] for category, values in self.values.items()}

    def _shown(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        known: Any = self.interval() if self.counts else None
        if self.plan.categories is None:
            columns = [self.q, self.values.tolist(), *([known] if known else [])]
            return ("quantile", "value", "value, 95 %")[: len(columns)], list(zip(*columns, strict=True))
        names = [f"quantile {each:g}" for each in self.q]
        if not known:
            return ("category", *names), [(key, *each.tolist()) for key, each in self.values.items()]
        rows = [
            (key, *chain(*zip(each.tolist(), known[key], strict=True))) for key, each in self.values.items()
        ]
        return ("category", *(f"{name}{more}" for name in names for more in ("", ", 95 %"))), rows

    def __float__(self) -> float:
        """Return the value of a single quantile as a float."""
        return float(self.value)

    def interval(self, beta: float = 0.05, *, of: str = "population") -> Any:
        """Return an interval for each quantile, in the units of the values; costs no privacy.

        If the release had `intervals`, the ends are those of cells of values, which were counted. Otherwise
        they are released quantiles on either side, and an interval is open to an end of the domain where no
        quantile far enough was released: of a single quantile nothing else is known.

        Parameters
        ----------
        beta : float, default=0.05
            Probability, for each quantile, that its interval does not contain it, in (0, 1).
        of : {"population", "table"}, default="population"
            "population": the quantile of the distribution from which the records are independent draws.
            "table": the quantile of the records themselves; only the privacy noise is covered.

        Returns
        -------
        list of k tuples, or dict of such lists
            The lower and the upper end of each; with `by`, a dict from each category.

        Raises
        ------
        ValueError
            If the release had no `intervals`, and the number of records is private: of categories, of added
            records, or of several rows a group.

        Notes
        -----
        **Accuracy.** With `intervals` as for `describe`, by the normal approximation, and with the released
        value inside. Without, it holds for all data: errors of the released quantiles are those of
        `dplearn.theory.quantile_errors`, with half of beta, or with all of it for of="table". Let at most m
        records be less than the released quantile of p, m = p n + error. It is the lower end for quantile q
        if m < q n, and for the population if a binomial number with n draws and probability q is at most m
        with probability at most beta / 4: at least so many records are at most the population's quantile. The
        upper end is the mirror image.

        Examples
        --------
        >>> from dplearn.domains import IntegerRange
        >>> from dplearn.releases import quantiles
        >>> wages, domain = range(1200, 6200), IntegerRange(0, 10_000)
        >>> found = quantiles(list(wages), [0.4, 0.5, 0.6], domain=domain, random_state=0)
        >>> found.interval()[1]
        (3198, 4190)
        >>> quantiles(list(wages), 0.5, domain=domain, intervals=True, random_state=0).interval()
        [(3508.0, 3908.0)]
        """
        plan, sampled = self.plan, covers_sampling(of)
        failure = check_number("beta", beta, above=0, below=1)
        if self.counts:
            z, by = normal_tail(failure, laplace=True), plan.categories
            values = [self.values] if by is None else self.values.values()
            ends = []
            for counts, each in zip(self.counts, values, strict=True):
                lines = [counts.quantile(q, z, population=sampled) for q in self.q]
                pairs = zip(lines, each.astype(float).tolist(), strict=True)
                ends.append([(min(line.low, value), max(line.high, value)) for line, value in pairs])
            return ends[0] if by is None else dict(zip(by, ends, strict=True))
        if not plan.search.sized:
            raise ValueError(
                "interval needs a public number of records, and the number here is private: release with"
                " intervals=True, or take describe(..., by=, statistics=('50%',))"
            )
        n, errors = plan.n_samples, plan.search.errors(failure / 2 if sampled else failure)
        ranks = [q * n for q in plan.search.fractions]
        most = [floor(rank + error) for rank, error in zip(ranks, errors, strict=True)]  # are less
        least = [ceil(rank - error) for rank, error in zip(ranks, errors, strict=True)]  # are at most it
        found = []
        for q, rank in zip(self.q, ranks, strict=True):
            low, high = _ends(plan.domain)
            for value, below in zip(self.values.tolist(), most, strict=True):
                if below < 0 or bdtr(below, n, q) <= float(failure) / 4 if sampled else below < rank:
                    low = value
            for value, upto in zip(self.values[::-1].tolist(), least[::-1], strict=True):
                if bdtrc(upto - 1, n, q) <= float(failure) / 4 if sampled else upto > rank:
                    high = value
            found.append((low, high))
        return found


@documented_by(ColumnRelease)
def quantiles(
    values: Any,
    q: Any,
    *,
    by: Any = None,
    categories: Any = None,
    epsilon: Any = 1.0,
    domain: Any = "float64",
    groups: Any = None,
    max_rows_per_group: int | None = None,
    neighbors: str = "replace_one",
    intervals: bool = False,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> Quantiles:
    """Release quantiles of private numbers.

    Parameters
    ----------
    q : float or sequence of float of length k
        Public. Fractions from 0 to 1, strictly increasing; 0.25 is the lower quartile.
    by : series, array, or list of shape (n,), or parts like those of the column, optional
        Private. The category of each record, with the types of the keys of `stable_counts`: the release is
        of the quantiles of each category, whose numbers of records stay private. It needs `categories`.
    categories : sequence of keys, optional
        Public. The categories, known without looking at the data; quantiles of all of them are released, and
        records of no category are left out. Of a category without records, a value may be any value of the
        domain.
    epsilon
        ... All quantiles together share it.
    groups : array-like of shape (n,), or parts like those of the column, optional
        Private. The group of each value, such as the person that it belongs to: texts or integers. The
        guarantee then protects all values of a group together, and the set of groups is public.
    max_rows_per_group : int, optional
        Public. With groups: the most values of a group that take part, at most 1000; of a group with more,
        so many are chosen by public chance. Rank errors are proportional to it. None: 1.
    neighbors : {"replace_one", "add_remove"}, default="replace_one"
        The tables between which the guarantee holds. "add_remove": one has one record more, and the number of
        records is private.
    intervals : bool, default=False
        Public. Whether each quantile has an interval. Half of epsilon is then spent on noisy numbers of
        records in cells of values, as `describe` counts them, and the domain must have bounds.

    Warns
    -----
    UserWarning
        If there are so few records that a released value may be any value of the domain; the number of
        records is public.

    Notes
    -----
    **Privacy.** (epsilon, 0) for one replaced record; the proofs are in `codes_at_fractions` and, for many
    quantiles that are far apart, `codes_in_windows`. With categories, for added or removed records, or with m
    > 1 for m = `max_rows_per_group`, numbers of records are private, and one record added to a category or
    removed costs half of the epsilon e of `codes_at_fractions`: all categories together cost e for one
    replaced record, e / 2 for one added or removed, and m e for a replaced group, of which at most m records
    leave and at most m enter. So e is epsilon, 2 epsilon, or epsilon / m. With `intervals` half of epsilon
    takes its place; the other half is for numbers of records in cells, as in the proof of `describe`.

    **Assumes.** All values lie in the domain, and the entries of `guarantee.assumes`.

    **Accuracy.** `quantiles_plan` returns bounds on the rank errors, without data.

    **Source.** Smith (2011) for one quantile, by permute-and-flip (McKenna and Sheldon, 2020) of at most
    4,096 values; Kaplan, Schnapp and Stemmer (2022) for several, corrected for ties and for replaced
    records; for many that are far apart after Imola and others (2025), with a proof of our own.

    Examples
    --------
    >>> from dplearn.releases import quantiles
    >>> wages = [1200.0 + i for i in range(5000)]
    >>> found = quantiles(wages, [0.25, 0.5, 0.75], epsilon=1, random_state=0)
    >>> [round(value / 50) for value in found.values], found.plan.error
    ([49, 74, 99], 346)
    """
    most = rows_of_groups(groups, max_rows_per_group, 1)
    given = epsilon, domain, random_state, _declared(by, categories), neighbors, most, intervals
    return _Quantiles("quantiles", q, *given).run_on(values, by, ledger, groups)


@documented_by(quantiles, ColumnRelease)
def quantiles_plan(
    n_samples: int | None,
    q: Any,
    *,
    categories: Any = None,
    epsilon: Any = 1.0,
    domain: Any = "float64",
    max_rows_per_group: int | None = None,
    neighbors: str = "replace_one",
    intervals: bool = False,
    alpha: Any = 0.05,
    beta: Any = 0.05,
) -> ReleasePlan:
    """Return the plan of `quantiles`, with bounds on the rank errors, without data.

    Parameters
    ----------
    n_samples : int or None
        Number of records, at least 1. None, for "add_remove": unknown.

    Returns
    -------
    ReleasePlan
        With the guarantee, n_samples, q, domain, alpha and beta, and these numbers:

        `errors`: with probability at least 1 - beta, for all quantiles together, at most q n + error of the
        data are less than the released value, and at least q n - error are at most the released value (see
        `dplearn.theory.quantile_errors`). `error`: the greatest.

        `n_inside`: the number of records from which on all values lie between the least and the greatest of
        the data with probability at least 1 - beta; None if 0 or 1 is among q: then no number is enough. With
        fewer records a released value may be any value of the domain: half of all floats exceed 1 in
        magnitude, up to 1.8e308. `inside`: whether n_samples is.

        `n_needed`: the number of records from which on no error exceeds alpha n. `method`: "windows" for many
        quantiles that are far apart, else "halving".

        `rank_error`: with intervals, how many ranks these allow on each side for noise, which exceeds it with
        probability beta. Sampling, whose standard deviation is sqrt(q (1 - q) n), is independent of it.

        With categories, errors and numbers of records are those of each category by itself, whatever its
        private number of records. Where the number is private, it cannot be compared with `n_inside`.

    Examples
    --------
    >>> from dplearn.releases import quantiles_plan
    >>> plan = quantiles_plan(10_000, [0.25, 0.5, 0.75], epsilon=1)
    >>> plan.errors, plan.n_inside, plan.n_needed
    ((351, 234, 351), 1353, 6920)
    """
    given = epsilon, domain, None, categories, neighbors, planned_rows(max_rows_per_group), intervals
    return _Quantiles("quantiles", q, *given).plan(Facts(n_samples), alpha=alpha, beta=beta)


@documented_by(quantiles, ColumnRelease)
def median(
    values: Any,
    *,
    by: Any = None,
    categories: Any = None,
    epsilon: Any = 1.0,
    domain: Any = "float64",
    groups: Any = None,
    max_rows_per_group: int | None = None,
    neighbors: str = "replace_one",
    intervals: bool = False,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> Quantiles:
    """Release the median of private numbers; `median(...).value` is the number.

    Examples
    --------
    >>> from dplearn.releases import median
    >>> wages = [1200.0 + i for i in range(5000)]
    >>> round(median(wages, epsilon=1, random_state=0).value, -2)
    3700.0
    """
    most = rows_of_groups(groups, max_rows_per_group, 1)
    given = epsilon, domain, random_state, _declared(by, categories), neighbors, most, intervals
    return _Quantiles("median", 0.5, *given).run_on(values, by, ledger, groups)


@documented_by(quantiles, ColumnRelease)
def median_plan(
    n_samples: int | None,
    *,
    categories: Any = None,
    epsilon: Any = 1.0,
    domain: Any = "float64",
    max_rows_per_group: int | None = None,
    neighbors: str = "replace_one",
    intervals: bool = False,
    alpha: Any = 0.05,
    beta: Any = 0.05,
) -> ReleasePlan:
    """Return the plan of `median`, with a bound on the rank error, without data; see `quantiles_plan`.

    Examples
    --------
    >>> from dplearn.releases import median_plan
    >>> print(median_plan(100))
    QuantilesPlan
      guarantee  epsilon 1, delta 0
      advantage  0.462117  (of an attacker on one record, at most: see `risk`)
      n_samples  100
      q          (0.5,)
      domain     Floats(significand_bits=52, smallest=5e-324, largest=1.7976931348623157e+308, missing=False)
      alpha      0.05
      beta       0.05
      errors     (95,)  (ranks at most)
      n_inside   191  (records, for values among the data)
      n_needed   1900  (records, for errors of at most alpha of them)
    """
    given = epsilon, domain, None, categories, neighbors, planned_rows(max_rows_per_group), intervals
    return _Quantiles("median", 0.5, *given).plan(Facts(n_samples), alpha=alpha, beta=beta)


class _Quantiles(ColumnRelease[Quantiles]):
    """The recipe of `quantiles` and `median`; `name` is the function's name in the ledger, and y the keys."""

    group_rows: int = 1
    unequal = "values and by must have equal lengths, got {} and {}"
    repeated = False
    most_records = MOST_RECORDS  # audits use fewer

    def __init__(
        self,
        name: str,
        q: Any,
        epsilon: Any,
        domain: Any,
        random_state: Any = None,
        categories: Any = None,
        neighbors: str = "replace_one",
        group_rows: int = 1,
        intervals: bool = False,
    ):
        self.domain = as_number_domain(domain)
        self.cells = _cells_beside(self.domain) if check_bool("intervals", intervals) else None
        self.fractions = tuple(check_fractions("q", np.atleast_1d(q).tolist()))
        self.categories = None if categories is None else checked_categories(categories)
        self.group_rows = group_rows
        keyed = () if self.categories is None else (KEYS, declared(self.categories))
        assumes = (N_IS_PUBLIC, self.domain.assumption, *keyed)
        cost = checked_cost(epsilon, neighbors=neighbors, assumes=assumes)
        several = bool(keyed) or group_rows > 1
        more = (repr(self.categories), neighbors, str(group_rows)) if several else ()
        context = repr(self.domain), repr(list(self.fractions)), str(cost.epsilon), *more
        context += ("intervals",) * intervals
        super().__init__(name, cost, context, random_state)
        #: Whether the number of values that quantiles are of is public.
        self.sized = not (several or self.uncounted)

    def _of_few(self, found: "QuantileSearch", beta: Fraction) -> tuple[str, ...]:
        """Return a warning if a category with few records, whose number is private, may get any float."""
        if self.categories is None or self.domain != as_number_domain("float64"):
            return ()
        inside = found.n_inside(beta)
        few = "Of a category" if inside is None else f"Of a category with fewer than {inside} records"
        return (f"{few}, a quantile may be any float, such as 1e200: declare domain=, such as Grid(0, 200)",)

    def parts_of(self, X: Any, y: Any) -> Table | None:
        return pairs_in_parts(X, y, ("values", "by"))

    def read(self, X: Any, y: Any) -> tuple[Facts, Any]:
        if not self.sized or self.cells:
            return self.read_part(X, y)
        ranks = _ranks(X, self.domain, self.fractions)
        return Facts(len(ranks)), ranks

    def read_part(self, X: Any, y: Any) -> tuple[Facts, Columns]:
        codes = self.domain.encode(read_column(X))
        if self.categories is None:
            return Facts(len(codes)), Columns([codes])
        keys = read_column_of_keys(y)
        if len(keys) != len(codes):
            raise ValueError(self.unequal.format(len(codes), len(keys)))
        return Facts(len(codes)), Columns([codes, places_of(keys, self.categories)])

    def plan(self, facts: Facts, *, alpha: Any = 0.05, beta: Any = 0.05) -> ReleasePlan:
        n, unknown, sums = self.count(facts), self.uncounted, None
        e = self.cost.epsilon / (2 if self.cells else 1)
        alpha, beta = check_goal(alpha, beta)
        asked = self.fractions, self.domain.size
        found = QuantileSearch(*asked, n, e)
        if not self.sized:
            most = self.most_records if unknown else n * self.group_rows
            found = QuantileSearch(*asked, most, e * (2 if unknown else 1) / self.group_rows, sized=False)
        if self.cells:
            half, most = replace(self.cost, epsilon=e), self.most_records
            noise = CentralNoise.of("laplace", half, n or 1, each=self.group_rows, most_records=most)
            sums = CellSums(noise, (self.cells,), len(self.categories or [0]), False, self.sized)
            sums.check()
        of = "records" if self.categories is None else "records of a category"
        return self.stated(
            n,
            q=tuple(map(float, self.fractions)),
            domain=self.domain,
            alpha=float(alpha),
            beta=float(beta),
            later={
                "errors": partial(found.errors, beta),
                "n_inside": partial(found.n_inside, beta),
                "n_needed": partial(found.n_needed, alpha, beta),
            }
            | ({"rank_error": sums.error("rank_error", float(beta))["values"]} if sums else {}),
            keeps={
                "sums": sums,
                "error": partial(found.error, beta),
                "method": "halving" if found.terms is None else "windows",
                "inside": partial(found.inside, beta),
                "search": found,
                "categories": self.categories,
            },
            notes={
                "errors": "ranks at most",
                "rank_error": "ranks, by the noise in intervals",
                "n_inside": f"{of}, for values among the data",
                "n_needed": f"{of}, for errors of at most alpha of them",
            },
            warns=self._of_few(found, beta) + quantile_warnings(n, found, epsilon=self.cost.epsilon),
        )

    def run(self, table: Table, plan: ReleasePlan, dice: Dice) -> Quantiles:
        known: QuantileSearch = plan.search
        released = partial(release_quantiles, domain=plan.domain, search=known, dice=dice)
        if not known.sized or plan.sums:
            names = (None,) if self.categories is None else self.categories
            ranks_of = table.sums(partial(_ranks_by_place, len(names)))
            found = list(map(released, ranks_of))
            values = found[0] if self.categories is None else dict(zip(names, found, strict=True))
            return Quantiles(values, plan, self._counts(plan, ranks_of, dice) if plan.sums else ())
        ranks: Ranks | None = table.at_once(lambda ranks: ranks)
        if ranks is None:
            [ranks] = parted_ranks(table, [known.size], [known.ranks])
        return Quantiles(released(ranks), plan)

    def _counts(self, plan: ReleasePlan, ranks: Sequence[CodeCounts], dice: Dice) -> tuple[CellCounts, ...]:
        """Return the estimated numbers of records in cells, of each category."""
        sums: CellSums = plan.sums
        [each] = sums.described
        cells = np.zeros((len(ranks), each.column.size), dtype=np.int64)
        for row, known in zip(cells, ranks, strict=True):
            np.add.at(row, each.column.of(known.codes), known.counts)
        noisy = sums.released([cells, cells @ each.matrix.T], dice)
        [found] = sums.estimated(noisy, np.arange(len(ranks)), plan.n_samples)
        return found


def _cells_beside(domain: NumberDomain) -> ColumnSums:
    """Return the sums that tell intervals of quantiles of a domain."""
    low, high = _ends(domain)
    rounded = isinstance(high, int) and max(-low, high) > 1 << 53  # the ends of intervals are floats
    if high == inf or rounded or domain.size >> 64:
        raise ValueError(
            "intervals needs a domain with bounds, of integers of at most 2**53, and without missing values,"
            f" such as domain=Grid(0, 200), got {brief(domain)}; describe learns bounds"
        )
    column = cells_of("values", domain, MOST_CELLS, read=domain)
    return ColumnSums.of(column, 1, quantiles=True, means=False, gaussian=False)


def _declared(by: Any, categories: Any) -> Any:
    """Return the categories, which must be given if and only if keys are."""
    if by is None and categories is not None:
        raise ValueError("by must be given with categories, the key of each record, got None")
    if by is not None and categories is None:
        raise ValueError(
            "categories must be given with by: the keys that can occur, known without looking at the data,"
            " such as categories=['a', 'b'], got None; `describe` and `grouped` learn the categories of the"
            " columns that they release statistics by"
        )
    return categories


def _ranks_by_place(size: int, rows: Columns) -> list[CodeCounts]:
    """Return the ranks of the codes in each of `size` places; without places, of all."""
    codes, *places = rows.columns
    if not places:
        return [CodeCounts.of(codes)]
    order = np.argsort(places[0], kind="stable")
    ends = np.searchsorted(places[0][order], np.arange(size + 1))
    return [CodeCounts.of(codes[order[low:high]]) for low, high in pairwise(ends.tolist())]


@dataclass(frozen=True)
class QuantileSearch:
    """What is public about a release of quantiles: bounds on their errors, and ranks that it asks for."""

    fractions: tuple[Fraction, ...]
    size: int  # of the domain
    n: int  # how many values there are; where that is private, the most
    epsilon: Fraction  # of `codes_at_fractions`, or of `codes_in_windows`
    sized: bool = True  # whether the number of values is public

    @property
    def terms(self) -> WindowTerms | None:
        """The terms of `codes_in_windows`; None: codes are found by halving, as where `n` is private."""
        return windows_for(self) if self.sized else None

    def errors(self, beta: Fraction) -> tuple[int, ...]:
        """Return bounds on the rank errors; see `quantile_errors`."""
        if self.terms is not None:
            return _window_errors(self.terms, beta)
        return tuple(min(self.n, each) for each in _halving_errors(self, beta))

    def error(self, beta: Fraction) -> int:
        """Return the greatest of these."""
        return max(self.errors(beta))

    def n_inside(self, beta: Fraction) -> int | None:
        """Return the number of values from which on all quantiles lie among them, or None."""
        tails = [min(each, 1 - each) for each in self.fractions]
        if not all(tails):
            return None
        if not self.sized:
            errors = _halving_errors(self, beta)
            return max(int(error / tail) + 1 for error, tail in zip(errors, tails, strict=True))

        def inside(n: int) -> bool:
            errors = replace(self, n=n).errors(beta)
            return all(error < tail * n for error, tail in zip(errors, tails, strict=True))

        return _from(inside)

    def inside(self, beta: Fraction) -> bool:
        """Return whether there are so many values."""
        needed = self.n_inside(beta)
        return needed is not None and self.n >= needed

    def n_needed(self, alpha: Fraction, beta: Fraction) -> int:
        """Return the number of values from which on no error exceeds alpha times their number."""
        if not self.sized:
            return max(1, ceil(max(_halving_errors(self, beta)) / alpha))
        return _from(lambda n: replace(self, n=n).error(beta) <= alpha * n)

    @property
    def ranks(self) -> tuple[tuple[int, int], ...]:
        """For each quantile the first rank that a release likely asks for, and the last plus 1."""
        errors = self.errors(_RARE)
        if self.terms is not None:
            reached = zip(self.terms.targets, errors, strict=True)  # an error includes the reach of a window
            return tuple((target - error, target + error) for target, error in reached)
        k, levels = len(self.fractions), _levels(self)
        part = ApproxDP(self.epsilon / len(levels))
        codes = self.size << (self.n - 1).bit_length() if k > 1 else self.size
        moved, found = dict(enumerate(errors)) | {-1: 0, k: 0}, {}
        for step in (step for level in levels for step in level):
            # A step looks `reach` beyond its target, which errors of the two known quantiles move.
            low, high = moved[step.low], moved[step.high]
            inherited = ceil((1 - step.fraction) * low + step.fraction * high)
            reach = inherited + examined_reach(step.fraction, codes, privacy=part, alone=step.alone)
            target = int(self.fractions[step.place] * self.n)
            found[step.place] = target - reach - _SLACK, target + reach + _SLACK
        return tuple(found[place] for place in range(k))


def _ends(domain: NumberDomain) -> tuple[Any, Any]:
    """Return the ends of a domain; infinite ones of all floats, and where a value may be missing."""
    if domain.accepts_missing or isinstance(domain, Floats):
        return -inf, inf
    ends = np.array([0, domain.size - 1], dtype=object if domain.size > 1 << 64 else np.uint64)
    low, high = domain.decode(ends).tolist()
    return low, high


def check_fractions(name: str, q: Sequence[Any]) -> list[Fraction]:
    """Return strictly increasing numbers from 0 to 1 as Fractions; errors name the parameter `name`."""
    fractions: list[Fraction] = []
    # If the caller swaps the arguments, `q` holds private data, which no error message may show.
    with suppress(TypeError, ValueError) if len(q) > 1 else nullcontext():
        fractions = [check_number(name, each, low=0, high=1) for each in q]
    if not fractions or any(low >= high for low, high in pairwise(fractions)):
        raise ValueError(
            f"{name} must be a number from 0 to 1, or several in strictly increasing order, got {shown(q)}"
        )
    return fractions


def _ranks(values: Any, domain: NumberDomain, fractions: Sequence[Fraction]) -> Ranks:
    """Return the ranks of private numbers, after a check that all lie in the domain."""
    column = read_column(values)
    if len(fractions) > 1 or domain.size <= FEW_CODES:
        return ranks_of_codes(domain.encode(column))
    if type(domain) not in READ_AS_NUMBERS.get(column.dtype.kind, ()) or domain.accepts_missing:
        return UnsortedCodes(domain.encode(column))
    ranks = UnsortedCodes(column, domain.encode)
    ranks.check(lambda block: _check(block, domain), min(int(fractions[0] * len(column)), len(column) - 1))
    return ranks


def _check(numbers: NDArray[Any], domain: NumberDomain) -> None:
    """Raise DomainError if a number is outside the domain, which is an interval of such numbers."""
    if isinstance(domain, Floats):
        as_numbers(numbers, domain)  # raises if a number is not finite
    else:
        domain.encode(np.array([numbers.min(), numbers.max()]))  # both are NaN if any is


@ignores_float_errors
def release_quantiles(
    ranks: Ranks, domain: NumberDomain, search: QuantileSearch, *, dice: Dice
) -> NDArray[Any]:
    """Return private quantiles as numbers of a domain; see `codes_at_fractions` and `codes_in_windows`."""
    size, privacy, codes = domain.size, ApproxDP(search.epsilon), None
    if search.terms is not None:
        codes = codes_in_windows(ranks, size, search.terms, privacy=privacy, dice=dice)
    if codes is None:  # also, very rarely, because of great noise in the windows' ranks, whatever the data
        most = None if search.sized else search.n
        codes = codes_at_fractions(ranks, size, search.fractions, privacy=privacy, dice=dice, most=most)
    # Without an explicit dtype, numpy would convert a mix of small and large integers to floats.
    exact = np.array(codes, dtype=object if domain.size > 1 << 64 else np.uint64)
    return domain.decode(exact)


def quantile_errors(
    q: Sequence[Any], size: int, n_samples: int, *, epsilon: Any, beta: Any = 0.05
) -> NDArray[np.int64]:
    """Return a bound on the rank error of each of several private quantiles.

    Parameters
    ----------
    q : sequence of float of length k
        Strictly increasing, from 0 to 1.
    size : int
        Number of values in the domain; an integer of any size.
    n_samples : int
        Number of records, n.
    epsilon : float
        Privacy budget of all quantiles together.
    beta : float, default=0.05
        Probability of failure, in (0, 1).

    Returns
    -------
    ndarray of int64 of shape (k,)
        Errors e, at most n: with probability at least 1 - beta, for every i at most q[i] * n + e[i] of the
        data are less than value i, and at least q[i] * n - e[i] are at most value i.

    Notes
    -----
    The method is `codes_in_windows` where `windows_for` says so, by public numbers, and halving elsewhere.
    **QuantileSearch.** Some code of a cell has selection cost 0, so a code of cost k or more is chosen with
    probability at most size * ratio**k, which must be at most beta over the number of quantiles. The map that
    makes n equal values distinct multiplies the number of codes by less than 2 n. A released code may be a
    datum: it splits its cell within one rank of its position. The next target lies in a cell between two
    released codes: its inherited error is the mean of their errors, weighted by the position of the target
    between them.
    **Windows.** The error is the noise in the rank, plus the reach of a window, plus 1 for a rounded target.
    Let N(j, x) be the probability that j independent moves have the sum x. The noise of rank i is x with
    probability N(i, x) N(k + 1 - i, -x) / N(k + 1, 0), and by Chernoff's bound N(j, x) <= exp(j L(a) - a x)
    for any a > 0, where L is the logarithm of the moment-generating function of one move.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from dplearn.theory import quantile_errors
    >>> quantile_errors([Fraction(i, 4) for i in (1, 2, 3)], 2**64, 10_000, epsilon=1).tolist()
    [351, 234, 351]
    """
    n = check_count("n_samples", n_samples, low=1)
    failure = check_number("beta", beta, above=0, below=1)
    return np.array(_checked(q, size, n, epsilon).errors(failure), dtype=np.int64)


def _checked(q: Sequence[Any], size: Any, n: int, epsilon: Any) -> QuantileSearch:
    """Return the halving of checked parameters."""
    wanted = tuple(check_number("q", each, low=0, high=1) for each in q)
    return QuantileSearch(
        wanted, check_count("size", size, low=1), n, check_number("epsilon", epsilon, above=0)
    )


def _levels(of: QuantileSearch) -> list[list[Step]]:
    return halving(of.fractions, finest=finest_fraction(of.n), sized=of.sized)


@lru_cache(maxsize=1024)
def _halving_errors(of: QuantileSearch, beta: Fraction) -> list[int]:
    """Return bounds on the rank errors of `codes_at_fractions`, of at most n codes; see `quantile_errors`."""
    wanted, levels = of.fractions, _levels(of)
    part, split = of.epsilon / max(1, len(levels)), len(wanted) > 1
    codes = of.size << (of.n - 1).bit_length() if split else of.size
    share = beta / max(1, len(wanted)) / codes
    errors = {-1: Fraction(0), len(wanted): Fraction(0)}
    ends = [*wanted, Fraction(1), Fraction(0)]
    for step in (step for level in levels for step in level):
        unlikely = power_at_most(selection_ratio(part, step.sensitivity), share)
        own = Fraction(max(0, unlikely - 1), step.fraction.denominator) + split
        low, high = ends[step.low], ends[step.high]
        exact = (ends[step.place] - low) / (high - low)
        inherited = (1 - step.fraction) * errors[step.low] + step.fraction * errors[step.high]
        errors[step.place] = own + inherited + of.n * abs(exact - step.fraction)
    return [ceil(errors[place]) for place in range(len(wanted))]


@lru_cache(maxsize=1024)
def windows_for(search: QuantileSearch) -> WindowTerms | None:
    """Return the terms of `codes_in_windows` if these bound the greatest error by at most half of halving's.

    Halving is bounded for a power of two of at most n records, so that the choice does not change to and fro.
    """
    terms = window_terms(search) if len(search.fractions) >= _FEWEST else None
    if terms is None:
        return None
    fewer = replace(search, n=1 << (search.n.bit_length() - 1))
    halved = min(fewer.n, max(_halving_errors(fewer, BETA)))
    return terms if 2 * max(_window_errors(terms, BETA)) <= halved else None


def _window_errors(terms: WindowTerms, beta: Fraction) -> tuple[int, ...]:
    """Return bounds on the rank errors of `codes_in_windows`; see `quantile_errors`."""
    # 2 FAILURE for gaps without full strength and codes outside windows, the rest for draws that are None.
    left = float(beta - 3 * FAILURE)
    if left <= 0:
        return (terms.n,) * len(terms.targets)
    noise = noise_bounds(len(terms.targets), float(terms.ratio), left)
    return tuple(min(each + terms.reach + 1, terms.n) for each in noise)


@documented_by(quantile_errors)
def quantile_sample_size(q: Sequence[Any], size: int, *, epsilon: Any, alpha: Any, beta: Any = 0.05) -> int:
    """Return the number of records from which on all rank errors are at most a fraction alpha of the records.

    Parameters
    ----------
    alpha : float
        Target error, as a fraction of the records, in (0, 1).

    Returns
    -------
    int
        A number n for which every `quantile_errors` is at most alpha n, while n - 1 is not enough. Greater
        numbers are enough too, up to one rank where a fraction is rounded.

    Examples
    --------
    >>> from dplearn.theory import quantile_sample_size
    >>> quantile_sample_size([0.5], 2**64, epsilon=1, alpha=0.01)
    9500
    """
    share = check_number("alpha", alpha, above=0, below=1)
    return _checked(q, size, 1, epsilon).n_needed(share, check_number("beta", beta, above=0, below=1))


@documented_by(quantile_errors)
def quantile_range_sample_size(q: Sequence[Any], size: int, *, epsilon: Any, beta: Any = 0.05) -> int | None:
    """Return the number of records from which on all quantiles lie in the range of the data.

    Returns
    -------
    int or None
        A number n for which, by `quantile_errors`, all quantiles lie between the least and the greatest of
        the data with probability at least 1 - beta, while n - 1 is not enough. None if 0 or 1 is among q:
        every value of the domain at or below the data is an exact quantile 0.

    Notes
    -----
    **Accuracy.** At least q n - e of the data are at most the value, so at least one is if e < q n; at most
    q n + e are less, so not all are if e < (1 - q) n. For a median the bound is nearly sharp: for n equal
    data a different value is released with probability (size - 1) r**n / (1 + (size - 1) r**n),
    r = exp(-epsilon / 4), which exceeds beta if n < (4 / epsilon) ln((size - 1) (1 - beta) / beta).

    Examples
    --------
    >>> from dplearn.theory import quantile_range_sample_size
    >>> quantile_range_sample_size([0.5], 2**64, epsilon=1)
    191
    """
    return _checked(q, size, 1, epsilon).n_inside(check_number("beta", beta, above=0, below=1))


def _from(suffices: Callable[[int], bool]) -> int:
    """Return a number n such that n and greater numbers suffice and n - 1 does not."""
    low = 1
    while True:
        enough = low
        while not suffices(enough):
            enough *= 2
        n = first(suffices, low, enough)
        # Beyond a power of two, distinct equal values need twice as many codes, and the errors jump.
        low = (1 << (n - 1).bit_length()) + 1
        if suffices(low):
            return n


def window_terms(search: QuantileSearch) -> WindowTerms | None:
    """Return the terms of least predicted error, its root mean square, with a given privacy cost, or None."""
    fractions, size, n, epsilon = search.fractions, search.size, search.n, search.epsilon
    k, targets = len(fractions), tuple(int(fraction * n) for fraction in fractions)
    # Gaps between targets are at least this, which never falls when n grows.
    narrowest = int(n * min(high - low for low, high in pairwise((Fraction(0), *fractions, Fraction(1)))))
    if narrowest * epsilon * log(2) < 6 * log2(k * size / FAILURE):
        return None  # even if all of epsilon were for the choice, windows would meet
    fitting = [terms for gap, terms in _possible(k, size, epsilon) if gap <= narrowest]
    return WindowTerms(targets, n, *fitting[-1]) if fitting else None


@lru_cache(maxsize=64)
def _possible(k: int, size: int, epsilon: Fraction) -> list[tuple[int, Any]]:
    """Return the gap that terms need, and the terms from `noise` on; greater gaps come with lesser errors."""
    merging = epsilon * _MERGING
    decay, zone, places = merging / 2, ceil(5 / merging), np.arange(1, k + 1)
    found = []
    for share, ramps in product(_NOISE, _RAMPS):
        noise, choice = epsilon * share, epsilon * (1 - _MERGING - share - ramps) / 3
        if choice <= 0:
            continue
        # The last rank more covers the rounding of the ratio of one unit of strength.
        reach = 1 + power_at_most(selection_ratio(2 * choice, 1), FAILURE / (k * size))
        reach = max(reach, -(-zone // 2))
        least = max(2 * reach, *_least_gaps(k, merging, decay, zone))
        ramp = ceil(4 * choice * reach / (epsilon * ramps))
        ratio = selection_ratio(noise, 1)
        margin = power_at_most(ratio, FAILURE * (1 - ratio) / (k + 1))
        variances = 2 * float(ratio) / (1 - float(ratio)) ** 2 * places * (k + 1 - places) / (k + 1)
        error = sqrt(float(np.mean(variances)) + 2 / float(choice) ** 2)
        found.append((least + ramp + margin, (noise, choice, reach, least, ramp, decay, zone), error))
    chain, least_error, least_bound = [], inf, inf
    for gap, terms, error in sorted(found):
        noise, _, reach, *_ = terms
        if error < least_error:
            bound = max(noise_bounds(k, float(selection_ratio(noise, 1)), float(BETA))) + reach
            if bound <= least_bound:
                least_error, least_bound = error, bound
                chain.append((gap, terms))
    return chain


def _least_gaps(k: int, merging: Fraction, decay: Fraction, zone: int) -> tuple[int, int]:
    """Return the gaps from which on (k + 1) q(1) <= merging / 10 and q(zone) <= merging / 5: then F <=
    exp(merging).
    """
    each = 1 / (1 + decay)
    return 1 + power_at_most(each, merging / (10 * (k + 1))), zone + power_at_most(each, merging / 5)


@lru_cache(maxsize=64)
def noise_bounds(k: int, ratio: float, beta: float) -> tuple[int, ...]:
    """Return what noise of k ranks exceeds with probability at most beta, as in `quantile_errors`."""
    totals = np.arange(int(40 * (k + 1) / (1 - ratio)) + 100)
    log_weights = 2 * (gammaln(totals + k + 1) - gammaln(totals + 1) - gammaln(k + 1) + totals * log(ratio))
    log_zero = logsumexp(log_weights) + 2 * (k + 1) * log1p(-ratio)  # of N(k + 1, 0)
    before = np.arange(1, k + 1)
    after = k + 1 - before
    # Near-optimal tilts are in the ratio of the numbers of moves on the other side.
    scales, top = np.geomspace(1e-3, 1e3, 200)[:, np.newaxis], -0.99 * log(ratio)
    up, down = np.minimum(scales / before, top), np.minimum(scales / after, top)
    bound = before * _log_moment(ratio, up) + after * _log_moment(ratio, down) - log_zero
    tails = (bound - np.log(-np.expm1(-up - down)) - log(beta / (2 * k))) / (up + down)
    return tuple(np.ceil(tails.min(axis=0)).astype(np.int64).tolist())


def _log_moment(ratio: float, tilt: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ln E exp(tilt d) of a move d with P(d) proportional to ratio ** abs(d)."""
    above, below = np.log1p(-ratio * np.exp(tilt)), np.log1p(-ratio * np.exp(-tilt))
    return 2 * np.log1p(-ratio) - above - below


def quantile_warnings(
    n_samples: Any, found: QuantileSearch, *, epsilon: Fraction | None = None, columns: int = 1
) -> tuple[str, ...]:
    """Return warnings for quantiles that may lie anywhere in the domain; epsilon is that of the release."""
    inner, told = tuple(each for each in found.fractions if 0 < each < 1), float(epsilon or found.epsilon)
    ends: tuple[str, ...] = ()
    if len(inner) < len(found.fractions):
        given = "" if n_samples is None else f"n_samples is {n_samples}: "
        ends = (
            f"{given}for any number of records, quantiles 0 and 1 may be any value"
            " beyond the data; use inner quantiles instead, such as 0.01 and 0.99",
        )
    if n_samples is None or not inner:
        return ends
    missed = replace(found, fractions=inner).errors(BETA)
    # With an error of q n ranks or more a value may be below all data; with (1 - q) n, above all data.
    shares = [float(off / min(each, 1 - each)) for off, each in zip(missed, inner, strict=True)]
    return ends + few_records_warnings(
        n_samples,
        max(shares),
        least=found.n,
        problem=f"with epsilon {told:.3g}{' a column' if columns > 1 else ''}, quantiles among"
        f" {written(found.size)} values may miss by {max(missed)} ranks, so that every value of the"
        " domain is possible",
        size=found.size,
        remedy="take fewer columns" if columns > 1 else "",
        subset="" if columns > 1 else ALL_GROUPS if found.sized else UNKNOWN_COUNT,
    )
