"""Searches over regressors: what they select, publish, cost and refuse, by each metric and method."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import get_scorer
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

from dplearn import AdditiveRegressor, LinearRegressor, PrivacyLedger, StatisticalQueryNaiveBayes
from dplearn.audit.cases.search import OneNumber
from dplearn.display import privacy_card
from dplearn.domains import DomainError, Grid, IntegerRange
from dplearn.learners.synthetic_data import SyntheticDataRegressor
from dplearn.model_selection import (
    PrivateScorer,
    PrivateSearchCV,
    PrivateTunedThresholdClassifier,
    private_score,
)
from dplearn.model_selection.metrics import METRICS
from dplearn.preprocessing import PrivateMinMaxClipper

pytestmark = pytest.mark.filterwarnings("ignore:.*(noise|spread of the residuals)")

X = (np.arange(3000) * 37 % 100 / 100)[:, None]
Y = 10 * X[:, 0] + np.arange(3000) % 3
UNIT = Grid(0, 1, outside="clip")
LINEAR = LinearRegressor(domain=UNIT, target_range=(0, 12), delta=0)
#: The second candidate cannot tell most rows apart.
GRID = {"domain": [UNIT, Grid(0, 0.05, outside="clip")]}
OF_REGRESSORS = sorted(name for name, metric in METRICS.items() if metric.regression)


def search(estimator=LINEAR, grid=GRID, **parameters):
    return PrivateSearchCV(estimator, grid, **{"random_state": 0, "epsilon": 60.0} | parameters)


@pytest.mark.parametrize("name", OF_REGRESSORS)
@pytest.mark.parametrize("method", ["permute_and_flip", "noisy_scores", "random_stopping"])
def test_each_metric_selects_the_better_candidate_and_costs_what_it_was_given(name, method):
    ledger = PrivacyLedger(60, allow_reproducible=True)
    found = search(scoring=name, method=method, ledger=ledger, n_iter=8).fit(X, Y)
    assert found.best_index_ == 0
    assert found.guarantee_.epsilon == ledger.spent().epsilon == 60
    shown = found.cv_results_["mean_test_score"]
    assert shown[found.best_index_] == found.best_score_
    assert np.isfinite(shown).sum() == (2 if method == "noisy_scores" else 1)
    assert found.cv_results_["rank_test_score"].tolist() == [1, 2]
    # The released score is near scikit-learn's of the selected model.
    true = get_scorer(name)(found.best_estimator_, X, Y)
    assert abs(found.best_score_ - true) < 0.1
    assert not hasattr(found, "classes_")


def test_a_search_of_regressors_is_a_regressor_and_one_of_classifiers_is_a_classifier():
    fitted = search().fit(X, Y)
    assert is_regressor(fitted)
    assert not is_classifier(fitted)
    assert fitted.score(X, Y) == fitted.best_estimator_.score(X, Y) > 0.8
    assert fitted.score(X, Y, sample_weight=np.ones(3000)) == pytest.approx(fitted.score(X, Y))
    assert not hasattr(fitted, "predict_proba")
    assert (pickle.loads(pickle.dumps(fitted)).predict(X) == fitted.predict(X)).all()
    assert clone(fitted.best_estimator_).get_params()["target_range"] == (0, 12)
    of_labels = PrivateSearchCV(StatisticalQueryNaiveBayes(domain=IntegerRange(0, 9)), {})
    assert is_classifier(of_labels)
    assert not is_regressor(of_labels)
    assert (cross_val_score(search(), X, Y, cv=2) > 0.5).all()


def test_by_default_r2_is_maximised_and_auto_needs_no_table_of_each_candidate():
    plan = search().plan(3000)
    assert (plan.method, plan.params.scorer.name) == ("permute_and_flip", "r2")
    assert plan.params.scorer.target_range == (0, 12)
    assert 0 < plan.score_error < 0.05
    many = search(grid={"domain": [UNIT] * 8}).plan(3000)
    assert many.method == "random_stopping"


def test_a_target_range_of_the_metric_is_where_errors_are_counted():
    grid = {"target_range": [(0, 12), (-1000, 1000)]}
    with pytest.raises(ValueError, match=r"all candidates the same target_range.*PrivateScorer\('r2', t"):
        search(grid=grid).plan(3000)
    scorer = PrivateScorer("neg_mean_absolute_error", target_range=(0, 12))
    found = search(grid=grid, scoring=scorer, epsilon=8.0).fit(X, Y)
    assert found.best_params_["target_range"] == (0, 12)
    assert "targets are numbers from 0.0 to 12.0" in found.guarantee_.assumes
    assert sum("targets and predictions outside it" in text for text in found.guarantee_.assumes) == 1


def test_targets_beyond_the_range_of_a_learner_are_refused_before_the_charge_unless_it_clips():
    far, ledger = np.where(np.arange(3000) == 17, 1e6, Y), PrivacyLedger(100)
    with pytest.raises(DomainError, match=r"outside target_range=\(0.0, 12.0\)"):
        search(ledger=ledger, random_state=None).fit(X, far)
    assert ledger.history() == []
    clipping = clone(LINEAR).set_params(clip_target=True)
    assert search(clipping).fit(X, far).best_score_ > 0.7
    for bad in (np.where(np.arange(3000) == 17, np.nan, Y), np.array(["a"] * 3000)):
        with pytest.raises(DomainError, match="y"):
            search(ledger=ledger, random_state=None).fit(X, bad)
    assert ledger.history() == []


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"scoring": "accuracy"}, ValueError, "metric of regressors.*choose one of 'r2', 'neg_mean_abs"),
        ({"scoring": "f1"}, ValueError, "metric of regressors, which the search compares, got 'f1'"),
        (
            {"estimator": StatisticalQueryNaiveBayes(domain=UNIT), "grid": {}, "scoring": "r2"},
            ValueError,
            "metric of classifiers, which the search compares, got 'r2'; choose one of 'accuracy', ",
        ),
        ({"estimator": LinearRegressor(), "grid": {}}, ValueError, "target_range must be a pair"),
        ({"scoring": PrivateScorer("r2", target_range=(1, 1))}, ValueError, "low < high"),
        ({"estimator": search()}, TypeError, "must have parameters epsilon and target_range"),
        ({"estimator": PrivateMinMaxClipper()}, TypeError, "a private classifier or regressor of dplearn"),
        ({"scoring": "max_error"}, ValueError, "scoring must be None, a PrivateScorer or one of accuracy"),
    ],
    ids=range(8),
)
def test_what_does_not_fit_is_refused_before_the_charge(parameters, error, message):
    ledger = PrivacyLedger(1000)
    with pytest.raises(error, match=message):
        search(**parameters, ledger=ledger, random_state=None).fit(X, Y)
    assert ledger.history() == []
    with pytest.raises(error, match=message):
        search(**parameters).plan(3000)


def test_a_threshold_is_tuned_for_classifiers_only():
    with pytest.raises(TypeError, match=r"a private classifier of dplearn .*got LinearRegressor"):
        PrivateTunedThresholdClassifier(LINEAR).fit(X, Y > 5)


def test_groups_folds_pipelines_frames_and_learned_schemas():
    persons = search(scoring="neg_mean_absolute_error").fit(X, Y, groups=np.arange(3000) // 2)
    assert persons.guarantee_.protects == "groups"
    assert search(cv=3, refit=False).fit(X, Y).best_score_ > 0.5
    steps = make_pipeline(PrivateMinMaxClipper(domain=UNIT), LinearRegressor(target_range=(0, 12), delta=0))
    shares = search(steps, {"privateminmaxclipper__epsilon": [0.5, 1]}).fit(X, Y)
    assert is_regressor(shares)
    assert shares.best_score_ > 0.5
    rows = pd.DataFrame({"size": X[:, 0], "kind": np.where(X[:, 0] > 0.5, "b", "a")})
    additive = AdditiveRegressor(target_range=(0, 12))
    learned = search(additive, {"interactions": [False, True]}, delta=1e-6).fit(rows, pd.Series(Y))
    assert learned.schema_ is not None
    assert learned.score(rows, Y) > 0.5
    assert "r2" in str(privacy_card(persons)) or "neg_mean_absolute_error" in str(privacy_card(persons))
    score = private_score(learned, rows, Y, scoring=PrivateScorer("r2", target_range=(0, 12)), random_state=0)
    assert score.interval[0] < score.value < score.interval[1]


def test_gaussian_regressors_are_accounted_for_together():
    model = clone(LINEAR).set_params(delta=1e-6, domain=[UNIT] * 30)
    wide = np.repeat(X, 30, axis=1)
    grid = {"domain": [[UNIT] * 30, [Grid(0, 0.5, outside="clip")] * 30]}
    found = search(model, grid, epsilon=2.0)
    assert found.plan(3000, n_features=30).gaussian
    assert found.fit(wide, Y).budgets_["fit"] == found.plan(3000, n_features=30).fit


def test_one_constant_target_leaves_r2_undefined_and_the_search_still_selects():
    found = search(epsilon=1.0).fit(X[:5], np.zeros(5))
    assert found.best_index_ in (0, 1)
    assert found.predict(X).shape == (3000,)
    with np.errstate(all="raise"):
        search(method="noisy_scores", epsilon=1.0).fit(X[:2], np.zeros(2))


def test_small_units_of_the_target_do_not_change_the_selection():
    small = clone(LINEAR).set_params(target_range=(0, 12e-9))
    grid = {"domain": GRID["domain"][::-1]}  # equal scores would select the first
    given = {"scoring": "neg_mean_squared_error", "method": "noisy_scores"}
    assert search(small, grid, **given).fit(X, Y * 1e-9).best_index_ == 1


def test_synthetic_rows_and_the_learner_of_the_audit_are_searched_too():
    tiny = search(OneNumber(target_range=(0, 12)), {"place": [0, -1]}).fit(X, Y)
    assert set(tiny.predict(X)) <= {0.0, 12.0}
    rows = SyntheticDataRegressor(domain=Grid(0, 1, 8), target_range=(0, 12), delta=0)
    assert search(rows, {"n_bins": [2, 8]}).fit(X, Y).score(X, Y) > 0
