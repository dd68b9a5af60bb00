"""How often does the learner of lines fail, with a number of records that does not depend on the prime?

    python benchmarks/bench_lines.py [--runs 1000] [--json PATH]

Epsilon 1, delta 1e-6, alpha = beta = .1, with the number of records that the plan says: at most 10 % of the
runs may have an error above alpha. Lines modulo 2^13-1, 2^61-1, 2^521-1 and 2^4423-1, each run with a line
and records of its own. A tenth of the probability, and a millionth of it more, is on the line: on the two
points of the worst shares; on one point; on two of equal probability; spread over all points of the line. All
but the worst, and the greatest prime, have a fifth of the runs. Errors are computed from these probabilities.

Beside it: the number of records with which the exponential mechanism over all lines has the same accuracy,
with runs of it modulo 2^13-1, and the number below which no learner with delta 0 has.
"""

import sys
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from side_by_side import lined_up, options_of, public_generator, write

from dplearn import LineClassifier
from dplearn.concepts import Line
from dplearn.theory import line_failure, line_sample_size, pure_line_lower_bound, pure_line_sample_size

BITS = (13, 61, 521, 4423)
MANY = 1000  # bits with which a run takes longer
GOOD = {"alpha": 0.1, "beta": 0.1}
EPSILON, DELTA = 1.0, 1e-6
ON_LINE = GOOD["alpha"] * (1 + 1e-6)
WORST = 0.32  # the share of the second point at which the bound on failures is attained
#: The probabilities of the points of the line; None: spread over all points.
MASSES = {
    "worst atoms": (1 - WORST, WORST),
    "one atom": (1.0,),
    "equal atoms": (0.5, 0.5),
    "spread": None,
}


def residue(generator: np.random.Generator, p: int) -> int:
    return int.from_bytes(generator.bytes(p.bit_length() // 8 + 8), "big") % p


def records(
    generator: np.random.Generator, p: int, n: int, shares: tuple[float, ...] | None
) -> tuple[Line, list[list[int]], list[int], list[list[int]]]:
    """Return a line, rows with labels, and the points that have a probability of their own."""
    line = Line(residue(generator, p), residue(generator, p), p)

    def point(off: int = 0) -> list[int]:
        x = residue(generator, p)
        return [x, (line.slope * x + line.intercept + off) % p]

    atoms = [point() for _ in shares or ()]
    y = (generator.random(n) < ON_LINE).astype(int).tolist()
    places = generator.choice(len(atoms), n, p=shares).tolist() if shares else [0] * n
    rows = [
        (atoms[place] if shares else point()) if one else point(off=1 + residue(generator, p - 1))
        for one, place in zip(y, places, strict=True)
    ]
    return line, rows, y, atoms


def error(concept: Any, line: Line, atoms: list[list[int]], shares: tuple[float, ...] | None) -> float:
    """Return the probability of a wrong label, without that of at most 1/p at points off the line."""
    if concept == line:
        return 0.0
    columns = [np.array(column, dtype=object) for column in zip(*atoms, strict=True)] or [np.zeros(0)] * 2
    kept = float(np.array(shares or ()) @ concept.predict(columns))
    return ON_LINE * (1 - kept)


def row(method: str, bits: int, name: str, n: int, runs: int) -> dict[str, Any]:
    generator, p, shares = public_generator(), (1 << bits) - 1, MASSES[name]
    model = LineClassifier(p, epsilon=EPSILON, delta=DELTA, method=method, classes=[0, 1], **GOOD)
    failures, seconds = 0, []
    for _ in range(runs):
        line, rows, y, atoms = records(generator, p, n, shares)
        start = perf_counter()
        concept = model.fit(rows, y).concept_.concept
        seconds.append(perf_counter() - start)
        failures += error(concept, line, atoms, shares) > GOOD["alpha"]
    needed = {"epsilon": EPSILON, **GOOD}
    return {
        "method": method,
        "bits": bits,
        "masses": name,
        "records": n,
        "runs": runs,
        "failed": failures / runs,
        "seconds": median(seconds),
        "pure": pure_line_sample_size(p, **needed),
        "no_pure_below": pure_line_lower_bound(p, **needed),
    }


def shown(rows: list[dict[str, Any]]) -> str:
    head = [
        "method",
        "p",
        "on the line",
        "records",
        "runs",
        "failed",
        "bar .1",
        "seconds",
        "pure",
        "no pure below",
    ]
    lines = [head]
    for r in rows:
        verdict = "met" if r["failed"] <= GOOD["beta"] + 2 * (0.09 / r["runs"]) ** 0.5 else "MISSED"
        figures = [f"{r['records']}", f"{r['runs']}", f"{r['failed']:.3f}", verdict, f"{r['seconds']:.4f}"]
        least = [f"{r['pure']:,}", f"{r['no_pure_below']:,}"]
        lines.append([r["method"], f"2^{r['bits']}-1", r["masses"], *figures, *least])
    return lined_up(lines, left=3)


def main() -> int:
    parser = options_of("bench_lines", __doc__)
    parser.add_argument("--runs", type=int, default=1000)
    options = parser.parse_args()
    n = line_sample_size(epsilon=EPSILON, delta=DELTA, **GOOD)
    bound = line_failure(n, epsilon=EPSILON, delta=DELTA, alpha=GOOD["alpha"])
    few = max(1, options.runs // 5)
    rows = [
        row("stability", bits, name, n, options.runs if bits < MANY and name == "worst atoms" else few)
        for bits in BITS
        for name in MASSES
    ]
    pure = pure_line_sample_size((1 << BITS[0]) - 1, epsilon=EPSILON, **GOOD)
    rows += [row("pure", BITS[0], name, pure, max(1, options.runs // 20)) for name in MASSES]
    print(shown(rows))
    print(f"\nBound on failures with {n} records: {bound:.4f}")
    write(options.json, ("numpy",), records=n, bound=bound, rows=rows)
    return int(any(r["failed"] > GOOD["beta"] + 2 * (0.09 / r["runs"]) ** 0.5 for r in rows))


if __name__ == "__main__":
    sys.exit(main())
