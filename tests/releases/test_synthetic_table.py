import json
import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array

from dplearn.domains import Bits, Categories, DomainError, Floats, Grid, Hashed, IntegerRange, Product, Schema
from dplearn.privacy import ApproxDP, BudgetExceededError, PrivacyLedger
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


def test_a_sample_is_that_of_its_seed_and_of_any_size(table):
    assert table.sample(200, 1).equals(table.sample(200, 1))
    assert not table.sample(200, 1).equals(table.sample(200, 2))
    assert not table.sample(200).equals(table.sample(200))
    assert len(table.sample(1)) == 1
    assert len(table.sample(70_000, 0)) == 70_000


def test_marginals_and_dependences_are_near_the_true_ones():
    rows = fitted(epsilon=5).sample(50_000, 0)
    assert abs((rows["town"] == "north").mean() - 0.6) < 0.03
    assert rows.loc[rows["works"] == "no", "age"].mean() > rows.loc[rows["works"] == "yes", "age"].mean() + 20


@pytest.mark.parametrize("target", ["works", "age"])
def test_all_columns_depend_on_the_target(target):
    network = fitted(target=target).network_
    assert network[target] == ()
    assert all(parents[0] == target for name, parents in network.items() if name != target)
    assert fitted(target=target, degree=1).network_ == {target: ()} | {
        name: (target,) for name in SCHEMA.names if name != target
    }


def test_attributes_and_repr(table):
    assert table.guarantee_.epsilon == 1
    assert table.guarantee_.reproducible
    assert table.plan_.n_samples == N
    assert [column.name for column in table.columns_] == list(SCHEMA.names)
    assert set(table.marginals_) == set(SCHEMA.names)
    assert abs(table.marginals_["town"].sum() - 1) < 1e-9
    assert repr(SyntheticTable(epsilon=0.5, target="works")) == "SyntheticTable(epsilon=0.5, target='works')"
    assert len(repr(table)) < 300
    assert table.get_params()["n_bins"] == 16


def test_the_plan_is_that_of_the_fit_without_data(table):
    plan = SyntheticTable(domain=SCHEMA).plan(N)
    assert plan.expected_tv == table.plan_.expected_tv
    assert plan.budget == table.plan_.budget
    assert plan.guarantee.assumes == table.guarantee_.assumes


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


def test_parts_with_other_columns_are_refused():
    ledger = PrivacyLedger(5, 1e-5)
    with pytest.raises((TypeError, ValueError)):
        SyntheticTable(domain=SCHEMA, ledger=ledger).fit([FRAME, FRAME.drop(columns="age")])
    with pytest.raises((TypeError, ValueError)):
        SyntheticTable(domain=SCHEMA, ledger=ledger).fit([FRAME.iloc[:0]])
    with pytest.raises(TypeError, match="read again"):
        SyntheticTable(domain=SCHEMA, ledger=ledger).fit(iter([FRAME]))
    assert ledger.spent().epsilon == 0


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
    for each in (table, fitted(target="works", epsilon=0.3), fitted(delta=0)):
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
    del record["base"]
    with pytest.raises(ValueError, match="not a"):
        SyntheticTable.from_json(json.dumps(record))
    with pytest.raises(ValueError, match="not fitted"):
        SyntheticTable().to_json()


def test_pickles_keep_samples_and_no_counts(table):
    assert pickle.loads(pickle.dumps(table)).sample(10, 0).equals(table.sample(10, 0))
    assert pickle.dumps(table) != pickle.dumps(table)


def test_without_delta_the_noise_is_laplace():
    pure = fitted(delta=0)
    assert pure.guarantee_ == ApproxDP(1, 0, assumes=pure.guarantee_.assumes, reproducible=True)
    assert pure.plan_.noise == "laplace"


def test_learned_schemas_are_accepted():
    learned = learned_schema(FRAME, epsilon=5, random_state=0)
    rows = SyntheticTable(domain=learned.schema, random_state=0).fit(FRAME).sample(100, 0)
    assert list(rows.columns) == list(FRAME.columns)
    assert SyntheticTable(domain=learned, random_state=0).fit(FRAME).sample(100, 0).equals(rows)
    assert set(rows["town"].dropna()) <= {"north", "south", "moon"}


def test_the_ledger_is_charged_once_before_the_draws():
    ledger = PrivacyLedger(1, 1e-5)
    SyntheticTable(epsilon=0.75, domain=SCHEMA, ledger=ledger).fit(FRAME).sample(10)
    assert float(ledger.spent().epsilon) == 0.75
    with pytest.raises(BudgetExceededError):
        SyntheticTable(epsilon=0.75, domain=SCHEMA, ledger=ledger).fit(FRAME)


BAD = {
    "no domain": ({"domain": None}, FRAME, TypeError, "domain must be 'learn', Learn"),
    "no bounds": (
        {"domain": Schema({"age": Floats(), "works": SCHEMA.columns["works"]})},
        FRAME,
        ValueError,
        "column 'age' must have bounds",
    ),
    "hashed": (
        {"domain": Schema({"age": IntegerRange(18, 90), "town": Hashed()})},
        FRAME,
        ValueError,
        "column 'town' must not be Hashed, since values cannot be given back from 64 buckets",
    ),
    "one column": ({"domain": Schema({"age": IntegerRange(18, 90)})}, FRAME, ValueError, "2 to 400 columns"),
    "target": ({"target": "ages"}, FRAME, ValueError, "target must be the name of a column"),
    "degree": ({"degree": 0}, FRAME, ValueError, "degree"),
    "bins": ({"n_bins": 1}, FRAME, ValueError, "n_bins"),
    "cells": ({"max_cells": 10}, FRAME, ValueError, "max_cells=10"),
    "epsilon": ({"epsilon": 0}, FRAME, ValueError, "epsilon"),
    "delta": ({"delta": 1}, FRAME, ValueError, "delta"),
    "sparse": ({}, csr_array(np.eye(4)), TypeError, "frame must be dense"),
    "absent": ({}, FRAME.drop(columns="age"), ValueError, "'age' is missing"),
    "twice": ({}, pd.concat([FRAME, FRAME[["age"]]], axis=1), ValueError, "'age' occurs more than once"),
    "width": ({}, np.zeros((5, 3)), ValueError, "frame must have 4 columns"),
    "empty": ({}, FRAME.iloc[:0], ValueError, "at least one row"),
    "outside": ({}, FRAME.assign(age=FRAME["age"] + 40), DomainError, "in column 'age'"),
    "a column": ({}, [1, 2, 3], ValueError, "2D"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_before_anything_is_spent(name):
    given, frame, kind, text = BAD[name]
    ledger = PrivacyLedger(5, 1e-5)
    with pytest.raises(kind, match=text) as caught:
        SyntheticTable(**{"domain": SCHEMA, "ledger": ledger} | given).fit(frame)
    assert ledger.spent().epsilon == 0
    assert "129" not in str(caught.value)


def test_a_plan_refuses_a_target_that_is_no_column_as_a_fit_does():
    with pytest.raises(ValueError, match="target must be the name of a column of the domain, got 'ages'"):
        SyntheticTable(target="ages").plan(1000, n_features=4)


@pytest.mark.parametrize("m", [0, -1, 2.5, "many"])
def test_samples_have_at_least_one_record(table, m):
    with pytest.raises((TypeError, ValueError), match="m must be"):
        table.sample(m)


def test_few_records_warn_of_their_noise():
    with pytest.warns(UserWarning, match="n_samples is 30: the noise of a count") as caught:
        fitted(FRAME.iloc[:30])
    assert caught[0].filename == __file__


def test_a_degree_of_any_size_is_that_of_all_columns():
    domain = Schema({f"c{place}": IntegerRange(0, 1) for place in range(6)})
    found = [SyntheticTable(domain=domain, degree=degree).plan(1000).layout for degree in (6, 10**9)]
    assert found[0].degree == found[1].degree == 6


def test_a_network_without_measured_tables_has_no_error_bound():
    domain = Schema({"a": IntegerRange(0, 1), "b": IntegerRange(0, 1)})
    for delta in (0, 1e-6):
        plan = SyntheticTable(domain=domain, target="a", delta=delta).plan(1000)
        assert (plan.rounds, plan.network_tv(10)) == (0, 1.0)


@pytest.mark.parametrize("epsilon", ["1e-30", 1e300, 0])
def test_an_epsilon_of_no_use_is_refused(epsilon):
    domain = Schema({"a": IntegerRange(0, 1), "b": IntegerRange(0, 1)})
    for delta in (0, 1e-6):
        with pytest.raises(ValueError, match="epsilon must be"):
            SyntheticTable(epsilon, delta, domain=domain).plan(1000)


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


def test_a_record_with_an_unknown_kind_or_target_is_refused():
    domain = Schema({"a": IntegerRange(0, 1), "b": IntegerRange(0, 1)})
    record = json.loads(SyntheticTable(domain=domain).fit(np.zeros((50, 2), int)).to_json())
    for name, value in (("kind", "dask"), ("target", "c"), ("guarantee", {"format": "x"})):
        with pytest.raises(ValueError, match="not a"):
            SyntheticTable.from_json(json.dumps(record | {name: value}))
