"""Who learns a parity, and how long does it take?

    python benchmarks/bench_parity.py [--fits 200] [--diffprivlib-python PATH] [--json PATH]

Accuracy: 16 columns of fair coins, of which a random half or so are added up, 4,000 records, epsilon 1; each
fit has a parity and records of its own, and 4,000 fresh records to be tested on. Bar: each of our methods has
an accuracy of at least .99 in 95% of its fits. Beside them scikit-learn's learners without privacy, and
diffprivlib's (which need an older scikit-learn: name the python of an environment that has both).

Time: 200,000 records of 1,024 columns, packed from bytes by the fit itself. Bar: 10 seconds each. The limit
is to compare each byte with the bar once. Parities and records are public and synthetic.
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
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from dplearn import ParityClassifier
from dplearn.kernels import pack

COLUMNS, RECORDS, EPSILON, DELTA = 16, 4000, 1.0, 1e-6
GOOD, SHARE = 0.99, 0.95
WIDE, MANY, SECONDS = 1024, 200_000, 10
THEIRS = ("GaussianNB", "LogisticRegression", "RandomForestClassifier")
THEIR_PROGRAM = """
import json, sys, warnings
import numpy as np
import diffprivlib.models as models
warnings.simplefilter("ignore")
data = np.load(sys.argv[1])
name, epsilon, d = sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
how = {"data_norm": d ** .5} if name == "LogisticRegression" else {"bounds": (0.0, 1.0)}
if "Forest" in name:
    how["classes"] = [0, 1]
found = []
for X, y, X_test, y_test in zip(*(data[part] for part in ("X", "y", "X_test", "y_test"))):
    found.append(float(getattr(models, name)(epsilon=epsilon, **how).fit(X, y).score(X_test, y_test)))
print(json.dumps(found))
"""

Table = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def tables(fits: int) -> list[Table]:
    """Return training and test records of a parity each."""
    generator = public_generator()
    found = []
    for _ in range(fits):
        parity = generator.integers(0, 2, COLUMNS)
        X = generator.integers(0, 2, (2 * RECORDS, COLUMNS), dtype=np.uint8)
        y = X @ parity % 2
        found.append((X[:RECORDS], y[:RECORDS], X[RECORDS:], y[RECORDS:]))
    return found


def learners() -> dict[str, Callable[[], Any]]:
    """Return who learns here: ours by method, and others without privacy."""
    ours = partial(ParityClassifier, epsilon=EPSILON, classes=[0, 1], binarize=None)
    return {
        "dplearn, agnostic": partial(ours, method="agnostic"),
        "dplearn, elimination": partial(ours, method="elimination"),
        "dplearn, stable": partial(ours, method="stable", delta=DELTA),
        "scikit-learn, GaussianNB": GaussianNB,
        "scikit-learn, LogisticRegression": LogisticRegression,
        "scikit-learn, RandomForestClassifier": RandomForestClassifier,
    }


def accuracies(fits: int, python: str | None) -> Iterator[dict[str, Any]]:
    ours, few = tables(fits), tables(min(fits, 10))
    for name, make in learners().items():
        taken = ours if name.startswith("dplearn") else few
        found = [float(make().fit(X, y).score(X_test, y_test)) for X, y, X_test, y_test in taken]
        yield row(name, found, barred=name.startswith("dplearn"))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "parity.npz"
        parts = zip(*few, strict=True)
        np.savez(path, **dict(zip(("X", "y", "X_test", "y_test"), map(np.array, parts), strict=True)))
        for name in THEIRS:
            found = None if python is None else asked_of(python, THEIR_PROGRAM, path, name, EPSILON, COLUMNS)
            yield row(f"diffprivlib, {name}", found or [], barred=False)


def row(name: str, found: list[float], barred: bool) -> dict[str, Any]:
    good = float(np.mean(np.array(found) >= GOOD)) if found else math.nan
    mean = float(np.mean(found)) if found else math.nan
    return {"learner": name, "fits": len(found), "mean": mean, "good": good, "bar": SHARE if barred else None}


def accuracies_shown(rows: list[dict[str, Any]]) -> str:
    lines = [["learner", "fits", "mean accuracy", f"share of fits at {GOOD}", f"bar {SHARE:g}"]]
    for r in rows:
        verdict = "" if r["bar"] is None else "met" if r["good"] >= r["bar"] else "MISSED"
        figures = [f"{r['mean']:.3f}", f"{r['good']:.3f}"] if r["fits"] else ["absent", ""]
        lines.append([r["learner"], str(r["fits"]), *figures, verdict])
    return lined_up(lines)


def times() -> list[dict[str, Any]]:
    """Time whole fits, of one label and of 64 at once."""
    generator = public_generator()
    X = generator.integers(0, 2, (MANY, WIDE), dtype=np.uint8)
    Y = pack(X).dot(generator.integers(0, 2, (WIDE, 64), dtype=np.uint8))
    ours = partial(ParityClassifier, epsilon=EPSILON, classes=[0, 1], binarize=None)
    contenders = {
        "elimination": lambda: ours(method="elimination").fit(X, Y[:, 0]),
        "stable": lambda: ours(method="stable", delta=DELTA).fit(X, Y[:, 0]),
        "stable, 64 labels": lambda: ours(method="stable", delta=DELTA).fit(X, Y),
        "limit": lambda: X > 0,
    }
    found = compared(contenders, "elimination", rounds=3)
    return [{"records": f"{MANY} x {WIDE}"} | each for each in found]


def main() -> int:
    parser = options_of("bench_parity", __doc__)
    parser.add_argument("--fits", type=int, default=200)
    parser.add_argument("--diffprivlib-python", help="python of an environment with diffprivlib")
    options = parser.parse_args()
    warnings.simplefilter("error")  # none of ours may have too few records
    rows = list(accuracies(options.fits, options.diffprivlib_python))
    print(accuracies_shown(rows), "\n")
    timed = times()
    print(shown(timed, "records"))
    write(options.json, ("numpy", "scikit-learn"), accuracy=rows, times=timed)
    slow = any(each["seconds"] > SECONDS for each in timed)
    return int(slow or any(r["bar"] is not None and r["good"] < r["bar"] for r in rows))


if __name__ == "__main__":
    sys.exit(main())
