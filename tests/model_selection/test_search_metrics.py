"""Searches by metrics other than accuracy: what they select, publish, plan and refuse."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

from dplearn import (
    ExponentialMechanismClassifier,
    PrivacyLedger,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
)
from dplearn.domains import Grid, IntegerRange
from dplearn.model_selection import PrivateScorer, PrivateSearchCV
from dplearn.model_selection.metrics import METRICS

pytestmark = pytest.mark.filterwarnings("ignore:.*noise")

X = np.arange(4000)[:, None] % 100
RARE = (X[:, 0] > 89).astype(int)
BAYES = StatisticalQueryNaiveBayes(domain=IntegerRange(0, 99), classes=[0, 1])
#: Of two candidates, the first predicts the rare label hardly ever, and the second half of the time.
GRID = {"priors": [[0.9999, 0.0001], [0.9, 0.1]]}
OF_CLASSIFIERS = sorted(name for name, metric in METRICS.items() if not metric.regression)


def search(estimator=BAYES, grid=GRID, **parameters):
    return PrivateSearchCV(estimator, grid, **{"random_state": 0, "epsilon": 20.0, "delta": 0} | parameters)


@pytest.mark.parametrize("name", OF_CLASSIFIERS)
@pytest.mark.parametrize("method", ["noisy_scores", "random_stopping"])
def test_a_search_maximises_a_metric_and_costs_what_it_was_given(name, method):
    ledger = PrivacyLedger(20, allow_reproducible=True)
    found = search(scoring=PrivateScorer(name, bins=8), method=method, ledger=ledger).fit(X, RARE)
    assert found.guarantee_.epsilon == 20
    assert ledger.spent().epsilon == 20
    shown = found.cv_results_["mean_test_score"]
    assert shown[found.best_index_] == found.best_score_
    assert np.isfinite(shown).sum() == (2 if method == "noisy_scores" else 1)
    ranks = found.cv_results_["rank_test_score"].tolist()
    assert ranks[found.best_index_] == 1
    assert found.best_score_ == np.nanmax(shown)


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


def test_scores_of_all_candidates_are_ranked_as_in_scikit_learn():
    found = search(grid={"n_bins": [2, 3, 4, 8]}, method="noisy_scores").fit(X, RARE)
    scores, ranks = (found.cv_results_[name] for name in ("mean_test_score", "rank_test_score"))
    assert [1 + (scores > each).sum() for each in scores] == ranks.tolist() or len(set(scores)) < 4
    assert found.method_ == "noisy_scores"


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"scoring": "r2"}, "scoring must be a metric of classifiers"),
        ({"scoring": "f1", "method": "permute_and_flip"}, "needs a score that one record changes little"),
        ({"scoring": PrivateScorer("f1", labels=[0, 1])}, "labels=None in a search"),
        ({"scoring": PrivateScorer("f1", pos_label=7)}, "pos_label must be"),
        ({"scoring": "nothing"}, "scoring must be None, a PrivateScorer or one of accuracy"),
        ({"scoring": "roc_auc", "estimator": clone(BAYES).set_params(classes=[0, 1, 2])}, "roc_auc_ovr"),
    ],
    ids=range(6),
)
def test_what_does_not_fit_is_refused_before_the_charge(parameters, message):
    ledger = PrivacyLedger(1000)
    with pytest.raises((TypeError, ValueError), match=message):
        search(**parameters, ledger=ledger, random_state=None).fit(X, RARE)
    assert ledger.history() == []
    with pytest.raises((TypeError, ValueError), match=message):
        search(**parameters).plan(1000)


def test_candidates_without_probabilities_are_refused_for_metrics_of_scores():
    class Silent(ExponentialMechanismClassifier):
        predict_proba = property()

    silent = Silent(domain=IntegerRange(0, 99), classes=[0, 1])
    with pytest.raises(TypeError, match="needs an estimator with a method predict_proba"):
        search(silent, {"method": ["exponential"]}, scoring="roc_auc").fit(X, RARE)


def test_labels_that_are_found_are_labels_of_the_metric():
    model = StatisticalQueryLogisticRegression(domain=IntegerRange(0, 99))
    unplanned = search(model, {}, scoring="f1_macro", delta=1e-6)
    assert np.isnan(unplanned.plan(4000).score_error)
    assert 0 <= unplanned.fit(X, np.where(RARE, "yes", "no")).best_score_ <= 1
    with pytest.raises(ValueError, match="pos_label="):
        search(model, {}, scoring="f1", delta=1e-6).fit(X, np.where(RARE, "yes", "no"))


def test_with_groups_a_search_by_a_metric_protects_them():
    found = search(scoring="balanced_accuracy").fit(X, RARE, groups=np.arange(4000) // 2)
    assert found.guarantee_.protects == "groups"
