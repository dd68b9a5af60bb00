"""The table of scikit-learn's meta-estimators of docs/scikit_learn.md: each row is measured here.

Each meta-estimator is fitted with learners that note the table that each of their fits is given, and whose
own release is the same for all tables. It is fitted on a table and on neighbours of that table.

* The privacy cost is how many rows are changed in all fits together: each costs the learner's epsilon once.
* A fit whose number of rows differs between neighbours shows a private number: learners take it as public.
* Since the learners release nothing, whatever differs in the fitted meta-estimator is published unprotected.
"""

import csv
import pickle
import re
from collections import Counter
from dataclasses import dataclass
from inspect import signature
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv, enable_iterative_imputer  # noqa: F401
from sklearn.feature_selection import RFE, RFECV, SelectFromModel, SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    KFold,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.utils import all_estimators

import dplearn.learners
import dplearn.preprocessing
from dplearn.audit import freeze
from dplearn.estimator import refuse_parameters

PAGE = Path(__file__).parents[2] / "docs" / "scikit_learn.md"
N, CLASSES = 30, 3
#: The tables that fits were given, each as a list of rows with their labels; and whether seeds were set.
FITS: list[tuple[list[bytes], bool]] = []


class Recorder(ClassifierMixin, TransformerMixin, BaseEstimator):
    """Notes what its fits are given, and releases nothing of it."""

    def __init__(self, C=1.0, random_state=None):
        self.C = C
        self.random_state = random_state

    def fit(self, X, y=None, **fit_parameters):
        refuse_parameters(self, fit_parameters)
        X = np.asarray(X, dtype=float)
        labels = np.zeros(len(X)) if y is None else np.asarray(y, dtype=float)
        FITS.append(([row.tobytes() for row in np.column_stack([X, labels])], self.random_state is not None))
        self.classes_ = np.unique(labels).astype(int)
        self.coef_ = np.arange(1.0, X.shape[1] + 1)[None]
        return self

    def predict_proba(self, X):
        powers = 1 + np.arange(np.shape(X)[1])
        scores = np.sin(
            self.C * np.asarray(X, dtype=float) @ np.outer(powers, 1 + np.arange(len(self.classes_)))
        )
        return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)

    def predict(self, X):
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def transform(self, X):
        return X


def table(task):
    """Return the table of a task: rows in no order, and labels of which each occurs often."""
    places = np.arange(N)
    X = np.cos(np.outer(places + 1.0, [1.0, 1.0, 5.0]))
    if task == "outputs":
        return X, np.column_stack([places % 2, places // 2 % 2])
    if task == "two":
        return X, places % 2
    return X, np.where(places % 5 == 0, -1, places % 3) if task == "unlabelled" else places % CLASSES


def neighbours(task):
    """Yield tables that differ from a task's in the features and the label of one row."""
    X, y = table(task)
    labels = np.unique(y, axis=0) if y.ndim > 1 else np.unique(y)
    for row in range(0, N, 7):
        for label in labels:
            if (label != y[row]).any():
                features, other = X.copy(), y.copy()
                features[row], other[row] = [0.3, -0.5, -0.9], label
                yield features, other


@dataclass(frozen=True)
class Measured:
    """What came of fitting on a table and on its neighbours."""

    cost: int
    verdict: str


def measure(make, task="classes"):
    X, y = table(task)
    try:
        state, fits, seeded = run(make, X, y)
    except (TypeError, ValueError):
        return Measured(0, "refused")
    assert run(make, X, y)[:2] == (state, fits)  # nothing is left to chance
    cost, found = 0, {"seeds": seeded}
    for neighbour in neighbours(task):
        other_state, other_fits, _ = run(make, *neighbour)
        found["values"] = state != other_state
        found["sizes"] = list(map(len, fits)) != list(map(len, other_fits))
        changed = list(map(n_changed, fits, other_fits))
        found["other rows"] = max(changed, default=0) > 1
        if any(found.values()):
            break
        cost = max(cost, sum(changed))
    shown = sorted(name for name, holds in found.items() if holds)
    return Measured(cost, f"no: {', '.join(shown)}" if shown else "yes")


def run(make, X, y):
    """Return what is published, what fits were given, and whether any had a seed."""
    model = make()
    FITS.clear()
    try:
        model.fit(X, y)
    finally:
        given = list(FITS)
    results = getattr(model, "cv_results_", {})
    for published in (vars(model), results):  # times differ from fit to fit
        for name in [name for name in published if "time" in name]:
            del published[name]
    # A copy, since some arrays are views of memory that is no object of Python's.
    return (
        freeze(pickle.loads(pickle.dumps(vars(model)))),
        [rows for rows, _ in given],
        any(seeded for _, seeded in given),
    )


def n_changed(rows, others):
    """Return how many rows of a fit are replaced: their order is no matter of a learner's."""
    return (Counter(rows) - Counter(others)).total()


R = Recorder
TWO = [("a", R()), ("b", R())]
BY_POSITION = KFold(5)
GRID = {"C": [1.0, 3.0]}
HALVING = {"cv": KFold(2), "min_resources": 10, "factor": 2, "random_state": 0}
COLUMNS = [("a", R(), [0]), ("b", R(), [1, 2])]
FINAL = "StackingClassifier(final_estimator=..., cv=KFold(5))"
#: From the names of the page to what makes them, and perhaps the task that they are for.
CASES = {
    "Pipeline": (lambda: Pipeline(TWO),),
    "FeatureUnion": (lambda: FeatureUnion(TWO),),
    "ColumnTransformer": (lambda: ColumnTransformer(COLUMNS, sparse_threshold=0),),
    "FrozenEstimator": (lambda: FrozenEstimator(R().fit(*table("classes"))),),
    "FixedThresholdClassifier": (lambda: FixedThresholdClassifier(R()), "two"),
    "SelectFromModel": (lambda: SelectFromModel(R()),),
    "RFE": (lambda: RFE(R(), n_features_to_select=1),),
    "VotingClassifier": (lambda: VotingClassifier(TWO),),
    "OneVsRestClassifier": (lambda: OneVsRestClassifier(R()),),
    "OutputCodeClassifier": (lambda: OutputCodeClassifier(R(), code_size=2, random_state=0),),
    "MultiOutputClassifier": (lambda: MultiOutputClassifier(R()), "outputs"),
    "ClassifierChain": (lambda: ClassifierChain(R()), "outputs"),
    FINAL: (lambda: StackingClassifier(TWO, final_estimator=R(), cv=BY_POSITION),),
    "StackingClassifier(final_estimator=...)": (lambda: StackingClassifier(TWO, final_estimator=R()),),
    "StackingClassifier": (lambda: StackingClassifier(TWO, cv=BY_POSITION),),
    "BaggingClassifier": (lambda: BaggingClassifier(R(), random_state=0),),
    "BaggingClassifier(bootstrap=False)": (lambda: BaggingClassifier(R(), bootstrap=False, random_state=0),),
    "AdaBoostClassifier": (lambda: AdaBoostClassifier(R(), random_state=0),),
    "OneVsOneClassifier": (lambda: OneVsOneClassifier(R()),),
    "SelfTrainingClassifier": (
        lambda: SelfTrainingClassifier(R(), threshold=0.4, max_iter=2),
        "unlabelled",
    ),
    "CalibratedClassifierCV": (lambda: CalibratedClassifierCV(R(), cv=BY_POSITION), "two"),
    "TunedThresholdClassifierCV": (
        lambda: TunedThresholdClassifierCV(R(), cv=BY_POSITION, thresholds=5),
        "two",
    ),
    "RFECV": (lambda: RFECV(R(), cv=BY_POSITION),),
    "SequentialFeatureSelector": (
        lambda: SequentialFeatureSelector(R(), n_features_to_select=2, cv=BY_POSITION),
    ),
    "GridSearchCV": (lambda: GridSearchCV(R(), GRID, cv=BY_POSITION),),
    "RandomizedSearchCV": (lambda: RandomizedSearchCV(R(), GRID, n_iter=2, cv=BY_POSITION, random_state=0),),
    "HalvingGridSearchCV": (lambda: HalvingGridSearchCV(R(), GRID, **HALVING),),
    "HalvingRandomSearchCV": (lambda: HalvingRandomSearchCV(R(), GRID, n_candidates=2, **HALVING),),
}
#: For regressors, of which this package has none.
OF_REGRESSORS = (
    "AdaBoostRegressor",
    "BaggingRegressor",
    "IterativeImputer",
    "MultiOutputRegressor",
    "RANSACRegressor",
    "RegressorChain",
    "StackingRegressor",
    "TransformedTargetRegressor",
    "VotingRegressor",
)
TABLE = PAGE.parent / "tables" / "meta_estimators.csv"


@pytest.mark.nightly
def test_the_page_has_the_verdicts_and_costs_that_are_measured():
    page = PAGE.read_text()
    with TABLE.open(newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["meta-estimator", "private", "privacy cost", "measured", "note"]
    assert [name.strip("`") for name, *_ in rows] == [*CASES]
    for name, verdict, cost, measured, note in rows:
        found = measure(*CASES[name.strip("`")])
        assert verdict == found.verdict
        assert (cost != "-", measured) == ((True, str(found.cost)) if verdict == "yes" else (False, "-"))
        assert note or verdict == "yes"
    for name in OF_REGRESSORS:
        assert f"`{name}`" in page


def test_no_meta_estimator_of_scikit_learn_is_left_out():
    places = {"estimator", "estimators", "regressor", "steps", "transformers", "transformer_list"}
    every = {name for name, kind in all_estimators() if places & signature(kind).parameters.keys()}
    assert every == {re.match(r"\w+", name)[0] for name in CASES} | set(OF_REGRESSORS)


def test_the_page_names_the_regressors_with_which_these_are_not_tested():
    modules = (dplearn.learners, dplearn.preprocessing)
    kinds = [getattr(module, name) for module in modules for name in module.__all__]
    regressors = [kind.__name__ for kind in kinds if can_be_made(kind) and is_regressor(kind())]
    assert regressors
    assert all(f"`{name}`" in PAGE.read_text() for name in regressors)


def can_be_made(kind):
    return isinstance(kind, type) and all(
        each.default is not each.empty for each in signature(kind).parameters.values()
    )
