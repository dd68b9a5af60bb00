"""How fast are the errors of all stumps counted? Against sorting every feature, and reading the table once.

    python benchmarks/bench_stumps.py [--records 100000] [--features 100] [--repeats 5] [--json PATH]

Ours is everything from the table of floats to how many stumps make how many errors: encoding the columns and
counting. "grid" cuts every feature at 256 points; "floats" at each of about 2**64 numbers, with nothing said
of the data. Sorting a feature is what a tree does before it looks at cuts: np.sort of the values alone, and
np.argsort, which also tells whose they are. scikit-learn's tree of depth 1 finds the best stump only. The
limit is one pass over the table, X.sum(). All take turns, and the median counts; who has used up the patience
of ten seconds is not asked again. Peak memory is that of a fresh process that makes the table and counts.

Bars: grid with 2 labels at least 10 times faster than np.sort of every feature; floats with 2 labels within
10 seconds and 2 GiB.
"""

import argparse
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable

import numpy as np
from side_by_side import in_turn, lined_up, options_of, public_generator, write
from sklearn.tree import DecisionTreeClassifier

from dplearn.concepts import DecisionStumps
from dplearn.domains import Floats, Grid, Product

BAR_RATIO, BAR_SECONDS, BAR_BYTES = 10.0, 10.0, 2 << 30
PATIENCE = 10.0  # seconds after which a contender is not asked again
DOMAINS = {"grid": Grid(0, 1, size=256), "floats": Floats(significand_bits=52)}
LABELS = (2, 10)
SORT, ARGSORT, TREE, LIMIT = "np.sort", "np.argsort", "tree of depth 1", "limit: X.sum()"


def uniform_data(records: int, features: int, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Return uniform features, and labels of which the first feature tells a part."""
    generator = public_generator()
    X = generator.random((records, features))
    noisy = 0.7 * X[:, 0] + 0.3 * generator.random(records)
    return X, (n_labels * noisy).astype(np.intp)


def count(name: str, X: np.ndarray, y: np.ndarray, n_labels: int) -> tuple[list[int], list[int]]:
    """Return how many stumps make how many errors."""
    stumps = DecisionStumps(Product([DOMAINS[name]] * X.shape[1]), n_labels)
    return stumps.error_profile(stumps.domain.encode(X), y).groups()


def ours(name: str, n_labels: int) -> str:
    return f"{name}, {n_labels} labels"


def contenders(records: int, features: int) -> dict[str, Callable[[], object]]:
    X, two = uniform_data(records, features, 2)
    calls: dict[str, Callable[[], object]] = {}
    for name in DOMAINS:
        for n_labels in LABELS:
            y = uniform_data(records, features, n_labels)[1]
            calls[ours(name, n_labels)] = lambda name=name, y=y, k=n_labels: count(name, X, y, k)
    return calls | {
        SORT: lambda: [np.sort(X[:, j]) for j in range(features)],
        ARGSORT: lambda: [np.argsort(X[:, j]) for j in range(features)],
        TREE: lambda: DecisionTreeClassifier(max_depth=1).fit(X, two),
        LIMIT: X.sum,
    }


def peak_bytes(name: str, n_labels: int, records: int, features: int) -> int:
    """Return the peak memory of a fresh process; to be asked while this one is still small.

    On Linux a child's maximum starts from that of the process that started it.
    """
    child = [sys.executable, __file__, "--child", name, str(n_labels)]
    size = ["--records", str(records), "--features", str(features)]
    return int(subprocess.run(child + size, check=True, capture_output=True, text=True).stdout)


def count_and_tell_peak(name: str, n_labels: int, records: int, features: int) -> None:
    count(name, *uniform_data(records, features, n_labels), n_labels)
    unit = 1 if sys.platform == "darwin" else 1024
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit)


def rows(records: int, features: int, repeats: int) -> list[dict]:
    peaks = {
        ours(name, n_labels): peak_bytes(name, n_labels, records, features)
        for name in DOMAINS
        for n_labels in LABELS
    }
    times = in_turn(contenders(records, features), repeats, PATIENCE)
    seconds = {name: statistics.median(spent) for name, spent in times.items()}
    return [
        {
            "by": name,
            "seconds": value,
            "sort_over_this": seconds[SORT] / value,
            "argsort_over_this": seconds[ARGSORT] / value,
            "this_over_limit": value / seconds[LIMIT],
            "peak_bytes": peaks.get(name),
        }
        for name, value in seconds.items()
    ]


def bars(table: list[dict]) -> dict[str, bool]:
    """Return each bar in words, and whether it is met."""
    by = {row["by"]: row for row in table}
    grid, floats = by[ours("grid", 2)], by[ours("floats", 2)]
    speed = grid["sort_over_this"]
    gib = floats["peak_bytes"] / (1 << 30)
    return {
        f"grid: {speed:.1f} times faster than np.sort, at least {BAR_RATIO:g} wanted": speed >= BAR_RATIO,
        f"floats: {floats['seconds']:.2f} s, at most {BAR_SECONDS:g} wanted": floats["seconds"]
        <= BAR_SECONDS,
        f"floats: {gib:.2f} GiB, below 2 wanted": floats["peak_bytes"] < BAR_BYTES,
    }


def shown(table: list[dict]) -> str:
    lines = [["by", "seconds", "np.sort/this", "np.argsort/this", "this/limit", "peak GiB"]]
    for row in table:
        lines.append(
            [
                row["by"],
                f"{row['seconds']:.4f}",
                f"{row['sort_over_this']:.2f}",
                f"{row['argsort_over_this']:.2f}",
                f"{row['this_over_limit']:.1f}",
                "" if row["peak_bytes"] is None else f"{row['peak_bytes'] / (1 << 30):.2f}",
            ]
        )
    return lined_up(lines)


def main() -> None:
    parser = options_of("stumps", __doc__)
    parser.add_argument("--records", type=int, default=10**5)
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        name, n_labels = options.child
        count_and_tell_peak(name, int(n_labels), options.records, options.features)
        return
    table = rows(options.records, options.features, options.repeats)
    met = bars(table)
    print(f"{options.records} records, {options.features} features\n{shown(table)}\n")
    print("\n".join(f"bar: {words}: {'pass' if passed else 'FAIL'}" for words, passed in met.items()))
    write(
        options.json,
        ("numpy", "scikit-learn"),
        records=options.records,
        features=options.features,
        repeats=options.repeats,
        bars=met,
        rows=table,
    )


if __name__ == "__main__":
    main()
