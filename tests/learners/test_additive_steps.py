"""What additive models compute of released numbers: cells, plans, first shapes, features, and steps."""

import warnings
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

from dplearn import AdditiveClassifier, AdditiveRegressor, domains
from dplearn.chance import PublicStream, SeededDice
from dplearn.domains import Categories, Floats, Grid, Hashed, IntegerRange, LargeIntegerRange, Product
from dplearn.learners.additive import model, start, steps
from dplearn.learners.additive.cells import (
    LEVELS,
    MOST_CELLS,
    MOST_ORDERED,
    column_of,
    kernel,
    line_rows,
    smooth_rows,
)
from dplearn.learners.additive.losses import MARGIN_BITS, SquaredLoss
from dplearn.learners.additive.model import features_of, summed
from dplearn.learners.additive.plan import Bits, linear_plan
from dplearn.learners.additive.queries import Rows, margins_of
from dplearn.learners.additive.start import (
    Shape,
    _centred_rows,
    _kernels,
    _normal_scores,
    _posterior,
    _usual_factors,
    ask_correlations,
    ask_masses,
    ask_shapes,
    ask_spread,
    narrowed,
    synthetic_cells,
)
from dplearn.learners.additive.steps import (
    Path,
    _along_start,
    _near_steps,
    covariance_of_weights,
    learn_additive,
    learn_linear,
    posterior_weights,
    secant,
)
from dplearn.privacy import ApproxDP
from dplearn.queries import CentralOracle, LabelledRows
from dplearn.queries.oracle import PopulationOracle, oracle_for
from dplearn.table.targets import STEPS

# Cells.

DOMAINS = [
    Categories(["a"]),
    Categories(list(range(255))),
    Categories(list(range(256))),
    Categories(list(range(600)), other=True),
    Hashed(1 << 20),
    domains.Bits(None),
    IntegerRange(5, 5),
    IntegerRange(0, 127),
    IntegerRange(-64, 64),
    IntegerRange(0, 254, missing=True),
    IntegerRange(0, 10**9),
    IntegerRange(-(2**63) + 2, 2**63 - 1, missing=True),
    LargeIntegerRange(0, 1000),
    LargeIntegerRange(-(2**63), 2**62),
    Grid(1e6, 1e9),
    Grid(0, 1e-300),
    Grid(-1e307, 1e307, missing=True),
    Floats(),
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


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("high", [1.0, 300.0, 1e9, 1e300])
def test_no_range_has_more_cells_than_a_plan_counts(high, missing):
    """A plan must not be refused after its ranges were learned and paid for."""
    for fine in (False, True):
        column = column_of(Grid(0, high, size=1 << 16, missing=missing), fine=fine)
        assert column.size <= column.most == MOST_ORDERED
        assert column_of(Floats(missing=True), fine=fine).size == 203
    assert column_of(IntegerRange(0, 9, missing=missing)).most == 10 + missing


def test_fine_cells_divide_the_usual_cells_of_wide_ranges_and_of_no_others():
    usual, fine = (column_of(IntegerRange(0, 100_000), fine=fine) for fine in (False, True))
    assert 3 * usual.size < fine.size <= MOST_ORDERED
    assert np.isin(usual.starts, fine.starts).all()
    assert 4096 + 256 in fine.values
    for domain in (IntegerRange(18, 90), Grid(-1, 1), Categories(["a", "b"]), Floats()):
        assert column_of(domain, fine=True).size == column_of(domain).size


def test_few_values_have_a_cell_each_and_many_share_cells():
    assert column_of(IntegerRange(18, 90)).size == 73
    assert column_of(IntegerRange(-500, 500)).size == 64
    assert column_of(IntegerRange(0, 100_000)).size < 128
    assert column_of(Categories(list(range(600)))).described()[3] == "group 3"
    assert column_of(IntegerRange(0, 2, missing=True)).described() == ("missing", "0", "1", "2")
    for wide in (IntegerRange(0, 10**9), Grid(1e6, 1e9)):
        assert column_of(wide).values[-1] > 7e8
    full = kernel(column_of(IntegerRange(0, 40, missing=True)), 4)
    assert full[0].tolist() == [1.0] + [0.0] * 41
    assert (kernel(column_of(Categories(["a", "b", "c"])), 2) == np.eye(3)).all()


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
    rows = smooth_rows(column, level)
    assert len(rows) == column.size
    assert np.linalg.norm(rows, axis=1).max() == pytest.approx(1)
    products = rows @ rows.T
    assert np.corrcoef(products.ravel(), full.ravel())[0, 1] > 0.99


def test_rows_of_ordered_cells_are_a_line_and_those_of_categories_apart():
    assert line_rows(column_of(IntegerRange(5, 5))).tolist() == [[0.0]]
    assert line_rows(column_of(IntegerRange(5, 6))).tolist() == [[-1.0], [1.0]]
    assert line_rows(column_of(Grid(0, 1, 3, missing=True))).tolist() == [[0, 1], [-1, 0], [0, 0], [1, 0]]
    assert line_rows(column_of(Categories(["a", "b", "c"]))).tolist() == np.eye(3).tolist()


# Plans.

TWO = [AdditiveClassifier(classes=[0, 1]), AdditiveRegressor(target_range=(0, 1))]
BIT_COLUMN = domains.Bits(None)
NOISES = {"gaussian": {}, "laplace": {"delta": 0.0}}


def planned(kind="gaussian", d=3, n=10_000, numbers=False, **parameters):
    given = {"domain": None} | NOISES[kind] | parameters
    if numbers:
        return AdditiveRegressor(target_range=(0, 1), **given).plan(n, n_features=d)
    return AdditiveClassifier(classes=[0, 1], **given).plan(n, n_features=d)


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("d", [1, 2, 256, 257])
@pytest.mark.parametrize("kind", NOISES)
def test_the_shares_of_all_queries_sum_to_1(kind, d, numbers):
    domain = {"domain": BIT_COLUMN} if d > 2 else {}
    plan = planned(kind, d=d, numbers=numbers, **domain)
    target, masses, shapes, correlations, pairs, spread, steps = plan.shares
    assert target + masses + shapes + correlations + pairs + 2 * spread + steps == 1
    assert plan.n_steps * plan.step_share == steps
    assert all(isinstance(share, Fraction) and share >= 0 for share in plan.shares)
    assert min(target, masses, shapes, steps) > 0
    assert plan.correlated == bool(correlations) == (kind != "laplace" and 2 <= d <= 256)
    assert plan.paired == bool(pairs) == (plan.n_joint > 0)
    assert plan.narrows == bool(spread) == numbers
    assert plan.n_queries == 3 + plan.correlated + plan.paired + 2 * plan.narrows + plan.n_steps


@pytest.mark.parametrize("kind", NOISES)
def test_more_records_make_shapes_more_flexible_and_noise_smaller(kind):
    plans = [planned(kind, n=n) for n in (50, 20_000, 2_000_000, 200_000_000)]
    levels, resolutions = ([getattr(plan, name) for plan in plans] for name in ("level", "resolution"))
    deviations = [plan.deviation for plan in plans]
    assert levels == sorted(levels)
    assert resolutions == sorted(resolutions)
    assert deviations == sorted(deviations, reverse=True)
    assert (levels[0], levels[-1]) == (2 if kind == "laplace" else 0, 5)
    assert [plan.n_steps for plan in plans] == sorted((plan.n_steps for plan in plans), reverse=True)
    assert all(plan.rate == (0.6 if plan.clear else 0.35) for plan in plans)


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


def test_interactions_cost_one_query_from_the_share_of_the_steps():
    one, other = planned(interactions=True), planned(interactions=False)
    assert one.shares.pairs > other.shares.pairs == 0
    assert one.shares.pairs + one.shares.steps == other.shares.steps
    assert one.shares[:4] == other.shares[:4]
    assert (one.n_queries, one.deviation) == (other.n_queries + 1, other.deviation)


def test_fewer_bits_leave_out_half_or_all():
    assert Bits.of(9, 0) == Bits(9, 11, 7, 7, 6, 10)
    assert Bits.of(9, 3) == Bits(8, 9, 6, 6, 5, 9)
    assert Bits.of(0, 0) == Bits(0, 2, 0, 0, 0, 2)
    assert min(vars(Bits.of(9, 18)).values()) == 0


def test_residuals_are_clipped_unless_noise_is_small():
    assert planned(n=1000).loss.reach == 2048
    assert planned(n=10**6, epsilon=1e6).loss.reach == 4096


# First shapes.

LABELS = SimpleNamespace(variance=np.array([0.25]), curvature=np.array([0.25]), unit=1.0)
DOMAIN = [IntegerRange(0, 9), Categories(["a", "b", "c"])]


def plan_of_two(n, **parameters):
    model = AdditiveClassifier(classes=[0, 1], domain=DOMAIN, random_state=0, **parameters)
    return model.plan(n)


def records_of_two(n):
    rng = np.random.default_rng(0)
    X = np.stack([rng.binomial(9, 0.3, n), rng.choice(3, n, p=[0.7, 0.2, 0.1])], axis=1)
    return LabelledRows(X.astype(np.int16), rng.integers(0, 2, n))


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_masses_are_nearly_the_shares_of_records(delta):
    plan, records = plan_of_two(5000, epsilon=1e4, delta=delta), records_of_two(5000)
    oracle = oracle_for(
        plan.noise, records, privacy=plan.guarantee, dice=SeededDice(0), stream=PublicStream(0)
    )
    masses, variance = ask_masses(oracle, plan)
    assert variance > 0
    for mass, column in zip(masses, records.X.T, strict=True):
        assert mass.sum() == pytest.approx(1)
        assert mass.min() >= 0
        shares = np.bincount(column, minlength=len(mass)) / 5000
        assert np.abs(np.cumsum(mass) - np.cumsum(shares)).max() < 0.03
    assert oracle.left == 1 - plan.shares.masses


def test_centred_rows_are_short_and_their_usual_factors_near_1():
    plan, records = plan_of_two(5000, epsilon=1.0), records_of_two(5000)
    masses = [np.bincount(column, minlength=k) / 5000 for column, k in zip(records.X.T, (10, 3), strict=True)]
    rows = _centred_rows(plan, masses)
    for table, mass in zip(rows.tables, masses, strict=True):
        assert mass @ table * rows.unit == pytest.approx(0, abs=0.01)
    assert rows.reach == 1 << plan.bits.rows
    factors = rows.block(records).weights / 1024
    for place, usual in enumerate(_usual_factors(rows, masses)):
        assert ((usual > 0) & (usual <= 1)).all()
        seen = [factors[records.X[:, place] == cell].mean() for cell in range(3)]
        assert usual[:3] == pytest.approx(seen, abs=0.08)


@pytest.mark.parametrize("variance", [0.0, 1e-6, 1.0, 1e40])
@pytest.mark.parametrize("n", [1, 10_000])
def test_the_posterior_of_any_sums_is_finite(variance, n):
    column = column_of(IntegerRange(0, 9))
    for sums in (np.zeros((10, 1)), np.full((10, 1), 1e6)):
        for mass in (np.full(10, 0.1), np.eye(10)[0] + 1e-12):
            noise = np.full(1, variance)
            shape = _posterior(np.eye(10), mass, sums, _kernels(column, 5), LABELS, noise, n)
            assert np.isfinite(shape.effects).all()
            assert np.isfinite(shape.covariance).all()
            least = np.linalg.eigvalsh(shape.covariance).min()
            assert least > -1e-6 * max(1, np.abs(shape.covariance).max())


def test_the_posterior_recovers_effects_without_noise_and_is_0_with_noise_alone():
    column, effects = column_of(IntegerRange(0, 9)), np.linspace(-1, 1, 10)
    mass = np.full(10, 0.1)
    sums = (0.25 * mass * effects)[:, None]
    exact = _posterior(np.eye(10), mass, sums, _kernels(column, 2), LABELS, np.full(1, 1e-10), 10**8)
    assert exact.effects[:, 0] == pytest.approx(effects, abs=0.02)
    noise = np.random.default_rng(0).normal(0, 1, (10, 1))
    nothing = _posterior(np.eye(10), mass, noise, _kernels(column, 2), LABELS, np.ones(1), 10**8)
    assert np.abs(nothing.effects).max() < 0.3


def test_a_column_without_effect_states_that_one_may_be_there():
    mass = np.array([0.5, 0.5, 0.0])
    shape = _posterior(np.eye(3), mass, np.zeros((3, 1)), [np.eye(3)], LABELS, np.full(1, 1e-4), 10_000)
    assert not shape.effects.any()
    assert shape.covariance[2, 2] >= 0.01  # the least amplitude
    assert (np.diag(shape.covariance)[:2] < 0.2 * shape.covariance[2, 2]).all()


def test_noise_in_masses_is_no_effect_of_a_cell_without_records():
    """Masses of unused categories that are too large: their sums are not those of the mean target."""
    domain = [Categories([*"ab", *map(str, range(20))])]
    plan = AdditiveClassifier(classes=[0, 1], domain=domain, random_state=0).plan(20_000)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (20_000, 1)).astype(np.int16)
    y = (rng.random(20_000) < np.where(X[:, 0] == 0, 0.01, 0.05)).astype(int)
    for seed in range(5):
        oracle = oracle_for(
            plan.noise,
            LabelledRows(X, y),
            privacy=plan.guarantee,
            dice=SeededDice(seed),
            stream=PublicStream(0),
        )
        base = plan.loss.ask_base(oracle, plan.shares.target)
        masses, variance = ask_masses(oracle, plan)
        assert (masses[0][2:] > 0).any()
        ((shape,),) = ask_shapes(oracle, plan, base, masses, variance)
        scale = np.sqrt(np.diag(shape.covariance))[2:]
        assert (np.abs(shape.effects[2:, 0]) < 2.5 * scale).all()


def test_synthetic_records_have_the_given_masses_and_correlations():
    masses = [np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.9])]
    orders = [np.array([2, 0, 1]), np.arange(2)]
    found = synthetic_cells(masses, orders, np.array([[1.0, 0.8], [0.8, 1.0]]), 20_000)
    assert np.bincount(found[:, 0]) / 20_000 == pytest.approx(masses[0], abs=0.02)
    assert np.bincount(found[:, 1]) / 20_000 == pytest.approx(masses[1], abs=0.02)
    places = np.argsort(orders[0])[found[:, 0]]
    assert np.corrcoef(places, found[:, 1])[0, 1] > 0.3
    again = synthetic_cells(masses, orders, np.eye(2), 20_000)
    assert abs(np.corrcoef(np.argsort(orders[0])[again[:, 0]], again[:, 1])[0, 1]) < 0.03


# Correlations.


def test_normal_scores_are_standardised_and_in_order():
    mass = np.array([0.1, 0.2, 0.3, 0.4])
    scores = _normal_scores(mass, np.array([3, 1, 0, 2]))
    assert mass @ scores == pytest.approx(0)
    assert mass @ scores**2 == pytest.approx(1)
    assert (np.diff(scores[[3, 1, 0, 2]]) > 0).all()
    assert np.isfinite(_normal_scores(np.array([1.0, 1e-300]), np.arange(2))).all()
    assert _normal_scores(np.ones(1), np.arange(1)).tolist() == [0.0]


def normal_columns(X, learner):
    """Return the plan of columns of normal numbers, their cells, and the masses of cells."""
    plan = learner.set_params(domain=Grid(-4, 4, 1025)).plan(len(X), n_features=X.shape[1])
    codes = (128 * (X.clip(-4, 4) + 4)).astype(np.uint64)
    cells = np.stack([plan.columns[0].of(each) for each in codes.T], axis=1)
    size = plan.columns[0].size
    masses = [np.bincount(each, minlength=size) / len(X) for each in cells.T]
    return plan, LabelledRows(cells, np.zeros(len(X), dtype=np.int64)), masses, size


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.9])
def test_released_correlations_are_those_of_the_columns(correlation):
    """Records that are far out in all columns are shortened; without a mend, .9 is released as .48."""
    rng = np.random.default_rng(0)
    common, own = rng.normal(size=(20_000, 1)), rng.normal(size=(20_000, 8))
    X = np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own
    plan, records, masses, size = normal_columns(X, AdditiveClassifier(classes=[0, 1]))
    shapes = [Shape(np.linspace(-1, 1, size)[:, None], np.eye(size))] * 8
    found = ask_correlations(PopulationOracle(records), plan, masses, shapes).correlations
    others = found[~np.eye(8, dtype=bool)]
    assert others.max() < correlation + 0.03
    assert others.min() > correlation - 0.12  # shortened records are nearer to a sphere


@pytest.mark.parametrize(("d", "n", "epsilon", "most"), [(5, 3000, 1.0, 0.2), (100, 3000, 3.0, 0.25)])
def test_noise_hides_no_factor_of_columns_with_small_effects(d, n, epsilon, most):
    """Of a regression, whose steps would diverge, or show interactions, if correlations were wrong."""
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(n, 1)) + rng.normal(size=(n, d)) / 2) / np.sqrt(1.25)
    learner = AdditiveRegressor(target_range=(-1, 1), epsilon=epsilon)
    plan, records, masses, size = normal_columns(X, learner)
    effects = np.linspace(-1, 1, size)[:, None]
    shapes = [Shape(effects, np.eye(size)), *[Shape(effects / 100, np.eye(size))] * (d - 1)]
    for seed in range(3):
        oracle = CentralOracle(records, privacy=plan.guarantee, dice=SeededDice(seed))
        found = ask_correlations(oracle, plan, masses, shapes).correlations
        errors = (found - 0.8)[~np.eye(d, dtype=bool)]
        assert np.sqrt(np.mean(errors**2)) < most


# Features of the whole model.

BASE = SimpleNamespace(unit=1.0, curvature=np.ones(1), step_curvature=np.ones(1))


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_cells_without_mass_have_no_features_and_keep_their_doubt(delta):
    domain = [Categories([str(each) for each in range(400)])] * 2
    plan = AdditiveClassifier(domain=domain, classes=[0, 1], delta=delta).plan(1000)
    mass = np.zeros(400)
    mass[:3] = 1 / 3
    covariance = np.diag(np.where(mass > 0, 0.2, 1.0))
    effects = np.where(mass > 0, np.arange(400) - 1.0, 0.0)[:, None]
    shape = Shape(effects, covariance)
    features = features_of(plan, BASE, [shape, shape], [mass, mass])
    assert [table.shape[1] for table in features.tables] == [4 if delta else 1] * 2
    assert features.priors.shape == features.others.shape == (1 + sum(t.shape[1] for t in features.tables),)
    for table, omitted in zip(features.tables, features.omitted, strict=True):
        assert mass @ table == pytest.approx(0)
        assert np.ptp(table[3:], axis=0).max() < 1e-9
        # The mean of three effects varies, too.
        assert omitted[3:] == pytest.approx(1 + (0 if delta else 0.2 / 3), abs=0.1)
        assert omitted[:3].max() < (1e-9 if delta else 0.2)


def shapes_of(effects, variances):
    """Return the shapes of columns of two cells of mass 1/2, and these masses."""
    covariance = np.array([[1.0, -1.0], [-1.0, 1.0]])
    shapes = [
        Shape(np.array([[effect], [-effect]]), variance * covariance)
        for effect, variance in zip(effects, variances, strict=True)
    ]
    return shapes, [np.full(2, 0.5)] * len(shapes)


def two_cells(n, effects, variances, **settings):
    domain = [Categories(["a", "b"])] * len(effects)
    plan = AdditiveClassifier(domain=domain, classes=[0, 1], **settings).plan(n)
    return plan, features_of(plan, BASE, *shapes_of(effects, variances))


def test_scales_make_the_sum_of_posterior_variances_least():
    """Beside other scales of the same features, with the noise of the result."""
    plan, features = two_cells(2000, [1.0, 0.3, 0.1], [1.0, 0.1, 0.01])
    energies = np.array([np.mean(table**2) for each in features.tables for table in each.T])
    energies = np.append(energies, features.constant**2)
    variances = features.priors * energies

    def doubt(energies):
        shares = energies / energies.sum()
        noise = model._COUNTED * plan.step_deviation**2
        return (variances * noise / (variances * shares + noise)).sum()

    free = features.others | (variances > 0.02)  # the others have at least the scale of the largest
    assert free.sum() >= 4
    for place in np.flatnonzero(free):
        for factor in (0.8, 1.25):
            changed = energies.copy()
            changed[place] *= factor
            assert doubt(changed) >= doubt(energies) * (1 - 1e-4)
    assert doubt(variances) > 1.02 * doubt(energies)


def test_what_noise_would_hide_is_no_feature_and_first_shapes_always_are():
    effects, variances = [1.0, 0.5, 0.0], [1e-4, 1.0, 1e-4]
    few, many = (two_cells(n, effects, variances)[1] for n in (300, 300_000))
    assert [table.shape[1] for table in few.tables] == [1, 2, 1]
    assert [table.shape[1] for table in many.tables] == [2, 2, 2]
    # An effect in no feature keeps its doubt.
    assert few.omitted[0] == pytest.approx(1e-4)
    assert many.omitted[0] == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(("d", "size"), [(1, 0.0), (1, 1.0), (10, 1e-6), (200, 0.0), (200, 1.0)])
def test_of_a_regression_the_constant_has_a_least_share_of_rows(d, size):
    """Noise in the mean moves all predictions, however many columns there are."""
    domain, sizes = [Categories(["a", "b"])] * d, [size] + [0.1 * size] * (d - 1)
    shares = []
    for learner in (AdditiveRegressor(target_range=(-1, 1)), AdditiveClassifier(classes=[0, 1])):
        plan = learner.set_params(domain=domain).plan(1500)
        with np.errstate(all="raise", under="ignore"):
            features = features_of(plan, BASE, *shapes_of(sizes, [0.01] * d))
        rest = sum(float(np.mean(table**2, axis=0).sum()) for table in features.tables)
        shares.append(features.constant**2 / (features.constant**2 + rest))
        assert all(np.isfinite(start).all() for start in features.starts)
    assert 0.15 / 1.15 - 1e-9 < shares[0] < 1
    assert d < 200 or shares[1] < 1 / 20  # of labels the constant is one feature among hundreds


# The posterior of the weights of features.


@pytest.mark.parametrize("variance", [0.0, 1.0, 1e30])
def test_the_posterior_of_any_weights_is_finite(variance):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 3))
    curvature = root @ root.T + 1e-6 * np.eye(5)  # nearly singular
    usual = np.array([1.0, 100.0, 0.01, 1.0, 4.0])
    mean, priors = posterior_weights(
        curvature @ np.ones(5), curvature, np.zeros(5), variance, slice(3, 4), usual, 1e-9
    )
    assert np.isfinite(mean).all()
    covariance = covariance_of_weights(curvature, priors, variance)
    assert np.linalg.eigvalsh(covariance).min() > -1e-6
    if not variance:
        assert curvature @ mean == pytest.approx(curvature @ np.ones(5), abs=0.01)


def test_weights_that_nothing_measures_keep_their_prior_variance():
    curvature = np.diag([50.0, 0.0, 0.0])
    covariance = covariance_of_weights(curvature, np.array([1.0, 10.0, 0.1]), 1.0)
    assert np.diag(covariance) == pytest.approx([1 / (1 + 50**2), 10, 0.1])
    assert np.isfinite(covariance_of_weights(0 * curvature, np.ones(3), 0.0)).all()


def test_prior_variances_of_joint_features_have_a_greatest_factor():
    curvature, weights, joint = 100 * np.eye(6), np.array([0.1, -0.1, 3.0, -2.0, 2.5, -3.5]), slice(2, 6)
    given = curvature @ weights, curvature, np.zeros(6), 1.0, joint, np.ones(6), 1.0
    assert posterior_weights(*given)[1][2:] == pytest.approx([10.0] * 4)
    assert posterior_weights(*given, 1.0)[1][2:] == pytest.approx([1.0] * 4)


@pytest.mark.parametrize("d", [1, 50])
def test_starts_that_are_noise_together_are_taken_back_together(d):
    """True weights are 0, and noise is larger than each start; all together are d times clearer.

    With independent priors that allow nothing else, the multiple s of the starts has the normal prior of mean
    and variance 1, and a measurement of 0 with the precision q: its posterior mean and variance are
    1 / (1 + q).
    """
    start, curvature, variance = 0.5 * (-1.0) ** np.arange(d), 10 * np.eye(d), 100.0
    given = np.zeros(d), curvature, start, variance, slice(0, 0), np.full(d, 1e-9), 0.0
    apart, priors = posterior_weights(*given)
    assert apart == pytest.approx(start, abs=1e-6)
    together, same = posterior_weights(*given, common=start)
    precision = d * (10 * 0.5) ** 2 / variance
    assert together == pytest.approx(start / (1 + precision), abs=1e-6)
    assert same.tolist() == priors.tolist()
    covariance = covariance_of_weights(curvature, priors, variance, start)
    assert covariance == pytest.approx(np.outer(start, start) / (1 + precision), abs=1e-6)


# Steps.

AGES = IntegerRange(0, 20)


def nearly_equal(n, d=2):
    """Equal columns but for one record in ten."""
    rng = np.random.default_rng(0)
    ages = rng.integers(0, 21, n)
    X = np.stack([np.where(rng.random(n) < 0.1, rng.integers(0, 21, n), ages) for _ in range(d)], axis=1)
    return X.astype(np.int16), rng


@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("learner", TWO)
def test_all_of_the_budget_is_spent_in_the_planned_queries(learner, delta):
    X, rng = nearly_equal(400)
    plan = clone(learner).set_params(domain=AGES, delta=delta).plan(400, n_features=2)
    records = LabelledRows(X, rng.integers(0, 2, 400))
    known = {"privacy": plan.guarantee, "dice": SeededDice(0), "stream": PublicStream(0)}
    oracle = oracle_for(plan.noise, records, **known)
    (model,) = learn_additive(oracle, plan)
    assert oracle.left == 0
    assert len(oracle.rounds) == plan.n_queries
    for mass, effects in zip(model.masses, model.effects, strict=True):
        assert effects.shape == (21, 1)
        assert np.abs(mass @ effects).max() < 1e-6 * max(1, np.abs(effects).max())


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
    X, rng = nearly_equal(1000)
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


def positive_definite(size, seed):
    root = np.random.default_rng(seed).normal(size=(size, size))
    return root @ root.T + 0.1 * np.eye(size)


def corrected(estimates, step, change, variance=0.0, rate=0.6, bias=0.0):
    return secant(estimates, step, change, rate=rate, bias=bias, variance=variance)


@pytest.mark.parametrize("ratio", [2.0, 5.0, 100.0])
@pytest.mark.parametrize("k", [1, 3])
def test_a_correction_gives_the_curvature_that_gradients_show(ratio, k):
    estimates = [positive_definite(6, seed) for seed in range(k)]
    step = np.random.default_rng(9).normal(size=(6, k))
    change = ratio * np.stack([h @ s for h, s in zip(estimates, step.T, strict=True)], axis=1)
    found = corrected(estimates, step, change)
    assert found.ratio == pytest.approx(min(ratio, 16.0))
    inverses = found.inverted([np.linalg.inv(each + np.eye(6)) for each in estimates])
    for old, new, inverse, each in zip(estimates, found.applied(estimates), inverses, step.T, strict=True):
        assert each @ new @ each == pytest.approx(found.ratio * (each @ old @ each))
        assert np.linalg.eigvalsh(new)[0] > 0
        assert inverse == pytest.approx(np.linalg.inv(new + np.eye(6)))


@pytest.mark.parametrize(
    ("seen", "variance", "bias"),
    [
        (1.6, 0.0, 0.0),  # the step of .6 has not passed the minimum
        (0.1, 0.0, 0.0),  # nor here: residuals may be clipped
        (9.0, 10.0, 0.0),  # noise may explain it
        (9.0, 0.0, 7.5),  # the step has followed the noise
    ],
)
def test_a_curvature_is_kept_unless_a_step_has_passed_the_minimum_beyond_noise(seen, variance, bias):
    step = np.array([[1.0], [0.0]])
    assert corrected([np.eye(2)], step, seen * step, variance=variance, bias=bias).ratio == 1.0
    assert corrected([np.eye(2)], step, 9.0 * step).ratio == 9.0


def test_the_measurement_of_a_quadratic_loss_is_curvature_times_minimum():
    true, minimum = positive_definite(4, 0), np.arange(4.0)[:, None]
    points = [np.full((4, 1), float(place)) for place in range(8)]
    gradients = [true @ (minimum - point) for point in points]
    path = SimpleNamespace(points=points, gradients=gradients, variance=6.0)
    measured, variance = Path.measured(path, [true])
    assert measured == pytest.approx(true @ minimum)
    assert variance == 1.0  # the first two of eight are left out


# Straight lines.

CITIES = Categories(["north", "south", "west"])


def city_records(n=4000, seed=0):
    rng = np.random.default_rng(seed)
    domains = [IntegerRange(0, 40), CITIES, Grid(0, 1, 65, missing=True)]
    columns = [column_of(domain) for domain in domains]
    cells = np.stack([rng.integers(0, column.size, n) for column in columns], axis=1)
    margins = np.stack(
        [0.1 * cells[:, 0] - 2, 2.0 * (cells[:, 1] == 1), 0.1 * cells[:, 2] - 3 * (cells[:, 2] > 0)], axis=1
    )
    return domains, columns, cells, (margins + rng.gumbel(size=margins.shape)).argmax(axis=1), margins


def test_with_little_noise_effects_are_those_of_the_columns():
    _, columns, cells, y, margins = city_records()
    cost, part = ApproxDP(1000, "1e-6"), Fraction(9, 10)
    asked = linear_plan(cost, part, len(y), 6, 3)
    oracle = CentralOracle(LabelledRows(cells.astype(np.int16), y), privacy=cost, dice=SeededDice(0))
    masses = [
        np.bincount(each, minlength=column.size) / len(y)
        for column, each in zip(columns, cells.T, strict=True)
    ]
    model = learn_linear(oracle, columns, masses, asked, part)
    assert oracle.left == 1 - part
    found = summed(model.intercept, model.effects, cells)
    assert np.mean(found.argmax(axis=1) == y) > np.mean(margins.argmax(axis=1) == y) - 0.04
    for effects, mass in zip(model.effects, model.masses, strict=True):
        assert mass @ effects == pytest.approx(np.zeros(3), abs=1e-12)
    assert model.effects[1].argmax(axis=0)[1] == 1  # the second label is that of the second city
    assert (np.diff(model.effects[0][:, 0]) > 0).all()  # the first label, of greater numbers


@pytest.mark.parametrize("n_fits", [8, pytest.param(40, marks=pytest.mark.nightly)])
def test_deviations_are_those_of_the_noise(n_fits):
    domains, _, cells, y, _ = city_records(400)
    X = np.empty(cells.shape, dtype=object)
    X[:, 0], X[:, 1] = cells[:, 0], np.array(CITIES.values)[cells[:, 1]]
    X[:, 2] = domains[2].decode(cells[:, 2].astype(np.uint64))
    fits = [
        AdditiveClassifier(epsilon=2.0, domain=Product(domains), classes=[0, 1, 2], random_state=seed).fit(
            X, y
        )
        for seed in range(n_fits)
    ]
    ends = np.array([fit.shapes_[0].effects[-1] for fit in fits])
    claimed = np.median([fit.shapes_[0].deviations[-1] for fit in fits], axis=0)
    ratio = np.std(ends, axis=0) / claimed
    assert ((ratio > 0.4) & (ratio < 2.5)).all()
