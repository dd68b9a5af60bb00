"""Draw how many records private learners of parities take: measured, bounded, and with the paper's constants.

    python benchmarks/plot_parity.py [--svg docs/pictures/parity_sizes.svg]

Alpha 0.1, beta 0.1, delta 1e-6; against columns at epsilon 1, and against epsilon with 16 columns. Measured
is the smallest number of records with which 90 % of 100 runs find the parity, to within 4 %. Columns are fair
coins, in all rows (easy) or in 21 % of the rows, the others being zeros: wrong parities err on 10.5 % (hard).
It takes ten minutes, and matplotlib: pip install '.[plot]'.
"""

import argparse
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from side_by_side import peer, public_generator
from threadpoolctl import threadpool_limits

from dplearn import ApproxDP
from dplearn.chance import PublicStream, SeededDice
from dplearn.core.gf2 import pack
from dplearn.learners.parity_methods import PARITY_METHODS, Equations, ParityTask
from dplearn.theory import nonprivate_parity_sample_size, parity_sample_size, stable_parity_sizes

ALPHA, BETA, DELTA = 0.1, 0.1, 1e-6
RUNS, CLOSE = 100, 1.04
HARD, EASY = 0.21, 1.0  # share of rows that are not 0
COLUMNS, EPSILONS = (4, 8, 16, 32, 64, 128, 256), (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0)
MOST_AGNOSTIC = 16
PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "parity_sizes.svg"

#: What is measured: name, method, rows, colour, marker.
MEASURED = [
    ("elimination, hard columns", "elimination", HARD, "#1b6ca8", "o"),
    ("elimination, easy columns", "elimination", EASY, "#1b6ca8", "^"),
    ("agnostic, hard columns", "agnostic", HARD, "#e67e22", "o"),
    ("stable, easy columns", "stable", EASY, "#2e8b57", "^"),
]
#: What is computed: name, size from columns and epsilon, colour, line.
COMPUTED: list[tuple[str, Callable[[int, float], int], str, str]] = [
    ("elimination, constants of the paper", lambda d, e: of_parity(d, e, bound="paper"), "#c0392b", "--"),
    ("elimination, promised for any columns", lambda d, e: of_parity(d, e), "#1b6ca8", "-"),
    ("agnostic, promised for any columns", lambda d, e: of_parity(d, e, method="agnostic"), "#e67e22", "-"),
    ("stable, exact for easy columns", lambda d, e: of_stable(d, e), "#2e8b57", "-"),
    (
        "without privacy, promised for any columns",
        lambda d, _: nonprivate_parity_sample_size(d, alpha=ALPHA, beta=BETA),
        "#777777",
        ":",
    ),
]


def of_parity(d: int, epsilon: float, **chosen: str) -> int:
    return parity_sample_size(d, epsilon=epsilon, alpha=ALPHA, beta=BETA, **chosen)


def of_stable(d: int, epsilon: float) -> int:
    return stable_parity_sizes(d, epsilon=epsilon, delta=DELTA, beta=BETA).n_samples


def promised_by(method: str, d: int, epsilon: float) -> int:
    return of_stable(d, epsilon) if method == "stable" else of_parity(d, epsilon, method=method)


def succeeds(name: str, n: int, d: int, epsilon: float, share: float) -> bool:
    """Whether so many of the runs find the parity as are asked for."""
    delta = DELTA if name == "stable" else 0
    promise = ApproxDP(epsilon, delta)
    task = ParityTask(
        n_samples=n,
        n_features=d,
        epsilon=promise.epsilon,
        delta=Fraction(promise.delta),
        alpha=ALPHA,
        beta=BETA,
    )
    method, generator = PARITY_METHODS[name](task), public_generator()
    failed = 0
    for seed in range(RUNS):
        right = generator.integers(0, 2, d, dtype=np.uint8)
        X = generator.integers(0, 2, (n, d), dtype=np.uint8) * (generator.random((n, 1)) < share)
        bits = (X @ right.astype(np.int64) % 2).astype(np.uint8)[:, None]
        equations = Equations(pack(X.astype(np.uint8)), bits)
        found = method.release(equations, privacy=promise, dice=SeededDice(seed), stream=PublicStream(seed))
        failed += found is None or bool((found[0] != right).any())
        if failed > BETA * RUNS:
            return False
    return True


def least(name: str, d: int, epsilon: float, share: float, promised: int) -> float:
    """Return the smallest number of records that succeeds, searched from where success is promised."""
    high = float(promised)
    while not succeeds(name, int(high), d, epsilon, share):
        high *= 2
    low = high / 2
    while succeeds(name, int(low), d, epsilon, share):
        low, high = low / 2, low
    while high / low > CLOSE:
        middle = (low * high) ** 0.5
        if succeeds(name, int(middle), d, epsilon, share):
            high = middle
        else:
            low = middle
    return high


def feasible(name: str, places: list[tuple[int, float]], along: list[float]) -> list[tuple[float, Any]]:
    """Return where to draw, and for what: all parities can be gone through for few columns only."""
    pairs = list(zip(along, places, strict=True))
    return [pair for pair in pairs if not name.startswith("agnostic") or pair[1][0] <= MOST_AGNOSTIC]


def draw(axes: Any, places: list[tuple[int, float]], along: list[float]) -> None:
    for name, size, colour, line in COMPUTED:
        taken = feasible(name, places, along)
        axes.plot([x for x, _ in taken], [size(*p) for _, p in taken], line, color=colour, label=name)
    for name, method, share, colour, marker in MEASURED:
        taken = feasible(name, places, along)
        found = [least(method, *place, share, promised_by(method, *place)) for _, place in taken]
        print(name, [round(n) for n in found], flush=True)
        axes.plot([x for x, _ in taken], found, marker, color=colour, markersize=5, label=f"{name}, measured")
    axes.set(xscale="log", yscale="log")
    axes.grid(alpha=0.3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--svg", type=Path, default=PICTURE, help="where the picture is written")
    options = parser.parse_args()
    pyplot = peer("matplotlib.pyplot")
    if pyplot is None:
        raise SystemExit("matplotlib is not installed: pip install '.[plot]'")
    pyplot.switch_backend("svg")
    pyplot.rcParams.update({"svg.hashsalt": "dplearn", "svg.fonttype": "none"})
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 6.5), sharey=True)
    with threadpool_limits(1):
        draw(left, [(d, 1.0) for d in COLUMNS], list(map(float, COLUMNS)))
        draw(right, [(16, epsilon) for epsilon in EPSILONS], list(EPSILONS))
    left.set(xlabel="columns", ylabel="records", title="epsilon 1", xticks=COLUMNS, xticklabels=COLUMNS)
    right.set(xlabel="epsilon", title="16 columns", xticks=EPSILONS, xticklabels=EPSILONS)
    for axes in (left, right):
        axes.minorticks_off()
    figure.legend(*left.get_legend_handles_labels(), fontsize=9, loc="lower center", ncols=3)
    figure.tight_layout(rect=(0, 0.12, 1, 1))
    options.svg.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(options.svg, metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
