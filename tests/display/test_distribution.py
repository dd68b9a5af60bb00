"""The display draws the released distribution and the public sample, and nothing else."""

import numpy as np
import pytest

from dplearn.display import DistributionDisplay
from dplearn.domains import IntegerRange
from dplearn.releases import cdf

RECORDS = np.random.default_rng(0).integers(20, 60, 2000)


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
