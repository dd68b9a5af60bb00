"""The examples of docs/quantiles.md and docs/releases.md run, in order, and show what the pages say."""

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from dplearn.domains import Floats
from dplearn.releases import quantiles_plan


def page(name):
    return Path(__file__).parents[2] / "docs" / f"{name}.md"


@cache
def shown(name):
    """What the examples of a page print, and their variables."""
    lines, scope = [], {"print": lambda *values: lines.append(values)}
    for block in re.findall(r"```python\n(.*?)```", page(name).read_text(encoding="utf-8"), re.DOTALL):
        exec(compile(block, f"{name}.md", "exec"), scope)
    return lines, scope


def test_the_page_of_quantiles_shows_what_it_says():
    lines, _ = shown("quantiles")
    (plain,), (released,), (guarantee,), *plans, found, drawn, (left,), (guaranteed,), (error,) = lines
    *plans, (method,), (other, bound) = plans
    assert (method, other, bound) == ("halving", "windows", 460)
    assert plain.tolist() == [1530, 2950, 5950]
    np.testing.assert_allclose(released, plain, rtol=0.15)
    assert (guarantee.epsilon, guarantee.delta) == (1, 0)
    (errors,), (needed,), (alone,), (of_ages,), (few,), (inside,), (ages_inside,) = plans
    assert (errors, needed, alone, of_ages) == ((351, 234, 351), 6920, (95,), (15,))
    assert (inside, ages_inside) == (1353, 31)
    assert "".join(f"# {line}\n" for line in str(few).splitlines()) in page("quantiles").read_text()
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


def test_the_share_of_floats_beyond_a_magnitude_is_what_the_page_says():
    domain = Floats()
    above = [1 - int(domain.encode(np.array([threshold]))[0]) / domain.size for threshold in (1.0, 1e154)]
    np.testing.assert_allclose(2 * np.array(above), [1 / 2, 1 / 4], atol=0.01)


@pytest.mark.parametrize("q", [0.1, 0.25, 0.4])
def test_a_quantile_further_out_takes_more_records_as_the_page_says(q):
    assert quantiles_plan(1, q).n_inside == pytest.approx(191 / (2 * q), rel=0.05)


def test_distributions_points_and_counts_are_near_what_the_page_says():
    lines, scope = shown("releases")
    (share,), (deciles,), (value, needed), (jobs,), (schema,), (plan,), *others = lines
    (sample,), (network,), (errors,), (raw,), (domain,), (day,), (given,), (all_wages,), *_ = others
    assert set(scope["synthetic"].tolist()) <= set(range(121))
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


def test_plans_rules_and_promises_are_those_of_the_page():
    lines, _ = shown("releases")
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
