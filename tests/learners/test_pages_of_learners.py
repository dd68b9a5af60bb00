"""The examples of pages of learners run, one after another, and show what the pages say."""

import doctest
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

pytestmark = pytest.mark.nightly  # half a minute; tests of the learners see the same at small sizes
DOCS = Path(__file__).parents[2] / "docs"


@cache
def shown(page):
    """What the blocks of a page print, and their names."""
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    lines, scope = [], {"print": lambda *values: lines.append(values)}
    # Small fits on many native threads are slow where other tests run beside this one.
    with threadpool_limits(1):
        for block in blocks:
            exec(compile(block, page, "exec"), scope)
    return lines, scope


def sizes_of(page, n_columns):
    """The rows of a page's table of sizes: the number of records, parameters, and what is printed."""
    rows = re.findall(r"^\| ([13]) \| ([\d,]+) \|(.*)\|$", (DOCS / page).read_text(), re.MULTILINE)
    for epsilon, number, rest in rows:
        printed = [float(re.sub(r"[^\d.]", "", cell)) for cell in rest.split("|")]
        if len(printed) == n_columns:
            yield int(number.replace(",", "")), {"epsilon": float(epsilon), "classes": [0, 1]}, printed


def test_the_output_of_the_page_of_votes_is_right():
    lines, scope = shown("make_my_model_private.md")
    plain, plan, guarantee, left, careful, batch, abstained, student, sizes, labels, *others = lines
    declared, whole, spent, *needed = others
    assert plain[0] == pytest.approx(0.968, abs=0.005)
    assert plan == (1000, 308, 666)
    assert (guarantee[0].epsilon, guarantee[0].protects) == (1, "examples")
    assert left == (258,)
    assert careful == (1000, 10, 622, 991)
    assert batch[1] == 10 - abstained[0]
    assert batch[0] == 950 if batch[1] else batch[0] < 950
    assert student[0] > 0.93
    assert sizes == (500, 1522)
    assert labels == ("labels",)
    assert declared[0] == pytest.approx(0.96, abs=0.01)
    assert whole[0] > 0.93
    assert spent == (5,)
    answers = scope["answers"]
    spoken = answers != -1
    assert spoken.sum() >= 20
    assert (answers == scope["y_new"][: len(answers)])[spoken].mean() > 0.8
    assert needed == [(0.5, [317, 1549, 6123]), (1, [159, 775, 3063]), (3, [55, 259, 1023])]


def test_the_tables_of_sizes_are_those_of_plan():
    _, scope = shown("make_my_model_private.md")
    rows = list(sizes_of("make_my_model_private.md", 6))
    assert len(rows) == 8
    for n, how, printed in rows:
        sparse = scope["SubsampleAggregateClassifier"](aggregation="sparse_vector", **how).plan(n)
        noisy = scope["SubsampleAggregateClassifier"](**how).plan(n)
        student = scope["KnowledgeTransferClassifier"](**how).plan(n)
        assert printed == [
            noisy.max_queries,
            sparse.n_teachers,
            sparse.max_abstentions,
            sparse.least_lead,
            student.n_teachers,
            student.max_queries,
        ]


@pytest.mark.parametrize("page", ["imbalance.md", "parity.md"])
def test_every_example_of_a_page_runs(page):
    failures, tried = doctest.testfile(str(DOCS / page), module_relative=False)
    assert failures == 0
    assert tried >= 10


def test_the_output_of_the_page_of_soft_labels_is_right():
    lines, _ = shown("soft_labels.md")
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


def test_the_table_of_sizes_of_soft_labels_is_that_of_plan():
    _, scope = shown("soft_labels.md")
    rows = list(sizes_of("soft_labels.md", 7))
    assert len(rows) == 6
    for n, how, printed in rows:
        mean = scope["SoftLabelAggregateClassifier"](max_queries=1000, **how).plan(n)
        bins = scope["SoftLabelAggregateClassifier"](aggregation="sparse_vector", **how).plan(n)
        student = scope["SoftLabelTransferClassifier"](**how).plan(n)
        assert printed == [
            mean.n_teachers,
            round(mean.error, 2),
            bins.n_teachers,
            bins.max_abstentions,
            bins.least_lead,
            student.n_teachers,
            student.max_queries,
        ]
