"""A column of numbers is read one by one, whatever holds it; refusals show no cell; the mean is bounded."""

import datetime
from collections import UserList, deque
from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dplearn.audit import distribution_on, least_exp_epsilon
from dplearn.audit.cases import CASES
from dplearn.domains import LargeIntegerRange
from dplearn.fit import Facts
from dplearn.releases import mean, median
from dplearn.table import InMemory, Table
from tests.domains.test_cells import Rows

holders = pytest.mark.parametrize("holder", [list, deque, UserList, Rows], ids=lambda kind: kind.__name__)


@holders
def test_a_negative_number_beside_one_beyond_64_bits_is_read_exactly(holder):
    domain = LargeIntegerRange(-(2**70), 2**70)
    values = holder([*[2**63 + 1] * 9, -1])
    assert median(values, domain=domain, epsilon=1e6).value == 2**63 + 1


DAY = datetime.date(2020, 1, 1)


def test_columns_of_times_and_text_are_refused_by_their_type():
    days = [np.array(["2020-01-01"], "M8[ns]"), pl.Series([DAY])]
    days += [pd.Series(pd.to_datetime(["2020-01-01"], utc=utc)) for utc in (False, True)]
    seconds = [pd.Series(pd.to_timedelta([1], unit="D")), pl.Series([datetime.timedelta(1)])]
    texts = [np.array(["secret"]), pd.Series(["secret"], dtype="string"), pl.Series(["secret"])]
    for columns, words in ((days, "give days"), (seconds, "give seconds"), (texts, "text: give numbers")):
        for values in columns:
            with pytest.raises(TypeError, match=words) as refusal:
                mean(values, (0, 1))
            assert not any(shown in str(refusal.value) for shown in ("secret", "2020"))


def test_the_mean_is_within_the_bounds():
    few = [mean([0.0, 100.0], (0, 100), epsilon=0.01, random_state=seed).value for seed in range(20)]
    assert (min(few), max(few)) == (0, 100)


def test_noise_for_half_of_the_range_is_refuted(monkeypatch):
    case, pair = CASES["mean"], ((-1.0,) * 3, (-1.0, -1.0, 3.0))
    kept = least_exp_epsilon(*(distribution_on(case.fit, rows) for rows in pair))[0]
    assert kept <= np.e
    release = case.fit.make()
    monkeypatch.setattr(type(release), "noise", _halved(type(release).noise))
    off = least_exp_epsilon(*(distribution_on(case.fit, rows) for rows in pair))[0]
    assert off > np.e**1.9


def _halved(noise_of):
    return lambda *given: replace(noise_of(*given), epsilon=2 * noise_of(*given).epsilon)


def test_the_last_bits_of_a_float_do_not_exceed_the_upper_bound():
    rng = np.random.default_rng(0)
    for _ in range(50):
        low, high = sorted(rng.normal(size=2))
        found = mean([high] * int(rng.integers(1, 50)), (low, high), epsilon=1e4, random_state=0)
        assert low <= found.value <= high


@pytest.mark.parametrize("share", [0.0, 0.95, 1.0])
def test_the_widest_bounds_do_not_overflow(share, monkeypatch):
    ours = CASES["mean"].fit.make()
    release, module = type(ours)((-1e300, 1e300), 1), import_module("dplearn.queries.noise")
    monkeypatch.setattr(module, "laplace_counts", lambda _, **how: np.array([int(share * how["high"])]))
    found = release.run(Table(InMemory(np.zeros(1, dtype=np.int64))), release.plan(Facts(10**8)), None)
    assert found.value == pytest.approx((2 * share - 1) * 1e300)
