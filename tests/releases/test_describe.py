"""Statistics of all columns: shapes as of pandas, coverage, groups, refusals, and what is too noisy."""

import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from dplearn.display import StatisticsDisplay
from dplearn.domains import Categories, Grid, IntegerRange, Learn, Schema
from dplearn.releases import describe, describe_plan

RNG = np.random.default_rng(0)
N = 3000
FRAME = pd.DataFrame(
    {
        "arm": RNG.choice(["drug", "placebo"], N),
        "score": RNG.integers(1, 7, N),
        "weight": RNG.gamma(9, 8, N).clip(0, 200),
        "town": RNG.choice(["north", "south", "west"], N, p=[0.7, 0.2, 0.1]),
    }
)
SCHEMA = Schema(
    {
        "arm": Categories(["drug", "placebo"]),
        "score": IntegerRange(1, 6),
        "weight": Grid(0, 200, 401),
        "town": Categories(["north", "south", "west", "east"]),
    }
)


def near(found, exact, limit):
    assert abs(found - exact) <= limit


def test_estimates_have_the_shape_of_pandas_and_are_near():
    found = describe(FRAME, domain=SCHEMA, epsilon=20)
    wanted = FRAME[["score", "weight"]].describe().drop(index=["min", "max"])
    assert found.estimates().index.tolist() == wanted.index.tolist()
    assert found.estimates().columns.tolist() == wanted.columns.tolist()
    np.testing.assert_allclose(found.estimates(), wanted, atol=0.6)
    by = describe(FRAME, "arm", domain=SCHEMA, epsilon=20).estimates()
    wanted = FRAME.groupby("arm")[["score", "weight"]].describe().drop(columns=["min", "max"], level=1)
    assert (by.index.tolist(), by.columns.tolist()) == (wanted.index.tolist(), wanted.columns.tolist())
    np.testing.assert_allclose(by.xs("mean", axis=1, level=1), wanted.xs("mean", axis=1, level=1), atol=0.6)
    shares = (
        found.to_frame().query("column == 'town' and statistic == 'share'").set_index("value")["estimate"]
    )
    near(shares["north"], (FRAME["town"] == "north").mean(), 0.01)
    assert shares["east"] < 0.01


@pytest.mark.parametrize(("delta", "by"), [(0, None), (1e-6, "arm")])
@pytest.mark.parametrize("statistics", [("count", "mean", "std", "10%", "50%"), ("mean", "std")])
def test_intervals_hold_as_often_as_they_say_and_no_statistic_is_left_out(delta, by, statistics):
    weights = FRAME["weight"] if by is None else FRAME.loc[FRAME["arm"] == "drug", "weight"]
    exact, runs = weights.describe(percentiles=[0.1, 0.5]), 30
    schema = Schema({name: SCHEMA.columns[name] for name in ("arm", "weight")})
    wrong = dict.fromkeys(statistics, 0)
    for _ in range(runs):
        found = describe(FRAME, by, domain=schema, statistics=statistics, epsilon=1, delta=delta)
        lines = [each for each in found.statistics(of="table", beta=0.2) if each.group in ((), ("drug",))]
        own = {each.statistic: each for each in lines if each.column == "weight"}
        assert [*own] == [*statistics]
        for name, line in own.items():
            wrong[name] += not line.low - 0.26 <= exact[name] <= line.high + 0.26  # the grid has steps of .5
    assert max(wrong.values()) <= binom.isf(1e-6, runs, 0.2)


def test_intervals_of_the_population_are_wider_and_counts_are_of_the_table():
    found = describe(FRAME, domain=SCHEMA)
    table, population = (found.statistics(of=of) for of in ("table", "population"))
    for mine, theirs in zip(table, population, strict=True):
        wider = (theirs.high - theirs.low) - (mine.high - mine.low)
        assert wider == 0 if mine.statistic == "count" else wider >= 0


def test_sizes_of_groups_are_those_of_all_columns_and_gaps_are_not_counted():
    frame = FRAME.assign(weight=FRAME["weight"].where(RNG.random(N) < 0.5))
    schema = Schema({**SCHEMA.columns, "weight": Grid(0, 200, 401, missing=True)})
    found = describe(frame, "arm", domain=schema, epsilon=5)
    counts = found.estimates().xs("count", axis=1, level=1)
    near(counts.loc["drug", "score"], (frame["arm"] == "drug").sum(), 20)
    near(counts.loc["drug", "weight"], frame.loc[frame["arm"] == "drug", "weight"].count(), 40)
    assert found.groups == (("drug",), ("placebo",))


def test_a_subset_of_a_private_size_is_told_of_by():
    plans = [describe_plan(30, by, domain=SCHEMA) for by in (None, "arm")]
    assert ["by= this column" in each.warnings[0] for each in plans] == [True, False]


def test_few_records_are_too_noisy_and_say_so():
    with pytest.warns(UserWarning, match=r"n_samples is 3: .*; \d+ records are enough"):
        found = describe(FRAME.head(3), domain=SCHEMA, epsilon=0.1)
    mean = next(each for each in found.statistics() if each.statistic == "mean")
    assert math.isnan(mean.estimate)
    assert (mean.low, mean.high, mean.note) == (1, 6, "too noisy")
    [row] = [
        each for each in json.loads(found.to_json())["statistics"] if each["note"] and each["value"] is None
    ][:1]
    assert row["estimate"] is None
    assert "too noisy" in str(found)


def test_a_deviation_that_may_be_0_is_at_most_a_number_and_not_too_noisy():
    frame, notes = pd.DataFrame({"x": [7.0] * 3000}), set()
    for seed in range(8):
        released = describe(frame, domain=Schema({"x": Grid(0, 10)}), statistics=["std"], random_state=seed)
        [std] = released.statistics()
        assert std.low == 0 < std.high < 1
        assert math.isnan(std.estimate) == std.note.startswith("at most 0.")
        notes.add(std.note[:7])
    assert notes == {"", "at most"}


def test_means_are_without_values_beyond_a_learned_range_as_their_note_says():
    missed = 0
    for seed in range(12):
        frame = pd.DataFrame(
            {
                "arm": pd.Categorical(["a", "b"] * 4000, ["a", "b"], ordered=True),
                "x": RNG.lognormal(7, 1, 8000),
            }
        )
        mean, _ = describe(frame, "arm", statistics=["mean"], random_state=seed).statistics(of="table")
        low, high = map(float, re.findall(r"[\d.]+", mean.note))
        own = frame["x"][::2]
        missed += not mean.low <= own[own.between(low, high)].mean() <= mean.high
    assert missed <= 2  # more often in 2 % of such tests; with the values beside the range in 19 of 60 runs


def test_a_quantile_that_may_lie_beyond_a_learned_range_has_an_open_interval():
    frame = pd.DataFrame({"x": RNG.normal(70, 10, 300)})
    with pytest.warns(UserWarning, match="n_samples is 300"):
        found = describe(frame, statistics=["1%", "99%"], random_state=0)
    low, high = found.statistics()
    assert (low.low, high.high) == (-math.inf, math.inf)
    assert "-inf to" in str(found)
    written = json.loads(found.to_json())["statistics"]
    assert {None} == {written[0]["low"], written[1]["high"]}
    assert all(map(math.isfinite, StatisticsDisplay.of(found, "x", "1%").plot().ax_.get_xlim()))


def test_a_papers_table_has_a_column_of_each_group():
    frame = pd.DataFrame({"arm": ["drug", "placebo"] * 400, "score": [1, 2, 3, 3] * 200})
    schema = Schema({"arm": Categories(["drug", "placebo"]), "score": IntegerRange(1, 6)})
    found = describe(frame, "arm", domain=schema, statistics=["mean", "50%"], random_state=0)
    wide, long = found.to_frame(wide=True), found.to_frame().set_index(["arm", "statistic"])
    assert wide.columns.tolist() == ["column", "statistic", "drug", "placebo", "note"]
    for place, statistic in enumerate(["mean", "50%"]):
        for arm in ("drug", "placebo"):
            estimate, low, high = long.loc[(arm, statistic), ["estimate", "low", "high"]]
            shown = [float(each) for each in re.findall(r"[\d.]+", wide[arm][place])]
            near(shown[0], estimate, 0.005)
            assert low - 0.01 < shown[1] <= low
            assert high <= shown[2] < high + 0.01
            assert len(wide[arm][place]) <= len("1.95 (1.78 to 2.12)")
            assert wide[arm][place] in str(found)


def test_each_group_has_one_number_of_records_and_counts_of_gaps_say_so():
    frame = FRAME.assign(weight=FRAME["weight"].where(RNG.random(N) < 0.5))
    schema = Schema({**SCHEMA.columns, "weight": Grid(0, 200, 401, missing=True)})
    found = describe(frame, "arm", domain=schema, epsilon=5).to_frame().query("arm == 'drug'")
    counts = found[found["statistic"].isin(["n", "count"]) & found["value"].isna()].set_index("column")
    near(counts.loc["", "estimate"], (frame["arm"] == "drug").sum(), 10)
    assert counts.loc["score", "estimate"] == counts.loc["town", "estimate"] == counts.loc["", "estimate"]
    assert counts["note"].to_dict() == {"": "", "score": "", "weight": "not missing", "town": ""}


def test_dates_are_shown_in_days_and_not_in_seconds():
    days = pd.Timestamp("2000-01-01") + pd.to_timedelta(RNG.integers(0, 365, N), unit="D")
    lines = str(describe(pd.DataFrame({"day": days}), epsilon=5)).splitlines()
    [std], [mean] = ([each for each in lines if f" {name} " in each] for name in ("std", "mean"))
    assert re.search(r"std +10\d(\.\d)? +[\d.]+ to 1[\d.]+ days +without values beyond (1999|2000)-", std)
    assert re.search(r"mean +2000-0\d-\d\d", mean)


def test_rows_of_groups_take_part_as_often_as_is_said():
    ids = np.arange(N) // 3
    found = describe(FRAME, domain=SCHEMA, groups=ids, max_rows_per_group=2, epsilon=50)
    near(found.estimates().loc["count", "score"], 2 * N / 3, 30)
    assert found.plan.n_samples == N // 3
    with pytest.raises(ValueError, match="max_rows_per_group must be 1 where domain='learn'"):
        describe(FRAME, groups=ids, max_rows_per_group=2)
    assert "one group replaced, with up to 2 rows of each;" in str(found)
    with pytest.warns(UserWarning, match="one row of each group takes part.*by 'arm'"):
        assert "with one row of each" in str(describe(FRAME, "arm", groups=ids))


def test_two_columns_form_groups_and_bins_of_many_values():
    frame = pd.DataFrame({"day": np.arange(N) % 365, "arm": FRAME["arm"], "score": FRAME["score"]})
    schema = Schema({"day": IntegerRange(0, 364), "arm": SCHEMA.columns["arm"], "score": IntegerRange(1, 6)})
    found = describe(frame, ["arm", "day"], domain=schema, statistics=("count",), epsilon=5)
    assert len(found.groups) == 200
    assert found.groups[0] == ("drug", "0 to 2")
    assert len(describe(frame, "day", domain=schema, statistics=("count",)).groups) == 365


def test_a_learned_table_needs_nothing_declared():
    frame = FRAME.assign(empty=np.nan, one=7, note="x")
    found = describe(frame, "arm", epsilon=5)
    near(
        found.estimates().loc["drug", ("score", "mean")],
        FRAME.loc[FRAME["arm"] == "drug", "score"].mean(),
        0.3,
    )
    notes = {each.note for each in found.statistics() if each.statistic == "mean"}
    assert any(note.startswith("without values beyond ") for note in notes)


def test_what_a_learned_range_leaves_out_is_said_beside_each_mean_and_warned_of_where_it_is_one_value():
    gain = np.where(np.arange(N) % 25, 0, RNG.lognormal(9, 1, N).round()).astype(int)
    with pytest.warns(UserWarning, match=r"range of each of the columns \['gain'\] is one value"):
        describe(pd.DataFrame({"score": FRAME["score"], "gain": np.where(gain > 60_000, gain, 0)}), epsilon=5)
    found = describe(FRAME.assign(gain=gain), "arm", epsilon=3)
    notes = {each.statistic: each.note for each in found.statistics() if each.column == "gain"}
    assert notes["std"] == notes["mean"] == found.estimates().attrs["notes"]["gain"]
    assert notes["mean"].startswith("without values beyond 0 to ")
    assert "the population within learned ranges" in str(found)
    assert notes["mean"] in StatisticsDisplay.of(found, "gain").label


def test_a_column_of_ids_is_warned_of():
    with pytest.warns(UserWarning, match="not tell apart the values of 1 of 5 columns, 'id': no category"):
        describe(FRAME.assign(id=np.arange(N).astype(str)), epsilon=5)


def test_rare_codes_and_tails_of_a_learned_table_are_kept_and_coarse_ranges_say_so():
    frame = pd.DataFrame({"code": (RNG.random(8000) < 0.1).astype(int), "cost": RNG.lognormal(7, 1, 8000)})
    found = {n: describe(frame.head(n), statistics=("mean",)).statistics() for n in (2000, 8000)}
    code, cost = found[8000]
    near(code.estimate, frame["code"].mean(), 0.03)
    near(cost.estimate / frame["cost"].mean(), 1, 0.2)
    coarse = found[2000][1]
    assert coarse.low <= frame["cost"].head(2000).mean() <= coarse.high
    assert coarse.high - coarse.low > cost.high - cost.low


@pytest.mark.parametrize("zeros", [1899, 1901])
def test_a_quantile_at_a_tie_is_in_its_interval(zeros):
    frame, exact = pd.DataFrame({"x": [0] * zeros + [255] * (2000 - zeros)}), 0 if zeros >= 1900 else 255
    schema = Schema({"x": IntegerRange(0, 255)})
    found = [describe(frame, domain=schema, statistics=("95%",)).statistics(of="table") for _ in range(40)]
    missed = [not line.low <= exact <= line.high for [line] in found]
    assert sum(missed) <= binom.isf(1e-5, 40, 0.05)


def test_persons_with_equal_rows_are_one_draw_each():
    missed = 0
    for _ in range(30):
        values = np.repeat(RNG.integers(0, 10, 300), 5)
        ids = np.repeat(np.arange(300), 5)
        schema = Schema({"x": IntegerRange(0, 9)})
        found = describe(
            pd.DataFrame({"x": values}), domain=schema, groups=ids, max_rows_per_group=5, epsilon=50
        )
        line = next(each for each in found.statistics(beta=0.2) if each.statistic == "mean")
        missed += not line.low <= 4.5 <= line.high
    assert missed <= binom.isf(1e-4, 30, 0.2)


MANY = Schema({f"x{place}": Grid(0, 1, 1001) for place in range(60)})


@pytest.mark.parametrize(("domain", "delta"), [(MANY, 0), (Learn(["numbers"] * 24), 1e-6)])
def test_more_sums_than_fit_into_memory_are_refused_with_a_learned_domain_too(domain, delta):
    with pytest.raises(ValueError, match="fit into memory"):
        describe_plan(20_000, ["x0", "x1"], domain=domain, delta=delta)


def test_the_plan_states_the_noise_of_even_numbers():
    schema, runs = Schema({"x": IntegerRange(1, 20)}), 40
    plan = describe_plan(N, domain=schema, statistics=("mean",), beta=0.2)
    frame = pd.DataFrame({"x": np.arange(N) % 20 + 1})
    found = [describe(frame, domain=schema, statistics=("mean",)).estimates() for _ in range(runs)]
    off = np.abs([each.loc["mean", "x"] - 10.5 for each in found])
    stated = plan.mean_error["x"] * 19 / N
    assert (off > stated).sum() <= binom.isf(1e-6, runs, 0.2)
    assert off.max() > stated / 2
    with pytest.raises(ValueError, match="n_features must be 1"):
        describe_plan(N, domain=schema, n_features=2)
    errors = [describe_plan(50_000, n_features=2, beta=beta).rank_error["x0"] for beta in (0.2, 0.001)]
    assert errors[0] < errors[1]


def test_intervals_of_learned_columns_hold_for_the_records_in_cells_that_are_left_out():
    missed = 0
    for _ in range(20):
        x = np.where(RNG.random(1000) < 0.8, 0, RNG.lognormal(7, 1, 1000))
        found = describe(pd.DataFrame({"x": x, "y": RNG.random(1000)}), statistics=("90%",), epsilon=0.5)
        line = found.statistics(of="table", beta=0.1)[0]
        missed += not line.low <= np.quantile(x, 0.9, method="inverted_cdf") <= line.high
    assert missed <= 6


@pytest.mark.parametrize("epsilon", [1, 100])
def test_intervals_hold_their_estimates(epsilon):
    lines = describe(FRAME, "arm", domain=SCHEMA, epsilon=epsilon).statistics()
    assert all(math.isnan(each.estimate) or each.low <= each.estimate <= each.high for each in lines)
