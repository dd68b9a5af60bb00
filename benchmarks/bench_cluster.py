"""What does a fit on a cluster of Dask take: seconds, passes, tasks, bytes, and memory of its workers?

    python benchmarks/bench_cluster.py [--rows 2000000] [--parts 32] [--workers 1 2] [--json PATH]

A table of 20 columns in Parquet files, one a partition, on a cluster of so many worker processes of one
thread each; scheduler and client are this process. "MB" is what both of these write: the functions and graphs
of passes, and results on their way to the client. "worker MB" is the greatest memory that any worker held
until the end of the fit, above that before; workers keep encoded rows that fit.

What a pass costs: every partition is one task, and sums are added in groups of eight, so there are about 8/7
as many tasks as partitions. Bytes depend on the partitions and on the size of sums, not on the rows. The last
two columns extrapolate to 10^9 rows in partitions of 10^6: hours of CPU on all workers by the rows, and bytes
by the partitions.
"""

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from side_by_side import lined_up, options_of, peer, write

from dplearn import AdditiveClassifier, StatisticalQueryLogisticRegression, StatisticalQueryNaiveBayes
from dplearn.domains import Grid
from dplearn.releases import SyntheticTable, quantiles

pandas, dask, distributed = peer("pandas"), peer("dask"), peer("distributed")
WIDTH, MANY, LONG = 20, 10**9, 10**6
GRID = Grid(-4, 4, 1025, outside="clip")
Row = dict[str, Any]


def learners() -> dict[str, Callable[[Any], Any]]:
    labels = {"classes": [0, 1]}
    made: dict[str, Any] = {
        "naive Bayes": StatisticalQueryNaiveBayes(domain=GRID, **labels),
        "naive Bayes, learned": StatisticalQueryNaiveBayes(domain="learn", **labels),
        "logistic regression": StatisticalQueryLogisticRegression(domain=GRID, **labels),
        "additive model": AdditiveClassifier(domain=GRID, **labels),
    }
    fits: dict[str, Callable[[Any], Any]] = {
        name: partial(lambda model, frame: model.fit(frame, "y"), model) for name, model in made.items()
    }
    fits["quantiles, one column"] = lambda frame: quantiles(frame["x0"], [0.1, 0.5, 0.9], domain=GRID)
    fits["synthetic table, learned"] = lambda frame: SyntheticTable(domain="learn").fit(frame)
    return fits


def written(folder: Path, rows: int, parts: int) -> None:
    generator = np.random.default_rng(0)
    for part in range(parts):
        X = generator.standard_normal((rows // parts, WIDTH))
        frame = pandas.DataFrame(X, columns=[f"x{place}" for place in range(WIDTH)])
        frame["y"] = (X[:, 0] + X[:, 1] * X[:, 2] + generator.standard_normal(len(X)) > 0).astype(np.int64)
        frame.to_parquet(folder / f"{part:04}.parquet", index=False)


class Counter:
    """Counts the bytes that this process writes to others, and the passes and tasks that it asks for."""

    def __init__(self) -> None:
        from distributed.comm.tcp import TCP

        self.bytes = self.passes = self.tasks = 0
        write, compute = TCP.write, dask.compute

        async def counted(comm: Any, *given: Any, **how: Any) -> Any:
            sent = await write(comm, *given, **how)
            self.bytes += sent or 0
            return sent

        def passed(*tasks: Any, **how: Any) -> Any:
            self.passes += 1
            self.tasks += len({key for task in tasks for key in task.__dask_graph__()})
            return compute(*tasks, **how)

        TCP.write, dask.compute = counted, passed

    def since(self, before: tuple[int, int, int]) -> tuple[int, int, int]:
        return self.bytes - before[0], self.passes - before[1], self.tasks - before[2]

    @property
    def now(self) -> tuple[int, int, int]:
        return self.bytes, self.passes, self.tasks


def peak() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def used() -> float:
    return time.process_time()


def measured(folder: Path, workers: int, rows: int, parts: int, counter: Counter) -> list[Row]:
    from dask.dataframe import read_parquet

    found = []
    options: dict[str, Any] = {"threads_per_worker": 1, "processes": True, "dashboard_address": None}
    for name, fit in learners().items():
        with (
            distributed.LocalCluster(n_workers=workers, **options) as cluster,
            distributed.Client(cluster) as client,
        ):
            frame = read_parquet(str(folder), split_row_groups=False)
            client.run(__import__, "dplearn.learners")
            start, spent = max(client.run(peak).values()), sum(client.run(used).values())
            before, begin = counter.now, time.perf_counter()
            fit(frame)
            seconds = time.perf_counter() - begin
            sent, passes, tasks = counter.since(before)
            cpu = sum(client.run(used).values()) - spent
            found.append(
                {
                    "learner": name,
                    "workers": workers,
                    "seconds": seconds,
                    "cpu": cpu,
                    "passes": passes,
                    "tasks": tasks,
                    "bytes": sent,
                    "worker": max(client.run(peak).values()) - start,
                    "cpu of 1e9": cpu * MANY / rows,
                    "bytes of 1e9": sent / parts * MANY / LONG,
                }
            )
    return found


def main() -> int:
    parser = options_of("cluster", __doc__ or "")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--parts", type=int, default=32)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    if pandas is None or dask is None or distributed is None:
        sys.exit("pandas, dask and distributed must be installed")
    warnings.simplefilter("ignore")
    counter, found = Counter(), []
    with TemporaryDirectory() as folder:
        written(Path(folder), options.rows, options.parts)
        for workers in options.workers:
            found += measured(Path(folder), workers, options.rows, options.parts, counter)
    head = [
        "learner",
        "workers",
        "s",
        "CPU s",
        "passes",
        "tasks",
        "MB",
        "worker MB",
        "CPU h of 1e9",
        "MB of 1e9",
    ]
    lines = [head]
    for r in found:
        sizes = [f"{r['bytes'] / 1e6:.1f}", f"{r['worker'] / 1e6:.0f}"]
        later = [f"{r['cpu of 1e9'] / 3600:.2f}", f"{r['bytes of 1e9'] / 1e6:.0f}"]
        counts = [str(r["passes"]), str(r["tasks"])]
        lines.append(
            [
                r["learner"],
                str(r["workers"]),
                f"{r['seconds']:.1f}",
                f"{r['cpu']:.1f}",
                *counts,
                *sizes,
                *later,
            ]
        )
    print(lined_up(lines, left=1))
    write(options.json, ("numpy", "pandas", "dask", "distributed"), rows=found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
