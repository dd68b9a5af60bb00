"""Transformers by private quantiles and searches: places without overflow, accuracy, and enough records."""

import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.preprocessing import RobustScaler

from dplearn.chance import SeededDice
from dplearn.domains import DomainError, Floats, Grid, IntegerRange, Schema
from dplearn.preprocessing import (
    PrivateKBinsDiscretizer,
    PrivateMinMaxClipper,
    PrivateQuantileTransformer,
    PrivateRobustScaler,
)
from dplearn.preprocessing.quantile_columns import (
    candidates,
    counts_within,
    extremes_plan,
    interpolate,
    release_extremes,
)
from dplearn.privacy import ApproxDP
from dplearn.theory import quantile_errors

X = np.random.default_rng(0).lognormal(3, 1, (4000, 2)) * [1, 1e6]
ALL = (
    PrivateQuantileTransformer(n_quantiles=9),
    PrivateKBinsDiscretizer(encode="ordinal"),
    PrivateRobustScaler(),
    PrivateMinMaxClipper(),
)
#: Two of them with every change: what all inherit, seen where quantiles are many and where they are few.
two_transformers = pytest.mark.parametrize(
    "transformer",
    [pytest.param(each, marks=pytest.mark.nightly if i % 2 else ()) for i, each in enumerate(ALL)],
    ids=lambda each: type(each).__name__,
)
floats = st.floats(allow_nan=False, allow_infinity=False)
WAGES = np.random.default_rng(0).lognormal(8, 1, (3000, 1))


@example([-1.7e308, 1.7e308], [0.0, 1.7e308], False)
@given(st.lists(floats, min_size=1, max_size=6), st.lists(floats, min_size=2, max_size=2), st.booleans())
def test_interpolation_is_finite_and_rises(points, xs, left):
    points, heights = np.sort(points), np.linspace(0, 1, len(points))
    low, high = interpolate(np.sort(xs), points, heights, "left" if left else "right")
    assert 0 <= low <= high + 1e-12 <= 1 + 2e-12


def test_a_robust_scaler_is_near_scikit_learns():
    ours, theirs = PrivateRobustScaler(epsilon=2, random_state=0).fit(X), RobustScaler().fit(X)
    np.testing.assert_allclose(ours.center_, theirs.center_, rtol=0.1)
    np.testing.assert_allclose(ours.scale_, theirs.scale_, rtol=0.15)
    np.testing.assert_allclose(ours.inverse_transform(ours.transform(X)), X)


def test_a_step_that_is_off_costs_nothing():
    neither = PrivateRobustScaler(with_centering=False, with_scaling=False).fit(X)
    assert neither.guarantee_.epsilon == 0
    np.testing.assert_array_equal(neither.transform(X), X)
    centered = PrivateRobustScaler(with_scaling=False, random_state=0).fit(X)
    assert centered.scale_ is None
    np.testing.assert_allclose(centered.transform(X), X - centered.center_)


@pytest.mark.parametrize("output", ["uniform", "normal"])
def test_a_quantile_transformer_spreads_evenly_and_back(output):
    fitted = PrivateQuantileTransformer(output_distribution=output, epsilon=4, random_state=0).fit(X)
    spread = fitted.transform(X)
    middle, width = (0.5, 1 / np.sqrt(12)) if output == "uniform" else (0.0, 1.0)
    np.testing.assert_allclose(spread.mean(axis=0), middle, atol=0.05)
    np.testing.assert_allclose(spread.std(axis=0), width, rtol=0.15)
    inside = (fitted.quantiles_[0] < X) & (fitted.quantiles_[-1] > X)
    np.testing.assert_allclose(fitted.inverse_transform(spread)[inside], X[inside], rtol=1e-6)


def test_equal_quantiles_map_to_their_middle():
    zeros = np.where(np.arange(4000) < 3600, 0.0, 5.0)[:, None]
    fitted = PrivateQuantileTransformer(n_quantiles=3, random_state=0).fit(zeros)
    assert fitted.quantiles_.ravel().tolist() == [0, 0, 0]
    assert fitted.transform([[0.0]]).item() == 0.5


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
def test_bins_have_the_right_numbers(strategy):
    fitted = PrivateKBinsDiscretizer(5, encode="ordinal", strategy=strategy, epsilon=4, random_state=0).fit(X)
    if strategy == "quantile":
        shares = np.bincount(fitted.transform(X)[:, 0].astype(int)) / len(X)
        np.testing.assert_allclose(shares, 0.2, atol=0.05)
    else:
        np.testing.assert_allclose(np.diff(fitted.cuts_, axis=0, n=2) / fitted.cuts_[0], 0, atol=1e-9)
        assert (np.diff(fitted.cuts_[:2], axis=0) < X.max(axis=0) / 5).all()
    bins = fitted.transform(X)
    np.testing.assert_array_equal(fitted.transform(fitted.inverse_transform(bins))[bins > 0], bins[bins > 0])


def test_one_hot_columns_mark_the_bin_and_are_named_by_it():
    binner = PrivateKBinsDiscretizer(3, random_state=0)
    dense = clone(binner).set_params(encode="onehot-dense").fit(X).transform(X)
    sparse = clone(binner).set_params(encode="onehot").fit(X)
    assert dense.shape == (4000, 6)
    assert set(dense.sum(axis=1)) == set(sparse.transform(X).toarray().sum(axis=1)) == {2}
    assert sparse.get_feature_names_out().tolist() == ["x0_0", "x0_1", "x0_2", "x1_0", "x1_1", "x1_2"]
    middles = sparse.inverse_transform(sparse.transform(X))
    bins, again = (sparse.transform(each).toarray().reshape(-1, 3).argmax(axis=1) for each in (X, middles))
    assert (again == bins)[bins > 0].all()
    named = PrivateKBinsDiscretizer(2, encode="onehot-dense", domain=SCHEMA).set_output(transform="pandas")
    assert list(named.fit_transform(WIDE).columns) == ["b_0", "b_1", "a_0", "a_1"]


def test_a_clipper_stays_in_its_range():
    clipper = PrivateMinMaxClipper(feature_range=(-1, 3), quantile_range=(5, 95), method="quantiles")
    fitted = clipper.set_params(random_state=0).fit(X)
    moved = fitted.transform(X)
    assert (moved.min(), moved.max()) == (-1, 3)
    inside = (fitted.data_low_ < X) & (fitted.data_high_ > X)
    np.testing.assert_allclose(fitted.inverse_transform(moved)[inside], X[inside])


SCHEMA = Schema({"b": IntegerRange(0, 90), "a": Grid(0, 1000, 101)})
WIDE = pd.DataFrame({"a": X[:, 0].clip(0, 1000), "text": "t", "b": np.arange(4000) % 90, "gap": np.nan})


@two_transformers
def test_columns_that_the_schema_does_not_name_are_left_out(transformer):
    fitted = clone(transformer).set_params(domain=SCHEMA).set_output(transform="pandas").fit(WIDE)
    moved = fitted.transform(WIDE)
    assert list(moved.columns) == fitted.get_feature_names_out().tolist() == ["b", "a"]
    assert fitted.n_features_in_ == 4
    assert fitted.inverse_transform(moved.to_numpy()).shape == (4000, 2)
    reordered = WIDE[["b", "a"]].to_numpy()
    assert clone(fitted).set_output(transform="default").fit(reordered).transform(reordered).shape == (
        4000,
        2,
    )


@two_transformers
def test_new_records_that_are_refused_are_so_by_the_name_of_the_column(transformer):
    fitted = clone(transformer).fit(WIDE[["a", "b"]])
    bad = WIDE[["a", "b"]].assign(b=np.nan)
    with pytest.raises(DomainError, match=r"in column 'b', .* infinite, no number or missing") as refusal:
        fitted.transform(bad)
    assert refusal.value.__context__ is None


@two_transformers
def test_a_plan_has_the_errors_of_its_quantiles_and_so_many_records_as_suffice(transformer):
    plan = clone(transformer).plan(4000, n_features=30)
    assert len(plan.columns) == 30
    if plan.columns["x7"].title != "ExtremesPlan":
        errors = quantile_errors(plan.columns["x7"].q, Floats().size, 4000, epsilon=Fraction(1, 30))
        assert plan.error == max(errors)
    assert plan.n_inside <= plan.n_needed or min(plan.columns["x0"].q) < 0.05
    enough = clone(transformer).plan(plan.n_needed, n_features=30)
    assert enough.error <= 0.05 * plan.n_needed


@two_transformers
def test_too_few_records_are_warned_of_from_where_the_plan_says(transformer):
    narrow = clone(transformer).set_params(domain=IntegerRange(0, 9))
    needed = narrow.plan(1, n_features=2).n_inside
    rows = np.arange(2 * needed).reshape(-1, 2) % 10
    few = f"n_samples is {needed // 2}: with epsilon 0.5 a column.* or take fewer columns"
    with pytest.warns(UserWarning, match=few):
        narrow.fit(rows[: needed // 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        narrow.fit(rows)


@pytest.mark.parametrize("sign", [1, -1])
def test_ends_of_a_skewed_column_are_near_its_own_and_0(sign):
    fitted = PrivateMinMaxClipper(random_state=0).fit(sign * WAGES)
    ends = sorted([abs(fitted.data_low_.item()), abs(fitted.data_high_.item())])
    assert ends[0] == 0
    assert np.quantile(WAGES, 0.9) < ends[1] < 4 * WAGES.max()
    assert np.mean(np.abs(WAGES) > ends[1]) < 0.1


def test_both_signs_have_ends_of_their_own():
    numbers = np.where(np.arange(3000) % 2, WAGES.ravel(), -1e-6 * WAGES.ravel())[:, None]
    fitted = PrivateMinMaxClipper(epsilon=2, random_state=1).fit(numbers)
    assert 0.1 < fitted.data_high_.item() / WAGES.max() < 4
    assert 0.1 < -1e6 * fitted.data_low_.item() / WAGES.max() < 4


@pytest.mark.parametrize("range_", [(1, 99), (10, 90), (25, 75)])
@pytest.mark.parametrize("domain", ["float64", Floats(significand_bits=0, smallest=1, largest=4)])
def test_so_many_records_are_enough_and_so_are_more(range_, domain):
    clipper = PrivateMinMaxClipper(quantile_range=range_, domain=domain)
    n = clipper.plan(10).n_needed
    for more in (n, int(1.1 * n), 2 * n, 20 * n):
        assert clipper.plan(more).error <= 0.05 * more


def test_columns_of_a_table_have_methods_of_their_own():
    schema = Schema({"age": Grid(0, 100, 101), "wage": Floats()})
    table = pd.DataFrame({"age": np.arange(3000) % 90, "wage": WAGES.ravel()})
    fitted = PrivateMinMaxClipper(domain=schema, epsilon=4, random_state=0).fit(table)
    assert [each.title for each in fitted.plan(3000).columns.values()] == ["QuantilesPlan", "ExtremesPlan"]
    assert fitted.data_high_[0] == pytest.approx(89, abs=4)
    assert np.quantile(WAGES, 0.9) < fitted.data_high_[1] < 4 * WAGES.max()


@pytest.mark.parametrize("value", [0.0, -0.0, 5e-324, 1.7976931348623157e308, -1.7976931348623157e308])
def test_a_constant_column_of_any_magnitude_has_finite_results(value):
    with np.errstate(all="raise"):
        fitted = PrivateMinMaxClipper(epsilon=8, random_state=0).fit(np.full((1000, 1), value))
        moved = fitted.transform([[value], [1.0], [-1e308]])
    assert np.isfinite(moved).all()
    assert fitted.data_low_ <= value <= fitted.data_high_


# Searches for the ends.

TAILS = [Fraction(1, 100), Fraction(99, 100)]


def test_candidates_rise_by_a_quarter_from_0_to_the_largest():
    domain = Floats()
    ends = domain.decode(candidates(domain))
    assert (ends[0], ends[-1]) == (0, np.finfo(float).max)
    assert ends[(ends >= 1) & (ends < 4)].tolist() == [1, 1.25, 1.5, 1.75, 2, 2.5, 3, 3.5]
    assert (ends[5:] / ends[4:-1]).max() == 1.25


@pytest.mark.parametrize(
    "domain", [Floats(significand_bits=0, smallest=1, largest=2), Floats(significand_bits=3, smallest=0.3)]
)
def test_counts_are_of_records_up_to_each_end(domain):
    numbers = np.random.default_rng(0).normal(0, 2, 500).round(1)
    ends = domain.decode(candidates(domain))
    rounded = domain.decode(domain.encode(numbers))
    upto, above = counts_within(domain.encode(numbers), domain)
    assert upto.tolist() == [int((rounded <= end).sum()) for end in ends]
    assert above.tolist() == [int((rounded >= -end).sum()) for end in ends]


@pytest.mark.parametrize("epsilon", [0.3, 2])
def test_ends_clip_no_more_and_lie_no_further_than_the_plan_says(epsilon):
    domain, dice, times = Floats(), SeededDice(0), 60
    numbers = np.sort(np.random.default_rng(1).lognormal(0, 2, 6000))
    plan = extremes_plan(6000, TAILS, epsilon=epsilon, domain=domain)
    counts = counts_within(domain.encode(numbers), domain)
    found = [release_extremes(counts, plan, privacy=ApproxDP(epsilon), dice=dice) for _ in range(times)]
    clipped = [(numbers > high).sum() <= 60 + plan.error for _, high in found]
    assert sum(clipped) >= 0.9 * times
    assert all(low == 0 for low, _ in found)
    assert plan.n_inside <= 6000
    assert sum(high <= 1.25 * numbers[-1] for _, high in found) >= 0.9 * times


def test_the_error_is_of_both_noises():
    plan = extremes_plan(10**6, TAILS, epsilon=1, domain=Floats())
    m = len(candidates(Floats()))
    # The counts' noise falls by exp(-1 / 6) a step, and the threshold's by exp(-1 / 3).
    assert plan.error == int(np.ceil(6 * np.log(4 * m / 0.05))) - 1
    assert plan.n_inside == 100 * (int(np.ceil(3 * np.log(4 / 0.05))) - 1)
    assert extremes_plan(5, TAILS, epsilon=1, domain=Floats()).error == 5
