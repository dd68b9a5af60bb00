"""Draw how near each library comes to a model without privacy, from the record of `benchmarks/all`.

    python benchmarks/draw_compare.py [--out PATH]

Needs matplotlib. A row is a table, a point the best learner of a library at epsilon 1: 0 is a constant (the
most common label, or the mean), 1 the best model without privacy. Labels are scored by the area under the ROC
curve, or by accuracy if there are more than two, numbers by R^2. Points below -.2 are triangles there.
"""

import argparse
import importlib
import json
import sys
from pathlib import Path
from typing import Any

__all__ = ["LEAST", "drawn", "shares"]

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "pictures" / "compare.svg"
EPSILON, LEAST = 1.0, -0.2
COLOURS = {
    "dplearn": "#1f5fbf",
    "interpret": "#d9822b",
    "diffprivlib": "#8a8a8a",
    "opendp": "#3a9d5d",
    "private_pgm": "#8e5bb5",
    "smartnoise": "#c2413b",
}


def compared() -> Any:
    """Return the module that reads the record for the pages."""
    sys.path.append(str(ROOT / "benchmarks" / "tables"))
    return importlib.import_module("compared")


def shares(tables: Any) -> dict[str, dict[str, float]]:
    """Return the share of the way from a constant to a model without privacy, by table and library."""
    found: dict[str, dict[str, float]] = {}
    for measure in ("auc", "accuracy", "r2"):
        for name in tables.tables(measure):
            if name not in found:
                low = tables.constant(name, measure).mean
                high = tables.best(name, None, tables.OPEN, measure).mean
                each = {who: tables.best(name, EPSILON, who, measure) for who in COLOURS}
                known = {who: score.mean for who, score in each.items() if score}
                found[name] = {who: round((mean - low) / (high - low), 3) for who, mean in known.items()}
    return found


def drawn(found: dict[str, dict[str, float]], names: dict[str, str]) -> Any:
    """Return the figure."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(4.8, 0.33 * len(found) + 1.7), layout="constrained")
    for level in (0.0, 1.0):
        axes.axvline(level, color="#444444", linewidth=1, linestyle=(0, (4, 3)), zorder=0)
    order = list(found)[::-1]
    for number, (who, colour) in enumerate(COLOURS.items()):
        lift = 0.1 * (2.5 - number)  # points with the same share lie side by side
        points = [
            (each[who], place + lift) for place, name in enumerate(order) if who in (each := found[name])
        ]
        for inside in (True, False):
            chosen = [(max(x, LEAST), y) for x, y in points if (x >= LEAST) == inside]
            if points:
                x, y = [x for x, _ in chosen], [y for _, y in chosen]
                label = names[who] if inside else None
                axes.scatter(x, y, s=40, marker="o" if inside else "<", color=colour, label=label, zorder=2)
    axes.set_yticks(range(len(order)), order)
    axes.set(xlim=(LEAST - 0.04, 1.12))
    axes.set_xticks([0, 0.5, 1], ["0: a constant", ".5", "1: without privacy"])
    axes.set_title(f"Best learner of each library at epsilon {EPSILON:g}", fontsize=11, loc="left")
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)
    axes.tick_params(axis="y", length=0)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9, handletextpad=0.1)
    return figure


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=PICTURE)
    options = parser.parse_args()
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "dplearn"  # the same record gives the same file
    tables = compared()
    found = shares(tables)
    figure = drawn(found, tables.NAMES)
    options.out.parent.mkdir(exist_ok=True)
    figure.savefig(options.out, metadata={"Date": None, "Description": json.dumps(found)}, facecolor="white")


if __name__ == "__main__":
    main()
