"""The examples in the guide to displays and cards run."""

import doctest
from pathlib import Path

import pytest


@pytest.mark.usefixtures("pyplot")
def test_the_examples_of_the_page_run():
    page = Path(__file__).parents[2] / "docs" / "display.md"
    failures, tried = doctest.testfile(str(page), module_relative=False)
    assert failures == 0
    assert tried >= 25
