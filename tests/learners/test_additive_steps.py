"""The steps of additive models: joint effects of correlated columns, from the answers of an oracle alone."""

from types import SimpleNamespace

import numpy as np
import pytest

from dplearn import AdditiveClassifier, AdditiveRegressor, LinearRegressor
from dplearn.chance import PublicStream, SeededDice
from dplearn.domains import Categories, Grid, IntegerRange
from dplearn.learners.additive import start, steps
from dplearn.learners.additive.losses import MARGIN_BITS, SquaredLoss
from dplearn.learners.additive.model import summed
from dplearn.learners.additive.queries import Rows, margins_of
from dplearn.learners.additive.start import Shape, ask_spread, narrowed
from dplearn.learners.additive.steps import _along_start, _near_steps, learn_additive
from dplearn.queries import CentralOracle, LabelledRows
from dplearn.queries.oracle import oracle_for
from dplearn.table.targets import STEPS

AGES = IntegerRange(0, 20)
SETTINGS = [{}, {"delta": 0.0}]


def table(n=4000, d=2, seed=0):
    """Equal columns but for one record in ten."""
    rng = np.random.default_rng(seed)
    ages = rng.integers(0, 21, n)
    X = np.stack([np.where(rng.random(n) < 0.1, rng.integers(0, 21, n), ages) for _ in range(d)], axis=1)
    return X.astype(np.int16), rng


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("numbers", [False, True])
def test_all_of_the_budget_is_spent_in_the_planned_queries(settings, numbers):
    X, rng = table(400)
    if numbers:
        model = AdditiveRegressor(domain=AGES, target_range=(-1, 1), **settings)
        plan, y = model.plan(400, n_features=2), rng.integers(-STEPS, STEPS, 400)
    else:
        plan = AdditiveClassifier(domain=AGES, classes=[0, 1], **settings).plan(400, n_features=2)
        y = rng.integers(0, 2, 400)
    oracle = oracle_for(
        plan.noise, LabelledRows(X, y), privacy=plan.guarantee, dice=SeededDice(0), stream=PublicStream(0)
    )
    (model,) = learn_additive(oracle, plan)
    assert oracle.left == 0
    assert len(oracle.rounds) == plan.n_queries
    assert [effects.shape for effects in model.effects] == [(21, 1)] * 2
    assert all(
        np.abs(mass @ effects).max() < 1e-6 * max(1, np.abs(effects).max())
        for mass, effects in zip(model.masses, model.effects, strict=True)
    )


def test_effects_of_correlated_columns_are_not_counted_twice():
    X, rng = table(8000, d=3)
    target = (X[:, 0] - 10) / 20
    y = np.clip(target + 0.05 * rng.normal(size=8000), -1, 1)
    model = AdditiveRegressor(domain=AGES, target_range=(-1, 1), epsilon=1e4, random_state=0).fit(X, y)
    slopes = [np.polyfit(np.arange(21), shape.effects, 1)[0] for shape in model.shapes_]
    assert sum(slopes) == pytest.approx(1 / 20, rel=0.15)
    assert slopes[0] > max(slopes[1:])
    assert model.score(X, y) > 0.85


def factor_table(kind, d, n=2500, seed=0):
    """Return columns that share factors, or none, and a target within [-4, 4]."""
    kind, _, curved = kind.partition(" ")
    rng = np.random.default_rng(seed)
    factor, own, noise = rng.normal(size=(n, 1)), rng.normal(size=(n, d)), 0.3 * rng.normal(size=n)
    signs = np.where(np.arange(d) % 2, -1, 1)
    if kind == "independent":
        X, target = own, own[:, :3].sum(axis=1) / np.sqrt(min(d, 3))
    elif kind == "factors":
        factors = rng.normal(size=(n, 4))
        X = factors @ rng.normal(size=(4, d)) / 2 + 0.4 * own
        target = factors @ [0.7, -0.7, 0.3, 0.1]
    elif kind == "dense":
        X, target = own, own.sum(axis=1) / np.sqrt(d)
    elif kind == "chain":
        X = own + np.roll(own, 1, axis=1)
        target = X[:, :5].sum(axis=1) / np.sqrt(4 * min(d, 5))
        X = X / np.sqrt(2)
    else:
        spread = {"equal": 0.0, "near": 0.3, "loose": 1.0}[kind]
        X, target = (factor + spread * own) * signs / np.hypot(1, spread), factor[:, 0]
    if curved == "steps":
        target = np.sign(X[:, : min(d, 4)] - 0.3).sum(axis=1) / np.sqrt(min(d, 4))
    elif curved:
        target = 1.5 * np.abs(target) - 1
    return X.clip(-3, 3), (target + noise).clip(-4, 4)


def compared(kind, d, epsilon, seeds, n=1500):
    """Return the mean R^2 on new rows of additive and of linear models of n rows."""
    scores = []
    for seed in seeds:
        X, y = factor_table(kind, d, n + 1000, seed)
        given = {"epsilon": epsilon, "domain": Grid(-3, 3), "target_range": (-4, 4), "random_state": seed}
        models = [learner(**given).fit(X[:n], y[:n]) for learner in (AdditiveRegressor, LinearRegressor)]
        scores.append([model.score(X[n:], y[n:]) for model in models])
    return np.mean(scores, axis=0)


@pytest.mark.parametrize(
    ("kind", "d", "seed"), [("near", 60, 0), ("factors", 8, 11), ("loose curved", 100, 0)]
)
def test_correlated_columns_are_learned_as_well_as_by_a_linear_model(kind, d, seed):
    """In the second table noisy steps would look like strong interactions, in the third like effects."""
    additive, linear = compared(kind, d, 1.0, [seed])
    assert additive > linear - 0.1


@pytest.mark.nightly
@pytest.mark.parametrize("epsilon", [1.0, 3.0])
@pytest.mark.parametrize("d", [1, 2, 5, 20, 60, 200])
@pytest.mark.parametrize(
    "kind",
    ["equal", "near", "loose", "factors", "independent", "dense", "chain", "loose steps", "chain steps"],
)
def test_no_table_is_learned_worse_than_by_a_linear_model(kind, d, epsilon):
    """In the mean of three fits: where noise hides most of 200 columns, R^2 differ by .2 between fits."""
    additive, linear = compared(kind, d, epsilon, range(3))
    assert additive > linear - 0.1


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("kind", "d", "n", "epsilon"),
    [
        ("factors", 5, 1500, 1.0),
        ("factors", 5, 3000, 1.0),
        ("independent", 60, 3000, 1.0),
        ("near", 100, 3000, 3.0),
        ("equal", 200, 1500, 3.0),
        ("equal", 200, 3000, 3.0),
        ("near", 200, 1500, 1.0),
        ("near", 200, 3000, 1.0),
        ("near", 200, 6000, 3.0),
        ("independent", 200, 6000, 3.0),
        *((f"{kind} curved", 100, 1500, 1.0) for kind in ("near", "loose", "factors", "independent")),
        ("loose curved", 60, 1500, 1.0),
        ("loose curved", 200, 1500, 1.0),
        ("independent curved", 60, 1500, 1.0),
        ("independent curved", 200, 3000, 3.0),
    ],
)
def test_tables_at_the_edges_of_noise_are_learned_as_well_as_by_a_linear_model(kind, d, n, epsilon):
    """In the mean of six fits: where noise hides correlations, and where it is as large as the signal."""
    additive, linear = compared(kind, d, epsilon, range(6), n)
    assert additive > linear - 0.1


KINDS = ["equal", "near", "loose", "factors", "independent"]


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("kind", "d", "epsilon"),
    [(kind, d, 1.0) for kind in KINDS for d in (120, 200)]
    + [("loose", 60, 1.0), ("factors", 60, 1.0), ("independent", 200, 3.0)],
)
def test_a_curved_target_that_noise_hides_is_not_learned_worse_than_by_a_linear_model(kind, d, epsilon):
    """Straight lines explain none of it: a fit that shows effects shows noise."""
    additive, linear = compared(f"{kind} curved", d, epsilon, range(3))
    assert additive > linear - 0.1


ALONE = 0.3 * np.sqrt(2 / np.pi)  # the mean product of a target of spread .3 and its sign


@pytest.mark.parametrize("d", [1, 7])
@pytest.mark.parametrize("size", [0.0, 1e-9, 0.05, ALONE, 1e12])
def test_the_start_explains_at_most_the_variance_of_the_target(size, d):
    """Whatever shapes are released; here they are those of equal columns."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=20_000)
    X = np.repeat((values > 0).astype(np.int16)[:, None], d, axis=1)
    y = np.rint(0.3 * STEPS * values.clip(-3, 3)).astype(np.int64)
    model = AdditiveRegressor(domain=IntegerRange(0, 1), target_range=(-1, 1), epsilon=1e4)
    plan = model.plan(20_000, n_features=d)
    oracle = CentralOracle(LabelledRows(X, y), privacy=plan.guarantee, dice=SeededDice(0))
    shapes = [Shape(size * np.array([[-1.0], [1.0]]), np.eye(2))] * d
    with np.errstate(all="raise"):
        narrow, found = narrowed(
            oracle, plan, SquaredLoss(0, STEPS)._base(0.3), shapes, [np.full(2, 0.5)] * d
        )
    unit = (STEPS / narrow.loss.scale) ** 2
    sizes = [float(np.abs(shape.effects).mean()) / np.sqrt(unit) for shape in found]
    assert sizes == pytest.approx([size] * d)
    assert sum(shape.share * size**2 for shape in found) <= 0.09 * (1 + 1e-9)
    assert {shape.share == 1 for shape in found} == {d * size**2 <= 0.09}
    assert np.isfinite(narrow.started)
    if size == ALONE:
        start = sum(shape.kept * size for shape in found)
        assert narrow.started / unit == pytest.approx(start**2, abs=0.01)


@pytest.mark.parametrize(("started", "ratio"), [(-1.0, 1.0), (0.0, 1.0), (1e-6, 1.0), (0.5, 5.0)])
def test_the_curvature_along_the_start_is_at_least_the_one_that_residuals_show(started, ratio):
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(5, 5))
    curvature, weights = matrix @ matrix.T, rng.normal(size=(5, 1))
    start = np.append(weights[:-1, 0], 0.0)
    square = start @ curvature @ start
    plan = SimpleNamespace(public=SimpleNamespace(n_samples=10))
    base = SimpleNamespace(started=started, step_curvature=np.array([square]))
    (found,) = _along_start(plan, base, [curvature], weights)
    assert start @ found @ start == pytest.approx(ratio * square)
    assert np.linalg.eigvalsh(found).min() > 0
    (still,) = _along_start(plan, base, [curvature], np.eye(5)[:, 4:])  # a start of 0
    assert still == pytest.approx(curvature)


def test_weights_are_at_most_twice_as_far_from_the_start_as_the_steps():
    start, step, curvature = np.ones(3), np.array([1.0, 3.0, 1.0]), np.diag([4.0, 1.0, 1.0])
    for far, expected in [(1.5, 1.5), (2.0, 2.0), (50.0, 2.0)]:
        weights = start + [far, 0.0, 0.0]  # as far as a move of twice this along the second axis
        found = _near_steps(weights, [start, step, start], curvature)
        assert found == pytest.approx(start + [expected, 0.0, 0.0])
    assert _near_steps(start, [start, start], curvature) == pytest.approx(start)


@pytest.mark.parametrize("bins", [2, 24])
def test_the_spread_is_that_of_residuals(bins):
    plan = AdditiveRegressor(domain=[Categories(["a"])], target_range=(-1, 1), epsilon=1e4).plan(5000)
    rng = np.random.default_rng(0)
    y = np.rint(rng.uniform(-0.5, 0.5, 5000) * STEPS).astype(np.int64)
    oracle = CentralOracle(
        LabelledRows(np.zeros((5000, 1), np.int16), y), privacy=plan.guarantee, dice=SeededDice(0)
    )
    object.__setattr__(plan, "n_bins", bins)
    base = SimpleNamespace(loss=SquaredLoss())
    found = ask_spread(oracle, plan, base, margins_of([np.zeros((1, 1))], np.zeros(1)))
    if bins == 24:
        assert found == pytest.approx(0.5 / np.sqrt(3), rel=0.1)
    assert 0 < found <= 1


def test_the_last_spread_is_that_of_all_margins(monkeypatch):
    """Of effects, and of interactions in the whole numbers that private records have."""
    X, rng = table(1000)
    X[:, 1] = rng.integers(0, 21, 1000)
    y = np.rint((X[:, 0] - 8.0) * (X[:, 1] - 4.0) / 200 * STEPS).astype(np.int64)
    plan = AdditiveRegressor(domain=AGES, target_range=(-1, 1), epsilon=30.0).plan(1000, n_features=2)
    asked = []
    for module in (start, steps):
        monkeypatch.setattr(module, "ask_spread", lambda *given: asked.append(given) or ask_spread(*given))
    records = LabelledRows(X, y)
    oracle = CentralOracle(records, privacy=plan.guarantee, dice=SeededDice(0))
    (model,) = learn_additive(oracle, plan)
    margins, features = asked[-1][3:]
    found = margins(Rows([], 0, 1, 1.0, joint=features).block(records)) / 2**MARGIN_BITS
    expected = summed(model.intercept, model.effects, X) + model.joint.margins(X)
    assert found == pytest.approx(expected, abs=0.005)
    assert np.abs(model.joint.effects[0]).max() > 0.02
    assert len(asked) == 2
