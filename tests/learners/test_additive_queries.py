"""Losses, rows and queries of additive models: exact, of one record alone, and within their bounds."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import exp

import numpy as np
import pytest
from scipy.special import expit, softmax

from dplearn import AdditiveClassifier, AdditiveRegressor
from dplearn.audit import fitted_with
from dplearn.chance import SeededDice
from dplearn.domains import Categories, IntegerRange
from dplearn.kernels import norm_powers
from dplearn.learners.additive import LogisticLoss, Rows, queries
from dplearn.learners.additive import model as models
from dplearn.learners.additive.losses import MARGIN_BITS, RESIDUAL_BITS, OutputsLoss, SoftmaxLoss, SquaredLoss
from dplearn.learners.additive.model import LANDMARKS, JointBasis
from dplearn.learners.additive.poisson import PoissonLoss
from dplearn.learners.additive.queries import margins_of, outputs_query, residual_query
from dplearn.learners.additive.start import normal_scores, synthetic_cells
from dplearn.learners.additive.steps import line_records
from dplearn.queries import Answer, HistogramQuery, LabelledRows
from dplearn.queries.noise import CentralNoise, LocalNoise
from dplearn.queries.oracle import BudgetedOracle
from dplearn.table.targets import STEPS
from dplearn.theory import TailBound
from tests.learners.moves import greatest_moves, grid

ONE = 1 << RESIDUAL_BITS
HALF = LogisticLoss(Fraction(1, 2))


def wide_margins(k, n, seed=0):
    rng = np.random.default_rng(seed)
    scales = np.exp2(rng.uniform(0, 45, (n, 1)))
    return np.rint(rng.normal(0, 1, (n, k)) * scales).astype(np.int64)


# Losses.

RARE = np.array([0.9, 0.08, 0.02])
LOSSES = {
    "logistic, clipped": (lambda: HALF, 2, 2),
    "logistic": (lambda: LogisticLoss(Fraction(1)), 2, 2),
    "a rare label": (lambda: LogisticLoss(Fraction(1, 2), 0.97), 2, 2),
    "three labels": (lambda: SoftmaxLoss(3), 3, 2),
    "three labels, shortened": (lambda: SoftmaxLoss(3, clip=Fraction(1, 2)), 3, 2),
    "three labels, two rare": (lambda: SoftmaxLoss(3, shares=RARE), 3, 2),
    "three labels, two rare, L1": (lambda: SoftmaxLoss(3, order=1, shares=RARE), 3, 1),
    "three labels, L1": (lambda: SoftmaxLoss(3, order=1), 3, 1),
    "fifty labels": (lambda: SoftmaxLoss(50), 50, 2),
    "fifty labels, L1": (lambda: SoftmaxLoss(50, order=1), 50, 1),
    "5000 labels": (lambda: SoftmaxLoss(5000), 5000, 2),
    "labels of less than a step": (lambda: SoftmaxLoss(300, shares=np.full(300, 1 / 5000)), 300, 2),
    "squared": (lambda: SquaredLoss(centre=-2000, scale=7), 0, 2),
    "squared, wide": (lambda: SquaredLoss(scale=STEPS), 0, 1),
    "counts": (lambda: PoissonLoss(mean=STEPS // 10, scale=STEPS // 3), 0, 1),
}


@pytest.mark.parametrize(
    "name", [pytest.param(each, marks=[pytest.mark.nightly] * ("5000" in each)) for each in LOSSES]
)
def test_residuals_and_targets_are_within_their_reach_and_of_one_record_alone(name):
    make, k, order = LOSSES[name]
    loss = make()
    margins = wide_margins(loss.n_outputs, n=40 if k > 1000 else 1000)
    rng = np.random.default_rng(1)
    y = rng.integers(0, k, len(margins)) if k else rng.integers(-STEPS, STEPS + 1, len(margins))
    residuals = loss.residuals(margins, y)
    for found, reach in ((residuals, loss.reach), (loss.targets(y), loss.target_reach)):
        assert found.dtype == np.int64
        assert found.shape == (len(y), loss.n_outputs)
        lengths = norm_powers(found, order)
        assert lengths.max() <= reach**order
        assert lengths.max() > (0.9 * reach) ** order
    assert loss.target_reach <= loss.most_target_reach
    alone = [loss.residuals(margins[[place]], y[[place]])[0] for place in range(40)]
    assert (residuals[:40] == np.array(alone)).all()
    assert (loss.residuals(np.asfortranarray(margins[::-1]), y[::-1])[::-1] == residuals).all()


def test_residuals_are_minus_the_derivatives_of_the_losses():
    rng = np.random.default_rng(0)
    margins, y = rng.normal(0, 3, (400, 4)).clip(-9, 9), rng.integers(0, 4, 400)
    whole = np.rint(margins * 2**MARGIN_BITS).astype(np.int64)
    for clip in (Fraction(1, 2), Fraction(1)):
        found = LogisticLoss(clip).residuals(whole[:, :1], y % 2)[:, 0] / ONE
        exact = (y % 2 - expit(margins[:, 0])).clip(-float(clip), float(clip))
        assert found == pytest.approx(exact, abs=2e-3)
    exact = np.eye(4)[y] - softmax(margins, axis=1)
    assert SoftmaxLoss(4, order=1).residuals(whole, y) / ONE == pytest.approx(exact, abs=4e-3)
    short = exact / np.maximum(np.linalg.norm(exact, axis=1, keepdims=True), 1)
    assert SoftmaxLoss(4).residuals(whole, y) / ONE == pytest.approx(short, abs=4e-3)
    y = rng.integers(-STEPS, STEPS + 1, 400)
    numbers = SquaredLoss(centre=1000, scale=STEPS).residuals(whole[:, :1], y)[:, 0]
    assert numbers / ONE == pytest.approx(((y - 1000) / STEPS - margins[:, 0]).clip(-1, 1), abs=1e-3)
    counts = PoissonLoss(mean=STEPS // 10, scale=STEPS // 3).residuals(whole[:, :1], y)[:, 0]
    exact = (y + STEPS) / (STEPS // 3) - 0.3 * np.exp(margins[:, 0])
    assert counts / ONE == pytest.approx(exact.clip(-1, 1), abs=0.02)


# Losses of several outputs.


def test_the_norm_of_many_rare_labels_is_far_below_that_of_the_greatest_residuals():
    rare = Answer(np.array([0.95, 0.05]), 1000, TailBound(), TailBound())
    base = OutputsLoss([HALF] * 25).base([rare] * 25)
    assert base.loss.reach < 0.35 * 2048 * 5
    assert base.loss.target_reach < 0.3 * ONE * 5
    assert [each.margins.tolist() for each in base.outputs] == [HALF.base([rare]).margins.tolist()] * 25


@pytest.mark.parametrize(("order", "reach"), [(2, None), (2, 1500), (1, None)])
def test_no_pair_of_records_moves_the_sums_of_several_labels_further_than_their_norm(order, reach):
    loss, rows = OutputsLoss([HALF] * 3, order, reach=reach), []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        tables = [rng.normal(size=(4, 1 + seed % 2)) for _ in range(2)]
        rows.append(Rows.of(tables, constant=0.5, length=1.0, bits=6, order=order))

    def residuals(blocks):
        margins = np.stack([block.X.sum(axis=1) * (1 << 10) for block in blocks], axis=1)
        return loss.residuals(margins.astype(np.int64), blocks[0].y)

    query = outputs_query(rows, residuals, [1] * 3, reach=loss.reach, bits=11)
    records = grid(*[range(4)] * 2, *[range(2)] * 3)
    records = LabelledRows(records[:, :2].astype(np.int16), records[:, 2:])
    replaced, added = greatest_moves(query, records)[order - 1]
    assert max(replaced, added) <= 1
    assert replaced > 0.85


# Queries of whole fits.

NOISES = {"gaussian": {}, "laplace": {"delta": 0}}


def asked_by(model, X, y):
    """Return the columns of a fit, and all queries that it asks, each with the image of its records."""
    asked, images = [], [lambda records: records]
    right, mapped = {kind: kind.answer for kind in (CentralNoise, LocalNoise)}, BudgetedOracle.map

    def spied(self, query, *task):
        asked.append((query, images[-1]))
        return right[type(self)](self, query, *task)

    def noted(self, image):
        if getattr(image, "func", None) is line_records:  # else from rows to its records
            images.append(image)
        return mapped(self, image)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BudgetedOracle, "map", noted)
        for kind in right:
            patch.setattr(kind, "answer", spied)
        fitted = fitted_with(model, X, y, dice=SeededDice(1))
    return [shape.column for shape in fitted.shapes_], asked


#: Of few values: all records are tried.
FEW = [IntegerRange(0, 3, missing=True), Categories(list("abc")), IntegerRange(0, 2), Categories(list("ab"))]


@cache
def asked(kind, n_labels, n=400, interactions=True):
    """Return all queries that a fit asks, each with all records of its columns and of some targets."""
    rng = np.random.default_rng(0)
    X = np.empty((n, 4), dtype=object)
    X[:, 0], X[:, 2] = rng.choice([np.nan, 0, 1, 2, 3], n), rng.integers(0, 3, n)
    X[:, 1], X[:, 3] = rng.choice(["a", "b", "c"], n, p=[0.8, 0.15, 0.05]), rng.choice(["a", "b"], n)
    score = X[:, 2].astype(float) + (X[:, 1] == "a") * (X[:, 3] == "a")
    given = {"domain": FEW, "interactions": interactions, "epsilon": 3.0, **NOISES[kind]}
    if n_labels:
        model = AdditiveClassifier(classes=range(n_labels), **given)
        y, codes = np.minimum(score.astype(int), n_labels - 1), np.arange(n_labels)
    else:
        model, y = AdditiveRegressor(target_range=(-3, 3), **given), score
        codes = np.array([-STEPS, -12345, -1, 1, STEPS])
    columns, found = asked_by(model, X, y)
    every = grid(*[range(column.size) for column in columns], codes)
    records = LabelledRows(every[:, :4].astype(np.int16), every[:, 4])
    return [(query, image(records)) for query, image in found]


@pytest.mark.parametrize("n_labels", [2, 3, 0])
@pytest.mark.parametrize("kind", NOISES)
def test_no_pair_of_records_moves_a_sum_of_a_fit_further_than_its_noise_is_for(kind, n_labels):
    queries = asked(kind, n_labels)
    found = np.array([greatest_moves(query, records) for query, records in queries])
    assert found.max() <= 1
    of_noise = found[:, 0 if kind == "laplace" else 1]
    histograms = np.array([isinstance(query, HistogramQuery) for query, _ in queries])
    assert (of_noise[histograms] == 1).all()
    assert (~histograms).sum() > 3
    # At night the answers vary, and with them the sums that are asked for: .729 was seen.
    assert (of_noise[~histograms].min(axis=0) > [0.7, 0.94]).all()


def test_no_pair_of_records_moves_a_sum_of_a_linear_fit_further_than_its_noise_is_for():
    queries = asked("gaussian", 3, n=60, interactions="auto")
    found = np.array([greatest_moves(query, records)[1] for query, records in queries])
    assert found.max() <= 1
    assert (found.min(axis=0) > [0.59, 0.95]).all()  # rows have a 1 in common: none are opposite


def joint_rows(length, n_cells=4, d=4):
    """Return rows of four columns, with one number of each column and 30 joint features."""
    rng = np.random.default_rng(0)
    scores = [np.linspace(-2.0, 2.0, n_cells)] * d
    cells = rng.integers(0, n_cells, (600, d))
    basis = JointBasis.of(scores, np.ones(d), np.eye(d), cells, size=30, amplitude=1.7)
    tables = [0.1 * score[:, None] for score in scores]
    rows = Rows.of(tables, constant=0.1, length=length, bits=9)
    return replace(rows, joint=basis.rounded(rows.unit))


@pytest.mark.parametrize("length", [0.05, 0.7, 1.1, 3.0])
def test_rows_with_joint_features_are_shortened_to_the_reach_and_sums_move_no_further(length):
    rows, rng = joint_rows(length), np.random.default_rng(0)
    cells = grid(*[range(4)] * 4, range(2))
    records = LabelledRows(cells[:, :4].astype(np.int16), cells[:, 4])
    whole, factors = rows.of_records(records), rows.block(records).weights
    squares = (whole.astype(object) ** 2).sum(axis=1) * factors.astype(object) ** 2
    assert max(squares) <= (rows.reach << queries.WEIGHT_BITS) ** 2
    joint = (whole[:, rows.joint_slice] ** 2).sum(axis=1)
    assert (joint > (whole**2).sum(axis=1) / 2).mean() > 0.9
    weights = rng.normal(size=(30, 1)) * rows.unit
    margins = margins_of([np.zeros((4, 1))] * 4, np.zeros(1), weights)
    query = residual_query(
        rows, lambda block: HALF.residuals(margins(block), block.y), n_outputs=1, reach=2048, bits=11
    )
    _, (share, added) = greatest_moves(query, records)
    assert max(share, added) <= 1
    if length < 2:  # no row is as long as 3
        assert min(share, added) > 0.85


@pytest.mark.parametrize("kind", NOISES)
def test_a_total_is_the_sum_of_values_each_of_which_is_of_its_own_record(kind, monkeypatch):
    monkeypatch.setattr(queries, "BLOCK", 7)
    some = np.random.default_rng(0).permutation(270)[:40]
    for query, every in asked(kind, 3):
        records = every[some]
        values, each = query.values(records), query.inputs(records)
        alone = [query.values(records[np.array([place])])[0] for place in range(40)]
        assert values.dtype.kind in "iu"
        assert (values == np.array(alone)).all()
        assert (each == values).all()  # none is longer than its norm
        if not isinstance(query, HistogramQuery):
            assert (query.total(records) == values.sum(axis=0)).all()
            assert (query.total(records[np.arange(40)[::-1]]) == query.total(records)).all()


# Joint features.

EXACT = 2**53  # sums of whole numbers below it are exact in floats, in any order


def drawn(masses, correlations, n=500):
    orders = [np.arange(len(mass)) for mass in masses]
    scores = [normal_scores(mass, order) for mass, order in zip(masses, orders, strict=True)]
    return scores, synthetic_cells(masses, orders, correlations, n)


def basis_of(d=3, cells=5, n=500, size=20):
    """Return a basis of columns with the same masses and correlations."""
    correlations = np.where(np.eye(d), 1.0, 0.5)
    scores, records = drawn([np.full(cells, 1 / cells)] * d, correlations, n)
    return JointBasis.of(scores, np.ones(d), correlations, records, size=size)


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


@pytest.mark.parametrize(("d", "size"), [(2, 2), (3, 5), (40, 9)])
def test_features_of_a_record_do_not_depend_on_its_place_or_on_other_records(d, size, monkeypatch):
    features = basis_of(d, size, n=600).rounded(0.003)
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
    monkeypatch.setattr(models, "BLOCK", 7)
    monkeypatch.setattr(models, "CACHED", 3)
    assert (features.of(cells) == found).all()


MASSES = {
    "equal": np.full(40, 1 / 40),
    "nearly all in one cell": np.array([1 - 1e-12, 1e-12]),
    "least": np.array([1 - 39e-300, *[1e-300] * 39]),
    "one cell": np.ones(1),
}


def largest_sum(features, cells):
    """Return the greatest magnitude that a sum of the computation can have, distances those of records."""
    kernels, weights = features.kernels, np.abs(features.weights.astype(float))
    farthest = np.array([np.abs(each).max() for each in kernels.scores])
    norms = [np.linalg.norm(each, axis=1).max() for each in (kernels.coordinates(cells), kernels.landmarks)]
    turned = (farthest @ np.abs(kernels.turn)).max()
    return max(turned, sum(norms) ** 2, (2**14 * weights.sum(axis=0) + np.abs(features.means)).max())


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
            assert largest_sum(features, cells) < EXACT
            for part in (*kernels.scores, kernels.turn, kernels.landmarks, features.means):
                assert (part == np.rint(part)).all()
            assert np.log2(features.step) == np.rint(np.log2(features.step))
            assert np.abs(features.of(cells).astype(int)).max() <= 32767
    assert LANDMARKS <= 512


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_released_numbers_of_any_size_are_limited(bad):
    basis = basis_of(d=2, size=2)
    with np.errstate(all="ignore"):
        for changed in (
            replace(basis, weights=np.full_like(basis.weights, bad)),
            replace(basis, means=np.full_like(basis.means, bad)),
        ):
            features = changed.rounded(0.01)
            cells = any_cells(20, 2, 2)
            assert largest_sum(features, cells) < EXACT
            alone = np.concatenate([features.of(cells[place : place + 1]) for place in range(20)])
            assert (features.of(cells) == alone).all()
        scores = [np.array([bad, 0.0, 1.0]), np.array([-1.0, 1.0])]
        records = any_cells(100, 2, 1)
        features = JointBasis.of(scores, np.ones(2), np.eye(2), records, size=2).rounded(0.01)
        assert np.abs(features.kernels.scores[0]).max() < 1 << 15
        assert largest_sum(features, records) < EXACT
