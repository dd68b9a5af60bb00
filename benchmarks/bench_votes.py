"""What does it cost to count the votes of many teachers, and how far each winner is from losing?

    python benchmarks/bench_votes.py [--teachers 250] [--queries 10000] [--rounds 15] [--json PATH]

All contenders work in turn on the same public labels, each after a call that is not timed; the best round
counts. They give counts, winner and distance to instability, or less: the loop over queries of TF Privacy's
PATE, written anew here, finds the winner alone, as `np.bincount` with an offset for each query and a
partition finds the gap between the two labels with the most votes. numba's kernel, where numba is installed,
does what ours does. The limit is to read the labels once. Bars, with 10 labels: at least 4 times as fast as
the one-shot bincount, 12 times as `np.apply_along_axis`, 50 times as PATE's loop, and at most 1.5 times
numba's time.

What a sparse vector that answers with these distances costs beyond its noise: `bench_mechanisms.py`.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from side_by_side import Contenders, compared, options_of, peer, public_generator, shown, write

from dplearn.kernels.votes import tally

numba = peer("numba")

OURS, OFFSETS, ALONG, LOOP = "dplearn", "numpy, one bincount", "numpy, apply_along_axis", "PATE's loop"
KERNEL, LIMIT = "numba", "limit"
TEN = "10 labels"
FASTER = {OFFSETS: 4, ALONG: 12, LOOP: 50}  # times as fast as these, with ten labels
OF_KERNEL = 1.5  # times numba's time


def questions(teachers: int, queries: int) -> dict[str, Contenders]:
    """Return who counts, and what; None where a peer is absent."""
    cases = {"2 labels": (2, np.int8), TEN: (10, np.int8), "10 labels of 64 bits": (10, np.int64)}
    cases |= {"100 labels": (100, np.int16), "1000 labels": (1000, np.int16)}
    return {
        name: contenders(public_votes(teachers, queries, n_labels).astype(dtype), n_labels)
        for name, (n_labels, dtype) in cases.items()
    }


def public_votes(teachers: int, queries: int, n_labels: int) -> np.ndarray:
    """Return labels of teachers who agree more in some queries than in others."""
    generator = public_generator()
    favourite = generator.integers(0, n_labels, queries)
    agreed = generator.random((teachers, queries)) < generator.random(queries)
    return np.where(agreed, favourite, generator.integers(0, n_labels, (teachers, queries)))


def contenders(labels: np.ndarray, n_labels: int) -> Contenders:
    return {
        OURS: lambda: tally(labels, n_labels),
        OFFSETS: lambda: by_offsets(labels, n_labels),
        ALONG: lambda: along_queries(labels, n_labels),
        LOOP: lambda: query_by_query(labels, n_labels),
        KERNEL: compiled(labels, n_labels),
        LIMIT: labels.max,
    }


def by_offsets(labels: np.ndarray, n_labels: int) -> tuple[np.ndarray, ...]:
    n_queries = labels.shape[1]
    bins = (labels + n_labels * np.arange(n_queries)).ravel()
    counts = np.bincount(bins, minlength=n_labels * n_queries).reshape(n_queries, n_labels)
    top = np.partition(counts, n_labels - 2, axis=1)[:, -2:]
    return counts, counts.argmax(axis=1), top[:, 1] - top[:, 0]


def along_queries(labels: np.ndarray, n_labels: int) -> tuple[np.ndarray, ...]:
    counts = np.apply_along_axis(np.bincount, 0, labels, minlength=n_labels)
    top = np.sort(counts, axis=0)[-2:]
    return counts, counts.argmax(axis=0), top[1] - top[0]


def query_by_query(labels: np.ndarray, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    n_queries = labels.shape[1]
    clean, winner = np.zeros((n_queries, n_labels)), np.zeros(n_queries)
    for query in range(n_queries):
        counts = np.bincount(labels[:, query], minlength=n_labels)
        clean[query] = counts
        noisy = np.asarray(counts, dtype=np.float32)
        for label in range(n_labels):
            noisy[label] += 0.0  # where it adds its noise
        winner[query] = np.argmax(noisy)
    return clean, winner


def compiled(labels: np.ndarray, n_labels: int) -> Callable[[], object] | None:
    """Return one loop in machine code over the votes, and one over the counts."""
    if numba is None:
        return None

    @numba.njit
    def kernel(labels: Any, n_labels: int) -> tuple[Any, Any, Any]:
        n_teachers, n_queries = labels.shape
        counts = np.zeros((n_queries, n_labels), np.int64)
        winner, distance = np.zeros(n_queries, np.int64), np.zeros(n_queries, np.int64)
        for teacher in range(n_teachers):
            for query in range(n_queries):
                if labels[teacher, query] >= 0:
                    counts[query, labels[teacher, query]] += 1
        for query in range(n_queries):
            top, rival = counts[query, 0], -1
            for label in range(1, n_labels):
                count = counts[query, label]
                rival = max(rival, min(top, count - 1))
                if count > top:
                    top, winner[query] = count, label
            distance[query] = (top - rival - 1) // 2
        return counts, winner, distance

    kernel(labels, n_labels)  # compiled before the clock runs
    return lambda: kernel(labels, n_labels)


def rows(options: Any) -> list[dict[str, Any]]:
    asked = questions(options.teachers, options.queries).items()
    return [
        {"labels": name} | row
        for name, calls in asked
        for row in compared(calls, OURS, options.rounds, 5, warm=True)
    ]


def bars(table: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return what is asked of ten labels, and whether it is met; nothing of a peer that is absent."""
    times = {row["by"]: row["times_ours"] for row in table if row["labels"] == TEN}
    met = {
        f"at least {bar} times as fast as {name}": {
            "bar": bar,
            "ours": times[name],
            "met": times[name] >= bar,
        }
        for name, bar in FASTER.items()
    }
    if times[KERNEL] is not None:
        ours = 1 / times[KERNEL]
        met[f"within {OF_KERNEL} times {KERNEL}"] = {"bar": OF_KERNEL, "ours": ours, "met": ours <= OF_KERNEL}
    return met


def main() -> None:
    parser = options_of("votes", __doc__)
    parser.add_argument("--teachers", type=int, default=250)
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    table = rows(options)
    met = bars(table)
    print(f"{shown(table, 'labels')}\n")
    for name, bar in met.items():
        print(f"bar: {name}: {bar['ours']:.2f}, {'met' if bar['met'] else 'MISSED'}")
    write(
        options.json,
        ("numpy", "numba"),
        teachers=options.teachers,
        queries=options.queries,
        rounds=options.rounds,
        bars=met,
        rows=table,
    )


if __name__ == "__main__":
    main()
