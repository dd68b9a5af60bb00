"""Teachers and searches on the workers of a Dask cluster: the same answers, paid for once, no rows left."""

import struct
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.model_selection import GridSearchCV
from sklearn.tree import DecisionTreeClassifier

from dplearn import BudgetExceededError, PrivacyLedger, SubsampleAggregateClassifier, ThresholdClassifier

#: Two workers are started for a minute's work: at night. What their tasks do, worker pools do too.
pytestmark = pytest.mark.nightly
SECRET = 987654.321987
X = np.random.default_rng(0).normal(size=(800, 2))
X[7] = SECRET
y = (X[:, 0] > 0).astype(int)


@pytest.fixture(scope="module")
def client():
    import cloudpickle
    from distributed import Client, LocalCluster

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import the tests
    how = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with LocalCluster(**how) as cluster, Client(cluster) as client:
        client.run(warm_up)
        yield client


@pytest.fixture
def dask(client):
    with parallel_config(backend="dask"):
        yield client


def warm_up():
    """Import on each worker what takes long, so that none is done before the other begins."""
    import dplearn  # noqa: F401


def executed(dask_worker):
    return dask_worker.state.executed_count


def known_to_scheduler(dask_scheduler):
    return len(dask_scheduler.tasks)


def known_to_worker(dask_worker):
    return len(dask_worker.data) + len(dask_worker.state.tasks)


def on_disk(dask_worker):
    files = [path for path in Path(dask_worker.local_directory).rglob("*") if path.is_file()]
    return [path.read_bytes() for path in files]


def ensemble(ledger, seed):
    tree = DecisionTreeClassifier(max_depth=2)
    how = {"n_teachers": 40, "epsilon": 5, "max_queries": 50, "aggregation": "gnmax", "classes": [0, 1]}
    return SubsampleAggregateClassifier(tree, ledger=ledger, random_state=seed, **how)


def test_teachers_of_two_workers_answer_as_those_of_one_process_and_are_paid_once(dask, tmp_path):
    ledger = PrivacyLedger(20, 1e-3, path=tmp_path / "ledger", allow_reproducible=True)
    before = dask.run(executed)
    spread = ensemble(ledger, 1).fit(X, y)
    after = dask.run(executed)
    assert all(after[worker] > before[worker] for worker in after)
    assert (ledger.spent().epsilon, len(ledger.history())) == (5, 1)
    with parallel_config(backend="sequential"):
        alone = ensemble(None, 1).fit(X, y)
    assert spread.predict(X[:50]).tolist() == alone.predict(X[:50]).tolist()


def test_nothing_of_a_fit_stays_on_the_cluster(dask):
    ensemble(None, None).fit(X, y)
    for _ in range(200):  # what is no longer wanted is let go soon, and not at once
        if not dask.run_on_scheduler(known_to_scheduler) and not any(dask.run(known_to_worker).values()):
            break
        time.sleep(0.05)
    assert dask.run_on_scheduler(known_to_scheduler) == 0
    assert set(dask.run(known_to_worker).values()) == {0}
    for files in dask.run(on_disk).values():
        assert not any(struct.pack("<d", SECRET) in content for content in files)


def test_a_search_charges_one_ledger_for_every_fit_wherever_it_is(dask, tmp_path):
    ledger = PrivacyLedger(3.5, path=tmp_path / "ledger")
    model = ThresholdClassifier(classes=[0, 1], ledger=ledger)
    search = GridSearchCV(model, {"epsilon": [0.5, 1.0]}, cv=2, refit=False)
    search.fit(X[:, :1], y)
    assert (ledger.spent().epsilon, len(ledger.history())) == (3, 4)
    with pytest.raises(BudgetExceededError):
        search.fit(X[:, :1], y)
    assert ledger.spent().epsilon <= 3.5
