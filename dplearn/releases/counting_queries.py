"""Answer all counting queries of a finite class at once, by a public distribution on a finite domain.

A query is a set of values of a column, a row of a table of 0 and 1; its answer is their share of the records.
"""

import hashlib
import math
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations, islice
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._documented import documented_by
from dplearn._progress import watched
from dplearn._validation import check_count, check_number
from dplearn._writing import brief
from dplearn.chance.dice import Dice
from dplearn.domains import Categories, Domain, NumberDomain
from dplearn.domains.cells import as_cells, cell_type, is_frame, is_text
from dplearn.fit import N_IS_PUBLIC, Facts
from dplearn.kernels import first, least, root_above
from dplearn.mechanisms import exponential_mechanism, gaussian_counts, laplace_counts
from dplearn.mechanisms.selection import selection_excess
from dplearn.privacy import ApproxDP, PrivacyLedger, ZeroConcentratedDP, concentrated_budget
from dplearn.privacy.plan import ALPHA, ResultTable
from dplearn.queries.noise import LaplaceNoise
from dplearn.releases.release import (
    ColumnRelease,
    Released,
    ReleasePlan,
    checked_cost,
    few_records,
    read_codes,
)
from dplearn.table import Table

MOST_CANDIDATES = 1 << 20  #: The most small databases that are compared.
_MOST_CELLS = 1 << 24  # of a table of queries, and of all candidates or their answers
_BLOCK = 1 << 22  # cells of candidates at once
_MOST_ROUNDS = 4096
_MOST_ROWS = 1 << 12  # that a plan tries
_PUBLIC = "the values in public_values are public"
_UNIFORM = 0.1  # the weight of equal shares beside those of public rows
_TINY = Fraction(1, 10**9)  # the least alpha and beta
_WIDEST = 1 << 56  # the variance of Gaussian noise
_POOR = 0.25  # an error of answers that is warned of
_REPLAYS = 20  # passes over earlier answers in a round

_Planned = tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class ReleasedShares(Released, ResultTable):
    """Shares of the values of a column, whose answers to some queries are near those of the records.

    Attributes
    ----------
    values : list of length domain.size
        Public. The values, in the order of the domain.
    shares : ndarray of float64 of shape (domain.size,)
        Released. A share of each value; at least 0, with the sum 1.
    answers : ndarray of float64 of shape (n_queries,)
        Released. The answers to the queries, as shares of the records: `queries @ shares`. Only answers to
        the given queries are near to the records.
    plan : ReleasePlan
        Public. The plan of the release.
    """

    values: list[Any]
    shares: NDArray[np.float64]
    answers: NDArray[np.float64]
    plan: ReleasePlan

    def _shown(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        return ("value", "share"), list(zip(self.values, self.shares.tolist(), strict=True))


@documented_by(ColumnRelease)
def small_database(
    values: Any,
    queries: Any,
    domain: Domain,
    *,
    n_rows: int | None = None,
    epsilon: Any = 1.0,
    groups: Any = None,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> ReleasedShares:
    """Release a few rows whose answers to all queries are near those of the private records.

    Parameters
    ----------
    values : array-like of shape (n,), or parts of it
        Private. Values of the domain.
    queries : array-like of 0 and 1 of shape (n_queries, domain.size)
        Public. For each query, which values of the domain it counts. A missing value comes first in a domain
        of numbers, and `other` last in one of categories.
    domain : Domain
        Public. The possible values, few of them, such as Categories or IntegerRange; of several columns
        Categories of tuples, with a list of tuples as `values`.
    n_rows : int, optional
        Public. The number of rows, at least 1, for which at most 2**20 databases are possible. None: of these
        numbers, that with the least bound on the errors; it is small for domains of dozens of values.

    Returns
    -------
    ReleasedShares
        With shares that are multiples of 1 / n_rows.

    Raises
    ------
    ValueError
        If more than 2**20 databases are possible, whose number the message states.

    Warns
    -----
    UserWarning
        If answers may be wrong by a quarter or more.

    See Also
    --------
    stable_counts : Noisy counts of the values, more accurate where each has many records.
    multiplicative_weights : For domains of hundreds of values.

    Notes
    -----
    **Privacy.** (epsilon, 0) for one replaced record, or group: one exponential mechanism over all databases
    of `n_rows` rows. A replaced record moves the number c of records that a query counts by at most 1, so n
    times the count of a database less n_rows times c by at most n_rows.

    **Assumes.** The number of records is public, and values are in the domain.

    **Accuracy.** The `error` of `small_database_plan`.

    **Source.** Blum, Ligett and Roth (2008); Bun, Nissim and Stemmer (2016), Theorem 2.18.

    Examples
    --------
    >>> from dplearn.domains import Categories
    >>> from dplearn.releases import small_database
    >>> towns, domain = [*"nnnsw"] * 200, Categories(["n", "s", "w"])
    >>> found = small_database(towns, [[1, 0, 0], [1, 1, 0]], domain, n_rows=20, random_state=0)
    >>> found.answers.tolist()
    [0.6, 0.8]
    """
    return _SmallDatabase(queries, domain, n_rows, epsilon, random_state).run_on(values, None, ledger, groups)


@documented_by(small_database, ColumnRelease)
def small_database_plan(
    n_samples: int,
    queries: Any,
    domain: Domain,
    *,
    n_rows: int | None = None,
    epsilon: Any = 1.0,
    alpha: Any = 0.05,
    beta: Any = 0.05,
) -> ReleasePlan:
    """Return the plan of `small_database`, with a bound on its errors, without data.

    Parameters
    ----------
    alpha : float, default=0.05
        Target error for `n_needed`, in (0, 1).

    Returns
    -------
    ReleasePlan
        With the guarantee, n_samples, alpha and beta; `n_rows`, `n_databases`; `error`: with probability at
        least 1 - beta, all answers are that near to the shares of the records; and `n_needed`, the number of
        records from which on this is at most alpha, or None if no number is enough for that many rows.

    Examples
    --------
    >>> from dplearn.domains import IntegerRange
    >>> from dplearn.releases import small_database_plan
    >>> plan = small_database_plan(2000, [[1, 0, 0, 0], [1, 1, 0, 0]], IntegerRange(0, 3))
    >>> plan.n_rows, plan.n_databases, round(plan.error, 3)
    (182, 1038220, 0.022)
    """
    return _SmallDatabase(queries, domain, n_rows, epsilon).plan(Facts(n_samples), alpha=alpha, beta=beta)


@documented_by(small_database, ColumnRelease)
def multiplicative_weights(
    values: Any,
    queries: Any,
    domain: Domain,
    *,
    n_rounds: int | None = None,
    epsilon: Any = 1.0,
    delta: Any = 1e-6,
    public_values: Any = None,
    groups: Any = None,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> ReleasedShares:
    """Release shares of all values that are corrected, round by round, where a query is far from the records.

    Parameters
    ----------
    n_rounds : int, optional
        Public. The number of queries that are measured, from 1 to 4,096. None: a number that grows slowly
        with n * epsilon, about 30 at 1,000 and 130 at 100,000, and at most the number of queries.
    delta : float, default=1e-6
        Probability with which the guarantee may fail, in [0, 1); 0 for Laplace noise and pure privacy.
    public_values : array-like of shape (n_public,), optional
        Public. Values like the private ones, not wrapped: the rounds start from nine tenths of their shares
        and a tenth of equal ones. None: from equal shares. They may cost accuracy, never privacy.

    Raises
    ------
    ValueError
        If the table of queries has more than 2**24 cells.

    Warns
    -----
    UserWarning
        If the noise of a count is a twentieth of the records or more.

    See Also
    --------
    stable_counts : Noisy counts of the values, more accurate where each has many records.
    SyntheticTable : Tables of many columns.

    Notes
    -----
    **Privacy.** (epsilon, delta) for one replaced record, or group, which moves the count of each query by at
    most 1. A round selects a query by its distance from the present shares, which are made of what is
    released, and releases its noisy count: an exponential mechanism and a count, each with half of the
    round's cost. With delta, their zero-concentrated costs add up; without, their epsilons.

    **Assumes.** The number of records is public, and values are in the domain.

    **Accuracy.** The `error` of `multiplicative_weights_plan`.

    **Source.** Hardt and Rothblum (2010); Bun, Nissim and Stemmer (2016), Theorem 2.19; the rounds of Hardt,
    Ligett and McSherry (2012), with a step eight times as long and its proof; the public start of Liu et al.
    (2021).

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.domains import IntegerRange
    >>> from dplearn.releases import multiplicative_weights
    >>> ages = np.arange(30_000) % 64
    >>> up_to = np.tri(64, dtype=int)  # one query for each age: at most so old
    >>> found = multiplicative_weights(ages // 2, up_to, IntegerRange(0, 63), random_state=0)
    >>> bool(abs(found.answers[31] - 1) < 0.02)
    True
    """
    release = _MultiplicativeWeights(queries, domain, n_rounds, epsilon, delta, public_values, random_state)
    return release.run_on(values, None, ledger, groups)


@documented_by(multiplicative_weights, small_database_plan, small_database, ColumnRelease)
def multiplicative_weights_plan(
    n_samples: int,
    queries: Any,
    domain: Domain,
    *,
    n_rounds: int | None = None,
    epsilon: Any = 1.0,
    delta: Any = 1e-6,
    public_values: Any = None,
    alpha: Any = 0.05,
    beta: Any = 0.05,
) -> ReleasePlan:
    """Return the plan of `multiplicative_weights`, with a bound on its errors, without data.

    Returns
    -------
    ReleasePlan
        With the guarantee, n_samples, alpha and beta; `n_rounds`; `error`: with probability at least 1 -
        beta, all answers are that near to the shares of the records; and `n_needed`, the number of records
        from which on this is at most alpha with as many rounds, or None if no number is enough.

    Notes
    -----
    Proof. Let D be the shares of the records and w the present ones. An update by the noisy answer m of a
    query q multiplies the shares of its values by exp(4 (m - q(w))). By Hoeffding's lemma it lessens the
    divergence of w from D by at least 2 (e**2 - L**2), with e the error of q before it and L that of m:
    noise, and at most a standard deviation by which m is moved towards q(w). (It falls by h (q(D) - q(w)) -
    h**2 / 8 for a step h.) Let all T rounds have noise of at most L and select queries whose errors are
    within s of the greatest; let a further update, which is not made, select without error. All T + 1 updates
    raise the divergence by at most 2 T L**2 together, from at most ln(1 / u), u the least share at the start.
    So over the shares before each of the last K = T // 2 + 1 updates, the mean square of e is at most ln(1 /
    u) / (2 K) + T L**2 / K. Their mean is released: its greatest error is at most s plus the root of this.
    Earlier answers are taken again only where they are more than 2 L off, so that their updates do not raise
    the divergence either.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.domains import IntegerRange
    >>> from dplearn.releases import multiplicative_weights_plan
    >>> plan = multiplicative_weights_plan(30_000, np.tri(64, dtype=int), IntegerRange(0, 63))
    >>> plan.n_rounds, round(plan.error, 3)
    (64, 0.272)
    """
    release = _MultiplicativeWeights(queries, domain, n_rounds, epsilon, delta, public_values)
    return release.plan(Facts(n_samples), alpha=alpha, beta=beta)


class _CountingQueries(ColumnRelease[ReleasedShares]):
    """What both recipes share: the checked queries, the histogram of a column, and the form of a plan."""

    def __init__(self, name: str, queries: Any, domain: Any, cost: ApproxDP, seed: Any, *context: object):
        self.of, self.queries = domain, _checked_queries(queries, domain)
        self.values = _values_of(domain)
        digest = hashlib.sha256(self.queries.tobytes()).hexdigest()
        known = repr(domain), str(cost.epsilon), str(cost.delta), digest, *map(str, context)
        super().__init__(name, cost, known, seed)

    def read(self, X: Any, y: Any) -> tuple[Facts, Any]:  # noqa: ARG002 - there is none
        codes = _codes(X, self.of)
        return Facts(len(codes)), codes

    def plan(self, facts: Facts, *, alpha: Any = 0.05, beta: Any = 0.05) -> ReleasePlan:
        within: dict[str, Any] = {"low": _TINY, "below": 1}
        n, failure = self.count(facts), float(check_number("beta", beta, **within))
        share = float(check_number("alpha", alpha, **within))
        states, keeps, warning = self.planned_for(n, share, failure)
        problem = f"with epsilon {float(self.cost.epsilon):.3g} and {warning[0]}" if warning else ""
        warns = (few_records(n, problem, *warning[1:]),) if warning else ()
        return self.stated(n, **states, alpha=share, beta=failure, keeps=keeps, warns=warns)

    @abstractmethod
    def planned_for(self, n: int, alpha: float, beta: float) -> _Planned:
        """Return what a plan states and keeps, and its warning, if any: the problem and the remedies."""

    def histogram(self, table: Table) -> NDArray[np.int64]:
        [counts] = table.sums(partial(_counts_of, size=self.of.size))
        return np.asarray(counts)

    def released(self, shares: NDArray[np.float64], plan: ReleasePlan) -> ReleasedShares:
        return ReleasedShares(self.values, shares, self.queries @ shares, plan)


class _SmallDatabase(_CountingQueries):
    """The recipe of `small_database`."""

    def __init__(self, queries: Any, domain: Any, n_rows: Any, epsilon: Any, random_state: Any = None):
        cost = checked_cost(epsilon, assumes=_assumed(domain))
        super().__init__("small_database", queries, domain, cost, random_state, n_rows)
        self.sizes = _possible_rows(self.of.size, len(self.queries), n_rows)

    def planned_for(self, n: int, alpha: float, beta: float) -> _Planned:
        size, n_queries = self.of.size, len(self.queries)
        # Of each number of rows, the error of the best database, and that of the selection for one record.
        logs = [math.log(_n_databases(size, m)) - math.log(beta) for m in self.sizes]
        terms = [
            (database_error(size, n_queries, m), 2 * log / float(self.cost.epsilon), m)
            for log, m in zip(logs, self.sizes, strict=True)
        ]
        error, m = min((off + selection / n, m) for off, selection, m in terms)
        needed = [math.floor(selection / (alpha - off)) + 1 for off, selection, _ in terms if off < alpha]
        states = {
            "n_rows": m,
            "n_databases": _n_databases(size, m),
            "error": min(1.0, error),
            "n_needed": min(needed, default=None),
        }
        poor = (
            f"{m} rows of {size} values, answers may be wrong by {min(1.0, error):.2f}",
            "declare a smaller domain",
            "use multiplicative_weights or stable_counts",
        )
        return states, {}, poor if error >= _POOR else ()

    def run(self, table: Table, plan: ReleasePlan, dice: Dice) -> ReleasedShares:
        n, m, true = plan.n_samples, plan.n_rows, self.queries @ self.histogram(table)
        databases = list(_databases(self.of.size, m, len(self.queries)))
        off = [np.abs(n * (counts @ self.queries.T) - m * true).max(axis=1) for counts in databases]
        chosen = exponential_mechanism(-np.concatenate(off), privacy=plan.guarantee, dice=dice, sensitivity=m)
        return self.released(np.concatenate(databases)[chosen] / m, plan)


class _MultiplicativeWeights(_CountingQueries):
    """The recipe of `multiplicative_weights`."""

    def __init__(
        self,
        queries: Any,
        domain: Any,
        n_rounds: Any,
        epsilon: Any,
        delta: Any,
        public_values: Any,
        random_state: Any = None,
    ):
        assumes = (*_assumed(domain), *(_PUBLIC,) * (public_values is not None))
        cost = checked_cost(epsilon, delta, assumes=assumes)
        self.start, known = np.full(domain.size, 1 / domain.size), None
        if public_values is not None:
            try:
                [known] = _counts_of(_codes(public_values, domain), domain.size)
            except (TypeError, ValueError) as error:
                raise type(error)(f"public_values: {error}") from None
            self.start = (1 - _UNIFORM) * known / known.sum() + _UNIFORM * self.start
            known = known.tolist()
        super().__init__("multiplicative_weights", queries, domain, cost, random_state, n_rounds, known)
        known_rounds = n_rounds is not None
        self.n_rounds = check_count("n_rounds", n_rounds, low=1, high=_MOST_ROUNDS) if known_rounds else None

    def planned_for(self, n: int, alpha: float, beta: float) -> _Planned:
        # By default a number of rounds with small errors in practice; the least bound has many more. Within a
        # tenth of the best of 4, 8, ... 128 on most of made domains of 256 and 1,024 values.
        usual = max(1, round(4 * float(n * self.cost.epsilon) ** 0.3))
        t = self.n_rounds or min(_MOST_ROUNDS, len(self.queries), usual)
        deviation, limit = self.noise(t, beta)
        selection = selection_excess(len(self.queries), self.costs(t)[0].epsilon, beta / (2 * t)) + 1
        last = t // 2 + 1
        spread, noise = math.sqrt(-math.log(self.start.min()) / (2 * last)), math.sqrt(t / last) * limit

        def error(n: int) -> float:
            return selection / n + math.hypot(spread, noise / n)

        states = {
            "n_rounds": t,
            "error": min(1.0, error(n)),
            "n_needed": least(lambda n: error(n) <= alpha, 1) if spread < alpha else None,
        }
        noisy = (
            f"{t} rounds, the noise of a count is {deviation / n:.2g} of the records, and shares may stay"
            " where they start",
            "spend more epsilon",
            "set n_rounds lower",
        )
        keeps = {"limit": limit / n, "deviation": deviation / n}
        return states, keeps, noisy if deviation / n >= ALPHA else ()

    def costs(self, t: int) -> tuple[ApproxDP, Any]:
        """Return the cost of the selection and of the count of each of t rounds."""
        if not self.cost.delta:
            half = ApproxDP(self.cost.epsilon / (2 * t))
            return half, half
        rho = concentrated_budget(self.cost) / (2 * t)
        if 2 * rho * _WIDEST <= 1:
            raise ValueError(
                f"epsilon must be greater for {t} rounds of Gaussian noise, whose variance must be below"
                f" 2**56, got {float(self.cost.epsilon)}"
            )
        return ApproxDP(1 / root_above(1 / (8 * rho))), ZeroConcentratedDP(rho)

    def noise(self, t: int, beta: float) -> tuple[float, float]:
        """Return the standard deviation of the noise of each of t counts, and what no error of them exceeds
        with probability 1 - beta / 2.
        """
        _, counting = self.costs(t)
        if self.cost.delta:
            rho = float(counting.rho)
            deviation, tail = math.sqrt(1 / (2 * rho)), math.sqrt(math.log(4 * t / beta) / rho)
        else:
            noise = LaplaceNoise(counting.epsilon, 1)
            deviation, tail = noise.deviation, noise.tail(Fraction(beta) / (2 * t))
        return deviation, tail + deviation

    def run(self, table: Table, plan: ReleasePlan, dice: Dice) -> ReleasedShares:
        n, true = plan.n_samples, self.queries @ self.histogram(table)
        selecting, counting = self.costs(plan.n_rounds)
        count = gaussian_counts if self.cost.delta else laplace_counts
        shares, total, taken = self.start, np.zeros(self.of.size), {}
        for done in watched(range(plan.n_rounds), "Asking queries"):
            total += shares if 2 * done >= plan.n_rounds and done else 0  # those before the last updates
            off = np.abs(true - np.rint(n * (self.queries @ shares)).astype(np.int64))
            query = exponential_mechanism(off, privacy=selecting, dice=dice)
            noisy = count(int(true[query]), privacy=counting, dice=dice, low=0, high=n)
            present = self.queries[query] @ shares
            moved = int(noisy) / n - present
            # Less than it is, where noise may be all of it; by at most the deviation.
            taken[query] = present + (moved * max(0.0, 1 - (plan.deviation / moved) ** 2) if moved else 0.0)
            shares = self.corrected(shares, taken, query, plan.limit)
        total += shares
        return self.released(total / total.sum(), plan)

    def corrected(self, shares: Any, answers: dict[int, float], query: int, limit: float) -> Any:
        """Return shares that are corrected by the last answer, and by earlier ones that are 2 `limit` off."""
        for _ in range(_REPLAYS):
            for each, answer in answers.items():
                counted = self.queries[each] > 0
                off = answer - shares[counted].sum()
                if each == query or abs(off) > 2 * limit:
                    shares = np.where(counted, shares * math.exp(4 * off), shares)
                    shares = shares / shares.sum()
            query = -1
        return shares


def database_error(domain_size: int, n_queries: int, n_rows: int) -> float:
    """Return a bound on the greatest error of the answers of the best database of some rows.

    Draw the rows from the records: with positive probability no answer moves by more than the first bound, by
    Hoeffding's inequality and the union over queries. Or round the number of rows of each of d values down,
    and add the r rows that are missing at the greatest remainders: those rounded down have remainders of at
    most r / d in the mean, so together lose at most (d - r) r / d <= d / 4 rows, as many as the others gain.
    """
    drawn = math.sqrt((math.log(2) + math.log(n_queries)) / (2 * n_rows))
    return min(drawn, domain_size / (4 * n_rows))


def _assumed(domain: Any) -> tuple[str, ...]:
    if not isinstance(domain, Domain):
        raise TypeError(
            "domain must be the domain of one column, such as Categories([...]) or IntegerRange(0, 99), got"
            f" {brief(domain)}"
        )
    return N_IS_PUBLIC, domain.assumption


def _checked_queries(queries: Any, domain: Domain) -> NDArray[np.int64]:
    if isinstance(domain, Categories) and hasattr(queries, "columns"):
        if list(queries.columns) != list(domain.values):
            raise ValueError("queries must have the categories of the domain as columns, in their order")
    elif domain.size > _MOST_CELLS:
        raise ValueError(f"domain must have at most 2**24 values, got {brief(domain)}: declare few values")
    table = np.asarray(queries)
    if table.ndim != 2 or not len(table) or table.shape[1] != domain.size:
        raise ValueError(
            f"queries must be a table of 0 and 1 of shape (n_queries, {domain.size}), with a column for each"
            f" value of the domain, got shape {table.shape}"
        )
    if table.size > _MOST_CELLS:
        raise ValueError(f"queries must have at most 2**24 cells, got shape {table.shape}")
    if table.dtype.kind not in "biuf" or not np.isin(table, (0, 1)).all():
        raise ValueError("queries must be 0 or 1 for each value of the domain")
    return table.astype(np.int64)


def _codes(values: Any, domain: Domain) -> Any:
    """Return the code of each value in a domain of any kind."""
    if isinstance(domain, NumberDomain):
        return read_codes(values, domain, takes_missing=domain.accepts_missing)
    if is_frame(values):
        raise ValueError(
            f"values must have shape (n,), got a data frame of shape {values.shape}: for several columns give"
            " list(zip(df.a, df.b)), and Categories of all such tuples as domain"
        )
    cells = as_cells(values)
    if cells.ndim != 1 or not cells.size:
        raise ValueError(f"values must have shape (n,), n at least 1, got shape {cells.shape}")
    if getattr(domain, "misreads_text", False) and is_text(cell_type(getattr(values, "dtype", None))):
        raise TypeError("values are text, and the categories of the domain are numbers: give numbers")
    return domain.encode(cells)


def _values_of(domain: Domain) -> list[Any]:
    if isinstance(domain, Categories):
        return [*domain.values, *["other"] * domain.other]
    codes = np.arange(domain.size)
    return list(domain.decode(codes).tolist() if isinstance(domain, NumberDomain) else codes.tolist())


def _counts_of(codes: Any, size: int) -> list[NDArray[np.int64]]:
    return [np.bincount(codes.astype(np.int64), minlength=size)]


def _n_databases(size: int, n_rows: int) -> int:
    return comb(size + n_rows - 1, n_rows)


def _possible_rows(size: int, n_queries: int, n_rows: Any) -> list[int]:
    """Return the numbers of rows among which a plan chooses; raise ValueError if there are too many."""

    def possible(m: int) -> bool:
        count = _n_databases(size, m)
        return count <= MOST_CANDIDATES and count * max(size, n_queries) <= _MOST_CELLS

    if n_rows is not None and possible(check_count("n_rows", n_rows, low=1)):
        return [n_rows]
    most = first(lambda m: not possible(m), 1, _MOST_ROWS + 1) - 1
    if n_rows is None and most:
        return list(range(1, most + 1))
    given = n_rows or 1
    count = _n_databases(size, given)
    shown = f"{count:,}" if count < 10**9 else f"10^{math.floor(math.log10(count))}"
    remedy = f"at most {most} rows" if most else "declare a smaller domain, or use multiplicative_weights"
    raise ValueError(
        "n_rows must leave at most 2**20 databases, and 2**24 of their cells or answers, got"
        f" {given} rows of {size} values: {shown} databases; {remedy}"
    )


def _databases(size: int, n_rows: int, n_queries: int) -> Iterator[NDArray[np.int64]]:
    """Yield all databases, each as its number of rows of each value, in blocks."""
    bars = combinations(range(n_rows + size - 1), size - 1)  # between the rows of one value and the next
    while block := list(islice(bars, max(1, _BLOCK // max(size, n_queries)))):
        places = np.array(block, dtype=np.int64).reshape(len(block), size - 1)
        ends = np.full((len(block), 1), n_rows + size - 1)
        yield np.diff(places, axis=1, prepend=-1, append=ends) - 1
