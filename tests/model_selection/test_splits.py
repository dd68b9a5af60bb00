"""Splits by position: what is accepted, and how often a record trains and tests."""

import numpy as np
import pytest
from sklearn.model_selection import (
    GroupShuffleSplit,
    KFold,
    PredefinedSplit,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from dplearn.model_selection.plan import Exposure, splits_by_position


@pytest.mark.parametrize("n", [2, 5, 1000])
def test_by_default_a_fifth_tests_and_is_the_same_each_time(n):
    [(train, test)] = splits_by_position(None, n)
    [(again, _)] = splits_by_position(None, n)
    assert np.array_equal(train, again)
    assert sorted([*train, *test]) == list(range(n))
    assert len(test) == max(1, -(-n // 5))
    assert n < 1000 or not np.array_equal(test, np.arange(800, 1000))


@pytest.mark.parametrize(
    ("cv", "exposure"),
    [
        (None, Exposure(1, 1, True)),
        (5, Exposure(4, 1, False)),
        (KFold(2), Exposure(1, 1, False)),
        (RepeatedKFold(n_splits=3, n_repeats=2, random_state=0), Exposure(4, 2, False)),
        (PredefinedSplit([0] * 5 + [-1] * 15), Exposure(1, 1, True)),
        (TimeSeriesSplit(3), Exposure(3, 1, False)),
        (ShuffleSplit(1, test_size=0.5, random_state=1), Exposure(1, 1, True)),
    ],
    ids=repr,
)
def test_exposure_is_how_often_one_record_trains_and_tests_at_most(cv, exposure):
    splits = splits_by_position(cv, 20)
    assert Exposure.of(splits, 20) == exposure
    for place in range(20):
        assert sum(place in train for train, _ in splits) <= exposure.trains
        assert sum(place in test for _, test in splits) <= exposure.tests


@pytest.mark.parametrize("cv", [StratifiedKFold(2), GroupShuffleSplit(2), "2", True, [([0], [1])]], ids=repr)
def test_splitters_that_may_look_at_values_are_refused(cv):
    with pytest.raises(TypeError, match="cv must be None, an int or a splitter that uses positions only"):
        splits_by_position(cv, 20)


class Sneaky(KFold):
    """A splitter that could do anything."""


def test_a_subclass_is_refused_too():
    with pytest.raises(TypeError, match="cv must be"):
        splits_by_position(Sneaky(2), 20)


@pytest.mark.parametrize(("cv", "n"), [(None, 1), (3, 2), (PredefinedSplit([-1, -1]), 2), (0, 5)])
def test_too_few_records_are_refused(cv, n):
    with pytest.raises(ValueError, match=r"n_samples|cv"):
        splits_by_position(cv, n)
