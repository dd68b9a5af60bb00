"""The command `demo`: private and non-private accuracy on a data set bundled with scikit-learn."""

import argparse
import sys
import warnings
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.tree import DecisionTreeClassifier

from dplearn._progress import progress, watched
from dplearn.learners import ExponentialMechanismClassifier

EPSILONS = (0.1, 0.5, 1.0, 3.0)
SPLITS = 20


def add_demo(parser: argparse.ArgumentParser) -> None:
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> None:  # noqa: ARG001 - there are none
    """Print a table of test accuracies and the guarantee in words."""
    data = load_breast_cancer()
    X, y = data.data, data.target_names[data.target].astype(str)
    sys.stdout.write(
        f"Breast cancer (bundled with scikit-learn): {len(y)} records, {X.shape[1]} features.\n"
        f"One decision stump, chosen privately; no bounds of the data are given.\n"
        f"Test accuracy, mean and standard deviation over {SPLITS} random splits:\n\n"
    )
    learners: dict[str, Any] = {
        f"private, epsilon = {epsilon:g}": _private(epsilon, sorted(set(data.target_names.tolist())))
        for epsilon in EPSILONS
    }
    learners["scikit-learn's stump"] = DecisionTreeClassifier(max_depth=1)
    learners["majority class"] = DummyClassifier()
    accuracies = _accuracies(learners, X, y)
    for name, values in accuracies.items():
        sys.stdout.write(f"  {name:<26} {np.mean(values):.3f} +- {np.std(values):.3f}\n")
    sys.stdout.write(
        "\nscikit-learn's stump is not private; it minimises Gini impurity, ours the number of errors:\n"
        "differences of 0.02 between the two are chance.\n"
    )
    guarantee = _private(1.0, ["benign", "malignant"]).plan(len(y), n_features=X.shape[1]).guarantee
    sys.stdout.write(
        f"\nWhat epsilon = 1 guarantees, for each single fit: {guarantee.sentence()}\n"
        f"It assumes that {'; '.join(guarantee.assumes)}.\n"
        "These accuracies are for show, on public data: on private data each of them would be a release.\n"
    )


def _private(epsilon: float, classes: list[str]) -> ExponentialMechanismClassifier:
    return ExponentialMechanismClassifier("stumps", epsilon=epsilon, classes=classes)


def _accuracies(learners: dict[str, Any], X: Any, y: Any) -> dict[str, list[float]]:
    splits = list(StratifiedShuffleSplit(SPLITS, test_size=0.25, random_state=0).split(X, y))
    accuracies: dict[str, list[float]] = {name: [] for name in learners}
    with warnings.catch_warnings(), progress():
        warnings.filterwarnings("ignore", "n_samples is")  # the demonstration shows the effect of few records
        for train, test in watched(splits, "Splitting"):
            for name, learner in learners.items():
                accuracies[name].append(float(learner.fit(X[train], y[train]).score(X[test], y[test])))
    return accuracies
