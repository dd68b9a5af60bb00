"""The cells of columns, the types of tables, and the plan of a synthetic table."""

from math import comb

import numpy as np
import pandas as pd
import pytest

from dplearn.chance import PublicStream
from dplearn.domains import Bits, Categories, Floats, Grid, Hashed, IntegerRange, LargeIntegerRange, Schema
from dplearn.domains.cells import object_array
from dplearn.privacy import ApproxDP
from dplearn.releases import SyntheticTable, table_network
from dplearn.releases.table_columns import TableTypes, as_table, table_column, table_columns
from dplearn.releases.table_network import TableBudget, checked_layout, synthetic_table_plan

DOMAINS = (
    IntegerRange(-5, 5),
    IntegerRange(18, 90, missing=True),
    IntegerRange(0, 99_999),
    IntegerRange(1, 10_000, missing=True),
    IntegerRange(-(1 << 63), (1 << 62)),
    Grid(0, 1, 101),
    Grid(-3.5, 12.25, 1025, "accept", missing=True),
    Grid(0, 1e6, 10_001),
    Floats(smallest=2.0**-20, largest=2.0**20, missing=True),
    Floats(significand_bits=2, smallest=1, largest=4),
    Categories(["north", "south", None]),
    Categories([3, 7], other=True),
    Bits(binarize=None),
    Bits(binarize=0.5),
)
TEXT = pd.Series(["text"]).dtype
FOUR = Schema({f"x{place}": IntegerRange(0, 9) for place in range(4)})
COLUMNS = table_columns(FOUR, 5)
EACH = ApproxDP(1, "1e-6")


@pytest.mark.parametrize("domain", DOMAINS, ids=repr)
@pytest.mark.parametrize("n_bins", [2, 7, 16])
def test_a_value_drawn_from_a_cell_lies_in_it(domain, n_bins):
    column = table_column("x", domain, n_bins)
    cells = np.repeat(np.arange(column.size), 50)
    values = column.values(cells, PublicStream(0))
    if not isinstance(domain, Bits):  # whose values are compared with a threshold
        assert np.array_equal(column.of(domain.nearest(values)), cells)
    assert len(column.described()) == column.size
    assert column.starts[0] == 0  # cells divide all codes
    assert (np.diff(column.starts.astype(object)) > 0).all()
    assert int(column.starts[-1]) < domain.size
    assert column.of(column.starts).tolist() == list(range(column.size))


def test_types_are_those_of_the_schema():
    stream, cells = PublicStream(0), np.zeros(3, dtype=int)
    assert table_column("x", IntegerRange(0, 9), 4).values(cells, stream).dtype == np.int64
    assert np.isnan(table_column("x", IntegerRange(0, 9, missing=True), 4).values(cells, stream)).all()
    assert table_column("x", Grid(0, 9, 10), 4).values(cells, stream).dtype == np.float64
    listed = table_column("x", Categories(["a"], other=True), 4)
    assert listed.values(np.array([0, 1]), stream).tolist() == ["a", None]
    assert table_column("x", Hashed(), 4).values(np.array([0, 5]), stream).tolist() == [0, 5]
    for domain, codes, values in (
        (Categories(["a", "b"]), [1, 2], ["b", None]),  # an unknown one is none
        (IntegerRange(3, 5), [0, 2], [3, 5]),
        (Bits(), [0, 1], [0, 1]),
        (Hashed(), [3], [3]),
    ):
        assert table_column("x", domain, 4).decoded(np.array(codes)).tolist() == values
    with pytest.raises(ValueError, match="column 'x' must have fewer than 2"):
        table_column("x", LargeIntegerRange(0, 1 << 70), 16)


def test_numbers_are_uniform_within_a_bin():
    column = table_column("x", IntegerRange(0, 199), 2)
    drawn = column.values(np.zeros(20_000, dtype=int), PublicStream(1))
    counts = np.bincount(drawn, minlength=100)
    assert len(counts) == 100
    assert ((counts - 200) ** 2 / 200).sum() < 170  # of 99 degrees of freedom, with probability below 1e-5


@pytest.mark.parametrize("low", [0, 1, 3])
@pytest.mark.parametrize("n_bins", [2, 3, 16])
def test_a_wide_range_has_as_many_cells_as_bins(low, n_bins):
    assert table_column("x", IntegerRange(low, 10**5), n_bins).size == n_bins
    if (low, n_bins) == (0, 16):  # where 0 has a bin of its own
        described = table_column("gain", IntegerRange(0, 99_999, missing=True), 16).described()
        assert described[:2] == ("missing", "0")
        assert "0" not in table_column("age", IntegerRange(0, 120), 16).described()


@pytest.mark.parametrize(
    ("domain", "cells", "expected"),
    [
        (Categories(["a", "b"], other=True), [["a", "b"], [None, None], ["a", None]], TEXT),
        (Categories(["a", "b", None]), [["a", "b"], [None, None], [None, "a"]], TEXT),
        (Categories(["a", "b", 1]), [["a", "b"], ["a", 1], [1, 1]], object),
        (Categories([1, 2, "x"]), [[1, 2], ["x", "x"]], object),
    ],
)
def test_the_type_of_a_column_of_pandas_does_not_depend_on_values(domain, cells, expected):
    column = table_column("c", domain, 8)
    for values in cells:
        found = as_table([column], [object_array(values)], TableTypes("pandas"))["c"]
        assert found.dtype == expected
        assert found.isna().tolist() == [value is None for value in values]
        assert found.dropna().tolist() == [value for value in values if value is not None]
    if None not in domain.values and 1 not in domain.values:
        found = as_table([column], [object_array(["b", "b"])], TableTypes("pandas", ("category",)))["c"]
        assert found.cat.categories.tolist() == ["a", "b"]  # all that are listed


def test_base_tables_are_of_one_column_or_of_the_target_and_one():
    assert checked_layout(COLUMNS, None, 2, 100).base == ((0,), (1,), (2,), (3,))
    layout = checked_layout(COLUMNS, 2, 2, 100)
    assert layout.base == ((2, 0), (2, 1), (2, 3))
    assert layout.rounds == 2
    assert checked_layout(COLUMNS, 2, 1, 100).rounds == 0
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
    [text] = synthetic_table_plan(EACH, 20, layout).warnings
    assert text.startswith("n_samples is 20: the noise of a count of x0 and of 3 more tables is greater")
    assert synthetic_table_plan(EACH, 5000, layout).warnings == ()
    assert "expected_tv['x0']" in str(needed)
    with pytest.raises(ValueError, match="epsilon must be greater"):
        synthetic_table_plan(ApproxDP("1e-9", "1e-12"), 100, layout)
    budget = TableBudget.of(ApproxDP(2), 4, 3)  # which is spent whole
    assert 4 * budget.base.epsilon + 3 * (budget.selection + budget.network.epsilon) == 2
    assert TableBudget.of(ApproxDP(2), 4, 0).base.epsilon == ApproxDP("0.5").epsilon


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
