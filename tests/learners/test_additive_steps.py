"""What additive models compute of released numbers: cells, correlations, weights, steps and deviations."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from dplearn import AdditiveClassifier, AdditiveRegressor, domains
from dplearn.chance import PublicStream, SeededDice
from dplearn.domains import Categories, Floats, Grid, Hashed, IntegerRange, LargeIntegerRange
from dplearn.learners.additive.cells import LEVELS, MOST_CELLS, MOST_ORDERED, column_of, kernel, smooth_rows
from dplearn.learners.additive.start import Shape, ask_correlations
from dplearn.learners.additive.steps import WeightPosterior, covariance_of_weights, learn_additive
from dplearn.queries import LabelledRows, PopulationOracle
from dplearn.queries.oracle import oracle_for

# Cells.

DOMAINS = [
    Categories(["a"]),
    Categories(list(range(256))),
    Categories(list(range(600)), other=True),
    Hashed(1 << 20),
    domains.Bits(None),
    IntegerRange(5, 5),
    IntegerRange(0, 127),
    IntegerRange(0, 254, missing=True),
    IntegerRange(0, 10**9),
    IntegerRange(-(2**63) + 2, 2**63 - 1, missing=True),
    LargeIntegerRange(-(2**63), 2**62),
    Grid(1e6, 1e9),
    Grid(-1e307, 1e307, missing=True),
    Floats(missing=True),
    Floats(significand_bits=0, smallest=1, largest=4),
]


def codes_of(domain, n=500):
    """Codes of both ends of a domain, and between them."""
    last = domain.size - 1
    found = sorted({0, min(1, last), last, *(last * place // n for place in range(n))})
    if isinstance(domain, LargeIntegerRange):
        return np.array(found, dtype=object)
    return np.array(found, dtype=np.min_scalar_type(domain.size))


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
def test_every_code_has_a_cell_and_an_order_is_kept(domain):
    column = column_of(domain)
    cells = column.of(codes_of(domain))
    assert cells.dtype == np.int16
    assert cells.min() == 0
    assert cells.max() < column.size <= MOST_CELLS
    assert column.size >= min(domain.size, 3)
    assert len(column.described()) == column.size
    if column.ordered:
        assert (np.diff(cells) >= 0).all()
        assert cells[-1] == column.size - 1
        assert (np.diff(column.starts.astype(object)) > 0).all()
        assert column.of(column.starts).tolist() == list(range(column.size))
        values = column.values
        if values is not None:
            assert np.isnan(values[: column.gap]).all()
            assert (np.diff(values[column.gap :]) > 0).all()


def test_a_range_from_0_on_has_a_cell_for_0_and_small_numbers_apart():
    assert column_of(Grid(0, 20, 2001)).values[:7].tolist() == pytest.approx(
        [0, 0.01, 0.03, 0.07, 0.15, 0.31, 0.62]
    )
    assert column_of(Grid(-10, 10, 2001)).size == 64


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("high", [1.0, 300.0, 1e9, 1e300])
def test_no_range_has_more_cells_than_a_plan_counts(high, missing):
    """A plan must not be refused after its ranges were learned and paid for."""
    for fine in (False, True):
        column = column_of(Grid(0, high, size=1 << 16, missing=missing), fine=fine)
        assert column.size <= column.most == MOST_ORDERED
        assert column_of(Floats(missing=True), fine=fine).size == 203
    assert column_of(IntegerRange(0, 9, missing=missing)).most == 10 + missing


@pytest.mark.parametrize("level", range(LEVELS))
@pytest.mark.parametrize(
    "domain", [Floats(missing=True), IntegerRange(0, 40), Categories(["a", "b", "c"])], ids=repr
)
def test_a_kernel_is_a_covariance_and_rows_have_norms_of_at_most_1(level, domain):
    column = column_of(domain)
    full = kernel(column, level)
    assert full == pytest.approx(full.T)
    assert np.linalg.eigvalsh(full).min() > -1e-9
    assert np.diag(full).max() <= 1 + 1e-9
    assert np.array_equal(full[: column.gap], np.eye(column.size)[: column.gap])
    rows = smooth_rows(column, level)
    assert len(rows) == column.size
    assert np.linalg.norm(rows, axis=1).max() == pytest.approx(1)
    products = rows @ rows.T
    assert np.corrcoef(products.ravel(), full.ravel())[0, 1] > 0.99


# Plans.

TWO = [AdditiveClassifier(classes=[0, 1]), AdditiveRegressor(target_range=(0, 1), interactions=True)]


@pytest.mark.parametrize("learner", TWO)
@pytest.mark.parametrize("exponent", range(-7, 2))
def test_gaussian_noise_of_every_query_can_be_drawn_or_the_plan_refuses(exponent, learner):
    """Smaller epsilons have fewer bits, so that the variance is within what the sampler supports."""
    learner = clone(learner).set_params(domain=Grid(0, 1), epsilon=10.0**exponent, delta=1e-30)
    if exponent < -5:
        with pytest.raises(ValueError, match="epsilon must be large enough for noise to be drawn"):
            learner.plan(300, n_features=2)
        return
    bits = learner.plan(300, n_features=2).bits
    assert (bits.rows == 9) == (exponent >= 0)
    assert bits.factors >= 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(np.zeros((300, 2)), np.arange(300) % 2)


# Correlations.


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_released_correlations_are_those_of_the_columns(correlation):
    """Records that are far out in all columns are shortened; without a mend, .9 is released as .48."""
    rng = np.random.default_rng(0)
    common, own = rng.normal(size=(20_000, 1)), rng.normal(size=(20_000, 8))
    X = (np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own).clip(-4, 4)
    plan = AdditiveClassifier(classes=[0, 1], domain=Grid(-4, 4, 1025)).plan(20_000, n_features=8)
    cells = np.stack([plan.columns[0].of(each) for each in (128 * (X.T + 4)).astype(np.uint64)], axis=1)
    size = plan.columns[0].size
    masses = [np.bincount(each, minlength=size) / 20_000 for each in cells.T]
    shapes = [Shape(np.linspace(-1, 1, size)[:, None], np.eye(size))] * 8
    oracle = PopulationOracle(LabelledRows(cells, np.zeros(20_000, dtype=np.int64)))
    found = ask_correlations(oracle, plan, masses, shapes).correlations
    others = found[~np.eye(8, dtype=bool)]
    assert others.max() < correlation + 0.03
    assert others.min() > correlation - 0.12  # shortened records are nearer to a sphere


# The posterior of the weights of features.


@pytest.mark.parametrize("d", [1, 50])
def test_starts_that_are_noise_together_are_taken_back_together(d):
    """True weights are 0, and noise is larger than each start; all together are d times clearer.

    With independent priors that allow nothing else, the multiple s of the starts has the normal prior of mean
    and variance 1, and a measurement of 0 with the precision q: its posterior mean and variance are
    1 / (1 + q).
    """
    start, curvature, variance = 0.5 * (-1.0) ** np.arange(d), 10 * np.eye(d), 100.0
    given, measured = (curvature, variance, slice(0, 0), np.full(d, 1e-9), 0.0), np.zeros(d)
    apart, priors = WeightPosterior(*given).weights(measured, start)
    assert apart == pytest.approx(start, abs=1e-6)
    posterior = WeightPosterior(*given, common=start)
    together, same = posterior.weights(measured, start)
    precision = d * (10 * 0.5) ** 2 / variance
    assert together == pytest.approx(start / (1 + precision), abs=1e-6)
    assert same.tolist() == priors.tolist()
    posterior.weights(np.ones(d), start)
    assert posterior.weights(measured, start)[0].tolist() == together.tolist()
    covariance = covariance_of_weights(curvature, priors, variance, start)
    assert covariance == pytest.approx(np.outer(start, start) / (1 + precision), abs=1e-6)


# Steps.


@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("learner", TWO)
def test_all_of_the_budget_is_spent_in_the_planned_queries(learner, delta):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 21, (400, 2), dtype=np.int16)
    plan = clone(learner).set_params(domain=IntegerRange(0, 20), delta=delta).plan(400, n_features=2)
    records = LabelledRows(X, rng.integers(0, 2, 400))
    known = {"privacy": plan.guarantee, "dice": SeededDice(0), "stream": PublicStream(0)}
    oracle = oracle_for(plan.noise, records, **known)
    (model,) = learn_additive(oracle, plan)
    assert oracle.left == 0
    assert len(oracle.rounds) == plan.n_queries
    for mass, effects in zip(model.masses, model.effects, strict=True):
        assert effects.shape == (21, 1)
        assert np.abs(mass @ effects).max() < 1e-6 * max(1, np.abs(effects).max())


@pytest.mark.parametrize("n_fits", [16, pytest.param(40, marks=pytest.mark.nightly)])
def test_deviations_of_effects_are_those_of_the_noise(n_fits):
    rng = np.random.default_rng(0)
    X = np.empty((400, 3), dtype=object)
    X[:, 0], X[:, 1] = rng.integers(0, 41, 400), rng.choice(["north", "south", "west"], 400)
    X[:, 2] = rng.integers(0, 65, 400) / 64
    margins = np.stack([0.1 * X[:, 0] - 2, 2.0 * (X[:, 1] == "south"), np.ones(400)], axis=1).astype(float)
    y = (margins + rng.gumbel(size=margins.shape)).argmax(axis=1)
    domain = [IntegerRange(0, 40), Categories(["north", "south", "west"]), Grid(0, 1, 65, missing=True)]
    learner = AdditiveClassifier(epsilon=2.0, domain=domain, classes=[0, 1, 2])
    ages = [clone(learner).set_params(random_state=seed).fit(X, y).shapes_[0] for seed in range(n_fits)]
    claimed = np.median([each.deviations[-1] for each in ages], axis=0)
    ratio = np.std([each.effects[-1] for each in ages], axis=0) / claimed
    assert ((ratio > 0.4) & (ratio < 2.5)).all()
