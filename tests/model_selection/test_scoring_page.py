"""The examples of docs/scoring.md run and show what the page says."""

import doctest
import warnings
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "scoring.md"


def test_the_page_shows_what_it_says():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of noise in small searches
        found = doctest.testfile(str(PAGE), module_relative=False)
    assert found.attempted > 20
    assert found.failed == 0
