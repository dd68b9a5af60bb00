"""One label of an odd type is one error of an accuracy, and is refused by all other metrics alike."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.dummy import DummyClassifier, DummyRegressor

from dplearn import PrivacyLedger, StatisticalQueryNaiveBayes
from dplearn.domains import DomainError, IntegerRange
from dplearn.model_selection import (
    PrivateScorer,
    PrivateSearchCV,
    PrivateTunedThresholdClassifier,
    private_score,
)
from dplearn.model_selection.metrics import METRICS
from tests.model_selection.test_score import errors_and_n

SECRET = "canary-9f3b"
N = 40
X, Y = np.arange(N)[:, None] % 8, np.arange(N) % 2
MODEL = DummyClassifier(strategy="constant", constant=1).fit([[0]] * 2, [0, 1])
MEAN = DummyRegressor().fit([[0]] * 2, [0.0, 1.0])


class Raising:
    """Raises an error with its value whenever it is looked at, compared or hashed."""

    def stop(self, *given):
        raise ValueError(SECRET)

    __eq__ = __ne__ = __bool__ = __len__ = __getitem__ = __float__ = __str__ = __repr__ = stop
    __hash__ = stop


class Leaving(Raising):
    def stop(self, *given):
        raise SystemExit(SECRET)

    __eq__ = __ne__ = __bool__ = stop
    __hash__ = object.__hash__


class RaisingText(str):
    __slots__ = ()

    def __eq__(self, other):
        raise ValueError(SECRET)

    __hash__ = str.__hash__


class Claiming(Raising):
    @property
    def __class__(self):
        raise ValueError(SECRET)


ODD = {
    "a missing label": None,
    "NaN": np.nan,
    "pandas' missing label": pd.NA,
    "a text": SECRET,
    "bytes": b"1",
    "a tuple": (1, SECRET),
    "a list": [1, 2],
    "an empty list": [],
    "a nested row": [[1]],
    "a set": {1, SECRET},
    "a dict": {SECRET: 1},
    "a complex number": 1 + 0j,
    "numpy's complex number": np.complex64(1),
    "an array": np.array([1, 2]),
    "an empty array": np.array([]),
    "a matrix": np.ones((2, 2)),
    "a series": pd.Series([1, 2]),
    "a date": datetime.date(2020, 1, 1),
    "a time of numpy": np.datetime64("2020-01-01"),
    "a time of pandas": pd.Timestamp(0),
    "a signaling NaN": Decimal("sNaN"),
    "a class": int,
    "a generator": (each for each in [1]),
    "an object that raises": Raising(),
    "an object that leaves": Leaving(),
    "a text that raises": RaisingText("1"),
    "an object without a class": Claiming(),
}


def as_array(cells):
    return np.fromiter(cells, dtype=object, count=len(cells))


CONTAINERS = {
    "list": list,
    "array": as_array,
    "column": lambda cells: as_array(cells)[:, None],
    "series": lambda cells: pd.Series(as_array(cells)),
    "frame": lambda cells: pd.DataFrame({"y": as_array(cells)}),
    "polars": lambda cells: pl.Series(cells, dtype=pl.Object),
}


def with_odd(y, odd):
    return [*y.tolist()[:-1], odd]


def asked(name, y, ledger, **how):
    scorer = PrivateScorer(name, target_range=(0, 1))
    model = MEAN if METRICS[name].regression else MODEL
    return private_score(model, X, y, scoring=scorer, epsilon=10**6, ledger=ledger, **how)


@pytest.mark.filterwarnings("ignore:A column-vector y")
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("odd", ODD)
def test_an_odd_label_counts_as_one_error(container, odd):
    y = CONTAINERS[container](with_odd(Y, ODD[odd]))
    assert errors_and_n(MODEL, X, y) == (N // 2 + 1, N)


@pytest.mark.parametrize("name", METRICS)
def test_an_odd_label_or_target_is_an_error_of_accuracies_and_refused_alike_by_the_others(name):
    metric, said, ledger = METRICS[name], set(), PrivacyLedger(10**9)
    counts_errors = metric.any_labels and not metric.regression
    for odd in ODD.values():
        y = with_odd(Y.astype(float) if metric.regression else Y, odd)
        if counts_errors:
            score = asked(name, y, ledger)
            assert (score.value, score.n_samples, score.table.counts.shape) == (0.5 - 1 / N, N, (1,))
            continue
        with pytest.raises(DomainError) as raised:
            asked(name, y, ledger)
        assert (raised.value.__cause__, raised.value.__context__) == (None, None)
        said.add(str(raised.value))
    assert len(said) == (not counts_errors)
    assert SECRET not in str(said)
    assert len(ledger.history()) == len(ODD) * counts_errors


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_label_counts_as_one_error_with_groups_and_in_parts(odd):
    y = with_odd(Y, ODD[odd])
    groups = asked("accuracy", y, None, groups=np.arange(N))
    parts = private_score(MODEL, [X[:9], X[9:]], [y[:9], y[9:]], epsilon=10**6)
    assert groups.value == parts.value == 0.5 - 1 / N


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_label_is_refused_by_searches_before_anything_is_spent(odd):
    model, ledger = (
        StatisticalQueryNaiveBayes(domain=IntegerRange(0, 7), classes=[0, 1]),
        PrivacyLedger(10, 1e-3),
    )
    for search in (
        PrivateSearchCV(model, {"smoothing": [1.0]}, ledger=ledger),
        PrivateTunedThresholdClassifier(model, ledger=ledger),
    ):
        with pytest.raises((TypeError, ValueError)) as raised:
            search.fit(X, with_odd(Y, ODD[odd]))
        assert SECRET not in str(raised.value) + str(raised.value.__context__)
    assert ledger.history() == []


class Strange:
    """Equal to everything and different from everything."""

    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return True

    __hash__ = None


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_label_does_not_change_how_other_labels_are_compared(odd):
    strange = [Strange(), *Y.tolist()[1:]]
    before, after = (errors_and_n(MODEL, X, y)[0] for y in (strange, [*strange[:-1], ODD[odd]]))
    assert (before, after) == (N // 2, N // 2 + 1)
