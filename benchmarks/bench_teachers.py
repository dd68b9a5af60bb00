"""How long do teachers take to train: in a loop, in threads, in processes, and as we choose?

    python benchmarks/bench_teachers.py [--teachers 250] [--rounds 3] [--json FILE]

Each teacher learns from its own shard of made-up records and votes on 1000 queries. The loop fits one clone
after the other with n_jobs=None. Threads and processes are joblib's, one task a teacher, as users write them;
ours is `train_and_ask` with one and with two workers. "Cold" is ours where no worker process runs yet;
everybody else has had a first round to start theirs. Threads are shown for comparison: they are not private,
since they share Python's filters of warnings, and ours never uses them.

Bars: with two workers, warm or cold, at most 1.15 times our own loop. Where a fit takes 5 ms or more, with
one worker at most 1.1 times the loop, and with two, warm, at least 1.6 times as fast as it. Shorter fits show
what it costs to keep teachers apart: some tenths of a millisecond each.
"""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from side_by_side import Contenders, compared, options_of, public_generator, shown, write
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dplearn.aggregation import crew
from dplearn.aggregation.asking import Labels
from dplearn.aggregation.shards import shards
from dplearn.aggregation.teachers import train_and_ask
from dplearn.chance import PublicStream

SHARD, FEATURES, QUERIES = 200, 20, 1000
CLASSES = np.array(["no", "yes"])
LOOP, THREADS, PROCESSES = "the loop", "joblib's threads (unsafe)", "joblib's processes"
STOP = "processes are stopped"
ONE, TWO, COLD = "dplearn, one worker", "dplearn, two workers", "dplearn, two workers, cold"
OURS_SPREAD = "dplearn, processes asked for"
SLOWEST_ONE, SLOWEST_TWO, FASTER, FROM_SECONDS = 1.1, 1.15, 1.6, 0.005
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
        crew._last_spread = -np.inf

    def spread_ours() -> np.ndarray:
        with parallel_config(backend="loky", n_jobs=2):
            return ours()

    # Each after one that leaves processes behind, but for the one that is to find none.
    return {
        LOOP: loop,
        ONE: ours,
        THREADS: partial(spread, "threads"),
        PROCESSES: partial(spread, "processes"),
        OURS_SPREAD: spread_ours,  # from here on processes know the package
        TWO: partial(ours, n_jobs=2),
        STOP: stop,
        COLD: partial(ours, n_jobs=2),
    }


def rows(n_teachers: int, rounds: int) -> list[dict[str, Any]]:
    table = []
    for name, estimator in ESTIMATORS.items():
        by = contenders(estimator, n_teachers)
        by[OURS_SPREAD]()
        table += [{"teacher": name} | row for row in compared(by, TWO, rounds) if row["by"] != STOP]
    return table


def bars(table: list[dict[str, Any]], n_teachers: int) -> list[dict[str, Any]]:
    """Return the bars, what was reached, and whether that will do."""
    reached = []
    for name in ESTIMATORS:
        seconds = {row["by"]: row["seconds"] for row in table if row["teacher"] == name}
        limits = [(TWO, ONE, SLOWEST_TWO), (COLD, ONE, SLOWEST_TWO)]
        if seconds[LOOP] / n_teachers >= FROM_SECONDS:
            limits += [(ONE, LOOP, SLOWEST_ONE), (TWO, LOOP, 1 / FASTER)]
        for who, other, most in limits:
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
