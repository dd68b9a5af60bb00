"""How long does a private median take, and how far off are private quantiles?

    python benchmarks/bench_quantiles.py [--diffprivlib-python PATH] [--json PATH]

Time: the median of a million float64 values at epsilon 1. Bars: 10 times as fast as to encode and sort them
all and draw from the same distribution, 100 times as fast as diffprivlib's `median` (which needs an older
scikit-learn: name the python of an environment that has both), no slower than `numpy.quantile`, which keeps
nothing private. The limit is to compare each value with a number once.

How fast numpy sorts depends on the processor: five to ten times as fast where it has AVX-512 (9 ms here), of
which our passes, bound by memory, gain next to nothing. The bar of 10 was set where a million took 70 ms, so
it is applied with numpy's vector instructions turned off for both ("plain"); with them on, the ratio is shown
beside it.

Error: mean distance in ranks of quartiles, of 10,000 lognormal values with and without many zeros. Ours knows
no bounds; diffprivlib is given those of the data, which is no private number, and wider ones.
"""

import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from side_by_side import asked_of, compared, lined_up, options_of, public_generator, shown, write

from dplearn.chance import SystemDice
from dplearn.domains import Floats
from dplearn.kernels.ranks import SortedCodes
from dplearn.releases.quantiles import QuantileSearch, median, quantiles, release_quantiles

MANY, EPSILON, RECORDS, TIMES = 1_000_000, 1.0, 10_000, 40
QUARTERS = (0.25, 0.5, 0.75)
BARS = {"sort all, plain": 10, "diffprivlib": 100, "numpy.quantile": 1}
PLAIN = (
    "X86_V3 X86_V4 AVX512_ICL AVX512_SPR AVX2 FMA3 AVX512F AVX512CD AVX512_SKX"  # numpy leaves these unused
)
PLAIN_PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
import numpy as np
from bench_quantiles import EPSILON, MANY, compared, median, public_generator, sorting_all
values = public_generator().normal(size=MANY)
contenders = {"ours": lambda: median(values, epsilon=EPSILON), "all": lambda: sorting_all(values)}
print(json.dumps([row["seconds"] for row in compared(contenders, "ours", rounds=9, warm=True)]))
"""
THEIR_PROGRAM = """
import json, sys, time, warnings
import numpy as np
from diffprivlib.tools import median, quantile
warnings.simplefilter("ignore")
values, epsilon = np.load(sys.argv[1]), float(sys.argv[2])
if sys.argv[3] == "time":
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        median(values, epsilon=epsilon, bounds=(-10.0, 10.0))
        seconds.append(time.perf_counter() - start)
    print(json.dumps([min(seconds)]))
else:
    low, high, times = float(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5])
    how = {"epsilon": epsilon, "bounds": (low, high)}
    print(json.dumps(sum((quantile(values, [.25, .5, .75], **how).tolist() for _ in range(times)), [])))
"""


def sorting_all(values: np.ndarray) -> np.ndarray:
    """Return a median of the same distribution, once all are encoded and sorted."""
    domain = Floats()
    ranks = SortedCodes(domain.encode(values))
    search = QuantileSearch((Fraction(1, 2),), domain.size, len(ranks), Fraction(EPSILON))
    return release_quantiles(ranks, domain, search, dice=SystemDice())


def times(python: str | None, folder: Path) -> list[dict[str, Any]]:
    values = public_generator().normal(size=MANY)
    contenders = {
        "dplearn": lambda: median(values, epsilon=EPSILON),
        "sort all": lambda: sorting_all(values),
        "numpy.quantile": lambda: np.quantile(values, 0.5),
        "limit": lambda: np.count_nonzero(values < 0.1),
    }
    rows = compared(contenders, "dplearn", rounds=15, warm=True)
    plain = asked_of(
        sys.executable,
        PLAIN_PROGRAM,
        Path(__file__).parent,
        NPY_DISABLE_CPU_FEATURES=PLAIN,
        PYTHONWARNINGS="ignore",
    )
    if plain is not None:
        rows.append({"by": "sort all, plain", "seconds": plain[1], "times_ours": plain[1] / plain[0]})
    np.save(folder / "values.npy", values)
    theirs = asked_of(python, THEIR_PROGRAM, folder / "values.npy", EPSILON, "time") if python else None
    seconds = None if theirs is None else theirs[0]
    times_ours = None if seconds is None else seconds / rows[0]["seconds"]
    rows.append({"by": "diffprivlib", "seconds": seconds, "times_ours": times_ours})
    return [{"records": str(MANY), "bar": BARS.get(row["by"])} | row for row in rows]


def errors(python: str | None, folder: Path) -> Iterator[dict[str, Any]]:
    generator = public_generator()
    plain = generator.lognormal(8, 1, RECORDS)
    for kind, values in {
        "lognormal": plain,
        "60% zeros": np.where(np.arange(RECORDS) % 5 < 3, 0.0, plain),
    }.items():
        ours = [quantiles(values, QUARTERS, epsilon=EPSILON).values for _ in range(TIMES)]
        yield row(kind, "dplearn, no bounds", values, np.array(ours))
        np.save(folder / "values.npy", values)
        for name, high in (("data's bounds", values.max()), ("bounds of 1e9", 1e9)):
            how = (folder / "values.npy", EPSILON, 0.0, high, TIMES)
            found = asked_of(python, THEIR_PROGRAM, *how) if python else None
            yield row(
                kind, f"diffprivlib, {name}", values, None if found is None else np.reshape(found, (-1, 3))
            )


def row(kind: str, name: str, values: np.ndarray, found: np.ndarray | None) -> dict[str, Any]:
    """Return the mean and the greatest distance in ranks of what was found from what was wanted."""
    if found is None:
        return {"data": kind, "by": name, "mean": None, "worst": None}
    ordered, wanted = np.sort(values), np.array(QUARTERS) * len(values)
    less, upto = np.searchsorted(ordered, found), np.searchsorted(ordered, found, side="right")
    off = np.maximum(0, np.maximum(less - wanted, wanted - upto))
    return {"data": kind, "by": name, "mean": float(off.mean()), "worst": float(off.max())}


def errors_shown(rows: list[dict[str, Any]]) -> str:
    lines = [["data", "by", "mean ranks off", "worst"]]
    for r in rows:
        figures = ["absent", ""] if r["mean"] is None else [f"{r['mean']:.1f}", f"{r['worst']:.0f}"]
        lines.append([r["data"], r["by"], *figures])
    return lined_up(lines, left=2)


def main() -> int:
    parser = options_of("bench_quantiles", __doc__)
    parser.add_argument("--diffprivlib-python", help="python of an environment with diffprivlib")
    options = parser.parse_args()
    with TemporaryDirectory() as name:
        timed = times(options.diffprivlib_python, Path(name))
        print(shown(timed, "records"), "\n")
        rows = list(errors(options.diffprivlib_python, Path(name)))
        print(errors_shown(rows))
    write(options.json, ("numpy",), times=timed, errors=rows)
    missed = [
        r["by"] for r in timed if r["bar"] and r["times_ours"] is not None and r["times_ours"] < r["bar"]
    ]
    print("MISSED: " + ", ".join(missed) if missed else "all bars met")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
