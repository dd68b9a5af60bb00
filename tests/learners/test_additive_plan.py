"""The plan of an additive model depends on public numbers, and its shares are all of the budget."""

from fractions import Fraction

import pytest

from dplearn import AdditiveClassifier, AdditiveRegressor
from dplearn.domains import Bits as BitColumn
from dplearn.domains import Floats, IntegerRange
from dplearn.learners.additive.plan import Bits
from dplearn.queries.noise import _WIDEST

SETTINGS = {"gaussian": {}, "laplace": {"delta": 0.0}}


def planned(kind="gaussian", d=3, n=10_000, numbers=False, **parameters):
    given = {"domain": None} | SETTINGS[kind] | parameters
    if numbers:
        return AdditiveRegressor(target_range=(0, 1), **given).plan(n, n_features=d)
    return AdditiveClassifier(classes=[0, 1], **given).plan(n, n_features=d)


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("d", [1, 2, 256, 257])
@pytest.mark.parametrize("kind", SETTINGS)
def test_the_shares_of_all_queries_sum_to_1(kind, d, numbers):
    domain = {"domain": BitColumn(None)} if d > 2 else {}
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


def test_noise_follows_from_delta():
    assert [planned(kind).noise for kind in SETTINGS] == list(SETTINGS)
    assert [planned(kind).order for kind in SETTINGS] == [2, 1]


@pytest.mark.parametrize("kind", SETTINGS)
def test_more_records_make_shapes_more_flexible_and_noise_smaller(kind):
    plans = [planned(kind, n=n) for n in (50, 20_000, 2_000_000, 200_000_000)]
    levels, resolutions = ([getattr(plan, name) for plan in plans] for name in ("level", "resolution"))
    deviations = [plan.deviation for plan in plans]
    assert levels == sorted(levels)
    assert resolutions == sorted(resolutions)
    assert deviations == sorted(deviations, reverse=True)
    assert plans[0].warnings != ()
    assert plans[-1].warnings == ()
    assert (levels[0], levels[-1]) == (2 if kind == "laplace" else 0, 5)
    assert [plan.n_steps for plan in plans] == sorted((plan.n_steps for plan in plans), reverse=True)
    assert all(plan.rate == (0.6 if plan.clear else 0.35) for plan in plans)


@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("exponent", range(-11, 3))
def test_gaussian_noise_of_every_query_can_be_drawn_or_the_plan_refuses(exponent, numbers):
    """Smaller epsilons have fewer bits, so that the variance is within what the sampler supports."""
    try:
        plan = planned(epsilon=10.0**exponent, numbers=numbers)
    except ValueError as error:
        message = str(error)
    else:
        assert plan.bits.rows >= 0
        assert plan.bits.factors >= 2
        assert plan.bits.rows == 9 or exponent < 0
        return
    assert message.startswith("epsilon must be large enough for noise to be drawn")
    assert exponent < -9
    assert _WIDEST == 1 << 56


def test_joint_features_are_planned_where_they_can_be_learned():
    assert planned().n_joint == 72  # 24 for each column
    assert planned(numbers=True).n_joint == 72
    assert planned(d=6, n=20_000).n_joint == planned(d=60, n=700_000, domain=BitColumn(None)).n_joint == 128
    assert planned("laplace").n_joint == planned("laplace", interactions=True).n_joint == 0
    assert planned(d=1).n_joint == planned(d=1, interactions=True).n_joint == 0
    assert planned(d=257, domain=BitColumn(None), interactions=True).n_joint == 0
    assert planned(interactions=False).n_joint == 0
    many = AdditiveClassifier(domain=None).plan(10_000, n_features=3, n_labels=100)
    assert many.n_joint == 10  # 1024 for all labels


def test_by_default_joint_features_are_planned_from_a_resolution_of_20_on():
    few, enough = planned(n=180), planned(n=300)
    assert few.resolution < 20 <= enough.resolution
    assert (few.n_joint, enough.n_joint) == (0, 32)
    assert planned(n=180, interactions=True).n_joint == 32
    assert planned(n=300, interactions=False).n_joint == 0


def test_there_are_no_more_joint_features_than_twice_the_resolution_by_column_and_at_least_32():
    few, more, most = (planned(d=10, n=n) for n in (1_000, 10_000, 40_000))
    assert (few.n_joint, more.n_joint, most.n_joint) == (32, 92, 128)
    assert 91 < 2 * more.resolution / 10 < 92


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


def test_too_many_cells_are_refused():
    with pytest.raises(ValueError, match="at most 2097152 cells"):
        planned(d=20_000, domain=Floats())
    assert planned(d=60, domain=IntegerRange(0, 9)).noise == "gaussian"


def test_the_deviation_is_reported_to_users_and_fields_of_the_fit_are_not():
    text = repr(planned())
    assert "deviation=" in text
    assert "resolution=" in text
    assert not any(name in text for name in ("bits=", "loss=", "public=", "n_bins"))


@pytest.mark.parametrize("beta", [0, 1, -1])
def test_beta_is_a_probability(beta):
    with pytest.raises(ValueError, match="beta"):
        AdditiveClassifier(domain=None, classes=[0, 1]).plan(100, n_features=1, beta=beta)


def test_many_records_have_fewer_joint_features_for_the_memory():
    found = [planned(n=n, d=30, domain=IntegerRange(0, 9)).n_joint for n in (10**5, 10**6, 10**9)]
    assert found == [128, 100, 32]
