"""What scikit-learn's users put in, around and behind a learner works with every learner, or is refused
before a charge: grids over epsilon and delta, labels of any type, margins, importances, public rows.
"""

import copy
import json
import re
import warnings
from decimal import Decimal
from enum import IntEnum
from fractions import Fraction
from inspect import cleandoc, signature

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.decomposition import PCA
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from dplearn import (
    AdditiveClassifier,
    AdditiveRegressor,
    ConjunctionClassifier,
    CornerClassifier,
    ExponentialMechanismClassifier,
    KnowledgeTransferClassifier,
    LinearRegressor,
    ParityClassifier,
    PointClassifier,
    PrivacyLedger,
    PrivateLabelsClassifier,
    PublicData,
    QueriesExhaustedError,
    SoftLabelAggregateClassifier,
    SoftLabelTransferClassifier,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
    SyntheticDataClassifier,
    ThresholdClassifier,
    learners,
    model_selection,
    releases,
)
from dplearn.domains import Bits, Grid, IntegerRange, LargeIntegerRange
from dplearn.estimator import PrivateEstimator, cost_of_fit
from dplearn.releases import SyntheticTable, stable_counts
from tests.laws.clients import CLIENTS, KEPT, LEARNERS, TABLE, measured, written
from tests.laws.conftest import STAND_FOR_ALL, protects_labels

pytestmark = pytest.mark.filterwarnings("ignore")


def ledger_for(learner):
    protects = "labels" if protects_labels(learner) else "examples"
    return PrivacyLedger(1e15, 0.5, protects=protects)


# Grids


def test_one_grid_over_epsilon_and_delta_serves_all(classifier, iris):
    if "epsilon" not in classifier.get_params(deep=False):
        return
    assert "delta" in classifier.get_params(deep=False)
    ledger = ledger_for(classifier)
    model = clone(classifier).set_params(delta=1e-6, ledger=ledger).fit(*iris)
    assert float(model.guarantee_.delta) == float(ledger.spent().delta) <= 1e-6
    if not classifier.spends_delta:
        assert model.guarantee_.delta == 0
        assert cost_of_fit(model).delta == 0
        with pytest.raises(ValueError, match="delta must be a finite number at least 0 and below 1, got 2"):
            model.set_params(delta=2).fit(*iris)
    assert len(ledger.history()) == 1


def test_no_delta_is_taken_or_refused_with_the_setting_that_takes_it(classifier, iris):
    if "epsilon" not in classifier.get_params(deep=False):
        return
    ledger = ledger_for(classifier)
    pure = clone(classifier).set_params(delta=0, ledger=ledger)
    if getattr(classifier, "aggregation", "lnmax") != "lnmax":
        match = r"delta must be above 0 with aggregation='.*', got 0: aggregation='lnmax'.* and takes 0$"
    elif getattr(classifier, "method", "") in ("stability", "stable"):
        match = r"'(stability|stable)'.*above 0, got 0"
    else:
        assert pure.fit(*iris).guarantee_.delta == ledger.spent().delta == 0
        return
    with pytest.raises(ValueError, match=match):
        pure.fit(*iris)
    assert ledger.history() == []


@pytest.mark.parametrize("kind", [SubsampleAggregateClassifier, SoftLabelAggregateClassifier])
@pytest.mark.parametrize(
    "run",
    [
        lambda model, X, y: GridSearchCV(model, {"epsilon": [0.5, 1.0, 2.0]}, cv=KFold(3)).fit(X, y),
        lambda model, X, y: cross_val_score(model, X, y, cv=KFold(3)),
    ],
    ids=["search", "cross-validation"],
)
def test_answers_that_run_out_stop_a_search_before_other_candidates_are_fitted(kind, run):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = (X[:, 0] > 0).astype(int)
    ledger = PrivacyLedger(100, 0.1)
    model = kind(GaussianNB(), n_teachers=20, max_queries=11, ledger=ledger)
    with pytest.raises(QueriesExhaustedError, match=r"KnowledgeTransferClassifier.*SyntheticData") as stopped:
        run(model, X, y)
    assert not isinstance(stopped.value, Exception)
    assert "at most the 11 queries that are left, got 200; nothing was spent" in str(stopped.value)
    assert len(ledger.history()) == 1


# Public rows


def rows_of_two_labels(n=1200):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 2))
    return X, (X[:, 0] + 0.1 * rng.normal(size=n) > 0).astype(int)


@pytest.mark.parametrize("kind", [KnowledgeTransferClassifier, SoftLabelTransferClassifier])
@pytest.mark.parametrize("routed", [False, True], ids=["as parameters", "routed"])
def test_public_rows_reach_a_student_through_pipelines_searches_and_cross_validation(kind, routed):
    X, y = rows_of_two_labels()
    learner = kind(GaussianNB(), GaussianNB(), n_teachers=20, epsilon=1e4)
    given = {"X_public": PublicData(X[:300])}
    named = given if routed else {"student__X_public": PublicData(X[:300])}
    pipeline = sklearn.pipeline.Pipeline([("same", FunctionTransformer()), ("student", learner)])
    folds = {"cv": KFold(3), "error_score": "raise"}
    with sklearn.config_context(enable_metadata_routing=routed):
        assert pipeline.fit(X, y, **named).score(X, y) > 0.9
        for model, public, epsilon in ((learner, given, "epsilon"), (pipeline, named, "student__epsilon")):
            search = GridSearchCV(model, {epsilon: [1e3, 1e4]}, **folds).fit(X, y, **public)
            assert search.cv_results_["mean_test_score"].min() > 0.9
            assert search.score(X, y) > 0.9
            found = cross_validate(model, X, y, params=public, **folds)
            assert found["test_score"].min() > 0.9
        with pytest.raises(ValueError, match="X_public must be PublicData"):
            GridSearchCV(learner, {"epsilon": [1e3]}, **folds).fit(X, y)


# What a page of the reference says first


def classes_of_learners():
    kinds = [getattr(room, name) for room in (learners, model_selection) for name in room.__all__]
    return [each for each in kinds if hasattr(each, "predict") and hasattr(each, "fit")]


@pytest.mark.parametrize("kind", classes_of_learners(), ids=lambda kind: kind.__name__)
def test_the_first_lines_say_whether_a_learner_is_a_drop_in_or_answers_questions(kind):
    first = " ".join(cleandoc(kind.__doc__).split("\n\n")[1].split())
    limited = hasattr(kind, "remaining_queries_")
    assert first.startswith("Answers questions, and is no drop-in: " if limited else "Drop-in")
    assert limited or "any number of predictions costs no privacy" in first


# Labels


class Grade(IntEnum):
    LOW = 1
    HIGH = 2


def objects(labels):
    held = np.empty(len(labels), dtype=object)
    held[:] = labels
    return held


#: From two codes to labels of a type.
TYPES = {
    "integers as objects": lambda y: y.astype(object),
    "booleans as objects": lambda y: (y > 0).astype(object),
    "IntEnum": lambda y: objects([Grade(1 + code) for code in y.tolist()]),
    "Decimal": lambda y: [Decimal(code) / 4 for code in y.tolist()],
    "Fraction": lambda y: [Fraction(code, 3) for code in y.tolist()],
    "10**30": lambda y: [10**30 + code for code in y.tolist()],
    "uint64": lambda y: y.astype(np.uint64) + np.uint64(2**63),
    "text as objects": lambda y: np.array(["no", "yes"])[y].astype(object),
    "StringDType": lambda y: np.array(["no", "yes"])[y].astype(np.dtypes.StringDType()),
    "categories": lambda y: pd.Series(np.array(["no", "yes"])[y], dtype="category"),
    "nullable integers": lambda y: pd.Series(y, dtype="Int64"),
    "one column": lambda y: y[:, None],
    "a frame": lambda y: pd.DataFrame({"y": y}),
}
#: Of these, models of scikit-learn refuse some: a learner that trains them notes it before a charge.
UNKNOWN_TO_SCIKIT_LEARN = ("Decimal", "Fraction", "10**30", "StringDType", "integers as objects", "uint64")


def refits(model, X, y):
    """Whether the models that a learner trains take these labels; a refusal costs nothing."""
    refused = None
    try:
        clone(model).set_params(ledger=ledger_for(model)).fit(X, y)
    except ValueError as error:
        refused = error
    if refused is not None:
        assert re.search(
            "Unknown label type|too large to convert|for a model of scikit-learn, got", str(refused)
        )
        with pytest.raises(ValueError, match=re.escape(str(refused)[:50])):
            model.fit(X, y)
        assert model.ledger.history() == []
    return refused is None


@pytest.mark.parametrize("kind", TYPES)
def test_a_score_reads_labels_as_the_fit_reads_them(one_a_class, classifier, iris, kind):
    if not is_classifier(classifier) or hasattr(type(classifier), "remaining_queries_"):
        return
    X, y = iris
    y = (y > 0).astype(np.int64)
    if kind == "StringDType" and not hasattr(np.dtypes, "StringDType"):
        return
    given = TYPES[kind](y)
    model = clone(classifier).set_params(ledger=ledger_for(classifier))
    if hasattr(classifier, "estimator") and kind in UNKNOWN_TO_SCIKIT_LEARN and not refits(model, X, given):
        return
    model.fit(X, given)
    codes = dict(zip(np.asarray(model.classes_).tolist(), (0, 1), strict=True))
    predicted = [codes[each] for each in model.predict(X).tolist()]
    assert model.score(X, given) == np.mean(np.array(predicted) == y)
    weights = np.arange(len(y))
    assert np.isclose(model.score(X, given, weights), np.average(np.array(predicted) == y, weights=weights))


def test_a_score_of_labels_of_another_kind_is_refused_and_new_labels_are_wrong():
    X, y = rows_of_two_labels()
    model = ThresholdClassifier(epsilon=100).fit(X, y)
    with pytest.raises(ValueError, match="y must hold numbers, as the labels of the fit are"):
        model.score(X, y.astype(str))
    with pytest.raises(ValueError, match="equal numbers of samples, got 1200 and 3"):
        model.score(X, y[:3])
    for weights in (np.zeros(1200), np.ones(3), ["a"] * 1200, np.full(1200, np.nan)):
        with pytest.raises(
            ValueError, match=r"sample_weight must hold 1200 finite numbers, .* whose sum is not 0"
        ):
            model.score(X, y, weights)
    some = np.where(np.arange(len(y)) < 600, 7, model.predict(X))
    assert model.score(X, some) == 0.5
    numbers = AdditiveRegressor(target_range=(0, 2), epsilon=100).fit(X, y)
    assert numbers.score(X, [Decimal(each) for each in y.tolist()]) == numbers.score(X, y)


def test_fractions_that_are_declared_labels_are_refused_where_models_of_scikit_learn_refuse_them():
    X, y = rows_of_two_labels()
    ledger = PrivacyLedger(100, 1e-3)
    learner = SyntheticDataClassifier(classes=[0, 0.5], ledger=ledger)
    with pytest.raises(ValueError, match="classes must be texts or whole numbers"):
        learner.fit(X, y / 2)
    assert ledger.history() == []
    assert set(StatisticalQueryNaiveBayes(classes=[0, 0.5]).fit(X, y / 2).predict(X)) <= {0, 0.5}


def test_an_epsilon_above_all_floats_is_refused_everywhere(one_a_class, classifier, iris):
    if "epsilon" in classifier.get_params(deep=False):
        model = clone(classifier).set_params(epsilon=10**400)
        with pytest.raises(ValueError, match=r"epsilon must be .* at most .*, got a number above 1e300"):
            model.fit(*iris)


# Messages


@pytest.mark.parametrize(
    "estimator",
    [each for each in STAND_FOR_ALL if isinstance(each, PrivateEstimator)],
    ids=lambda each: type(each).__name__,
)
def test_a_constructor_names_the_parameter_that_is_meant(estimator):
    kind = type(estimator)
    names = list(estimator.get_params(deep=False))
    for wrong, right in (("eps", "epsilon"), ("Epsilon", "epsilon"), ("random_seed", "random_state")):
        if right in names:
            with pytest.raises(TypeError, match=f"has no parameter '{wrong}'; did you mean '{right}'\\?$"):
                kind(**{wrong: 1})
    with pytest.raises(TypeError, match=f"has no parameter 'zzz'; its parameters are .*{names[-1]}"):
        kind(zzz=1)
    if "epsilon" in names:
        first = [each for each in signature(kind).parameters.values() if each.kind is not each.KEYWORD_ONLY]
        with pytest.raises(TypeError, match=r"by name: write epsilon=1\.5$"):
            kind(*[None] * len(first), 1.5)


RELEASES = [getattr(releases, name) for name in releases.__all__ if name[0].islower()]


@pytest.mark.parametrize(
    "release", [SyntheticTable, PrivacyLedger, *RELEASES], ids=lambda each: each.__name__
)
def test_a_release_names_the_parameter_that_is_meant(release):
    names = list(signature(release).parameters)
    if "epsilon" not in names:  # as a function of a result
        return
    with pytest.raises(
        TypeError, match=f"^{release.__name__} has no parameter 'eps'; did you mean 'epsilon'\\?$"
    ):
        release(eps=1)
    if "by" not in names:
        with pytest.raises(
            TypeError, match=r"has no parameter 'by'; grouped.*, quantiles.* and describe.*by="
        ):
            release(by=["a"])
    first = [each for each in signature(release).parameters.values() if each.kind is not each.KEYWORD_ONLY]
    if len(first) < len(names):
        with pytest.raises(TypeError, match=r"by name: write [a-z_]+=1\.5$"):
            release(*[None] * len(first), 1.5)


def test_a_learner_of_anyone_may_take_other_arguments():
    class Own(ThresholdClassifier):
        def __init__(self, scale=2, **rest):
            super().__init__(epsilon=scale, **rest)

    assert Own(3, classes=[0, 1]).epsilon == 3
    assert copy.copy(Own(3)).epsilon == copy.deepcopy(Own(3)).epsilon == 3


@pytest.mark.parametrize("learner", [StatisticalQueryNaiveBayes(), LinearRegressor(target_range=(0, 1))])
def test_warnings_count_groups_where_records_are_groups(learner):
    X, y = rows_of_two_labels(200)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clone(learner).set_params(epsilon=0.01, domain=Grid(-4, 4, 9, "clip")).fit(
            X, y, groups=np.arange(200) // 4
        )
    told = [str(each.message) for each in caught]
    counted = [each for each in told if each.startswith("n_samples is")]
    assert counted
    assert all(each.startswith("n_samples is 50, the number of groups, which count") for each in counted)


def test_labels_that_a_meta_estimator_encodes_are_explained():
    X, _ = rows_of_two_labels(100)
    names = np.array(["a", "b", "c"])[np.arange(100) % 3]
    ledger = PrivacyLedger(100)
    learner = ThresholdClassifier(classes=["a", "b"], ledger=ledger)
    # Labels 0, 1 and 2 could be fitted, and their predictions not put together.
    for classes, y in ((["a", "b"], names), (["a", "b", "c"], names), ([0, 1, 2], np.arange(100) % 3)):
        with pytest.raises(ValueError, match=r"must be None, or \[0, 1\] within OneVsRestClassifier"):
            OneVsRestClassifier(learner.set_params(classes=classes)).fit(X, y)
    assert ledger.history() == []
    assert set(OneVsRestClassifier(learner.set_params(classes=[0, 1])).fit(X, names).predict(X)) <= {*"abc"}


def test_keys_of_several_types_do_not_print_alike():
    keys = np.array([1] * 500 + ["1"] * 700, dtype=object)
    shown = str(stable_counts(keys, epsilon=30.0, delta=1e-6))
    assert re.search(r"^  '1'  +700$", shown, re.MULTILINE)
    assert re.search(r"^  1 +500$", shown, re.MULTILINE)
    assert "'" not in str(stable_counts(keys.astype(str), epsilon=30.0, delta=1e-6))


def test_tables_within_other_objects_are_named():
    class Held:
        __module__ = "narwhals.dataframe"

        def __array__(self):
            raise AssertionError

    with pytest.raises(
        TypeError, match=r"a Held of narwhals is not supported: give what it wraps, X.to_native"
    ):
        ThresholdClassifier().fit(Held(), [0, 1])


# Margins and importances


def test_the_margin_of_a_cut_is_the_distance_from_it():
    X = np.arange(40.0)[:, None] / 4
    learner = ThresholdClassifier(epsilon=1e4, domain=Grid(0, 10, 41, outside="clip"))
    for labels in (X[:, 0] > 6, X[:, 0] <= 6):
        model = learner.fit(X, labels)
        middle = model.threshold_ + 0.125  # halfway to the next value of the grid
        signed = model.decision_function(X) * (1 if model.direction_ == ">" else -1)
        assert np.allclose(signed, X[:, 0] - middle)
    always = learner.set_params(classes=[0, 1]).fit(X, np.ones(40, int))
    assert (always.decision_function(X) > 0).all()


def test_the_margin_of_a_corner_is_the_least_distance_inside_and_the_farthest_missed_cut_outside():
    places = np.stack(np.meshgrid(np.arange(8), np.arange(8)), axis=-1).reshape(-1, 2)
    rows = np.tile(places, (40, 1))
    inside = (rows[:, 0] <= 4) & (rows[:, 1] <= 2)
    model = CornerClassifier(epsilon=50, domain=IntegerRange(0, 7)).fit(rows, inside)
    assert (model.predict(rows) == inside).all()
    margins = dict(zip(map(tuple, places.tolist()), model.decision_function(places), strict=True))
    assert margins[0, 0] == 2.5
    assert margins[4, 2] == 0.5
    assert margins[5, 2] == -0.5
    assert margins[7, 7] == -4.5
    assert margins[7, 0] == -2.5


def test_margins_of_large_integers_are_capped_and_never_0():
    domain = LargeIntegerRange(0, 10**400)
    X = np.array([0, 10**399, 10**400] * 30, dtype=object)[:, None]
    model = ThresholdClassifier(method="interior_point", epsilon=1e3, domain=domain).fit(X, X[:, 0] > 10**399)
    margins = model.decision_function(X)
    assert np.isfinite(margins).all()
    assert ((margins > 0) == model.predict(X)).all()


def test_stumps_of_three_labels_have_a_margin_each_and_missing_values_and_categories_one():
    X = np.array([0.0, 1, 2, 3, 4, 5, 6, 7])[:, None]
    domain = IntegerRange(0, 7, missing=True, outside="clip")
    learner = ExponentialMechanismClassifier(epsilon=1e3, domain=domain, classes=[0, 1, 2])
    model = learner.fit(np.tile(X, (9, 1)), np.tile(np.repeat([0, 2], 4), 9))
    asked = np.array([0.0, 3, 4, 7, np.nan])[:, None]
    margins = model.decision_function(asked)
    assert margins[:4].tolist() == [[m, -abs(m), -m] for m in (1.75, 0.25, -0.25, -1.75)]
    assert (model.classes_[margins.argmax(axis=1)] == model.predict(asked)).all()


@pytest.mark.parametrize(
    "learner",
    [
        AdditiveClassifier(epsilon=20, domain=Grid(-4, 4, 9, outside="clip")),
        AdditiveRegressor(epsilon=20, domain=Grid(-4, 4, 9, outside="clip"), target_range=(0, 1)),
        StatisticalQueryNaiveBayes(epsilon=20, domain=Grid(-4, 4, outside="clip")),
    ],
    ids=lambda learner: type(learner).__name__,
)
def test_importances_are_of_released_numbers_and_select_the_columns_that_matter(learner):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2000, 4))
    y = (X[:, 2] > 0).astype(int)
    for selector in (RFE(learner, n_features_to_select=1), SelectFromModel(learner, max_features=1)):
        assert selector.fit(X, y).get_support().tolist() == [False, False, True, False]
    assert not hasattr(clone(learner), "feature_importances_")
    model = clone(learner).fit(X, y)
    assert model.feature_importances_.shape == (4,)


def test_importances_of_a_rule_are_equal_shares_of_the_columns_that_it_uses():
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2, (3000, 5))
    both = bits[:, 1] & bits[:, 3]
    for learner, y, shares in (
        (ParityClassifier(epsilon=50), bits[:, 1] ^ bits[:, 3], [0, 0.5, 0, 0.5, 0]),
        (ConjunctionClassifier(epsilon=1e3), both, [0, 0.5, 0, 0.5, 0]),
        (
            ExponentialMechanismClassifier("conjunctions", epsilon=1e3, domain=Bits()),
            both,
            [0, 0.5, 0, 0.5, 0],
        ),
        (ExponentialMechanismClassifier(epsilon=1e3), bits[:, 4], [0, 0, 0, 0, 1]),
        (PointClassifier(epsilon=1e4), (bits == 1).all(axis=1), [0.2] * 5),
    ):
        assert clone(learner).fit(bits, y).feature_importances_.tolist() == shares
    corner = CornerClassifier(epsilon=50, domain=IntegerRange(0, 7))
    places = rng.integers(0, 8, (3000, 2))
    for cut, shares in ((4, [1, 0]), (7, [0, 0]), (-1, [0, 0])):
        model = corner.set_params(classes=[0, 1]).fit(places, (places[:, 0] <= cut).astype(int))
        assert model.feature_importances_.tolist() == shares
    outputs = ParityClassifier(epsilon=50, delta=1e-6).fit(bits, bits[:, :2].cumsum(axis=1) % 2)
    assert outputs.feature_importances_.tolist() == [0.75, 0.25, 0, 0, 0]


def test_importances_of_a_learner_around_a_model_are_those_of_the_model_if_it_has_any():
    X, y = rows_of_two_labels()
    X = np.hstack([X, X[:, :1]])
    learner = SyntheticDataClassifier(
        DecisionTreeClassifier(), domain=Grid(-4, 4, 9, outside="clip"), epsilon=100
    )
    model = learner.fit(X, y)
    assert (model.feature_importances_ == model.estimator_.feature_importances_).all()
    learner.estimator = make_pipeline(StandardScaler(), LogisticRegression())
    model = learner.fit(X, y)
    assert (model.feature_importances_ == abs(model.estimator_[-1].coef_[0])).all()
    learner.estimator = make_pipeline(PCA(), LogisticRegression())  # numbers of other columns
    with pytest.raises(
        AttributeError, match="SyntheticDataClassifier has no feature_importances_: Pipeline has"
    ):
        _ = learner.fit(X, y).feature_importances_
    students = SoftLabelTransferClassifier(GaussianNB(), n_teachers=20, epsilon=1e4)
    students.fit(X[:600], y[:600], X_public=PublicData(X[600:]))
    assert students.feature_importances_[1] < students.feature_importances_[0]
    several = AdditiveClassifier(epsilon=20, domain=Grid(-4, 4, 9, outside="clip")).fit(
        X, np.column_stack([y, y])
    )
    each = [one.feature_importances_ for one in several.estimators_]
    assert np.allclose(several.feature_importances_, np.mean(each, axis=0))


@pytest.mark.parametrize(
    ("learner", "public"),
    [
        (SubsampleAggregateClassifier(n_teachers=20), False),
        (SyntheticDataClassifier(), False),
        (PrivateLabelsClassifier(), False),
        (KnowledgeTransferClassifier(n_teachers=20), True),
        (SoftLabelTransferClassifier(n_teachers=20), True),
    ],
    ids=lambda each: type(each).__name__,
)
def test_selectors_of_columns_refuse_a_learner_without_importances_before_the_charge(learner, public):
    X, y = rows_of_two_labels()
    texts = pd.DataFrame(X).astype({0: str}).add_prefix("x")
    ledger = ledger_for(learner)
    learner = clone(learner).set_params(ledger=ledger)
    match = (
        "leaves out columns of X and none of X_public" if public else "no importances here, which RFE looks"
    )
    with pytest.raises(TypeError, match=match):
        RFE(learner).fit(X, y, **({"X_public": PublicData(X)} if public else {}))
    with pytest.raises(TypeError, match="no importances here, which SelectFromModel looks for after the fit"):
        SelectFromModel(learner).fit(texts, y, **({"X_public": PublicData(texts)} if public else {}))
    assert ledger.history() == []
    # Importances of one's own are looked for by one's own means.
    own = SelectFromModel(learner, importance_getter=lambda _: np.array([1.0, 0.0]))
    own.fit(X, y, **({"X_public": PublicData(X)} if public else {}))
    assert len(ledger.history()) == 1


# All learners and clients

CELLS = json.loads(KEPT.read_text(encoding="utf-8"))
EVERY_CHANGE = ("GridSearchCV", "set_output", "metadata")


def test_the_page_shows_the_cells_of_all_learners():
    assert TABLE.read_text(encoding="utf-8") == written(CELLS)
    assert CELLS.keys() == LEARNERS.keys()
    assert all(cells.keys() == CLIENTS.keys() for cells in CELLS.values())
    exported = {kind.__name__ for kind in classes_of_learners()}
    assert exported <= LEARNERS.keys()
    answers = {kind.__name__ for kind in classes_of_learners() if hasattr(kind, "remaining_queries_")}
    drop_in = ("Pipeline", "GridSearchCV", "cross_val_score", "set_output", "permutation importance")
    for name in exported - answers:
        assert {CELLS[name][client] for client in drop_in} == {"yes"}


def test_no_client_fails_after_it_has_charged():
    assert {cell for cells in CELLS.values() for cell in cells.values()} == {"yes", "refused", "-"}


@pytest.mark.parametrize(
    ("name", "client"),
    [
        pytest.param(name, client, marks=() if soon else pytest.mark.nightly)
        for name in LEARNERS
        for client in CLIENTS
        for soon in [client in EVERY_CHANGE or name == "StatisticalQueryNaiveBayes"]
    ],
)
def test_a_client_works_or_is_refused_as_the_table_says(name, client):
    cell, error = measured(name, client)
    assert cell == CELLS[name][client]
    if cell == "refused":  # in words: of a parameter, a method, a type or a lost state
        lost = (RuntimeError,) if client == "pickle" else ()
        assert isinstance(error, (TypeError, ValueError, AttributeError, *lost))
        assert len(str(error)) > 40
