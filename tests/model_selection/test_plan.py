"""How a search's budget is cut up: the parts add up to it, whatever records meet with."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import (
    GroupShuffleSplit,
    KFold,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from dplearn.model_selection.candidates import Exposure, SearchFacts, splits_by_position
from dplearn.model_selection.metrics import PrivateScorer
from dplearn.model_selection.search import SearchPlan
from dplearn.privacy import ApproxDP, Composition, GaussianSums
from dplearn.privacy.composition import least_epsilon
from dplearn.privacy.random_stopping import gaussian_runs_delta
from dplearn.privacy.shares import gaussian_budget

BUDGET = ApproxDP(1, "1e-6")
exposures = st.builds(Exposure, st.integers(1, 9), st.integers(1, 3), st.booleans())


def planned(exposure, *, candidates, n_iter=None, concentration=1, **wanted):
    table = SearchFacts(10, splits=[(np.arange(8), np.arange(8, 10))], exposure=exposure)
    wanted |= {"candidates": range(candidates), "n_iter": n_iter, "concentration": concentration}
    wanted.setdefault("scorer", PrivateScorer("accuracy"))
    return SearchPlan.of(SimpleNamespace(cost=BUDGET, **wanted), table)


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
    plan = planned(
        exposure,
        candidates=candidates,
        method=method,
        refit=refit,
        n_iter=n_iter,
        concentration=concentration,
    )
    assert spent(plan, exposure, candidates) == (BUDGET.epsilon, BUDGET.delta)


def gaussian_plan(*, candidates=10, trains=1, cost=BUDGET, gaussian=True, apart=True, **wanted):
    table = SearchFacts(
        10,
        splits=[(np.arange(8), np.arange(8, 10))],
        exposure=Exposure(trains, 1, apart),
        gaussian=gaussian,
    )
    wanted = {"n_iter": None, "concentration": 1, "refit": True, "method": "auto"} | wanted
    scorer = PrivateScorer("accuracy")
    return SearchPlan.of(
        SimpleNamespace(cost=cost, candidates=range(candidates), scorer=scorer, **wanted), table
    )


@pytest.mark.parametrize("method", ["permute_and_flip", "random_stopping"])
@pytest.mark.parametrize("trains", [1, 3])
@pytest.mark.parametrize("refit", [True, False])
def test_gaussian_fits_of_one_record_cost_at_most_the_search(method, trains, refit):
    plan = gaussian_plan(method=method, trains=trains, refit=refit)
    search = ApproxDP(BUDGET.epsilon / (1 + refit), BUDGET.delta / (1 + refit))
    fit = GaussianSums(gaussian_budget(plan.fit))
    assert plan.gaussian
    if plan.stopping is None:
        whole = Composition({fit: 10 * trains})
        assert least_epsilon(whole, search.delta) <= search.epsilon
    else:
        assert gaussian_runs_delta(plan.stopping, trains * fit.mu2, search.epsilon, trains) <= search.delta
    assert plan.scoring.epsilon == search.epsilon / (1 if plan.stopping is None else 3)
    assert (
        plan.fit.epsilon
        > gaussian_plan(method=method, trains=trains, refit=refit, gaussian=False).fit.epsilon
    )


def test_only_records_that_train_or_test_and_a_delta_make_a_gaussian_search():
    assert not gaussian_plan(apart=False).gaussian
    assert not gaussian_plan(cost=ApproxDP(1)).gaussian
    assert not gaussian_plan(cost=ApproxDP(1, Fraction(1, 1 << 60))).gaussian
    assert not gaussian_plan(gaussian=False).gaussian


@pytest.mark.parametrize("method", ["permute_and_flip", "random_stopping"])
@pytest.mark.parametrize("epsilon", ["0.001", "0.1", "1", "100"])
@pytest.mark.parametrize("delta", ["2e-15", "1e-6", "0.001", "0.05", "0.5"])
def test_gaussian_fits_are_planned_only_where_they_have_less_noise(method, epsilon, delta):
    wanted = {"cost": ApproxDP(epsilon, delta), "method": method, "candidates": 6}
    plan, other = gaussian_plan(**wanted), gaussian_plan(**wanted, gaussian=False)
    assert plan.fit.epsilon > 0
    if plan.gaussian:
        assert gaussian_budget(plan.fit) > gaussian_budget(other.fit)
    else:
        assert (plan.fit, plan.scoring) == (other.fit, other.scoring)


def test_with_many_gaussian_candidates_there_are_as_many_runs_as_are_accounted_for():
    plan, other = (gaussian_plan(candidates=300, gaussian=each) for each in (True, False))
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


@pytest.mark.parametrize("cv", [StratifiedKFold(2), GroupShuffleSplit(2), "2", True, [([0], [1])]], ids=repr)
def test_splitters_that_may_look_at_values_are_refused(cv):
    with pytest.raises(TypeError, match="cv must be None, an int or a splitter that uses positions only"):
        splits_by_position(cv, 20)
