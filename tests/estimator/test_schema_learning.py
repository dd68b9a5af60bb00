"""`domain="learn"`: the schema and the learner share one budget, and a fit refuses no cell."""

import copy
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from dplearn import (
    AdditiveClassifier,
    AdditiveRegressor,
    ConjunctionClassifier,
    ExponentialMechanismClassifier,
    PrivacyLedger,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
)
from dplearn.domains import Learn, Schema
from dplearn.estimator import SchemaFitPlan
from dplearn.fit import TABLE
from dplearn.learners.linear import logistic
from dplearn.model_selection import PrivateSearchCV
from dplearn.privacy import ApproxDP, Composition, GaussianSums, concentrated_budget, gaussian_budget
from dplearn.releases import schema_fits

N = 4000
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "year": RNG.integers(1990, 2021, N),
        "height": RNG.normal(170, 10, N),
        "town": RNG.choice(["north", "south", "west"], N, p=[0.5, 0.4, 0.1]),
    }
)
LABELS = np.where((FRAME.year > 2005) ^ (RNG.random(N) < 0.1), "new", "old")
CLASSES = ["new", "old"]
CENTRAL = [
    StatisticalQueryNaiveBayes(domain="learn", classes=CLASSES, epsilon=5),
    StatisticalQueryLogisticRegression(domain="learn", classes=CLASSES, epsilon=5),
    AdditiveClassifier(classes=CLASSES, epsilon=5),
]
LEARNERS = [
    *CENTRAL,
    StatisticalQueryNaiveBayes(domain="learn", classes=CLASSES, delta=0, epsilon=15),
    StatisticalQueryNaiveBayes(domain="learn", trust_model="local", classes=CLASSES, epsilon=18),
    ExponentialMechanismClassifier(domain="learn", classes=CLASSES, epsilon=15),
    ConjunctionClassifier(domain="learn", classes=CLASSES, epsilon=15),
    PrivateSearchCV(
        StatisticalQueryNaiveBayes(domain="learn", classes=CLASSES), {"n_bins": [4, 8]}, epsilon=15
    ),
]


def fitted(learner, X=FRAME, y=LABELS, **parameters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return clone(learner).set_params(**parameters).fit(X, y)


#: One of each way to learn a schema: counts, sums, in the local model, and once for all of a search.
BY_DAY = [CENTRAL[0], CENTRAL[2], LEARNERS[4], LEARNERS[-1]]


@pytest.mark.parametrize(
    "learner",
    [pytest.param(each, marks=() if each in BY_DAY else pytest.mark.nightly) for each in LEARNERS],
    ids=repr,
)
def test_a_raw_frame_is_learned_from_at_the_stated_cost_and_assumes_types_only(learner):
    ledger = PrivacyLedger(20, 1e-3)
    model = fitted(learner, ledger=ledger)
    [record] = ledger.history()
    assert record.guarantee == model.guarantee_
    assert model.guarantee_.epsilon == learner.epsilon
    assert model.guarantee_.delta <= Fraction("1e-6")
    own = [text for text in model.guarantee_.assumes if "positions" not in text and "by itself" not in text]
    assert own == [*TABLE, "labels are among the declared classes"]
    assert isinstance(model.schema_, Schema)
    assert model.schema_.names == tuple(FRAME.columns)
    if getattr(learner, "trust_model", "central") == "central":
        assert 1980 <= model.schema_.columns["year"].low <= 1992
        if not isinstance(learner, ConjunctionClassifier):  # years are no conjunction of two halves
            assert model.score(FRAME, LABELS) > 0.75
    assert "schema_" not in vars(fitted(learner, **declared(learner, model.schema_)))


def declared(learner, schema):
    return {"estimator__domain" if isinstance(learner, PrivateSearchCV) else "domain": schema}


@pytest.mark.first_by_day
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("learner", LEARNERS, ids=repr)
def test_tables_of_any_cells_are_fitted_and_predicted_and_one_without_types_is_refused(learner):
    rows = FRAME.to_numpy(dtype=object)
    for place, cell in enumerate([None, "text", np.inf, np.nan, b"x", (1,), [2], 10**400]):
        rows[place] = [cell] * 3
    learn = Learn({"year": "integers", "height": "numbers", "town": "categories"})
    model = fitted(learner, X=rows, **declared(learner, learn))
    assert model.guarantee_ == fitted(learner).guarantee_
    odd = pd.DataFrame(
        {"year": [None, "text", 1e300], "height": [np.inf, None, b"x"], "town": [None, 7, "moon"]}
    )
    assert set(model.predict(odd)) | set(model.predict(odd.to_numpy(dtype=object))) <= set(CLASSES)
    numbers, ledger = FRAME[["year", "height"]].to_numpy(dtype=object)[:1000], PrivacyLedger(20, 1e-3)
    with pytest.raises(TypeError, match="its 2 columns have no types"):
        fitted(learner, X=numbers, y=LABELS[:1000], ledger=ledger)
    text = pd.DataFrame({"age": pd.Series(["3"] * 100, dtype="string")})
    of_numbers = declared(learner, Learn({"age": "numbers"}))
    with pytest.raises(TypeError, match="has a type of text"):
        fitted(learner, text, LABELS[:100], **of_numbers, ledger=ledger)
    assert ledger.history() == []
    with pytest.warns(UserWarning, match="X is a list: its columns have no types"):
        clone(learner).fit(numbers[:60].tolist(), LABELS[:60])


@pytest.mark.parametrize("learner", CENTRAL, ids=repr)
def test_gaussian_learners_divide_mu2(learner):
    learner = clone(learner).set_params(delta=1e-6, epsilon=2)
    if isinstance(learner, StatisticalQueryNaiveBayes):
        learner.set_params(domain=Learn(["numbers"] * 60))  # Gaussian noise is for many columns
        plan = learner.plan(10**6, n_features=60)
    else:
        plan = learner.plan(10**6, n_features=3)
    assert isinstance(plan, SchemaFitPlan)
    whole = concentrated_budget(ApproxDP(2, Fraction(9, 10**7)))
    inner = gaussian_budget(ApproxDP(plan.rest.epsilon, plan.rest.delta))
    assert plan.schema.parts.event.rho <= plan.release.concentrated.rho
    together = Composition([plan.schema.parts.event, GaussianSums(inner)])
    assert 0.999 * plan.guarantee.epsilon < together.total(plan.rest.delta).epsilon <= plan.guarantee.epsilon
    assert inner > Fraction(97, 100) * whole  # as zero-concentrated parts the inner fit would have 90 %
    assert plan.release.concentrated.rho == pytest.approx(0.1 * whole, rel=0.001)
    assert plan.rest.delta + plan.schema.parts.failure == plan.guarantee.delta == Fraction("1e-6")
    assert concentrated_budget(ApproxDP(plan.schema.guarantee.epsilon, plan.rest.delta)) >= 0.99 * float(
        plan.release.concentrated.rho
    )


def test_a_plan_has_the_attributes_of_the_inner_plan():
    plan = AdditiveRegressor(target_range=(0, 1)).plan(20_000, n_features=10)
    assert (plan.resolution, plan.deviation) == (plan.inner.resolution, plan.inner.deviation)
    assert "0.1 of rho" in plan.division
    assert copy.deepcopy(plan).noise == "gaussian"
    with pytest.raises(AttributeError, match="tolerance"):
        _ = plan.tolerance


def test_the_warning_of_unlearned_ranges_tells_the_share_what_it_means_and_what_helps():
    X, y = np.random.default_rng(0).normal(size=(400, 9)), np.arange(400) % 2
    share = r"with epsilon 0\.29\d for the schema \(0\.1 of the sum of squares; the whole epsilon is 1\)"
    for delta, told in ((1e-6, share), (0, "with epsilon 0.1 for the schema")):
        with pytest.warns(UserWarning, match=f"{told}, numbers have no learned range") as warned:
            AdditiveClassifier(epsilon=1.0, delta=delta).fit(X, y)
        [text] = [str(each.message) for each in warned if "learned range" in str(each.message)]
        assert "a model may be no better than a constant" in text
        assert "; spend more epsilon, leave columns out, or declare domain=Schema(...); if a private" in text


def test_the_plan_and_the_warning_of_a_fit_name_the_same_number_of_records():
    X = FRAME[["year", "height"]][:1000]
    learner = AdditiveRegressor(epsilon=1.0, target_range=(1990, 2020), interactions=False)
    plan = learner.plan(1000, n_features=2)
    needed = plan.schema.n_needed
    assert needed == learner.plan(10**6, n_features=2).schema.n_needed
    with pytest.warns(UserWarning, match=f"; {needed} records are enough for a schema of all 2 columns"):
        learner.fit(X, FRAME["year"][:1000].to_numpy())
    assert any("no learned range" in text for text in learner.plan(needed - 1, n_features=2).warnings)
    assert learner.plan(needed, n_features=2).warnings == ()
    assert plan.n_needed == max(needed, plan.inner.n_needed) > 1000


def test_a_learner_that_plans_other_noise_with_the_released_schema_publishes_nothing(monkeypatch):
    """Its noise would cost more than the rest of the budget; no `-O` of Python leaves out the check."""
    own = logistic.LogisticFit.plan

    def plan(self, *given, **more):
        made = own(self, *given, **more)
        return replace(made, noise="laplace") if released else made

    released, release = [], schema_fits.SchemaRelease.run
    monkeypatch.setattr(
        schema_fits.SchemaRelease, "run", lambda self, *given: released.append(1) or release(self, *given)
    )
    learner = StatisticalQueryLogisticRegression(
        domain="learn", classes=CLASSES, ledger=PrivacyLedger(1, 1e-5)
    )
    monkeypatch.setattr(logistic.LogisticFit, "plan", plan)
    with pytest.raises(RuntimeError, match="other noise than its plan with the narrowest schema"):
        learner.fit(FRAME, LABELS)
    assert not hasattr(learner, "guarantee_")
    assert len(learner.ledger.history()) == 1


def test_a_search_learns_the_schema_once_and_before_any_candidate(monkeypatch):
    released = []
    release = schema_fits.SchemaRelease.run

    def counted(self, *given):
        found = release(self, *given)
        released.append(found.schema)
        return found

    monkeypatch.setattr(schema_fits.SchemaRelease, "run", counted)
    search = fitted(LEARNERS[-1])
    assert len(released) == 1
    assert search.best_estimator_.domain == search.schema_ == released[0]
    assert search.best_estimator_.guarantee_ == search.guarantee_
    assert (
        sum(each.epsilon for each in (search.budgets_["fit"], search.budgets_["refit"]))
        < Fraction(9, 10) * 15
    )
