"""The table of all learners and what scikit-learn's users put around them, measured by `test_clients`.

`python -W ignore -m tests.laws.clients [part of a name]` measures again, and writes `clients.json` and the
table docs/tables/clients.csv. A cell is "yes", "refused" (an error before the client charges anything), "no"
(an error after that), or "-" (for models of the other kind).
"""

import json
import pickle
import sys
import tempfile
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import sklearn
from sklearn.base import clone, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor
from sklearn.ensemble import (
    RandomForestClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE, SelectFromModel, SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    GroupKFold,
    HalvingGridSearchCV,
    KFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
    validation_curve,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier, MultiOutputRegressor, RegressorChain
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder
from sklearn.utils import shuffle

from dplearn import PrivacyLedger, PublicData, SecretSampleClassifier, StatisticalQueryNaiveBayes
from dplearn.learners import KnowledgeTransferClassifier
from tests.laws.conftest import STAND_FOR_ALL, iris_for, protects_labels

KEPT = Path(__file__).with_name("clients.json")
TABLE = Path(__file__).parents[2] / "docs" / "tables" / "clients.csv"
FOLDS = KFold(3)
NAMES = list("abcd")
SAMPLED = SecretSampleClassifier(StatisticalQueryNaiveBayes(epsilon=1.0), sample_size=20)
#: One setting of each learner, by the name of its class.
LEARNERS = {
    "LineClassifier" if type(each).__name__ == "LineOfAnyTable" else type(each).__name__: each
    for each in (*STAND_FOR_ALL, SAMPLED)
    if not hasattr(each, "transform")
}
# A model in a learner has importances, as where scikit-learn's selectors are given the model itself.
for name, model in (
    ("KnowledgeTransferClassifier", {"student": LogisticRegression()}),
    ("PrivateLabelsClassifier", {"estimator": RandomForestClassifier(20)}),
    ("SoftLabelTransferClassifier", {"student": LogisticRegression()}),
    ("SyntheticDataClassifier", {"estimator": LogisticRegression()}),
):
    LEARNERS[name] = clone(LEARNERS[name]).set_params(**model)


def alike(learner):
    """A copy with the same ledger."""
    return clone(learner).set_params(ledger=learner.ledger)


def epsilon_of(learner):
    return "estimator__epsilon" if isinstance(learner, SecretSampleClassifier) else "epsilon"


def grid_of(learner):
    name = epsilon_of(learner)
    return {name: [learner.get_params()[name]]}


def twice(y):
    return np.column_stack([y, np.roll(y, 1)])


def pair(learner, classifier, regressor):
    return regressor if is_regressor(learner) else classifier


def search(learner, X, y):
    found = GridSearchCV(learner, grid_of(learner), cv=FOLDS, error_score="raise").fit(X, y)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
    return found.predict(X)


def stacking(learner, X, y):
    final = Ridge() if is_regressor(learner) else LogisticRegression()
    kind = pair(learner, StackingClassifier, StackingRegressor)
    return kind([("a", learner)], final, cv=FOLDS).fit(X, y).predict(X)


def set_output(learner, X, y):
    frame = pd.DataFrame(X, columns=NAMES)
    same = ColumnTransformer(
        [("same", FunctionTransformer(feature_names_out="one-to-one"), ["a", "b"])], remainder="passthrough"
    )
    model = make_pipeline(same, learner).set_output(transform="pandas").fit(frame, y)
    assert list(model[-1].feature_names_in_) == ["same__a", "same__b", "remainder__c", "remainder__d"]
    return model.predict(frame)


def metadata(learner, X, y):
    """Route groups to a fit and to folds in a search over a pipeline; to students, public rows."""
    given, folds = {"groups": np.arange(len(X)) // 2}, GroupKFold(3)
    if isinstance(learner, KnowledgeTransferClassifier):
        learner = alike(learner)
        given, folds = {"X_public": PublicData(X)}, FOLDS
    names = {f"{type(learner).__name__.lower()}__{name}": value for name, value in grid_of(learner).items()}
    with sklearn.config_context(enable_metadata_routing=True):
        model = GridSearchCV(make_pipeline(learner), names, cv=folds, error_score="raise")
        return model.fit(X, y, **given).predict(X)


def threshold_tuning(learner, X, y):
    try:
        return TunedThresholdClassifierCV(learner, cv=FOLDS, thresholds=5).fit(X, y > 0).predict(X)
    except ValueError as error:
        if "constant predictions" not in str(error):  # scikit-learn tunes none of them
            raise


def one_hot(learner, X, y):
    rows = OneHotEncoder(categories=[range(10)]).fit_transform(X[:, :1].round())
    return learner.fit(rows, y).predict(rows)


def joblib_caching(learner, X, y):
    """A cache takes no fit for another one, which would show that they are alike."""
    with tempfile.TemporaryDirectory() as folder:
        fit = joblib.Memory(folder, verbose=0).cache(lambda model: (model.fit(X, y).predict(X), 0)[1])
        assert [fit(alike(learner)), fit(alike(learner))] == [0, 0]
    assert learner.ledger is None or len(learner.ledger.history()) == 2


def threads(learner, X, y):
    with joblib.parallel_config(backend="threading", n_jobs=2):
        return cross_val_score(learner, X, y, cv=FOLDS, error_score="raise")


#: From the name of a client to a function of a learner and a table; the page shows those before "kept back".
CLIENTS = {
    "Pipeline": lambda each, X, y: make_pipeline(FunctionTransformer(), each).fit(X, y).predict(X),
    "GridSearchCV": search,
    "cross_val_score": lambda each, X, y: cross_val_score(each, X, y, cv=FOLDS, error_score="raise"),
    "calibration": lambda each, X, y: CalibratedClassifierCV(FrozenEstimator(each)).fit(X, y),
    "voting": lambda each, X, y: (
        pair(each, VotingClassifier, VotingRegressor)([("a", each), ("b", alike(each))]).fit(X, y).predict(X)
    ),
    "stacking": stacking,
    "RFE": lambda each, X, y: RFE(each, n_features_to_select=2).fit(X, y).predict(X),
    "one-vs-rest": lambda each, X, y: OneVsRestClassifier(each).fit(X, y).predict(X),
    "multi-output": lambda each, X, y: (
        pair(each, MultiOutputClassifier, MultiOutputRegressor)(each).fit(X, twice(y)).predict(X)
    ),
    "partial_fit": lambda each, X, y: each.partial_fit(X, y, classes=np.unique(y)).predict(X),
    "set_output": set_output,
    "metadata": metadata,
    # kept back
    "SelectFromModel": lambda each, X, y: SelectFromModel(each).fit(X, y).transform(X),
    "permutation importance": lambda each, X, y: permutation_importance(each, X, y, n_repeats=1),
    "partial dependence": lambda each, X, y: partial_dependence(each, X, [0], grid_resolution=5),
    "fixed threshold": lambda each, X, y: (
        FixedThresholdClassifier(each, threshold=0.3).fit(X, y > 0).predict(X)
    ),
    "threshold tuning": threshold_tuning,
    "TransformedTargetRegressor": lambda each, X, y: (
        TransformedTargetRegressor(each, func=np.log1p, inverse_func=np.expm1).fit(X, y).predict(X)
    ),
    "sparse one-hot": one_hot,
    "sample_weight=None": lambda each, X, y: each.fit(X, y, sample_weight=None).predict(X),
    "threads": threads,
    "joblib caching": joblib_caching,
    "clone(safe=False)": lambda each, X, y: clone(each, safe=False).fit(X, y).predict(X),
    "pickle": lambda each, X, y: pickle.loads(pickle.dumps(each)).predict(X),
    "learning curve": lambda each, X, y: learning_curve(
        each, X, y, cv=FOLDS, train_sizes=[0.5, 1.0], error_score="raise"
    ),
    "validation curve": lambda each, X, y: validation_curve(
        each, X, y, param_name=epsilon_of(each), param_range=[1e3], cv=FOLDS, error_score="raise"
    ),
    "cross_val_predict": lambda each, X, y: cross_val_predict(each, X, y, cv=FOLDS),
    "roc_auc": lambda each, X, y: cross_val_score(
        each, X, y > 0, cv=FOLDS, scoring="roc_auc", error_score="raise"
    ),
    "log loss": lambda each, X, y: cross_val_score(
        each, X, y > 0, cv=FOLDS, scoring="neg_log_loss", error_score="raise"
    ),
    "sequential selection": lambda each, X, y: (
        SequentialFeatureSelector(each, n_features_to_select=2, cv=FOLDS).fit(X, y).transform(X)
    ),
    "one-vs-one": lambda each, X, y: OneVsOneClassifier(each).fit(X, y).predict(X),
    "output codes": lambda each, X, y: OutputCodeClassifier(each, random_state=0).fit(X, y).predict(X),
    "chain": lambda each, X, y: pair(each, ClassifierChain, RegressorChain)(each).fit(X, twice(y)).predict(X),
    "halving": lambda each, X, y: HalvingGridSearchCV(
        each, grid_of(each), cv=FOLDS, error_score="raise", min_resources=60
    ).fit(X, y),
    "nested search": lambda each, X, y: cross_val_score(
        GridSearchCV(each, grid_of(each), cv=FOLDS, error_score="raise"), X, y, cv=2, error_score="raise"
    ),
}
ON_PAGE = list(CLIENTS)[: list(CLIENTS).index("SelectFromModel")]
OF_CLASSIFIERS = (
    *("calibration", "one-vs-rest", "fixed threshold", "threshold tuning", "roc_auc", "log loss"),
    *("one-vs-one", "output codes"),
)
OF_REGRESSORS = ("TransformedTargetRegressor",)
OF_FITTED = ("calibration", "permutation importance", "partial dependence", "pickle")


def measured(name, client):
    """Return the cell of a learner and a client, and the error."""
    learner = LEARNERS[name]
    if client in (OF_CLASSIFIERS if is_regressor(learner) else OF_REGRESSORS):
        return "-", None
    X, y = shuffle(*iris_for(learner), random_state=0)
    ledger = PrivacyLedger(1e15, 0.5, protects="labels" if protects_labels(learner) else "examples")
    learner = clone(learner).set_params(ledger=ledger)
    if client in OF_FITTED:
        learner.fit(X, y)
    spent = len(ledger.history())
    try:
        CLIENTS[client](learner, X, y)
    except AssertionError:
        raise
    except BaseException as error:  # what a ledger raises is no Exception
        return ("refused" if len(ledger.history()) == spent else "no"), error
    return "yes", None


def written(cells):
    """Return the text of the table."""
    head = ["learner", *ON_PAGE]
    rows = [[f"`{name}`", *(of_learner[client] for client in ON_PAGE)] for name, of_learner in cells.items()]
    return "".join(",".join(row) + "\n" for row in (head, *rows))


if __name__ == "__main__":
    known = json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.exists() else {}
    for name in sorted(LEARNERS):
        if all(part in name for part in sys.argv[1:]):
            known[name] = {}
            for client in CLIENTS:
                known[name][client], error = measured(name, client)
                if error is not None:
                    print(name, client, known[name][client], repr(error)[:200], flush=True)
    known = {name: known[name] for name in sorted(LEARNERS)}
    KEPT.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    TABLE.write_text(written(known), encoding="utf-8")
