"""Figures are drawn on no screen, and are closed after each test."""

import pytest


@pytest.fixture
def pyplot():
    from matplotlib import pyplot

    pyplot.switch_backend("agg")
    yield pyplot
    pyplot.close("all")
