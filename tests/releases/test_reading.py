"""A column of numbers is read one by one, whatever holds it; refusals show no cell."""

import datetime
from collections import UserList, deque

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dplearn import ExponentialMechanismClassifier
from dplearn.domains import Categories, DomainError, Floats, Grid, IntegerRange, LargeIntegerRange, Schema
from dplearn.releases import cdf, quantiles
from dplearn.releases.release import as_number_domain, read_codes, read_column


class Rows:
    """A sequence to numpy, but no `Sequence`."""

    def __init__(self, rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, place):
        return self.rows[place]


holders = pytest.mark.parametrize("holder", [list, deque, UserList, Rows], ids=lambda kind: kind.__name__)


@holders
def test_a_negative_number_beside_one_beyond_64_bits_is_read_exactly(holder):
    domain = LargeIntegerRange(-(2**70), 2**70)
    assert (read_codes(holder([2**63 + 1, -1]), domain) - 2**70).tolist() == [2**63 + 1, -1]


@holders
def test_rows_are_no_numbers(holder):
    with pytest.raises(ValueError, match=r"values must have shape \(n,\), got rows"):
        read_column(holder([holder([1]), holder([2])]))


@pytest.mark.parametrize("values", [{1: 2}, {1, 2}, "12", (i for i in range(2)), None], ids=type)
def test_what_is_no_sequence_of_values_is_refused(values):
    with pytest.raises(ValueError, match="values must have shape"):
        read_column(values)


DAY = datetime.date(2020, 1, 1)


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        ((0, 1e6), r"got (0, 1000000.0); for numbers from 0 to 1000000, take Grid(0, 1000000, 1001) or"),
        ([0, 1], "IntegerRange(0, 1) from dplearn.domains"),
        ({"age": IntegerRange(0, 9)}, "a dict of columns is for Schema(...)"),
        ("int64", "got 'int64'; for integers, IntegerRange(low, high)"),
        ("float32", "domain must be 'float64' or a domain of numbers, got 'float32'"),
        (Schema({"age": IntegerRange(0, 9)}), ": take that of the column, schema.columns['age']"),
        (Categories([f"town {i}" for i in range(999)]), "stable_counts counts values that are no numbers"),
    ],
    ids=["tuple", "list", "dict", "int64", "float32", "Schema", "Categories"],
)
def test_what_is_no_domain_of_numbers_is_refused_with_what_to_take(domain, words):
    with pytest.raises(TypeError, match="domain must be 'float64' or a domain of numbers") as refusal:
        as_number_domain(domain)
    assert words in str(refusal.value)
    assert len(str(refusal.value)) < 400


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.array(["2020-01-01"], "M8[ns]"), "give days"),
        (pd.Series(pd.to_datetime(["2020-01-01"])), "give days"),
        (pd.Series(pd.to_datetime(["2020-01-01"], utc=True)), "give days"),
        (pl.Series([DAY]), "give days"),
        (pd.Series(pd.to_timedelta([1], unit="D")), "give seconds"),
        (pl.Series([datetime.timedelta(1)]), "give seconds"),
        (np.array(["secret"]), "text: give numbers"),
        (pd.Series(["secret"], dtype="string"), "text: give numbers"),
        (pl.Series(["secret"]), "text: give numbers"),
    ],
    ids=lambda each: each if isinstance(each, str) else f"{type(each).__module__} {each.dtype}",
)
def test_columns_of_times_and_text_are_refused_by_their_type(values, words):
    with pytest.raises(TypeError, match=words) as refusal:
        read_column(values)
    assert not any(shown in str(refusal.value) for shown in ("secret", "2020"))


def test_dates_as_days_come_back_as_dates():
    d = pd.Series(pd.to_datetime(["2020-01-01", "2024-02-29"]))
    domain = IntegerRange(0, 40_000)
    codes = read_codes((d - pd.Timestamp("1970-01-01")).dt.days, domain)
    assert pd.to_datetime(domain.decode(codes), unit="D").tolist() == d.tolist()


def test_tables_are_refused_with_the_name_of_a_column():
    with pytest.raises(
        ValueError, match=r"data frame of shape \(2, 1\): give one column, such as df\['age'\]"
    ):
        read_column(pd.DataFrame({"age": [1, 2]}))
    with pytest.raises(ValueError, match=r"got shape \(3, 2\): give one column, such as values\[:, 0\]"):
        read_column(np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"n at least 1, got shape \(0,\)$"):
        read_column([])


def test_a_domain_with_missing_ones_is_advised_to_those_that_take_it():
    gaps = [1.0, np.nan] * 3000
    for whole in (Floats(), Grid(0, 9), Grid(0, 9, outside="clip"), IntegerRange(0, 9)):
        with pytest.raises(DomainError, match=r"be public, or fill in a constant$") as refusal:
            cdf(gaps, epsilon=1, domain=whole)
        assert "missing=True" not in str(refusal.value)
        assert refusal.value.__context__ is None
    for whole, given in (
        (Floats(), 'take Floats(missing=True), {"type": "floats", "missing": true} in JSON'),
        (
            IntegerRange(0, 9),
            'take IntegerRange(low, high, missing=True), {"type": "integers", ..., "missing": true}',
        ),
        (Grid(0, 9), 'take Grid(low, high, missing=True), {"type": "grid", ..., "missing": true} in JSON'),
    ):
        with pytest.raises(DomainError) as refusal:
            quantiles(gaps, 0.9, domain=whole)
        assert given in str(refusal.value)
    gapped = Floats(missing=True)
    assert 1 <= quantiles(gaps, 0.9, domain=gapped, random_state=0).value < 1.1
    learner = ExponentialMechanismClassifier(classes=[0, 1], domain=gapped)
    assert learner.fit(np.reshape(gaps, (-1, 1)), [0, 1] * 3000).score([[1.0], [np.nan]], [0, 1]) == 1
    with pytest.raises(ValueError, match="must not accept missing values"):
        cdf(gaps, epsilon=1, domain=gapped)
