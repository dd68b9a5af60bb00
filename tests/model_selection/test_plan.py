"""How a search's budget is cut up, whatever records meet with; an ensemble is found wherever it is held."""

import weakref
from fractions import Fraction
from functools import partial
from types import MappingProxyType, SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    TimeSeriesSplit,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, scale
from sklearn.svm import SVC

from dplearn import SubsampleAggregateClassifier
from dplearn.model_selection import PrivateScorer, SearchPlan, splits_by_position
from dplearn.model_selection.candidates import Exposure, SearchFacts, answers_from_a_budget
from dplearn.privacy import ApproxDP, Composition, GaussianSums, gaussian_budget, least_epsilon
from dplearn.privacy.random_stopping import gaussian_runs_delta

BUDGET = ApproxDP(1, "1e-6")
exposures = st.builds(Exposure, st.integers(1, 9), st.integers(1, 3), st.booleans())


ONCE = Exposure(1, 1, True)


def planned(*, exposure=ONCE, gaussian=False, candidates=10, **wanted):
    splits = [(np.arange(8), np.arange(8, 10))]
    wanted = {"n_iter": None, "concentration": 1, "refit": True, "method": "auto", "cost": BUDGET} | wanted
    params = SimpleNamespace(candidates=range(candidates), scorer=PrivateScorer("accuracy"), **wanted)
    return SearchPlan.of(params, SearchFacts(10, splits=splits, exposure=exposure, gaussian=gaussian))


gaussian_plan = partial(planned, gaussian=True)


def spent(plan, exposure, candidates):
    """Return what one record is exposed to: fits in which it trains, errors of its own, the last fit."""
    runs = 1 if plan.stopping else candidates
    fits = [runs * exposure.trains * number for number in (plan.fit.epsilon, plan.fit.delta)]
    scores = [plan.scoring.epsilon, plan.scoring.delta]
    one = [max(pair) if exposure.apart else sum(pair) for pair in zip(fits, scores, strict=True)]
    search = ApproxDP(*one)
    total = plan.stopping.total(search) if plan.stopping else search
    last = plan.refit or ApproxDP(0)
    return total.epsilon + last.epsilon, total.delta + last.delta


@given(
    exposures,
    st.integers(1, 30),
    st.sampled_from(["auto", "permute_and_flip", "noisy_scores", "random_stopping"]),
    st.booleans(),
    st.one_of(st.none(), st.integers(1, 50)),
    st.integers(0, 3),
)
def test_all_parts_together_spend_the_budget(exposure, candidates, method, refit, n_iter, concentration):
    how = {"method": method, "refit": refit, "n_iter": n_iter, "concentration": concentration}
    plan = planned(exposure=exposure, candidates=candidates, **how)
    assert spent(plan, exposure, candidates) == (BUDGET.epsilon, BUDGET.delta)


@pytest.mark.parametrize("method", ["permute_and_flip", "random_stopping"])
@pytest.mark.parametrize("trains", [1, 3])
@pytest.mark.parametrize("refit", [True, False])
def test_gaussian_fits_of_one_record_cost_at_most_the_search(method, trains, refit):
    how = {"method": method, "exposure": Exposure(trains, 1, True), "refit": refit}
    plan = gaussian_plan(**how)
    search = ApproxDP(BUDGET.epsilon / (1 + refit), BUDGET.delta / (1 + refit))
    fit = GaussianSums(gaussian_budget(plan.fit))
    assert plan.gaussian
    if plan.stopping is None:
        whole = Composition({fit: 10 * trains})
        assert least_epsilon(whole, search.delta) <= search.epsilon
    else:
        assert gaussian_runs_delta(plan.stopping, trains * fit.mu2, search.epsilon, trains) <= search.delta
    assert plan.scoring.epsilon == search.epsilon / (1 if plan.stopping is None else 3)
    assert plan.fit.epsilon > planned(**how).fit.epsilon


def test_only_records_that_train_or_test_and_a_delta_make_a_gaussian_search():
    assert not gaussian_plan(exposure=Exposure(1, 1, False)).gaussian
    assert not gaussian_plan(cost=ApproxDP(1)).gaussian
    assert not gaussian_plan(cost=ApproxDP(1, Fraction(1, 1 << 60))).gaussian
    assert not planned().gaussian


@pytest.mark.parametrize("method", ["permute_and_flip", "random_stopping"])
@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "100"])
@pytest.mark.parametrize("delta", ["2e-15", "1e-6", "0.001", "0.05", "0.5"])
def test_gaussian_fits_are_planned_only_where_they_have_less_noise(method, epsilon, delta):
    wanted = {"cost": ApproxDP(epsilon, delta), "method": method, "candidates": 6}
    plan, other = gaussian_plan(**wanted), planned(**wanted)
    assert plan.fit.epsilon > 0
    if plan.gaussian:
        assert gaussian_budget(plan.fit) > gaussian_budget(other.fit)
    else:
        assert (plan.fit, plan.scoring) == (other.fit, other.scoring)


def test_with_many_gaussian_candidates_there_are_as_many_runs_as_are_accounted_for():
    plan, other = (planned(candidates=300, gaussian=each) for each in (True, False))
    assert (plan.stopping.most, other.stopping.most) == (1024, 1200)
    assert gaussian_budget(plan.fit) > 2 * gaussian_budget(other.fit)
    chosen = gaussian_plan(candidates=300, n_iter=1025)
    assert not chosen.gaussian
    assert chosen.stopping.most == 1025


@pytest.mark.parametrize("n", [2, 5, 1000])
def test_by_default_a_fifth_tests_and_is_the_same_each_time(n):
    [(train, test)] = splits_by_position(None, n)
    [(again, _)] = splits_by_position(None, n)
    assert np.array_equal(train, again)
    assert sorted([*train, *test]) == list(range(n))
    assert len(test) == max(1, -(-n // 5))
    assert n < 1000 or not np.array_equal(test, np.arange(800, 1000))


@pytest.mark.parametrize(
    ("cv", "exposure"),
    [
        (None, Exposure(1, 1, True)),
        (5, Exposure(4, 1, False)),
        (KFold(2), Exposure(1, 1, False)),
        (RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), Exposure(4, 2, False)),
        (PredefinedSplit([0] * 5 + [-1] * 15), Exposure(1, 1, True)),
        (TimeSeriesSplit(3), Exposure(3, 1, False)),
        (ShuffleSplit(1, test_size=0.5, random_state=1), Exposure(1, 1, True)),
    ],
    ids=repr,
)
def test_exposure_is_how_often_one_record_trains_and_tests_at_most(cv, exposure):
    splits = splits_by_position(cv, 20)
    assert Exposure.of(splits, 20) == exposure
    for place in range(20):
        assert sum(place in train for train, _ in splits) <= exposure.trains
        assert sum(place in test for _, test in splits) <= exposure.tests


# Wherever an ensemble is held, whoever judges an estimator finds it.

ENSEMBLE = SubsampleAggregateClassifier()


class Wrapped:
    """Is no estimator, and predicts by one."""

    def __init__(self, model):
        self.model = model

    def predict(self, X):
        return self.model.predict(X)


class Slotted:
    """Has no dictionary of attributes."""

    __slots__ = ("__weakref__", "model")

    def __init__(self, model):
        self.model = model

    def predict(self, X):
        return self.model.predict(X)


def by_default(X, model=ENSEMBLE):
    return model.predict(X)


def by_name(X):
    return [ENSEMBLE.predict(X) for _ in range(1)]


def by_another(X):
    return by_name(X)


def recursive(model):
    if model is None:

        def inner(X):
            return later(X)
    else:

        def inner(X):
            return model.predict(inner)

        later = None
    return inner


ALIVE = Slotted(ENSEMBLE)


@pytest.mark.parametrize(
    "whole",
    [
        Slotted(ENSEMBLE),
        FunctionTransformer(Slotted(ENSEMBLE).predict),
        MappingProxyType({"a": ENSEMBLE}),
        weakref.ref(ALIVE),
        weakref.proxy(ALIVE),
        weakref.WeakKeyDictionary({ALIVE: 1}),
        weakref.WeakMethod(ALIVE.predict),
        by_default,
        by_another,
        lambda X: (lambda Z: ENSEMBLE.predict(Z))(X),
        recursive(ENSEMBLE),
        (each for each in [ENSEMBLE]),
        np.array([(ENSEMBLE,)], dtype=[("model", object)]),
        pd.DataFrame({"a": [ENSEMBLE]}),
        Wrapped(Wrapped([{"a": (ENSEMBLE,)}])),
        FunctionTransformer(partial(Wrapped.predict, ENSEMBLE)),
        FunctionTransformer((lambda model: lambda X: model.predict(X))(ENSEMBLE)),
    ],
    ids=lambda whole: type(whole).__name__,
)
def test_an_ensemble_is_found_wherever_python_keeps_it(whole):
    assert answers_from_a_budget(Wrapped(whole))
    assert answers_from_a_budget(whole)


def test_where_there_is_none_none_is_found():
    for whole in (
        make_pipeline(SVC()),
        FunctionTransformer(scale),
        GridSearchCV(SVC(), {}),
        partial(abs),
        "text",
    ):
        assert not answers_from_a_budget(whole)


def test_what_is_gone_is_held_by_nobody():
    passing = Slotted(ENSEMBLE)
    left_over = [weakref.ref(passing), weakref.proxy(passing)]
    del passing
    assert not answers_from_a_budget(left_over)
    assert not answers_from_a_budget(recursive(None))  # a variable that is not set


def test_what_holds_itself_is_gone_through_once():
    circle = Wrapped(None)
    circle.model = [circle]
    assert not answers_from_a_budget(circle)
