"""How long do teachers take to train: in a loop, in threads, in processes, our worker pool, and batches?

    python benchmarks/bench_teachers.py [--teachers 250] [--rounds 3] [--json FILE]

Each teacher learns from its own shard of made-up records and votes on 1000 queries. The loop fits one clone
after the other with n_jobs=None. Threads and processes are joblib's, one task for each teacher, without our
isolation; ours is `train_and_ask` with n_jobs=1 and n_jobs=2. "Cold" is ours if no worker process runs yet;
the others start theirs in a first round. Threads are shown for comparison: they are not private, since they
share Python's warning filters, and ours never uses them.

Bars, where a fit takes 5 ms or more: with n_jobs=1 at most 1.1 times the loop, and with n_jobs=2, warm, at
least 1.6 times as fast as it. Shorter fits show the cost of isolation, some tenths of a millisecond each, and
of the processes; n_jobs=2 is for long ones.

The second table compares batches with a loop over scikit-learn and with our own loop, in seconds of processor
time, with one thread for linear algebra. A subclass of an estimator is never trained in batches. Bars: a
batch is at least 4 times as fast as the loop over scikit-learn for logistic regression, and 6 times for the
default teacher.
"""

import warnings
from collections.abc import Callable
from functools import partial
from time import process_time
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
from threadpoolctl import threadpool_limits

from dplearn.chance import PublicStream
from dplearn.learners.votes.asked import Labels
from dplearn.learners.votes.recipe import shards
from dplearn.learners.votes.standard import standard_teacher
from dplearn.learners.votes.teachers import train_and_ask

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


class LogisticRegressionAlone(LogisticRegression):
    """Is not trained in batches, since only exact classes are."""


DEFAULT = standard_teacher(np.zeros((1, FEATURES)))
#: An estimator for batches, the same for our loop, and the least ratio of the loop's time to the batch's.
BATCHED: dict[str, tuple[Any, Any, float]] = {
    "logistic regression": (LogisticRegression(), LogisticRegressionAlone(), 4),
    "the default teacher": (
        DEFAULT,
        clone(DEFAULT).set_params(logisticregression=LogisticRegressionAlone(C=10, max_iter=200)),
        6,
    ),
}
BATCHES, OUR_LOOP = "dplearn, in batches", "dplearn, one by one"


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


def rows_of_batches(n_teachers: int, rounds: int) -> list[dict[str, Any]]:
    """Return the least processor time of each way to train and ask, and the share of votes that differ."""
    table = []
    for name, (estimator, alone, _) in BATCHED.items():
        ways, separate = contenders(estimator, n_teachers), contenders(alone, n_teachers)
        by = {LOOP: ways[LOOP], OUR_LOOP: separate[ONE], BATCHES: ways[ONE]}
        best, votes = dict.fromkeys(by, float("inf")), {}
        with threadpool_limits(1):
            for _ in range(rounds):
                for way, call in by.items():
                    start = process_time()
                    votes[way] = np.asarray(call())
                    best[way] = min(best[way], process_time() - start)
        table += [
            {
                "teacher": name,
                "by": way,
                "seconds": seconds,
                "times_ours": seconds / best[BATCHES],
                "differing_votes": float((votes[way] != votes[BATCHES]).mean()),
            }
            for way, seconds in best.items()
        ]
    return table


def bars_of_batches(table: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how many times as fast as the loop each batch is."""
    reached = []
    for row in table:
        if row["by"] == LOOP:
            least, times = BATCHED[row["teacher"]][2], row["times_ours"]
            bar = f"{row['teacher']}: {BATCHES}, at least {least} times as fast as {LOOP}"
            reached.append({"bar": bar, "ours": times, "met": times >= least})
    return reached


def main() -> None:
    parser = options_of("teachers", __doc__)
    parser.add_argument("--teachers", type=int, default=250)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        batches = rows_of_batches(options.teachers, options.rounds)
        table = rows(options.teachers, options.rounds)
    met = bars(table, options.teachers) + bars_of_batches(batches)
    print(f"{shown(table, 'teacher')}\n")
    print(f"{shown(batches, 'teacher')}\n")
    print(f"votes that differ: at most {max(row['differing_votes'] for row in batches):.1e}\n")
    for bar in met:
        print(f"bar: {bar['bar']}: {bar['ours']:.2f}, {'met' if bar['met'] else 'MISSED'}")
    write(
        options.json,
        ("numpy", "scikit-learn", "joblib"),
        teachers=options.teachers,
        rounds=options.rounds,
        bars=met,
        rows=table,
        batches=batches,
    )


if __name__ == "__main__":
    main()
