"""How fast are the errors of all conjunctions counted, against one fill of the output and what a user would write?

    python benchmarks/bench_conjunctions.py [--records 100000] [--repeats 7] [--json PATH]

One thread is ours; the matrix product is the linear-algebra library's and may use all cores. Peak memory is a
child process's, less that of a child that only makes the data.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
from itertools import islice
from pathlib import Path
from time import perf_counter

import numpy as np

from dplearn.concepts.conjunctions import Conjunctions

CUBE = (16, 16)
SUBSETS = [(100, 3), (1000, 2), (20, 6), (60, 4)]
SAMPLE = 300  # conjunctions that the loop is timed on


def make_data(concepts, n):
    rng = np.random.default_rng(7)  # noqa: TID251 - public data of a benchmark
    columns = [rng.integers(0, 2, n, dtype=np.uint8) for _ in range(concepts.n_features)]
    return columns, rng.integers(0, 2, n)


def seconds(call):
    start = perf_counter()
    result = call()
    elapsed = perf_counter() - start
    del result  # its pages go back: the next call faults them in again
    return elapsed


def in_turn(repeats, **calls):
    """Median seconds of each call, and all measurements; calls alternate."""
    for call in calls.values():
        call()
    times = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            times[name].append(seconds(call))
    return {name: statistics.median(ts) for name, ts in times.items()}, times


def loop(concepts, columns, y):
    """What a user would write: one conjunction after the other. Extrapolated to the class."""
    bits, labels = [column.astype(bool) for column in columns], y.astype(bool)
    step = max(1, concepts.size // SAMPLE)
    members = [concepts.member_at(i) for i in islice(range(0, concepts.size, step), SAMPLE)]

    def run():
        errors = []
        for member in members:
            satisfied = np.ones(len(y), dtype=bool)
            for i in member.positive:
                satisfied &= bits[i]
            for i in member.negative:
                satisfied &= ~bits[i]
            errors.append(np.count_nonzero(satisfied != labels))
        return errors

    return run, concepts.size / len(members)


def pairs_by_product(columns, y, block=8192):
    """All pairs of literals as a product of float32 matrices, in blocks of records."""
    weights = np.where(y == 1, np.float32(-1), np.float32(1))
    signed = np.zeros((2 * len(columns),) * 2, dtype=np.float32)
    for start in range(0, len(y), block):
        part = np.array([column[start : start + block] for column in columns], dtype=np.float32)
        literals = np.concatenate((part, 1 - part))
        signed += literals @ (literals * weights[start : start + block]).T
    signed += np.count_nonzero(y)
    return signed


def peak_mib(concepts, n, what):
    """Peak memory in MiB of a fresh process that makes the data and then counts, fills or does nothing."""
    code = f"import bench_conjunctions as b; b.child({concepts.n_features}, {concepts.max_literals}, {n}, {what!r})"
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=Path(__file__).parent
    )
    peak, elapsed = map(float, done.stdout.split())
    return peak, elapsed


def child(d, k, n, what):
    concepts = Conjunctions(d, k)
    columns, y = make_data(concepts, n)
    run = {
        "count": lambda: concepts.error_counts(columns, y),
        "fill": lambda: np.full(concepts.size, 1, dtype=np.int32),
        "data": lambda: None,
    }[what]
    elapsed = seconds(run)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, elapsed)


def bench(d, k, n, repeats):
    concepts = Conjunctions(d, k)
    columns, y = make_data(concepts, n)
    calls = {
        "ours": lambda: concepts.error_counts(columns, y),
        "fill": lambda: np.full(concepts.size, 1, dtype=np.int32),
    }
    calls["loop"], scale = loop(concepts, columns, y)
    if k == 2:
        calls["product"] = lambda: pairs_by_product(columns, y)
    medians, times = in_turn(repeats, **calls)
    medians["loop"] *= scale
    baseline, _ = peak_mib(concepts, n, "data")
    peak, cold = peak_mib(concepts, n, "count")
    return {
        "d": d,
        "k": k,
        "conjunctions": concepts.size,
        "seconds": medians,
        "all_seconds": {name: ts for name, ts in times.items() if name != "loop"},
        "ours_over_fill": medians["ours"] / medians["fill"],
        "ours_over_fill_each": [a / b for a, b in zip(times["ours"], times["fill"], strict=True)],
        "fresh_process_seconds": {"ours": cold, "fill": peak_mib(concepts, n, "fill")[1]},
        "peak_mib": peak,
        "peak_mib_beyond_data": peak - baseline,
    }


def line(row):
    product = row["seconds"].get("product")
    return (
        f"{row['d']:5d} {row['k']:3d} {row['conjunctions']:12,d} {row['seconds']['ours']:9.4f}"
        f" {row['seconds']['fill']:9.4f} {row['ours_over_fill']:8.1f} {row['seconds']['loop']:12.1f}"
        f" {'-' if product is None else format(product, '.2f'):>9} {row['fresh_process_seconds']['ours']:9.3f}"
        f" {row['fresh_process_seconds']['fill']:9.3f} {row['peak_mib']:9.0f} {row['peak_mib_beyond_data']:12.0f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=7)
    default = Path(__file__).parent / "results" / "conjunctions.json"
    parser.add_argument("--json", type=Path, default=default)
    options = parser.parse_args()
    print(f"{options.records} records, medians of {options.repeats} in turn; seconds, MiB; loop extrapolated")
    print(
        "    d   k conjunctions      ours      fill ours/fill        loop   product"
        " ours cold fill cold      peak  beyond data"
    )
    rows = []
    for d, k in [CUBE, *SUBSETS]:
        rows.append(bench(d, k, options.records, options.repeats))
        print(line(rows[-1]), flush=True)
    report = {
        "records": options.records,
        "repeats": options.repeats,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "rows": rows,
    }
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
