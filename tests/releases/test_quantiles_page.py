"""The examples of docs/quantiles.md run, one after another, and show what the page says."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "quantiles.md"


@pytest.fixture(scope="module")
def shown():
    lines, scope = [], {"print": lambda *values: lines.append(values)}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(compile(block, PAGE.name, "exec"), scope)
    return lines, scope


def test_the_page_shows_what_it_says(shown):
    lines, _ = shown
    (plain,), (released,), (guarantee,), *errors, (ages,), (three,), (left,), (promised,), (error,) = lines
    assert plain.tolist() == [1530, 2950, 5950]
    np.testing.assert_allclose(released, plain, rtol=0.15)
    assert (guarantee.epsilon, guarantee.delta) == (1, 0)
    assert errors == [(n, 95) for n in (100, 1000, 10_000, 1_000_000)]
    assert ages == 15
    assert three == [112, 75, 112]
    assert left == 0
    assert promised == 2
    expected = "nothing is promised of the pipeline: 'standardscaler' (StandardScaler) is fitted on the data"
    assert str(error).startswith(expected)


def test_most_zeros_give_zeros():
    from dplearn.releases.quantiles import quantiles

    zeros = np.where(np.arange(10_000) % 5 < 3, 0.0, 7.5)
    assert quantiles(zeros, [0.25, 0.5, 0.75]).values.tolist() == [0, 0, 7.5]
