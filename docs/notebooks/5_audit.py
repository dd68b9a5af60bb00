"""
5. Audit a guarantee by running the code
========================================

For auditors, and for everybody who wrote a private mechanism or model. Read
next: `auditing <../auditing.html>`_, and `the guarantee <../guarantee.html>`_
for what enumeration rests on.

A guarantee is a statement about probabilities of a program. So run the
program: over every outcome where that is possible, very often where it is not.
A learner is enumerated here, then broken on purpose in three ways, and last a
model with noise of numpy is sampled.
"""

# %%
# A small learner
# ---------------
# It publishes a cut of one column. A computation takes records and dice,
# draws all its randomness from the dice, and returns everything that it
# publishes.
import subprocess
import sys
from itertools import product

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from dplearn import ApproxDP, StatisticalQueryNaiveBayes
from dplearn.audit import (
    enumerate_privacy,
    exact_distribution,
    fitted_with,
    sample_privacy,
)
from dplearn.domains import Bits
from dplearn.mechanisms import exponential_mechanism

claim = ApproxDP(1)


def errors(rows):
    """Return how many records each of four cuts gets wrong."""
    return np.array(
        [
            sum((value >= cut) != label for value, label in rows)
            for cut in range(4)
        ]
    )


def learner(rows, dice):
    """Select a cut with few errors by the exponential mechanism."""
    return exponential_mechanism(-errors(rows), privacy=claim, dice=dice)


# %%
# Every outcome
# -------------
# The universe has six records: three values, two labels.
# ``enumerate_privacy`` runs the code on all tables of three records, over all
# outcomes of the dice, and compares the exact probabilities of all
# neighbours.
universe = list(product(range(3), (0, 1)))
report = enumerate_privacy(learner, universe, n=3, ordered=False)
print("keeps its claim:", report.keeps(claim))
print("exact epsilon:", report.epsilon)
print(
    "tables that were compared:",
    report.n_datasets,
    "in",
    report.n_pairs,
    "pairs",
)

# %%
# ``report.pair`` are the tables that attain this epsilon. It is below the
# claim, because the proof allows for pairs that three records do not have.
# The two distributions:
exact = {
    rows: exact_distribution(lambda dice, rows=rows: learner(rows, dice))
    for rows in report.pair
}
pd.DataFrame(
    {
        str(rows): [float(found.probability(cut)) for cut in range(4)]
        for rows, found in exact.items()
    },
    index=[f"cut {cut}" for cut in range(4)],
).round(4)

# %%
# Broken on purpose
# -----------------
# Three mistakes that are easily made, and easily overlooked in a review:


def twice(rows, dice):
    """Forget that the proof divides epsilon by two."""
    return exponential_mechanism(-2 * errors(rows), privacy=claim, dice=dice)


def boastful(rows, dice):
    """Publish the number of errors beside the cut."""
    cut = learner(rows, dice)
    return cut, int(errors(rows)[cut])


def squeamish(rows, dice):
    """Refuse tables of one label, as many libraries do."""
    if len({label for _, label in rows}) < 2:
        raise ValueError("y must have two labels")
    return learner(rows, dice)


broken = {
    computation.__name__: enumerate_privacy(
        computation, universe, n=3, ordered=False
    )
    for computation in (learner, twice, boastful, squeamish)
}
pd.DataFrame(
    {
        "keeps claim": [found.keeps(claim) for found in broken.values()],
        "exact epsilon": [found.epsilon for found in broken.values()],
        "first table": [str(found.pair[0]) for found in broken.values()],
        "second table": [str(found.pair[1]) for found in broken.values()],
    },
    index=list(broken),
)

# %%
# An infinite epsilon means that an outcome is possible on one table and
# impossible on its neighbour: whoever sees it has learned something for
# certain. An exception is an outcome too.

# %%
# A learner of this package
# -------------------------
# ``fitted_with`` makes an estimator such a computation: the whole fit, from
# the table to the attributes.
bayes = StatisticalQueryNaiveBayes(
    epsilon=1, delta=0, domain=Bits(), classes=[0, 1]
)


def fit(rows, dice):
    """Fit naive Bayes to records of one bit and a label."""
    return fitted_with(
        bayes,
        [[value] for value, _ in rows],
        [label for _, label in rows],
        dice=dice,
    )


report = enumerate_privacy(fit, list(product((0, 1), (0, 1))), n=1)
print("keeps its claim:", report.keeps(claim))
print("exact epsilon over the claimed one:", round(report.tightness(claim), 6))

# %%
# The package ships such cases of all of its learners and mechanisms. Anybody
# can run them on an installed copy: ``python -m dplearn audit
# laplace_counts`` in a shell, or from Python:
command = [sys.executable, "-m", "dplearn", "audit", "laplace_counts"]
done = subprocess.run(command, capture_output=True, text=True, check=True)
print(done.stdout)

# %%
# A model of your own
# -------------------
# Large tables and noise of floats cannot be enumerated. They can be sampled.
# This model publishes sums of four columns over the records of a class, on
# scikit-learn's breast cancer table. Each column is scaled to 0..1, so a
# replaced record moves each sum by at most 1. But it moves all four, and the
# noise of the first version is that of one.
data = load_breast_cancer()
highest = np.array([40.0, 60.0, 0.3, 1.3])  # public bounds of four columns
X = np.clip(data.data[:, [20, 21, 24, 26]] / highest, 0, 1)[:60]
y = data.target[:60]
generator = np.random.default_rng()


def total(rows, scale, size):
    """Return the total of the four published sums, for many fits at once."""
    features, labels = rows
    sums = (features * labels[:, None]).sum(axis=0)
    noise = generator.laplace(scale=scale, size=(size, len(sums)))
    return (sums + noise).sum(axis=1)


def forgetful(rows, dice, size):
    """Add the noise that suffices for a single column."""
    return total(rows, 1.0, size)


def careful(rows, dice, size):
    """Share the budget among the columns."""
    return total(rows, float(X.shape[1]), size)


# %%
# An audit needs the pair of neighbours that shows most: here one record with
# the greatest value in all columns, which one table has in the second class
# and the other in the first.
moved, moved_y = X.copy(), y.copy()
X[0], y[0] = 1.0, 1
moved[0], moved_y[0] = 1.0, 0
reports = {
    computation.__name__: sample_privacy(
        computation,
        (X, y),
        (moved, moved_y),
        claim=claim,
        n_samples=300_000,
        batch=True,
    )
    for computation in (forgetful, careful)
}
pd.DataFrame(
    {
        "refuted": [found.refutes for found in reports.values()],
        "epsilon is at least": [
            found.epsilon_lower for found in reports.values()
        ],
        "delta is at least": [found.delta_lower for found in reports.values()],
    },
    index=list(reports),
).round(3)

# %%
# A claim that is true is refuted with probability of one in a million at
# most. "Not refuted" is no proof: another pair of tables, another event or
# more samples may show what this audit did not.
figure, axes = plt.subplots(figsize=(4.6, 3.2), layout="constrained")
for name, rows in (("table", (X, y)), ("neighbour", (moved, moved_y))):
    axes.hist(
        forgetful(rows, None, 20_000),
        bins=80,
        alpha=0.5,
        density=True,
        label=f"forgetful, {name}",
    )
axes.set(xlabel="published sum", ylabel="density")
axes.legend()
plt.show()

# %%
# The guarantee
# -------------
# What all of this tested is one sentence. For each table, each neighbour and
# each set of outcomes:
claim
