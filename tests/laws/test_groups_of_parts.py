"""Groups of rows that lie in several parts: a fit publishes what the fit of the table in memory does."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from dplearn import AdditiveRegressor, StatisticalQueryNaiveBayes
from dplearn.domains import Grid
from dplearn.estimator.public_data import PublicData
from dplearn.fit.relation import PARTS, PARTS_OF_GROUPS
from dplearn.preprocessing import PrivateQuantileTransformer, PrivateStandardScaler
from dplearn.privacy import PrivacyLedger, pipeline_guarantee
from tests.laws.conftest import TRANSFORMERS
from tests.laws.test_parts import published, with_coarse_domain

N = 100
IDS = np.random.default_rng(0).permutation(np.concatenate([np.arange(N), np.repeat(np.arange(30), 5)]))
ROWS = np.random.default_rng(1).permutation(len(IDS)) % N  # the row of the table for each place
CUTS = ([0, 1, 1, 90, len(IDS)], [0, 200, len(IDS)])


def cut(frame, ends):
    """A table in parts, of which one has one row and one none."""
    return [frame[start:stop] for start, stop in pairwise(ends)]


def framed(X, ids):
    return pd.DataFrame(X, columns=[f"c{place}" for place in range(np.shape(X)[1])]).assign(person=ids)


@pytest.mark.filterwarnings("ignore")
def test_a_fit_of_parts_publishes_what_a_fit_of_the_table_does(classifier, iris, one_a_class):
    X, y = iris[0][ROWS], iris[1][ROWS]
    if not classifier.reads_parts or getattr(classifier, "protects", "examples") == "labels":
        return
    more = {"X_public": PublicData(iris[0])} if getattr(classifier, "needs_public_rows", False) else {}
    frame, ids = framed(X, IDS), [f"p{each}" for each in IDS]
    rows, parts = frame.drop(columns="person"), frame.assign(person=ids, y=y)
    whole = with_coarse_domain(classifier).set_params(random_state=3).fit(rows, y, groups=ids, **more)
    for ends in CUTS:
        parted = with_coarse_domain(classifier).set_params(random_state=3)
        parted.fit(cut(parts, ends), "y", groups="person", **more)
        assert published(parted) == published(whole)
        assert np.array_equal(parted.predict(rows), whole.predict(rows))
        assert parted.guarantee_.assumes == (*whole.guarantee_.assumes, PARTS_OF_GROUPS)
        assert PARTS not in parted.guarantee_.assumes
        assert parted.guarantee_.protects == "groups"


def named(X, ids):
    return cut(X.assign(person=ids), [0, 1, 1, 90, len(X)])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("transformer", [each for each in TRANSFORMERS if hasattr(each, "plan")], ids=repr)
def test_a_transformer_of_parts_learns_of_groups_what_it_learns_of_the_table(transformer):
    X, ids = np.random.default_rng(2).normal(size=(900, 3)), np.random.default_rng(3).integers(0, 300, 900)
    rows = framed(X, ids).drop(columns="person")
    whole, parted = (clone(transformer).set_params(epsilon=5, random_state=3) for _ in range(2))
    whole.fit(rows, groups=ids)
    parted.fit(named(rows, ids), groups="person")
    assert published(parted) == published(whole)
    assert parted.guarantee_.assumes == (*whole.guarantee_.assumes, PARTS_OF_GROUPS)


def test_a_pipeline_passes_the_column_to_all_of_its_steps():
    rng = np.random.default_rng(0)
    rows, ids = framed(rng.random((900, 3)), 0).drop(columns="person"), np.arange(900) % 300
    y = (rows["c0"] > 0.5).astype(int)
    given = {"epsilon": 5, "domain": Grid(-9, 9, 181, "clip"), "random_state": 3}
    model = make_pipeline(
        PrivateStandardScaler(**given),
        PrivateQuantileTransformer(**given),
        StatisticalQueryNaiveBayes(**given, classes=[0, 1]),
    )
    with config_context(enable_metadata_routing=True):
        whole = clone(model).fit(rows, y, groups=ids)
        parted = clone(model).fit(named(rows.assign(y=y), ids), "y", groups="person")
    for mine, other in zip(parted, whole, strict=True):
        assert published(mine) == published(other)
    assert pipeline_guarantee(parted).protects == "groups"
    assert np.array_equal(parted.predict(rows), whole.predict(rows))


def test_a_regressor_of_a_dask_frame_publishes_what_that_of_the_table_does():
    dd = pytest.importorskip("dask.dataframe")
    rng = np.random.default_rng(0)
    rows, ids = framed(rng.random((300, 2)), 0).drop(columns="person"), np.arange(300) % 70
    y = rows["c0"].to_numpy()
    make = AdditiveRegressor(domain=Grid(0, 1, 65), target_range=(0, 1), random_state=0)
    whole = clone(make).fit(rows, y, groups=ids)
    frame = dd.from_pandas(rows.assign(y=y, person=ids), npartitions=3)
    assert published(clone(make).fit(frame, "y", groups="person")) == published(whole)


FRAME = framed(np.random.default_rng(0).random((40, 2)), ["a", "b"] * 20).assign(y=[0, 0, 1, 1] * 10)
TABLES = {
    "no such column": (cut(FRAME, (0, 20, 40)), "id", ValueError, "column of X in every part, got 'id'"),
    "the labels' column": (cut(FRAME, (0, 20, 40)), "y", ValueError, "in every part, got 'y'"),
    "ids beside the parts": (
        cut(FRAME, (0, 20, 40)),
        FRAME["person"],
        TypeError,
        r"got Series of shape \(40,\)",
    ),
    "no names": (
        [(FRAME[["c0", "c1"]].to_numpy(), FRAME["y"])],
        "person",
        ValueError,
        "ndarray have no names",
    ),
    "a missing id": (
        cut(FRAME.assign(person=["a", None] * 20), (0, 20, 40)),
        "person",
        ValueError,
        "one is missing",
    ),
    "two types": (
        [FRAME[:20], FRAME[20:].assign(person=3)],
        "person",
        TypeError,
        "groups must have one type in all parts",
    ),
    "no rows": ([FRAME[:0], FRAME[:0]], "person", ValueError, "X has no part with rows"),
    "a table in memory": (FRAME[["c0", "c1"]], "person", TypeError, "here give X without that column"),
}


@pytest.mark.parametrize("name", TABLES)
def test_bad_groups_of_parts_are_refused_before_the_charge(name):
    X, groups, error, match = TABLES[name]
    ledger = PrivacyLedger(5, protects="groups")
    model = StatisticalQueryNaiveBayes(delta=0, domain=Grid(0, 1, 65), classes=[0, 1], ledger=ledger)
    y = FRAME["y"] if isinstance(X, pd.DataFrame) else None if isinstance(X[0], tuple) else "y"
    with pytest.raises(error, match=match):
        model.fit(X, y, groups=groups)
    assert ledger.history() == []
    assert not hasattr(model, "guarantee_")


def test_parts_that_change_between_passes_are_refused():
    calls = []

    def read():
        calls.append(1)
        return iter(cut(FRAME, (0, 20, 40) if len(calls) < 2 else (0, 10, 40)))

    ledger = PrivacyLedger(5, protects="groups")
    for most in (10, None):
        calls.clear()
        domain = Grid(0, 1, 65) if most else "learn"
        model = StatisticalQueryNaiveBayes(delta=0, domain=domain, classes=[0, 1], ledger=ledger)
        with pytest.raises(RuntimeError, match="X must have the same parts each time it is read"):
            model.fit(read, "y", groups="person")
    assert ledger.history() == []
