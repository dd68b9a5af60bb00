"""The methods by which private labels of public features are released: one release each.

A method is made from public numbers: of records and labels, and the cost. It says what a plan states, is
prepared from public rows, and then releases a label for each record, on which any classifier may be trained.
"""

import math
import warnings
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from dplearn.chance.dice import Dice
from dplearn.kernels import ignores_float_errors, nearest_shares
from dplearn.learners.additive.label_sums import PublicRows
from dplearn.learners.votes.standard import scaled
from dplearn.mechanisms import laplace_counts, randomized_response
from dplearn.mechanisms.randomized_response import truth_probability
from dplearn.privacy import ApproxDP
from dplearn.privacy.plan import StatedPlan
from dplearn.privacy.shares import gaussian_budget
from dplearn.queries import CentralOracle, LabelledRows, VectorQuery
from dplearn.queries.noise import LaplaceNoise, noise_of

_FEW = 50  # effective records of a label, below which a fit by reports warns
_FEW_CLUSTERS = 3  # clusters of a label, below which a fit by clusters warns
# Clusters are chosen below so many effective records, or so many of a label, if reports of a cluster's
# records have a variance above such a share of that of a noisy number. They were more accurate on 12 tables
# of 500 to 40,000 records, of 2 to 11 labels, below 120 of a label; and on 12 of two labels and of numbers
# alone, of 1,300 to 13,000 records, at 400 (by .019 on the mean, at worst -.017; at 600 by .009, at worst
# -.020); sums had less there, by .04 at epsilon .1 and .016 at .5. No benchmark reports on these.
_CLUSTERED_BELOW, _OF_A_LABEL, _LEAST_SHARE = 480, 120, 0.6
_IN_CLUSTER, _FOR_LABELS = 10, 4.3  # records of a cluster, times epsilon; the second times ln(labels)
_MOST_CLUSTERS, _LEAST_IN_CLUSTER = 1000, 3
_BATCH = 4096  # rows of a step of k-means, and at least of its first centres
# Up to so many records, or from more labels on, the default classifier is a forest; of reports from three
# labels on, with smaller leaves. On nine tables of 3 to 26 labels and 100 to 13,333 records, at epsilon 3, it
# was up to .09 more accurate than boosting, and at most .004 less.
_FOREST, _BOOSTED_LABELS = 10_000, 20
_LEAF, _LEAF_OF_REPORTS = 5, 3
# Sums are chosen for two labels, and at most so many columns. In place of clusters: from so many records on,
# if at least half of the columns are of categories; on two such tables their AUC was .05 higher to .02 lower.
# In place of reports: from so many records on, if some column is of categories, up to so many effective
# records of reports. On 12 such tables of 3,000 to 43,000 records their AUC was .25 to .003 higher than that
# of reports at epsilon .5, .15 higher to .004 lower at 1, and .11 higher to .03 lower at 2; without
# interactions, where on tables of numbers it was .04 higher to .35 lower. No benchmark reports on these.
_SUMMED_FROM, _MOST_COLUMNS = 1000, 256
_SUMMED_FOR_REPORTS_FROM, _MOST_REPORTED = 3000, 10_000
_USEFUL = 5  # sums are chosen from one in so many of the records on, below which they warn
_MOST_NUMBERS = 1500  # of a row, for the memory of a fit
_FEW_SUMS = 50  # records of a label, over the noise in the sum of its rows, below which sums warn


@dataclass(frozen=True, eq=False)
class Released:
    """What a method releases, or makes of that."""

    codes: NDArray[np.int64]  # of the label of each record, on which classifiers are trained
    counts: NDArray[np.int64] | None = None
    model: Any = None  # which needs no training


class Method:
    """A method: its name, what a plan states, and which default classifier suits what it releases."""

    name: str
    states: dict[str, Any]  # of a plan
    n_effective: float  # records whose true labels would tell as much
    leaf: int | None = None  # of the trees of the default forest; None: boosting
    few: bool  # whether a fit warns
    enough: float  # records without a warning
    tells: str  # for the warning

    def prepared(self, X: Any, seed: int) -> Self:  # noqa: ARG002 - of use to subclasses
        """Return the method with what it needs of public rows."""
        return self

    def learner(self, estimator: Any) -> Any:
        """Return an estimator as it learns from what is released."""
        return estimator


class Reports(Method):
    """Each label is released by itself, by randomised response."""

    name = "reports"

    def __init__(self, n: int, k: int, cost: ApproxDP):
        truth = float(truth_probability(k, cost.epsilon))
        other = (1 - truth) / (k - 1)
        share = (1 - k * other) ** 2  # of the records, as many as reports tell as much as
        self._matrix, self.n_effective = (truth, other), n * share
        self.states = {"truth": truth, "n_effective": self.n_effective}
        self.few, self.enough = self.n_effective < _FEW * k, _FEW * k / share if share else math.inf
        self.tells = f"reports tell as much as the true labels of {self.n_effective:.3g} records"
        # Of _IN_CLUSTER / epsilon reports, over 8 / epsilon**2.
        variance = _IN_CLUSTER * float(cost.epsilon) * other * (1 - other) / 8 / share if share else math.inf
        few = self.n_effective < max(_CLUSTERED_BELOW, _OF_A_LABEL * k)
        self.lose = few and variance > _LEAST_SHARE
        self.leaf = _LEAF_OF_REPORTS if k > 2 and _suits_a_forest(n, k) else None

    def learner(self, estimator: Any) -> Any:
        """Return an estimator whose logistic regression, at its end, knows the probabilities of reports."""
        from dplearn.learners.label_logistic import through_reports

        return through_reports(estimator, *self._matrix)

    def released(self, codes: NDArray[np.int64], plan: StatedPlan, dice: Dice) -> Released:
        """Return the report of each record."""
        # One changed label changes one report.
        return Released(randomized_response(codes, plan.n_labels, privacy=plan.guarantee, dice=dice))


class Clusters(Method):
    """The numbers of labels in clusters of public features are released."""

    name = "clusters"
    clusters: NDArray[np.int64]  # the cluster of each row, once they are prepared

    def __init__(self, n: int, k: int, cost: ApproxDP, size: int | None = None):
        rate = min(max(float(cost.epsilon), 1e-300), 2000)  # no float overflows
        # The noise in numbers of k labels leaves most of clusters of so many records.
        records = max(_IN_CLUSTER, _FOR_LABELS * math.log(k)) / rate
        self.size = size or max(1, min(int(min(n / records, _MOST_CLUSTERS)), n // _LEAST_IN_CLUSTER))
        self.n_effective = n
        self.leaf = _LEAF if _suits_a_forest(n, k) else None
        least = _FEW_CLUSTERS * k
        enough = least * max(records, _LEAST_IN_CLUSTER)
        self.few, self.enough = self.size < least, enough if least <= _MOST_CLUSTERS else math.inf
        deviation = LaplaceNoise(Fraction(rate), 2).deviation
        self.states = {"n_clusters": self.size, "deviation": deviation}
        self.tells = f"numbers of {k} labels in clusters have noise of {deviation:.3g} records"

    @ignores_float_errors
    def prepared(self, X: Any, seed: int) -> Self:
        """Return the method with the cluster of each row."""
        from sklearn.cluster import MiniBatchKMeans

        places, known = scaled(X).fit_transform(X), copy(self)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fewer distinct rows than clusters
            how = {"batch_size": _BATCH, "init_size": max(_BATCH, 3 * self.size), "random_state": seed}
            means = MiniBatchKMeans(self.size, n_init=1, **how).fit(places)
        known.clusters = np.asarray(means.labels_, dtype=np.int64)
        return known

    def released(self, codes: NDArray[np.int64], plan: StatedPlan, dice: Dice) -> Released:
        """Return a label for each record, in the released shares of its cluster, and the counts."""
        n, k = plan.n_samples, plan.n_labels
        # One changed label moves two of these numbers by 1; the clusters and the ends are public.
        counts = np.bincount(self.clusters * k + codes, minlength=self.size * k)
        noisy = laplace_counts(counts, privacy=plan.guarantee, dice=dice, sensitivity=2, low=-n, high=2 * n)
        numbers = np.asarray(noisy).reshape(-1, k)
        return Released(_in_shares_of(numbers, self.clusters, plan.public.stream), counts=numbers)


class Sums(Method):
    """The sums of rows of public features by label are released; they determine an additive model."""

    name = "sums"
    rows: PublicRows  # once they are prepared, as the query
    query: VectorQuery

    def __init__(self, n: int, k: int, cost: ApproxDP):
        self.n_effective, self._k, self._cost = n, k, cost
        self.deviation = math.inf
        if cost.delta:  # a changed label changes one sum of two labels, or two sums
            self.deviation = math.sqrt(min(k - 1, 2) / (2 * gaussian_budget(cost)))
        self.enough = _FEW_SUMS * k * self.deviation
        self.few = n < self.enough
        self.states = {"deviation": self.deviation}
        self.tells = f"sums of {k} labels have noise of {self.deviation:.3g} records"

    def suit(self, n_columns: int, n_categorical: int, reports: Reports) -> bool:
        """Return whether a table is one of those for which sums are the most accurate."""
        n = self.n_effective
        few = reports.lose and n >= _SUMMED_FROM and 2 * n_categorical >= n_columns
        many = n >= _SUMMED_FOR_REPORTS_FROM and reports.n_effective < _MOST_REPORTED
        useful = self._k == 2 and n >= self.enough / _USEFUL and 1 <= n_columns <= _MOST_COLUMNS
        return useful and n_categorical > 0 and (few or many)

    def prepared(self, X: Any, seed: int) -> Self:  # noqa: ARG002
        """Return the method with the row of each record; refuse what cannot be released."""
        known = copy(self)
        known.rows = PublicRows.of(X, self.deviation)
        known.query = known.rows.query(self._k)
        if known.rows.rows.size > _MOST_NUMBERS:
            raise ValueError(
                f"X must have fewer columns for method={self.name!r}: rows of at most {_MOST_NUMBERS}"
                f" numbers, got {known.rows.rows.size}"
            )
        noise = noise_of("gaussian", self._cost, X.shape[0])
        with suppress(ValueError):
            noise.check([known.query], Fraction(1), 0)
            return known
        raise ValueError(
            f"epsilon must be large enough for noise to be drawn, got {float(self._cost.epsilon):g}"
        )

    def released(self, codes: NDArray[np.int64], plan: StatedPlan, dice: Dice) -> Released:
        """Return a label for each record, with the released model's probabilities, and the model."""
        records, given = LabelledRows(self.rows.cells, codes), plan.guarantee
        oracle = CentralOracle(records, privacy=given, dice=dice, noise="gaussian")
        [answer] = oracle.ask(self.query, Fraction(1))
        # From here on all is a function of this answer and of public features.
        model = self.rows.model(answer)
        below = self.rows.likely(model)[:, :-1].cumsum(axis=1)
        drawn = (below <= plan.public.stream.uniform(len(codes))[:, None]).sum(axis=1)
        return Released(drawn, model=self.rows.classifier(model, given, plan.public.classes))


def _suits_a_forest(n: int, k: int) -> bool:
    return n <= _FOREST or k > _BOOSTED_LABELS


def _in_shares_of(counts: NDArray[Any], clusters: NDArray[np.int64], stream: Any) -> NDArray[np.int64]:
    """Return a label for each record, such that each cluster has its released shares of the labels."""
    n = len(clusters)
    sizes = np.bincount(clusters, minlength=len(counts))  # of clusters of public features
    shares = nearest_shares(counts / np.maximum(sizes, 1)[:, None])
    # The i-th of a cluster's m records, in random order, has the label of the share at (i + u) / m.
    order = np.lexsort((stream.permutation(n), clusters))
    own = clusters[order]
    starts = np.cumsum(sizes) - sizes - (stream.permutation(len(sizes)) + 0.5) / len(sizes)
    place = (np.arange(n) - starts[own]) / sizes[own]
    found = np.empty(n, dtype=np.int64)
    found[order] = (shares.cumsum(axis=1)[own, :-1] <= place[:, None]).sum(axis=1)
    return found
