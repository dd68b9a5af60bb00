"""How far off are many private quantiles: by halving, in windows around noisy ranks, and by a distribution?

    python benchmarks/bench_many_quantiles.py [--json PATH] [--columns NAME ...] [--records N ...]

All at epsilon 1 for one replaced record. "halving" is `codes_at_fractions`, "windows" is `codes_in_windows`
with the terms that fit the gaps (a dash: none do), "cdf" is the release of a whole distribution, among the
integers only. The columns are made: lognormal floats, the same rounded to multiples of 50 or to ten
significant bits, and normal integers from 0 to 1,000. For each column and number of quantiles:

mean      distance in ranks from what was wanted, mean over quantiles and runs
worst     the greatest distance among the quantiles, mean over runs
bound     the greatest error that is exceeded with probability at most .05, whatever the data
chosen    what `quantiles` uses

Bar: where `quantiles` uses windows, their mean error is at most nine tenths of that of halving, in the
geometric mean over columns and numbers of quantiles.
"""

import sys
from collections.abc import Callable
from fractions import Fraction
from time import perf_counter
from typing import Any

import numpy as np
from side_by_side import lined_up, options_of, public_generator, write

from dplearn.chance import SystemDice
from dplearn.domains import Floats, IntegerRange, NumberDomain
from dplearn.kernels import SortedCodes
from dplearn.mechanisms.quantile_windows import codes_in_windows
from dplearn.mechanisms.rank_selection import codes_at_fractions
from dplearn.privacy import ApproxDP
from dplearn.releases.cdf import cdf
from dplearn.releases.quantiles import (
    QuantileSearch,
    _halving_errors,
    _window_errors,
    window_terms,
)

QUANTILES, RECORDS = (9, 15, 31, 99, 301, 999), (1000, 10_000, 100_000, 1_000_000)
EPSILON, BETA, TIMES, PATIENCE, BAR = Fraction(1), Fraction(1, 20), 20, 3.0, 0.9
TOP = 1000
NAMES = ("floats", "multiples of 50", "ten bits", "integers")


def column(name: str, n: int) -> tuple[NumberDomain, np.ndarray]:
    """Return a domain, and n numbers of it."""
    generator = public_generator()
    if name == "integers":
        return IntegerRange(0, TOP), np.clip(np.round(generator.normal(500, 150, n)), 0, TOP).astype(np.int64)
    domain = Floats(significand_bits=10) if name == "ten bits" else Floats()
    wages = generator.lognormal(8, 1, n)
    wages = np.round(wages / 50) * 50 if name == "multiples of 50" else wages
    return domain, np.asarray(domain.decode(domain.encode(wages)))


def off(ordered: np.ndarray, wanted: np.ndarray, found: Any) -> np.ndarray:
    """Return the distance of each code in ranks from what was wanted."""
    codes = np.array(found, dtype=ordered.dtype)
    less, upto = (np.searchsorted(ordered, codes, side) for side in ("left", "right"))
    return np.maximum(0, np.maximum(less - wanted, wanted - upto))


def repeated(release: Callable[[], Any], ordered: np.ndarray, wanted: np.ndarray) -> dict[str, Any]:
    """Return the errors of several runs, as many as fit into the time."""
    start, errors = perf_counter(), []
    while not errors or (len(errors) < TIMES and perf_counter() - start < PATIENCE):
        errors.append(off(ordered, wanted, release()))
    worst = np.max(errors, axis=1)
    seconds = (perf_counter() - start) / len(errors)
    mean = float(np.mean(errors))
    return {"mean": mean, "worst": float(worst.mean()), "seconds": seconds, "runs": len(errors)}


def measured(name: str, n: int, k: int) -> list[dict[str, Any]]:
    domain, values = column(name, n)
    fractions = tuple(Fraction(i, k + 1) for i in range(1, k + 1))
    ranks, size, dice, privacy = (
        SortedCodes(domain.encode(values)),
        domain.size,
        SystemDice(),
        ApproxDP(EPSILON),
    )
    search = QuantileSearch(fractions, size, n, EPSILON)
    terms = window_terms(search)
    chosen = "halving" if search.terms is None else "windows"

    def halve() -> list[int]:
        return codes_at_fractions(ranks, size, fractions, privacy=privacy, dice=dice)

    def window() -> list[int]:
        return codes_in_windows(ranks, size, terms, privacy=privacy, dice=dice) or halve()

    def whole() -> np.ndarray:
        released = cdf(values, epsilon=float(EPSILON), domain=domain).ppf(np.array(fractions, dtype=float))
        return np.asarray(domain.encode(np.asarray(released, dtype=np.int64)))

    bound = min(n, max(_halving_errors(search, BETA)))
    by: dict[str, tuple[Callable[[], Any], int | None]] = {"halving": (halve, bound)}
    if terms is not None:
        by["windows"] = window, max(_window_errors(terms, BETA))
    if name == "integers":
        by["cdf"] = whole, None
    ordered, wanted = np.sort(domain.encode(values)), np.array([float(f) * n for f in fractions])
    about = {"column": name, "records": n, "quantiles": k, "chosen": chosen}
    return [
        about | {"by": way, "bound": limit} | repeated(release, ordered, wanted)
        for way, (release, limit) in by.items()
    ]


def table(rows: list[dict[str, Any]]) -> str:
    lines = [["column", "records", "quantiles", "by", "chosen", "mean", "worst", "bound", "seconds", "runs"]]
    for row in rows:
        bound = "-" if row["bound"] is None else str(row["bound"])
        figures = [f"{row['mean']:.1f}", f"{row['worst']:.0f}", bound, f"{row['seconds']:.3f}"]
        about = [row["column"], str(row["records"]), str(row["quantiles"]), row["by"], row["chosen"]]
        lines.append([*about, *figures, str(row["runs"])])
    return lined_up(lines, left=1)


def ratio_of(rows: list[dict[str, Any]]) -> float:
    """Return the geometric mean of the error of windows over that of halving, where windows are chosen."""
    means = {(row["column"], row["records"], row["quantiles"], row["by"]): row["mean"] for row in rows}
    ratios = [
        max(row["mean"], 0.1) / max(means[row["column"], row["records"], row["quantiles"], "halving"], 0.1)
        for row in rows
        if row["by"] == row["chosen"] == "windows"
    ]
    return float(np.exp(np.mean(np.log(ratios)))) if ratios else 1.0


def main() -> int:
    parser = options_of("many_quantiles", __doc__)
    parser.add_argument("--columns", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--records", nargs="+", type=int, default=RECORDS)
    options = parser.parse_args()
    rows = [
        row
        for name in options.columns
        for k in QUANTILES
        for n in options.records
        if n >= 20 * k
        for row in measured(name, n, k)
    ]
    print(table(rows))
    ratio = ratio_of(rows)
    print(f"error of windows over that of halving, where windows are chosen: {ratio:.2f}")
    print(f"the bar of {BAR} is {'kept' if ratio <= BAR else 'missed'}")
    write(options.json, ["dplearn", "numpy"], rows=rows, ratio=ratio, bar=BAR)
    return int(ratio > BAR)


if __name__ == "__main__":
    sys.exit(main())
