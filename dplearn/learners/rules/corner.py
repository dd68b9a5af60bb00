"""Private thresholds in several dimensions: one label where every column is on one side of its cut."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom
from sklearn.utils import Tags

from dplearn._documented import documented_by
from dplearn._validation import check_count, check_given, check_number
from dplearn._writing import brief
from dplearn.chance.dice import Dice
from dplearn.concepts.base import ChosenConcept
from dplearn.concepts.corners import Corner
from dplearn.domains import Product
from dplearn.estimator import RuleClassifier
from dplearn.estimator.recipe import FitFacts, FitRecipe
from dplearn.fit.relation import TABLE
from dplearn.kernels.search import least
from dplearn.learners.limits import LEAST_NOTE, least_of
from dplearn.learners.rules.generic import checked_epsilon, checked_share
from dplearn.learners.rules.threshold import (
    CutColumn,
    columns_of,
    declared_columns,
    shortfall,
    warns_of_order,
)
from dplearn.mechanisms.interior_point import interior_point_code
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.events import BoundedRange
from dplearn.privacy.plan import StatedPlan
from dplearn.privacy.shares import WORTH_DELTA, equal_epsilon
from dplearn.releases.release import few_records_warnings
from dplearn.table.features import as_product, read_features
from dplearn.table.table import Columns, LabelledRows
from dplearn.table.targets import (
    check_classes,
    check_two_labels,
    declared_classes,
    labels_assumed,
    positive_code,
    read_labels,
)

_SIDES = ("<=", ">")


@documented_by()
@dataclass(eq=False, repr=False, kw_only=True)
class CornerClassifier(RuleClassifier):
    """Learn a corner: one label where every column is on one side of its cut, the other label elsewhere.

    For labels that such a rule decides, with any number of columns of any number of values. On other labels
    it may be far worse than the most frequent label, for any epsilon: take another learner, or
    `ExponentialMechanismClassifier("corners")` for one or two columns.

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
    classes : sequence, optional
        The two labels that can occur, known without looking at the data. None: the labels of the schema, or
        else the labels that occur in `y`; the guarantee then assumes that the set of labels is public.

    Attributes
    ----------
    concept_ : ChosenConcept
        Released. The corner; its `repr` is the rule.
    classes_ : ndarray of shape (2,)
    guarantee_, domain_, n_features_in_, feature_names_in_

    See Also
    --------
    dplearn.theory.corner_lower_bound : No learner that names a corner does with fewer records.
    dplearn.ThresholdClassifier : One column, in either direction.

    Notes
    -----
    **Privacy.** (epsilon, delta) for one replaced record. Of each column, the m values of records with the
    inner label that are nearest to its cut, filled up with a value beyond the domain, are a multiset of which
    a replaced record replaces at most one. An interior point of it, by the exponential mechanism, is the cut.
    The columns' mechanisms are of bounded range, and their costs add up by the best theorem of `Composition`;
    where that is no better than equal parts of epsilon, no delta is spent.

    **Assumes.** The entries of `guarantee_.assumes`.

    **Accuracy.** If a corner labels all records, then with probability at least 1 - beta / 2 each cut is an
    interior point: then no record outside of the corner is inside, and fewer than m records of the inner
    label are beyond the cut of a column. If the error is above alpha, records of the inner label are beyond
    the cut of some column with probability above alpha / k, for k columns. From `plan(n_samples).n_needed`
    records on, such a cut has fewer than m records beyond it with probability at most beta / (2 k).

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Section 6, for the class and for the lower bound; the
    learner is ours.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

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

    def plan(self, n_samples: int, *, n_features: int | None = None) -> StatedPlan:
        """Return the plan of a fit: its guarantee and its accuracy. No data is read.

        Returns
        -------
        StatedPlan
            Of `guarantee`, `n_samples`, `alpha` and `beta`, and of

            - `n_columns`, the number of columns with a cut;
            - `n_examples`, the number of records that each cut is an interior point of, at most n_samples;
            - `excess_error`: with probability at least 1 - beta / 2, the training error is at most this, if a
              corner labels all records;
            - `n_needed`, the least number of records from which on, for a distribution that some corner
              labels without error, the true error is at most alpha with probability at least 1 - beta;
            - `n_least`: no pure private learner of this class with this epsilon has such an error on every
              such distribution with fewer records. None: no such number is known.
        """
        n_samples = check_count("n_samples", n_samples, low=1)
        fit = self._recipe(self.random_state is not None)
        n_features = len(fit.declared) if isinstance(fit.declared, Product) else n_features
        n_features = check_given("n_features", n_features, source="domain")
        plan: StatedPlan = fit.planned(FitFacts(n_samples, n_features, 2))
        return plan

    def _recipe(self, reproducible: bool) -> "CornerFit":
        classes = declared_classes(self.classes, self.domain)
        if classes is not None:
            check_two_labels(check_classes(classes), "a corner")
            positive_code(self.positive, check_classes(classes))
        sides = [self.directions] if isinstance(self.directions, str) else self.directions
        if not isinstance(sides, (list, tuple)) or not sides or not all(each in _SIDES for each in sides):
            raise ValueError(f"directions must be '<=' or '>', or a list of these, got {brief(sides)}")
        epsilon = checked_epsilon(self.epsilon)
        delta = check_number("delta", self.delta, low=0, below=1)
        return CornerFit(
            self,
            ApproxDP(epsilon, delta, reproducible=reproducible),
            declared=declared_columns(self.domain),
            sides=tuple(sides),
            several=not isinstance(self.directions, str),
            positive=self.positive,
            alpha=checked_share("alpha", self.alpha),
            beta=Fraction(checked_share("beta", self.beta)),
            classes=classes,
        )

    def _publish(self, outcome: Corner, plan: StatedPlan) -> None:
        self.classes_ = plan.public.classes
        self.domain_ = plan.domain
        self.guarantee_ = plan.guarantee
        self.concept_ = ChosenConcept(outcome, tuple(self.domain_.names), tuple(self.classes_.tolist()))

    def _predict_codes(self, columns: Any) -> NDArray[np.intp]:
        return self.concept_.predict(columns)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        domain = declared_columns(self.domain)
        tags.input_tags.allow_nan = domain.accepts_missing
        tags.input_tags.categorical = tags.input_tags.string = not domain.numeric
        return tags


class CornerFit(FitRecipe):
    """The fit of `CornerClassifier`."""

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        X = read_features(reader, X, domain=self.declared, reset=True)
        classes, codes = read_labels(y, len(X), self.classes)
        check_two_labels(classes, "a corner")
        names = getattr(reader, "feature_names_in_", None)
        domain = as_product(self.declared, X.shape[1], names)
        self.above(columns_of(domain, None))  # raises if there are other directions
        positive_code(self.positive, classes)
        public = FitFacts(len(X), X.shape[1], names=names, classes=classes)
        return public, LabelledRows(Columns(domain.encode(X)), codes)

    def above(self, columns: Sequence[CutColumn]) -> tuple[bool, ...]:
        """Return for each column whether values above its cut are inside."""
        sides = self.sides if self.several else self.sides * len(columns)
        if len(sides) != len(columns):
            raise ValueError(
                f"directions must have an entry for each of {len(columns)} ordered columns, got {len(sides)}"
            )
        return tuple(side == ">" for side in sides)

    def plan(self, facts: FitFacts) -> StatedPlan:
        domain = as_product(self.declared, facts.n_features, facts.names)
        columns, n = columns_of(domain, None), facts.n_samples
        k = len(columns)
        share = equal_epsilon(self.cost, k, BoundedRange)
        part, delta = self.cost.epsilon / k, self.cost.delta
        if share <= part * WORTH_DELTA:
            share, delta = part, Fraction(0)
        missed = shortfall(1 + max(each.size for each in columns), share, self.beta / (2 * k))
        beyond = 2 * missed  # records beyond the cut of a column, at most, if an interior point is found
        errors, m = k * beyond, beyond + 1
        goal = {"alpha": self.alpha, "beta": float(self.beta)}

        def suffices(n: int) -> bool:
            return k * float(binom.cdf(beyond, n, self.alpha / k)) <= float(self.beta) / 2

        return StatedPlan(
            replace(self.cost, delta=delta, assumes=(*TABLE, *domain.assumes, labels_assumed(self.classes))),
            title="CornerPlan",
            states={
                "n_samples": n,
                "n_columns": k,
                "n_examples": min(m, n),
                "excess_error": min(errors, n) / n,
                "n_needed": least(suffices, m),
                **goal,
            },
            least={
                "n_least": partial(
                    least_of, dimension=sum(each.size.bit_length() - 1 for each in columns), **goal
                )
            },
            keeps={
                "columns": columns,
                "domain": domain,
                "share": share,
                "above": self.above(columns),
                "positive": None if facts.classes is None else positive_code(self.positive, facts.classes),
            },
            notes={
                "n_examples": "of the inner label, nearest to each cut",
                "excess_error": "on these records, if a corner labels them",
                "n_needed": "for a true error of alpha, if a corner labels the records",
                "n_least": LEAST_NOTE,
            },
            warns=warns_of_order(domain) + self._warnings(n, columns, errors),
            public=facts,
        )

    def _warnings(self, n: int, columns: Sequence[CutColumn], errors: int) -> tuple[str, ...]:
        """Return a warning if the bound on errors is half of the records."""
        return few_records_warnings(
            n,
            errors,
            enough=n / 2,
            problem=f"with epsilon {float(self.cost.epsilon):.3g} and {len(columns)} columns, the errors may"
            " be half of the records",
            size=max(each.size for each in columns),
            remedy="take fewer columns",
        )

    def run(self, summary: LabelledRows, plan: StatedPlan, dice: Dice) -> Corner:
        privacy, inner = ApproxDP(plan.share), summary.y == plan.positive
        cuts = []
        for column, above in zip(plan.columns, plan.above, strict=True):
            places = column.of(summary.X.columns[column.feature][inner])
            nearest = _nearest(places, column.size, plan.n_examples, above=above)
            place = interior_point_code(nearest, column.size + 1, privacy=privacy, dice=dice)
            cuts.append(column.last_code(column.size - 1 - place if above else place - 1))
        domains = tuple(column.domain for column in plan.columns)
        features = tuple(each.feature for each in plan.columns)
        return Corner(features, domains, tuple(cuts), plan.above, plan.positive)


def _nearest(places: NDArray[Any], size: int, m: int, *, above: bool) -> list[int]:
    """Return the m places nearest to a cut, counted from beyond the far end of the domain, which is 0."""
    rising = np.sort(places)
    nearest = rising[:m] if above else rising[::-1][:m]
    found = [size - int(each) if above else int(each) + 1 for each in nearest]
    return [*found, *[0] * (m - len(found))]  # no record is inside a corner whose cut is at 0
