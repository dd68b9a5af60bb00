"""On a Dask cluster: the same sums if workers are lost, teachers and searches that are paid for once, and no
private value in logs or keys."""

import os
import struct
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from sklearn.tree import DecisionTreeClassifier

from dplearn import AdditiveClassifier, PrivacyLedger, StatisticalQueryLogisticRegression
from dplearn.domains import DomainError, Grid, IntegerRange, Schema
from dplearn.learners import (
    ExponentialMechanismClassifier,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
)
from dplearn.preprocessing import PrivateRobustScaler
from dplearn.table import PartsUnreadableError

#: A cluster of processes is started, and loses some: at night.
pytestmark = [pytest.mark.nightly, pytest.mark.filterwarnings("ignore")]
WORKERS = 3  # of which a test loses at most two
N, LENGTH = 12, 300
SECRET = 98765.4321987  # in a part of its own, outside the domain
SCHEMA = Schema({"age": IntegerRange(0, 99), "wage": Grid(0, 10_000, 1001)})
TYPES = {"age": "int64", "wage": "float64", "ill": "int64"}
LEARNERS = {
    "naive Bayes": StatisticalQueryNaiveBayes(domain=SCHEMA),
    "logistic regression": StatisticalQueryLogisticRegression(domain=SCHEMA),
    "additive": AdditiveClassifier(domain=SCHEMA, interactions=False),
    "stumps": ExponentialMechanismClassifier(domain=SCHEMA),
    "learned schema": AdditiveClassifier(domain="learn", interactions=False),
    "ensemble": SubsampleAggregateClassifier(epsilon=5, n_teachers=30, max_queries=50),
    "scaler": PrivateRobustScaler(domain=SCHEMA),
}


def part(number, folder="", dies=(), secret=None):
    """One part of the table; notes that it is read, and kills the worker that reads one of `dies` first."""
    if folder:
        with open(f"{folder}/reads", "a") as file:
            file.write(f"{number}\n")
        if number in dies and not os.path.exists(f"{folder}/{number}"):
            with open(f"{folder}/{number}", "w"):
                os._exit(1)
    rng = np.random.default_rng(number)
    age = rng.integers(0, 100, LENGTH)
    frame = pd.DataFrame({"age": age, "wage": rng.uniform(0, 10_000, LENGTH).round(2)})
    frame["ill"] = (age + rng.integers(-20, 20, LENGTH) > 50).astype("int64")
    if secret == number:
        frame.loc[7, "wage"] = SECRET
    return frame.astype(TYPES)


WHOLE = pd.concat([part(number) for number in range(N)], ignore_index=True)


def in_parts(**how):
    from dask import dataframe

    return dataframe.from_map(partial(part, **how), range(N), meta=part(0)[:0])


@pytest.fixture
def client():
    """A client of a cluster of its own: a cluster that has lost workers does not always replace them."""
    import cloudpickle
    import dask
    from distributed import Client, LocalCluster

    cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import the tests
    how = {"n_workers": WORKERS, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    # On a busy machine a worker may be slow to start; a task without workers ends after some time.
    patience = {
        "distributed.scheduler.no-workers-timeout": "300s",
        "distributed.comm.timeouts.connect": "60s",
    }
    with dask.config.set(patience), LocalCluster(**how) as cluster, Client(cluster) as client:
        client.wait_for_workers(WORKERS, timeout=300)
        yield client


def answered(model):
    if hasattr(model, "transform"):
        return model.transform(WHOLE[["age", "wage"]][:50]).tolist()
    return model.predict(WHOLE[["age", "wage"]][:50]).tolist()


def fitted(learner, *table):
    parameters = {"random_state": 1} | ({"classes": [0, 1]} if "classes" in learner.get_params() else {})
    return learner.set_params(**parameters).fit(*table)


@pytest.mark.parametrize("name", LEARNERS)
def test_a_lost_worker_changes_no_fit(name, client, tmp_path):
    learner = LEARNERS[name]
    whole = answered(fitted(learner, WHOLE[["age", "wage"]], WHOLE["ill"]))
    frame = in_parts(folder=str(tmp_path), dies=(3, 8))
    table = (frame[["age", "wage"]],) if name == "scaler" else (frame, "ill")
    assert answered(fitted(learner, *table)) == whole
    assert (tmp_path / "3").exists()
    assert (tmp_path / "8").exists()
    reads = (tmp_path / "reads").read_text().split()
    assert reads.count("3") > 2  # and other parts, whose results were lost


def what_is_shown(client):
    """All text that others see: logs of workers and of the scheduler, keys of tasks, and events."""
    seen = [str(client.get_worker_logs()), str(client.get_scheduler_logs())]

    def of_scheduler(dask_scheduler):
        keys = [str(key) for key in dask_scheduler.tasks]
        return keys, str(list(dask_scheduler.transition_log)), str(dict(dask_scheduler.task_prefixes))

    return " ".join([*seen, str(client.run_on_scheduler(of_scheduler))])


@pytest.mark.parametrize("name", ["naive Bayes", "logistic regression", "additive", "stumps", "scaler"])
def test_a_value_outside_the_domain_is_in_no_error_log_or_key(name, client):
    ledger, learner = PrivacyLedger(10, 1e-5), LEARNERS[name]
    learner.set_params(ledger=ledger, random_state=None)
    if "classes" in learner.get_params():
        learner.set_params(classes=[0, 1])
    frame = in_parts(secret=4)
    table = (frame[["age", "wage"]],) if name == "scaler" else (frame, "ill")
    with pytest.raises(DomainError) as caught:
        learner.fit(*table)
    learner.set_params(ledger=None)
    assert ledger.history() == []
    assert "98765" not in str(caught.value)
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert "98765" not in what_is_shown(client)


def unreadable(number):
    if number == 5:
        error = ValueError(f"could not convert {SECRET}")
        error.add_note(str(SECRET))
        raise error
    return part(number)


@pytest.mark.parametrize("form", ["frame", "delayed", "mapped", "series", "array", "shuffled"])
def test_an_error_of_a_reader_is_in_no_error_log_or_key(form, client):
    import dask
    from dask import array, dataframe

    meta = part(0)[:0]
    frame = dataframe.from_map(unreadable, range(N), meta=meta)
    delayed = [dask.delayed(unreadable)(number) for number in range(N)]
    column = array.concatenate([array.from_delayed(each, (LENGTH, 3), dtype=float) for each in delayed])
    X, y = {
        "frame": (frame, "ill"),
        "delayed": (dataframe.from_delayed(delayed, meta=meta, verify_meta=False), "ill"),
        "mapped": (in_parts().map_partitions(lambda _: unreadable(5), meta=meta), "ill"),
        "series": (frame[["age", "wage"]], frame["ill"]),
        "array": (column[:, :2], column[:, 2]),
        "shuffled": (frame.shuffle("ill"), "ill"),
    }[form]
    ledger = PrivacyLedger(10, 1e-5)
    model = StatisticalQueryNaiveBayes(domain=SCHEMA, classes=[0, 1], ledger=ledger)
    with pytest.raises(PartsUnreadableError) as caught:
        model.fit(X, y)
    assert ledger.history() == []
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert "98765" not in what_is_shown(client)


def test_an_error_that_a_task_raises_is_logged_with_its_text(client):
    text = part(4, secret=4)["wage"].map("{} euros".format)
    with pytest.raises(ValueError, match="could not convert"):
        client.submit(lambda column: column.map(float), text[7:9]).result()
    assert "98765" in what_is_shown(client)


# Teachers and searches on the workers

X = np.random.default_rng(0).normal(size=(800, 2))
X[7] = SECRET
y = (X[:, 0] > 0).astype(int)


@pytest.fixture
def dask(client):
    with parallel_config(backend="dask"):
        yield client


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
