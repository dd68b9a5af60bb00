"""Labels, values and groups of pandas in another order than their table are refused."""

from inspect import isfunction, signature

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from dplearn import StatisticalQueryNaiveBayes, releases
from dplearn.domains import Grid, IntegerRange
from dplearn.estimator.public_data import PublicData
from dplearn.model_selection import private_score
from dplearn.privacy import PrivacyLedger
from dplearn.releases import SyntheticTable
from dplearn.table.sources import check_index

N = 150
PLACES = np.random.default_rng(0).permutation(N)
TABLE = pd.DataFrame(np.random.default_rng(1).random((N, 3)), index=PLACES, columns=["x", "y", "z"])
OTHER = r"and \w+ have different indexes, and their rows"


def series(values, index=PLACES):
    return pd.Series(np.asarray(values), index=index)


def ordered(column):
    """Return the column in the order of its index, which is another one than that of its table."""
    return column.sort_index()


def refused(name, run, protects="examples"):
    """Assert that an order is refused by name, before the charge; `run` takes a ledger."""
    ledger = PrivacyLedger(10**13, 0.9, protects=protects)
    with pytest.raises(ValueError, match=f"^{name} {OTHER}"):
        run(ledger)
    assert ledger.history() == []


def with_ledger(model, ledger):
    return clone(model).set_params(ledger=ledger)


def test_labels_in_another_order_are_refused_by_each_learner(classifier, one_a_class):
    X, y = TABLE, series(np.arange(N) % 2)
    more = {"X_public": PublicData(TABLE)} if getattr(classifier, "needs_public_rows", False) else {}
    protects = getattr(classifier, "protects", "examples")
    for labels in (ordered(y), ordered(y).to_frame(), y[::-1]):
        refused(
            "y", lambda ledger, y=labels: with_ledger(classifier, ledger).fit(X, y, **more), protects=protects
        )
    if hasattr(classifier, "partial_fit"):
        given = {"classes": np.unique(y)} if "classes" in signature(classifier.partial_fit).parameters else {}
        refused("y", lambda ledger: with_ledger(classifier, ledger).partial_fit(X, ordered(y), **given))


def test_groups_in_another_order_are_refused_by_each_learner(classifier, one_a_class):
    ids, y = series(np.arange(N) // 3), np.arange(N) % 2
    more = {"X_public": PublicData(TABLE)} if getattr(classifier, "needs_public_rows", False) else {}
    if getattr(classifier, "protects", "examples") == "examples":
        refused(
            "groups",
            lambda ledger: with_ledger(classifier, ledger).fit(TABLE, y, groups=ordered(ids), **more),
        )


def test_groups_in_another_order_are_refused_by_each_transformer(any_transformer, one_a_class):
    ids = series(np.arange(N) // 3)
    if "ledger" in any_transformer.get_params():
        refused("groups", lambda ledger: with_ledger(any_transformer, ledger).fit(TABLE, groups=ordered(ids)))


VALUES, KEYS = series(np.linspace(0, 1, N)), series(["a", "b", "c"] * (N // 3))
FRAME = pd.DataFrame({"x": VALUES, "k": KEYS})
RELEASES = {
    "cdf": {"values": VALUES, "domain": Grid(0, 1)},
    "grouped": {"keys": KEYS, "values": VALUES, "bounds": (0, 1), "categories": ["a"]},
    "interior_point": {"values": VALUES, "domain": Grid(0, 1, 9)},
    "learned_schema": {"X": FRAME},
    "mean": {"values": VALUES, "bounds": (0, 1)},
    "median": {"values": VALUES, "domain": Grid(0, 1)},
    "quantiles": {"values": VALUES, "q": [0.5], "domain": Grid(0, 1)},
    "stable_counts": {"keys": KEYS, "delta": 1e-6},
}


def test_every_release_of_groups_is_in_the_table():
    functions = [getattr(releases, name) for name in releases.__all__]
    assert {
        each.__name__ for each in functions if isfunction(each) and "groups" in signature(each).parameters
    } == {*RELEASES}


@pytest.mark.parametrize("name", RELEASES)
def test_groups_in_another_order_are_refused_by_each_release(name):
    ids, release = series(np.arange(N) // 3), getattr(releases, name)
    refused("groups", lambda ledger: release(**RELEASES[name], groups=ordered(ids), ledger=ledger))


def test_columns_in_another_order_are_refused_by_other_releases():
    given = {"bounds": (0, 1), "categories": ["a"]}
    refused("values", lambda ledger: releases.grouped(KEYS, ordered(VALUES), **given, ledger=ledger))
    ids = series(np.arange(N) // 3)
    refused("groups", lambda ledger: SyntheticTable(ledger=ledger).fit(FRAME, groups=ordered(ids)))
    X = FRAME[["x"]]
    model = DummyClassifier().fit(X, KEYS)
    refused("y", lambda ledger: private_score(model, X, ordered(KEYS), ledger=ledger))
    refused("groups", lambda ledger: private_score(model, X, KEYS, groups=ordered(ids), ledger=ledger))


def test_labels_of_parts_in_another_order_are_refused():
    X, y = FRAME[["x"]], (VALUES > 0.5).astype(int)
    parts = [X[:70], X[70:]]

    def fit(ledger, *given):
        return StatisticalQueryNaiveBayes(domain=Grid(0, 1), classes=[0, 1], ledger=ledger).fit(*given)

    refused("y", lambda ledger: fit(ledger, parts, [y[:70], ordered(y[70:])]))
    assert fit(PrivacyLedger(1, 1e-5), parts, [y[:70], y[70:]]).guarantee_.epsilon == 1


def count(start=0, step=1):
    return pd.RangeIndex(start, start + step * N, step)


SAME = {
    "equal": (PLACES, PLACES),
    "default": (count(), count()),
    "default and filtered": (count(), count(5, 7)),
    "shuffled after a filter, and reset": (PLACES + N, count()),
    "counted, of another type": (np.arange(N), count()),
    "texts and default": ([f"row {place}" for place in range(N)], count()),
    "equal, of another type": (PLACES, pd.array(PLACES, dtype="Int64")),
    "pairs and default": (pd.MultiIndex.from_arrays([PLACES, PLACES]), count()),
    "equal, with repetitions": (PLACES // 2, PLACES // 2),
}
DIFFERENT = {
    "another order of the default": (count(), PLACES),
    "another order": (PLACES + 7, PLACES[::-1] + 7),
    "other rows": (count(1), count(2)),
    "texts in another order": ([f"row {place}" for place in PLACES], [f"row {place}" for place in range(N)]),
    "repetitions in another order": (PLACES // 2, PLACES[::-1] // 2),
    "pairs in another order": tuple(
        pd.MultiIndex.from_arrays([each, each]) for each in (PLACES, PLACES[::-1])
    ),
}


@pytest.mark.parametrize("case", [*SAME, *DIFFERENT])
@pytest.mark.parametrize("turned", [False, True])
def test_an_index_that_only_counts_says_nothing_of_the_order(case, turned):
    indexes = [pd.Index(each) for each in (SAME | DIFFERENT)[case]][:: -1 if turned else 1]
    X, y = pd.DataFrame({"x": np.zeros(N)}, index=indexes[0]), pd.Series(np.zeros(N), index=indexes[1])
    if case in SAME:
        check_index("y", y, X)
    else:
        with pytest.raises(ValueError, match=r"give y\.loc\[X\.index\] if .*, or y\.to_numpy\(\)"):
            check_index("y", y, X)
    for table, labels in ((X.to_numpy(), y), (X, y.tolist()), (X, y[:3]), (X, None), (X, "y"), (None, y)):
        check_index("y", labels, table)


def test_labels_are_fitted_in_the_order_that_the_error_names():
    X = pd.DataFrame({"x": np.arange(N)}, index=PLACES)
    y = ordered((X["x"] > 70).astype(int))
    model = StatisticalQueryNaiveBayes(domain=IntegerRange(0, N), classes=[0, 1], epsilon=50)
    assert model.fit(X, y.loc[X.index]).score(X, y.loc[X.index]) > 0.9
