"""Additive models: what they learn and refuse, and that no fit fails once it is paid."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.metrics import roc_auc_score

from dplearn import (
    AdditiveClassifier,
    AdditiveRegressor,
    ApproxDP,
    BudgetExceededError,
    LinearRegressor,
    PrivacyLedger,
)
from dplearn.chance import SeededDice
from dplearn.domains import Bits, Categories, DomainError, Floats, Grid, IntegerRange, Learn, Schema
from tests.changed import with_recipe

SETTINGS = [{}, {"delta": 0.0}]
AGES = IntegerRange(0, 40)


def classifier(**parameters):
    return AdditiveClassifier(
        **{"epsilon": 1e4, "classes": [0, 1], "domain": None, "random_state": 0} | parameters
    )


def regressor(**parameters):
    return AdditiveRegressor(
        **{"epsilon": 1e4, "target_range": (-2, 2), "domain": None, "random_state": 0} | parameters
    )


def effect(ages):
    """A bend that no straight line has."""
    return 1.5 - np.abs(ages - 20) / 7


def made(n, seed=0):
    """Two columns of effects, and a third that has none; the margins of the labels."""
    rng = np.random.default_rng(seed)
    X = np.empty((n, 3), dtype=object)
    X[:, 0], X[:, 1], X[:, 2] = rng.integers(0, 41, n), rng.choice(["a", "b", "c"], n), rng.integers(0, 41, n)
    margins = effect(X[:, 0].astype(float)) + np.where(X[:, 1] == "b", 1.0, -0.5)
    return X, margins, rng


DOMAIN = [AGES, Categories(["a", "b", "c"]), AGES]


@pytest.fixture(scope="module")
def fitted():
    X, margins, rng = made(8000)
    y = (rng.random(8000) < 1 / (1 + np.exp(-margins))).astype(int)
    return classifier(domain=DOMAIN).fit(X, y), X, margins, y


@pytest.mark.nightly
def test_two_labels_are_learned_at_large_epsilon():
    X, y = load_breast_cancer(return_X_y=True)
    model = classifier(interactions=False).fit(X[::2], y[::2])
    assert model.score(X[1::2], y[1::2]) > 0.92
    assert roc_auc_score(y[1::2], model.decision_function(X[1::2])) > 0.97


@pytest.mark.nightly
def test_many_labels_are_learned_at_large_epsilon():
    X, y = load_iris(return_X_y=True)
    model = classifier(classes=[0, 1, 2], domain=Grid(0, 8, size=81)).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.decision_function(X).shape == (150, 3)
    assert model.shapes_[0].effects.shape[1] == 3
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(1)


def test_numbers_are_learned_at_large_epsilon():
    X, y = load_diabetes(return_X_y=True)
    model = AdditiveRegressor(
        epsilon=1e4, target_range=(0, 400), domain=Grid(-0.2, 0.2, size=100), random_state=0
    ).fit(X, y)
    assert model.score(X, y) > 0.45
    assert (model.predict(X) >= 0).all()


@pytest.mark.parametrize(("epsilon", "delta", "least"), [(1.0, 1e-6, 0.75), (4.0, 0.0, 0.7)])
def test_shapes_are_learned_at_small_epsilons(epsilon, delta, least, fitted):
    _, X, margins, y = fitted
    model = classifier(domain=DOMAIN, epsilon=epsilon, delta=delta).fit(X, y)
    assert model.noise_ == ("gaussian" if delta else "laplace")
    assert np.corrcoef(model.decision_function(X), margins)[0, 1] > least


def test_shapes_recover_known_effects(fitted):
    model, X, margins, _ = fitted
    ages, towns, nothing = model.shapes_
    known = effect(np.arange(41.0))
    assert ages.effects == pytest.approx(known - known.mean(), abs=0.45)
    assert np.corrcoef(ages.effects, known)[0, 1] > 0.95
    assert towns.effects[1] - towns.effects[[0, 2]] == pytest.approx([1.5, 1.5], abs=0.4)
    assert np.abs(nothing.effects).max() < 0.3
    assert ages.importance > towns.importance > nothing.importance
    assert [shape.name for shape in model.shapes_] == ["x0", "x1", "x2"]
    assert ages.masses.sum() == pytest.approx(1)
    assert ages.masses @ ages.effects == pytest.approx(0, abs=1e-9)
    assert towns.masses == pytest.approx([1 / 3] * 3, abs=0.03)
    assert (ages.deviations > 0).all()
    assert np.corrcoef(model.decision_function(X), margins)[0, 1] > 0.97


def test_margins_are_the_sums_of_intercept_and_effects(fitted):
    model, X, _, _ = fitted
    cells = [
        shape.column.of(codes)
        for shape, codes in zip(model.shapes_, model.domain_.nearest(X[:9]), strict=True)
    ]
    total = model.intercept_[0] + sum(
        shape.effects[cell] for shape, cell in zip(model.shapes_, cells, strict=True)
    )
    total += model.interactions_.margins(np.stack(cells, axis=1))[:, 0]
    assert model.decision_function(X[:9]) == pytest.approx(total)


def test_effects_explain_each_prediction():
    iris, diabetes = load_iris(return_X_y=True), load_diabetes(return_X_y=True)
    diabetes = diabetes[0][:, 2:5], diabetes[1]  # ten columns have 45 pairs, and take seconds
    coarse = {"domain": Grid(0, 8, size=17, outside="clip")}
    three = classifier(classes=[0, 1, 2], interactions=False, **coarse).fit(*iris)
    found = three.effects(iris[0])
    assert found.shape == (150, 4, 3)
    np.testing.assert_allclose(three.intercept_ + found.sum(axis=1), three.decision_function(iris[0]))
    numbers = regressor(target_range=(0, 400), domain=Grid(-1, 1, size=17, outside="clip")).fit(*diabetes)
    rest = numbers._sums(numbers._cells(diabetes[0]))[:, 0] - numbers.effects(diabetes[0]).sum(axis=1)
    joint = (
        0
        if numbers.interactions_ is None
        else numbers.interactions_.margins(numbers._cells(diabetes[0]))[:, 0]
    )
    np.testing.assert_allclose(rest, numbers.intercept_[0] + joint)
    both = classifier(**coarse).fit(iris[0][:, :2], np.column_stack([iris[1] > 0, iris[1] > 1]).astype(int))
    assert not hasattr(both, "effects")
    assert both.estimators_[1].effects(iris[0][:, :2]).shape == (150, 2)


def test_a_value_in_no_cell_has_no_effect():
    X, margins, _ = made(2000)
    model = classifier(domain=DOMAIN, interactions=False).fit(X, (margins > 0).astype(int))
    rows = np.array([[3, "b", 40], [3, "unheard of", 99]], dtype=object)
    found = model.effects(rows)
    assert found[1, 1] == 0
    assert found[1, [0, 2]].tolist() == found[0, [0, 2]].tolist()
    np.testing.assert_allclose(model.intercept_ + found.sum(axis=1), model.decision_function(rows))


def test_probabilities_are_calibrated_at_large_epsilon(fitted):
    model, X, _, y = fitted
    likely = model.predict_proba(X)[:, 1]
    for low in (0.1, 0.3, 0.5, 0.7):
        among = (likely >= low) & (likely < low + 0.2)
        assert among.sum() > 100
        assert y[among].mean() == pytest.approx(likely[among].mean(), abs=0.07)
    assert np.exp(model.predict_log_proba(X[:5])) == pytest.approx(model.predict_proba(X[:5]))
    assert ((likely > 0.5) == model.predict(X)).mean() > 0.99


@pytest.mark.first_by_day
@pytest.mark.parametrize("epsilon", [1.0, 1e4])
def test_prediction_intervals_cover_new_targets(epsilon):
    X, margins, rng = made(6000)
    y = (margins / 2 + 0.3 * rng.normal(size=6000)).clip(-2, 2)
    model = regressor(domain=DOMAIN, epsilon=epsilon).fit(X[:4000], y[:4000])
    low, high = model.predict_interval(X[4000:], beta=0.1).T
    assert 0.85 < np.mean((low <= y[4000:]) & (y[4000:] <= high)) <= 1
    assert (low >= -2).all()
    assert (high <= 2).all()
    assert (np.diff(model.predict_interval(X[:9], beta=0.5)) <= (high - low).max()).all()
    if epsilon > 1:
        assert model.score(X[4000:], y[4000:]) > 0.7
        assert model.residual_std_ == pytest.approx(0.3, rel=0.35)
        assert model.shapes_[0].effects == pytest.approx(
            (effect(np.arange(41.0)) - effect(np.arange(41.0)).mean()) / 2, abs=0.4
        )


def test_missing_values_have_an_effect_of_their_own():
    rng = np.random.default_rng(0)
    debt = np.where(rng.random(4000) < 0.4, np.nan, rng.uniform(0, 100, 4000))
    y = np.isnan(debt).astype(int)
    model = classifier(domain=Grid(0, 100, missing=True)).fit(debt[:, None], y)
    assert model.score(debt[:, None], y) > 0.99
    assert model.shapes_[0].cells[0] == "missing"
    assert np.isnan(model.shapes_[0].values[0])
    with pytest.raises(DomainError):
        classifier(domain=Grid(0, 100)).fit(debt[:, None], y)


def test_a_frame_is_read_by_its_schema_and_unknown_values_have_no_effect():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(0, 41, 600), "town": rng.choice(["a", "b"], 600)})
    schema = Schema({"age": AGES, "town": Categories(["a", "b"])})
    model = classifier(domain=schema, interactions=False).fit(frame, (frame["town"] == "a").astype(int))
    assert [shape.name for shape in model.shapes_] == ["age", "town"]
    assert model.feature_names_in_.tolist() == ["age", "town"]
    moon = frame.head(1).assign(town="moon")
    alone = model.intercept_[0] + model.shapes_[0].effects[int(moon["age"].iloc[0])]
    assert model.decision_function(moon) == pytest.approx([alone])
    far = model.decision_function(frame.head(1).assign(age=400))
    assert far == pytest.approx(model.decision_function(frame.head(1).assign(age=40)))
    with pytest.raises(DomainError, match="in column 'age'"):
        classifier(domain=schema).fit(frame.assign(age=99), np.arange(600) % 2)


def rare(seed, n=20_000, rate=0.05):
    """A table of two labels of which the second is rare, and its effects of both columns."""
    rng = np.random.default_rng(seed)
    towns = rng.choice(["north", "south", "west"], n, p=[0.6, 0.3, 0.1])
    frame = pd.DataFrame({"town": towns, "sex": rng.choice(["m", "f"], n), "age": rng.integers(18, 80, n)})
    margins = np.log(rate / (1 - rate)) + (towns == "south") * 1.5 - (frame["sex"] == "f") * 1.5
    return frame, (rng.random(n) < 1 / (1 + np.exp(-margins))).astype(int)


def cells_apart(shape, listed):
    """Which cells of a shape of categories are of none of the listed ones."""
    return np.array([not any(repr(value) in cell for value in listed) for cell in shape.cells])


@pytest.mark.first_by_day
@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_categories_without_records_have_no_confident_effects(seed, epsilon, flipped, learned):
    frame, y = rare(seed)
    y = 1 - y if flipped else y
    unused = [f"unused {place}" for place in range(6)]
    towns, sexes = ["north", "south", "west"], ["f", "m"]
    schema = Schema(
        {"town": Categories(towns + unused), "sex": Categories(sexes + unused), "age": IntegerRange(18, 79)}
    )
    domain = "learn" if learned else schema
    model = classifier(epsilon=epsilon, domain=domain, random_state=seed).fit(frame, y)
    unknown = 0  # variance of the log-odds of a record of categories without records
    for shape, listed in zip(model.shapes_, (towns, sexes), strict=False):
        apart = cells_apart(shape, listed)
        assert apart.sum() == (2 if learned else 6)
        effects, deviations = np.abs(shape.effects[apart]), shape.deviations[apart]
        unknown += (deviations**2).max()
        assert (effects <= 1.5 * deviations).all()
        known = shape.deviations[~apart]
        assert deviations.min() > 0.05
        assert np.median(deviations) > 1.5 * np.median(known)
        assert shape.importance < 1
    rows = frame.head(500)
    usual = model.decision_function(rows).mean()
    odd = rows.assign(town=None if learned else unused[0], sex="unknown" if learned else unused[1])
    assert model.decision_function(odd).mean() == pytest.approx(usual, abs=unknown**0.5)


def test_undeclared_columns_and_labels_are_assumptions():
    X = np.random.default_rng(0).normal(size=(300, 2))
    undeclared = AdditiveClassifier(domain=None, random_state=0).fit(X, np.arange(300) % 2)
    declared = AdditiveClassifier(classes=[0, 1], domain=Grid(-9, 9), random_state=0).fit(
        X, np.arange(300) % 2
    )
    assert any("labels" in each for each in undeclared.guarantee_.assumes)
    assert any("from -9 to 9" in each for each in declared.guarantee_.assumes)
    assert declared.guarantee_.assumes != undeclared.guarantee_.assumes
    number = regressor().fit(X, X[:, 0].clip(-2, 2))
    assert any("from -2.0 to 2.0" in each for each in number.guarantee_.assumes)
    assert {model.guarantee_.neighbors for model in (undeclared, declared, number)} == {"replace_one"}


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_ledger_is_charged_with_the_guarantee(settings):
    ledger = PrivacyLedger(1, 1e-6)
    X = np.random.default_rng(0).normal(size=(200, 2))
    model = AdditiveClassifier(domain=None, classes=[0, 1], ledger=ledger, **settings)
    model.fit(X, np.arange(200) % 2)
    assert ledger.spent().epsilon == model.guarantee_.epsilon == 1
    assert ledger.spent().delta == model.guarantee_.delta
    with pytest.raises(BudgetExceededError):
        clone(model).fit(X, np.arange(200) % 2)


TABLES = {
    "one row": np.ones((1, 2)),
    "two rows": np.array([[1.0, 2.0], [3.0, 4.0]]),
    "one column": np.arange(60.0)[:, None],
    "constant": np.full((60, 3), 7.0),
    "edges": np.array([[1e308, -1e308, 5e-324], [0.0, -0.0, 1.7e308]] * 30),
}


@pytest.mark.parametrize("epsilon", [1e-20, 1e-9, 1.0, 1e12])
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize(("n_labels", "interactions"), [(2, True), (3, True), (3, "auto"), (0, True)])
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.filterwarnings("ignore:n_samples is")
def test_no_fit_of_a_small_table_fails_once_it_is_paid(table, n_labels, interactions, settings, epsilon):
    X = TABLES[table]
    y = np.arange(len(X)) % max(n_labels, 2)
    ledger = PrivacyLedger(1e13, 0.5)
    given = {
        "epsilon": epsilon,
        "interactions": interactions,  # "auto" of three labels and few records: a linear fit
        "random_state": None,
        "ledger": ledger,
        **settings,
    }
    model = classifier(**given, classes=range(n_labels)) if n_labels else regressor(**given)
    with np.errstate(all="raise"):
        predicted = model.fit(X, y).predict(X)
    assert ledger.spent().epsilon == ApproxDP(epsilon).epsilon
    assert len(predicted) == len(X)
    for shape in model.shapes_:
        assert np.isfinite(shape.effects).all()
        assert np.isfinite(shape.deviations).all()
        assert shape.masses.sum() == pytest.approx(1)
    assert np.isfinite(model.intercept_).all()


@pytest.mark.parametrize("settings", SETTINGS[1:], ids=str)
def test_an_epsilon_too_small_for_floats_is_refused_before_it_is_paid(settings):
    X, y = np.ones((200, 1)), np.arange(200) % 2
    ledger = PrivacyLedger(1, 0.1)
    with pytest.raises(ValueError, match="epsilon must be large enough"):
        classifier(epsilon=1e-25, random_state=None, ledger=ledger, **settings).fit(X, y)
    assert ledger.spent().epsilon == 0


@pytest.mark.parametrize(("d", "k"), [(12_000, 2), (300, 4096)])
def test_a_fit_that_needs_too_much_memory_is_refused_before_it_is_paid(d, k):
    with pytest.raises(ValueError, match=r"fewer columns, or y fewer labels|at most 2097152 cells"):
        AdditiveClassifier(domain=Bits(None)).plan(2000, n_features=d, n_labels=k)


def test_more_labels_than_steps_of_a_residual_are_planned_for():
    plan = AdditiveClassifier(domain=Bits(None)).plan(100_000, n_features=1, n_labels=5000)
    assert plan.loss.target_reach > 0


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_the_plan_is_that_of_the_fit_and_its_noise_is_drawn(settings):
    X = np.random.default_rng(0).normal(size=(300, 2))
    model = classifier(epsilon=1.0, **settings)
    plan = model.plan(300, n_features=2)
    seen = []

    def spied(own):
        return lambda self, summary, plan, dice: seen.append(plan) or own(self, summary, plan, dice)

    Spy = with_recipe(AdditiveClassifier, run=spied)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Spy(**model.get_params()).fit(X, np.arange(300) % 2)
    assert seen == [plan]
    assert tuple(str(each.message) for each in caught) == plan.warnings
    assert seen[0].shares == plan.shares
    assert model.fit(X, np.arange(300) % 2).guarantee_ == plan.guarantee


def test_a_fit_of_few_records_warns_by_public_numbers():
    plan = classifier(epsilon=0.1).plan(50, n_features=3)
    assert plan.resolution < 10
    assert plan.warnings[0].startswith("n_samples is 50: noise is larger than the signal for 3 columns")
    assert "the `resolution` is 0.5, and should be at least 10; plan(" in plan.warnings[0]
    assert classifier(epsilon=0.1).plan(10**6, n_features=3).warnings == ()


def test_even_one_record_of_two_labels_has_a_warning():
    one = AdditiveClassifier(classes=[0, 1], domain=Grid(0, 1))
    with pytest.warns(UserWarning, match="n_samples is 1: noise is larger"):
        one.fit([[0.5]], [1])


def test_the_least_resolution_depends_on_the_target():
    for make, least in ((classifier, 10), (regressor, 20)):
        learner = make(epsilon=1.0, delta=1e-6)
        plans = [learner.plan(n, n_features=5) for n in np.geomspace(100, 10**6, 60).astype(int)]
        assert {plan.least_resolution for plan in plans} == {least}
        assert all((plan.warnings == ()) == (plan.resolution >= least) for plan in plans)
        assert 0 < sum(plan.warnings == () for plan in plans) < 60


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_n_needed_suffices_for_the_deviation(settings):
    model = classifier(epsilon=1.0, **settings)
    needed = model.plan(100, n_features=4).n_needed
    assert model.plan(needed, n_features=4).deviation <= 0.005
    assert model.plan(needed * 9 // 10, n_features=4).deviation > 0.005


def test_a_fitted_model_keeps_no_record():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    y = (X[:, 0] > 0).astype(int)
    for model in (classifier(epsilon=1.0).fit(X, y), regressor(epsilon=1.0).fit(X, y)):
        kept = pickle.dumps(model)
        assert len(kept) < 300_000
        assert not {"_summary", "_rows", "_oracle"} & vars(model).keys()
        again = pickle.loads(kept)
        assert (again.predict(X) == model.predict(X)).all()
        arrays = [
            part
            for shape in model.shapes_
            for part in (shape.effects, shape.deviations, shape.masses, shape.values)
        ]
        assert all(
            2000 not in (np.asarray(each.base).shape if each.base is not None else ()) for each in arrays
        )


def test_the_same_seed_gives_the_same_model_and_says_so():
    X = np.random.default_rng(0).normal(size=(300, 2))
    one, other = (classifier(epsilon=1.0).fit(X, np.arange(300) % 2) for _ in range(2))
    assert (one.decision_function(X) == other.decision_function(X)).all()
    assert one.guarantee_.reproducible
    assert one.guarantee_ == ApproxDP(1, "1e-6", assumes=one.guarantee_.assumes, reproducible=True)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"epsilon": 0}, "epsilon"),
        ({"delta": 2}, "delta"),
        ({"classes": [0]}, "at least 2 class"),
        ({"interactions": "yes"}, "interactions must be 'auto', True or False, got 'yes'"),
        ({"interactions": 1}, "interactions must be 'auto', True or False, got 1"),
        ({"interactions": None}, "interactions must be"),
        ({"interactions": np.array(["auto"] * 2)}, "interactions must be"),
    ],
    ids=str,
)
def test_invalid_parameters_are_refused(parameters, message):
    X = np.zeros((60, 1))
    with pytest.raises((ValueError, TypeError), match=message):
        classifier(**parameters).fit(X, np.zeros(60, dtype=int))


def test_interactions_may_be_a_boolean_of_numpy():
    for given in (True, False):
        plans = [classifier(interactions=kind(given)).plan(50, n_features=2) for kind in (bool, np.bool_)]
        assert plans[0].n_joint == plans[1].n_joint == 48 * given


def test_a_target_outside_its_range_is_refused_or_clipped():
    X, y = np.zeros((60, 1)), np.linspace(-3, 3, 60)
    with pytest.raises(DomainError, match="clip_target"):
        regressor().fit(X, y)
    assert regressor(clip_target=True).fit(X, y).predict(X) == pytest.approx(0, abs=0.5)


def test_residuals_are_clipped_unless_noise_is_small():
    assert classifier(epsilon=1.0).plan(1000, n_features=3).loss.reach == 2048
    assert classifier(epsilon=1e6).plan(10**6, n_features=3).loss.reach == 4096
    X = np.zeros((300, 1))
    assert classifier(epsilon=1.0).fit(X, np.arange(300) % 2).residual_clip_ == 0.5


def test_the_domain_of_undeclared_columns_is_of_all_floats():
    model = classifier().fit(np.array([[1e300], [-5.0]] * 9), [0, 1] * 9)
    assert model.domain_.domains[0] == Floats()
    model._fit(np.array([[1e300], [-5.0]] * 9), [0, 1] * 9, SeededDice(0))
    assert model.predict(np.array([[1e300], [-5.0]])).tolist() == [0, 1]


@pytest.mark.parametrize("kind", [AdditiveRegressor, LinearRegressor])
def test_a_range_far_too_wide_for_the_target_is_reported_by_released_values(kind):
    rng = np.random.default_rng(0)
    X = rng.random((20_000, 3))
    y = 40 * X[:, 0] + rng.normal(0, 20, 20_000)
    text = r"n_samples is 20000: the released spread of the residuals is within the noise .*\(0, 1e\+12\)"
    wide = kind(epsilon=1.0, domain=Grid(0, 1, 9), target_range=(0, 1e12), clip_target=True)
    wide.set_params(**({"interactions": False} if kind is AdditiveRegressor else {}))
    with pytest.warns(UserWarning, match=text):
        wide.set_params(random_state=0).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = wide.set_params(target_range=(-100, 200)).fit(X, y)
        assert model.score(X, y) > 0.15
        model.fit(X, 100 * X[:, 0])  # a relation without residuals


@pytest.mark.parametrize("kind", [AdditiveRegressor, LinearRegressor])
@pytest.mark.parametrize("bounds", [(-1e100, 1e100), (0, 1e-100)])
def test_the_greatest_and_closest_ranges_have_finite_predictions(kind, bounds):
    X = np.random.default_rng(0).random((300, 2))
    y = bounds[0] + X[:, 0] * (bounds[1] - bounds[0])
    model = kind(epsilon=50.0, domain=Grid(0, 1), target_range=bounds, random_state=0)
    with np.errstate(all="raise"):
        model.fit(X, y)
        intervals = model.predict_interval(X)
    assert np.isfinite(model.predict(X)).all()
    assert (intervals[:, 0] < intervals[:, 1]).all()
    assert model.score(X, y) > 0.3


def test_a_range_beyond_floats_is_refused_before_the_charge():
    ledger = PrivacyLedger(10, 1e-3)
    for kind in (AdditiveRegressor, LinearRegressor):
        with pytest.raises(ValueError, match="magnitudes up to 1e"):
            kind(target_range=(-1.7e308, 1.7e308), ledger=ledger).fit(np.zeros((9, 1)), np.zeros(9))
    assert ledger.history() == []


def several(n=6000, seed=0):
    """Three labels: of two labels, of three, and rare."""
    X, margins, rng = made(n, seed)
    ages = X[:, 2].astype(float) + rng.normal(0, 6, n)
    Y = np.empty((n, 3), dtype=object)
    Y[:, 0] = np.where(rng.random(n) < 1 / (1 + np.exp(-margins)), "yes", "no")
    Y[:, 1] = np.digitize(ages, [13, 27])
    Y[:, 2] = (rng.random(n) < np.where(X[:, 1] == "b", 0.3, 0.02)).astype(int)
    return X, Y


SETS = [["no", "yes"], [0, 1, 2], [0, 1]]


@pytest.mark.parametrize("settings", [{"epsilon": 5.0}, {"epsilon": 30.0, "delta": 0.0}], ids=str)
def test_several_outputs_are_learned_by_one_fit(settings):
    X, Y = several()
    model = classifier(domain=DOMAIN, classes=SETS, **settings).fit(X, Y)
    assert model.guarantee_.epsilon == settings["epsilon"]
    assert [each.tolist() for each in model.classes_] == SETS
    predicted = model.predict(X)
    assert predicted.shape == Y.shape
    shares = (predicted == Y).mean(axis=0)
    most = [np.unique(column.astype(str), return_counts=True)[1].max() / len(Y) for column in Y.T]
    assert (shares[:2] > np.array(most[:2]) + 0.08).all()
    assert model.score(X, Y) == np.mean((predicted == Y).all(axis=1))
    likely = model.predict_proba(X)
    assert [each.shape[1] for each in likely] == [2, 3, 2]
    assert all(each.sum(axis=1) == pytest.approx(1) for each in likely)
    assert [np.log(each).tolist() for each in likely] == [
        each.tolist() for each in model.predict_log_proba(X)
    ]
    assert roc_auc_score(Y[:, 2].astype(int), likely[2][:, 1]) > 0.7
    assert not hasattr(model, "decision_function")
    assert not hasattr(model, "shapes_")


def test_each_output_has_a_fitted_model_of_its_own():
    X, Y = several(1000)
    model = classifier(domain=DOMAIN, classes=SETS, epsilon=10.0).fit(X, Y)
    assert [each.classes_.tolist() for each in model.estimators_] == SETS
    for place, each in enumerate(model.estimators_):
        assert each.guarantee_ == model.guarantee_
        assert each.n_features_in_ == 3
        assert each.ledger is None
        assert (each.predict(X) == model.predict(X)[:, place]).all()
        assert (each.predict_proba(X) == model.predict_proba(X)[place]).all()
        assert each.shapes_[0].masses.tolist() == model.estimators_[0].shapes_[0].masses.tolist()
    assert pickle.loads(pickle.dumps(model)).predict(X[:5]).tolist() == model.predict(X[:5]).tolist()


def test_one_column_of_labels_is_one_output():
    X, Y = several(500)
    one = classifier(domain=DOMAIN, classes=["no", "yes"]).fit(X, Y[:, 0])
    two = classifier(domain=DOMAIN, classes=[["no", "yes"]]).fit(X, Y[:, 0])
    assert one.intercept_ == two.intercept_
    assert two.classes_.tolist() == ["no", "yes"]


def test_the_plan_of_several_outputs_is_that_of_the_fit():
    X, Y = several(1000)
    ledger = PrivacyLedger(1, 1e-6)
    model = AdditiveClassifier(domain=DOMAIN, classes=SETS, ledger=ledger).fit(X, Y)
    plan = AdditiveClassifier(domain=DOMAIN, classes=SETS).plan(1000, n_outputs=3)
    assert plan.guarantee == model.guarantee_
    assert ledger.spent().epsilon == 1
    assert len(ledger.history()) == 1
    one = AdditiveClassifier(domain=DOMAIN, classes=[0, 1]).plan(1000)
    many = AdditiveClassifier(domain=DOMAIN, classes=[0, 1]).plan(1000, n_outputs=4)
    assert many.resolution == pytest.approx(one.resolution / 2, rel=0.01)
    assert many.deviation == pytest.approx(2 * one.deviation, rel=0.01)
    assert many.n_needed > 1.9 * one.n_needed
    assert many.shares == one.shares
    given = AdditiveClassifier().plan(1000, n_features=3, n_labels=2, n_outputs=4)
    assert given.n_outputs == 4


LEARNED = Learn(["numbers", "categories", "numbers"])


@pytest.mark.parametrize("domain", [LEARNED, pytest.param(DOMAIN, marks=pytest.mark.nightly)])
def test_outputs_of_a_table_in_parts_and_of_a_learned_schema(domain):
    X, Y = several(900)
    parts = [slice(0, 400), slice(400, 400), slice(400, 900)]
    known = {"domain": domain, "epsilon": 10.0, "random_state": 0}
    whole = AdditiveClassifier(**known).fit(X, Y)
    cut = AdditiveClassifier(**known).fit([X[here] for here in parts], [Y[here] for here in parts])
    assert [each.tolist() for each in whole.classes_] == SETS
    assert [each.tolist() for each in cut.classes_] == SETS
    for one, other in zip(whole.estimators_, cut.estimators_, strict=True):
        assert one.shapes_[0].effects.tolist() == other.shapes_[0].effects.tolist()
    assert hasattr(whole, "schema_") == (domain is LEARNED)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"classes": SETS[:2]}, "a label set for each of 3 outputs, got 2"),
        ({"classes": [["no", "yes"], [0, 1], [0, 1]]}, "not among the declared classes"),
        ({"classes": [["no", "yes"], [0, 1, 2], [0]]}, "not among the declared classes"),
    ],
)
def test_outputs_that_cannot_be_fitted_are_refused_before_a_charge(change, words):
    X, Y = several(200)
    ledger = PrivacyLedger(1, 1e-6)
    parameters = {"domain": DOMAIN, "classes": SETS, "ledger": ledger} | change
    with pytest.raises(ValueError, match=words):
        AdditiveClassifier(**parameters).fit(X, Y)
    assert ledger.history() == []


@pytest.mark.parametrize("classes", [None, [[0, 1], [0, 1]], [0, 1]])
def test_parts_with_other_numbers_of_outputs_are_refused_before_a_charge(classes):
    X, ledger = np.arange(40.0).reshape(20, 2), PrivacyLedger(1, 1e-6)
    Y = np.tile([[0, 1], [1, 0]], (10, 1))
    learner = AdditiveClassifier(domain=Grid(0, 40), classes=classes, ledger=ledger)
    with pytest.raises(ValueError, match="outputs"):
        learner.fit([X[:10], X[10:]], [Y[:10], Y[10:, 0]])
    assert ledger.history() == []


def test_other_outputs_change_no_fit_of_one_output_by_much():
    """Residuals that are shortened together distort no output where noise is small."""
    X, Y = several(6000)
    alone = classifier(domain=DOMAIN, classes=["no", "yes"]).fit(X, Y[:, 0])
    joint = classifier(domain=DOMAIN, classes=SETS).fit(X, Y).estimators_[0]
    # .971 to .984 in six fits.
    assert np.corrcoef(alone.decision_function(X), joint.decision_function(X))[0, 1] > 0.96


def test_a_later_fit_leaves_nothing_of_an_earlier_one():
    X, y = load_iris(return_X_y=True)
    given = {"domain": Grid(0, 8, size=81), "random_state": 0}
    model = AdditiveClassifier(**given).fit(X, y)
    model.fit(X, np.column_stack([y, y > 0]))
    assert not {"shapes_", "intercept_", "interactions_"} & vars(model).keys()
    model.fit(X, y)
    assert "estimators_" not in vars(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # too few records for learned ranges
        model.set_params(domain="learn").fit(X, y)
    assert "schema_" in vars(model)
    assert "schema_" not in vars(model.set_params(domain=given["domain"]).fit(X, y))


@pytest.mark.parametrize("domain", ["learn", Grid(0, 8, size=81)])
def test_the_sets_of_labels_of_several_outputs_are_assumed_to_be_public(domain):
    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model = AdditiveClassifier(domain=domain, random_state=0).fit(X, np.column_stack([y, y > 0]))
    assert any("set of labels" in text for text in model.guarantee_.assumes)
