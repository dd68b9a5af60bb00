"""Private scores of a fitted estimator on private records, with intervals that include the noise."""

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.utils.validation import check_is_fitted

from dplearn._validation import check_number
from dplearn.chance import dice_for
from dplearn.chance.dice import Dice
from dplearn.domains.cells import cells_of
from dplearn.estimator.base_models import check_own_code
from dplearn.fit import N_IS_PUBLIC, Facts, Recipe
from dplearn.fit.execute import execute
from dplearn.fit.relation import ROWS
from dplearn.kernels import ignores_float_errors
from dplearn.model_selection.candidates import answers_from_a_budget, last_step
from dplearn.model_selection.metrics import Measure, PrivateScorer, measure_of
from dplearn.model_selection.tables import NoisyTable, Statistic, TableNoise, noisy_table
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.plan import ResultTable
from dplearn.releases.release import ReleasePlan
from dplearn.table import InMemory, Table, count_of
from dplearn.table.features import is_used, schemas_of
from dplearn.table.targets import check_classes, label_cells

_ASSUMES = (
    N_IS_PUBLIC,
    ROWS,
    "the classifier predicts for each record by itself, and one label for every record",
    "the classifier was made without these records, or has a guarantee of its own, which adds to this one",
)
_OF_REGRESSORS = (
    *_ASSUMES[:2],
    "the regressor predicts for each record by itself, and one number for every record",
    _ASSUMES[3].replace("classifier", "regressor"),
)


@dataclass(frozen=True)
class PrivateScore(ResultTable):
    """The result of `private_score`.

    Attributes
    ----------
    value : float
        Released. The noisy score, such as the fraction of correct predictions. NaN if the metric is not
        defined for the noisy counts, such as an area under a curve with no positive record among them.
    records_interval : tuple of float
        Released. Contains the score on these records with probability at least 1 - beta over the noise.
    interval : tuple of float
        Released. Contains the score on the population with probability at least 1 - beta over the noise and
        the records, if the records are independent draws from the population and the estimator was made
        without them.
    n_samples : int
        Public. Number of records; with `groups`, of groups.
    beta : float
        Public. Probability of failure of each interval, as given.
    guarantee : ApproxDP
        Public. The guarantee of the release.
    scorer : PrivateScorer
        Public. The metric and its parameters.
    labels : tuple
        Public. The labels, sorted; empty for metrics that need none.
    table : NoisyTable
        Released. The noisy counts or sums from which everything else is computed.
    """

    value: float
    records_interval: tuple[float, float]
    interval: tuple[float, float]
    n_samples: int
    beta: float
    guarantee: ApproxDP
    scorer: PrivateScorer = field(compare=False)
    labels: tuple[Any, ...] = field(compare=False)
    table: Any = field(compare=False, repr=False)

    def _shown(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        sure = f"with probability {1 - self.beta:g}"
        of = "groups" if self.guarantee.protects == "groups" else "records"
        return ("", self.scoring), [
            ("released", self.value),
            (f"of these {self.n_samples:,} {of}, {sure}", self.records_interval),
            (f"of the population, {sure}", self.interval),
        ]

    @property
    def scoring(self) -> str:
        """Name of the metric."""
        return self.scorer.name

    @property
    def confusion_matrix(self) -> NDArray[np.int64]:
        """Released. The noisy confusion matrix: rows are true labels, columns predictions.

        Its entries may be negative. It exists for balanced accuracy and for F1, precision and recall, unless
        these are "micro" averages, or "recall_weighted", which are the accuracy.
        """
        if len(self.table.statistic.shape) != 2:
            raise AttributeError(
                f"confusion_matrix is absent for scoring={self.scoring!r}, which needs fewer counts; choose"
                " 'balanced_accuracy', 'recall_macro', ..."
            )
        return self.table.matrix

    def also(self, scoring: Any) -> "PrivateScore":
        """Return another score that is computed from the same noisy table; costs no privacy.

        Each interval is right with probability at least 1 - beta by itself.

        Parameters
        ----------
        scoring : str or PrivateScorer
            A metric of the same table, such as "recall_macro" beside "balanced_accuracy". A name has the
            parameters of this score's metric.

        Raises
        ------
        ValueError
            If the metric needs another table.
        """
        named = replace(self.scorer, name=scoring) if isinstance(scoring, str) else scoring
        scorer = PrivateScorer.of(named)
        measure = measure_of(scorer, self.labels)
        if measure.statistic != self.table.statistic:
            raise ValueError(
                f"scoring must be a metric of the same counts as {self.scoring!r}, got {scorer.name!r}, which"
                " needs others: release it by private_score"
            )
        return _scored(measure, self.table, Fraction(repr(self.beta)), self.guarantee, scorer, self.labels)


def private_score(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    scoring: Any = None,
    groups: Any = None,
    epsilon: Any = 1.0,
    delta: Any = 0,
    beta: Any = 0.05,
    ledger: PrivacyLedger | None = None,
    random_state: Any = None,
) -> PrivateScore:
    """Release a score of a fitted estimator on private records.

    Parameters
    ----------
    estimator : object
        Fitted classifier or, for metrics of regressors, regressor, which treats each record separately.
        Estimators whose predictions spend a budget are refused. It runs alone, without parallel workers, and
        without output.
    X : array-like or data frame of shape (n_samples, n_features), or parts of one
        Private. Records in the form that `estimator` accepts. Parts: as for learners of tables in parts; the
        estimator then predicts where the parts are, in one pass.
    y : array-like of shape (n_samples,), or parts of one; or the name of a column of parts, optional
        Private. The true labels or targets. None where each part is a pair of rows and these.
    scoring : None, str or PrivateScorer, default=None
        The metric, by scikit-learn's name, or with public parameters; None is "accuracy". See
        `PrivateScorer`. A metric of regressors without `target_range` has that of the estimator.
    groups : array-like of shape (n_samples,), or the name of a column of parts, optional
        Private. The group of each row, such as the person that it belongs to: texts or integers. The
        guarantee then protects all rows of a group together, of which one takes part, chosen by public
        chance; the set of groups is public.
    epsilon : float, default=1.0
        Privacy budget of the release; positive. A float stands for its shortest decimal: 0.1 is 1/10.
    delta : float, default=0
        Probability with which the guarantee may fail, in [0, 1). A positive delta is spent only on Gaussian
        noise in a table of many cells, where it is smaller.
    beta : float, default=0.05
        Allowed probability of failure of each interval, in (0, 1).
    ledger : PrivacyLedger, optional
        The ledger that the release is charged to, before any draw.
    random_state : None, int or numpy random generator, default=None
        None: the operating system's entropy. Any other value makes the release reproducible, for tests only;
        the guarantee states this.

    Returns
    -------
    PrivateScore
        The noisy score, its guarantee, and intervals that include the noise.

    Raises
    ------
    TypeError, ValueError
        If the estimator is not fitted, a method of it has been replaced (by autologging, for example), or it
        cannot predict the records, or a label is not among the public ones; nothing is spent.
    BudgetExceededError
        If the guarantee does not fit the ledger's remaining budget; nothing is spent.

    Notes
    -----
    **Privacy.** (epsilon, delta) for one replaced record; delta is 0 unless the noise is Gaussian. A metric
    is a function of a noisy table of counts or sums, and of nothing else that is private. A replaced record
    moves the number of errors by at most 1; a confusion matrix and a table of binned scores by 1 in each of
    two cells; a sum by at most its greatest term. The noise is discrete Laplace for the sum of these.

    **Accuracy.** The noise moves an accuracy by more than about ln(1 / beta) / (epsilon n_samples) with
    probability beta, and other scores as `records_interval` shows. A ratio of counts depends on the number of
    records in its denominator, not on n_samples.

    **Source.** Dwork, McSherry, Nissim and Smith (2006) for the noise; Clopper and Pearson (1934), and
    Hoeffding (1963), for the sampling error of the records.

    Examples
    --------
    `random_state` makes this example repeatable; leave it out on private data.

    >>> import numpy as np
    >>> from sklearn.dummy import DummyClassifier
    >>> from dplearn.model_selection import private_score
    >>> X, y = np.zeros((1000, 1)), np.arange(1000) % 4 == 0
    >>> model = DummyClassifier(strategy="constant", constant=False).fit(X[:4], y[:4])
    >>> score = private_score(model, X, y, epsilon=1.0, random_state=0)
    >>> score.value, score.interval[0] < 0.75 < score.interval[1]
    (0.75, True)
    >>> score = private_score(model, X, y, scoring="balanced_accuracy", random_state=0)
    >>> score.confusion_matrix.tolist(), score.value, round(score.also("recall").value, 2)
    ([[750, -1], [248, -7]], 0.5, 0.0)
    """
    scorer = _with_target_range(PrivateScorer.of(scoring), estimator)
    most = ApproxDP(
        check_number("epsilon", epsilon, above=0),
        check_number("delta", delta, low=0, below=1),
        reproducible=random_state is not None,
    )
    beta = check_number("beta", beta, above=0, below=1)
    _check_predicts(estimator, regression=scorer.regression)
    labels = () if scorer.any_labels else public_labels(scorer, estimator)
    measure = measure_of(scorer, labels, estimator)
    statistic = measure.statistic
    noise = statistic.noise(most)
    of_model = _OF_REGRESSORS if scorer.regression else _ASSUMES
    cost = replace(noise.privacy, assumes=(*of_model, *statistic.assumes))
    dice = dice_for(random_state, _Score.name, str(cost.epsilon))
    recipe = _Score(estimator, statistic, noise, cost, random_state)
    done = execute(recipe, X, y, groups=groups, ledger=ledger, dice=dice)
    return _scored(measure, done.released, beta, done.plan.guarantee, scorer, labels)


@dataclass(repr=False, eq=False)
class _Score(Recipe):
    """The recipe of `private_score`: noise for the table of a metric; predictions fail before the charge."""

    name = "private_score"
    estimator: Any
    statistic: Statistic
    noise: TableNoise
    cost: ApproxDP
    random_state: Any = None

    def uses(self, name: str) -> bool:
        fitted = name in getattr(self.estimator, "feature_names_in_", ())
        return fitted and is_used(name, schemas_of(self.estimator))

    def in_memory(self, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
        rows, labels = _each_by_itself(X), label_cells(y, any_cells=True)
        if (n := count_of(rows)) != len(labels):
            raise ValueError(f"X and y must have equal numbers of records, got {n} and {len(labels)}")
        return rows, labels

    def read(self, X: Any, y: NDArray[Any]) -> tuple[Facts, "_Counted"]:
        n = count_of(X)
        if not n:
            raise ValueError("X must hold at least one record")
        expected, columns = getattr(self.estimator, "n_features_in_", None), getattr(X, "shape", (n,))[1:]
        if expected is not None and columns and columns[0] != expected:
            raise ValueError(
                f"X must have the {expected} columns that the classifier was fitted on, got {columns[0]}"
            )
        return Facts(n), _Counted(self.statistic.of(self.estimator, X, y), n)

    def from_parts(self, table: Table) -> tuple[Facts, Table]:
        found = [part for part in table.read(self._count, categories=True)[0] if part is not None]
        n = sum(map(len, found))
        return Facts(n), Table(InMemory(_Counted(np.sum([part.counts for part in found], axis=0), n)))

    def _count(self, X: Any, y: Any) -> tuple["_Counted", "_Counted"]:
        """Count a part; its table is all that is kept of it."""
        counted = self.read(*self.in_memory(X, y))[1]
        return counted, counted

    def plan(self, facts: Facts) -> ReleasePlan:
        return ReleasePlan(self.cost, facts.n_samples)

    def run(self, table: Table, plan: ReleasePlan, dice: Dice) -> NoisyTable:
        [counts] = table.sums(lambda counted: [counted.counts])
        return noisy_table(counts, plan.n_samples, self.statistic, self.noise, dice)


@dataclass(frozen=True, repr=False, eq=False)
class _Counted:
    """Private. The table of a metric, of some records, and their number."""

    counts: NDArray[np.int64]
    n: int

    def __len__(self) -> int:
        return self.n


def _with_target_range(scorer: PrivateScorer, estimator: Any) -> PrivateScorer:
    """Return a scorer of regressors with the public target range of the estimator, if it has none itself."""
    if not scorer.regression or scorer.target_range is not None:
        return scorer
    estimator = getattr(estimator, "best_estimator_", estimator)  # of a search
    last = last_step(estimator)  # whose range may have been learned, and released
    return replace(scorer, target_range=getattr(last, "target_range_", getattr(last, "target_range", None)))


def public_labels(scorer: PrivateScorer, estimator: Any) -> tuple[Any, ...]:
    """Return all labels, sorted: those of the scorer, else those of the estimator, if it has any."""
    known = getattr(estimator, "classes_", None)
    if isinstance(known, list) and known and np.ndim(known[0]):
        raise TypeError(
            f"estimator must predict one label for each record, got {type(estimator).__name__}, which"
            " predicts several"
        )
    if scorer.labels is None:
        return () if known is None else tuple(check_classes(list(known)).tolist())
    try:
        labels: tuple[Any, ...] = tuple(check_classes(scorer.labels).tolist())
    except ValueError as error:
        raise ValueError(str(error).replace("classes must", "labels must")) from None
    if known is not None and not set(np.asarray(known).tolist()) <= set(labels):
        raise ValueError(
            f"labels must contain all labels that the estimator knows, {np.asarray(known).tolist()}, got"
            f" {list(labels)}"
        )
    return labels


def _check_predicts(estimator: Any, *, regression: bool) -> None:
    """Raise an error unless the estimator is fitted and predicts each record by itself."""
    if not hasattr(estimator, "predict"):
        raise TypeError(f"estimator must have a method predict, got {type(estimator).__name__}")
    tagged = hasattr(estimator, "__sklearn_tags__")
    if tagged and is_regressor(estimator) and not regression:
        raise TypeError(
            f"estimator must be a classifier, got the regressor {type(estimator).__name__}: the score is one"
            " of labels; for a regressor pass scoring='r2' or 'neg_mean_absolute_error', with bounds on"
            " the target if the regressor has none: PrivateScorer('r2', target_range=(low, high))"
        )
    if regression and tagged and is_classifier(estimator):
        raise TypeError(
            f"estimator must be a regressor for this scoring, got the classifier {type(estimator).__name__}"
        )
    if answers_from_a_budget(estimator):
        raise TypeError(
            f"estimator must predict without noise, got {type(estimator).__name__}, whose predictions spend a"
            " budget: its answer for one record depends on other records"
        )
    check_own_code("estimator", estimator)
    if isinstance(estimator, BaseEstimator):
        check_is_fitted(estimator)


def _each_by_itself(X: Any) -> Any:
    """Return a list of rows as an array of objects, as a common type would depend on all."""
    if hasattr(X, "shape") or all(isinstance(each, str) for each in X):
        return X
    return cells_of(X)


@ignores_float_errors
def _scored(
    measure: Measure,
    table: NoisyTable,
    beta: Fraction,
    guarantee: ApproxDP,
    scorer: PrivateScorer,
    labels: tuple[Any, ...],
) -> PrivateScore:
    """Return the score and its intervals, functions of the released table."""
    return PrivateScore(
        measure.value(table),
        measure.bounds(table, beta, False),
        measure.bounds(table, beta, True),
        table.n,
        float(beta),
        guarantee,
        scorer,
        labels,
        table,
    )
