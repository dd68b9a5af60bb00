"""Synthetic tables whose schema is learned: nothing is declared."""

import re
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dplearn.domains import Categories, Floats, Grid, IntegerRange, Learn
from dplearn.privacy import ApproxDP, PrivacyLedger
from dplearn.privacy.shares import concentrated_budget
from dplearn.releases import SyntheticTable, learned_schema_plan
from dplearn.releases.learned_schema import SchemaRelease
from dplearn.releases.schema_fits import SchemaFitPlan
from dplearn.releases.synthetic_table import TableRelease

pytestmark = pytest.mark.filterwarnings(
    "ignore:synthetic records have one value or none in each of the columns"
)

N = 8000
RNG = np.random.default_rng(0)
AGE = RNG.integers(18, 91, N)
FRAME = pd.DataFrame(
    {
        "age": AGE.astype("int16"),
        "wage": np.where(RNG.random(N) < 0.2, np.nan, np.where(AGE > 65, 0.0, RNG.random(N) * 5e4)),
        "town": RNG.choice(["north", "south", "moon", None], N, p=[0.6, 0.3, 0.0005, 0.0995]),
        "retired": AGE > 65,
        "constant": 2.5,
        "name": [f"person {place}" for place in range(N)],
    }
)
KINDS = {"age": "integers", "town": "categories"}


def fitted(frame=FRAME, **given):
    return SyntheticTable(**{"epsilon": 3, "random_state": 0} | given).fit(frame)


@pytest.fixture(scope="module")
def table():
    return fitted()


def test_a_release_that_plans_other_noise_with_the_released_schema_publishes_nothing(monkeypatch):
    released, release, plan = [], SchemaRelease.run, TableRelease.plan
    monkeypatch.setattr(
        SchemaRelease, "run", lambda self, *given: released.append(1) or release(self, *given)
    )

    def planned(self, facts):
        made = plan(self, facts)
        return replace(made, noise="laplace") if released else made

    monkeypatch.setattr(TableRelease, "plan", planned)
    table = SyntheticTable(random_state=None, ledger=PrivacyLedger(1, 1e-5))
    with pytest.raises(RuntimeError, match="other noise than its plan with the narrowest schema"):
        table.fit(FRAME)
    assert not hasattr(table, "guarantee_")
    assert len(table.ledger.history()) == 1


@pytest.fixture(scope="module")
def rows(table):
    return table.sample(N, random_state=0)


def test_a_raw_frame_needs_no_declarations(table, rows):
    domains = table.domain_.columns
    assert isinstance(domains["age"], IntegerRange)
    assert not domains["age"].missing  # an int16 has no gap
    assert isinstance(domains["wage"], Grid)
    assert domains["wage"].low == 0
    assert domains["retired"] == Categories([False, True])
    assert domains["town"].values[-1] is None
    for target in ("town", "wage", "constant", "name"):
        found = fitted(FRAME[:2000], target=target)
        assert all(parents[0] == target for name, parents in found.network_.items() if name != target)
    assert rows.dtypes.equals(FRAME.dtypes)
    assert rows.columns.equals(FRAME.columns)
    assert rows["age"].between(15, 93).all()
    assert abs(rows["age"].mean() - FRAME["age"].mean()) < 2
    assert set(rows["town"].dropna()) == {"north", "south"}
    assert 0.05 < rows["town"].isna().mean() < 0.15
    assert 0.1 < rows["wage"].isna().mean() < 0.3
    assert (rows["wage"].dropna() >= 0).all()
    assert (rows.loc[rows["retired"], "wage"] == 0).mean() > 0.5
    assert rows["wage"].dropna().nunique() > 0.5 * (rows["wage"] > 0).sum()  # no grid is seen
    assert (rows["constant"].dropna() == 2.5).mean() > 0.99
    assert rows["name"].isna().all()  # no name is frequent


def test_parts_give_the_fit_in_memory(table, rows):
    found = fitted([FRAME[:3000], FRAME[3000:3001], FRAME[3001:]])
    assert found.domain_ == table.domain_
    assert found.sample(N, 0).equals(rows)


def test_polars_arrays_and_numbered_columns_are_given_back_as_such(table):
    frame = pl.from_pandas(FRAME).with_columns(pl.col("town").cast(pl.Categorical))
    found = fitted(frame).sample(50, 0)
    assert found.schema == frame.schema
    array = FRAME[["age", "retired"]].to_numpy(dtype=np.int32)
    found = fitted(array).sample(50, 0)
    assert (found.shape, found.dtype) == ((50, 2), np.int32)
    numbered = fitted(FRAME.set_axis(range(6), axis=1), target="x3")
    assert numbered.sample(5, 0).columns.tolist() == list(range(6))
    assert numbered.network_["x0"][0] == "x3"
    twice = FRAME[["age", "town", "town"]]
    assert fitted(twice).sample(5, 0).columns.tolist() == ["age", "town", "town"]


@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("Int64", [1, 2, None]),
        ("Float32", [0.5, 2.0, None]),
        ("boolean", [True, False, None]),
        ("category", ["a", "b", None]),
        ("string", ["a", "b", None]),
        ("uint8", [0, 1, 255]),
        ("float16", [1.0, 2.0, 60_000.0]),
        ("bool", [True, True, False]),
        ("uint64", [0, 1, 2**63]),
        ("int8", [-128, 0, 127]),
        ("object", ["a", b"b", None]),
    ],
)
def test_columns_keep_their_types(dtype, values):
    column = pd.Series(values * 500, dtype=dtype)
    frame = pd.DataFrame({"a": column, "b": pd.Series([0.0, 1.0, 2.0] * 500)})
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "X has columns of type object")
        found = fitted(frame, epsilon=20)
    again = SyntheticTable.from_json(found.to_json()) if dtype != "object" else found
    for each in (found, again):
        sampled = each.sample(40, 0)["a"]
        assert str(sampled.dtype) == dtype
        if dtype not in ("float16", "Float32", "uint64"):
            known = {value for value in values if value is not None}
            assert sampled.notna().mean() > 0.2
            assert (sampled.isin(known) | sampled.isna()).mean() > 0.4


def test_the_plan_knows_the_price_without_data():
    for learn in (Learn(KINDS), Learn(KINDS, share="1/4")):
        plan = SyntheticTable(domain=learn).plan(20_000)
        assert isinstance(plan, SchemaFitPlan)
        assert (plan.guarantee.epsilon, plan.guarantee.delta) == (1, Fraction("1e-6"))
        share = learn.share
        whole = concentrated_budget(ApproxDP(1, (1 - share) * Fraction("1e-6")))
        inner = concentrated_budget(ApproxDP(plan.rest.epsilon, plan.rest.delta))
        assert plan.release.concentrated.rho + inner == whole  # both parts compose to the guarantee
        assert plan.release.concentrated.failure + plan.rest.delta == plan.guarantee.delta
        assert plan.release.concentrated.rho == pytest.approx(float(share * whole), rel=1e-3)
        budget = plan.budget
        spent = 2 * budget.base.rho + budget.selection**2 / 8 + budget.network.rho
        assert 0.999 * inner < spent <= inner
        assert plan.expected_tv["age"] < 0.02
        assert "schema.tail" in str(plan)
    pure = SyntheticTable(delta=0, domain=Learn(KINDS)).plan(20_000)
    assert pure.release.concentrated is None
    assert (pure.schema.guarantee.epsilon, pure.rest.epsilon) == (Fraction(1, 10), Fraction(9, 10))
    learned = learned_schema_plan(N, KINDS)  # coarser than for tables
    assert learned.narrowest.domains[0].points == 1025
    assert isinstance(learned.unranged.domains[0], Floats)
    assert SyntheticTable(domain=Learn(KINDS)).plan(N).schema.narrowest.domains[0].points == 2**20 + 1
    assert SyntheticTable().plan(1000, n_features=4).schema.columns.kinds == ("numbers",) * 4


def test_the_schema_is_released_once_before_the_tables_with_the_rest_of_the_budget(monkeypatch):
    seen = []
    schema, tables = SchemaRelease.run, TableRelease.run
    monkeypatch.setattr(
        SchemaRelease,
        "run",
        lambda self, *given: seen.append(("schema", self.cost.epsilon)) or schema(self, *given),
    )
    monkeypatch.setattr(
        TableRelease,
        "run",
        lambda self, *given: seen.append(("tables", self.cost.epsilon)) or tables(self, *given),
    )
    ledger = PrivacyLedger(1, 1e-5)
    SyntheticTable(delta=0, ledger=ledger).fit(FRAME[["age", "retired"]])
    assert seen == [("schema", Fraction(1, 10)), ("tables", Fraction(9, 10))]
    assert (ledger.spent().epsilon, len(ledger.history())) == (1, 1)


def test_a_schema_that_releases_nothing_costs_nothing():
    with (
        pytest.warns(UserWarning, match="numbers have no learned range"),
        pytest.warns(UserWarning, match="categories are not listed, and are gaps;"),
        pytest.warns(UserWarning, match="the noise of a count"),
    ):
        found = fitted(FRAME[:50], epsilon=1)
    assert found.sample(20, 0)["town"].isna().all()
    assert found.sample(20, 0).dtypes.equals(FRAME.dtypes)
    plan = SyntheticTable(domain=Learn(KINDS)).plan(50)
    assert plan.schema.is_free
    assert plan.rest.epsilon == 1
    with pytest.warns(UserWarning, match="n_samples is"):
        assert fitted(FRAME[:1]).sample(3, 0).dtypes.equals(FRAME.dtypes)  # of one record
    with pytest.warns(UserWarning, match="delta is 0: categories are not listed, and are gaps in synthetic"):
        found = fitted(FRAME[["age", "town"]], delta=0)
    assert found.sample(20, 0)["town"].isna().all()


BAD = {
    "target": ({"target": "ages"}, FRAME, "target must be the name of a column"),
    "kind": ({"domain": Learn({"town": "numbers"})}, FRAME.astype({"town": "string"}), "declared as numbers"),
    "no such column": ({"domain": Learn({"ages": "numbers"})}, FRAME, "must name columns of X"),
    "dates": ({}, FRAME.assign(day=pd.Timestamp("2020-01-01")), "give days"),
    "objects": ({}, FRAME.to_numpy(dtype=object), "X is an array of objects"),
    "one column": ({}, FRAME[["age"]], "2 to 400 columns, got 1"),
    "cells": ({"target": "wage", "max_cells": 60}, FRAME, "at most max_cells=60 cells"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_before_anything_is_spent(name):
    given, frame, text = BAD[name]
    ledger = PrivacyLedger(5, 1e-5)
    with pytest.raises((TypeError, ValueError), match=text):
        SyntheticTable(**given, ledger=ledger).fit(frame)
    assert ledger.history() == []


@pytest.mark.filterwarnings("ignore:n_samples is")
def test_no_error_depends_on_values():
    """A table of gaps, of infinities, or of cells of another kind is released like any other."""
    for column in (np.full(N, np.nan), np.full(N, np.inf), np.full(N, -1e300), np.zeros(N)):
        found = fitted(pd.DataFrame({"a": column, "b": FRAME["retired"]}), target="b")
        assert found.sample(10, 0)["a"].dtype == np.float64
    odd = pd.DataFrame({"a": pd.Series([[1], {}, 2.5, b"x", None] * 100, dtype=object), "b": range(500)})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted(odd).sample(10, 0)
    typed = pd.Series(["x"]).dtype.name != "object"  # from version 3 of pandas on
    assert any("columns of type object" in str(each.message) for each in caught) == typed


def test_cells_that_are_few_are_checked_with_all_domains_before_the_charge():
    """A column of mostly missing numbers has no range, and more cells than one with a range."""
    frame = pd.DataFrame({"a": np.full(N, np.nan), "b": FRAME["retired"]})
    ledger = PrivacyLedger(5, 1e-5)
    for given in (frame, frame.assign(a=1.5)):
        with pytest.raises(ValueError, match="max_cells=70"):
            SyntheticTable(target="b", max_cells=70, ledger=ledger).fit(given)
    assert ledger.history() == []


def test_fractions_in_a_column_of_declared_integers_do_not_fail_after_the_charge():
    frame = pd.DataFrame({"share": RNG.uniform(0.2, 0.8, 3000), "x": RNG.normal(size=3000)})
    found = fitted(frame, domain=Learn({"share": "integers", "x": "numbers"}))
    assert found.sample(10, 0)["share"].notna().any()


SEVERAL = {
    "flag": np.arange(N) % 2,
    "cost": np.arange(N) / 100,
    "wavelength": 4e-7 + np.arange(N) * 1e-11,
    "town": np.array(["north", "south"])[np.arange(N) % 2],
    "ill": np.arange(N) % 2 == 0,
    "gaps": np.where(np.arange(N) % 3, np.arange(N) % 7, np.nan),
}
ONE = {
    "rare integer": (np.arange(N) % 400 == 0).astype(int),
    "rare number": np.where(np.arange(N) % 400, 0.0, 5.5),
    "rare zeros": np.where(np.arange(N) % 400, 5.5, 0.0),
    "rare text": np.where(np.arange(N) % 2000, "north", "south"),
    "rare gaps": np.where(np.arange(N) % 3, "north", None).tolist(),
}


@pytest.mark.first_by_day
@pytest.mark.filterwarnings("ignore:X has columns of type object")
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_learned_column_that_has_one_value_is_warned_of_by_name(kind):
    """A flag of few records vanished without a word."""
    columns = SEVERAL | ONE
    frame = pd.DataFrame(columns) if kind == "pandas" else pl.DataFrame(columns)
    with pytest.warns(UserWarning, match="synthetic records have one value") as caught:
        rows = fitted(frame).sample(2000, random_state=0)
    texts = [str(each.message) for each in caught if "object" not in str(each.message)]  # of older pandas
    assert [re.findall("'(rare [a-z ]*)'", text) for text in texts] == [list(ONE)]
    for name in columns:
        values = [round(each, 9) if type(each) is float else each for each in rows[name].to_list()]
        assert (len({*values} - {None} - {each for each in values if each != each}) == 1) == (name in ONE)
