"""Rare labels, 2 % positive: recall, AUC and balanced accuracy beside a logistic regression without privacy.

    python benchmarks/bench_imbalance.py [--quick] [--seeds 5] [--output FILE]

The tables are synthetic, with a label of a share of .02, of 20,000 and 100,000 records with 6 and 20 columns.
No default was chosen on them. Half of the records train and the other half test; means over the seeds.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, recall_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dplearn import AdditiveClassifier, StatisticalQueryLogisticRegression
from dplearn.domains import Grid
from dplearn.learners.naive_bayes import StatisticalQueryNaiveBayes
from dplearn.model_selection import PrivateTunedThresholdClassifier

SHARE = 0.02
SEEDS = 5
LABELS = {"classes": [0, 1]}


def tables(quick):
    """Yield the name, the rows, clipped to [-5, 5], and the labels of each table."""
    for n, d in [(20_000, 6)] if quick else [(20_000, 6), (100_000, 20)]:
        X, y = make_classification(
            n, d, n_informative=4, weights=[1 - SHARE], class_sep=1.5, flip_y=0, random_state=1
        )
        yield f"synthetic, {n} x {d}", X.clip(-5, 5), y


def models(epsilon, seed):
    """Return the ways to find a rare label, by name."""
    logistic = lambda **more: StatisticalQueryLogisticRegression(  # noqa: E731
        epsilon=epsilon, random_state=seed, **LABELS, **more
    )
    additive = lambda **more: AdditiveClassifier(  # noqa: E731
        epsilon=epsilon, domain=Grid(-5, 5), random_state=seed, **LABELS, **more
    )
    bayes = lambda **more: StatisticalQueryNaiveBayes(  # noqa: E731
        epsilon=epsilon, domain=Grid(-5, 5), random_state=seed, **LABELS, **more
    )
    return {
        "no privacy, balanced": make_pipeline(StandardScaler(), LogisticRegression(class_weight="balanced")),
        "logistic": logistic(),
        "logistic, balanced": logistic(class_weight="balanced"),
        "logistic, tuned threshold": PrivateTunedThresholdClassifier(
            logistic(), epsilon=epsilon, random_state=seed
        ),
        "additive": additive(),
        "additive, balanced": additive(class_weight="balanced"),
        "additive, tuned threshold": PrivateTunedThresholdClassifier(
            additive(), epsilon=epsilon, random_state=seed
        ),
        "naive Bayes": bayes(),
        "naive Bayes, equal priors": bayes(priors=[0.5, 0.5]),
        "naive Bayes, tuned threshold": PrivateTunedThresholdClassifier(
            bayes(), epsilon=epsilon, random_state=seed
        ),
    }


def measured(model, train, test):
    """Return recall, AUC and balanced accuracy."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(*train)
    predicted = model.predict(test[0])
    return (
        recall_score(test[1], predicted),
        roc_auc_score(test[1], model.predict_proba(test[0])[:, 1]),
        balanced_accuracy_score(test[1], predicted),
    )


def main():
    """Print a line for each table, epsilon and model, and write all as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one table, one seed, one epsilon")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    found = []
    for name, X, y in tables(given.quick):
        for epsilon in [1.0] if given.quick else [0.3, 1.0, 3.0]:
            print(f"{name}, epsilon {epsilon:g}: recall, AUC, balanced accuracy")
            results = {}
            for seed in range(1 if given.quick else given.seeds):
                a, b, u, v = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
                for way, model in models(epsilon, seed).items():
                    results.setdefault(way, []).append(measured(model, (a, u), (b, v)))
            for way, each in results.items():
                means = np.mean(each, axis=0).round(3).tolist()
                print(f"  {way:30s}", *(f"{mean:.3f}" for mean in means))
                found.append({"table": name, "epsilon": epsilon, "model": way, "means": means})
    if given.output:
        given.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
