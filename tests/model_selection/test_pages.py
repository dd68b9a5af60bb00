"""The examples of the pages of scores and of searches run, and show what the pages say."""

import doctest
import warnings
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


# The examples of searches take half a minute; other tests have the statements.
@pytest.mark.parametrize("page", ["scoring", pytest.param("private_search", marks=pytest.mark.nightly)])
def test_the_page_shows_what_it_says(page):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of few records, which the pages speak of
        found = doctest.testfile(str(DOCS / f"{page}.md"), module_relative=False)
    assert found.attempted > 20
    assert found.failed == 0
