"""The page on linear algebra over GF(2) shows what is true."""

import doctest
from pathlib import Path


def test_the_examples_of_the_page_run():
    page = Path(__file__).parents[2] / "docs" / "gf2.md"
    failures, tried = doctest.testfile(str(page), module_relative=False)
    assert failures == 0
    assert tried >= 10
