"""How long do small fits, predictions, plans, clones and imports take, beside those of scikit-learn?

    python benchmarks/bench_fixed.py [--rounds 5] [--json PATH]

CPU milliseconds of one thread, the least of some rounds in which all take turns. `times` is the ratio to
`LogisticRegression` of scikit-learn, of imports that to `sklearn.base`. "new fit": 200 records or a few more
of 5 standard normal columns, with another epsilon and another number of records each time, as in a search, so
that no budget has been calibrated before. "fit": always the same. "100 labels": a fit of 30,000 x 10.
"predict": 10^6 x 10; "one row": 1 x 10. In both the models are of 20,000 records, of which two columns
interact. A plan is of another epsilon each time.
"""

import os
import subprocess
import sys
from typing import Any

from all.environments import ONE_CORE
from side_by_side import asked_of, lined_up, options_of, write

REFERENCES = ("LogisticRegression", "import sklearn.base")
IMPORTS = ("sklearn.base", "dplearn", "dplearn.releases", "dplearn.learners.linear")
COMMANDS = {
    **{f"import {module}": ["-c", f"import {module}"] for module in IMPORTS},
    "import AdditiveClassifier": ["-c", "from dplearn import AdditiveClassifier"],
    "python -m dplearn --help": ["-m", "dplearn", "--help"],
}

#: Prints milliseconds by task and learner.
PROGRAM = """
import json, sys, time, warnings
from itertools import count
import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from dplearn import (AdditiveClassifier, LinearRegressor, StatisticalQueryLogisticRegression,
                     StatisticalQueryNaiveBayes)
from dplearn.domains import Grid
warnings.simplefilter("ignore")
grid, new = Grid(-4, 4, 1025, outside="clip"), count(1)
ours = {"naive Bayes": StatisticalQueryNaiveBayes, "logistic": StatisticalQueryLogisticRegression,
        "additive": AdditiveClassifier}
makes = {"LogisticRegression": LogisticRegression, "boosting": HistGradientBoostingClassifier}
for name, kind in ours.items():
    for word, domain in (("declared", grid), ("learned", "learn")):
        makes[f"{name}, {word}"] = lambda kind=kind, domain=domain, **how: kind(
            **({"classes": [0, 1]} | how), domain=domain)
makes["linear, declared"] = lambda **how: LinearRegressor(target_range=(0, 1), domain=grid, **how)
generator = np.random.default_rng(0)
X = generator.standard_normal((20_000, 10))
y = (X[:, 0] + X[:, 1] * X[:, 2] + generator.standard_normal(len(X)) > 0).astype(np.int64)
many = generator.standard_normal((1_000_000, 10))
hundred = (many[:30_000, 0] * 9).astype(np.int64) % 100
models = {name: make().fit(X, y) for name, make in makes.items()}
private = {name: make for name, make in makes.items() if "," in name}

def fit(make, place=0, **how):
    make(**how).fit(X[: 200 + place, :5], y[: 200 + place])

def plan(name):
    labels = {} if name.startswith("linear") else {"n_labels": 2}
    makes[name](epsilon=1 + next(new) / 997).plan(1000, n_features=5, **labels)

def new_fit(name):
    place = next(new)
    fit(makes[name], place, **({"epsilon": 1 + place / 997} if name in private else {}))

tasks = {
    "new fit": (1, new_fit, makes),
    "fit": (1, lambda name: fit(makes[name]), makes),
    "100 labels": (1, lambda name: makes[name](classes=range(100)).fit(many[:30_000], hundred),
                   ["additive, declared"]),
    "predict": (1, lambda name: models[name].predict(many), makes),
    "one row": (50, lambda name: models[name].predict(X[:1]), makes),
    "clone": (50, lambda name: clone(models[name]), makes),
    "plan": (1, plan, private),
}
found = {task: {} for task in tasks}
for _ in range(int(sys.argv[1])):
    for task, (calls, call, names) in tasks.items():
        for name in names:
            start = time.process_time()
            for _ in range(calls):
                call(name)
            took = 1000 * (time.process_time() - start) / calls
            found[task][name] = min(took, found[task].get(name, took))
print(json.dumps(found))
"""

Row = dict[str, Any]


def command_ms(arguments: list[str]) -> float:
    """Return the CPU milliseconds of a Python process."""
    before = os.times()
    subprocess.run(
        [sys.executable, *arguments], env={**os.environ, **ONE_CORE}, stdout=subprocess.DEVNULL, check=True
    )
    after = os.times()
    return 1000 * sum(
        getattr(after, key) - getattr(before, key) for key in ("children_user", "children_system")
    )


def rows_of(task: str, times: dict[str, float]) -> list[Row]:
    """Return a row for each contender of a task."""
    [reference] = [times[name] for name in REFERENCES if name in times] or [float("nan")]
    return [{"task": task, "by": name, "ms": ms, "times": ms / reference} for name, ms in times.items()]


def shown(rows: list[Row]) -> str:
    lines = [["task", "by", "CPU ms", "times"]]
    lines += [[row["task"], row["by"], f"{row['ms']:.3f}", f"{row['times']:.2f}"] for row in rows]
    return lined_up(lines, left=2)


def main() -> int:
    parser = options_of("fixed", __doc__)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found: Any = asked_of(sys.executable, PROGRAM, options.rounds, **ONE_CORE) or {}
    rows = [row for task, times in found.items() for row in rows_of(task, times)]
    rounds = [
        {name: command_ms(command) for name, command in COMMANDS.items()} for _ in range(options.rounds)
    ]
    rows += rows_of("start", {name: min(each[name] for each in rounds) for name in COMMANDS})
    print(shown(rows))
    write(options.json, ("numpy", "scipy", "scikit-learn"), rows=rows)
    return int(not found)


if __name__ == "__main__":
    sys.exit(main())
