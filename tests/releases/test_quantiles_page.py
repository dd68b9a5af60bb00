"""The examples of docs/quantiles.md run, one after another, and show what the page says."""

import re
from pathlib import Path

import numpy as np
import pytest

from dplearn.domains import Floats
from dplearn.releases.quantiles import quantiles_plan

PAGE = Path(__file__).parents[2] / "docs" / "quantiles.md"


@pytest.fixture(scope="module")
def shown():
    lines, scope = [], {"print": lambda *values: lines.append(values)}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(compile(block, PAGE.name, "exec"), scope)
    return lines, scope


def test_the_page_shows_what_it_says(shown):
    lines, _ = shown
    (plain,), (released,), (guarantee,), *plans, found, drawn, (left,), (guaranteed,), (error,) = lines
    *plans, (method,), (other, bound) = plans
    assert (method, other, bound) == ("halving", "windows", 460)
    assert plain.tolist() == [1530, 2950, 5950]
    np.testing.assert_allclose(released, plain, rtol=0.15)
    assert (guarantee.epsilon, guarantee.delta) == (1, 0)
    (errors,), (needed,), (alone,), (of_ages,), (few,), (inside,), (ages_inside,) = plans
    assert (errors, needed, alone, of_ages) == ((351, 234, 351), 6920, (95,), (15,))
    assert (inside, ages_inside) == (1353, 31)
    assert "".join(f"# {line}\n" for line in str(few).splitlines()) in PAGE.read_text()
    low, high = (end.item() for end in found)
    assert low == 0
    assert 10_000 < high < 200_000
    assert len(drawn) == 2
    assert left == 0
    assert guaranteed == 2
    expected = (
        "nothing is guaranteed of the pipeline: 'standardscaler' (StandardScaler) is fitted on the data"
    )
    assert str(error).startswith(expected)


def test_most_zeros_give_zeros():
    from dplearn.releases.quantiles import quantiles

    zeros = np.where(np.arange(10_000) % 5 < 3, 0.0, 7.5)
    assert quantiles(zeros, [0.25, 0.5, 0.75]).values.tolist() == [0, 0, 7.5]


def test_the_share_of_floats_beyond_a_magnitude_is_what_the_page_says():
    domain = Floats()
    above = [1 - int(domain.encode(np.array([threshold]))[0]) / domain.size for threshold in (1.0, 1e154)]
    np.testing.assert_allclose(2 * np.array(above), [1 / 2, 1 / 4], atol=0.01)


@pytest.mark.parametrize("q", [0.1, 0.25, 0.4])
def test_a_quantile_further_out_takes_more_records_as_the_page_says(q):
    assert quantiles_plan(1, q).n_inside == pytest.approx(191 / (2 * q), rel=0.05)
