"""
Records that learners of parities take
======================================

Measured, promised, and with the constants of the paper. Alpha 0.1, beta 0.1, delta 1e-6. Measured is the
smallest number of records with which 90 % of 100 runs find the parity, to within 4 %. Columns are fair coins,
in all rows (easy) or in 21 % of the rows, the others being zeros: wrong parities err on 10.5 % (hard).
"""

# %%
# ``python benchmarks/measure_parity_sizes.py`` measures, in ten minutes, and records it in
# ``parity_sizes.json``. What is promised is computed here.
import json
from pathlib import Path

import matplotlib.pyplot as plt

from dplearn.theory import nonprivate_parity_sample_size, parity_sample_size, stable_parity_sizes

found = json.loads(Path("parity_sizes.json").read_text())
GOOD = {"alpha": 0.1, "beta": 0.1}
COMPUTED = {
    "elimination, constants of the paper": (
        lambda d, epsilon: parity_sample_size(d, epsilon=epsilon, bound="paper", **GOOD),
        ("#c0392b", "--"),
    ),
    "elimination, promised for any columns": (
        lambda d, epsilon: parity_sample_size(d, epsilon=epsilon, **GOOD),
        ("#1b6ca8", "-"),
    ),
    "agnostic, promised for any columns": (
        lambda d, epsilon: parity_sample_size(d, epsilon=epsilon, method="agnostic", **GOOD),
        ("#e67e22", "-"),
    ),
    "stable, exact for easy columns": (
        lambda d, epsilon: stable_parity_sizes(d, epsilon=epsilon, delta=1e-6, beta=0.1).n_samples,
        ("#2e8b57", "-"),
    ),
    "without privacy, promised for any columns": (
        lambda d, _: nonprivate_parity_sample_size(d, **GOOD),
        ("#777777", ":"),
    ),
}
MARKS = {"hard": "o", "easy": "^"}
COLOURS = {"elimination": "#1b6ca8", "agnostic": "#e67e22", "stable": "#2e8b57"}


def draw(axes, along, size_at):
    """Draw records against columns or epsilon: lines for what is computed, marks for what was measured."""
    values = found[along]
    for name, (size, (colour, line)) in COMPUTED.items():
        xs = [x for x in values if not name.startswith("agnostic") or size_at(x)[0] <= found["most_agnostic"]]
        axes.plot(xs, [size(*size_at(x)) for x in xs], line, color=colour, label=name)
    for line in found["measured"]:
        points = line["records_by_" + along]
        name = f"{line['method']}, {line['columns']} columns, measured"
        axes.plot(
            values[: len(points)],
            points,
            MARKS[line["columns"]],
            color=COLOURS[line["method"]],
            markersize=5,
            label=name,
        )
    axes.set(xscale="log", yscale="log")
    axes.set_xticks(values, [f"{value:g}" for value in values])
    axes.minorticks_off()
    axes.grid(alpha=0.3)


figure, (left, right) = plt.subplots(1, 2, figsize=(10, 6.5), sharey=True)
draw(left, "n_columns", lambda d: (d, 1.0))
draw(right, "epsilon", lambda epsilon: (16, epsilon))
left.set(xlabel="columns", ylabel="records", title="epsilon 1")
right.set(xlabel="epsilon", title="16 columns")
figure.legend(*left.get_legend_handles_labels(), fontsize=9, loc="lower center", ncols=3)
figure.tight_layout(rect=(0, 0.12, 1, 1))
plt.show()
