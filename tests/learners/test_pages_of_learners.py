"""The examples of two pages run, one after another, and show what the pages say."""

import doctest
import re
from pathlib import Path

import pytest
from threadpoolctl import threadpool_limits

pytestmark = pytest.mark.nightly  # half a minute; tests of the learners see the same at small sizes
PAGE = Path(__file__).parents[2] / "docs" / "make_my_model_private.md"


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
    lines, scope = shown
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


def test_the_tables_of_sizes_are_those_of_plan(shown):
    _, scope = shown
    rows = re.findall(r"^\| ([13]) \| ([\d,]+) \|(.*)\|$", PAGE.read_text(), re.MULTILINE)
    rows = [(epsilon, number, rest) for epsilon, number, rest in rows if rest.count("|") == 5]
    assert len(rows) == 8
    for epsilon, number, rest in rows:
        n, how = int(number.replace(",", "")), {"epsilon": float(epsilon), "classes": [0, 1]}
        sparse = scope["SubsampleAggregateClassifier"](aggregation="sparse_vector", **how).plan(n)
        noisy = scope["SubsampleAggregateClassifier"](**how).plan(n)
        student = scope["KnowledgeTransferClassifier"](**how).plan(n)
        printed = [int(re.sub(r"\D", "", cell)) for cell in rest.split("|")]
        assert printed == [
            noisy.max_queries,
            sparse.n_teachers,
            sparse.max_abstentions,
            sparse.least_lead,
            student.n_teachers,
            student.max_queries,
        ]


def test_every_example_of_the_page_on_rare_labels_runs():
    failures, tried = doctest.testfile(str(PAGE.with_name("imbalance.md")), module_relative=False)
    assert failures == 0
    assert tried > 15
