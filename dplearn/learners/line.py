"""Private learning of lines modulo a prime, whose sample complexity separates approximate from pure
privacy.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from dplearn._validation import AUTO, check_bool, check_choice, check_count, check_number
from dplearn.chance.dice import Dice
from dplearn.concepts.base import ChosenConcept, Concept
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
from dplearn.estimator.recipe import FitRecipe, Public
from dplearn.fit.relation import TABLE
from dplearn.learners.line_sizes import (
    line_budgets,
    line_failure,
    line_sample_size,
    pure_line_failure,
    pure_line_lower_bound,
    pure_line_sample_size,
)
from dplearn.learners.multi_label_limit import Task
from dplearn.mechanisms import release_if_stable, select_exponential
from dplearn.mechanisms.stability import release_probability_table
from dplearn.privacy import ApproxDP, BoundedRange, Event, PrivacyLedger
from dplearn.privacy.plan import Plan, hidden, noted
from dplearn.table.features import read_features
from dplearn.table.rows import Columns, LabelledRows
from dplearn.table.targets import check_classes, check_two_labels, labels_assumed, read_labels

__all__ = ["LineClassifier", "LinePlan"]

_METHODS = ("stability", "pure")

_Leader = tuple[tuple[int, int] | None, int]  # a line or a point, and its distance to instability


@dataclass(eq=False, repr=False)
class LineClassifier(RuleClassifier):
    """Learn a line modulo a prime p: the points (x, y) with y = a x + b modulo p have the second label.

    The number of records that "stability" needs does not depend on p. Every learner with delta = 0 needs a
    number that grows with log p.

    Parameters
    ----------
    p : int
        A prime of at most 8192 bits. A record has two columns of integers from 0 to p - 1; in lists, object
        arrays and data frames they may have any size. Text is refused, and so are floats if p > 2**53.
    epsilon : float, default=1.0
        Privacy budget of one fit; positive. A float stands for its shortest decimal: 0.1 is 1/10.
    delta : float, default=0.0
        Probability with which the guarantee may fail, in [0, 1); choose it far below 1 / n_samples.
        "stability" requires a positive delta, "pure" spends none.
    method : {"auto", "stability", "pure"}, default="auto"
        "stability": releases the leading line if it is stable under a change of few records, else the leading
        point if that is stable, else abstains. "pure": the exponential mechanism over all p**2 lines, scored
        by training errors; for any labels. "auto": the one that needs fewer records for `alpha` and `beta`.
    alpha : float, default=0.1
        Target error, in (0, 1).
    beta : float, default=0.05
        Allowed probability of failure, in (0, 1).
    proper : bool, default=False
        Whether "stability" always publishes a line: in place of a point, a uniform line through it; in place
        of nothing, a uniform line. The mean error increases by at most 1/p.
    classes : sequence, optional
        The two labels that can occur, known without looking at the data. None: the labels that occur in `y`;
        the guarantee then assumes that the set of labels is public. The line has the second of the sorted
        labels.
    ledger : PrivacyLedger, optional
        The ledger that each fit is charged to, fits of clones, searches and worker processes included.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the fit reproducible, for tests only; the
        guarantee states this.

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
        Public. The labels, sorted; declared, or assumed to be public.
    guarantee_ : ApproxDP
        Public. The guarantee of the fit, with its assumptions.
    domain_ : Product
        Public. The domain of a record.
    n_features_in_ : int
        Public. The number of columns.
    feature_names_in_ : ndarray of str
        Public. The names of the columns, if `X` had names.

    See Also
    --------
    dplearn.theory.line_sample_size, dplearn.theory.pure_line_lower_bound : The numbers of records.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record with "stability", (epsilon, 0)
    with "pure". Proof: the quality of a line is the number of its records with the second label, minus the
    greatest number of these at one point. One replaced record changes it by at most 1, and the lead of a
    line, or of a point, by at most 2, so that the distances of `concepts.lines` satisfy the conditions of
    `release_if_stable`. The line is released with .55 epsilon and delta / 2, the point with the rest; the two
    add up. A uniform line uses only what has been released.

    **Assumes.** The entries of `guarantee_.assumes`.

    **Accuracy.** For any distribution of records that a line labels, the error is at most alpha with
    probability at least 1 - beta for `plan(n_samples).n_needed` records. If no line labels them, "pure"
    selects a line with nearly the least errors; "stability" ignores records with the first label, and
    abstains unless one line or point has a large lead. It then takes time quadratic in the number of distinct
    points with the second label.

    **Source.** Feldman and Xiao (2014), Theorem 12 and Appendix B. There the leading hypothesis of disjoint
    samples is released; here the line is released on all records at once, and the point is a second release,
    which takes a fraction of the records (`dplearn.theory.published_line_sample_size`).

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

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

    def plan(self, n_samples: int) -> "LinePlan":
        """Return the plan of a fit: its guarantee and its accuracy. No data is read.

        Parameters
        ----------
        n_samples : int
            Number of records.
        """
        n = check_count("n_samples", n_samples, low=1)
        plan: LinePlan = self._recipe(self.random_state is not None).planned(Public(n, 2, 2))
        return plan

    def _recipe(self, reproducible: bool) -> "LineFit":
        p = check_prime("p", self.p)
        epsilon = check_number("epsilon", self.epsilon, above=0)
        delta = check_number("delta", self.delta, low=0, below=1)
        sizes = {
            name: check_number(name, value, above=0, below=1)
            for name, value in (("alpha", self.alpha), ("beta", self.beta))
        }
        check_bool("proper", self.proper)
        if self.classes is not None:
            check_two_labels(check_classes(self.classes), "a line")
        method = check_choice("method", self.method, (AUTO, *_METHODS))
        if method == AUTO:
            method = _cheaper_method(p, epsilon, delta, **sizes)
        elif method == "stability":
            check_number("delta with method='stability'", self.delta, above=0)
            _check_tables(epsilon, delta)
        return LineFit(
            self,
            ApproxDP(epsilon, delta if method == "stability" else 0, reproducible=reproducible),
            p=p,
            method=method,
            proper=bool(self.proper),
            classes=self.classes,
            **sizes,
        )

    def _publish(self, outcome: "_Outcome", plan: "LinePlan") -> None:
        self.classes_ = plan.public.classes
        self.domain_ = plan.domain
        self.method_ = plan.method
        self.guarantee_ = plan.guarantee
        self.abstained_ = outcome.abstained
        self.concept_ = ChosenConcept(
            outcome.concept, tuple(self.domain_.names), tuple(self.classes_.tolist())
        )

    def _codes(self, X: Any) -> NDArray[np.intp]:
        check_is_fitted(self)
        p = self.domain_.domains[0].size
        return self.concept_.predict(self.domain_.nearest(_points(self, X, p, reset=False)))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


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
        check_two_labels(classes, "a line")
        names = getattr(reader, "feature_names_in_", None)
        columns = plane(self.p, names).encode(X, takes_missing=False)
        return Public(len(X), 2, 2, names, classes), LabelledRows(Columns(columns), codes)

    def plan(self, public: Public) -> "LinePlan":
        domain = plane(self.p, public.names)
        assumes = (*TABLE, *domain.assumes, labels_assumed(self.classes))
        return LinePlan(
            guarantee=replace(self.cost, assumes=assumes),
            method=self.method,
            n_samples=public.n_samples,
            alpha=float(self.alpha),
            beta=float(self.beta),
            p=self.p,
            proper=self.proper,
            domain=domain,
            public=public,
        )

    def summarize(self, rows: Any, plan: "LinePlan") -> "_Leaders | _Errors":
        return _Leaders(rows, plan.p) if plan.method == "stability" else _Errors(rows, plan.p)

    def run(self, summary: "_Leaders | _Errors", plan: "LinePlan", dice: Dice) -> "_Outcome":
        return summary.release(plan, dice)


class _Outcome(NamedTuple):
    """What a fit releases."""

    concept: Concept
    abstained: bool


class _Leaders:
    """The leading line and point of the records with the second label, with distances, computed lazily."""

    def __init__(self, records: LabelledRows, p: int):
        self.records, self.p = records, p

    @cached_property
    def _found(self) -> tuple[_Leader, _Leader]:
        ones = np.flatnonzero(self.records.y)
        points = counted(*(column[ones].tolist() for column in self.records.X.columns))
        return leading_line(points, self.p), leading_point(points)

    def release(self, plan: "LinePlan", dice: Dice) -> _Outcome:
        for_line, for_point = line_budgets(plan.guarantee.epsilon, plan.guarantee.delta)
        (leader, distance), (leading, its_distance) = self._found
        line = release_if_stable(leader, distance, privacy=for_line, dice=dice)
        if line is not None:
            slope, intercept = line
            return _Outcome(Line(slope, intercept, self.p), abstained=False)
        point = release_if_stable(leading, its_distance, privacy=for_point, dice=dice)
        if plan.proper:
            return _Outcome(_uniform_line(point, self.p, dice), abstained=point is None)
        return _Outcome(LinePoint(*(point or ())), abstained=point is None)


class _Errors:
    """The training errors of all lines, counted lazily."""

    def __init__(self, records: LabelledRows, p: int):
        self.records, self.p = records, p

    @cached_property
    def profile(self) -> Any:
        return Lines(self.p).error_profile(self.records.X.columns, self.records.y)

    @cached_property
    def levels(self) -> tuple[list[int], list[int]]:
        errors, members = self.profile.groups()
        return errors, members

    def release(self, plan: "LinePlan", dice: Dice) -> _Outcome:
        # One replaced record changes the errors of each line by at most 1.
        errors, members = self.levels
        level, index = select_exponential(errors, members, privacy=plan.guarantee, dice=dice)
        return _Outcome(self.profile.member(errors[level], index), abstained=False)


def _uniform_line(point: tuple[int, int] | None, p: int, dice: Dice) -> Line:
    """Return a uniform line through a point, or of all."""
    slope = dice.below(p)
    if point is None:
        return Line(slope, dice.below(p), p)
    x, y = point
    return Line(slope, (y - slope * x) % p, p)


@dataclass(frozen=True)
class LinePlan(Plan):
    """The plan of a fit of `LineClassifier`.

    Attributes
    ----------
    guarantee : ApproxDP
        The guarantee of the fit.
    method : str
        The method: "stability" or "pure".
    n_samples : int
        Number of records.
    alpha, beta : float
        The parameters of the estimator.
    """

    guarantee: ApproxDP
    method: str
    n_samples: int
    alpha: float = field(metadata=noted("the target error"))
    beta: float = field(metadata=noted("the allowed probability of failure"))
    p: int = hidden(2)
    proper: bool = hidden(False)
    domain: Any = hidden()
    public: Any = hidden()

    _computed = ("failure", "n_needed", "n_least")

    @property
    def known_event(self) -> Event | None:
        """Of "pure", which is of bounded range."""
        return BoundedRange(self.guarantee.epsilon) if self.method == "pure" else None

    @property
    def failure(self) -> float:
        """A bound on the probability that the error exceeds alpha, for records that a line labels.

        If `proper`, the error is that of the released line or point, without the at most 1/p, in the mean, of
        a uniform line.
        """
        if self.method == "stability":
            return line_failure(self.n_samples, **self._budget, alpha=self.alpha)
        return pure_line_failure(self.n_samples, self.p, epsilon=self.guarantee.epsilon, alpha=self.alpha)

    @property
    def n_needed(self) -> int:
        """The number of records from `line_sample_size` or `pure_line_sample_size`."""
        if self.method == "stability":
            return line_sample_size(**self._budget, alpha=self.alpha, beta=self.beta)
        return pure_line_sample_size(self.p, epsilon=self.guarantee.epsilon, alpha=self.alpha, beta=self.beta)

    @property
    def n_least(self) -> int | None:
        """No learner with this epsilon and delta = 0 is as accurate with fewer records, proper or not.

        None if alpha is 1/2 or more, where there is no such bound.
        """
        if self.alpha >= 1 / 2:
            return None
        return pure_line_lower_bound(self.p, epsilon=self.guarantee.epsilon, alpha=self.alpha, beta=self.beta)

    @property
    def task(self) -> Task:
        """Two lines, which agree at a point of both or of none."""
        return Task("realizable", rooted=True)

    @property
    def _budget(self) -> dict[str, Any]:
        return {"epsilon": self.guarantee.epsilon, "delta": self.guarantee.delta}


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
