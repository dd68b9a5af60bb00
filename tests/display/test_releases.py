"""The display draws the released distribution and the public sample, and nothing else."""

import numpy as np
import pandas as pd
import pytest

from dplearn.display import DistributionDisplay, SyntheticTableDisplay
from dplearn.domains import Categories, IntegerRange, Schema
from dplearn.releases import SyntheticTable, cdf

RECORDS = np.random.default_rng(0).integers(20, 60, 2000)
RNG = np.random.default_rng(0)
AGE = RNG.integers(18, 90, 4000)
FRAME = pd.DataFrame(
    {
        "age": AGE,
        "works": np.where(AGE < 65, "yes", "no"),
        "town": RNG.choice(["north", "south"], 4000),
    }
)
SCHEMA = Schema(
    {
        "age": IntegerRange(18, 90),
        "works": Categories(["no", "yes"]),
        "town": Categories(["north", "south"], other=True),
    }
)


@pytest.fixture(scope="module")
def release():
    return cdf(RECORDS, epsilon=1, domain=IntegerRange(0, 120), random_state=0)


def test_the_line_is_the_released_function(pyplot, release):
    display = DistributionDisplay.from_release(release, name="age")
    x, shares = display.ax_.lines[0].get_data()
    np.testing.assert_array_equal(shares, release.cdf(x))
    assert display.ax_.get_xlabel() == "age"
    assert len(display.ax_.collections) == 1


def test_without_beta_there_is_no_band_and_a_public_sample_is_a_second_line(pyplot, release):
    axes = pyplot.subplots()[1]
    display = DistributionDisplay(release, beta=None, reference=[30, 10, 20])
    assert display.plot(axes) is display
    assert display.ax_ is axes
    assert not axes.collections
    assert axes.lines[1].get_xydata().tolist() == [[10, 1 / 3], [20, 2 / 3], [30, 1]]


def test_an_object_without_a_released_distribution_is_refused():
    for drawn in (DistributionDisplay, DistributionDisplay.from_release):
        with pytest.raises(TypeError, match="distribution must be a CDFRelease, got ndarray"):
            drawn(RECORDS)


@pytest.fixture(scope="module", params=[None, "works"])
def table(request):
    return SyntheticTable(epsilon=3, domain=SCHEMA, target=request.param, random_state=0).fit(FRAME)


def test_bars_are_the_released_shares(pyplot, table):
    display = SyntheticTableDisplay.from_table(table)
    assert len(display.axes_) == 4
    for name, bars in zip(display.names, display.bars_, strict=True):
        np.testing.assert_allclose([bar.get_height() for bar in bars], table.marginals_[name])
    assert display.figure_ is display.axes_[0].figure


def test_arrows_are_those_of_the_network_but_for_the_target(pyplot, table):
    display = SyntheticTableDisplay(table).plot(most=1)
    assert len(display.axes_) == 2
    expected = {
        (parent, name)
        for name, parents in table.network_.items()
        for parent in parents
        if parent != table.target
    }
    assert set(display.arrows_) == expected


def test_shares_are_within_the_bands(table):
    display = SyntheticTableDisplay(table)
    true = (FRAME["works"] == "yes").mean()
    assert abs(table.marginals_["works"][1] - true) < 2 * display.bands["works"]
    assert all(0 < band < 0.05 for band in display.bands.values())


def test_own_axes_are_drawn_on(pyplot, table):
    axes = pyplot.subplots(1, 4)[1]
    assert SyntheticTableDisplay(table).plot(axes).axes_.tolist() == axes.tolist()
    with pytest.raises(ValueError, match="4 panels, got 1"):
        SyntheticTableDisplay(table).plot(axes[0])


def test_tables_that_are_not_fitted_are_refused():
    for drawn in (SyntheticTable(domain=SCHEMA), FRAME):
        with pytest.raises(TypeError, match="table must be a fitted SyntheticTable, got"):
            SyntheticTableDisplay(drawn)
