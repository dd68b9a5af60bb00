"""How accurate are private classifiers of several labels of a record, within one budget?

    python benchmarks/bench_multi_output.py [--data FOLDER] [--seeds 5] [--epsilon 1] [--only WORD]
        [--json PATH]

Adult (census income; FOLDER holds adult_train.csv and adult_test.csv, without it OpenML is asked): all 48,842
records, for each seed cut at random into 32,561 and 16,281. Eight labels of a record: age above each of its
quartiles (28, 37, 48), more than 9 and more than 12 years of education, fewer and more than 40 hours a week
(their median), and income above 50K. All outputs of `PrivateMultiOutputClassifier` have the same features. So
these are the nine columns that no label is made from; all classifiers below are given the same. Where a label
is cut is public here, as its column is: it is no part of what is measured.

Mean over the eight labels, and over seeds, of the accuracy on test records and of the area under the ROC
curve, at a total of (epsilon, 1e-6), each fit with fresh entropy of the operating system; seconds of all
eight fits. Domains are declared as in bench_generic.py. "all at once": one fit to all labels. "each":
`PrivateMultiOutputClassifier`, one classifier for each label with the greatest share that composition allows.
"basic composition": scikit-learn's `MultiOutputClassifier` at (epsilon, delta) / 8 for each label, as other
libraries would have to be used. "synthetic": logistic regression and boosting for each label, fitted to as
many records of one `SyntheticTable` of all features and labels as there are true ones.

Bar at epsilon 1: mean accuracy of the best of ours within 2.5 points of the best without privacy; exit status
1 if not.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from bench_generic import CATEGORIES, NUMBERS, adult_from_folder, adult_from_openml
from side_by_side import lined_up, options_of, peer, write
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, OrdinalEncoder

from dplearn.domains import Categories, IntegerRange, Schema
from dplearn.learners import (
    AdditiveClassifier,
    PrivateMultiOutputClassifier,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
)
from dplearn.releases import SyntheticTable

pandas = peer("pandas")

DELTA, TRAIN_ROWS, BAR_EPSILON, BAR = 1e-6, 32_561, 1.0, 2.5
#: Of each label, its column and where that is cut: above the number, or below it.
CUTS = {
    "age over 28": ("age", 28, True),
    "age over 37": ("age", 37, True),
    "age over 48": ("age", 48, True),
    "more than 9 years": ("education_num", 9, True),
    "more than 12 years": ("education_num", 12, True),
    "under 40 hours": ("hours_per_week", 40, False),
    "over 40 hours": ("hours_per_week", 40, True),
}
INCOME = "income over 50K"
LABELS = [*CUTS, INCOME]
_CUT = {column for column, *_ in CUTS.values()} | {
    "education"
}  # education_num is a number for each education
FEATURES = [column for column in [*NUMBERS, *CATEGORIES] if column not in _CUT]
NUMERIC = [column for column in FEATURES if column in NUMBERS]
SCHEMA = Schema(
    {column: NUMBERS[column] if column in NUMBERS else Categories(CATEGORIES[column]) for column in FEATURES}
)
TABLE = Schema(dict(zip(FEATURES, SCHEMA.domains, strict=True)) | dict.fromkeys(LABELS, IntegerRange(0, 1)))


@dataclass
class Row:
    """The figures of one method, a mean over labels for each seed."""

    method: str
    private: bool
    accuracy: list[float] = field(default_factory=list)
    auc: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def cells(self) -> list[str]:
        """Return the row of the printed table."""
        accuracy = f"{np.mean(self.accuracy):.2f} (sd {np.std(self.accuracy):.2f})"
        auc = f"{np.mean(self.auc):.4f} (sd {np.std(self.auc):.4f})"
        return [self.method, accuracy, auc, f"{np.mean(self.seconds):.2f}"]


def labels_of(frame: Any) -> Any:
    """Return the eight labels of all records, of shape (n, 8)."""
    made = [(frame[c] > at) if above else (frame[c] < at) for c, at, above in CUTS.values()]
    return np.stack([*made, frame["income"] == ">50K"], axis=1).astype(np.int64)


def boosting() -> Any:
    """Return gradient boosting with codes of categories."""
    names = [column for column in FEATURES if column not in NUMERIC]
    codes = OrdinalEncoder(categories=[list(CATEGORIES[column]) for column in names])
    return make_pipeline(
        make_column_transformer((codes, names), remainder="passthrough"),
        HistGradientBoostingClassifier(random_state=0),
    )


def linear() -> Any:
    """Return logistic regression, with categories one-hot and scaled numbers."""
    names = [column for column in FEATURES if column not in NUMERIC]
    one_hot = OneHotEncoder(categories=[list(CATEGORIES[column]) for column in names])
    columns = make_column_transformer((one_hot, names), (MinMaxScaler(), NUMERIC))
    return make_pipeline(columns, LogisticRegression(max_iter=500))


class OfSyntheticRecords:
    """Any classifier of each label, fitted to records of one synthetic table of all features and labels."""

    def __init__(self, inner: Any, epsilon: float):
        self.inner, self.epsilon = inner, epsilon

    def fit(self, X: Any, Y: Any) -> "OfSyntheticRecords":
        table = SyntheticTable(self.epsilon, DELTA, domain=TABLE)
        rows = table.fit(X.assign(**dict(zip(LABELS, Y.T, strict=True)))).sample(len(X))
        given = rows[LABELS].to_numpy().astype(np.int64)
        self.fitted = MultiOutputClassifier(self.inner).fit(rows[FEATURES], given)
        return self

    def predict_proba(self, X: Any) -> Any:
        return self.fitted.predict_proba(X)


def contenders(epsilon: float) -> Iterator[tuple[str, bool, Callable[[], Any]]]:
    """Yield the name of each method, whether it is private, and a function that returns it."""
    yield "majority", False, lambda: MultiOutputClassifier(DummyClassifier())
    yield "boosting", False, lambda: MultiOutputClassifier(boosting())
    yield "logistic regression", False, lambda: MultiOutputClassifier(linear())
    budget = {"epsilon": epsilon, "delta": DELTA}
    yield (
        "AdditiveClassifier, all at once",
        True,
        lambda: AdditiveClassifier(domain=SCHEMA, classes=[0, 1], **budget),
    )
    share = {"epsilon": epsilon / len(LABELS), "delta": DELTA / len(LABELS)}
    for learner in (AdditiveClassifier, StatisticalQueryLogisticRegression, StatisticalQueryNaiveBayes):
        inner = learner(domain=SCHEMA, classes=[0, 1])
        name = learner.__name__
        yield f"{name}, each", True, lambda i=inner: PrivateMultiOutputClassifier(i, **budget)
        part = learner(domain=SCHEMA, classes=[0, 1], **share)
        yield f"{name}, basic composition", True, lambda i=part: MultiOutputClassifier(i)
    yield "synthetic, logistic regression", True, lambda: OfSyntheticRecords(linear(), epsilon)
    yield "synthetic, boosting", True, lambda: OfSyntheticRecords(boosting(), epsilon)


def cut_at_random(frame: Any, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return training rows and labels, then test rows and labels."""
    places = np.random.default_rng(seed).permutation(len(frame))
    X, Y = frame[FEATURES], labels_of(frame)
    parts = (places[:TRAIN_ROWS], places[TRAIN_ROWS:])
    return tuple(each for part in parts for each in (X.iloc[part].reset_index(drop=True), Y[part]))


def measure(row: Row, model: Any, split: tuple[Any, Any, Any, Any]) -> None:
    """Fit a model, and add its figures to its row."""
    X, Y, test, truth = split
    start = time.perf_counter()
    model.fit(X, Y)
    row.seconds.append(time.perf_counter() - start)
    likely = [each[:, 1] for each in model.predict_proba(test)]
    row.accuracy.append(100 * float(np.mean([(p > 0.5) == y for p, y in zip(likely, truth.T, strict=True)])))
    row.auc.append(float(np.mean([roc_auc_score(y, p) for p, y in zip(likely, truth.T, strict=True)])))


def all_rows(options: Any) -> list[Row]:
    """Return all rows of the benchmark."""
    parts = adult_from_openml() if options.data is None else adult_from_folder(options.data)
    frame = pandas.concat(parts, ignore_index=True)
    found = {
        name: Row(name, private) for name, private, _ in contenders(options.epsilon) if options.only in name
    }
    for seed in range(options.seeds):
        split = cut_at_random(frame, seed)
        for name, _, make in contenders(options.epsilon):
            if name in found:
                measure(found[name], make(), split)
    return list(found.values())


def below_bar(rows: list[Row]) -> str | None:
    """Return by how much the bar is missed, if it is."""
    best = {
        kind: max((np.mean(row.accuracy) for row in rows if row.private == kind), default=0.0)
        for kind in (True, False)
    }
    short = best[False] - best[True]
    return None if short <= BAR else f"{short:.2f} points below the best without privacy, more than {BAR}"


def main() -> int:
    parser = options_of("multi_output", __doc__)
    parser.add_argument("--data", type=Path, help="folder with adult_train.csv and adult_test.csv")
    parser.add_argument("--seeds", type=int, default=5, help="random cuts, with a fit of each method")
    parser.add_argument("--epsilon", type=float, default=BAR_EPSILON, help="the total of all outputs")
    parser.add_argument("--only", default="", help="methods whose name has this word; then there is no bar")
    options = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    rows = all_rows(options)
    head = ["method", "mean accuracy", "mean AUC", "seconds"]
    print(lined_up([head, *(row.cells() for row in rows)]))
    barred = options.epsilon == BAR_EPSILON and not options.only
    missed = below_bar(rows) if barred else None
    print(f"missed: {missed}" if missed else "the bar is reached" if barred else "no bar here")
    packages = ("numpy", "scikit-learn", "pandas")
    findings = {"seeds": options.seeds, "epsilon": options.epsilon, "missed": missed}
    write(options.json, packages, **findings, rows=[vars(row) for row in rows])
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
