"""The sums of additive models move by no more than their bounds, which hill climbing nearly attains."""

import math
from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from dplearn import AdditiveClassifier, AdditiveRegressor
from dplearn.chance import SeededDice
from dplearn.domains import Categories, Floats, IntegerRange
from dplearn.learners import additive_queries
from dplearn.learners.additive_losses import LogisticLoss, SquaredLoss
from dplearn.learners.additive_queries import Rows, mass_query, moment_query, residual_norm, residual_query
from dplearn.queries import CentralOracle, Examples, HistogramQuery, LocalOracle
from dplearn.records.targets import STEPS

DOMAIN = [
    IntegerRange(0, 30),
    Categories(["a", "b", "c"]),
    Floats(missing=True),
    IntegerRange(0, 200, missing=True),
]
SETTINGS = {"gaussian": {}, "laplace": {"delta": 0}, "local": {"trust_model": "local", "epsilon": 4.0}}


def table(n, seed=0):
    rng = np.random.default_rng(seed)
    X = np.empty((n, 4), dtype=object)
    X[:, 0] = rng.integers(0, 31, n)
    X[:, 1] = rng.choice(["a", "b", "c"], n, p=[0.8, 0.15, 0.05])
    X[:, 2] = np.where(rng.random(n) < 0.1, np.nan, rng.normal(0, 10, n))
    X[:, 3] = np.where(rng.random(n) < 0.1, np.nan, rng.binomial(200, 0.2, n))
    return X, X[:, 0].astype(float) / 30 + (X[:, 1] == "a")


@cache
def asked(kind, n_labels, n=800):
    """Return the columns of a fit, and all queries that it asks."""
    X, score = table(n)
    if n_labels:
        y = np.digitize(score, np.quantile(score, np.arange(1, n_labels) / n_labels))
        model = AdditiveClassifier(domain=DOMAIN, classes=range(n_labels), random_state=0)
    else:
        y, model = score, AdditiveRegressor(domain=DOMAIN, target_range=(-3, 3), random_state=0)
    model.set_params(**{"epsilon": 3.0, **SETTINGS[kind]})
    model._steps = 2
    queries = []
    right = (CentralOracle._answer, LocalOracle._answer)

    def spied(self, account, query, part, bounds):
        queries.append(query)
        return right[isinstance(self, LocalOracle)](self, account, query, part, bounds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CentralOracle, "_answer", spied)
        patch.setattr(LocalOracle, "_answer", spied)
        model._fit(X, y, SeededDice(1))
    return model.columns_, queries


def greatest_move(query, columns, n_codes, order, rounds=60, crowd=24, seed=0):
    """Return the greatest move of a query's totals that hill climbing over pairs of records finds."""
    rng = np.random.default_rng(seed)
    sizes = [column.size for column in columns]

    def code(n):
        if n_codes:
            return rng.integers(0, n_codes, n)
        return rng.choice([-STEPS, STEPS, 0, int(rng.integers(-STEPS, STEPS + 1))], n)

    def values(cells, y):
        found = query.values(Examples(cells.astype(np.int16), y)).astype(np.float64)
        return np.eye(query.size)[found.astype(int)] if found.ndim == 1 else found

    def moves(X, y):
        return (np.abs(values(X[0], y[0]) - values(X[1], y[1])) ** order).sum(axis=1)

    X = np.stack([np.stack([rng.integers(0, size, crowd) for size in sizes], axis=1) for _ in range(2)])
    y = np.stack([code(crowd), code(crowd)])
    best = moves(X, y)
    for _ in range(rounds):
        # Each pair tries one change of one of its records.
        for side in (0, 1):
            for place in range(len(sizes) + 1):
                one, other = X.copy(), y.copy()
                if place == len(sizes):
                    other[side] = code(crowd)
                else:
                    one[side, :, place] = rng.integers(0, sizes[place], crowd)
                found = moves(one, other)
                better = found >= best
                X[:, better], y[:, better], best[better] = one[:, better], other[:, better], found[better]
    return float(best.max())


def bound(query, order):
    return query.l1 if order == 1 else query.squared_l2


#: The least found share of the bound on the move, to the power of its order: of masses, labels, correlations
#: and gradients. Few rows are orthogonal to each other, and few records have residuals at the greatest norm.
LEAST = {
    "gaussian": {2: (0.99, 0.8, 0.3, 0.8), 3: (0.99, 0.5, 0.3, 0.3), 0: (0.99, 0.8, 0.3, 0.8)},
    "laplace": {2: (0.99, 0.95, 0.8), 3: (0.99, 0.7, 0.5), 0: (0.99, 0.95, 0.8)},
}


@pytest.mark.parametrize("n_labels", [2, 3, 0])
@pytest.mark.parametrize("kind", ["gaussian", "laplace"])
def test_no_pair_of_records_moves_a_sum_of_a_fit_further_than_its_noise_is_for(kind, n_labels):
    columns, queries = asked(kind, n_labels)
    order = 1 if kind == "laplace" else 2
    shares = [greatest_move(query, columns, n_labels, order) / bound(query, order) for query in queries]
    assert max(shares) <= 1
    histograms = [
        share for share, query in zip(shares, queries, strict=True) if isinstance(query, HistogramQuery)
    ]
    assert histograms == [1.0] * len(histograms)
    vectors = [
        share for share, query in zip(shares, queries, strict=True) if not isinstance(query, HistogramQuery)
    ]
    vectors = vectors if n_labels else vectors[1:]
    print(kind, n_labels, vectors)
    least = LEAST[kind][n_labels]
    assert all(share >= low for share, low in zip(vectors, least, strict=False))
    assert max(vectors) / 2 ** (-order) > 1  # with half of the distance the test fails
