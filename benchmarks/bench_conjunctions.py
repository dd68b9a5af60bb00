"""How fast are the errors of all conjunctions counted? Against one fill, and what a user would write.

    python benchmarks/bench_conjunctions.py [--records 100000] [--repeats 7] [--json PATH]

One thread is ours; the matrix product is the linear-algebra library's and may use all cores. Peak memory is a
child process's, less that of a child that only makes the data.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from itertools import islice
from math import comb
from pathlib import Path
from time import perf_counter

import numpy as np
from side_by_side import in_turn, lined_up, options_of, write

from dplearn.concepts.conjunctions import Conjunctions

CUBE = (16, 16)
SUBSETS = [(100, 3), (1000, 2), (20, 6), (60, 4)]
SAMPLE = 300  # conjunctions that the loop is timed on


def make_data(concepts, n):
    rng = np.random.default_rng(7)
    columns = [rng.integers(0, 2, n, dtype=np.uint8) for _ in range(concepts.n_features)]
    return columns, rng.integers(0, 2, n)


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


def in_fresh_process(d, k, n, what):
    """Peak MiB and seconds of a process that makes the data and then counts, fills or does nothing."""
    command = [sys.executable, __file__, "--child", str(d), str(k), str(n), what]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def child(d, k, n, what):
    concepts = Conjunctions(d, k)
    columns, y = make_data(concepts, n)
    run = {
        "count": lambda: concepts.error_counts(columns, y),
        "fill": lambda: np.full(concepts.size, 1, dtype=np.int32),
        "data": lambda: None,
    }[what]
    start = perf_counter()
    run()
    elapsed = perf_counter() - start
    # Not getrusage: on Linux its maximum is inherited from the process that started this one.
    status = Path("/proc/self/status").read_text()
    print(json.dumps([int(status.split("VmHWM:")[1].split()[0]) / 1024, elapsed]))


def bench(d, k, n, repeats):
    concepts = Conjunctions(d, k)
    columns, y = make_data(concepts, n)
    calls = {
        "ours": lambda: concepts.error_counts(columns, y),
        "fill": lambda: np.full(concepts.size, 1, dtype=np.int32),
    }
    calls["loop"], scale = loop(concepts, columns, y)
    assert calls["loop"]() == calls["ours"]()[:: max(1, concepts.size // SAMPLE)][:SAMPLE].tolist()
    if k == 2:
        calls["product"] = lambda: pairs_by_product(columns, y)
        assert calls["product"]()[0, 1] == calls["ours"]()[-comb(d, 2)]  # x0 and x1
    for call in calls.values():
        call()
    times = in_turn(calls, repeats)
    medians = {name: statistics.median(spent) for name, spent in times.items()}
    medians["loop"] *= scale
    baseline, _ = in_fresh_process(d, k, n, "data")
    peak, cold = in_fresh_process(d, k, n, "count")
    _, cold_fill = in_fresh_process(d, k, n, "fill")
    return {
        "d": d,
        "k": k,
        "conjunctions": concepts.size,
        "seconds": medians,
        "all_seconds": {name: ts for name, ts in times.items() if name != "loop"},
        "ours_over_fill": medians["ours"] / medians["fill"],
        "ours_over_fill_each": [a / b for a, b in zip(times["ours"], times["fill"], strict=True)],
        "fresh_process_seconds": {"ours": cold, "fill": cold_fill},
        "peak_mib": peak,
        "peak_mib_beyond_data": peak - baseline,
    }


def cells(row):
    medians, fresh = row["seconds"], row["fresh_process_seconds"]
    return [
        f"{row['d']}, {row['k']}",
        f"{row['conjunctions']:,d}",
        *(f"{medians[name]:.3f}" if name in medians else "-" for name in ("ours", "fill", "loop", "product")),
        f"{row['ours_over_fill']:.1f}",
        f"{fresh['ours']:.3f}",
        f"{fresh['fill']:.3f}",
        f"{row['peak_mib']:.0f}",
        f"{row['peak_mib_beyond_data']:.0f}",
    ]


def main():
    parser = options_of("conjunctions", __doc__)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--records", type=int, default=100_000)
    parser.add_argument("--repeats", type=int, default=7)
    options = parser.parse_args()
    if options.child:
        child(*map(int, options.child[:3]), options.child[3])
        return
    print(f"{options.records} records, medians of {options.repeats} in turn; seconds, MiB; loop extrapolated")
    rows = [bench(d, k, options.records, options.repeats) for d, k in [CUBE, *SUBSETS]]
    titles = "d, k;conjunctions;ours;fill;loop;product;ours/fill;fresh ours;fresh fill;peak;beyond data"
    print(lined_up([titles.split(";"), *map(cells, rows)]))
    write(
        options.json,
        ("numpy",),
        records=options.records,
        repeats=options.repeats,
        cores=os.cpu_count(),
        rows=rows,
    )


if __name__ == "__main__":
    main()
