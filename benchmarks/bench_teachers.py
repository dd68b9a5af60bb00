"""How long do teachers take to train: in a loop, in threads, in processes, and in our worker pool?

    python benchmarks/bench_teachers.py [--teachers 250] [--rounds 3] [--json FILE]

Each teacher learns from its own shard of made-up records and votes on 1000 queries. The loop fits one clone
after the other with n_jobs=None. Threads and processes are joblib's, one task for each teacher, without our
isolation; ours is `train_and_ask` with n_jobs=1 and n_jobs=2. "Cold" is ours if no worker process runs yet;
the others start theirs in a first round. Threads are shown for comparison: they are not private, since they
share Python's warning filters, and ours never uses them.

Bars, where a fit takes 5 ms or more: with n_jobs=1 at most 1.1 times the loop, and with n_jobs=2, warm, at
least 1.6 times as fast as it. Shorter fits show the cost of isolation, some tenths of a millisecond each, and
of the processes; n_jobs=2 is for long ones.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from joblib.externals.loky import get_reusable_executor
from side_by_side import Contenders, compared, options_of, public_generator, shown, write
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dplearn.chance import PublicStream
from dplearn.ensembles.asking import Labels
from dplearn.ensembles.shards import shards
from dplearn.ensembles.teachers import train_and_ask

SHARD, FEATURES, QUERIES = 200, 20, 1000
CLASSES = np.array(["no", "yes"])
LOOP, THREADS, PROCESSES = "the loop", "joblib's threads (unsafe)", "joblib's processes"
STOP = "processes are stopped"
ONE, TWO, COLD = "dplearn, n_jobs=1", "dplearn, n_jobs=2", "dplearn, n_jobs=2, cold"
SLOWEST_ONE, FASTER, FROM_SECONDS = 1.1, 1.6, 0.005
ESTIMATORS: dict[str, Any] = {
    "naive Bayes": GaussianNB(),
    "logistic regression": make_pipeline(StandardScaler(), LogisticRegression(C=100.0, tol=1e-8)),
    "random forest": RandomForestClassifier(10, random_state=0),
}


def lesson(estimator: Any, X: np.ndarray, y: np.ndarray, queries: np.ndarray) -> np.ndarray:
    return np.searchsorted(CLASSES, clone(estimator).fit(X, y).predict(queries))


def contenders(estimator: Any, n_teachers: int) -> Contenders:
    generator, stream = public_generator(), PublicStream(0)
    X = generator.normal(size=(n_teachers * SHARD, FEATURES))
    y = CLASSES[(X[:, 0] + generator.normal(size=len(X)) > 0).astype(int)]
    queries, cut = generator.normal(size=(QUERIES, FEATURES)), shards(len(X), n_teachers, stream)

    def loop() -> list[np.ndarray]:
        return [lesson(estimator, X[shard], y[shard], queries) for shard in cut]

    def spread(prefer: str) -> list[np.ndarray]:
        tasks = (delayed(lesson)(estimator, X[shard], y[shard], queries) for shard in cut)
        return Parallel(n_jobs=2, prefer=prefer)(tasks)

    ours: Callable[..., np.ndarray] = partial(
        train_and_ask,
        estimator,
        X,
        y,
        cut,
        queries=queries,
        asked=Labels(CLASSES),
        seeds=stream.seeds(n_teachers),
    )

    def stop() -> None:
        get_reusable_executor().shutdown(wait=True)

    two = partial(ours, n_jobs=2)
    # Worker processes of the contender before are reused, except where they are stopped first.
    return {
        LOOP: loop,
        ONE: partial(ours, n_jobs=1),
        THREADS: partial(spread, "threads"),
        PROCESSES: partial(spread, "processes"),
        TWO: two,
        STOP: stop,
        COLD: two,
    }


def rows(n_teachers: int, rounds: int) -> list[dict[str, Any]]:
    table = []
    for name, estimator in ESTIMATORS.items():
        by = contenders(estimator, n_teachers)
        by[TWO]()
        table += [{"teacher": name} | row for row in compared(by, TWO, rounds) if row["by"] != STOP]
    return table


def bars(table: list[dict[str, Any]], n_teachers: int) -> list[dict[str, Any]]:
    """Return the bars, what was reached, and whether that will do."""
    reached = []
    for name in ESTIMATORS:
        seconds = {row["by"]: row["seconds"] for row in table if row["teacher"] == name}
        if seconds[LOOP] / n_teachers < FROM_SECONDS:
            continue
        for who, other, most in [(ONE, LOOP, SLOWEST_ONE), (TWO, LOOP, 1 / FASTER)]:
            times = seconds[who] / seconds[other]
            reached.append({"bar": f"{name}: {who}, at most {most} times {other}", "ours": times})
            reached[-1]["met"] = times <= most
    return reached


def main() -> None:
    parser = options_of("teachers", __doc__)
    parser.add_argument("--teachers", type=int, default=250)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = rows(options.teachers, options.rounds)
    met = bars(table, options.teachers)
    print(f"{shown(table, 'teacher')}\n")
    for bar in met:
        print(f"bar: {bar['bar']}: {bar['ours']:.2f}, {'met' if bar['met'] else 'MISSED'}")
    write(
        options.json,
        ("numpy", "scikit-learn", "joblib"),
        teachers=options.teachers,
        rounds=options.rounds,
        bars=met,
        rows=table,
    )


if __name__ == "__main__":
    main()
