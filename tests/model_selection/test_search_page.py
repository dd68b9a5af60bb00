"""The examples of docs/private_search.md run and show what the page says."""

import doctest
import warnings
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "private_search.md"


@pytest.mark.nightly  # the examples take half a minute; other tests have the statements
def test_the_page_shows_what_it_says():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of few records, which the page speaks of
        found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted > 20
    assert found.failed == 0
