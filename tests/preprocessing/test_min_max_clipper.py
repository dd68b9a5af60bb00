"""A clipper searches for the ends of floats if quantiles might lie far beyond the data."""

import warnings

import numpy as np
import pandas as pd
import pytest

from dplearn.domains import Floats, Grid, Schema
from dplearn.preprocessing.quantile_columns import PrivateMinMaxClipper
from dplearn.releases.extremes import ExtremesPlan
from dplearn.releases.quantiles import QuantilesPlan

WAGES = np.random.default_rng(0).lognormal(8, 1, (3000, 1))


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


def test_the_search_ends_where_quantiles_are_sure_to_lie_in_the_data():
    clipper = PrivateMinMaxClipper()
    enough = PrivateMinMaxClipper(method="quantiles").plan(10).n_inside
    [few], [many] = (clipper.plan(n).columns.values() for n in (enough - 1, enough))
    assert isinstance(few, ExtremesPlan)
    assert isinstance(many, QuantilesPlan)
    assert few.n_inside < enough / 10
    [with_0] = PrivateMinMaxClipper(quantile_range=(0, 99)).plan(10**9).columns.values()
    assert isinstance(with_0, ExtremesPlan)
    assert with_0.n_inside is None
    [of_grid] = PrivateMinMaxClipper(domain=Grid(0, 9)).plan(10).columns.values()
    assert isinstance(of_grid, QuantilesPlan)
    always = PrivateMinMaxClipper(method="above_threshold").plan(10**9)
    assert isinstance(always.columns["x0"], ExtremesPlan)


@pytest.mark.parametrize("range_", [(1, 99), (10, 90), (25, 75)])
@pytest.mark.parametrize("domain", ["float64", Floats(significand_bits=0, smallest=1, largest=4)])
def test_so_many_records_are_enough_and_so_are_more(range_, domain):
    clipper = PrivateMinMaxClipper(quantile_range=range_, domain=domain)
    n = clipper.plan(10).n_needed
    for more in (n, int(1.1 * n), 2 * n, 20 * n):
        assert clipper.plan(more).error <= 0.05 * more


def test_too_few_records_for_a_search_are_warned_of():
    clipper = PrivateMinMaxClipper()
    n = clipper.plan(10).n_inside
    with pytest.warns(UserWarning, match="search for the ends of the data may"):
        clipper.fit(WAGES[: n - 1])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        clipper.fit(WAGES[:n])


def test_columns_of_a_table_have_methods_of_their_own():
    schema = Schema({"age": Grid(0, 100, 101), "wage": Floats()})
    table = pd.DataFrame({"age": np.arange(3000) % 90, "wage": WAGES.ravel()})
    fitted = PrivateMinMaxClipper(domain=schema, epsilon=4, random_state=0).fit(table)
    assert [type(each) for each in fitted.plan(3000).columns.values()] == [QuantilesPlan, ExtremesPlan]
    assert fitted.data_high_[0] == pytest.approx(89, abs=4)
    assert np.quantile(WAGES, 0.9) < fitted.data_high_[1] < 4 * WAGES.max()


@pytest.mark.parametrize("value", [0.0, -0.0, 5e-324, 1.7976931348623157e308, -1.7976931348623157e308])
def test_a_constant_column_of_any_magnitude_has_finite_results(value):
    with np.errstate(all="raise"):
        fitted = PrivateMinMaxClipper(epsilon=8, random_state=0).fit(np.full((1000, 1), value))
        moved = fitted.transform([[value], [1.0], [-1e308]])
    assert np.isfinite(moved).all()
    assert fitted.data_low_ <= value <= fitted.data_high_


def test_a_table_in_parts_has_the_counts_of_the_whole_table():
    clipper = PrivateMinMaxClipper(random_state=3)
    whole = clipper.fit(WAGES)
    ends = whole.data_low_, whole.data_high_
    parted = PrivateMinMaxClipper(random_state=3)
    parted.fit(lambda: iter([WAGES[:1000], WAGES[1000:]]))
    assert (parted.data_low_, parted.data_high_) == ends
