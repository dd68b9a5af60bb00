"""Draw accuracy against epsilon on Adult, the picture of the README, from what bench_tables.py recorded.

    python benchmarks/draw_accuracy.py [--record docs/gallery/measured/tables.json] [--out PATH]

Needs matplotlib. A line is a private learner, its band two standard errors; dashed lines are models without
privacy. Of diffprivlib the most accurate learner at each epsilon is drawn.
"""

import argparse
import json
from pathlib import Path
from typing import Any

__all__ = ["drawn", "lines_of"]

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "docs" / "gallery" / "measured" / "tables.json"
PICTURE = ROOT / "docs" / "pictures" / "adult.svg"

#: Name in the picture, who made it, which learners (the most accurate of them is drawn), and the colour.
PRIVATE = (
    ("dplearn, additive model", "dplearn", ("AdditiveClassifier",), "#1f5fbf"),
    ("dplearn, logistic", "dplearn", ("StatisticalQueryLogisticRegression",), "#0b7fab"),
    ("interpret, DP-EBM", "interpret", ("DPExplainableBoostingClassifier",), "#b35c00"),
    (
        "diffprivlib, its best",
        "diffprivlib",
        ("GaussianNB", "LogisticRegression", "RandomForestClassifier"),
        "#707070",
    ),
)
OPEN = (
    ("boosting, not private", "HistGradientBoostingClassifier"),
    ("logistic, not private", "LogisticRegression"),
    ("most common label", "majority class"),
)


def lines_of(rows: list[dict[str, Any]]) -> dict[str, list[tuple[float, float, float]]]:
    """Return (epsilon, accuracy, standard error) of each private line, in order of epsilon."""
    lines = {}
    for name, by, learners, _ in PRIVATE:
        found = [
            row
            for row in rows
            if (row["data"], row["by"]) == ("Adult", by)
            if row["learner"] in learners and not row.get("needs")
        ]
        best: dict[float, tuple[float, float]] = {}
        for row in found:
            point = row["accuracy"], row.get("accuracy_se", 0.0)
            best[row["epsilon"]] = max(point, best.get(row["epsilon"], point))
        lines[name] = [(epsilon, *best[epsilon]) for epsilon in sorted(best)]
    return lines


def levels_of(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Return the accuracy of each model without privacy."""
    found = {
        row["learner"]: row["accuracy"] for row in rows if row["data"] == "Adult" if row["by"] == "no privacy"
    }
    return {name: found[learner] for name, learner in OPEN}


def drawn(rows: list[dict[str, Any]]) -> Any:
    """Return the figure."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(4.8, 3.5), layout="constrained")
    colours = {name: colour for name, _, _, colour in PRIVATE}
    ends = []
    for name, points in lines_of(rows).items():
        epsilons, accuracies, errors = (list(each) for each in zip(*points, strict=True))
        low, high = ([a + s * e for a, e in zip(accuracies, errors, strict=True)] for s in (-2, 2))
        axes.fill_between(epsilons, low, high, color=colours[name], alpha=0.18, linewidth=0)
        axes.plot(epsilons, accuracies, "o-", color=colours[name], linewidth=2.2)
        ends.append((accuracies[-1], name, colours[name]))
    for name, level in levels_of(rows).items():
        axes.axhline(level, color="#444444", linewidth=1, linestyle=(0, (4, 3)), zorder=0)
        ends.append((level, name, "#444444"))
    place = float("-inf")
    for level, name, colour in sorted(ends):  # names beside the ends of the lines, none on another
        place = max(place + 0.0095, level)
        axes.annotate(
            name,
            (3, level),
            xytext=(3.3, place),
            va="center",
            color=colour,
            annotation_clip=False,
            fontsize=9,
        )
    axes.set(xscale="log", xlim=(0.092, 3.2), ylim=(0.755, 0.882), xlabel="epsilon (smaller protects more)")
    axes.set_xticks([0.1, 1, 3], ["0.1", "1", "3"])
    axes.minorticks_off()
    axes.set_title("Test accuracy on census income, 24,561 records", fontsize=11, loc="left")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.2)
    return figure


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", type=Path, default=RECORD)
    parser.add_argument("--out", type=Path, default=PICTURE)
    options = parser.parse_args()
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "dplearn"  # the same record gives the same file
    rows = json.loads(options.record.read_text(encoding="utf-8"))["rows"]
    figure = drawn(rows)
    shown = json.dumps({"lines": lines_of(rows), "levels": levels_of(rows)})
    figure.savefig(options.out, metadata={"Date": None, "Description": shown}, facecolor="white")


if __name__ == "__main__":
    main()
