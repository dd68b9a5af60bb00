"""Private conjunctions by statistical queries on the positive records, in a single round: a histogram of each
column. A value whose share is at most a threshold is excluded by the conjunction.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dplearn._documented import Calculator, TwoLabels, documented_by
from dplearn._validation import check_count, check_goal, check_number
from dplearn._writing import brief
from dplearn.chance.dice import Dice
from dplearn.concepts.base import Concept, Labels
from dplearn.domains import Bits
from dplearn.estimator import RuleClassifier
from dplearn.estimator.recipe import FitFacts, QueryFit, planned_table
from dplearn.estimator.schema_learning import learns_schema
from dplearn.fit import TABLE
from dplearn.kernels import first
from dplearn.learners.bins import MOST_BINS, Bins, binned, declared_columns, stacked
from dplearn.learners.limits import SIZE_NOTES
from dplearn.learners.rules.constant import NOTES, compared
from dplearn.privacy import PrivacyLedger
from dplearn.privacy.plan import StatedPlan
from dplearn.queries import HistogramQuery, LabelledRows, Oracle
from dplearn.queries.answer import TailBound
from dplearn.queries.noise import central_noise, share_noise
from dplearn.queries.oracle import check_reports, cost_of
from dplearn.table import as_table
from dplearn.table.features import as_product
from dplearn.table.targets import (
    labels_assumed,
    positive_code,
)

_UNDECLARED = Bits()
_READ_AS_BITS = (
    "domain is None: each column is read as a bit, which is 1 where a value is above 0; declare domain=Bits()"
    " if this is meant, or, for conditions on ranges of numbers, domain='learn' or bounds, such as"
    " Grid(0, 100)"
)
_MOST = 1 << 62
# The share of beta for the rule where it is compared with constant labels, and for those two, which take as
# much as one value of all.
_RULE = 0.9


@documented_by(TwoLabels)
@learns_schema()
@dataclass(eq=False, repr=False, kw_only=True)
class ConjunctionClassifier(RuleClassifier):
    """Learn a conjunction such as "yes if smoker and not retired and age > 40" by statistical queries.

    Drop-in: any number of predictions costs no privacy. The rule is the conjunction of all conditions that
    hold for the positive records, at most one for each column. All queries are asked in one round.

    Parameters
    ----------
    delta : float, default=0.0
        ... A positive delta reduces the noise for many columns in the central model; where it would
        not, no delta is spent.
    trust_model : {"central", "local"}, default="central"
        "central": noise is added to counts over all records. "local": each record reports by randomised
        response the value of one column, or that it is not positive.
    domain
        ... Conditions on numbers are ranges, and conditions on categories are sets. None: `Bits()`, whose
        only conditions are that a value is above 0 or not, with a warning.
    n_bins : int, default=8
        Number of bins of equal width of each numeric column, from 2 to 4,096.
    positive : label, optional
        The label of records that satisfy the rule. None: the second of the sorted labels, such as 1 or "yes".
    alpha : float, default=0.1
        Target error, in (0, 1). A condition is kept if the noisy share of positive records that violate it is
        at most a threshold: the maximum of the noise bound and of alpha / (2 k), but at most 1 / (2 k), for
        at most k conditions.

    Attributes
    ----------
    concept_ : ChosenConcept
        Released. The conjunction; its `repr` is the rule.
    noise_ : str
        Public. The noise: "laplace" or "gaussian"; "local" for randomised response.
    classes_ : ndarray of shape (2,)
    guarantee_, schema_, domain_, feature_importances_, n_features_in_, feature_names_in_

    See Also
    --------
    ExponentialMechanismClassifier : Conjunctions of at most three literals, also for noisy labels.
    dplearn.theory.conjunction_query_sample_size : The number of records for a given accuracy.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record; "local" and "laplace" with
    delta 0, and "local" also towards the collector of the reports. Proof: each record is in one cell of a
    column's histogram, its bin or the cell of the negative label, so one replaced record changes at most two
    counts, each by 1; the queries have equal shares of the budget ("central": of nine tenths of epsilon) or
    of the records ("local"). The selection among the conjunction and the constant labels, whose errors a
    replaced record changes by at most 1, costs the rest.

    **Accuracy.** If a conjunction of such conditions labels at least `plan(n_samples).n_needed` records, the
    error on their distribution is at most alpha with probability at least 1 - beta, for the worst
    distribution; see `conjunction_error` for the proof. "central": the rule is computed with B = .9 beta / (1
    + 1 / C) in place of beta, for C values of all columns; a constant label of greater error is selected with
    probability at most beta / 10 + B / C. "local" is the algorithm of the source, without this selection. If
    a few per cent of the labels are wrong, valid conditions are dropped: use
    `ExponentialMechanismClassifier`.

    **Source.** Kearns (1998) for the algorithm by statistical queries; Kasiviswanathan, Lee, Nissim,
    Raskhodnikova and Smith (2011), Section 5, for the local model.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn import ConjunctionClassifier
    >>> from dplearn.domains import Bits
    >>> X = np.random.default_rng(0).integers(0, 2, (20_000, 6))
    >>> y = np.where(X[:, 1] & ~X[:, 4] & 1, "ill", "well")
    >>> learner = ConjunctionClassifier(domain=Bits(), positive="ill", random_state=0)
    >>> learner.fit(X, y).concept_
    'ill' if x1 > 0 and x4 <= 0, else 'well'
    """

    epsilon: float = 1.0
    delta: float = 0.0
    trust_model: str = "central"
    domain: Any = None
    n_bins: int = 8
    positive: Any = None
    alpha: float = 0.1
    beta: float = 0.05
    classes: Sequence[Any] | None = None
    max_rows_per_group: int = 10
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    reads_parts = True

    def plan(self, n_samples: int, *, n_features: int | None = None) -> StatedPlan:
        """Return the plan of a fit: its guarantee and its accuracy. No data is read.

        Returns
        -------
        StatedPlan
            Of `guarantee`, `n_samples` and the parameters `alpha` and `beta`, and of

            - `noise`, as `noise_` of a fit;
            - `error`, a bound on the error on the records' distribution, with probability at least 1 - beta,
              if a conjunction labels the records;
            - `n_needed`, the least number of records from which on `error` is at most alpha, for the worst
              distribution;
            - `excess_of_constant`, with "central": on any labels, the training error exceeds that of the most
              frequent label by at most this, with probability at least 1 - beta / 10;
            - `epsilon_of_comparison`, the part of epsilon that this takes.
        """
        fit = self._recipe(self.random_state is not None)
        return fit.planned(planned_table(fit, n_samples, n_features=n_features, n_labels=2))

    def _recipe(self, reproducible: bool) -> "ConjunctionFit":
        fit = ConjunctionFit(
            self,
            cost_of(self.trust_model, self.epsilon, self.delta, reproducible=reproducible),
            trust_model=self.trust_model,
            undeclared=self.domain is None,
            n_bins=check_count("n_bins", self.n_bins, low=2, high=MOST_BINS),
            positive=self.positive,
            alpha=float(check_number("alpha", self.alpha, above=0, below=1)),
            beta=float(check_number("beta", self.beta, above=0, below=1)),
        )
        positive_code(fit.positive, fit.classes)
        return fit

    def _publish(self, outcome: Concept, plan: StatedPlan) -> None:
        self._publish_rule(outcome, plan)
        self.noise_ = plan.noise

    _two_labels = "a conjunction"

    def _declared(self) -> Any:
        return declared_columns(self.domain, _UNDECLARED)


class ConjunctionFit(QueryFit):
    """The fit of `ConjunctionClassifier`."""

    def plan(self, facts: FitFacts) -> StatedPlan:
        domain = as_product(self.declared, facts.n_features, facts.names)
        bins = tuple(binned(each, self.n_bins) for each in domain.domains)
        check_reports(self.trust_model, facts.n_samples, len(bins), "columns")
        noise, comparison, epsilon, beta = "local", None, self.cost.epsilon, self.beta
        if self.trust_model == "central":
            comparison, epsilon, _ = compared(epsilon, beta)
            beta *= _RULE / (1 + 1 / sum(each.size for each in bins))
            noise = central_noise(len(bins), epsilon=epsilon, delta=self.cost.delta)
        delta = self.cost.delta if noise == "gaussian" else Fraction(0)
        sizes = [each.size for each in bins]
        assumes = (*TABLE, *domain.assumes, labels_assumed(self.classes))
        asked = {"epsilon": epsilon, "delta": delta, "alpha": self.alpha, "beta": beta}
        n, needed = facts.n_samples, conjunction_query_sample_size(sizes, noise=noise, **asked)
        few = (
            f"n_samples is {n}: alpha={self.alpha} and beta={self.beta} require {needed} records in the worst"
            " case; plan(n_samples, n_features=...) reports `error` without data"
        )
        positive = positive_code(self.positive, facts.classes)
        return StatedPlan(
            replace(self.cost, delta=delta, assumes=assumes),
            title="ConjunctionPlan",
            states={
                "noise": noise,
                "n_samples": n,
                "error": conjunction_error(sizes, n, noise=noise, **asked),
                "n_needed": needed,
                **(comparison.states(n) if comparison else {}),
                "alpha": self.alpha,
                "beta": self.beta,
            },
            keeps={
                "bins": bins,
                "domain": domain,
                "positive": positive,
                "comparison": comparison,
                "rule_beta": beta,
            },
            notes=SIZE_NOTES | NOTES,
            warns=(_READ_AS_BITS,) * self.undeclared + (few,) * (n < needed),
            public=facts,
        )

    def summarize(self, rows: Any, plan: StatedPlan) -> LabelledRows:
        # One replaced record replaces one row of bins and one label.
        return LabelledRows(stacked(plan.bins, rows.X), rows.y)

    def learn(self, oracle: Oracle, plan: StatedPlan) -> Concept:
        beta = plan.rule_beta
        return learn_conjunction(oracle, plan.bins, positive=plan.positive, alpha=plan.alpha, beta=beta)

    def run(self, summary: Any, plan: StatedPlan, dice: Dice) -> Any:
        comparison, cost = plan.comparison, plan.guarantee
        if comparison is None:  # in the local model each record reports once, before any rule is known
            return super().run(summary, plan, dice)
        rest = replace(cost, epsilon=cost.epsilon - comparison.epsilon)
        rule = super().run(summary, replace(plan, guarantee=rest), dice)
        table = as_table(summary)
        [counts] = table.sums(partial(_errors_and_ones, rule))
        n = len(table) * table.each
        constant = comparison.constant(*counts.tolist(), n, dice, each=table.each)
        if constant is None:
            return rule
        allowed = tuple((constant == rule.positive,) * bins.size for bins in plan.bins)
        return replace(rule, allowed=allowed)


@dataclass(frozen=True)
class BinConjunction:
    """A conjunction over bins: one label if each column's value is in an allowed bin, else the other."""

    bins: tuple[Bins, ...]  # of each column
    allowed: tuple[tuple[bool, ...], ...]  # for each column, whether each of its bins is allowed
    positive: int  # the label code of records whose bins are all allowed

    @property
    def used(self) -> tuple[int, ...]:
        return tuple(place for place, allowed in enumerate(self.allowed) if not all(allowed))

    def predict(self, columns: Sequence[NDArray[Any]]) -> Labels:
        places = [bins.of(codes) for bins, codes in zip(self.bins, columns, strict=True)]
        return np.where(self.holds(places), self.positive, 1 - self.positive).astype(np.intp)

    def holds(self, places: Sequence[NDArray[Any]]) -> NDArray[np.bool_]:
        """Return whether each record satisfies all conditions, from the bins of its columns."""
        satisfied = np.ones(len(places[0]), dtype=bool)
        for allowed, codes in zip(self.allowed, places, strict=True):
            if not all(allowed):
                satisfied &= np.array([*allowed, False])[codes]
        return satisfied

    def describe(self, features: Sequence[str], labels: Sequence[Any]) -> str:
        yes, no = labels[self.positive], labels[1 - self.positive]
        if not all(map(any, self.allowed)):
            return f"always {no!r}"
        words = [
            bins.describe(name, allowed)
            for name, bins, allowed in zip(features, self.bins, self.allowed, strict=True)
            if not all(allowed)
        ]
        return f"{yes!r} if {' and '.join(words)}, else {no!r}" if words else f"always {yes!r}"


def learn_conjunction(
    oracle: Oracle, bins: Sequence[Bins], *, positive: int, alpha: float, beta: float
) -> BinConjunction:
    """Query each column's shares of positive records by bin, in one round; return the conjunction."""
    sizes = [each.size for each in bins]
    queries = [
        HistogramQuery(partial(_bin_if_positive, column, size, positive), categories=size + 1)
        for column, size in enumerate(sizes)
    ]
    allowed = []
    for each, answer in zip(bins, oracle.ask(queries), strict=True):
        threshold = conjunction_threshold(sizes, answer.noise, alpha=alpha, beta=beta)
        allowed.append(_filled(answer.means[: each.size] > threshold, each))
    return BinConjunction(tuple(bins), tuple(allowed), positive)


def _errors_and_ones(rule: BinConjunction, records: LabelledRows) -> list[NDArray[np.int64]]:
    """Return the number of errors of a conjunction, and of records with label code 1."""
    inside = rule.holds(records.X.T)
    wrong = inside != (records.y == rule.positive)
    return [np.array([np.count_nonzero(wrong), np.count_nonzero(records.y)])]


def _bin_if_positive(column: int, size: int, positive: int, records: LabelledRows) -> NDArray[np.int64]:
    return np.where(records.y == positive, records.X[:, column], size).astype(np.int64)


def _filled(above: NDArray[np.bool_], bins: Bins) -> tuple[bool, ...]:
    """Return the allowed bins; with an order, all bins between two allowed bins are allowed too."""
    places = np.flatnonzero(above[bins.first :]) + bins.first
    if bins.ordered and len(places):
        above[places[0] : places[-1] + 1] = True
    return tuple(above.tolist())


def literals_kept(sizes: Sequence[int]) -> int:
    """Return the greatest number of values that a satisfiable conjunction excludes; if it excludes all values
    of some column, only these count, as every positive record has one of them.
    """
    return max(sum(sizes) - len(sizes), max(sizes))


def conjunction_threshold(sizes: Sequence[int], noise: TailBound, *, alpha: float, beta: float) -> float:
    """Return the threshold on the share of positive records at or below which a value is excluded: the bound
    on the noise of all answers at beta / 2, or alpha / 2 over the number of literals if that is greater; at
    most 1 / 2 over that number, beyond which `conjunction_error` is trivial.
    """
    half = 1 / (2 * literals_kept(sizes))
    return min(half, max(_tolerance(noise, len(sizes), beta), alpha * half))


def conjunction_error(
    sizes: Sequence[int],
    n: int,
    *,
    epsilon: Any,
    alpha: Any,
    beta: Any,
    delta: Any = 0,
    noise: str = "laplace",
) -> float:
    """Return a bound on the error of the learned conjunction, if a conjunction labels all records.

    Parameters
    ----------
    sizes : sequence of int
        The number of values of each column.
    n : int
        Number of records, independent draws from a distribution.
    alpha, beta : float
        Target error, which determines the thresholds, and allowed probability of failure; both in (0, 1).
    delta : number, default=0
        Spent by "gaussian" noise only, which needs it.
    noise : {"laplace", "gaussian", "local"}, default="laplace"
        The noise; see `share_noise`. "local" needs at least as many records as queries.

    Returns
    -------
    float
        The bound, at most 1. With probability at least 1 - beta, the error on the distribution is at most
        this.

    Notes
    -----
    **Accuracy.** Let the error of each answer be at most its tolerance t, and let the threshold be b >= t. A
    value that the true conjunction excludes occurs in no positive record and is excluded, so every record
    predicted positive is positive. Of an excluded value, a share of at most b + t of the records is positive
    and has it: with "local" the share x in the distribution, otherwise that in the sample, which is at most x
    - sqrt(2 x L / n), L = ln(2 C / beta), with probability at most beta / (2 C) (Chernoff). So with
    probability at least 1 - beta / 2, no excluded one of the C values has a share x beyond the root of x -
    sqrt(2 x L / n) = b + t. A record wrongly predicted negative has an excluded value: the error is at most
    the sum of x over these, at most `literals_kept` of which count. **Source.** Kearns (1998) learns
    conjunctions by statistical queries; the constants are ours.

    Examples
    --------
    >>> from dplearn.theory import conjunction_error
    >>> round(conjunction_error([2] * 10, n=100_000, epsilon=1, alpha=0.1, beta=0.05), 3)
    0.076
    """
    alpha, beta = map(float, check_goal(alpha, beta))
    worst = 0.0
    for size in set(_checked_sizes(sizes)):
        tail = share_noise(
            size + 1, n_queries=len(sizes), n=n, epsilon=epsilon, delta=delta, noise=noise
        ).bound
        threshold = conjunction_threshold(sizes, tail, alpha=alpha, beta=beta)
        tolerance = _tolerance(tail, len(sizes), beta)
        if tolerance > threshold:  # then literals_kept(sizes) * 2 * tolerance > 1
            return 1.0
        log = 0.0 if noise == "local" else math.log(2 * sum(sizes) / beta)
        # The root in sqrt(x) of x - sqrt(2 log / n) sqrt(x) - threshold - tolerance.
        half = math.sqrt(log / (2 * n))
        worst = max(worst, (half + math.sqrt(half**2 + threshold + tolerance)) ** 2)
    return min(1.0, literals_kept(sizes) * worst)


@documented_by(conjunction_error, Calculator)
def conjunction_query_sample_size(
    sizes: Sequence[int],
    *,
    epsilon: Any,
    alpha: Any,
    beta: Any,
    delta: Any = 0,
    noise: str = "laplace",
) -> int:
    """Return the least number of records from which on `conjunction_error` is at most alpha.

    Examples
    --------
    >>> from dplearn.theory import conjunction_query_sample_size
    >>> conjunction_query_sample_size([2] * 10, epsilon=1, alpha=0.1, beta=0.05)
    46984
    >>> conjunction_query_sample_size([2] * 10, epsilon=1, alpha=0.1, beta=0.05, noise="local")
    11737310
    """
    wanted, failure = map(float, check_goal(alpha, beta))
    spent = check_number("epsilon", epsilon, above=0), check_number("delta", delta, low=0, below=1)
    return _least_size(tuple(_checked_sizes(sizes)), *spent, wanted, failure, noise)


@lru_cache(maxsize=64)
def _least_size(
    sizes: tuple[int, ...], epsilon: Fraction, delta: Fraction, alpha: float, beta: float, noise: str
) -> int:
    asked = {"epsilon": epsilon, "delta": delta, "alpha": alpha, "beta": beta}
    return first(lambda n: conjunction_error(sizes, n, **asked, noise=noise) <= alpha, len(sizes), _MOST)


def _tolerance(noise: TailBound, n_queries: int, beta: float) -> float:
    """Return a bound on the noise of one answer that holds for all answers with probability 1 - beta / 2."""
    return noise.at(beta / (2 * n_queries))


def _checked_sizes(sizes: Sequence[int]) -> list[int]:
    checked = [check_count("sizes", size, low=1) for size in sizes]
    if not checked:
        raise ValueError(f"sizes must hold at least one number, got {brief(sizes)}")
    return checked
