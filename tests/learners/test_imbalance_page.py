"""The examples of the page on rare labels run."""

import doctest
from pathlib import Path

import pytest


@pytest.mark.nightly
def test_every_example_of_the_page_runs():
    page = Path(__file__).parents[2] / "docs" / "imbalance.md"
    failures, tried = doctest.testfile(str(page), module_relative=False)
    assert failures == 0
    assert tried > 15
