"""How accurate is a private threshold that is told no bounds, and how long does it take?

    python benchmarks/bench_thresholds.py [--fits 2000] [--diffprivlib-python PATH] [--json PATH]

Accuracy: 2,000 numbers uniform between 0 and 1, labelled by a cut uniform between 0 and 1, epsilon .1; each
fit has a cut and records of its own, and 10,000 fresh records to be tested on. Bar: "exponential", which is
told nothing of where the numbers lie, has a mean accuracy of at least .985. Beside it diffprivlib's learners,
which are told the exact bounds (and need an older scikit-learn: name the python of an environment that has
both), and scikit-learn's tree of one cut without privacy.

Time: a fit of a million records; the limit is to sort the column alone. Cuts and records are public and
synthetic.
"""

import math
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from side_by_side import asked_of, compared, lined_up, options_of, public_generator, shown, write
from sklearn.tree import DecisionTreeClassifier

from dplearn.learners.rules.threshold import ThresholdClassifier

RECORDS, TESTED, EPSILON = 2000, 10_000, 0.1
BAR = 0.985
MANY = 1_000_000
THEIRS = ("GaussianNB", "LogisticRegression", "RandomForestClassifier", "DecisionTreeClassifier")
THEIR_PROGRAM = """
import json, sys, warnings
import numpy as np
import diffprivlib.models as models
warnings.simplefilter("ignore")
data = np.load(sys.argv[1])
name, epsilon = sys.argv[2], float(sys.argv[3])
how = {"data_norm": 1.0} if name == "LogisticRegression" else {"bounds": (0.0, 1.0)}
if "Forest" in name or "Tree" in name:
    how["classes"] = [0, 1]
found = []
for X, y, X_test, y_test in zip(*(data[part] for part in ("X", "y", "X_test", "y_test"))):
    found.append(float(getattr(models, name)(epsilon=epsilon, **how).fit(X, y).score(X_test, y_test)))
print(json.dumps(found))
"""

Table = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def tables(fits: int) -> list[Table]:
    """Return training and test records of a cut each."""
    generator = public_generator()
    found = []
    for _ in range(fits):
        X, cut = generator.random((RECORDS + TESTED, 1)), generator.random()
        y = (X[:, 0] > cut).astype(np.int8)
        found.append((X[:RECORDS], y[:RECORDS], X[RECORDS:], y[RECORDS:]))
    return found


def learners() -> dict[str, Callable[[], Any]]:
    """Return who learns here: ours by method, and a tree without privacy."""
    ours = partial(ThresholdClassifier, epsilon=EPSILON, classes=[0, 1])
    return {
        "dplearn, exponential": partial(ours, method="exponential"),
        "dplearn, interior_point": partial(ours, method="interior_point"),
        "scikit-learn, a tree of one cut": partial(DecisionTreeClassifier, max_depth=1),
    }


def accuracies(fits: int, python: str | None) -> Iterator[dict[str, Any]]:
    taken = tables(fits)
    for name, make in learners().items():
        found = [float(make().fit(X, y).score(X_test, y_test)) for X, y, X_test, y_test in taken]
        yield row(name, found, barred=name.endswith("exponential"))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "thresholds.npz"
        parts = zip(*taken[: min(fits, 100)], strict=True)
        np.savez(path, **dict(zip(("X", "y", "X_test", "y_test"), map(np.array, parts), strict=True)))
        for name in THEIRS:
            found = None if python is None else asked_of(python, THEIR_PROGRAM, path, name, EPSILON)
            yield row(f"diffprivlib, {name}, told bounds", found or [], barred=False)


def row(name: str, found: list[float], barred: bool) -> dict[str, Any]:
    mean, spread = (float(np.mean(found)), float(np.std(found))) if found else (math.nan, math.nan)
    error = spread / math.sqrt(max(1, len(found)))
    return {"learner": name, "fits": len(found), "mean": mean, "error": error, "bar": BAR if barred else None}


def accuracies_shown(rows: list[dict[str, Any]]) -> str:
    lines = [["learner", "fits", "mean accuracy", "standard error", f"bar {BAR:g}"]]
    for r in rows:
        verdict = "" if r["bar"] is None else "met" if r["mean"] >= r["bar"] else "MISSED"
        figures = [f"{r['mean']:.4f}", f"{r['error']:.4f}"] if r["fits"] else ["absent", ""]
        lines.append([r["learner"], str(r["fits"]), *figures, verdict])
    return lined_up(lines)


def times() -> list[dict[str, Any]]:
    """Time whole fits against a sort of the column."""
    X = public_generator().random((MANY, 1))
    y = (X[:, 0] > 0.4).astype(int)
    ours = partial(ThresholdClassifier, epsilon=EPSILON)
    contenders = {
        "exponential": lambda: ours(method="exponential").fit(X, y),
        "interior_point": lambda: ours(method="interior_point").fit(X, y),
        "limit": lambda: np.sort(X[:, 0]),
    }
    found = compared(contenders, "exponential", rounds=5)
    return [{"records": str(MANY)} | each for each in found]


def main() -> int:
    parser = options_of("bench_thresholds", __doc__)
    parser.add_argument("--fits", type=int, default=2000)
    parser.add_argument("--diffprivlib-python", help="python of an environment with diffprivlib")
    options = parser.parse_args()
    warnings.simplefilter("error")
    warnings.filterwarnings("ignore", "n_samples is", UserWarning)  # interior_point needs more records
    rows = list(accuracies(options.fits, options.diffprivlib_python))
    print(accuracies_shown(rows), "\n")
    timed = times()
    print(shown(timed, "records"))
    write(options.json, ("numpy", "scikit-learn"), accuracy=rows, times=timed)
    return int(any(r["bar"] is not None and r["mean"] < r["bar"] for r in rows))


if __name__ == "__main__":
    sys.exit(main())
