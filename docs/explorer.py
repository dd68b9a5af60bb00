"""Numbers of the page that explores epsilon: what plans say of errors, records and attacks, without data.

python docs/explorer.py  # takes some minutes, and writes docs/static/explorer.js
"""

import json
import math
from pathlib import Path

from dplearn import (
    AdditiveClassifier,
    ApproxDP,
    StatisticalQueryLogisticRegression,
    StatisticalQueryNaiveBayes,
)
from dplearn.domains import Grid
from dplearn.privacy import attack_risk
from dplearn.releases import mean_plan, proportion_plan

AXES = {
    "epsilon": (0.1, 0.2, 0.5, 1, 2, 5, 10),
    "records": (100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000),
    "columns": (1, 3, 10, 30, 100),
}
FILE = Path(__file__).parent / "static" / "explorer.js"


def numbers_of(epsilon: float, records: int, columns: int) -> dict[str, float]:
    """Return what is shown at a point, of columns from 0 to 1 and two labels, with a delta of 1e-6."""
    table = {"epsilon": epsilon, "domain": Grid(0, 1), "classes": [0, 1]}
    bayes, logistic, additive = (
        kind(**table).plan(records, n_features=columns)
        for kind in (StatisticalQueryNaiveBayes, StatisticalQueryLogisticRegression, AdditiveClassifier)
    )
    risk, each = attack_risk(ApproxDP(epsilon, 1e-6)), epsilon / columns
    return {
        "mean": mean_plan(records, (0, 1), epsilon=each).error,
        "count": proportion_plan(records, epsilon=each).error * records,
        "bayes": bayes.tolerance,
        "bayes_needed": bayes.n_needed,
        "logistic": logistic.noise_to_signal,
        "logistic_needed": logistic.n_needed,
        "additive": additive.resolution,
        "additive_needed": additive.n_needed,
        "advantage": risk.advantage,
        "advantage_of_noise": logistic.risk.advantage,
        "found": risk.true_positive_rate(0.01),
        "belief": risk.posterior(0.5),
    }


def rounded(number: float | None) -> float | None:
    """Return a number with three digits; None where a plan states none."""
    return None if number is None or not math.isfinite(number) else float(f"{float(number):.3g}")


def main() -> None:
    """Write the numbers at all points, as arrays in the order of epsilon, records and columns."""
    points = [
        numbers_of(epsilon, records, columns)
        for epsilon in AXES["epsilon"]
        for records in AXES["records"]
        for columns in AXES["columns"]
    ]
    values = {name: [rounded(point[name]) for point in points] for name in points[0]}
    FILE.write_text(f"const PLANS = {json.dumps({'axes': AXES, 'values': values})};\n", encoding="utf-8")


if __name__ == "__main__":
    main()
