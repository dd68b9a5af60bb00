"""
Probabilities that were released, and students of them
======================================================

Two regimes. On two clusters far apart, with very many queries, stable bins beat a mean, whose noise grows
with their number. On the Adult table students of labels and of means are compared for how honest their
probabilities are.
"""

# %%
# ``python benchmarks/bench_soft_labels.py --json docs/gallery/measured/soft_labels.json`` measures all of it
# again; it needs the Adult table.
import json
from pathlib import Path

import matplotlib.pyplot as plt

rows = json.loads(Path("soft_labels.json").read_text())["rows"]


def one(data, what):
    """Return the row of one thing measured, at epsilon 1 or without any."""
    (row,) = [r for r in rows if (r["data"], r["what"]) == (data, what) and r.get("epsilon", 1.0) == 1.0]
    return row


# %%
# Solid: bins, with shards of 100 records. Dashed: means.
apart = [row for row in rows if row["data"] == "apart" and row.get("answered") is not None]
figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
for what, teachers in sorted({(row["what"], row["teachers"]) for row in apart}):
    line = [row for row in apart if (row["what"], row["teachers"]) == (what, teachers)]
    axes.plot(
        [row["asked"] for row in line],
        [row["brier"] for row in line],
        "s--" if what.endswith("mean") else "o-",
        markersize=4,
        label=f"{what.removeprefix('ensemble, ')}, {teachers:,} teachers",
    )
axes.axhline(one("apart", "true probabilities")["brier"], color="#aaaaaa", label="true probabilities")
axes.axhline(0.25, color="#aaaaaa", linestyle=":", label="1/2 for all")
axes.set(xscale="log", xlabel="queries", ylabel="Brier score", title="two clusters far apart, epsilon 1")
axes.legend(fontsize=8)
axes.grid(alpha=0.3)
plt.show()

# %%
# On the grey line probabilities are true. Tenths with fewer than 100 predictions are left out.
students = {
    "logistic regression, not private": "#555555",
    "student of labels": "#c0392b",
    "student of means": "#1b6ca8",
    "student of bins": "#e67e22",
}
figure, axes = plt.subplots(figsize=(6, 5.5), layout="constrained")
axes.plot([0, 1], [0, 1], color="#aaaaaa", linewidth=0.8)
for what, colour in students.items():
    row = one("Adult", what)
    tenths = [tenth for tenth in row["reliability"] if tenth["count"] >= 100]
    axes.plot(
        [tenth["predicted"] for tenth in tenths],
        [tenth["positives"] for tenth in tenths],
        "o-",
        markersize=4,
        color=colour,
        label=f"{what}: Brier {row['brier']:.3f}",
    )
axes.set(xlabel="predicted probability", ylabel="share of positives", title="Adult, epsilon 1")
axes.legend(fontsize=8, loc="upper left")
axes.grid(alpha=0.3)
plt.show()
