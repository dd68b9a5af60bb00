"""Searches by each metric, of classifiers and of regressors: what they select, publish, plan and refuse."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import get_scorer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from dplearn import (
    AdditiveRegressor,
    ExponentialMechanismClassifier,
    LinearRegressor,
    PrivacyLedger,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
)
from dplearn.display import privacy_card
from dplearn.domains import DomainError, Grid, IntegerRange
from dplearn.model_selection import PrivateScorer, PrivateSearchCV
from dplearn.model_selection.metrics import METRICS
from dplearn.preprocessing import PrivateMinMaxClipper

pytestmark = pytest.mark.filterwarnings("ignore:.*(noise|spread of the residuals)")

X = np.arange(4000)[:, None] % 100
RARE = (X[:, 0] > 89).astype(int)
BAYES = StatisticalQueryNaiveBayes(domain=IntegerRange(0, 99), classes=[0, 1])
#: Of two candidates, the first predicts the rare label hardly ever, and the second half of the time.
GRID = {"priors": [[0.9999, 0.0001], [0.9, 0.1]]}


def search(estimator=BAYES, grid=GRID, **parameters):
    return PrivateSearchCV(estimator, grid, **{"random_state": 0, "epsilon": 20.0, "delta": 0} | parameters)


@pytest.mark.parametrize("method", ["noisy_scores", "random_stopping"])
def test_a_metric_selects_what_accuracy_would_not(method):
    grid = {"priors": [[0.9999, 0.0001], [0.2, 0.8]]}
    bayes = clone(BAYES).set_params(domain=Grid(0, 99, 5, outside="clip"))
    y = (X[:, 0] + 17 * (np.arange(4000) // 100) % 60 > 140).astype(int)
    by = {
        name: [
            search(bayes, grid, scoring=name, method=method, epsilon=60.0, random_state=seed)
            .fit(X, y)
            .best_index_
            for seed in range(4)
        ]
        for name in ("accuracy", "recall")
    }
    assert by["recall"].count(1) >= 3
    assert by["accuracy"].count(0) >= 3


def test_permute_and_flip_is_for_metrics_that_one_record_changes_little():
    for name in ("accuracy", "f1_micro", "recall_weighted", "neg_log_loss"):
        assert search(scoring=name, method="auto").plan(1000).method == "permute_and_flip"
    assert search(scoring="neg_log_loss", method="permute_and_flip").fit(X, RARE).best_score_ <= 0
    assert search(scoring="f1", method="auto").plan(1000).method == "noisy_scores"
    grid = {"n_bins": list(range(2, 12))}
    assert search(grid=grid, scoring="f1", method="auto").plan(1000).method == "random_stopping"


def test_noisy_scores_of_many_gaussian_candidates_use_delta_where_no_record_trains_and_tests():
    grid = {"n_bins": list(range(2, 32))}
    wanted = {"grid": grid, "scoring": "balanced_accuracy", "method": "noisy_scores", "epsilon": 4.0}
    apart = search(**wanted, delta=1e-6).plan(5000, n_features=1)
    assert apart.scoring.delta == apart.guarantee.delta / 2
    assert search(**wanted, delta=1e-6, cv=3).plan(5000).scoring.delta == 0
    found = search(**wanted, delta=1e-6, refit=False).fit(X, RARE)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
    assert found.budgets_["scoring"].delta == Fraction("1e-6")
    pure = search(**wanted, delta=0).plan(5000)
    assert apart.score_error < pure.score_error


def test_candidates_without_probabilities_are_refused_for_metrics_of_scores():
    class Silent(ExponentialMechanismClassifier):
        predict_proba = property()

    silent = Silent(domain=IntegerRange(0, 99), classes=[0, 1])
    with pytest.raises(TypeError, match="needs an estimator with a method predict_proba"):
        search(silent, {"method": ["exponential"]}, scoring="roc_auc").fit(X, RARE)


# Regressors

SIZES = (np.arange(3000) * 37 % 100 / 100)[:, None]
PRICES = 10 * SIZES[:, 0] + np.arange(3000) % 3
UNIT = Grid(0, 1, outside="clip")
LINEAR = LinearRegressor(domain=UNIT, target_range=(0, 12), delta=0)
#: The second candidate cannot tell most rows apart.
RANGES = {"domain": [UNIT, Grid(0, 0.05, outside="clip")]}


def of_regressors(estimator=LINEAR, grid=RANGES, **parameters):
    return PrivateSearchCV(estimator, grid, **{"random_state": 0, "epsilon": 60.0} | parameters)


def test_a_search_of_regressors_is_a_regressor_and_one_of_classifiers_is_a_classifier():
    fitted = of_regressors().fit(SIZES, PRICES)
    assert is_regressor(fitted)
    assert not is_classifier(fitted)
    assert fitted.score(SIZES, PRICES) == fitted.best_estimator_.score(SIZES, PRICES) > 0.8
    assert not hasattr(fitted, "predict_proba")
    assert (pickle.loads(pickle.dumps(fitted)).predict(SIZES) == fitted.predict(SIZES)).all()
    assert clone(fitted.best_estimator_).get_params()["target_range"] == (0, 12)
    assert is_classifier(search())
    assert not is_regressor(search())
    assert (cross_val_score(of_regressors(), SIZES, PRICES, cv=2) > 0.5).all()


def test_a_target_range_of_the_metric_is_where_errors_are_counted():
    grid = {"target_range": [(0, 12), (-1000, 1000)]}
    with pytest.raises(ValueError, match=r"all candidates the same target_range.*PrivateScorer\('r2', t"):
        of_regressors(grid=grid).plan(3000)
    scorer = PrivateScorer("neg_mean_absolute_error", target_range=(0, 12))
    found = of_regressors(grid=grid, scoring=scorer, epsilon=8.0).fit(SIZES, PRICES)
    assert found.best_params_["target_range"] == (0, 12)
    assert "targets are numbers from 0.0 to 12.0" in found.guarantee_.assumes
    assert sum("targets and predictions outside it" in text for text in found.guarantee_.assumes) == 1


def test_targets_beyond_the_range_of_a_learner_are_refused_before_the_charge_unless_it_clips():
    far, ledger = np.where(np.arange(3000) == 17, 1e6, PRICES), PrivacyLedger(100)
    with pytest.raises(DomainError, match=r"outside target_range=\(0.0, 12.0\)"):
        of_regressors(ledger=ledger, random_state=None).fit(SIZES, far)
    assert ledger.history() == []
    clipping = clone(LINEAR).set_params(clip_target=True)
    assert of_regressors(clipping).fit(SIZES, far).best_score_ > 0.7


def test_small_units_of_the_target_do_not_change_the_selection():
    small = clone(LINEAR).set_params(target_range=(0, 12e-9))
    grid = {"domain": RANGES["domain"][::-1]}  # equal scores would select the first
    given = {"scoring": "neg_mean_squared_error", "method": "noisy_scores"}
    assert of_regressors(small, grid, **given).fit(SIZES, PRICES * 1e-9).best_index_ == 1


@pytest.mark.parametrize("method", ["permute_and_flip", "noisy_scores", "random_stopping"])
@pytest.mark.parametrize("name", METRICS)
def test_each_metric_costs_what_the_search_was_given_and_publishes_what_it_says(name, method):
    metric, ledger = METRICS[name], PrivacyLedger(60, allow_reproducible=True)
    method = "noisy_scores" if method == "permute_and_flip" and not metric.falls else method
    make, rows, y = (of_regressors, SIZES, PRICES) if metric.regression else (search, X, RARE)
    how = {"method": method, "ledger": ledger, "n_iter": 8 if method == "random_stopping" else None}
    found = make(scoring=PrivateScorer(name, bins=8), epsilon=60.0, **how).fit(rows, y)
    assert found.guarantee_.epsilon == ledger.spent().epsilon == 60
    shown, ranks = found.cv_results_["mean_test_score"], found.cv_results_["rank_test_score"]
    assert shown[found.best_index_] == found.best_score_ == np.nanmax(shown)
    assert np.isfinite(shown).sum() == (2 if method == "noisy_scores" else 1)
    assert ranks[found.best_index_] == 1
    assert hasattr(found, "classes_") != metric.regression
    if metric.regression:
        assert found.best_index_ == 0 or method == "random_stopping"  # which may not have tried it
        # The released score is near scikit-learn's of the selected model.
        assert abs(found.best_score_ - get_scorer(name)(found.best_estimator_, rows, y)) < 0.1


def test_labels_that_are_found_are_labels_of_the_metric():
    model = StatisticalQueryLogisticRegression(domain=IntegerRange(0, 99), n_steps=2)
    unplanned = search(model, {}, scoring="f1_macro", delta=1e-6)
    assert np.isnan(unplanned.plan(4000).score_error)
    found = unplanned.fit(X, np.where(RARE, "yes", "no"), groups=np.arange(4000) // 2)
    assert 0 <= found.best_score_ <= 1
    assert found.guarantee_.protects == "groups"


def test_folds_pipelines_and_learned_schemas_of_regressors():
    rows, y = SIZES[:800], PRICES[:800]
    steps = make_pipeline(PrivateMinMaxClipper(domain=UNIT), LinearRegressor(target_range=(0, 12), delta=0))
    shares = of_regressors(steps, {"privateminmaxclipper__epsilon": [0.5, 1]}, cv=2).fit(rows, y)
    assert is_regressor(shares)
    assert shares.best_score_ > 0.5
    frame = pd.DataFrame({"size": rows[:, 0], "kind": np.where(rows[:, 0] > 0.5, "b", "a")})
    additive = AdditiveRegressor(target_range=(0, 12), interactions=False)
    learned = of_regressors(additive, {"clip_target": [False, True]}, delta=1e-6).fit(frame, pd.Series(y))
    assert learned.schema_ is not None
    assert learned.score(frame, y) > 0.5
    assert "r2" in str(privacy_card(learned))
