"""Dates and times: every kind of cell has the code of its instant; ends, gaps, zones and advice."""

import datetime
import json
import pickle

import numpy as np
import pandas as pd
import pytest

from dplearn import AdditiveClassifier, ExponentialMechanismClassifier
from dplearn.domains import Dates, DomainError, IntegerRange, Learn, Schema
from dplearn.releases import describe

DAYS = Dates("2020-01-01", "2024-12-31")
EASTERN = datetime.timezone(-datetime.timedelta(hours=5))
#: Cells of 2 January 2020, in UTC where they have a zone.
SECOND = (
    "2020-01-02",
    " 2020-01-02T23:59:59 ",
    "2020-01-01T20:00:00-05:00",
    datetime.date(2020, 1, 2),
    datetime.datetime(2020, 1, 2, 12),
    datetime.datetime(2020, 1, 1, 20, tzinfo=EASTERN),
    pd.Timestamp("2020-01-02T01:00"),
    pd.Timestamp("2020-01-03T01:00", tz="Asia/Tokyo"),
    *(np.datetime64("2020-01-02", unit) for unit in ("D", "h", "s", "ms", "us", "ns")),
)


@pytest.mark.parametrize("cell", SECOND, ids=repr)
def test_each_kind_of_cell_has_the_code_of_its_day(cell):
    assert DAYS.encode(np.array([cell], dtype=object)).tolist() == [1]
    assert DAYS.nearest([cell]).tolist() == [1]


@pytest.mark.parametrize("unit", ["D", "h", "m", "s", "ms", "us", "ns", "W", ">M8"])
def test_arrays_of_any_unit_have_the_codes_of_their_cells(unit):
    texts = ["2020-01-02", "2024-12-26", "2021-07-01"]
    times = np.array(texts, dtype=">M8[s]" if unit == ">M8" else f"datetime64[{unit}]")
    cells = Dates("2019-01-01", "2024-12-31").encode(times).tolist()
    assert cells == [
        (each.astype("datetime64[D]") - np.datetime64("2019-01-01")).astype(int) for each in times
    ]


def test_steps_round_down_also_before_1970_and_across_units():
    quarters = Dates("1969-12-31T23:00", "1970-01-01T01:00", "15m")
    times = ["1969-12-31T23:00", "1969-12-31T23:59:59.999", "1970-01-01T00:14", "1970-01-01T00:15"]
    for cells in (times, np.array(times, dtype="datetime64[ms]"), np.array(times, dtype="datetime64[us]")):
        assert quarters.encode(cells).tolist() == [0, 3, 4, 5]
    assert quarters.times(quarters.decode([3, 4])).tolist() == [
        datetime.datetime(1969, 12, 31, 23, 45),
        datetime.datetime(1970, 1, 1),
    ]
    assert quarters.describe_test(3) == "< 1970-01-01T00:00"
    assert Dates(0, 6).size == 7
    assert Dates(0, 6).encode([0, 6.0, np.datetime64("1970-01-02")]).tolist() == [0, 6, 1]


def test_steps_of_several_units_begin_at_the_first_date():
    weeks = Dates("2020-01-01", "2020-01-31", step="7D")
    assert weeks.texts(weeks.decode([0, 1])) == ["2020-01-01", "2020-01-08"]
    days = ["2020-01-01", "2020-01-07", "2020-01-08", "2020-01-31"]
    for cells in (days, np.array(days, dtype="datetime64[D]"), pd.Series(pd.to_datetime(days))):
        assert weeks.encode(cells).tolist() == [0, 0, 1, 4]
    with pytest.raises(DomainError):
        weeks.encode(["2019-12-31"])
    assert eval(repr(weeks), {"Dates": Dates}) == weeks != Dates("2019-12-26", "2020-01-31", step="7D")
    assert weeks.encode(weeks.times(weeks.decode([2]))).tolist() == [2]


def test_far_times_are_clipped_without_overflow():
    wide = Dates("0001-01-01", "9999-12-31", "us", "clip")
    times = np.array(["-290000-01-01", "290000-01-01"], dtype="datetime64[s]")
    assert wide.encode(times).tolist() == [0, wide.size - 1]
    narrow = Dates("2020-01-01", "2020-01-02", "ns", "clip")
    assert narrow.encode(np.array(["0001", "9999"], dtype="datetime64[Y]")).tolist() == [0, narrow.size - 1]


def test_gaps_and_other_cells_have_the_code_of_missing_ones_or_are_refused_without_a_value():
    gaps = Dates("2020-01-01", "2024-12-31", missing=True)
    cells = [None, np.nan, pd.NaT, pd.NA, np.datetime64("NaT", "s"), datetime.date(2020, 1, 1)]
    assert gaps.encode(np.array(cells, dtype=object)).tolist() == [0] * 5 + [1]
    assert gaps.encode(np.array(["NaT", "2020-01-02"], dtype="datetime64[ns]")).tolist() == [0, 2]
    assert np.isnat(gaps.times(gaps.decode([0, 1]))).tolist() == [True, False]
    every = Dates("2020-01-01", "2024-12-31", outside="accept", missing=True)
    assert every.encode(np.array(["sunny", 1j, "1999-01-01"], dtype=object)).tolist() == [0, 0, 1]
    for cell in (None, "sunny", "1999-01-01", datetime.date(2025, 1, 1), np.datetime64("NaT", "s"), object()):
        with pytest.raises(DomainError, match="it is beyond the ends, no date or missing") as caught:
            DAYS.encode(np.array([cell], dtype=object))
        assert "1999" not in str(caught.value)
        assert "sunny" not in str(caught.value)


def test_a_schema_of_dates_is_written_and_read():
    schema = Schema(
        {"day": DAYS, "hour": {"type": "dates", "low": "2020-01-01", "high": "2020-02-01", "step": "h"}}
    )
    assert Schema.from_dict(json.loads(json.dumps(schema.to_dict()))) == schema
    assert schema.columns["hour"] == Dates("2020-01-01", "2020-02-01", "h")
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert eval(repr(DAYS), {"Dates": Dates}) == DAYS
    assert IntegerRange(DAYS.low, DAYS.high) != DAYS
    assert "values are dates from 2020-01-01 to 2024-12-31" in str(schema.assumes)


WHEN = pd.Series(pd.to_datetime("2020-01-01")).repeat(3000).reset_index(drop=True) + pd.to_timedelta(
    np.random.default_rng(0).integers(0, 1500, 3000), unit="D"
)
LATE = np.where(pd.Timestamp("2022-01-01") > WHEN, "early", "late")


@pytest.mark.parametrize(
    "domain", [DAYS, Learn({"day": "dates"}), "learn"], ids=["declared", "days", "learned"]
)
def test_learners_cut_dates_of_any_type_and_say_so_in_dates(domain):
    X = pd.DataFrame({"day": WHEN})
    domain = Schema({"day": domain}) if domain is DAYS else domain
    rule = ExponentialMechanismClassifier(domain=domain, epsilon=5, classes=["early", "late"]).fit(X, LATE)
    assert rule.score(X, LATE) > 0.97
    assert "day < 202" in str(rule.concept_)
    model = AdditiveClassifier(domain=domain, epsilon=5, classes=["early", "late"]).fit(X, LATE)
    zoned = X.assign(day=WHEN.dt.tz_localize("UTC"))
    assert (model.predict(zoned) == model.predict(X)).all()
    assert model.score(X, LATE) > 0.95


@pytest.mark.parametrize("by", [None, "late"])
def test_means_and_quantiles_of_dates_are_shown_as_dates(by):
    frame = pd.DataFrame({"day": WHEN, "late": LATE})
    statistics = ["count", "mean", "std", "50%"]
    found = describe(frame, by, domain=Learn({"day": "dates"}), statistics=statistics, epsilon=50)
    lines = [line for line in found.statistics() if line.column == "day" and line.group in ((), ("early",))]
    mine = WHEN if by is None else WHEN[LATE == "early"]
    count, mean, std, median = lines
    for line, true in ((mean, mine.mean()), (median, mine.median())):
        assert line.low <= (true - pd.Timestamp(0)) / pd.Timedelta("1D") <= line.high
        assert str(true.date())[:6] in str(found)
    assert count.estimate == pytest.approx(len(mine), rel=0.01)
    assert std.estimate == pytest.approx(mine.std() / pd.Timedelta("1D"), rel=0.05)


@pytest.mark.parametrize("unit", ["Y", "M", "W", "D", "h", "ns", "ps", "fs", "as"])
def test_a_cell_of_any_unit_has_the_same_code_beside_other_cells(unit):
    domain, cell = Dates("1969-12-31", "2020-01-01", "D", "accept", missing=True), np.datetime64(-1, unit)
    alone, beside = np.empty(1, object), np.array([cell, None], dtype=object)
    alone[:] = [cell]
    codes = [domain.encode(cells)[0] for cells in (alone, beside, np.array([cell]))]
    assert codes == domain.encode(["1969-12-31"] * 3).tolist()  # earlier ones are moved there
