"""How many times a fit without privacy does one of ours take, and how much memory beside the table?

    python benchmarks/bench_speed.py [--rows 100000,1000000] [--rounds 3] [--learners NAME,...] [--json PATH]

Tables of 20 standard normal floats and two labels. Each learner is fitted in a process of its own, in turn
with its peers, with one thread: CPU seconds are the least of all rounds, and `times` is the ratio to
scikit-learn's `LogisticRegression`, whatever the learner. Memory is the peak above that before the first fit,
which is ours, in sizes of the table.

"declared": columns are grids of 1025 points from -4 to 4. "undeclared": `domain=None`, floats without bounds.
"learned": `domain="learn"`, the default.

Bar, with exit status 1 if it is missed: for 10^6 rows, naive Bayes takes at most 3 times the CPU of
`LogisticRegression`, and naive Bayes and additive models without interactions take less memory than the
table.
"""

import sys
from typing import Any

from all.environments import ONE_CORE
from side_by_side import asked_of, by_learner, lined_up

WIDTH, MOST, BAR_ROWS = 20, 3.0, 1_000_000
DOMAINS = ("declared", "undeclared", "learned")
LEARNERS = (
    "StatisticalQueryLogisticRegression",
    *(f"StatisticalQueryNaiveBayes {domain}" for domain in DOMAINS),
    *(f"AdditiveClassifier {domain} interactions=False" for domain in DOMAINS),
    *(f"AdditiveClassifier {domain}" for domain in DOMAINS),
)

#: Fits a learner and its peers in turn, and prints seconds by name, and bytes of the table and above it.
PROGRAM = """
import json, sys, time, warnings
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
import dplearn
from dplearn.domains import Grid
warnings.simplefilter("ignore")
name, n, d, rounds = sys.argv[1], *map(int, sys.argv[2:5])
kind, *words = name.split()
domains = {"declared": Grid(-4, 4, 1025, outside="clip"), "undeclared": None, "learned": "learn"}
how = {"domain": domains[word] for word in words if word in domains}
if "interactions=False" in words:
    how["interactions"] = False
makes = {"ours": lambda: getattr(dplearn, kind)(epsilon=1.0, classes=[0, 1], **how)}
makes["LogisticRegression"] = LogisticRegression
if "Bayes" in kind:
    makes["GaussianNB"] = GaussianNB
if "Additive" in kind:
    makes["HistGradientBoostingClassifier"] = HistGradientBoostingClassifier

def peak():
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))

generator = np.random.default_rng(0)
X = np.empty((n, d))
generator.standard_normal(out=X)
y = (X @ generator.standard_normal(d) / 3 + generator.standard_normal(n) > 0).astype(np.int64)
makes["ours"]().fit(X[:2000], y[:2000])
before, above, times = peak(), None, {}
for _ in range(rounds):
    for who, make in makes.items():
        if who.startswith("Hist") and who in times:
            continue
        start, wall = time.process_time(), time.perf_counter()
        make().fit(X, y)
        times.setdefault(who, []).append([time.process_time() - start, time.perf_counter() - wall])
        above = peak() - before if above is None else above
print(json.dumps({"times": times, "table": X.nbytes, "above": above}))
"""

Row = dict[str, Any]


def rows_of(n: int, learner: str, rounds: int) -> list[Row]:
    """Return a row for the learner and one for each of its peers."""
    got: Any = asked_of(sys.executable, PROGRAM, learner, n, WIDTH, rounds, **ONE_CORE)
    if got is None:
        return []
    least = {who: [min(each) for each in zip(*times, strict=True)] for who, times in got["times"].items()}
    reference, found = least["LogisticRegression"][0], []
    for who, (cpu, wall) in least.items():
        row: Row = {
            "rows": n,
            "learner": learner,
            "by": who,
            "cpu": cpu,
            "wall": wall,
            "times": cpu / reference,
        }
        if who == "ours":
            row["memory"] = got["above"] / got["table"]
            row |= passed(learner, row) if n == BAR_ROWS else {}
        found.append(row)
    return found


def passed(learner: str, row: Row) -> Row:
    """Return whether a learner with a bar passes it."""
    if "Bayes" in learner:
        return {"passed": row["times"] <= MOST and row["memory"] <= 1}
    if "interactions=False" in learner:
        return {"passed": row["memory"] <= 1}
    return {}


def shown(rows: list[Row]) -> str:
    lines = [["learner", "by", "rows", "CPU s", "wall s", "times", "memory", "bar"]]
    for row in rows:
        memory = f"{row['memory']:.2f}" if "memory" in row else ""
        bar = {True: "pass", False: "FAIL", None: ""}[row.get("passed")]
        numbers = [f"{row['rows']:,}", *(f"{row[key]:.2f}" for key in ("cpu", "wall", "times"))]
        lines.append([row["learner"], row["by"], *numbers, memory, bar])
    return lined_up(lines, left=2)


def main() -> int:
    packages, rows = ("numpy", "scipy", "scikit-learn"), (100_000, BAR_ROWS)
    return by_learner("speed", __doc__, packages, rows_of, shown, 3, rows=rows, learners=LEARNERS)


if __name__ == "__main__":
    sys.exit(main())
