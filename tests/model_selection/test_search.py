"""Private search and tuned thresholds: what they release, charge and refuse; they find what is good."""

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn import metrics
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.metrics import balanced_accuracy_score, get_scorer, recall_score
from sklearn.model_selection import KFold, cross_val_score
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder, StandardScaler

from dplearn import (
    ExponentialMechanismClassifier,
    LinearRegressor,
    PointClassifier,
    PrivacyLedger,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    ThresholdClassifier,
)
from dplearn.display import privacy_card
from dplearn.domains import DomainError, Floats, Grid, IntegerRange
from dplearn.estimator import cost_of_fit
from dplearn.model_selection import (
    METRICS,
    PrivateScorer,
    PrivateSearchCV,
    PrivateTunedThresholdClassifier,
    splits_by_position,
)
from dplearn.preprocessing import PrivateMinMaxClipper, PrivateRobustScaler
from dplearn.privacy import pipeline_guarantee
from tests.audit.changed import with_recipe

pytestmark = pytest.mark.filterwarnings("ignore:.*(noise|spread of the residuals)")
X = np.arange(3000)[:, None] % 100
Y = (X[:, 0] > 40).astype(int)
STUMPS = ExponentialMechanismClassifier(domain=IntegerRange(0, 99), classes=[0, 1])
GRID = {"concept_class": ["stumps", "thresholds"], "method": ["exponential", "permute_and_flip"]}


def search(estimator=STUMPS, grid=GRID, **parameters):
    return PrivateSearchCV(estimator, grid, **{"random_state": 0} | parameters)


def interrupted(own):
    def run(fit, table, plan, dice):
        if len(table.y) >= Slow.least:
            raise KeyboardInterrupt("cell 123456")
        return own(fit, table, plan, dice)

    return run


#: A learner whose fit on all records is interrupted.
Slow = with_recipe(StatisticalQueryNaiveBayes, run=interrupted)
Slow.least = 3000


@pytest.mark.parametrize("method", ["permute_and_flip", "noisy_scores", "random_stopping"])
def test_an_interrupt_of_the_last_fit_leaves_the_choice_and_one_of_the_search_leaves_nothing(method):
    learner, grid = Slow(domain=IntegerRange(0, 99), classes=[0, 1]), {"n_bins": [4, 8]}
    ledger = PrivacyLedger(9, delta=1e-5)
    found = PrivateSearchCV(learner, grid, epsilon=4, method=method, ledger=ledger)
    with pytest.raises(
        KeyboardInterrupt, match="best_params_, best_score_ and cv_results_ are kept"
    ) as caught:
        found.fit(X, Y)
    assert "123456" not in str(caught.value)
    assert found.best_params_["n_bins"] in (4, 8)
    assert found.guarantee_.epsilon == 4
    assert np.isfinite(found.best_score_)
    with pytest.raises(AttributeError, match="and after an interrupt: fit one with best_params_"):
        found.predict(X)
    first = vars(found).copy()
    Slow.least = 0
    with pytest.raises(KeyboardInterrupt, match="PrivateSearchCV was interrupted after its charge"):
        found.fit(X, Y)
    Slow.least = 3000
    assert vars(found) == first  # what an earlier fit has released
    assert len(ledger.history()) == 2


@pytest.mark.parametrize("method", ["permute_and_flip", "random_stopping"])
@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("cv", [None, 3], ids=repr)
def test_a_search_releases_one_candidate_and_promises_what_it_was_given(method, refit, cv):
    fitted = search(epsilon=8.0, method=method, refit=refit, cv=cv).fit(X, Y)
    assert fitted.guarantee_.epsilon == 8
    assert fitted.best_params_ == fitted.cv_results_["params"][fitted.best_index_]
    assert fitted.cv_results_["rank_test_score"][fitted.best_index_] == 1
    shown = fitted.cv_results_["mean_test_score"]
    assert shown[fitted.best_index_] == fitted.best_score_
    assert np.isnan(np.delete(shown, fitted.best_index_)).all()
    if refit or cv is None:
        assert fitted.score(X, Y) > 0.9
        assert fitted.best_estimator_.guarantee_ == fitted.guarantee_
        assert clone(fitted.best_estimator_).get_params()["classes"] == [0, 1]
    else:
        assert not hasattr(fitted, "best_estimator_")
        with pytest.raises(AttributeError, match="best_estimator_ is absent"):
            fitted.predict(X)


@pytest.mark.filterwarnings("ignore::UserWarning")  # so few records for so many quantiles
def test_a_pipeline_of_private_steps_shares_the_budget():
    X, y = (each[:200] for each in load_breast_cancer(return_X_y=True))
    pipeline = make_pipeline(
        PrivateMinMaxClipper(domain=Grid(0, 5000, 5001, outside="clip")),
        Normalizer(),
        StatisticalQueryNaiveBayes(classes=[0, 1]),
    )
    how = {"epsilon": 8.0, "delta": 1e-6}
    fitted = search(pipeline, {"privateminmaxclipper__epsilon": [1.0, 3.0]}, **how).fit(X, y)
    share = fitted.best_params_["privateminmaxclipper__epsilon"]
    scaler, _, learner = (step for _, step in fitted.best_estimator_.steps)
    assert fitted.budgets_["refit"].epsilon == 4
    assert (scaler.epsilon, learner.epsilon) == (4 * share / (share + 1), 4 / (share + 1))
    assert learner.delta == fitted.budgets_["refit"].delta


def test_a_pipeline_that_was_chosen_promises_what_the_whole_search_cost_and_never_less():
    pipeline = make_pipeline(
        PrivateMinMaxClipper(domain=IntegerRange(0, 99)), ThresholdClassifier(classes=[0, 1])
    )
    grid = {"thresholdclassifier__feature": [0, None]}
    fitted = search(pipeline, grid, epsilon=80.0, refit=False).fit(X, Y)
    best = pickle.loads(pickle.dumps(fitted.best_estimator_))
    assert pipeline_guarantee(best) == fitted.guarantee_
    assert pipeline_guarantee(best[:1]).epsilon >= 80
    assert privacy_card(best).guarantee == fitted.guarantee_
    again = clone(best).set_params(thresholdclassifier__epsilon=1000.0).fit(X, Y)
    assert pipeline_guarantee(again).epsilon > 1000
    assert pipeline_guarantee(best.set_params(thresholdclassifier__epsilon=1000.0).fit(X, Y)).epsilon > 1000
    assert "values" in " ".join(fitted.guarantee_.assumes)


def test_a_step_that_was_said_to_learn_nothing_needs_no_second_word():
    declared = FunctionTransformer(np.abs)
    pipeline = Pipeline([("abs", declared), ("cut", clone(STUMPS))])
    fitted = search(pipeline, {}, stateless="abs").fit(X, Y)
    assert "step 'abs' learns nothing from the data" in fitted.guarantee_.assumes
    assert pipeline_guarantee(pickle.loads(pickle.dumps(fitted.best_estimator_))) == fitted.guarantee_


def test_a_step_that_works_in_place_changes_nothing_for_the_next_candidate():
    ledger, data = PrivacyLedger(epsilon=100), 1.0 + X
    pipeline = Pipeline(
        [("norm", "passthrough"), ("cut", ThresholdClassifier(domain=Grid(0, 2, 201), classes=[0, 1]))]
    )
    grid = {"norm": [Normalizer(copy=False), "passthrough"]}
    with pytest.raises(DomainError):  # the second candidate is given what lies outside its domain
        search(pipeline, grid, ledger=ledger, random_state=None).fit(data, Y)
    assert not ledger.history()


def test_an_error_of_a_step_carries_no_other_that_quotes_a_record():
    cells = X.astype(object)
    cells[3, 0] = "SECRET"
    pipeline = Pipeline([("float", FunctionTransformer(_as_floats)), ("cut", clone(STUMPS))])
    with pytest.raises(DomainError, match="FunctionTransformer does not transform") as caught:
        search(pipeline, {}, stateless=["float"]).fit(cells, Y)
    assert "SECRET" not in str(caught.value)
    assert caught.value.__context__ is None


def _as_floats(rows):
    return np.array(rows, dtype=float)


def test_what_later_steps_assume_is_listed_and_what_they_protect_is_checked():
    pipeline = make_pipeline(
        PrivateMinMaxClipper(domain=IntegerRange(0, 99)), clone(STUMPS).set_params(domain=None)
    )
    assumes = search(pipeline, {}, epsilon=80.0).fit(X, Y).guarantee_.assumes
    assert "step 'exponentialmechanismclassifier' takes whatever it is given" in assumes
    assert "in every column, values are integers from 0 to 99" in assumes
    assert len(assumes) == len(set(assumes)) == 7
    labels_only = make_pipeline(PrivateMinMaxClipper(), ExponentialMechanismClassifier(protects="labels"))
    with pytest.raises(ValueError, match="protect examples"):
        search(labels_only, {}).fit(X, Y)


def test_what_a_step_that_learns_nothing_says_of_records_is_not_heard():
    how = {"handle_unknown": "ignore", "drop": "first", "sparse_output": False}
    encoder = OneHotEncoder(categories=[list(range(100))], **how)
    words = make_pipeline(encoder, clone(STUMPS).set_params(domain=None))
    search(words, {}, stateless=["onehotencoder"]).fit(np.where(np.arange(3000)[:, None] == 5, 1000, X), Y)


def test_a_prediction_of_another_shape_is_refused_since_one_record_could_count_often():
    class Column(ThresholdClassifier):
        def predict(self, X):
            return super().predict(X)[:, None]

    class Wide(ThresholdClassifier):
        def predict(self, X):
            return np.zeros((len(X), 2))

    assert 0 <= search(Column(classes=[0, 1]), {}).fit(X, Y).best_score_ <= 1
    with pytest.raises(DomainError, match="one label each"):
        search(Wide(classes=[0, 1]), {}).fit(X, Y)


def test_warnings_do_not_tell_how_many_runs_there_were():
    learner, grid = ThresholdClassifier(classes=[0, 1]), {"feature": [0, None]}

    def said(seed):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            search(learner, grid, method="random_stopping", random_state=seed).fit(X[:40], Y[:40])
        return [str(warning.message) for warning in caught]

    found = [said(seed) for seed in range(4)]
    assert found[0]
    assert len(set(found[0])) == len(found[0])
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("method", ["permute_and_flip", "random_stopping"])
def test_the_planned_error_of_a_score_is_the_least_that_the_noise_keeps(method):
    plan = search(epsilon=0.1, method=method).plan(3000, beta=0.1)
    spent = plan.scoring.epsilon / 2 if method == "permute_and_flip" else plan.scoring.epsilon
    ratio = np.exp(-float(spent))  # of the discrete Laplace noise of the number of errors
    reached = next(t for t in range(10**6) if ratio**t / (1 + ratio) <= 0.05)
    assert plan.score_error == reached / 600  # of a fifth of the records


SMALL = IntegerRange(0, 9)
KINDS = {
    "gaussian": (StatisticalQueryNaiveBayes(domain=SMALL, classes=[0, 1]), 30, {"smoothing": [1, 2, 3, 4]}),
    "laplace": (StatisticalQueryNaiveBayes(domain=SMALL, classes=[0, 1]), 3, {"smoothing": [1, 2, 3, 4]}),
    "steps": (
        StatisticalQueryLogisticRegression(domain=SMALL, classes=[0, 1]),
        4,
        {"n_steps": [1, 2, 3, 4]},
    ),
    "stability": (PointClassifier(classes=[0, 1]), 3, {"beta": [0.01, 0.02, 0.03, 0.04]}),
    "pure": (ThresholdClassifier(domain=SMALL, classes=[0, 1]), 3, {"beta": [0.01, 0.02, 0.03, 0.04]}),
    "pipeline": (
        make_pipeline(PrivateRobustScaler(domain=SMALL), StatisticalQueryNaiveBayes(classes=[0, 1])),
        30,
        {"statisticalquerynaivebayes__smoothing": [1, 2, 3, 4]},
    ),
}


@pytest.mark.parametrize("method", ["permute_and_flip", "random_stopping"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("epsilon", "delta"), [(0.001, 1e-4), (0.1, 0.05), (1, 0.5), (0.1, 1e-6), (2, 1e-6), (2, 1e-14)]
)
@pytest.mark.filterwarnings("ignore::UserWarning")  # so few records for so little epsilon
def test_what_is_planned_is_fitted(kind, epsilon, delta, method):
    estimator, n_features, grid = KINDS[kind]
    X = np.random.default_rng(0).integers(0, 10, (200, n_features))
    ours = search(estimator, grid, epsilon=epsilon, delta=delta, method=method)
    plan = ours.plan(200, n_features=n_features, n_labels=2)
    ours.fit(X, (X[:, 0] > 4).astype(int))
    assert ours.budgets_ == {"fit": plan.fit, "scoring": plan.scoring, "refit": plan.refit}
    assert ours.method_ == plan.method == method
    if (epsilon, delta) == (2, 1e-6):
        assert plan.gaussian == (kind in ("gaussian", "steps"))


def test_a_kept_pipeline_that_was_changed_is_looked_at_anew():
    steps = [
        ("pre", "passthrough"),
        ("clip", PrivateMinMaxClipper(domain=IntegerRange(0, 99))),
        ("cut", ThresholdClassifier(classes=[0, 1])),
    ]
    one, two = (search(Pipeline(steps), {}, epsilon=80.0).fit(X[:900], Y[:900]) for _ in range(2))
    best = one.best_estimator_
    assert pipeline_guarantee(best) == one.guarantee_
    mixed = Pipeline([best.steps[1], two.best_estimator_.steps[2]])
    assert pipeline_guarantee(mixed).epsilon == 160  # of two searches
    for changes, message in (
        ({"pre": StandardScaler().fit(X)}, r"'pre' \(StandardScaler\) is fitted on the data"),
        ({"pre": "passthrough", "memory": "somewhere"}, "memory=None"),
    ):
        with pytest.raises(ValueError, match=message):
            pipeline_guarantee(best.set_params(**changes))
        assert privacy_card(best).guarantee is None
    best.set_params(memory=None, clip__epsilon=50.0, cut__epsilon=50.0).fit(X[:900], Y[:900])
    assert pipeline_guarantee(best).epsilon == privacy_card(best).guarantee.epsilon == 100


COARSE = [Grid(0, 99, 100), Grid(0, 99, 3, outside="clip"), Grid(60, 99, 2, outside="clip")]
TARGETS = X[:, 0] / 10 + np.arange(3000) % 3


@pytest.mark.parametrize("cv", [None, 3], ids=repr)
@pytest.mark.parametrize("method", ["permute_and_flip", "noisy_scores", "random_stopping"])
@pytest.mark.parametrize("name", ["accuracy", "balanced_accuracy", "neg_log_loss", "r2"])
def test_with_hardly_any_noise_the_choice_and_its_score_are_those_of_a_direct_computation(name, method, cv):
    """Each candidate is fitted and scored here, by scikit-learn, on the splits that are public."""
    if name == "r2":
        learner, y = LinearRegressor(delta=0, target_range=(0, 12)), TARGETS
    else:
        learner, y = StatisticalQueryNaiveBayes(classes=[0, 1], delta=0), (X[:, 0] > 40).astype(int)
        method = "noisy_scores" if (name, method) == ("balanced_accuracy", "permute_and_flip") else method
    splits, means = splits_by_position(cv and KFold(cv), 3000), []
    for domain in COARSE:
        alone = clone(learner).set_params(domain=domain, epsilon=1e9, random_state=0)
        scored = [get_scorer(name)(alone.fit(X[train], y[train]), X[test], y[test]) for train, test in splits]
        means.append(np.mean(scored))
    assert len(set(means)) == 3
    for order in ([0, 1, 2], [2, 0, 1]):
        grid = {"domain": [COARSE[place] for place in order]}
        how = {"scoring": name, "method": method, "cv": cv, "epsilon": 1e10, "refit": False}
        found = search(learner, grid, n_iter=60 if method == "random_stopping" else None, **how)
        found.fit(X, y)
        assert found.best_index_ == order.index(int(np.argmax(means)))
        assert found.best_score_ == pytest.approx(max(means), abs=0.01)
        shown = found.cv_results_["mean_test_score"]
        if method == "noisy_scores":
            assert shown == pytest.approx(np.array(means)[order], abs=0.01)
            ranks = [1 + sum(other > each for other in shown) for each in shown]
            assert found.cv_results_["rank_test_score"].tolist() == ranks


def test_labels_alone_are_promised_before_the_fit_too():
    learner = ExponentialMechanismClassifier(protects="labels", classes=[0, 1])
    ours = search(learner, {"concept_class": ["stumps", "thresholds"]}, epsilon=60.0, refit=False)
    assert ours.plan(300).guarantee.protects == cost_of_fit(ours, X[:300], Y[:300]).protects == "labels"
    assert ours.fit(X[:300], Y[:300]).guarantee_.protects == "labels"


def test_the_delta_is_that_of_the_candidates_unless_one_is_given():
    learner = StatisticalQueryLogisticRegression(domain=IntegerRange(0, 99), classes=[0, 1], n_steps=1)
    for given, spent in (("auto", Fraction("1e-6")), (0, 0), (1e-8, Fraction("1e-8"))):
        ours = search(learner, {}, epsilon=20.0, delta=given)
        assert ours.fit(X[:500], Y[:500]).guarantee_.delta == ours.plan(500).guarantee.delta == spent
    for given in ("auto", 1e-5):  # which no step can use
        assert search(delta=given).plan(3000).guarantee.delta == 0


def test_a_rare_label_is_known_to_all_candidates_and_refused_where_it_is_not_declared():
    rare = np.where(np.arange(3000) == 7, 2, Y)
    fitted = search(clone(STUMPS).set_params(classes=None), {"method": ["exponential"]}, epsilon=20.0)
    assert fitted.fit(X, rare).classes_.tolist() == [0, 1, 2]
    assert fitted.best_estimator_.classes_.tolist() == [0, 1, 2]
    assert fitted.best_estimator_.classes is None
    with pytest.raises(DomainError, match="not among the declared classes"):
        search().fit(X, rare)
    for place in (0, 1500, 2999):  # wherever it stands, in training or test
        with pytest.raises(DomainError, match="outside the declared domain"):
            search().fit(np.where(np.arange(3000)[:, None] == place, 1000, X), Y)


def test_gaussian_candidates_are_planned_together_where_all_are_gaussian():
    model = StatisticalQueryNaiveBayes(domain=IntegerRange(0, 4), classes=[0, 1])
    given = {"epsilon": 2, "delta": 1e-6}
    ours = search(model, {"smoothing": [0.1, 1, 2, 4]}, **given)
    assert [ours.plan(600, **known).gaussian for known in ({"n_features": 30}, {})] == [True, False]
    for grid in ({"trust_model": ["central", "local"]}, {"domain": ["learn"]}):
        mixed = search(model, grid, n_iter=4, method="random_stopping", **given)
        assert mixed.plan(900, n_features=30).fit.epsilon == Fraction(1, 3)


def test_a_step_that_is_known_to_learn_nothing_is_searched():
    doubled = make_pipeline(FunctionTransformer(lambda rows: rows // 2), STUMPS)
    fitted = search(doubled, {}, stateless=["functiontransformer"], epsilon=10.0).fit(X, Y)
    assert fitted.score(X, Y) > 0.9


# By each metric, of classifiers and of regressors.

LONG = np.arange(4000)[:, None] % 100
RARE = (LONG[:, 0] > 89).astype(int)
BAYES = StatisticalQueryNaiveBayes(domain=IntegerRange(0, 99), classes=[0, 1])
#: Of two candidates, the first predicts the rare label hardly ever, and the second half of the time.
PRIORS = {"priors": [[0.9999, 0.0001], [0.9, 0.1]]}


def of_rare(estimator=BAYES, grid=PRIORS, **parameters):
    return PrivateSearchCV(estimator, grid, **{"random_state": 0, "epsilon": 20.0, "delta": 0} | parameters)


def test_noisy_scores_of_many_gaussian_candidates_use_delta_where_no_record_trains_and_tests():
    grid = {"n_bins": list(range(2, 32))}
    wanted = {"grid": grid, "scoring": "balanced_accuracy", "method": "noisy_scores", "epsilon": 4.0}
    apart = of_rare(**wanted, delta=1e-6).plan(5000, n_features=1)
    assert apart.scoring.delta == apart.guarantee.delta / 2
    assert of_rare(**wanted, delta=1e-6, cv=3).plan(5000).scoring.delta == 0
    found = of_rare(**wanted, delta=1e-6, refit=False).fit(LONG, RARE)
    assert np.isfinite(found.cv_results_["mean_test_score"]).all()
    assert found.budgets_["scoring"].delta == Fraction("1e-6")
    pure = of_rare(**wanted, delta=0).plan(5000)
    assert apart.score_error < pure.score_error


def test_candidates_without_probabilities_are_refused_for_metrics_of_scores():
    class Silent(ExponentialMechanismClassifier):
        predict_proba = property()

    silent = Silent(domain=IntegerRange(0, 99), classes=[0, 1])
    with pytest.raises(TypeError, match="needs an estimator with a method predict_proba"):
        of_rare(silent, {"method": ["exponential"]}, scoring="roc_auc").fit(LONG, RARE)


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
    assert is_classifier(of_rare())
    assert not is_regressor(of_rare())
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
    make, rows, y = (of_regressors, SIZES, PRICES) if metric.regression else (of_rare, LONG, RARE)
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
    unplanned = of_rare(model, {}, scoring="f1_macro", delta=1e-6)
    assert np.isnan(unplanned.plan(4000).score_error)
    found = unplanned.fit(LONG, np.where(RARE, "yes", "no"), groups=np.arange(4000) // 2)
    assert 0 <= found.best_score_ <= 1
    assert found.guarantee_.protects == "groups"


# Thresholds are tuned on private counts of held-out records, whose scores are scikit-learn's.

IMBALANCED = make_classification(20_000, 6, n_informative=4, weights=[0.98], class_sep=1.5, random_state=0)


def logistic(**parameters):
    return StatisticalQueryLogisticRegression(**{"classes": [0, 1]} | parameters)


def tuned(estimator=None, **parameters):
    return PrivateTunedThresholdClassifier(estimator or logistic(), **{"random_state": 0} | parameters)


def test_a_rare_label_is_found():
    X, y = IMBALANCED
    model = tuned(epsilon=3.0).fit(X, y)
    plain = logistic(epsilon=3.0, random_state=0).fit(X, y)
    assert balanced_accuracy_score(y, model.predict(X)) > balanced_accuracy_score(y, plain.predict(X)) + 0.1
    assert recall_score(y, model.predict(X)) > 0.5
    reached = model.estimator_.predict_proba(X)[:, 1] >= model.best_threshold_
    assert (model.predict(X) == reached).all()
    assert model.best_score_ == model.cv_results_["scores"].max()
    assert model.counts_.shape == (2, 21)
    assert model.counts_.sum() == pytest.approx(4000, abs=100)


@pytest.mark.parametrize("scoring", ["accuracy", "balanced_accuracy", "f1"])
def test_the_score_is_that_of_the_counts_without_noise(scoring):
    model = tuned(epsilon=1e6, thresholds=[0.01, 0.05, 0.5], scoring=scoring, cv=0.5).fit(*IMBALANCED)
    y, reached = (np.repeat(places.ravel(), model.counts_.ravel()) for places in np.indices((2, 4)))
    wanted = [getattr(metrics, f"{scoring}_score")(y, reached >= place) for place in (1, 2, 3)]
    assert model.cv_results_["scores"] == pytest.approx(wanted)
    assert len(y) == model.plan(20_000).n_held_out == 10_000


def test_a_score_of_one_label_needs_the_positive_label_unless_it_is_1():
    X, y = IMBALANCED[0][:500], np.where(IMBALANCED[1][:500] == 1, "ill", "well")
    ledger = PrivacyLedger(5, 1e-3)
    found = {"estimator": logistic(classes=None), "scoring": "f1"}  # with declared classes, plan refuses it
    with pytest.raises(ValueError, match=r"scoring='f1' needs pos_label=, one of \['ill', 'well'\]: it"):
        tuned(**found, ledger=ledger, random_state=None).fit(X, y)
    assert ledger.history() == []
    for scoring, given in (("f1", {"pos_label": "ill"}), ("accuracy", {}), ("balanced_accuracy", {})):
        assert tuned(logistic(classes=["ill", "well"]), scoring=scoring, **given).plan(100).n_samples == 100
    model = tuned(logistic(classes=["ill", "well"]), pos_label="ill", thresholds=[0.1, 0.5]).fit(X, y)
    assert model.pos_label_ == "ill"
    assert (model.predict(X)[model.predict_proba(X)[:, 0] >= model.best_threshold_] == "ill").all()


@pytest.mark.parametrize("classes", [[0, 1], [-1, 1], [False, True]])
def test_the_positive_label_of_a_score_of_one_label_is_1_by_default(classes):
    X, y = IMBALANCED[0][:2000], np.where(IMBALANCED[1][:2000] == 1, classes[1], classes[0])
    assert tuned(logistic(classes=classes), scoring="f1", epsilon=5.0).fit(X, y).pos_label_ == 1


@pytest.mark.filterwarnings("ignore:n_samples is")
def test_two_records_and_a_label_without_records_are_fitted_and_a_held_out_one_is_checked():
    with np.errstate(all="raise"):
        model = tuned().fit(np.zeros((2, 1)), [0, 0])
    assert set(model.predict(np.zeros((3, 1)))) <= {0, 1}
    X, y = IMBALANCED[0][:20].copy(), IMBALANCED[1][:20]
    X[tuned().plan(20).public.splits[0][1][0], 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        tuned(logistic(domain=Floats())).fit(X, y)
