"""
A rule that no column shows
===========================

The label is the parity of three of 20 bits: a lock of three switches. No column tells anything by itself,
so a logistic regression guesses, and a tree needs thousands of records, without any privacy.
``ParityClassifier`` finds the rule by linear algebra, and from a few hundred records on always.
"""

# %%
# One record is one equation between bits.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from dplearn import ParityClassifier

generator = np.random.default_rng(0)
X = generator.integers(0, 2, (6000, 20))
y = X[:, 2] ^ X[:, 5] ^ X[:, 11]
X_test, y_test = X[3000:], y[3000:]

plan = ParityClassifier(epsilon=1.0).plan(2000, n_features=20)
print(plan.method, "asks for", plan.n_needed, "records in the worst case")

# %%
# With too few records it warns. Here that is what is drawn, so the warning is turned off.
warnings.filterwarnings("ignore", "n_samples is")
sizes = [25, 50, 100, 200, 400, 800, 1600, 3000]
runs = range(10)


def private(n, seed):
    """Return the accuracy of a private parity learned from n records."""
    rows = np.random.default_rng(seed).permutation(3000)[:n]
    model = ParityClassifier(epsilon=1.0, classes=[0, 1], binarize=None, random_state=seed)
    return model.fit(X[rows], y[rows]).score(X_test, y_test)


def plain(model, n):
    """Return the accuracy of a model without privacy."""
    return model.fit(X[:n], y[:n]).score(X_test, y_test)


figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
means = [np.mean([private(n, seed) for seed in runs]) for n in sizes]
axes.plot(sizes, means, marker="o", label="ParityClassifier, epsilon 1")
axes.plot(
    sizes,
    [plain(DecisionTreeClassifier(random_state=0), n) for n in sizes],
    label="decision tree, not private",
)
axes.plot(sizes, [plain(LogisticRegression(), n) for n in sizes], label="logistic regression, not private")
axes.axvline(plan.n_needed, color="#333333", linestyle=":", label="records needed, worst case (plan)")
axes.set(xscale="log", xlabel="records", ylabel="accuracy", ylim=(0.4, 1.03))
axes.grid(alpha=0.3)
axes.legend(loc="upper right", bbox_to_anchor=(1, 0.93))
plt.show()
