"""Private thresholds: one cut of one column, on bounded or unbounded domains."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from dplearn._documented import Calculator, TwoLabels, Unspent, documented_by
from dplearn._validation import AUTO, check_choice, check_count, check_goal, check_number
from dplearn._writing import brief
from dplearn.chance.dice import Dice
from dplearn.concepts import Thresholds
from dplearn.concepts.base import Labels
from dplearn.concepts.stumps import Stump, levels_of_cuts
from dplearn.domains import Domain, Floats, IntegerRange, NumberDomain, Product
from dplearn.domains.product import is_pair
from dplearn.estimator import RuleClassifier
from dplearn.estimator.recipe import FitFacts, FitRecipe, planned_table
from dplearn.fit import TABLE
from dplearn.kernels import least
from dplearn.kernels.cuts import NONUNIFORM_SIZE, cut_column, last_code, nonuniform_codes
from dplearn.learners.limits import SIZE_NOTES, Task, least_of
from dplearn.learners.rules.generic import (
    chained_sample_size,
    representation_sample_size,
    selected,
    warns_of_errors,
)
from dplearn.mechanisms.interior_point import interior_point_code
from dplearn.mechanisms.selection import select_exponential, select_permute_and_flip, shortfall
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.guarantees import epsilon_of
from dplearn.privacy.plan import StatedPlan
from dplearn.releases.interior_point import threshold_from_interior_point
from dplearn.releases.release import as_number_domain
from dplearn.table import Columns, LabelledRows
from dplearn.table.features import as_product
from dplearn.table.targets import labels_assumed

_NAMES = 8  # the most column names in a message
_ALL_FLOATS, _PLACES = Floats(), IntegerRange(0, NONUNIFORM_SIZE - 1)
_AT_OR_BELOW, _ABOVE = (1, 0), (0, 1)  # the labels up to a cut and above it


@documented_by(Unspent, TwoLabels)
@dataclass(eq=False, repr=False, kw_only=True)
class ThresholdClassifier(RuleClassifier):
    """Learn a threshold on one column, with the column and the direction chosen privately.

    Drop-in: any number of predictions costs no privacy.

    Parameters
    ----------
    method : {"auto", "exponential", "interior_point"}, default="auto"
        "exponential": the exponential mechanism over all cuts of all columns, scored by training errors; for
        any labels, and fewer than 2**64 cuts a column. "interior_point": selects column and direction with a
        quarter of epsilon, and then a point between the greatest records of one label and the least of the
        other; for labels that a cut separates. "auto": the one with the smaller bound on errors.
    domain : "float64", Domain, sequence of Domain, Product or Schema, default="float64"
        The possible values, known without looking at the data: one domain for all columns, or one for each.
        "float64": all finite floats, `Floats()`, so that bounds are not needed; its nonuniform grid is finest
        for magnitudes near 1.
    feature : int or str, optional
        The column, by position or name. None: a private selection among all columns with an ordered domain.
    alpha : float, default=0.1
        Target error, in (0, 1).

    Attributes
    ----------
    threshold_ : number
        Released. The greatest number of the domain on the lower side; if the column's type is one of integers
        or booleans, the greatest integer; -inf if the cut is below the domain. Numbers between it and the
        next such number are on the lower side too.
    direction_ : {"<=", ">"}
        Released. Whether the second of `classes_` is predicted at or below the threshold, or above it.
    feature_ : int
        Released. The position of the column; public if `feature` is given.
    concept_ : ChosenConcept
        Released. The threshold; its `repr` is the rule.
    classes_ : ndarray of shape (2,)
    method_ : str
        Public. The method: "exponential" or "interior_point".
    guarantee_, domain_, feature_importances_, n_features_in_, feature_names_in_

    See Also
    --------
    dplearn.theory.threshold_sample_size : The number of records for a given accuracy.
    dplearn.learners.ExponentialMechanismClassifier : Other concepts, and more than two labels.

    Notes
    -----
    **Privacy.** (epsilon, 0)-differential privacy for one replaced record; the number of records is public.

    **Accuracy.** With probability at least 1 - beta, the training error exceeds the least by at most
    `plan(n_samples).excess_error`: with "exponential" for all labels, with "interior_point" for labels that
    some threshold separates.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 5.7, for "interior_point"; Kasiviswanathan, Lee,
    Nissim, Raskhodnikova and Smith (2011), Section 3, for "exponential".

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn import ThresholdClassifier
    >>> heights = np.random.default_rng(0).normal(170, 10, (2000, 1))
    >>> y = np.where(heights[:, 0] > 180, "tall", "short")
    >>> learner = ThresholdClassifier(epsilon=1.0, classes=["short", "tall"], random_state=0).fit(heights, y)
    >>> learner.direction_, 179.5 < learner.threshold_ < 180.5, learner.method_
    ('>', True, 'exponential')
    """

    epsilon: float = 1.0
    delta: float = 0.0
    method: str = AUTO
    domain: Any = "float64"
    feature: int | str | None = None
    alpha: float = 0.1
    beta: float = 0.05
    classes: Sequence[Any] | None = None
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    def plan(self, n_samples: int, *, n_features: int | None = None) -> StatedPlan:
        """Return the plan of a fit: its guarantee and its accuracy. No data is read.

        Parameters
        ----------
        n_features : int, optional
            Number of columns. None: that of the domain or the last fit; else required with `feature=None`.

        Returns
        -------
        StatedPlan
            Of `guarantee`, `method`, `n_samples`, `alpha` and `beta`, and of

            - `n_examples`, the number of records of each label in the second stage of "interior_point"; with
              "exponential" all records;
            - `excess_error`: with probability at least 1 - beta, the training error exceeds the least by at
              most this; with "interior_point" only if the least is 0;
            - `n_needed`, the least number of records from which on, for a distribution that some threshold
              labels without error, the true error is at most alpha with probability at least 1 - beta;
            - `n_needed_agnostic`, with "exponential": the same for any labels, where the true error exceeds
              the least of any threshold by at most alpha;
            - `n_least`: no pure private learner of this class with this epsilon, for examples, has an error
              of at most alpha with probability at least 1 - beta on every such distribution with fewer
              records. None: no such number is known.
        """
        fit = self._recipe(self.random_state is not None)
        if n_features is None and self.feature is not None:
            n_features = 1 if isinstance(self.feature, str) else self.feature + 1
        seen = getattr(self, "n_features_in_", None) if n_features is None else n_features
        return fit.planned(planned_table(fit, n_samples, n_features=seen, n_labels=2))

    def _recipe(self, reproducible: bool) -> "ThresholdFit":
        by_place = self.feature is not None and not isinstance(self.feature, str)
        return ThresholdFit(
            self,
            self._cost(reproducible),
            method=check_choice("method", self.method, (AUTO, *THRESHOLD_METHODS)),
            feature=check_count("feature", self.feature) if by_place else self.feature,
            alpha=check_number("alpha", self.alpha, above=0, below=1),
            beta=check_number("beta", self.beta, above=0, below=1),
        )

    def _publish(self, outcome: Stump, plan: StatedPlan) -> None:
        self._publish_rule(outcome, plan)
        self.method_ = plan.method
        rule: Any = self.concept_.concept
        self.feature_ = rule.feature
        self.direction_ = "<=" if rule.inner else ">"
        number = _number(rule)
        whole = plan.public.whole[rule.feature] and isinstance(number, float) and self._types_are_public()
        self.threshold_ = float(np.floor(number)) if whole else number

    _two_labels = "a threshold"
    has_margins = True
    spends_delta = False

    def _declared(self) -> Any:
        return declared_columns(self.domain)


class CutFit(FitRecipe):
    """The fit of rules with cuts."""

    feature: int | str | None = None

    def codes_of(self, X: Any, domain: Product) -> Columns:
        columns_of(domain, self.feature)  # raises if none has an order
        return Columns(domain.encode(X))

    def summarize(self, rows: Any, plan: StatedPlan) -> LabelledRows:
        """Return the records as their places among the cuts of the plan's columns."""
        codes = rows.X.columns
        return LabelledRows(Columns([column.of(codes) for column in plan.columns]), rows.y)


class ThresholdFit(CutFit):
    """The fit of `ThresholdClassifier`."""

    def plan(self, facts: FitFacts) -> StatedPlan:
        domain = as_product(self.declared, facts.n_features, facts.names)
        feature = self.feature
        if facts.classes is None and not isinstance(self.declared, Product):
            # Without names from a data frame, a name stands for any column if all have one domain.
            feature = 0 if isinstance(feature, str) and feature not in domain.names else feature
        columns = columns_of(domain, feature)
        method, sizes = _chosen_method(self, columns), _sizes(self, columns)
        n = facts.n_samples
        excess = threshold_excess_errors(method, **sizes)
        asked = n if method == "exponential" else interior_point_examples(n, alpha=self.alpha, **sizes)
        needed = partial(threshold_sample_size, method, alpha=self.alpha, **sizes)
        goal: dict[str, Any] = {"alpha": float(self.alpha), "beta": float(self.beta)}
        dimension, most = levels_of_cuts([each.size for each in columns]), max(each.size for each in columns)
        several = f" in each of {len(columns)} columns" if len(columns) > 1 else ""
        warned = warns_of_errors(
            n,
            excess,
            self.cost.epsilon,
            f"2^{math.log2(1 + most):.0f} cuts{several}, the training error may exceed the best cut's by",
            size=most,
            remedy="name the column with feature=" if several else "",
        )
        if feature is None:
            warned = warns_of_order(domain, "; feature= names one column") + warned
        return StatedPlan(
            replace(self.cost, assumes=(*TABLE, *domain.assumes, labels_assumed(self.classes))),
            title="ThresholdPlan",
            states={
                "method": method,
                "n_samples": n,
                "n_examples": asked,
                "excess_error": min(excess, n) / n,
                "n_needed": needed(realizable=True),
                **({"n_needed_agnostic": needed()} if method == "exponential" else {}),
                **goal,
            },
            least={"n_least": partial(least_of, dimension=dimension, **goal)},
            keeps={"columns": columns, "domain": domain, "task": Task("thresholds", most > 1, most)},
            notes={"excess_error": "on these records", **SIZE_NOTES},
            warns=warned,
            public=facts,
            ranged=method == "exponential",
        )

    def run(self, summary: LabelledRows, plan: StatedPlan, dice: Dice) -> Stump:
        asked = plan.columns, summary.X.columns, summary.y
        if plan.method == "exponential":
            return by_errors(*asked, privacy=plan.guarantee, dice=dice)
        return by_interior_point(*asked, plan.n_examples, privacy=plan.guarantee, dice=dice)


def _chosen_method(params: FitRecipe, columns: "Sequence[CutColumn]") -> str:
    """Return the method; with "auto" the one with the smaller bound on errors."""
    large = [column.domain for column in columns if column.size >= 1 << 64]
    if large and params.method == "exponential":
        raise ValueError(
            f"domain must have fewer than 2**64 values with method='exponential', got {large[0]!r}"
        )
    if params.method != AUTO:
        return str(params.method)
    possible, sizes = THRESHOLD_METHODS[1:] if large else THRESHOLD_METHODS, _sizes(params, columns)
    return min(possible, key=lambda method: threshold_excess_errors(method, **sizes))


def _sizes(params: FitRecipe, columns: "Sequence[CutColumn]") -> dict[str, Any]:
    return {
        "n_cuts": 1 + max(column.size for column in columns),  # the cut below the domain included
        "n_columns": len(columns),
        "epsilon": params.cost.epsilon,
        "beta": params.beta,
    }


def declared_columns(domain: Any) -> Any:
    """Return the domain of all columns, or the product of their domains; "float64" becomes `Floats()`."""
    if isinstance(domain, (list, tuple)) and not is_pair(domain):
        return Product([declared_columns(each) for each in domain])
    return domain if isinstance(domain, (Domain, Product)) else as_number_domain(domain)


def columns_of(domain: Product, feature: int | str | None) -> "list[CutColumn]":
    if feature is None:
        ordered = [CutColumn(place, each) for place, each in enumerate(domain.domains) if each.ordered]
        if not ordered:
            raise ValueError(f"domain must have an ordered column, got {brief(domain)}")
        return ordered
    if isinstance(feature, str):
        if feature not in domain.names:
            raise ValueError(f"feature must be {_places(domain.names)}, got {feature!r}")
        feature = list(domain.names).index(feature)
    place = check_count("feature", feature, high=len(domain) - 1)
    if not domain.domains[place].ordered:
        raise ValueError(f"feature must have an ordered domain, got {brief(domain.domains[place])}")
    return [CutColumn(place, domain.domains[place])]


def warns_of_order(domain: Product, advice: str = "") -> tuple[str, ...]:
    """Return a warning of columns without an order, which have no cuts."""
    pairs = zip(domain.names, domain.domains, strict=True)
    skipped = [name for name, each in pairs if not each.ordered]
    return (f"columns {brief(skipped)} have no order and are not used{advice}",) * bool(skipped)


def _places(names: Sequence[str]) -> str:
    """Return the valid values of `feature`, for messages."""
    if list(names) == [f"x{place}" for place in range(len(names))]:
        return (
            "the position of a column, as X has no names (a step before may have dropped them:"
            " pipe.set_output(transform='pandas'))"
        )
    shown = [*map(repr, names[:_NAMES]), *(["..."] if len(names) > _NAMES else [])]
    return f"the name or position of a column, among {', '.join(shown)}"


def _number(stump: Stump) -> Any:
    """Return the greatest number at or below a cut, or its code if the domain has no numbers."""
    if stump.code < 0:
        return -math.inf
    if not isinstance(stump.domain, NumberDomain):
        return stump.code
    return stump.domain.decode(np.array([stump.code], dtype=object)).tolist()[0]


@dataclass(frozen=True)
class CutColumn:
    """A column that may be cut, with the positions of its cuts."""

    feature: int
    domain: Domain

    @property
    def size(self) -> int:
        """Number of cuts, the cut below the domain not included."""
        return self.places.size

    @property
    def places(self) -> Domain:
        return _PLACES if self.domain == _ALL_FLOATS else self.domain

    def of(self, columns: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return, for each record, the least cut at or above its value in this column."""
        codes = columns[self.feature]
        return nonuniform_codes(codes) if self.places is _PLACES else codes

    def stump(self, cut: int, labels: tuple[int, int]) -> Stump:
        return Stump(self.feature, self.domain, self.last_code(cut), *labels)

    def last_code(self, cut: int) -> int:
        """Return the last code at or below a cut from -1 to size - 1."""
        return last_code(cut) if self.places is _PLACES else cut


class _ColumnThresholds(Thresholds):
    """Thresholds on any column of a domain: one label up to the cut, the other above it."""

    @property
    def features(self) -> range:
        return range(len(self.domain))


def by_errors(
    columns: Sequence[CutColumn], places: Sequence[NDArray[Any]], y: Labels, *, privacy: ApproxDP, dice: Dice
) -> Stump:
    """Select a threshold by the exponential mechanism, scored by training errors.

    **Privacy.** `privacy`, for one replaced record, which changes the errors of each threshold by at most 1,
    for values in public domains.

    **Source.** Kasiviswanathan, Lee, Nissim, Raskhodnikova and Smith (2011), Section 3; here a constant
    counts as two thresholds a column.
    """
    concepts = _ColumnThresholds(Product([column.places for column in columns]))
    profile = concepts.error_profile(places, y)
    chosen: Any = selected(profile, select_exponential, privacy=privacy, dice=dice)
    column: CutColumn = columns[chosen.feature]
    return column.stump(chosen.code, (chosen.inner, chosen.outer))


def by_interior_point(
    columns: Sequence[CutColumn],
    places: Sequence[NDArray[Any]],
    y: Labels,
    m: int,
    *,
    privacy: ApproxDP,
    dice: Dice,
) -> Stump:
    """Return a threshold between the greatest records of one label and the least of the other.

    **Privacy.** `privacy`, for one replaced record: it changes the errors of each cut by at most 1, and so
    the least errors of a column and direction, by which these are selected. Given the released pair,
    `threshold_between` selects the cut with the rest of epsilon.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 5.7, for one column and one direction.
    """
    epsilon, sized = epsilon_of(privacy), zip(columns, places, strict=True)
    errors = [wrong for column, each in sized for wrong in least_errors(each, y, column.size)]
    for_pair, for_cut = ApproxDP(COLUMN_SHARE * epsilon), ApproxDP((1 - COLUMN_SHARE) * epsilon)
    pair, _ = select_permute_and_flip(errors, [1] * len(errors), privacy=for_pair, dice=dice)
    position, above = divmod(pair, 2)
    column, labels = columns[position], (_ABOVE if above else _AT_OR_BELOW)
    cut = threshold_between(places[position], y == labels[0], column.size, m, privacy=for_cut, dice=dice)
    return column.stump(cut, labels)


def threshold_between(
    codes: NDArray[Any], lower: NDArray[np.bool_], size: int, m: int, *, privacy: ApproxDP, dice: Dice
) -> int:
    """Return a code with, probably, few lower records above it and few other records at or below it.

    **Privacy.** `privacy`, for one replaced record: it replaces at most two points of
    `dplearn.releases.threshold_from_interior_point`, each at half of epsilon.

    **Accuracy.** If exactly the lower records are at or below some cut, an interior point makes at most m - 1
    errors, and a point of quality m - k at most k.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 5.7, corrected for ties.
    """
    one_point = ApproxDP(epsilon_of(privacy) * Fraction(1, 2))
    point = partial(interior_point_code, privacy=one_point, dice=dice)
    return threshold_from_interior_point(codes, lower, size, m=m, interior_point=point)


def least_errors(codes: NDArray[Any], y: Labels, size: int) -> tuple[int, int]:
    """Return the least errors of a cut with label 1 at or below it, and of a cut with label 1 above it."""
    if size >= 1 << 64:
        values, codes = np.unique(codes, return_inverse=True)
        codes, size = codes.ravel().astype(np.uint64), values.size
    # Empty intervals of cuts are included: they contain no record, like the cut below the domain.
    cuts = cut_column(codes, y, size, 2)
    totals = np.bincount(y, minlength=2)
    # The cut below the domain errs on all records of the label that it predicts nowhere.
    return (
        min(int(cuts.errors(totals, *_AT_OR_BELOW).min()), int(totals[1])),
        min(int(cuts.errors(totals, *_ABOVE).min()), int(totals[0])),
    )


THRESHOLD_METHODS = ("exponential", "interior_point")

#: The share of epsilon that "interior_point" spends on column and direction. Each error is a logarithm
#: divided by its share, and the error of the column counts three times; for 2**64 cuts the sum is least near
#: a quarter.
COLUMN_SHARE = Fraction(1, 4)

_LEAST = Fraction(1, 10**9)  # of the terms of a union bound
_MOST_COUNTED = 10**12  # the most trials for which binomial tails are computed


def threshold_excess_errors(method: str, n_cuts: int, *, n_columns: int = 1, epsilon: Any, beta: Any) -> int:
    """Return a bound on the training errors of a private threshold beyond those of the best threshold.

    Parameters
    ----------
    method : {"exponential", "interior_point"}
        The method of `ThresholdClassifier`.
    n_cuts : int
        The greatest number of cuts of a column, which is one more than the number of values in its domain.
    n_columns : int, default=1
        Number of columns to select from.
    beta : float
        Allowed probability of more errors, in (0, 1).

    Returns
    -------
    int
        The bound. With "exponential" it holds for all data; with "interior_point" for data that some
        threshold labels without error, if there are enough records for `interior_point_examples`.

    Notes
    -----
    By McSherry and Talwar (2007), and for "interior_point" by the proof at `interior_point_examples`.

    Examples
    --------
    >>> from dplearn.theory import threshold_excess_errors
    >>> threshold_excess_errors("exponential", 2**64, epsilon=1, beta=0.05)
    96
    >>> threshold_excess_errors("interior_point", 2**64, epsilon=1, beta=0.05)
    361
    """
    n_cuts, n_columns, epsilon = _checked(n_cuts, n_columns, epsilon)
    beta = check_number("beta", beta, above=0, below=1)
    if check_choice("method", method, THRESHOLD_METHODS) == "exponential":
        return shortfall(2 * n_columns * n_cuts, epsilon, beta)
    column, point = _interior_shortfalls(n_cuts, n_columns, epsilon, beta)
    return 3 * column + point


@documented_by(threshold_excess_errors, Calculator)
def interior_point_examples(
    n_samples: int, n_cuts: int, *, n_columns: int = 1, epsilon: Any, alpha: Any, beta: Any
) -> int:
    """Return the number of examples of each label that "interior_point" uses.

    Returns
    -------
    int
        The maximum of alpha * n_samples, so that the quality separates points with fewer errors from points
        with more, and of the least m for which the bound holds; at most n_samples.

    Notes
    -----
    **Accuracy.** For data that some cut labels without error, see the proof at
    `dplearn.releases.threshold_from_interior_point`, whose points are used here. Let label 1 be the label at
    or below the cut, let m records of each label be used, and let a cut t err on P records labelled 0 and on
    N records labelled 1, L = P + N. The quality of a cut, the minimum of the numbers of points not below it
    and not above it, is at least m - L for t. Let that of the chosen cut c be at most K below the best, and m
    > 2 L + K or m = n_samples. If c > t, the points not below c are at most N ones, and m zeros minus the
    zeros at or below c. So at most L + K + N zeros are at or below c, and c errs on at most N ones: 3 L + K
    errors at most; likewise for c < t. On records that some threshold labels without error, L is at most the
    shortfall of the selected column and direction from the best.

    Examples
    --------
    >>> from dplearn.theory import interior_point_examples
    >>> interior_point_examples(2000, 2**64, epsilon=1, alpha=0.1, beta=0.05)
    327
    """
    n_samples = check_count("n_samples", n_samples, low=1)
    n_cuts, n_columns, epsilon = _checked(n_cuts, n_columns, epsilon)
    alpha, beta = check_goal(alpha, beta)
    column, point = _interior_shortfalls(n_cuts, n_columns, epsilon, beta)
    wanted: int = max(math.ceil(alpha * n_samples), 2 * column + point + 1)
    return min(n_samples, wanted)


@documented_by(threshold_excess_errors, Calculator)
def threshold_sample_size(
    method: str,
    n_cuts: int,
    *,
    n_columns: int = 1,
    epsilon: Any,
    alpha: Any,
    beta: Any,
    realizable: bool = False,
) -> int:
    """Return the least number of records from which on a private threshold is accurate.

    Parameters
    ----------
    alpha : float
        Excess error over the best threshold on the distribution, in (0, 1).
    beta : float
        Allowed probability of failure, in (0, 1), of the sample and of the learner.
    realizable : bool, default=False
        Whether some threshold has error 0; required by "interior_point".

    Returns
    -------
    int
        The least number of records for which the proof in the Notes holds.

    Notes
    -----
    **Accuracy.** The least of three bounds. (1) Realizable and one column: the error regions of thresholds
    form four chains (either direction, either side of the right cut). The least region of a chain with
    probability above alpha contains at most k records with probability at most P[Binomial(n, alpha) <= k],
    and all greater regions contain at least as many records. The sample and the learner have half of beta
    each. (2) Any labels: the mistakes of a threshold are the records labelled 1 on one side of its cut, and
    those labelled 0 on the other: 4 n_columns families of growing sets, see `chained_sample_size`. The
    learner has an eighth of beta with "exponential", else a half. (3) "exponential": the union bound over all
    cuts of all columns, `representation_sample_size`.

    **Source.** Bun, Nissim, Stemmer and Vadhan (2015), Lemma 5.8, with binomial tails in place of its
    Chernoff bound; Massart (1990) for the constant of the second bound.

    Examples
    --------
    >>> from dplearn.theory import threshold_sample_size
    >>> threshold_sample_size("exponential", 2**64, epsilon=1, alpha=0.1, beta=0.05, realizable=True)
    1198
    """
    n_cuts, n_columns, epsilon = _checked(n_cuts, n_columns, epsilon)
    alpha, beta = check_goal(alpha, beta)
    if check_choice("method", method, THRESHOLD_METHODS) == "interior_point" and not realizable:
        raise ValueError("realizable must be True with method 'interior_point', got False")

    def wrong(failure: Fraction) -> int:
        return threshold_excess_errors(method, n_cuts, n_columns=n_columns, epsilon=epsilon, beta=failure)

    half, share = beta / 2, beta / 8 if method == "exponential" else beta / 2
    sizes = [chained_sample_size(wrong(share), 4 * n_columns, alpha=alpha, beta=beta - share)]
    if realizable and n_columns == 1 and (few := wrong(half)) / alpha < _MOST_COUNTED:
        # Also more than the records of one label that "interior_point" uses.
        sizes.append(least(lambda n: 4 * binom.cdf(few, n, float(alpha)) <= half, few + 1))
    if method == "exponential" and min(alpha, beta, epsilon) >= _LEAST:
        terms = {"epsilon": epsilon, "alpha": alpha, "beta": beta, "agnostic": not realizable}
        sizes.append(representation_sample_size(2 * n_cuts * n_columns, **terms))
    return min(sizes)


def _checked(n_cuts: Any, n_columns: Any, epsilon: Any) -> tuple[int, int, Fraction]:
    return (
        check_count("n_cuts", n_cuts, low=1),
        check_count("n_columns", n_columns, low=1),
        check_number("epsilon", epsilon, above=0),
    )


def _interior_shortfalls(n_cuts: int, n_columns: int, epsilon: Fraction, beta: Fraction) -> tuple[int, int]:
    """Return the shortfalls of the selected column and direction, and of the point, from the best."""
    column = shortfall(2 * n_columns, COLUMN_SHARE * epsilon, beta / 2)
    # A replaced record changes at most two of the points.
    return column, shortfall(n_cuts, (1 - COLUMN_SHARE) * epsilon / 2, beta / 2)
