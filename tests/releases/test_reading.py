"""A column of numbers is read one by one, whatever holds it; refusals show no cell."""

import datetime
from collections import UserList, deque

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dplearn.domains import LargeIntegerRange
from dplearn.releases.release import read_codes, read_column
from tests.domains.test_cells import Rows

holders = pytest.mark.parametrize("holder", [list, deque, UserList, Rows], ids=lambda kind: kind.__name__)


@holders
def test_a_negative_number_beside_one_beyond_64_bits_is_read_exactly(holder):
    domain = LargeIntegerRange(-(2**70), 2**70)
    assert (read_codes(holder([2**63 + 1, -1]), domain) - 2**70).tolist() == [2**63 + 1, -1]


@holders
def test_rows_are_no_numbers(holder):
    with pytest.raises(ValueError, match=r"values must have shape \(n,\), got rows"):
        read_column(holder([holder([1]), holder([2])]))


DAY = datetime.date(2020, 1, 1)


def test_columns_of_times_and_text_are_refused_by_their_type():
    days = [np.array(["2020-01-01"], "M8[ns]"), pl.Series([DAY])]
    days += [pd.Series(pd.to_datetime(["2020-01-01"], utc=utc)) for utc in (False, True)]
    seconds = [pd.Series(pd.to_timedelta([1], unit="D")), pl.Series([datetime.timedelta(1)])]
    texts = [np.array(["secret"]), pd.Series(["secret"], dtype="string"), pl.Series(["secret"])]
    for columns, words in ((days, "give days"), (seconds, "give seconds"), (texts, "text: give numbers")):
        for values in columns:
            with pytest.raises(TypeError, match=words) as refusal:
                read_column(values)
            assert not any(shown in str(refusal.value) for shown in ("secret", "2020"))


def test_tables_are_refused_with_the_name_of_a_column():
    with pytest.raises(
        ValueError, match=r"data frame of shape \(2, 1\): give one column, such as df\['age'\]"
    ):
        read_column(pd.DataFrame({"age": [1, 2]}))
