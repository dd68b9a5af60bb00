"""Oracles, which answer statistical queries in rounds, and the functions that make them.

An algorithm that uses `Oracle.ask` runs with every oracle: a population's, one with central noise, or one of
local reports. The functions for users charge the ledger; a fit calls `oracle_for` after its charge.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplearn._validation import AUTO, check_choice, check_count, check_number
from dplearn._writing import brief
from dplearn.chance import PublicStream, dice_for
from dplearn.chance.dice import Dice
from dplearn.fit import without_count
from dplearn.kernels import first, float_errors_ignored
from dplearn.privacy import ApproxDP, PrivacyLedger, open_account
from dplearn.privacy.guarantees import epsilon_of
from dplearn.privacy.one_time_state import OneTimeState
from dplearn.privacy.privacy_filter import BudgetExceededError
from dplearn.privacy.unknown_count import ADDED, COUNT_SHARE, MOST_RECORDS
from dplearn.queries.answer import Answer, TailBound, tolerance_of
from dplearn.queries.noise import QUERY_MODELS, CentralNoise, LocalNoise, Noise, answers_of, checked_bounds
from dplearn.queries.query import KINDS, HistogramQuery, StatisticalQuery, one_each, totals
from dplearn.table import Table, as_table, count_of
from dplearn.table.table import as_records

Image = Callable[[Any], Any]  # from records to as many records


@dataclass(frozen=True)
class Round:
    """A round: queries asked together, none of which depends on an answer to another.

    Attributes
    ----------
    n_queries : int
        The number of queries.
    share : Fraction
        The part of the oracle's budget that they used; 0 for an oracle without a budget.
    """

    n_queries: int
    share: Fraction


class Oracle(ABC):
    """Answers statistical queries."""

    @property
    @abstractmethod
    def rounds(self) -> tuple[Round, ...]:
        """The rounds so far."""

    @property
    @abstractmethod
    def left(self) -> Fraction:
        """The remaining part of the budget; 1 for an oracle without a budget."""

    def map(self, image: Image) -> Self:
        """Return an oracle for images of the records, which uses the budget of this one.

        Parameters
        ----------
        image : callable
            Public or released. From records to as many, each a function of its own record alone.
        """
        raise NotImplementedError

    def within(self, share: Fraction) -> Self:
        """Return an oracle that spends at most a share of this one's budget.

        Further answers of this oracle, and of others made from it, count against the share too.

        Parameters
        ----------
        share : number
            Above 0 and at most `left`; else an error is raised.
        """
        raise NotImplementedError

    @property
    def adaptive(self) -> bool:
        """Whether there was more than one round, so that queries may depend on earlier answers."""
        return len(self.rounds) > 1

    def ask(
        self,
        queries: StatisticalQuery | Sequence[StatisticalQuery],
        share: Any = None,
        *,
        tolerance: Any = None,
        beta: Any = 0.05,
    ) -> list[Answer]:
        """Answer some queries together, in one round.

        Parameters
        ----------
        queries : StatisticalQuery or sequence of StatisticalQuery
            At least one query. All get equal parts of the share.
        share : number, optional
            The part of the oracle's budget for this round, above 0 and at most 1. None uses all of the
            remaining budget.
        tolerance : number, optional
            Instead of `share`: the round uses the least share for which the error of each answer is at most
            `tolerance` with probability at least 1 - `beta`.
        beta : number, default=0.05
            The probability of a greater error, in (0, 1), for each query. Only used with `tolerance`.

        Returns
        -------
        list of Answer
            One for each query.

        Raises
        ------
        TypeError, ValueError
            If a parameter is invalid; nothing is spent. If a query's function raises an error, or returns
            values of the wrong type or shape; the share is spent.
        BudgetExceededError
            If the share exceeds the remaining budget; nothing is spent.
        """
        return self._answers(as_queries(queries), share, tolerance, beta)

    @abstractmethod
    def _answers(self, asked: list[StatisticalQuery], share: Any, tolerance: Any, beta: Any) -> list[Answer]:
        """Return the answers of checked queries, as `ask` and `ask_all` do."""


def as_queries(queries: Any) -> list[StatisticalQuery]:
    hint = "; wrap a function: MeanQuery(function, low=..., high=...)" if callable(queries) else ""
    wrong = f"queries must be at least one StatisticalQuery, got {type(queries).__name__}{hint}"
    if isinstance(queries, StatisticalQuery):
        return [queries]
    if not np.iterable(queries):
        raise TypeError(wrong)
    asked = list(queries)
    if not asked or not all(isinstance(query, StatisticalQuery) for query in asked):
        raise TypeError(wrong)
    return asked


_PARTS = 1 << 40  # a share chosen for a tolerance is a multiple of 1 / _PARTS


@dataclass(repr=False)
class Account:
    """The private state of an oracle and of those made from it; kept in a one-time state."""

    tables: list[Table]  # private: the records, then their images
    noise: Any  # public, or with a released number of records
    dice: Dice
    rounds: tuple[Round, ...] = ()
    asked: int = 0  # records that have reported, where each reports once
    numbers: int = 0  # in all answers

    @property
    def spent(self) -> Fraction:
        """The part of the budget that is used up."""
        return sum((each.share for each in self.rounds), Fraction(0))


class BudgetedOracle(Oracle):
    """Answers queries until a budget is used up, whose one state copies share, and no fork has."""

    _size: str  # the number of records in the repr, where that is public

    def __init__(self, records: Table, noise: Noise, privacy: ApproxDP, dice: Dice):
        self.guarantee = privacy
        self._account = OneTimeState(Account([records], noise, dice))
        self._place = 0  # of its table
        self._whole = Fraction(1)  # its part of the budget
        self._before = Fraction(0)  # what was spent before it was made

    def map(self, image: Image) -> Self:
        with float_errors_ignored(), self._account.use() as account:
            mapped = copy(self)
            mapped._place = len(account.tables)
            account.tables.append(account.tables[self._place].map(image))
        return mapped

    def within(self, share: Fraction) -> Self:
        inner = copy(self)
        with self._account.use() as account:
            own = _affordable(share, self._left(account))
            inner._whole, inner._before = self._whole * own, account.spent
        return inner

    def __repr__(self) -> str:
        budget = f"epsilon={float(self.guarantee.epsilon):g}, delta={float(self.guarantee.delta):g}"
        try:
            left = f"{float(self.left):g}"
        except RuntimeError:  # a query's function calls this during an answer, or this process is a fork
            left = "?"
        return f"{type(self).__name__}({self._size}{budget}, left={left})"

    @property
    def rounds(self) -> tuple[Round, ...]:
        with self._account.use() as account:
            return account.rounds

    @property
    def left(self) -> Fraction:
        with self._account.use() as account:
            return self._left(account)

    def _left(self, account: Account) -> Fraction:
        # Answers to others count too, of which there may be more than its part.
        return max(1 - (account.spent - self._before) / self._whole, Fraction(0))

    def _answers(self, asked: list[StatisticalQuery], share: Any, tolerance: Any, beta: Any) -> list[Answer]:
        with float_errors_ignored(), self._account.use() as account:
            self._open(account)
            noise, dice = account.noise, account.dice
            together = self._share(asked, share, tolerance, beta, account) * self._whole
            each = together / len(asked)
            bounds = checked_bounds(noise, asked, each, account.numbers)
            account.rounds += (Round(len(asked), together),)
            for query in asked:
                account.numbers += query.size
            private = self._private(account, asked, each)
            return answers_of(noise, asked, each, bounds, private, dice)

    def _share(
        self, asked: list[StatisticalQuery], share: Any, tolerance: Any, beta: Any, account: Account
    ) -> Fraction:
        """Return the share of the budget that all queries of a round use together."""
        left = self._left(account)
        if tolerance is not None and share is not None:
            raise ValueError("share must be None where tolerance is given, got both")
        wanted = None if tolerance is None else check_number("tolerance", tolerance, above=0)
        failure = check_number("beta", beta, above=0, below=1)
        together = _affordable(share, left)
        return together if wanted is None else self._least_share(asked, wanted, failure, account)

    def _least_share(
        self, asked: list[StatisticalQuery], tolerance: Fraction, beta: Fraction, account: Account
    ) -> Fraction:
        """Return the least share, in steps of 1 / _PARTS, with which every answer keeps a tolerance."""
        left = self._left(account)

        def off(query: StatisticalQuery, share: Fraction) -> float:
            noise, sampling = account.noise.bounds(query, share * self._whole)
            return tolerance_of(noise, sampling, beta)

        def least(query: StatisticalQuery) -> int:
            return first(lambda parts: off(query, Fraction(parts, _PARTS)) <= tolerance, 1, _PARTS + 1)

        together = Fraction(len(asked) * max(map(least, asked)), _PARTS)
        if together > left:
            best = max(off(query, left / len(asked)) for query in asked)
            raise BudgetExceededError(
                f"tolerance must be at least {best:.4g}, which takes all of the oracle's remaining budget"
                f" at beta={float(beta):g}, got {float(tolerance):g}"
            )
        return together

    def _open(self, account: Account) -> None:
        """Prepare a round, before its share is known; of use to subclasses."""

    @abstractmethod
    def _private(self, account: Account, asked: list[StatisticalQuery], share: Fraction) -> Iterable[Any]:
        """Return what the answer to each query of a round is made of."""


def _affordable(share: Any, left: Fraction) -> Fraction:
    """Return a share of the budget, None for all that is left of it."""
    wanted = left if share is None else check_number("share", share, above=0, high=1)
    if not left:
        raise BudgetExceededError("the oracle's budget is used up")
    if wanted > left:
        raise BudgetExceededError(
            f"share must be at most the oracle's remaining budget, {float(left):g}, got {float(wanted):g}"
        )
    return wanted


def _asked_table(records: Any) -> Table:
    table = as_table(records)
    if not len(table):
        raise ValueError("records must be at least one, got none")
    return table


_NOISES = (AUTO, "laplace", "gaussian")


class CentralOracle(BudgetedOracle):
    """Answers statistical queries by noisy means of all records.

    Parameters
    ----------
    records : ndarray, data frame or Records of n records
        Private. The records to which queries apply their functions, as for `dplearn.table.table.as_records`.
    privacy : ApproxDP
        The cost of all answers together; it must have been charged already. With the neighbours "add_remove"
        the number of records is private: the oracle estimates it before its first answer.
    dice : Dice
        Source of chance.
    noise : {"auto", "laplace", "gaussian"}, default="auto"
        "laplace" spends epsilon only; "gaussian" needs a positive delta and suits many queries and vectors.
        "auto" is "gaussian" if delta is positive, else "laplace".
    count_share : number, default=1/10
        For "add_remove": the part of the budget for the number of records, in [0, 1); the shares of queries
        are shares of the rest. 0: the number is not estimated, and answers are totals, as if they were means
        over one record.
    most_records : int, default=2**32
        Public. For "add_remove": sums are clipped to those of so many records.

    Attributes
    ----------
    guarantee : ApproxDP
        Public. The guarantee of all answers together, as charged.

    Notes
    -----
    **Privacy.** `privacy`, for one replaced record; where records are groups of rows, for all replaced rows
    of one group. Proof: between neighbours each query's totals differ by at most `l1` in the l1 norm, and
    `squared_l2` in the squared l2 norm (for groups of m rows by m and m^2 times that). The noise of an answer
    is scaled to the part of epsilon, or of mu^2 / 2 (`gaussian_sums`), that the answer spends. These parts
    add up to at most the whole, also if queries depend on earlier answers, and `gaussian_budget` implies
    `privacy`. `SumNoise` bounds the distances of sums that are multiplied first. For one added or removed
    record: likewise with `added_l1` and `added_squared_l2`, and 1 for the number of records, on which nothing
    else depends.

    **Assumes.** A query's value for a record is a function of that record alone; which queries are asked,
    given the answers, is public. The number of records is public, or, for "add_remove", at least 1.

    **Accuracy.** `Answer.tolerance`. For "add_remove" its probability of failure is greater by 2**-40, and an
    estimated number is at most `most_records`.

    **Source.** Blum, Dwork, McSherry and Nissim (2005), here with exact discrete noise.
    """

    def __init__(
        self,
        records: Any,
        *,
        privacy: ApproxDP,
        dice: Dice,
        noise: str = AUTO,
        count_share: Any = COUNT_SHARE,
        most_records: int = MOST_RECORDS,
    ):
        table = _asked_table(records)
        kind = check_choice("noise", noise, _NOISES)
        if kind == "gaussian" and not privacy.delta:
            raise ValueError("delta must be above 0 for noise='gaussian', got 0")
        if kind == AUTO:
            kind = "gaussian" if privacy.delta else "laplace"
        share = check_number("count_share", count_share, low=0, below=1)
        most = check_count("most_records", most_records, low=1, high=MOST_RECORDS)
        added = privacy.neighbors == ADDED
        if added and (table.in_parts or table.grouping is not None):
            raise TypeError("records must be in memory, and no groups, for neighbors='add_remove'")
        n = 1 if added else len(table)  # an answer about added records is a total, unless these are counted
        bought = CentralNoise.of(kind, privacy, n, count_share=share, each=table.each, most_records=most)
        super().__init__(table, bought, privacy, dice)
        self._size = "" if added else f"n={n}, "

    def count(self) -> int:
        """Return the number of records, if that is private an estimate, which the first round spends."""
        with float_errors_ignored(), self._account.use() as account:
            self._open(account)
            return int(account.noise.n)

    def _open(self, account: Account) -> None:
        if account.noise.n is None:
            account.noise = account.noise.with_noisy_count(len(account.tables[0]), account.dice)
            account.numbers += 1

    def _private(self, account: Account, asked: list[StatisticalQuery], share: Fraction) -> Iterable[Any]:  # noqa: ARG002
        # One pass over the records for all queries of a round.
        return account.tables[self._place].sums(partial(totals, asked))


class LocalOracle(BudgetedOracle):
    """Answers statistical queries from the randomised reports of records.

    Parameters
    ----------
    records : ndarray, data frame or Records of n records
        Private. The records to which queries apply their functions, as for `dplearn.table.table.as_records`.
    privacy : ApproxDP
        The cost for each record, of which only epsilon is spent; it must have been charged already.
    dice : Dice
        Source of chance.
    stream : PublicStream
        The source of the public order in which records report.
    randomizer : {"bit", "laplace"}, default="bit"
        The randomiser of a number: one bit, or the number with Laplace noise, which is more accurate only if
        epsilon is large and the numbers vary far less than their bounds allow.

    Attributes
    ----------
    guarantee : ApproxDP
        Public. The guarantee of all answers together, as charged.

    Notes
    -----
    **Privacy.** (epsilon, 0) for one replaced record, even if the collector of the reports is not trusted.
    Proof: public numbers determine the records that answer a query. Each record answers at most one query,
    once, by a randomiser of epsilon. Given the queries, all other reports do not depend on this record.

    **Assumes.** A query's value for a record is a function of that record alone; the number of records, and
    which queries are asked given the answers, are public.

    **Accuracy.** `Answer.tolerance`, for all records, even if they are chosen for the public signs of the
    Hadamard transform of vectors: it includes the greatest bias from clipping. For a number,
    `dplearn.theory.query_sample_size` returns the number of records needed for a tolerance.

    **Source.** Kasiviswanathan et al. (2011), Section 5.1.1 and Theorem 5.7. There each record adds Laplace
    noise to its value; a bit has less variance for the worst values, at every epsilon: with w their range,
    w**2 / (4 tanh(epsilon / 2)**2) < 2 (w / epsilon)**2 + w**2 / 4, since sinh(x) > x.
    """

    def __init__(
        self, records: Any, *, privacy: ApproxDP, dice: Dice, stream: PublicStream, randomizer: str = "bit"
    ):
        table = _asked_table(records)
        check_choice("neighbors", privacy.neighbors, ("replace_one",))  # reports can be counted
        self._order, self._size = stream.permutation(len(table)), f"n={len(table)}, "
        kind = check_choice("randomizer", randomizer, KINDS)
        super().__init__(table, LocalNoise(epsilon_of(privacy), len(table), kind), privacy, dice)

    def _private(self, account: Account, asked: list[StatisticalQuery], share: Fraction) -> Iterable[Any]:
        count = account.noise.count(share)
        for _ in asked:
            places = self._order[account.asked : account.asked + count]
            account.asked += count
            yield account.tables[self._place].take(places)


class PopulationOracle(Oracle):
    """Answers statistical queries about a known distribution; not private, for theory and tests.

    Its errors describe the invalid values of a query's function, and it warns of values outside the bounds.

    Parameters
    ----------
    records : ndarray, sparse matrix, data frame or series of pandas or polars, or Records of m records
        The support of the distribution.
    weights : sequence of numbers of length m, optional
        Nonnegative weights, proportional to the probabilities. None: all equal.
    tolerance : number, default=0
        The greatest error of an answer. The `tolerance` of `ask` takes precedence.
    adversary : callable, optional
        A function from the exact means, of shape (k,), to the answers, which are then clipped to within the
        tolerance. None: the answers are exact.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn.queries import PopulationOracle
    >>> from dplearn.queries.query import MeanQuery
    >>> heads = MeanQuery(lambda coins: coins, low=0, high=1)
    >>> oracle = PopulationOracle(np.array([0, 1]), weights=[0.25, 0.75])
    >>> oracle.ask(heads)[0].mean
    0.75
    >>> oracle = PopulationOracle(np.array([0, 1]), tolerance=0.1, adversary=lambda exact: exact + 9)
    >>> oracle.ask(heads)[0].mean
    0.6
    """

    def __init__(
        self,
        records: Any,
        *,
        weights: Sequence[Any] | None = None,
        tolerance: Any = 0,
        adversary: Callable[[NDArray[np.float64]], Any] | None = None,
    ):
        self._rounds: list[Round] = []  # of oracles for images too
        self._records = as_records("records", records)
        m = count_of(self._records)
        self._weights = np.ones(m) if weights is None else np.array([float(w) for w in weights])
        total = self._weights.sum()
        if len(self._weights) != m or not (self._weights >= 0).all() or not 0 < total < np.inf:
            raise ValueError(f"weights must be {m} nonnegative numbers, not all 0, got {brief(weights)}")
        self._tolerance = float(check_number("tolerance", tolerance, low=0))
        if not (adversary is None or callable(adversary)):
            raise TypeError(
                f"adversary must be a function of the exact means, got {type(adversary).__name__}"
            )
        self._adversary = adversary

    def __repr__(self) -> str:
        return f"PopulationOracle(m={len(self._weights)}, tolerance={self._tolerance:g})"

    @property
    def rounds(self) -> tuple[Round, ...]:
        return tuple(self._rounds)

    @property
    def left(self) -> Fraction:
        return Fraction(1)

    def map(self, image: Image) -> Self:
        mapped = copy(self)
        mapped._records = as_records("records", image(self._records))
        return mapped

    def within(self, share: Fraction) -> Self:  # noqa: ARG002 - this oracle has no budget
        return self

    def _answers(self, asked: list[StatisticalQuery], share: Any, tolerance: Any, beta: Any) -> list[Answer]:
        if share is not None:
            check_number("share", share, above=0, high=1)
        check_number("beta", beta, above=0, below=1)
        within = self._tolerance
        if tolerance is not None:
            within = float(check_number("tolerance", tolerance, above=0))
        self._rounds.append(Round(len(asked), Fraction(0)))
        return [self._answer(query, within) for query in asked]

    def _answer(self, query: StatisticalQuery, tolerance: float) -> Answer:
        inputs = self._inputs(query)
        each = (
            np.eye(query.size)[inputs]
            if isinstance(query, HistogramQuery)
            else inputs.reshape(-1, query.size)
        )
        # The division is last: sums of integer weights are integers, which floats represent exactly.
        exact = means = self._weights @ each / self._weights.sum() * float(query.unit)
        if self._adversary is not None:
            answered = np.asarray(self._adversary(exact), dtype=np.float64)
            if answered.shape != exact.shape or np.isnan(answered).any():
                raise ValueError(
                    f"adversary must return numbers of shape {exact.shape}, got {brief(answered)}"
                )
            means = answered.clip(exact - tolerance, exact + tolerance)
        off = TailBound(bias=0.0 if self._adversary is None else tolerance)
        return Answer(means, len(inputs), off, TailBound())

    def _inputs(self, query: StatisticalQuery) -> NDArray[np.int64]:
        """Return each record's bounded value; errors and a warning describe invalid values."""
        values = query.values(self._records)
        try:
            inputs = one_each(query.bounded(values), self._records)
        except TypeError as error:
            raise TypeError(f"{error}; got {_described(values)}") from None
        moved = np.asarray(values) != inputs
        n_moved = int(moved.any(axis=tuple(range(1, moved.ndim))).sum())
        if n_moved:
            warnings.warn(
                f"{query!r} has values beyond its bounds for {n_moved} of {len(inputs)} records: they are"
                " replaced with the nearest bound, and too long vectors with zeros; bounds count steps of the"
                " unit",
                stacklevel=6,
            )
        return inputs


def _described(values: Any) -> str:
    """Return the type, dtype and shape of the values of a function."""
    array = np.asarray(values)
    return f"{type(values).__name__} of dtype {array.dtype} and shape {array.shape}"


#: The assumptions of an oracle's guarantee about its queries.
ASKED = (
    "the number of records is public",
    "each query's value for a record is a function of that record alone, and never raises",
    "queries, their bounds and their shares depend on the records through answers alone",
)
population = PopulationOracle


def cost_of(trust_model: str, epsilon: Any, delta: Any, *, reproducible: bool) -> ApproxDP:
    """Check a learner's parameters, and return the greatest cost of its oracle; a local one has delta 0."""
    local_only = check_choice("trust_model", trust_model, QUERY_MODELS) == "local"
    budget = ApproxDP(check_number("epsilon", epsilon, above=0), delta, reproducible=reproducible)
    return replace(budget, delta=Fraction(0)) if local_only else budget


def check_reports(trust_model: str, n_samples: int, count: int, asked: str) -> None:
    """Raise an error if there are more queries, a noun for which is `asked`, than reports of records."""
    if trust_model == "local" and n_samples < count:
        raise ValueError(
            f"trust_model='local' needs a record for each of {count} {asked}, got n_samples={n_samples}"
        )


def oracle_for(
    kind: str,
    records: Any,
    *,
    privacy: ApproxDP,
    dice: Dice,
    stream: PublicStream,
    count_share: Fraction = Fraction(0),
    most_records: int = MOST_RECORDS,
) -> CentralOracle | LocalOracle:
    """Return the oracle of a learner, after its charge: "laplace", "gaussian" or "local"; the stream orders
    reports.
    """
    if kind == "local":
        return LocalOracle(records, privacy=privacy, dice=dice, stream=stream)
    return CentralOracle(
        records, privacy=privacy, dice=dice, noise=kind, count_share=count_share, most_records=most_records
    )


def central(
    records: Any,
    *,
    epsilon: Any = 1.0,
    delta: Any = 0.0,
    noise: str = AUTO,
    neighbors: str = "replace_one",
    count_share: Any = COUNT_SHARE,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> CentralOracle:
    """Return an oracle that answers with noisy means over all records.

    Parameters
    ----------
    records : ndarray, sparse matrix, data frame or series of pandas or polars, or Records
        Private. The records to which queries apply their functions; `LabelledRows` are rows and labels.
    epsilon : float, default=1.0
        Privacy budget of all answers together; positive. A float stands for its shortest decimal: 0.1 is
        1/10.
    delta : float, default=0.0
        Probability with which the guarantee may fail, in [0, 1); choose it far below 1 / n. Spent on Gaussian
        noise only.
    noise : {"auto", "laplace", "gaussian"}, default="auto"
        As for `CentralOracle`.
    neighbors : {"replace_one", "add_remove"}, default="replace_one"
        "add_remove": the guarantee is for one added or removed record, and the number of records is private.
    count_share : number, default=1/10
        As for `CentralOracle`; not used with "replace_one".
    ledger : PrivacyLedger, optional
        The ledger that all answers are charged to, when the oracle is made.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the answers reproducible, for tests only;
        the guarantee states this.

    Returns
    -------
    CentralOracle
        Its `guarantee` is the charged cost.

    Raises
    ------
    TypeError, ValueError
        If a parameter is invalid.
    BudgetExceededError
        If the cost exceeds the ledger's remaining budget; nothing is spent.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> import numpy as np
    >>> from dplearn.queries import MeanQuery, central
    >>> ages = np.random.default_rng(0).integers(20, 80, 10_000)
    >>> mean_age = MeanQuery(lambda ages: ages, low=0, high=120)
    >>> oracle = central(ages, epsilon=1, random_state=0)
    >>> answer = oracle.ask(mean_age, share=0.5)[0]  # half of the budget is left for other queries
    >>> round(answer.mean, 1), round(float(ages.mean()), 1)
    (49.5, 49.5)
    """
    cost = cost_of("central", epsilon, delta, reproducible=random_state is not None)
    assumes = without_count(ASKED) if neighbors == ADDED else ASKED
    privacy = replace(cost, neighbors=neighbors, assumes=assumes)
    charge = open_account(ledger, privacy, name="queries.central")
    dice = dice_for(random_state, "queries.central", repr(privacy), noise)
    oracle = CentralOracle(records, privacy=privacy, dice=dice, noise=noise, count_share=count_share)
    charge(privacy)
    return oracle


def local(
    records: Any,
    *,
    epsilon: Any = 1.0,
    delta: Any = 0.0,
    randomizer: str = "bit",
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> LocalOracle:
    """Return an oracle to which each record reports a randomised answer to one query.

    Parameters
    ----------
    records : ndarray, sparse matrix, data frame or series of pandas or polars, or Records
        Private. The records to which queries apply their functions, each query to some of them;
        `LabelledRows` are rows and labels.
    epsilon : number, default=1.0
        The cost for each record.
    delta : number, default=0.0
        Validated and not spent, so that `local` takes the same arguments as `central`.
    randomizer : {"bit", "laplace"}, default="bit"
        As for `LocalOracle`.
    ledger : PrivacyLedger, optional
        The ledger that all answers are charged to, when the oracle is made.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the answers reproducible, for tests only;
        the guarantee states this.

    Returns
    -------
    LocalOracle
        Its `guarantee` is the charged cost.

    Raises
    ------
    TypeError, ValueError
        If a parameter is invalid.
    BudgetExceededError
        If the cost exceeds the ledger's remaining budget; nothing is spent.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> import numpy as np
    >>> from dplearn.queries import MeanQuery, local
    >>> ages = np.random.default_rng(0).integers(20, 80, 10_000)
    >>> mean_age = MeanQuery(lambda ages: ages, low=0, high=120)
    >>> oracle = local(ages, epsilon=1, random_state=0)
    >>> answer = oracle.ask(mean_age)[0]
    >>> bool(abs(answer.mean - ages.mean()) < answer.tolerance(0.05))
    True
    """
    cost = cost_of("local", epsilon, delta, reproducible=random_state is not None)
    privacy = replace(cost, assumes=ASKED)
    charge = open_account(ledger, privacy, name="queries.local")
    dice = dice_for(random_state, "queries.local", repr(privacy), randomizer)
    stream = PublicStream.of(random_state, "queries.local")
    oracle = LocalOracle(records, privacy=privacy, dice=dice, stream=stream, randomizer=randomizer)
    charge(privacy)
    return oracle
