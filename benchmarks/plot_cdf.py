"""Draw a private distribution with its band beside the true one.

    python benchmarks/plot_cdf.py [--data DIRECTORY] [--svg docs/pictures/private_cdf.svg]

Left: hours per week of the Adult table (from --data, or downloaded by scikit-learn), integers from 0 to 168.
Right: its capital gains, as any floats. Epsilon 1, one release each; the band holds the population's
distribution with probability .95. The dotted curve is the records' own and would not be published. Needs
matplotlib: pip install '.[plot]'.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml

from dplearn.domains import Floats, IntegerRange
from dplearn.releases import ThresholdRelease

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "private_cdf.svg"
EPSILON, BETA = 1.0, 0.05


def adult(directory: Path | None) -> pd.DataFrame:
    if directory is None:
        frame = fetch_openml("adult", version=2, as_frame=True).data
        return frame.rename(columns=lambda name: name.replace("-", "_"))
    return pd.read_csv(directory / "adult_train.csv")


def draw(axes: Any, values: np.ndarray, domain: Any, at: np.ndarray, name: str) -> None:
    distribution = ThresholdRelease(epsilon=EPSILON, domain=domain).fit(values).distribution_
    low, high = distribution.band(beta=BETA).at(at)
    axes.fill_between(at, low, high, step="post", color="#1b6ca8", alpha=0.2, label="band, .95")
    axes.step(at, distribution.cdf(at), where="post", color="#1b6ca8", label="released")
    true = np.searchsorted(np.sort(values), at, side="right") / len(values)
    axes.step(at, true, where="post", color="#333333", linestyle=":", label="records")
    axes.set(
        title=f"{name}, n = {len(values):,}, epsilon = {EPSILON:g}", ylim=(0, 1.02), ylabel="share at most"
    )
    axes.grid(alpha=0.3)
    worst = np.abs(distribution.cdf(at) - true).max()
    print(f"{name}: greatest distance of the released curve from the records' {worst:.4f}")


def main() -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--svg", type=Path, default=PICTURE)
    options = parser.parse_args()
    frame = adult(options.data)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
    hours = frame["hours_per_week"].to_numpy()
    draw(left, hours, IntegerRange(0, 168), np.arange(0, 101), "hours per week")
    left.legend(frameon=False)
    gains = frame["capital_gain"].to_numpy(dtype=float)
    draw(right, gains, Floats(significand_bits=10), np.linspace(0, 20_000, 500), "capital gain")
    right.set_ylim(0.85, 1.005)
    plt.rcParams["svg.hashsalt"] = "dplearn"
    figure.savefig(options.svg, metadata={"Date": None})


if __name__ == "__main__":
    main()
