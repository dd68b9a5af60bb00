"""Private search: what it releases, what it charges, what it refuses, and that it finds what is good."""

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder, StandardScaler

from dplearn import (
    ExponentialMechanismClassifier,
    KnowledgeTransferClassifier,
    LinearRegressor,
    PointClassifier,
    PrivacyLedger,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    ThresholdClassifier,
)
from dplearn.audit.cases.search import OneAnswer
from dplearn.display import privacy_card
from dplearn.domains import DomainError, Grid, IntegerRange
from dplearn.estimator.recipe import cost_of_fit
from dplearn.model_selection import PrivateSearchCV
from dplearn.model_selection.candidates import splits_by_position
from dplearn.preprocessing import PrivateMinMaxClipper, PrivateRobustScaler
from dplearn.privacy import pipeline_guarantee

X = np.arange(3000)[:, None] % 100
Y = (X[:, 0] > 40).astype(int)
STUMPS = ExponentialMechanismClassifier(domain=IntegerRange(0, 99), classes=[0, 1])
GRID = {"concept_class": ["stumps", "thresholds"], "method": ["exponential", "permute_and_flip"]}


def search(estimator=STUMPS, grid=GRID, **parameters):
    return PrivateSearchCV(estimator, grid, **{"random_state": 0} | parameters)


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


def test_a_pipeline_of_private_steps_shares_the_budget():
    X, y = (each[:200] for each in load_breast_cancer(return_X_y=True))
    pipeline = make_pipeline(
        PrivateMinMaxClipper(domain=Grid(0, 5000, 5001, outside="clip")),
        Normalizer(),
        StatisticalQueryNaiveBayes(classes=[0, 1]),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # so few records for so many quantiles
        fitted = search(pipeline, {"privateminmaxclipper__epsilon": [1.0, 3.0]}, epsilon=8.0, delta=1e-6).fit(
            X, y
        )
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
    with pytest.raises(ValueError, match="learn nothing, got 'cut', which is private"):
        search(pipeline, {}, stateless=["abs", "cut"]).fit(X, Y)


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
    with pytest.raises(DomainError) as caught:
        search(pipeline, {}, stateless=["float"]).fit(cells, Y)
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
    labels_only = make_pipeline(PrivateMinMaxClipper(), KnowledgeTransferClassifier(protects="labels"))
    with pytest.raises(ValueError, match="protect examples"):
        search(labels_only, {}).fit(X, Y)


def test_what_a_step_that_learns_nothing_says_of_records_is_not_heard():
    how = {"handle_unknown": "ignore", "drop": "first", "sparse_output": False}
    encoder = OneHotEncoder(categories=[list(range(100))], **how)
    words = make_pipeline(encoder, clone(STUMPS).set_params(domain=None))
    search(words, {}, stateless=["onehotencoder"]).fit(np.where(np.arange(3000)[:, None] == 5, 1000, X), Y)
    with pytest.raises(DomainError, match="Normalizer does not transform") as caught:
        search(make_pipeline(Normalizer(), clone(STUMPS)), {}).fit(
            [[0.5]] * 20 + [["secret"]], [0, 1] * 10 + [0]
        )
    assert "secret" not in str(caught.value)


def test_a_prediction_of_another_shape_is_refused_since_one_record_could_count_often():
    class Column(OneAnswer):
        def predict(self, X):
            return super().predict(X)[:, None]

    class Wide(OneAnswer):
        def predict(self, X):
            return np.zeros((len(X), 2))

    assert 0 <= search(Column(classes=[0, 1]), {}).fit(X, Y).best_score_ <= 1
    with pytest.raises(DomainError, match="one label each"):
        search(Wide(classes=[0, 1]), {}).fit(X, Y)


def test_warnings_do_not_tell_how_many_runs_there_were():
    def said(seed):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            search(
                ThresholdClassifier(classes=[0, 1]),
                {"feature": [0, None]},
                method="random_stopping",
                random_state=seed,
            ).fit(X[:40], Y[:40])
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
def test_what_is_planned_is_fitted(kind, epsilon, delta, method):
    estimator, n_features, grid = KINDS[kind]
    X = np.random.default_rng(0).integers(0, 10, (200, n_features))
    ours = search(estimator, grid, epsilon=epsilon, delta=delta, method=method)
    plan = ours.plan(200, n_features=n_features, n_labels=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # so few records for so little epsilon
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


@pytest.mark.filterwarnings("ignore:.*(noise|spread of the residuals)")
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
    learner = KnowledgeTransferClassifier(
        GaussianNB(), GaussianNB(), protects="labels", max_queries=20, classes=[0, 1]
    )
    ours = search(learner, {"n_teachers": [5, 10]}, epsilon=60.0, delta=1e-3, refit=False)
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
    plan, unknown = ours.plan(600, n_features=30), ours.plan(600)
    assert plan.gaussian
    assert not unknown.gaussian
    assert plan.fit.epsilon > Fraction(3, 2) * unknown.fit.epsilon
    for grid in ({"trust_model": ["central", "local"]}, {"domain": ["learn"]}):
        mixed = search(model, grid, n_iter=4, method="random_stopping", **given)
        assert mixed.plan(900, n_features=30).fit.epsilon == Fraction(1, 3)


LATER = make_pipeline(PrivateMinMaxClipper(), ThresholdClassifier(classes=[0, 1]))
NESTED = make_pipeline(make_pipeline(PrivateMinMaxClipper(domain=IntegerRange(0, 99))), STUMPS)
OUTLIERS = make_pipeline(LocalOutlierFactor(novelty=True), STUMPS)
CHOSEN = make_pipeline(make_column_transformer((Normalizer(), lambda rows: [0])), STUMPS)
DOUBLED = make_pipeline(FunctionTransformer(lambda rows: rows // 2), STUMPS)
TELLING = make_pipeline(
    FunctionTransformer(lambda r: r, inverse_func=lambda r: r, check_inverse=True), STUMPS
)


@pytest.mark.parametrize(
    ("estimator", "given", "message"),
    [
        (NESTED, {"stateless": ["pipeline"]}, "side by side"),
        (NESTED, {"stateless": ["pipelin"]}, "must name steps of estimator"),
        (OUTLIERS, {"stateless": ["localoutlierfactor"]}, "side by side"),
        (CHOSEN, {"stateless": ["columntransformer"]}, "must list the columns"),
        (DOUBLED, {}, "stateless"),
        (TELLING, {"stateless": ["functiontransformer"]}, "check_inverse"),
        (make_pipeline(StandardScaler(), STUMPS), {}, "got StandardScaler as 'standardscaler'"),
        (make_pipeline(PrivateRobustScaler(), LogisticRegression()), {}, "estimator must"),
        (LATER, {"grid": {"thresholdclassifier__method": ["exponential", "bogus"]}}, "method must be"),
        (
            PointClassifier(classes=[0, 1]),
            {"grid": {"method": ["auto", "hashing"]}, "epsilon": 1e-6, "delta": 1e-6},
            r"epsilon must be .* at least 3\.2e-05, got 2\.5e-07; a fit of PointClassifier has",
        ),
    ],
    ids=range(10),
)
def test_what_makes_no_search_is_refused_and_nothing_is_spent(estimator, given, message):
    ledger = PrivacyLedger(100, 1e-3)
    how = {"grid": {}, "ledger": ledger, "random_state": None} | given
    with pytest.raises((TypeError, ValueError), match=message):
        search(estimator, **how).fit(X[:200], Y[:200])
    assert not ledger.history()


def test_a_step_that_is_known_to_learn_nothing_is_searched():
    fitted = search(DOUBLED, {}, stateless=["functiontransformer"], epsilon=10.0).fit(X, Y)
    assert fitted.score(X, Y) > 0.9
