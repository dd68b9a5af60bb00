"""The examples of docs/auditing.md run, one after another, and show what the page says."""

import re
from pathlib import Path

import pytest

from dplearn.audit import sample_privacy

pytestmark = pytest.mark.nightly  # each function that the page calls is tested with every change
PAGE = Path(__file__).parents[2] / "docs" / "auditing.md"


@pytest.fixture(scope="module")
def shown():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    lines, scope = [], {"print": lambda *values: lines.append(values)}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), scope)
    return lines, scope


def test_the_page_shows_what_it_says(shown):
    lines, _ = shown
    exact, broken, one, far, wide, estimator, floats, whole = lines[:8]
    assert exact[0] is True
    assert 0.9999999999998 <= exact[1] < 1
    assert broken[:2] == (False, float("inf"))
    assert broken[3] in ((-20,), (23,))  # either end tells the sum
    assert (one[0], far[0], wide[0]) == (True, False, True)
    assert "draw 0, discrete_laplace" in far[1]
    assert estimator == (True, 6)
    assert floats[0].refutes
    # The truth is 1 / 0.9 and 0.5 - 0.5 exp(1 - 1 / 0.9) = 0.0526, whose standard deviation is 0.0014.
    assert 1.07 < floats[0].epsilon_lower < 1 / 0.9
    assert 0.035 < floats[0].delta_lower < 0.0526
    assert whole == (False,)


def test_the_page_traces_what_it_says(shown):
    lines, _ = shown
    (forgetful,), (honest,), each, together, (accused,), _ = lines[8:]
    assert (forgetful.refuted, honest.refuted) == (True, False)
    assert forgetful.epsilon > 2.5
    assert honest.epsilon < 1
    assert each[0] is True
    assert each[1] > 1.9
    assert together[0] is False
    assert together[1] < 1
    assert set(range(9)) <= set(accused)


def test_sampling_does_not_see_what_enumeration_saw(shown):
    _, scope = shown
    fit, claim = scope["limited_noise"], scope["claim"]
    assert not sample_privacy(fit, (0, 0, 0), (0, 0, 1), claim=claim, n_samples=10_000).refutes
