"""Labels, values and groups of pandas in another order than their table are refused; see `snapshot.json`."""

from inspect import signature

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from dplearn import StatisticalQueryNaiveBayes, releases
from dplearn.domains import Grid, IntegerRange
from dplearn.model_selection import private_score
from dplearn.privacy import PrivacyLedger
from dplearn.table import check_index

N = 150
PLACES = np.random.default_rng(0).permutation(N)


def ordered(column):
    """Return the column in the order of its index, which is another one than that of its table."""
    return column.sort_index()


VALUES, KEYS = (
    pd.Series(each, index=PLACES) for each in (np.linspace(0, 1, N), np.array(["a", "b", "c"] * (N // 3)))
)
X, Y = pd.DataFrame({"x": VALUES}), (VALUES > 0.5).astype(int)
MODEL = StatisticalQueryNaiveBayes(domain=Grid(0, 1), classes=[0, 1])
OF_TWO = {
    "values": lambda ledger: releases.grouped(
        KEYS, ordered(VALUES), bounds=(0, 1), categories=["a"], ledger=ledger
    ),
    "y": lambda ledger: private_score(DummyClassifier().fit(X, KEYS), X, ordered(KEYS), ledger=ledger),
    "y of parts": lambda ledger: (
        clone(MODEL).set_params(ledger=ledger).fit([X[:70], X[70:]], [Y[:70], ordered(Y[70:])])
    ),
}


@pytest.mark.parametrize("name", OF_TWO)
def test_columns_in_another_order_are_refused_before_the_charge(name):
    ledger = PrivacyLedger(10, 0.9)
    with pytest.raises(ValueError, match=rf"^{name.split()[0]} and \w+ have different indexes"):
        OF_TWO[name](ledger)
    assert ledger.history() == []


def test_labels_in_another_order_are_refused_by_each_call(classifier, one_a_class):
    # A learned domain refuses partial_fit before it reads labels.
    if hasattr(classifier, "partial_fit") and getattr(classifier, "domain", None) != "learn":
        given = {"classes": [0, 1]} if "classes" in signature(classifier.partial_fit).parameters else {}
        with pytest.raises(ValueError, match="y and X have different indexes"):
            clone(classifier).partial_fit(X, ordered(Y), **given)


def count(start=0, step=1):
    return pd.RangeIndex(start, start + step * N, step)


TEXTS = [f"row {place}" for place in range(N)]
SAME = {
    "equal": (PLACES, PLACES),
    "default": (count(), count()),
    "default and filtered": (count(), count(5, 7)),
    "shuffled after a filter, and reset": (PLACES + N, count()),
    "counted, of another type": (np.arange(N), count()),
    "texts and default": (TEXTS, count()),
    "equal, of another type": (PLACES, pd.array(PLACES, dtype="Int64")),
    "pairs and default": (pd.MultiIndex.from_arrays([PLACES, PLACES]), count()),
    "equal, with repetitions": (PLACES // 2, PLACES // 2),
}
DIFFERENT = {
    "another order of the default": (count(), PLACES),
    "another order": (PLACES + 7, PLACES[::-1] + 7),
    "other rows": (count(1), count(2)),
    "texts in another order": ([TEXTS[place] for place in PLACES], TEXTS),
    "repetitions in another order": (PLACES // 2, PLACES[::-1] // 2),
    "pairs in another order": tuple(
        pd.MultiIndex.from_arrays([each, each]) for each in (PLACES, PLACES[::-1])
    ),
}


@pytest.mark.parametrize("case", [*SAME, *DIFFERENT])
def test_an_index_that_only_counts_says_nothing_of_the_order(case):
    for step in (1, -1):
        indexes = [pd.Index(each) for each in (SAME | DIFFERENT)[case]][::step]
        X, y = pd.DataFrame({"x": np.zeros(N)}, index=indexes[0]), pd.Series(np.zeros(N), index=indexes[1])
        if case in SAME:
            check_index("y", y, X)
        else:
            with pytest.raises(ValueError, match=r"give y\.loc\[X\.index\] if .*, or y\.to_numpy\(\)"):
                check_index("y", y, X)
        for rows, labels in ((X.to_numpy(), y), (X, y.tolist()), (X, y[:3]), (X, None), (X, "y"), (None, y)):
            check_index("y", labels, rows)


def test_labels_are_fitted_in_the_order_that_the_error_names():
    X = pd.DataFrame({"x": np.arange(N)}, index=PLACES)
    y = ordered((X["x"] > 70).astype(int).rename("y"))
    model = clone(MODEL).set_params(domain=IntegerRange(0, N), epsilon=50)
    assert model.fit(X, y.loc[X.index]).score(X, y.loc[X.index]) > 0.9
