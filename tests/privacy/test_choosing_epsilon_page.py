"""The examples in the guide to the choice of epsilon run."""

import doctest
from pathlib import Path


def test_the_examples_of_the_page_run():
    page = Path(__file__).parents[2] / "docs" / "choosing_epsilon.md"
    failures, tried = doctest.testfile(str(page), module_relative=False)
    assert failures == 0
    assert tried >= 15
