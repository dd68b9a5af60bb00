"""Measure how many records private learners of parities take, for a figure of the gallery.

    python benchmarks/measure_parity_sizes.py [--json PATH]

Alpha 0.1, beta 0.1, delta 1e-6; against columns at epsilon 1, and against epsilon with 16 columns. Measured
is the smallest number of records with which 90 % of 100 runs find the parity, to within 4 %. Columns are fair
coins, in all rows (easy) or in 21 % of the rows, the others being zeros: wrong parities err on 10.5 % (hard).
It takes ten minutes.
"""

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from side_by_side import options_of, public_generator, write
from threadpoolctl import threadpool_limits

from dplearn import ApproxDP
from dplearn.chance import PublicStream, SeededDice
from dplearn.estimator.recipe import OutputsFacts
from dplearn.kernels import pack
from dplearn.learners.parity.parity import PARITY_METHODS, Equations, plan_of_method
from dplearn.theory import parity_sample_size, stable_parity_sizes

ALPHA, BETA, DELTA = 0.1, 0.1, 1e-6
RUNS, CLOSE = 100, 1.04
SHARES = {"hard": 0.21, "easy": 1.0}  # of rows that are not 0
COLUMNS, EPSILONS = (4, 8, 16, 32, 64, 128, 256), (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
MOST_AGNOSTIC = 16  # columns: that method goes through all parities
#: What is measured: method and rows.
MEASURED = (("elimination", "hard"), ("elimination", "easy"), ("agnostic", "hard"), ("stable", "easy"))
RECORDED = Path(__file__).parents[1] / "docs" / "gallery" / "measured" / "parity_sizes.json"


def promised_by(method: str, d: int, epsilon: float) -> int:
    """Return a number of records that is enough."""
    if method == "stable":
        return stable_parity_sizes(d, epsilon=epsilon, delta=DELTA, beta=BETA).n_samples
    return parity_sample_size(d, epsilon=epsilon, alpha=ALPHA, beta=BETA, method=method)


def succeeds(method: str, n: int, d: int, epsilon: float, share: float) -> bool:
    """Whether so many of the runs find the parity as are asked for."""
    delta = DELTA if method == "stable" else 0
    params = SimpleNamespace(
        cost=ApproxDP(epsilon, delta),
        alpha=ALPHA,
        beta=BETA,
        fit_intercept=False,
        n_parts=None,
        test_size=None,
    )
    generator = public_generator()
    plan = plan_of_method(method, params, OutputsFacts(n, d))
    failed = 0
    for seed in range(RUNS):
        right = generator.integers(0, 2, d, dtype=np.uint8)
        X = generator.integers(0, 2, (n, d), dtype=np.uint8) * (generator.random((n, 1)) < share)
        bits = (X @ right.astype(np.int64) % 2).astype(np.uint8)[:, None]
        equations = Equations(pack(X.astype(np.uint8)), bits)
        public = replace(plan.public, stream=PublicStream(seed))
        found = PARITY_METHODS[method].release(equations, replace(plan, public=public), SeededDice(seed))
        failed += found is None or bool((found[0] != right).any())
        if failed > BETA * RUNS:
            return False
    return True


def least(method: str, d: int, epsilon: float, share: float, guaranteed: int) -> float:
    """Return the smallest number of records that succeeds, searched from where success is guaranteed."""
    high = float(guaranteed)
    while not succeeds(method, int(high), d, epsilon, share):
        high *= 2
    low = high / 2
    while succeeds(method, int(low), d, epsilon, share):
        low, high = low / 2, low
    while high / low > CLOSE:
        middle = (low * high) ** 0.5
        if succeeds(method, int(middle), d, epsilon, share):
            high = middle
        else:
            low = middle
    return high


def measured(method: str, columns: str, places: list[tuple[int, float]]) -> list[int]:
    """Return the records it takes at each place: columns and epsilon."""
    feasible = [(d, epsilon) for d, epsilon in places if method != "agnostic" or d <= MOST_AGNOSTIC]
    found = [round(least(method, *place, SHARES[columns], promised_by(method, *place))) for place in feasible]
    print(f"{method}, {columns} columns: {found}", flush=True)
    return found


def main() -> None:
    parser = options_of("parity_sizes", __doc__)
    parser.set_defaults(json=RECORDED)
    options = parser.parse_args()
    with threadpool_limits(1):
        lines = [
            {
                "method": method,
                "columns": columns,
                "records_by_n_columns": measured(method, columns, [(d, 1.0) for d in COLUMNS]),
                "records_by_epsilon": measured(method, columns, [(16, epsilon) for epsilon in EPSILONS]),
            }
            for method, columns in MEASURED
        ]
    public = {"most_agnostic": MOST_AGNOSTIC, "n_columns": COLUMNS, "epsilon": EPSILONS}
    write(options.json, ("numpy",), **public, measured=lines)


if __name__ == "__main__":
    main()
