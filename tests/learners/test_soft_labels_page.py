"""The examples of docs/soft_labels.md run, one after another, and show what the page says."""

import re
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

pytestmark = pytest.mark.nightly  # twenty seconds; tests of the learners see the same at small sizes
PAGE = Path(__file__).parents[2] / "docs" / "soft_labels.md"


@pytest.fixture(scope="module")
def shown():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    lines, scope = [], {"print": lambda *values: lines.append(values)}
    # Small fits on many native threads are slow where other tests run beside this one.
    with threadpool_limits(1):
        for block in blocks:
            exec(compile(block, PAGE.name, "exec"), scope)
    return lines, scope


def test_the_output_of_the_page_is_right(shown):
    lines, _ = shown
    plain, student, sizes, guarantee, few, some, many, asked, bins, middles = lines
    assert plain[0] == pytest.approx(0.177, abs=0.003)
    assert plain[0] < student[0] < 0.2
    assert sizes == (425, 2200)
    assert (guarantee[0].epsilon, guarantee[0].protects) == (1, "examples")
    assert [few, some, many] == [(100, 0.19), (1000, 0.68), (10_000, 2.36)]
    assert asked == ((50, 2), 50)
    assert bins == (0.5, 6)
    given = middles[0][~np.isnan(middles[0])]
    assert {0.25, 0.75} <= set(given.tolist()) <= {0.25, 0.5, 0.75}


def test_the_table_of_sizes_is_that_of_plan(shown):
    _, scope = shown
    rows = re.findall(r"^\| ([13]) \| ([\d,]+) \|(.*)\|$", PAGE.read_text(), re.MULTILINE)
    rows = [(epsilon, number, rest) for epsilon, number, rest in rows if rest.count("|") == 6]
    assert len(rows) == 6
    for epsilon, number, rest in rows:
        n, how = int(number.replace(",", "")), {"epsilon": float(epsilon), "classes": [0, 1]}
        mean = scope["SoftLabelAggregateClassifier"](max_queries=1000, **how).plan(n)
        bins = scope["SoftLabelAggregateClassifier"](aggregation="sparse_vector", **how).plan(n)
        student = scope["SoftLabelTransferClassifier"](**how).plan(n)
        printed = [float(re.sub(r"[^\d.]", "", cell)) for cell in rest.split("|")]
        assert printed == [
            mean.n_teachers,
            round(mean.error, 2),
            bins.n_teachers,
            bins.max_abstentions,
            bins.least_lead,
            student.n_teachers,
            student.max_queries,
        ]
