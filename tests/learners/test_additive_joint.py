"""Joint features are smooth functions of all columns, exact in floats, each of its own record alone."""

import pickle
from dataclasses import replace
from fractions import Fraction
from math import exp

import numpy as np
import pytest

from dplearn import AdditiveClassifier, AdditiveRegressor
from dplearn.domains import Categories, IntegerRange
from dplearn.learners.additive import model as models
from dplearn.learners.additive.model import LANDMARKS, JointBasis
from dplearn.learners.additive.start import _normal_scores, synthetic_cells

AGES = IntegerRange(0, 20)
EXACT = 2**53  # sums of whole numbers below it are exact in floats, in any order


def drawn(masses, correlations, n=500):
    orders = [np.arange(len(mass)) for mass in masses]
    scores = [_normal_scores(mass, order) for mass, order in zip(masses, orders, strict=True)]
    return scores, synthetic_cells(masses, orders, correlations, n)


def basis_of(d=3, cells=5, correlation=0.5, weights=None, n=500, **settings):
    """Return a basis of columns with the same masses and correlations, and its synthetic records."""
    masses = [np.full(cells, 1 / cells)] * d
    correlations = np.where(np.eye(d), 1.0, correlation)
    scores, records = drawn(masses, correlations, n)
    given = {"size": 20} | settings
    weights = np.ones(d) if weights is None else np.array(weights)
    return JointBasis.of(scores, weights, correlations, records, **given), records


def any_cells(n, d, size, seed=0):
    """Return any cells, those of unknown categories included."""
    return np.random.default_rng(seed).integers(0, size + 1, (n, d)).astype(np.int16)


def exact(features, cells):
    """Return the features of one record, computed in whole numbers and fractions."""
    kernels = features.kernels
    scores = [int(each[cell]) for each, cell in zip(kernels.scores, cells, strict=True)]
    turned = [sum(s * int(t) for s, t in zip(scores, column, strict=True)) for column in kernels.turn.T]
    places = [min(max(total >> 14, -(1 << 20)), 1 << 20) for total in turned]
    sums = [-int(mean) for mean in features.means]
    for landmark, weights in zip(kernels.landmarks, features.weights, strict=True):
        square = min(sum((a - int(b)) ** 2 for a, b in zip(places, landmark, strict=True)) >> 12, 1 << 14)
        distance = square / 2**8
        kernel = round((exp(-0.25 * distance) + exp(-distance)) / 2 * 2**14)
        sums = [total + kernel * int(weight) for total, weight in zip(sums, weights, strict=True)]
    step = Fraction(features.step)
    return [min(max(round(total * step), -32767), 32767) for total in sums]


@pytest.mark.parametrize("unit", [1e-5, 0.003, 1.0])
def test_features_are_those_of_whole_numbers(unit):
    features = basis_of()[0].rounded(unit)
    cells = any_cells(20, 3, 5)
    assert features.of(cells).tolist() == [exact(features, record) for record in cells]


@pytest.mark.parametrize(("d", "size"), [(2, 2), (3, 5), (40, 9)])
def test_features_of_a_record_do_not_depend_on_its_place_or_on_other_records(d, size, monkeypatch):
    features = basis_of(d, size, n=600)[0].rounded(0.003)
    cells = any_cells(300, d, size)
    found = features.of(cells)
    assert found.dtype == np.int16
    assert len(np.unique(found)) > 4
    order = np.random.default_rng(1).permutation(300)
    assert (features.of(cells[order]) == found[order]).all()
    assert (features.of(np.asfortranarray(cells)) == found).all()
    assert (np.concatenate([features.of(cells[place : place + 1]) for place in range(300)]) == found).all()
    for cut in (1, 7, 150):
        assert (np.concatenate([features.of(cells[:cut]), features.of(cells[cut:])]) == found).all()
    monkeypatch.setattr(models, "_BLOCK", 7)
    assert (features.of(cells) == found).all()


MASSES = {
    "equal": np.full(40, 1 / 40),
    "nearly all in one cell": np.array([1 - 1e-12, 1e-12]),
    "least": np.array([1 - 39e-300, *[1e-300] * 39]),
    "one cell": np.ones(1),
}


def largest_sums(features, cells):
    """Return the greatest magnitudes that sums of the computation can have, distances those of records."""
    kernels, weights = features.kernels, np.abs(features.weights.astype(float))
    farthest = np.array([np.abs(each).max() for each in kernels.scores])
    norms = [np.linalg.norm(each, axis=1).max() for each in (kernels.coordinates(cells), kernels.landmarks)]
    return {
        "scores times turn": (farthest @ np.abs(kernels.turn)).max(),
        "squared distances": sum(norms) ** 2,
        "weighted kernels": (2**14 * weights.sum(axis=0) + np.abs(features.means)).max(),
    }


@pytest.mark.parametrize("unit", [1e-300, 1e-9, 1.0, 1e300])
@pytest.mark.parametrize("amplitude", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("masses", MASSES)
def test_all_sums_are_of_whole_numbers_that_floats_hold_exactly(masses, amplitude, unit):
    with np.errstate(all="ignore"):
        for d, correlation in ((2, 0.99), (2, -0.98), (256, 0.9)):
            if d > 2 and (unit, amplitude) != (1e-9, 1.0):
                continue
            correlations = np.where(np.eye(d), 1.0, correlation)
            scores, records = drawn([MASSES[masses]] * d, correlations)
            weights = np.where(np.arange(d) % 2, 0.25, 1.0)
            basis = JointBasis.of(scores, weights, correlations, records, size=9, amplitude=amplitude)
            features = basis.rounded(unit)
            kernels = features.kernels
            cells = any_cells(50, d, len(MASSES[masses]))
            assert max(largest_sums(features, cells).values()) < EXACT
            for part in (*kernels.scores, kernels.turn, kernels.landmarks, features.means):
                assert (part == np.rint(part)).all()
            assert np.log2(features.step) == np.rint(np.log2(features.step))
            assert np.abs(features.of(cells).astype(int)).max() <= 32767
    assert LANDMARKS <= 512


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_released_numbers_of_any_size_are_limited(bad):
    basis, _ = basis_of(d=2, size=2)
    with np.errstate(all="ignore"):
        for changed in (
            replace(basis, weights=np.full_like(basis.weights, bad)),
            replace(basis, means=np.full_like(basis.means, bad)),
        ):
            features = changed.rounded(0.01)
            cells = any_cells(20, 2, 2)
            assert max(largest_sums(features, cells).values()) < EXACT
            alone = np.concatenate([features.of(cells[place : place + 1]) for place in range(20)])
            assert (features.of(cells) == alone).all()
        scores = [np.array([bad, 0.0, 1.0]), np.array([-1.0, 1.0])]
        records = any_cells(100, 2, 1)
        features = JointBasis.of(scores, np.ones(2), np.eye(2), records, size=2).rounded(0.01)
        assert np.abs(features.kernels.scores[0]).max() < 1 << 15
        assert max(largest_sums(features, records).values()) < EXACT


def test_coordinates_of_correlated_columns_are_less_correlated():
    basis, records = basis_of(d=2, cells=21, correlation=0.9, n=3000)
    scores = np.stack([each[column] for each, column in zip(basis.kernels.scores, records.T, strict=True)])
    places = basis.kernels.coordinates(records) / 2**10
    assert np.corrcoef(scores)[0, 1] > 0.85
    assert abs(np.corrcoef(places.T)[0, 1]) < 0.6
    assert places.var(axis=0).sum() == pytest.approx(1, abs=0.02)
    # All of the spread of one column along the other is not removed: rare directions would be noise.
    assert np.corrcoef(places.T)[0, 1] > 0.2


def test_columns_of_smaller_weights_change_coordinates_less():
    basis, records = basis_of(d=2, cells=21, correlation=0.0, weights=[1.0, 0.25], n=3000)
    heavy, light = basis.kernels.coordinates(records).std(axis=0)
    assert heavy > 1.5 * light


def test_features_are_the_directions_that_vary_most():
    basis, records = basis_of(n=2000)
    squares = (basis.values(records) ** 2).mean(axis=0)
    assert basis.values(records).mean(axis=0) == pytest.approx(0, abs=1e-9)
    assert (np.diff(squares) < 0).all()
    assert squares.sum() < 1
    fewer, _ = basis_of(n=2000, size=4)
    assert np.abs(fewer.values(records)) == pytest.approx(np.abs(basis.values(records)[:, :4]))
    louder, _ = basis_of(n=2000, amplitude=3.0)
    assert (louder.values(records) ** 2).mean(axis=0) == pytest.approx(9 * squares)


def test_scaled_features_are_multiples_without_those_of_scale_0():
    basis, records = basis_of()
    scales = np.zeros(basis.weights.shape[1])
    scales[[0, 3]] = 2.0, 0.5
    assert basis.scaled(scales).values(records) == pytest.approx(basis.values(records)[:, [0, 3]] * [2, 0.5])
    assert basis.scaled(0 * scales) is None


def test_a_product_of_two_columns_is_a_linear_function_of_the_features():
    basis, records = basis_of(d=2, cells=21, correlation=0.0, n=3000)
    values = basis.values(records)
    product = (records[:, 0] - 10.0) * (records[:, 1] - 10.0)
    fitted = values @ np.linalg.lstsq(values, product, rcond=None)[0]
    assert 1 - (product - fitted).var() / product.var() > 0.9


def test_an_unknown_category_has_the_mean_score():
    basis, _ = basis_of(d=2, cells=5)
    middle = 2  # of five equal cells
    known, unknown = (basis.kernels.coordinates(np.array([[cell, 4]])) for cell in (middle, 5))
    assert (known == unknown).all()


def product_table(n, seed=0):
    """Two columns whose product, but neither alone, says the label; and the label of their sum."""
    X = np.random.default_rng(seed).integers(0, 21, (n, 2))
    left, right = X.T - 10
    return X, (left * right > 0).astype(int), (left + right > 0).astype(int)


def classifier(**parameters):
    return AdditiveClassifier(**{"domain": AGES, "classes": [0, 1], "random_state": 0} | parameters)


@pytest.fixture(scope="module")
def interacting():
    X, product, _ = product_table(4000)  # of fewer, released correlations would be mostly noise
    return classifier(epsilon=3.0).fit(X, product), X


def test_interactions_are_found(interacting):
    X, product, _ = product_table(2000, seed=1)
    assert interacting[0].score(X, product) > 0.9
    alone = classifier(epsilon=3.0, interactions=False).fit(*product_table(1000)[:2])
    assert alone.score(X, product) < 0.65


def test_interactions_cost_little_where_there_are_none():
    found = []
    for seed in range(4):
        X, _, total = product_table(1000, seed=seed)
        test, _, expected = product_table(2000, seed=100 + seed)
        for given in ("auto", False):
            model = classifier(epsilon=1.0, interactions=given, random_state=seed).fit(X, total)
            found.append(model.score(test, expected))
    joint, alone = np.mean(np.reshape(found, (-1, 2)), axis=0)
    assert joint > max(0.94, alone - 0.015)


def test_interactions_of_numbers_are_found():
    X, _, _ = product_table(1000)
    y = (X[:, 0] - 10) * (X[:, 1] - 10) / 100
    joint, alone = (
        AdditiveRegressor(
            epsilon=10.0, domain=AGES, target_range=(-1, 1), interactions=given, random_state=0
        ).fit(X, y)
        for given in ("auto", False)
    )
    assert joint.score(X, y) > 0.8
    assert alone.score(X, y) < 0.1
    assert joint.residual_std_ < 0.6 * alone.residual_std_
    low, high = joint.predict_interval(X, beta=0.1).T
    assert ((low <= y) & (y <= high)).mean() > 0.8


def test_without_interactions_margins_are_sums_of_effects():
    X, product, _ = product_table(300)
    for settings in ({"interactions": False}, {"delta": 0.0, "interactions": True}):
        model = classifier(**settings).fit(X, product)
        assert model.interactions_ is None
        effects = [shape.effects[cells] for shape, cells in zip(model.shapes_, X.T, strict=True)]
        assert model.decision_function(X) == pytest.approx(model.intercept_[0] + sum(effects))


def test_effects_are_those_of_columns_alone(interacting):
    """Over independent records of the released masses: columns are not correlated but for the noise."""
    model, _ = interacting
    cells = np.stack([each.ravel() for each in np.meshgrid(np.arange(21), np.arange(21))], axis=1)
    margins = model.interactions_.margins(cells).reshape(21, 21)
    second, first = (shape.masses for shape in model.shapes_)
    for effects, masses in ((first @ margins, second), (margins @ second, first)):
        assert np.sqrt(masses @ effects**2) < 0.15 * margins.std()
    assert model.shapes_[0].importance < 0.25 * margins.std()


def test_predictions_of_many_rows_are_those_of_single_rows(interacting, monkeypatch):
    model, X = interacting
    margins = model.decision_function(X)
    monkeypatch.setattr(models, "_AT_ONCE", 7)
    assert model.decision_function(X) == pytest.approx(margins, rel=1e-12, abs=1e-12)
    alone = np.concatenate([model.decision_function(X[place : place + 1]) for place in range(40)])
    assert alone == pytest.approx(margins[:40], rel=1e-12, abs=1e-12)


def test_interactions_survive_pickling(interacting):
    model, X = interacting
    again = pickle.loads(pickle.dumps(model))
    assert (again.decision_function(X) == model.decision_function(X)).all()
    assert len(pickle.dumps(model)) < 300_000


def test_unknown_categories_have_finite_interactions():
    rng = np.random.default_rng(0)
    X = rng.choice(["a", "b", "c"], (600, 2)).astype(object)
    y = (X[:, 0] == X[:, 1]).astype(int)
    model = classifier(domain=Categories(["a", "b", "c"]), epsilon=10.0).fit(X, y)
    assert model.interactions_ is not None
    unknown = np.array([["moon", "a"], ["moon", "moon"]], dtype=object)
    assert np.isfinite(model.decision_function(unknown)).all()
    both = model.interactions_.margins(np.array([[3, 3]], dtype=np.int16))
    assert model.decision_function(unknown)[1] == pytest.approx(model.intercept_[0] + both[0, 0])


def test_scaled_interactions_are_multiples(interacting):
    model, X = interacting
    joint = model.interactions_
    scaled = joint.scaled(3.0)
    assert scaled.margins(X) == pytest.approx(3 * joint.margins(X))
    assert scaled.variances(X) == pytest.approx(9 * joint.variances(X))
    assert joint.variances(X).min() >= 0
    assert scaled.features is joint.features


@pytest.mark.parametrize("end", [1e-99, 1e-9, 1e9, 1e99])
def test_interactions_are_published_in_the_unit_of_any_target(end):
    """The square of the unit is no float."""
    X, _, _ = product_table(300)
    y = end * ((X[:, 0] - 10) * (X[:, 1] - 10) / 100)
    model = AdditiveRegressor(
        epsilon=30.0, domain=AGES, target_range=(-end, end), interactions=True, random_state=0
    ).fit(X, y)
    assert model.interactions_ is not None
    low, high = model.predict_interval(X).T
    assert (-end <= low).all()
    assert (low <= model.predict(X)).all()
    assert (model.predict(X) <= high).all()
    assert (high <= end).all()
    assert (low < high).all()
    assert np.median(high / 2 - low / 2) < 0.3 * end
