"""mlflow's autologging, which replaces methods of scikit-learn's classes, learns nothing of private rows."""

import os
import subprocess
import sys

import pytest

SCRIPT = """
import warnings
import mlflow
import numpy as np
from dplearn import KnowledgeTransferClassifier, PublicData, SubsampleAggregateClassifier
from dplearn.model_selection import private_score
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

warnings.simplefilter("ignore")
X = np.random.default_rng(0).normal(size=(600, 3))
y = (X[:, 0] > 0).astype(int)
TREE = DecisionTreeClassifier(max_depth=1)
fitted = TREE.fit(X, y)
ensemble = SubsampleAggregateClassifier(TREE, n_teachers=9, epsilon=9).fit(X, y)
uses = {
    "votes": lambda: SubsampleAggregateClassifier(TREE, n_teachers=9).fit(X, y),
    "default": lambda: SubsampleAggregateClassifier(n_teachers=9).fit(X, y),
    "answers": lambda: ensemble.predict(X[:1]),
    "student": lambda: KnowledgeTransferClassifier(TREE, n_teachers=9).fit(X, y, PublicData(X)),
    "score": lambda: private_score(fitted, X, y),
}

def refused():
    names = []
    for name, use in uses.items():
        try:
            use()
        except ValueError as error:
            assert "replaced by code of mlflow" in str(error), error
            names.append(name)
    return names

def told():
    runs = mlflow.search_runs(output_format="list", search_all_experiments=True)
    return sum(len(run.data.metrics) + len(run.data.params) + len(run.inputs.dataset_inputs) for run in runs)

assert refused() == []
ensemble = SubsampleAggregateClassifier(TREE, n_teachers=9, epsilon=9).fit(X, y)
for how in ({}, {"exclusive": True}):
    mlflow.sklearn.autolog(log_models=False, silent=True, **how)
    before = told()
    found = refused()
    assert found == list(uses), found
    assert told() == before
    LogisticRegression().fit(X, y)
    assert told() > before  # it does log
    mlflow.sklearn.autolog(disable=True)
    assert refused() == []
    ensemble = SubsampleAggregateClassifier(TREE, n_teachers=9, epsilon=9).fit(X, y)
print("nothing logged")
"""


SETTINGS = {"MLFLOW_DISABLE_TELEMETRY": "true", "MLFLOW_ALLOW_FILE_STORE": "true"}


@pytest.mark.nightly
@pytest.mark.longest
def test_models_are_refused_while_mlflow_logs_and_it_logs_nothing(tmp_path):
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--target", tmp_path / "packages"]
    subprocess.run([*install, "mlflow-skinny"], check=True)
    # What is installed for the tests comes first.
    own = [*filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)), *sys.path[1:]]
    paths = os.pathsep.join([*own, str(tmp_path / "packages")])
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | SETTINGS | {"PYTHONPATH": paths, "MLFLOW_TRACKING_URI": f"file:{tmp_path}/runs"},
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("nothing logged\n")
