from math import comb

import numpy as np
import pytest

from dplearn.domains import Categories, IntegerRange, Schema
from dplearn.privacy import ApproxDP
from dplearn.releases import SyntheticTable, table_network
from dplearn.releases.table_columns import table_columns
from dplearn.releases.table_plan import TableBudget, checked_layout, synthetic_table_plan

FOUR = Schema({f"x{place}": IntegerRange(0, 9) for place in range(4)})
COLUMNS = table_columns(FOUR, 5)
EACH = ApproxDP(1, "1e-6")


def test_base_tables_are_of_one_column_or_of_the_target_and_one():
    assert checked_layout(COLUMNS, None, 2, 100).base == ((0,), (1,), (2,), (3,))
    layout = checked_layout(COLUMNS, 2, 2, 100)
    assert layout.base == ((2, 0), (2, 1), (2, 3))
    assert layout.rounds == 2
    assert checked_layout(COLUMNS, 2, 1, 100).rounds == 0


def test_too_few_columns_or_too_many_cells_are_refused():
    with pytest.raises(ValueError, match="the table must have 2 to 400 columns, got 1"):
        checked_layout(COLUMNS[:1], None, 2, 100)
    with pytest.raises(ValueError, match="the table of x0 x x1 must have at most max_cells=24 cells, got 25"):
        checked_layout(COLUMNS, 0, 2, 24)


def test_the_degree_is_lowered_for_many_columns():
    """By the number of columns besides the target alone."""

    def degree_of(d, target, degree):
        columns = table_columns(Schema({f"x{place}": IntegerRange(0, 1) for place in range(d)}), 2)
        layout = checked_layout(columns, target, degree, 100)
        assert synthetic_table_plan(EACH, 1000, layout).degree == layout.degree
        return layout.degree

    assert [degree_of(d, None, 2) for d in (10, 40, 41, 100, 400)] == [2, 2, 1, 1, 1]
    assert [degree_of(d, None, 3) for d in (22, 23, 40, 41)] == [3, 2, 2, 1]
    assert [degree_of(d, 0, 3) for d in (41, 42, 400)] == [3, 2, 2]
    assert [degree_of(d, 0, 1) for d in (41, 400)] == [1, 1]


def test_more_epsilon_or_records_give_less_error():
    layout = checked_layout(COLUMNS, None, 2, 100)
    plans = [
        synthetic_table_plan(ApproxDP(epsilon, delta), n, layout)
        for epsilon, delta, n in ((1, 0, 1000), (1, "1e-6", 1000), (2, "1e-6", 1000), (2, "1e-6", 5000))
    ]
    errors = [max(plan.expected_tv.values()) for plan in plans]
    assert errors[1] > errors[2] > errors[3]
    assert [plan.noise for plan in plans] == ["laplace", "gaussian", "gaussian", "gaussian"]
    assert plans[2].n_needed == plans[3].n_needed
    assert plans[3].network_tv(10**6) == 1
    needed = synthetic_table_plan(EACH, plans[1].n_needed, layout)
    assert 0.049 < max(needed.expected_tv.values()) <= 0.05


def test_noise_above_the_mean_count_warns():
    layout = checked_layout(COLUMNS, None, 2, 100)
    [text] = synthetic_table_plan(EACH, 20, layout).warnings
    assert text.startswith("n_samples is 20: the noise of a count of x0 and of 3 more tables is greater")
    assert synthetic_table_plan(EACH, 5000, layout).warnings == ()


def test_an_epsilon_whose_noise_cannot_be_drawn_is_refused():
    layout = checked_layout(COLUMNS, None, 2, 100)
    with pytest.raises(ValueError, match="epsilon must be greater"):
        synthetic_table_plan(ApproxDP("1e-9", "1e-12"), 100, layout)


def test_the_whole_budget_is_spent():
    budget = TableBudget.of(ApproxDP(2), 4, 3)
    assert 4 * budget.base.epsilon + 3 * (budget.selection + budget.network.epsilon) == 2
    assert TableBudget.of(ApproxDP(2), 4, 0).base.epsilon == ApproxDP("0.5").epsilon


def test_a_plan_is_printed():
    schema = Schema({"town": Categories(["a", "b"]), "age": IntegerRange(0, 99)})
    layout = checked_layout(table_columns(schema, 16), None, 2, 1000)
    text = str(synthetic_table_plan(EACH, 1000, layout))
    assert "expected_tv['age']" in text
    assert "layout" not in text


def test_as_many_tables_are_counted_as_the_limit_assumes(monkeypatch):
    """A table is counted in the first round in which it is a candidate, and in no other."""
    counted = []
    right = table_network.quality_of
    monkeypatch.setattr(table_network, "quality_of", lambda *given: counted.append(1) or right(*given))
    records = np.random.default_rng(0).integers(0, 2, (5000, 7))
    schema = Schema({f"x{place}": IntegerRange(0, 1) for place in range(7)})
    for target, d in ((None, 7), ("x0", 6)):
        counted.clear()
        SyntheticTable(20, domain=schema, target=target, degree=2 + (target is not None)).fit(records)
        assert len(counted) == comb(d, 2) + comb(d, 3)
