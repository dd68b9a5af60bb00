"""Draw what two rounds of questions learn and one round does not, and what no questions about averages learn.

    python benchmarks/plot_masked_parity.py [--runs 20] [--svg docs/pictures/masked_parity.svg]

Left: the mean error of `MaskedParityClassifier` against the number of records, for 16 bits; masks, indices
and bits are fair coins. Right: the mean error on parities themselves against the number of bits, 20,000
records: a learner that asks for the correlation of the labels with up to 2**12 parities, by local reports,
and `ParityClassifier`, which solves equations. Needs matplotlib: pip install '.[plot]'.
"""

import argparse
import warnings
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dplearn import ApproxDP, ParityClassifier
from dplearn.chance import PublicStream, dice_for
from dplearn.core.gf2 import pack
from dplearn.learners.masked_parity import MaskedParityClassifier, masked_rows
from dplearn.queries import Examples, LocalOracle, MeanQuery

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "masked_parity.svg"
EPSILON = 1.0
BITS, SIZES = 16, [2**k for k in range(7, 18)]
WIDTHS, RECORDS, QUERIES = (4, 6, 8, 10, 12, 16, 24, 32), 20_000, 1 << 12
LINES = (
    ("two rounds, central", "#1b6ca8", {"model": "central"}),
    ("two rounds, local", "#c0392b", {"model": "local"}),
    ("one round, local", "#e59866", {"model": "local", "interactive": False}),
)


def masked(n: int, d: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    generator = np.random.default_rng(seed)
    r, a = np.random.default_rng([seed // 2]).integers(0, 2, d), seed % 2
    bits, index = generator.integers(0, 2, (n, d)), generator.integers(0, d, n)
    mask = generator.integers(0, 2, n)
    return masked_rows(bits, index, mask), np.where(mask, r[index], (bits @ r + a) % 2)


def error_of(n: int, seed: int, terms: dict[str, Any]) -> float:
    X, y = masked(n + 4000, BITS, seed)
    learner = MaskedParityClassifier(
        epsilon=EPSILON, classes=[0, 1], binarize=None, random_state=seed, **terms
    )
    return 1 - learner.fit(X[:n], y[:n]).score(X[n:], y[n:])


def sign(parity: np.ndarray, records: Examples) -> np.ndarray:
    return 1 - 2 * (records.X.dot(parity) ^ records.y).astype(np.int64)


def by_correlations(X: np.ndarray, y: np.ndarray, seed: int) -> np.ndarray:
    """Return the parity, of those asked about, that labels agree with most by reports of all records."""
    d = X.shape[1]
    places = (
        np.arange(1 << d) if 1 << d <= QUERIES else np.random.default_rng(seed).integers(0, 1 << d, QUERIES)
    )
    asked = (places[:, None] >> np.arange(d) & 1).astype(np.uint8)
    records = Examples(pack(X), y)
    oracle = LocalOracle(
        records, privacy=ApproxDP(EPSILON), dice=dice_for(seed, "parity"), stream=PublicStream(seed)
    )
    answers = oracle.ask([MeanQuery(partial(sign, parity), low=-1, high=1) for parity in asked])
    return asked[np.argmax([answer.mean for answer in answers])]


def errors_of(d: int, seed: int) -> tuple[float, float]:
    generator = np.random.default_rng([d, seed])
    X = generator.integers(0, 2, (RECORDS + 4000, d)).astype(np.uint8)
    r = generator.integers(0, 2, d).astype(np.uint8)
    r[seed % d] = 1
    y = (X @ r % 2).astype(np.uint8)
    train, test = slice(RECORDS), slice(RECORDS, None)
    found = by_correlations(X[train], y[train], seed)
    solved = ParityClassifier(
        epsilon=EPSILON, classes=[0, 1], binarize=None, method="elimination", random_state=seed
    )
    wrong = (X[test] @ found % 2 != y[test]).mean()
    return float(wrong), 1 - solved.fit(X[train], y[train]).score(X[test], y[test])


def draw_rounds(axes: Any, runs: int) -> None:
    for name, colour, terms in LINES:
        errors = [np.mean([error_of(n, seed, terms) for seed in range(runs)]) for n in SIZES]
        axes.plot(SIZES, errors, color=colour, marker="o", markersize=3, label=name)
        print(f"{name}: " + ", ".join(f"{n} {e:.3f}" for n, e in zip(SIZES, errors, strict=True)))
    axes.axhline(1 / 4, color="#999999", linestyle=":", linewidth=1)
    axes.set(xscale="log", xlabel="records", ylabel="error", ylim=(-0.02, 0.55))
    axes.set_title(f"masked parity, {BITS} bits")
    axes.legend(frameon=False)


def draw_parities(axes: Any, runs: int) -> None:
    errors = np.array([np.mean([errors_of(d, seed) for seed in range(runs)], axis=0) for d in WIDTHS])
    names = ("averages, local", "equations, central")
    for name, colour, column in zip(names, ("#c0392b", "#1b6ca8"), errors.T, strict=True):
        axes.plot(WIDTHS, column, color=colour, marker="o", markersize=3, label=name)
        print(f"{name}: " + ", ".join(f"{d} {e:.3f}" for d, e in zip(WIDTHS, column, strict=True)))
    axes.axhline(1 / 2, color="#999999", linestyle=":", linewidth=1)
    axes.set(xlabel="bits", ylabel="error", ylim=(-0.02, 0.55))
    axes.set_title(f"parity, {RECORDS} records")
    axes.legend(frameon=False)


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--svg", type=Path, default=PICTURE)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "n_samples is")  # few records are what is drawn
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    draw_rounds(left, options.runs)
    draw_parities(right, max(2, options.runs // 5))
    plt.rcParams["svg.hashsalt"] = "dplearn"
    figure.savefig(options.svg, metadata={"Date": None})


if __name__ == "__main__":
    main()
