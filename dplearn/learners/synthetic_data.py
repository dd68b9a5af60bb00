"""Any classifier or regressor, trained on synthetic records that are released for one price."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import MetaEstimatorMixin, is_classifier, is_regressor
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from dplearn._documented import documented_by
from dplearn._validation import AUTO, check_count_or_auto
from dplearn._writing import brief
from dplearn.chance import PublicStream
from dplearn.chance.dice import Dice
from dplearn.domains import Categories, Dates, Domain, Floats, Grid, Product
from dplearn.domains.cells import frame_column, is_frame
from dplearn.estimator import PrivateClassifier, PrivateRegressor
from dplearn.estimator.base import PrivateEstimator, available_where
from dplearn.estimator.base_models import dry_run
from dplearn.estimator.on_released import TrainedOnReleased, check_not_private, offers, trained
from dplearn.estimator.recipe import FitFacts, FitRecipe, planned_columns, planned_table
from dplearn.estimator.schema_learning import learns_schema
from dplearn.fit import TABLE
from dplearn.learners.bins import declared_columns
from dplearn.privacy import PrivacyLedger
from dplearn.privacy.shares import CONCENTRATED
from dplearn.releases.release import checked_cost
from dplearn.releases.synthetic_table import MOST_EPSILON, SyntheticTable, TableChoices
from dplearn.releases.table_columns import (
    MOST_BINS,
    TableColumn,
    cells_in,
    table_column,
    table_columns,
    values_of,
)
from dplearn.releases.table_network import (
    SyntheticTablePlan,
    TableModel,
    checked_layout,
    released_tables,
    synthetic_table_plan,
)
from dplearn.releases.table_types import TableTypes, as_table
from dplearn.table import Columns, LabelledRows, Table
from dplearn.table.features import as_product, read_features
from dplearn.table.targets import (
    STEPS,
    TargetRange,
    check_known_labels,
    labels_assumed,
    read_target,
)

Arrays = Sequence[NDArray[Any]]

_NUMBERS = Floats(smallest=2.0**-64, largest=2.0**64)  # the assumed domain of each undeclared column
_BLOCK = 1 << 14  # records at once
_FEWEST, _MOST = 1000, 200_000  # synthetic records, unless n_rows says how many
_EACH = 5  # the fewest synthetic records of a label, so that it can be learned and stratified
_TARGET = "target"


class _SyntheticData(TrainedOnReleased, MetaEstimatorMixin, PrivateEstimator):
    """What classifiers and regressors share.

    Parameters
    ----------
    epsilon : float, default=1.0
        Privacy budget of one fit, from 1e-9 to 1e9. A float stands for its shortest decimal: 0.1 is 1/10.
    delta
        ... 0: Laplace noise, and pure differential privacy, with less accurate tables.
    domain : Domain, sequence of Domain, Product, Schema, "learn", Learn or None, default="learn"
        ... None: finite numbers, in bins between powers of two.

    Attributes
    ----------
    fills_gaps_ : bool
        Public. Whether missing values are filled for the estimator: with a value of the most frequent
        bin, or the most frequent category, of the synthetic records.
    domain_, schema_, guarantee_, feature_importances_, n_features_in_, feature_names_in_
    """

    synthetic_: SyntheticTable
    domain_: Product

    reads_parts = True
    _kept = "the synthetic records", "synthetic_.sample(m)"
    _reach: int | None = None  # of noisy counts beyond 0..n; audits use a smaller one

    def _values(self, reproducible: bool) -> dict[str, Any]:
        """Return the checked parameters that classifiers and regressors share."""
        return {
            "cost": checked_cost(self.epsilon, self.delta, high=MOST_EPSILON, reproducible=reproducible),
            "choices": TableChoices.of(self),
            "n_rows": check_count_or_auto("n_rows", self.n_rows),
            "reach": self._reach,
        }

    def _publish_table(self, tables: TableModel, plan: SyntheticTablePlan) -> None:
        """Set the attributes that classifiers and regressors share, except for the estimator."""
        self.domain_, self.fills_gaps_ = plan.domain, plan.fills_gaps
        kept = replace(plan, public=None)  # a stream of public choices is not saved
        self.synthetic_ = SyntheticTable.of(tables, kept, types=self._types, n_bins=self.n_bins)

    @property
    def _types(self) -> TableTypes:
        return _types(getattr(self, "feature_names_in_", None))

    @property
    def _read_types(self) -> TableTypes:
        return _types(getattr(self, "feature_names_in_", None), self._features)

    @property
    def _features(self) -> tuple[TableColumn, ...]:
        return self.synthetic_.columns_[:-1]

    def _drawn(
        self, tables: TableModel, plan: SyntheticTablePlan, least: int = 0
    ) -> tuple[Any, NDArray[np.int16], NDArray[Any], int]:
        """Return synthetic rows, cells (each `least` times) and values of their target, and a seed."""
        stream = plan.public.stream
        columns = tables.layout.columns
        cells = tables.draw(plan.n_rows, stream)
        if least:
            counts = np.bincount(cells[:, -1], minlength=columns[-1].size)
            rare = np.repeat(np.arange(len(counts)), (least - counts).clip(0))
            cells = np.concatenate([cells, tables.draw(len(rare), stream, target=rare)])
        *values, target = values_of(columns, cells, stream)
        rows = as_table(columns[:-1], self._without_gaps(values), self._read_types)
        return rows, cells[:, -1], target, stream.seeds(1)[0]

    def _rows(self, X: Any) -> Any:
        """Return new records as the estimator was given synthetic ones, with values nearest to theirs."""
        check_is_fitted(self)
        X = read_features(self, X, domain=self.domain_, reset=False)
        codes = self.domain_.nearest(X)
        values = [column.decoded(each) for column, each in zip(self._features, codes, strict=True)]
        return as_table(self._features, self._without_gaps(values), self._read_types)

    def _without_gaps(self, values: Arrays) -> Arrays:
        """Return the values of columns as the estimator is given them: filled if it takes no gaps."""
        shares = list(self.synthetic_.marginals_.values())[:-1]
        return _filled(self._features, shares, values) if self.fills_gaps_ else values

    def _declared(self) -> Any:
        return declared_columns(self.domain, _NUMBERS)


class SyntheticFit(FitRecipe):
    """What the fits of classifiers and of regressors share."""

    accounting = CONCENTRATED

    def try_out(self, plan: Any, table: Table) -> Any:  # noqa: ARG002
        # With a learned schema it has been tried before the charge.
        fills = self.must_fill_gaps(plan) if self.tried is None else self.tried.fills_gaps
        return replace(plan, fills_gaps=fills)

    def must_fill_gaps(self, plan: Any) -> bool:
        """Return whether the estimator takes made-up records only if gaps are filled; one that takes neither
        is refused.
        """
        estimator, (*columns, target) = self.estimator, plan.layout.columns
        if estimator is None or target.size == 1:
            return False
        stream = PublicStream(0, "made-up records")
        values: Arrays = [each.values(stream.labels(each.size, _FEWEST), stream) for each in columns]
        labels = np.array(target.values(np.arange(_FEWEST) % target.size, stream).tolist())
        for fills in (False, True):
            values = _filled(columns, [column.gaps for column in columns], values) if fills else values
            rows = as_table(columns, values, _types(plan.public.names, columns))
            if not (error := dry_run(estimator, rows, labels, stream, most=_FEWEST)):
                return fills
        raise ValueError(
            f"estimator failed on made-up rows with the types of the columns: {error}; encode texts before"
            " it, as in make_pipeline(make_column_transformer((OneHotEncoder("
            "handle_unknown='ignore'), [...]), remainder='passthrough'), estimator)"
        )

    def plan_with(
        self, facts: FitFacts, target: Callable[[str], TableColumn], assumed: str
    ) -> SyntheticTablePlan:
        domain = as_product(self.declared, facts.n_features, facts.names)
        choices = self.choices
        columns = (*table_columns(domain, choices.n_bins), target(_free_name(domain.names)))
        layout = checked_layout(columns, len(domain), choices.degree, choices.max_cells)
        guarantee = replace(self.cost, assumes=(*TABLE, *domain.assumes, assumed))
        table = synthetic_table_plan(guarantee, facts.n_samples, layout, reach=self.reach)
        rows = self.n_rows or min(max(facts.n_samples, _FEWEST), _MOST)
        return replace(table, title="SyntheticDataPlan", domain=domain, public=facts, n_rows=rows)

    def summarize(self, rows: Any, plan: SyntheticTablePlan) -> NDArray[np.int16]:
        # One replaced record replaces one row of cells.
        return _labelled_cells(plan.layout.columns, rows)

    def run(self, summary: Any, plan: SyntheticTablePlan, dice: Dice) -> TableModel:
        return released_tables(summary, plan, dice)

    def late_warnings(self, learner: Any, plan: SyntheticTablePlan) -> tuple[str, ...]:  # noqa: ARG002
        if learner.estimator_error_ is not None:
            return (learner._failure(),)
        shares = learner.synthetic_.marginals_
        gaps = [each.name for each in learner._features if shares[each.name][each.gaps].any()]
        text = (
            f"estimator accepts no missing values: those of {brief(gaps)} in synthetic and new records are"
            " replaced by a value of the most frequent cell; put an imputer before it to choose another"
        )
        return (text,) if gaps and learner.fills_gaps_ else ()


def _types(names: Any, columns: Sequence[TableColumn] = ()) -> TableTypes:
    """Return the kind of a table, by the names of its columns, and of these the types that are not free:
    estimators take dates as numbers of steps.
    """
    types = tuple("float64" if isinstance(each.domain, Dates) else "" for each in columns)
    return TableTypes("array" if names is None else "pandas", types)


@learns_schema()
@documented_by(_SyntheticData)
@dataclass(eq=False, repr=False)
class SyntheticDataClassifier(PrivateClassifier, _SyntheticData):
    """Any classifier, trained on synthetic records from a private table.

    Drop-in: any number of predictions costs no privacy. A fit releases noisy tables of the label and each
    column, chooses further tables, and trains the classifier on records drawn from these, as may others.

    Parameters
    ----------
    estimator : classifier, optional
        The classifier, cloned; not a private one. It is given a data frame of pandas if `X` has names, else
        an array, with the values of the domain: numbers, those of steps since 1970 for dates, categories,
        None or NaN for missing values, and for hashed values the numbers of their buckets. None: gradient
        boosting, `HistGradientBoostingClassifier`, with codes of categories.
    degree : int, default=2
        The most columns that a column depends on, at least 1, the label included. With 1, all depend on the
        label alone. A greater one than 2 is lowered as for `SyntheticTable`.
    n_bins : int, default=16
        The most bins of a column of integers or of a grid, from 2 to 16,384; `Floats` have bins between
        powers of two, whatever it is.
    n_rows : int or "auto", default="auto"
        Number of synthetic records for training. "auto": the number of records, at least 1,000 and at most
        200,000. A label with fewer than 5 of these gets more, up to 5.

    Attributes
    ----------
    estimator_ : classifier or None
        Released. The fitted classifier; None if it could not be fitted to the synthetic records.
    estimator_error_ : str or None
        Released. Why it could not be fitted, in which case a fit warns, and keeps the synthetic records.
    synthetic_ : SyntheticTable
        Released. The fitted table; its last column, "target", has the labels.
    classes_

    See Also
    --------
    dplearn.releases.SyntheticTable : The synthetic records alone, also without a label.
    AdditiveClassifier : One label and an additive model: more accurate on most tables.

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record. Proof: `released_tables`; the
    classifier is trained on records that are drawn from released tables by public chance.

    **Accuracy.** None is promised: the plan states the errors of measured tables, and a classifier may depend
    on others.

    **Source.** As for `SyntheticTable`; Bun, Nissim and Stemmer (2016), Section 3.1, for learners on
    sanitised data.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from dplearn import SyntheticDataClassifier
    >>> from dplearn.domains import Categories, IntegerRange, Schema
    >>> rng = np.random.default_rng(0)
    >>> X = pd.DataFrame({"age": rng.integers(18, 90, 5000), "town": rng.choice(["north", "south"], 5000)})
    >>> y = np.where(X.age < 65, "works", "retired")
    >>> schema = Schema({"age": IntegerRange(18, 90), "town": Categories(["north", "south"])})
    >>> learner = SyntheticDataClassifier(domain=schema, classes=["retired", "works"], random_state=0)
    >>> learner.fit(X, y).score(X, y) > 0.95
    True
    """

    estimator: Any = None
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float = 1e-6
    domain: Any = "learn"
    degree: int = 2
    n_bins: int = 16
    max_cells: int = 20_000
    n_rows: Any = AUTO
    classes: Sequence[Any] | None = None
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    classes_: NDArray[Any] = field(init=False)

    def plan(
        self, n_samples: int, *, n_features: int | None = None, n_labels: int | None = None
    ) -> SyntheticTablePlan:
        """Return the plan of a fit: its guarantee, noise and the expected errors of tables, without data."""
        fit = self._recipe(self.random_state is not None)
        public = planned_table(fit, n_samples, n_features=n_features, n_labels=n_labels)
        return fit.planned(public)

    def _recipe(self, reproducible: bool) -> "SyntheticClassifierFit":
        if self.estimator is not None:
            check_not_private(self.estimator, is_classifier, "classifier")
        return SyntheticClassifierFit(self, **self._values(reproducible), estimator=self.estimator)

    def _publish(self, outcome: TableModel, plan: SyntheticTablePlan) -> None:
        self._publish_table(outcome, plan)
        self.classes_ = plan.public.classes
        rows, cells, _, seed = self._drawn(outcome, plan, least=_EACH)
        own = _boosted(self._features, HistGradientBoostingClassifier())
        given = DummyClassifier() if len(self.classes_) == 1 else self.estimator
        labels = self.classes_[cells]
        self.estimator_, self.estimator_error_ = trained(own if given is None else given, rows, labels, seed)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict labels; costs no privacy.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
            As for `fit`; a value outside the domain is replaced by the nearest one, an unknown category by
            None.
        """
        return self._trained().predict(self._rows(X))

    @available_where(offers("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probabilities of the fitted classifier; costs no privacy."""
        return self._trained().predict_proba(self._rows(X))

    @available_where(offers("decision_function"))
    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return the margins of the fitted classifier; costs no privacy."""
        return self._trained().decision_function(self._rows(X))


class SyntheticClassifierFit(SyntheticFit):
    """The fit of `SyntheticDataClassifier`."""

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        facts, rows = super().encoded(X, y, reader)
        check_known_labels(facts.classes)
        return facts, rows

    def plan(self, facts: FitFacts) -> SyntheticTablePlan:
        labels = range(facts.n_labels) if facts.classes is None else facts.classes.tolist()
        domain = Categories(list(labels))
        return self.plan_with(
            facts,
            lambda name: table_column(name, domain, MOST_BINS),
            labels_assumed(self.classes),
        )


@learns_schema()
@documented_by(_SyntheticData)
@dataclass(eq=False, repr=False)
class SyntheticDataRegressor(PrivateRegressor, _SyntheticData):
    """Any regressor, trained on synthetic records from a private table.

    Drop-in: any number of predictions costs no privacy. A fit releases noisy tables of the target's bin and
    each column, chooses further tables, and trains the regressor on records drawn from these.

    Parameters
    ----------
    estimator : regressor, optional
        The regressor, cloned; not a private one. Its rows are as for `SyntheticDataClassifier`. None:
        gradient boosting, `HistGradientBoostingRegressor`, with codes of categories.
    degree : int, default=2
        The most columns that a column depends on, at least 1, the target included. With 1, all depend on the
        target alone. A greater one than 2 is lowered as for `SyntheticTable`.
    n_bins : int, default=8
        The most bins of a column of integers or of a grid, and of the target; from 2 to 16,384.
    n_rows : int or "auto", default="auto"
        Number of synthetic records for training. "auto": the number of records, at least 1,000 and at most
        200,000.

    Attributes
    ----------
    estimator_ : regressor or None
        Released. The fitted regressor; None if it could not be fitted to the synthetic records.
    estimator_error_ : str or None
        Released. Why it could not be fitted, in which case a fit warns, and keeps the synthetic records.
    synthetic_ : SyntheticTable
        Released. The fitted table; its last column, "target", has the targets.
    target_range_

    Notes
    -----
    **Privacy.** (epsilon, delta)-differential privacy for one replaced record. Proof: `released_tables`; the
    regressor is trained on records that are drawn from released tables by public chance.

    **Accuracy.** None is promised: the plan states the errors of measured tables. Targets are uniform within
    a bin of the declared range: a narrow range is better.

    **Source.** As for `SyntheticDataClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from dplearn import SyntheticDataRegressor
    >>> from dplearn.domains import IntegerRange
    >>> generator = np.random.default_rng(0)
    >>> ages = generator.integers(18, 90, (5000, 1))
    >>> wages = 1000 + 50 * ages[:, 0] + generator.normal(0, 100, 5000)
    >>> domain = IntegerRange(18, 89)
    >>> learner = SyntheticDataRegressor(domain=domain, target_range=(0, 6000), random_state=0)
    >>> learner.fit(ages, wages).score(ages, wages) > 0.8
    True
    """

    estimator: Any = None
    _: KW_ONLY
    epsilon: float = 1.0
    delta: float = 1e-6
    domain: Any = "learn"
    degree: int = 2
    n_bins: int = 8
    max_cells: int = 20_000
    n_rows: Any = AUTO
    target_range: Any = "learn"
    clip_target: bool = False
    ledger: PrivacyLedger | None = None
    random_state: Any = None

    def plan(self, n_samples: int, *, n_features: int | None = None) -> SyntheticTablePlan:
        """Return the plan of a fit: its guarantee, noise and the expected errors of tables, without data."""
        fit = self._recipe(self.random_state is not None)
        return fit.planned(planned_columns(fit, n_samples, n_features=n_features))

    def _recipe(self, reproducible: bool) -> "SyntheticRegressorFit":
        if self.estimator is not None:
            check_not_private(self.estimator, is_regressor, "regressor")
        target = TargetRange.of(self.target_range, clip=self.clip_target)
        return SyntheticRegressorFit(
            self, **self._values(reproducible), target=target, estimator=self.estimator
        )

    def _publish(self, outcome: TableModel, plan: SyntheticTablePlan) -> None:
        self._publish_table(outcome, plan)
        domain: Any = plan.layout.columns[-1].domain
        self.target_range_ = (domain.low, domain.high)
        rows, _, targets, seed = self._drawn(outcome, plan)
        own = _boosted(self._features, HistGradientBoostingRegressor())
        given = own if self.estimator is None else self.estimator
        self.estimator_, self.estimator_error_ = trained(given, rows, targets, seed)

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict targets, clipped to the declared range; costs no privacy."""
        found = self._trained().predict(self._rows(X))
        return np.asarray(found, dtype=np.float64).clip(*self.target_range_)


class SyntheticRegressorFit(SyntheticFit):
    """The fit of `SyntheticDataRegressor`."""

    def encoded(self, X: Any, y: Any, reader: Any) -> tuple[Any, Any]:
        facts, columns = self.read_columns(X, reader)
        codes = read_target(y, len(columns), self.target) + STEPS
        return facts, LabelledRows(columns, codes)

    def plan(self, facts: FitFacts) -> SyntheticTablePlan:
        target = self.target
        domain = Grid(target.low, target.high, 2 * STEPS + 1)
        return self.plan_with(
            facts, partial(_even_column, domain=domain, n_bins=self.choices.n_bins), target.assumption
        )


def _even_column(name: str, domain: Domain, n_bins: int) -> TableColumn:
    """Return the column of a target, with bins of equal width."""
    starts = [domain.size * place // n_bins for place in range(n_bins)]
    return TableColumn(name, domain, np.array(starts, dtype=np.uint64))


def _boosted(features: Sequence[TableColumn], boosting: Any) -> Any:
    """Return gradient boosting for the columns of a domain: categories as codes, the others as numbers."""
    return make_pipeline(FunctionTransformer(partial(_numbers_of, features)), boosting)


def _numbers_of(features: Sequence[TableColumn], rows: Any) -> NDArray[np.float64]:
    """Return the numbers of columns, and codes of categories, which may be of several types."""
    numbers = np.empty((len(rows), len(features)))
    for place, column in enumerate(features):
        values = frame_column(rows, place) if is_frame(rows) else rows[:, place]
        listed = isinstance(column.domain, Categories)
        numbers[:, place] = column.domain.nearest(values) if listed else values
    return numbers


def _filled(columns: Sequence[TableColumn], shares: Arrays, values: Arrays) -> Arrays:
    """Return values of columns with one of the most frequent cell in place of gaps."""
    found = [each.copy() for each in values]
    for column, share, each in zip(columns, shares, found, strict=True):
        gaps = [cell is None or cell != cell for cell in each.tolist()]
        most = np.array([np.where(column.gaps, -1, share).argmax()])
        each[gaps] = "missing" if column.gaps.all() else column.values(most, PublicStream(0, "gaps"))
    return found


def _labelled_cells(columns: Sequence[TableColumn], rows: LabelledRows) -> NDArray[np.int16]:
    """Return the cells of encoded records, of shape (n, d + 1), the target's last."""
    cells = np.empty((len(rows), len(columns)), dtype=np.int16, order="F")
    for here, block in rows.X.blocks(_BLOCK):
        cells[here, :-1] = cells_in(columns[:-1], Columns(block))
    cells[:, -1] = columns[-1].of(rows.y.astype(np.uint64))
    return cells


def _free_name(names: Sequence[str]) -> str:
    """Return a name for the target that no column has."""
    name = _TARGET
    while name in names:
        name += "_"
    return name
