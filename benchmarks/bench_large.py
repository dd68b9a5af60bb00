"""How long do fits and releases of tables that exceed the memory take?

    python benchmarks/bench_large.py [--rows N] [--only naive_bayes,quantiles,...] [--threads 2] [--quick]
        [--json PATH]

A table of 20 columns of float64, within declared ends, and a label, in parts of 250,000 rows. Each part is
made from its number when it is read, and again in each pass, so the table is neither in memory nor on disk.
Parts are read in turn (one core), or by as many threads of Dask as `--threads` says.

10^8 rows: naive Bayes, the quantiles of one column and those of all (`PrivateQuantileTransformer`). 10^7
rows: additive models, with and without interactions, and logistic regression. `--rows` replaces both numbers,
and `--quick` is `--rows 500000`. Beside them, over the same parts: making the parts alone; GaussianNB and
SGDClassifier of scikit-learn, which learn a part at a time in one pass (of 10^7 rows); and reading the same
table, of 10^6 rows, from a Parquet file alone, one record batch after another.

Each contender runs in a process of its own, whose address space is limited to 4 GiB. Shown are the number of
passes; the seconds; the seconds of a million rows; the CPU time of a cell (in ns) in all passes together,
without that of making the parts; and the peak of the resident memory (in MiB).

Bars, with exit status 1 if one is missed: naive Bayes in 40 ns a cell, and every contender within the limit.

    python benchmarks/bench_large.py --threads 2  # the full run
"""

import json
import resource
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

import numpy as np
from side_by_side import asked_of, lined_up, options_of, peer, write
from sklearn.linear_model import SGDClassifier
from sklearn.naive_bayes import GaussianNB

from dplearn.domains import Grid
from dplearn.learners.additive import AdditiveClassifier
from dplearn.learners.counts.naive_bayes import StatisticalQueryNaiveBayes
from dplearn.learners.linear import StatisticalQueryLogisticRegression
from dplearn.preprocessing import PrivateQuantileTransformer
from dplearn.releases.quantiles import quantiles

D, LENGTH = 20, 250_000
MOST_ROWS, MANY_ROWS, FILE_ROWS, QUICK_ROWS = 10**8, 10**7, 10**6, 500_000
LIMIT = 4 << 30  # bytes of address space
MOST_NS = 40.0  # a cell, of naive Bayes
QUARTERS = (0.25, 0.5, 0.75)
DOMAIN, CLASSES = Grid(0, 1, 1024), (0, 1)
MADE, FILE = "making the parts", "reading Parquet"
PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
from bench_large import measured
print(json.dumps(measured(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))))
"""

Part = tuple[np.ndarray, np.ndarray]
Run = dict[str, float]


class Parts:
    """A table in parts that counts how often a part is read, in all threads."""

    def __init__(self, rows: int):
        self.lengths = [min(LENGTH, rows - start) for start in range(0, rows, LENGTH)]
        self.reads, self._lock = 0, Lock()

    def read(self, number: int) -> Part:
        """Make a part from its number."""
        with self._lock:
            self.reads += 1
        generator = np.random.default_rng(number)
        X = generator.random((self.lengths[number], D))
        return X, (X[:, 0] + X[:, 1] * X[:, 2] + generator.random(len(X)) > 1.25).astype(np.int64)

    def __iter__(self) -> Iterator[Part]:
        return map(self.read, range(len(self.lengths)))

    def table(self, threads: int) -> tuple[Any, Any]:
        """Return X and y in parts: pairs that are read in turn, or arrays of Dask."""
        if threads == 1:
            return self, None
        delayed, array = peer("dask").delayed, peer("dask.array")
        parts = [delayed(self.read, pure=False)(number) for number in range(len(self.lengths))]
        pairs = list(zip(parts, self.lengths, strict=True))
        X = [array.from_delayed(part[0], (length, D), np.float64) for part, length in pairs]
        y = [array.from_delayed(part[1], (length,), np.int64) for part, length in pairs]
        return array.concatenate(X), array.concatenate(y)

    def column(self, threads: int) -> Any:
        """Return the first column in parts."""
        X, _ = self.table(threads)
        return (lambda: (rows[:, 0] for rows, _ in self)) if threads == 1 else X[:, 0]

    def rows(self, threads: int) -> Any:
        """Return the rows without labels."""
        X, _ = self.table(threads)
        return (lambda: (rows for rows, _ in self)) if threads == 1 else X


def fitted(model: Any, parts: Parts, threads: int) -> None:
    model.fit(*parts.table(threads))


def released(parts: Parts, threads: int) -> None:
    quantiles(parts.column(threads), QUARTERS, epsilon=1, domain=DOMAIN)


def transformed(parts: Parts, threads: int) -> None:
    PrivateQuantileTransformer(domain=DOMAIN).fit(parts.rows(threads))


def learned(model: Any, parts: Parts, threads: int) -> None:  # noqa: ARG001 - in turn, as its users do
    for X, y in parts:
        model.partial_fit(X, y, classes=CLASSES)


def made(parts: Parts, threads: int) -> None:  # noqa: ARG001 - in turn
    for _ in parts:
        pass


def declared(kind: Callable[..., Any], **parameters: Any) -> Any:
    return kind(epsilon=1, domain=DOMAIN, classes=CLASSES, **parameters)


#: What is timed, and how many rows it reads.
CONTENDERS: dict[str, tuple[int, Callable[[Parts, int], None]]] = {
    MADE: (MANY_ROWS, made),
    "naive_bayes": (MOST_ROWS, partial(fitted, declared(StatisticalQueryNaiveBayes))),
    "quantiles": (MOST_ROWS, released),
    "quantile_transformer": (MOST_ROWS, transformed),
    "additive": (MANY_ROWS, partial(fitted, declared(AdditiveClassifier))),
    "additive_alone": (MANY_ROWS, partial(fitted, declared(AdditiveClassifier, interactions=False))),
    "logistic": (MANY_ROWS, partial(fitted, declared(StatisticalQueryLogisticRegression))),
    "GaussianNB": (MANY_ROWS, partial(learned, GaussianNB())),
    "SGDClassifier": (MANY_ROWS, partial(learned, SGDClassifier(loss="log_loss"))),
}
OF_ONE_COLUMN = {"quantiles"}


def measured(name: str, rows: int, threads: int) -> Run:
    """Return the times, passes and memory of a contender, in this process, whose memory is limited."""
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    if threads > 1:
        peer("dask").config.set(scheduler="threads", num_workers=threads)
    parts = Parts(rows)
    parts.table(threads)  # imports what it needs before the time begins
    start, start_cpu = time.perf_counter(), time.process_time()
    if name == FILE:
        start, start_cpu = read_from_file(parts)
        passes = 1.0
    else:
        CONTENDERS[name][1](parts, threads)
        passes = parts.reads / len(parts.lengths)
    seconds, cpu = time.perf_counter() - start, time.process_time() - start_cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"passes": passes, "seconds": seconds, "cpu": cpu, "peak_mib": peak}


def read_from_file(parts: Parts) -> tuple[float, float]:
    """Write the parts to a Parquet file and read it; return the times at which reading began."""
    pa, parquet, dataset = peer("pyarrow"), peer("pyarrow.parquet"), peer("pyarrow.dataset")
    names = [f"x{place}" for place in range(D)]
    with TemporaryDirectory() as folder:
        file = Path(folder) / "table.parquet"
        schema = pa.schema([(name, pa.float64()) for name in names] + [("y", pa.int64())])
        with parquet.ParquetWriter(file, schema) as writer:
            for X, y in parts:
                writer.write_table(pa.table(dict(zip(names, X.T, strict=True)) | {"y": y}, schema=schema))
        start, start_cpu = time.perf_counter(), time.process_time()
        for batch in dataset.dataset(file).to_batches():
            assert batch.num_columns == D + 1
    return start, start_cpu


def row_of(name: str, rows: int, run: Run, making: Run, making_rows: int) -> dict[str, Any]:
    """Return what is shown about a contender; CPU without that of making its parts."""
    cells = rows * (1 if name in OF_ONE_COLUMN else D)
    making_cpu = making["cpu"] / making_rows * rows * run["passes"] if name not in (MADE, FILE) else 0.0
    return {
        "name": name,
        "rows": rows,
        **run,
        "seconds_of_a_million": run["seconds"] / rows * 1e6,
        "ns_a_cell": max(0.0, run["cpu"] - making_cpu) / cells * 1e9,
    }


def as_line(row: dict[str, Any]) -> list[str]:
    figures = (f"{row['seconds']:.1f}", f"{row['seconds_of_a_million']:.2f}", f"{row['ns_a_cell']:.1f}")
    return [row["name"], f"{row['rows']:,}", f"{row['passes']:.4g}", *figures, f"{row['peak_mib']:.0f}"]


def main() -> int:
    options = options_of("bench_large", __doc__)
    options.add_argument("--rows", type=int, help="rows of every contender")
    options.add_argument("--only", default="", help="contenders, separated by commas")
    options.add_argument("--threads", type=int, default=2, help="threads of Dask; 1: without Dask")
    options.add_argument("--quick", action="store_true", help=f"--rows {QUICK_ROWS}")
    given = options.parse_args()
    fixed = QUICK_ROWS if given.quick else given.rows
    wanted = [each for each in given.only.split(",") if each]
    if unknown := set(wanted) - {*CONTENDERS, FILE}:
        options.error(f"--only must list some of {', '.join([*CONTENDERS, FILE])}, got {unknown}")
    folder, rows, missed = Path(__file__).parent, [], []
    sizes = {name: fixed or size for name, (size, _) in CONTENDERS.items()} | {FILE: fixed or FILE_ROWS}
    making: Run = {}
    for name, size in sizes.items():
        if name != MADE and wanted and name not in wanted:
            continue
        run: Any = asked_of(sys.executable, PROGRAM, folder, name, size, given.threads)
        if run is None:
            missed.append(f"{name} fails within {LIMIT >> 30} GiB")
            continue
        making = making or run
        rows.append(row_of(name, size, run, making, sizes[MADE]))
        print(json.dumps(rows[-1]), file=sys.stderr)
        if name == "naive_bayes" and rows[-1]["ns_a_cell"] > MOST_NS:
            missed.append(f"naive_bayes takes {rows[-1]['ns_a_cell']:.1f} ns a cell, the bar is {MOST_NS:g}")
    heads = ["", "rows", "passes", "seconds", "s a million", "CPU ns a cell", "peak MiB"]
    print(lined_up([heads, *map(as_line, rows)]))
    write(
        given.json, ["dplearn", "numpy", "scikit-learn", "dask", "pyarrow"], threads=given.threads, runs=rows
    )
    for text in missed:
        print(f"missed: {text}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
