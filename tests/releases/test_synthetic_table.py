"""Synthetic tables of declared columns: samples, networks, what a file keeps, and what is refused."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

from dplearn.domains import Bits, Categories, Floats, Grid, Hashed, IntegerRange, Product, Schema
from dplearn.privacy import PrivacyLedger
from dplearn.releases import SyntheticTable, learned_schema

RNG = np.random.default_rng(0)
N = 3000
AGE = RNG.integers(18, 90, N)
FRAME = pd.DataFrame(
    {
        "age": AGE,
        "wage": np.where(RNG.random(N) < 0.1, np.nan, np.round(RNG.random(N) * 100, 1)),
        "town": RNG.choice(["north", "south", "moon"], N, p=[0.6, 0.3, 0.1]),
        "works": np.where(AGE < 65, "yes", "no"),
        "ignored": RNG.random(N),
    }
)
SCHEMA = Schema(
    {
        "age": IntegerRange(18, 90),
        "wage": Grid(0, 100, 1001, missing=True),
        "town": Categories(["north", "south"], other=True),
        "works": Categories(["no", "yes"]),
    }
)


def fitted(frame=FRAME, **given):
    return SyntheticTable(domain=SCHEMA, random_state=0, **given).fit(frame)


@pytest.fixture(scope="module")
def table():
    return fitted()


def test_a_sample_has_the_types_of_the_schema(table):
    rows = table.sample(500, random_state=0)
    assert list(rows.columns) == list(SCHEMA.names)
    assert rows.shape == (500, 4)
    assert rows["age"].dtype == np.int64
    assert rows["wage"].dtype == np.float64
    assert 0 < rows["wage"].isna().mean() < 0.3
    assert set(rows["town"].dropna()) == {"north", "south"}
    assert 0 < rows["town"].isna().mean() < 0.3
    assert set(rows["works"]) == {"no", "yes"}
    SCHEMA.encode(rows)  # within the domain
    plan = SyntheticTable(domain=SCHEMA).plan(N)  # without data
    assert (plan.expected_tv, plan.budget) == (table.plan_.expected_tv, table.plan_.budget)
    near = fitted(epsilon=5).sample(50_000, 0)
    assert abs((near["town"] == "north").mean() - 0.6) < 0.03
    assert near.loc[near["works"] == "no", "age"].mean() > near.loc[near["works"] == "yes", "age"].mean() + 20


def test_a_sample_is_that_of_its_seed_and_of_any_size(table):
    assert table.sample(200, 1).equals(table.sample(200, 1))
    assert not table.sample(200, 1).equals(table.sample(200, 2))
    assert not table.sample(200).equals(table.sample(200))
    assert len(table.sample(1)) == 1
    assert len(table.sample(70_000, 0)) == 70_000


@pytest.mark.parametrize("target", ["works", "age"])
def test_all_columns_depend_on_the_target(target):
    network = fitted(target=target).network_
    assert network[target] == ()
    assert all(parents[0] == target for name, parents in network.items() if name != target)
    assert fitted(target=target, degree=1).network_ == {target: ()} | {
        name: (target,) for name in SCHEMA.names if name != target
    }


def test_parts_give_the_fit_in_memory(table):
    parts = [FRAME.iloc[:1000], FRAME.iloc[1000:1001], FRAME.iloc[1001:]]
    for frame in (parts, lambda: iter(parts)):
        found = fitted(frame)
        assert found.network_ == table.network_
        assert found.sample(100, 0).equals(table.sample(100, 0))
    assert any("part" in text for text in found.guarantee_.assumes)


@pytest.mark.filterwarnings("ignore:n_samples")
def test_groups_of_a_table_and_of_parts_give_the_same_fit():
    ids = np.random.default_rng(1).integers(0, 900, N)
    whole = SyntheticTable(domain=SCHEMA, random_state=0).fit(FRAME, groups=ids)
    with_ids = FRAME.assign(person=ids)
    parted = SyntheticTable(domain=SCHEMA, random_state=0)
    parted.fit([with_ids[:10], with_ids[10:]], groups="person")
    assert parted.network_ == whole.network_
    assert parted.sample(100, 0).equals(whole.sample(100, 0))
    assert whole.guarantee_.protects == parted.guarantee_.protects == "groups"
    assert whole.plan_.n_samples == len(set(ids))


def test_polars_and_arrays_are_given_back_as_such(table):
    found = fitted(pl.from_pandas(FRAME)).sample(50, 0)
    assert isinstance(found, pl.DataFrame)
    assert found["age"].dtype == pl.Int64
    assert found["wage"].null_count() > 0
    assert found["town"].fill_null("").to_list() == table.sample(50, 0)["town"].fillna("").tolist()
    numbers = np.column_stack([AGE, FRAME["works"] == "yes"])
    domain = Product([IntegerRange(18, 90), Bits(binarize=None)])
    array = SyntheticTable(domain=domain, random_state=0).fit(numbers).sample(20, 0)
    assert array.dtype.kind == "i"
    mixed = SyntheticTable(domain=Product(SCHEMA.domains), random_state=0)
    rows = mixed.fit(FRAME[list(SCHEMA.names)].to_numpy()).sample(20, 0)
    assert rows.dtype == object
    assert {type(cell) for cell in rows[:, 0]} == {int}


def test_json_gives_the_same_samples(table):
    pure = fitted(delta=0)
    assert pure.plan_.noise == "laplace"
    for each in (table, fitted(target="works", epsilon=0.3), pure):
        again = SyntheticTable.from_json(each.to_json())
        assert again.sample(300, 0).equals(each.sample(300, 0))
        assert again.guarantee_ == each.guarantee_
        assert again.network_ == each.network_
        assert again.to_json() == each.to_json()
    with pytest.raises(ValueError, match=re.escape("not a dplearn.SyntheticTable record")):
        SyntheticTable.from_json("[1]")
    record = json.loads(table.to_json())
    with pytest.raises(ValueError, match="version must be 1, got 2"):
        SyntheticTable.from_json(json.dumps(record | {"version": 2}))
    wrong = [record | {name: value} for name, value in (("kind", "dask"), ("target", "c"), ("guarantee", {}))]
    del record["base"]
    for each in (record, *wrong):
        with pytest.raises(ValueError, match="not a"):
            SyntheticTable.from_json(json.dumps(each))
    with pytest.raises(ValueError, match="not fitted"):
        SyntheticTable().to_json()


def test_learned_schemas_are_accepted():
    learned = learned_schema(FRAME, epsilon=5, random_state=0)
    rows = SyntheticTable(domain=learned.schema, random_state=0).fit(FRAME).sample(100, 0)
    assert list(rows.columns) == list(FRAME.columns)
    assert SyntheticTable(domain=learned, random_state=0).fit(FRAME).sample(100, 0).equals(rows)
    assert set(rows["town"].dropna()) <= {"north", "south", "moon"}


NARROW = SCHEMA.columns["works"]
BAD = {
    "no bounds": ({"domain": Schema({"age": Floats(), "works": NARROW})}, FRAME, "'age' must have bounds"),
    "hashed": (
        {"domain": Schema({"age": NARROW, "town": Hashed()})},
        FRAME,
        "column 'town' must not be Hashed",
    ),
    "target": ({"target": "ages"}, FRAME, "target must be the name of a column"),
    "cells": ({"max_cells": 10}, FRAME, "max_cells=10"),
    "sparse": ({}, csr_array(np.eye(4)), "frame must be dense"),
    "absent": ({}, FRAME.drop(columns="age"), "'age' is missing"),
    "twice": ({}, pd.concat([FRAME, FRAME[["age"]]], axis=1), "'age' occurs more than once"),
    "width": ({}, np.zeros((5, 3)), "frame must have 4 columns"),
    "outside": ({}, FRAME.assign(age=FRAME["age"] + 40), "in column 'age'"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_before_anything_is_spent(name):
    given, frame, text = BAD[name]
    ledger = PrivacyLedger(5, 1e-5)
    with pytest.raises((TypeError, ValueError), match=text) as caught:
        SyntheticTable(**{"domain": SCHEMA, "ledger": ledger} | given).fit(frame)
    assert ledger.history() == []
    assert "129" not in str(caught.value)


def test_few_records_warn_of_their_noise():
    with pytest.warns(UserWarning, match="n_samples is 30: the noise of a count") as caught:
        fitted(FRAME.iloc[:30])
    assert caught[0].filename == __file__


def test_a_network_without_measured_tables_has_no_error_bound_and_degrees_end_at_the_columns():
    wide = Schema({f"c{place}": IntegerRange(0, 1) for place in range(6)})
    assert [SyntheticTable(domain=wide, degree=each).plan(9).layout.degree for each in (6, 10**9)] == [6, 6]
    domain = Schema({"a": IntegerRange(0, 1), "b": IntegerRange(0, 1)})
    for delta in (0, 1e-6):
        plan = SyntheticTable(domain=domain, target="a", delta=delta).plan(1000)
        assert (plan.rounds, plan.network_tv(10)) == (0, 1.0)


def test_categories_that_json_changes_are_not_written():
    for values in ([b"a", b"b"], [("a", 1), ("b", 2)]):
        domain = Schema({"a": Categories(values), "b": IntegerRange(0, 1)})
        column = np.fromiter([values[0]] * 50, dtype=object, count=50)
        table = SyntheticTable(domain=domain).fit(pd.DataFrame({"a": column, "b": 0}))
        with pytest.raises(ValueError, match="'a' must have categories that are texts, numbers or None"):
            table.to_json()


def test_types_of_polars_depend_on_the_domain_alone():
    domain = Schema({"mixed": Categories([1, "a"]), "flag": Categories([True, False, None])})
    frame = pl.DataFrame([pl.Series("mixed", [1, "a"] * 20, dtype=pl.Object), pl.Series("flag", [None] * 40)])
    table = SyntheticTable(domain=domain, epsilon=100).fit(frame)
    for m in (1, 50):
        assert table.sample(m).dtypes == [pl.Object, pl.Boolean]
