"""Private learning of lines modulo a prime, with approximate and with pure differential privacy.

Sizes are for independent records that a line labels; a failure is an error above alpha. With delta above 0,
the number of records of "stability" does not depend on p; with delta = 0 it grows with log p for every
learner.
"""

import math
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlog1py, xlogy
from scipy.stats import binom
from sklearn.utils.validation import check_is_fitted

from dplearn._documented import documented_by
from dplearn._validation import AUTO, check_bool, check_choice, check_count, check_goal, check_number
from dplearn.chance.dice import Dice
from dplearn.concepts.base import Concept
from dplearn.concepts.lines import (
    Line,
    LinePoint,
    Lines,
    check_prime,
    counted,
    leading_line,
    leading_point,
    plane,
)
from dplearn.estimator import RuleClassifier
from dplearn.estimator.recipe import FitFacts, FitRecipe
from dplearn.fit import TABLE
from dplearn.kernels import least
from dplearn.learners.limits import SIZE_NOTES, Task
from dplearn.learners.rules.generic import (
    ErrorCounts,
    Summary,
    checked_epsilon,
    checked_share,
    representation_failure,
    representation_sample_size,
    selected,
)
from dplearn.learners.rules.point_sizes import checked_budget, silences
from dplearn.mechanisms import release_if_stable, select_exponential
from dplearn.mechanisms.stability import release_probability_table
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import StatedPlan
from dplearn.table import Columns, LabelledRows
from dplearn.table.features import read_features
from dplearn.table.targets import check_two_labels, labels_assumed, read_labels

_METHODS = ("stability", "pure")

_Leader = tuple[tuple[int, int] | None, int]  # a line or a point, and its distance to instability


@documented_by()
@dataclass(eq=False, repr=False)
class LineClassifier(RuleClassifier):
    """Learn a line modulo a prime p: the points (x, y) with y = a x + b modulo p have the second label.

    Drop-in: any number of predictions costs no privacy. With delta the number of records needed does not
    depend on p; with delta = 0 it grows with log p for every learner.

    Parameters
    ----------
    p : int
        A prime of at most 8192 bits. A record has two columns of integers from 0 to p - 1; in lists, object
        arrays and data frames they may have any size. Text is refused, and so are floats if p > 2**53.
    delta : float, default=0.0
        ... "stability" requires a positive delta, "pure" spends none.
    method : {"auto", "stability", "pure"}, default="auto"
        "stability": releases the leading line if it is stable under a change of few records, else the leading
        point if that is stable, else abstains. "pure": the exponential mechanism over all p**2 lines, scored
        by training errors; for any labels. "auto": the one that needs fewer records for `alpha` and `beta`.
    alpha : float, default=0.1
        Target error, in (0, 1).
    proper : bool, default=False
        Whether "stability" always publishes a line: in place of a point, a uniform line through it; in place
        of nothing, a uniform line. The mean error increases by at most 1/p.
    classes : sequence, optional
        The two labels that can occur, known without looking at the data. None: the labels that occur in `y`;
        the guarantee then assumes that the set of labels is public. The line has the second of the sorted
        labels.

    Attributes
    ----------
    concept_ : ChosenConcept
        Released. The line, the point, or the constant first label; its `repr` is the rule, and its `concept`
        a `dplearn.concepts.Line` with slope and intercept, or a `dplearn.concepts.LinePoint`.
    abstained_ : bool
        Released. Whether neither a line nor a point was stable; unless `proper`, the first of `classes_` is
        then predicted for every record.
    method_ : str
        Public. The method: "stability" or "pure".
    classes_ : ndarray of shape (2,)
    guarantee_, domain_, feature_importances_, n_features_in_, feature_names_in_

    See Also
    --------
    dplearn.theory.line_sample_size, dplearn.theory.pure_line_lower_bound : The numbers of records.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record with "stability", (epsilon, 0)
    with "pure". Proof: one replaced record changes the quality of a line (the number of its records with the
    second label, minus the greatest number of these at one point) by at most 1, and a lead by at most 2, so
    that the distances of `kernels.lines` satisfy the conditions of `release_if_stable`. The line is released
    with .55 epsilon and delta / 2, the point with the rest.

    **Accuracy.** For any distribution of records that a line labels, the error is at most alpha with
    probability at least 1 - beta for `plan(n_samples).n_needed` records. If no line labels them, "pure"
    selects a line with nearly the least errors; "stability" ignores records with the first label, abstains
    unless one line or point has a large lead, and takes time quadratic in the number of distinct points.

    **Source.** Feldman and Xiao (2014), Theorem 12 and Appendix B, where the leading hypothesis of disjoint
    samples is released (`dplearn.theory.published_line_sample_size`).

    Examples
    --------
    >>> from dplearn import LineClassifier
    >>> p = 2**521 - 1
    >>> rows = [[7**i % p, (3 * 7**i + 5) % p] if i % 2 else [i, 9 * i] for i in range(2000)]
    >>> labels = ["off", "on"] * 1000
    >>> learner = LineClassifier(p, delta=1e-6, classes=["off", "on"], random_state=0).fit(rows, labels)
    >>> learner.concept_
    'on' if x1 = 3 x0 + 5 modulo 2**521 - 1, else 'off'
    >>> learner.predict([[10, 35], [10, 36]]).tolist()
    ['on', 'off']
    """

    p: int
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float = 0.0
    method: str = AUTO
    alpha: float = 0.1
    beta: float = 0.05
    proper: bool = False
    classes: Sequence[Any] | None = None
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    def plan(self, n_samples: int) -> StatedPlan:
        """Return the plan of a fit: its guarantee and its accuracy. No data is read.

        Returns
        -------
        StatedPlan
            Of `guarantee`, `method`, `n_samples`, `alpha` and `beta`, and of

            - `failure`, a bound on the probability that the error exceeds alpha, for records that a line
              labels. If `proper`, the error is that of the released line or point, without the at most 1/p,
              in the mean, of a uniform line;
            - `n_needed`, the number of records from `line_sample_size` or `pure_line_sample_size`;
            - `n_least`: no learner with this epsilon and delta = 0 is as accurate with fewer records, proper
              or not. None if alpha is 1/2 or more, where there is no such bound.
        """
        n = check_count("n_samples", n_samples, low=1)
        return self._recipe(self.random_state is not None).planned(FitFacts(n, 2, 2))

    def _recipe(self, reproducible: bool) -> "LineFit":
        p = check_prime("p", self.p)
        epsilon = check_number("epsilon", self.epsilon, above=0)
        delta = check_number("delta", self.delta, low=0, below=1)
        alpha, beta = check_goal(self.alpha, self.beta)
        method = check_choice("method", self.method, (AUTO, *_METHODS))
        if method == AUTO:
            method = _cheaper_method(p, epsilon, delta, alpha=alpha, beta=beta)
        elif method == "stability":
            check_number("delta with method='stability'", self.delta, above=0)
            _check_tables(epsilon, delta)
        return LineFit(
            self,
            ApproxDP(epsilon, delta if method == "stability" else 0, reproducible=reproducible),
            p=p,
            method=method,
            proper=check_bool("proper", self.proper),
            alpha=alpha,
            beta=beta,
        )

    def _publish(self, outcome: tuple[Concept, bool], plan: StatedPlan) -> None:
        concept, self.abstained_ = outcome
        self._publish_rule(concept, plan)
        self.method_ = plan.method

    def _codes(self, X: Any) -> NDArray[np.intp]:
        check_is_fitted(self)
        p = self.domain_.domains[0].size
        return self.concept_.predict(self.domain_.nearest(_points(self, X, p, reset=False)))

    _two_labels = "a line"


def _points(estimator: Any, X: Any, p: int, *, reset: bool) -> Any:
    """Return X as a table of two columns."""
    X = read_features(estimator, X, domain=plane(p), reset=reset)
    if X.shape[1] != 2:
        raise ValueError(f"X must have 2 columns, the coordinates of a point, got {X.shape[1]}")
    return X


class LineFit(FitRecipe):
    """The fit of `LineClassifier`."""

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        X = _points(reader, X, self.p, reset=True)
        classes, codes = read_labels(y, len(X), self.classes)
        check_two_labels(classes, self.kind._two_labels)
        public = FitFacts.of_rows(X, reader, classes=classes)
        columns = plane(self.p, public.names).encode(X, takes_missing=False)
        return public, LabelledRows(Columns(columns), codes)

    def plan(self, facts: FitFacts) -> StatedPlan:
        domain = plane(self.p, facts.names)
        assumes = (*TABLE, *domain.assumes, labels_assumed(self.classes))
        n, pure = facts.n_samples, self.method == "pure"
        epsilon, alpha, beta = self.cost.epsilon, float(self.alpha), float(self.beta)
        asked = {"epsilon": epsilon, "alpha": alpha}
        if pure:
            failure, needed = partial(pure_line_failure, n, self.p), partial(pure_line_sample_size, self.p)
        else:
            asked["delta"] = self.cost.delta
            failure, needed = partial(line_failure, n), partial(line_sample_size)
        bound = partial(pure_line_lower_bound, self.p, epsilon=epsilon, alpha=alpha, beta=beta)
        return StatedPlan(
            replace(self.cost, assumes=assumes),
            title="LinePlan",
            states={"method": self.method, "n_samples": n, "alpha": alpha, "beta": beta},
            later={
                "failure": partial(failure, **asked),
                "n_needed": partial(needed, **asked, beta=beta),
                "n_least": bound if alpha < 1 / 2 else None,
            },
            # Two lines agree at a point of both or of none.
            keeps={"domain": domain, "task": Task("realizable", rooted=True)},
            notes=SIZE_NOTES,
            public=facts,
            ranged=pure,
        )

    def summarize(self, rows: Any, plan: StatedPlan) -> "Summary | ErrorCounts":  # noqa: ARG002
        return ErrorCounts(Lines(self.p), rows) if self.method == "pure" else Summary(rows, self._leaders)

    def _leaders(self, records: LabelledRows) -> tuple[_Leader, _Leader]:
        """Return the leading line and point of the records with the second label."""
        ones = np.flatnonzero(records.y)
        points = counted(*(column[ones].tolist() for column in records.X.columns))
        return leading_line(points, self.p), leading_point(points)

    def run(self, summary: "Summary | ErrorCounts", plan: StatedPlan, dice: Dice) -> tuple[Concept, bool]:
        if isinstance(summary, ErrorCounts):
            return selected(summary, select_exponential, privacy=plan.guarantee, dice=dice), False
        for_line, for_point = line_budgets(plan.guarantee.epsilon, plan.guarantee.delta)
        (leader, distance), (leading, its_distance) = summary.value
        line = release_if_stable(leader, distance, privacy=for_line, dice=dice)
        if line is not None:
            slope, intercept = line
            return Line(slope, intercept, self.p), False
        point = release_if_stable(leading, its_distance, privacy=for_point, dice=dice)
        if self.proper:
            return _uniform_line(point, self.p, dice), point is None
        return LinePoint(*(point or ())), point is None


def _uniform_line(point: tuple[int, int] | None, p: int, dice: Dice) -> Line:
    slope = dice.below(p)
    if point is None:
        return Line(slope, dice.below(p), p)
    x, y = point
    return Line(slope, (y - slope * x) % p, p)


@lru_cache(maxsize=64)
def _cheaper_method(p: int, epsilon: Fraction, delta: Fraction, *, alpha: Fraction, beta: Fraction) -> str:
    """Return "stability" if it is possible, and needs fewer records than "pure"."""
    try:
        _check_tables(epsilon, delta)
    except ValueError:
        return "pure"
    fewer = pure_line_sample_size(p, epsilon=epsilon, alpha=alpha, beta=beta) - 1
    failure = line_failure(fewer, epsilon=epsilon, delta=delta, alpha=alpha)
    return "stability" if failure <= beta else "pure"


def _check_tables(epsilon: Fraction, delta: Fraction) -> None:
    """Raise ValueError if delta is 0, or epsilon too small for the probabilities of a release."""
    for budget in line_budgets(epsilon, delta):
        release_probability_table(budget)


_LINE_SHARE = Fraction(11, 20)  # of epsilon, for the release of the line; the rest is for the point
_TINY = 1e-9  # the least alpha and beta
_LEFT_OUT = 1e-13  # of a binomial distribution, at each end
_PRECISE = 1e-3  # relative distance of the bounds on the worst failure
_FEW = 600  # the most leads with a probability of silence above 0 for which shares are bounded by intervals
_BLOCKS = 512  # into which more leads are divided
_INTERVALS = 16  # of shares, at first
_MASSES = 64  # of the lower bound's distributions that are tried
_NEGLIGIBLE = 40  # minus the logarithm of a probability

Silences = NDArray[np.float64]


def line_budgets(epsilon: Any, delta: Any) -> tuple[ApproxDP, ApproxDP]:
    """Return the guarantees of the release of the line and of the point, which add up to (epsilon, delta)."""
    whole, half = checked_budget(epsilon, delta)
    return ApproxDP(_LINE_SHARE * whole, half / 2), ApproxDP((1 - _LINE_SHARE) * whole, half / 2)


def line_failure(n_samples: int, *, epsilon: Any, delta: Any, alpha: Any) -> float:
    """Return a bound on the probability of failure of "stability", for every p and every distribution.

    Returns
    -------
    float
        At most 1. If epsilon is from about 1 to 5 and beta is small, some distribution attains nearly this
        probability.

    Notes
    -----
    Only the line of the labels has a quality above 0. Let N be the number of records labelled 1, N_i that of
    the i-th point of the line, w_i its probability, w_1 the greatest, and r the sum; let f(k) and g(k) be the
    probabilities that a line of lead k, and a point of lead k, are not released; both decrease, and are 1 for
    k <= 0. If r <= alpha, every outcome is accurate. Otherwise a released line is accurate, and the first
    point at least if r - w_1 <= alpha.

    **No point has half of r.** Then (r/2, r/2) majorises the w_i. The quality is N minus the greatest count,
    so that the mean of f, given N, is a Schur-convex function of the w_i (Rinott 1973): two points of
    probability r/2 are worst, and r = alpha: the bound is the mean b of f(min(N_1, N_2)) for two points of
    probability alpha/2.

    **The first point has half of r or more.** If all others are counted as one point, of probability s, the
    quality decreases. For r - w_1 > alpha both points have probability above alpha, and the mean is at most
    b. Otherwise the lead of the first point is at least N_1 - N_2: the probability of failure is at most E
    f(min(N_1, N_2)) g(N_1 - N_2), which decreases with w_1. If s >= alpha/2, then w_1 = s is worst, and the
    mean is at most b. Otherwise w_1 = alpha - s is worst: the bound is the greatest over the share t =
    s/alpha in [0, 1/2].

    **Between shares.** Given N, N_2 ~ Binomial(N, t), and the probability that N_2 = j is greatest at t =
    j/N. The sum over j of the greatest probability in an interval of shares, times f g, bounds all t of the
    interval. Intervals are halved until the bound is at most 1.001 times the greatest value found. If epsilon
    is small, the bound is the mean over N of the greatest f(j) g(N - 2 j).

    Examples
    --------
    >>> from dplearn.theory import line_failure
    >>> round(float(line_failure(1627, epsilon=1.0, delta=1e-6, alpha=0.1)), 4)
    0.0998
    """
    n = check_count("n_samples", n_samples)
    return min(1.0, _worst(n, checked_share("alpha", alpha), *checked_budget(epsilon, delta)))


def line_sample_size(*, epsilon: Any, delta: Any, alpha: Any, beta: Any) -> int:
    """Return a number of records for which `line_failure` is at most beta, found by bisection.

    Returns
    -------
    int
        For every prime p. The bound decreases with the number of records in all cases that were computed,
        which makes this the least such number; this monotonicity is not proved.

    Examples
    --------
    >>> from dplearn.theory import line_sample_size
    >>> line_sample_size(epsilon=1.0, delta=1e-6, alpha=0.1, beta=0.1)
    1627
    """
    share, failure = checked_share("alpha", alpha), checked_share("beta", beta)
    budget = checked_budget(epsilon, delta)
    return least(lambda n: _worst(n, share, *budget, allowed=failure) <= failure, 0)


@lru_cache(maxsize=16)
def _silences(epsilon: Fraction, delta: Fraction) -> tuple[Silences, Silences]:
    """Return the probabilities that a line and a point are not released, for leads of 0, 1, ...."""
    return tuple(map(silences, line_budgets(epsilon, delta)))  # type: ignore[return-value]  # a pair


@lru_cache(maxsize=256)
def _worst(n: int, alpha: float, epsilon: Fraction, delta: Fraction, allowed: float | None = None) -> float:
    """Return a bound on the failure; a number above `allowed` as soon as one distribution exceeds it."""
    line, point = _silences(epsilon, delta)
    even = 2 * _mean(line, n, alpha / 2)
    if len(line) + len(point) > _FEW:
        return max(even, _mean_of_worst(n, alpha, line, point))
    even -= _mean_of_greater(line, n, alpha / 2)
    if allowed is not None and even > allowed:
        return even
    shares = _Shares(n, alpha, line, point)
    edges = np.linspace(0, 0.5, _INTERVALS + 1).tolist()
    found = max(shares.bound(t, t) for t in edges)
    bounds = [(-shares.bound(low, high), low, high) for low, high in pairwise(edges)]
    heapify(bounds)
    while True:
        bound = -bounds[0][0]
        if allowed is not None and (found > allowed or bound <= allowed):
            return max(even, found if found > allowed else bound)
        if bound <= found * (1 + _PRECISE):
            return max(even, bound)
        _, low, high = heappop(bounds)
        middle = (low + high) / 2
        found = max(found, shares.bound(middle, middle))
        for ends in ((low, middle), (middle, high)):
            heappush(bounds, (-shares.bound(*ends), *ends))


def _mean(silence: Silences, n: int, probability: float) -> float:
    """Return the mean of the probability of silence, of a binomial count; it is 0 beyond the array."""
    counts = np.arange(min(n, len(silence) - 1) + 1)
    return float(silence[counts] @ binom.pmf(counts, n, probability))


def _mean_of_greater(silence: Silences, n: int, probability: float) -> float:
    """Return the mean of the probability of silence, of the greater of two counts of equal probability."""
    counts = np.arange(min(n, len(silence) - 1) + 1)
    one, other = np.meshgrid(counts, counts)
    rest = n - one - other
    inside = rest >= 0
    rest = np.where(inside, rest, 0)
    logs = gammaln(n + 1) - gammaln(one + 1) - gammaln(other + 1) - gammaln(rest + 1)
    logs += (one + other) * math.log(probability) + rest * math.log1p(-2 * probability)
    return float(np.sum(np.where(inside, np.exp(logs), 0.0) * silence[np.maximum(one, other)]))


class _Shares:
    """The mean of f(min(N_1, N_2)) g(N_1 - N_2), for N ~ Binomial(n, alpha) and N_2 ~ Binomial(N, t)."""

    def __init__(self, n: int, alpha: float, line: Silences, point: Silences):
        self._line, self._point = line, point
        low, high = (int(binom.ppf(share, n, alpha)) for share in (_LEFT_OUT, 1 - _LEFT_OUT))
        high = min(high, 2 * len(line) + len(point))  # with more, one of the two is released
        self._totals = np.arange(low, high + 1)
        self._weights = binom.pmf(self._totals, n, alpha)
        self._log_factorials = gammaln(np.arange(high + 2) + 1.0)

    def bound(self, low: float, high: float) -> float:
        """Return a bound on the mean for all shares t from low to high; the mean itself if they are equal."""
        totals = self._totals[:, None]
        if not totals.size:
            return 4 * _LEFT_OUT
        least = max(0, int(binom.ppf(_LEFT_OUT, totals[0, 0], low)))
        most = min(len(self._line) - 1, int(binom.ppf(1 - _LEFT_OUT, totals[-1, 0], high)))
        seconds = np.arange(least, most + 1)[None, :]
        inside = seconds <= totals
        firsts = np.where(inside, totals - seconds, 0)
        shares = np.clip(seconds / np.maximum(totals, 1), low, high)
        logs = self._log_factorials
        log_mass = logs[totals] - logs[seconds] - logs[firsts] + xlogy(seconds, shares)
        mass = np.where(inside, np.exp(log_mass + xlog1py(firsts, -shares)), 0.0)
        line = _at(self._line, np.minimum(firsts, seconds))
        failures = np.sum(mass * line * _at(self._point, firsts - seconds), axis=1)
        return float(self._weights @ np.minimum(failures, 1.0)) + 4 * _LEFT_OUT


def _at(silence: Silences, leads: NDArray[np.int64]) -> Silences:
    """Return the probability of silence at each lead, of which 0 and all negative ones have the first."""
    return silence[np.clip(leads, 0, len(silence) - 1)]


def _mean_of_worst(n: int, alpha: float, line: Silences, point: Silences) -> float:
    """Return the mean over N of a bound on f(j) g(N - 2 j) for all j, by blocks of N and of j."""
    wide_j, wide_n = (-(-length // _BLOCKS) for length in (len(line), 2 * len(line) + len(point)))
    ends = wide_j * np.arange(_BLOCKS + 1)
    starts = wide_n * np.arange(_BLOCKS + 1)
    worst = np.max(_at(line, ends) * _at(point, starts[:, None] - 2 * (ends + wide_j - 1)), axis=1)
    masses = np.diff(binom.cdf(starts - 1, n, alpha), append=1.0)
    return float(worst @ masses)


def pure_line_failure(n_samples: int, p: int, *, epsilon: Any, alpha: Any) -> float:
    """Return a bound on the probability of failure of "pure", of at most 1.

    Parameters
    ----------
    p : int
        A prime.

    Notes
    -----
    The line of the labels has no errors. A line with k errors is selected with probability at most r**k, r =
    exp(-epsilon / 2), and each record is an error of a line of error above alpha with probability above
    alpha, so that the mean of r**k is at most (1 - (1 - r) alpha)**n. There are p**2 lines.

    Examples
    --------
    >>> from dplearn.theory import pure_line_failure
    >>> round(float(pure_line_failure(2164, 2**61 - 1, epsilon=1.0, alpha=0.1)), 4)
    0.0999
    """
    size = check_prime("p", p) ** 2
    return min(1.0, representation_failure(size, n_samples, epsilon=epsilon, alpha=alpha))


def pure_line_sample_size(p: int, *, epsilon: Any, alpha: Any, beta: Any) -> int:
    """Return the least number of records for which `pure_line_failure` is at most beta.

    Parameters
    ----------
    p : int
        A prime.

    Examples
    --------
    >>> from dplearn.theory import pure_line_sample_size
    >>> pure_line_sample_size(2**61 - 1, epsilon=1.0, alpha=0.1, beta=0.1)
    2164
    """
    size = check_prime("p", p) ** 2
    return representation_sample_size(size, epsilon=epsilon, alpha=alpha, beta=beta)


def pure_line_lower_bound(p: int, *, epsilon: Any, alpha: Any, beta: Any) -> int:
    """Return a number of records below which no (epsilon, 0)-private learner of lines is accurate.

    Parameters
    ----------
    p : int
        A prime.
    alpha, beta : number
        Allowed error and probability of failure; below 1/2 and below 1.

    Returns
    -------
    int
        With fewer records, any learner, proper or not, has for some line and some distribution an error above
        alpha with probability above beta.

    Notes
    -----
    Take a point z, the N = p**2 - p lines that do not contain it, and for each line the distribution with
    probability 1 - m at z, m/2 spread evenly over the p points of the line, and m/2 over all other points.
    Let a = alpha/m < 1/2.

    **A hypothesis is accurate for few lines.** Let h have label 1 at a share u of all points, and at a share
    X of the points of a uniform line. Its error is at most alpha only if 1 - X + (p u - X)/(p - 1) <= 2 a,
    that is, X - u >= c = (1 - 2 a)(p - 1)/p. Two points of a line at different x are independent and uniform
    in their columns, so that Var X <= u (1 - u)/p, and X <= 1 requires u <= 1 - c. By Cantelli's inequality,
    h is accurate for at most V = p**2 v/(v + c**2) lines, v = max of u (1 - u)/p.

    **A private learner is accurate for few lines, on average.** Draw the positions of the K ~ Binomial(n, m)
    records that are not at z once for all lines. The samples of two lines differ in at most K records. Let
    s_f be the probability that the learner, given a sample of f, is accurate for f. Given a sample of g, it
    is accurate for another f with probability at least exp(-epsilon K) s_f; the sum over all f, g included,
    is at most V. So the mean of s_f over the N lines is at most V/(1 + (N - 1) exp(-epsilon K)). If the mean
    over K of this, or 1 if that is less, is below 1 - beta, n records are too few. The best of 64 masses m is
    returned.

    **Source.** Feldman and Xiao (2014), Section 4.2, prove a lower bound of order log p.

    Examples
    --------
    >>> from dplearn.theory import pure_line_lower_bound
    >>> pure_line_lower_bound(2**61 - 1, epsilon=1.0, alpha=0.1, beta=0.1)
    211
    """
    share = float(check_number("alpha", alpha, low=_TINY, below=Fraction(1, 2)))
    confidence = (1 - checked_share("beta", beta)) * (1 - 1e-9)  # for errors of floats
    bounds = PureLineBound(check_prime("p", p), float(checked_epsilon(epsilon)), share)

    def is_open(n: int) -> bool:
        return bounds.success(n) >= confidence

    return least(is_open, 0)


class PureLineBound:
    """Bounds on the success of a pure learner of lines, for several masses away from one point."""

    def __init__(self, p: int, epsilon: float, alpha: float):
        self.masses = 2 * alpha + (1 - 2 * alpha) * (np.arange(1, _MASSES + 1) / _MASSES) ** 2
        above = (1 - 2 * alpha / self.masses) * ((p - 1) / p)
        u = np.minimum(0.5, 1 - above)
        log_variance = np.log(u * (1 - u)) - math.log(p)
        self.log_good = 2 * math.log(p) + log_variance - np.logaddexp(log_variance, 2 * np.log(above))
        self._log_others = math.log(p * (p - 1) - 1)
        # The bound exceeds exp(-40) from the first count of differing records on, and is 1 from the last.
        counts = (self._log_others - self.log_good[[0, -1]] + [-_NEGLIGIBLE, 1]) / epsilon
        low, high = max(0, math.floor(counts[0])), max(1, math.ceil(counts[1]))
        self._counts = np.unique(np.linspace(low, high, _BLOCKS + 1).astype(np.int64))
        self._bounds = np.exp(
            np.minimum(
                0.0, self.log_good[:, None] - np.logaddexp(0.0, self._log_others - epsilon * self._counts)
            )
        )

    def success(self, n: int) -> float:
        """Return the least bound on the mean probability of success with n records, over all masses."""
        # Each count has the bound of the greatest count in its block.
        below = np.append(-1, self._counts)
        shares = np.diff(binom.cdf(below, n, self.masses[:, None]), axis=1)
        beyond = binom.sf(self._counts[-1], n, self.masses)
        return float(np.min(np.sum(shares * self._bounds, axis=1) + beyond))
