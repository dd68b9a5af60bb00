"""Private thresholds in several dimensions: one label where every column is on one side of its cut."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from dplearn._documented import TwoLabels, documented_by
from dplearn._validation import check_number
from dplearn.chance.dice import Dice
from dplearn.concepts.base import Labels
from dplearn.concepts.corners import Corner, Corners
from dplearn.domains import Product
from dplearn.estimator import RuleClassifier
from dplearn.estimator.recipe import FitFacts, planned_table
from dplearn.fit import TABLE
from dplearn.kernels import first, least
from dplearn.learners.limits import SIZE_NOTES, least_of
from dplearn.learners.rules.constant import NOTES, compared
from dplearn.learners.rules.generic import (
    checked_epsilon,
    checked_share,
    class_sample_size,
    selected,
    warns_of_errors,
)
from dplearn.learners.rules.threshold import CutColumn, CutFit, columns_of, declared_columns, warns_of_order
from dplearn.mechanisms.interior_point import interior_point_code
from dplearn.mechanisms.selection import select_exponential, shortfall
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.events import BoundedRange
from dplearn.privacy.plan import StatedPlan
from dplearn.privacy.shares import WORTH_DELTA, equal_epsilon
from dplearn.table import LabelledRows
from dplearn.table.features import as_product
from dplearn.table.targets import labels_assumed, positive_code


@documented_by(TwoLabels)
@dataclass(eq=False, repr=False, kw_only=True)
class CornerClassifier(RuleClassifier):
    """Learn a corner: one label where every column is on one side of its cut, the other label elsewhere.

    Drop-in: any number of predictions costs no privacy. For any labels where all corners can be compared: few
    columns, or few values in each. Otherwise for labels that such a rule decides; on other labels the rule is
    hardly worse than the most frequent label, but may be far worse than the best corner.

    Parameters
    ----------
    domain : "float64", Domain, sequence of Domain, Product or Schema, default="float64"
        The possible values, known without looking at the data: one domain for all columns, or one for each.
        "float64": all finite floats. Columns without an order are not used.
    directions : {"<=", ">"} or sequence of these, default="<="
        The side of the cut that is inside, of all columns that are used or of each: with "<=", `positive` is
        predicted where every column is at or below its cut.
    positive : label, optional
        The label inside the corner. None: the second of `classes_`.
    alpha : float, default=0.1
        Target error, in (0, 1).

    Attributes
    ----------
    concept_ : ChosenConcept
        Released. The corner; its `repr` is the rule.
    classes_ : ndarray of shape (2,)
    method_ : str
        Public. The method: "exponential" or "interior_point".
    guarantee_, domain_, feature_importances_, n_features_in_, feature_names_in_

    See Also
    --------
    dplearn.theory.corner_lower_bound : No learner that names a corner does with fewer records.
    dplearn.ThresholdClassifier : One column, in either direction.

    Notes
    -----
    **Method.** "exponential" selects among all corners by their training errors, of at most 2**24
    combinations of cuts between the records (`concepts.Corners`), of more records some that are drawn at
    random. "interior_point" cuts column by column. A fit takes the first of these whose needs its records
    meet; if both need more, the one that takes all records and needs fewer.

    **Privacy.** (epsilon, delta) for one replaced record. "exponential": it changes the errors of each corner
    by at most 1; no delta is spent. "interior_point": of each column, the m values of records with the inner
    label that are nearest to its cut, filled up with a value beyond the domain, are a multiset of which a
    replaced record replaces at most one; an interior point of it, by the exponential mechanism, is the cut.
    These mechanisms of bounded range add up by the best theorem of `Composition`. A tenth of epsilon then
    selects among the corner and the constant labels.

    **Accuracy.** "exponential": as `ExponentialMechanismClassifier`. "interior_point": if a corner labels all
    records, then with probability at least 1 - .4 beta each cut is an interior point: no record outside of
    the corner is inside, and fewer than m records of the inner label are beyond the cut of a column. If the
    error is above alpha, records of the inner label are beyond the cut of some column with probability above
    alpha / k, for k columns. From `plan(n_samples).n_needed` records on, such a cut has fewer than m records
    beyond it with probability at most .4 beta; a constant label with an error above alpha is selected with
    probability at most .2 beta (see `learners.rules.constant`).

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Section 6, for the class and for the lower bound; the
    learner is ours.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn import CornerClassifier
    >>> from dplearn.domains import Grid
    >>> X = np.random.default_rng(0).uniform(0, 10, (6000, 3))
    >>> y = np.where((X <= [8, 7, 9]).all(axis=1), "inside", "a")
    >>> learner = CornerClassifier(domain=Grid(0, 10, 1001), classes=["a", "inside"], random_state=0)
    >>> bool(learner.fit(X, y).score(X, y) > 0.95)
    True
    """

    epsilon: float = 1.0
    delta: float = 1e-6
    domain: Any = "float64"
    directions: Any = "<="
    positive: Any = None
    alpha: float = 0.1
    beta: float = 0.05
    classes: Sequence[Any] | None = None
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    _methods = ("exponential", "interior_point")  # audits use one

    def plan(self, n_samples: int, *, n_features: int | None = None) -> StatedPlan:
        """Return the plan of a fit: its guarantee and its accuracy. No data is read.

        Returns
        -------
        StatedPlan
            Of `guarantee`, `n_samples`, `alpha` and `beta`, and of

            - `method`, "exponential" or "interior_point";
            - `n_columns`, the number of columns with a cut;
            - `n_examples`, the number of records that each cut depends on: with "interior_point" those that
              it is an interior point of, at most n_samples; with "exponential" those that are counted;
            - `excess_error`: with probability at least 1 - beta, the training error exceeds that of the best
              corner by at most this; with "interior_point" only if a corner labels all records;
            - `excess_of_constant`: the same for the most frequent label, and any labels;
            - `n_needed`, the least number of records from which on, for a distribution that some corner
              labels without error, the true error is at most alpha with probability at least 1 - beta;
            - `n_needed_agnostic`, where "exponential" is possible: the same for any labels, where the true
              error exceeds that of the best corner by at most alpha; None if it cannot count so many records;
            - `epsilon_of_comparison`, with "interior_point": the part of epsilon that the comparison with
              constant labels spends;
            - `n_least`: no pure private learner of this class with this epsilon has such an error on every
              such distribution with fewer records. None: no such number is known.
        """
        fit = self._recipe(self.random_state is not None)
        return fit.planned(planned_table(fit, n_samples, n_features=n_features, n_labels=2))

    def _recipe(self, reproducible: bool) -> "CornerFit":
        epsilon = checked_epsilon(self.epsilon)
        delta = check_number("delta", self.delta, low=0, below=1)
        fit = CornerFit(
            self,
            ApproxDP(epsilon, delta, reproducible=reproducible),
            sides=self.directions,
            positive=self.positive,
            alpha=checked_share("alpha", self.alpha),
            beta=Fraction(checked_share("beta", self.beta)),
            methods=self._methods,
        )
        positive_code(fit.positive, fit.classes)
        return fit

    def _publish(self, outcome: Corner, plan: StatedPlan) -> None:
        self._publish_rule(outcome, plan)
        self.method_ = plan.method

    _two_labels = "a corner"
    has_margins = True

    def _declared(self) -> Any:
        return declared_columns(self.domain)


class CornerFit(CutFit):
    """The fit of `CornerClassifier`."""

    def plan(self, facts: FitFacts) -> StatedPlan:
        domain = as_product(self.declared, facts.n_features, facts.names)
        columns, n = columns_of(domain, None), facts.n_samples
        places = Product([each.places for each in columns])
        inside = positive_code(self.positive, facts.classes) or 0
        sides = self.sides if isinstance(self.sides, (list, tuple)) else [self.sides] * len(columns)
        corners = Corners(places, directions=sides, inside=inside)
        chosen, sizes = self._chosen(n, columns, corners)
        drawn = chosen.n_used if chosen.n_used < n else None
        goal = {"alpha": self.alpha, "beta": float(self.beta)}
        assumes = (*TABLE, *domain.assumes, labels_assumed(self.classes))
        warned = warns_of_errors(
            n,
            chosen.errors,
            self.cost.epsilon,
            f"{len(columns)} columns, the errors may be",
            size=max(each.size for each in columns),
        )
        return StatedPlan(
            replace(self.cost, delta=chosen.delta, assumes=assumes),
            title="CornerPlan",
            states={
                "method": chosen.method,
                "n_samples": n,
                "n_columns": len(columns),
                "n_examples": min(chosen.n_examples, n),
                "excess_error": min(chosen.errors, chosen.n_used) / chosen.n_used,
                **sizes,
                **chosen.states,
                **goal,
            },
            least={"n_least": partial(least_of, dimension=corners.littlestone_lower_bound, **goal)},
            keeps={
                "columns": columns,
                "domain": domain,
                "corners": corners,
                "drawn": facts.stream.permutation(n)[:drawn] if drawn and facts.stream else None,
                **chosen.keeps,
            },
            notes={
                "n_examples": "nearest to each cut" if chosen.keeps else "drawn" if drawn else "all",
                "excess_error": f"on these records{', if a corner labels them' if chosen.keeps else ''}",
                **SIZE_NOTES,
                **NOTES,
            },
            warns=warns_of_order(domain) + warned,
            public=facts,
            ranged=chosen.method == "exponential",
        )

    def _chosen(
        self, n: int, columns: Sequence[CutColumn], corners: Corners
    ) -> "tuple[_Way, dict[str, Any]]":
        """Return the method for n records, and the sizes, which are the same for all numbers of records."""
        ways = [*self._by_errors(n, corners), self._by_interior_points(n, columns)]
        ways = [way for way in ways if way.method in self.methods]
        needed = min(way.n_from for way in ways)
        sizes = {"n_needed": None if needed == math.inf else needed, **ways[0].agnostic}
        # A method is accurate from `n_from` records on; before that, one that takes all of them is better.
        if accurate := [way for way in ways if way.n_from <= n]:
            return accurate[0], sizes
        return min((way for way in ways if way.n_used == n), key=lambda way: way.n_needed), sizes

    def _by_errors(self, n: int, corners: Corners) -> "list[_Way]":
        """Return the selection among all corners, on as many records as their errors can be counted of."""
        limit = self.most_records
        most = first(lambda m: m == limit or not corners.takes(m + 1), 0, limit)
        if not most:
            return []
        goal = {"epsilon": self.cost.epsilon, "alpha": self.alpha, "beta": self.beta}
        errors, used = shortfall(corners.size, self.cost.epsilon, self.beta), min(n, most)
        needed, agnostic = (class_sample_size(corners, agnostic=each, **goal) for each in (False, True))
        states = {"excess_of_constant": min(errors, used) / used}
        any_labels = {"n_needed_agnostic": agnostic if agnostic <= most else None}
        start = needed if needed <= most else math.inf
        return [_Way("exponential", Fraction(0), used, used, errors, needed, start, states, {}, any_labels)]

    def _by_interior_points(self, n: int, columns: Sequence[CutColumn]) -> "_Way":
        """Return the cut of each column by interior points, and the comparison with constant labels."""
        comparison, epsilon, beta = compared(self.cost.epsilon, self.beta)
        k, cost = len(columns), replace(self.cost, epsilon=epsilon)
        share, delta = equal_epsilon(cost, k, BoundedRange), cost.delta
        if share <= epsilon / k * WORTH_DELTA:
            share, delta = epsilon / k, Fraction(0)
        beyond = 2 * shortfall(1 + max(each.size for each in columns), share, beta / (2 * k))
        errors = k * beyond  # beyond each cut at most so many, if an interior point is found

        def suffices(n: int) -> bool:
            return k * float(binom.cdf(beyond, n, self.alpha / k)) <= float(beta) / 2

        keeps = {"share": share, "comparison": comparison}
        needed = max(least(suffices, beyond + 1), comparison.n_needed(self.alpha, errors))
        states = comparison.states(n)
        return _Way("interior_point", delta, n, beyond + 1, errors, needed, needed, states, keeps)

    def summarize(self, rows: Any, plan: StatedPlan) -> LabelledRows:
        return super().summarize(rows if plan.drawn is None else rows[plan.drawn], plan)

    def run(self, summary: LabelledRows, plan: StatedPlan, dice: Dice) -> Corner:
        columns, places, y = plan.columns, summary.X.columns, summary.y
        if plan.method == "exponential":
            profile = plan.corners.error_profile(places, y)
            chosen: Any = selected(profile, select_exponential, privacy=plan.guarantee, dice=dice)
            corner: Corner = chosen
        else:
            corner = _corner_by_points(places, y, plan, dice)
            wrong = int(np.count_nonzero(corner.predict(places) != y))
            constant = plan.comparison.constant(wrong, int(y.sum()), len(y), dice)
            if constant is not None:
                # The corner of no record, or of all: each cut is at one end of its column.
                full, ends = constant == corner.inner, zip(columns, corner.above, strict=True)
                cuts = [column.size - 1 if full != above else -1 for column, above in ends]
                corner = replace(corner, codes=tuple(cuts))
        return replace(
            corner,
            features=tuple(each.feature for each in columns),
            domains=tuple(each.domain for each in columns),
            codes=tuple(each.last_code(cut) for each, cut in zip(columns, corner.codes, strict=True)),
        )


@dataclass(frozen=True)
class _Way:
    """A method of a fit, with its sizes."""

    method: str
    delta: Fraction
    n_used: int  # records
    n_examples: int
    errors: int
    n_needed: int
    n_from: float  # the number of records from which on it is accurate; infinite if it takes fewer
    states: dict[str, Any]
    keeps: dict[str, Any]
    agnostic: dict[str, Any] = field(default_factory=dict)


def _corner_by_points(places: Sequence[NDArray[Any]], y: Labels, plan: StatedPlan, dice: Dice) -> Corner:
    """Return the corner whose cuts are interior points of the nearest records with the inner label."""
    cuts, m, corners = [], plan.n_examples, plan.corners
    for column, each, above in zip(plan.columns, places, corners.directions[0], strict=True):
        rising = np.sort(each[y == corners.inside])
        nearest = rising[:m] if above else rising[::-1][:m]
        # Counted from beyond the far end of the domain, 0: no record is inside a corner that is cut there.
        found = [column.size - int(place) if above else int(place) + 1 for place in nearest]
        found += [0] * (m - len(found))
        point = interior_point_code(found, column.size + 1, privacy=ApproxDP(plan.share), dice=dice)
        cuts.append(column.size - 1 - point if above else point - 1)
    return corners.member(corners.directions[0], corners.inside, cuts)
