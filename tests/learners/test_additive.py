"""Additive models: what they learn, how effects make predictions, intervals, outputs, weights and counts."""

import math
import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_classification
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import mean_poisson_deviance, recall_score, roc_auc_score
from sklearn.utils.class_weight import compute_class_weight

from dplearn import AdditiveClassifier, AdditiveRegressor, LinearRegressor, PrivacyLedger
from dplearn.audit import fitted_with
from dplearn.chance import SeededDice
from dplearn.domains import Categories, DomainError, Grid, IntegerRange, Schema
from dplearn.privacy import ApproxDP

AGES = IntegerRange(0, 40)
TWENTY = IntegerRange(0, 20)


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
    X, margins, rng = made(6000)
    y = (rng.random(6000) < 1 / (1 + np.exp(-margins))).astype(int)
    return classifier(domain=DOMAIN).fit(X, y), X, margins, y


@pytest.mark.parametrize(("epsilon", "delta", "least"), [(1.0, 1e-6, 0.75), (4.0, 0.0, 0.7)])
def test_shapes_are_learned_at_small_epsilons(epsilon, delta, least, fitted):
    _, X, margins, y = fitted
    model = classifier(domain=DOMAIN, epsilon=epsilon, delta=delta).fit(X, y)
    assert (model.noise_, model.residual_clip_) == (("gaussian", 0.5) if delta else ("laplace", 1.0))
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
    assert ages.masses.sum() == pytest.approx(1)
    assert ages.masses @ ages.effects == pytest.approx(0, abs=1e-9)
    assert towns.masses == pytest.approx([1 / 3] * 3, abs=0.03)
    assert (ages.deviations > 0).all()
    assert np.corrcoef(model.decision_function(X), margins)[0, 1] > 0.97


def test_effects_and_interactions_sum_to_each_prediction(fitted):
    model, X, _, _ = fitted
    cells = np.stack(
        [
            shape.column.of(codes)
            for shape, codes in zip(model.shapes_, model.domain_.nearest(X[:9]), strict=True)
        ],
        axis=1,
    )
    effects = np.stack([s.effects[cell] for s, cell in zip(model.shapes_, cells.T, strict=True)], axis=1)
    assert model.effects(X[:9]) == pytest.approx(effects)
    total = model.intercept_[0] + effects.sum(axis=1) + model.interactions_.margins(cells)[:, 0]
    assert model.decision_function(X[:9]) == pytest.approx(total)


@pytest.mark.first_by_day
@pytest.mark.parametrize("epsilon", [1.0, 1e4])
def test_prediction_intervals_cover_new_targets(epsilon):
    X, margins, rng = made(6000)
    y = (margins / 2 + 0.3 * rng.normal(size=6000)).clip(-2, 2)
    model = regressor(domain=DOMAIN, epsilon=epsilon).fit(X[:4000], y[:4000])
    low, high = model.predict_interval(X[4000:], beta=0.1).T
    assert 0.85 < np.mean((low <= y[4000:]) & (y[4000:] <= high)) <= 1
    assert np.array_equal([low, high], np.clip([low, high], -2, 2))
    assert (np.diff(model.predict_interval(X[:9], beta=0.5)) <= (high - low).max()).all()
    if epsilon > 1:
        assert model.score(X[4000:], y[4000:]) > 0.7
        assert model.residual_std_ == pytest.approx(0.3, rel=0.35)


def test_prediction_intervals_move_with_the_range_of_the_target():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, (300, 2)), rng.uniform(0, 10, 300)
    both = []
    for start in (0, 100):
        model = regressor(domain=IntegerRange(0, 8), target_range=(start, start + 10), random_state=0)
        both.append(np.array(model.fit(X, y + start).predict_interval(X[:9])) - start)
    assert both[0] == pytest.approx(both[1], abs=0.2)  # steps of the target are rounded
    assert np.ptp(both[0]) > 1


def test_prediction_intervals_are_wider_than_the_residuals_only_beyond_the_usual_noise_of_effects():
    X = np.random.default_rng(0).integers(0, 5, (2000, 2))
    model = regressor(domain=IntegerRange(0, 4), target_range=(-1, 2), interactions=False, random_state=0)
    low, high = model.fit(X, X.sum(axis=1) / 8).predict_interval(X, beta=0.1).T
    narrowest = 2 * 1.6448536 * model.residual_std_
    assert (high - low).min() == pytest.approx(narrowest, rel=1e-6)
    assert (high - low).max() > narrowest


def test_missing_values_have_an_effect_of_their_own():
    rng = np.random.default_rng(0)
    debt = np.where(rng.random(4000) < 0.4, np.nan, rng.uniform(0, 100, 4000))
    y = np.isnan(debt).astype(int)
    model = classifier(domain=Grid(0, 100, missing=True)).fit(debt[:, None], y)
    assert model.score(debt[:, None], y) > 0.99
    assert model.shapes_[0].cells[0] == "missing"
    assert np.isnan(model.shapes_[0].values[0])


def test_a_frame_is_read_by_its_schema_and_unknown_values_have_no_effect():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(0, 41, 600), "town": rng.choice(["a", "b"], 600)})
    schema = Schema({"age": AGES, "town": Categories(["a", "b"])})
    model = classifier(domain=schema, interactions=False).fit(frame, np.where(frame["town"] == "a", 1, 0))
    assert [shape.name for shape in model.shapes_] == ["age", "town"]
    moon = frame.head(1).assign(town="moon")
    alone = model.intercept_[0] + model.shapes_[0].effects[int(moon["age"].iloc[0])]
    assert model.decision_function(moon) == pytest.approx([alone])
    assert model.effects(moon)[0, 1] == 0
    far = model.decision_function(frame.head(1).assign(age=400))
    assert far == pytest.approx(model.decision_function(frame.head(1).assign(age=40)))


def rare(seed, flipped, n=20_000):
    """A table with effects of two columns, and two labels of which the second, or the first, is rare."""
    rng = np.random.default_rng(seed)
    towns = rng.choice(["north", "south", "west"], n, p=[0.6, 0.3, 0.1])
    frame = pd.DataFrame({"town": towns, "sex": rng.choice(["m", "f"], n), "age": rng.integers(18, 80, n)})
    margins = -3 + (towns == "south") * 1.5 - (frame["sex"] == "f").to_numpy() * 1.5
    return frame, ((rng.random(n) < 1 / (1 + np.exp(-margins))) ^ flipped).astype(int)


@pytest.mark.first_by_day
@pytest.mark.parametrize("learned", [False, True])
@pytest.mark.parametrize("flipped", [False, True])
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.parametrize("seed", range(3))
def test_categories_without_records_have_no_confident_effects(seed, epsilon, flipped, learned):
    frame, y = rare(seed, flipped)
    unused = [f"unused {place}" for place in range(6)]
    towns, sexes = ["north", "south", "west"], ["f", "m"]
    schema = Schema(
        {"town": Categories(towns + unused), "sex": Categories(sexes + unused), "age": IntegerRange(18, 79)}
    )
    domain = "learn" if learned else schema
    model = classifier(epsilon=epsilon, domain=domain, random_state=seed).fit(frame, y)
    unknown = 0  # variance of the log-odds of a record of categories without records
    for shape, listed in zip(model.shapes_, (towns, sexes), strict=False):
        apart = np.array([not any(repr(value) in cell for value in listed) for cell in shape.cells])
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


KINDS_OF_FITS = {
    "two labels": classifier(interactions=True),
    "three labels": classifier(classes=[0, 1, 2], interactions=True),
    "three labels, lines": classifier(classes=[0, 1, 2]),
    "numbers": regressor(interactions=True),
    "counts": regressor(loss="poisson", target_range=(-5, 5e-324), clip_target=True),
}
TABLES = {
    "one row": np.ones((1, 2)),
    "two rows": np.array([[1.0, 2.0], [3.0, 4.0]]),
    "one column": np.arange(60.0)[:, None],
    "constant": np.full((60, 3), 7.0),
    "edges": np.array([[1e308, -1e308, 5e-324], [0.0, -0.0, 1.7e308]] * 30),
}


@pytest.mark.parametrize("epsilon", [1e-20, 1e-9, 1.0, 1e12])
@pytest.mark.parametrize("settings", [{}, {"delta": 0.0}], ids=str)
@pytest.mark.parametrize("kind", KINDS_OF_FITS)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.filterwarnings("ignore:n_samples is")
def test_no_fit_of_a_small_table_fails_once_it_is_paid(table, kind, settings, epsilon):
    X, ledger = TABLES[table], PrivacyLedger(1e13, 0.5)
    y = np.arange(len(X)) % (3 if "three" in kind else 2) * (table != "constant")
    model = clone(KINDS_OF_FITS[kind]).set_params(epsilon=epsilon, **settings)
    model.set_params(random_state=None, ledger=ledger)
    with np.errstate(all="raise"):
        predicted = model.fit(X, y).predict(X)
    assert ledger.spent().epsilon == ApproxDP(epsilon).epsilon
    assert len(predicted) == len(X)
    for shape in model.shapes_:
        assert np.isfinite(shape.effects).all()
        assert np.isfinite(shape.deviations).all()
        assert shape.masses.sum() == pytest.approx(1)
    assert np.isfinite(model.intercept_).all()


@pytest.mark.parametrize("kind", [AdditiveRegressor, LinearRegressor])
def test_targets_outside_their_range_are_clipped_where_the_learner_says_so(kind):
    X = np.random.default_rng(0).random((300, 2)).round(2)
    known = {"domain": Grid(0, 1, 101), "target_range": (0, 1), "random_state": 0, "epsilon": 10.0}
    wild = np.where(X[:, 0] > 0.9, 9.0, 2 * X[:, 0] - 0.5)
    with pytest.raises(DomainError, match="clip_target"):
        kind(**known).fit(X, wild)
    clipped = [kind(**known, clip_target=True).fit(X, y).predict(X) for y in (wild, wild.clip(0, 1))]
    assert np.array_equal(*clipped)


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
    y = bounds[0] + X[:, 0] * X[:, 1] * (bounds[1] - bounds[0])
    model = kind(epsilon=50.0, domain=Grid(0, 1), target_range=bounds, random_state=0)
    model.set_params(**({"interactions": True} if kind is AdditiveRegressor else {}))
    with np.errstate(all="raise"):
        model.fit(X, y)
        intervals = model.predict_interval(X)
    assert np.isfinite(model.predict(X)).all()
    assert (intervals[:, 0] < intervals[:, 1]).all()
    assert model.score(X, y) > 0.3


# Several outputs.


@pytest.mark.parametrize("settings", [{"epsilon": 5.0}, {"epsilon": 30.0, "delta": 0.0}], ids=str)
def test_several_outputs_are_learned_by_one_fit(settings):
    X, margins, rng = made(2500)
    ages, Y = X[:, 2].astype(float) + rng.normal(0, 6, 2500), np.empty((2500, 3), dtype=object)
    Y[:, 0] = np.where(rng.random(2500) < 1 / (1 + np.exp(-margins)), "yes", "no")
    Y[:, 1] = np.digitize(ages, [13, 27])
    Y[:, 2] = (rng.random(2500) < np.where(X[:, 1] == "b", 0.3, 0.02)).astype(int)
    classes = [["no", "yes"], [0, 1, 2], [0, 1]]
    model = classifier(domain=DOMAIN, classes=classes, **settings).fit(X, Y)
    predicted = model.predict(X)
    shares = (predicted == Y).mean(axis=0)
    most = [np.unique(column.astype(str), return_counts=True)[1].max() / len(Y) for column in Y.T]
    assert (shares[:2] > np.array(most[:2]) + 0.08).all()
    assert model.score(X, Y) == np.mean((predicted == Y).all(axis=1))
    likely = model.predict_proba(X)
    for place, each in enumerate(model.estimators_):
        assert each.classes_.tolist() == model.classes_[place].tolist() == classes[place]
        assert np.log(likely[place]).tolist() == model.predict_log_proba(X)[place].tolist()
        assert each.shapes_[0].masses.tolist() == model.estimators_[0].shapes_[0].masses.tolist()
        assert (each.guarantee_, each.n_features_in_, each.ledger) == (model.guarantee_, 3, None)
    assert roc_auc_score(Y[:, 2].astype(int), likely[2][:, 1]) > 0.7
    assert not hasattr(model, "decision_function")
    assert not hasattr(model, "shapes_")


# Weights of labels.


LABELLED = make_classification(
    6000, 4, n_informative=4, n_redundant=0, weights=[0.97], class_sep=1.5, flip_y=0, random_state=0
)
WEIGHTED = classifier(domain=Grid(-5, 5, 65, outside="clip"), interactions=False, epsilon=10)


def test_balanced_weights_are_scikit_learns_of_noisy_shares_and_find_rare_labels():
    X, Y = LABELLED
    plain = clone(WEIGHTED).fit(X, Y)
    fitted = clone(WEIGHTED).set_params(class_weight="balanced").fit(X, Y)
    assert fitted.class_weight_ == pytest.approx(
        compute_class_weight("balanced", classes=np.array([0, 1]), y=Y), rel=0.1
    )
    assert recall_score(Y, plain.predict(X)) < 0.5
    assert recall_score(Y, fitted.predict(X)) > 0.6
    assert ((fitted.decision_function(X) > 0) == (fitted.predict_proba(X)[:, 1] > 0.5)).all()


def test_weights_change_neither_the_plan_nor_the_effects_of_a_fit():
    X, Y = LABELLED
    plain, given = (clone(WEIGHTED).set_params(class_weight=weight) for weight in (None, {1: 9.0}))
    assert plain.plan(8000, n_features=4) == given.plan(8000, n_features=4)
    plain, given = (fitted_with(each, X, Y, dice=SeededDice(0)) for each in (plain, given))
    for one, other in zip(plain.shapes_, given.shapes_, strict=True):
        np.testing.assert_array_equal(one.effects, other.effects)
    assert given.intercept_[0] > plain.intercept_[0]
    first, second = plain.predict_proba(X).T
    assert given.predict_proba(X)[:, 1] == pytest.approx(9 * second / (9 * second + first))


# Interactions.


def paired(n, seed=0):
    """Two columns whose product, but neither alone, says the label."""
    X = np.random.default_rng(seed).integers(0, 21, (n, 2))
    return X, ((X[:, 0] - 10) * (X[:, 1] - 10) > 0).astype(int)


def crossed(**parameters):
    return classifier(**{"domain": TWENTY} | parameters)


@pytest.fixture(scope="module")
def interacting():
    X, y = paired(4000)  # of fewer, released correlations would be mostly noise
    return crossed(epsilon=3.0).fit(X, y)


def test_interactions_of_numbers_are_found():
    X, _ = paired(1000)
    y = (X[:, 0] - 10) * (X[:, 1] - 10) / 100
    learner = regressor(epsilon=10.0, domain=TWENTY, target_range=(-1, 1))
    joint, alone = (clone(learner).set_params(interactions=given).fit(X, y) for given in ("auto", False))
    assert joint.score(X, y) > 0.8
    assert alone.score(X, y) < 0.1
    assert joint.residual_std_ < 0.6 * alone.residual_std_
    usual = np.sqrt(np.mean(joint.interactions_.variances(X.astype(np.int16))))
    assert joint.interactions_.usual_deviation == pytest.approx([usual], rel=0.1)
    low, high = joint.predict_interval(X, beta=0.1).T
    assert ((low <= y) & (y <= high)).mean() > 0.8


def test_effects_are_those_of_columns_alone(interacting):
    """Over independent records of the released masses: columns are not correlated but for the noise."""
    model = interacting
    cells = np.stack([each.ravel() for each in np.meshgrid(np.arange(21), np.arange(21))], axis=1)
    margins = model.interactions_.margins(cells).reshape(21, 21)
    second, first = (shape.masses for shape in model.shapes_)
    for effects, masses in ((first @ margins, second), (margins @ second, first)):
        assert np.sqrt(masses @ effects**2) < 0.15 * margins.std()
    assert model.shapes_[0].importance < 0.25 * margins.std()


def test_unknown_categories_have_finite_interactions():
    rng = np.random.default_rng(0)
    X = rng.choice(["a", "b", "c"], (600, 2)).astype(object)
    y = (X[:, 0] == X[:, 1]).astype(int)
    model = crossed(domain=Categories(["a", "b", "c"]), epsilon=10.0).fit(X, y)
    assert model.interactions_ is not None
    unknown = np.array([["moon", "a"], ["moon", "moon"]], dtype=object)
    assert np.isfinite(model.decision_function(unknown)).all()
    both = model.interactions_.margins(np.array([[3, 3]], dtype=np.int16))
    assert model.decision_function(unknown)[1] == pytest.approx(model.intercept_[0] + both[0, 0])


# Straight lines.


def test_a_fit_of_few_records_of_three_labels_has_straight_lines():
    X, y = load_iris(return_X_y=True)
    model = AdditiveClassifier(epsilon=1.0, classes=[0, 1, 2], random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # too few records for learned ranges
        model.fit(X, y)
    assert model.plan(len(X), n_features=4).model == "linear"
    for shape in model.shapes_:
        assert shape.effects.shape == (len(shape.masses), 3)
        assert np.diff(shape.effects[shape.column.gap :], n=2, axis=0) == pytest.approx(0, abs=1e-9)


# The mean of the target alone.


def small(epsilon, **parameters):
    X, y = load_diabetes(return_X_y=True)
    return (
        X,
        y,
        AdditiveRegressor(epsilon=epsilon, domain=Grid(-0.2, 0.2), target_range=(0, 400), **parameters),
    )


def test_where_noise_would_hide_effects_the_noisy_mean_is_predicted_and_no_delta_is_spent():
    X, y, model = small(0.1, ledger=PrivacyLedger(0.1, 1e-6))
    with pytest.warns(UserWarning, match="the model is the noisy mean of the target"):
        predicted = model.fit(X, y).predict(X)
    assert (model.plan(len(X), n_features=10).model, model.guarantee_.delta) == ("mean", 0)
    assert np.ptp(predicted) == 0
    assert not model.effects(X).any()
    assert not model.feature_importances_.any()
    low, high = model.predict_interval(X).T
    assert ((low <= y) & (y <= high)).mean() >= 0.9
    assert (model.ledger.remaining().epsilon, float(model.ledger.remaining().delta)) == (0, 1e-6)
    assert small(3.0)[2].plan(len(X), n_features=10).model == "additive"
    assert small(0.1, interactions=True)[2].plan(len(X), n_features=10).model == "additive"
    assert small(0.1, neighbors="add_remove")[2].plan(len(X), n_features=10).model == "additive"


def test_the_mean_alone_suffices_for_no_error_of_effects():
    model = small(1.0)[2]
    plans = {n: model.plan(n, n_features=500) for n in (1000, 10_000)}
    assert [plan.model for plan in plans.values()] == ["mean", "additive"]
    needed = plans[1000].n_needed
    assert plans[1000].deviation == math.inf
    assert 0 < plans[1000].step_deviation < 0.005
    assert model.plan(needed, n_features=500).model == "additive"
    assert needed == plans[10_000].n_needed
    epsilon = model.epsilon_for(1000, n_features=500, alpha=0.01)
    found = small(epsilon)[2].plan(1000, n_features=500)
    assert (found.model, found.deviation <= 0.01) == ("additive", True)


def test_expected_counts_of_few_records_are_their_noisy_mean():
    counts = np.random.default_rng(0).poisson(2.0, 200)
    model = AdditiveRegressor(loss="poisson", target_range=(0, 10), clip_target=True, domain=Grid(0, 1))
    with pytest.warns(UserWarning, match="the model is the noisy mean of the target"):
        predicted = model.set_params(epsilon=0.3, random_state=0).fit(np.full((200, 3), 0.5), counts).predict
    assert predicted([[0, 1, 0.5]])[0] == pytest.approx(2.0, abs=0.8)


# Correlated columns.


def factor_table(kind, d, n, seed):
    """Return columns that share factors, and a target within [-4, 4]."""
    rng = np.random.default_rng(seed)
    factor, own, noise = rng.normal(size=(n, 1)), rng.normal(size=(n, d)), 0.3 * rng.normal(size=n)
    if kind == "factors":
        factors = rng.normal(size=(n, 4))
        X, target = factors @ rng.normal(size=(4, d)) / 2 + 0.4 * own, factors @ [0.7, -0.7, 0.3, 0.1]
    else:
        spread = 0.3 if kind == "near" else 1.0
        signs = np.where(np.arange(d) % 2, -1, 1)
        X, target = (factor + spread * own) * signs / np.hypot(1, spread), factor[:, 0]
    if kind == "loose curved":
        target = 1.5 * np.abs(target) - 1
    return X.clip(-3, 3), (target + noise).clip(-4, 4)


AT_NIGHT = [
    *product(("near", "factors", "loose"), (1, 5, 20, 60, 200), (1.0, 3.0), [range(4)]),
    *product(["loose curved"], (60, 100, 200), [1.0], [range(4)]),  # a fit that shows effects shows noise
]


@pytest.mark.parametrize(
    ("kind", "d", "epsilon", "seeds"),
    [
        ("near", 60, 1.0, [0]),
        ("factors", 8, 1.0, [11]),  # noisy steps would look like strong interactions
        ("loose curved", 100, 1.0, [0]),
        *(pytest.param(*each, marks=pytest.mark.nightly) for each in AT_NIGHT),
    ],
)
def test_correlated_columns_are_learned_as_well_as_by_a_linear_model(kind, d, epsilon, seeds):
    """At night in the mean of several fits: where noise hides most of 200 columns, R^2 differ by .2."""
    scores = []
    for seed in seeds:
        X, y = factor_table(kind, d, 2500, seed)
        given = {"epsilon": epsilon, "domain": Grid(-3, 3), "target_range": (-4, 4), "random_state": seed}
        learners = AdditiveRegressor(**given), LinearRegressor(**given)
        scores.append([each.fit(X[:1500], y[:1500]).score(X[1500:], y[1500:]) for each in learners])
    additive, linear = np.mean(scores, axis=0)
    assert additive > linear - 0.05


# Counts.


COUNTING = regressor(
    loss="poisson", domain=Grid(-2, 2, 401), target_range=(0, 60), clip_target=True, epsilon=3
)


def counts(n=6000, level=1.0, seed=0):
    """Return columns, and counts whose logarithms have straight effects."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 3)).round(2)
    return X, rng.poisson(np.exp(level + 0.5 * X[:, 0] - 0.4 * X[:, 1]))


@pytest.mark.parametrize(("level", "high"), [(-0.7, 12), (1.0, 40), (3.0, 250)])
def test_deviances_are_near_those_of_a_poisson_model_at_large_epsilon(level, high):
    (X, y), (others, seen) = counts(10_000, level), counts(10_000, level, 1)
    model = clone(COUNTING).set_params(epsilon=100.0, target_range=(0, high), interactions=False).fit(X, y)
    predicted = model.predict(others)
    assert predicted.min() >= 0
    exact = mean_poisson_deviance(seen, PoissonRegressor(alpha=0).fit(X, y).predict(others))
    found = mean_poisson_deviance(seen, predicted.clip(1e-9))
    assert found < 1.06 * exact
    assert predicted.mean() == pytest.approx(seen.mean(), rel=0.04)


def test_a_prediction_is_the_exponential_of_the_intercept_and_the_effects():
    X, y = counts()
    model = clone(COUNTING).set_params(interactions=False).fit(X, y)
    sums = model.intercept_ + model.effects(X).sum(axis=1)
    assert model.predict(X) == pytest.approx(np.exp(sums).clip(0, 60))
    assert model.residual_std_ == pytest.approx(np.std(y - model.predict(X)), rel=0.3)


def test_predictions_are_of_the_loss_of_the_fit():
    X, y = np.arange(400)[:, None] % 5, np.arange(400) % 5
    learner = clone(COUNTING).set_params(domain=Grid(0, 4))
    predicted = learner.fit(X, y).predict(X)
    assert (learner.set_params(loss="squared").predict(X) == predicted).all()
    with pytest.raises(ValueError, match="prediction intervals"):
        learner.predict_interval(X)
