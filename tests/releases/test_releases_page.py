"""The examples of docs/releases.md run, one after another, and show what the page says."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "releases.md"


@pytest.fixture(scope="module")
def shown():
    lines, scope = [], {"print": lambda *values: lines.append(values)}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, PAGE.name, "exec"), scope)
    return lines, scope


def test_distributions_points_and_counts_are_near_what_the_page_says(shown):
    lines, scope = shown
    (share,), (deciles,), (value, needed), (jobs,), (schema,), (plan,), *others = lines
    (sample,), (network,), (errors,), (raw,), (domain,), (day,), (given,), (all_wages,), *_ = others
    assert share == pytest.approx(0.66, abs=0.02)
    np.testing.assert_allclose(deciles, [25, 53, 82], atol=2)
    assert 18 <= value <= 89
    assert needed < 100
    assert [key for key, _ in jobs] == ["clerk", "farmer"]
    assert len(scope["pairs"].counts) == 6
    assert len(scope["months"].counts) > 250
    assert schema.names == ("age", "wage", "sex", "job")
    assert plan.tail is not None
    assert set(schema.columns["job"].values) == {"clerk", "farmer", "nurse", None}
    assert sample.columns.tolist() == list(errors) == ["age", "wage", "sex", "job"]
    assert set(network) == set(errors)
    assert len(sample) == len(raw) == 5
    assert raw.dtypes.equals(scope["features"].dtypes)
    assert domain.names == schema.names
    assert max(errors.values()) < 0.05
    assert day.year == 2012
    assert given == pytest.approx(2980, rel=0.03)
    assert 0.88 * given < all_wages < given
    assert all_wages == pytest.approx(np.nanquantile(scope["df"]["wage"], 4 / 9), rel=0.03)


def test_plans_rules_and_promises_are_those_of_the_page(shown):
    lines, _ = shown
    *_, few, enough, floats, (needed,), of_keys, cut, point, (guaranteed, largest), (of_any,), (ledger,) = (
        lines
    )
    assert few == (569, 42877)
    assert enough == (130, 421, 2340)
    assert (floats, needed, of_keys) == ((1.0, 9924), 280, (6, 33))
    assert re.fullmatch(r"'no' if age <= 6[345], else 'yes'|'yes' if age > 6[345], else 'no'", repr(cut[0]))
    assert repr(point[0]) == "'yes' if job == 'nurse', else 'no'"
    assert guaranteed == of_any == pytest.approx(0.1718, abs=1e-4)
    assert largest == 11640
    assert ledger.spent().epsilon < 12
    assert len(ledger.history()) == 14


def test_a_synthetic_record_is_of_the_domain(shown):
    _, scope = shown
    assert set(scope["synthetic"].tolist()) <= set(range(121))
