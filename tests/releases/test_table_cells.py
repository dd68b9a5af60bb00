"""Cells beyond a learned or within a wide range: none is drawn that may be noise; tails keep their scale."""

import numpy as np
import pandas as pd
import pytest

from dplearn.domains import Floats, Grid, IntegerRange, Schema
from dplearn.releases import SyntheticTable
from dplearn.releases.table_cells import merged, ranged_column, widest_numbers
from dplearn.releases.table_columns import TableColumn

RNG = np.random.default_rng(0)
N = 20_000
STAY = RNG.random(N) < 0.09
ROWS = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, N),
        "ill": (RNG.random(N) < 0.06).astype("int8"),
        "stays": np.where(STAY, RNG.integers(1, 5, N), 0),
        "cost": (RNG.lognormal(3.6, 1.7, N) * (RNG.random(N) > 0.2)).round(2),
        **{f"score{place}": RNG.normal(50, 10, N).round(1) for place in range(10)},
    }
)
FLOATS = Floats(smallest=2.0**-64, largest=2.0**64)
CODES = IntegerRange(-(2**20), 2**20)


def error_of_mean(rows, frame, name):
    return abs(rows[name].mean() / frame[name].mean() - 1)


def test_codes_are_kept_and_tails_have_their_scale():
    table = SyntheticTable(random_state=0).fit(ROWS)
    rows = table.sample(N, 0)
    assert set(rows["ill"]) == {0, 1}
    assert error_of_mean(rows, ROWS, "ill") < 0.2
    assert set(range(5)) <= set(rows["stays"]) <= set(range(9))
    fits = [table, *(SyntheticTable(random_state=seed).fit(ROWS) for seed in (1, 2, 3))]
    assert np.mean([error_of_mean(each.sample(N, 0), ROWS, "cost") for each in fits]) < 0.15
    assert rows["cost"].max() > 1000
    assert (rows["cost"] == 0).mean() == pytest.approx((ROWS["cost"] == 0).mean(), abs=0.03)
    assert np.abs(rows["age"].quantile([0.25, 0.5, 0.75]) - ROWS["age"].quantile([0.25, 0.5, 0.75])).max() < 3
    assert rows["age"].between(10, 98).all()
    again = SyntheticTable.from_json(table.to_json())
    assert again.domain_ == table.domain_
    assert again.plan_.expected_tv == table.plan_.expected_tv
    assert again.sample(99, 1).equals(table.sample(99, 1))


@pytest.mark.filterwarnings("ignore:n_samples is")
def test_few_records_are_no_cliff():
    n = 5500
    frame = pd.DataFrame(
        {"year": RNG.integers(1984, 1989, n), "ill": RNG.integers(0, 2, n), "age": ROWS["age"][:n]}
    )
    for place in range(6):
        frame[f"x{place}"] = RNG.normal(0, 1, n)
    plan = SyntheticTable().plan(n, n_features=9)
    assert plan.schema.tail == 0.5
    rows = SyntheticTable(random_state=0).fit(frame).sample(n, 0)
    assert rows["year"].between(1982, 1990).all()
    assert set(rows["ill"]) == {0, 1}
    assert error_of_mean(rows, frame, "age") < 0.1
    assert rows["x0"].abs().max() < 9


def test_declared_wide_ranges_have_the_quartiles_of_the_table():
    wide = Grid(0, 50_000, 5001, outside="clip")
    schema = Schema({"cost": wide, "ill": IntegerRange(0, 1)})
    table = SyntheticTable(domain=schema, random_state=0).fit(ROWS)
    cost = table.sample(N, 0)["cost"]
    quarters = [0.25, 0.5, 0.75]
    assert np.abs(cost.quantile(quarters) - ROWS["cost"].quantile(quarters)).max() < 20  # of steps of 10
    assert cost.max() < 2 * ROWS["cost"].max()
    assert table.domain_ == schema


def test_codes_beside_0_and_1_are_hardly_ever_noise():
    column = ranged_column("x", IntegerRange(0, 1), 4, CODES)
    counts, two = np.where(column.firsts == 0, 300.0, 0.0), column.firsts == 2
    for one, more, kept in ((250, 25, (0, 1)), (250, 45, (0, 1, 2)), (25, 0, (0, 1))):
        given = counts + one * (column.firsts == 1) + more * two
        found = merged(column, given, 10.0, gaussian=True)[0]
        assert tuple(found.firsts[~found.unused]) == kept


@pytest.mark.parametrize(
    "column", [ranged_column("x", IntegerRange(1, 1), 4, CODES), ranged_column("x", Grid(1, 9), 4, FLOATS)]
)
def test_cells_that_may_be_noise_are_left_out(column):
    counts = np.where(column.firsts == 1, 1000.0, 0.0)
    noisy = counts + RNG.normal(0, 10, column.size)
    found, cells = merged(column, noisy, 10.0, gaussian=True)
    assert cells.max() == found.size - 1
    used = found.firsts[~found.unused]
    assert used.min() >= -3
    assert used.max() <= 9
    place = column.of(column.domain.nearest(np.array([70.0])))[0]
    noisy[place] += 1000
    found, cells = merged(column, noisy, 10.0, gaussian=False)
    assert not found.unused[cells[place]]
    assert found.starts[cells[place]] == column.starts[place]


@pytest.mark.parametrize(
    ("dtype", "learned", "ends"),
    [
        ("int8", IntegerRange(0, 9), (-128, 127)),
        ("uint64", IntegerRange(0, 9), (0, 2**64 - 2)),
        (None, IntegerRange(0, 9), (-(2**63), 2**63 - 2)),
        (None, IntegerRange(0, 9, missing=True), (-(2**53), 2**53)),
        (None, IntegerRange(-(2**54), 9, missing=True), (-(2**63), 2**63 - 3)),
        ("uint64", IntegerRange(0, 2**54, missing=True), (0, 2**64 - 3)),
    ],
)
def test_integers_have_the_ends_of_their_type_and_are_floats_where_gaps_let_them(dtype, learned, ends):
    found = widest_numbers(FLOATS, dtype and np.dtype(dtype), learned, whole=True)
    assert (found.low, found.high, found.accepts_missing) == (*ends, learned.missing)


@pytest.mark.parametrize(
    ("domain", "widest", "firsts"),
    [
        (
            IntegerRange(18, 25),
            IntegerRange(-1000, 1000),
            "-1000* -494* -238* -110* -46* -14* 0* 1*? 2* 10* 11*? 12*? 13*? 14* 15*? 16* 17*? 18 20 22 24"
            " 26* 27*? 28* 29*? 30* 31*? 32*? 33*? 34* 42* 58* 90* 154* 282* 538* 1000*",
        ),
        (
            IntegerRange(100, 100),
            IntegerRange(-1000, 1000),
            "-1000* -512* -156* -28* -16* -8* -4* -2* -1* 0* 1* 2* 4* 8* 16* 36* 68* 84* 92* 93*? 94*? 95*?"
            " 96* 97*? 98* 99* 100*? 101* 102* 103*? 104* 105*? 106*? 107*? 108* 116* 132* 164* 228* 356*"
            " 512* 1000*",
        ),
        (
            Grid(1, 9, 1025),
            Floats(smallest=2.0**-8, largest=1000.0),
            "-1000* -511* -255* -127* -63* -31* -15* -7* -5*? -3* -2*? -1* -0.5*? 0* 0.0039062*? 0.5*? 1 1?"
            " 3 5 7 9* 9.5*? 10*? 10.5*? 11* 12*? 13* 15*? 17* 25* 41* 73* 137* 265* 521* 1000*",
        ),
        (
            Grid(-4, 4, 1025),
            Floats(smallest=2.0**-8, largest=100.0, missing=True),
            "nan -100* -68* -36* -20* -12* -10*? -8* -7*? -6* -5.5*? -5*? -4.5*? -4 -2 -1? -0.5? -0.25?"
            " -0.125? -0.0625? 0 0.0039062? 0.0625? 0.125? 0.25? 0.5? 1? 1? 2 4* 4.5*? 5*? 5.5*? 6* 7*? 8*"
            " 10*? 12* 20* 36* 68* 100*",
        ),
    ],
)
def test_cells_beyond_a_range_grow_and_those_that_may_be_one_are_marked(domain, widest, firsts):
    """A star is a far cell, a question mark one that may be one with the cell before."""
    column = ranged_column("x", domain, 4, widest)
    marks = [("", "*", "?", "*?")[mark] for mark in column.marks]
    assert " ".join(f"{first:.5g}{mark}" for first, mark in zip(column.firsts, marks, strict=True)) == firsts


@pytest.mark.parametrize(
    ("counts", "marks", "firsts", "unused", "cells"),
    [
        (
            [9, 0, 0, 9, 0, 0, 0],
            "n**n***",
            [0, 1, 3, 4],
            [3],
            [0, 1, 1, 2, 2, 2, 3],
        ),  # a hole as wide as both
        ([9, 0, 0, 0, 9, 0], "n***n*", [0, 1, 4, 5], [1, 3], [0, 0, 2, 2, 2, 2]),  # and a wider one
        ([0, 0, 0, 5, 0, 0, 0, 9, 0], "*********", [0, 7, 8], [0, 2], [0, 0, 0, 0, 0, 1, 1, 1, 1]),
        ([0, 0, 2.9, 3.1, 9, 3.1, 3], "*******", [0, 3, 4, 5, 6], [0, 4], [0, 1, 1, 1, 2, 3, 3]),
        ([0, 0, 3, 3, 3, 3, 0, 0, 0], "*********", [0, 2, 3, 4, 5, 6], [0, 5], [1, 1, 1, 2, 3, 4, 4, 4, 5]),
        ([10, 10, 13, 40, 0], "n??n*", [0, 2, 3, 4], [3], [0, 0, 1, 2, 2]),  # two that are nearly even
        ([20, 20, 20, 0], "n++*", [0, 1, 3], [2], [0, 1, 1, 1]),  # only two on the same side of an end
        ([0, 0, 0, 0], "****", [0, 1, 2, 3], [], [0, 1, 2, 3]),
    ],
)
def test_cells_are_kept_joined_and_filled_by_their_counts(counts, marks, firsts, unused, cells):
    kinds = np.array(["n*?+".index(mark) for mark in marks], dtype=np.int8)
    for gap in (0, 1):  # the cell of missing numbers changes no other
        domain = IntegerRange(0, len(counts) - 1, missing=bool(gap))
        column = TableColumn(
            "x",
            domain,
            np.arange(len(counts) + gap, dtype=np.uint64),
            np.append([0] * gap, kinds).astype(np.int8),
        )
        found, places = merged(column, np.append([50.0] * gap, counts), 1.0, gaussian=True)
        assert found.firsts[gap:].tolist() == firsts
        assert (np.flatnonzero(found.unused) - gap).tolist() == unused
        assert (places[gap:] - gap).tolist() == cells
