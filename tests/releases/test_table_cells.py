"""Cells beyond a learned or within a wide range: none is drawn that may be noise; tails keep their scale."""

import numpy as np
import pandas as pd
import pytest

from dplearn.domains import Floats, Grid, IntegerRange, Schema
from dplearn.releases import SyntheticTable
from dplearn.releases.table_cells import merged, ranged_column, widest_numbers

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
    ("dtype", "ends"), [("int8", (-128, 127)), ("uint64", (0, 2**64 - 2)), (None, (-(2**62) + 1, 2**62 - 1))]
)
def test_integers_have_the_ends_of_their_type(dtype, ends):
    found = widest_numbers(FLOATS, dtype and np.dtype(dtype), whole=True, missing=False)
    assert (found.low, found.high) == ends
