"""Draw what bench_soft_labels.py measured: how honest probabilities are, and when stable bins beat a mean.

    python benchmarks/plot_soft_labels.py [--json PATH] [--folder docs/pictures]

Needs results of the whole benchmark, Adult included, and matplotlib: pip install '.[plot]'.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from side_by_side import RESULTS, peer

PICTURES = Path(__file__).parents[1] / "docs" / "pictures"
EPSILON, LEAST = 1.0, 100  # fewer predictions in a tenth say little
STUDENTS = {
    "logistic regression, not private": "#555555",
    "student of labels": "#c0392b",
    "student of means": "#1b6ca8",
    "student of bins": "#e67e22",
}
Row = dict[str, Any]


def named(rows: Sequence[Row], data: str, what: str) -> list[Row]:
    """Return the rows of Adult at one epsilon, or without any, and those of what is made up."""
    return [
        r for r in rows if (r["data"], r["what"]) == (data, what) and r.get("epsilon", EPSILON) == EPSILON
    ]


def draw_reliability(plt: Any, rows: Sequence[Row]) -> Any:
    figure, axes = plt.subplots(figsize=(5.5, 5))
    axes.plot([0, 1], [0, 1], color="#aaaaaa", linewidth=0.8)
    for what, colour in STUDENTS.items():
        (found,) = named(rows, "Adult", what)
        tenths = [e for e in found["reliability"] if e["count"] >= LEAST]
        points = [[e[name] for e in tenths] for name in ("predicted", "positives")]
        axes.plot(*points, "o-", markersize=4, color=colour, label=f"{what}: Brier {found['brier']:.3f}")
    axes.set(xlabel="predicted probability", ylabel="share of positives", title="Adult, epsilon 1")
    axes.legend(fontsize=8, loc="upper left")
    axes.grid(alpha=0.3)
    figure.tight_layout()
    return figure


def draw_crossing(plt: Any, rows: Sequence[Row]) -> Any:
    figure, axes = plt.subplots(figsize=(6.5, 4))
    made_up = [r for r in rows if r["data"] == "apart" and r.get("answered") is not None]
    kinds = sorted({(r["what"], r["teachers"]) for r in made_up})
    for what, teachers in kinds:
        line = [r for r in made_up if (r["what"], r["teachers"]) == (what, teachers)]
        points = [[r[name] for r in line] for name in ("asked", "brier")]
        style = "s--" if what.endswith("mean") else "o-"
        axes.plot(
            *points, style, markersize=4, label=f"{what.removeprefix('ensemble, ')}, {teachers} teachers"
        )
    (known,) = named(rows, "apart", "true probabilities")
    axes.axhline(known["brier"], color="#aaaaaa", label="true probabilities")
    axes.axhline(0.25, color="#aaaaaa", linestyle=":", label="1/2 for all")
    axes.set(xscale="log", xlabel="queries", ylabel="Brier score", title="two clusters far apart, epsilon 1")
    axes.legend(fontsize=8)
    axes.grid(alpha=0.3)
    figure.tight_layout()
    return figure


DRAWN = {"soft_labels_reliability": draw_reliability, "soft_labels_apart": draw_crossing}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, default=RESULTS / "soft_labels.json", help="what was measured")
    parser.add_argument("--folder", type=Path, default=PICTURES, help="where pictures are written")
    options = parser.parse_args()
    pyplot = peer("matplotlib.pyplot")
    if pyplot is None:
        raise SystemExit("matplotlib is not installed: pip install '.[plot]'")
    rows = json.loads(options.json.read_text())["rows"]
    options.folder.mkdir(parents=True, exist_ok=True)
    pyplot.switch_backend("svg")
    pyplot.rcParams.update({"svg.hashsalt": "dplearn", "svg.fonttype": "none"})
    for name, draw in DRAWN.items():
        draw(pyplot, rows).savefig(options.folder / f"{name}.svg", metadata={"Date": None, "Creator": None})


if __name__ == "__main__":
    main()
