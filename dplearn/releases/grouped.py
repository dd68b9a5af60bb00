"""Private counts, sums and means by category, for declared or learned categories."""

import math
from collections.abc import Hashable
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._documented import documented_by
from dplearn._validation import check_count, check_number
from dplearn._writing import brief
from dplearn.chance.dice import Dice
from dplearn.domains import DomainError, Floats
from dplearn.domains.cells import is_frame
from dplearn.domains.keys import key_counts
from dplearn.fit import N_IS_PUBLIC, Facts
from dplearn.kernels import decay_ratio, laplace_quantile
from dplearn.kernels.confidence_bounds import mean_bounds
from dplearn.mechanisms.stable_histogram import (
    stable_histogram,
    stable_histogram_ratio,
    stable_histogram_threshold,
)
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import ALPHA, ResultTable
from dplearn.privacy.unknown_count import ADDED, MOST_RECORDS, moved_counts
from dplearn.queries.noise import LaplaceNoise
from dplearn.releases.keyed import checked_categories, declared, pairs_in_parts, places_of
from dplearn.releases.release import (
    UNKNOWN_COUNT,
    ColumnRelease,
    Released,
    ReleasePlan,
    checked_bounds,
    covers_sampling,
    few_records,
    planned_rows,
    read_column,
    rows_of_groups,
)
from dplearn.releases.stable_counts import KEYS, read_column_of_keys
from dplearn.table import Columns, Table

_BITS = 16  # of the grid of values, from the middle of the bounds to an end
_BETA = Fraction(1, 20)  # of intervals that are shown
_FLOATS = Floats()
_UNEQUAL = "keys and values must have equal lengths, got {} and {}"
_VALUES = "values are finite numbers; they are clipped to the bounds"


@dataclass(frozen=True)
class Grouped(Released, ResultTable):
    """The result of `grouped`.

    Attributes
    ----------
    counts : dict
        Released. Maps each category to its noisy number of records, with groups of those that take part.
    sums, means : dict or None
        Released. Map each category to the noisy sum and mean of its clipped values; None without values. Of
        several columns they map the name of each column to such a dict. A mean is NaN where the noise could
        hide any mean within the bounds.
    bounds : tuple of float, dict of such tuples, or None
        Public. The bounds on values, by the name of each of several columns.
    plan : ReleasePlan
        Public. The plan of the release, as `grouped_plan` describes it.
    guarantee : ApproxDP
        Public. The guarantee of the release.
    """

    counts: dict[Hashable, int]
    sums: dict[Hashable, Any] | None
    means: dict[Hashable, Any] | None
    bounds: Any
    plan: ReleasePlan

    def _shown(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        known: dict[str, dict[Hashable, Any]] = {"count": self.counts, "count, 95 %": self.count_intervals()}
        if self.means is not None and self.sums is not None:
            means, intervals = self.means, self.mean_intervals()
            if isinstance(self.bounds, dict):
                for name in self.bounds:
                    known |= {f"mean {name}": means[name], f"mean {name}, 95 %": intervals[name]}
            else:
                known |= {"sum": self.sums, "mean": means, "mean, 95 %": intervals}
        return ("category", *known), [(key, *(each[key] for each in known.values())) for key in self.counts]

    def count_intervals(self, beta: float = 0.05) -> dict[Hashable, tuple[float, float]]:
        """Return an interval for the number of records of each category; costs no privacy.

        Parameters
        ----------
        beta : float, default=0.05
            Probability, for each category, that its interval does not contain its number, in (0, 1).

        Returns
        -------
        dict
            Maps each category to the lower and the upper end.
        """
        off = self.plan.noise[0].tail(check_number("beta", beta, above=0, below=1))
        most = float("inf") if self.plan.most is None else float(self.plan.most)
        return {
            key: (float(max(0, count - off)), min(most, float(count + off)))
            for key, count in self.counts.items()
        }

    def mean_intervals(self, beta: float = 0.05, *, of: str = "population") -> dict[Hashable, Any]:
        """Return an interval for the mean of each category's clipped values; costs no privacy.

        Parameters
        ----------
        beta : float, default=0.05
            Probability, for each category, that its interval does not contain its mean, in (0, 1).
        of : {"population", "table"}, default="population"
            "population": the mean of the distribution from which the values of a category are independent
            draws; with groups, the values of different groups. "table": the mean of the records themselves;
            only the privacy noise is covered.

        Returns
        -------
        dict
            Maps each category to the lower and the upper end; of several columns, the name of each column to
            such a dict. With groups, the records that take no part are not covered. Of a category without
            records the interval says nothing.

        Notes
        -----
        **Accuracy.** For the table, half of beta is for the count and half for the sum; for the population,
        half of beta is for these, and half for the sample, by Hoeffding's bound (1963, Theorem 1), which
        holds for every distribution within the bounds: of these, one on both bounds has the greatest
        variance, (high - mean) (mean - low). Up to m = `max_rows_per_group` values of a group may be equal:
        then c of them count as c / m draws.
        """
        if self.sums is None:
            raise ValueError("there are no means: the release had no values")
        failure, sampled = check_number("beta", beta, above=0, below=1), covers_sampling(of)
        sums: dict[Any, Any] = self.sums if isinstance(self.bounds, dict) else {None: self.sums}
        bounds = _by_name(self.bounds)
        return _told(
            {name: self._intervals(sums[name], each, failure, sampled) for name, each in bounds.items()}
        )

    def _intervals(
        self, sums: dict[Hashable, float], bounds: tuple[float, float], beta: Fraction, sampled: bool
    ) -> dict[Hashable, tuple[float, float]]:
        """Return an interval for each category's mean of one column."""
        failure = beta / 2 if sampled else beta
        found = _scaled_intervals(self.counts, sums, bounds, self.plan, failure / 2)
        (low, high), rows = bounds, self.plan.group_rows
        places = {}
        for key, (first, last, count) in found.items():
            if sampled:
                draws, error = max(1, count // rows), float(failure / 2)
                first, last = mean_bounds(first, draws, error)[0], mean_bounds(last, draws, error)[1]
            places[key] = low + (high - low) * first, low + (high - low) * last
        return places


def _scaled_intervals(
    counts: dict[Hashable, int],
    sums: dict[Hashable, float],
    bounds: tuple[float, float],
    plan: ReleasePlan,
    failure: Fraction,
) -> dict[Hashable, tuple[float, float, int]]:
    """Return where each category's mean is from 0 to 1, and its least count; each fails with at most
    `failure`.
    """
    low, high = bounds
    middle, half = low / 2 + high / 2, high / 2 - low / 2
    off, off_sum = (noise.tail(failure) for noise in plan.noise)
    found = {}
    for key, count in counts.items():
        total = (sums[key] - middle * count) / half if half else 0.0
        fewest = max(count - off, 1)
        ends = [(total + side * off_sum) / each for side in (-1, 1) for each in (fewest, max(count + off, 1))]
        first, last = np.clip([min(ends), max(ends)], -1, 1).tolist()
        found[key] = (1 + first) / 2, (1 + last) / 2, fewest
    return found


def _by_name(bounds: Any) -> dict[Any, tuple[float, float]]:
    """Return the bounds of each column; a single one has the name None."""
    if bounds is None:
        return {}
    return bounds if isinstance(bounds, dict) else {None: bounds}


def _told(found: dict[Any, Any]) -> dict[Hashable, Any]:
    """Return what was found of each column by its name, or of a single one without a name."""
    alone: dict[Hashable, Any] | None = found.get(None)
    return found if alone is None else alone


@documented_by(ColumnRelease)
def grouped(
    keys: Any,
    values: Any = None,
    *,
    bounds: Any = None,
    categories: Any = None,
    groups: Any = None,
    max_rows_per_group: int | None = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    neighbors: str = "replace_one",
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> Grouped:
    """Release how many records each category has, and the sum and the mean of their values.

    Parameters
    ----------
    keys : series, array, or list of shape (n,), or parts of a series or array
        Private. The category of each record, with the types of `stable_counts`.
    values : array-like of shape (n,), data frame, or parts like those of `keys`, optional
        Private. One number a record; finite. Several columns of a data frame: see `bounds`. None: only counts
        are released, from all of epsilon.
    bounds : pair of numbers, or dict of such pairs, optional
        Public bounds (low, high) on the values, known without looking at the data; required with values.
        Values outside are moved to the nearest bound. The noise is proportional to the width. A dict from the
        names of columns of a data frame to the bounds of each: then the sums and means of these columns are
        released, with counts for all of them, and the noise of sums is proportional to their number.
    categories : sequence of keys, optional
        Public. The categories, known without looking at the data; all of them are released, and records of no
        category are left out. Keys of different types differ: the category "1" has no record with the key 1.
        None: the categories are learned as in `stable_counts`, which spends delta; categories of few records
        are not released.
    groups : array-like of shape (n,), or parts like those of `keys`, optional
        Private. The group of each record, such as the person that it belongs to: texts or integers. The
        guarantee then protects all records of a group together, and the set of groups is public.
    max_rows_per_group : int, optional
        Public. With groups: the most records of a group that take part, at most 1000; of a group with more,
        so many are chosen by public chance. The noise is proportional to it. Counts, sums and means are of
        the records that take part: of all records if no group has more. None: 10.
    epsilon : float, default=1.0
        Privacy budget of the release; positive. With values, one half is for the counts and one half for the
        sums of all columns. A float stands for its shortest decimal: 0.1 is 1/10.
    delta : float, default=0.0
        Probability with which the guarantee may fail, in [0, 1); choose it far below 1 / n_samples. Spent on
        learned categories only, which need it.
    neighbors

    Raises
    ------
    DomainError
        If a key is none of those that `stable_counts` takes, such as a number that is not whole, or a value
        is no finite number; the message shows neither, and nothing is spent.

    Warns
    -----
    UserWarning
        If there are so few records that no category can be released, or that the mean of a category of all
        records may be any value within the bounds, where their number is public: for
        neighbors="replace_one".

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record. Proof: let e be epsilon / 2,
    or epsilon without values. A replaced record leaves one category and enters another, which moves the
    counts by 2 in the L1 norm; learned categories are those of `stable_histogram`, with (e, delta). Values
    are integers from -S to S. If both records are in one category, one sum moves by at most 2 S; if not, two
    sums by at most S each. So the sums of all categories together cost e, although they are as many as there
    are categories. With d columns, a replaced record moves the sums of each in this way, so noise that is d
    times as wide costs e for all of them. Given the released categories, a record of another category counts
    as one with the value 0. For one added or removed record: it moves one count by 1 and one sum of each
    column by at most S, and nothing else depends on the number of records.
    For one replaced group, let m be `max_rows_per_group`: at most m of its records leave and at most m enter,
    which moves the counts by at most 2 m in the L1 norm, and the sums by at most 2 m S. So noise that is m
    times as wide costs e each. Nothing else depends on the number of its records. Learned categories are
    those whose noisy count reaches t, where P[1 + Z >= t] <= p for the noise Z of ratio r. Categories of both
    tables cost e. Those of one table alone have counts c_1, c_2, ... of sum at most m there, and one of them
    is released with probability at most r^(1 - c_1) p + r^(1 - c_2) p + ...; since r^-c / c is convex, that
    is at most p max(m, r^(1 - m)), which is delta / 2. As for `stable_histogram`, the sum of this for either
    table covers them.

    **Accuracy.** `Grouped.count_intervals`, `Grouped.mean_intervals`, and `grouped_plan`.

    **Source.** Dwork, McSherry, Nissim and Smith (2006); for learned categories as for `stable_counts`.

    Examples
    --------
    >>> from dplearn.releases import grouped
    >>> towns = ["north"] * 4000 + ["south"] * 2000 + ["east"]
    >>> wages = [1500] * 4000 + [2500] * 2000 + [9000]
    >>> found = grouped(
    ...     towns, wages, bounds=(0, 5000), categories=["north", "south"], epsilon=1, random_state=0
    ... )
    >>> {town: round(mean, -1) for town, mean in found.means.items()}
    {'north': 1500.0, 'south': 2500.0}
    >>> learned = grouped(towns, wages, bounds=(0, 5000), epsilon=1, delta=1e-6, random_state=0)
    >>> sorted(learned.counts)  # "east" has too few records
    ['north', 'south']
    """
    given = values is not None, bounds, categories, epsilon, delta, random_state, neighbors
    return _Grouped(*given, rows_of_groups(groups, max_rows_per_group)).run_on(keys, values, ledger, groups)


@documented_by(grouped, ColumnRelease)
def grouped_plan(
    n_samples: int | None,
    *,
    bounds: Any = None,
    categories: Any = None,
    max_rows_per_group: int | None = None,
    epsilon: float = 1.0,
    delta: float = 0.0,
    neighbors: str = "replace_one",
    beta: float = 0.05,
    n_keys: int = 1,
) -> ReleasePlan:
    """Return the plan of `grouped`, without data: without bounds, that of counts alone.

    Parameters
    ----------
    n_samples : int or None
        Number of records, at least 1. None, for "add_remove": unknown.
    max_rows_per_group : int, optional
        Public. With groups, whose number `n_samples` then is: the most records of a group that take part, at
        most 1000. The noise is proportional to it. None: without groups.
    n_keys : int, default=1
        Number of categories, chosen independently of the release, for which the errors hold together.

    Returns
    -------
    ReleasePlan
        With the guarantee, n_samples (of records, or of groups; None if it is private), beta, n_keys and

        `threshold`: the least noisy count of a learned category that is released; None for declared ones.
        `count_error`: with probability at least 1 - beta / 2, the noise of the counts of n_keys categories is
        at most this.

        `mean_error`: with the same probability, the noise of the sum of values of each of these, measured
        from the middle of the bounds, is at most this; in units of the width of the bounds, for each of
        several columns. None without values.

        `n_needed`: a number of records of a category for which, with probability at least 1 - beta, it is
        released, and its mean has an error of at most .05 of the width of the bounds; without values, its
        count of at most .05.

    Examples
    --------
    >>> from dplearn.releases import grouped_plan
    >>> plan = grouped_plan(6000, bounds=(0, 5000), categories=["north", "south"], epsilon=1)
    >>> plan.count_error, round(plan.mean_error, 1), plan.n_needed
    (15, 7.4, 298)
    """
    given = bounds is not None, bounds, categories, epsilon, delta, None, neighbors
    return _Grouped(*given, planned_rows(max_rows_per_group)).plan(Facts(n_samples), beta=beta, n_keys=n_keys)


def _totals(categories: tuple[Hashable, ...], rows: Columns) -> list[NDArray[np.int64]]:
    """Return the counts, and the sums of values, of categories of the records of a part."""
    keys, *values = rows.columns
    size, codes = len(categories), places_of(keys, categories)
    counts = np.bincount(codes, minlength=size + 1)[:size].astype(np.int64)
    sums = np.zeros((size + 1, len(values)), dtype=np.int64)
    for place, each in enumerate(values):
        np.add.at(sums[:, place], codes, each)
    return [counts, sums[:size]]


class _Grouped(ColumnRelease[Grouped]):
    """The recipe of `grouped`: X are the keys, and y the values or None."""

    takes = "keys"
    unequal = _UNEQUAL
    group_rows: int = 1
    repeated = False
    bits = _BITS  # of the grid of values; audits use fewer
    most_records = MOST_RECORDS  # audits use fewer

    def __init__(
        self,
        with_values: bool,
        bounds: Any,
        categories: Any,
        epsilon: Any,
        delta: Any,
        random_state: Any = None,
        neighbors: str = "replace_one",
        group_rows: int = 1,
    ):
        self.group_rows = group_rows
        self.bounds = _checked_bounds(bounds, with_values)
        self.categories = None if categories is None else checked_categories(categories)
        given = check_number("delta", delta, low=0, below=1)
        if self.categories is None and not given:
            raise ValueError(
                "delta must be above 0, such as 1e-6, where categories are learned, got 0: or declare them,"
                " categories=[...], if they are known without looking at the data"
            )
        chosen = () if self.categories is None else (declared(self.categories),)
        assumes = (N_IS_PUBLIC, KEYS, *chosen, *((_VALUES,) if with_values else ()))
        cost = ApproxDP(
            check_number("epsilon", epsilon, above=0),
            given if self.categories is None else 0,
            neighbors,
            assumes=assumes,
        )
        parameters = repr(self.bounds), repr(self.categories), str(cost.epsilon), str(cost.delta)
        super().__init__("grouped", cost, parameters, random_state)
        #: The counts, and the sums by their greatest value, that differ between neighbours.
        self.moved = moved_counts(neighbors) * self.group_rows

    @property
    def noise(self) -> list[LaplaceNoise]:
        """The noise of counts and, with values, of the sums of all columns, in halves of their widths."""
        columns, epsilon = len(_by_name(self.bounds)), self.cost.epsilon
        if not columns:
            return [LaplaceNoise(epsilon, self.moved)]
        of_sums = LaplaceNoise(epsilon / 2, self.moved * columns << self.bits, 1 / (1 << self.bits))
        return [LaplaceNoise(epsilon / 2, self.moved), of_sums]

    def parts_of(self, X: Any, y: Any) -> Table | None:
        return pairs_in_parts(X, y, ("keys", "values"))

    def read(self, X: Any, y: Any) -> tuple[Facts, Columns]:
        keys: Any = read_column_of_keys(X)
        if y is None:
            return Facts(len(keys)), Columns([keys, np.zeros(len(keys), dtype=np.int64)])
        codes = _codes_of_columns(y, self.bounds, self.bits)
        if len(codes) != len(keys):
            raise ValueError(_UNEQUAL.format(len(keys), len(codes)))
        return Facts(len(keys)), Columns([keys, *codes.T])

    def plan(self, facts: Facts, *, beta: Any = 0.05, n_keys: Any = 1) -> ReleasePlan:
        failure = check_number("beta", beta, above=0, below=1)
        together = check_count("n_keys", n_keys, low=1)
        each, noise = failure / (2 * together), self.noise
        # The mean moves by at most their sum, in halves of the width, if count and sum have these errors.
        errors = [of.tail(each) for of in noise]
        needed = max(1, -int(-sum(errors) / ALPHA // len(errors)))
        threshold = None
        if self.categories is None:
            privacy = self._learning(noise[0].epsilon)
            threshold = stable_histogram_threshold(privacy)
            needed = max(needed, threshold - 1 + laplace_quantile(stable_histogram_ratio(privacy), each))
        n = self.count(facts)
        return self.stated(
            n,
            threshold=threshold,
            count_error=errors[0],
            mean_error=errors[1] / 2 if len(errors) == 2 else None,
            n_needed=needed,
            beta=float(failure),
            n_keys=together,
            keeps={
                "noise": noise,
                "group_rows": self.group_rows,
                "most": None if n is None else n * self.group_rows,
            },
            notes={"mean_error": "of a sum, in widths of the bounds", "n_needed": "records of a category"},
            warns=() if n is None else self._few(n, threshold, errors),
        )

    def _few(self, n: int, threshold: int | None, errors: list[float]) -> tuple[str, ...]:
        """Return a warning if no learned category can be released, or noise may exceed the records."""
        most = n * self.moved // 2  # records that take part
        if threshold is not None and most < threshold:
            problem = f"no category can be released, because released counts are at least {threshold}"
            remedies = "declare categories=", "spend more epsilon or delta"
        elif threshold is None and most <= errors[0]:
            problem = f"the noise of a count may be {errors[0]}"
            remedies = "use more records", "spend more epsilon"
        elif len(errors) == 2 and most <= sum(errors):
            problem = (
                "the mean of a category may be any value within the bounds, even of one with all records"
            )
            remedies = "use more records", "spend more epsilon"
        else:
            return ()
        return (few_records(n, problem, *remedies, subset=UNKNOWN_COUNT),)

    def _learning(self, epsilon: Fraction) -> ApproxDP:
        """Return the privacy of `stable_histogram` with which the learned categories cost epsilon."""
        m, delta = self.group_rows, self.cost.delta
        if m == 1:
            return ApproxDP(epsilon, delta, self.cost.neighbors)
        least = min(Fraction(1, m), decay_ratio(epsilon / (2 * m)) ** (m - 1))
        return ApproxDP(epsilon / (2 * m), delta / 2 * least, ADDED)

    def run(self, table: Table, plan: ReleasePlan, dice: Dice) -> Grouped:
        noise, n = self.noise, self.most_records if self.uncounted else plan.n_samples * self.group_rows
        if self.categories is None:
            [keys] = table.sums(partial(key_counts, [0]))
            privacy = self._learning(noise[0].epsilon)
            counts = stable_histogram(keys, privacy=privacy, dice=dice, most_records=n)
            counts = dict(sorted(counts.items(), key=lambda item: -item[1]))
            _, totals = table.sums(partial(_totals, tuple(counts)))
        else:
            exact, totals = table.sums(partial(_totals, self.categories))
            noisy = noise[0].noisy(exact, dice, low=0, high=n).tolist()
            counts = dict(zip(self.categories, noisy, strict=True))
        if self.bounds is None:
            return Grouped(counts, None, None, None, plan)
        most, by_name = n << self.bits, _by_name(self.bounds)
        scaled = noise[1].noisy(totals.ravel(), dice, low=-most, high=most).reshape(totals.shape)
        columns = zip(by_name.items(), scaled.T / (1 << self.bits), strict=True)
        found = {name: _sums_and_means(counts, each, bounds, plan) for (name, bounds), each in columns}
        sums, means = (_told({name: each[place] for name, each in found.items()}) for place in range(2))
        return Grouped(counts, sums, means, self.bounds, plan)


def _sums_and_means(
    counts: dict[Hashable, int], totals: NDArray[np.float64], bounds: tuple[float, float], plan: ReleasePlan
) -> tuple[dict[Hashable, float], dict[Hashable, float]]:
    """Return noisy sums and means from sums of values, measured from the middle in halves of the width."""
    low, high = bounds
    middle, half = low / 2 + high / 2, high / 2 - low / 2
    sums, means = {}, {}
    for (key, count), total in zip(counts.items(), totals.tolist(), strict=True):
        sums[key] = middle * count + half * total
        means[key] = middle + half * min(max(total / max(count, 1), -1.0), 1.0)
    for key, (first, last, _) in _scaled_intervals(counts, sums, bounds, plan, _BETA / 4).items():
        if first <= 0 and last >= 1:  # any value is possible
            means[key] = math.nan
    return sums, means


def _codes_of_columns(values: Any, bounds: Any, bits: int) -> NDArray[np.int64]:
    """Return the values of each column as integers, a column of the result for each."""
    if not isinstance(bounds, dict):
        return _whole(values, bounds, bits)[:, np.newaxis]
    if not is_frame(values):
        raise TypeError(
            "values must be a data frame where bounds is a dict of columns, got"
            f" {type(values).__name__}: pd.DataFrame of them, or one pair of bounds"
        )
    if absent := [name for name in bounds if name not in list(values.columns)]:
        raise ValueError(f"bounds must be of columns of values, which have no {brief(absent[0])}")
    columns = [_whole(values[name], each, bits, f"values[{name!r}]") for name, each in bounds.items()]
    return np.stack(columns, axis=1)


def _whole(values: Any, bounds: tuple[float, float], bits: int, name: str = "values") -> NDArray[np.int64]:
    """Return numbers as integers, measured from the middle of the bounds."""
    codes, cells = None, read_column(values)
    with suppress(DomainError):  # raised outside, so that the error has no context
        codes = _FLOATS.encode(cells)
    if codes is None:
        raise DomainError(
            f"{name} holds a missing or infinite number, or a cell that is no number; fill in a constant"
            " within the bounds, or drop such records if their number may be public"
        )
    low, high = bounds
    middle, half = low / 2 + high / 2, high / 2 - low / 2
    numbers = _FLOATS.decode(codes).clip(low, high)
    steps = np.rint((numbers - middle) / half * (1 << bits))
    return np.asarray(steps.clip(-(1 << bits), 1 << bits), dtype=np.int64)


def _checked_bounds(bounds: Any, with_values: bool) -> Any:
    if bounds is None:
        if with_values:
            raise ValueError("bounds must be given with values, such as bounds=(0, 100), got None")
        return None
    if not with_values:
        raise ValueError("bounds must be None without values, since only counts are released")
    if not isinstance(bounds, dict):
        return checked_bounds(bounds)
    if not bounds:
        raise ValueError("bounds must be a pair, or a dict of pairs for at least one column, got {}")
    return {name: checked_bounds(each) for name, each in bounds.items()}
