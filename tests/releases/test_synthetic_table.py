"""Synthetic tables of declared and of learned columns: samples, networks, files, and what is refused."""

import json
import pickle
import re
import warnings
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dplearn import PublicData
from dplearn.domains import Bits, Categories, Floats, Grid, IntegerRange, Learn, Product, Schema
from dplearn.estimator import SchemaFitPlan
from dplearn.privacy import ApproxDP, PrivacyLedger, concentrated_budget
from dplearn.releases import SyntheticTable, learned_schema, learned_schema_plan, schema_fits, synthetic_table

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
def test_the_report_says_what_is_noise_and_what_is_lost(target):
    frame = FRAME.assign(town=np.where(np.arange(N) == 5, "north", "south"))  # a value of one record
    good, poor = (fitted(frame, epsilon=epsilon, target=target).fidelity() for epsilon in (20, 0.02))
    shown = good.to_frame()
    assert shown["table"].tolist()[:4] == list(SCHEMA.names)
    assert all(f"{target} x " in name for name in shown["table"][4:])
    assert not shown["too_noisy"].any()
    assert (shown["noise_tv"] < 0.1).all()
    assert (shown["synthetic_tv"] < shown["noise_tv"] + 0.05).all()
    assert max(poor.noise_tv) == 1
    assert poor.too_noisy[0] == any(
        "age" in text for text in fitted(target=target, epsilon=0.02).plan_.warnings
    )
    assert str(poor).startswith("TableFidelity: epsilon 0.02")
    lost = []
    for seed in range(6):
        table = SyntheticTable(1, domain=SCHEMA, target=target, random_state=seed).fit(frame)
        lost.append("north" in table.fidelity().lost.get("town", ()))
        assert lost[-1] == ("north" not in set(table.sample(50_000, 0)["town"]))
    assert target == "age" or len(set(lost)) == 2  # noise decides of one record, in one of two cells


@pytest.mark.parametrize("target", [None, "gain"])
def test_the_report_lists_ends_of_a_declared_range_that_are_left_out(target):
    gains = np.where(np.arange(N) < 5, 99_999, np.arange(N) % 2000)  # few records far from all others
    schema = Schema({"gain": IntegerRange(0, 100_000), "even": Categories([0, 1])})
    table = SyntheticTable(1, domain=schema, target=target, random_state=0)
    table.fit(pd.DataFrame({"gain": gains, "even": gains % 2}))
    lost = table.fidelity().lost["gain"][-1]
    assert lost.endswith(" to 100000")
    assert table.sample(10_000, 0)["gain"].max() < int(lost.split()[0])


@pytest.mark.parametrize("target", ["works", "age"])
def test_all_columns_depend_on_the_target(target):
    network = fitted(target=target).network_
    assert network[target] == ()
    assert all(parents[0] == target for name, parents in network.items() if name != target)
    assert fitted(target=target, degree=1).network_ == {target: ()} | {
        name: (target,) for name in SCHEMA.names if name != target
    }


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


def people(n, seed, turned=False, young=False):
    rng = np.random.default_rng(seed)
    age = (rng.gamma(2, 7, n) if young else rng.integers(0, 64, n)).astype(int).clip(0, 63)
    ill = rng.random(n) < np.where(turned, 63 - age, age) / 63
    pay = rng.integers(0, 8, n) + 8 * ill
    return pd.DataFrame({"age": age, "ill": ill.astype(int), "pay": pay, "town": rng.integers(0, 5, n)})


OF_PEOPLE = {"age": IntegerRange(0, 63), "ill": IntegerRange(0, 1)}
OF_PEOPLE |= {"pay": IntegerRange(0, 15), "town": IntegerRange(0, 4)}


def far_from(frame, public, epsilon, target):
    """The mean total variation of the tables of two columns, age in eights."""

    def shares(rows):
        codes = rows.assign(age=rows["age"] // 8)
        pairs = (16 * codes[one] + codes[other] for one, other in combinations(OF_PEOPLE, 2))
        return np.array([np.bincount(pair, minlength=256) / len(rows) for pair in pairs])

    found, exact = [], shares(frame)
    for seed in range(4):
        table = SyntheticTable(epsilon, domain=Schema(OF_PEOPLE), target=target, random_state=seed)
        sampled = table.fit(frame, public).sample(20_000, 0)
        found.append(np.abs(shares(sampled) - exact).sum(axis=1).mean() / 2)
    return np.mean(found)


@pytest.mark.filterwarnings("ignore:n_samples")
@pytest.mark.parametrize("target", [None, "ill"])
def test_public_rows_help_where_noise_dominates_and_cost_little_where_they_are_others(target):
    for n, epsilon, gained in ((1000, 0.1, 0.3), (4000, 1, 1.1)):
        frame = people(n, 0)
        without = far_from(frame, None, epsilon, target)
        assert far_from(frame, people(4000, 1), epsilon, target) < gained * without
        for others in ({"turned": True}, {"young": True}):
            assert far_from(frame, people(4000, 1, **others), epsilon, target) < 1.1 * without


def test_public_rows_are_stated_checked_before_the_charge_and_kept_as_counts(table):
    for given in ({"target": "works"}, {"degree": 1, "target": "works"}, {"domain": "learn"}):
        shell = SyntheticTable(**{"domain": SCHEMA, "random_state": 0} | given)
        found = shell.fit(FRAME, PublicData(FRAME[:100]))
        assert "the rows in X_public are public" in found.guarantee_.assumes
        assert SyntheticTable.from_json(found.to_json()).sample(50, 0).equals(found.sample(50, 0))
    assert "the rows in X_public are public" not in table.guarantee_.assumes
    counted = FRAME.assign(age=FRAME["age"].astype("int16"))
    for domain, public, text in (
        (SCHEMA, FRAME.drop(columns="age"), "X_public: frame must have the columns .* 'age' is missing"),
        (SCHEMA, FRAME.assign(age=200), "X_public: in column 'age', a value lies outside"),
        ("learn", counted.assign(age=np.nan), "X_public: .*'age'"),
        ("learn", counted.assign(age="old"), "X_public: .*'age'"),
    ):
        ledger = PrivacyLedger(5, 1e-5)
        with pytest.raises((TypeError, ValueError), match=text):
            SyntheticTable(domain=domain, ledger=ledger).fit(counted, public)
        assert ledger.history() == []


def test_json_gives_the_same_samples(table):
    pure = fitted(delta=0)
    assert pure.plan_.noise == "laplace"
    for each in (table, fitted(target="works", epsilon=0.3), pure):
        again = SyntheticTable.from_json(each.to_json())
        assert again.sample(300, 0).equals(each.sample(300, 0))
        assert again.guarantee_ == each.guarantee_
        assert again.network_ == each.network_
        assert again.to_json() == each.to_json()
    assert pickle.loads(pickle.dumps(table)).sample(10, 0).equals(table.sample(10, 0))
    size = len(pickle.dumps(table))
    table.sample(20_000, 5)
    assert len(pickle.dumps(table)) == size  # without rows, which can be drawn again
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


def test_few_records_warn_of_their_noise():
    with pytest.warns(UserWarning, match="n_samples is 30: the noise of a count") as caught:
        fitted(FRAME.iloc[:30])
    told = [
        each for each in caught if "n_samples is 30" in str(each.message)
    ]  # a seed is told once a process
    assert told[0].filename == __file__


def test_a_network_without_measured_tables_has_no_error_bound_and_degrees_end_at_the_columns():
    wide = Schema({f"c{place}": IntegerRange(0, 1) for place in range(6)})
    assert [SyntheticTable(domain=wide, degree=each).plan(9).layout.degree for each in (6, 10**9)] == [6, 6]
    domain = Schema({"a": IntegerRange(0, 1), "b": IntegerRange(0, 1)})
    for delta in (0, 1e-6):
        plan = SyntheticTable(domain=domain, target="a", delta=delta).plan(1000)
        assert (plan.rounds, plan.network_tv(10)) == (0, 1.0)


def test_types_of_polars_depend_on_the_domain_alone():
    domain = Schema({"mixed": Categories([1, "a"]), "flag": Categories([True, False, None])})
    frame = pl.DataFrame([pl.Series("mixed", [1, "a"] * 20, dtype=pl.Object), pl.Series("flag", [None] * 40)])
    table = SyntheticTable(domain=domain, epsilon=100).fit(frame)
    for m in (1, 50):
        assert table.sample(m).dtypes == [pl.Object, pl.Boolean]
    null = pd.ArrowDtype(pytest.importorskip("pyarrow").null())
    gaps = pd.DataFrame({"mixed": [1, "a"] * 20, "flag": pd.array([None] * 40, dtype=null)})
    table = SyntheticTable(domain=domain, epsilon=100).fit(gaps)
    assert {str(table.sample(m)["flag"].dtype) for m in (1, 50)} == {"object"}


pytestmark = pytest.mark.filterwarnings(
    "ignore:synthetic records have one value or none in each of the columns"
)

N_RAW = 8000
DRAWS = np.random.default_rng(0)
AGES = DRAWS.integers(18, 91, N_RAW)
RAW = pd.DataFrame(
    {
        "age": AGES.astype("int16"),
        "wage": np.where(
            DRAWS.random(N_RAW) < 0.2, np.nan, np.where(AGES > 65, 0.0, DRAWS.random(N_RAW) * 5e4)
        ),
        "town": DRAWS.choice(["north", "south", "moon", None], N_RAW, p=[0.6, 0.3, 0.0005, 0.0995]),
        "retired": AGES > 65,
        "constant": 2.5,
        "name": [f"person {place}" for place in range(N_RAW)],
    }
)
KINDS = {"age": "integers", "town": "categories"}


def learned_from(frame=RAW, **given):
    return SyntheticTable(**{"epsilon": 3, "random_state": 0} | given).fit(frame)


@pytest.fixture(scope="module")
def learned():
    return learned_from()


def test_a_release_that_plans_other_noise_with_the_released_schema_publishes_nothing(monkeypatch):
    released, release, plan = [], schema_fits.SchemaRelease.run, synthetic_table.TableRelease.plan
    monkeypatch.setattr(
        schema_fits.SchemaRelease, "run", lambda self, *given: released.append(1) or release(self, *given)
    )

    def planned(self, facts):
        made = plan(self, facts)
        return replace(made, noise="laplace") if released else made

    monkeypatch.setattr(synthetic_table.TableRelease, "plan", planned)
    learned = SyntheticTable(random_state=None, ledger=PrivacyLedger(1, 1e-5))
    with pytest.raises(RuntimeError, match="other noise than its plan with the narrowest schema"):
        learned.fit(RAW)
    assert not hasattr(learned, "guarantee_")
    assert len(learned.ledger.history()) == 1


@pytest.fixture(scope="module")
def sampled(learned):
    return learned.sample(N_RAW, random_state=0)


def test_a_raw_frame_needs_no_declarations(learned, sampled):
    domains = learned.domain_.columns
    assert isinstance(domains["age"], IntegerRange)
    assert not domains["age"].missing  # an int16 has no gap
    assert isinstance(domains["wage"], Grid)
    assert domains["wage"].low == 0
    assert domains["retired"] == Categories([False, True])
    assert domains["town"].values[-1] is None
    for target in ("town", "wage", "constant", "name"):
        found = learned_from(RAW[:2000], target=target)
        assert all(parents[0] == target for name, parents in found.network_.items() if name != target)
    assert sampled.dtypes.equals(RAW.dtypes)
    assert sampled.columns.equals(RAW.columns)
    assert sampled["age"].between(15, 93).all()
    assert abs(sampled["age"].mean() - RAW["age"].mean()) < 2
    assert set(sampled["town"].dropna()) == {"north", "south"}
    assert 0.05 < sampled["town"].isna().mean() < 0.15
    assert 0.1 < sampled["wage"].isna().mean() < 0.3
    assert (sampled["wage"].dropna() >= 0).all()
    assert (sampled.loc[sampled["retired"], "wage"] == 0).mean() > 0.5
    assert sampled["wage"].dropna().nunique() > 0.5 * (sampled["wage"] > 0).sum()  # no grid is seen
    assert (sampled["constant"].dropna() == 2.5).mean() > 0.99
    assert set(sampled["name"]) == {"other"}  # no name is frequent


def test_polars_arrays_and_numbered_columns_of_learned_tables_are_given_back_as_such(learned):
    frame = pl.from_pandas(RAW).with_columns(pl.col("town").cast(pl.Categorical))
    found = learned_from(frame).sample(50, 0)
    assert found.schema == frame.schema
    array = RAW[["age", "retired"]].to_numpy(dtype=np.int32)
    found = learned_from(array).sample(50, 0)
    assert (found.shape, found.dtype) == ((50, 2), np.int32)
    numbered = learned_from(RAW.set_axis(range(6), axis=1), target="x3")
    assert numbered.sample(5, 0).columns.tolist() == list(range(6))
    assert numbered.network_["x0"][0] == "x3"
    twice = RAW[["age", "town", "town"]]
    assert learned_from(twice).sample(5, 0).columns.tolist() == ["age", "town", "town"]


KEPT_TYPES = [("Int64", [1, 2, None]), ("Float32", [0.5, 2.0, None]), ("boolean", [True, False, None])]
KEPT_TYPES += [("category", ["a", "b", None]), ("string", ["a", "b", None]), ("uint8", [0, 1, 255])]
KEPT_TYPES += [("float16", [1.0, 2.0, 60_000.0]), ("bool", [True, True, False]), ("uint64", [0, 1, 2**63])]
KEPT_TYPES += [("int8", [-128, 0, 127]), ("object", ["a", b"b", None])]


@pytest.mark.parametrize(("dtype", "values"), KEPT_TYPES)
def test_columns_keep_their_types(dtype, values):
    column = pd.Series(values * 500, dtype=dtype)
    frame = pd.DataFrame({"a": column, "b": pd.Series([0.0, 1.0, 2.0] * 500)})
    found = learned_from(frame, epsilon=20)
    again = SyntheticTable.from_json(found.to_json()) if dtype != "object" else found
    for each in (found, again):
        sampled = each.sample(40, 0)["a"]
        assert str(sampled.dtype) == dtype
        if dtype not in ("float16", "Float32", "uint64"):
            known = {value for value in values if value is not None}
            assert sampled.notna().mean() > 0.2
            assert (sampled.isin(known) | sampled.isna()).mean() > 0.4


@pytest.mark.parametrize("kind", ["texts", "numbers", "polars", "parts"])
def test_categories_that_a_type_declares_are_public_and_keep_their_order(kind):
    """Ordered categories were learned, and came back in the order of their counts."""
    listed = [30, 10, 20] if kind == "numbers" else ["none", "mild", "severe"]
    values = [*DRAWS.choice(listed[:2], 900), *[None] * 100]
    dtype = pd.CategoricalDtype(listed, ordered=True)
    frame = pd.DataFrame({"pain": pd.Series(values, dtype=dtype), "age": AGES[:1000].astype("uint8")})
    if kind == "polars":
        frame = pl.DataFrame(
            {"pain": pl.Series(values, dtype=pl.Enum(listed)), "age": frame["age"].to_numpy()}
        )
    only, parts = frame[["pain"]], [frame[:300], frame[300:]] if kind == "parts" else frame
    found = learned_from(parts, target="pain", epsilon=5)
    assert any("the categories of categorical columns" in text for text in found.guarantee_.assumes)
    assert found.domain_.columns["pain"] == Categories([*listed, None], other=True)
    for each in (found, SyntheticTable.from_json(found.to_json())):
        rows = each.sample(500, 0)
        assert [rows[name].dtype for name in ("pain", "age")] == [
            frame[name].dtype for name in ("pain", "age")
        ]
        given = [value for value in rows["pain"].to_list() if value in listed]
        assert 400 < len(given) < 500
        assert abs(given.count(listed[0]) / len(given) - 0.5) < 0.1
    both = pd.concat([only, only], axis=1) if kind != "polars" else only.with_columns(again="pain")
    free = learned_from(both)  # the tables have all of the budget
    assert free.plan_.budget == SyntheticTable(3, domain=free.domain_).plan(1000).budget


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
    learned = learned_schema_plan(N_RAW, KINDS)  # coarser than for tables
    assert learned.narrowest.domains[0].points == 1025
    assert isinstance(learned.unranged.domains[0], Floats)
    assert SyntheticTable(domain=Learn(KINDS)).plan(N_RAW).schema.narrowest.domains[0].points == 2**20 + 1
    assert SyntheticTable().plan(1000, n_features=4).schema.columns.kinds == ("numbers",) * 4


def test_the_schema_is_released_once_before_the_tables_with_the_rest_of_the_budget(monkeypatch):
    seen = []
    schema, tables = schema_fits.SchemaRelease.run, synthetic_table.TableRelease.run
    monkeypatch.setattr(
        schema_fits.SchemaRelease,
        "run",
        lambda self, *given: seen.append(("schema", self.cost.epsilon)) or schema(self, *given),
    )
    monkeypatch.setattr(
        synthetic_table.TableRelease,
        "run",
        lambda self, *given: seen.append(("tables", self.cost.epsilon)) or tables(self, *given),
    )
    ledger = PrivacyLedger(1, 1e-5)
    SyntheticTable(delta=0, ledger=ledger).fit(RAW[["age", "retired"]])
    assert seen == [("schema", Fraction(1, 10)), ("tables", Fraction(9, 10))]
    assert (ledger.spent().epsilon, len(ledger.history())) == (1, 1)


@pytest.mark.parametrize("dtype", [object, "category", "string"])
@pytest.mark.filterwarnings("ignore:X has columns of type object")
def test_a_table_without_gaps_has_none_in_its_sample(dtype):
    """Texts that are not listed came back as gaps, and gaps of which there were none as their noise."""
    texts = np.array(["no", "yes", "rare"])[(DRAWS.random(N_RAW) < 0.9).astype(int) * (1 + (AGES == 18))]
    frame = pd.DataFrame({"a": pd.Series(texts, dtype=dtype), "b": RAW["wage"].fillna(0.0)})
    for seed in range(5):
        rows = learned_from(frame, epsilon=1, random_state=seed).sample(4000, 0)
        assert rows.notna().all(axis=None)
        assert rows["a"].isin(["no", "yes", "other"]).all()
        assert abs((rows["a"] == "yes").mean() - (texts == "yes").mean()) < 0.1


def test_a_schema_that_releases_nothing_costs_nothing():
    with (
        pytest.warns(UserWarning, match="numbers have no learned range"),
        pytest.warns(UserWarning, match="categories are not listed, and are 'other';"),
        pytest.warns(UserWarning, match="the noise of a count"),
    ):
        found = learned_from(RAW[:50], epsilon=1)
    assert set(found.sample(20, 0)["town"].dropna()) == {"other"}
    assert found.sample(20, 0).dtypes.equals(RAW.dtypes)
    plan = SyntheticTable(domain=Learn(KINDS)).plan(50)
    assert plan.schema.is_free
    assert plan.rest.epsilon == 1
    with pytest.warns(UserWarning, match="n_samples is"):
        assert learned_from(RAW[:1]).sample(3, 0).dtypes.equals(RAW.dtypes)  # of one record
    with pytest.warns(UserWarning, match="delta is 0: categories are not listed, and are 'other' in synth"):
        found = learned_from(RAW[["age", "town"]], delta=0)
    assert set(found.sample(20, 0)["town"].dropna()) == {"other"}


@pytest.mark.filterwarnings("ignore:n_samples is")
def test_no_error_depends_on_values():
    """A learned of gaps, of infinities, or of cells of another kind is released like any other."""
    for column in (np.full(N_RAW, np.nan), np.full(N_RAW, np.inf), np.full(N_RAW, -1e300), np.zeros(N_RAW)):
        found = learned_from(pd.DataFrame({"a": column, "b": RAW["retired"]}), target="b")
        assert found.sample(10, 0)["a"].dtype == np.float64
    odd = pd.DataFrame({"a": pd.Series([[1], {}, 2.5, b"x", None] * 100, dtype=object), "b": range(500)})
    learned_from(odd).sample(10, 0)


def test_cells_that_are_few_are_checked_with_all_domains_before_the_charge():
    """A column of mostly missing numbers has no range, and cells of all numbers, which fail no release."""
    frame = pd.DataFrame({"a": np.full(N_RAW, np.nan), "b": RAW["retired"]})
    ledger = PrivacyLedger(5, 1e-5)
    for given in (frame, frame.assign(a=1.5)):
        with pytest.raises(ValueError, match="max_cells=30"):
            SyntheticTable(target="b", max_cells=30, ledger=ledger).fit(given)
    assert ledger.history() == []
    table = SyntheticTable(target="b", max_cells=40).fit(frame)
    assert SyntheticTable.from_json(table.to_json()).network_ == table.network_


def test_fractions_in_a_column_of_declared_integers_do_not_fail_after_the_charge():
    frame = pd.DataFrame({"share": DRAWS.uniform(0.2, 0.8, 3000), "x": DRAWS.normal(size=3000)})
    found = learned_from(frame, domain=Learn({"share": "integers", "x": "numbers"}))
    assert found.sample(10, 0)["share"].notna().any()


SEVERAL = {
    "flag": np.arange(N_RAW) % 2,
    "cost": np.arange(N_RAW) / 100,
    "wavelength": 4e-7 + np.arange(N_RAW) * 1e-11,
    "town": np.array(["north", "south"])[np.arange(N_RAW) % 2],
    "ill": np.arange(N_RAW) % 2 == 0,
    "gaps": np.where(np.arange(N_RAW) % 3, np.arange(N_RAW) % 7, np.nan),
}
ONE = {
    "rare integer": (np.arange(N_RAW) % 2000 == 0).astype(int),
    "rare number": np.where(np.arange(N_RAW) % 2000, 0.0, 5.5),
    "rare zeros": np.where(np.arange(N_RAW) % 2000, 5.5, 0.0),
    "rare text": np.where(np.arange(N_RAW) % 2000, "north", "south"),
    "rare gaps": np.where(np.arange(N_RAW) % 3, "north", None).tolist(),
}


@pytest.mark.first_by_day
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_a_learned_column_that_has_one_value_is_warned_of_by_name(kind):
    """A flag of few records vanished without a word."""
    columns = SEVERAL | ONE
    frame = pd.DataFrame(columns) if kind == "pandas" else pl.DataFrame(columns)
    with pytest.warns(UserWarning, match="synthetic records have one value") as caught:
        sampled = learned_from(frame, random_state=7).sample(2000, random_state=0)
    texts = [str(each.message) for each in caught if str(each.message).startswith("synthetic records")]
    assert [re.findall("'(rare [a-z ]*)'", text) for text in texts] == [list(ONE)]
    for name in columns:
        values = [round(each, 9) if type(each) is float else each for each in sampled[name].to_list()]
        assert (len({*values} - {None} - {each for each in values if each != each}) == 1) == (name in ONE)


def test_a_column_of_which_noise_leaves_no_number_is_drawn_as_gaps():
    """It raised an error after the charge, for some draws of the noise."""
    for seed in range(95, 105):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of few records, and of a seed
            table = SyntheticTable(epsilon=0.5, delta=0, random_state=seed).fit(np.ones((30, 2)))
            assert table.sample(3, random_state=0).shape == (3, 2)
            table.fidelity()


def test_the_report_says_what_a_table_of_few_records_has_not_learned():
    frame = pd.DataFrame({"age": np.arange(300) % 70 + 18.0, "town": ["north", "south", "east"] * 100})
    with pytest.warns(UserWarning, match="categories are not listed"):
        lost = SyntheticTable(random_state=0).fit(frame).fidelity().lost
    assert lost["age"][-1].startswith("what is beyond ")
    assert lost["town"] == ("all categories: none is listed",)
